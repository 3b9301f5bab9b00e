//! EHT PPDUs of several users (IEEE 802.11be-2024, clause 36): EHT MU PPDUs from an access point
//! with EHT-SIG (36.3.12.8), and EHT trigger-based PPDUs to it, with their durations (36.4.3).
//!
//! As in `mu`, the data of all users end together, with the longest. A multiple RU belongs to one
//! user as a single one does. A punctured channel has no RU in the punctured part. Left out: random
//! access, aggregated PPDUs of several generations, other contents in each 80 MHz.

use super::eht::{
    self, CRC_AND_TAIL_BITS, EhtSignal, OVERFLOW_BITS, SIGNAL_SYMBOL, USER_COUNT_BITS,
    USER_FIELD_BITS,
};
use super::he::{self, HE_STF, HE_STF_TRIGGER_BASED, HeCoding, UNTIL_SIGNAL_A};
use super::vht::training_fields;
use super::{Band, ChannelWidth, EhtRu, HeGuardInterval, PacketPadding};
use lasthop_units::{Bitrate, Duration};

/// Bits of an RU Allocation subfield, one for each 20 MHz of a content channel.
const RU_ALLOCATION_BITS: u32 = 9;
/// Number of user fields in a user block.
const USER_BLOCK_FIELDS: u32 = 2;
/// Limit of users on one RU, and of their streams together.
const MIMO_USERS_MAX: usize = 8;
/// Limit of streams of one user that shares an RU.
const MIMO_STREAMS_MAX: u8 = 4;
/// The smallest RU of several users, in tones.
const MIMO_TONES_MIN: u16 = 242;

/// One user of an EHT MU or EHT trigger-based PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EhtMuUser {
    /// Resource unit of the user's data; several users may have the same.
    pub ru: EhtRu,
    /// EHT-MCS index, 0 to 13 or 15; 14 only for one user of a whole channel.
    pub mcs: u8,
    /// Spatial streams, 1 to 8; at most 4 on a shared RU, 1 with MCS 15.
    pub streams: u8,
    /// Length of its PSDU in octets.
    pub psdu_bytes: u32,
}

impl EhtMuUser {
    /// The data rate on its RU, rounded down to a whole bit/s; zero if the mode does not exist.
    pub fn bitrate(&self, guard_interval: HeGuardInterval) -> Bitrate {
        self.coding().map_or(Bitrate::from_bps(0), |coding| coding.bitrate(guard_interval))
    }

    const fn coding(&self) -> Option<HeCoding> {
        eht::coding(self.mcs, self.streams, self.ru.size())
    }
}

/// An EHT MU PPDU: from an access point to its stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EhtMuPpdu<'a> {
    /// Width of the channel.
    pub width: ChannelWidth,
    /// Guard interval and EHT-LTFs of all users.
    pub guard_interval: HeGuardInterval,
    /// Modulation of EHT-SIG.
    pub signal: EhtSignal,
    /// The longest nominal packet padding among the users.
    pub padding: PacketPadding,
    /// Users of the PPDU, at least one.
    pub users: &'a [EhtMuUser],
    /// RUs below 242 tones without a user. Each of them still has a user field; larger RUs have
    /// none, and are not listed.
    pub unassigned: &'a [EhtRu],
}

/// EHT trigger-based PPDUs that answer one Trigger frame: they begin and end together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EhtTriggeredPpdu<'a> {
    /// Width of the channel.
    pub width: ChannelWidth,
    /// Guard interval and EHT-LTFs of all users.
    pub guard_interval: HeGuardInterval,
    /// The nominal packet padding of the access point.
    pub padding: PacketPadding,
    /// Users that answer, at least one.
    pub users: &'a [EhtMuUser],
}

