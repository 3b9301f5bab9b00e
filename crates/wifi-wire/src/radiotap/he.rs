//! The HE fields of radiotap (radiotap.org/fields/HE, HE-MU, HE-MU-other-user): the transmission
//! parameters of an HE PPDU (IEEE 802.11ax). The words are raw; accessors return their meaning if
//! it is known. The RU allocation octets of HE-SIG-B are not interpreted.

use super::Allocation;
use lasthop_units::Duration;
use lasthop_wifi_phy::{ChannelWidth, HeGuardInterval, Rate, RuSize};

/// The HE field: data1 to data6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct He {
    /// Words of the field: `data[n]` is data(n + 1) on radiotap.org.
    pub data: [u16; 6],
}

/// The format of an HE PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HeFormat {
    /// HE SU: one user.
    SingleUser,
    /// HE ER SU: one user, extended range.
    ExtendedRange,
    /// HE MU: one or several users, each with an RU or streams.
    MultiUser,
    /// HE TB: one station's answer to a Trigger frame.
    TriggerBased,
}

impl He {
    /// Returns the field of a PPDU for one user, with the parameters of the rate; `None` for a rate
    /// other than HE.
    pub(super) fn single_user(rate: Rate) -> Option<Self> {
        let (format, mcs, streams, guard_interval, dcm, allocation) = match rate {
            Rate::He { mcs, streams, width, guard_interval, dcm } => {
                let allocation = match width {
                    ChannelWidth::Mhz20 => 0,
                    ChannelWidth::Mhz40 => 1,
                    ChannelWidth::Mhz80 => 2,
                    // HE has nothing wider.
                    ChannelWidth::Mhz160 | ChannelWidth::Mhz320 => 3,
                };
                (0, mcs, streams, guard_interval, dcm, allocation)
            }
            Rate::HeExtendedRange { mcs, tones, guard_interval, dcm } => {
                let allocation = if tones == RuSize::Tones106 { 6 } else { 7 };
                (1, mcs, 1, guard_interval, dcm, allocation)
            }
            _ => return None,
        };
        let (guard_interval, ltf_size) = match guard_interval {
            HeGuardInterval::Ns800Ltf1x => (0, 1),
            HeGuardInterval::Ns800Ltf2x => (0, 2),
            HeGuardInterval::Ns800Ltf4x => (0, 3),
            HeGuardInterval::Ns1600Ltf1x => (1, 1),
            HeGuardInterval::Ns1600Ltf2x => (1, 2),
            HeGuardInterval::Ns3200Ltf4x => (2, 3),
        };
        let mut data = [0; 6];
        // MCS, DCM and the resource unit are known; the guard interval.
        data[0] = format | 0x0020 | 0x0040 | 0x4000;
        data[1] = 0x0002;
        data[2] = u16::from(mcs) << 8 | u16::from(dcm) << 12;
        data[4] = allocation | guard_interval << 4 | ltf_size << 6;
        data[5] = u16::from(streams);
        Some(Self { data })
    }

    /// Returns the field with another format, on an RU of this size.
    pub(super) fn on_unit(mut self, format: HeFormat, size: RuSize) -> Self {
        let format = match format {
            HeFormat::SingleUser => 0,
            HeFormat::ExtendedRange => 1,
            HeFormat::MultiUser => 2,
            HeFormat::TriggerBased => 3,
        };
        let allocation = match size {
            RuSize::Tones26 => 4,
            RuSize::Tones52 => 5,
            RuSize::Tones106 => 6,
            RuSize::Tones242 => 7,
            RuSize::Tones484 => 8,
            RuSize::Tones996 => 9,
            // HE has nothing else.
            _ => 10,
        };
        self.data[0] = self.data[0] & !3 | format;
        self.data[4] = self.data[4] & !15 | allocation;
        self
    }

    /// Format of the PPDU.
    pub const fn format(&self) -> HeFormat {
        match self.data[0] & 3 {
            0 => HeFormat::SingleUser,
            1 => HeFormat::ExtendedRange,
            2 => HeFormat::MultiUser,
            _ => HeFormat::TriggerBased,
        }
    }

