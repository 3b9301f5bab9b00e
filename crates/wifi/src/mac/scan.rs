//! Schedule of background scans, in which an associated station leaves its channel to look for
//! other access points and returns. Linux' mac80211 performs such a scan in software
//! (`net/mac80211/scan.c`), and a NetworkManager or wpa_supplicant starts it again and again.
//!
//! For each channel of a scan the station stops its queues and lets the driver send its held frames
//! for a while (flush). Then it announces its absence by a Null frame with PM = 1 (IEEE
//! 802.11-2020, 11.2.3.2), is away for a fixed time, and announces its return by a Null with
//! PM = 0. Whether a Null was acknowledged or given up makes no difference here, as in mac80211.
//! Left out: several channels in a row without traffic, scans in hardware, and events on other
//! channels.

use lasthop_units::{Duration, Instant, Probability};

/// Period of scans that nothing but a demand begins.
const NEVER: Duration = Duration::from_secs(1_000_000_000);

/// Method by which a station looks for access points on a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanKind {
    /// Waits for beacons.
    Passive,
    /// Sends a Probe Request and waits for responses, except on channels where rules of the band
    /// forbid to send first.
    Active,
}

impl ScanKind {
    /// Whether the station sends Probe Requests.
    pub fn is_active(self) -> bool {
        self == Self::Active
    }
}

/// Treatment of packets that remain after the flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// Packets wait for the return.
    Keep,
    /// Packets in driver and hardware are given up.
    DropDriver,
    /// Packets in driver, hardware and the queue above are given up.
    DropAll,
}

/// Background scans of a station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScanConfig {
    /// Start of the first scan, from the start of the run.
    pub start: Duration,
    /// Time from the beginning of one scan to that of the next, more than zero.
    pub period: Duration,
    /// Number of channels in a scan, at least 1; each is one absence.
    pub channels: u16,
    /// Duration of an absence, more than zero: from the first attempt to announce it to the first
    /// attempt to announce the return.
    pub away: Duration,
    /// Passive channels of an active scan.
    pub passive: PassiveChannels,
    /// Time on the own channel between two absences, in addition to the flush.
    pub back: Duration,
    /// Passive scan, or active with Probe Requests.
    pub kind: ScanKind,
    /// Number of the cell's own channel among those of the scan, from 1 on: the station stays
    /// there, but sends no data. `None` if the scan leaves out the own channel.
    pub own_channel: Option<u16>,
    /// Time for which the driver may continue to send before an absence is announced.
    pub flush: Duration,
    /// Treatment of packets that remain.
    pub leftover: Leftover,
    /// Limit of packets of the upper queue that are lost at each return but a scan's last. In Linux
    /// 3.2.7 `ieee80211_offchannel_return` starts the device's queue while `SCAN_OFF_CHANNEL`, for
    /// which `ieee80211_tx_h_check_assoc` drops data, is still set; at the end of a scan the flag
    /// is cleared first. `None`: the flag is always cleared first, as in other kernels.
    pub return_drain: Option<u32>,
    /// Null frames around an absence.
    pub null: NullConfig,
}

impl ScanConfig {
    /// Duration of a scan, without its flushes and Null frames.
    pub fn duration(&self) -> Duration {
        let channels = u64::from(self.channels);
        let passive = u64::from(self.passive.count.min(self.channels));
        let away = self.away * (channels - passive) + self.passive.away * passive;
        away + self.back * channels.saturating_sub(1)
    }
}

/// Channels on which an active scan only listens: those with radar, and those on which the rules of
/// a country forbid to send first (`IEEE80211_CHAN_RADAR`, `IEEE80211_CHAN_NO_IR`). A scan ends
/// with these channels, because Linux scans 2.4 GHz first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PassiveChannels {
    /// Number of the channels.
    pub count: u16,
    /// Duration of an absence there.
    pub away: Duration,
}

/// Transmission of Null frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NullConfig {
    /// Attempts before a Null is given up, the first included; at least 1.
    pub attempts: u8,
    /// Number of retries after which an RTS precedes it; never if `None`.
    pub rts_after: Option<u8>,
    /// Probability that the access point ignores a Null with PM = 1, independent of the signal.
    pub leave_loss: Probability,
    /// Probability that the access point ignores a Null with PM = 0.
    pub return_loss: Probability,
}

impl Default for NullConfig {
    /// Returns the settings of Atheros hardware, as captured: eight retries, RTS from the fourth
    /// on.
    fn default() -> Self {
        Self {
            attempts: 9,
            rts_after: Some(3),
            leave_loss: Probability::ZERO,
            return_loss: Probability::ZERO,
        }
    }
}

