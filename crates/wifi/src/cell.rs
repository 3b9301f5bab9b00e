//! A Wi-Fi cell: access points, their stations, and the air between them, as one pure machine.
//! Neighbouring cells on the same band are in the same machine, as further basic service sets
//! ([`BssId`](crate::BssId)).
//!
//! Packets enter at a station ([`Cell::handle_packet`]) and leave at their receiver
//! ([`Cell::poll_output`]). Between the two are queues, contention, PPDUs, losses, retries and
//! reordering. The machine wakes up a few times for each frame exchange, never for a single slot;
//! once for an exchange that nobody can disturb, if its driver says until when nothing enters
//! ([`Cell::advance`]). Air propagation time is zero.
//!
//! A station owns its EDCAFs, an EDCAF its queue and its originators. The code of a station (`edcaf`,
//! `frames`, `settle`, `recipient`, `station`) knows no other station and no [`Cell`], which has the
//! air, contention and the due times. `power`, `channel` and `timers` know no [`Cell`] either: the
//! parameters of each function name the parts that it may touch.
//!
//! The cell uses `phy`, `mac` and `air`, and reports through `event` and `stats`. Frames have
//! lengths and no bytes, so `wire` is not used.
//!
//! | facts | |
//! |---|---|
//! | `settings` | facts of a configuration, and its checks |
//!
//! | state of a station | |
//! |---|---|
//! | `station` | EDCAFs, exchange, recipients, counters |
//! | `hardware` | A-MPDUs that an EDCAF has built ahead, and the order in which they are built |
//! | `edcaf` | queue, originators, contention window, the next frame to send |
//! | `frames` | packets to frames |
//! | `ahead` | A-MPDUs that are built before the channel is won |
//! | `settle` | the outcome of MPDUs that were sent |
//! | `recipient` | reception from one transmitter |
//! | `receiver` | reception at one station: the MPDUs that it decodes and acknowledges |
//! | `receivers` | reception at all stations, with the MPDUs that a sender lends |
//!
//! | procedures of the cell | |
//! |---|---|
//! | `access` | contention, and the stations that gain the channel |
//! | `exchange` | a frame exchange from PPDU to response; a file for each kind |
//! | `lone` | exchanges that nobody can disturb, as one step |
//! | `reception`, `arrival` | reception of a PPDU, at its end or MPDU by MPDU |
//! | `bss` | basic service sets and their access points |
//! | `channel` | two NAVs, colours, OBSS-PD, sets on different channels and the width of a PPDU |
//! | `power` | stations that leave the channel or doze, frames held for them, service periods |
//! | `held_back` | received packets whose interrupt is held back |
//! | `roam` | stations that change their access point |
//! | `steer` | access points that ask them to |
//! | `unlinked` | packets at stations without an access point, and at access points that have failed |
//! | `switch` | access points that move to another channel, and the stations that follow |
//! | `devices` | devices of several links, and the exchanges that engage them |
//! | `lending` | what the stations of a device share, and lend the link that sends |
//! | `link_record`, `link_counts` | counts of what the links of devices do |
//! | `floor` | the parts of the cell that answer, contend and queue frames |
//! | `timers` | the next due instant, and due work |
//! | `record` | events of PPDUs |
//! | `adjust` | changes during the run |

mod access;
mod adjust;
mod ahead;
mod arrival;
mod bss;
mod channel;
mod devices;
mod edcaf;
mod exchange;
mod floor;
mod frames;
mod hardware;
mod held_back;
mod lending;
mod link_counts;
mod link_record;
mod link_use;
mod lone;
mod occupancy;
mod operating_mode;
mod outbox;
mod power;
mod receiver;
mod receivers;
mod reception;
mod recipient;
mod record;
mod roam;
mod settings;
mod settle;
mod station;
mod steer;
mod switch;
#[cfg(test)]
pub(crate) mod tests;
mod timers;
mod unlinked;

