//! Lengths of frames in bytes, FCS included (IEEE 802.11-2020, 9.2 to 9.7), and of the MPDUs and
//! PSDUs that packets form.

use crate::phy::{ChannelWidth, Rate};
use lasthop_units::Duration;

/// Length of the frame check sequence.
pub const FCS: u32 = 4;
/// MAC header of Data with three addresses.
pub const DATA_HEADER: u32 = 24;
/// MAC header of QoS Data: three addresses and QoS Control.
pub const QOS_DATA_HEADER: u32 = 26;
/// LLC and SNAP in front of every network-layer packet (RFC 1042).
pub const LLC_SNAP: u32 = 8;
/// Destination, source and length in front of an A-MSDU subframe (9.3.2.2.2).
pub const AMSDU_SUBFRAME_HEADER: u32 = 14;
/// Length of an A-MPDU delimiter (9.7.1).
pub const AMPDU_DELIMITER: u32 = 4;
/// Longest MPDU in an A-MPDU of HT stations: the delimiter's length has 12 bits.
pub const AMPDU_MPDU_MAX: u32 = 4095;
/// Longest MPDU of VHT stations (9.4.2.157.2), and of HE stations, all of whose data is in A-MPDUs.
pub const VHT_MPDU_MAX: u32 = 11_454;
/// Longest A-MSDU of HT stations (9.4.2.55.2).
pub const HT_AMSDU_MAX: u16 = 7_935;
/// Longest A-MSDU of VHT and HE stations, which fits into their longest MPDU.
pub const VHT_AMSDU_MAX: u16 = 11_424;
/// Length of an Ack (9.3.1.4).
pub const ACK: u32 = 14;
/// Length of a CTS (9.3.1.3).
pub const CTS: u32 = 14;
/// Length of an RTS (9.3.1.2).
pub const RTS: u32 = 20;
/// EHT Operation (IEEE 802.11be-2024, 9.4.2.321): parameters, basic MCS and streams, control and two
/// channel centres.
pub const EHT_OPERATION: u32 = 3 + 1 + 4 + 3;

