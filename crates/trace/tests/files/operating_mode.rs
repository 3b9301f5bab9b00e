//! Operating modes as tshark decodes them: the OM Control subfield of 802.11ax, and the Operating
//! Mode Notification of 802.11ac. Skipped if tshark is not installed.

use crate::air::fields;
use crate::scene;
use lasthop_hosts::Sink;
use lasthop_trace::{AirInfo, Files};
use lasthop_units::{Db, Duration, Identity, Instant, Machine, Seed};
use lasthop_wifi::cell::{Cell, CellConfig, OperatingMode, PairConfig, Role, StationConfig};
use lasthop_wifi::event::Event;
use lasthop_wifi::mac::rate::RateSet;
use lasthop_wifi::phy::{Band, ChannelWidth, HeGuardInterval, Propagation, Rate, Standard};
use lasthop_wifi::{Capabilities, StationId};

const WIDTHS: [ChannelWidth; 4] = ChannelWidth::ALL;

/// Each width with each number of streams, 10 ms apart.
fn modes() -> Vec<OperatingMode> {
    let of = |width| {
        (1..=4).map(move |streams| OperatingMode {
            width,
            receive_streams: streams,
            transmit_streams: 5 - streams,
            uplink_ofdma: true,
        })
    };
    WIDTHS.into_iter().flat_map(of).collect()
}

fn run(standard: Standard, rates: Vec<Rate>, recorder: &mut impl Sink) {
    let width = ChannelWidth::Mhz160;
    let link = Propagation::in_band(Band::Ghz5, width).link_with_snr(Db(40.0));
    let pair = |(from, to)| PairConfig::steady(StationId(from), StationId(to), link);
    let stations = [Role::AccessPoint, Role::Station].into_iter().zip(0..);
    let stations: Vec<StationConfig> = stations
        .map(|(role, number)| StationConfig {
            capabilities: Capabilities::new(rates.clone(), true),
            ..StationConfig::fixed(role, Identity::numbered(number), rates[0])
        })
        .collect();
    let links = [(0, 1), (1, 0)].into_iter().map(pair).collect();
    let config = CellConfig::new(standard, Band::Ghz5, stations, links);
    let config = CellConfig { record_events: true, beacon_interval: None, ..config };
    let mut cell = Cell::new(&config, Seed::new(4, 0)).expect("a sound cell");
    for (number, mode) in (0..).zip(modes()) {
        let now = Instant::ZERO + Duration::from_millis(10 * number);
        cell.change_operating_mode(now, StationId(1), mode).expect("a mode");
        while let Some((at, _)) = cell.poll_timeout() {
            cell.handle_timeout(at);
        }
        while let Some(event) = cell.poll_event() {
            if let Event::Ppdu(_) = event {
                recorder.event(&event, &|_| None);
            }
        }
    }
}

/// Returns tshark's values of these fields in each notification.
fn read(
    name: &str,
    standard: Standard,
    rates: Vec<Rate>,
    selected: &[&str],
) -> Option<Vec<Vec<String>>> {
    let path = scene::scratch(name);
    let air = AirInfo { band: Band::Ghz5, channel: 36, rates: rates.clone(), ..scene::air() };
    let files = Files { events: true, air: Some(air), ..Files::default() };
    scene::record(&path, &files, |recorder| run(standard, rates, recorder));
    let common = ["wlan.fc.type_subtype", "frame.len", "wlan.fcs.status", "_ws.malformed"];
    let all: Vec<&str> = common.iter().chain(selected).copied().collect();
    let lines = fields(&path.join("air.pcapng"), &all)?;
    // Acks are between.
    assert_eq!(lines.len(), 2 * modes().len());
    assert!(lines.iter().all(|line| line[2] == "1" && line[3].is_empty()), "{lines:?}");
    let notifications = lines.into_iter().filter(|line| line[0] != "0x001d");
    Some(notifications.collect())
}

fn number(text: &str) -> u32 {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).expect("a number"),
        None => text.parse().expect("a number"),
    }
}

#[test]
fn tshark_reads_om_control() {
    let rates = RateSet::he(4, ChannelWidth::Mhz160, HeGuardInterval::Ns800Ltf2x).rates;
    let om = |field: &str| format!("wlan.htc.he.a_control.om.{field}");
    let names = ["rx_nss", "channel_width", "ul_mu_disable", "tx_nsts"].map(om);
    let selected: Vec<&str> = names.iter().map(String::as_str).collect();
    let Some(lines) = read("om_control", Standard::Dot11ax, rates, &selected) else { return };
    assert_eq!(lines.len(), modes().len());
    for (line, mode) in lines.iter().zip(modes()) {
        assert_eq!(line[0], "0x002c", "{line:?}");
        let width = WIDTHS.iter().position(|width| *width == mode.width);
        let streams = [mode.receive_streams - 1, mode.transmit_streams - 1].map(u32::from);
        assert_eq!([4, 7].map(|index| number(&line[index])), streams, "{line:?}");
        assert_eq!(Some(number(&line[5]) as usize), width, "{line:?}");
        assert!(["0", "False"].contains(&line[6].as_str()), "{line:?}");
    }
}

#[test]
fn tshark_reads_operating_mode_notifications() {
    let rates = RateSet::vht(4, ChannelWidth::Mhz160, false).rates;
    // tshark knows the frame, and leaves the field as it is.
    let selected = ["wlan.vht.action", "wlan.vht.operation_mode_notification"];
    let Some(lines) = read("mode_notification", Standard::Dot11ac, rates, &selected) else {
        return;
    };
    assert_eq!(lines.len(), modes().len());
    for (line, mode) in lines.iter().zip(modes()) {
        assert_eq!((line[0].as_str(), number(&line[4])), ("0x000d", 2), "{line:?}");
        let field = u8::from_str_radix(&line[5], 16).expect("an octet");
        // As Linux reads it: IEEE80211_OPMODE_NOTIF_CHANNEL_WIDTH_MASK, BW_160_80P80, RX_NSS_MASK.
        let width = match mode.width {
            ChannelWidth::Mhz20 => 0,
            ChannelWidth::Mhz40 => 1,
            ChannelWidth::Mhz80 => 2,
            ChannelWidth::Mhz160 | ChannelWidth::Mhz320 => 6,
        };
        let streams = mode.receive_streams - 1;
        assert_eq!((field & 7, field >> 4 & 7, field & 0x88), (width, streams, 0), "{line:?}");
    }
}
