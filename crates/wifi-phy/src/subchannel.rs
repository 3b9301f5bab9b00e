//! Positions of channels: a band's 20 MHz channels by number (IEEE 802.11-2020, annex E), and the
//! wider channels that contain them. 40, 80 and 160 MHz channels are aligned groups of two, four
//! and eight (21.3.14, 19.3.15; IEEE 802.11ax-2021, 27.3.23); of 320 MHz the three channels
//! 320MHz-1 (31, 95, 159; IEEE 802.11be-2024, annex E) are groups of 16. The overlapping ones of
//! 320MHz-2 are left out. Any two of them are therefore one
//! inside the other, or apart.
//!
//! 2.4 GHz has the channels 1, 6 and 11, and 1, 5, 9 and 13, of which the first and the last two
//! make 40 MHz; channels that overlap in part are left out. Channels 169 to 177 at 5 GHz are left
//! out, too.

use super::{Band, ChannelWidth};

/// A 20 MHz channel by its position in its band. Channels of one wider channel differ in the last
/// bits only: one bit for 40 MHz, two for 80, three for 160 and four for 320.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Subchannel(u8);

/// Positions at 5 GHz: position and number of a first channel, and the number of channels from it
/// on. Each entry begins a group of eight.
const GHZ5: [(u8, u8, u8); 3] = [(0, 36, 8), (8, 100, 12), (24, 149, 5)];
/// The number of the last channel at 6 GHz.
const GHZ6_LAST: u8 = 233;
/// Position of the first channel at 6 GHz among all: behind those of a band alone, aligned as they
/// are.
const GHZ6_AMONG_ALL: u8 = 64;
/// Position of the first channel at 2.4 GHz among all.
const GHZ2_4_AMONG_ALL: u8 = 128;
/// Position of the first channel at 5 GHz among all.
const GHZ5_AMONG_ALL: u8 = 192;
/// Positions and numbers at 2.4 GHz.
const GHZ2_4: [(u8, u8); 6] = [(0, 1), (1, 5), (2, 9), (3, 13), (8, 6), (16, 11)];

impl Subchannel {
    /// Returns the channel with this number, if the band has it.
    pub fn from_number(band: Band, number: u8) -> Option<Self> {
        match band {
            Band::Ghz2_4 => {
                let known = GHZ2_4.iter().find(|(_, known)| *known == number);
                known.map(|(place, _)| Self(*place))
            }
            Band::Ghz5 => GHZ5.iter().find_map(|&(place, first, count)| {
                let above = number.checked_sub(first)?;
                (above % 4 == 0 && above / 4 < count).then(|| Self(place + above / 4))
            }),
            Band::Ghz6 => (number % 4 == 1 && number <= GHZ6_LAST).then(|| Self((number - 1) / 4)),
        }
    }

    /// The channel among those of all bands, of which none overlaps one of another band: for devices
    /// with a link in each.
    pub const fn among_all(self, band: Band) -> Self {
        match band {
            Band::Ghz5 => Self(self.0 + GHZ5_AMONG_ALL),
            Band::Ghz6 => Self(self.0 + GHZ6_AMONG_ALL),
            Band::Ghz2_4 => Self(self.0 + GHZ2_4_AMONG_ALL),
        }
    }

    /// The band, and the position in it: `band` unless the channel is one [among
    /// all](Self::among_all).
    const fn in_own(self, band: Band) -> (Band, Self) {
        match self.0 {
            GHZ5_AMONG_ALL.. => (Band::Ghz5, Self(self.0 - GHZ5_AMONG_ALL)),
            GHZ2_4_AMONG_ALL.. => (Band::Ghz2_4, Self(self.0 - GHZ2_4_AMONG_ALL)),
            GHZ6_AMONG_ALL.. => (Band::Ghz6, Self(self.0 - GHZ6_AMONG_ALL)),
            _ => (band, self),
        }
    }

    /// The band of the channel; `band` unless it is one [among all](Self::among_all).
    pub const fn band(self, band: Band) -> Band {
        self.in_own(band).0
    }