/// Compressed Block Ack with a bitmap of 64 bits (9.3.1.8.2).
pub const BLOCK_ACK: u32 = block_ack(64);
/// Block Ack Request (9.3.1.7).
pub const BLOCK_ACK_REQUEST: u32 = 24;
/// MU-RTS Trigger frame to one station, at `rate`, with padding that lasts `padding` (0 to 256 us) at
/// least: the initial control frame of a device with a single radio (IEEE 802.11be-2024, 35.3.17).
/// Answers of 320 MHz require a Special User Info field (9.3.1.22.1.2).
pub fn initial_control(padding: Duration, rate: Rate, answer: ChannelWidth) -> u32 {
    let special = if answer == ChannelWidth::Mhz320 { 5 } else { 0 };
    let bits = padding.as_nanos() * (rate.bitrate().as_bps() / 1_000_000);
    16 + 8 + special + 5 + FCS + bits.div_ceil(8_000) as u32
}
/// MU-BAR Trigger frame to 1 to 74 `stations`, without padding: a header of two addresses, Common
/// Info of eight octets, and for each station a User Info of five with BAR Control and BAR
/// Information (IEEE 802.11ax-2021, 9.3.1.22).
pub const fn mu_block_ack_request(stations: u32) -> u32 {
    16 + 8 + 9 * stations + FCS
}
/// Basic Trigger frame to 1 to 74 `stations`, without padding: like an MU-BAR, but with one octet
/// of trigger-dependent information for each (IEEE 802.11ax-2021, 9.3.1.22.2).
pub const fn basic_trigger(stations: u32) -> u32 {
    16 + 8 + 6 * stations + FCS
}
/// BSRP Trigger frame to 1 to 74 `stations`, without padding and trigger-dependent information
/// (IEEE 802.11ax-2021, 9.3.1.22.6).
pub const fn buffer_status_report_poll(stations: u32) -> u32 {
    16 + 8 + 5 * stations + FCS
}
/// NDP Announcement to `stations`, with 2 octets for each in VHT and 4 in HE (9.3.1.19).
pub const fn ndp_announcement(is_he: bool, stations: u32) -> u32 {
    16 + 1 + stations * if is_he { 4 } else { 2 } + FCS
}
/// Length of a Beamforming Report Poll (9.3.1.20).
pub const BEAMFORMING_REPORT_POLL: u32 = 16 + 1 + FCS;
/// BFRP Trigger frame to `stations`, without padding: one octet of trigger-dependent information
/// for each (IEEE 802.11ax-2021, 9.3.1.22.3).
pub const fn beamforming_report_trigger(stations: u32) -> u32 {
    16 + 8 + 6 * stations + FCS
}
/// QoS Null: the header of QoS Data and no body.
pub const QOS_NULL: u32 = QOS_DATA_HEADER + FCS;
/// Multi-STA Block Ack without its records (IEEE 802.11ax-2021, 9.3.1.8.6).
pub const MULTI_STATION_BLOCK_ACK: u32 = 16 + 2 + FCS;
/// Per AID TID Info field of such a frame, with a bitmap of `bits`: AID TID Info, Starting Sequence
/// Control, bitmap.
pub const fn station_record(bits: u16) -> u32 {
    2 + 2 + bits as u32 / 8
}
/// ADDBA Request and Response: management header, nine bytes of body (9.6.4.2, 9.6.4.3).
pub const ADDBA: u32 = 24 + 9 + FCS;
/// The same for a window of this many MPDUs: from 1 024 on with an ADDBA Extension element, whose
/// Extended Buffer Size counts 1 024 (IEEE 802.11be-2024, 9.4.2.138).
pub const fn addba(window: u16) -> u32 {
    if window < 1_024 { ADDBA } else { ADDBA + 3 }
}
/// Operating Mode Notification: management header, category, action, operating mode (9.6.22.4).
pub const OPERATING_MODE_NOTIFICATION: u32 = 24 + 3 + FCS;
/// HT Control of a QoS frame (9.2.4.6).
pub const HT_CONTROL: u32 = 4;
/// Beacon of a DSSS or OFDM cell: header, fixed fields, SSID of seven letters,
/// rates, DS parameters, TIM, and for ERP its information and extended rates.
pub const BEACON: u32 = 24 + 12 + 9 + 10 + 3 + 6 + 9 + FCS;
/// Null: the header of Data and no body (9.3.2.2.3).
pub const NULL: u32 = DATA_HEADER + FCS;
/// Length of a PS-Poll (9.3.1.5).
pub const PS_POLL: u32 = 20;
/// TIM of a beacon, its bitmap of one octet (9.4.2.5).
pub const TIM: u32 = 6;
/// Probe Request for any network: header, empty SSID, rates.
pub const PROBE_REQUEST: u32 = 24 + 2 + 10 + FCS;
/// Additional bytes of HT capabilities in a Probe Request.
pub const PROBE_REQUEST_HT: u32 = 28;
/// Additional bytes of HT capabilities and operation in a beacon.
pub const BEACON_HT: u32 = 28 + 24;
/// Additional bytes of VHT capabilities in a Probe Request (9.4.2.157).
pub const PROBE_REQUEST_VHT: u32 = 14;
/// Additional bytes of VHT capabilities and operation (9.4.2.158) in a beacon.
pub const BEACON_VHT: u32 = 14 + 7;
/// Additional bytes of HE capabilities in a Probe Request (IEEE 802.11ax-2021, 9.4.2.248), without
/// PPE thresholds and up to 80 MHz.
pub const PROBE_REQUEST_HE: u32 = 3 + 6 + 11 + 4;
/// Additional bytes of HE capabilities and operation (9.4.2.249) in a beacon.
pub const BEACON_HE: u32 = PROBE_REQUEST_HE + 3 + 6;

