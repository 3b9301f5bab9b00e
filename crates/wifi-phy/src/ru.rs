//! Resource units of HE PPDUs (IEEE 802.11ax-2021, 27.3.2) and EHT PPDUs (IEEE 802.11be-2024,
//! 36.3.2): sizes, data subcarriers, numbers and positions in a channel. `eht_ru` has the positions
//! of multiple RUs.
//!
//! The position of an RU is given in 26-tone units from the lowest frequency: 9 in each 20 MHz, and
//! one more in the middle of each 80 MHz.

use super::ChannelWidth;
use core::fmt;
use core::ops::Range;

/// The size of a resource unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuSize {
    /// 26 tones: a ninth of 20 MHz, 2 MHz.
    Tones26,
    /// 52 tones: 4 MHz.
    Tones52,
    /// 106 tones: 8 MHz.
    Tones106,
    /// 242 tones: 20 MHz.
    Tones242,
    /// 484 tones: 40 MHz.
    Tones484,
    /// 996 tones: 80 MHz.
    Tones996,
    /// Twice 996 tones: 160 MHz.
    Tones2x996,
    /// Four times 996 tones: 320 MHz (EHT).
    Tones4x996,
    /// The multiple RU of 52 and 26 tones, in 20 MHz (EHT).
    Tones52And26,
    /// The multiple RU of 106 and 26 tones, in 20 MHz (EHT).
    Tones106And26,
    /// The multiple RU of 484 and 242 tones: 60 of 80 MHz (EHT).
    Tones484And242,
    /// The multiple RU of 996 and 484 tones: 120 of 160 MHz (EHT).
    Tones996And484,
    /// The multiple RU of 996, 484 and 242 tones: 140 of 160 MHz (EHT).
    Tones996And484And242,
    /// The multiple RU of twice 996 and 484 tones: 200 of 320 MHz (EHT).
    Tones2x996And484,
    /// The multiple RU of three times 996 tones: 240 of 320 MHz (EHT).
    Tones3x996,
    /// The multiple RU of three times 996 and 484 tones: 280 of 320 MHz (EHT).
    Tones3x996And484,
}

impl RuSize {
    /// All sizes of HE in ascending order.
    pub const ALL: [Self; 7] = [
        Self::Tones26,
        Self::Tones52,
        Self::Tones106,
        Self::Tones242,
        Self::Tones484,
        Self::Tones996,
        Self::Tones2x996,
    ];

    /// All sizes of EHT, in ascending order of their tones.
    pub const ALL_EHT: [Self; 16] = [
        Self::Tones26,
        Self::Tones52,
        Self::Tones52And26,
        Self::Tones106,
        Self::Tones106And26,
        Self::Tones242,
        Self::Tones484,
        Self::Tones484And242,
        Self::Tones996,
        Self::Tones996And484,
        Self::Tones996And484And242,
        Self::Tones2x996,
        Self::Tones2x996And484,
        Self::Tones3x996,
        Self::Tones3x996And484,
        Self::Tones4x996,
    ];

    /// Returns the size that fills a channel.
    pub const fn of_width(width: ChannelWidth) -> Self {
        match width {
            ChannelWidth::Mhz20 => Self::Tones242,
            ChannelWidth::Mhz40 => Self::Tones484,
            ChannelWidth::Mhz80 => Self::Tones996,
            ChannelWidth::Mhz160 => Self::Tones2x996,
            ChannelWidth::Mhz320 => Self::Tones4x996,
        }
    }

