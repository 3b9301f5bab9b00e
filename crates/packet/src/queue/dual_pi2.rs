//! DualPI2 ([RFC 9332](https://www.rfc-editor.org/rfc/rfc9332), appendix A) as in Linux' `dualpi2`
//! (6.17): an L4S queue for packets with ECT(1) or CE beside a classic one, both first in, first
//! out.
//!
//! PI2 ([`crate::aqm::pi2`]) decides when a packet leaves. The L4S queue marks packets beyond a
//! step of sojourn time, too: the backlog without such marks follows the rate of the link, also on
//! the air. A credit in percent of bytes keeps a share for the classic queue. Lengths are those of
//! Ethernet frames. Merged packets (`split_gso`) are decided about one by one. Draws come from a
//! stream of the queue. Left out: drops on arrival (`drop_early`), a step in packets
//! (`step_packets`, `min_qlen_step`), the limit in memory, filters, and packets without ECN in the
//! L4S queue.

use super::fifo::Fifo;
use super::{ETHERNET_HEADER_BYTES, Held, PeerId};
use crate::Packet;
use crate::aqm::{Pi2, Pi2Parameters, Queueable, Signal};
use crate::ip::Ecn;
use alloc::vec::Vec;
use lasthop_units::{Bytes, Duration, Instant, Seed, Stream};

/// Longest frame, for the least backlog and the credit with which the scheduler starts (Linux'
/// `psched_mtu`).
const FRAME_BYTES_MAX: u64 = 1_500 + ETHERNET_HEADER_BYTES;

/// Backlog in bytes of frames, behind a packet that leaves, below which PI2 neither marks nor drops
/// it.
const BACKLOG_BYTES_MIN: u64 = 2 * FRAME_BYTES_MAX;

/// Two coupled queues under PI2.
#[derive(Clone, Debug, PartialEq)]
pub struct DualPi2 {
    config: Config,
    control: Pi2,
    next_update: Instant,
    /// Whether packets leave without marks and drops.
    is_silent: bool,
    classic: Fifo,
    scalable: Fifo,
    /// Weighted bytes that the classic queue may send before the other; positive when it is its
    /// turn.
    credit: i64,
    /// The packet that left last: its queue, and the credit before.
    last: Option<(Class, i64)>,
    /// Receivers and queues of packets that were put back, and are not decided about again.
    settled: Vec<(PeerId, Class)>,
    stream: Stream,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Config {
    pub(super) limit_packets: u32,
    pub(super) pi2: Pi2Parameters,
    pub(super) update_interval: Duration,
    pub(super) step: Duration,
    pub(super) classic_percent: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Classic,
    Scalable,
}

impl DualPi2 {
    pub(super) fn new(config: Config, perturbation: u32) -> Self {
        let mut queue = Self {
            config,
            control: Pi2::default(),
            next_update: Instant::ZERO,
            is_silent: false,
            classic: Fifo::new(),
            scalable: Fifo::new(),
            credit: 0,
            last: None,
            settled: Vec::new(),
            stream: Seed::new(u64::from(perturbation), 0).stream("packet/dualpi2"),
        };
        queue.reset_credit();
        queue
    }

    pub(super) fn set_limit(&mut self, packets: u32) {
        self.config.limit_packets = packets;
    }

    pub(super) fn set_target(&mut self, target: Duration) {
        self.config.pi2.target = target;
    }

    /// Lets the packets leave without marks and drops.
    pub(super) fn silence(&mut self) {
        self.is_silent = true;
    }

    pub(super) fn admits(&self, held: Held) -> bool {
        self.len_packets() + held.packets < self.config.limit_packets
    }

    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        peer: PeerId,
        packet: Packet,
        held: Held,
        dropped: &mut Vec<Packet>,
    ) {
        self.update_until(now);
        if self.admits(held) {
            let class = Class::from_ecn(packet.ecn());
            self.queue(class).push(peer, &packet, packet.arrived, ());
        } else {
            dropped.push(packet);
        }
    }

    pub(super) fn next_peer_where(&self, eligible: impl Fn(PeerId) -> bool) -> Option<PeerId> {
        self.choose(eligible).map(|choice| choice.peer)
    }

    pub(super) fn dequeue_for(
        &mut self,
        now: Instant,
        peer: PeerId,
        dropped: &mut Vec<Packet>,
    ) -> Option<Packet> {
        self.take(now, |other| other == peer, dropped).map(|(_, packet)| packet)
    }

    pub(super) fn dequeue(
        &mut self,
        now: Instant,
        dropped: &mut Vec<Packet>,
    ) -> Option<(PeerId, Packet)> {
        self.take(now, |_| true, dropped)
    }

    pub(super) fn put_back(&mut self, peer: PeerId, packet: Packet) {
        let usual = (Class::from_ecn(packet.ecn()), self.credit);
        let (class, credit) = self.last.take().unwrap_or(usual);
        self.credit = credit;
        self.queue(class).unpop(peer, &packet);
        self.settled.push((peer, class));
    }

    pub(super) fn peek_len_for(&self, peer: PeerId) -> Option<u16> {
        let Choice { class, .. } = self.choose(|other| other == peer)?;
        let queue = match class {
            Class::Classic => &self.classic,
            Class::Scalable => &self.scalable,
        };
        queue.front(peer).map(|(bytes, ())| bytes)
    }

