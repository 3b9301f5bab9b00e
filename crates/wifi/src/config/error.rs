//! Errors of configurations, and of changes during a run.

use thiserror::Error;

/// Error of a configuration that no cell can have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CellError {
    /// A basic service set with no access point, or with several: the set and their number.
    #[error("a basic service set has exactly one access point, set {0} has {1}")]
    AccessPoints(u16, usize),
    /// A pair of stations without a link.
    #[error("stations {0} and {1} need a link description")]
    MissingLink(u16, u16),
    /// Two stations share no rate.
    #[error("stations {0} and {1} share no rate")]
    NoCommonRate(u16, u16),
    /// A fixed rate towards a peer that one of both does not support, or towards no peer.
    #[error("station {0} has no such rate towards station {1}")]
    PeerRate(u16, u16),
    /// Two stations would draw the same random numbers.
    #[error("stations {0} and {1} have the same identity")]
    SameIdentity(u16, u16),
    /// No basic rate, so that nothing can be acknowledged.
    #[error("a cell needs at least one basic rate")]
    NoBasicRate,
    /// An access point with power save.
    #[error("an access point does not doze")]
    AccessPointDozes,
    /// A failed station that is no access point.
    #[error("only an access point fails")]
    Fails,
    /// A station with both scans and power save.
    #[error("a station that scans does not doze")]
    ScansAndDozes,
    /// A schedule of absences together with scans or power save.
    #[error("a station with a schedule of absences neither scans nor dozes")]
    ScheduleAndOther,
    /// An absence of no time, or as long as its period.
    #[error("an absence takes some time, and less than its period")]
    AbsenceTime,
    /// An access point that announces its absences.
    #[error("an access point leaves without notice")]
    AccessPointAnnounces,
    /// A device with one link, with a station of another device, or with two in one set.
    #[error("a device has several links, each a station of its own in a set of its own")]
    DeviceLinks,
    /// An access point whose links depend on each other.
    #[error("the links of an access point do not depend on each other (STR)")]
    DeviceMode,
    /// A device with an ability that is not modelled for several links.
    #[error(
        "a device of several links neither roams nor saves power, has no driver queue, and sends \
         to one station at a time"
    )]
    DeviceAbility,
    /// OFDMA at a client; only access points send to several stations at once.
    #[error("only an access point sends to several stations at once (OFDMA)")]
    StationSendsOfdma,
    /// OFDMA with a PHY before 802.11ax.
    #[error("OFDMA needs QoS frames and rates of 802.11ax or 802.11be")]
    OfdmaWithoutHe,
    /// OFDMA with A-MPDUs built ahead, which are for one station at a time.
    #[error("A-MPDUs that are built ahead are not for several stations at once (OFDMA)")]
    OfdmaBuiltAhead,
    /// Spatial reuse with a PHY before 802.11ax.
    #[error("spatial reuse needs rates of 802.11ax")]
    SpatialReuseWithoutHe,
    /// A channel wider than the band has at its place.
    #[error("station {0} is wider than the widest channel that its primary channel is part of")]
    NoSuchChannel(u16),
    /// A station whose rates cover a punctured channel of its set, or a punctured primary channel.
    #[error("station {0} has rates that cover what its set punctures")]
    Punctured(u16),
    /// MU-MIMO at a client; only access points send to several stations at once.
    #[error("only an access point sends to several stations at once (MU-MIMO)")]
    StationSendsMuMimo,
    /// MU-MIMO with a PHY before 802.11ac, or beyond the limits of the PHY.
    #[error(
        "MU-MIMO needs QoS frames and rates of 802.11ac (2 to 4 stations) or 802.11ax (2 to 8), 2 \
         to 8 antennas, up to 4 streams for a station"
    )]
    MuMimoWithoutPhy,
    /// MU-MIMO with A-MPDUs built ahead, which are for one station at a time.
    #[error("A-MPDUs that are built ahead are not for several stations at once (MU-MIMO)")]
    MuMimoBuiltAhead,
    /// An operating mode of an access point, or one beyond the capabilities of the station.
    #[error(
        "the operating mode is one of a station of 802.11ac or 802.11ax with QoS frames, as its \
         access point is, and within its width and streams"
    )]
    OperatingMode,
    /// A station that roams and may not: the station.
    #[error(
        "station {0} roams: it is no access point, neither scans nor saves power by itself, and its \
         network has beacons and its first set"
    )]
    Roams(u16),
    /// A station that asks others to move, and is no access point.
    #[error("station {0} asks others to move, and is no access point")]
    Steers(u16),
    /// Power save without beacons: the station would never wake up.
    #[error("a station that dozes needs beacons to wake up for")]
    DozesWithoutBeacons,
    /// Service periods without the QoS frames that begin and end them.
    #[error("service periods need QoS frames")]
    ServicePeriodsWithoutQos,
    /// A TWT agreement with a PHY before 802.11ax.
    #[error("target wake times need rates of 802.11ax")]
    TargetWakeWithoutHe,
    /// A TWT agreement whose wake duration is zero or exceeds its wake interval.
    #[error("a wake interval is longer than zero and no shorter than the wake duration")]
    WakeInterval,
    /// U-APSD without a trigger-enabled access category.
    #[error("some category of a station with U-APSD begins service periods")]
    NeverTriggers,
}

/// Reason for refusing a change; the cell is then unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AdjustError {
    /// Not two windows of 2^n - 1 slots up to 32 767, the smaller one first.
    #[error("expected windows of 2^n - 1 slots from 0 to 32767, the smallest first")]
    Windows,
    /// A rate that a station of the set cannot receive, or this one cannot send.
    #[error("the station and its peers do not share that rate")]
    Rate,
    /// A limit in packets for a queue that counts bytes or has no limit, or a limit of zero.
    #[error("the queue has no bound in packets that could be this one")]
    QueuePackets,
    /// A link with which two stations would begin or cease to sense each other, in a run that began
    /// without such changes.
    #[error(
        "whether the two sense each other (channel.carrier_sense) cannot change in a run that began \
         without such changes"
    )]
    CarrierSense,
    /// A link whose changes were configured before the run.
    #[error("its signal-to-noise ratio follows snr_changes already")]
    SnrChanges,
    /// A delay target for a queue without active queue management, or a target of zero.
    #[error("the queue has no target that could be this one")]
    QueueTarget,
    /// An operating mode of an access point, or one beyond the station's capabilities.
    #[error("only a station of 802.11ac or 802.11ax has an operating mode, within what it can")]
    OperatingMode,
    /// Failure of a station that is no access point.
    #[error("only an access point fails")]
    Failure,
    /// Links switched off at a station of one link, or such that a category keeps none, or group
    /// frames lose the first one.
    #[error("only further links of a device can be off, and each access category keeps one")]
    Links,
    /// A move to another channel in a run that began without, of a set whose nodes scan, save power,
    /// have absences or do not roam, or to a channel too narrow for it.
    #[error(
        "this set cannot move to that channel: the run began without such moves, a node of it scans,          saves power or has absences, or the channel is too narrow"
    )]
    Channel,
    /// A change of a device of several links that is not modelled.
    #[error("a node of several links keeps its rate, its signals, and its presence during a run")]
    Device,
    /// Scans of a station that saves power, roams, or has a schedule of absences.
    #[error("a station that saves power, roams or leaves by a schedule does not scan by itself")]
    Scan,
}
