//! One direction of a wired link: a queue, a transmitter with a rate, losses, and a propagation
//! delay with jitter, in this order.
//!
//! A packet occupies the transmitter for its Ethernet frame without FCS, preamble and interframe
//! gap (network-layer bytes + 14), as counted by `tc`'s netem and tbf. Times are exact, so rounding
//! errors do not add up. The packet in the transmitter does not count against the limit of the
//! queue. Left out: corruption, duplication and slotted releases.

use crate::loss::{Loss, LossProcess};
use crate::transmitter::{RateChange, Transmitter};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use lasthop_packet::queue::{Held, Limit, PeerId, Queue, QueueConfig};
use lasthop_packet::{DropReason, Packet, Released};
use lasthop_units::{Bitrate, Bytes, Duration, Instant, Machine, Stream};

/// Length of the destination, source and type fields of an Ethernet frame (IEEE 802.3,
/// 3.1.1).
const ETHERNET_HEADER_BYTES: u32 = 14;

/// The configuration of a [`Cable`].
#[derive(Clone, Debug, PartialEq)]
pub struct CableConfig {
    /// Rate in bit/s of Ethernet frames, above zero; unlimited if `None`.
    pub rate: Option<Bitrate>,
    /// Changes of the rate, in ascending order of their instants; ignored if `rate` is
    /// `None`.
    pub rate_changes: Vec<RateChange>,
    /// Period after which all changes repeat, longer than the time of the last one; `None` without
    /// repetition.
    pub rate_repeat: Option<Duration>,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// Variation of the delay.
    pub jitter: Jitter,
    /// Whether jitter may reorder packets; otherwise a packet waits for those before it.
    pub reorder: bool,
    /// The queue in front of the transmitter.
    pub queue: QueueConfig,
    /// Losses after transmission.
    pub loss: Loss,
    /// Whether [`Cable::change`] may be called. Packets then wait in the queue until their
    /// transmission starts. Otherwise a drop-tail queue sends them ahead, which has the same
    /// result, and is faster, as long as nothing changes.
    pub adjustable: bool,
    /// Whether the queue is that of a network interface of the node at the near end
    /// ([`Network::has_own_queue`](crate::network::Network::has_own_queue)). Otherwise the cable
    /// begins in another device, behind an interface that never limits.
    pub is_interface: bool,
}

/// Variation of the delay of a cable from packet to packet. The delay itself is never
/// below zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Jitter {
    /// The delay does not vary.
    #[default]
    None,
    /// Uniform distribution, at most this much more or less than the delay.
    Uniform(Duration),
    /// Normally distributed around the delay.
    Normal {
        /// Standard deviation of the delay.
        sd: Duration,
    },
}

impl Default for CableConfig {
    /// A line without rate limit, delay and loss. The queue is drop-tail with 1 000
    /// packets, the default of Linux.
    fn default() -> Self {
        Self {
            rate: None,
            rate_changes: Vec::new(),
            rate_repeat: None,
            delay: Duration::ZERO,
            jitter: Jitter::None,
            reorder: false,
            queue: QueueConfig::DropTail { limit: Limit::Packets(1000) },
            loss: Loss::None,
            adjustable: false,
            is_interface: false,
        }
    }
}

