//! The program with which the paper compares FRANC (its figure 7): it forwards every packet in a
//! separate frame, and injects losses. Left out: coding, retransmissions, and headers.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use lasthop_franc::Stats;
use lasthop_units::{Probability, Stream};

/// The program in a node.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plain {
    packets_max: usize,
    /// Probability of losing a frame, and the stream to draw from, by index of the node that sent
    /// it.
    loss_from: Vec<(Probability, Stream)>,
    /// Packets to send, each with the index of the next node.
    leaving: VecDeque<(usize, Vec<u8>)>,
    /// Packets that arrived at this end of the link.
    pub arrived: VecDeque<Vec<u8>>,
    /// Packets that were lost or dropped here.
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

    /// Handles a packet that enters the link here, to forward it to the node with index
    /// `next`.
    pub fn handle_packet(&mut self, next: usize, packet: Vec<u8>) {
        self.stats.packets_in += 1;
        self.stats.bytes_in += packet.len() as u64;
        self.send(next, packet);
    }

    /// Handles a frame from the node with index `from`, to forward it to `next`; `None`
    /// if the link ends here.
    pub fn handle_frame(&mut self, from: usize, next: Option<usize>, packet: Vec<u8>) {
        let (loss, stream) = &mut self.loss_from[from];
        if stream.chance(*loss) {
            self.stats.injected_losses += 1;
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

    /// Returns the next frame, with the index of the node to send it to.
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
