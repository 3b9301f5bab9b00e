//! VHT MU PPDUs (IEEE 802.11-2020, clause 21): up to four users in the whole width of the channel,
//! each with its own MCS and streams, and their durations (21.4.3).
//!
//! All users have one guard interval, and as many VHT-LTFs as the streams of all need. Each user's
//! code ends separately, its PSDU is padded, and the data of all end with the longest. Left out:
//! LDPC, STBC, 80+80 MHz, assignment of users to groups (Group ID Management).

use super::vht;
use super::{Band, ChannelWidth, GuardInterval, Rate};
use lasthop_units::Duration;

/// Highest number of users of a VHT MU PPDU.
pub const VHT_MU_USERS_MAX: u8 = 4;
/// Highest number of streams of one user.
const STREAMS_MAX: u8 = 4;
/// Highest number of streams of all users.
const TOTAL_STREAMS_MAX: u8 = 8;

/// One user of a VHT MU PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VhtMuUser {
    /// MCS index, 0 to 9.
    pub mcs: u8,
    /// Spatial streams, 1 to 4.
    pub streams: u8,
    /// Length of its PSDU in octets, before the padding to the end of the PPDU (APEP_LENGTH).
    pub psdu_bytes: u32,
}

/// A VHT MU PPDU: from an access point to its stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VhtMuPpdu<'a> {
    /// Width of the channel.
    pub width: ChannelWidth,
    /// Guard interval of all users.
    pub guard_interval: GuardInterval,
    /// Users of the PPDU, 2 to 4; with one its duration is that of a PPDU of a single user.
    pub users: &'a [VhtMuUser],
}

/// Reason why a PPDU does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VhtMuError {
    /// Too few or too many users.
    #[error("{0} users: a VHT MU PPDU has 2 to 4")]
    Users(usize),
    /// Too many streams of all users.
    #[error("{0} streams of all users: a VHT MU PPDU has up to 8")]
    Streams(u32),
    /// The combination of MCS and streams does not exist.
    #[error("MCS {mcs} with {streams} streams: needs a VHT MCS of the width, 1 to 4 streams")]
    NoSuchMode {
        /// The requested MCS index.
        mcs: u8,
        /// Number of spatial streams.
        streams: u8,
    },
}

impl VhtMuPpdu<'_> {
    /// Checks that the PPDU exists.
    ///
    /// # Errors
    ///
    /// Returns the first violation found.
    pub fn check(&self) -> Result<(), VhtMuError> {
        let count = self.users.len();
        if !(2..=usize::from(VHT_MU_USERS_MAX)).contains(&count) {
            return Err(VhtMuError::Users(count));
        }
        for &VhtMuUser { mcs, streams, .. } in self.users {
            let rate = Rate::vht(mcs, streams, self.width, self.guard_interval);
            if streams > STREAMS_MAX || rate.is_none() {
                return Err(VhtMuError::NoSuchMode { mcs, streams });
            }
        }
        let streams = self.users.iter().map(|user| u32::from(user.streams)).sum();
        if streams > u32::from(TOTAL_STREAMS_MAX) {
            return Err(VhtMuError::Streams(streams));
        }
        Ok(())
    }

    /// Time from the start of the PPDU to the end of VHT-SIG-B, which is one symbol with each
    /// user's MCS on the user's streams.
    pub fn preamble_and_header(&self) -> Duration {
        let streams = self.users.iter().map(|user| user.streams).sum();
        vht::preamble_and_header(streams)
    }

    /// Duration of the whole PPDU (TXTIME, 21.4.3): the longest user's. The PPDU must be one that
    /// [`VhtMuPpdu::check`] accepts.
    pub fn duration(&self, band: Band) -> Duration {
        let data = |user: &VhtMuUser| {
            let &VhtMuUser { mcs, streams, psdu_bytes } = user;
            vht::data(mcs, streams, self.width, self.guard_interval, psdu_bytes)
        };
        let longest = self.users.iter().map(data).max().unwrap_or(Duration::ZERO);
        self.preamble_and_header() + longest + band.signal_extension()
    }
}

