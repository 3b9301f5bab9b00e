//! MU-MIMO of 802.11be: sounding and data of two stations against an account of each frame, written
//! from published descriptions of EHT-SIG, the Trigger frame and the sounding NDP (IEEE
//! 802.11be-2024, 35.7, 36.3.12.8).

use super::ofdma::{downlink, ofdm_24, ofdma};
use super::ofdma_eht::{instants, of_be, symbols};
use super::*;
use crate::event::{FrameKind, Ppdu};

const SIFS: u64 = 16_000;

/// An NDP Announcement with its exchange, and an EHT MU PPDU of three MPDUs of 1 538 bytes to each
/// of two stations at MCS 5, 80 MHz and 40 dB.
#[test]
fn every_frame_begins_and_ends_when_the_clauses_say() {
    let mut config =
        of_be(ofdma(2, 5, 3, OfdmaAcknowledgement::BlockAckRequest), 5, ChannelWidth::Mhz80);
    config.change_links(|pair| pair.link.snr = Db(40.0));
    let access_point = &mut config.stations[AP.index()];
    access_point.ofdma = None;
    access_point.mu_mimo = Some(MuMimoConfig { stations_max: 2, ..MuMimoConfig::new(4) });
    let (ppdus, _) = downlink(&config, 20, 1_500, Duration::from_millis(100));
    let announced = 1_000 * ofdm_24(16 + 1 + 2 * 4 + 4);
    // Up to U-SIG, one symbol of EHT-SIG, EHT-STF, four EHT-LTFs of 7.2 us, an extension of 4 us.
    let ndp = 32_000 + 4_000 + 4_000 + 4 * 7_200 + 4_000;
    // Two stations and the Special User Info of 6 octets each.
    let trigger = 1_000 * ofdm_24(16 + 8 + 6 * 3 + 4);
    // 250 sets of 6 angles of 8 bits on average, an SNR of 8 bits, 250 of 4: MCS 5 on 484 tones.
    let report = 4 + 24 + 2 + 5 + (8_u64 + 250 * 48).div_ceil(8) + 250 * 4 / 8 + 4;
    let report = 40_000 + 8_000 + 14_400 * symbols(468, 4, report);
    let mut expected = alloc::vec![(0, announced)];
    for (duration, together) in [(ndp, 1), (trigger, 1), (report, 2)] {
        let begin = expected.last().map_or(0, |(_, end)| end + SIFS);
        expected.extend(core::iter::repeat_n((begin, begin + duration), together));
    }
    // EHT-SIG without RU allocation: 17 + 3 + 22 + 10 bits in each content channel.
    let data = 32_000 + 4_000 + 4_000 + 2 * 7_200 + 13_600 * symbols(980, 4, 2 * 1_544 + 4 + 1_538);
    let (mut soundings, mut together) = (0, 0);
    for (index, ppdu) in ppdus.iter().enumerate() {
        let kind = ppdu.frames().next().map(|frame| frame.kind);
        if matches!(kind, Some(FrameKind::NdpAnnouncement { .. })) {
            let Some(found) = instants(&ppdus, index, expected.len()) else { break };
            assert_eq!(found, expected);
            soundings += 1;
        }
        let is_full = |ppdu: &Ppdu| ppdu.psdus.iter().all(|psdu| psdu.frames.len() == 3);
        if ppdu.psdus.len() == 2 && is_full(ppdu) {
            assert_eq!((ppdu.end - ppdu.start).as_nanos(), data);
            assert!(ppdu.psdus.iter().all(|psdu| psdu.rate.is_eht()));
            together += 1;
        }
    }
    assert!(soundings > 3 && together > 20, "{soundings} {together}");
}