/// Reason for the next wake-up of a [`Cable`].
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
    /// The transmitter and the instant at which it is free; `None` without a rate.
    free: Option<Transmitter>,
    /// Rate that was configured last, apart from scheduled changes.
    rate: Bitrate,
    queue: Queue,
    /// Configuration of the queue, and the key of its flow hash.
    queue_config: (QueueConfig, u32),
    /// Whether the queue holds packets. Every step reads this field, and most queues are empty.
    is_queueing: bool,
    /// Whether a packet that finds the transmitter idle may skip the queue.
    bypass: bool,
    /// Limit of a drop-tail queue, which accepts or drops a packet when it arrives.
    tail: Option<Limit>,
    /// Packets that are sent ahead although their transmission has not started: the start of the
    /// transmission, and the length in bytes. Such packets count as queued.
    booked: VecDeque<(Instant, u16)>,
    /// Packets after `booked`, from the first one on whose start of transmission must wake the
    /// cable: as in `booked`, with the report for the sender, if there is one.
    awaited: VecDeque<(Instant, u16, Option<Released>)>,
    /// Bytes of the packets in `booked` and `awaited`.
    booked_bytes: u64,
    loss: LossProcess,
    stream: Stream,
    /// Sum of the times for which packets waited for the transmitter, since [`Cable::clear_stats`].
    waited: Duration,
    /// Packets on the way to the far end with their arrival, in order of arrival. The first
    /// `arrived` of them have arrived.
    travelling: VecDeque<(Instant, Packet)>,
    arrived: usize,
    last_arrival: Instant,
    dropped: VecDeque<(Packet, DropReason)>,
    released: VecDeque<Released>,
    scratch: Vec<Packet>,
}

impl Cable {
    /// Returns an empty cable. Panics if a rate is zero, or if the changes of the rate are not in
    /// ascending order of their instants.
    pub fn new(config: &CableConfig, mut stream: Stream) -> Self {
        let perturbation = stream.next_u64() as u32;
        let queue = Queue::new(&config.queue, perturbation);
        Self {
            delay: config.delay,
            jitter: config.jitter,
            reorder: config.reorder,
            free: config
                .rate
                .map(|rate| Transmitter::new(rate, &config.rate_changes, config.rate_repeat)),
            rate: config.rate.unwrap_or_default(),
            bypass: config.queue.is_stateless_when_empty(),
            tail: match config.queue {
                QueueConfig::DropTail { limit } if !config.adjustable => Some(limit),
                _ => None,
            },
            queue_config: (config.queue, perturbation),
            booked: VecDeque::new(),
            awaited: VecDeque::new(),
            booked_bytes: 0,
            queue,
            is_queueing: false,
            loss: LossProcess::new(config.loss, &mut stream),
            stream,
            waited: Duration::ZERO,
            travelling: VecDeque::new(),
            arrived: 0,
            last_arrival: Instant::ZERO,
            dropped: VecDeque::new(),
            released: VecDeque::new(),
            scratch: Vec::new(),
        }
    }

