//! Values of radiotap fields (radiotap.org, "defined fields") and the meaning of their bits. Fields
//! with unnamed bits are raw, so that these bits survive.

use crate::frame::Layout;
use lasthop_wifi_phy::{Band, ChannelWidth, GuardInterval};

/// The Flags field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct FlagsField(pub u8);

impl FlagsField {
    /// Bit for the DSSS short preamble.
    pub const SHORT_PREAMBLE: u8 = 0x02;
    /// Bit for a frame that ends with its FCS.
    pub const FCS_AT_END: u8 = 0x10;
    /// Bit for a MAC header that is padded to 32 bits.
    pub const DATA_PAD: u8 = 0x20;
    /// Bit for a wrong FCS.
    pub const BAD_FCS: u8 = 0x40;
    /// Bit for the short guard interval (older than the MCS field).
    pub const SHORT_GUARD_INTERVAL: u8 = 0x80;

    /// Whether the frame has the DSSS short preamble.
    pub const fn short_preamble(self) -> bool {
        self.0 & Self::SHORT_PREAMBLE != 0
    }

    /// Whether the frame ends with its FCS.
    pub const fn fcs_at_end(self) -> bool {
        self.0 & Self::FCS_AT_END != 0
    }

    /// Whether the FCS was wrong.
    pub const fn bad_fcs(self) -> bool {
        self.0 & Self::BAD_FCS != 0
    }

    /// Layout of the frame after the header.
    pub const fn layout(self) -> Layout {
        Layout { fcs: self.fcs_at_end(), padded: self.0 & Self::DATA_PAD != 0 }
    }
}

/// The Channel field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Centre of the 20 MHz (or primary) channel in MHz.
    pub frequency_mhz: u16,
    /// Band and modulation.
    pub flags: u16,
}

impl Channel {
    /// Bit for CCK (and DSSS).
    pub const CCK: u16 = 0x0020;
    /// Bit for OFDM.
    pub const OFDM: u16 = 0x0040;
    /// Bit for the 2.4 GHz band.
    pub const GHZ_2: u16 = 0x0080;
    /// Bit for the 5 GHz band.
    pub const GHZ_5: u16 = 0x0100;
    /// Bit for both CCK and OFDM.
    pub const DYNAMIC: u16 = 0x0400;

    /// Returns the channel of this number (IEEE 802.11-2020, 17.3.8.4 and 19.3.15; at 6 GHz
    /// 27.3.23.2 of IEEE 802.11ax-2021) with its band's flag, without a modulation.
    pub const fn from_number(band: Band, number: u8) -> Self {
        let number_mhz = 5 * number as u16;
        match band {
            // Channel 14 is not on the 5 MHz raster.
            Band::Ghz2_4 if number == 14 => Self { frequency_mhz: 2484, flags: Self::GHZ_2 },
            Band::Ghz2_4 => Self { frequency_mhz: 2407 + number_mhz, flags: Self::GHZ_2 },
            Band::Ghz5 => Self { frequency_mhz: 5000 + number_mhz, flags: Self::GHZ_5 },
            // Radiotap has no flag of its own for 6 GHz; Linux sets that of 5 GHz too.
            Band::Ghz6 => Self { frequency_mhz: 5950 + number_mhz, flags: Self::GHZ_5 },
        }
    }

    /// Returns this channel with further flags.
    #[must_use]
    pub const fn with_flags(self, flags: u16) -> Self {
        Self { flags: self.flags | flags, ..self }
    }
}

/// The MCS field: an HT rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Mcs {
    /// Known parts of the other fields.
    pub known: u8,
    /// Bandwidth, guard interval and further flags.
    pub flags: u8,
    /// MCS index, 0 to 76.
    pub index: u8,
}

impl Mcs {
    const KNOWN_BANDWIDTH: u8 = 0x01;
    const KNOWN_INDEX: u8 = 0x02;
    const KNOWN_GUARD_INTERVAL: u8 = 0x04;
    const KNOWN_FORMAT: u8 = 0x08;
    const KNOWN_FEC: u8 = 0x10;
    const KNOWN_STBC: u8 = 0x20;
    const KNOWN_EXTENSION_STREAMS: u8 = 0x40;
    const BANDWIDTH: u8 = 0x03;
    const BANDWIDTH_40: u8 = 1;
    const SHORT_GUARD_INTERVAL: u8 = 0x04;
    const GREENFIELD: u8 = 0x08;
    const LDPC: u8 = 0x10;
    const STBC_SHIFT: u8 = 5;