/// Reason why a PPDU does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EhtMuError {
    /// The PPDU has no user.
    #[error("a PPDU needs at least one user")]
    NoUser,
    /// The channel is too narrow for the RU.
    #[error("{ru} is not in {width}")]
    DoesNotFit {
        /// RU that does not fit.
        ru: EhtRu,
        /// Width of the channel.
        width: ChannelWidth,
    },
    /// Two different RUs have tones in common.
    #[error("{0} and {1} overlap")]
    Overlap(EhtRu, EhtRu),
    /// An unassigned RU that has a user, or one of 242 tones or more.
    #[error("{0} cannot be unassigned: it has a user, or 242 tones or more")]
    Unassigned(EhtRu),
    /// The combination of MCS, streams and RU does not exist.
    #[error(
        "MCS {mcs} with {streams} streams: needs MCS 0 to 13 and 1 to 8 streams, MCS 15 and 1 \
         stream, or MCS 14 and 1 stream alone in 80, 160 or 320 MHz"
    )]
    NoSuchMode {
        /// The requested EHT-MCS index.
        mcs: u8,
        /// Number of spatial streams.
        streams: u8,
    },
    /// The format does not have the guard interval.
    #[error("{0} is none of the format's: EHT MU has 2xLTF or 4xLTF, EHT TB 1.6 or 3.2 us")]
    GuardInterval(HeGuardInterval),
    /// Too many users or streams on an RU.
    #[error("{0}: one user, or from 242 tones on 8 of at most 4 streams each and 8 together")]
    TooMany(EhtRu),
}

impl EhtMuPpdu<'_> {
    /// Checks that the PPDU exists.
    ///
    /// # Errors
    ///
    /// Returns the first violation found.
    pub fn check(&self) -> Result<(), EhtMuError> {
        if !self.guard_interval.is_of_multi_user() {
            return Err(EhtMuError::GuardInterval(self.guard_interval));
        }
        check_users(self.users, self.width)?;
        for (i, &ru) in self.unassigned.iter().enumerate() {
            if !ru.fits(self.width) {
                return Err(EhtMuError::DoesNotFit { ru, width: self.width });
            }
            let before = &self.unassigned[..i];
            let has_user = self.users.iter().any(|user| user.ru == ru);
            if has_user || !ru.is_small() || before.contains(&ru) {
                return Err(EhtMuError::Unassigned(ru));
            }
            let mut others = self.users.iter().map(|user| user.ru).chain(before.iter().copied());
            if let Some(other) = others.find(|other| other.overlaps(ru)) {
                return Err(EhtMuError::Overlap(ru, other));
            }
        }
        Ok(())
    }

    /// Whether EHT-SIG has no RU allocation: all users are on one RU that fills the channel, or
    /// its part that is not punctured. (A multiple RU of OFDMA alone in the PPDU counts as one.)
    pub fn is_compressed(&self) -> bool {
        let Some(first) = self.users.first() else { return false };
        let is_whole = match first.ru.size().parts() {
            Some(_) => !first.ru.is_small(),
            None => first.ru.size() == super::RuSize::of_width(self.width),
        };
        is_whole && self.unassigned.is_empty() && self.users.iter().all(|it| it.ru == first.ru)
    }

    /// Number of user fields in the two content channels of EHT-SIG; 20 MHz has only the first.
    pub fn user_fields(&self) -> [u32; 2] {
        let mut fields = [0, 0];
        let mut anywhere = 0;
        for ru in self.users.iter().map(|user| user.ru).chain(self.unassigned.iter().copied()) {
            match ru.content_channel() {
                Some(channel) => fields[channel] += 1,
                None => anywhere += 1,
            }
        }
        if self.width == ChannelWidth::Mhz20 {
            return [fields[0] + fields[1] + anywhere, 0];
        }
        for _ in 0..anywhere {
            fields[usize::from(fields[1] < fields[0])] += 1;
        }
        fields
    }

    /// Number of symbols of EHT-SIG: those of the longer content channel. Without RU allocation the
    /// common field and the first user field share a block; otherwise the common field has one or,
    /// from 160 MHz on, two.
    pub fn signal_symbols(&self) -> u32 {
        let [first, second] = self.user_fields();
        let fields = first.max(second);
        let of_users = |fields: u32| {
            fields * USER_FIELD_BITS + fields.div_ceil(USER_BLOCK_FIELDS) * CRC_AND_TAIL_BITS
        };
        let bits = if self.is_compressed() {
            let common = OVERFLOW_BITS + USER_COUNT_BITS + USER_FIELD_BITS + CRC_AND_TAIL_BITS;
            common + of_users(fields.saturating_sub(1))
        } else {
            let common = OVERFLOW_BITS + CRC_AND_TAIL_BITS + of_users(fields);
            let allocations = |count| count * RU_ALLOCATION_BITS;
            common
                + match self.width {
                    ChannelWidth::Mhz20 | ChannelWidth::Mhz40 => allocations(1),
                    ChannelWidth::Mhz80 => allocations(2),
                    ChannelWidth::Mhz160 => allocations(4) + CRC_AND_TAIL_BITS,
                    ChannelWidth::Mhz320 => allocations(8) + CRC_AND_TAIL_BITS,
                }
        };
        bits.div_ceil(self.signal.data_bits_per_symbol())
    }

    /// Time from the start of the PPDU to the end of the EHT-LTFs. The PPDU must be one that
    /// [`EhtMuPpdu::check`] accepts.
    pub fn preamble_and_header(&self) -> Duration {
        let signal = SIGNAL_SYMBOL * u64::from(self.signal_symbols());
        UNTIL_SIGNAL_A + signal + HE_STF + training(self.users, self.guard_interval)
    }

    /// Duration of the whole PPDU (TXTIME), packet extension and signal extension included. The
    /// PPDU must be one that [`EhtMuPpdu::check`] accepts.
    pub fn duration(&self, band: Band) -> Duration {
        let data = he::data(end_of(self.users), self.guard_interval, self.padding);
        self.preamble_and_header() + data + band.signal_extension()
    }
}