/// Phase of a station's scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanPhase {
    /// On the channel, between two absences or two scans.
    Present,
    /// The queue is stopped, and the driver continues to send.
    Flushing,
    /// A Null with PM = 1 is being sent.
    Leaving,
    /// Away from the channel.
    Away,
    /// A Null with PM = 0 is being sent.
    Returning,
}

/// An event that may change the [`ScanPhase`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanInput {
    /// The instant of [`Scan::due`] has come.
    Due,
    /// The driver has no frame left to send.
    Drained,
    /// The Null frame was acknowledged or given up.
    Settled,
}

/// Action of the station after an [`ScanInput`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanAction {
    /// No action: the input has no effect in this phase.
    Nothing,
    /// Stops the queue.
    Stop,
    /// Sends a Null with PM = 1, and no other frame afterwards.
    Announce,
    /// Leaves the channel.
    Depart,
    /// Returns to the channel and sends a Null with PM = 0.
    Return,
    /// Starts the queue.
    Resume,
}

impl ScanPhase {
    /// Returns the next phase and the action: the transition table.
    pub const fn on(self, input: ScanInput) -> (Self, ScanAction) {
        match (self, input) {
            (Self::Present, ScanInput::Due) => (Self::Flushing, ScanAction::Stop),
            (Self::Flushing, ScanInput::Due | ScanInput::Drained) => {
                (Self::Leaving, ScanAction::Announce)
            }
            (Self::Leaving, ScanInput::Settled) => (Self::Away, ScanAction::Depart),
            (Self::Away, ScanInput::Due) => (Self::Returning, ScanAction::Return),
            (Self::Returning, ScanInput::Settled) => (Self::Present, ScanAction::Resume),
            (phase, _) => (phase, ScanAction::Nothing),
        }
    }
}

/// Scans of one station.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    config: ScanConfig,
    phase: ScanPhase,
    due: Option<Instant>,
    /// Absences left in the current scan; zero between scans.
    absences_left: u16,
    /// Start of the next scan.
    next_scan: Instant,
    /// End of the announced absence.
    away_until: Instant,
    /// Whether no further scan begins.
    has_stopped: bool,
}

impl Scan {
    /// Returns a station that waits for its first scan.
    pub fn new(config: ScanConfig) -> Self {
        let start = Instant::ZERO + config.start;
        Self {
            config,
            phase: ScanPhase::Present,
            due: Some(start),
            absences_left: 0,
            next_scan: start,
            away_until: Instant::ZERO,
            has_stopped: false,
        }
    }

    /// Sets the configuration of scans from `now` on; `None` ends them. The rest of a scan in
    /// progress is dropped, but an absence that has begun is completed. A station with scans keeps
    /// their rhythm: the next scan begins as planned, or a new period from now if that is sooner. A
    /// station without scans begins at [`ScanConfig::start`] or, if that has passed, at once.
    pub fn change(&mut self, now: Instant, config: Option<ScanConfig>) {
        let was_scanning = !core::mem::replace(&mut self.has_stopped, config.is_none());
        if let Some(config) = config {
            self.next_scan = if was_scanning {
                self.next_scan.min(now + config.period)
            } else {
                now.max(Instant::ZERO + config.start)
            };
            self.config = config;
        }
        if self.phase == ScanPhase::Present {
            self.absences_left = 0;
            self.due = Some(self.next_scan).filter(|_| !self.has_stopped);
        } else {
            self.absences_left = 1;
        }
    }

    /// Returns a station that scans only on demand ([`Scan::begin`]).
    pub fn on_demand(config: ScanConfig) -> Self {
        Self::new(ScanConfig { start: NEVER, period: NEVER, ..config })
    }

    /// Begins a scan with the channels of `config` at `now`, unless one is in progress; its start and
    /// period do not count.
    pub fn begin(&mut self, now: Instant, config: ScanConfig) {
        if self.is_resting() {
            let ScanConfig { start, period, .. } = self.config;
            self.config = ScanConfig { start, period, ..config };
            self.next_scan = now;
            self.due = Some(now);
        }
    }

    /// Whether no scan is in progress.
    pub fn is_resting(&self) -> bool {
        self.phase == ScanPhase::Present && self.absences_left == 0
    }

    /// Index of the current or last channel of the scan, from 0 on.
    pub fn channel(&self) -> u16 {
        self.config.channels - self.absences_left
    }

    /// The configuration of the scans.
    pub fn config(&self) -> &ScanConfig {
        &self.config
    }

    /// The current phase.
    pub fn phase(&self) -> ScanPhase {
        self.phase
    }