pub use crate::config::{
    AdjustError, Aggregation, BandwidthAccess, BlockAck, BlockAckRequestPolicy, CellConfig,
    CellError, DeviceConfig, EdcaParameters, LinkChoice, LinkMode, LinkSet, Links, Movement,
    MuEdcaParameters, MuMimoConfig, ObssPd, OfdmaAcknowledgement, OfdmaConfig, OperatingChannel,
    OperatingMode, PairConfig, PeerRate, Role, RxHold, RxInterrupt, StationConfig, Track,
    UplinkConfig, Waypoint, distance,
};
pub use adjust::Adjustment;
pub use occupancy::SteadyExchange;

use crate::air::{Air, Rates};
use crate::capabilities::Capabilities;
use crate::config::{self, ranks};
use crate::event::Event;
use crate::mac::contention::Contention;
use crate::mac::sizes;
use crate::phy::{ChannelWidth, Puncturing};
use crate::station::{Address, StationId};
use crate::stats::multi_link::{FlowLinkStats, MultiLinkStats};
use crate::stats::{LinkStats, StationStats};
use alloc::vec::Vec;
use arrival::Arrivals;
use bss::{Bss, BssFacts};
use channel::{Channels, Scene};
use devices::Devices;
use edcaf::Edcaf;
use floor::{Floor, Roster};
use frames::Context;
use lasthop_packet::{DropReason, Packet, Released};
use lasthop_units::{Duration, Instant, Machine, Seed};
use outbox::Outbox;
use power::Power;
use receivers::Receivers;
use settings::Settings;
use station::Station;
use timers::{Sequel, Timers};

/// A packet that left the cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Output {
    /// `station`, the destination, received the packet.
    Delivered {
        /// The instant of delivery: not later than the last instant handled.
        at: Instant,
        /// The station that received it.
        station: StationId,
        /// The packet, its delay parts up to date.
        packet: Packet,
    },
    /// `station`, which is promiscuous, overheard a packet to another station. Each transmission
    /// counts, whether or not the destination received it.
    Overheard {
        /// The instant at which the PPDU ended.
        at: Instant,
        /// The promiscuous station.
        station: StationId,
        /// The packet as it was sent.
        packet: Packet,
    },
    /// `station` gave up the packet.
    Dropped {
        /// The instant at which it was given up.
        at: Instant,
        /// The station that held the packet, or rejected it.
        station: StationId,
        /// The packet, its delay parts as of its last receiver.
        packet: Packet,
        /// The reason for giving it up.
        reason: DropReason,
    },
    /// A station moved to another access point, to which it sends its packets from now on.
    Attached {
        /// The instant of the move.
        at: Instant,
        /// The station.
        station: StationId,
        /// The access point.
        access_point: StationId,
        /// Whether the network behind the access points knows, so that packets to the station go
        /// there, too.
        is_known: bool,
    },
    /// The group-addressed packet was sent; its copies were delivered before this output.
    GroupSent {
        /// The end of its PPDU.
        at: Instant,
        /// The station that sent it: an access point.
        station: StationId,
        /// The packet, which the station no longer holds.
        packet: Packet,
    },
}

/// Reason for the cell's next wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A station gains the channel.
    Access,
    /// A PPDU ends.
    PpduEnd,
    /// An MPDU within an A-MPDU ends, and the driver acts on its packets.
    MpduEnd,
    /// A response or the next frame of an exchange is due, SIFS after the previous one.
    Sequel,
    /// A response is overdue.
    ResponseTimeout,
    /// A reorder buffer gives up a gap.
    ReorderTimeout,
    /// An access point queues a beacon.
    Beacon,
    /// A station leaves its channel or comes back, dozes or wakes up.
    Absence,
    /// An access point asks for buffer status, or a station contends by EDCA again after MU EDCA.
    Uplink,
    /// An HE-SIG-A ends, and stations may ignore its PPDU.
    SignalField,
    /// A driver is ready for the next frame.
    Driver,
    /// A device raises an interrupt for the frames that it has received.
    Interrupt,
}