impl EhtTriggeredPpdu<'_> {
    /// Checks that the PPDUs exist.
    ///
    /// # Errors
    ///
    /// Returns the first violation found.
    pub fn check(&self) -> Result<(), EhtMuError> {
        if !self.guard_interval.is_of_trigger_based() {
            return Err(EhtMuError::GuardInterval(self.guard_interval));
        }
        check_users(self.users, self.width)
    }

    /// Time from the start of the PPDU to the end of the EHT-LTFs: 44.8 to 168 us. The PPDUs must be
    /// ones that [`EhtTriggeredPpdu::check`] accepts.
    pub fn preamble_and_header(&self) -> Duration {
        UNTIL_SIGNAL_A + HE_STF_TRIGGER_BASED + training(self.users, self.guard_interval)
    }

    /// Duration of the PPDU (TXTIME), packet extension and signal extension included. The PPDUs must
    /// be ones that [`EhtTriggeredPpdu::check`] accepts.
    pub fn duration(&self, band: Band) -> Duration {
        let data = he::data(end_of(self.users), self.guard_interval, self.padding);
        self.preamble_and_header() + data + band.signal_extension()
    }
}

fn end_of(users: &[EhtMuUser]) -> he::Segments {
    let coded = users.iter().filter_map(|user| Some((user.coding()?, user.psdu_bytes)));
    he::end_of(coded)
}

/// Duration of the EHT-LTFs: as many as the RU with the most streams needs.
fn training(users: &[EhtMuUser], guard_interval: HeGuardInterval) -> Duration {
    let on = |ru: EhtRu| users.iter().filter(|user| user.ru == ru).map(|user| user.streams).sum();
    let streams: u8 = users.iter().map(|user| on(user.ru)).max().unwrap_or(1);
    guard_interval.training_symbol() * training_fields(streams)
}

