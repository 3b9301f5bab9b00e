//! Stations that change their access point: the frames with which they join one, the channel on
//! which they listen meanwhile, and what becomes of their packets. The decisions are in
//! [`mac::roam`](crate::mac::roam), the frames around the absences of a scan in `power::away`.
//!
//! A station that leaves loses its packets (`unlinked`), and says nothing to its access point, which
//! goes on sending it the packets that it has queued, in vain. Block Ack agreements with an access
//! point hold until the station is back there.

use super::Output;
use super::floor::Floor;
use super::power::{Away, Listening, Power};
use super::station::Station;
use crate::air::{Action, Management};
use crate::config::{CellConfig, CellError, Role};
use crate::event::{Event, RoamStep};
use crate::mac::originator::Agreement;
use crate::mac::roam::frame::{JoinFacts, RoamFrame};
use crate::mac::roam::join::Due;
use crate::mac::roam::station::{Roam, RoamAction, RoamingConfig};
use crate::mac::scan::ScanKind;
use crate::phy::Band;
use crate::station::{BssId, StationId};
use crate::stats::{Outranked, Roamed};
use lasthop_packet::AccessCategory;
use lasthop_units::{Dbm, Duration, Instant, SeqNo12};

/// Access category of frames about an association: voice, as of all management frames.
const MANAGEMENT: usize = AccessCategory::Voice.index();

/// Length of the SSID: seven letters, as in beacons.
const SSID_OCTETS: u8 = 7;

/// Time without a beacon that ends a spell with a weak access point: ten intervals.
const SPELL_GAP: Duration = Duration::from_micros(1_024_000);

/// Rates without MCS: the eight of OFDM, and at 2.4 GHz four of DSSS and CCK.
const RATES: u8 = 8;
const RATES_2_4: u8 = 12;

/// Most Neighbor Report elements in a frame: a management frame has at most 2 304 octets (9.2.4.7.1),
/// three of them before the elements of 20 octets here.
const NEIGHBOURS_MAX: usize = (2_304 - 3) / 20;

/// Checks the stations that roam.
///
/// # Errors
/// Returns an error for an access point that roams, for a station that also scans or saves power by
/// itself, and for a network without the station's first set or with sets that do not exist.
pub(super) fn check(config: &CellConfig, sets: usize) -> Result<(), CellError> {
    for (index, station) in config.stations.iter().enumerate() {
        let Some(roaming) = &station.roaming else { continue };
        let is_member = roaming.members.iter().any(|member| member.bss == station.bss);
        let exist = roaming.members.iter().all(|member| member.bss.index() < sets);
        let is_alone = station.scan.is_none()
            && station.absences.is_empty()
            && station.power_save.is_none()
            && station.service_periods.is_none();
        let has_beacons = config.beacon_interval.is_some() && !config.independent;
        if station.role == Role::AccessPoint || !is_alone || !is_member || !exist || !has_beacons {
            return Err(CellError::Roams(index as u16));
        }
    }
    Ok(())
}

impl Station {
    /// Its roaming, if it roams.
    pub(super) fn roam(&mut self) -> Option<&mut Roam> {
        self.away.as_deref_mut().and_then(Away::roam)
    }

    /// A set on the channel on which it listens, if it is off its own.
    pub(super) fn listens_at(&self) -> Option<BssId> {
        self.away.as_deref().and_then(Away::listening).map(|listening| listening.bss)
    }

    /// Facts of the frames between a roaming station and an access point, and the set that it comes
    /// from, or moves to.
    pub(super) fn join_facts(&mut self, band: Band, frame: RoamFrame) -> (JoinFacts, BssId) {
        let roam = self.roam().expect("it roams");
        let other = roam.other();
        let RoamingConfig {
            security,
            neighbor_report,
            is_steered,
            follows_requests,
            ref members,
            ..
        } = *roam.config();
        // hostapd lists itself, too.
        let neighbours = match frame {
            RoamFrame::NeighborReportResponse => members.len().min(NEIGHBOURS_MAX),
            RoamFrame::TransitionRequest { .. } => roam.candidates().count(),
            _ => 0,
        };
        let is_fast = roam.joins().is_some_and(|manner| manner.is_fast());
        let names_key = roam.joins().is_some_and(|manner| manner.names_key());
        // Before it leaves, it has the keys of its own access point.
        let keyed = roam.sends_data();
        let capabilities = &self.config.capabilities;
        let facts = JoinFacts {
            security,
            ssid_octets: SSID_OCTETS,
            rates: if band == Band::Ghz2_4 { RATES_2_4 } else { RATES },
            generation: capabilities.generation(),
            band,
            width: capabilities.width(),
            qos: capabilities.qos,
            radio_measurement: neighbor_report,
            bss_transition: is_steered && follows_requests,
            neighbours: neighbours as u8,
            keyed,
            fast: is_fast,
            cached: names_key,
        };
        (facts, other)
    }