    /// BSS colour, 0 to 63, if known.
    pub const fn bss_colour(&self) -> Option<u8> {
        if self.data[0] & 0x0004 != 0 { Some((self.data[2] & 0x3f) as u8) } else { None }
    }

    /// The Beam Change bit, if known.
    pub const fn beam_change(&self) -> Option<bool> {
        self.flag(0x0008, 0x0040)
    }

    /// Whether the PPDU is from a station to the access point, if known.
    pub const fn uplink(&self) -> Option<bool> {
        self.flag(0x0010, 0x0080)
    }

    /// MCS of the data, 0 to 11, if known.
    pub const fn mcs(&self) -> Option<u8> {
        if self.data[0] & 0x0020 != 0 { Some((self.data[2] >> 8 & 15) as u8) } else { None }
    }

    /// Whether the data has dual carrier modulation, if known.
    pub const fn dcm(&self) -> Option<bool> {
        self.flag(0x0040, 0x1000)
    }

    /// Whether the coding is LDPC instead of convolutional, if known.
    pub const fn ldpc(&self) -> Option<bool> {
        self.flag(0x0080, 0x2000)
    }

    /// Whether LDPC needed one more symbol segment, if known.
    pub const fn ldpc_extra_symbol(&self) -> Option<bool> {
        self.flag(0x0100, 0x4000)
    }

    /// Whether space-time block coding is used, if known.
    pub const fn stbc(&self) -> Option<bool> {
        self.flag(0x0200, 0x8000)
    }

    /// Spatial Reuse 1 to 4, if known; only HE TB has more than the first.
    pub const fn spatial_reuse(&self, n: u8) -> Option<u8> {
        let trigger_based = matches!(self.format(), HeFormat::TriggerBased);
        let (known, shift) = match n {
            1 => (0x0400, 0),
            2 if trigger_based => (0x0800, 4),
            3 if trigger_based => (0x1000, 8),
            4 if trigger_based => (0x2000, 12),
            _ => return None,
        };
        if self.data[0] & known != 0 { Some((self.data[3] >> shift & 15) as u8) } else { None }
    }

    /// STA-ID of the user with this data in an HE MU PPDU, if known.
    pub const fn station_id(&self) -> Option<u16> {
        match self.format() {
            HeFormat::MultiUser if self.data[0] & 0x0800 != 0 => Some(self.data[3] >> 4 & 0x7ff),
            _ => None,
        }
    }

    /// Channel or resource unit of the data, if known.
    pub const fn allocation(&self) -> Option<Allocation> {
        if self.data[0] & 0x4000 == 0 {
            return None;
        }
        Some(match self.data[4] & 15 {
            0 => Allocation::Channel { mhz: 20 },
            1 => Allocation::Channel { mhz: 40 },
            2 => Allocation::Channel { mhz: 80 },
            3 => Allocation::Channel { mhz: 160 },
            4 => Allocation::ResourceUnit { tones: 26 },
            5 => Allocation::ResourceUnit { tones: 52 },
            6 => Allocation::ResourceUnit { tones: 106 },
            7 => Allocation::ResourceUnit { tones: 242 },
            8 => Allocation::ResourceUnit { tones: 484 },
            9 => Allocation::ResourceUnit { tones: 996 },
            10 => Allocation::ResourceUnit { tones: 2 * 996 },
            _ => return None,
        })
    }

    /// Index of the resource unit among those of its size, from the lowest in the 80 MHz on, if
    /// known.
    pub const fn allocation_offset(&self) -> Option<u8> {
        if self.data[1] & 0x4000 != 0 { Some((self.data[1] >> 8 & 0x3f) as u8) } else { None }
    }

    /// Whether the resource unit is in the secondary 80 MHz, if known.
    pub const fn in_secondary_80_mhz(&self) -> Option<bool> {
        if self.data[1] & 0x0001 != 0 { Some(self.data[1] & 0x8000 != 0) } else { None }
    }

    /// Guard interval, if known: 800, 1 600 or 3 200 ns.
    pub const fn guard_interval(&self) -> Option<Duration> {
        if self.data[1] & 0x0002 != 0 { guard_interval(self.data[4] >> 4) } else { None }
    }