fn check_users(users: &[EhtMuUser], width: ChannelWidth) -> Result<(), EhtMuError> {
    if users.is_empty() {
        return Err(EhtMuError::NoUser);
    }
    for (i, user) in users.iter().enumerate() {
        let EhtMuUser { ru, mcs, streams, .. } = *user;
        if !ru.fits(width) {
            return Err(EhtMuError::DoesNotFit { ru, width });
        }
        let is_alone = users.len() == 1 && ru.size() == super::RuSize::of_width(width);
        if user.coding().is_none() || (mcs == eht::MCS_DUPLICATE && !is_alone) {
            return Err(EhtMuError::NoSuchMode { mcs, streams });
        }
        let overlapping = users[..i].iter().find(|other| other.ru != ru && other.ru.overlaps(ru));
        if let Some(other) = overlapping {
            return Err(EhtMuError::Overlap(ru, other.ru));
        }
        let mut together = users.iter().filter(|other| other.ru == ru);
        let count = together.clone().count();
        let of_all: u32 = together.clone().map(|user| u32::from(user.streams)).sum();
        let is_too_many = count > MIMO_USERS_MAX
            || of_all > 8
            || ru.size().tones() < MIMO_TONES_MIN
            || together.any(|user| user.streams > MIMO_STREAMS_MAX);
        if count > 1 && is_too_many {
            return Err(EhtMuError::TooMany(ru));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rate, RuSize};
    extern crate alloc;
    use alloc::vec::Vec;

    fn ppdu(width: ChannelWidth, users: &[EhtMuUser]) -> EhtMuPpdu<'_> {
        EhtMuPpdu {
            width,
            guard_interval: HeGuardInterval::Ns800Ltf2x,
            signal: EhtSignal::Mcs3,
            padding: PacketPadding::None,
            users,
            unassigned: &[],
        }
    }

    fn user(size: RuSize, index: u8, mcs: u8) -> EhtMuUser {
        let ru = EhtRu::new(size, index).expect("an RU");
        EhtMuUser { ru, mcs, streams: 1, psdu_bytes: 1_500 }
    }

    /// One user of the whole channel is the PPDU of [`Rate::eht`].
    #[test]
    fn one_user_of_the_whole_channel() {
        for width in ChannelWidth::ALL_EHT {
            for (mcs, signal) in [(0, EhtSignal::Mcs0), (2, EhtSignal::Mcs1), (13, EhtSignal::Mcs3)]
            {
                let users = [user(RuSize::of_width(width), 1, mcs)];
                let alone = EhtMuPpdu { signal, ..ppdu(width, &users) };
                alone.check().expect("a PPDU");
                let rate = Rate::eht(mcs, 1, width, alone.guard_interval).expect("a rate");
                assert_eq!(alone.duration(Band::Ghz6), rate.ppdu_duration(1_500, Band::Ghz6));
            }
        }
    }

    /// By hand: 17 bits of overflow, 9 for each RU allocation, 22 for each user, 10 of CRC and tail
    /// after each block; 104 bits in a symbol.
    #[test]
    fn signal_by_hand() {
        let all = |size, width| -> Vec<EhtMuUser> {
            EhtRu::all(size, width).map(|ru| user(ru.size(), ru.index(), 7)).collect()
        };
        let symbols = |width, users: &[EhtMuUser]| {
            ppdu(width, users).check().expect("a PPDU");
            ppdu(width, users).signal_symbols()
        };
        // 17 + 9 + 10 + 4 * 54 + 32 = 284.
        let mhz20 = ChannelWidth::Mhz20;
        assert_eq!(symbols(mhz20, &all(RuSize::Tones26, mhz20)), 3);
        // 17 + 72 + 20 + 4 * 54 = 325 in each content channel.
        let mhz320 = ChannelWidth::Mhz320;
        assert_eq!(symbols(mhz320, &all(RuSize::Tones242, mhz320)), 4);
        // 17 + 36 + 20 + 32 = 105: one too many.
        let mhz160 = ChannelWidth::Mhz160;
        assert_eq!(symbols(mhz160, &all(RuSize::Tones996, mhz160)), 2);
        // Eight users of the whole channel: 52 + 54 + 32 in each.
        let shared: Vec<_> = (0..8).map(|_| user(RuSize::Tones2x996, 1, 7)).collect();
        assert_eq!(symbols(mhz160, &shared), 2);
        // A multiple RU beside the RU that it leaves out.
        let beside = [user(RuSize::Tones484And242, 2, 7), user(RuSize::Tones242, 2, 7)];
        assert_eq!(symbols(ChannelWidth::Mhz80, &beside), 1);
    }

    #[test]
    fn what_is_no_ppdu() {
        let width = ChannelWidth::Mhz80;
        let check = |users: &[EhtMuUser]| ppdu(width, users).check();
        assert_eq!(check(&[]), Err(EhtMuError::NoUser));
        let inside = [user(RuSize::Tones484And242, 1, 7), user(RuSize::Tones242, 2, 7)];
        assert!(matches!(check(&inside), Err(EhtMuError::Overlap(..))));
        assert!(check(&[user(RuSize::Tones996And484, 1, 7)]).is_err());
        let duplicate = [user(RuSize::Tones484, 1, 14), user(RuSize::Tones484, 2, 7)];
        assert!(matches!(check(&duplicate), Err(EhtMuError::NoSuchMode { mcs: 14, .. })));
        let shared = [user(RuSize::Tones106, 1, 7), user(RuSize::Tones106, 1, 7)];
        assert!(matches!(check(&shared), Err(EhtMuError::TooMany(_))));
    }
}