    /// Sizes of the RUs that a multiple RU joins, the largest first; `None` for a single RU.
    pub const fn parts(self) -> Option<&'static [Self]> {
        use RuSize::{Tones26, Tones52, Tones106, Tones242, Tones484, Tones996};
        Some(match self {
            Self::Tones52And26 => &[Tones52, Tones26],
            Self::Tones106And26 => &[Tones106, Tones26],
            Self::Tones484And242 => &[Tones484, Tones242],
            Self::Tones996And484 => &[Tones996, Tones484],
            Self::Tones996And484And242 => &[Tones996, Tones484, Tones242],
            Self::Tones2x996And484 => &[Tones996, Tones996, Tones484],
            Self::Tones3x996 => &[Tones996, Tones996, Tones996],
            Self::Tones3x996And484 => &[Tones996, Tones996, Tones996, Tones484],
            _ => return None,
        })
    }

    /// Number of tones, pilots included: 26 to 3984.
    #[inline]
    pub const fn tones(self) -> u16 {
        match self {
            Self::Tones26 => 26,
            Self::Tones52 => 52,
            Self::Tones106 => 106,
            Self::Tones242 => 242,
            Self::Tones484 => 484,
            Self::Tones996 => 996,
            Self::Tones2x996 => 1992,
            Self::Tones4x996 => 3984,
            Self::Tones52And26 => 78,
            Self::Tones106And26 => 132,
            Self::Tones484And242 => 726,
            Self::Tones996And484 => 1480,
            Self::Tones996And484And242 => 1722,
            Self::Tones2x996And484 => 2476,
            Self::Tones3x996 => 2988,
            Self::Tones3x996And484 => 3472,
        }
    }

    /// Data subcarriers of a symbol (N_SD, 27.5 and 36.5): 24 to 3920, half as many with dual
    /// carrier modulation.
    #[inline]
    pub const fn data_subcarriers(self, dcm: bool) -> u32 {
        let all = match self {
            Self::Tones26 => 24,
            Self::Tones52 => 48,
            Self::Tones106 => 102,
            Self::Tones242 => 234,
            Self::Tones484 => 468,
            Self::Tones996 => 980,
            Self::Tones2x996 => 1960,
            Self::Tones4x996 => 3920,
            Self::Tones52And26 => 72,
            Self::Tones106And26 => 126,
            Self::Tones484And242 => 702,
            Self::Tones996And484 => 1448,
            Self::Tones996And484And242 => 1682,
            Self::Tones2x996And484 => 2428,
            Self::Tones3x996 => 2940,
            Self::Tones3x996And484 => 3408,
        };
        if dcm { all / 2 } else { all }
    }

    /// Data subcarriers of one of the four segments of a last symbol with padding after the code
    /// (N_SD,SHORT, 27.3.12 and 36.3.13; from other implementations, the tables themselves were not
    /// seen). A multiple RU has those of its parts together: 3x996 those of 2x996 and 996.
    pub(super) const fn short_subcarriers(self, dcm: bool) -> u32 {
        match (self, dcm) {
            (Self::Tones26, false) => 6,
            (Self::Tones26, true) => 2,
            (Self::Tones52, false) => 12,
            (Self::Tones52, true) => 6,
            (Self::Tones106, false) => 24,
            (Self::Tones106, true) => 12,
            (Self::Tones242, false) => 60,
            (Self::Tones242, true) => 30,
            (Self::Tones484, false) => 120,
            (Self::Tones484, true) => 60,
            (Self::Tones996, false) => 240,
            (Self::Tones996, true) => 120,
            (Self::Tones2x996, false) => 492,
            (Self::Tones2x996, true) => 246,
            (Self::Tones4x996, false) => 984,
            (Self::Tones4x996, true) => 492,
            (Self::Tones52And26, false) => 18,
            (Self::Tones52And26, true) => 8,
            (Self::Tones106And26, false) => 30,
            (Self::Tones106And26, true) => 14,
            (Self::Tones484And242, false) => 180,
            (Self::Tones484And242, true) => 90,
            (Self::Tones996And484, false) => 360,
            (Self::Tones996And484, true) => 180,
            (Self::Tones996And484And242, false) => 420,
            (Self::Tones996And484And242, true) => 210,
            (Self::Tones2x996And484, false) => 612,
            (Self::Tones2x996And484, true) => 306,
            (Self::Tones3x996, false) => 732,
            (Self::Tones3x996, true) => 366,
            (Self::Tones3x996And484, false) => 852,
            (Self::Tones3x996And484, true) => 426,
        }
    }

    /// Number of RUs of this size that fit in a channel (27.3.2.2): 9, 18, 37 and 74 of 26 tones in
    /// 20, 40, 80 and 160 MHz, 4 to 32 of 52, 2 to 16 of 106, 1 to 8 of 242, none to 4 of 484, none
    /// to 2 of 996, one of twice 996 in 160 MHz; twice as many in 320 MHz, and one of four times 996.
    /// Multiple RUs are not counted: none.
    #[inline]
    pub const fn count_in(self, width: ChannelWidth) -> u8 {
        let wide = match width {
            ChannelWidth::Mhz20 => 1,
            ChannelWidth::Mhz40 => 2,
            ChannelWidth::Mhz80 => 4,
            ChannelWidth::Mhz160 => 8,
            ChannelWidth::Mhz320 => 16,
        };
        match self {
            // One in the middle of each 80 MHz.
            Self::Tones26 => 9 * wide + wide / 4,
            Self::Tones52 => 4 * wide,
            Self::Tones106 => 2 * wide,
            Self::Tones242 => wide,
            Self::Tones484 => wide / 2,
            Self::Tones996 => wide / 4,
            Self::Tones2x996 => wide / 8,
            Self::Tones4x996 => wide / 16,
            _ => 0,
        }
    }
}

