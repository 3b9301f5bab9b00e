//! Encoder, helper and the decoder's acknowledgements as in the paper (sections
//! II.C and II.D, figures 4 and 5): one block after the other, with budgets that
//! are spent as symbols arrive. Counts are packets and may be fractions. A packet
//! that is polled is sent at once: the driver polls only while the interface takes
//! more. Leaves out the encoding of datagrams, keys, and IP packets: a symbol is a
//! sequence of bytes.

mod ack;
mod encoder;
mod helper;

#[cfg(test)]
mod tests;

pub use ack::{AckRule, Arrival};
pub use encoder::{Counters, Encoder, EncoderEvent, EncoderReason, State};
pub use helper::{Helper, HelperParameters, HelperState};

use crate::budget::Plan;
use crate::config::{Losses, Spending, WaitStart};
use lasthop_rlnc::Code;
use lasthop_units::Duration;

/// The parameters of the encoder. The paper's values: overshoot 1.05, a timeout of
/// 20 ms, not systematic, no margin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperParameters {
    /// Losses of the links of the hop.
    pub losses: Losses,
    /// Number of helpers on the hop.
    pub helpers: u8,
    /// Factor of the budget.
    pub overshoot: f64,
    /// Standard deviations of losses that the budget allows for ([`Plan::margin`]).
    pub margin: Option<f64>,
    /// Wait for an acknowledgement after the last packet.
    pub timeout: Duration,
    /// Whether each symbol is sent uncoded first, and combinations afterwards.
    pub systematic: bool,
    /// Packets that a timeout grants; `None`: the credit of a symbol.
    pub timeout_packets: Option<u8>,
    /// When packets that symbols grant are sent.
    pub spend: Spending,
    /// The start of the wait for an acknowledgement.
    pub wait: WaitStart,
}

impl PaperParameters {
    fn plan(&self, code: Code) -> Plan {
        let Self { losses, helpers, overshoot, margin, .. } = *self;
        let symbols = code.symbols() as u16;
        Plan { field: code.field(), symbols, losses, helpers, overshoot, published: true, margin }
    }
}
