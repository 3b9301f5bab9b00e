//! The drawn screen, on terminals of two sizes.

use super::*;
use lasthop_capture::finding::{Finding, Kind};
use lasthop_capture::live::{FlowRow, Found};
use lasthop_units::MacAddr;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::KeyModifiers;

fn row(number: u8, airtime: f64) -> Row {
    let traffic = Traffic {
        rate: Rate::ht(15, true, true),
        rate_mbps: Some(300.0),
        rate_mbps_mean: Some(243.2),
        mpdus_per_s: 2_000.0 * airtime,
        retries: Some(0.123),
        airtime,
        airtime_mean: airtime / 2.0,
        throughput_mbps: 100.0 * airtime,
        mpdus_per_ampdu: Some(21.4),
    };
    Row {
        address: MacAddr([2, 0x1a, 0, 0, 0, number]),
        access_point: number == 0,
        network: "home\u{1b}[2J".to_owned(),
        signal_dbm: Some(-40.0 - f64::from(number)),
        sent: traffic,
        received: Traffic { throughput_mbps: 1.5, ..Traffic::default() },
        state: match number {
            1 => Some(State::Away(Duration::from_millis(84))),
            2 => Some(State::Dozing(Duration::from_secs(12))),
            3 => Some(State::Awake),
            _ => None,
        },
    }
}

fn found(sentence: &str, age_s: u64) -> Found {
    let finding = Finding {
        kind: Kind::HighRetry,
        sentence: sentence.to_owned(),
        frames: [1, 2],
        from_s: 0.0,
        to_s: 1.0,
        harm: 0.5,
        check: String::new(),
        station: None,
    };
    Found { finding, age: Duration::from_secs(age_s) }
}

fn screen(stations: u8) -> Screen {
    let mut screen = Screen {
        name: "mon0".to_owned(),
        length: Duration::from_secs(3_723),
        reading: Reading {
            frames: 12_345,
            frames_per_s: 3_456.4,
            busy: Some(0.4321),
            captured: Some(0.987),
            frequency_mhz: Some(5_180),
            stations: (0..stations).map(|n| row(n, f64::from(n % 5) / 10.0)).collect(),
            strangers: 7,
            findings: vec![
                found("Much is sent again between two stations that are far apart", 60),
                found("A station leaves the channel", 3),
            ],
            ..Reading::default()
        },
        ..Screen::default()
    };
    screen.sort();
    screen
}

fn drawn(screen: &mut Screen, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen.draw(frame)).unwrap();
    terminal.backend().to_string()
}

fn press(screen: &mut Screen, code: KeyCode) -> bool {
    screen.handle_key(&KeyEvent::new(code, KeyModifiers::NONE))
}

#[test]
fn stations_and_findings_are_shown() {
    let mut screen = screen(6);
    screen.dropped = 12;
    insta::assert_snapshot!(drawn(&mut screen, 140, 16));
}

/// The least important columns are left out, more stations than fit scroll, and findings have
/// their place.
#[test]
fn a_small_terminal_has_the_most_important() {
    let mut screen = screen(40);
    screen.note = Some("not a monitor interface".to_owned());
    assert!(press(&mut screen, KeyCode::Char('d')));
    assert!(press(&mut screen, KeyCode::PageDown));
    insta::assert_snapshot!(drawn(&mut screen, 60, 14));
}

/// On a wire the view shows flows instead of stations.
#[test]
fn flows_of_a_wire_are_shown() {
    let flow = |name: &str, mbps, ack_ms| FlowRow {
        name: name.to_owned(),
        packets_per_s: 812.0,
        throughput_mbps: mbps,
        retransmissions: 3,
        ack_ms,
    };
    let flows = vec![
        flow("tcp 192.0.2.1:443 > 192.0.2.2:50123", 93.4, Some(12.34)),
        flow("udp [2001:db8::1]:443 > [2001:db8::2]:50123", 1.25, None),
    ];
    let mut screen = screen(0);
    screen.reading = Reading { flows, frames_per_s: 99.0, ..Reading::default() };
    insta::assert_snapshot!(drawn(&mut screen, 80, 8));
}

/// Screens of any size and scroll position are drawn without a panic.
#[test]
fn any_size_can_be_drawn() {
    for stations in [0, 1, 40] {
        let mut screen = screen(stations);
        for (width, height) in [(1, 1), (2, 3), (10, 4), (20, 5), (79, 24), (250, 60)] {
            for code in [KeyCode::End, KeyCode::PageDown, KeyCode::Char('s'), KeyCode::Up] {
                assert!(press(&mut screen, code));
                drawn(&mut screen, width, height);
            }
        }
        assert!(!press(&mut screen, KeyCode::Char('x')));
    }
}

/// Each press of `s` changes the order, and after all orders the first one returns.
#[test]
fn a_key_goes_through_all_orders() {
    let mut screen = screen(20);
    let addresses = |screen: &Screen| -> Vec<u8> {
        screen.reading.stations.iter().map(|row| row.address.0[5]).collect()
    };
    assert_eq!(addresses(&screen)[..5], [4, 9, 14, 19, 3]);
    let first = addresses(&screen);
    let mut seen = Vec::new();
    for _ in Order::ALL {
        press(&mut screen, KeyCode::Char('s'));
        seen.push((screen.order.name(), addresses(&screen)[0]));
    }
    let expected =
        ["airtime since the start", "throughput", "retries", "signal", "network", "address"];
    assert_eq!(seen.iter().map(|(name, _)| *name).collect::<Vec<_>>()[..6], expected);
    // The strongest signal is the first station's, as are the smallest address and the access point.
    assert_eq!(seen.iter().map(|(_, first)| *first).collect::<Vec<_>>(), [4, 4, 0, 0, 0, 0, 4]);
    assert_eq!(addresses(&screen), first);
}

#[test]
fn channels_have_the_numbers_of_the_standard() {
    for (mhz, expected) in [
        (2_412, "channel 1 (2412 MHz)"),
        (2_472, "channel 13 (2472 MHz)"),
        (2_484, "channel 14 (2484 MHz)"),
        (5_180, "channel 36 (5180 MHz)"),
        (5_885, "channel 177 (5885 MHz)"),
        (5_955, "channel 1 (5955 MHz)"),
        (7_115, "channel 233 (7115 MHz)"),
        (900, "900 MHz"),
    ] {
        assert_eq!(channel(mhz), expected);
    }
}