    /// Length of an LTF symbol, 1, 2 or 4 times 3.2 us, if known.
    pub const fn ltf_size(&self) -> Option<u8> {
        ltf_size(self.data[4] >> 6)
    }

    /// Number of LTF symbols, if known: 1, 2, 4, 6 or 8.
    pub const fn ltf_symbols(&self) -> Option<u8> {
        if self.data[1] & 0x0004 != 0 { ltf_symbols(self.data[4] >> 8) } else { None }
    }

    /// Whether the PPDU is beamformed, if known.
    pub const fn beamformed(&self) -> Option<bool> {
        if self.data[1] & 0x0010 != 0 { Some(self.data[4] & 0x4000 != 0) } else { None }
    }

    /// Number of space-time streams of this user (NSTS), if known.
    pub const fn space_time_streams(&self) -> Option<u8> {
        match self.data[5] & 15 {
            0 => None,
            streams => Some(streams as u8),
        }
    }

    /// Number of spatial streams of this user, if known; one with STBC (IEEE 802.11ax-2021,
    /// 27.3.12), for any number of space-time streams.
    pub const fn spatial_streams(&self) -> Option<u8> {
        match (self.stbc(), self.space_time_streams()) {
            (Some(true), Some(_)) => Some(1),
            (_, streams) => streams,
        }
    }

    /// The raw TXOP field, if known: 127 for "unspecified".
    pub const fn txop(&self) -> Option<u8> {
        if self.data[1] & 0x0040 != 0 { Some((self.data[5] >> 8 & 0x7f) as u8) } else { None }
    }

    /// Remaining duration of the TXOP in microseconds, if known and specified.
    pub const fn txop_us(&self) -> Option<u16> {
        match self.txop() {
            Some(txop) => txop_us(txop),
            None => None,
        }
    }

    const fn flag(&self, known: u16, flag: u16) -> Option<bool> {
        if self.data[0] & known != 0 { Some(self.data[2] & flag != 0) } else { None }
    }
}

/// The HE-MU field: properties that the users of an HE MU PPDU share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HeMu {
    /// MCS and DCM of HE-SIG-B, and flags of known parts.
    pub flags1: u16,
    /// Bandwidth, compression, users, puncturing.
    pub flags2: u16,
    /// RU Allocation subfields of HE-SIG-B content channel 1 (table 27-26).
    pub channel1: [u8; 4],
    /// RU Allocation subfields of HE-SIG-B content channel 2.
    pub channel2: [u8; 4],
}

impl HeMu {
    /// MCS of HE-SIG-B, if known.
    pub const fn sig_b_mcs(&self) -> Option<u8> {
        if self.flags1 & 0x0010 != 0 { Some((self.flags1 & 15) as u8) } else { None }
    }

    /// Whether HE-SIG-B has dual carrier modulation, if known.
    pub const fn sig_b_dcm(&self) -> Option<bool> {
        if self.flags1 & 0x0040 != 0 { Some(self.flags1 & 0x0020 != 0) } else { None }
    }

    /// Whether HE-SIG-B has no RU allocations, because all users share the whole bandwidth
    /// (MU-MIMO), if known.
    pub const fn sig_b_compressed(&self) -> Option<bool> {
        if self.flags1 & 0x4000 != 0 { Some(self.flags2 & 0x0008 != 0) } else { None }
    }

    /// Number of HE-SIG-B symbols, or of MU-MIMO users if compressed, if known.
    pub const fn sig_b_symbols_or_users(&self) -> Option<u8> {
        if self.flags1 & 0x8000 != 0 { Some((self.flags2 >> 4 & 15) as u8 + 1) } else { None }
    }

    /// Width of the PPDU in MHz, if known: 20, 40, 80 or 160.
    pub const fn bandwidth_mhz(&self) -> Option<u16> {
        if self.flags2 & 0x0004 != 0 { Some(20 << (self.flags2 & 3)) } else { None }
    }

    /// Puncturing, if known: 0 none, 1 the secondary 20 MHz, 2 beyond the primary 40 MHz.
    pub const fn puncturing(&self) -> Option<u8> {
        if self.flags2 & 0x0400 != 0 { Some((self.flags2 >> 8 & 3) as u8) } else { None }
    }

