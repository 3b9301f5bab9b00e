//! Absent and dozing stations: background scans, absences by a clock, power save, and the operating
//! mode with reduced capabilities (802.11ac, ax and be). Keys of only one kind of power save are options, so that
//! `assemble::radio::power_save` sees which are given.

use super::Positive;
use crate::scalar::Word;
use lasthop_config::choices;
use lasthop_config::scalar::{OrOff, Whole};
use lasthop_config::tables;
use lasthop_packet::AccessCategory;
use lasthop_units::{Duration, Probability};
use lasthop_wifi::mac::service_period::FRAMES_MAX;
use lasthop_wifi::phy::ChannelWidth;

/// Method of looking for access points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanKind {
    Passive,
    Active,
}

/// Retrieval of packets held for a dozing station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetrievalKind {
    PsPoll,
    Wake,
}

/// Kind of power save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PowerSaveKind {
    Legacy,
    Firmware,
    Unscheduled,
    TargetWake,
}

/// When a station with a TWT agreement sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TwtUplinkKind {
    ServicePeriods,
    AtOnce,
}

/// Frames of a service period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServicePeriodLength(pub Option<u8>);

impl lasthop_config::scalar::Scalar for ServicePeriodLength {
    type Value = Self;

    fn allowed() -> String {
        String::from("2, 4, 6 or \"all\"")
    }
    fn read(value: &lasthop_config::tree::Value) -> Result<Self, Option<String>> {
        match value {
            lasthop_config::tree::Value::String(text) if text == "all" => Ok(Self(None)),
            _ => {
                let frames = Whole::<2, 6>::read(value)?.get();
                FRAMES_MAX.contains(&frames).then_some(Self(Some(frames))).ok_or(None)
            }
        }
    }
    fn schema() -> schemars::Schema {
        schemars::json_schema!({ "enum": [2, 4, 6, "all"] })
    }
}

/// Fate of packets that were not sent before a station leaves its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeftoverKind {
    Keep,
    DropDriver,
    DropAll,
}

choices! {
    ScanKind { "passive" => Self::Passive, "active" => Self::Active }
    RetrievalKind { "ps-poll" => Self::PsPoll, "wake" => Self::Wake }
    PowerSaveKind {
        "legacy" => Self::Legacy,
        "firmware" => Self::Firmware,
        "u-apsd" => Self::Unscheduled,
        "twt" => Self::TargetWake,
    }
    TwtUplinkKind { "service-periods" => Self::ServicePeriods, "at-once" => Self::AtOnce }
    LeftoverKind {
        "keep" => Self::Keep,
        "drop-driver" => Self::DropDriver,
        "drop-all" => Self::DropAll,
    }
}

