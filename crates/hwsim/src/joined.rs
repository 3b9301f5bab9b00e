//! The loop's driver: passes frames from the kernel to the medium of their channel, and the
//! medium's output back to the kernel. Media are woken at one instant after the other, so that a
//! radio's refusal is known before anything follows.

use super::frame::{FrameFacts, RETRY, agreement_change, declined};
use super::rates::{self, receive_index};
use super::reorder::Reorder;
use super::wire::{Delivery, Event, FRAME_BYTES_MAX, NO_ACK, Report, STAT_ACK, Sent, Try};
use super::{Aggregation, JoinedRadio, MediumError, MediumOutcome, station};
use crate::socket::HwsimSocket;
use lasthop_linux::OsError;
use lasthop_linux::clock::{Clock, Scheduling};
use lasthop_linux::event_loop::{Driver, Progress, Registry, TURN_PACKETS};
use lasthop_linux::message::messages;
use lasthop_units::{Dbm, Duration, Instant, MacAddr, Machine, Seed};
use lasthop_wifi::cell::CellConfig;
use lasthop_wifi::medium::{
    Channel, FrameAgreement, Medium, MediumOutput, RadioStats, Response, STAGES, TxFrame,
};
use lasthop_wifi::phy::Band;
use lasthop_wifi::stats::Levels;
use lasthop_wifi::{Address, StationId};
use nix::sys::signal::Signal;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::ControlFlow;

/// Frames of a radio at which hwsim drops the oldest (`MAX_QUEUE`), and how many it leaves
/// before it adds the new one (`WARN_QUEUE` less one).
const QUEUE_FULL: usize = 200;
const QUEUE_LEFT: usize = 99;
/// Below this frequency a channel is of the band at 2.4 GHz.
const MHZ_2_4_MAX: u32 = 3_000;
/// Power of an acknowledgement that was not measured.
const NO_SIGNAL: Dbm = Dbm(-100.0);

/// A series of which nothing was tried.
const NO_TRIES: [Try; STAGES] = [Try { index: -1, count: 0, flags: 0 }; STAGES];

/// The one descriptor.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    Kernel,
}

/// A radio, and its address in hwsim.
#[derive(Clone, Debug)]
pub(super) struct Radio {
    pub joined: JoinedRadio,
    pub key: MacAddr,
}

/// A frame that the kernel waits for.
#[derive(Clone, Debug)]
struct InFlight {
    channel: Channel,
    bytes: Vec<u8>,
    flags: u32,
    tries: [Try; STAGES],
    /// Receiver and TID, if its receiver's radio puts it in order.
    order: Option<(StationId, u8)>,
}

/// A frame on its way to a radio's kernel.
#[derive(Clone, Debug)]
struct Arriving {
    bytes: Vec<u8>,
    rate_index: u32,
    signal: Dbm,
    mhz: u32,
}

/// Radios, channels and frames in flight.
#[derive(Debug)]
pub(super) struct Joined {
    pub socket: HwsimSocket,
    clock: Clock,
    config: CellConfig,
    seed: Seed,
    pub radios: Vec<Radio>,
    /// Stations by their addresses in hwsim.
    by_key: BTreeMap<MacAddr, StationId>,
    /// Stations by their addresses in frames.
    by_address: BTreeMap<MacAddr, StationId>,
    media: BTreeMap<Channel, Medium>,
    in_flight: BTreeMap<(StationId, u64), InFlight>,
    /// Frames in flight of each radio, oldest first, as hwsim holds them.
    pending: Vec<VecDeque<u64>>,
    aggregation: Aggregation,
    /// Reorder buffers of radios that aggregate, by sender, receiver and TID.
    reorder: BTreeMap<(StationId, StationId, u8), Reorder<Arriving>>,
    /// Radios that accepted the latest frame.
    listening: Vec<bool>,
    /// Block Ack agreements of kernels: originator, recipient, TID.
    agreements: BTreeSet<(MacAddr, MacAddr, u8)>,
    /// When to end without a signal.
    pub end: Option<Instant>,
    given_up: u64,
    rates_replaced: u64,
    too_long: u64,
    lateness_ns: Levels,
}

