//! `[[franc]]`: a coded link, its nodes, injected losses and outages. The keys of its coding are in
//! `lasthop_franc_node::coding`, which `franc.toml` of a daemon shares. `assemble::franc` decides which nodes
//! are possible.

use lasthop_config::choices;
use lasthop_config::scalar::{Name, Whole};
use lasthop_config::tables;
use lasthop_franc_node::coding::RawCoding;
use lasthop_units::{Duration, Probability};

/// Task of the nodes between the ends of a coded link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relaying {
    Recode,
    Forward,
}

/// Source of the error probabilities of a coded link.
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
    /// A network-coded, reliable link (FRANC: Hundeboll et al., "Throughput vs. Delay in Lossy
    /// Wireless Mesh Networks with Random Linear Network Coding"). The two ends carry the packets
    /// of flows between or through them in raw Ethernet frames. `simulate` and `emulate` run the
    /// machines of the daemon; real nodes run the daemon itself.
    RawFranc {
        /// Name of the link in results.
        required name: Name;
        /// The two nodes that encode and decode. A node takes part in one link.
        required ends: [String; 2];
        /// One or two nodes beside a link on the air that hear both ends and send combinations.
        /// Without an independent cell, one of the ends must be the access point.
        option helpers: Vec<String> = "none";
        /// Nodes between the ends, from the first to the second; not with helpers.
        option relays: Vec<String> = "none";
        /// Relays are reliable on both sides and recode, or forward datagrams as they are.
        value relaying: Relaying = "recode";
        /// Second network interfaces of the two ends, each a node of the scenario. Datagrams also go
        /// from one to the other, on a second link; no wire joins an end and its interface. Only
        /// in mode = "stream" with a pace, without relays and helpers.
        option second: [String; 2] = "none: one link";
        /// Coding of the link.
        flatten coding: RawCoding;
        /// Losses given by [[franc.loss]], or estimated by the nodes.
        option losses: FrancLosses = "\"given\" in the paper's mode; else \"estimated\"";
        /// Frames lost by injection, beside those that the air loses.
        list loss: RawFrancLoss;
        /// Former table of the waiting packets at an end.
        moved backlog: () = "the keys of this table are called backlog_target and backlog_packets";
        /// Former name of the limit of blocks in flight.
        moved blocks: () = "this key is called blocks_max";
        /// Unpaced frames of the link that the interface of a node holds, as in the buffer of a
        /// socket. Two keep the interface busy, and the queue where it is managed.
        value interface_packets: Whole<1, 10_000> = 2;
        /// Times at which a node, or one of two links, is dead.
        list outage: RawFrancOutage;
    }

    /// Injected loss of frames of a coded link.
    RawFrancLoss {
        /// Both directions between these two of its nodes.
        option between: [String; 2] = "none; a loss requires between, or from and to";
        /// One direction, from this node.
        option from: String = "none";
        /// One direction, to this node.
        option to: String = "none";
        /// Share of frames lost on arrival, for any destination.
        required loss: Probability;
    }

    /// Outage of a node of a coded link, or of one of its two links.
    RawFrancOutage {
        /// Node that is dead.
        option node: String = "none; an outage requires node or link";
        /// Link that is dead, of those of a link with `second`: its datagrams are lost.
        option link: Whole<1, 2> = "none";
        /// Start of the outage.
        required from: Duration;
        /// End of the outage; a node restarts without its state.
        option until: Duration = "the end of the run";
    }
}
