//! One direction of a wired link: a queue, a transmitter with a rate, losses,
//! and a propagation delay with jitter, in this order.
//!
//! A packet occupies the transmitter for its Ethernet frame without FCS,
//! preamble and gap (network-layer bytes + 14), as `tc`'s netem and tbf count;
//! times are exact, with nothing lost to rounding from packet to packet. The
//! packet in the transmitter does not count against the queue's limit. Left
//! out: corruption, duplication, and slotted releases.

use crate::loss::{Loss, LossProcess};
use crate::transmitter::{RateChange, Transmitter};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use lasthop_packet::queue::{Held, Limit, PeerId, Queue, QueueConfig};
use lasthop_packet::{DropReason, Packet, Released};
use lasthop_units::{Bitrate, Bytes, Duration, Instant, Machine, Stream};

/// Destination, source and type of an Ethernet frame (IEEE 802.3, 3.1.1).
const ETHERNET_HEADER_BYTES: u32 = 14;

/// What a cable is like.
#[derive(Clone, Debug, PartialEq)]
pub struct CableConfig {
    /// Bits of Ethernet frame a second, above zero; `None` if it never limits.
    pub rate: Option<Bitrate>,
    /// How the rate changes, one change after the other; without a rate nothing does.
    pub rate_changes: Vec<RateChange>,
    /// Propagation, one way.
    pub delay: Duration,
    /// How the delay varies.
    pub jitter: Jitter,
    /// Let jitter reorder packets; otherwise a packet waits for those before it.
    pub reorder: bool,
    /// The queue before the transmitter.
    pub queue: QueueConfig,
    /// How packets are lost on the way.
    pub loss: Loss,
}

/// How the delay of a cable varies from packet to packet; never below zero in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Jitter {
    /// Not at all.
    #[default]
    None,
    /// Uniformly, by at most so much more or less.
    Uniform(Duration),
    /// Normally distributed around the delay.
    Normal {
        /// Standard deviation.
        sd: Duration,
    },
}

impl Default for CableConfig {
    /// A cable that does nothing: no rate limit, no delay, no loss; the queue is
    /// Linux's default of 1 000 packets, drop-tail.
    fn default() -> Self {
        Self {
            rate: None,
            rate_changes: Vec::new(),
            delay: Duration::ZERO,
            jitter: Jitter::None,
            reorder: false,
            queue: QueueConfig::DropTail { limit: Limit::Packets(1000) },
            loss: Loss::None,
        }
    }
}

/// Why a [`Cable`] wants to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CableReason {
    /// The transmitter takes the next packet from the queue.
    Transmit,
    /// A packet reaches the far end.
    Arrival,
}

/// One direction of a wired link.
#[derive(Clone, Debug, PartialEq)]
pub struct Cable {
    delay: Duration,
    jitter: Jitter,
    reorder: bool,
    /// When the transmitter is free; `None` without a rate.
    free: Option<Transmitter>,
    queue: Queue,
    /// The queue is not empty. Asked at every step, and most cables have an empty one.
    is_queueing: bool,
    /// A packet that finds the cable free need not pass through the queue.
    bypass: bool,
    /// Limit of a drop-tail queue, which decides about a packet when it comes.
    tail: Option<Limit>,
    /// Packets that are on their way already and whose transmission has not
    /// begun: when it begins, and their length. They count as queued.
    booked: VecDeque<(Instant, u16)>,
    /// The same behind them, from the first one on at whose beginning somebody
    /// wakes up, and who is told that it was released.
    awaited: VecDeque<(Instant, u16, Option<Released>)>,
    /// Length of both together.
    booked_bytes: u64,
    loss: LossProcess,
    stream: Stream,
    /// On the way to the far end, by arrival; the first `arrived` are there.
    travelling: VecDeque<(Instant, Packet)>,
    arrived: usize,
    last_arrival: Instant,
    dropped: VecDeque<(Packet, DropReason)>,
    released: VecDeque<Released>,
    scratch: Vec<Packet>,
}

impl Cable {
    /// An empty cable. Panics if a rate is zero, or if changes do not follow each other.
    pub fn new(config: &CableConfig, mut stream: Stream) -> Self {
        let queue = Queue::new(&config.queue, stream.next_u64() as u32);
        Self {
            delay: config.delay,
            jitter: config.jitter,
            reorder: config.reorder,
            free: config.rate.map(|rate| Transmitter::new(rate, &config.rate_changes)),
            bypass: config.queue.is_stateless_when_empty(),
            tail: match config.queue {
                QueueConfig::DropTail { limit } => Some(limit),
                _ => None,
            },
            booked: VecDeque::new(),
            awaited: VecDeque::new(),
            booked_bytes: 0,
            queue,
            is_queueing: false,
            loss: LossProcess::new(config.loss, &mut stream),
            stream,
            travelling: VecDeque::new(),
            arrived: 0,
            last_arrival: Instant::ZERO,
            dropped: VecDeque::new(),
            released: VecDeque::new(),
            scratch: Vec::new(),
        }
    }

