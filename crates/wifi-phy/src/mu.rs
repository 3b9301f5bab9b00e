//! HE PPDUs of several users (IEEE 802.11ax-2021, clause 27): HE MU PPDUs from an access point,
//! with HE-SIG-B (27.3.11.8), and HE trigger-based PPDUs to it, with their durations (27.4.3).
//!
//! A user has a resource unit; users on the same one are separated in space (MU-MIMO). The data of
//! all users end together, with the longest. Left out: preamble puncturing, STBC, midambles, random
//! access, and responses.
//!
//! The text of the clauses was not available; `tests/airtime_ax.rs` compares HE-SIG-B with ns-3
//! 3.37. The access point distributes the users of an RU above 20 MHz over the two content
//! channels; in this model each goes to the emptier one.

use super::he::{self, HE_STF, HE_STF_TRIGGER_BASED, HeCoding, UNTIL_SIGNAL_A};
use super::modulation::MCS_MODULATION;
use super::vht::training_fields;
use super::{Band, ChannelWidth, HeGuardInterval, PacketPadding, Ru, RuSize};
use lasthop_units::{Bitrate, Duration};

/// Duration of a symbol of HE-SIG-B.
const SIGNAL_B_SYMBOL: Duration = Duration::from_micros(4);
/// Data subcarriers of a symbol of HE-SIG-B in each 20 MHz.
const SIGNAL_B_SUBCARRIERS: u32 = 52;
/// Highest MCS of HE-SIG-B.
const SIGNAL_B_MCS_MAX: u8 = 5;
/// Bits of an RU Allocation subfield, one for each 20 MHz of a content channel.
const RU_ALLOCATION_BITS: u32 = 8;
/// Bits of the Center 26-tone RU subfield, from 80 MHz on.
const CENTER_26_TONE_RU_BITS: u32 = 1;
/// Bits of CRC and tail after the common field, and after each user block.
const CRC_AND_TAIL_BITS: u32 = 4 + 6;
/// Bits of a user field.
const USER_FIELD_BITS: u32 = 21;
/// Number of user fields in a user block.
const USER_BLOCK_FIELDS: u32 = 2;
/// Limit of users on one RU, and of their streams together.
const MIMO_USERS_MAX: usize = 8;
/// Limit of streams of one user that shares an RU.
const MIMO_STREAMS_MAX: u8 = 4;

/// One user of an HE MU or HE trigger-based PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MuUser {
    /// Resource unit of the user's data; several users may have the same.
    pub ru: Ru,
    /// HE-MCS index, 0 to 11.
    pub mcs: u8,
    /// Spatial streams, 1 to 8; at most 4 on a shared RU.
    pub streams: u8,
    /// Dual carrier modulation: MCS 0, 1, 3 and 4, at most two streams.
    pub dcm: bool,
    /// Length of its PSDU in octets.
    pub psdu_bytes: u32,
}

impl MuUser {
    /// The data rate on its RU, rounded down to a whole bit/s.
    pub fn bitrate(&self, guard_interval: HeGuardInterval) -> Bitrate {
        self.coding().bitrate(guard_interval)
    }

    const fn coding(&self) -> HeCoding {
        HeCoding {
            ru: self.ru.size(),
            mcs: self.mcs,
            streams: self.streams,
            dcm: self.dcm,
            is_eht: false,
        }
    }
}

/// Modulation of HE-SIG-B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalB {
    /// HE-MCS index, 0 to 5.
    pub mcs: u8,
    /// Whether dual carrier modulation is used: MCS 0, 1, 3 and 4.
    pub dcm: bool,
}

/// An HE MU PPDU: from an access point to its stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MuPpdu<'a> {
    /// Width of the channel.
    pub width: ChannelWidth,
    /// Guard interval and HE-LTFs of all users.
    pub guard_interval: HeGuardInterval,
    /// Modulation of HE-SIG-B.
    pub signal_b: SignalB,
    /// The longest nominal packet padding among the users.
    pub padding: PacketPadding,
    /// Users of the PPDU, at least one.
    pub users: &'a [MuUser],
    /// RUs below 242 tones without a user. Each of them still has a user field; larger RUs have
    /// none, and are not listed.
    pub unassigned: &'a [Ru],
}

