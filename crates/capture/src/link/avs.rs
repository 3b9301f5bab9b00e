//! The AVS header (LINKTYPE 163): 64 bytes or more, big-endian. Its fields are version, length, the
//! MAC's clock in us, the host's clock, PHY, channel, rate in 100 kb/s, antenna, priority, kind of
//! signal, signal, noise, preamble, encoding. Signal and noise are used if their kind is dBm. The
//! header does not specify whether the frame ends with its FCS; see [`super::open`].

use super::Radio;
use crate::rate::Rate;
use lasthop_wifi_wire::{Error, Reason};

const LAYER: &str = "AVS";
const MAGIC: u32 = 0x8021_1000;
const HEADER_BYTES: usize = 64;
/// Kind of signal for values in dBm.
const DBM: u32 = 2;
/// PHY number of 802.11b, whose rates are those of CCK and DSSS.
const PHY_DSSS: u32 = 4;

/// Whether the bytes begin like an AVS header.
pub(super) fn is_avs(bytes: &[u8]) -> bool {
    let version = bytes.first_chunk().copied().map(u32::from_be_bytes);
    version.is_some_and(|version| version & 0xffff_f000 == MAGIC)
}

/// Returns the metadata of the receiver, and the offset of the MPDU.
pub(super) fn parse(bytes: &[u8]) -> Result<(Radio, usize), Error> {
    if bytes.len() < HEADER_BYTES {
        let reason = Reason::Short { needs: HEADER_BYTES, left: bytes.len() };
        return Err(Error { layer: LAYER, field: "header", offset: 0, reason });
    }
    let u32_at = |at: usize| {
        let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk()).copied();
        u32::from_be_bytes(bytes.unwrap_or_default())
    };
    let value = |field, offset, found, allowed| {
        Err(Error { layer: LAYER, field, offset, reason: Reason::Value { found, allowed } })
    };
    let (version, length) = (u32_at(0), u32_at(4));
    if version & 0xffff_f000 != MAGIC {
        return value("version", 0, version, "0x80211001");
    }
    let Some(start) =
        usize::try_from(length).ok().filter(|start| (HEADER_BYTES..=bytes.len()).contains(start))
    else {
        return value("length", 4, length, "at least 64, at most what was captured");
    };
    let clock_us = u64::from(u32_at(8)) << 32 | u64::from(u32_at(12));
    let dbm = |at| (u32_at(44) == DBM).then(|| i8::try_from(u32_at(at).cast_signed()).ok());
    let rate_500kbps = u8::try_from(u32_at(32) / 5).ok().filter(|rate| *rate > 0);
    let radio = Radio {
        tsft_us: (clock_us > 0).then_some(clock_us),
        rate: rate_500kbps.map(|rate| Rate::legacy(rate, u32_at(24) == PHY_DSSS, false)),
        signal_dbm: dbm(48).flatten(),
        noise_dbm: dbm(52).flatten(),
        ..Radio::default()
    };
    Ok((radio, start))
}