    /// A packet enters the near end; [`Packet::arrived`] becomes `now`. If it
    /// `is_watched`, the cable wakes up when it leaves the queue.
    ///
    /// What a drop-tail queue takes in will be transmitted after all that came
    /// before, so it is sent on its way at once. Only a loss that somebody waits
    /// to hear of has to be drawn when the transmission begins.
    pub fn handle_packet(&mut self, now: Instant, mut packet: Packet, is_watched: bool) {
        self.transmit_until(now);
        self.unbook(now);
        packet.arrived = now;
        let is_awaited = is_watched || packet.notify || !self.awaited.is_empty();
        if let (Some(limit), Some(free)) = (self.tail, self.free.as_ref())
            && !self.is_queueing
            && !(is_awaited && self.loss.is_lossy())
            && free.now() > now
        {
            let begins = free.now();
            let Held { packets, bytes } = self.booked();
            if limit.admits(&packet, packets, bytes.as_u64()) {
                self.booked_bytes += u64::from(packet.bytes);
                if is_awaited {
                    self.awaited.push_back((begins, packet.bytes, Released::of(&packet)));
                    packet.notify = false;
                } else {
                    self.booked.push_back((begins, packet.bytes));
                }
                self.transmit(&mut packet);
            } else {
                self.scratch.push(packet);
                self.report(DropReason::QueueFull);
            }
            return;
        }
        match self.free.as_mut() {
            None => self.launch(now, &mut packet),
            Some(free) => {
                let idle = !self.is_queueing && free.now() <= now;
                if idle {
                    free.restart(now);
                }
                if idle && self.bypass {
                    self.transmit(&mut packet);
                } else {
                    let booked = self.booked();
                    self.queue.enqueue(now, PeerId::ONLY, packet, booked, &mut self.scratch);
                    self.is_queueing = !self.queue.is_empty();
                    self.report(DropReason::QueueFull);
                    self.transmit_until(now);
                }
            }
        }
        self.deliver_until(now);
    }

    /// Whether `packet` would be taken in at `now`.
    pub fn admits(&mut self, now: Instant, packet: &Packet) -> bool {
        self.transmit_until(now);
        self.unbook(now);
        self.queue.admits(packet, self.booked())
    }

    /// The next packet that has arrived at the far end, its stay on this cable
    /// added to [`DelayParts::wire`](lasthop_packet::DelayParts::wire).
    pub fn poll_transmit(&mut self) -> Option<Packet> {
        self.arrived = self.arrived.checked_sub(1)?;
        // Copied from its place: what is popped would be copied once more.
        let &(_, packet) = self.travelling.front()?;
        self.travelling.pop_front();
        Some(packet)
    }

    /// The next packet that was given up, and why.
    pub fn poll_drop(&mut self) -> Option<(Packet, DropReason)> {
        self.dropped.pop_front()
    }

    /// Packets with [`Packet::notify`] that left the near end.
    pub fn poll_released(&mut self) -> Option<Released> {
        self.released.pop_front()
    }

    /// [`Cable::poll_transmit`] or [`Cable::poll_drop`] would give something.
    #[inline]
    pub fn has_outputs(&self) -> bool {
        self.arrived > 0 || !self.dropped.is_empty()
    }

    /// [`Cable::poll_released`] would give something.
    #[inline]
    pub fn has_released(&self) -> bool {
        !self.released.is_empty()
    }

    /// Packets waiting for the transmitter at `now`.
    pub fn queue_packets(&self, now: Instant) -> u32 {
        let begun = self.booked.partition_point(|&(begins, _)| begins <= now)
            + self.awaited.partition_point(|&(begins, ..)| begins <= now);
        self.queue.len_packets() + self.booked().packets - begun as u32
    }
}

impl Machine for Cable {
    type Reason = CableReason;

    #[inline]
    fn poll_timeout(&self) -> Option<(Instant, CableReason)> {
        let transmit = match self.awaited.front() {
            Some(&(begins, ..)) => begins,
            None => self.next_start().unwrap_or(Instant::MAX),
        };
        let arrival = self.travelling.get(self.arrived).map_or(Instant::MAX, |&(at, _)| at);
        match transmit.min(arrival) {
            Instant::MAX => None,
            at if at == transmit => Some((at, CableReason::Transmit)),
            at => Some((at, CableReason::Arrival)),
        }
    }