impl Joined {
    pub fn new(
        socket: HwsimSocket,
        clock: Clock,
        config: CellConfig,
        seed: Seed,
        radios: Vec<Radio>,
        aggregation: Aggregation,
    ) -> Result<Self, MediumError> {
        // The channel of the scenario's own band stands for all: what cannot be is refused now.
        let channel = Channel { band: config.band, mhz: 0 };
        Medium::new(&config, channel, seed)?;
        let keys = radios.iter().enumerate().map(|(index, radio)| (radio.key, station(index)));
        let by_key = keys.collect();
        let own = |(index, radio): (usize, &Radio)| (radio.joined.address, station(index));
        Ok(Self {
            socket,
            clock,
            config,
            seed,
            by_key,
            by_address: radios.iter().enumerate().map(own).collect(),
            media: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            pending: vec![VecDeque::new(); radios.len()],
            aggregation,
            reorder: BTreeMap::new(),
            listening: vec![true; radios.len()],
            agreements: BTreeSet::new(),
            radios,
            end: None,
            given_up: 0,
            rates_replaced: 0,
            too_long: 0,
            lateness_ns: Levels::default(),
        })
    }

    /// The outcome at the end.
    pub fn finish(self, duration: Duration, scheduling: Scheduling) -> MediumOutcome {
        let Self { radios, media, given_up, rates_replaced, too_long, lateness_ns, .. } = self;
        let of = |index: usize| -> Vec<(u32, RadioStats)> {
            let all = media.iter();
            let used = all.map(|(channel, medium)| (channel.mhz, *medium.stats(station(index))));
            used.filter(|(_, stats)| *stats != RadioStats::default()).collect()
        };
        MediumOutcome {
            duration,
            radios: radios
                .into_iter()
                .enumerate()
                .map(|(index, radio)| (radio.joined, of(index)))
                .collect(),
            given_up,
            rates_replaced,
            too_long,
            lateness_ns,
            scheduling,
        }
    }

    fn handle_message(&mut self, now: Instant, datagram: &[u8]) {
        for message in messages(datagram) {
            match Event::parse(&message) {
                Some(Event::Sent(sent)) => self.handle_sent(now, &sent),
                Some(Event::Address { radio, address, added }) => {
                    let Some(&radio) = self.by_key.get(&radio) else { continue };
                    if added {
                        self.by_address.insert(address, radio);
                    } else if self.by_address.get(&address) == Some(&radio) {
                        self.by_address.remove(&address);
                    }
                }
                None => {}
            }
        }
    }

    fn handle_sent(&mut self, now: Instant, sent: &Sent<'_>) {
        let Some(&from) = self.by_key.get(&sent.radio) else { return };
        let Some(facts) = FrameFacts::read(sent.frame) else { return };
        // What a radio sends with is an address of it, whatever its interfaces are called.
        if let Some(own) = facts.transmitter {
            self.by_address.insert(own, from);
        }
        let band = if sent.mhz < MHZ_2_4_MAX { Band::Ghz2_4 } else { Band::Ghz5 };
        let channel = Channel { band, mhz: sent.mhz };
        self.make_room(now, from);
        let is_group = facts.receiver.is_multicast();
        let to = if is_group {
            Some(Address::Group)
        } else {
            self.by_address.get(&facts.receiver).copied().map(Address::Station)
        };
        // To itself nobody sends; an address that moved is the kernel's mistake, not the air's.
        let to = to.filter(|to| *to != Address::Station(from));
        let response = if is_group || sent.flags & NO_ACK != 0 {
            None
        } else if facts.is_block_ack_request {
            Some(Response::BlockAck)
        } else {
            Some(Response::Ack)
        };
        let data = facts.data.filter(|_| response.is_some());
        let agreement = data.filter(|(tid, _)| match (self.aggregation, facts.transmitter) {
            (Aggregation::Radio, _) => matches!(to, Some(Address::Station(_))),
            (Aggregation::Kernel, Some(transmitter)) => {
                self.agreements.contains(&(transmitter, facts.receiver, *tid))
            }
            _ => false,
        });
        if self.aggregation != Aggregation::Kernel
            && let Some(answer) = declined(sent.frame)
        {
            return self.decline(from, sent, answer);
        }
        let translated = rates::series(&sent.tries, band);
        self.rates_replaced += u64::from(translated.replaced);
        self.too_long += u64::from(sent.frame.len() > FRAME_BYTES_MAX);
        let frame = TxFrame {
            tag: sent.cookie,
            to,
            bytes: facts.bytes,
            category: facts.category,
            response,
            agreement: agreement.map(|(tid, sequence)| FrameAgreement { tid, sequence }),
            series: translated.series,
        };
        let order = match (self.aggregation, to, agreement) {
            (Aggregation::Radio, Some(Address::Station(to)), Some((tid, _))) => Some((to, tid)),
            _ => None,
        };
        if let Some((to, tid)) = order {
            self.reorder.entry((from, to, tid)).or_default().expect(sent.cookie);
        }
        let bytes = sent.frame.to_vec();
        let in_flight = InFlight { channel, bytes, flags: sent.flags, tries: sent.tries, order };
        self.in_flight.insert((from, sent.cookie), in_flight);
        self.pending[from.index()].push_back(sent.cookie);
        if let Some(medium) = self.medium(channel) {
            medium.handle_frame(now, from, frame);
        }
    }