    pub(super) fn len_packets(&self) -> u32 {
        self.classic.packets() + self.scalable.packets()
    }

    pub(super) fn len_bytes(&self) -> Bytes {
        Bytes::new(self.classic.bytes() + self.scalable.bytes())
    }

    pub(super) fn len_packets_for(&self, peer: PeerId) -> u32 {
        self.classic.packets_for(peer) + self.scalable.packets_for(peer)
    }

    fn queue(&mut self, class: Class) -> &mut Fifo {
        match class {
            Class::Classic => &mut self.classic,
            Class::Scalable => &mut self.scalable,
        }
    }

    /// Performs the updates of the controller that are due. Between two calls the queues do not
    /// change, so each sees the delays of its instant.
    fn update_until(&mut self, now: Instant) {
        let interval_ns = self.config.update_interval.as_nanos();
        while self.next_update <= now {
            if self.len_packets() == 0 && self.control.is_at_rest() {
                let passed = now.as_nanos() / interval_ns + 1;
                self.next_update = Instant::from_nanos(passed * interval_ns);
                return;
            }
            let at = self.next_update;
            let delay = |queue: &Fifo| {
                queue.oldest_arrival().map_or(Duration::ZERO, |since| at.saturating_since(since))
            };
            let longest = delay(&self.classic).max(delay(&self.scalable));
            self.control.update(longest, &self.config.pi2);
            self.next_update = at + self.config.update_interval;
        }
    }

    /// The queue to serve next among packets for eligible peers: the L4S queue, unless the classic
    /// one has credit.
    fn choose(&self, eligible: impl Fn(PeerId) -> bool) -> Option<Choice> {
        let scalable = self.scalable.oldest_where(&eligible);
        let classic = self.classic.oldest_where(&eligible);
        let is_shared = scalable.is_some() && classic.is_some();
        match (scalable, classic) {
            (Some(peer), None) => Some(Choice { class: Class::Scalable, peer, is_shared }),
            (Some(peer), Some(_)) if self.credit <= 0 => {
                Some(Choice { class: Class::Scalable, peer, is_shared })
            }
            (_, Some(peer)) => Some(Choice { class: Class::Classic, peer, is_shared }),
            (None, None) => None,
        }
    }

    fn take(
        &mut self,
        now: Instant,
        eligible: impl Fn(PeerId) -> bool,
        dropped: &mut Vec<Packet>,
    ) -> Option<(PeerId, Packet)> {
        self.update_until(now);
        loop {
            let Choice { class, peer, is_shared } = self.choose(&eligible)?;
            let mut packet = self.queue(class).pop(peer)?;
            match self.decide(now, peer, class, &packet) {
                Signal::Drop => {
                    dropped.push(packet);
                    continue;
                }
                Signal::Mark => _ = packet.mark(),
                Signal::None => {}
            }
            self.last = Some((class, self.credit));
            if is_shared {
                self.charge(class, packet.bytes);
            } else if self.len_packets() == 0 {
                // Linux asks again at once, and starts anew when there is nothing.
                self.reset_credit();
            }
            return Some((peer, packet));
        }
    }

    /// Decides about a packet that has just left its queue.
    fn decide(&mut self, now: Instant, peer: PeerId, class: Class, packet: &Packet) -> Signal {
        if let Some(place) = self.settled.iter().position(|entry| *entry == (peer, class)) {
            self.settled.swap_remove(place);
            return Signal::None;
        }
        if self.is_silent {
            return Signal::None;
        }
        let Self { control, stream, config, .. } = self;
        let draw = || (stream.next_u64() >> 32) as u32;
        let headers = u64::from(self.classic.packets() + self.scalable.packets());
        let backlog_bytes =
            self.classic.bytes() + self.scalable.bytes() + headers * ETHERNET_HEADER_BYTES;
        let signal = if backlog_bytes < BACKLOG_BYTES_MIN {
            Signal::None
        } else {
            match class {
                Class::Classic => control.decide_classic(packet.ecn_capable, &config.pi2, draw),
                Class::Scalable => control.decide_scalable(&config.pi2, draw),
            }
        };
        let is_late = now.saturating_since(packet.arrived) > config.step;
        match (signal, class) {
            (Signal::None, Class::Scalable) if is_late => Signal::Mark,
            _ => signal,
        }
    }

    fn charge(&mut self, class: Class, bytes: u16) {
        let classic = i64::from(self.config.classic_percent);
        self.credit += (i64::from(bytes) + ETHERNET_HEADER_BYTES as i64)
            * match class {
                Class::Scalable => classic,
                Class::Classic => classic - 100,
            };
    }

    fn reset_credit(&mut self) {
        let classic = i64::from(self.config.classic_percent);
        self.credit = FRAME_BYTES_MAX as i64 * (2 * classic - 100);
    }
}

/// The queue and the receiver of the next packet.
struct Choice {
    class: Class,
    peer: PeerId,
    /// Whether the other queue has a packet, too.
    is_shared: bool,
}

impl Class {
    /// The queue of a packet (RFC 9331, section 5.1).
    fn from_ecn(ecn: Ecn) -> Self {
        match ecn {
            Ecn::Capable1 | Ecn::Congestion => Self::Scalable,
            Ecn::Capable0 | Ecn::NotCapable => Self::Classic,
        }
    }
}