    #[inline]
    fn handle_timeout(&mut self, now: Instant) {
        self.transmit_until(now);
        self.release(now);
        self.deliver_until(now);
    }
}

impl Cable {
    /// Serves the queue as far as the transmitter got by `now`.
    #[inline]
    fn transmit_until(&mut self, now: Instant) {
        if self.next_start().is_some_and(|start| start <= now) {
            self.serve_until(now);
        }
    }

    fn serve_until(&mut self, now: Instant) {
        while let Some(start) = self.next_start().filter(|&start| start <= now) {
            let head = self.queue.dequeue(start, &mut self.scratch);
            self.is_queueing = !self.queue.is_empty();
            self.report(DropReason::ActiveQueue);
            if let Some((_, mut packet)) = head {
                self.transmit(&mut packet);
            }
        }
    }

    /// Forgets packets whose transmission has begun.
    #[inline]
    fn unbook(&mut self, now: Instant) {
        while let Some(&(begins, bytes)) = self.booked.front()
            && begins <= now
        {
            self.booked.pop_front();
            self.booked_bytes -= u64::from(bytes);
        }
        self.release(now);
    }

    /// The same for those that somebody waits for, and reports it.
    #[inline]
    fn release(&mut self, now: Instant) {
        while let Some(&(begins, bytes, released)) = self.awaited.front()
            && begins <= now
        {
            self.awaited.pop_front();
            self.booked_bytes -= u64::from(bytes);
            if let Some(released) = released {
                released.add_to(&mut self.released);
            }
        }
    }

    fn booked(&self) -> Held {
        let packets = (self.booked.len() + self.awaited.len()) as u32;
        Held { packets, bytes: Bytes::new(self.booked_bytes) }
    }

    /// When the transmitter takes the next packet from the queue. Whoever finds
    /// it idle restarts it, so this is never before the packet came.
    fn next_start(&self) -> Option<Instant> {
        if self.is_queueing { self.free.as_ref().map(Transmitter::now) } else { None }
    }

    /// Puts a packet on the cable after what the transmitter has sent so far.
    fn transmit(&mut self, packet: &mut Packet) {
        if let Some(free) = self.free.as_mut() {
            free.pass(u32::from(packet.bytes) + ETHERNET_HEADER_BYTES);
            let end = free.now();
            self.launch(end, packet);
        }
    }

    /// A packet whose last bit leaves at `at`.
    #[inline]
    fn launch(&mut self, at: Instant, packet: &mut Packet) {
        Released::book(packet, &mut self.released);
        packet.notify = false;
        if self.loss.next(&mut self.stream) {
            self.dropped.push_back((*packet, DropReason::WireLoss));
            return;
        }
        let mut arrival = at + self.delay();
        if !self.reorder {
            arrival = arrival.max(self.last_arrival);
            self.last_arrival = arrival;
        }
        packet.parts.wire += arrival - packet.arrived;
        match self.travelling.back() {
            Some(&(last, _)) if last > arrival => {
                let index = self.travelling.partition_point(|&(other, _)| other <= arrival);
                self.travelling.insert(index.max(self.arrived), (arrival, *packet));
            }
            _ => self.travelling.push_back((arrival, *packet)),
        }
    }

    fn delay(&mut self) -> Duration {
        let offset_ns = match self.jitter {
            Jitter::None => return self.delay,
            Jitter::Uniform(most) => most.as_nanos() as f64 * (2.0 * self.stream.uniform() - 1.0),
            Jitter::Normal { sd } => sd.as_nanos() as f64 * self.stream.normal(),
        };
        // The cast of a negative number gives zero.
        Duration::from_nanos(libm::round(self.delay.as_nanos() as f64 + offset_ns) as u64)
    }

    fn deliver_until(&mut self, now: Instant) {
        while self.travelling.get(self.arrived).is_some_and(|&(arrival, _)| arrival <= now) {
            self.arrived += 1;
        }
    }

    #[inline]
    fn report(&mut self, reason: DropReason) {
        if !self.scratch.is_empty() {
            self.report_dropped(reason);
        }
    }

    #[cold]
    fn report_dropped(&mut self, reason: DropReason) {
        for packet in self.scratch.drain(..) {
            Released::book(&packet, &mut self.released);
            self.dropped.push_back((packet, reason));
        }
    }
}

#[cfg(test)]
mod tests;
