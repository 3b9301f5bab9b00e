//! Downlink MU-MIMO: transmissions to several stations at once in space. An access point sounds the
//! channels of its stations and sends to several of them at once over the whole width, to each on
//! separate streams, in VHT MU (IEEE 802.11-2020, clause 21), HE MU or EHT MU
//! PPDUs. This module holds
//! the access point's knowledge of the channels, and the state of a sounding
//! exchange. `build` chooses the stations to sound and to serve, `exchange` performs the sounding;
//! data and acknowledgements are those of [`multi_user`](super::multi_user).
//!
//! | frame | from | remarks |
//! |---|---|---|
//! | NDP Announcement | access point | to all sounded stations |
//! | NDP | access point | training fields of all its antennas, no data |
//! | Compressed Beamforming report | first station | VHT, or HE with one station |
//! | Beamforming Report Poll, report | both | VHT: for each station after the first |
//! | BFRP Trigger | access point | HE with several stations |
//! | Compressed Beamforming reports | stations, together | HE: on RUs of one size |
//!
//! SIFS lies between them. The frames are one exchange even if the TXOP limit is zero.
//! [`SpatialShare`] models the effect of zero forcing with a report. Left out: MU-MIMO within a
//! smaller RU, uplink MU-MIMO, retransmission of segments of a report, beams for one station alone.

mod build;
mod exchange;
mod record;

use super::single::Outline;
use crate::cell::CellError;
use crate::cell::config::{MuMimoConfig, Role, StationConfig};
use crate::mac::sizes;
use crate::phy::{Feedback, HeGuardInterval, Rate, Ru, SpatialShare, VHT_MU_USERS_MAX};
use crate::station::{Address, StationId};
use alloc::vec::Vec;
use lasthop_units::{Db, Duration, Instant};

/// A station's share of an MU-MIMO PPDU, in addition to the SNR of its link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::cell) struct Beam {
    pub share: SpatialShare,
    /// Actual variance of the error in the access point's knowledge of the channel.
    pub error: f64,
}

impl Beam {
    /// SINR of the station's streams when the link has `snr`.
    pub fn sinr(&self, snr: Db) -> Db {
        self.share.sinr(snr, self.error)
    }
}

/// Highest share of lost MPDUs at which a rate is used.
const LOSS_MAX: f64 = 0.1;
/// Limit of the estimated speed of a channel, relative to the configured one: 40 Hz for 0.4.
const HASTE_MAX: f64 = 100.0;
/// Share of lost MPDUs that has other causes than the channel's speed: a rate loses [`LOSS_MAX`],
/// and some PPDUs collide. A higher loss raises the estimated speed by a factor of e^0.8 at most;
/// the value is from no product.
const LOSS_EXPLAINED: f64 = 0.2;
/// Reduction of the estimated speed with each sounding: by a factor of e^-0.02.
const RELIEF: f64 = 0.02;

/// An access point's knowledge of its stations' channels.
#[derive(Clone, Debug, PartialEq, Default)]
pub(in crate::cell) struct Soundings {
    /// Stations in the order of their first sounding.
    known: Vec<Known>,
    /// Minimum SINR at which each rate is used, for the rates asked for so far.
    needed: Vec<(Rate, Db)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Known {
    station: StationId,
    /// Instant of the last sounding, successful or not.
    sounded: Instant,
    report: Option<Report>,
    /// Factor by which the channel changes faster than configured, estimated from losses; at
    /// least 1.
    haste: f64,
}

impl Known {
    fn learn(&mut self, surplus: f64) {
        self.haste = (self.haste * libm::exp(surplus)).clamp(1.0, HASTE_MAX);
    }
}

/// Report of a station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::cell) struct Report {
    /// The end of the NDP.
    pub at: Instant,
    /// SNR of the link at that instant.
    pub snr: Db,
}

impl Soundings {
    /// Whether the station was never sounded, or `interval` ago or longer.
    pub fn is_due(&self, station: StationId, now: Instant, interval: Duration) -> bool {
        let known = self.known.iter().find(|known| known.station == station);
        known.is_none_or(|known| now.saturating_since(known.sounded) >= interval)
    }

    /// The report of a station, if it is younger than `interval`.
    pub fn fresh(&self, station: StationId, now: Instant, interval: Duration) -> Option<Report> {
        let known = self.known.iter().find(|known| known.station == station)?;
        known.report.filter(|report| now.saturating_since(report.at) < interval)
    }

    /// Records a sounding at `now` and its report, if there is one. The estimated speed of the
    /// channel decreases, because the station may have come to rest.
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

    /// Updates the estimated speed of a station's channel from the share of MPDUs lost in a PPDU.
    /// PPDUs without any answer count as well, although they may have collided.
    fn learn(&mut self, station: StationId, lost: f64) {
        if let Some(known) = self.known.iter_mut().find(|known| known.station == station) {
            known.learn(lost - LOSS_EXPLAINED);
        }
    }