    /// The medium of a channel, made when it is first used.
    fn medium(&mut self, channel: Channel) -> Option<&mut Medium> {
        let Self { media, config, seed, .. } = self;
        match media.entry(channel) {
            Entry::Occupied(entry) => Some(entry.into_mut()),
            // The configuration was tried before.
            Entry::Vacant(entry) => Some(entry.insert(Medium::new(config, channel, *seed).ok()?)),
        }
    }

    /// Forgets the frames of a radio that hwsim has just dropped.
    fn make_room(&mut self, now: Instant, from: StationId) {
        if self.pending[from.index()].len() < QUEUE_FULL {
            return;
        }
        while self.pending[from.index()].len() > QUEUE_LEFT {
            let Some(cookie) = self.pending[from.index()].pop_front() else { return };
            let Some(dropped) = self.in_flight.remove(&(from, cookie)) else { continue };
            self.given_up += 1;
            self.forget(from, cookie, dropped.order);
            if let Some(medium) = self.media.get_mut(&dropped.channel) {
                medium.handle_withdrawal(now, from, cookie);
            }
        }
    }

    /// Wakes media up to `now`, at one instant after the other.
    fn advance(&mut self, now: Instant) {
        loop {
            let due = |(channel, medium): (&Channel, &Medium)| {
                medium.poll_timeout().map(|(at, _)| (at, *channel))
            };
            let next = self.media.iter().filter_map(due).min();
            let Some((at, channel)) = next.filter(|(at, _)| *at <= now) else { return };
            if let Some(medium) = self.media.get_mut(&channel) {
                medium.handle_timeout(at);
            }
            self.pass_on(channel, now);
        }
    }

    /// Passes on the output of a medium.
    fn pass_on(&mut self, channel: Channel, now: Instant) {
        while let Some(output) = self.media.get_mut(&channel).and_then(Medium::poll_output) {
            match output {
                MediumOutput::Received {
                    at,
                    from,
                    tag,
                    station,
                    addressed,
                    signal,
                    rate,
                    retry,
                } => {
                    let late = now.saturating_since(at).as_nanos();
                    self.lateness_ns.add(u32::try_from(late).unwrap_or(u32::MAX), 1);
                    let Some(sent) = self.in_flight.get_mut(&(from, tag)) else { continue };
                    if retry && let Some(second) = sent.bytes.get_mut(1) {
                        *second |= RETRY;
                    }
                    let arriving = Arriving {
                        bytes: sent.bytes.clone(),
                        rate_index: receive_index(rate, channel.band),
                        signal,
                        mhz: channel.mhz,
                    };
                    let wants_verdict = addressed && sent.flags & NO_ACK == 0;
                    let is_taken = match sent.order.filter(|(to, _)| *to == station) {
                        Some((_, tid)) => {
                            let of_pair = self.reorder.entry((from, station, tid)).or_default();
                            of_pair.receive(tag, arriving);
                            self.pass_in_order(from, station, tid, Some(tag))
                        }
                        None => self.deliver(station, &arriving, wants_verdict),
                    };
                    if !is_taken && let Some(medium) = self.media.get_mut(&channel) {
                        medium.handle_refusal(from, tag);
                    }
                }
                MediumOutput::Settled { from, tag, acknowledged, tries, signal, .. } => {
                    let Some(sent) = self.in_flight.remove(&(from, tag)) else { continue };
                    let waiting = &mut self.pending[from.index()];
                    if let Some(at) = waiting.iter().position(|cookie| *cookie == tag) {
                        waiting.remove(at);
                    }
                    self.forget(from, tag, sent.order);
                    let mut made = NO_TRIES;
                    for ((made, asked), count) in made.iter_mut().zip(sent.tries).zip(tries) {
                        if count > 0 && asked.index >= 0 {
                            *made = Try { count, ..asked };
                        }
                    }
                    let is_acknowledged = acknowledged && sent.flags & NO_ACK == 0;
                    self.socket.report(&Report {
                        radio: self.radios[from.index()].key,
                        flags: sent.flags | if is_acknowledged { STAT_ACK } else { 0 },
                        signal: signal.unwrap_or(NO_SIGNAL),
                        tries: made,
                        cookie: tag,
                    });
                }
            }
        }
    }

