//! Kinds of findings, their certainty, and the circumstances that would make them wrong.

use super::Finding;
use serde::{Deserialize, Serialize};

/// The kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A station repeatedly leaves the channel to look for networks.
    Scan,
    /// A station saves power, so that packets for it wait.
    PowerSave,
    /// A station enters and leaves power save many times a second.
    PmOscillation,
    /// A station serves other channels in turn: AWDL, Wi-Fi Direct.
    TimeSharing,
    /// A station shares its antenna with Bluetooth.
    Coexistence,
    /// A station is absent in a rhythm of unknown cause.
    Absence,
    /// Stations are repeatedly removed from a network, or forged frames do so.
    Deauthentication,
    /// A network refuses a station.
    JoinRefused,
    /// An access point does not answer a station that wants to join.
    JoinUnanswered,
    /// A station and an access point do not agree on keys.
    HandshakeFailed,
    /// A station takes long to change to another access point of its network.
    SlowRoam,
    /// A station fails to change to another access point of its network.
    RoamFailed,
    /// A station changes between two access points, and soon back.
    PingPong,
    /// A station stays at an access point although a much stronger one of its network is heard.
    StickyStation,
    /// Many Probe Requests.
    ProbeStorm,
    /// A station is far from its access point.
    WeakSignal,
    /// An access point sends data to an absent station.
    SentInVain,
    /// Many frames of a link are retries.
    HighRetry,
    /// Frames are sent at a rate for which their level is too low.
    SignalTooLow,
    /// Frames to a station are never answered, also at the lowest rate.
    Unanswered,
    /// Few MPDUs in an A-MPDU on a busy channel.
    LowAggregation,
    /// One slow station takes most of the time on the air.
    SlowStation,
    /// Protection for older stations.
    LegacyProtection,
    /// Two stations likely do not hear each other.
    HiddenStation,
    /// Stations that hear each other collide often.
    Collisions,
    /// Beacons of an access point are missing.
    BeaconLoss,
    /// TCP segments wait in an unnecessarily long queue.
    Bufferbloat,
    /// TCP retransmits segments.
    TcpLoss,
    /// The monitor missed many frames.
    MonitorMisses,
    /// The receiver has changed its channel.
    ChannelHopping,
    /// The file holds packets of several interfaces.
    SeveralInterfaces,
    /// An interface of the file holds frames of several radios.
    SeveralRadios,
    /// TCP segments wait long before the air, as several captures together show.
    WaitsBeforeAir,
}

/// Certainty of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// Frames of the capture show it.
    Shown,
    /// Frames of the capture suggest it, but do not prove it.
    Likely,
}

impl Kind {
    /// Returns the certainty of findings of this kind.
    pub const fn certainty(self) -> Certainty {
        match self {
            Self::PmOscillation
            | Self::HighRetry
            | Self::LowAggregation
            | Self::SlowStation
            | Self::MonitorMisses
            | Self::ChannelHopping
            | Self::JoinRefused
            | Self::HandshakeFailed
            | Self::SlowRoam
            | Self::RoamFailed
            | Self::PingPong
            | Self::ProbeStorm
            | Self::SeveralInterfaces => Certainty::Shown,
            Self::Scan
            | Self::PowerSave
            | Self::TimeSharing
            | Self::Coexistence
            | Self::Absence
            | Self::Deauthentication
            | Self::JoinUnanswered
            | Self::StickyStation
            | Self::WeakSignal
            | Self::SignalTooLow
            | Self::SentInVain
            | Self::Unanswered
            | Self::LegacyProtection
            | Self::HiddenStation
            | Self::Collisions
            | Self::BeaconLoss
            | Self::Bufferbloat
            | Self::TcpLoss
            | Self::SeveralRadios
            | Self::WaitsBeforeAir => Certainty::Likely,
        }
    }