/// Formats as `26`, `52`, `106`, `242`, `484`, `996`, `2x996`, `4x996`, and for a multiple RU as
/// `484+242`.
impl fmt::Display for RuSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tones2x996 => f.write_str("2x996"),
            Self::Tones4x996 => f.write_str("4x996"),
            Self::Tones996And484And242 => f.write_str("996+484+242"),
            Self::Tones2x996And484 => f.write_str("2x996+484"),
            Self::Tones3x996 => f.write_str("3x996"),
            Self::Tones3x996And484 => f.write_str("3x996+484"),
            Self::Tones52And26 => f.write_str("52+26"),
            Self::Tones106And26 => f.write_str("106+26"),
            Self::Tones484And242 => f.write_str("484+242"),
            Self::Tones996And484 => f.write_str("996+484"),
            size => write!(f, "{}", size.tones()),
        }
    }
}

/// A resource unit: a size at a position in the channel.
///
/// ```
/// use lasthop_wifi_phy::{ChannelWidth, Ru, RuSize};
///
/// let first = Ru::new(RuSize::Tones106, 1).expect("the first of 80 MHz");
/// assert!(first.fits(ChannelWidth::Mhz20));
/// assert_eq!(RuSize::Tones106.count_in(ChannelWidth::Mhz80), 8);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ru {
    size: RuSize,
    index: u8,
}

impl Ru {
    /// Returns the RU of a size at `index`, which counts those of its size from 1 at the lowest
    /// frequency of the channel (tables 27-7 to 27-9; in 160 MHz those of the upper 80 MHz follow
    /// those of the lower, in 320 MHz likewise). Returns `None` if even 320 MHz has no such RU, and
    /// for multiple RUs.
    pub const fn new(size: RuSize, index: u8) -> Option<Self> {
        if index == 0 || index > size.count_in(ChannelWidth::Mhz320) {
            return None;
        }
        Some(Self { size, index })
    }

    /// Returns all RUs of a size in a channel, from the lowest frequency upwards.
    pub fn all(size: RuSize, width: ChannelWidth) -> impl ExactSizeIterator<Item = Self> + Clone {
        (0..size.count_in(width)).map(move |index| Self { size, index: index + 1 })
    }

    /// Size of the RU.
    #[inline]
    pub const fn size(self) -> RuSize {
        self.size
    }

    /// Index among the RUs of its size, from 1.
    #[inline]
    pub const fn index(self) -> u8 {
        self.index
    }

    /// Whether a channel of this width has it.
    #[inline]
    pub const fn fits(self, width: ChannelWidth) -> bool {
        self.index <= self.size.count_in(width)
    }