tables! {
    /// Scans of other channels in the background. For each channel the station stops its queue,
    /// lets the driver send its packets, announces its absence by a Null frame, leaves, and returns
    /// with another Null frame. The defaults are NetworkManager's period and mac80211's software
    /// scan.
    RawScan {
        /// Start of the first scan.
        value start: Duration = "25s";
        /// Time between the starts of two scans; NetworkManager reaches 120 s while a station is
        /// associated.
        value period: Duration = "120s";
        /// Channels in a scan, one absence each. A laptop in Japan scanned 26 at 2.4 and 5 GHz
        /// (Kobayashi et al., ICWMC 2016); Europe has 32.
        value channels: Whole<1, 1000> = 26;
        /// Listening for beacons, or sending Probe Requests too, where that is allowed.
        value kind: ScanKind = "passive";
        /// Absence for each channel, from the Null frame before it to the one after it.
        option away: Duration = "111ms passive (mac80211's IEEE80211_PASSIVE_CHANNEL_TIME, 1/9 s), 60ms active (IEEE80211_PROBE_DELAY and IEEE80211_CHANNEL_TIME, 1/33 s each)";
        /// Active scan: channels on which the station only listens, because of radar or the rules of
        /// a country; they are the last ones. Of Europe's 32 channels 15 have radar (52 to 64, 100
        /// to 140).
        option passive_channels: Whole<0, 1000> = "0";
        /// Active scan: absence for each passive channel.
        option passive_away: Duration = "111ms, as of a passive scan";
        /// Time on the own channel between two absences, without the flush (mac80211: 1/5 s).
        value back: Duration = "200ms";
        /// Position of the own channel in the list, from 1 on. The station stays there without
        /// data; an active scan sends a Probe Request.
        value own_channel: OrOff<Whole<1, 1000>> = "off";
        /// Longest time for the driver to send its packets before the station leaves (ath9k: 200
        /// ms).
        value flush: Duration = "200ms";
        /// Packets left after the flush. Drivers with mac80211's queues (Linux 4.9 and later) keep
        /// them; "drop-driver" drops those of driver and hardware, as ath9k did before; "drop-all"
        /// also drops the queue above.
        value leftover: LeftoverKind = "keep";
        /// Packets of the queue above the driver that each return but a scan's last loses at most.
        /// Linux 3.2.7 (not 3.2.0, nor 3.13) starts the device's queue while it drops off-channel
        /// data (scan.c, ieee80211_scan_state_enter_oper_channel). The source does not give the
        /// number: 0 if the queue does not run in these microseconds, up to 640 if a softirq runs
        /// it (ten rounds of 64).
        value return_drain: OrOff<Positive> = "off";
        /// Attempts for a Null frame, including the first. Atheros cards retry eight times.
        value null_attempts: Whole<1, 255> = 9;
        /// Retries of a Null frame before an RTS precedes it; the fourth retry of Atheros cards has
        /// one.
        value null_rts_after: OrOff<Whole<0, 254>> = 3;
        /// Probability that the access point ignores a Null frame, at any signal. The card of the
        /// paper above needed up to nine attempts.
        value null_loss: Probability = 0.0;
        /// The same probability for the Null frame that ends an absence.
        option return_null_loss: Probability = "null_loss";
    }

    /// Absences by a clock, whatever the traffic: another network in turn (AWDL, Wi-Fi Direct), the
    /// antenna lent to Bluetooth, an access point that looks for radar or scans. Several tables are
    /// several clocks; absences that touch are one.
    RawAbsence {
        /// Length of an absence, less than every.
        required away: Duration;
        /// Time from the start of one absence to the next.
        option every: Duration = "once";
        /// Start of the first absence.
        option start: Duration = "within the first period, by a hash of the node's name; 0s without every";
        /// Null frames with and without the PM bit announce departure and return, and the access
        /// point holds packets meanwhile. Otherwise the station is gone without notice, and frames
        /// to it fail.
        option announced: bool = "true; false, and nothing else, at an access point";
        /// Number of the channel on which the node is meanwhile; on the own primary channel it is
        /// not absent (AWDL: 6, 44 and 149). At 6 GHz all channels count as others.
        option channel: Whole<1, 233> = "another than its own";
    }

    /// Operating mode of a station. A rate_control of kind "fixed" keeps its MCS.
    RawOperatingMode {
        /// Widest PPDU that the station receives and sends.
        option width: Word<ChannelWidth> = "the node's width";
        /// Most streams that the station receives.
        option streams: Whole<1, 8> = "the node's streams";
        /// Most streams that the station sends.
        option transmit_streams: Whole<1, 8> = "the node's streams";
        /// Whether the station answers Trigger frames for data (802.11ax, 802.11be).
        value uplink_ofdma: bool = true;
    }

    /// Power save of a station ([the kinds explained](power-save.md)).
    RawPowerSave {
        /// "legacy": the station dozes after a Null frame and wakes for beacons, for announced
        /// packets, and to send (mac80211's dynamic power save). "firmware": the station sends
        /// without leaving power save mode and fetches each frame by a PS-Poll; the defaults are
        /// those of rtw88 (Realtek), and rtlwifi is alike. "u-apsd" (WMM power save): frames of the
        /// station begin service periods. "twt" (802.11ax): an individual agreement about wake
        /// times.
        value kind: PowerSaveKind = "legacy";
        /// Idle time after which the station dozes (legacy).
        option idle: Duration = "100ms";
        /// Data frames in a busy_interval above which the station leaves power save mode
        /// (firmware).
        option busy_frames: Whole<0, 1_000_000> = "50 (rtw88's RTW_LPS_THRESHOLD)";
        /// Period over which frames are counted; with fewer the station returns to power save mode
        /// (firmware).
        option busy_interval: Duration = "2s (rtw88's RTW_WATCH_DOG_DELAY_TIME)";
        /// The station wakes for every Nth beacon (legacy, firmware, u-apsd).
        option listen_interval: Whole<1, 255> = "1";
        /// Standard deviation of the dozing station's clock error from beacon to beacon (legacy,
        /// firmware). Errors add up until the station hears a beacon; an error above wake_lead
        /// misses it. 80 % of wake_lead gives the waits measured at small computers ([missed
        /// beacons](power-save.md)).
        option wake_jitter: Duration = "0s";
        /// Time before a beacon at which the radio is to be on (legacy, firmware).
        option wake_lead: Duration = "3.072ms (ath9k's SLEEP_SLOP, 3 time units)";
        /// Probability that the dozing station misses a beacon although its radio is on in time, at
        /// any signal (legacy, firmware); a packet waits for p / (1 - p) listen intervals more on
        /// average.
        option beacon_loss: Probability = "0";
        /// Consecutive missed beacons after which the station stays awake until it hears one
        /// (legacy, firmware).
        option beacons_missed_max: Whole<1, 255> = "7 (mac80211's beacon_loss_count)";
        /// Retrieval of announced packets (legacy): wake up with a Null frame, or send a PS-Poll
        /// for each.
        option retrieval: RetrievalKind = "\"wake\"";
        /// Access categories sent in service periods (u-apsd). Beacons announce the others, which
        /// the station fetches by PS-Poll; with all categories, beacons announce everything and the
        /// station triggers.
        option delivery_enabled: Vec<Word<AccessCategory>> = "all";
        /// Access categories whose frames begin service periods (u-apsd).
        option trigger_enabled: Vec<Word<AccessCategory>> = "those of delivery_enabled";
        /// Most frames in a service period, Max SP Length (u-apsd).
        option service_period: ServicePeriodLength = "\"all\"";
        /// Time without a service period after which the station begins one with a QoS Null frame
        /// (u-apsd).
        option trigger_interval: Duration = "none: only data and beacons";
        /// Time between target wake times (twt): up to 65535 us times a power of two. Devices
        /// negotiate milliseconds, for calls, up to minutes.
        option wake_interval: Duration = "102.4ms";
        /// Nominal minimum wake duration (twt): up to 255 times 256 us or 1.024 ms.
        option wake_duration: Duration = "8.192ms";
        /// First target wake time (twt).
        option first_wake: Duration = "within the first interval, by a hash of the node's name, so that stations wake at different times";
        /// The station announces that it is awake, by data or a QoS Null frame, before the access
        /// point sends (twt). Otherwise the access point assumes it.
        option announced: bool = "true";
        /// The access point ends a service period when no more packets wait (twt).
        option ends_early: bool = "true";
        /// When the station sends (twt): in service periods, as agreed, or at once, which begins a
        /// service period as with u-apsd.
        option uplink: TwtUplinkKind = "\"service-periods\"";
        /// The station also wakes for DTIM beacons and so receives group frames (twt).
        option dtim: bool = "true";
    }
}
