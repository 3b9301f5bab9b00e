//! State of a station that leaves its channel, or dozes: its phase, the frames that its EDCAFs may
//! send meanwhile, and a log of its absences. The procedures are in `away`, `schedule`, `doze` and
//! `waits`.

use super::period::Service;
use crate::air::Flight;
use crate::cell::config::StationConfig;
use crate::cell::edcaf::Gate;
use crate::mac::absence::{Absences, Cause};
use crate::mac::beacon_clock::BeaconClock;
use crate::mac::power_save::{self, PowerSaveConfig, Sending};
use crate::mac::roam::station::Roam;
use crate::mac::scan::{NullConfig, Scan, ScanPhase};
use crate::mac::schedule::{Schedule, SchedulePhase};
use crate::phy::Subchannel;
use crate::station::{Address, BssId, StationId};
use alloc::boxed::Box;
use lasthop_packet::DropReason;
use lasthop_units::{Duration, Instant, Probability, Seed, SeqNo12, Stream};

/// Additional state of a station that leaves its channel or saves power.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cell) struct Away {
    pub rhythm: Rhythm,
    pub null: NullConfig,
    /// Instant of a departure that a frame exchange delays.
    pub departs_at: Option<Instant>,
    /// Instant at which a Probe Request is due on its own channel.
    pub probes_at: Option<Instant>,
    /// Instant since which it cannot be reached, or at which its absence was last counted.
    pub left: Option<Instant>,
    /// Sequence number of the last Null or Probe Request.
    pub sequence: SeqNo12,
    /// Log of its absences.
    pub log: Log,
    /// Frames that it receives although it is off its channel, or that alone it receives.
    pub listening: Option<Listening>,
    /// Set whose access point it joins once its frame exchange is over.
    pub leaves_for: Option<BssId>,
    /// Primary channel of a roaming station, if its access point is or was on another.
    pub tuned_to: Option<Subchannel>,
    /// Gate of an access point that moves to another channel.
    pub switching: Gate,
}

/// Frames that a roaming station receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cell) struct Listening {
    /// Instant since which it is on the channel.
    pub since: Instant,
    /// The access point whose frames alone it receives, apart from group frames; any if `None`.
    pub own: Option<StationId>,
    /// A set on the channel.
    pub bss: BssId,
}

impl Listening {
    pub fn receives(&self, flight: &Flight) -> bool {
        flight.start >= self.since
            && (flight.receiver == Address::Group
                || self.own.is_none_or(|own| own == flight.transmitter))
    }
}

/// The mechanism that takes a station away.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cell) enum Rhythm {
    Scan(Scan),
    Schedule(Schedule),
    Doze(Doze),
    Service(Service),
    Roam(Box<Roam>),
    /// An access point that fails and comes back, or moves to another channel.
    Failure {
        failed: bool,
    },
}

impl Away {
    /// Returns `None` for a station that stays on its channel, awake.
    pub fn new(config: &StationConfig, seed: Seed) -> Option<Self> {
        if let Some(roaming) = &config.roaming {
            let mut stream = seed.stream_of("cell/station/roaming", config.identity);
            let clock = Duration::from_nanos(stream.next_u64() % 1_000_000_000);
            let null = roaming.scan.null;
            let roam = Roam::new(roaming.clone(), config.bss, clock);
            return Some(Self::with(Rhythm::Roam(Box::new(roam)), null));
        }
        let rhythm = match (&config.scan, &config.power_save, &config.service_periods) {
            (Some(scan), ..) => return Some(Self::scanning(Scan::new(*scan))),
            (None, Some(power_save), _) => {
                let stream = seed.stream_of("cell/station/clock", config.identity);
                Rhythm::Doze(Doze::new(*power_save, stream))
            }
            (None, None, Some(service_periods)) => Rhythm::Service(Service::new(*service_periods)),
            (None, None, None) if config.absences.is_empty() => return None,
            (None, None, None) => Rhythm::Schedule(Schedule::new(&config.absences)),
        };
        Some(Self::with(rhythm, without_losses(config)))
    }

    /// The state of a station that scans.
    pub fn scanning(scan: Scan) -> Self {
        let null = scan.config().null;
        Self::with(Rhythm::Scan(scan), null)
    }

