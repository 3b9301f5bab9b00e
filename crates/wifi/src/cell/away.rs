//! Stations that leave the channel for a while, and the access point that holds
//! their packets meanwhile (IEEE 802.11-2020, 11.2.3): flush, Null frames with
//! their power management bit, absence, return.
//!
//! A station that is away hears nothing and sends nothing; its queue takes in
//! packets, its Block Ack agreements and reorder buffers stay (their timeouts
//! run on). Back on the channel it knows of no NAV. When the access point did
//! not hear of the absence it sends into the void, and takes every frame
//! without the bit as a sign that the station is back.

use super::reception::happens;
use super::station::{Action, Gate, Management};
use super::{Cell, Sequel};
use crate::event::{DropReason, Event, PowerState};
use crate::mac::scan::{self, Input, Leftover, NullConfig, Phase, Scan, ScanConfig};
use crate::packet::{AccessCategory, Address, Packet, Released, StationId};
use alloc::vec::Vec;
use lasthop_units::{Instant, SeqNo12};

/// Null frames go out as voice, as in mac80211 (`ieee80211_send_nullfunc`).
const NULL_FUNCTION: usize = AccessCategory::Voice.index();

/// Functions of the access categories, beacons left out.
const FUNCTIONS: usize = AccessCategory::ALL.len();

/// What a station that scans has beyond others.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Away {
    scan: Scan,
    /// A departure waits until here: the station still owes a response.
    departs_at: Option<Instant>,
    /// When it left.
    left: Instant,
    /// Of the last Null.
    sequence: SeqNo12,
}

impl Away {
    pub fn new(config: ScanConfig) -> Self {
        Self {
            scan: Scan::new(config),
            departs_at: None,
            left: Instant::ZERO,
            sequence: SeqNo12::default(),
        }
    }

    pub fn gate(&self) -> Gate {
        match self.scan.phase() {
            Phase::Present => Gate::Open,
            Phase::Flushing => Gate::Draining,
            Phase::Leaving | Phase::Away | Phase::Returning => Gate::Shut,
        }
    }

    fn due(&self) -> Option<Instant> {
        self.departs_at.or(self.scan.due())
    }

    fn null(&self) -> NullConfig {
        self.scan.config().null
    }
}

impl Cell {
    /// When the next station's scan goes on.
    pub(super) fn find_next_absence(&mut self) {
        let due = self.stations.iter().filter_map(|station| station.away.as_ref()?.due());
        self.next_absence = super::earliest(due);
    }

    /// Does what is due, and looks whose driver has nothing left.
    pub(super) fn advance_scans(&mut self) {
        let now = self.now;
        while self.next_absence <= now {
            let due = |away: &Away| away.due().is_some_and(|at| at <= now);
            let station = self.stations.iter().find(|s| s.away.as_deref().is_some_and(due));
            let Some(station) = station.map(|station| station.id) else { break };
            let away = self.away(station);
            match away.departs_at.take() {
                Some(_) => self.scan_input(station, Input::Settled),
                None => self.scan_input(station, Input::Due),
            }
        }
        for index in (0..self.flushing.len()).rev() {
            let station = self.flushing[index];
            if self.is_drained(station) {
                self.scan_input(station, Input::Drained);
            }
        }
    }

    /// A Null was acknowledged or given up.
    pub(super) fn null_settled(&mut self, station: StationId) {
        self.scan_input(station, Input::Settled);
    }

    /// Whether an RTS goes ahead of a Null after so many attempts.
    pub(super) fn asks_before_null(&self, station: StationId, attempts: u8) -> bool {
        let away = self.stations[station.index()].away.as_ref();
        away.and_then(|away| away.null().rts_after).is_some_and(|after| attempts > after)
    }

    pub(super) fn null_attempts_max(&self, station: StationId) -> u8 {
        let state = &self.stations[station.index()];
        state.away.as_ref().map_or(state.config.retry_limit, |away| away.null().attempts)
    }

    /// Whether `receiver` ignores a Null that it has decoded.
    pub(super) fn ignores_null(
        &mut self,
        sender: StationId,
        receiver: StationId,
        power_management: bool,
    ) -> bool {
        let null = self.away(sender).null();
        let loss = if power_management { null.leave_loss } else { null.return_loss };
        happens(&mut self.stations[receiver.index()].reception, loss)
    }

