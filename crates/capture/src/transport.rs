//! Flows of TCP and UDP, in unencrypted MSDUs and in wired captures. Each flow has packets and
//! payload by second; TCP also has bytes in flight, times until acknowledgement, and
//! retransmissions (RFC 9293).
//!
//! All results are those at the monitor. MAC retransmissions of a segment count once. The time from
//! a segment to its acknowledgement covers the path between the monitor and the receiver only; the
//! times of the two directions add up to the round trip. A retransmission is a segment whose bytes
//! were captured before, or that fills a gap and has a later IP identification (`tcp`). The fate of
//! the previous copy on the air shows where it was lost.

mod tcp;

pub use tcp::{Direction, Fate, FlowSecond, TcpDirection};

use crate::limits::{IDLE_NS, LOOK_EVERY};
use lasthop_packet::{ip, transport};
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;

/// Largest number of flows followed. A new flow takes the place of an idle one; otherwise its
/// packets are only counted.
pub const FLOWS_MAX: usize = 4_096;

/// All flows of an interface.
#[derive(Debug, Default)]
pub struct Flows {
    index: BTreeMap<FlowKey, usize>,
    flows: Vec<Flow>,
    /// Flow of the previous packet, which most often is the flow of the next one.
    recent: Option<(FlowKey, usize)>,
    left_out: u64,
    forgotten: u64,
    /// Packets of new flows to refuse before the next search for idle flows.
    place_after: u32,
    /// Packets of IP outside of flows: later fragments, and other protocols.
    others: u64,
    packets_tcp: u64,
}

/// Key of a flow in both directions. The end with the lower address and port comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowKey {
    /// Protocol number: 6 is TCP, 17 is UDP.
    pub protocol: u8,
    /// Address and port of both ends.
    pub ends: [SocketAddr; 2],
}

/// Packets of a flow.
#[derive(Debug, Default)]
pub struct Flow {
    /// Direction from the first end to the second, and back.
    pub directions: [Direction; 2],
}

/// Frame that carried a packet, to find the cause of a loss on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carrier {
    /// Whether the MAC only retransmits an earlier frame. Such packets are counted and not
    /// analysed.
    pub repeated: bool,
    /// MPDU that carried the packet: number of the sequence number space, TID, sequence number.
    pub mpdu: Option<(u32, u8, u16)>,
    /// Whether the MPDU has the Retry bit.
    pub retry: bool,
    /// Whether the MPDU is sent to an access point.
    pub to_ds: bool,
    /// Number of the packet in the file.
    pub number: u64,
    /// Capture time in ns since 1970.
    pub at_ns: u64,
}

impl Carrier {
    /// Carrier of a packet that was captured on a wire.
    pub const fn of_wire(number: u64, at_ns: u64) -> Self {
        Self { repeated: false, mpdu: None, retry: false, to_ds: false, number, at_ns }
    }
}

impl FlowKey {
    /// Returns the key of the flow from `source` to `destination`, and whether the packet goes from
    /// the second end to the first.
    pub fn between(protocol: u8, source: SocketAddr, destination: SocketAddr) -> (Self, bool) {
        let back = destination < source;
        let ends = if back { [destination, source] } else { [source, destination] };
        (Self { protocol, ends }, back)
    }
}

impl Flows {
    /// Analyses a packet of IP, from its header on, as far as it was captured. `fate` returns
    /// whether an MPDU was acknowledged on the air.
    pub fn handle_packet(
        &mut self,
        packet: &[u8],
        carrier: Carrier,
        second: usize,
        fate: &dyn Fn((u32, u8, u16)) -> Option<bool>,
    ) {
        let Some(view) = ip::View::new(packet) else { return };
        let (protocol, payload) = view.upper();
        self.packets_tcp += u64::from(protocol == ip::protocol::TCP && !view.is_later_fragment());
        if carrier.repeated {
            return;
        }
        let known = matches!(protocol, ip::protocol::TCP | ip::protocol::UDP);
        let ports = transport::ports(payload).filter(|_| known && !view.is_later_fragment());
        let Some([source_port, destination_port]) = ports else {
            self.others += 1;
            return;
        };
        let [source, destination] = view.addresses();
        let source = SocketAddr::new(source, source_port);
        let destination = SocketAddr::new(destination, destination_port);
        let (key, back) = FlowKey::between(protocol, source, destination);
        let Some(index) = self.index_of(key, carrier.at_ns) else {
            self.left_out += 1;
            return;
        };
        let flow = &mut self.flows[index];
        let length = said_bytes(packet).unwrap_or(packet.len() as u64);
        let header = (packet.len() - payload.len()) as u64;
        let behind = length.saturating_sub(header);
        let [forward, reverse] = &mut flow.directions;
        let (this, other) = if back { (reverse, forward) } else { (forward, reverse) };
        this.handle_packet(length, carrier);
        match protocol {
            ip::protocol::TCP => {
                let id = match packet {
                    [0x40..=0x4f, _, _, _, a, b, ..] => Some(u16::from_be_bytes([*a, *b])),
                    _ => None,
                };
                tcp::handle_segment(this, other, payload, behind, id, carrier, second, fate);
            }
            _ => this.deliver(behind.saturating_sub(transport::udp::HEADER_BYTES as u64), second),
        }
    }

