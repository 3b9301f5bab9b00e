//! Segments of TCP at a point between sender and receiver.
//!
//! A segment whose bytes were captured before is a retransmission. A segment that fills a gap was
//! either overtaken by the segments behind the gap, or its first copy was lost or missed before the
//! monitor. The IP identification (RFC 791), which senders count up, and the elapsed time
//! distinguish the two.

mod gaps;

use super::Carrier;
use crate::series::Seconds;
use gaps::{Gaps, Late};
use lasthop_packet::transport::tcp::{Flags, View};
use std::collections::VecDeque;

/// One direction of a flow.
#[derive(Debug, Default)]
pub struct Direction {
    /// Number of packets, including retransmissions.
    pub packets: u64,
    /// Sum of their lengths, including IP headers, in bytes.
    pub bytes: u64,
    /// Payload in bytes, each byte once.
    pub payload_bytes: u64,
    /// Times of the first and last packet, in ns since 1970.
    pub times: Option<(u64, u64)>,
    /// Numbers of the first and last packet.
    pub frames: (u64, u64),
    /// Sequence number space of the MPDU that carried the latest packet; `None` on a wire.
    pub(crate) space: Option<u32>,
    /// Values by second of the capture.
    pub seconds: Seconds<FlowSecond, FLOW_SECONDS_MAX>,
    /// State of TCP; `None` until the first segment.
    pub tcp: Option<Box<TcpDirection>>,
}

/// One second of one direction of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowSecond {
    /// Payload in bytes, each byte once.
    pub payload_bytes: u64,
    /// Largest number of bytes in flight.
    pub flight_bytes_max: u32,
    /// Sum of the times from a segment to its acknowledgement in ns, and their number.
    pub rtt: (u64, u32),
    /// Number of retransmitted segments.
    pub retransmissions: u32,
}

/// State of the segments of one direction.
#[derive(Debug, Default)]
pub struct TcpDirection {
    /// Segments with payload.
    pub segments: u64,
    /// Number of retransmitted segments.
    pub retransmissions: u64,
    /// Segments that others have overtaken: they fill a gap, and their bytes were not captured
    /// before.
    pub out_of_order: u64,
    /// Retransmissions by the [`Fate`] of the previous copy.
    pub fates: [u64; 3],
    /// Acknowledgements without payload that repeat the previous number.
    pub duplicate_acks: u64,
    /// Largest number of bytes in flight.
    pub flight_bytes_max: u32,
    /// Times from a segment to its acknowledgement in ns: least, sum, greatest, number.
    pub rtt: Option<(u64, u64, u64, u64)>,
    /// Window scale of the SYN.
    pub window_shift: u8,
    /// Number of segments that announce a window of zero.
    pub zero_windows: u64,
    /// Sequence number behind the highest byte that was sent.
    next: Option<u32>,
    /// Highest number that this direction has acknowledged.
    acknowledged: Option<u32>,
    /// Segments that may be retransmitted or acknowledged: first byte, number behind the last,
    /// carrier, and whether they were sent only once.
    recent: VecDeque<Sent>,
    /// Gaps in the captured bytes.
    gaps: Gaps,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    first: u32,
    behind: u32,
    carrier: Carrier,
    once: bool,
}

/// Fate of the previous copy of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The receiver's MAC never acknowledged the copy.
    LostOnAir,
    /// The receiver's MAC acknowledged the copy. It was lost behind the hop, its TCP
    /// acknowledgement was lost, or it was not lost.
    Delivered,
    /// The fate is unknown: the capture is of a wire, or the copy is too old.
    Unknown,
}

/// Largest number of seconds kept for a flow, as there may be thousands of flows.
const FLOW_SECONDS_MAX: usize = 3_600;
/// Time after which a segment is no longer awaited, in ns.
const GIVEN_UP_NS: u64 = 300_000_000_000;
/// Largest number of segments remembered.
const RECENT_MAX: usize = 8_192;

impl TcpDirection {
    /// Inserts a segment that may be retransmitted or acknowledged, in the order of sequence
    /// numbers.
    fn remember(&mut self, sent: Sent) {
        if self.recent.len() >= RECENT_MAX {
            self.recent.pop_front();
        }
        let later = self.recent.iter().rev().take_while(|it| is_after(it.first, sent.first));
        let place = self.recent.len() - later.count();
        self.recent.insert(place, sent);
    }
}

impl Direction {
    pub(super) fn handle_packet(&mut self, bytes: u64, carrier: Carrier) {
        self.packets += 1;
        self.bytes += bytes;
        if self.packets == 1 {
            self.frames.0 = carrier.number;
        }
        self.frames.1 = carrier.number;
        self.space = carrier.mpdu.map_or(self.space, |(space, ..)| Some(space));
        let (first, last) = self.times.unwrap_or((carrier.at_ns, carrier.at_ns));
        self.times = Some((first, last.max(carrier.at_ns)));
    }

    /// Frees memory after `idle_ns` without a packet. TCP waits at most two minutes before it
    /// retransmits.
    pub(super) fn compact(&mut self, idle_ns: u64) {
        let Some(tcp) = &mut self.tcp else { return };
        if idle_ns >= GIVEN_UP_NS {
            tcp.recent.clear();
        }
        tcp.recent.shrink_to_fit();
    }

    pub(super) fn deliver(&mut self, bytes: u64, second: usize) {
        self.payload_bytes += bytes;
        if bytes > 0 {
            self.seconds.at(second).payload_bytes += bytes;
        }
    }
}

