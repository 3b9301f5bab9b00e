//! Encoder, helper and the decoder's acknowledgements as in the paper (sections II.C and
//! II.D, figures 4 and 5): one block after another, budgets spent as symbols come.
//!
//! What is pulled from a machine is sent at once: backpressure is the driver's, who
//! pulls only while the interface takes more. Left out: bytes on the air, keys, and
//! packets; a symbol is bytes.

mod ack;
mod encoder;
mod helper;

#[cfg(test)]
mod tests;

pub use ack::{AckRule, Arrival};
pub use encoder::{Counters, Encoder, Event, Reason, State};
pub use helper::{Helper, HelperParameters, HelperState};

use crate::budget::Plan;
use crate::config::Losses;
use lasthop_rlnc::Code;
use lasthop_units::Duration;

/// How the encoder sends. The paper's values: overshoot 1.05, a timeout of 20 ms, not
/// systematic, no margin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperParameters {
    /// The links of the hop.
    pub losses: Losses,
    /// Helpers beside it.
    pub helpers: u8,
    /// The budget is multiplied by this.
    pub overshoot: f64,
    /// Deviations that the budget allows for ([`Plan::margin`]).
    pub margin: Option<f64>,
    /// How long an acknowledgement is waited for after the last packet.
    pub timeout: Duration,
    /// Send each symbol as it is first; combinations after it.
    pub systematic: bool,
    /// Packets that a timeout asks for; `None`: a symbol's credit.
    pub timeout_packets: Option<u8>,
}

impl PaperParameters {
    fn plan(&self, code: Code) -> Plan {
        let Self { losses, helpers, overshoot, margin, .. } = *self;
        let symbols = code.symbols() as u16;
        Plan { field: code.field(), symbols, losses, helpers, overshoot, published: true, margin }
    }
}
