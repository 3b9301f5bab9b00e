//! What a node counted since it began; a driver shows it (`lasthop franc stats`).

use crate::wire::NodeId;
use alloc::vec::Vec;
use lasthop_units::Duration;

/// Counters and gauges of a node.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Stats {
    /// IP packets taken from the tunnel, and their bytes.
    pub packets_in: u64,
    /// Bytes of them.
    pub bytes_in: u64,
    /// IP packets given to the tunnel.
    pub packets_out: u64,
    /// Bytes of them.
    pub bytes_out: u64,
    /// Packets that the backlog dropped (CoDel or its bound).
    pub backlog_drops: u64,
    /// Packets that were no IP packets or too long.
    pub refused: u64,
    /// Packets that wait.
    pub backlog_packets: u64,
    /// Blocks begun as encoder, and completed.
    pub blocks_begun: u64,
    /// Blocks that the other end has.
    pub blocks_done: u64,
    /// ENC datagrams sent with a symbol as it is.
    pub source_sent: u64,
    /// ENC datagrams sent with combinations.
    pub coded_sent: u64,
    /// Encoder timeouts.
    pub timeouts: u64,
    /// ACK datagrams sent.
    pub acks_sent: u64,
    /// ENC datagrams received that raised a rank.
    pub innovative: u64,
    /// ENC datagrams received that did not.
    pub redundant: u64,
    /// ENC datagrams received of blocks that are done.
    pub late: u64,
    /// ACK datagrams received.
    pub acks_received: u64,
    /// Bytes of all datagrams sent, and received and accepted.
    pub datagram_bytes_sent: u64,
    /// Bytes of those received and accepted.
    pub datagram_bytes_received: u64,
    /// Datagrams that are not ours, or damaged.
    pub malformed: u64,
    /// Datagrams whose authentication failed.
    pub unauthentic: u64,
    /// Datagrams that came before.
    pub replayed: u64,
    /// HELLOs and CALLs that do not prove where they come from: questions, and recordings.
    pub unproven: u64,
    /// Datagrams lost on purpose.
    pub synthetic_lost: u64,
    /// Symbols that were not what their sender sealed: nothing of them was delivered.
    pub corrupt: u64,
    /// Symbols given up because their sender restarted or vanished.
    pub symbols_lost: u64,
    /// Sessions that began.
    pub sessions: u64,
    /// Times that another session was asked for because nothing arrived in the one there is.
    pub stalls: u64,
    /// Whether there is one now.
    pub connected: bool,
    /// The longest datagram that is sent: what the path is known to carry. 0 if there is no
    /// session, or if nobody looks for it.
    pub path_datagram_bytes: u16,
    /// The smoothed round trip, zero if not known.
    pub round_trip: Duration,
    /// Delay in queues of the way.
    pub queue_delay: Duration,
    /// The rate of sending in bits per second, if it is paced.
    pub pace_bps: u64,
    /// What is known of each neighbour.
    pub neighbours: Vec<NeighbourStats>,
}

/// What is known of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NeighbourStats {
    /// Which.
    pub id: NodeId,
    /// Datagrams heard from it.
    pub heard: u64,
    /// The share of its datagrams that was lost on the way to this node.
    pub loss_in: Option<f64>,
    /// The share of this node's datagrams that was lost on the way to it.
    pub loss_out: Option<f64>,
}