/// A Wi-Fi cell as a [`Machine`]: access points, stations, and the air between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    settings: Settings,
    /// The last instant handled.
    now: Instant,
    /// The next due instant, and due work.
    timers: Timers,
    stations: Vec<Station>,
    contention: Contention,
    air: Air,
    /// A-MPDUs on the air whose receivers process them MPDU by MPDU.
    arrivals: Arrivals,
    /// States of the sets, by [`BssId`](crate::BssId).
    bss: Vec<Bss>,
    power: Power,
    channels: Channels,
    devices: Devices,
    rates: Rates,
    outbox: Outbox,
}

impl Cell {
    /// A cell at rest: all stations associated, no packet queued.
    ///
    /// # Errors
    /// Returns a [`CellError`] for a configuration that no cell can have. The ranges of single
    /// values are not checked; the caller has to keep them.
    pub fn new(config: &CellConfig, seed: Seed) -> Result<Self, CellError> {
        let sets = BssFacts::all(config)?;
        settings::check(config, &sets)?;
        let timing = settings::timing(config);
        let ranks = ranks(&config.stations)?;
        let rates = Rates::new(config);
        let mut air = Air::new(config, seed)?;
        let mut channels = Channels::new(config, &sets, timing, air.varies())?;
        let contention = channels.contention(timing, &air);
        let aids = bss::association_ids(config, &sets);
        let settings = Settings::new(config, sets, timing, rates.lowest(), seed);
        let stations = config.stations.iter().enumerate();
        let mut stations: Vec<_> = stations
            .map(|(index, station)| Station {
                rank: ranks[index],
                aid: aids[index],
                narrows: config.channel_of(station.bss).access == BandwidthAccess::Dynamic,
                punctured: punctured(config, StationId(index as u16)),
                is_further_link: config.head_of(StationId(index as u16)).1 > 0,
                ..Station::new(StationId(index as u16), station, seed)
            })
            .collect();
        operating_mode::begin_modes(&settings, &mut stations, &mut air, &mut channels);
        let mut cell = Self {
            bss: settings
                .bss
                .iter()
                .map(|set| &config.stations[set.access_point.index()])
                .map(|state| {
                    let primary = config.channel_of(state.bss).primary;
                    Bss::new(settings.beacon_interval, state.beacon_offset, primary)
                })
                .collect(),
            settings,
            now: Instant::ZERO,
            timers: Timers::new(),
            power: Power::default(),
            channels,
            devices: Devices::new(config),
            stations,
            contention,
            air,
            arrivals: Arrivals::default(),
            rates,
            outbox: Outbox::new(config.record_events, &config.stations),
        };
        cell.timers.beacon = Bss::next_beacon(&cell.bss);
        cell.power(|power, floor| {
            power.begin_service_periods(floor);
            power.prepare_switches(floor);
            floor.find_next_absence();
        });
        for station in (0..config.stations.len() as u16).map(StationId) {
            if config.stations[station.index()].failed {
                let failed = cell.power(|power, floor| power.change_failure(floor, station, true));
                failed.map_err(|_| CellError::Fails)?;
            }
        }
        cell.solicitor().start_polling();
        cell.schedule();
        Ok(cell)
    }

    /// Queues a packet at `from`, to be sent to `to` on the air. The only peer of a client is its
    /// access point, unless the cell is independent. Only access points send to [`Address::Group`],
    /// which means all stations of the set.
    pub fn handle_packet(&mut self, now: Instant, from: StationId, to: Address, packet: Packet) {
        debug_assert!(now >= self.now, "time does not run backwards");
        debug_assert!(to != Address::Station(from), "nobody sends to himself");
        self.now = now;
        if self.enqueue(from, to, packet) {
            self.schedule();
        }
    }

