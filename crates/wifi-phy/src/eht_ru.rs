//! Multiple RUs and punctured channels of EHT PPDUs (IEEE 802.11be-2024, 36.3.2.2.3, 36.3.12.7.2):
//! which part of a channel they occupy.
//!
//! A large multiple RU is a channel of 80, 160 or 320 MHz without one or two parts. The 26 and 52 or
//! 106 tones of a small one lie beside each other in 20 MHz. The tables of the clauses were not
//! available: the positions follow these rules, and the few places in 80 MHz that the standard does
//! not permit for a small multiple RU are not left out. EHT has no 26-tone RU in the middle of 80
//! MHz.

use super::{ChannelWidth, Ru, RuSize};
use core::fmt;

/// Positions of small multiple RUs in 20 MHz, as 26-tone units: first and number.
const SMALL_52: [(u8, u8); 3] = [(1, 3), (2, 3), (5, 3)];
const SMALL_106: [(u8, u8); 2] = [(0, 5), (4, 5)];

/// The punctured part of a channel that a PPDU to one user leaves out: the Punctured Channel
/// Information field of U-SIG. Every station knows it from the access point's announcement
/// (Disabled Subchannel Bitmap).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Puncturing(u8);

impl Puncturing {
    /// Nothing is punctured.
    pub const NONE: Self = Self(0);

    /// Returns the puncturing with this value of the field: none (0); of 80 MHz one of four times
    /// 20 MHz (1 to 4); of 160 MHz one of eight times 20 (1 to 8) or of four times 40 MHz (9 to
    /// 12); of 320 MHz one of eight times 40 (1 to 8), of four times 80 (9 to 12), or the lowest or
    /// highest 80 MHz and another 40 MHz (13 to 18, 19 to 24). `None` for any other.
    pub const fn new(value: u8, width: ChannelWidth) -> Option<Self> {
        let count = match width {
            ChannelWidth::Mhz20 | ChannelWidth::Mhz40 => 0,
            ChannelWidth::Mhz80 => 4,
            ChannelWidth::Mhz160 => 12,
            ChannelWidth::Mhz320 => 24,
        };
        if value <= count { Some(Self(value)) } else { None }
    }

    /// Returns the puncturing that leaves out these channels of 20 MHz: bit 0 is the lowest. `None`
    /// if there is none.
    pub fn of_subchannels(punctured: u16, width: ChannelWidth) -> Option<Self> {
        (0..=24)
            .filter_map(|value| Self::new(value, width))
            .find(|it| it.subchannels(width) == punctured)
    }

    /// Value of the field, 0 to 24.
    pub const fn value(self) -> u8 {
        self.0
    }

    /// Whether nothing is punctured.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The punctured channels of 20 MHz: bit 0 is the lowest.
    pub const fn subchannels(self, width: ChannelWidth) -> u16 {
        let value = self.0;
        match (width, value) {
            (ChannelWidth::Mhz80, 1..=4) | (ChannelWidth::Mhz160, 1..=8) => 1 << (value - 1),
            (ChannelWidth::Mhz160, 9..=12) => 0b11 << (2 * (value - 9)),
            (ChannelWidth::Mhz320, 1..=8) => 0b11 << (2 * (value - 1)),
            (ChannelWidth::Mhz320, 9..=12) => 0b1111 << (4 * (value - 9)),
            (ChannelWidth::Mhz320, 13..=18) => 0b1111 | 0b11_0000 << (2 * (value - 13)),
            (ChannelWidth::Mhz320, 19..=24) => 0b1111 << 12 | 0b11 << (2 * (value - 19)),
            _ => 0,
        }
    }