    /// The access point learns that `station` cannot be reached.
    pub(super) fn fall_asleep(&mut self, station: StationId) {
        if self.dozing.contains(&station) {
            return;
        }
        self.dozing.push(station);
        let access_point = self.settings.access_point;
        for function in 0..FUNCTIONS {
            let access = &mut self.stations[access_point.index()].functions[function];
            if let Some(access) = access {
                access.dozing.push(station);
                self.trim_buffer(access_point, function, Address::Station(station));
            }
        }
    }

    /// The access point learns that `station` can be reached.
    pub(super) fn wake_up(&mut self, station: StationId) {
        let Some(index) = self.dozing.iter().position(|dozing| *dozing == station) else { return };
        self.dozing.swap_remove(index);
        let access_point = self.settings.access_point;
        for function in 0..FUNCTIONS {
            let access = &mut self.stations[access_point.index()].functions[function];
            if let Some(access) = access {
                access.dozing.retain(|dozing| *dozing != station);
                self.fill_driver(access_point, function);
                self.build_ahead(access_point, function, Address::Station(station));
                self.arm(access_point, function);
            }
        }
    }

    /// Gives up the oldest packets that are too many for a station that cannot
    /// be reached.
    pub(super) fn trim_buffer(&mut self, from: StationId, function: usize, to: Address) {
        let now = self.now;
        let state = &mut self.stations[from.index()];
        let Some(packets_max) = state.config.power_save_buffer else { return };
        let Some(access) = &mut state.functions[function] else { return };
        if !super::station::is_in(&access.dozing, to) {
            return;
        }
        let mut dropped = core::mem::take(&mut self.dropped);
        let mut oldest = Vec::new();
        while access.queue.len_packets_for(to) > packets_max {
            oldest.extend(access.queue.dequeue_for(now, to, &mut dropped));
        }
        state.hold(now, 0, (dropped.len() + oldest.len()) as u32);
        state.stats.queue_drops += dropped.len() as u64;
        state.stats.power_save_drops += oldest.len() as u64;
        for packet in dropped.drain(..) {
            self.lose(from, packet, DropReason::ActiveQueue);
        }
        for packet in oldest {
            self.lose(from, packet, DropReason::PowerSaveBuffer);
        }
        self.dropped = dropped;
    }

    fn scan_input(&mut self, station: StationId, input: Input) {
        let now = self.now;
        let phase = self.away(station).scan.phase();
        if phase == Phase::Leaving
            && input == Input::Settled
            && let Some(at) = self.speaks_until(station)
        {
            self.away(station).departs_at = Some(at);
            return self.find_next_absence();
        }
        let action = self.away(station).scan.handle(now, input);
        let gate = self.away(station).gate();
        for function in self.stations[station.index()].functions.iter_mut().flatten() {
            function.gate = gate;
        }
        match action {
            scan::Action::Nothing => {}
            scan::Action::Stop => self.flushing.push(station),
            scan::Action::Announce => {
                self.flushing.retain(|flushing| *flushing != station);
                self.queue_null(station, true);
            }
            scan::Action::Depart => self.depart(station),
            scan::Action::Return => {
                let left = self.away(station).left;
                self.contention.return_to_channel(station, now);
                let state = &mut self.stations[station.index()];
                state.deaf_until = now;
                state.stats.away += now - left;
                self.record_power(station, PowerState::Awake);
                self.queue_null(station, false);
            }
            scan::Action::Resume => {
                let access_point = Address::Station(self.settings.access_point);
                for function in 0..FUNCTIONS {
                    if self.stations[station.index()].functions[function].is_some() {
                        self.fill_driver(station, function);
                        self.build_ahead(station, function, access_point);
                        self.arm(station, function);
                    }
                }
            }
        }
        self.find_next_absence();
    }