    /// See [`Known::haste`] for the meaning.
    fn haste(&self, station: StationId) -> f64 {
        let known = self.known.iter().find(|known| known.station == station);
        known.map_or(1.0, |known| known.haste)
    }

    /// Discards the report of a station.
    pub(in crate::cell) fn spoil(&mut self, station: StationId) {
        let known = self.known.iter_mut().find(|known| known.station == station);
        if let Some(known) = known {
            known.report = None;
        }
    }
}

/// A sounding exchange.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cell) struct Sounding {
    pub edcaf: usize,
    opportunity_end: Instant,
    pub step: Step,
    /// Rate, length and duration of the NDP Announcement.
    announcement: (Rate, u32, Duration),
    /// Rate at which the header of the NDP is decoded and recorded, and the duration of the NDP.
    ndp: (Rate, Duration),
    /// BFRP Trigger frame and the PPDUs that it solicits, in HE with several stations.
    triggered: Option<TriggeredReports>,
    /// The end of the exchange, if all reports come.
    until: Instant,
    /// The end of the NDP.
    measured_at: Instant,
    /// Number of trigger-based PPDUs that have not ended.
    pub answers_due: usize,
    users: Vec<Sounded>,
}

/// Next frame of the access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cell) enum Step {
    Announcement,
    Ndp,
    /// The BFRP Trigger frame.
    Trigger,
    /// A Beamforming Report Poll to this user; the NDP itself asks user 0.
    Poll(usize),
}

/// Reports in HE trigger-based PPDUs, with the Trigger frame.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TriggeredReports {
    /// Rate, length and duration of the Trigger frame.
    trigger: (Rate, u32, Duration),
    /// Duration of the PPDUs' preamble, to the end of the HE-LTFs.
    header: Duration,
    duration: Duration,
    guard_interval: HeGuardInterval,
    /// Rate at which third parties decode HE-SIG-A.
    rate: Rate,
}

/// A station in a sounding exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sounded {
    station: StationId,
    feedback: Feedback,
    /// Rate, PSDU length and duration of its report.
    report: (Rate, u32, Duration),
    /// The RU of a trigger-based PPDU.
    ru: Option<Ru>,
    /// Rate and duration of the Beamforming Report Poll.
    poll: (Rate, Duration),
    /// Whether it decoded the NDP Announcement.
    is_announced: bool,
    /// Whether it decoded the frame that asks for its report.
    is_asked: bool,
    /// SNR of the NDP, if it measured it.
    measured: Option<Db>,
    is_reported: bool,
}

impl Sounding {
    /// The station that is asked for its report first.
    pub fn first(&self) -> StationId {
        self.users[0].station
    }

    /// Rate of the NDP Announcement.
    pub fn announced_at(&self) -> Rate {
        self.announcement.0
    }

    fn outline(&self) -> Outline {
        Outline {
            edcaf: self.edcaf,
            peer: Address::Station(self.first()),
            rate: self.announced_at(),
            is_data: false,
            response: None,
            opportunity_end: self.opportunity_end,
        }
    }
}

/// Checks the MU-MIMO configuration of a station.
pub(in crate::cell) fn check(station: &StationConfig) -> Result<(), CellError> {
    let Some(config) = &station.mu_mimo else { return Ok(()) };
    let capabilities = &station.capabilities;
    let stations_max = match (capabilities.is_he_or_later(), capabilities.is_vht()) {
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

/// Lengths of the MPDUs of a report of this many octets. HE and VHT use Action No Ack frames with
/// category, action and MIMO Control (3 octets in VHT, 5 in HE), several if one is too short for
/// the report. The report is received as a whole, or not at all.
pub(in crate::cell) fn report_mpdus(
    is_he: bool,
    report: u32,
) -> impl ExactSizeIterator<Item = u32> {
    let around = 24 + 2 + if is_he { 5 } else { 3 } + sizes::FCS;
    let most = sizes::VHT_MPDU_MAX - around;
    let segments = report.div_ceil(most).max(1);
    (0..segments).map(move |segment| around + (report - segment * most).min(most))
}

/// Length of their PSDU in octets.
fn report_psdu(is_he: bool, report: u32) -> u32 {
    let mpdus = report_mpdus(is_he, report);
    let last = mpdus.len().saturating_sub(1);
    let subframe = |index, bytes| {
        if index == last { sizes::AMPDU_DELIMITER + bytes } else { sizes::ampdu_subframe(bytes, 0) }
    };
    mpdus.enumerate().map(|(index, bytes)| subframe(index, bytes)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// A segment has 24 octets of header, 2 of category and action, 3 or 5 of control, 4 of FCS, in
    /// MPDUs of up to 11 454.
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