    /// Returns HT-mixed with convolutional coding, no STBC and no extension streams.
    pub const fn ht_mixed(index: u8, width: ChannelWidth, guard_interval: GuardInterval) -> Self {
        let bandwidth = match width {
            ChannelWidth::Mhz20 => 0,
            // HT has nothing wider.
            _ => Self::BANDWIDTH_40,
        };
        let short = match guard_interval {
            GuardInterval::Long => 0,
            GuardInterval::Short => Self::SHORT_GUARD_INTERVAL,
        };
        let known = Self::KNOWN_BANDWIDTH
            | Self::KNOWN_INDEX
            | Self::KNOWN_GUARD_INTERVAL
            | Self::KNOWN_FORMAT
            | Self::KNOWN_FEC
            | Self::KNOWN_STBC
            | Self::KNOWN_EXTENSION_STREAMS;
        Self { known, flags: bandwidth | short, index }
    }

    /// MCS index, if known.
    pub const fn index(self) -> Option<u8> {
        if self.known & Self::KNOWN_INDEX != 0 { Some(self.index) } else { None }
    }

    /// Bandwidth, if known; 20 MHz in the lower or upper half of 40 MHz is 20 MHz.
    pub const fn width(self) -> Option<ChannelWidth> {
        match (self.known & Self::KNOWN_BANDWIDTH, self.flags & Self::BANDWIDTH) {
            (0, _) => None,
            (_, Self::BANDWIDTH_40) => Some(ChannelWidth::Mhz40),
            _ => Some(ChannelWidth::Mhz20),
        }
    }

    /// Guard interval, if known.
    pub const fn guard_interval(self) -> Option<GuardInterval> {
        match (self.known & Self::KNOWN_GUARD_INTERVAL, self.flags & Self::SHORT_GUARD_INTERVAL) {
            (0, _) => None,
            (_, 0) => Some(GuardInterval::Long),
            _ => Some(GuardInterval::Short),
        }
    }

    /// Whether the format is HT-greenfield instead of HT-mixed, if known.
    pub const fn greenfield(self) -> Option<bool> {
        self.flag(Self::KNOWN_FORMAT, Self::GREENFIELD)
    }

    /// Whether the coding is LDPC instead of convolutional, if known.
    pub const fn ldpc(self) -> Option<bool> {
        self.flag(Self::KNOWN_FEC, Self::LDPC)
    }

    /// Number of STBC streams, 0 to 3, if known.
    pub const fn stbc_streams(self) -> Option<u8> {
        let streams = self.flags >> Self::STBC_SHIFT & 3;
        if self.known & Self::KNOWN_STBC != 0 { Some(streams) } else { None }
    }

    const fn flag(self, known: u8, flag: u8) -> Option<bool> {
        if self.known & known != 0 { Some(self.flags & flag != 0) } else { None }
    }
}

/// The A-MPDU status field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AmpduStatus {
    /// Number that all frames of one A-MPDU share, and that differs in the next.
    pub reference: u32,
    /// Known properties of the subframe.
    pub flags: u16,
    /// The delimiter's CRC, if [`DELIMITER_CRC_KNOWN`](Self::DELIMITER_CRC_KNOWN).
    pub delimiter_crc: u8,
}

impl AmpduStatus {
    /// Flag: the driver reports subframes of length 0.
    pub const REPORTS_ZERO_LENGTH: u16 = 0x0001;
    /// Flag: this is one of them, if [`REPORTS_ZERO_LENGTH`](Self::REPORTS_ZERO_LENGTH).
    pub const ZERO_LENGTH: u16 = 0x0002;
    /// Flag: [`LAST`](Self::LAST) is valid.
    pub const LAST_KNOWN: u16 = 0x0004;
    /// Flag: this is the last subframe.
    pub const LAST: u16 = 0x0008;
    /// Flag: the delimiter's CRC was wrong.
    pub const DELIMITER_CRC_ERROR: u16 = 0x0010;
    /// Flag: the delimiter's CRC is given.
    pub const DELIMITER_CRC_KNOWN: u16 = 0x0020;
    /// Flag: the delimiter's EOF bit, if [`END_OF_FRAME_KNOWN`](Self::END_OF_FRAME_KNOWN).
    pub const END_OF_FRAME: u16 = 0x0040;
    /// Flag: [`END_OF_FRAME`](Self::END_OF_FRAME) is valid.
    pub const END_OF_FRAME_KNOWN: u16 = 0x0080;

    /// Returns the status of a subframe that is known to be the last, or not.
    pub const fn new(reference: u32, last: bool) -> Self {
        let flags = if last { Self::LAST_KNOWN | Self::LAST } else { Self::LAST_KNOWN };
        Self { reference, flags, delimiter_crc: 0 }
    }