    /// Returns the index of a flow, and adds the flow if it is new; `None` if there are too many.
    fn index_of(&mut self, key: FlowKey, now_ns: u64) -> Option<usize> {
        if let Some((recent, index)) = self.recent
            && recent == key
        {
            return Some(index);
        }
        let index = match self.index.get(&key) {
            Some(index) => *index,
            None => {
                if self.flows.len() >= FLOWS_MAX && !self.has_place(now_ns) {
                    return None;
                }
                self.flows.push(Flow::default());
                self.index.insert(key, self.flows.len() - 1);
                self.flows.len() - 1
            }
        };
        self.recent = Some((key, index));
        Some(index)
    }

    /// Whether another flow can be added, after idle ones were dropped.
    fn has_place(&mut self, now_ns: u64) -> bool {
        if self.place_after > 0 {
            self.place_after -= 1;
            return false;
        }
        let has_place = self.forget(now_ns);
        self.place_after = if has_place { 0 } else { LOOK_EVERY };
        has_place
    }

    /// Drops idle flows with the fewest packets, at most a quarter of all flows. Returns whether
    /// there were any.
    fn forget(&mut self, now_ns: u64) -> bool {
        let mut idle: Vec<(u64, usize)> = Vec::new();
        for (index, flow) in self.flows.iter().enumerate() {
            if now_ns.saturating_sub(flow.latest_ns()) >= IDLE_NS {
                idle.push((flow.directions.iter().map(|direction| direction.packets).sum(), index));
            }
        }
        idle.sort_unstable();
        idle.truncate(FLOWS_MAX / 4);
        let mut gone = vec![false; self.flows.len()];
        idle.iter().for_each(|(_, index)| gone[*index] = true);
        self.forgotten += idle.len() as u64;
        let mut numbers = vec![0; self.flows.len()];
        let mut kept = 0;
        for (number, gone) in numbers.iter_mut().zip(&gone) {
            *number = kept;
            kept += usize::from(!gone);
        }
        let mut is_gone = gone.iter();
        self.flows.retain(|_| is_gone.next() == Some(&false));
        self.index.retain(|_, index| !gone[*index]);
        self.index.values_mut().for_each(|index| *index = numbers[*index]);
        self.recent = None;
        !idle.is_empty()
    }

    /// Gives packets without a time this time.
    pub(crate) fn begin(&mut self, at_ns: u64) {
        for direction in self.flows.iter_mut().flat_map(|flow| &mut flow.directions) {
            direction.times = direction.times.map(|_| (at_ns, at_ns));
        }
    }

    /// Reduces the memory of flows that have been idle for long.
    pub(crate) fn evict_idle(&mut self, now_ns: u64) {
        for flow in &mut self.flows {
            let idle_ns = now_ns.saturating_sub(flow.latest_ns());
            if idle_ns >= IDLE_NS {
                flow.directions.iter_mut().for_each(|direction| direction.compact(idle_ns));
            }
        }
    }

    /// Returns the number of flows that were dropped for newer ones.
    pub const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Returns the number of TCP packets.
    pub const fn packets_tcp(&self) -> u64 {
        self.packets_tcp
    }

    /// Returns all flows in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&FlowKey, &Flow)> {
        self.index.iter().map(|(key, index)| (key, &self.flows[*index]))
    }

    /// Returns the number of packets of flows beyond [`FLOWS_MAX`].
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }
}

impl Flow {
    /// Returns the capture time of the latest packet, in ns since 1970.
    fn latest_ns(&self) -> u64 {
        let times = self.directions.iter().filter_map(|direction| direction.times);
        times.map(|(_, last)| last).max().unwrap_or_default()
    }
}

impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.protocol == ip::protocol::TCP { "tcp" } else { "udp" };
        let [one, other] = self.ends;
        write!(f, "{name} {one} - {other}")
    }
}

/// Returns the length of the packet by its header, which neither a snap length nor the padding of a
/// short Ethernet frame changes; `None` if the header has no length (segmentation in the network
/// card).
pub(crate) fn said_bytes(packet: &[u8]) -> Option<u64> {
    match *packet {
        [0x40..=0x4f, _, 0, 0, ..] | [0x60..=0x6f, _, _, _, 0, 0, ..] => None,
        [0x40..=0x4f, _, a, b, ..] => Some(u64::from(u16::from_be_bytes([a, b]))),
        [0x60..=0x6f, _, _, _, a, b, ..] => Some(40 + u64::from(u16::from_be_bytes([a, b]))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An acknowledgement of 40 bytes (RFC 9293, 3.1, without options), as Ethernet carries it:
    /// padded to 46 (IEEE 802.3, 3.2.8).
    #[test]
    fn padding_is_no_payload() {
        let mut packet = vec![0x45, 0, 0, 40, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        packet.extend([0x1f, 0x90, 0xc0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 5 << 4, 16, 1, 0, 0, 0, 0, 0]);
        packet.extend([0; 6]);
        let mut flows = Flows::default();
        let carrier = Carrier::of_wire(1, 0);
        for _ in 0..2 {
            flows.handle_packet(&packet, carrier, 0, &|_| None);
        }
        let (_, flow) = flows.iter().next().expect("there is one");
        let direction = flow.directions.iter().find_map(|it| it.tcp.as_deref());
        let direction = direction.expect("one end has sent");
        assert_eq!((direction.segments, direction.retransmissions), (0, 0));
        assert_eq!(direction.duplicate_acks, 1);
    }
}
