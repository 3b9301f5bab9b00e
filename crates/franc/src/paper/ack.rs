//! When the decoder acknowledges: whenever everything that it received is decoded,
//! partially or fully (section II.C).
//!
//! An acknowledgement may be lost; packets that arrive then are redundant or late,
//! and some of these are acknowledged again, which the text does not specify: at
//! intervals of the authors' programs (netmix 902fc60 of January and 94897df of
//! March 2014). These programs acknowledge a partially decoded block only after
//! redundant packets ([`AckRules`]). Leaves out that they compare the rank with the
//! encoder's, which affects only acknowledgements of no use to the encoder.

use crate::config::AckRules;

/// Number of redundant packets in a row, while everything is decoded, from which on
/// January's program acknowledges each.
const JANUARY_REDUNDANT_MIN: u32 = 3;

/// Number of redundant packets per acknowledgement, while everything is decoded.
const REDUNDANT_DECODED: u32 = 4;

/// The same while something is not decoded; from this number on, March's program
/// acknowledges each.
const REDUNDANT: u32 = 50;

/// Number of packets of completed blocks per acknowledgement.
const LATE: u32 = 5;

/// Whether an ENC was useful to the decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The packet increased the rank of its block, which is not full yet.
    Innovative,
    /// The packet completed its block.
    Last,
    /// The packet did not increase the rank.
    Redundant,
    /// The packet's block was already complete.
    Stale,
}

/// Decides which packets are acknowledged.
///
/// ```
/// use lasthop_franc::config::AckRules;
/// use lasthop_franc::paper::{AckRule, Arrival};
///
/// // The text acknowledges as soon as everything that was received is decoded.
/// let mut rule = AckRule::new(AckRules::Text);
/// assert!(!rule.handle_enc(Arrival::Innovative, 3, 2));
/// assert!(rule.handle_enc(Arrival::Innovative, 4, 4));
/// assert!(rule.handle_enc(Arrival::Last, 8, 8));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct AckRule {
    rules: AckRules,
    /// Number of redundant packets since an innovative one.
    redundant: u32,
    /// Number of late packets since one that was not late.
    late: u32,
}

impl AckRule {
    /// A rule that acknowledges by `rules`.
    pub fn new(rules: AckRules) -> Self {
        Self { rules, ..Self::default() }
    }

    /// Whether to acknowledge now, after a packet whose block has `rank`, and
    /// `known` symbols, with it.
    pub fn handle_enc(&mut self, arrival: Arrival, rank: u16, known: u16) -> bool {
        let decoded = rank == known;
        match arrival {
            Arrival::Innovative | Arrival::Last => {
                *self = Self::new(self.rules);
                let partially = decoded && self.rules == AckRules::Text;
                arrival == Arrival::Last || partially
            }
            Arrival::Redundant => {
                self.late = 0;
                self.redundant += 1;
                let count = self.redundant;
                match (self.rules, decoded) {
                    (AckRules::January, _) => decoded && count >= JANUARY_REDUNDANT_MIN,
                    (AckRules::March, _) if count >= REDUNDANT => true,
                    (AckRules::Text | AckRules::March, true) => count % REDUNDANT_DECODED == 1,
                    (AckRules::Text, false) => count.is_multiple_of(REDUNDANT),
                    (AckRules::March, false) => false,
                }
            }
            Arrival::Stale => {
                self.late += 1;
                match self.rules {
                    AckRules::Text | AckRules::January => self.late % LATE == 1,
                    AckRules::March => self.late % LATE == 2,
                }
            }
        }
    }
}
