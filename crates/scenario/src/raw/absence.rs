//! When a station is away or asleep: background scans, power save; and the operating mode with
//! which it is less than all that it can (802.11ac and 802.11ax). Keys of one kind of power save
//! only are options, so that `assemble::radio::power_save` sees which are given.

use super::Positive;
use crate::scalar::{OrOff, Whole, choices};
use crate::table::tables;
use lasthop_packet::AccessCategory;
use lasthop_units::{Duration, Probability};
use lasthop_wifi::mac::service_period::FRAMES_MAX;
use lasthop_wifi::phy::ChannelWidth;

/// How a station looks for access points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanKind {
    Passive,
    Active,
}

/// How a dozing station gets what is held for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetrievalKind {
    PsPoll,
    Wake,
}

/// How a station saves power.
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

impl crate::scalar::Scalar for ServicePeriodLength {
    fn allowed() -> String {
        String::from("2, 4, 6 or \"all\"")
    }
    fn read(value: &crate::tree::Value) -> Result<Self, Option<String>> {
        match value {
            crate::tree::Value::String(text) if text == "all" => Ok(Self(None)),
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

/// What becomes of packets that were not sent before a station leaves its channel.
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
    /// Background scans. For each channel the station stops its queue, lets the
    /// driver send what it holds, announces to the access point by a Null frame
    /// that it is gone, is away, and comes back with another Null. The defaults
    /// are those of Linux: NetworkManager's period, mac80211's software scan.
    RawScan {
        /// When the first scan begins.
        value start: Duration = "25s";
        /// From the beginning of one scan to the next. NetworkManager ends up
        /// at 120 s while a station is associated.
        value period: Duration = "120s";
        /// Channels in a scan, one absence each. 26 is what a laptop in Japan
        /// scanned at 2.4 and 5 GHz (Kobayashi et al., ICWMC 2016); Europe has 32.
        value channels: Whole<1, 1000> = 26;
        /// Listening for beacons, or sending Probe Requests too.
        value kind: ScanKind = "passive";
        /// Time away for each channel, from the Null that announces it to
        /// the one that takes it back.
        option away: Duration = "111ms for a passive scan (mac80211's IEEE80211_PASSIVE_CHANNEL_TIME, 1/9 s), 60ms for an active one (IEEE80211_PROBE_DELAY and IEEE80211_CHANNEL_TIME, 1/33 s each)";
        /// Time on the own channel between two absences, the flush not counted
        /// (mac80211: 1/5 s).
        value back: Duration = "200ms";
        /// Which of the channels is the cell's own, from 1 on. The station stays there
        /// for its time, without data, and sends a Probe Request if it is active.
        value own_channel: OrOff<Whole<1, 1000>> = "off";
        /// How long the driver may go on sending what it holds before it leaves
        /// (ath9k: 200 ms); it leaves earlier once that is sent.
        value flush: Duration = "200ms";
        /// What becomes of packets that are left after the flush. They stay since
        /// drivers use mac80211's queues (Linux 4.9 and later). "drop-driver"
        /// gives up what driver and hardware hold, as ath9k did before;
        /// "drop-all" the queue above them, too.
        value leftover: LeftoverKind = "keep";
        /// Packets of the queue above the driver that each return but a scan's last loses at
        /// most. In Linux 3.2.7 (not in 3.2.0, nor in 3.13) mac80211 starts the
        /// device's queue while it still drops data as off channel (scan.c,
        /// ieee80211_scan_state_enter_oper_channel), so what the queue hands over meanwhile
        /// is lost. That is source; how many that are is not: nothing, if nobody
        /// runs the queue in these microseconds, and up to 640, if an interrupt does (ten rounds
        /// of softirqs, 64 packets each).
        value return_drain: OrOff<Positive> = "off";
        /// Attempts for a Null, the first included. Atheros cards make eight retries.
        value null_attempts: Whole<1, 255> = 9;
        /// Retries of a Null after which an RTS goes ahead of it. The
        /// fourth retry of Atheros cards has one.
        value null_rts_after: OrOff<Whole<0, 254>> = 3;
        /// Probability that the access point ignores a Null, whatever the
        /// signal. Some do: the card of the paper above needed up to nine attempts.
        value null_loss: Probability = 0.0;
        /// The same for the Null that ends an absence.
        option return_null_loss: Probability = "that of null_loss";
    }

    /// The operating mode of a station. A rate_control of kind "fixed" keeps its MCS in it.
    RawOperatingMode {
        /// The widest PPDU that it receives and sends.
        option width: ChannelWidth = "the node's width";
        /// Most streams that it receives.
        option streams: Whole<1, 8> = "the node's streams";
        /// Most streams that it sends.
        option transmit_streams: Whole<1, 8> = "the node's streams";
        /// It answers Trigger frames that ask for data; only 802.11ax has them.
        value uplink_ofdma: bool = true;
    }

    /// Power save of a station.
    RawPowerSave {
        /// "legacy": the station dozes after a Null frame, wakes for beacons, and fetches the packets
        /// that beacons announce. The station wakes up to send, and stays awake for a while: the
        /// dynamic power save of Linux' mac80211, with its defaults. "firmware": the station sends
        /// without leaving power save mode, so that answers wait for a beacon, too, and fetches each
        /// frame by a PS-Poll. Much traffic wakes the station up. The defaults are those of Linux'
        /// rtw88 (Realtek chips); rtlwifi does the same. "u-apsd" (WMM
        /// power save): the station stays in power save mode, and its own frames begin service periods, in
        /// which the access point sends what it holds. "twt", with 802.11ax: an individual agreement, by which it wakes up at fixed times.
        value kind: PowerSaveKind = "legacy";
        /// It dozes after so long without traffic (legacy).
        option idle: Duration = "100ms";
        /// The station leaves power save mode as soon as it has sent or received more data frames
        /// than this in a busy_interval (firmware).
        option busy_frames: Whole<0, 1_000_000> = "50 (rtw88's RTW_LPS_THRESHOLD)";
        /// At the end of each such interval with fewer it returns to power save mode (firmware).
        option busy_interval: Duration = "2s (rtw88's RTW_WATCH_DOG_DELAY_TIME)";
        /// It listens to one beacon of so many (legacy, firmware and u-apsd).
        option listen_interval: Whole<1, 255> = "1";
        /// Standard deviation of the clock's error from one beacon to the next while the station
        /// dozes (legacy and firmware). Errors add up until the station hears a beacon. An error
        /// above wake_lead makes it miss the beacon, and most likely the next ones. Zero is an exact
        /// clock; 80 % of wake_lead gives the waits measured at small computers
        /// (docs/power-save.md).
        option wake_jitter: Duration = "0s";
        /// The radio is to be on this long before a beacon (legacy and firmware).
        option wake_lead: Duration = "3.072ms (ath9k's SLEEP_SLOP, 3 time units)";
        /// Beacons missed in a row, after which the station stays awake until it hears one (legacy
        /// and firmware).
        option beacons_missed_max: Whole<1, 255> = "7 (mac80211's beacon_loss_count)";
        /// How it gets what is held for it (legacy): by waking up with a Null frame, or
        /// by a PS-Poll for each frame.
        option retrieval: RetrievalKind = "\"wake\"";
        /// Access categories of which the access point sends in service periods (u-apsd). It
        /// announces what it holds of others in beacons, and the station asks for it by PS-Poll
        /// frames; with all categories it announces all, and the station triggers.
        option delivery_enabled: Vec<AccessCategory> = "all";
        /// Access categories whose frames begin service periods (u-apsd).
        option trigger_enabled: Vec<AccessCategory> = "those of delivery_enabled";
        /// Most frames that come in a service period, Max SP Length (u-apsd): 2, 4, 6 or "all".
        option service_period: ServicePeriodLength = "\"all\"";
        /// After so long without a service period the station begins one by a QoS Null frame
        /// (u-apsd).
        option trigger_interval: Duration = "none: its data and beacons only";
        /// Time from one target wake time to the next (twt): up to 65535 times a power of two, in
        /// microseconds. Phones and access points negotiate anything from some milliseconds, for
        /// calls, to minutes.
        option wake_interval: Duration = "102.4ms";
        /// How long the station is awake, nominal minimum wake duration (twt): up to 255 times
        /// 256 us or 1.024 ms.
        option wake_duration: Duration = "8.192ms";
        /// The first target wake time (twt).
        option first_wake: Duration = "within the first interval, by a hash of the node's name, so that stations wake at different times";
        /// The station announces that it is awake by a frame of its own before the access point
        /// sends (twt), a QoS Null frame if it has nothing else. Otherwise the access point takes
        /// that for granted.
        option announced: bool = "true";
        /// The access point ends a service period as soon as it holds nothing for the station any
        /// more (twt).
        option ends_early: bool = "true";
        /// When the station sends (twt): in its service periods only, as the agreement asks, or at
        /// once. What is sent at once begins a service period of its own, as with u-apsd.
        option uplink: TwtUplinkKind = "\"service-periods\"";
        /// The station wakes up for beacons with a DTIM, too, and so gets group frames (twt).
        option dtim: bool = "true";
    }
}
