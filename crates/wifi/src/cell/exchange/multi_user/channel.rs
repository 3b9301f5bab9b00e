//! The channel of an exchange with several stations: its resource units, and the durations and
//! rates of its PPDUs (IEEE 802.11ax-2021, 27.4.3; IEEE 802.11be-2024, 36.4.3). Lengths are in bytes.
//!
//! The RUs of a PPDU have one size, and as many are used as fill the channel. A punctured channel
//! is divided into as few RUs as it consists of, then the largest are halved, until each station has
//! one. Left out: multiple RUs, except for MU-MIMO and single stations in a punctured channel.

use super::most_bytes;
use crate::phy::{
    Band, ChannelWidth, EhtMuPpdu, EhtMuUser, EhtRu, EhtSignal, EhtTriggeredPpdu, GuardInterval,
    HeGuardInterval, MuPpdu, MuUser, PacketPadding, Puncturing, Rate, Ru, RuSize, SignalB,
    TriggeredPpdu, VhtMuPpdu, VhtMuUser,
};
use alloc::vec::Vec;
use core::cmp::Reverse;
use lasthop_units::{Bitrate, Duration};

/// Format of the PPDUs of an exchange: all of its stations understand it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cell) enum MuFormat {
    /// VHT MU with this guard interval.
    Vht(GuardInterval),
    /// HE MU and HE trigger-based.
    He,
    /// EHT MU and EHT trigger-based, without this part of the channel.
    Eht(Puncturing),
}

impl MuFormat {
    /// Format of HE or EHT PPDUs at this rate.
    pub const fn from_rate(rate: Rate) -> Self {
        match rate {
            Rate::Eht { puncturing, .. } => Self::Eht(puncturing),
            _ => Self::He,
        }
    }

    /// Width of the widest channel.
    pub const fn width_max(self) -> ChannelWidth {
        match self {
            Self::Vht(_) | Self::He => ChannelWidth::Mhz160,
            Self::Eht(_) => ChannelWidth::Mhz320,
        }
    }

    /// Length in octets of the longest PSDU (table 27-54; IEEE 802.11be-2024, 36.4).
    pub const fn psdu_bytes_max(self) -> u32 {
        match self {
            Self::Vht(_) | Self::He => 6_500_631,
            Self::Eht(_) => 15_523_200,
        }
    }

    /// Most streams of a station that answers a Trigger frame: the field of EHT has two bits.
    pub const fn triggered_streams_max(self) -> u8 {
        match self {
            Self::Vht(_) | Self::He => 8,
            Self::Eht(_) => 4,
        }
    }

    /// Number of User Info fields of a Trigger frame to this many stations: EHT has a Special User
    /// Info field in front, as long as the others (IEEE 802.11be-2024, 9.3.1.22.3).
    pub const fn trigger_fields(self, stations: u32) -> u32 {
        stations + matches!(self, Self::Eht(_)) as u32
    }
}

/// RUs of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cell) struct Units {
    size: RuSize,
    pub count: usize,
}

/// Sizes of single RUs, ascending.
const SIZES: [RuSize; 8] = [
    RuSize::Tones26,
    RuSize::Tones52,
    RuSize::Tones106,
    RuSize::Tones242,
    RuSize::Tones484,
    RuSize::Tones996,
    RuSize::Tones2x996,
    RuSize::Tones4x996,
];

/// A channel, and the parameters of PPDUs in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::cell) struct MuChannel {
    pub band: Band,
    pub width: ChannelWidth,
    pub guard_interval: HeGuardInterval,
    pub format: MuFormat,
    /// The longest nominal packet padding among the receivers.
    pub padding: PacketPadding,
    /// Nominal packet padding of the access point, which its Trigger frames carry (9.3.1.22: PE
    /// Disambiguity and Pre-FEC Padding Factor).
    pub own_padding: PacketPadding,
}

