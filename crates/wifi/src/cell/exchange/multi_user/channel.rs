//! The channel of an exchange with several stations, and the durations and rates of its PPDUs
//! (IEEE 802.11ax-2021, 27.4.3). Lengths are in bytes.

use super::most_bytes;
use crate::phy::{
    Band, ChannelWidth, GuardInterval, HeGuardInterval, MuPpdu, MuUser, PacketPadding, Rate,
    SignalB, TriggeredPpdu, VhtMuPpdu, VhtMuUser,
};
use alloc::vec::Vec;
use lasthop_units::{Bitrate, Duration};

/// A channel, and the parameters of HE MU PPDUs in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::cell) struct MuChannel {
    pub band: Band,
    pub width: ChannelWidth,
    pub guard_interval: HeGuardInterval,
    /// Guard interval of VHT MU PPDUs, if these replace HE MU PPDUs.
    pub vht: Option<GuardInterval>,
    /// The longest nominal packet padding among the receivers.
    pub padding: PacketPadding,
    /// Nominal packet padding of the access point, which its Trigger frames carry (9.3.1.22: PE
    /// Disambiguity and Pre-FEC Padding Factor).
    pub own_padding: PacketPadding,
}

impl MuChannel {
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

    /// Time from the start of the PPDU to the end of the HE-LTFs.
    pub fn header(&self, users: &[MuUser]) -> Duration {
        match self.vht {
            Some(guard_interval) => self.vht_ppdu(users, guard_interval).0,
            None => self.ppdu(users).preamble_and_header(),
        }
    }

    /// Duration of the whole PPDU.
    pub fn duration(&self, users: &[MuUser]) -> Duration {
        match self.vht {
            Some(guard_interval) => self.vht_ppdu(users, guard_interval).1,
            None => self.ppdu(users).duration(self.band),
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
        match self.vht {
            Some(guard_interval) => {
                let &MuUser { mcs, streams, .. } = user;
                Rate::Vht { mcs, streams, width: self.width, guard_interval }.bitrate()
            }
            None => user.bitrate(self.guard_interval),
        }
    }

    /// Duration of a symbol, by which the PPDU may become longer when all users' codes are known.
    pub fn symbol(&self) -> Duration {
        match self.vht {
            Some(_) => Duration::ZERO,
            None => self.guard_interval.symbol(),
        }
    }

    /// Returns the same channel without packet extension, which follows all data.
    pub fn without_padding(self) -> Self {
        Self { padding: PacketPadding::None, own_padding: PacketPadding::None, ..self }
    }

    /// Time from the HE-LTFs to the end of the PPDU, for one user alone.
    pub fn data_time(&self, user: &MuUser) -> Duration {
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
        let ppdu = TriggeredPpdu {
            width: self.width,
            guard_interval: self.triggered_guard_interval(),
            padding: self.own_padding,
            users,
        };
        (ppdu.preamble_and_header(), ppdu.duration(self.band))
    }

    /// A rate of this channel with one stream, for a Block Ack or for third parties.
    pub fn rate(&self, mcs: u8, guard_interval: HeGuardInterval) -> Rate {
        if let Some(guard_interval) = self.vht {
            return Rate::Vht { mcs, streams: 1, width: self.width, guard_interval };
        }
        Rate::He { mcs, streams: 1, width: self.width, guard_interval, dcm: false }
    }
}

/// Highest MCS of HE-SIG-B (27.3.11.8).
const SIGNAL_B_MCS_MAX: u8 = 5;