    /// Forgets what it wanted to agree on with the access point that it leaves.
    fn forget_requests(&mut self, now: Instant) {
        for access in self.edcafs.iter_mut().flatten() {
            access.management.clear();
            for originator in &mut access.originators {
                if originator.agreement == Agreement::Requested {
                    originator.agreement = Agreement::Failed { until: now };
                }
            }
        }
    }
}

impl Power {
    /// Performs the step of a roaming station that is due.
    pub(super) fn roam_due(&mut self, floor: &mut Floor<'_>, station: StationId) {
        let now = floor.now;
        let Some(roam) = floor.stations[station.index()].roam() else { return };
        let action = roam.handle_due(now);
        self.roam_action(floor, station, action);
    }

    /// Handles the end of a scan of a roaming station.
    pub(super) fn roam_scanned(&mut self, floor: &mut Floor<'_>, station: StationId) {
        let now = floor.now;
        let Some(roam) = floor.stations[station.index()].roam() else { return };
        if roam.scan().is_resting() {
            let action = roam.handle_scanned(now);
            self.roam_action(floor, station, action);
        }
    }

    /// Handles the end of a Null frame with which a roaming station tests its access point.
    pub(super) fn roam_tested(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
        answered: bool,
    ) {
        let now = floor.now;
        let Some(roam) = floor.stations[station.index()].roam() else { return };
        let action = roam.handle_tested(now, answered);
        self.roam_action(floor, station, action);
    }

    /// Handles the end of a roaming station's answer to a request to move.
    pub(super) fn roam_answered(&mut self, floor: &mut Floor<'_>, station: StationId) {
        let now = floor.now;
        let Some(roam) = floor.stations[station.index()].roam() else { return };
        let action = roam.handle_answered(now);
        self.roam_action(floor, station, action);
    }

    /// Handles a frame of a join at its receiver.
    pub(super) fn roam_arrived(
        &mut self,
        floor: &mut Floor<'_>,
        sender: StationId,
        receiver: StationId,
        frame: RoamFrame,
    ) {
        let now = floor.now;
        let from_station = floor.stations[receiver.index()].config.role == Role::AccessPoint;
        let station = if from_station { sender } else { receiver };
        let Some(roam) = floor.stations[station.index()].roam() else { return };
        let action = roam.handle_arrival(now, frame, from_station);
        self.roam_action(floor, station, action);
    }

    /// Handles a beacon or a Probe Response that a roaming station received.
    pub(super) fn roam_heard(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
        access_point: StationId,
        signal: Dbm,
        is_beacon: bool,
    ) {
        let (now, bss) = (floor.now, floor.bss_of(access_point));
        let Some(roam) = floor.stations[station.index()].roam() else { return };
        roam.handle_heard(now, bss, signal, is_beacon);
        if is_beacon && roam.is_connected() && roam.at() == bss {
            floor.note_rank(station, access_point);
        }
        if is_beacon && floor.settings.channels_vary {
            self.follow_heard(floor, station, access_point);
        }
        floor.find_next_absence();
    }

    fn roam_action(&mut self, floor: &mut Floor<'_>, station: StationId, action: RoamAction) {
        match action {
            RoamAction::Nothing => {}
            RoamAction::Scan(input) => self.scan_input(floor, station, input),
            RoamAction::Test => {
                self.queue_about_absence(floor, station, Action::Null { power_management: false });
            }
            RoamAction::Leave(bss) => self.leave(floor, station, bss),
            RoamAction::Send(due) => self.send_of_join(floor, station, due),
            RoamAction::Authenticated => floor.record_roam(station, RoamStep::Authenticated),
            RoamAction::Associated => floor.record_roam(station, RoamStep::Associated),
            RoamAction::Joined => self.joined(floor, station),
            RoamAction::Lost | RoamAction::Failed | RoamAction::Removed => {
                let step = match action {
                    RoamAction::Lost => RoamStep::Lost,
                    RoamAction::Removed => RoamStep::Removed,
                    _ => RoamStep::Failed,
                };
                self.unlink(floor, station);
                floor.drop_about_absence(station);
                floor.record_roam(station, step);
            }
            RoamAction::Listen(channel) => self.search(floor, station, channel),
            RoamAction::Reported => floor.record_roam(station, RoamStep::Reported),
            RoamAction::Unreported => floor.record_roam(station, RoamStep::Unreported),
            RoamAction::Review => self.review(floor, station),
            RoamAction::Answered(true) => floor.record_roam(station, RoamStep::Accepted),
            RoamAction::Answered(false) => floor.record_roam(station, RoamStep::Refused),
            RoamAction::Follow(to) => self.follow(floor, station, to),
        }
        floor.find_next_absence();
    }