    /// Whether two RUs have tones in common.
    #[inline]
    pub const fn overlaps(self, other: Self) -> bool {
        let (a, b) = (self.units(), other.units());
        a.start < b.end && b.start < a.end
    }

    /// The 26-tone units that it covers, of 0 to 147.
    #[inline]
    pub const fn units(self) -> Range<u8> {
        let i = self.index - 1;
        let (start, count) = match self.size {
            RuSize::Tones26 => (i, 1),
            RuSize::Tones52 => (first_unit(i / 4) + [0, 2, 5, 7][(i % 4) as usize], 2),
            RuSize::Tones106 => (first_unit(i / 2) + [0, 5][(i % 2) as usize], 4),
            RuSize::Tones242 => (first_unit(i), 9),
            RuSize::Tones484 => (first_unit(2 * i), 18),
            RuSize::Tones996 => (first_unit(4 * i), 37),
            RuSize::Tones2x996 => (74 * i, 74),
            // The only other single one.
            _ => (0, 148),
        };
        start..start + count
    }

    /// The first and last channel of 20 MHz that the RU is in, from 0 at the lowest frequency. The
    /// 26-tone RU in the middle of 80 MHz is in two.
    #[inline]
    pub const fn subchannels(self) -> (u8, u8) {
        const fn place(unit: u8, middle: u8) -> u8 {
            let in_80_mhz = match unit % 37 {
                0..=8 => 0,
                9..=17 => 1,
                18 => middle,
                19..=27 => 2,
                _ => 3,
            };
            unit / 37 * 4 + in_80_mhz
        }
        let units = self.units();
        (place(units.start, 1), place(units.end - 1, 2))
    }

    /// The RU Allocation subfield of a Trigger frame's User Info (IEEE 802.11ax-2021, 9.3.1.22,
    /// table 9-30h). Bit 0 marks the upper 80 MHz of 160 MHz. The others count all RUs of 80 MHz by
    /// size, from 0 for the first of 26 tones to 67 for 996 tones; 68 is twice 996 tones. Only RUs of
    /// 160 MHz have this form.
    #[inline]
    pub const fn trigger_allocation(self) -> u8 {
        let (before, of_80_mhz) = match self.size {
            RuSize::Tones26 => (0, 37),
            RuSize::Tones52 => (37, 16),
            RuSize::Tones106 => (53, 8),
            RuSize::Tones242 => (61, 4),
            RuSize::Tones484 => (65, 2),
            RuSize::Tones996 => (67, 1),
            _ => return 68 << 1 | 1,
        };
        let i = self.index - 1;
        ((before + i % of_80_mhz) << 1) | (i / of_80_mhz)
    }

    /// The RU Allocation subfield of the EHT variant of User Info (IEEE 802.11be-2024, 9.3.1.22, table
    /// 9-53a) with PS160 as bit 8, which marks the upper 160 MHz of 320 MHz as bit 0 marks the upper 80
    /// MHz of 160 MHz. Codes below are those of HE; 69 is four times 996 tones.
    #[inline]
    pub const fn eht_trigger_allocation(self) -> u16 {
        match self.size {
            RuSize::Tones4x996 => 1 << 8 | 69 << 1 | 1,
            RuSize::Tones2x996 => ((self.index - 1) as u16) << 8 | 68 << 1 | 1,
            size => {
                let of_160_mhz = size.count_in(ChannelWidth::Mhz160);
                let upper = (self.index - 1) / of_160_mhz;
                let lower = Self { size, index: self.index - upper * of_160_mhz };
                (upper as u16) << 8 | lower.trigger_allocation() as u16
            }
        }
    }

    /// Whether this is the 26-tone RU in the middle of 80 MHz.
    #[inline]
    pub const fn is_middle(self) -> bool {
        matches!(self.size, RuSize::Tones26) && (self.index - 1) % 37 == 18
    }

