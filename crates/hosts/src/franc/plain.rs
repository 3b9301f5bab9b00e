//! What the paper compares with (its figure 7): a program that passes every packet on
//! in a frame of its own, and loses some by injection.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use lasthop_franc::Stats;
use lasthop_units::{Probability, Stream};

/// The program in one node.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plain {
    packets_max: usize,
    /// By index of the node that a frame comes from.
    loss_from: Vec<(Probability, Stream)>,
    /// Packets to send, and to which index.
    leaving: VecDeque<(usize, Vec<u8>)>,
    /// Packets for this node's end of the link.
    pub arrived: VecDeque<Vec<u8>>,
    /// Packets that are lost.
    pub lost: VecDeque<Vec<u8>>,
    pub stats: Stats,
}

impl Plain {
    pub fn new(packets_max: u32, loss_from: Vec<(Probability, Stream)>) -> Self {
        Self {
            packets_max: packets_max as usize,
            loss_from,
            leaving: VecDeque::new(),
            arrived: VecDeque::new(),
            lost: VecDeque::new(),
            stats: Stats { connected: true, ..Stats::default() },
        }
    }

    /// A packet enters the link here, and goes to the node with index `next`.
    pub fn handle_packet(&mut self, next: usize, packet: Vec<u8>) {
        self.stats.packets_in += 1;
        self.stats.bytes_in += packet.len() as u64;
        self.send(next, packet);
    }

    /// A frame came from the node with index `from`; `next` is where it goes on,
    /// nowhere if the link ends here.
    pub fn handle_frame(&mut self, from: usize, next: Option<usize>, packet: Vec<u8>) {
        let (loss, stream) = &mut self.loss_from[from];
        if stream.chance(*loss) {
            self.stats.synthetic_lost += 1;
            return self.lost.push_back(packet);
        }
        self.stats.datagram_bytes_received += packet.len() as u64;
        match next {
            Some(next) => self.send(next, packet),
            None => {
                self.stats.packets_out += 1;
                self.stats.bytes_out += packet.len() as u64;
                self.arrived.push_back(packet);
            }
        }
    }

    /// The next frame, and the index of the node that it is for.
    pub fn poll_transmit(&mut self) -> Option<(usize, Vec<u8>)> {
        let (next, packet) = self.leaving.pop_front()?;
        self.stats.source_sent += 1;
        self.stats.datagram_bytes_sent += packet.len() as u64;
        Some((next, packet))
    }

    pub fn stats(&self) -> Stats {
        Stats { backlog_packets: self.leaving.len() as u64, ..self.stats.clone() }
    }

    fn send(&mut self, next: usize, packet: Vec<u8>) {
        if self.leaving.len() >= self.packets_max {
            self.stats.backlog_drops += 1;
            self.lost.push_back(packet);
        } else {
            self.leaving.push_back((next, packet));
        }
    }
}
