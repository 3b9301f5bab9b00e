//! Downlink MU-MIMO: an access point sounds the channels of its stations, and sends to several at
//! once over the whole width, each on streams of its own, in VHT MU (IEEE 802.11-2020, clause 21)
//! or HE MU PPDUs. Here: the configuration, what the access point knows of the channels, and a
//! sounding exchange. `build` says who is sounded or sent to, `exchange` how sounding goes;
//! data and their acknowledgement are those of [`multi_user`](super::multi_user).
//!
//! | frame | from | |
//! |---|---|---|
//! | NDP Announcement | access point | to all that are sounded |
//! | NDP | access point | training fields of all its antennas, no data |
//! | Compressed Beamforming report | first station | VHT, or HE with one station |
//! | Beamforming Report Poll, report | both | VHT: for each station after the first |
//! | BFRP Trigger | access point | HE with several stations |
//! | Compressed Beamforming reports | stations, together | HE: on RUs of one size |
//!
//! SIFS lies between them. They are one exchange also where the TXOP limit is zero. What zero
//! forcing makes of a report is in [`SpatialShare`]. Left out: MU-MIMO within a smaller RU,
//! uplink MU-MIMO, retransmission of segments of a report, beams for one station alone.

mod build;
mod exchange;
mod record;

use super::CellError;
use super::config::{Role, StationConfig};
use super::multi_user::OfdmaAcknowledgement;
use crate::mac::sizes;
use crate::phy::{Codebook, Feedback, HeGuardInterval, Rate, Ru, SpatialShare, VHT_MU_USERS_MAX};
use crate::station::StationId;
use alloc::vec::Vec;
use lasthop_units::{Db, Duration, Instant};

/// How an access point sends to several stations at once in space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MuMimoConfig {
    /// Most stations in a PPDU: 2 to 4 of 802.11ac, to 8 of 802.11ax.
    pub stations_max: u8,
    /// Antennas of the access point, 2 to 8: most streams of all stations.
    pub antennas: u8,
    /// Most streams of one station, 1 to 4.
    pub streams_max: u8,
    /// How stations acknowledge; of 802.11ac one after the other.
    pub acknowledgement: OfdmaAcknowledgement,
    /// Guard interval and HE-LTFs of HE MU PPDUs and HE NDPs, one that HE MU PPDUs have.
    pub guard_interval: HeGuardInterval,
    /// A station is sounded again when its report is this old.
    pub sounding_interval: Duration,
    /// Subcarriers that share angles: 1, 2 or 4 in VHT, 4 or 16 in HE.
    pub grouping: u8,
    /// Bits of an angle.
    pub codebook: Codebook,
    /// Doppler rate of a station that stands still in hertz: people move about. A link that
    /// fades faster ages by its own; the access point knows of this one only.
    pub doppler_hz: f64,
}

impl MuMimoConfig {
    /// Usual values for an access point with so many antennas: groups of as many stations, up to
    /// four, one stream for each, sounded every 20 ms, in an office whose Doppler rate is 0.4 Hz.
    pub const fn new(antennas: u8) -> Self {
        Self {
            stations_max: if antennas < 4 { antennas } else { 4 },
            antennas,
            streams_max: 1,
            acknowledgement: OfdmaAcknowledgement::BlockAckRequest,
            guard_interval: HeGuardInterval::Ns800Ltf2x,
            sounding_interval: Duration::from_millis(20),
            grouping: 4,
            codebook: Codebook::Fine,
            doppler_hz: 0.4,
        }
    }
}

/// What a station receives of an MU-MIMO PPDU, beside the SNR of its link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Beam {
    pub share: SpatialShare,
    /// Variance of the error with which the access point knows the channel, as it is.
    pub error: f64,
}

impl Beam {
    /// SINR of its streams where the link has `snr`.
    pub fn sinr(&self, snr: Db) -> Db {
        self.share.sinr(snr, self.error)
    }
}