    /// Instant of the next [`ScanInput::Due`], if there is one.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Whether the current or last channel of the scan is the cell's own.
    pub fn is_on_own_channel(&self) -> bool {
        self.config.own_channel == Some(self.config.channels + 1 - self.absences_left)
    }

    /// Whether the station sends a Probe Request on the current or last channel.
    pub fn probes(&self) -> bool {
        self.config.kind.is_active() && self.absences_left > self.config.passive.count
    }

    /// Whether the station is on its channel and another absence of the same scan follows.
    pub fn is_between_absences(&self) -> bool {
        self.phase == ScanPhase::Present && self.absences_left > 0
    }

    /// Handles an input at `now`, which must not decrease.
    pub fn handle(&mut self, now: Instant, input: ScanInput) -> ScanAction {
        let (phase, action) = self.phase.on(input);
        self.phase = phase;
        match action {
            ScanAction::Nothing => {}
            ScanAction::Stop => {
                if self.absences_left == 0 {
                    self.absences_left = self.config.channels;
                    self.next_scan += self.config.period;
                }
                self.due = Some(now + self.config.flush);
            }
            ScanAction::Announce => {
                let is_passive = self.absences_left <= self.config.passive.count;
                let ScanConfig { passive, away, .. } = self.config;
                self.away_until = now + if is_passive { passive.away } else { away };
                self.due = None;
            }
            ScanAction::Depart => self.due = Some(self.away_until.max(now)),
            ScanAction::Return => self.due = None,
            ScanAction::Resume => {
                self.absences_left -= 1;
                while self.absences_left == 0 && self.next_scan <= now {
                    // A scan is not started while another one is going on.
                    self.next_scan += self.config.period;
                }
                self.due = Some(match self.absences_left {
                    0 => self.next_scan,
                    _ => now + self.config.back,
                })
                .filter(|_| !self.has_stopped);
            }
        }
        action
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    fn config() -> ScanConfig {
        ScanConfig {
            start: Duration::from_secs(25),
            period: Duration::from_secs(120),
            channels: 26,
            away: Duration::from_millis(110),
            passive: PassiveChannels::default(),
            back: Duration::from_millis(320),
            kind: ScanKind::Passive,
            own_channel: None,
            flush: Duration::from_millis(200),
            leftover: Leftover::Keep,
            return_drain: None,
            null: NullConfig::default(),
        }
    }

    #[test]
    fn every_phase_with_every_input() {
        let mut table = String::new();
        use ScanPhase::{Away, Flushing, Leaving, Present, Returning};
        for phase in [Present, Flushing, Leaving, Away, Returning] {
            for input in [ScanInput::Due, ScanInput::Drained, ScanInput::Settled] {
                let (next, action) = phase.on(input);
                if (next, action) != (phase, ScanAction::Nothing) {
                    table += &format!("{phase:?} + {input:?}: {action:?}, {next:?}\n");
                }
            }
        }
        let expected = "\
            Present + Due: Stop, Flushing\n\
            Flushing + Due: Announce, Leaving\n\
            Flushing + Drained: Announce, Leaving\n\
            Leaving + Settled: Depart, Away\n\
            Away + Due: Return, Returning\n\
            Returning + Settled: Resume, Present\n";
        assert_eq!(table, expected);
    }

    /// Absences of a station whose flush and Null frames take no time.
    fn absences(config: ScanConfig, until: Instant) -> Vec<(Instant, Instant)> {
        let mut scan = Scan::new(config);
        let mut absences = Vec::new();
        let mut left = None;
        while let Some(at) = scan.due().filter(|at| *at <= until) {
            match scan.handle(at, ScanInput::Due) {
                ScanAction::Stop => {
                    assert_eq!(scan.handle(at, ScanInput::Drained), ScanAction::Announce);
                    assert_eq!(scan.handle(at, ScanInput::Settled), ScanAction::Depart);
                    left = Some(at);
                }
                ScanAction::Return => {
                    absences.push((left.take().expect("it left"), at));
                    assert_eq!(scan.handle(at, ScanInput::Settled), ScanAction::Resume);
                }
                other => panic!("{other:?}"),
            }
        }
        absences
    }

    #[test]
    fn the_schedule_is_kept_to_the_nanosecond() {
        let absences = absences(config(), Instant::ZERO + Duration::from_secs(300));
        assert_eq!(absences.len(), 3 * 26);
        for (index, (from, until)) in absences.iter().enumerate() {
            let (scan, channel) = (index as u64 / 26, index as u64 % 26);
            let start = Duration::from_secs(25 + 120 * scan) + Duration::from_millis(430) * channel;
            assert_eq!(*from, Instant::ZERO + start);
            assert_eq!(*until, *from + Duration::from_millis(110));
        }
        assert_eq!(config().duration(), Duration::from_millis(26 * 110 + 25 * 320));
    }

    /// `ieee80211_scan_state_set_channel` waits IEEE80211_PASSIVE_CHANNEL_TIME (HZ / 9) on a channel
    /// with radar or without leave to send first, else IEEE80211_PROBE_DELAY (HZ / 33) before the
    /// Probe Request; `ieee80211_scan_state_send_probe` waits IEEE80211_CHANNEL_TIME (HZ / 33) after
    /// it. With 1 000 ticks a second these are 111, 30 and 30 ms. Of the 13 and 19 channels of
    /// Europe below 5.7 GHz, 15 have radar (100 to 140, 52 to 64).
    #[test]
    fn passive_channels_take_longer_than_active_ones() {
        let [probe_delay, channel_time, passive_time] = [1_000 / 33, 1_000 / 33, 1_000 / 9];
        let [away, passive] = [probe_delay + channel_time, passive_time].map(Duration::from_millis);
        let config = ScanConfig {
            channels: 32,
            kind: ScanKind::Active,
            away,
            passive: PassiveChannels { count: 15, away: passive },
            ..config()
        };
        let lengths: Vec<Duration> = absences(config, Instant::ZERO + Duration::from_secs(60))
            .into_iter()
            .map(|(from, until)| until - from)
            .collect();
        assert_eq!(lengths.len(), 32);
        assert!(lengths[..17].iter().all(|length| *length == Duration::from_millis(60)));
        assert!(lengths[17..].iter().all(|length| *length == Duration::from_millis(111)));
        let total = 17 * 60 + 15 * 111 + 31 * 320;
        assert_eq!(config.duration(), Duration::from_millis(total));
    }

    /// Starts of absences, in ms, with changes of the scan at these instants.
    fn changed(changes: &[(u64, Option<ScanConfig>)], until: u64) -> Vec<u64> {
        let ms = |at| Instant::ZERO + Duration::from_millis(at);
        let mut scan = Scan::new(config());
        let (mut changes, mut left) = (changes.iter().peekable(), Vec::new());
        loop {
            let due = scan.due().unwrap_or(Instant::MAX);
            match changes.next_if(|(at, _)| ms(*at) < due) {
                Some((at, config)) => scan.change(ms(*at), *config),
                None if due > ms(until) => return left,
                None => match scan.handle(due, ScanInput::Due) {
                    ScanAction::Stop => {
                        scan.handle(due, ScanInput::Drained);
                        scan.handle(due, ScanInput::Settled);
                        left.push((due - Instant::ZERO).as_nanos() / 1_000_000);
                    }
                    ScanAction::Return => {
                        scan.handle(due, ScanInput::Settled);
                    }
                    other => panic!("{other:?}"),
                },
            }
        }
    }

    #[test]
    fn a_scan_that_is_changed_begins_when_it_would_have_or_at_once() {
        let often = ScanConfig { channels: 2, period: Duration::from_secs(10), ..config() };
        let seconds = |s: u64| s * 1_000;
        let each = |scans: &[u64]| -> Vec<u64> {
            scans.iter().flat_map(|s| [seconds(*s), seconds(*s) + 430]).collect()
        };
        assert_eq!(changed(&[(seconds(3), Some(often))], seconds(40)), each(&[13, 23, 33]));
        assert_eq!(changed(&[(seconds(20), Some(often))], seconds(40)), each(&[25, 35]));
        // An absence that has begun is the last one of its scan.
        let stopped = changed(&[(seconds(25) + 50, None)], seconds(200));
        assert_eq!(stopped, [seconds(25)]);
        let between = changed(&[(seconds(25) + 200, None)], seconds(200));
        assert_eq!(between, [seconds(25)]);
        let again = [(seconds(1), None), (seconds(30), Some(often))];
        assert_eq!(changed(&again, seconds(45)), each(&[30, 40]));
        let later = [(seconds(1), None), (seconds(2), Some(often))];
        assert_eq!(changed(&later, seconds(40)), each(&[25, 35]), "its start is to come");
    }

    #[test]
    fn a_scan_that_takes_too_long_lets_the_next_one_drop_out() {
        let config = ScanConfig { period: Duration::from_secs(10), ..config() };
        let absences = absences(config, Instant::ZERO + Duration::from_secs(50));
        assert_eq!(absences[26].0, Instant::ZERO + Duration::from_secs(45), "not at 35 s");
    }
}