    /// The content channel of HE-SIG-B that describes the RU, 0 or 1, in a channel of 40 MHz or
    /// more (27.3.11.8): the first has the first 20 MHz of each 40 MHz and the middle 26 tones of
    /// the lower 80 MHz, the second the others. `None` for an RU above 20 MHz, which either may
    /// describe.
    pub(super) const fn content_channel(self) -> Option<usize> {
        if (self.size as u8) > (RuSize::Tones242 as u8) {
            return None;
        }
        let unit = self.units().start;
        if self.is_middle() {
            return Some((unit / 37 % 2) as usize);
        }
        let in_80_mhz = unit % 37;
        let of_20_mhz = if in_80_mhz < 18 { in_80_mhz / 9 } else { (in_80_mhz - 19) / 9 };
        Some((of_20_mhz % 2) as usize)
    }
}

/// The first 26-tone unit of the 20 MHz of this number, 0 to 15.
const fn first_unit(of_20_mhz: u8) -> u8 {
    let in_80_mhz = of_20_mhz % 4;
    // The middle unit of the 80 MHz comes before its upper half.
    37 * (of_20_mhz / 4) + 9 * in_80_mhz + in_80_mhz / 2
}

/// Formats as `RU 52/3`: size and index.
impl fmt::Display for Ru {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RU {}/{}", self.size, self.index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate alloc;
    use alloc::vec::Vec;

    const WIDTHS: [ChannelWidth; 4] =
        [ChannelWidth::Mhz20, ChannelWidth::Mhz40, ChannelWidth::Mhz80, ChannelWidth::Mhz160];