    /// Queues copies of `first`, with tags that count up from its tag, at `from`, as
    /// [`Cell::handle_packet`] would one after the other. Stops after `count`, or when the queue is
    /// full or another step is due; takes none from a source that only keeps a queue full while its
    /// station would lose them. Calls `taken` for each. Returns the number of queued packets.
    pub fn handle_offer(
        &mut self,
        now: Instant,
        from: StationId,
        to: Address,
        first: &Packet,
        count: u32,
        mut taken: impl FnMut(&Packet),
    ) -> u32 {
        let mut packet = *first;
        let mut number = 0;
        let is_plain = !self.power.has_special();
        while number < count {
            if !(is_plain || self.accepts_offers(from, &packet)) || !self.admits(from, to, &packet)
            {
                break;
            }
            if is_plain
                && self.due() > now
                && self.stations[from.index()].only_queues(&self.contention, &packet)
            {
                self.now = now;
                let (station, mut cx) = self.at(from);
                return number + station.queue_up(&mut cx, to, &mut packet, count - number, taken);
            }
            self.handle_packet(now, from, to, packet);
            taken(&packet);
            (packet.tag, number) = (packet.tag + 1, number + 1);
            if self.due() <= now {
                break;
            }
        }
        number
    }

    /// Whether `packet` for `to` fits into the queue of `from` now.
    pub fn admits(&mut self, from: StationId, to: Address, packet: &Packet) -> bool {
        let edcaf = self.edcaf(from, packet.access_category.index());
        edcaf.queue.admits_for(to.into(), packet, edcaf.held_below())
    }

    /// Whether a poll would return an output, an event or a notice.
    #[inline]
    pub fn has_outputs(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Whether [`Cell::poll_output`] would return a packet.
    #[inline]
    pub fn has_packets(&self) -> bool {
        self.outbox.has_outputs()
    }

    /// Whether a packet waits that [`Cell::poll_passive`] would not return.
    #[inline]
    pub fn has_prompt_packets(&self) -> bool {
        self.outbox.has_prompt()
    }

    /// The next packet that left the cell.
    #[inline]
    pub fn poll_output(&mut self) -> Option<Output> {
        if self.devices.is_empty() {
            return self.outbox.next_output();
        }
        self.next_output_of_device()
    }

    #[cold]
    fn next_output_of_device(&mut self) -> Option<Output> {
        let mut output = self.outbox.next_output()?;
        self.devices.answer_for(&mut output);
        Some(output)
    }

    /// Passes the next packets of [`Cell::poll_output`] to `take`, as long as they were delivered
    /// and are [`passive`](Packet::passive): with the instant and the station. In contrast to
    /// `poll_output`, this copies no packet.
    #[inline(never)]
    pub fn poll_passive(&mut self, mut take: impl FnMut(Instant, StationId, &Packet)) {
        if self.devices.is_empty() {
            return self.outbox.take_passive(take);
        }
        let Self { outbox, devices, .. } = self;
        outbox.take_passive(|at, station, packet| take(at, devices.head(station), packet));
    }

    /// The next event, if events are recorded.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.outbox.events.pop_front()
    }

    /// Returns a station that holds fewer packets than at the last poll: a saturated source can
    /// refill its queue.
    #[inline]
    pub fn poll_space(&mut self) -> Option<StationId> {
        let station = self.outbox.space.pop_front()?;
        self.stations[station.index()].space_announced = false;
        Some(self.devices.head(station))
    }

    /// Returns a packet with [`Packet::notify`] that its station released.
    #[inline]
    pub fn poll_released(&mut self) -> Option<Released> {
        self.outbox.released.pop_front()
    }

    /// Number of packets that `station` holds: queued, in its driver, in flight.
    pub fn held_packets(&self, station: StationId) -> u32 {
        self.stations[station.index()].held_packets
    }

    /// Recommended length in bytes of a packet from `station` to `peer`, if the station's MTU is
    /// adaptive.
    pub fn mtu(&self, station: StationId, peer: Address) -> Option<u16> {
        let station = &self.stations[station.index()];
        let config = station.config.adaptive_mtu?;
        let state = station.mtus.get(edcaf::slot_of(peer)).and_then(Option::as_ref);
        Some(state.map_or(config.first_bytes(), |state| state.mtu()))
    }

