//! The frame check sequence (IEEE 802.11-2020, 9.2.4.8): the CRC-32 of IEEE
//! 802.3 over MAC header and body, sent last.

use alloc::vec::Vec;
use crc::{CRC_32_ISO_HDLC, Crc, Table};

/// Length of the FCS in bytes.
pub const LEN: usize = 4;

static CRC: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC);

/// Returns the FCS of a header and body; on the wire it is little-endian.
pub fn compute(header_and_body: &[u8]) -> u32 {
    CRC.checksum(header_and_body)
}

/// Appends the FCS of all bytes from `start` on.
pub(super) fn append(mpdu: &mut Vec<u8>, start: usize) {
    let fcs = compute(mpdu.get(start..).unwrap_or_default());
    mpdu.extend_from_slice(&fcs.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_crc_32() {
        assert_eq!(compute(b"123456789"), 0xcbf4_3926);
    }
}