/// Compressed Block Ack with a bitmap of `bits`.
pub const fn block_ack(bits: u16) -> u32 {
    20 + bits as u32 / 8 + FCS
}

/// `n` rounded up to a multiple of four.
pub const fn padded(n: u32) -> u32 {
    (n + 3) & !3
}

/// An MPDU with one network-layer packet of `packet_bytes`.
pub const fn mpdu(packet_bytes: u32, qos: bool) -> u32 {
    let header = if qos { QOS_DATA_HEADER } else { DATA_HEADER };
    header + LLC_SNAP + packet_bytes + FCS
}

/// Encryption of data frames, which makes them longer. Lengths only: frames stay readable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Encryption {
    /// No encryption, as of an open network.
    #[default]
    None,
    /// CCMP with a 128-bit key (WPA2): a header and a MIC of 8 octets each (12.5.3.2).
    Ccmp,
    /// GCMP (WPA3 with 256-bit keys, and 802.11ad): a header of 8 octets and a MIC of 16
    /// (12.5.5.2).
    Gcmp,
}

impl Encryption {
    /// Octets that it adds to each MPDU with data.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Ccmp => 8 + 8,
            Self::Gcmp => 8 + 16,
        }
    }
}

/// An A-MSDU subframe without its padding.
pub const fn amsdu_subframe(packet_bytes: u32) -> u32 {
    AMSDU_SUBFRAME_HEADER + LLC_SNAP + packet_bytes
}

/// An MPDU as A-MPDU subframe, padding included, at least `spacing_bytes` long.
pub const fn ampdu_subframe(mpdu_bytes: u32, spacing_bytes: u32) -> u32 {
    let bare = padded(AMPDU_DELIMITER + mpdu_bytes);
    if bare < spacing_bytes { padded(spacing_bytes) } else { bare }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{Ru, RuSize};
    use crate::wire::control;
    use alloc::vec::Vec;
    use lasthop_packet::AccessCategory;
    use lasthop_units::SeqNo12;

    /// Trigger frames as `wire` writes them.
    #[test]
    fn trigger_frames_are_as_long_as_written() {
        let ru = Ru::new(RuSize::Tones242, 1).expect("an RU");
        // Two octets of Frame Control and of Duration, two addresses, Common Info, FCS.
        let whole = |rest: &[u8]| 2 + 2 + 12 + 8 + rest.len() as u32 + FCS;
        let mut rest = Vec::new();
        for aid in [1, 2] {
            let start = SeqNo12::new(7);
            control::emit_block_ack_request(aid, ru, 5, 0, start, &mut rest);
        }
        assert_eq!(whole(&rest), mu_block_ack_request(2));
        rest.clear();
        control::emit_basic(
            7,
            ru,
            control::AnswerRate { mcs: 3, streams: 2, dcm: true },
            AccessCategory::Video,
            &mut rest,
        );
        assert_eq!(whole(&rest), basic_trigger(1));
        rest.clear();
        control::emit_buffer_status_report_poll(
            9,
            ru,
            control::AnswerRate { mcs: 5, streams: 1, dcm: false },
            &mut rest,
        );
        assert_eq!(whole(&rest), buffer_status_report_poll(1));
    }

    #[test]
    fn a_udp_packet_of_1472_bytes() {
        // 1472 + 28 of UDP/IP; the figures are ns-3's max_mpdu_bytes.
        assert_eq!(mpdu(1500, true), 1538);
        assert_eq!(mpdu(1500, false), 1536);
        assert_eq!(ampdu_subframe(1538, 0), 1544);
        let amsdu = 4 * padded(amsdu_subframe(1500)) + amsdu_subframe(1500);
        assert_eq!(QOS_DATA_HEADER + amsdu + FCS, 7648);
    }
}