    /// Counters of a station, its queue occupancy integrated until `now`.
    pub fn station_stats(&mut self, now: Instant, station: StationId) -> &StationStats {
        let station = &mut self.stations[station.index()];
        station.hold(now, 0, 0);
        station.count_absence(now);
        &station.stats
    }

    /// Counters of a device by its first station: the air time is the mean of its links.
    pub fn device_stats(&mut self, now: Instant, station: StationId) -> StationStats {
        let mut stats = self.station_stats(now, station).clone();
        let links = self.devices.links(station);
        if !links.is_empty() {
            let of = |link: &StationId| &self.stations[link.index()].stats;
            stats.airtime = links.iter().map(|link| of(link).airtime).sum::<Duration>();
            stats.airtime = stats.airtime / links.len() as u64;
            stats.beacons = links.iter().map(|link| of(link).beacons).sum();
            stats.queue_drops = links.iter().map(|link| of(link).queue_drops).sum();
        }
        stats
    }

    /// Counters of the device that begins with `station` until `now`; `None` if it has one link.
    pub fn multi_link_stats(&mut self, now: Instant, station: StationId) -> Option<MultiLinkStats> {
        self.devices.multi_link_stats(now, station)
    }

    /// Counters of the packets of flows between devices of several links, by link.
    pub fn flow_link_stats(&self) -> &[FlowLinkStats] {
        self.devices.flow_links()
    }

    /// First station of the device of a station, itself if it is alone; and the number of its link.
    pub fn head_of(&self, station: StationId) -> (StationId, u8) {
        self.devices.number(station)
    }

    /// Counters from `station` to `peer`, if `station` ever sent to it.
    pub fn link_stats(&self, station: StationId, peer: Address) -> Option<&LinkStats> {
        self.stations[station.index()].links.get(edcaf::slot_of(peer))
    }

    /// Sets all counters to zero at `now`.
    pub fn clear_stats(&mut self, now: Instant) {
        self.devices.clear_records(now);
        self.floor().keep_busy();
        for station in &mut self.stations {
            station.count_absence(now);
            station.stats = StationStats::default();
            station.held_since = now;
            station.driver_since = now;
            station.links.clear();
        }
    }

    /// The instant of the next step, [`Instant::MAX`] for none: [`Machine::poll_timeout`] without
    /// the reason.
    #[inline]
    pub fn due(&self) -> Instant {
        self.timers.next().0
    }

    /// The last instant handled.
    #[inline]
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Performs the steps due up to `limit`, each at its own instant, but stops after the first
    /// instant with an output; [`Cell::now`] is then that instant. Nothing enters the cell before
    /// `limit`, so an exchange that nobody can disturb is one step.
    pub fn advance(&mut self, limit: Instant) {
        while self.due() <= limit {
            self.proceed(limit);
            if self.has_outputs() && self.due() > self.now {
                return;
            }
        }
    }

    /// Processes the MPDUs whose last bits have arrived by `now`. Only for
    /// [`passive`](lasthop_packet::Packet::passive) packets does the time of the call matter: call
    /// it before you read their number.
    pub fn take_arrived(&mut self, now: Instant) {
        if !self.arrivals.is_empty() {
            self.receivers().take_arrived(now);
        }
    }

    /// Number of stations, access points included.
    pub fn stations(&self) -> usize {
        self.stations.len()
    }

    /// Performs the next step, and those that follow it for certain up to `limit`.
    #[inline]
    fn proceed(&mut self, limit: Instant) {
        let (at, reason) = self.timers.next();
        if reason == Reason::MpduEnd {
            self.now = at;
            self.take_arrived(at);
            self.timers.interrupt = self.outbox.next_interrupt;
            self.timers.merge(self.arrivals.next_prompt());
            return;
        }
        self.step(at);
        if let Some(lone) = self.lone_exchange(limit) {
            self.complete(lone);
        }
        self.schedule();
    }