    /// Accepts a packet at the near end; [`Packet::arrived`] becomes `now`. With
    /// `is_watched` the cable wakes up when the packet leaves the queue.
    ///
    /// A packet that a drop-tail queue accepts is transmitted after everything before
    /// it, so its arrival is computed and the packet sent on at once. Only on a wire
    /// with losses a packet whose release is awaited stays in the queue, because its
    /// loss is drawn when its transmission starts.
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
                    self.awaited.push_back((begins, packet.bytes, Released::from_packet(&packet)));
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
                    self.queue.enqueue_copy(now, PeerId::ONLY, &packet, booked, &mut self.scratch);
                    self.is_queueing = !self.queue.is_empty();
                    self.report(DropReason::QueueFull);
                    self.transmit_until(now);
                }
            }
        }
        self.deliver_until(now);
    }

    /// Applies `config` to packets whose transmission begins after `now`: its rate, losses, delay
    /// and jitter. The packets in the queue stay
    /// ([`Queue::replace`](lasthop_packet::queue::Queue::replace)). A cable without a rate stays
    /// without one, and the other way round; [`CableConfig::rate_changes`] stay as they were.
    ///
    /// # Panics
    /// Panics if the cable is not [`CableConfig::adjustable`].
    pub fn change(&mut self, now: Instant, config: &CableConfig) {
        assert!(self.tail.is_none() || self.free.is_none(), "the cable is adjustable");
        self.transmit_until(now);
        self.unbook(now);
        (self.delay, self.jitter, self.reorder) = (config.delay, config.jitter, config.reorder);
        if let (Some(free), Some(rate)) = (self.free.as_mut(), config.rate)
            && self.rate != rate
        {
            self.rate = rate;
            free.change_rate(now, rate);
        }
        self.loss.change(config.loss, &mut self.stream);
        if self.queue_config.0 != config.queue {
            self.queue_config.0 = config.queue;
            self.bypass = config.queue.is_stateless_when_empty();
            let (queue, perturbation) = &self.queue_config;
            let booked = self.booked();
            self.queue.replace(now, queue, *perturbation, booked, &mut self.scratch);
            self.is_queueing = !self.queue.is_empty();
            self.report(DropReason::QueueFull);
        }
        self.deliver_until(now);
    }

    /// Whether the queue would accept `packet` at `now`.
    pub fn admits(&mut self, now: Instant, packet: &Packet) -> bool {
        self.transmit_until(now);
        self.unbook(now);
        self.queue.admits(packet, self.booked())
    }

    /// Returns the next packet that has arrived at the far end. The time that it spent
    /// on this cable is added to
    /// [`DelayParts::wire`](lasthop_packet::DelayParts::wire).
    pub fn poll_transmit(&mut self) -> Option<Packet> {
        self.arrived = self.arrived.checked_sub(1)?;
        // Copied where it is: `pop_front` would copy it once more.
        let &(_, packet) = self.travelling.front()?;
        self.travelling.pop_front();
        Some(packet)
    }

    /// Returns the next dropped or lost packet, and the reason.
    pub fn poll_drop(&mut self) -> Option<(Packet, DropReason)> {
        self.dropped.pop_front()
    }

    /// Returns the next packets with [`Packet::notify`] that left the near end.
    pub fn poll_released(&mut self) -> Option<Released> {
        self.released.pop_front()
    }

    /// Whether [`Cable::poll_transmit`] or [`Cable::poll_drop`] would return a packet.
    #[inline]
    pub fn has_outputs(&self) -> bool {
        self.arrived > 0 || !self.dropped.is_empty()
    }

    /// Whether [`Cable::poll_released`] would return a report.
    #[inline]
    pub fn has_released(&self) -> bool {
        !self.released.is_empty()
    }

    /// Returns the time that transmitted packets waited for the transmitter, added up.
    pub const fn waited(&self) -> Duration {
        self.waited
    }

    /// Sets the sum of the waiting times to zero.
    pub const fn clear_stats(&mut self) {
        self.waited = Duration::ZERO;
    }

    /// The number of packets that wait for the transmitter at `now`.
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
    /// Serves the queue until the transmitter is busy beyond `now`.
    #[inline]
    fn transmit_until(&mut self, now: Instant) {
        if self.next_start().is_some_and(|start| start <= now) {
            self.serve_until(now);
        }
    }

    fn serve_until(&mut self, now: Instant) {
        while let Some(start) = self.next_start().filter(|&start| start <= now) {
            if let Some(free) = self.free.as_mut().filter(|free| free.now() < start) {
                // A shaper held the packet back.
                free.restart(start);
            }
            let head = self.queue.dequeue(start, &mut self.scratch);
            self.is_queueing = !self.queue.is_empty();
            self.report(DropReason::ActiveQueue);
            if let Some((_, mut packet)) = head {
                self.transmit(&mut packet);
            }
        }
    }

    /// Removes packets from `booked` and `awaited` whose transmission has started.
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

    /// Removes packets from `awaited` whose transmission has started, and reports them.
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

    /// Instant at which the transmitter takes the next packet from the queue. The transmitter is
    /// restarted when a packet finds it idle, so this is never before the packet arrived.
    fn next_start(&self) -> Option<Instant> {
        if !self.is_queueing {
            return None;
        }
        self.free.as_ref().map(|free| free.now().max(self.queue.ready_at()))
    }

    /// Transmits a packet after all packets sent so far.
    fn transmit(&mut self, packet: &mut Packet) {
        if let Some(free) = self.free.as_mut() {
            self.waited += free.now() - packet.arrived;
            free.pass(u32::from(packet.bytes) + ETHERNET_HEADER_BYTES);
            let end = free.now();
            self.launch(end, packet);
        }
    }

    /// Sends a packet whose last bit leaves the transmitter at `at`, or loses it.
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
        // Casting a negative number gives zero.
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
