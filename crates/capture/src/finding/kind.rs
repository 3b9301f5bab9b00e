//! The kinds of findings: how sure each is, and what would make it wrong.

use super::Finding;
use serde::{Deserialize, Serialize};

/// The kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A station leaves the channel again and again to look for networks.
    Scan,
    /// A station saves power, and what is for it waits.
    PowerSave,
    /// A station announces and takes back power save many times a second.
    PmOscillation,
    /// A station serves other channels in turn: AWDL, Wi-Fi Direct.
    TimeSharing,
    /// A station lends its antenna to Bluetooth in turn.
    Coexistence,
    /// A station is away in a rhythm, for a reason that is not shown.
    Absence,
    /// Stations are thrown out again and again, or a flood of forged frames says so.
    Deauthentication,
    /// A network refuses a station.
    JoinRefused,
    /// A station and an access point do not agree on keys.
    HandshakeFailed,
    /// A station is far from its access point.
    WeakSignal,
    /// An access point goes on sending to a station that is away.
    SentInVain,
    /// Much is sent again.
    HighRetry,
    /// Frames to a station are never answered, also at the lowest rate.
    Unanswered,
    /// Few MPDUs in an A-MPDU on a busy channel.
    LowAggregation,
    /// One slow station takes most of the time on the air.
    SlowStation,
    /// Protection for older stations.
    LegacyProtection,
    /// Stations that do not hear each other, likely.
    HiddenStation,
    /// Stations that hear each other collide often.
    Collisions,
    /// Beacons are missing.
    BeaconLoss,
    /// TCP's segments wait in a queue that is much longer than it need be.
    Bufferbloat,
    /// TCP loses segments.
    TcpLoss,
    /// The monitor has missed much.
    MonitorMisses,
    /// The receiver has changed its channel.
    ChannelHopping,
    /// The file holds what several interfaces have captured.
    SeveralInterfaces,
    /// An interface of the file holds what several radios have captured.
    SeveralRadios,
    /// Segments of TCP wait long before the air, as several captures together show.
    WaitsBeforeAir,
}

/// The certainty of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// Frames of the capture show it.
    Shown,
    /// It follows from frames of the capture, but not from them alone.
    Likely,
}

impl Kind {
    /// The certainty of findings of this kind.
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
            | Self::SeveralInterfaces => Certainty::Shown,
            Self::Scan
            | Self::PowerSave
            | Self::TimeSharing
            | Self::Coexistence
            | Self::Absence
            | Self::Deauthentication
            | Self::WeakSignal
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

    /// A circumstance that would make findings of this kind wrong.
    pub const fn unless(self) -> &'static str {
        match self {
            Self::Scan => {
                "another station uses this address, or the station does not count up its numbers"
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
            Self::WeakSignal => "the monitor hears the two otherwise than they hear each other",
            Self::SentInVain => "the monitor has missed the frame that ends the absence",
            Self::HighRetry => {
                "the monitor hears retries better than the rest, and no answers prove the rest"
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
    /// Its kind, for programs.
    kind: Kind,
    /// What is wrong, for people.
    sentence: String,
    /// First and last of the frames that show it.
    frames: [u64; 2],
    /// When it begins, in seconds since the first packet.
    from_s: f64,
    /// When it ends.
    to_s: f64,
    /// What it costs while it lasts, 0 to 1: a share of the throughput, of the time on the air or
    /// of the delay, as the sentence says. The worst comes first, behind what the capture cannot
    /// show, and before missing beacons.
    harm: f64,
    /// The certainty of findings of this kind.
    certainty: Certainty,
    /// A circumstance that would make findings of this kind wrong.
    unless: String,
    /// How to check it, and what to try.
    check: String,
    /// The station that it is about, if it is about one.
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
