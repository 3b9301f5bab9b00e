//! The counters of a node since its start, and gauges; a driver displays them
//! (`lasthop franc stats`).
//!
//! A counter is one line of [`franc_counters`](crate::franc_counters): everything
//! that sums, displays or describes counters is generated from that list. Gauges
//! are fields of [`Stats`]. Leaves out histories: counters are `u64` and only grow.

use crate::wire::NodeId;
use alloc::vec::Vec;
use lasthop_units::Duration;

/// The list of the counters: calls the macro `$then` with `$with`, and then each counter as
/// documentation, name and semicolon. Counters are `u64` and only grow; names carry units.
/// The documentation is the help text of Prometheus and the description in JSON Schemas.
#[macro_export]
macro_rules! franc_counters {
    ($then:ident { $($with:tt)* }) => {
        $then! {
            $($with)*
            /// IP packets taken from the tunnel.
            packets_in;
            /// Bytes of those packets.
            bytes_in;
            /// IP packets given to the tunnel.
            packets_out;
            /// Bytes of those packets.
            bytes_out;
            /// Packets that the backlog dropped.
            backlog_drops;
            /// TCP acknowledgements in the backlog that later ones of their flow replaced.
            acks_superseded;
            /// Packets refused because they were not IP, or too long.
            refused;
            /// Blocks begun as encoder.
            blocks_begun;
            /// Blocks that the other end has completed.
            blocks_done;
            /// ENC datagrams sent with an uncoded symbol.
            source_sent;
            /// ENC datagrams sent with combinations.
            coded_sent;
            /// Timeouts of the encoder.
            timeouts;
            /// ACK datagrams sent.
            acks_sent;
            /// Innovative ENC datagrams received: they increased the rank of a block.
            innovative;
            /// Redundant ENC datagrams received: they added nothing to an incomplete block.
            redundant;
            /// Stale ENC datagrams received: their block was complete.
            stale;
            /// ACK datagrams received.
            acks_received;
            /// Bytes of all datagrams sent.
            datagram_bytes_sent;
            /// Bytes of all datagrams received and accepted.
            datagram_bytes_received;
            /// Datagrams received that are not of this protocol, or damaged.
            malformed;
            /// Datagrams received whose authentication failed.
            unauthentic;
            /// Datagrams received with a number that was received before.
            replayed;
            /// HELLOs and CALLs without a proof of their address: questions, and recordings.
            unproven;
            /// Datagrams lost by injection.
            injected_losses;
            /// Symbols with an invalid seal; none of their content was delivered.
            corrupt;
            /// Symbols given up because their sender restarted or vanished.
            symbols_lost;
            /// Sessions that began.
            sessions;
            /// Sessions that were replaced because nothing arrived in them.
            stalls;
        }
    };
}

/// Declares [`Stats`]: the gauges as written, and the counters.
macro_rules! stats {
    (
        $(#[doc = $docs:literal])*
        struct {
            $($(#[doc = $gauge_docs:literal])* $gauge:ident: $ty:ty,)*
        }
        $($(#[doc = $counter_docs:literal])* $counter:ident;)*
    ) => {
        $(#[doc = $docs])*
        #[derive(Clone, Debug, PartialEq, Default)]
        pub struct Stats {
            $($(#[doc = $counter_docs])* pub $counter: u64,)*
            $($(#[doc = $gauge_docs])* pub $gauge: $ty,)*
        }

        impl Stats {
            /// Name, value and description of each counter.
            pub fn counters(&self) -> impl Iterator<Item = (&'static str, u64, &'static str)> {
                [$((stringify!($counter), self.$counter, concat!($($counter_docs),*).trim()),)*]
                    .into_iter()
            }

            /// Adds the counters of `other`, wrapping; gauges stay.
            pub fn add_counters(&mut self, other: &Self) {
                $(self.$counter = self.$counter.wrapping_add(other.$counter);)*
                self.change_links(other, u64::wrapping_add);
            }

            /// Subtracts the counters of `other`, wrapping; gauges stay.
            pub fn subtract_counters(&mut self, other: &Self) {
                $(self.$counter = self.$counter.wrapping_sub(other.$counter);)*
                self.change_links(other, u64::wrapping_sub);
            }
        }
    };
}

franc_counters!(stats {
    /// Counters and gauges of a node.
    struct {
        /// Packets that wait.
        backlog_packets: u64,
        /// Whether there is one now.
        connected: bool,
        /// Bytes of the longest datagram sent: a length that the path is known to carry. 0 without
        /// a session, or where no node searches for it.
        path_datagram_bytes: u16,
        /// The smoothed round trip, zero if not known.
        round_trip: Duration,
        /// Delay in queues of the way.
        queue_delay: Duration,
        /// The rate of sending in bits per second, if it is paced.
        pace_bps: u64,
        /// State of each neighbour.
        neighbours: Vec<NeighbourStats>,
        /// State of each link to the other end, if there are two.
        links: Vec<LinkStats>,
    }
});

impl Stats {
    /// Changes the counters of each link by those of `other`. A link that only `other` has is added
    /// without gauges.
    fn change_links(&mut self, other: &Self, change: fn(u64, u64) -> u64) {
        for other in &other.links {
            let at = self.links.iter().position(|link| link.link == other.link);
            let at = at.unwrap_or_else(|| {
                self.links.push(LinkStats { link: other.link, ..LinkStats::default() });
                self.links.len() - 1
            });
            let bytes = &mut self.links[at].datagram_bytes_sent;
            *bytes = change(*bytes, other.datagram_bytes_sent);
        }
    }

    /// The share of the links' datagram bytes that was sent on `link`; `None` if nothing was sent.
    pub fn share_of(&self, link: &LinkStats) -> Option<f64> {
        let all: u64 = self.links.iter().map(|link| link.datagram_bytes_sent).sum();
        (all > 0).then(|| link.datagram_bytes_sent as f64 / all as f64)
    }
}

/// The values of one of two links.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkStats {
    /// Number of the link, from 0 on.
    pub link: u8,
    /// Bytes of the datagrams sent on it in sessions, a counter.
    pub datagram_bytes_sent: u64,
    /// Whether it is in use; else only pulses try it.
    pub is_alive: bool,
    /// Number of datagrams received on it.
    pub heard: u64,
    /// Share of the other end's datagrams that were lost on it, 0 to 1.
    pub loss_in: Option<f64>,
    /// Share of this node's datagrams that were lost on it, 0 to 1.
    pub loss_out: Option<f64>,
    /// The smoothed round trip of datagrams on it, with acknowledgements on any link.
    pub round_trip: Option<Duration>,
    /// The rate of sending in bits per second.
    pub pace_bps: u64,
}

/// The values of one neighbour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NeighbourStats {
    /// Number of the neighbour.
    pub id: NodeId,
    /// Number of datagrams received from it.
    pub heard: u64,
    /// Share of its datagrams that were lost on the path to this node, 0 to 1.
    pub loss_in: Option<f64>,
    /// Share of this node's datagrams that were lost on the path to it, 0 to 1.
    pub loss_out: Option<f64>,
}
