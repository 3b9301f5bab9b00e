//! Interrupts that a receiver holds back, against ath9k's timers traced by hand.

use super::*;

/// Instants in us at which packets sent to station 1 at `sent_us` are delivered, held back or not.
fn delivered(hold: Option<RxHold>, sent_us: &[u64]) -> Vec<u64> {
    let width = ChannelWidth::Mhz20;
    let mut config = cell(1, mcs(7, width, GuardInterval::Long), width, 0);
    config.change_links(|pair| pair.link.snr = Db(50.0));
    if let Some(hold) = hold {
        config.stations[1].rx_interrupt = RxInterrupt::Held(hold);
    }
    let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
    let mut delivered = Vec::new();
    let take = |cell: &mut Cell, delivered: &mut Vec<u64>| {
        while let Some(output) = cell.poll_output() {
            let Output::Delivered { at, packet, .. } = output else { panic!("{output:?}") };
            assert_eq!(packet.parts.total(), at - packet.created);
            delivered.push((at - Instant::ZERO).as_micros());
        }
    };
    for &sent in sent_us {
        let at = Instant::ZERO + Duration::from_micros(sent);
        while let Some((due, _)) = cell.poll_timeout().filter(|(due, _)| *due < at) {
            cell.handle_timeout(due);
            take(&mut cell, &mut delivered);
        }
        cell.handle_packet(at, AP, Address::Station(StationId(1)), Packet::new(sent, 100, at));
    }
    let end = Instant::ZERO + Duration::from_millis(50);
    while let Some((due, _)) = cell.poll_timeout().filter(|(due, _)| *due < end) {
        cell.handle_timeout(due);
        take(&mut cell, &mut delivered);
    }
    delivered
}

/// The interrupt is 500 us after the last frame, and at most 2 ms after the first.
#[test]
fn an_interrupt_serves_several_frames() {
    let sent = [1_000, 1_300, 5_000, 5_400, 5_800, 6_200, 6_600, 7_000, 7_400, 9_000];
    let received = delivered(None, &sent);
    assert_eq!(received.len(), sent.len());
    let held = delivered(Some(RxHold::ATH9K), &sent);
    let mut expected = vec![received[1] + 500; 2];
    // The last but two frames of the burst come within 2 ms of the first.
    let limit = received[2] + 2_000;
    let within = received[2..9].iter().filter(|&&at| at <= limit).count();
    assert!((4..7).contains(&within), "{received:?}");
    expected.extend(vec![limit; within]);
    expected.extend(vec![received[8] + 500; 7 - within]);
    expected.push(received[9] + 500);
    assert_eq!(held, expected, "{received:?}");
}

/// A device that sends meanwhile has an interrupt for both.
#[test]
fn a_completed_transmission_interrupts() {
    let width = ChannelWidth::Mhz20;
    let mut config = cell(1, mcs(7, width, GuardInterval::Long), width, 0);
    config.change_links(|pair| pair.link.snr = Db(50.0));
    config.stations[1].rx_interrupt = RxInterrupt::Held(RxHold::ATH9K);
    let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
    let (station, start) = (StationId(1), Instant::ZERO);
    cell.handle_packet(start, AP, Address::Station(station), Packet::new(1, 100, start));
    let mut delivered = Vec::new();
    let mut has_answered = false;
    let end = start + Duration::from_millis(50);
    while let Some((at, _)) = cell.poll_timeout().filter(|(at, _)| *at < end) {
        cell.handle_timeout(at);
        if !has_answered
            && cell
                .link_stats(AP, Address::Station(station))
                .is_some_and(|link| link.mpdus_acked > 0)
        {
            has_answered = true;
            cell.handle_packet(at, station, Address::Station(AP), Packet::new(2, 100, at));
        }
        while let Some(output) = cell.poll_output() {
            let Output::Delivered { at, packet, .. } = output else { panic!("{output:?}") };
            delivered.push((packet.tag, at));
        }
    }
    // The access point has the answer at once, and its acknowledgement ends 44 us later.
    let [(2, answer), (1, interrupt)] = delivered[..] else { panic!("{delivered:?}") };
    assert!(interrupt > answer && interrupt < answer + Duration::from_micros(60), "{delivered:?}");
}