    fn depart(&mut self, station: StationId) {
        let now = self.now;
        self.away(station).left = now;
        let leftover = self.away(station).scan.config().leftover;
        if leftover != Leftover::Keep {
            for function in 0..FUNCTIONS {
                self.abandon(station, function, leftover == Leftover::DropAll);
            }
        }
        self.contention.hold(station, Instant::MAX);
        let state = &mut self.stations[station.index()];
        debug_assert!(state.exchange.is_none(), "it settled its last one");
        state.deaf_until = Instant::MAX;
        state.stats.absences += 1;
        self.record_power(station, PowerState::OffChannel);
    }

    /// Gives up what driver and hardware hold, and the queue above if it is to go too.
    fn abandon(&mut self, station: StationId, function: usize, queue_too: bool) {
        let now = self.now;
        let state = &mut self.stations[station.index()];
        let Some(access) = &mut state.functions[function] else { return };
        let mut given_up: Vec<Packet> = Vec::new();
        let (mut packets, mut mpdus) = (0, Vec::new());
        for originator in &mut access.originators {
            let before = originator.held();
            let mut lost = 0;
            originator.expire(
                |_| true,
                &mut self.released,
                |mpdu| {
                    lost += 1;
                    if !mpdu.taken {
                        given_up.extend_from_slice(mpdu.msdus.packets());
                    }
                },
            );
            mpdus.push((originator.peer, lost));
            packets += before.packets;
            access.held.packets -= before.packets;
            access.held.bytes = access.held.bytes - before.bytes;
        }
        let booked = given_up.len();
        while let Some(peer) = access.driver.next_peer() {
            given_up.extend(access.driver.pop(peer));
        }
        let mut dropped = core::mem::take(&mut self.dropped);
        if queue_too {
            while let Some((_, packet)) = access.queue.dequeue(now, &mut dropped) {
                given_up.push(packet);
            }
            given_up.append(&mut dropped);
        }
        self.dropped = dropped;
        packets += (given_up.len() - booked) as u32;
        state.hold(now, 0, packets);
        state.stats.off_channel_drops += given_up.len() as u64;
        for (peer, lost) in mpdus {
            state.link_stats(peer).mpdus_lost += lost;
        }
        for (index, packet) in given_up.into_iter().enumerate() {
            if index >= booked {
                Released::book(&packet, &mut self.released);
            }
            self.drop_packet(station, packet, DropReason::OffChannel);
        }
        if packets > 0 {
            self.announce_room(station);
        }
    }

    fn lose(&mut self, station: StationId, packet: Packet, reason: DropReason) {
        Released::book(&packet, &mut self.released);
        self.drop_packet(station, packet, reason);
    }

    fn queue_null(&mut self, station: StationId, power_management: bool) {
        let away = self.away(station);
        away.sequence = away.sequence.next();
        let frame = Management {
            peer: self.settings.access_point,
            action: Action::Null { power_management },
            attempts: 0,
            sequence: self.away(station).sequence,
        };
        self.function(station, NULL_FUNCTION).management.push_front(frame);
        self.arm(station, NULL_FUNCTION);
    }

    /// Nothing lies below the upper queue, and no exchange is going on.
    fn is_drained(&self, station: StationId) -> bool {
        let state = &self.stations[station.index()];
        state.exchange.is_none()
            && self.speaks_until(station).is_none()
            && state.functions.iter().flatten().all(|access| {
                access.held.packets == 0 && access.driver.is_empty() && access.management.is_empty()
            })
    }

    /// Until when the station has to stay for a frame of its own: on the air,
    /// or due SIFS after one of somebody else's.
    fn speaks_until(&self, station: StationId) -> Option<Instant> {
        let due = self.pending.iter().filter(|pending| pending.station == station);
        let due = due.map(|pending| match pending.sequel {
            Sequel::Response { duration, .. } => pending.at + duration,
            Sequel::Payload | Sequel::Opportunity { .. } => pending.at,
        });
        due.max().max(self.air.transmits_until(station)).filter(|until| *until > self.now)
    }

    fn away(&mut self, station: StationId) -> &mut Away {
        let away = self.stations[station.index()].away.as_deref_mut();
        away.expect("only a station that scans sends Null frames and is asked")
    }

    fn record_power(&mut self, station: StationId, state: PowerState) {
        if self.settings.record {
            self.events.push_back(Event::Power { at: self.now, station, state });
        }
    }
}