    /// Size of the multiple RU that remains; `None` if nothing is punctured.
    pub const fn size(self, width: ChannelWidth) -> Option<RuSize> {
        Some(match (width, self.0) {
            (ChannelWidth::Mhz80, 1..=4) => RuSize::Tones484And242,
            (ChannelWidth::Mhz160, 1..=8) => RuSize::Tones996And484And242,
            (ChannelWidth::Mhz160, 9..=12) => RuSize::Tones996And484,
            (ChannelWidth::Mhz320, 1..=8) => RuSize::Tones3x996And484,
            (ChannelWidth::Mhz320, 9..=12) => RuSize::Tones3x996,
            (ChannelWidth::Mhz320, 13..=24) => RuSize::Tones2x996And484,
            _ => return None,
        })
    }
}

/// A single or multiple RU at a position of a channel of EHT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EhtRu {
    size: RuSize,
    index: u8,
}

impl EhtRu {
    /// Returns the RU of a size at `index`, from 1 at the lowest frequency. Multiple RUs are counted
    /// by their first tone, then by the part that they leave out, in ascending order; those of 2x996
    /// and 484 tones as [`Puncturing`] does. `None` if 320 MHz have no such RU, and for the
    /// 26-tone RU in the middle of 80 MHz, whose index EHT does not use.
    pub const fn new(size: RuSize, index: u8) -> Option<Self> {
        let it = Self { size, index };
        if index == 0 || index > it.count_in(ChannelWidth::Mhz320) || it.is_middle() {
            return None;
        }
        Some(it)
    }

    /// Returns the RU that fills a channel, or the multiple RU that puncturing leaves of it.
    pub const fn of_channel(width: ChannelWidth, puncturing: Puncturing) -> Self {
        let Some(size) = puncturing.size(width) else {
            return Self { size: RuSize::of_width(width), index: 1 };
        };
        // By the first value of this size.
        let before = match size {
            RuSize::Tones996And484 | RuSize::Tones3x996 => 8,
            RuSize::Tones2x996And484 => 12,
            _ => 0,
        };
        Self { size, index: puncturing.value() - before }
    }

    /// Returns all RUs of a size in a channel.
    pub fn all(size: RuSize, width: ChannelWidth) -> impl Iterator<Item = Self> + Clone {
        let count = Self { size, index: 1 }.count_in(width);
        (1..=count).map(move |index| Self { size, index }).filter(|ru| !ru.is_middle())
    }

    /// Size of the RU.
    pub const fn size(self) -> RuSize {
        self.size
    }

    /// Index among the RUs of its size, from 1.
    pub const fn index(self) -> u8 {
        self.index
    }

    /// Whether a channel of this width has it.
    pub const fn fits(self, width: ChannelWidth) -> bool {
        self.index <= self.count_in(width)
    }

    const fn is_middle(self) -> bool {
        matches!(self.size, RuSize::Tones26) && (self.index - 1) % 37 == 18
    }

    /// Highest index in a channel.
    const fn count_in(self, width: ChannelWidth) -> u8 {
        // Of 20 MHz, 80, 160 and 320 MHz.
        let [mhz20, mhz80, mhz160, mhz320] = match width {
            ChannelWidth::Mhz20 => [1, 0, 0, 0],
            ChannelWidth::Mhz40 => [2, 0, 0, 0],
            ChannelWidth::Mhz80 => [4, 1, 0, 0],
            ChannelWidth::Mhz160 => [8, 2, 1, 0],
            ChannelWidth::Mhz320 => [16, 4, 2, 1],
        };
        match self.size {
            RuSize::Tones52And26 => 3 * mhz20,
            RuSize::Tones106And26 => 2 * mhz20,
            RuSize::Tones484And242 => 4 * mhz80,
            RuSize::Tones996And484 => 4 * mhz160,
            RuSize::Tones996And484And242 => 8 * mhz160,
            RuSize::Tones2x996And484 => 12 * mhz320,
            RuSize::Tones3x996 => 4 * mhz320,
            RuSize::Tones3x996And484 => 8 * mhz320,
            single => single.count_in(width),
        }
    }

