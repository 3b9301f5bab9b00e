//! Operating modes in frames: the Operating Mode field of an Operating Mode Notification (IEEE
//! 802.11-2020, 9.4.1.53 and 9.6.22.4) and the OM Control subfield of an HE variant HT Control
//! field (IEEE 802.11ax-2021, 9.2.4.6a.2). Left out: streams of beamformed PPDUs (Rx NSS Type 1),
//! no LDPC, resounding, no extended range.

use lasthop_wifi_phy::{ChannelWidth, OperatingMode};

/// Category and action of an Operating Mode Notification (tables 9-51 and 9-427).
pub const NOTIFICATION: [u8; 2] = [21, 2];

/// Returns the Operating Mode field. The field has the mode of reception, not of transmission.
pub const fn field(mode: OperatingMode) -> u8 {
    let width = match mode.width {
        ChannelWidth::Mhz20 => 0,
        ChannelWidth::Mhz40 => 1,
        ChannelWidth::Mhz80 => 2,
        // 160/80+80 BW.
        ChannelWidth::Mhz160 | ChannelWidth::Mhz320 => 2 | 1 << 2,
    };
    width | (mode.receive_streams.saturating_sub(1) & 7) << 4
}

/// Returns an HT Control field with only an OM Control subfield.
pub const fn control(mode: OperatingMode) -> u32 {
    let width = match mode.width {
        ChannelWidth::Mhz20 => 0,
        ChannelWidth::Mhz40 => 1,
        ChannelWidth::Mhz80 => 2,
        // EHT OM Control, which extends the field, is left out.
        ChannelWidth::Mhz160 | ChannelWidth::Mhz320 => 3,
    };
    let received = mode.receive_streams.saturating_sub(1) as u32 & 7;
    let sent = mode.transmit_streams.saturating_sub(1) as u32 & 7;
    let information = received | width << 3 | sent << 6 | (!mode.uplink_ofdma as u32) << 11;
    HE_VARIANT | OPERATING_MODE << 2 | information << 6
}

/// The two lowest bits of the HE variant.
const HE_VARIANT: u32 = 3;
/// Control ID of OM Control (table 9-22a).
const OPERATING_MODE: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    /// The bits of the clauses' figures, from the lowest.
    #[test]
    fn bits_by_hand() {
        let mode = |width, receive_streams, transmit_streams, uplink_ofdma| OperatingMode {
            width,
            receive_streams,
            transmit_streams,
            uplink_ofdma,
        };
        // From the lowest bit: value and length.
        let bits = |fields: &[(u32, u32)]| {
            let step = |(sum, at): (u32, u32), (value, length): &(u32, u32)| {
                (sum | value << at, at + length)
            };
            fields.iter().fold((0, 0), step).0
        };
        // Width, 160/80+80 BW, no LDPC, Rx NSS, Rx NSS Type.
        let notified = |width, wide, streams| {
            bits(&[(width, 2), (wide, 1), (0, 1), (streams, 3), (0, 1)]) as u8
        };
        // Variant, control ID, Rx NSS, width, UL MU Disable, Tx NSTS, two more, UL MU Data Disable.
        let controlled = |received, width, sent, disabled| {
            let information = [(received, 3), (width, 2), (0, 1), (sent, 3), (0, 2), (disabled, 1)];
            bits(&[&[(3, 2), (1, 4)], &information[..]].concat())
        };
        let narrow = mode(ChannelWidth::Mhz20, 1, 1, true);
        assert_eq!((field(narrow), control(narrow)), (0, controlled(0, 0, 0, 0)));
        let wide = mode(ChannelWidth::Mhz160, 8, 8, true);
        assert_eq!((field(wide), control(wide)), (notified(2, 1, 7), controlled(7, 3, 7, 0)));
        let silent = mode(ChannelWidth::Mhz80, 2, 1, false);
        assert_eq!((field(silent), control(silent)), (notified(2, 0, 1), controlled(1, 2, 0, 1)));
        // As tshark reads it.
        assert_eq!(control(mode(ChannelWidth::Mhz20, 1, 2, true)), 0x1007);
    }
}