/// The share of MPDUs that a rate may lose to be used.
const LOSS_MAX: f64 = 0.1;
/// The fastest channel over the one of the configuration: 40 Hz for 0.4.
const HASTE_MAX: f64 = 100.0;
/// Losses up to this share say nothing of a channel's speed: a rate loses [`LOSS_MAX`], and some
/// PPDUs collide. Others make it e^0.8 times as fast at most; no product's.
const LOSS_EXPLAINED: f64 = 0.2;
/// With each sounding it is presumed e^-0.02 times as fast.
const RELIEF: f64 = 0.02;

/// What an access point knows of its stations' channels.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Soundings {
    /// In the order in which they were sounded first.
    known: Vec<Known>,
    /// The least SINR at which a rate is used, of those that were asked for.
    needed: Vec<(Rate, Db)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Known {
    station: StationId,
    /// When it was sounded last, with or without success.
    sounded: Instant,
    report: Option<Report>,
    /// By how much faster its channel changes than the configuration says, estimated from losses:
    /// 1 at least.
    haste: f64,
}

impl Known {
    fn learn(&mut self, surplus: f64) {
        self.haste = (self.haste * libm::exp(surplus)).clamp(1.0, HASTE_MAX);
    }
}

/// What a station reported.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Report {
    /// The end of the NDP.
    pub at: Instant,
    /// SNR of the link then.
    pub snr: Db,
}

impl Soundings {
    /// It was never sounded, or at least `interval` ago.
    pub fn is_due(&self, station: StationId, now: Instant, interval: Duration) -> bool {
        let known = self.known.iter().find(|known| known.station == station);
        known.is_none_or(|known| now.saturating_since(known.sounded) >= interval)
    }

    /// What it reported less than `interval` ago.
    pub fn fresh(&self, station: StationId, now: Instant, interval: Duration) -> Option<Report> {
        let known = self.known.iter().find(|known| known.station == station)?;
        known.report.filter(|report| now.saturating_since(report.at) < interval)
    }

    /// It was sounded at `now`, and this came of it. It may have come to rest.
    fn note(&mut self, station: StationId, now: Instant, report: Option<Report>) {
        match self.known.iter_mut().find(|known| known.station == station) {
            Some(old) => {
                (old.sounded, old.report) = (now, report);
                old.learn(-RELIEF);
            }
            None => {
                self.known.push(Known { station, sounded: now, report, haste: 1.0 });
            }
        }
    }

    /// This share of its MPDUs in a PPDU was lost: its channel changes faster than was thought, or
    /// slower again. Also a PPDU that nobody answered counts, which may have collided.
    fn learn(&mut self, station: StationId, lost: f64) {
        if let Some(known) = self.known.iter_mut().find(|known| known.station == station) {
            known.learn(lost - LOSS_EXPLAINED);
        }
    }

    /// See [`Known::haste`].
    fn haste(&self, station: StationId) -> f64 {
        let known = self.known.iter().find(|known| known.station == station);
        known.map_or(1.0, |known| known.haste)
    }

    /// What it reported is of no use.
    pub(super) fn spoil(&mut self, station: StationId) {
        let known = self.known.iter_mut().find(|known| known.station == station);
        if let Some(known) = known {
            known.report = None;
        }
    }
}

/// A sounding exchange. The [`Exchange`](super::content::Exchange) of its station has its
/// access category.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sounding {
    pub step: Step,
    /// The NDP Announcement: rate, length, duration.
    announcement: (Rate, u32, Duration),
    /// The NDP: the rate that its header is decoded and recorded at, duration.
    ndp: (Rate, Duration),
    /// Of HE with several stations: the BFRP Trigger frame, and the PPDUs it asks for.
    triggered: Option<TriggeredReports>,
    /// The end of the exchange, if all reports come.
    until: Instant,
    /// The end of the NDP.
    measured_at: Instant,
    /// Trigger-based PPDUs that have not ended.
    answers_due: usize,
    users: Vec<Sounded>,
}