    /// The 26-tone units that it covers, of 0 to 147: bit n of word n / 64.
    pub fn units(self) -> [u64; 3] {
        let mut units = [0; 3];
        let mut add = |first: u8, count: u8| {
            for unit in first..first + count {
                units[usize::from(unit / 64)] |= 1 << (unit % 64);
            }
        };
        // The first unit of 20 MHz, with that in the middle of each 80 MHz before its upper half.
        let first = |of_20_mhz: u8| {
            let in_80_mhz = of_20_mhz % 4;
            37 * (of_20_mhz / 4) + 9 * in_80_mhz + in_80_mhz / 2
        };
        let i = self.index - 1;
        let whole = |width, value: u8, place: u8| {
            let width: ChannelWidth = width;
            let count = RuSize::Tones242.count_in(width);
            let all = u32::MAX >> (32 - u32::from(count));
            let left = all & !u32::from(Puncturing(value).subchannels(width));
            left << (u32::from(place) * u32::from(count))
        };
        let channels = match self.size {
            RuSize::Tones52And26 => {
                let (start, count) = SMALL_52[usize::from(i % 3)];
                add(first(i / 3) + start, count);
                return units;
            }
            RuSize::Tones106And26 => {
                let (start, count) = SMALL_106[usize::from(i % 2)];
                add(first(i / 2) + start, count);
                return units;
            }
            RuSize::Tones484And242 => whole(ChannelWidth::Mhz80, i % 4 + 1, i / 4),
            RuSize::Tones996And484And242 => whole(ChannelWidth::Mhz160, i % 8 + 1, i / 8),
            RuSize::Tones996And484 => whole(ChannelWidth::Mhz160, i % 4 + 9, i / 4),
            RuSize::Tones3x996And484 => whole(ChannelWidth::Mhz320, i + 1, 0),
            RuSize::Tones3x996 => whole(ChannelWidth::Mhz320, i + 9, 0),
            RuSize::Tones2x996And484 => whole(ChannelWidth::Mhz320, i + 13, 0),
            single => {
                if let Some(ru) = Ru::new(single, self.index) {
                    let covered = ru.units();
                    add(covered.start, covered.end - covered.start);
                }
                return units;
            }
        };
        for of_80_mhz in 0..4 {
            let part = channels >> (4 * of_80_mhz) & 0b1111;
            if part == 0b1111 {
                add(37 * of_80_mhz, 37);
                continue;
            }
            for place in (0..4).filter(|place| part >> place & 1 == 1) {
                add(first(4 * of_80_mhz + place), 9);
            }
        }
        units
    }

    /// Whether two RUs have tones in common.
    pub fn overlaps(self, other: Self) -> bool {
        self.units().iter().zip(other.units()).any(|(a, b)| a & b != 0)
    }

    /// The content channel of EHT-SIG that describes the RU, 0 or 1, in a channel of 40 MHz or more:
    /// that of its 20 MHz. `None` for an RU above 20 MHz, which either may describe.
    pub(super) fn content_channel(self) -> Option<usize> {
        match self.size {
            RuSize::Tones52And26 => Some(usize::from((self.index - 1) / 3 % 2)),
            RuSize::Tones106And26 => Some(usize::from((self.index - 1) / 2 % 2)),
            single => Ru::new(single, self.index)?.content_channel(),
        }
    }

    /// Whether it has less than 242 tones.
    pub(super) const fn is_small(self) -> bool {
        self.size.tones() < 242
    }
}