/// Handles a segment of direction `this`. `bytes` is its length with header, including bytes that
/// were not captured; `id` is the identification of its IPv4 header.
#[expect(clippy::too_many_arguments, reason = "all that is known of a segment, once")]
pub(super) fn handle_segment(
    this: &mut Direction,
    other: &mut Direction,
    segment: &[u8],
    bytes: u64,
    id: Option<u16>,
    carrier: Carrier,
    second: usize,
    fate: &dyn Fn((u32, u8, u16)) -> Option<bool>,
) {
    let Some(view) = View::cut(segment) else { return };
    let (flags, sequence) = (view.flags(), view.sequence());
    let payload = bytes.saturating_sub(view.header_bytes() as u64) as u32;
    let tcp = this.tcp.get_or_insert_default();
    if flags.has(Flags::SYN) {
        tcp.window_shift = view.window_shift().unwrap_or_default();
        tcp.next = None;
        tcp.acknowledged = None;
        tcp.recent.clear();
        tcp.gaps = Gaps::default();
    }
    let has_ends = flags.has(Flags::SYN | Flags::FIN | Flags::RST);
    tcp.zero_windows += u64::from(view.window() == 0 && !has_ends);
    let length = payload + u32::from(flags.has(Flags::SYN)) + u32::from(flags.has(Flags::FIN));
    let mut news = 0;
    if length > 0 {
        let behind = sequence.wrapping_add(length);
        let next = *tcp.next.get_or_insert(sequence);
        let fresh = behind.wrapping_sub(next);
        // A keep-alive probe repeats one byte that was acknowledged.
        let probe = payload <= 1 && next.wrapping_sub(sequence) == 1 && !flags.has(Flags::SYN);
        if is_after(behind, next) {
            tcp.next = Some(behind);
        }
        let again = is_after(next, sequence);
        let late = if again && payload > 0 && !probe {
            tcp.gaps.fill(sequence, behind, id, carrier, tcp.rtt.map(|(least, ..)| least))
        } else {
            None
        };
        if payload > 0 {
            tcp.segments += 1;
            news = if is_after(behind, next) { payload.min(fresh) } else { 0 };
            if late.is_some() {
                news = payload;
            }
            if !again {
                tcp.gaps.advance(next, sequence, id, carrier.at_ns);
            }
        }
        if late == Some(Late::Overtaken) {
            tcp.out_of_order += 1;
            tcp.remember(Sent { first: sequence, behind, carrier, once: true });
        } else if again && payload > 0 && !probe {
            tcp.retransmissions += 1;
            this.seconds.at(second).retransmissions += 1;
            let before = tcp.recent.iter_mut().rev().find(|sent| sent.first == sequence);
            let fate = match before.as_ref().and_then(|sent| sent.carrier.mpdu).and_then(fate) {
                Some(true) => Fate::Delivered,
                Some(false) => Fate::LostOnAir,
                None => Fate::Unknown,
            };
            tcp.fates[fate as usize] += 1;
            match before {
                Some(sent) => {
                    sent.once = false;
                    sent.carrier = carrier;
                }
                None if late.is_some() => {
                    tcp.remember(Sent { first: sequence, behind, carrier, once: false });
                }
                None => {}
            }
        } else if payload > 0 {
            tcp.remember(Sent { first: sequence, behind, carrier, once: true });
        }
    }
    if let (Some(next), Some(acknowledged)) =
        (tcp.next, other.tcp.as_ref().and_then(|tcp| tcp.acknowledged))
        && payload > 0
    {
        let flight = next.wrapping_sub(acknowledged);
        // A flight above the greatest window is a gap in the capture.
        if flight < 1 << 30 {
            tcp.flight_bytes_max = tcp.flight_bytes_max.max(flight);
            let second = this.seconds.at(second);
            second.flight_bytes_max = second.flight_bytes_max.max(flight);
        }
    }
    if let Some(acknowledges) = view.acknowledges() {
        let before = tcp.acknowledged;
        if before.is_none_or(|before| is_after(acknowledges, before)) {
            tcp.acknowledged = Some(acknowledges);
            acknowledge(other, acknowledges, carrier.at_ns, second);
        } else if before == Some(acknowledges) && length == 0 && !has_ends {
            tcp.duplicate_acks += 1;
        }
    }
    this.deliver(u64::from(news), second);
}

/// Handles an acknowledgement of the segments of `sender` up to a number.
fn acknowledge(sender: &mut Direction, up_to: u32, at_ns: u64, second: usize) {
    let Some(tcp) = &mut sender.tcp else { return };
    let mut newest = None;
    while let Some(sent) = tcp.recent.front() {
        if is_after(sent.behind, up_to) {
            break;
        }
        // Among the segments that one acknowledgement covers, the last has waited least.
        newest = Some(*sent);
        tcp.recent.pop_front();
    }
    let Some(sent) = newest.filter(|sent| sent.once) else { return };
    let rtt = at_ns.saturating_sub(sent.carrier.at_ns);
    let (least, sum, greatest, number) = tcp.rtt.unwrap_or((rtt, 0, rtt, 0));
    tcp.rtt = Some((least.min(rtt), sum.saturating_add(rtt), greatest.max(rtt), number + 1));
    let second = sender.seconds.at(second);
    second.rtt.0 = second.rtt.0.saturating_add(rtt);
    second.rtt.1 += 1;
}

/// Whether number `a` is after `b` (RFC 9293, 3.4).
const fn is_after(a: u32, b: u32) -> bool {
    a != b && a.wrapping_sub(b) < 1 << 31
}
