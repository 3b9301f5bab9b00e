//! Per-packet information (LINKTYPE 192; CACE's "PPI header format"), little-endian: version,
//! flags, length, the link type of the packet, then fields with a type and a length. Supported are
//! 802.11-Common (2), 802.11n MAC (3) and 802.11n MAC and PHY (4); others are skipped.

use super::{Ampdu, Radio};
use crate::file::LinkType;
use crate::rate::Rate;
use lasthop_wifi_wire::{Error, Reason};

const LAYER: &str = "PPI";
const HEADER_BYTES: usize = 8;
/// Flag of the header: each field is padded to four bytes.
const ALIGNED: u8 = 1;

const COMMON: u16 = 2;
const MAC_EXTENSIONS: u16 = 3;
const MAC_PHY_EXTENSIONS: u16 = 4;

/// Common, flags: the frame ends with its FCS; the clock is in ms; the FCS was wrong; the PHY
/// reported an error.
const FCS_AT_END: u16 = 1;
const CLOCK_IN_MS: u16 = 2;
const BAD_FCS: u16 = 4;
const BAD_PHY: u16 = 8;
/// Channel flag of CCK, as in radiotap.
const CCK: u16 = 0x20;
/// 802.11n extensions, flags: 40 MHz, short guard interval, in an A-MPDU, more of it follow.
const WIDE: u32 = 1 << 1;
const SHORT_GUARD_INTERVAL: u32 = 1 << 2;
const AGGREGATE: u32 = 1 << 4;
const MORE_AGGREGATES: u32 = 1 << 5;

/// Packet behind a PPI header.
pub(super) enum Inside {
    /// An MPDU with metadata of the receiver, and its offset.
    Air(Radio, usize),
    /// A packet of another link type, and its offset.
    Other(LinkType, usize),
}

pub(super) fn parse(bytes: &[u8]) -> Result<Inside, Error> {
    let short = |field, offset: usize, needs| {
        let reason = Reason::Short { needs, left: bytes.len().saturating_sub(offset) };
        Error { layer: LAYER, field, offset: offset.min(bytes.len()), reason }
    };
    let &[version, flags, l0, l1, d0, d1, d2, d3] =
        bytes.first_chunk::<HEADER_BYTES>().ok_or_else(|| short("header", 0, HEADER_BYTES))?;
    if version != 0 {
        let reason = Reason::Value { found: u32::from(version), allowed: "0" };
        return Err(Error { layer: LAYER, field: "version", offset: 0, reason });
    }
    let start = usize::from(u16::from_le_bytes([l0, l1]));
    if start < HEADER_BYTES {
        let reason = Reason::Value { found: start as u32, allowed: "at least 8" };
        return Err(Error { layer: LAYER, field: "length", offset: 2, reason });
    }
    let header = bytes.get(..start).ok_or_else(|| short("fields", HEADER_BYTES, start - 8))?;
    let link = u32::from_le_bytes([d0, d1, d2, d3]);
    let mut radio = Radio::default();
    let mut extension = None;
    let mut at = HEADER_BYTES;
    while at < start {
        let field_short = |needs: usize| {
            let reason = Reason::Short { needs, left: start - at };
            Error { layer: LAYER, field: "field", offset: at, reason }
        };
        let head = header.get(at..).and_then(|rest| rest.first_chunk::<4>());
        let &[k0, k1, n0, n1] = head.ok_or_else(|| field_short(4))?;
        let length = usize::from(u16::from_le_bytes([n0, n1]));
        let data = header.get(at + 4..at + 4 + length).ok_or_else(|| field_short(4 + length))?;
        match u16::from_le_bytes([k0, k1]) {
            COMMON => common(data, &mut radio),
            MAC_EXTENSIONS | MAC_PHY_EXTENSIONS => {
                extension = extension.or(Extension::parse(data));
            }
            _ => {}
        }
        at += 4 + length;
        if flags & ALIGNED != 0 {
            at = at.next_multiple_of(4);
        }
    }
    if let Some(extension) = extension {
        extension.apply(&mut radio);
    }
    Ok(match u16::try_from(link).map(LinkType::from_code) {
        Ok(LinkType::Ieee80211) => Inside::Air(radio, start),
        Ok(other) => Inside::Other(other, start),
        Err(_) => {
            let reason = Reason::Value { found: link, allowed: LinkType::SUPPORTED };
            return Err(Error { layer: LAYER, field: "link type", offset: 4, reason });
        }
    })
}

/// Reads clock, flags, rate, channel and power.
fn common(data: &[u8], radio: &mut Radio) {
    let Some(data) = data.first_chunk::<20>() else { return };
    let [c0, c1, c2, c3, c4, c5, c6, c7, f0, f1, r0, r1, m0, m1, h0, h1, _, _, signal, noise] =
        *data;
    let clock = u64::from_le_bytes([c0, c1, c2, c3, c4, c5, c6, c7]);
    let flags = u16::from_le_bytes([f0, f1]);
    let clock_us = if flags & CLOCK_IN_MS != 0 { clock.saturating_mul(1_000) } else { clock };
    radio.tsft_us = (clock > 0).then_some(clock_us);
    radio.layout.fcs = flags & FCS_AT_END != 0;
    radio.bad_fcs = flags & (BAD_FCS | BAD_PHY) != 0;
    let rate = u16::from_le_bytes([r0, r1]);
    let cck = u16::from_le_bytes([h0, h1]) & CCK != 0;
    radio.rate =
        u8::try_from(rate).ok().filter(|rate| *rate > 0).map(|rate| Rate::legacy(rate, cck, false));
    let frequency = u16::from_le_bytes([m0, m1]);
    radio.frequency_mhz = (frequency > 0).then_some(frequency);
    // Values outside of this range mean "unknown".
    let power = |byte: u8| Some(byte.cast_signed()).filter(|dbm| (-127..0).contains(dbm));
    radio.signal_dbm = power(signal);
    radio.noise_dbm = power(noise);
}

/// Common part of both extensions of 802.11n.
struct Extension {
    flags: u32,
    ampdu: u32,
    /// MCS index, which only the longer extension has.
    mcs: Option<u8>,
}

impl Extension {
    fn parse(data: &[u8]) -> Option<Self> {
        let &[f0, f1, f2, f3, a0, a1, a2, a3] = data.first_chunk()?;
        let mcs = if data.len() >= 48 { data.get(9).copied() } else { None };
        let flags = u32::from_le_bytes([f0, f1, f2, f3]);
        Some(Self { flags, ampdu: u32::from_le_bytes([a0, a1, a2, a3]), mcs })
    }

    fn apply(&self, radio: &mut Radio) {
        if self.flags & AGGREGATE != 0 {
            let last = Some(self.flags & MORE_AGGREGATES == 0);
            radio.ampdu = Some(Ampdu { reference: self.ampdu, last });
        }
        if let Some(mcs) = self.mcs {
            let short = self.flags & SHORT_GUARD_INTERVAL != 0;
            radio.rate = Rate::ht(mcs, self.flags & WIDE != 0, short).or(radio.rate);
        }
    }
}
