//! Downlink OFDMA (IEEE 802.11ax-2021, 26.5.1): an HE MU PPDU from the access point to several
//! stations, each on its resource unit, and their acknowledgements; likewise an EHT MU PPDU. This
//! module holds the state of such an exchange. With MU-MIMO, also of 802.11ac, each station gets the
//! whole channel; [`mu_mimo`](super::mu_mimo) chooses the stations. `build` distributes data and
//! resource units, `exchange` performs the exchange on the air, `channel` has its RUs and durations.
//!
//! The names of fields below are those of HE; EHT has the same parts. A PPDU is of the generation of
//! the station whose turn it is, and serves stations of that one only. A PPDU carries only
//! PSDUs of the access category that gained the channel. Left out: MU-MIMO within an RU, MU-RTS, several access categories in a PPDU, acknowledgement
//! by TRS Control and Multi-STA Block Ack. Lengths are in bytes.

mod build;
mod channel;
mod exchange;
mod record;

use super::mu_mimo::Beam;
use super::single::Sent;
use super::single::{Outline, Single};
use crate::air::{Expected, Interval, Rates, Subframes};
pub(in crate::cell) use crate::config::{OfdmaAcknowledgement, OfdmaConfig};
use crate::mac::block_ack::Bitmap;
use crate::mac::sizes;
use crate::phy::{HeGuardInterval, Rate, Ru};
use crate::station::{Address, StationId};
use alloc::vec::Vec;
pub(in crate::cell) use build::{Candidate, Whom};
pub(in crate::cell) use channel::{MuChannel, MuFormat};
use lasthop_units::{Db, Duration, Instant};
pub(in crate::cell) use record::NEXT_TO_IT;

/// An exchange with several stations.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cell) struct Downlink {
    pub edcaf: usize,
    /// The station of user 0.
    pub first: StationId,
    pub opportunity_end: Instant,
    pub acknowledgement: OfdmaAcknowledgement,
    pub phase: Phase,
    /// Duration of the HE MU PPDU's preamble, to the end of the HE-LTFs.
    pub header: Duration,
    pub duration: Duration,
    /// Rate at which third parties decode HE-SIG-A.
    pub rate: Rate,
    /// Time from the end of the PPDU to that of the last Block Ack, if all arrive.
    pub acknowledged_in: Duration,
    /// The end of the exchange.
    pub until: Instant,
    /// The trigger-based PPDUs, if there are any.
    pub triggered: Option<Triggered>,
    /// Number of trigger-based PPDUs that have not ended.
    pub answers_due: usize,
    pub users: Vec<User>,
}

/// Next frame of the access point.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cell) enum Phase {
    /// The HE MU PPDU.
    Data,
    /// The Trigger frame after it.
    Trigger,
    /// None: user 0, which the PPDU itself asked, answers.
    First,
    /// A Block Ack Request to this user.
    Request(usize, Single),
}

/// Trigger-based PPDUs with Block Acks, and the Trigger frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::cell) struct Triggered {
    pub header: Duration,
    pub duration: Duration,
    pub guard_interval: HeGuardInterval,
    /// Rate at which third parties decode HE-SIG-A.
    pub rate: Rate,
    /// Rate, length and duration of the Trigger frame, if that is a separate PPDU.
    pub trigger: Option<(Rate, u32, Duration)>,
}

/// One user of the PPDU.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cell) struct User {
    pub station: StationId,
    /// Number of the originator's first pending MPDUs.
    pub mpdus: usize,
    /// Rate from rate control, for this user alone.
    pub rate: Rate,
    pub psdu_bytes: u32,
    /// Its Block Ack.
    pub response: Expected,
    /// Whether the PPDU overlapped with another one at the station.
    pub collided: bool,
    /// The user's resource unit; none in a VHT MU PPDU.
    pub ru: Option<Ru>,
    /// The resource unit of its answer to a Trigger frame.
    pub answer_ru: Ru,
    /// Share of the streams, with MU-MIMO.
    pub beam: Option<Beam>,
    /// Length of the MPDUs with their delimiters, without padding after the last one.
    pub data_bytes: u32,
    /// Time from the start of the PPDU to the end of its last MPDU.
    pub data_end: Duration,
    pub psdu_end: Duration,
    /// Minimum length of an A-MPDU subframe, in bytes.
    pub spacing_bytes: u32,
    /// Whether its turn to answer has come.
    pub asked: bool,
    /// Result of its Block Ack: bit n is MPDU n.
    pub acked: Option<Bitmap>,
}