/// HE trigger-based PPDUs that answer one Trigger frame: they begin and end together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TriggeredPpdu<'a> {
    /// Width of the channel.
    pub width: ChannelWidth,
    /// Guard interval and HE-LTFs of all users.
    pub guard_interval: HeGuardInterval,
    /// The nominal packet padding of the access point.
    pub padding: PacketPadding,
    /// Users that answer, at least one.
    pub users: &'a [MuUser],
}

/// Reason why a PPDU does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MuError {
    /// The PPDU has no user.
    #[error("a PPDU needs at least one user")]
    NoUser,
    /// The channel is too narrow for the RU.
    #[error("{ru} is not in {width}, which has {count} of its size", count = ru.size().count_in(*width))]
    DoesNotFit {
        /// RU that does not fit.
        ru: Ru,
        /// Width of the channel.
        width: ChannelWidth,
    },
    /// Two different RUs have tones in common.
    #[error("{0} and {1} overlap")]
    Overlap(Ru, Ru),
    /// An unassigned RU that has a user, or one of 242 tones or more.
    #[error("{0} cannot be unassigned: it has a user, or 242 tones or more")]
    Unassigned(Ru),
    /// The combination of MCS and streams does not exist.
    #[error(
        "MCS {mcs} with {streams} streams: needs MCS 0 to 11, 1 to 8 streams, and for DCM \
         MCS 0, 1, 3 or 4 and at most 2 streams"
    )]
    NoSuchMode {
        /// The requested HE-MCS index.
        mcs: u8,
        /// Number of spatial streams.
        streams: u8,
    },
    /// The format does not have the guard interval.
    #[error("{0} is none of the format's: HE MU has 2xLTF or 4xLTF, HE TB 1.6 or 3.2 us")]
    GuardInterval(HeGuardInterval),
    /// The MCS of HE-SIG-B does not exist.
    #[error("HE-SIG-B at MCS {0}: needs MCS 0 to 5, and for DCM MCS 0, 1, 3 or 4")]
    SignalB(u8),
    /// Too many users or streams on an RU.
    #[error("{0}: one user, or from 106 tones on 8 of at most 4 streams each and 8 together")]
    TooMany(Ru),
}