    /// All channels of a band, by their numbers.
    pub fn numbers(band: Band) -> impl Iterator<Item = u8> {
        (1..=GHZ6_LAST).filter(move |number| Self::from_number(band, *number).is_some())
    }

    /// Number of the channel; that of the band's first one if the band does not have it.
    pub fn number(self, band: Band) -> u8 {
        let (band, own) = self.in_own(band);
        let mut numbers = Self::numbers(band);
        let first = if band == Band::Ghz5 { GHZ5[0].1 } else { 1 };
        numbers.find(|number| Self::from_number(band, *number) == Some(own)).unwrap_or(first)
    }

    /// Width of the widest channel that contains it.
    pub fn widest(self, band: Band) -> ChannelWidth {
        let (band, own) = self.in_own(band);
        let is_there = |place: u8| {
            Self::numbers(band).any(|it| Self::from_number(band, it) == Some(Self(place)))
        };
        let whole = |width: &ChannelWidth| {
            let first = own.0 >> halvings(*width) << halvings(*width);
            (first..first + (1 << halvings(*width))).all(is_there)
        };
        let most = match band {
            Band::Ghz2_4 => ChannelWidth::Mhz40,
            Band::Ghz5 => ChannelWidth::Mhz160,
            Band::Ghz6 => ChannelWidth::Mhz320,
        };
        let mut widths = ChannelWidth::ALL_EHT.into_iter().rev().filter(|width| *width <= most);
        widths.find(whole).unwrap_or(ChannelWidth::Mhz20)
    }

    /// The 20 MHz channel at `place`, from 0 at the lowest frequency, within the channel of this
    /// width that contains `self`; places wrap around.
    pub const fn at_place(self, place: u8, width: ChannelWidth) -> Self {
        let last = (1 << halvings(width)) - 1;
        Self(self.0 & !last | place & last)
    }

    /// The place of the channel, from 0 at the lowest frequency, within the channel of this width
    /// that contains it.
    pub const fn place_in(self, width: ChannelWidth) -> u8 {
        self.0 & ((1 << halvings(width)) - 1)
    }

    /// The channels of 20 MHz that make the channel of this width that contains it: bit n is the
    /// place n among the 16 of 320 MHz.
    pub const fn parts(self, width: ChannelWidth) -> u16 {
        let count = 1 << halvings(width);
        let first = self.place_in(ChannelWidth::Mhz320) - self.place_in(width);
        (u16::MAX >> (16 - count)) << first
    }

    /// Whether the channel of this width that contains `self` also contains `other`.
    #[inline]
    pub const fn shares(self, other: Self, width: ChannelWidth) -> bool {
        self.0 >> halvings(width) == other.0 >> halvings(width)
    }
}

