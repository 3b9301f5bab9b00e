//! The VHT field of radiotap (radiotap.org/fields/VHT): the transmission parameters of a VHT PPDU,
//! for up to four users. The subfields are raw; accessors return their meaning if it is known.

use lasthop_wifi_phy::{ChannelWidth, GuardInterval};

/// The VHT field, as raw subfields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Vht {
    /// Known parts of the other fields.
    pub known: u16,
    /// STBC, guard interval, beamforming and further flags; bit 2 is the short guard interval.
    pub flags: u8,
    /// Bandwidth code: 0 is 20 MHz, 1 is 40, 4 is 80, 11 is 160.
    pub bandwidth: u8,
    /// MCS in bits 4 to 7 and spatial streams in bits 0 to 3 (0: no user), for each user.
    pub mcs_streams: [u8; 4],
    /// Users with LDPC: bit n is user n.
    pub coding: u8,
    /// Group ID, which shows whether the PPDU is for one station or several.
    pub group_id: u8,
    /// Partial AID of the receiver.
    pub partial_aid: u16,
}

/// One user of a VHT PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VhtUser {
    /// MCS index, 0 to 9; `None` if only the streams are known.
    pub mcs: Option<u8>,
    /// Spatial streams, 1 to 8.
    pub spatial_streams: u8,
    /// Whether the coding is LDPC instead of convolutional.
    pub ldpc: bool,
}

impl Vht {
    const KNOWN_STBC: u16 = 0x0001;
    const KNOWN_GUARD_INTERVAL: u16 = 0x0004;
    const KNOWN_LDPC_EXTRA_SYMBOL: u16 = 0x0010;
    const KNOWN_BEAMFORMED: u16 = 0x0020;
    const KNOWN_BANDWIDTH: u16 = 0x0040;
    const KNOWN_GROUP_ID: u16 = 0x0080;
    const KNOWN_PARTIAL_AID: u16 = 0x0100;
    const STBC: u8 = 0x01;
    const SHORT_GUARD_INTERVAL: u8 = 0x04;
    const LDPC_EXTRA_SYMBOL: u8 = 0x10;
    const BEAMFORMED: u8 = 0x20;
    /// Group ID of several users; the model has no assignment of stations to groups.
    const SOME_GROUP: u8 = 1;
    /// MCS of a user if only the streams are known.
    const MCS_UNKNOWN: u8 = 15;

    /// Returns the field of a PPDU for one user, with the parameters of the rate.
    pub(super) const fn single_user(
        mcs: u8,
        streams: u8,
        width: ChannelWidth,
        guard_interval: GuardInterval,
    ) -> Self {
        Self {
            known: Self::KNOWN_GUARD_INTERVAL | Self::KNOWN_BANDWIDTH,
            flags: match guard_interval {
                GuardInterval::Long => 0,
                GuardInterval::Short => Self::SHORT_GUARD_INTERVAL,
            },
            bandwidth: match width {
                ChannelWidth::Mhz20 => 0,
                ChannelWidth::Mhz40 => 1,
                ChannelWidth::Mhz80 => 4,
                // VHT has nothing wider.
                ChannelWidth::Mhz160 | ChannelWidth::Mhz320 => 11,
            },
            mcs_streams: [mcs << 4 | streams, 0, 0, 0],
            coding: 0,
            group_id: 0,
            partial_aid: 0,
        }
    }

    /// Returns the field of a PPDU for several users; only the one at `place`, 0 to 3, is known.
    pub(super) const fn of_several(mut self, place: usize) -> Self {
        let user = self.mcs_streams[0];
        self.mcs_streams = [0; 4];
        self.mcs_streams[if place < 4 { place } else { 3 }] = user;
        self.known |= Self::KNOWN_GROUP_ID;
        self.group_id = Self::SOME_GROUP;
        self
    }

    /// The user at this position, 0 to 3; `None` if there is none.
    pub fn user(&self, place: usize) -> Option<VhtUser> {
        let octet = *self.mcs_streams.get(place)?;
        let (mcs, spatial_streams) = (octet >> 4, octet & 15);
        (spatial_streams > 0).then_some(VhtUser {
            mcs: (mcs != Self::MCS_UNKNOWN).then_some(mcs),
            spatial_streams,
            ldpc: self.coding >> place & 1 == 1,
        })
    }

    /// The users, one or several; the other positions are empty.
    pub fn users(&self) -> impl Iterator<Item = VhtUser> + '_ {
        (0..self.mcs_streams.len()).filter_map(|place| self.user(place))
    }

    /// Width of the PPDU in MHz, if known: 20, 40, 80 or 160. A part of a wider channel
    /// counts with its own width.
    pub const fn bandwidth_mhz(&self) -> Option<u16> {
        if self.known & Self::KNOWN_BANDWIDTH == 0 {
            return None;
        }
        match self.bandwidth & 0x1f {
            0 | 2 | 3 | 7..=10 | 18..=25 => Some(20),
            1 | 5 | 6 | 14..=17 => Some(40),
            4 | 12 | 13 => Some(80),
            11 => Some(160),
            _ => None,
        }
    }

    /// Guard interval, if known.
    pub const fn guard_interval(&self) -> Option<GuardInterval> {
        match self.flag(Self::KNOWN_GUARD_INTERVAL, Self::SHORT_GUARD_INTERVAL) {
            Some(true) => Some(GuardInterval::Short),
            Some(false) => Some(GuardInterval::Long),
            None => None,
        }
    }

    /// Whether all streams have space-time block coding, if known.
    pub const fn stbc(&self) -> Option<bool> {
        self.flag(Self::KNOWN_STBC, Self::STBC)
    }

    /// Whether LDPC needed one more symbol, if known.
    pub const fn ldpc_extra_symbol(&self) -> Option<bool> {
        self.flag(Self::KNOWN_LDPC_EXTRA_SYMBOL, Self::LDPC_EXTRA_SYMBOL)
    }

    /// Whether the PPDU is beamformed, if known; for PPDUs of one user.
    pub const fn beamformed(&self) -> Option<bool> {
        self.flag(Self::KNOWN_BEAMFORMED, Self::BEAMFORMED)
    }

    /// Group ID, if known: 0 and 63 stand for one user, the others for several.
    pub const fn group_id(&self) -> Option<u8> {
        if self.known & Self::KNOWN_GROUP_ID != 0 { Some(self.group_id) } else { None }
    }

    /// Partial AID, if known; for PPDUs of one user.
    pub const fn partial_aid(&self) -> Option<u16> {
        if self.known & Self::KNOWN_PARTIAL_AID != 0 { Some(self.partial_aid) } else { None }
    }

    const fn flag(&self, known: u16, flag: u8) -> Option<bool> {
        if self.known & known != 0 { Some(self.flags & flag != 0) } else { None }
    }
}