impl MuPpdu<'_> {
    /// Checks that the PPDU exists.
    ///
    /// # Errors
    ///
    /// Returns the first violation found.
    pub fn check(&self) -> Result<(), MuError> {
        if !self.guard_interval.is_of_multi_user() {
            return Err(MuError::GuardInterval(self.guard_interval));
        }
        let SignalB { mcs, dcm } = self.signal_b;
        if mcs > SIGNAL_B_MCS_MAX || (dcm && !matches!(mcs, 0 | 1 | 3 | 4)) {
            return Err(MuError::SignalB(mcs));
        }
        check_users(self.users, self.width)?;
        for (i, &ru) in self.unassigned.iter().enumerate() {
            if !ru.fits(self.width) {
                return Err(MuError::DoesNotFit { ru, width: self.width });
            }
            let before = &self.unassigned[..i];
            let mut others = self.users.iter().map(|user| user.ru).chain(before.iter().copied());
            if let Some(other) = others.find(|&other| other != ru && other.overlaps(ru)) {
                return Err(MuError::Overlap(ru, other));
            }
            let has_user = self.users.iter().any(|user| user.ru == ru);
            if has_user || ru.size() >= RuSize::Tones242 || before.contains(&ru) {
                return Err(MuError::Unassigned(ru));
            }
        }
        Ok(())
    }

    /// Whether HE-SIG-B has no common field: two or more users are all on the RU that fills the
    /// channel (HE-SIG-B Compression, 27.3.11.7). Others permit compression for one user as well;
    /// in this model a single user has a common field.
    pub fn is_compressed(&self) -> bool {
        let whole = RuSize::of_width(self.width);
        self.users.len() >= 2
            && self.unassigned.is_empty()
            && self.users.iter().all(|user| user.ru.size() == whole)
    }

    /// Number of user fields in the two content channels of HE-SIG-B; 20 MHz has only the first.
    pub fn user_fields(&self) -> [u32; 2] {
        let has_second = self.width > ChannelWidth::Mhz20;
        let mut fields = [0, 0];
        let mut anywhere = 0;
        for ru in self.users.iter().map(|user| user.ru).chain(self.unassigned.iter().copied()) {
            match ru.content_channel() {
                Some(channel) => fields[channel] += 1,
                None => anywhere += 1,
            }
        }
        if !has_second {
            return [fields[0] + fields[1] + anywhere, 0];
        }
        for _ in 0..anywhere {
            fields[usize::from(fields[1] < fields[0])] += 1;
        }
        fields
    }

    /// Number of symbols of HE-SIG-B (27.3.11.8): those of the longer content channel. HE-SIG-A can
    /// count up to 15, and signals "16 or more" beyond.
    pub fn signal_b_symbols(&self) -> u32 {
        let common = match self.width {
            _ if self.is_compressed() => 0,
            ChannelWidth::Mhz20 | ChannelWidth::Mhz40 => RU_ALLOCATION_BITS + CRC_AND_TAIL_BITS,
            ChannelWidth::Mhz80 => {
                2 * RU_ALLOCATION_BITS + CENTER_26_TONE_RU_BITS + CRC_AND_TAIL_BITS
            }
            // HE has no 320 MHz.
            ChannelWidth::Mhz160 | ChannelWidth::Mhz320 => {
                4 * RU_ALLOCATION_BITS + CENTER_26_TONE_RU_BITS + CRC_AND_TAIL_BITS
            }
        };
        let [first, second] = self.user_fields();
        let fields = first.max(second);
        let blocks = fields.div_ceil(USER_BLOCK_FIELDS);
        let bits = common + fields * USER_FIELD_BITS + blocks * CRC_AND_TAIL_BITS;
        bits.div_ceil(self.signal_b.data_bits_per_symbol())
    }

    /// Time from the start of the PPDU to the end of the HE-LTFs. The PPDU must be one that
    /// [`MuPpdu::check`] accepts.
    pub fn preamble_and_header(&self) -> Duration {
        let signal_b = SIGNAL_B_SYMBOL * u64::from(self.signal_b_symbols());
        UNTIL_SIGNAL_A + signal_b + HE_STF + training(self.users, self.guard_interval)
    }

    /// Duration of the whole PPDU (TXTIME), packet extension and signal extension included. The
    /// PPDU must be one that [`MuPpdu::check`] accepts.
    pub fn duration(&self, band: Band) -> Duration {
        let data = he::data(end_of(self.users), self.guard_interval, self.padding);
        self.preamble_and_header() + data + band.signal_extension()
    }
}

impl TriggeredPpdu<'_> {
    /// Checks that the PPDUs exist.
    ///
    /// # Errors
    ///
    /// Returns the first violation found.
    pub fn check(&self) -> Result<(), MuError> {
        if !self.guard_interval.is_of_trigger_based() {
            return Err(MuError::GuardInterval(self.guard_interval));
        }
        check_users(self.users, self.width)
    }

    /// Time from the start of the PPDU to the end of the HE-LTFs: 44.8 to 168 us. The PPDUs must be
    /// ones that [`TriggeredPpdu::check`] accepts.
    pub fn preamble_and_header(&self) -> Duration {
        UNTIL_SIGNAL_A + HE_STF_TRIGGER_BASED + training(self.users, self.guard_interval)
    }

    /// Duration of the PPDU (TXTIME), packet extension and signal extension included: the duration
    /// that the access point requests if these PSDUs are the longest that it expects. L-SIG's
    /// LENGTH counts units of 4 us, from which a station derives the same symbols and packet
    /// extension. The PPDUs must be ones that [`TriggeredPpdu::check`] accepts.
    pub fn duration(&self, band: Band) -> Duration {
        let data = he::data(end_of(self.users), self.guard_interval, self.padding);
        self.preamble_and_header() + data + band.signal_extension()
    }
}

impl SignalB {
    /// Data bits of a symbol of HE-SIG-B: 13 to 208.
    const fn data_bits_per_symbol(self) -> u32 {
        let (modulation, code) = MCS_MODULATION[self.mcs as usize];
        let (numerator, denominator) = code.ratio();
        let subcarriers = if self.dcm { SIGNAL_B_SUBCARRIERS / 2 } else { SIGNAL_B_SUBCARRIERS };
        subcarriers * modulation.bits() * numerator / denominator
    }
}

fn end_of(users: &[MuUser]) -> he::Segments {
    he::end_of(users.iter().map(|user| (user.coding(), user.psdu_bytes)))
}