    /// The state of an access point that is about to fail.
    pub fn failing(config: &StationConfig) -> Self {
        Self::with(Rhythm::Failure { failed: false }, without_losses(config))
    }

    fn with(rhythm: Rhythm, null: NullConfig) -> Self {
        Self {
            rhythm,
            null,
            departs_at: None,
            probes_at: None,
            left: None,
            sequence: SeqNo12::default(),
            log: Log::default(),
            listening: None,
            leaves_for: None,
            tuned_to: None,
            switching: Gate::Open,
        }
    }

    pub fn gate(&self) -> Gate {
        let of_scan = |scan: &Scan| match scan.phase() {
            ScanPhase::Present => Gate::Open,
            ScanPhase::Flushing => Gate::Draining,
            ScanPhase::Leaving | ScanPhase::Away | ScanPhase::Returning => Gate::Shut,
        };
        match &self.rhythm {
            Rhythm::Scan(scan) => of_scan(scan),
            Rhythm::Roam(roam) if roam.sends_data() => match of_scan(roam.scan()) {
                Gate::Open if roam.is_quiet() => Gate::Draining,
                gate => gate,
            },
            Rhythm::Roam(_) => Gate::Shut,
            Rhythm::Schedule(schedule) => match schedule.phase() {
                SchedulePhase::Present => Gate::Open,
                _ => Gate::Shut,
            },
            Rhythm::Doze(doze) => doze.gate(),
            Rhythm::Service(service) => service.gate(),
            Rhythm::Failure { failed: true } => Gate::Shut,
            Rhythm::Failure { failed: false } => self.switching,
        }
    }

    /// Its scan, if it scans by itself or roams.
    pub fn scan(&mut self) -> Option<&mut Scan> {
        match &mut self.rhythm {
            Rhythm::Scan(scan) => Some(scan),
            Rhythm::Roam(roam) => Some(roam.scan_mut()),
            Rhythm::Doze(_) | Rhythm::Service(_) | Rhythm::Schedule(_) | Rhythm::Failure { .. } => {
                None
            }
        }
    }

    /// Its roaming, if it roams.
    pub fn roam(&mut self) -> Option<&mut Roam> {
        if let Rhythm::Roam(roam) = &mut self.rhythm { Some(roam) } else { None }
    }

    /// Frames that it receives, if it is off its channel or receives only some.
    pub fn listening(&self) -> Option<Listening> {
        self.listening
    }

    /// Whether it receives the frames of its own access point, although others not.
    pub fn listens_to_its_own(&self) -> bool {
        self.listening.is_some_and(|listening| listening.own.is_some())
    }

    /// Whether an RTS precedes a Null frame after this many attempts.
    pub fn asks_before_null(&self, attempts: u8) -> bool {
        self.null.rts_after.is_some_and(|after| attempts > after)
    }

    pub fn due(&self) -> Option<Instant> {
        let rhythm = match &self.rhythm {
            Rhythm::Scan(scan) => scan.due(),
            Rhythm::Roam(roam) => roam.due(),
            Rhythm::Schedule(schedule) => schedule.due(),
            Rhythm::Doze(doze) => doze.due(),
            Rhythm::Service(service) => {
                let departs_at = self.departs_at.unwrap_or(Instant::MAX);
                return Some(service.due().min(departs_at));
            }
            Rhythm::Failure { .. } => None,
        };
        self.departs_at.or(self.probes_at).or(rhythm)
    }

    /// Whether an absence by a clock has ended, so that the station need not leave any more.
    pub fn is_over(&self, now: Instant) -> bool {
        matches!(&self.rhythm, Rhythm::Schedule(schedule) if schedule.until() <= now)
    }

    /// Whether its data frames have the Power Management bit set.
    pub fn sends_in_power_save(&self) -> bool {
        matches!(&self.rhythm, Rhythm::Doze(doze) if doze.sends_in_power_save())
    }

    /// Counts data frames that the station has sent or received.
    pub fn count(&mut self, sent: u32, received: u32) {
        if let Rhythm::Doze(doze) = &mut self.rhythm {
            doze.sent = doze.sent.saturating_add(sent);
            doze.received = doze.received.saturating_add(received);
        }
    }

