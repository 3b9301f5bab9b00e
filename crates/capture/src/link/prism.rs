//! The Prism header of wlan-ng, hostap and MadWifi (LINKTYPE 119), in the byte order of the host
//! that wrote it: message code, length, name of the device (16 bytes), then items with a number
//! (DID), a status (0: there is a value), a length of 4 and a value. Supported are the MAC's clock,
//! channel, signal, noise and rate. Levels below 0 are dBm. Drivers that write AVS headers to such
//! files are recognised by the version. The header does not specify whether the frame ends with its
//! FCS; see [`super::open`].

use super::{Radio, avs};
use crate::rate::Rate;
use lasthop_wifi_wire::{Error, Reason};

const LAYER: &str = "Prism";
/// Length of message code, length and device, in bytes.
const HEAD_BYTES: usize = 24;
const ITEM_BYTES: usize = 12;
/// Codes of a captured frame: wlan-ng and hostap, later wlan-ng.
const CODES: [u32; 2] = [0x44, 0x41];

/// Returns the metadata of the receiver, and the offset of the MPDU.
pub(super) fn parse(bytes: &[u8]) -> Result<(Radio, usize), Error> {
    let Some((head, _)) = bytes.split_first_chunk::<HEAD_BYTES>() else {
        let reason = Reason::Short { needs: HEAD_BYTES, left: bytes.len() };
        return Err(Error { layer: LAYER, field: "header", offset: 0, reason });
    };
    if avs::is_avs(bytes) {
        return avs::parse(bytes);
    }
    let &[c0, c1, c2, c3, l0, l1, l2, l3, ..] = head;
    let code = [c0, c1, c2, c3];
    let is_big = CODES.contains(&u32::from_be_bytes(code));
    let read = if is_big { u32::from_be_bytes } else { u32::from_le_bytes };
    let value = |field, offset, found, allowed| {
        Err(Error { layer: LAYER, field, offset, reason: Reason::Value { found, allowed } })
    };
    if !CODES.contains(&read(code)) {
        return value("message code", 0, read(code), "0x44 or 0x41");
    }
    let length = read([l0, l1, l2, l3]);
    let Some(start) =
        usize::try_from(length).ok().filter(|start| (HEAD_BYTES..=bytes.len()).contains(start))
    else {
        return value("length", 4, length, "at least 24, at most what was captured");
    };
    let mut radio = Radio::default();
    let items = bytes.get(HEAD_BYTES..start).unwrap_or_default();
    for item in items.chunks_exact(ITEM_BYTES) {
        let &[d0, d1, d2, d3, s0, s1, _, _, v0, v1, v2, v3] = item else { break };
        if [s0, s1] == [0, 0] {
            apply(&mut radio, read([d0, d1, d2, d3]), read([v0, v1, v2, v3]));
        }
    }
    Ok((radio, start))
}

/// Applies the value of an item. Its kind is the upper half of its number behind message code 0x44,
/// and the upper 20 bits behind 0x41.
fn apply(radio: &mut Radio, number: u32, value: u32) {
    let kind = match (number & 0xffff, number & 0xfff) {
        (0x44, _) => number >> 16,
        (_, 0x41) => number >> 12,
        _ => return,
    };
    let dbm = || {
        let dbm = i8::try_from(value.cast_signed()).ok();
        dbm.filter(|dbm| (-127..0).contains(dbm))
    };
    match kind {
        2 => radio.tsft_us = (value > 0).then(|| u64::from(value)),
        3 => radio.frequency_mhz = frequency_mhz(value),
        6 => radio.signal_dbm = dbm(),
        7 => radio.noise_dbm = dbm(),
        8 => {
            let rate = u8::try_from(value).ok().filter(|rate| *rate > 0);
            radio.rate = rate.map(|rate| Rate::legacy(rate, false, false));
        }
        _ => {}
    }
}

/// Returns the centre of a channel in MHz (IEEE 802.11-2020, annex E).
fn frequency_mhz(channel: u32) -> Option<u16> {
    let channel = u16::try_from(channel).ok()?;
    match channel {
        1..=13 => Some(2_407 + 5 * channel),
        14 => Some(2_484),
        36..=177 => Some(5_000 + 5 * channel),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a header of 144 bytes as wlan-ng writes it, in either byte order and numbering.
    fn header(is_big: bool, code: u32) -> Vec<u8> {
        let u32_of = |value: u32| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
        let mut bytes = [u32_of(code), u32_of(144)].concat();
        bytes.extend(*b"wlan0\0\0\0\0\0\0\0\0\0\0\0");
        let values = [7, 1_000_000, 11, 60, 0, -42i32 as u32, -95i32 as u32, 22, 0, 30];
        for (kind, value) in (1u32..).zip(values) {
            let number = if code == 0x44 { kind << 16 | 0x44 } else { kind << 12 | 0x41 };
            bytes.extend(u32_of(number));
            // RSSI is not supplied.
            let status_and_length = [u16::from(kind == 4), 4];
            for half in status_and_length {
                bytes.extend(if is_big { half.to_be_bytes() } else { half.to_le_bytes() });
            }
            bytes.extend(u32_of(value));
        }
        bytes
    }

    #[test]
    fn both_orders_and_numberings() {
        for (is_big, code) in [(false, 0x44), (true, 0x44), (false, 0x41), (true, 0x41)] {
            let (radio, start) = parse(&header(is_big, code)).unwrap();
            assert_eq!(start, 144);
            assert_eq!((radio.tsft_us, radio.frequency_mhz), (Some(1_000_000), Some(2_462)));
            assert_eq!((radio.signal_dbm, radio.noise_dbm), (Some(-42), Some(-95)));
            assert_eq!(radio.rate, Some(Rate::legacy(22, false, false)));
        }
    }

    #[test]
    fn other_headers_are_refused() {
        let mut bytes = header(false, 0x44);
        bytes[4] = 200;
        assert_eq!(parse(&bytes).unwrap_err().field, "length");
        assert_eq!(parse(&bytes[..20]).unwrap_err().field, "header");
        bytes[0] = 0x45;
        assert_eq!(parse(&bytes).unwrap_err().field, "message code");
        // The version of AVS.
        bytes[..4].copy_from_slice(&[0x80, 0x21, 0x10, 0x01]);
        assert_eq!(parse(&bytes).unwrap_err().layer, "AVS");
    }
}