impl MuChannel {
    /// The largest equal RUs that fill the channel for `least` to `stations` users.
    pub fn units_for(&self, least: usize, stations: usize) -> Option<Units> {
        if self.is_punctured() {
            let most = self.split(stations).len();
            let size = RuSize::of_width(self.width);
            return (most >= least).then_some(Units { size, count: most });
        }
        let counts = SIZES.map(|size| Units { size, count: self.count(size) });
        let fitting = counts.into_iter().filter(|it| (least..=stations).contains(&it.count));
        fitting.max_by_key(|it| it.count)
    }

    /// The largest equal RUs of which the channel has at least `stations`.
    pub fn enough_units(&self, stations: usize) -> Option<Units> {
        let counts = SIZES.map(|size| Units { size, count: self.count(size) });
        let enough = counts.into_iter().filter(|it| it.count >= stations);
        enough.min_by_key(|it| it.count)
    }

    /// The RUs, in the order of [`Ru::all`], or of a punctured channel the largest first.
    pub fn rus(&self, units: Units) -> Vec<Ru> {
        if self.is_punctured() && units.size == RuSize::of_width(self.width) {
            return self.split(units.count);
        }
        self.all(units.size).collect()
    }

    /// The RU of a PPDU to all users in space: the whole channel, of which puncturing leaves a
    /// multiple RU.
    pub fn whole(&self) -> Option<Ru> {
        Ru::new(RuSize::of_width(self.width), 1)
    }

    const fn is_punctured(&self) -> bool {
        matches!(self.format, MuFormat::Eht(puncturing) if !puncturing.is_none())
    }

    /// Number of RUs of a size.
    fn count(&self, size: RuSize) -> usize {
        match self.format {
            MuFormat::Vht(_) | MuFormat::He => size.count_in(self.width).into(),
            MuFormat::Eht(_) => self.all(size).count(),
        }
    }

    /// All RUs of a size: EHT has none in the middle of 80 MHz, and none in a punctured part.
    fn all(&self, size: RuSize) -> impl Iterator<Item = Ru> {
        let out = match self.format {
            MuFormat::Vht(_) | MuFormat::He => None,
            MuFormat::Eht(puncturing) => Some(u32::from(puncturing.subchannels(self.width))),
        };
        Ru::all(size, self.width).filter(move |ru| {
            out.is_none_or(|out| {
                let (first, last) = ru.subchannels();
                let own = (1_u32 << (last + 1)) - (1 << first);
                !ru.is_middle() && own & out == 0
            })
        })
    }

    /// Divides a punctured channel into RUs for this many stations, the largest first; into fewer if
    /// it has no more RUs of 52 tones.
    fn split(&self, stations: usize) -> Vec<Ru> {
        let mut parts: Vec<Ru> = Vec::new();
        for size in SIZES.into_iter().rev().filter(|size| *size >= RuSize::Tones242) {
            let free: Vec<Ru> =
                self.all(size).filter(|ru| !parts.iter().any(|part| part.overlaps(*ru))).collect();
            parts.extend(free);
        }
        while parts.len() < stations
            && let Some(place) = parts.iter().position(|ru| ru.size() > RuSize::Tones52)
        {
            // The largest are in front.
            let ru = parts.remove(place);
            let lower = SIZES.into_iter().rev().find(|size| *size < ru.size());
            let halves = [2 * ru.index() - 1, 2 * ru.index()];
            parts.extend(halves.into_iter().filter_map(|index| Ru::new(lower?, index)));
            parts.sort_unstable_by_key(|ru| (Reverse(ru.size()), ru.index()));
        }
        parts.truncate(stations);
        parts
    }

    /// Returns the HE MU PPDU to these users. HE-SIG-B has the slowest user's MCS, or 5. Neither
    /// the standard nor a product determines this; ns-3 chooses the same, because a user that
    /// cannot decode HE-SIG-B has no use for the rest.
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