    /// Returns a circumstance that would make findings of this kind wrong.
    pub const fn unless(self) -> &'static str {
        match self {
            Self::Scan => {
                "another station uses this address, or the station does not number its frames in order"
            }
            Self::PowerSave => "the station scans while it has little to send",
            Self::PmOscillation => "several stations have this address",
            Self::TimeSharing => "another timer of the station has this rhythm",
            Self::Coexistence => "the station serves another channel instead",
            Self::Absence => "the station saves power in a fixed rhythm",
            Self::Deauthentication => {
                "the access point itself sends them, to steer stations or as it restarts"
            }
            Self::JoinRefused => "the answer is forged",
            Self::HandshakeFailed => "the monitor has missed messages",
            Self::JoinUnanswered => "the monitor has missed the answers",
            Self::SlowRoam => "the monitor has missed data before, or an earlier end of the roam",
            Self::RoamFailed => "the monitor has missed the end of the roam, or answers are forged",
            Self::PingPong => "several stations have this address",
            Self::StickyStation => {
                "the monitor is not beside the station: its levels are not those at the station, which \
                 may hear the two access points differently"
            }
            Self::ProbeStorm => "many devices look for networks at the same time",
            Self::WeakSignal | Self::SignalTooLow => {
                "levels at the monitor differ from those at the two stations"
            }
            Self::SentInVain => "the monitor has missed the frame that ends the absence",
            Self::HighRetry => {
                "the monitor hears retries better than other frames, and no answers prove the others"
            }
            Self::Unanswered => "the station hears the frames, and its Acks are lost",
            Self::LowAggregation => "the monitor misses MPDUs that no answer proves",
            Self::SlowStation => "the monitor hears the others less well than this station",
            Self::LegacyProtection => "the monitor has missed RTS that these CTS answer",
            Self::HiddenStation | Self::Collisions => {
                "the receiver's clock (TSFT) is not exact to some microseconds"
            }
            Self::BeaconLoss => "other frames of the access point are missing as well",
            Self::Bufferbloat => "the receiver delays its acknowledgements, or reads late",
            Self::TcpLoss => "the capture has missed first copies, or a path reorders",
            Self::MonitorMisses => {
                "answers are forged, or a sender skips sequence numbers or restarts them"
            }
            Self::SeveralInterfaces => "sections of the file number one interface anew",
            Self::SeveralRadios | Self::ChannelHopping => {
                "the driver writes wrong channels into its headers"
            }
            Self::WaitsBeforeAir => "clocks are further apart than their bound says",
        }
    }
}

/// A [`Finding`] as JSON.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename = "Finding")]
pub(super) struct Said {
    /// Kind of the finding, for programs.
    kind: Kind,
    /// Problem in words, for people.
    sentence: String,
    /// First and last of the frames that show it.
    frames: [u64; 2],
    /// Start, in seconds since the first packet.
    from_s: f64,
    /// End, in seconds since the first packet.
    to_s: f64,
    /// Cost while it lasts, 0 to 1: a share of the throughput, of the time on the air or of the
    /// delay, as the sentence says. The worst finding comes first, after those about limits of the
    /// capture, and before missing beacons.
    harm: f64,
    /// Certainty of findings of this kind.
    certainty: Certainty,
    /// Circumstance that would make findings of this kind wrong.
    unless: String,
    /// Instructions to check the finding, and remedies.
    check: String,
    /// Station that the finding is about, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    station: Option<String>,
}

impl From<Finding> for Said {
    fn from(finding: Finding) -> Self {
        let Finding { kind, sentence, frames, from_s, to_s, harm, check, station } = finding;
        let (certainty, unless) = (kind.certainty(), kind.unless().to_owned());
        Self { kind, sentence, frames, from_s, to_s, harm, certainty, unless, check, station }
    }
}

impl From<Said> for Finding {
    fn from(said: Said) -> Self {
        let Said { kind, sentence, frames, from_s, to_s, harm, check, station, .. } = said;
        Self { kind, sentence, frames, from_s, to_s, harm, check, station }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Finding {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Said::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Said::json_schema(generator)
    }
}