/// What the access point sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Announcement,
    Ndp,
    /// BFRP Trigger frame.
    Trigger,
    /// Beamforming Report Poll to this user; 0 is asked by the NDP itself.
    Poll(usize),
}

/// Reports in HE trigger-based PPDUs, and the Trigger frame.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TriggeredReports {
    /// Rate, length, duration.
    trigger: (Rate, u32, Duration),
    /// Of the PPDUs, to the end of the HE-LTFs.
    header: Duration,
    duration: Duration,
    guard_interval: HeGuardInterval,
    /// What they are overheard at.
    rate: Rate,
}

/// A station that is sounded.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sounded {
    station: StationId,
    feedback: Feedback,
    /// Its report: rate, length of the PSDU, duration.
    report: (Rate, u32, Duration),
    /// The RU of a trigger-based PPDU.
    ru: Option<Ru>,
    /// The Beamforming Report Poll: rate, duration.
    poll: (Rate, Duration),
    /// It decoded the NDP Announcement.
    is_announced: bool,
    /// SNR of the NDP, if it measured it.
    measured: Option<Db>,
    is_reported: bool,
}

/// Whether a station can have its configuration.
pub(super) fn check(station: &StationConfig) -> Result<(), CellError> {
    let Some(config) = &station.mu_mimo else { return Ok(()) };
    let capabilities = &station.capabilities;
    let stations_max = match (capabilities.is_he(), capabilities.is_vht()) {
        _ if !capabilities.qos => 0,
        (true, _) => 8,
        (_, true) => VHT_MU_USERS_MAX,
        _ => 0,
    };
    let exists = (2..=stations_max).contains(&config.stations_max)
        && (2..=8).contains(&config.antennas)
        && (1..=4).contains(&config.streams_max);
    if station.role != Role::AccessPoint {
        Err(CellError::StationSendsMuMimo)
    } else if !exists {
        Err(CellError::MuMimoWithoutPhy)
    } else if station.aggregation.built_ahead {
        Err(CellError::MuMimoBuiltAhead)
    } else {
        Ok(())
    }
}

/// The MPDUs of a report of so many octets, of HE or of VHT: Action No Ack frames with category,
/// action and MIMO Control (3 octets in VHT, 5 in HE), several if one is too short for it. It is
/// received as a whole, or not at all.
pub(super) fn report_mpdus(is_he: bool, report: u32) -> impl ExactSizeIterator<Item = u32> {
    let around = 24 + 2 + if is_he { 5 } else { 3 } + sizes::FCS;
    let most = sizes::VHT_MPDU_MAX - around;
    let segments = report.div_ceil(most).max(1);
    (0..segments).map(move |segment| around + (report - segment * most).min(most))
}

/// Octets of their PSDU.
fn report_psdu(is_he: bool, report: u32) -> u32 {
    let mpdus = report_mpdus(is_he, report);
    let last = mpdus.len().saturating_sub(1);
    let subframe = |(index, bytes): (usize, u32)| match index == last {
        true => sizes::AMPDU_DELIMITER + bytes,
        false => sizes::ampdu_subframe(bytes, 0),
    };
    mpdus.enumerate().map(subframe).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// 24 octets of header, 2 of category and action, 3 or 5 of control, 4 of FCS; MPDUs of up to
    /// 11 454.
    #[test]
    fn long_reports_have_segments() {
        let of = |is_he, report| report_mpdus(is_he, report).collect::<Vec<u32>>();
        assert_eq!(of(false, 100), [133]);
        assert_eq!(of(true, 100), [135]);
        assert_eq!(of(false, 11_421), [11_454]);
        assert_eq!(of(false, 11_422), [11_454, 34]);
        assert_eq!(of(true, 23_000), [11_454, 11_454, 35 + 23_000 - 2 * 11_419]);
        assert_eq!(report_psdu(false, 100), 137);
        // A delimiter of four and padding to a multiple of four.
        assert_eq!(report_psdu(false, 11_422), 11_460 + 38);
    }
}