    /// RU Allocation subfields of content channel 1, if known; the bandwidth determines how many
    /// are valid.
    pub const fn channel1(&self) -> Option<[u8; 4]> {
        if self.flags1 & 0x0100 != 0 { Some(self.channel1) } else { None }
    }

    /// RU Allocation subfields of content channel 2, if known.
    pub const fn channel2(&self) -> Option<[u8; 4]> {
        if self.flags1 & 0x0200 != 0 { Some(self.channel2) } else { None }
    }
}

/// The HE-MU-other-user field: the HE-SIG-B user field of another station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HeMuOtherUser {
    /// Bits B0 to B14 of the user field.
    pub user1: u16,
    /// Bits B15 to B20 of the user field.
    pub user2: u16,
    /// Position of the user field, from 0.
    pub position: u8,
    /// Known parts of the other fields.
    pub known: u8,
}

impl HeMuOtherUser {
    /// Position of the user field, from 0, if known.
    pub const fn position(&self) -> Option<u8> {
        if self.known & 0x01 != 0 { Some(self.position) } else { None }
    }

    /// STA-ID, if known.
    pub const fn station_id(&self) -> Option<u16> {
        if self.known & 0x02 != 0 { Some(self.user1 & 0x7ff) } else { None }
    }

    /// Number of space-time streams, 1 to 8, if known; not with MU-MIMO.
    pub const fn space_time_streams(&self) -> Option<u8> {
        if self.known & 0x04 != 0 { Some((self.user1 >> 11 & 7) as u8 + 1) } else { None }
    }

    /// Whether the PPDU is beamformed, if known; not with MU-MIMO.
    pub const fn beamformed(&self) -> Option<bool> {
        if self.known & 0x08 != 0 { Some(self.user1 & 0x4000 != 0) } else { None }
    }

    /// Spatial configuration (27.3.11.8), if known; with MU-MIMO only.
    pub const fn spatial_configuration(&self) -> Option<u8> {
        if self.known & 0x10 != 0 { Some((self.user1 >> 11 & 15) as u8) } else { None }
    }

    /// MCS, if known.
    pub const fn mcs(&self) -> Option<u8> {
        if self.known & 0x20 != 0 { Some((self.user2 & 15) as u8) } else { None }
    }

    /// Whether dual carrier modulation is used, if known.
    pub const fn dcm(&self) -> Option<bool> {
        if self.known & 0x40 != 0 { Some(self.user2 & 0x10 != 0) } else { None }
    }

    /// Whether the coding is LDPC instead of convolutional, if known.
    pub const fn ldpc(&self) -> Option<bool> {
        if self.known & 0x80 != 0 { Some(self.user2 & 0x20 != 0) } else { None }
    }
}

/// Guard interval in the two low bits; 3 is reserved.
pub(super) const fn guard_interval(bits: u16) -> Option<Duration> {
    match bits & 3 {
        0 => Some(Duration::from_nanos(800)),
        1 => Some(Duration::from_nanos(1600)),
        2 => Some(Duration::from_nanos(3200)),
        _ => None,
    }
}

/// LTF size in the two low bits; 0 is unknown.
pub(super) const fn ltf_size(bits: u16) -> Option<u8> {
    match bits & 3 {
        1 => Some(1),
        2 => Some(2),
        3 => Some(4),
        _ => None,
    }
}

/// Number of LTF symbols in the three low bits; 5 to 7 are reserved.
pub(super) const fn ltf_symbols(bits: u16) -> Option<u8> {
    match bits & 7 {
        0 => Some(1),
        bits @ 1..=4 => Some(2 * bits as u8),
        _ => None,
    }
}

/// Duration in the TXOP subfield (IEEE 802.11ax-2021, table 27-18): bit 0 selects units of 8 us, or
/// of 128 us from 512 us on; 127 is unspecified.
pub(super) const fn txop_us(txop: u8) -> Option<u16> {
    let count = (txop >> 1) as u16;
    match txop {
        127.. => None,
        _ if txop & 1 == 0 => Some(8 * count),
        _ => Some(512 + 128 * count),
    }
}