/// Formats as `RU 484+242/3`: size and index.
impl fmt::Display for EhtRu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RU {}/{}", self.size, self.index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tones, data subcarriers and units are those of the parts.
    #[test]
    fn multiple_rus_are_their_parts() {
        for size in RuSize::ALL_EHT {
            let Some(parts) = size.parts() else { continue };
            assert_eq!(size.tones(), parts.iter().map(|part| part.tones()).sum::<u16>());
            let data = |part: &RuSize| part.data_subcarriers(false);
            assert_eq!(size.data_subcarriers(false), parts.iter().map(data).sum::<u32>());
            let units = parts.iter().map(|part| Ru::new(*part, 1).expect("an RU").units().len());
            let units: usize = units.sum();
            for ru in EhtRu::all(size, ChannelWidth::Mhz320) {
                let covered: u32 = ru.units().iter().map(|word| word.count_ones()).sum();
                assert_eq!(usize::try_from(covered), Ok(units), "{ru}");
                assert_eq!(EhtRu::new(size, ru.index()), Some(ru));
                for other in EhtRu::all(size, ChannelWidth::Mhz320) {
                    assert!(ru == other || ru.units() != other.units(), "{ru} and {other}");
                }
            }
        }
        for pair in RuSize::ALL_EHT.windows(2) {
            assert!(pair[0].tones() < pair[1].tones());
        }
    }

    /// Every value punctures another part, of the size that remains; the field of 320 MHz as
    /// published: 4 + 12 + 24 patterns.
    #[test]
    fn punctured_channels() {
        for (width, count) in [
            (ChannelWidth::Mhz20, 0),
            (ChannelWidth::Mhz40, 0),
            (ChannelWidth::Mhz80, 4),
            (ChannelWidth::Mhz160, 12),
            (ChannelWidth::Mhz320, 24),
        ] {
            let all = (1..=30).filter_map(|value| Puncturing::new(value, width));
            assert_eq!(all.clone().count(), count);
            for puncturing in all {
                let out = puncturing.subchannels(width);
                assert_eq!(Puncturing::of_subchannels(out, width), Some(puncturing));
                let tones = puncturing.size(width).expect("a multiple RU").tones();
                let left = RuSize::Tones242.count_in(width) - out.count_ones() as u8;
                // 242 to 249 tones in each 20 MHz.
                assert!((242..=249).contains(&(tones / u16::from(left))), "{puncturing:?}");
            }
            assert_eq!(Puncturing::NONE.size(width), None);
        }
        assert_eq!(Puncturing::of_subchannels(0b0101, ChannelWidth::Mhz80), None);
    }

    /// The RU of a punctured channel has the units of all other channels of 20 MHz, and the middle
    /// units of 80 MHz only if all four are there.
    #[test]
    fn punctured_channels_as_rus() {
        for width in ChannelWidth::ALL_EHT {
            for puncturing in (0..=24).filter_map(|value| Puncturing::new(value, width)) {
                let ru = EhtRu::of_channel(width, puncturing);
                assert!(ru.fits(width));
                let left = !puncturing.subchannels(width);
                for of_20_mhz in 0..16 {
                    let part = Ru::new(RuSize::Tones242, of_20_mhz + 1).expect("an RU");
                    let part = EhtRu { size: part.size(), index: part.index() };
                    let is_there = part.fits(width) && left >> of_20_mhz & 1 == 1;
                    assert_eq!(ru.overlaps(part), is_there, "{ru} {of_20_mhz}");
                }
            }
        }
    }

    /// 26-tone units 2 to 4, 3 to 5 and 6 to 8 of nine; 1 to 5 and 5 to 9.
    #[test]
    fn small_multiple_rus() {
        let of = |size, index| EhtRu::new(size, index).expect("an RU").units();
        let range = |from: u64, to: u64| [((1 << (to + 1 - from)) - 1) << (from - 1), 0, 0];
        assert_eq!(of(RuSize::Tones52And26, 1), range(2, 4));
        assert_eq!(of(RuSize::Tones52And26, 2), range(3, 5));
        assert_eq!(of(RuSize::Tones52And26, 3), range(6, 8));
        assert_eq!(of(RuSize::Tones106And26, 2), range(5, 9));
        assert_eq!(of(RuSize::Tones106And26, 3), range(10, 14));
        // The upper half of 80 MHz begins after the middle unit.
        assert_eq!(of(RuSize::Tones106And26, 5), range(20, 24));
        assert_eq!(EhtRu::new(RuSize::Tones26, 19), None);
        assert_eq!(EhtRu::all(RuSize::Tones26, ChannelWidth::Mhz320).count(), 144);
    }
}