    #[inline]
    fn step(&mut self, at: Instant) {
        self.now = at;
        self.end_ppdus();
        if self.timers.has_ended(at) {
            self.end_timers(at);
        }
        // Whoever starts at this instant starts before anyone senses it.
        let mut winners = self.timers.take_winners(&mut self.contention, at);
        if winners.len() > 1 {
            winners.sort_unstable_by_key(|winner| {
                let (station, edcaf) = access::owner(&self.contention, &self.stations, *winner);
                // Of the links of a device the one that waited longest.
                let (first, last) = self.devices.turn(station);
                (self.stations[first.index()].rank, last, edcaf)
            });
        }
        self.start_sequels();
        self.start_exchanges(&winners);
        self.timers.return_winners(winners);
        if self.timers.absence <= at || self.power.is_flushing() {
            self.power(|power, floor| power.advance_absences(floor));
        }
    }

    /// Handles the timers that have ended, all but those of absences.
    fn end_timers(&mut self, at: Instant) {
        while let Some(station) = self.timers.take_overdue(at) {
            self.exchange_failed(station);
        }
        while let Some((station, key)) = self.timers.take_gap(at) {
            self.expire_gap(station, key);
        }
        if self.timers.beacon == at {
            self.power(|power, floor| power.queue_beacons(floor));
        }
        if self.timers.has_uplink(at) {
            let (channels, mut scene) = self.channels();
            channels.end_signal_fields(&mut scene);
            self.power(|power, floor| floor.expire_uplink_timers(power));
        }
        if self.outbox.next_interrupt <= at || self.timers.has_rested(at) {
            self.drivers_act(at);
        }
    }

    /// Gives up a gap of a reorder buffer.
    #[cold]
    fn expire_gap(&mut self, station: StationId, key: usize) {
        let sender = StationId((key / edcaf::EDCAFS) as u16);
        let Self { devices, stations, outbox, .. } = self;
        devices.swap_recipients(stations, station, sender);
        let mark = devices.mark(outbox, sender, station);
        self.receivers().at(station).expire_gap(key);
        let Self { devices, stations, outbox, .. } = self;
        if let Some(mark) = mark {
            let edcaf = key % edcaf::EDCAFS;
            devices.delivered(outbox, mark, [sender, station], edcaf, core::iter::empty());
        }
        devices.swap_recipients(stations, station, sender);
    }

    /// Raises held back interrupts, and lets EDCAFs contend whose drivers are ready.
    #[cold]
    fn drivers_act(&mut self, at: Instant) {
        self.outbox.raise_interrupts(at);
        while let Some((station, edcaf)) = self.timers.take_rested(at) {
            self.floor().arm(station, edcaf);
        }
    }

    fn schedule(&mut self) {
        self.timers.interrupt = self.outbox.next_interrupt;
        self.timers.schedule(self.air.next_end(), &mut self.contention);
        if !self.arrivals.is_empty() {
            self.timers.merge(self.arrivals.next_prompt());
        }
    }

    /// The channels, and the parts of the cell that they use.
    #[inline]
    fn channels(&mut self) -> (&mut Channels, Scene<'_>) {
        let Self { now, settings, stations, air, contention, timers, channels, .. } = self;
        (channels, Scene { now: *now, settings, stations, air, contention, timers })
    }

