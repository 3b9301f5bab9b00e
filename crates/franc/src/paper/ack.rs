//! When the decoder acknowledges: whenever all that it received is decoded, partially or
//! fully (section II.C).
//!
//! An acknowledgement may be lost; what comes then is redundant or late, and now and
//! then one of these is acknowledged again, at intervals of the authors' programs (netmix
//! 902fc60 of January and 94897df of March 2014). Those acknowledge what is partially
//! decoded after redundant packets only, from the third in a row on or at the first of
//! every four, and not whenever it is decoded, as the text has it and as is done here.

/// Redundant packets, while all is decoded, from one acknowledgement to the next.
const REDUNDANT_DECODED: u32 = 4;

/// Redundant packets, while something is not decoded, from one to the next.
const REDUNDANT: u32 = 50;

/// Packets of blocks that are done, from one to the next.
const LATE: u32 = 5;

/// What an ENC was worth to the decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It raised the rank of its block.
    Innovative,
    /// It did not.
    Redundant,
    /// Its block was complete before.
    Late,
}

/// Says which packets are acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct AckRule {
    /// Redundant ones since an innovative one.
    redundant: u32,
    /// Late ones since one that was not.
    late: u32,
}

impl AckRule {
    /// Whether to acknowledge now, after a packet whose block has `rank` and `known`
    /// symbols with it.
    pub fn handle_enc(&mut self, arrival: Arrival, rank: u16, known: u16) -> bool {
        let decoded = rank == known;
        match arrival {
            Arrival::Innovative => {
                *self = Self::default();
                decoded
            }
            Arrival::Redundant => {
                self.late = 0;
                self.redundant += 1;
                match decoded {
                    true => self.redundant % REDUNDANT_DECODED == 1,
                    false => self.redundant.is_multiple_of(REDUNDANT),
                }
            }
            Arrival::Late => {
                self.late += 1;
                self.late % LATE == 1
            }
        }
    }
}