    /// Whether this is the last subframe of its A-MPDU, if known.
    pub const fn is_last(self) -> Option<bool> {
        self.flag(Self::LAST_KNOWN, Self::LAST)
    }

    /// EOF bit of the delimiter, if known: set in an A-MPDU with this single MPDU, and in padding.
    pub const fn end_of_frame(self) -> Option<bool> {
        self.flag(Self::END_OF_FRAME_KNOWN, Self::END_OF_FRAME)
    }

    /// Whether this is a subframe of length 0, if the driver reports them.
    pub const fn is_zero_length(self) -> Option<bool> {
        self.flag(Self::REPORTS_ZERO_LENGTH, Self::ZERO_LENGTH)
    }

    /// Whether the CRC of the delimiter was wrong.
    pub const fn delimiter_crc_error(self) -> bool {
        self.flags & Self::DELIMITER_CRC_ERROR != 0
    }

    /// CRC of the delimiter, if known.
    pub const fn delimiter_crc(self) -> Option<u8> {
        if self.flags & Self::DELIMITER_CRC_KNOWN != 0 { Some(self.delimiter_crc) } else { None }
    }

    const fn flag(self, known: u16, flag: u16) -> Option<bool> {
        if self.flags & known != 0 { Some(self.flags & flag != 0) } else { None }
    }
}

/// The XChannel field: like Channel, with more flags (unofficial; FreeBSD and macOS write it).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct XChannel {
    /// Band and modulation: the flags of [`Channel`] in the low half, HT in the high one.
    pub flags: u32,
    /// Centre of the primary channel in MHz.
    pub frequency_mhz: u16,
    /// Number of the channel.
    pub number: u8,
    /// Highest permitted power, in an unknown unit.
    pub max_power: u8,
}

impl XChannel {
    /// Flag for HT of 20 MHz.
    pub const HT_20: u32 = 0x0001_0000;
    /// Flag for HT of 40 MHz, the secondary channel above.
    pub const HT_40_ABOVE: u32 = 0x0002_0000;
    /// Flag for HT of 40 MHz, the secondary channel below.
    pub const HT_40_BELOW: u32 = 0x0004_0000;

    /// Width of the channel in MHz, if one of the flags of HT is set.
    pub const fn width_mhz(self) -> Option<u16> {
        if self.flags & (Self::HT_40_ABOVE | Self::HT_40_BELOW) != 0 {
            Some(40)
        } else if self.flags & Self::HT_20 != 0 {
            Some(20)
        } else {
            None
        }
    }
}

/// The 0-length-PSDU field: the reason why no frame follows the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroLengthPsdu {
    /// A sounding PPDU, which has no data.
    Sounding,
    /// The data was not captured.
    NotCaptured,
    /// Any other code; 255 is vendor-specific.
    Other(u8),
}

impl ZeroLengthPsdu {
    /// Returns the value of the field's octet.
    pub const fn from_code(code: u8) -> Self {
        match code {
            0 => Self::Sounding,
            1 => Self::NotCaptured,
            code => Self::Other(code),
        }
    }

    /// Octet of the field.
    pub const fn code(self) -> u8 {
        match self {
            Self::Sounding => 0,
            Self::NotCaptured => 1,
            Self::Other(code) => code,
        }
    }
}

/// The L-SIG field: the legacy SIGNAL field of an OFDM preamble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LSig {
    /// Known parts of `data`.
    pub known: u16,
    /// Rate in bits 0 to 3, length in bits 4 to 15.
    pub data: u16,
}

impl LSig {
    const KNOWN_RATE: u16 = 0x0001;
    const KNOWN_LENGTH: u16 = 0x0002;

    /// The RATE bits (table 17-6), if known; those of a later PPDU always stand for 6 Mb/s.
    pub const fn rate(self) -> Option<u8> {
        if self.known & Self::KNOWN_RATE != 0 { Some((self.data & 15) as u8) } else { None }
    }

    /// The LENGTH in octets, if known; in a later PPDU it gives the time for which the air is busy.
    pub const fn length(self) -> Option<u16> {
        if self.known & Self::KNOWN_LENGTH != 0 { Some(self.data >> 4) } else { None }
    }
}

/// The Timestamp field, as raw subfields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Timestamp {
    /// Reading of the clock, in its unit.
    pub timestamp: u64,
    /// Accuracy in the unit, if the flags mark it as known.
    pub accuracy: u16,
    /// Unit in bits 0 to 3 (0: ms, 1: us, 3: ns), sampling position in bits 4 to 7.
    pub unit_position: u8,
    /// Bit 0: 32-bit counter, bit 1: the accuracy is known.
    pub flags: u8,
}
