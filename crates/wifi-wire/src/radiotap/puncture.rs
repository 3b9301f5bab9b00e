//! Preamble puncturing of EHT PPDUs without OFDMA (IEEE 802.11be-2024, 36.3.12.7.2, table 36-30):
//! codes of the Punctured Channel Information field, and the resource unit that is left.

/// Returns the punctured 20 MHz channels (bit n for channel n, from the lowest on) by their code in
/// a PPDU of this width in MHz; `None` for a reserved code or another width than 20 to 320.
pub(super) const fn channels(width_mhz: u16, code: u8) -> Option<u16> {
    // In 320 MHz a unit has two channels.
    let index = code as u32;
    Some(match (width_mhz, code) {
        (20 | 40 | 80 | 160 | 320, 0) => 0,
        (80, 1..=4) | (160, 1..=8) => 1 << (index - 1),
        (160, 9..=12) => 0b11 << (2 * (index - 9)),
        (320, 1..=8) => 0b11 << (2 * (index - 1)),
        (320, 9..=12) => 0xf << (4 * (index - 9)),
        (320, 13..=18) => 0xf | 0b11 << (2 * (index - 11)),
        (320, 19..=24) => 0xf000 | 0b11 << (2 * (index - 19)),
        _ => return None,
    })
}

/// Returns the code of punctured channels; `None` if the standard has none.
pub(super) const fn code(width_mhz: u16, punctured: u16) -> Option<u8> {
    let mut code = 0;
    while code <= CODE_MAX {
        if let Some(channels) = channels(width_mhz, code)
            && channels == punctured
        {
            return Some(code);
        }
        code += 1;
    }
    None
}

/// Number of subcarriers of the multiple resource unit that puncturing leaves in a PPDU for one
/// user (36.3.2.2); `None` without puncturing, and for reserved codes.
pub(super) const fn tones_left(width_mhz: u16, code: u8) -> Option<u16> {
    let Some(punctured) = channels(width_mhz, code) else { return None };
    match (width_mhz, punctured.count_ones()) {
        (80, 1) => Some(484 + 242),
        (160, 1) => Some(996 + 484 + 242),
        (160, 2) => Some(996 + 484),
        (320, 2) => Some(3 * 996 + 484),
        (320, 4) => Some(3 * 996),
        (320, 6) => Some(2 * 996 + 484),
        _ => None,
    }
}

const CODE_MAX: u8 = 24;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// The bitmaps that Linux accepts from an access point for static puncturing
    /// (`cfg80211_valid_disable_subchannel_bitmap`), in which the same patterns are possible.
    #[test]
    fn the_patterns_are_those_of_linux() {
        let linux_80: Vec<u16> = [0x8, 0x4, 0x2, 0x1].to_vec();
        let linux_160 = [0x80, 0x40, 0x20, 0x10, 0x8, 0x4, 0x2, 0x1, 0xc0, 0x30, 0xc, 0x3].to_vec();
        let linux_320 = [
            0xc000, 0x3000, 0xc00, 0x300, 0xc0, 0x30, 0xc, 0x3, 0xf000, 0xf00, 0xf0, 0xf, 0xfc00,
            0xf300, 0xf0c0, 0xf030, 0xf00c, 0xf003, 0xc00f, 0x300f, 0xc0f, 0x30f, 0xcf, 0x3f,
        ]
        .to_vec();
        for (width, mut theirs) in [(80, linux_80), (160, linux_160), (320, linux_320)] {
            let mut ours: Vec<u16> =
                (1..=u8::MAX).filter_map(|code| channels(width, code)).collect();
            ours.sort_unstable();
            theirs.sort_unstable();
            assert_eq!(ours, theirs, "{width} MHz");
            for (code_, bitmap) in (0..=CODE_MAX).filter_map(|c| Some((c, channels(width, c)?))) {
                assert_eq!(code(width, bitmap), Some(code_));
                let left = tones_left(width, code_);
                // 242 tones or more for each 20 MHz that is left, at most 249.
                let number = width / 20 - bitmap.count_ones() as u16;
                assert_eq!(left.is_some(), code_ != 0);
                assert!(left.is_none_or(|tones| (242..250).contains(&(tones / number))));
            }
            assert_eq!(code(width, 0xffff), None);
        }
        assert_eq!([channels(40, 1), channels(20, 1), channels(60, 0)], [None; 3]);
    }
}