/// Number of times that a width can be halved down to 20 MHz.
const fn halvings(width: ChannelWidth) -> u32 {
    match width {
        ChannelWidth::Mhz20 => 0,
        ChannelWidth::Mhz40 => 1,
        ChannelWidth::Mhz80 => 2,
        ChannelWidth::Mhz160 => 3,
        ChannelWidth::Mhz320 => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Places count from the lowest channel upwards, for any of its channels.
    #[test]
    fn places_count_from_the_lowest_frequency() {
        let of = |number| Subchannel::from_number(Band::Ghz5, number).expect("it exists");
        for own in [36, 40, 44, 48] {
            let all = [0, 1, 2, 3].map(|place| of(own).at_place(place, ChannelWidth::Mhz80));
            assert_eq!(all, [36, 40, 44, 48].map(of));
            assert_eq!(of(own).at_place(0, ChannelWidth::Mhz20), of(own));
            let place = of(own).place_in(ChannelWidth::Mhz80);
            assert_eq!(of(own).at_place(place, ChannelWidth::Mhz80), of(own));
            assert_eq!(of(own).parts(ChannelWidth::Mhz80), 0b1111);
        }
        assert_eq!(of(60).at_place(1, ChannelWidth::Mhz40), of(64));
        assert_eq!(of(60).at_place(1, ChannelWidth::Mhz160), of(40));
    }

    /// The groups of annex E, with their lowest and highest channels.
    #[test]
    fn wider_channels_are_those_of_annex_e() {
        use ChannelWidth::{Mhz20, Mhz40, Mhz80, Mhz160};
        type Groups = (Band, ChannelWidth, &'static [(u8, u8)]);
        let groups: [Groups; 7] = [
            (Band::Ghz5, Mhz160, &[(36, 64), (100, 128)]),
            (
                Band::Ghz5,
                Mhz80,
                &[(36, 48), (52, 64), (100, 112), (116, 128), (132, 144), (149, 161)],
            ),
            (
                Band::Ghz5,
                Mhz40,
                &[
                    (36, 40),
                    (44, 48),
                    (52, 56),
                    (60, 64),
                    (100, 104),
                    (108, 112),
                    (116, 120),
                    (124, 128),
                    (132, 136),
                    (140, 144),
                    (149, 153),
                    (157, 161),
                ],
            ),
            (Band::Ghz2_4, Mhz40, &[(1, 5), (9, 13)]),
            (
                Band::Ghz6,
                Mhz160,
                &[(1, 29), (33, 61), (65, 93), (97, 125), (129, 157), (161, 189), (193, 221)],
            ),
            (Band::Ghz2_4, Mhz20, &[(1, 1), (5, 5), (6, 6), (9, 9), (11, 11), (13, 13)]),
            (Band::Ghz5, Mhz20, &[(165, 165)]),
        ];
        for (band, width, expected) in groups {
            let is_of = |number: u8, (first, last): (u8, u8)| {
                let is_on_grid = band != Band::Ghz2_4 || width == Mhz20 || number % 4 == 1;
                (first..=last).contains(&number) && is_on_grid
            };
            let all: Vec<u8> = Subchannel::numbers(band).collect();
            for &group in expected {
                let members: Vec<u8> = all.iter().copied().filter(|it| is_of(*it, group)).collect();
                assert_eq!(members.len() as u64 * 20_000_000, width.as_hz());
                for &one in &members {
                    let place = Subchannel::from_number(band, one).expect("it exists");
                    for &other in &all {
                        let there = Subchannel::from_number(band, other).expect("it exists");
                        let is_in = is_of(other, group);
                        assert_eq!(place.shares(there, width), is_in, "{one} {other} {width}");
                    }
                }
            }
        }
        let widest = |band, number| Subchannel::from_number(band, number).map(|it| it.widest(band));
        for (number, width) in
            [(36, Mhz160), (64, Mhz160), (132, Mhz80), (144, Mhz80), (149, Mhz80), (165, Mhz20)]
        {
            assert_eq!(widest(Band::Ghz5, number), Some(width), "{number}");
        }
        for (number, width) in [(1, Mhz40), (6, Mhz20), (13, Mhz40)] {
            assert_eq!(widest(Band::Ghz2_4, number), Some(width), "{number}");
        }
        for (number, width) in [(221, Mhz160), (225, Mhz40), (229, Mhz40), (233, Mhz20)] {
            assert_eq!(widest(Band::Ghz6, number), Some(width), "{number}");
        }
        for (band, none) in [(Band::Ghz5, 38), (Band::Ghz5, 68), (Band::Ghz6, 2), (Band::Ghz2_4, 3)]
        {
            assert_eq!(Subchannel::from_number(band, none), None);
        }
        for band in [Band::Ghz2_4, Band::Ghz5, Band::Ghz6] {
            for number in Subchannel::numbers(band) {
                assert_eq!(
                    Subchannel::from_number(band, number).map(|it| it.number(band)),
                    Some(number)
                );
            }
        }
        assert_eq!(Subchannel::numbers(Band::Ghz5).count(), 25);
        assert_eq!(Subchannel::numbers(Band::Ghz6).count(), 59);
    }
}
