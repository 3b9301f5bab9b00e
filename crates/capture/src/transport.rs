//! Flows of TCP and UDP, in MSDUs that are not encrypted and on wired captures: packets and
//! payload by second, and of TCP what is in flight, how long it takes until it is acknowledged,
//! and what is sent again (RFC 9293).
//!
//! Everything is as the monitor sees it. A segment that the MAC repeats counts once. Times from a
//! segment to its acknowledgement hold the way between the monitor and the receiver only; those
//! of the two directions add up to the round trip. A retransmission is a segment whose bytes were
//! seen before, or were passed over and are numbered later (`tcp`); what became of the earlier
//! copy on the air shows where it was lost.

mod tcp;

pub use tcp::{Direction, Fate, FlowSecond, TcpDirection};

use crate::analysis::{IDLE_NS, LOOK_EVERY};
use lasthop_packet::ip;
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

/// Most flows that are followed. For a new one, idle ones are forgotten; others are counted.
pub const FLOWS_MAX: usize = 4_096;

/// All flows.
#[derive(Debug, Default)]
pub struct Flows {
    index: BTreeMap<FlowKey, usize>,
    flows: Vec<Flow>,
    /// The flow of the packet before: most often it is that of the next, too.
    recent: Option<(FlowKey, usize)>,
    left_out: u64,
    forgotten: u64,
    /// Packets without a place until idle flows are looked for again.
    place_after: u32,
    /// Packets of IP that were in no flow: fragments behind the first, and other protocols.
    others: u64,
    packets_tcp: u64,
}

/// A flow of both directions: the end with the lower address and port comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowKey {
    /// 6 is TCP, 17 UDP.
    pub protocol: u8,
    /// Both ends.
    pub ends: [(IpAddr, u16); 2],
}

/// What was seen of a flow.
#[derive(Debug, Default)]
pub struct Flow {
    /// From the first end to the second, and back.
    pub directions: [Direction; 2],
}

/// How a packet came to the monitor, for what is reported of its loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carrier {
    /// The MAC only repeats what it has sent before: the packet is counted, and no more.
    pub repeated: bool,
    /// Which MPDU carried it: a number of the sequence number space, TID, sequence number.
    pub mpdu: Option<(u32, u8, u16)>,
    /// The MPDU has the Retry bit.
    pub retry: bool,
    /// The MPDU goes to an access point.
    pub to_ds: bool,
    /// Number of the packet in the file.
    pub number: u64,
    /// When it was captured, in ns since 1970.
    pub at_ns: u64,
}

impl Carrier {
    /// Of a packet that was captured on a wire.
    pub const fn of_wire(number: u64, at_ns: u64) -> Self {
        Self { repeated: false, mpdu: None, retry: false, to_ds: false, number, at_ns }
    }
}

impl FlowKey {
    /// The flow from `source` to `destination`; whether it goes from the second end to the first.
    pub fn of(protocol: u8, source: (IpAddr, u16), destination: (IpAddr, u16)) -> (Self, bool) {
        let back = destination < source;
        let ends = if back { [destination, source] } else { [source, destination] };
        (Self { protocol, ends }, back)
    }
}

impl Flows {
    /// A packet of IP, from its header on, as far as it was captured. `fate` gives what became
    /// of an MPDU on the air.
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
        let ports = payload.first_chunk::<4>();
        let (true, false, Some(&[s0, s1, d0, d1])) = (known, view.is_later_fragment(), ports)
        else {
            self.others += 1;
            return;
        };
        let [source, destination] = view.addresses();
        let source = (source, u16::from_be_bytes([s0, s1]));
        let destination = (destination, u16::from_be_bytes([d0, d1]));
        let (key, back) = FlowKey::of(protocol, source, destination);
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
            _ => this.deliver(behind.saturating_sub(8), second),
        }
    }

    /// The number of a flow, which may be new; `None` if there are too many.
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

    /// Whether there is a place for another flow, after idle ones were forgotten.
    fn has_place(&mut self, now_ns: u64) -> bool {
        if self.place_after > 0 {
            self.place_after -= 1;
            return false;
        }
        let has_place = self.forget(now_ns);
        self.place_after = if has_place { 0 } else { LOOK_EVERY };
        has_place
    }

    /// Forgets idle flows, a quarter of all at most: those with the fewest packets. Whether there
    /// were any.
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

    /// Packets up to now came without a time: they came at this one.
    pub(crate) fn begin(&mut self, at_ns: u64) {
        for direction in self.flows.iter_mut().flat_map(|flow| &mut flow.directions) {
            direction.times = direction.times.map(|_| (at_ns, at_ns));
        }
    }

    /// Flows that were idle for long take less memory from now on.
    pub(crate) fn rest(&mut self, now_ns: u64) {
        for flow in &mut self.flows {
            let idle_ns = now_ns.saturating_sub(flow.latest_ns());
            if idle_ns >= IDLE_NS {
                flow.directions.iter_mut().for_each(|direction| direction.rest(idle_ns));
            }
        }
    }

    /// Flows that were forgotten for newer ones.
    pub const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Packets whose protocol is TCP.
    pub const fn packets_tcp(&self) -> u64 {
        self.packets_tcp
    }

    /// All flows in order.
    pub fn iter(&self) -> impl Iterator<Item = (&FlowKey, &Flow)> {
        self.index.iter().map(|(key, index)| (key, &self.flows[*index]))
    }

    /// Packets of flows beyond [`FLOWS_MAX`].
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }
}

impl Flow {
    /// When its latest packet was captured, in ns since 1970.
    fn latest_ns(&self) -> u64 {
        let times = self.directions.iter().filter_map(|direction| direction.times);
        times.map(|(_, last)| last).max().unwrap_or_default()
    }
}

impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.protocol == ip::protocol::TCP { "tcp" } else { "udp" };
        let [(a, p), (b, q)] = self.ends;
        write!(f, "{name} {} - {}", end(a, p), end(b, q))
    }
}

/// Address and port as one text.
pub fn end(address: IpAddr, port: u16) -> String {
    std::net::SocketAddr::new(address, port).to_string()
}

/// Length of the packet by its header, which neither a snap length nor the padding of a short
/// Ethernet frame changes; `None` where the header does not say it (segmentation in the card).
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