    /// Returns the EHT MU PPDU to these users, with an EHT-SIG that the slowest of them decodes.
    fn eht_ppdu<'a>(&self, users: &'a [EhtMuUser]) -> EhtMuPpdu<'a> {
        let signals = users.iter().map(|user| EhtSignal::for_data(user.mcs));
        EhtMuPpdu {
            width: self.width,
            guard_interval: self.guard_interval,
            signal: signals.min().unwrap_or(EhtSignal::Mcs0),
            padding: self.padding,
            users,
            unassigned: &[],
        }
    }

    /// The user in terms of EHT: in a punctured channel the whole of it is what is left.
    fn eht_user(&self, user: &MuUser, puncturing: Puncturing) -> EhtMuUser {
        let &MuUser { ru, mcs, streams, psdu_bytes, .. } = user;
        let is_whole = ru.size() == RuSize::of_width(self.width);
        let single = EhtRu::new(ru.size(), ru.index()).filter(|_| !is_whole);
        let ru = single.unwrap_or(EhtRu::of_channel(self.width, puncturing));
        EhtMuUser { ru, mcs, streams, psdu_bytes }
    }

    fn eht_users(&self, users: &[MuUser], puncturing: Puncturing) -> Vec<EhtMuUser> {
        users.iter().map(|user| self.eht_user(user, puncturing)).collect()
    }

    /// Time from the start of the PPDU to the end of the HE-LTFs.
    pub fn header(&self, users: &[MuUser]) -> Duration {
        match self.format {
            MuFormat::Vht(guard_interval) => self.vht_ppdu(users, guard_interval).0,
            MuFormat::He => self.ppdu(users).preamble_and_header(),
            MuFormat::Eht(puncturing) => {
                self.eht_ppdu(&self.eht_users(users, puncturing)).preamble_and_header()
            }
        }
    }

    /// Duration of the whole PPDU.
    pub fn duration(&self, users: &[MuUser]) -> Duration {
        match self.format {
            MuFormat::Vht(guard_interval) => self.vht_ppdu(users, guard_interval).1,
            MuFormat::He => self.ppdu(users).duration(self.band),
            MuFormat::Eht(puncturing) => {
                self.eht_ppdu(&self.eht_users(users, puncturing)).duration(self.band)
            }
        }
    }

    /// Durations of the preamble, and of the whole, of a VHT MU PPDU to these users.
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
        self.bitrate_with(user, self.guard_interval)
    }

    /// The bit rate of a user's data in an answer to a Trigger frame.
    pub fn triggered_bitrate(&self, user: &MuUser) -> Bitrate {
        self.bitrate_with(user, self.triggered_guard_interval())
    }

    fn bitrate_with(&self, user: &MuUser, he: HeGuardInterval) -> Bitrate {
        match self.format {
            MuFormat::Vht(guard_interval) => {
                let &MuUser { mcs, streams, .. } = user;
                Rate::Vht { mcs, streams, width: self.width, guard_interval }.bitrate()
            }
            MuFormat::He => user.bitrate(he),
            MuFormat::Eht(puncturing) => self.eht_user(user, puncturing).bitrate(he),
        }
    }

    /// Duration of a symbol, by which the PPDU may become longer when all users' codes are known.
    pub fn symbol(&self) -> Duration {
        match self.format {
            MuFormat::Vht(_) => Duration::ZERO,
            MuFormat::He | MuFormat::Eht(_) => self.guard_interval.symbol(),
        }
    }

    /// Returns the same channel without packet extension, which follows all data.
    pub fn without_padding(self) -> Self {
        Self { padding: PacketPadding::None, own_padding: PacketPadding::None, ..self }
    }

    /// Time from the HE-LTFs to the end of the PPDU, for one user alone.
    pub fn data_time(&self, user: &MuUser) -> Duration {
        if let MuFormat::Eht(puncturing) = self.format {
            let alone = [self.eht_user(user, puncturing)];
            let ppdu = self.eht_ppdu(&alone);
            return ppdu.duration(self.band) - ppdu.preamble_and_header();
        }
        let alone = core::slice::from_ref(user);
        self.duration(alone) - self.header(alone)
    }

    /// The longest PSDU of up to `bytes_max` that lasts at most `time` for `user`.
    pub fn psdu_within(&self, user: &MuUser, time: Duration, bytes_max: u32) -> u32 {
        most_bytes(bytes_max, |psdu_bytes| self.data_time(&MuUser { psdu_bytes, ..*user }) <= time)
    }

    /// Guard interval and HE-LTFs of answers to a Trigger frame (9.3.1.22: 1.6 us at least).
    pub fn triggered_guard_interval(&self) -> HeGuardInterval {
        match self.guard_interval {
            HeGuardInterval::Ns3200Ltf4x => HeGuardInterval::Ns3200Ltf4x,
            _ => HeGuardInterval::Ns1600Ltf2x,
        }
    }

    /// Durations of the preamble, and of the whole, of trigger-based PPDUs from these users.
    pub fn triggered(&self, users: &[MuUser]) -> (Duration, Duration) {
        if let MuFormat::Eht(puncturing) = self.format {
            return self.eht_triggered(&self.eht_users(users, puncturing));
        }
        let ppdu = TriggeredPpdu {
            width: self.width,
            guard_interval: self.triggered_guard_interval(),
            padding: self.own_padding,
            users,
        };
        (ppdu.preamble_and_header(), ppdu.duration(self.band))
    }

    /// Time from the HE-LTFs to the end of a trigger-based PPDU, for one user alone.
    pub fn triggered_data_time(&self, user: &MuUser) -> Duration {
        let (header, duration) = match self.format {
            MuFormat::Eht(puncturing) => self.eht_triggered(&[self.eht_user(user, puncturing)]),
            MuFormat::Vht(_) | MuFormat::He => self.triggered(core::slice::from_ref(user)),
        };
        duration - header
    }

    fn eht_triggered(&self, users: &[EhtMuUser]) -> (Duration, Duration) {
        let ppdu = EhtTriggeredPpdu {
            width: self.width,
            guard_interval: self.triggered_guard_interval(),
            padding: self.own_padding,
            users,
        };
        (ppdu.preamble_and_header(), ppdu.duration(self.band))
    }

    /// A rate of this channel with one stream, for a Block Ack or for third parties.
    pub fn rate(&self, mcs: u8, guard_interval: HeGuardInterval) -> Rate {
        let (streams, width) = (1, self.width);
        match self.format {
            MuFormat::Vht(guard_interval) => Rate::Vht { mcs, streams, width, guard_interval },
            MuFormat::He => Rate::He { mcs, streams, width, guard_interval, dcm: false },
            MuFormat::Eht(puncturing) => {
                Rate::Eht { mcs, streams, width, guard_interval, puncturing }
            }
        }
    }

    /// The rate on this channel or a narrower one.
    pub fn narrowed(&self, rate: Rate) -> Rate {
        let narrow = rate.narrowed(self.width);
        match self.format {
            MuFormat::Eht(puncturing) if narrow.width() == self.width => {
                narrow.punctured(puncturing).unwrap_or(narrow)
            }
            _ => narrow,
        }
    }

    /// Whether a rate fills the channel, and is of its format. EHT DUP (MCS 14) is none of several.
    pub fn has(&self, rate: Rate) -> bool {
        match (self.format, rate) {
            (MuFormat::He, Rate::He { width, .. })
            | (MuFormat::Vht(_), Rate::Vht { width, .. }) => width == self.width,
            (MuFormat::Eht(_), Rate::Eht { mcs, width, .. }) => width == self.width && mcs != 14,
            _ => false,
        }
    }
}

/// Highest MCS of HE-SIG-B (27.3.11.8).
const SIGNAL_B_MCS_MAX: u8 = 5;