    /// Lets a station leave for the access point of `bss`, at once or after its last frame.
    fn leave(&mut self, floor: &mut Floor<'_>, station: StationId, bss: BssId) {
        let now = floor.now;
        floor.set_gate(station);
        if let Some(until) = floor.engaged_until(station) {
            let away = floor.away(station);
            (away.departs_at, away.leaves_for) = (Some(until), Some(bss));
            return;
        }
        floor.away(station).leaves_for = None;
        self.wake_up(floor, station);
        self.unlink(floor, station);
        let state = &mut floor.stations[station.index()];
        state.forget_requests(now);
        let before = state.config.bss;
        state.config.bss = bss;
        if let Some(roam) = state.roam() {
            roam.handle_left(now);
        }
        floor.away(station).tuned_to = None;
        floor.note_departure(station, before);
        floor.listen_to(station, bss, true);
        floor.attach(station, false);
        floor.record_roam(station, RoamStep::Left);
    }

    /// Performs a departure that a frame exchange delayed.
    pub(super) fn leave_at_last(&mut self, floor: &mut Floor<'_>, station: StationId) -> bool {
        let bss = floor.away(station).leaves_for;
        if let Some(bss) = bss {
            self.leave(floor, station, bss);
            floor.find_next_absence();
        }
        bss.is_some()
    }

    /// Lets data flow at the new access point.
    fn joined(&mut self, floor: &mut Floor<'_>, station: StationId) {
        let now = floor.now;
        floor.set_gate(station);
        floor.away(station).log_gone(now, false);
        floor.announce_link(station);
        floor.record_roam(station, RoamStep::Joined);
        floor.attach(station, true);
        self.resume(floor, station);
    }

    /// Lets a station without an access point look for one on this channel of its list.
    fn search(&mut self, floor: &mut Floor<'_>, station: StationId, channel: u16) {
        // Packets of an exchange that was in progress at the loss of the access point.
        self.unlink(floor, station);
        let Some(roam) = floor.stations[station.index()].roam() else { return };
        let scan = roam.config().scan;
        let is_passive = scan.channels - channel <= scan.passive.count;
        let probes = scan.kind == ScanKind::Active && !is_passive;
        match roam.set_on(channel) {
            Some(bss) => self.listen_on(floor, station, bss, probes),
            None => floor.listen_to_nothing(station),
        }
    }

    /// Lets a station that is off its channel listen on that of `bss`, and send a Probe Request there.
    pub(super) fn listen_on(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
        bss: BssId,
        probes: bool,
    ) {
        floor.listen_to(station, bss, false);
        let probe = Some(floor.now + super::power::PROBE_DELAY).filter(|_| probes);
        floor.away(station).probes_at = probe;
    }

    fn send_of_join(&mut self, floor: &mut Floor<'_>, station: StationId, due: Due) {
        let Due { frame, from_station } = due;
        let band = floor.settings.band;
        let (facts, _) = floor.stations[station.index()].join_facts(band, frame);
        let action = Action::Roam { frame, octets: frame.octets(&facts) as u16 };
        if from_station {
            return self.queue_about_absence(floor, station, action);
        }
        let access_point = floor.access_point_of(station);
        let sequence = SeqNo12::new(floor.stations[access_point.index()].stats.beacons as u16);
        let frame = Management { peer: station, action, attempts: 0, sequence };
        floor.edcaf(self, access_point, MANAGEMENT).management.push_back(frame);
        floor.arm(access_point, MANAGEMENT);
    }
}

