//! `[[franc]]`: a coded link, its nodes, injected losses and outages. How it codes is in
//! `crate::coding`: `franc.toml` of a daemon has the same keys. Which nodes there may be is decided
//! in `assemble::franc`.

use crate::coding::RawCoding;
use crate::scalar::{Name, Whole, choices};
use crate::table::tables;
use lasthop_units::{Duration, Probability};

/// What the nodes between the ends of a coded link do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relaying {
    Recode,
    Forward,
}

/// Where a coded link has its error probabilities from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrancLosses {
    Given,
    Estimated,
}

choices! {
    Relaying { "recode" => Self::Recode, "forward" => Self::Forward }
    FrancLosses { "given" => Self::Given, "estimated" => Self::Estimated }
}

tables! {
    /// A network-coded, reliable link (FRANC: Hundeboll et al., "Throughput vs. Delay
    /// in Lossy Wireless Mesh Networks with Random Linear Network Coding"). Its ends
    /// take the packets of flows that go from one to the other, or through both, and
    /// carry them in raw Ethernet frames of their own. `simulate` and
    /// `emulate` run the machines of the daemon; real nodes run the daemon itself.
    RawFranc {
        /// Its name, in results.
        required name: Name;
        /// The two nodes that encode and decode. A node takes part in one link.
        required ends: [String; 2];
        /// One or two nodes beside a link on the air that hear both ends and send
        /// combinations of what they heard. Without an independent cell, one of the
        /// ends must be the access point for them to be of use.
        option helpers: Vec<String> = "none";
        /// Nodes between the ends, from the first to the second; not with helpers.
        option relays: Vec<String> = "none";
        /// Relays are reliable on both sides and code anew, or pass datagrams on as
        /// they are.
        value relaying: Relaying = "recode";
        /// How it codes.
        flatten coding: RawCoding;
        /// The nodes are told the losses of [[franc.loss]], or find them out.
        option losses: FrancLosses = "\"given\" in the paper's mode, as there; else \"estimated\"";
        /// Frames that are lost by injection, beside those that the air loses.
        list loss: RawFrancLoss;
        /// What waits at an end.
        moved backlog: () = "the keys of this table are called backlog_target and backlog_packets";
        /// Blocks in flight.
        moved blocks: () = "this key is called blocks_max";
        /// Frames of the link that a node's interface holds, unless they are paced: what
        /// the buffer of a socket has room for. Two keep it busy, and the queue
        /// where it is managed.
        value interface_packets: Whole<1, 10_000> = 2;
        /// Times at which a node of it is dead.
        list outage: RawFrancOutage;
    }

    /// Frames of a coded link to lose by injection.
    RawFrancLoss {
        /// Between these two of its nodes, both directions.
        option between: [String; 2] = "none; a loss needs between, or from and to";
        /// One direction, from this node.
        option from: String = "none";
        /// One direction, to this node.
        option to: String = "none";
        /// So many are lost on arrival, whomever they are for.
        required loss: Probability;
    }

    /// A time at which a node of a coded link is dead.
    RawFrancOutage {
        /// The node.
        required node: String;
        /// It dies.
        required from: Duration;
        /// It begins anew, knowing nothing.
        option until: Duration = "the end of the run";
    }
}
