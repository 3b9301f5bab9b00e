//! When the decoder acknowledges: whenever all that it received is decoded, partially or
//! fully (section II.C).
//!
//! An acknowledgement may be lost; what comes then is redundant or late, and now and
//! then one of these is acknowledged again, which the text leaves open, at intervals of the
//! authors' programs (netmix 902fc60 of January and 94897df of March 2014). Those acknowledge
//! what is partially decoded after redundant packets only ([`AckRules`]), and not whenever it
//! is decoded. Left out: that they compare the rank with the encoder's, which changes only
//! acknowledgements that the encoder has no use for.

use crate::config::AckRules;

/// Redundant packets in a row, while all is decoded, from which on January's program
/// acknowledges each.
const JANUARY_REDUNDANT_MIN: u32 = 3;

/// Redundant packets, while all is decoded, from one acknowledgement to the next.
const REDUNDANT_DECODED: u32 = 4;

/// Redundant packets, while something is not decoded, from one to the next; from which on
/// March's program acknowledges each.
const REDUNDANT: u32 = 50;

/// Packets of blocks that are done, from one to the next.
const LATE: u32 = 5;

/// What an ENC was worth to the decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It raised the rank of its block, which is not full yet.
    Innovative,
    /// With it, its block is complete.
    Last,
    /// It did not raise the rank.
    Redundant,
    /// Its block was complete before.
    Late,
}

/// Says which packets are acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct AckRule {
    rules: AckRules,
    /// Redundant ones since an innovative one.
    redundant: u32,
    /// Late ones since one that was not.
    late: u32,
}

impl AckRule {
    /// Acknowledges by `rules`.
    pub fn new(rules: AckRules) -> Self {
        Self { rules, ..Self::default() }
    }

    /// Whether to acknowledge now, after a packet whose block has `rank` and `known`
    /// symbols with it.
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
            Arrival::Late => {
                self.late += 1;
                match self.rules {
                    AckRules::Text | AckRules::January => self.late % LATE == 1,
                    AckRules::March => self.late % LATE == 2,
                }
            }
        }
    }
}