    /// The table of the standard: bits 7 to 1 as in HE, 80 MHz by PS160 and bit 0, and each RU of 320
    /// MHz has a code of its own.
    #[test]
    fn eht_allocations() {
        let code = |size, index| Ru::new(size, index).expect("an RU").eht_trigger_allocation();
        assert_eq!(code(RuSize::Tones242, 1), 61 << 1);
        assert_eq!(code(RuSize::Tones242, 8), 64 << 1 | 1);
        assert_eq!(code(RuSize::Tones996, 3), 1 << 8 | 67 << 1);
        assert_eq!(code(RuSize::Tones996, 4), 1 << 8 | 67 << 1 | 1);
        assert_eq!(code(RuSize::Tones2x996, 2), 1 << 8 | 68 << 1 | 1);
        assert_eq!(code(RuSize::Tones4x996, 1), 1 << 8 | 69 << 1 | 1);
        let sizes = RuSize::ALL.into_iter().chain([RuSize::Tones4x996]);
        let all = sizes.flat_map(|size| Ru::all(size, ChannelWidth::Mhz320));
        let mut codes: Vec<u16> = all.map(Ru::eht_trigger_allocation).collect();
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), count);
    }

    /// IEEE 802.11ax-2021, table 27-6 (maximum number of RUs).
    #[test]
    fn how_many_fit() {
        let counts = RuSize::ALL.map(|size| WIDTHS.map(|width| size.count_in(width)));
        let expected = [
            [9, 18, 37, 74],
            [4, 8, 16, 32],
            [2, 4, 8, 16],
            [1, 2, 4, 8],
            [0, 1, 2, 4],
            [0, 0, 1, 2],
            [0, 0, 0, 1],
        ];
        assert_eq!(counts, expected);
        for width in WIDTHS {
            assert_eq!(RuSize::of_width(width).count_in(width), 1);
        }
    }

    /// Figures 27-5 to 27-7: nine units of 26 tones in 20 MHz, and one between the middle ones of
    /// 80 MHz.
    #[test]
    fn what_an_ru_is_in() {
        let of = |size, index| Ru::new(size, index).map(Ru::subchannels);
        for (index, expected) in
            [(1, (0, 0)), (9, (0, 0)), (10, (1, 1)), (18, (1, 1)), (19, (1, 2)), (20, (2, 2))]
        {
            assert_eq!(of(RuSize::Tones26, index), Some(expected), "{index}");
        }
        for (index, expected) in
            [(28, (2, 2)), (29, (3, 3)), (37, (3, 3)), (38, (4, 4)), (56, (5, 6)), (74, (7, 7))]
        {
            assert_eq!(of(RuSize::Tones26, index), Some(expected), "{index}");
        }
        for width in WIDTHS {
            let whole = RuSize::Tones242.count_in(width);
            assert_eq!(of(RuSize::of_width(width), 1), Some((0, whole - 1)));
            for size in [RuSize::Tones52, RuSize::Tones106, RuSize::Tones242, RuSize::Tones484] {
                let count = size.count_in(width);
                for (place, ru) in (0..).zip(Ru::all(size, width)) {
                    let each = |place: u8| (u16::from(place) * u16::from(whole)) / u16::from(count);
                    let last = if size == RuSize::Tones484 { each(place) + 1 } else { each(place) };
                    let (first, end) = ru.subchannels();
                    assert_eq!((u16::from(first), u16::from(end)), (each(place), last), "{ru}");
                }
            }
        }
    }

    #[test]
    fn rus_of_a_size_lie_beside_each_other() {
        for width in WIDTHS {
            let whole = RuSize::Tones26.count_in(width);
            for size in RuSize::ALL {
                let all: Vec<Ru> = Ru::all(size, width).collect();
                for pair in all.windows(2) {
                    assert!(pair[0].units().end <= pair[1].units().start && pair[0] < pair[1]);
                    assert!(!pair[0].overlaps(pair[1]));
                }
                assert!(all.iter().all(|ru| ru.fits(width) && ru.units().end <= whole));
                assert!(all.iter().all(|ru| Ru::new(size, ru.index()) == Some(*ru)));
            }
        }
        assert_eq!(Ru::new(RuSize::Tones52, 0), None);
        assert_eq!(Ru::new(RuSize::Tones996, 5), None);
    }

    /// The subcarrier ranges of IEEE 802.11ax-2021, table 27-9 (80 MHz).
    #[test]
    fn places_in_80_mhz() {
        let units = |size, index| Ru::new(size, index).expect("an RU").units();
        // 26-tone RU 19 is the middle one; RUs 5, 14, 24 and 33 are no part of a
        // 52-tone RU.
        assert!(Ru::new(RuSize::Tones26, 19).expect("an RU").is_middle());
        assert_eq!(units(RuSize::Tones52, 8), 16..18);
        assert_eq!(units(RuSize::Tones52, 9), 19..21);
        assert_eq!(units(RuSize::Tones106, 4), 14..18);
        assert_eq!(units(RuSize::Tones242, 3), 19..28);
        assert_eq!(units(RuSize::Tones484, 1), 0..18);
        assert_eq!(units(RuSize::Tones484, 2), 19..37);
        assert_eq!(units(RuSize::Tones996, 2), 37..74);
        let alone: Vec<u8> = (1..=37)
            .filter(|&index| {
                let ru = Ru::new(RuSize::Tones26, index).expect("an RU");
                !Ru::all(RuSize::Tones52, ChannelWidth::Mhz80).any(|other| other.overlaps(ru))
            })
            .collect();
        assert_eq!(alone, [5, 14, 19, 24, 33]);
    }

    #[test]
    fn content_channels() {
        let channel = |size, index| Ru::new(size, index).expect("an RU").content_channel();
        let of_242 = [1, 2, 3, 4, 5, 6, 7, 8].map(|index| channel(RuSize::Tones242, index));
        let alternating = [0, 1, 0, 1, 0, 1, 0, 1].map(Some);
        assert_eq!(of_242, alternating);
        assert_eq!(channel(RuSize::Tones26, 19), Some(0));
        assert_eq!(channel(RuSize::Tones26, 37 + 19), Some(1));
        assert_eq!(channel(RuSize::Tones26, 20), Some(0));
        assert_eq!(channel(RuSize::Tones26, 37), Some(1));
        assert_eq!(channel(RuSize::Tones484, 1), None);
    }
}
