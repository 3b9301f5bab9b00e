//! Downlink OFDMA (IEEE 802.11ax-2021, 26.5.1): an HE MU PPDU from the access point to several
//! stations, each on a resource unit of its own, and their acknowledgements. Here: the
//! configuration, the state of such an exchange, and how long its parts take (27.4.3). With
//! MU-MIMO, also of 802.11ac, all have the whole channel; whom that is for is in
//! [`mu_mimo`](super::mu_mimo).
//! `build` says who gets what, `exchange` what happens on the air.
//!
//! All RUs of a PPDU have one size, as many as fill the channel; the PSDUs of the access
//! category that gained the channel are its only ones. Left out: MU-MIMO within an
//! RU, RUs of several sizes, preamble puncturing, MU-RTS, several access categories in
//! a PPDU, acknowledgement by TRS Control and Multi-STA Block Ack. Lengths are in bytes.

mod build;
mod exchange;
mod record;

use super::content::Exchange;
use super::mu_mimo::Beam;
use super::uplink::UplinkConfig;
use crate::air::{Expected, Subframes};
use crate::mac::block_ack::Bitmap;
use crate::mac::sizes;
use crate::phy::{
    Band, ChannelWidth, GuardInterval, HeGuardInterval, MuPpdu, MuUser, PacketPadding, Rate, Ru,
    RuSize, SignalB, TriggeredPpdu, VhtMuPpdu, VhtMuUser,
};
use crate::station::{Address, StationId};
use alloc::vec::Vec;
pub(super) use build::{Candidate, Whom};
use lasthop_units::{Bitrate, Db, Duration, Instant};
pub(super) use record::NEXT_TO_IT;

/// How an access point sends to several stations at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfdmaConfig {
    /// Most stations in a PPDU, 2 to 74. There are as many as equal RUs can serve: at 80 MHz
    /// 2, 4, 8, 16 or 37.
    pub stations_max: u8,
    /// How the stations acknowledge.
    pub acknowledgement: OfdmaAcknowledgement,
    /// Guard interval and HE-LTFs of HE MU PPDUs, one that they have
    /// ([`HeGuardInterval::is_of_multi_user`]). What answers a Trigger frame has 3.2 us if
    /// these have, else 1.6 us.
    pub guard_interval: HeGuardInterval,
    /// Uplink OFDMA, with as many stations at most; downlink only if `None`.
    pub uplink: Option<UplinkConfig>,
}

/// How stations acknowledge an HE MU PPDU (IEEE 802.11ax-2021, 26.4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfdmaAcknowledgement {
    /// One after the other: the first answers with a Block Ack, each of the others is sent a
    /// Block Ack Request.
    BlockAckRequest,
    /// Together, in trigger-based PPDUs: an MU-BAR Trigger frame follows the PPDU.
    MuBlockAckRequest,
    /// Together, in trigger-based PPDUs: each PSDU ends with an MU-BAR Trigger frame.
    Aggregated,
}

/// An exchange with several stations. The [`Exchange`] of its station is that with the first
/// of them, or with the one that is sent a Block Ack Request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MultiUser {
    pub acknowledgement: OfdmaAcknowledgement,
    pub phase: Phase,
    /// Of the HE MU PPDU, to the end of the HE-LTFs.
    pub header: Duration,
    pub duration: Duration,
    /// What it is overheard at: HE-SIG-A's modulation and code.
    pub rate: Rate,
    /// From the end of the PPDU to that of the last Block Ack, if all come.
    pub acknowledged_in: Duration,
    /// The end of the exchange.
    pub until: Instant,
    /// The trigger-based PPDUs, if there are such.
    pub triggered: Option<Triggered>,
    /// Trigger-based PPDUs that have not ended.
    pub answers_due: usize,
    pub users: Vec<User>,
}

/// What the access point sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The HE MU PPDU.
    Data,
    /// The Trigger frame behind it.
    Trigger,
    /// A Block Ack Request to this user; 0 is asked by the PPDU itself.
    Requests(usize),
}

/// Trigger-based PPDUs with Block Acks, and the Trigger frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Triggered {
    pub header: Duration,
    pub duration: Duration,
    pub guard_interval: HeGuardInterval,
    /// What they are overheard at.
    pub rate: Rate,
    /// The Trigger frame, if it is a PPDU of its own: its rate, length and duration.
    pub trigger: Option<(Rate, u32, Duration)>,
}