/// Duration of the HE-LTFs: as many as the RU with the most streams needs.
fn training(users: &[MuUser], guard_interval: HeGuardInterval) -> Duration {
    let on = |ru: Ru| users.iter().filter(|user| user.ru == ru).map(|user| user.streams).sum();
    let streams: u8 = users.iter().map(|user| on(user.ru)).max().unwrap_or(1);
    guard_interval.training_symbol() * training_fields(streams)
}

fn check_users(users: &[MuUser], width: ChannelWidth) -> Result<(), MuError> {
    if users.is_empty() {
        return Err(MuError::NoUser);
    }
    for (i, user) in users.iter().enumerate() {
        let MuUser { ru, mcs, streams, .. } = *user;
        if !ru.fits(width) {
            return Err(MuError::DoesNotFit { ru, width });
        }
        if !user.coding().exists() {
            return Err(MuError::NoSuchMode { mcs, streams });
        }
        let overlapping = users[..i].iter().find(|other| other.ru != ru && other.ru.overlaps(ru));
        if let Some(other) = overlapping {
            return Err(MuError::Overlap(ru, other.ru));
        }
        let mut together = users.iter().filter(|other| other.ru == ru);
        let count = together.clone().count();
        let of_all: u32 = together.clone().map(|user| u32::from(user.streams)).sum();
        let is_too_many = count > MIMO_USERS_MAX
            || of_all > 8
            || ru.size() < RuSize::Tones106
            || together.any(|user| user.streams > MIMO_STREAMS_MAX);
        if count > 1 && is_too_many {
            return Err(MuError::TooMany(ru));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ChannelWidth::{Mhz20, Mhz40, Mhz80, Mhz160};
    use proptest::prelude::*;
    extern crate alloc;
    use alloc::string::ToString;
    use alloc::vec::Vec;

    fn ru(size: RuSize, index: u8) -> Ru {
        Ru::new(size, index).expect("an RU")
    }

    fn user(ru: Ru, mcs: u8, streams: u8, psdu_bytes: u32) -> MuUser {
        MuUser { ru, mcs, streams, dcm: false, psdu_bytes }
    }

    fn ppdu(width: ChannelWidth, users: &[MuUser]) -> MuPpdu<'_> {
        MuPpdu {
            width,
            guard_interval: HeGuardInterval::Ns800Ltf2x,
            signal_b: SignalB { mcs: 0, dcm: false },
            padding: PacketPadding::None,
            users,
            unassigned: &[],
        }
    }

    fn all_of(size: RuSize, width: ChannelWidth) -> Vec<MuUser> {
        Ru::all(size, width).map(|ru| user(ru, 7, 1, 1_500)).collect()
    }

    /// 27.3.11.8 by hand: 8 bits of RU allocation for each 20 MHz of a content channel and one for
    /// the middle RU from 80 MHz on, 21 bits for each user, 10 of CRC and tail after the common
    /// field and each two users; 26 bits in a symbol.
    #[test]
    fn signal_b_by_hand() {
        let symbols = |width, users: &[MuUser]| {
            ppdu(width, users).check().expect("a PPDU");
            ppdu(width, users).signal_b_symbols()
        };
        // 18 + 4 * 52 + 31 = 257.
        assert_eq!(symbols(Mhz20, &all_of(RuSize::Tones26, Mhz20)), 10);
        // 18 + 31 in each channel.
        assert_eq!(symbols(Mhz40, &all_of(RuSize::Tones242, Mhz40)), 2);
        // One of 484 tones is in one of the channels.
        assert_eq!(symbols(Mhz40, &all_of(RuSize::Tones484, Mhz40)), 2);
        // 27 + 9 * 52 + 31 = 526: the first channel has the middle RU.
        assert_eq!(symbols(Mhz80, &all_of(RuSize::Tones26, Mhz80)), 21);
        // Two of 484 tones: 27 + 31 in each.
        assert_eq!(symbols(Mhz80, &all_of(RuSize::Tones484, Mhz80)), 3);
        // 43 + 18 * 52 + 31 = 1010: each has a middle RU.
        assert_eq!(symbols(Mhz160, &all_of(RuSize::Tones26, Mhz160)), 39);
        // One user of the whole channel, with a common field: 43 + 31.
        assert_eq!(symbols(Mhz160, &all_of(RuSize::Tones2x996, Mhz160)), 3);
    }

    /// MU-MIMO over the whole channel has no common field, and distributes its users over the
    /// content channels.
    #[test]
    fn compressed_signal_b() {
        let shared = |width, count| {
            let users = alloc::vec![user(ru(RuSize::of_width(width), 1), 7, 1, 1_500); count];
            let ppdu = ppdu(width, &users);
            ppdu.check().expect("a PPDU");
            (ppdu.is_compressed(), ppdu.user_fields(), ppdu.signal_b_symbols())
        };
        assert_eq!(shared(Mhz20, 1), (false, [1, 0], 2));
        // 52 bits; 52 + 31.
        assert_eq!(shared(Mhz20, 2), (true, [2, 0], 2));
        assert_eq!(shared(Mhz20, 3), (true, [3, 0], 4));
        assert_eq!(shared(Mhz80, 3), (true, [2, 1], 2));
        assert_eq!(shared(Mhz160, 8), (true, [4, 4], 4));
    }

    #[test]
    fn signal_b_modes() {
        let bits = |mcs, dcm| SignalB { mcs, dcm }.data_bits_per_symbol();
        assert_eq!([0, 1, 2, 3, 4, 5].map(|mcs| bits(mcs, false)), [26, 52, 78, 104, 156, 208]);
        assert_eq!([0, 1, 3, 4].map(|mcs| bits(mcs, true)), [13, 26, 52, 78]);
    }

    /// 32 us, HE-SIG-B of 3 symbols, HE-STF 4 us, an HE-LTF of 7.2 us. MCS 7 on 242
    /// tones: 1170 data bits, so that 16 + 12 000 + 6 take 11 symbols of 13.6 us, the
    /// last with 322 bits in two segments of 300. 100 octets alone would take one.
    #[test]
    fn the_longest_user_decides() {
        let mut users = all_of(RuSize::Tones242, Mhz80);
        for user in &mut users[1..] {
            user.psdu_bytes = 100;
        }
        let short = ppdu(Mhz80, &users[1..]);
        let long = ppdu(Mhz80, &users);
        // 27 + 52 bits: 4 symbols.
        assert_eq!(long.preamble_and_header(), Duration::from_nanos(59_200));
        let data = Duration::from_nanos(11 * 13_600);
        assert_eq!(long.duration(Band::Ghz5), long.preamble_and_header() + data);
        let signal_extension = long.duration(Band::Ghz2_4) - long.duration(Band::Ghz6);
        assert_eq!(signal_extension, Duration::from_micros(6));
        assert_eq!(short.duration(Band::Ghz5), Duration::from_nanos(59_200 + 13_600));
        let padded = MuPpdu { padding: PacketPadding::Us16, ..long };
        let extension = padded.duration(Band::Ghz5) - long.duration(Band::Ghz5);
        assert_eq!(extension, Duration::from_micros(8));
        // One stream more on one RU: two HE-LTFs for all.
        users[2].streams = 2;
        assert_eq!(ppdu(Mhz80, &users).preamble_and_header(), Duration::from_nanos(66_400));
    }

    #[test]
    fn triggered_by_hand() {
        let users =
            [user(ru(RuSize::Tones106, 1), 0, 1, 100), user(ru(RuSize::Tones106, 2), 5, 1, 100)];
        let ppdu = TriggeredPpdu {
            width: Mhz20,
            guard_interval: HeGuardInterval::Ns3200Ltf4x,
            padding: PacketPadding::Us8,
            users: &users,
        };
        ppdu.check().expect("a PPDU");
        // 20 + 4 + 8 + 8 + 16 us; 822 bits in symbols of 51 bits: 17 of 16 us, the last
        // with 6 bits in the first segment: no packet extension.
        assert_eq!(ppdu.preamble_and_header(), Duration::from_micros(56));
        assert_eq!(ppdu.duration(Band::Ghz5), Duration::from_micros(56 + 17 * 16));
    }

    #[test]
    fn what_does_not_exist() {
        let error = |ppdu: MuPpdu<'_>| ppdu.check().expect_err("no such PPDU");
        let good = [user(ru(RuSize::Tones106, 1), 7, 1, 100)];
        assert_eq!(error(ppdu(Mhz20, &[])), MuError::NoUser);
        let wide = [user(ru(RuSize::Tones484, 2), 7, 1, 100)];
        let text = error(ppdu(Mhz40, &wide)).to_string();
        assert_eq!(text, "RU 484/2 is not in 40MHz, which has 1 of its size");
        let both = [good[0], user(ru(RuSize::Tones52, 2), 7, 1, 100)];
        assert_eq!(error(ppdu(Mhz20, &both)), MuError::Overlap(both[1].ru, both[0].ru));
        let fast = [user(ru(RuSize::Tones106, 1), 12, 1, 100)];
        assert_eq!(error(ppdu(Mhz20, &fast)), MuError::NoSuchMode { mcs: 12, streams: 1 });
        let guard_interval = HeGuardInterval::Ns1600Ltf1x;
        let other = MuPpdu { guard_interval, ..ppdu(Mhz20, &good) };
        assert_eq!(error(other), MuError::GuardInterval(guard_interval));
        let other = MuPpdu { signal_b: SignalB { mcs: 2, dcm: true }, ..ppdu(Mhz20, &good) };
        assert_eq!(error(other), MuError::SignalB(2));
        let together = [user(ru(RuSize::Tones52, 1), 0, 1, 9); 2];
        assert_eq!(error(ppdu(Mhz20, &together)), MuError::TooMany(together[0].ru));
        let streams = [user(ru(RuSize::Tones106, 1), 0, 5, 9), good[0]];
        assert_eq!(error(ppdu(Mhz20, &streams)), MuError::TooMany(good[0].ru));
        let three = [user(ru(RuSize::Tones106, 1), 0, 3, 9); 3];
        assert_eq!(error(ppdu(Mhz20, &three)), MuError::TooMany(good[0].ru));
        for (unassigned, expected) in [
            (ru(RuSize::Tones106, 1), MuError::Unassigned(good[0].ru)),
            (ru(RuSize::Tones26, 2), MuError::Overlap(ru(RuSize::Tones26, 2), good[0].ru)),
            (
                ru(RuSize::Tones26, 10),
                MuError::DoesNotFit { ru: ru(RuSize::Tones26, 10), width: Mhz20 },
            ),
        ] {
            let other = MuPpdu { unassigned: &[unassigned], ..ppdu(Mhz20, &good) };
            assert_eq!(error(other), expected);
        }
        let triggered = TriggeredPpdu {
            width: Mhz20,
            guard_interval: HeGuardInterval::Ns800Ltf2x,
            padding: PacketPadding::None,
            users: &good,
        };
        let error = triggered.check().expect_err("no such PPDU");
        assert_eq!(error, MuError::GuardInterval(HeGuardInterval::Ns800Ltf2x));
    }

    fn any_users() -> impl Strategy<Value = (ChannelWidth, Vec<MuUser>)> {
        let width = prop::sample::select(&[Mhz20, Mhz40, Mhz80, Mhz160][..]);
        let one = (0u8..12, 1u8..=8, 0u32..20_000);
        (width, 0usize..7, prop::collection::vec(one, 1..75)).prop_filter_map(
            "no RU of this size",
            |(width, size, users)| {
                let all = Ru::all(RuSize::ALL[size], width).zip(users);
                let users: Vec<_> =
                    all.map(|(ru, (mcs, streams, bytes))| user(ru, mcs, streams, bytes)).collect();
                (!users.is_empty()).then_some((width, users))
            },
        )
    }

    proptest! {
        #[test]
        fn a_ppdu_is_as_long_as_its_longest_user((width, users) in any_users()) {
            let whole = ppdu(width, &users);
            prop_assert_eq!(whole.check(), Ok(()));
            let data = |ppdu: MuPpdu<'_>| ppdu.duration(Band::Ghz5) - ppdu.preamble_and_header();
            let alone = users.iter().map(|user| data(ppdu(width, core::slice::from_ref(user))));
            let longest = alone.max().expect("a user");
            // An extra segment of LDPC may take a symbol of its own.
            let symbol = whole.guard_interval.symbol();
            prop_assert!(longest <= data(whole) + symbol && data(whole) <= longest + symbol);
            let [first, second] = whole.user_fields();
            prop_assert_eq!((first + second) as usize, users.len());
            prop_assert!(width > Mhz20 || second == 0);
        }
    }
}