/// Duration of a VHT NDP: the training fields of all the antennas, VHT-SIG-B, and no data.
pub fn vht_ndp(antennas: u8) -> Duration {
    vht::preamble_and_header(antennas)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ChannelWidth::{Mhz20, Mhz80};

    const fn user(mcs: u8, streams: u8, psdu_bytes: u32) -> VhtMuUser {
        VhtMuUser { mcs, streams, psdu_bytes }
    }

    fn ppdu(users: &[VhtMuUser]) -> VhtMuPpdu<'_> {
        VhtMuPpdu { width: Mhz80, guard_interval: GuardInterval::Long, users }
    }

    /// By hand: 20 us up to L-SIG, VHT-SIG-A 8 us, VHT-STF 4 us, 1, 2, 4, 6 or 8 VHT-LTFs of 4 us
    /// for the streams of all, VHT-SIG-B 4 us, and the highest ceil((8 bytes + 16 + 6 N_ES) /
    /// N_DBPS) of symbols.
    #[test]
    fn durations_by_hand() {
        // 80 MHz, MCS 7: 234 * 6 * 5/6 = 1170 data bits, 12022 bits: 11 symbols. MCS 4,
        // 702 bits: 18. MCS 9 with 3 streams: 4680 bits, 3 encoders, 800 034 bits: 171.
        let (slow, fast, long) = (user(4, 1, 1_500), user(7, 1, 1_500), user(9, 3, 100_000));
        let us = Duration::from_micros;
        let of = |users: &[VhtMuUser]| {
            ppdu(users).check().expect("a PPDU");
            ppdu(users).duration(Band::Ghz5)
        };
        assert_eq!(of(&[fast, fast]), us(36 + 2 * 4 + 11 * 4));
        assert_eq!(of(&[fast, slow, fast]), us(36 + 4 * 4 + 18 * 4));
        assert_eq!(of(&[slow, fast]), of(&[fast, slow]));
        assert_eq!(of(&[fast; 4]), us(36 + 4 * 4 + 11 * 4));
        assert_eq!(of(&[long, fast]), us(36 + 4 * 4 + 171 * 4));
        assert_eq!(of(&[long, fast, slow]), us(36 + 6 * 4 + 171 * 4));
        assert_eq!(of(&[long, long, fast]), us(36 + 8 * 4 + 171 * 4));
        // Short: 11 symbols of 3.6 us are 39.6 us, in steps of 4 us 40.
        let users = [fast, fast];
        let short = VhtMuPpdu { guard_interval: GuardInterval::Short, ..ppdu(&users) };
        assert_eq!(short.duration(Band::Ghz5), us(36 + 2 * 4 + 40));
        assert_eq!([1, 2, 3, 4, 8].map(vht_ndp), [40, 44, 52, 52, 68].map(us));
    }

    #[test]
    fn what_does_not_exist() {
        let of = |users: &[VhtMuUser]| ppdu(users).check();
        let one = user(7, 1, 100);
        assert_eq!(of(&[one]), Err(VhtMuError::Users(1)));
        assert_eq!(of(&[one; 5]), Err(VhtMuError::Users(5)));
        assert_eq!(of(&[user(7, 3, 1); 3]), Err(VhtMuError::Streams(9)));
        assert_eq!(of(&[one, user(7, 5, 1)]), Err(VhtMuError::NoSuchMode { mcs: 7, streams: 5 }));
        // 80 MHz has no MCS 6 with three streams, 20 MHz no MCS 9 with one.
        assert_eq!(of(&[one, user(6, 3, 1)]), Err(VhtMuError::NoSuchMode { mcs: 6, streams: 3 }));
        let users = [one, user(9, 1, 1)];
        let narrow = VhtMuPpdu { width: Mhz20, ..ppdu(&users) };
        assert_eq!(narrow.check(), Err(VhtMuError::NoSuchMode { mcs: 9, streams: 1 }));
    }
}