/// What there is for one station.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct User {
    /// As if it were alone: peer, MPDUs, the rate that rate control chose, response.
    pub exchange: Exchange,
    pub mpdus: usize,
    /// Its part of the tones; none in a VHT MU PPDU.
    pub ru: Option<Ru>,
    /// Where it answers a Trigger frame.
    pub answer_ru: Ru,
    /// Its share of the streams, with MU-MIMO.
    pub beam: Option<Beam>,
    /// Length of the MPDUs with their delimiters, without what follows the last one.
    pub data_bytes: u32,
    /// From the start of the PPDU to the end of its last MPDU, and to that of its PSDU.
    pub data_end: Duration,
    pub psdu_end: Duration,
    /// Least length of an A-MPDU subframe.
    pub spacing_bytes: u32,
    /// It had its turn to answer.
    pub asked: bool,
    /// What its Block Ack said: bit n is MPDU n.
    pub acked: Option<Bitmap>,
}

impl MultiUser {
    /// What comes next is sent to all, not to one.
    pub fn sends_itself(&self) -> bool {
        matches!(self.phase, Phase::Data | Phase::Trigger)
    }

    /// A station takes part.
    pub fn has(&self, station: StationId) -> bool {
        self.place(station).is_some()
    }

    /// Its place among the users.
    pub fn place(&self, station: StationId) -> Option<usize> {
        self.users.iter().position(|user| user.exchange.peer == Address::Station(station))
    }
}

impl User {
    pub fn station(&self) -> StationId {
        match self.exchange.peer {
            Address::Station(station) => station,
            Address::Group => unreachable!("a group has no resource unit"),
        }
    }

    /// The SNR of its streams where the link has `snr`.
    pub fn snr(&self, snr: Db) -> Db {
        self.beam.map_or(snr, |beam| beam.sinr(snr))
    }

    /// How its Block Ack is sent.
    pub fn response(&self) -> Expected {
        self.exchange.response.expect("each is asked for a Block Ack")
    }

    /// The subframes of a PPDU that begins at `start`.
    pub fn subframes(&self, start: Instant, header: Duration) -> Subframes {
        let span = (start + header, start + self.data_end);
        Subframes::of_user(span, self.data_bytes, (self.mpdus, self.spacing_bytes))
    }
}

/// The largest equal RUs that fill a channel for at most `stations` users, and how many there
/// are; `None` for fewer than two.
pub(super) fn equal_units(width: ChannelWidth, stations: usize) -> Option<(RuSize, usize)> {
    let counts = RuSize::ALL.map(|size| (size, usize::from(size.count_in(width))));
    let fitting = counts.into_iter().filter(|(_, count)| (2..=stations).contains(count));
    fitting.max_by_key(|(_, count)| *count)
}

/// The largest equal RUs of which a channel has as many as `stations`.
pub(super) fn enough_units(width: ChannelWidth, stations: usize) -> Option<RuSize> {
    let counts = RuSize::ALL.map(|size| (size, usize::from(size.count_in(width))));
    let enough = counts.into_iter().filter(|(_, count)| *count >= stations);
    enough.min_by_key(|(_, count)| *count).map(|(size, _)| size)
}

/// A channel, and how HE MU PPDUs in it are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Channel {
    pub band: Band,
    pub width: ChannelWidth,
    pub guard_interval: HeGuardInterval,
    /// Guard interval of VHT MU PPDUs, if these are sent in place of HE MU PPDUs.
    pub vht: Option<GuardInterval>,
    /// The longest nominal packet padding of those who are sent to.
    pub padding: PacketPadding,
    /// That of the access point, which its Trigger frames have (9.3.1.22: PE Disambiguity and
    /// Pre-FEC Padding Factor).
    pub own_padding: PacketPadding,
}