    /// Gives a frame to a radio's kernel; returns whether the kernel accepted it.
    fn deliver(&mut self, station: StationId, frame: &Arriving, wants_verdict: bool) -> bool {
        let delivery = Delivery {
            radio: self.radios[station.index()].key,
            frame: &frame.bytes,
            rate_index: frame.rate_index,
            signal: frame.signal,
            mhz: frame.mhz,
        };
        let is_taken = self.socket.deliver(&delivery, wants_verdict);
        if is_taken
            && wants_verdict
            && let Some(change) = agreement_change(&frame.bytes)
        {
            let agreement = (change.originator, change.recipient, change.tid);
            if change.established {
                self.agreements.insert(agreement);
            } else {
                self.agreements.remove(&agreement);
            }
        }
        is_taken
    }

    /// Gives a radio's kernel the frames that are in order. Returns whether the radio accepts
    /// frames: for a frame that has to wait, the answer to the last one. `fresh` is not
    /// acknowledged yet and may come again after a refusal; the others are.
    fn pass_in_order(
        &mut self,
        from: StationId,
        to: StationId,
        tid: u8,
        fresh: Option<u64>,
    ) -> bool {
        let key = (from, to, tid);
        while let Some((tag, frame)) = self.reorder.get_mut(&key).and_then(Reorder::pop_ready) {
            let is_taken = self.deliver(to, &frame, true);
            self.listening[to.index()] = is_taken;
            if !is_taken
                && fresh == Some(tag)
                && let Some(of_pair) = self.reorder.get_mut(&key)
            {
                of_pair.put_back(tag);
                break;
            }
        }
        self.listening[to.index()]
    }

    /// Handles a frame that is not sent again: frames behind it no longer wait.
    fn forget(&mut self, from: StationId, cookie: u64, order: Option<(StationId, u8)>) {
        let Some((to, tid)) = order else { return };
        if let Some(of_pair) = self.reorder.get_mut(&(from, to, tid)) {
            of_pair.give_up(cookie);
            self.pass_in_order(from, to, tid, None);
        }
    }

    /// Declines at once a Block Ack agreement that one kernel requests from another, without
    /// sending the request, because the radios have their own agreements. An unanswered request
    /// would hold the TID for a second.
    fn decline(&mut self, from: StationId, sent: &Sent<'_>, answer: Vec<u8>) {
        let mut tries = NO_TRIES;
        tries[0] = Try { count: 1, ..sent.tries[0] };
        self.socket.report(&Report {
            radio: sent.radio,
            flags: sent.flags | STAT_ACK,
            signal: NO_SIGNAL,
            tries,
            cookie: sent.cookie,
        });
        let arriving = Arriving { bytes: answer, rate_index: 0, signal: NO_SIGNAL, mhz: sent.mhz };
        self.deliver(from, &arriving, false);
    }

    /// Receives messages of the kernel, up to a turn.
    fn receive(&mut self) -> Result<(), OsError> {
        for _ in 0..TURN_PACKETS {
            let Some(datagram) = self.socket.receive()? else { break };
            let now = self.clock.now();
            self.advance(now);
            self.handle_message(now, &datagram);
        }
        Ok(())
    }
}

impl Driver for Joined {
    type Source = Source;
    type Outcome = ();
    type Error = OsError;

    fn handle_timeout(&mut self, now: Instant, _: &mut Registry<Source>) -> Progress<Self> {
        self.advance(now);
        while self.socket.has_backlog() {
            self.receive()?;
        }
        Ok(if self.end.is_some_and(|end| end <= now) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    }

    fn next_wakeup(&self) -> Option<Instant> {
        let media = self.media.values().filter_map(|medium| medium.poll_timeout());
        media.map(|(at, _)| at).chain(self.end).min()
    }

    fn handle_ready(&mut self, _: Source, _: &mut Registry<Source>) -> Result<(), OsError> {
        self.receive()
    }

    fn handle_signals(&mut self, _: &[Signal]) -> Progress<Self> {
        Ok(ControlFlow::Break(()))
    }
}
