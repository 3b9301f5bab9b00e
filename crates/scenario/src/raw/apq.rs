//! `apq` of a `[[flow]]`: a queue that is measured from outside (Li et al., "Measuring Queue
//! Capacities of IEEE 802.11 Wireless Access Points"). Keys of one method only are options. Rates
//! are packets a second.

use crate::scalar::{Factor, Whole, choices};
use crate::table::tables;
use lasthop_units::{Duration, Probability};

/// How an access point's queue is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApqMethod {
    Exact,
    Fast,
}

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowEnd {
    From,
    To,
}

choices! {
    ApqMethod { "exact" => Self::Exact, "fast" => Self::Fast }
    FlowEnd { "from" => Self::From, "to" => Self::To }
}

tables! {
    /// A measurement of a queue from outside: APQ (Li et al., "Measuring Queue
    /// Capacities of IEEE 802.11 Wireless Access Points"). It takes as long as
    /// it takes; the run ends early when nothing else is left to do.
    RawApq = method {
        /// "exact" is the paper's: a search for the saturation rate in steps, then
        /// sessions of two minutes each. "fast" bisects the rate and sends short
        /// bursts until it is precise enough.
        value method: ApqMethod = "exact";
        /// Lengths of the IP packets, measured one after the other. The paper's
        /// two tell a queue of packets from one of bytes.
        value packet_bytes: Vec<Whole<100, 9_000>> = [1500, 750];
        /// Which end of the flow is the host that measures; the other one answers.
        value measured_by: FlowEnd = "to";
        /// Exact: sessions of each packet length.
        option sessions: Whole<1, 1_000> = "30, as in the paper";
        /// Exact: how long each rate of the search is sent.
        option dwell: Duration = "\"60s\", as in the paper";
        /// Exact: steps of the search, in packets a second.
        option step: Whole<1, 100_000> = "50, as in the paper";
        /// Exact: every time of a session is so many times as long; above 0, up
        /// to 1. A queue must still fill and drain in time.
        option time_scale: Factor = "1: a session takes 120 s";
        /// Exact: the saturation rate of the packet length (there may be one
        /// only), in packets a second.
        option saturation_rate: Whole<1, 1_000_000> = "searched for";
        /// Exact: find out the queue's discipline, too. The fast method always does.
        option discipline: bool = "false, as in the paper";
        /// Fast: most time, all packet lengths together.
        option duration: Duration = "\"60s\"";
        /// Fast: half width of the 95 % confidence interval that is precise
        /// enough, relative to the capacity.
        option precision: Probability = "0.01";
        /// No packets are sent faster than this, in packets a second. Far
        /// beyond what 802.11n with four streams carries.
        value rate_max: Whole<1, 1_000_000> = 100_000;
        /// By how much the clock of the far host, the one that answers, is ahead.
        value clock_offset: Duration = "0s";
        /// By how much it is fast, in parts per million. Crystals have up to
        /// 100; 200 is two of them that differ as much as they can.
        value clock_drift: Whole<-1_000, 1_000> = 0;
    }
}