impl Floor<'_> {
    /// Lets a station listen on the channel of `bss`: to frames of its access point for it alone if it
    /// is its `own`, and to all group frames.
    pub(super) fn listen_to(&mut self, station: StationId, bss: BssId, own: bool) {
        let now = self.now;
        let Self { settings, stations, bss: sets, contention, air, channels, .. } = self;
        let facts = &settings.bss[bss.index()];
        let tuned_to = stations[station.index()].away.as_deref().and_then(|away| away.tuned_to);
        let primary = tuned_to.filter(|_| own).unwrap_or(sets[bss.index()].primary);
        channels.retune(air, contention, now, station, primary);
        contention.return_to_channel(station, now);
        channels.forget_navs(station);
        let state = &mut stations[station.index()];
        let away = state.away.as_mut().expect("it roams");
        away.listening =
            Some(Listening { since: now, own: own.then_some(facts.access_point), bss });
        state.deaf_until = Instant::MAX;
    }

    fn listen_to_nothing(&mut self, station: StationId) {
        self.contention.hold(station, Instant::MAX);
        self.away(station).listening = None;
        self.stations[station.index()].deaf_until = Instant::MAX;
    }

    /// Tells the network behind the access points where the station is.
    fn attach(&mut self, station: StationId, is_known: bool) {
        let access_point = self.access_point_of(station);
        let at = self.now;
        self.outbox.put_out(Output::Attached { at, station, access_point, is_known });
    }

    /// Counts that a station left the access point of this set for that of its own.
    fn note_departure(&mut self, station: StationId, before: BssId) {
        let (from, to) = (self.access_point(before), self.access_point_of(station));
        let now = self.now;
        let state = &mut self.stations[station.index()];
        let Some(roam) = state.roam() else { return };
        let (looked_from, lost_at) = (roam.looked_from(), roam.lost_at());
        let cause = roam.cause();
        let listed_channels = roam.listed_channels().filter(|_| lost_at.is_none());
        // A transition over the distribution system came before.
        let is_over_ds = roam.joins().is_some_and(|manner| manner.is_fast() && manner.over_ds);
        state.stats.roams.push(Roamed {
            from,
            to,
            cause,
            looked_from,
            listed_channels,
            without_from: lost_at.unwrap_or(now),
            left_at: now,
            authenticated_at: is_over_ds.then_some(now),
            associated_at: None,
            joined_at: None,
            failed_at: None,
        });
    }

    /// Counts that a much stronger access point of the network is there while the station stays.
    fn note_rank(&mut self, station: StationId, own: StationId) {
        let Self { now, settings, stations, air, .. } = self;
        let state = &mut stations[station.index()];
        let Some(roam) = state.roam() else { return };
        let others =
            roam.config().members.iter().map(|it| settings.bss[it.bss.index()].access_point);
        let levels =
            others.map(|access_point| (access_point, air.mean_level(access_point, station)));
        let Some((by, stronger)) = levels.max_by(|a, b| a.1.0.total_cmp(&b.1.0)) else { return };
        let level = air.mean_level(own, station);
        if level.0 >= Outranked::WEAK.0 || stronger - level < Outranked::STRONGER {
            return;
        }
        let spells = &mut state.stats.outranked;
        match spells.last_mut().filter(|it| it.at == own && *now - it.until <= SPELL_GAP) {
            Some(spell) => *spell = Outranked { by, until: *now, level, stronger, ..*spell },
            None => {
                spells.push(Outranked { at: own, by, from: *now, until: *now, level, stronger })
            }
        }
    }

    /// Records a step with regard to the access point of the station's set.
    fn record_roam(&mut self, station: StationId, step: RoamStep) {
        let set = match (step, self.stations[station.index()].roam()) {
            (RoamStep::Accepted | RoamStep::Refused, Some(roam)) => roam.other(),
            _ => self.bss_of(station),
        };
        self.record_roam_to(station, step, set);
    }

    /// Records a step with regard to the access point of `set`.
    pub(super) fn record_roam_to(&mut self, station: StationId, step: RoamStep, set: BssId) {
        let Self { now, settings, stations, outbox, .. } = self;
        let stats = &mut stations[station.index()].stats;
        match (step, stats.roams.last_mut()) {
            (RoamStep::Lost, _) => stats.access_points_lost += 1,
            (RoamStep::Requested, _) => stats.steering.requests += 1,
            (RoamStep::Accepted, _) => stats.steering.accepted += 1,
            (RoamStep::Refused, _) => stats.steering.refused += 1,
            (RoamStep::Removed, _) => stats.steering.removed += 1,
            (RoamStep::Reported, _) => stats.neighbor_reports += 1,
            (RoamStep::Unreported, _) => stats.neighbor_reports_missed += 1,
            (RoamStep::Authenticated, Some(roam)) => roam.authenticated_at = Some(*now),
            (RoamStep::Associated, Some(roam)) => roam.associated_at = Some(*now),
            (RoamStep::Joined, Some(roam)) => {
                // Without a handshake both are one.
                roam.associated_at = roam.associated_at.or(Some(*now));
                roam.joined_at = Some(*now);
            }
            (RoamStep::Failed, Some(roam)) => roam.failed_at = Some(*now),
            // The warm-up ended in between.
            (_, _) => {}
        }
        outbox.record(|| {
            let access_point = settings.bss[set.index()].access_point;
            Event::Roam { at: *now, station, access_point, step }
        });
    }
}
