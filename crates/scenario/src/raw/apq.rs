//! `apq` of a `[[flow]]`: measurement of a queue from outside (Li et al., "Measuring Queue
//! Capacities of IEEE 802.11 Wireless Access Points"). Keys of only one method are options. Rates
//! are packets per second.

use lasthop_config::choices;
use lasthop_config::scalar::{Factor, Whole};
use lasthop_config::tables;
use lasthop_units::{Duration, Probability};

/// Method of measuring a queue.
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
    /// Measurement of a queue from outside: APQ (Li et al., "Measuring Queue Capacities of IEEE
    /// 802.11 Wireless Access Points"). The run ends early when nothing else is left to do.
    RawApq = method {
        /// "exact" is the paper's: a stepwise search for the saturation rate, then sessions of two
        /// minutes. "fast" bisects the rate and sends short bursts until the result is precise
        /// enough.
        value method: ApqMethod = "exact";
        /// Lengths of the IP packets in bytes, measured in turn. The paper's two lengths
        /// distinguish a queue of packets from one of bytes.
        value packet_bytes: Vec<Whole<100, 9_000>> = [1500, 750];
        /// End of the flow that measures; the other one answers.
        value measured_by: FlowEnd = "to";
        /// Exact: sessions of each packet length.
        option sessions: Whole<1, 1_000> = "30, as in the paper";
        /// Exact: duration of each rate of the search.
        option dwell: Duration = "\"60s\", as in the paper";
        /// Exact: step of the search, in packets per second.
        option step: Whole<1, 100_000> = "50, as in the paper";
        /// Exact: factor of all times of a session, above 0 and up to 1. A queue must still fill
        /// and drain in time.
        option time_scale: Factor = "1: a session takes 120 s";
        /// Exact: known saturation rate of the only packet length, in packets per second.
        option saturation_rate: Whole<1, 1_000_000> = "searched for";
        /// Exact: find the queue's discipline too. The fast method always does.
        option discipline: bool = "false, as in the paper";
        /// Fast: longest time for all packet lengths together.
        option duration: Duration = "\"60s\"";
        /// Fast: required half width of the 95 % confidence interval, relative to the capacity.
        option precision: Probability = "0.01";
        /// Highest rate in packets per second; far beyond 802.11n with four streams.
        value rate_max: Whole<1, 1_000_000> = 100_000;
        /// Lead of the clock of the far host, the one that answers.
        value clock_offset: Duration = "0s";
        /// Drift of that clock, in parts per million; positive is fast. Crystals have up to 100;
        /// two that differ most have 200.
        value clock_drift: Whole<-1_000, 1_000> = 0;
    }
}