    /// Reception at all stations.
    #[inline]
    fn receivers(&mut self) -> Receivers<'_> {
        let Self { now, settings, stations, bss, contention, air, arrivals, .. } = self;
        let Self { outbox, timers, power, devices, .. } = self;
        let now = *now;
        Receivers {
            now,
            settings,
            stations,
            bss,
            contention,
            air,
            arrivals,
            outbox,
            timers,
            power,
            devices,
        }
    }

    /// Stations and their sets, to look at.
    fn roster(&self) -> Roster<'_> {
        Roster { settings: &self.settings, stations: &self.stations, bss: &self.bss }
    }

    /// Lets power save act on service periods, if a station has them: the one check of cells without.
    #[inline]
    fn services(&mut self, act: impl FnOnce(&mut Power, &mut Floor<'_>)) {
        if self.power.has_services() {
            self.power(act);
        }
    }

    /// Lets power save act on a station that comes and goes: the one check of all others.
    #[inline]
    fn absences(&mut self, station: StationId, act: impl FnOnce(&mut Power, &mut Floor<'_>)) {
        if self.stations[station.index()].away.is_some() {
            self.power(act);
        }
    }

    /// Power save, and the parts of the cell that it uses.
    #[inline]
    fn power<R>(&mut self, act: impl FnOnce(&mut Power, &mut Floor<'_>) -> R) -> R {
        let (power, mut floor) = self.parts();
        act(power, &mut floor)
    }

    /// The parts of the cell that answer, contend and queue frames.
    #[inline]
    fn floor(&mut self) -> Floor<'_> {
        self.parts().1
    }

    /// The floor, and power save beside it.
    #[inline]
    fn parts(&mut self) -> (&mut Power, Floor<'_>) {
        let Self { settings, stations, bss, contention, timers, air, .. } = self;
        let Self { now, channels, devices, rates, outbox, power, .. } = self;
        let now = *now;
        let floor = Floor {
            now,
            settings,
            stations,
            bss,
            contention,
            timers,
            air,
            channels,
            devices,
            rates,
            outbox,
        };
        (power, floor)
    }

    /// A station and the context of its procedures.
    #[inline]
    fn at(&mut self, station: StationId) -> (&mut Station, Context<'_>) {
        let Self { now, settings, rates, outbox, power, stations, .. } = self;
        let services = &mut power.services;
        (&mut stations[station.index()], Context { now: *now, settings, rates, outbox, services })
    }

    /// An EDCAF, created at its first use.
    #[inline]
    fn edcaf(&mut self, station: StationId, edcaf: usize) -> &mut Edcaf {
        if self.stations[station.index()].edcafs[edcaf].is_none() {
            self.make_edcaf(station, edcaf);
        }
        self.stations[station.index()].edcaf(edcaf)
    }

    #[cold]
    fn make_edcaf(&mut self, station: StationId, edcaf: usize) {
        self.power(|power, floor| {
            floor.edcaf(power, station, edcaf);
        });
    }
}

impl Machine for Cell {
    type Reason = Reason;

    #[inline]
    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        let next = self.timers.next();
        (next.0 < Instant::MAX).then_some(next)
    }

    /// Performs all steps due up to `now`, each at its own instant.
    fn handle_timeout(&mut self, now: Instant) {
        debug_assert!(now >= self.now, "time does not run backwards");
        while self.due() <= now {
            self.proceed(now);
        }
    }
}

/// Punctured part of PPDUs of each width in the set of a station, if it has punctured channels.
fn punctured(config: &CellConfig, station: StationId) -> Option<[Puncturing; 5]> {
    let (channel, whole) = config.punctured_channel(station)?;
    let of_width = |width: ChannelWidth| channel.puncturing_of(whole, width.min(whole));
    Some(ChannelWidth::ALL_EHT.map(|width| of_width(width).unwrap_or_default()))
}

/// Bytes that the elements of the newest PHY add to a beacon and to a Probe Request. At 5 GHz an HE
/// station is also a VHT station, and a VHT station also an HT station.
fn element_bytes(capabilities: &Capabilities) -> (u32, u32) {
    let ht = (sizes::BEACON_HT, sizes::PROBE_REQUEST_HT);
    let vht = (ht.0 + sizes::BEACON_VHT, ht.1 + sizes::PROBE_REQUEST_VHT);
    if capabilities.is_he() {
        (vht.0 + sizes::BEACON_HE, vht.1 + sizes::PROBE_REQUEST_HE)
    } else if capabilities.is_vht() {
        vht
    } else if capabilities.is_ht() {
        ht
    } else {
        (0, 0)
    }
}