    /// Cause of the station's absences now.
    pub fn cause(&self) -> Cause {
        match &self.rhythm {
            Rhythm::Roam(roam) if !roam.sends_data() => Cause::Roam,
            Rhythm::Scan(_) | Rhythm::Schedule(_) | Rhythm::Roam(_) | Rhythm::Failure { .. } => {
                Cause::Away
            }
            Rhythm::Doze(_) | Rhythm::Service(_) => Cause::Asleep,
        }
    }

    /// Reason to lose every packet that comes to the station now, if it loses them.
    pub fn loses(&self) -> Option<DropReason> {
        match &self.rhythm {
            Rhythm::Roam(roam) if !roam.sends_data() => Some(DropReason::NotAssociated),
            Rhythm::Failure { failed: true } => Some(DropReason::Failed),
            Rhythm::Failure { .. } if self.switching == Gate::Shut => Some(DropReason::Failed),
            _ => None,
        }
    }

    /// Logs that its EDCAFs send only frames that `gate` admits, from `now` on.
    pub fn log_gate(&mut self, now: Instant, gate: Gate) {
        let cause = Some(self.cause());
        self.log.stopped.set(now, cause.filter(|_| gate != Gate::Open));
        self.log.silent.set(now, cause.filter(|_| gate == Gate::Shut));
    }

    /// Logs whether it hears nothing (`gone`) from `now` on.
    pub fn log_gone(&mut self, now: Instant, gone: bool) {
        let cause = Some(self.cause()).filter(|_| gone);
        self.log.gone.set(now, cause);
    }
}

/// Null frames whose losses are those of the air.
fn without_losses(config: &StationConfig) -> NullConfig {
    NullConfig {
        attempts: config.retry_limit,
        rts_after: None,
        leave_loss: Probability::ZERO,
        return_loss: Probability::ZERO,
    }
}

/// A station's power save.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cell) struct Doze {
    pub config: PowerSaveConfig,
    pub phase: power_save::DozePhase,
    /// The next instant to check for traffic: while it is awake, and always if it sends in power
    /// save mode.
    pub looks_at: Instant,
    /// Beacons until the next one to listen to.
    pub beacons_left: u8,
    /// Clock by which it wakes up for beacons.
    pub clock: BeaconClock,
    /// Data frames sent since the last check.
    pub sent: u32,
    /// Data frames received since the last check.
    pub received: u32,
}

impl Doze {
    pub fn new(config: PowerSaveConfig, stream: Stream) -> Self {
        let after = match config.sending {
            Sending::Awake => config.idle,
            Sending::InPowerSave(busy) => busy.interval,
        };
        let looks_at = Instant::ZERO + after;
        let phase = power_save::DozePhase::Awake;
        let clock = BeaconClock::new(config.clock, stream);
        Self { config, phase, looks_at, beacons_left: 0, clock, sent: 0, received: 0 }
    }

    pub fn gate(&self) -> Gate {
        use power_save::DozePhase::{Awake, Listening, Polling, Sending};
        let saves = self.sends_in_power_save();
        match self.phase {
            Awake => Gate::Open,
            Listening | Polling | Sending if saves => Gate::Open,
            _ => Gate::Shut,
        }
    }

    pub fn due(&self) -> Option<Instant> {
        let checks = self.config.sending != Sending::Awake;
        (checks || self.phase == power_save::DozePhase::Awake).then_some(self.looks_at)
    }

    pub fn sends_in_power_save(&self) -> bool {
        use power_save::DozePhase::{Announcing, Awake};
        self.config.sending != Sending::Awake && !matches!(self.phase, Awake | Announcing)
    }

    /// Whether it has too much traffic for power save mode.
    pub fn is_busy(&self) -> bool {
        match self.config.sending {
            Sending::Awake => false,
            Sending::InPowerSave(busy) => self.sent > busy.frames || self.received > busy.frames,
        }
    }
}

/// The absences of a station that leaves its channel or dozes.
#[derive(Clone, Debug, PartialEq, Default)]
pub(in crate::cell) struct Log {
    /// Times in which its upper queue was stopped.
    pub stopped: Absences,
    /// Times in which it sent no data.
    pub silent: Absences,
    /// Times in which it heard nothing.
    pub gone: Absences,
    /// Times in which the access point held its packets.
    pub held: Absences,
}
