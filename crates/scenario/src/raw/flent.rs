//! `[[flent]]`: tests of flent (flent.org) as flows of the model. `crate::flent` expands them.

use super::RawTcp;
use lasthop_config::choices;
use lasthop_config::scalar::{Name, Whole};
use lasthop_config::tables;
use lasthop_units::Duration;

/// A test of flent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlentTest {
    Rrul,
    RrulBe,
    RttFair,
    TcpNup,
    TcpNdown,
}

/// Mapping from DSCPs to access categories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DscpMapping {
    Precedence,
    Rfc8325,
}

choices! {
    FlentTest {
        "rrul" => Self::Rrul,
        "rrul_be" => Self::RrulBe,
        "rtt_fair" => Self::RttFair,
        "tcp_nup" => Self::TcpNup,
        "tcp_ndown" => Self::TcpNdown,
    }
    DscpMapping { "precedence" => Self::Precedence, "rfc8325" => Self::Rfc8325 }
}

tables! {
    /// A test of flent, as flows called "name-up-be", "name-ping-icmp" and so on: pings from the
    /// start on, TCP flows from 5 s later (flent's DELAY) for the length, pings for 5 s more.
    RawFlent {
        /// Prefix of the flows' names.
        required name: Name;
        /// Test: "rrul" has four TCP flows in each direction (CS0, CS1, CS5 and EF), pings over UDP
        /// in EF, CS1 and CS0, and an ICMP ping; "rrul_be" the same, all of it best effort;
        /// "rtt_fair" two best-effort and two background flows in each direction, one for each of
        /// four servers, and a ping to each; "tcp_nup" and "tcp_ndown" a number of flows and a ping.
        required test: FlentTest;
        /// Node on which flent runs: uploads start here.
        required from: String;
        /// Node of the server. For "rtt_fair", a `*` makes each matching node a server, in the
        /// order of the file; flent repeats fewer than four and ignores more.
        required to: String;
        /// Start of the test.
        value start: Duration = "0s";
        /// Length of the TCP flows (flent's -l). The test takes 10 s more.
        value length: Duration = "60s";
        /// Time between two pings (flent's -s).
        value step: Duration = "200ms";
        /// "tcp_nup" and "tcp_ndown": number of flows (upload_streams, download_streams).
        option streams: Whole<1, 1_000> = "1; flent's own default is the number of processors";
        /// Access categories of DSCPs: Linux before 6.8 uses the first three bits, so that EF is
        /// video as CS5 is; RFC 8325, and Linux since, make EF voice.
        value dscp: DscpMapping = "precedence";
        /// Congestion control of all flows.
        option congestion_control: Name = "\"cubic\"";
        /// Settings of the model's endpoints of all flows.
        table tcp: RawTcp;
    }
}