impl Channel {
    /// The HE MU PPDU to these users. HE-SIG-B has the slowest user's MCS, or 5: a choice of
    /// ours and of ns-3, for a user that cannot read it has no use for the rest.
    fn ppdu<'a>(&self, users: &'a [MuUser]) -> MuPpdu<'a> {
        let slowest = users.iter().map(|user| user.mcs).min().unwrap_or(0);
        MuPpdu {
            width: self.width,
            guard_interval: self.guard_interval,
            signal_b: SignalB { mcs: slowest.min(SIGNAL_B_MCS_MAX), dcm: false },
            padding: self.padding,
            users,
            unassigned: &[],
        }
    }

    /// From the start of the PPDU to the end of the HE-LTFs.
    pub fn header(&self, users: &[MuUser]) -> Duration {
        match self.vht {
            Some(guard_interval) => self.vht_ppdu(users, guard_interval).0,
            None => self.ppdu(users).preamble_and_header(),
        }
    }

    /// The whole PPDU.
    pub fn duration(&self, users: &[MuUser]) -> Duration {
        match self.vht {
            Some(guard_interval) => self.vht_ppdu(users, guard_interval).1,
            None => self.ppdu(users).duration(self.band),
        }
    }

    /// Preamble, and the whole, of a VHT MU PPDU to these users.
    fn vht_ppdu(&self, users: &[MuUser], guard_interval: GuardInterval) -> (Duration, Duration) {
        let user = |&MuUser { mcs, streams, psdu_bytes, .. }: &MuUser| VhtMuUser {
            mcs,
            streams,
            psdu_bytes,
        };
        let users: Vec<VhtMuUser> = users.iter().map(user).collect();
        let ppdu = VhtMuPpdu { width: self.width, guard_interval, users: &users };
        (ppdu.preamble_and_header(), ppdu.duration(self.band))
    }

    /// The bit rate of a user's data.
    pub fn bitrate(&self, user: &MuUser) -> Bitrate {
        match self.vht {
            Some(guard_interval) => {
                let &MuUser { mcs, streams, .. } = user;
                Rate::Vht { mcs, streams, width: self.width, guard_interval }.bitrate()
            }
            None => user.bitrate(self.guard_interval),
        }
    }

    /// A symbol by which the PPDU may get longer when all users' codes are known.
    pub fn symbol(&self) -> Duration {
        match self.vht {
            Some(_) => Duration::ZERO,
            None => self.guard_interval.symbol(),
        }
    }

    /// The same without packet extension, which is behind all that is sent.
    pub fn without_padding(self) -> Self {
        Self { padding: PacketPadding::None, own_padding: PacketPadding::None, ..self }
    }

    /// From the HE-LTFs to the end of the PPDU, if there were one user only.
    pub fn data_time(&self, user: &MuUser) -> Duration {
        let alone = core::slice::from_ref(user);
        self.duration(alone) - self.header(alone)
    }

    /// The longest PSDU of up to `bytes_max` that takes `user` at most `time`.
    pub fn psdu_within(&self, user: &MuUser, time: Duration, bytes_max: u32) -> u32 {
        let (mut fits, mut too_long) = (0, bytes_max + 1);
        while too_long - fits > 1 {
            let middle = fits + (too_long - fits) / 2;
            match self.data_time(&MuUser { psdu_bytes: middle, ..*user }) <= time {
                true => fits = middle,
                false => too_long = middle,
            }
        }
        fits
    }

    /// Guard interval and HE-LTFs of what answers a Trigger frame (9.3.1.22: 1.6 us at least).
    pub fn triggered_guard_interval(&self) -> HeGuardInterval {
        match self.guard_interval {
            HeGuardInterval::Ns3200Ltf4x => HeGuardInterval::Ns3200Ltf4x,
            _ => HeGuardInterval::Ns1600Ltf2x,
        }
    }

    /// Preamble, and the whole, of trigger-based PPDUs from these users.
    pub fn triggered(&self, users: &[MuUser]) -> (Duration, Duration) {
        let ppdu = TriggeredPpdu {
            width: self.width,
            guard_interval: self.triggered_guard_interval(),
            padding: self.own_padding,
            users,
        };
        (ppdu.preamble_and_header(), ppdu.duration(self.band))
    }

    /// A rate of this channel with one stream: of a Block Ack, or what is overheard.
    pub fn rate(&self, mcs: u8, guard_interval: HeGuardInterval) -> Rate {
        if let Some(guard_interval) = self.vht {
            return Rate::Vht { mcs, streams: 1, width: self.width, guard_interval };
        }
        Rate::He { mcs, streams: 1, width: self.width, guard_interval, dcm: false }
    }
}

/// Highest MCS of HE-SIG-B (27.3.11.8).
const SIGNAL_B_MCS_MAX: u8 = 5;
/// Highest MCS of a Block Ack in a trigger-based PPDU: as robust as a control response at
/// 48 Mb/s. A slower one has the MCS of the data. The access point's choice, as in ns-3.
pub(super) const BLOCK_ACK_MCS_MAX: u8 = 5;

/// A Block Ack in a trigger-based PPDU: with a delimiter, as every MPDU of HE PPDUs (10.12.7).
const fn triggered_block_ack(bits: u16) -> u32 {
    sizes::AMPDU_DELIMITER + sizes::block_ack(bits)
}