impl Downlink {
    /// Receiver of the Block Ack Request, or the first user.
    pub fn peer(&self) -> Address {
        match &self.phase {
            Phase::Request(_, request) => request.peer,
            Phase::Data | Phase::Trigger | Phase::First => Address::Station(self.first),
        }
    }

    /// The Block Ack Request that is on the air or about to be.
    pub fn request(&mut self) -> Option<&mut Single> {
        if let Phase::Request(_, request) = &mut self.phase { Some(request) } else { None }
    }

    /// Rate of the awaited response.
    pub fn awaited(&self, rates: &mut Rates) -> Rate {
        match &self.phase {
            Phase::Request(_, request) => request.awaited(rates),
            Phase::Data | Phase::Trigger | Phase::First => self.users[0].response.rate,
        }
    }

    pub fn outline(&self) -> Outline {
        let &Self { edcaf, opportunity_end, .. } = self;
        let &User { rate, response, .. } = &self.users[0];
        let (peer, response) = (Address::Station(self.first), Some(response));
        Outline { edcaf, peer, rate, is_data: true, response, opportunity_end }
    }

    /// The MPDUs of a user.
    fn sent(&self, user: &User) -> Sent {
        Sent {
            edcaf: self.edcaf,
            peer: user.peer(),
            mpdus: user.mpdus,
            aggregated: true,
            rate: user.rate,
            duration: self.duration,
            requesting: false,
            collided: user.collided,
            in_space: user.beam.is_some(),
        }
    }

    /// Whether a station takes part.
    pub fn has(&self, station: StationId) -> bool {
        self.place(station).is_some()
    }

    /// Index of a station among the users.
    pub fn place(&self, station: StationId) -> Option<usize> {
        self.users.iter().position(|user| user.station == station)
    }
}

impl User {
    pub fn peer(&self) -> Address {
        Address::Station(self.station)
    }

    /// The SNR of the user's streams when the link has `snr`.
    pub fn snr(&self, snr: Db) -> Db {
        self.beam.map_or(snr, |beam| beam.sinr(snr))
    }

    /// The subframes of a PPDU that begins at `start`.
    pub fn subframes(&self, start: Instant, header: Duration) -> Subframes {
        let data = Interval { from: start + header, until: start + self.data_end };
        Subframes::of_user(data, self.data_bytes, self.mpdus, self.spacing_bytes)
    }
}

/// Highest MCS of a Block Ack in a trigger-based PPDU: as robust as a control response at 48 Mb/s.
/// The MCS of the data applies if it is slower. The choice is the access point's, and the same as
/// in ns-3.
const BLOCK_ACK_MCS_MAX: u8 = 5;

/// MCS of a short answer in a trigger-based PPDU to a station with this MCS for data; the robust MCS
/// 15 of EHT stays.
pub(in crate::cell) const fn answer_mcs(mcs: u8) -> u8 {
    if mcs == 15 || mcs < BLOCK_ACK_MCS_MAX { mcs } else { BLOCK_ACK_MCS_MAX }
}

/// The largest length up to `bytes_max` that `fits`.
pub(in crate::cell) fn most_bytes(bytes_max: u32, fits: impl Fn(u32) -> bool) -> u32 {
    let (mut most, mut too_long) = (0, bytes_max + 1);
    while too_long - most > 1 {
        let middle = most + (too_long - most) / 2;
        if fits(middle) {
            most = middle;
        } else {
            too_long = middle;
        }
    }
    most
}

/// Length of a Block Ack in a trigger-based PPDU: with a delimiter, like every MPDU of HE PPDUs
/// (10.12.7).
const fn triggered_block_ack(bits: u16) -> u32 {
    sizes::AMPDU_DELIMITER + sizes::block_ack(bits)
}
