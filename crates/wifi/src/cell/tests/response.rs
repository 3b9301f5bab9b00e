//! Packets that a host sends in reaction to received ones: they find the medium busy, because their
//! station owes a response (IEEE 802.11-2020, 10.23.2.2), and draw a backoff. The judges are the
//! effect of a uniform backoff, and ns-3's number of acknowledgement PPDUs for a data PPDU in
//! downlink TCP.

use super::*;
use crate::event::{Event, FrameKind};

const STATION: StationId = StationId(1);

/// Counts of PPDUs on the air.
#[derive(Default)]
struct Heard {
    /// PPDUs with data from the access point, and from the station.
    data: u32,
    answers: u32,
    /// PPDUs of the station directly after its response, and those of them that started in the
    /// first slot.
    next: u32,
    first_slot: u32,
}

/// Keeps the access point's queue full; the station answers every second packet when it is
/// delivered, like TCP's receiver.
fn answer(config: &CellConfig, kept: u32, time: Duration) -> Heard {
    let mut cell = Cell::new(config, Seed::new(5, 0)).expect("a sound cell");
    let aifs = Timing::new(config.standard, config.band).aifs(3);
    let (mut heard, mut received, mut tag) = (Heard::default(), 0_u64, 0);
    let mut response_end = None;
    let mut now = Instant::ZERO;
    while now < Instant::ZERO + time {
        while cell.held_packets(AP) < kept {
            cell.handle_packet(now, AP, Address::Station(STATION), Packet::new(tag, 1500, now));
            tag += 1;
        }
        now = cell.poll_timeout().expect("it is never idle").0;
        cell.handle_timeout(now);
        while let Some(output) = cell.poll_output() {
            if let Output::Delivered { station: STATION, .. } = output {
                received += 1;
                if received.is_multiple_of(2) {
                    let answer = Packet::new(received, 52, now);
                    cell.handle_packet(now, STATION, Address::Station(AP), answer);
                }
            }
        }
        while let Some(event) = cell.poll_event() {
            let Event::Ppdu(ppdu) = event else { continue };
            let kind = ppdu.psdus[0].frames[0].kind;
            let is_data = matches!(kind, FrameKind::QosData { .. } | FrameKind::Data);
            let is_response = matches!(kind, FrameKind::BlockAck { .. } | FrameKind::Ack);
            if is_data && ppdu.transmitter == STATION {
                heard.answers += 1;
                if let Some(end) = response_end {
                    heard.next += 1;
                    heard.first_slot += u32::from(ppdu.start == end + aifs);
                }
            }
            heard.data += u32::from(is_data && ppdu.transmitter == AP);
            response_end = (is_response && ppdu.transmitter == STATION).then_some(ppdu.end);
        }
    }
    heard
}

fn downlink(rate: Rate, ampdu: u32) -> CellConfig {
    let mut config = cell(1, rate, rate.width(), ampdu);
    config.beacon_interval = None;
    config.record_events = true;
    config
}

/// The station's first slot is one of 16, and the access point's draw decides which of the two
/// sends next: of 256 pairs the station wins 120, 15 of them in the first slot.
#[test]
fn an_answer_made_on_reception_draws_a_backoff() {
    let long = GuardInterval::Long;
    for (rate, ampdu) in [
        (mcs(15, ChannelWidth::Mhz40, GuardInterval::Short), 65_535),
        (mcs(7, ChannelWidth::Mhz20, long), 65_535),
        (mcs(7, ChannelWidth::Mhz20, long), 0),
        (mcs(3, ChannelWidth::Mhz20, long), 8_000),
    ] {
        let heard = answer(&downlink(rate, ampdu), 500, Duration::from_secs(2));
        let share = f64::from(heard.first_slot) / f64::from(heard.next);
        assert!(heard.next > 100, "{} answers at {rate:?}", heard.next);
        assert!(share < 0.2, "{share} of the answers in the first slot, {rate:?} {ampdu}");
    }
}

/// ns-3: 6 239 to 6 309 PPDUs of acknowledgements to 9 610 of data (0.65), and
/// 4 511 to 6 686 (0.675) with a queue of 100.
#[test]
fn acknowledgements_take_as_many_ppdus_as_in_ns3() {
    let rate = mcs(15, ChannelWidth::Mhz40, GuardInterval::Short);
    let heard = answer(&downlink(rate, 65_535), 350, Duration::from_secs(4));
    let ratio = f64::from(heard.answers) / f64::from(heard.data);
    assert!((0.63..0.69).contains(&ratio), "{ratio}");
}

/// One packet on an idle channel, with the reason of each wake-up: AIFS of 16 + 3 x 9 us, a PPDU of
/// 36 us and 48 symbols (12 326 bits, 260 a symbol), SIFS, and an Ack of 28 us at 24 Mb/s; or no
/// Ack for SIFS, a slot and 20 us (10.3.2.11).
#[test]
fn every_wake_up_says_why() {
    let rate = mcs(7, ChannelWidth::Mhz20, GuardInterval::Long);
    for (loss, expected) in [
        (
            0.0,
            [
                (43, Reason::Access),
                (271, Reason::PpduEnd),
                (287, Reason::Sequel),
                (315, Reason::PpduEnd),
            ],
        ),
        (
            1.0,
            [
                (43, Reason::Access),
                (271, Reason::PpduEnd),
                (316, Reason::ResponseTimeout),
                (0, Reason::Access),
            ],
        ),
    ] {
        let mut config = cell(1, rate, ChannelWidth::Mhz20, 0);
        config.change_links(|pair| {
            pair.link.loss = Some(Probability::new(loss).expect("a probability"));
        });
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        let packet = Packet::new(0, 1_500, Instant::ZERO);
        cell.handle_packet(Instant::ZERO, AP, Address::Station(StationId(1)), packet);
        for (us, reason) in expected {
            let (at, why) = cell.poll_timeout().expect("something is due");
            assert_eq!(why, reason, "at {at:?}");
            // The backoff is random.
            assert!(
                us == 0 || at == Instant::ZERO + Duration::from_micros(us),
                "{why:?} at {at:?}"
            );
            cell.handle_timeout(at);
        }
    }
}
