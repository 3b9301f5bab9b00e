//! A cell whose stations always have packets to send, compared with its closed form (Bianchi,
//! "Performance analysis of the IEEE 802.11 distributed coordination function", 2000).
//!
//! Stations stand 1 m around an access point, send 1500-byte packets at HT MCS 7 without
//! aggregation, and hear each other; there are no beacons, and no PPDU is captured out of a
//! collision. The closed form has the retry limit of the cell. The closed form assumes that a
//! collision is independent of the backoff before it, and that all stations wait for the same time
//! after one. The cell makes neither assumption.
//!
//! `cargo run --release -p lasthop-wifi --example saturated`

#![expect(clippy::print_stdout, reason = "an example shows what it computes")]

use lasthop_packet::Packet;
use lasthop_packet::queue::{Limit, QueueConfig};
use lasthop_units::{Bitrate, Bytes, Db, Dbm, Duration, Identity, Instant, Machine, Meters, Seed};
use lasthop_wifi::cell::{
    Aggregation, Cell, CellConfig, CellError, EdcaParameters, Output, PairConfig, Role,
    StationConfig,
};
use lasthop_wifi::mac::sizes;
use lasthop_wifi::phy::{
    Band, ChannelWidth, ControlRates, GuardInterval, Propagation, Rate, Standard, Timing,
};
use lasthop_wifi::{Address, StationId};

const RATE: Rate =
    Rate::Ht { mcs: 7, width: ChannelWidth::Mhz20, guard_interval: GuardInterval::Long };
const BAND: Band = Band::Ghz5;
const PACKET_BYTES: u16 = 1500;
const RETRY_LIMIT: u8 = 7;
const EDCA: EdcaParameters = EdcaParameters::BEST_EFFORT;
const TIME: Duration = Duration::from_secs(4);
const ACCESS_POINT: StationId = StationId(0);

fn main() -> Result<(), CellError> {
    println!("stations  cell, Mb/s  closed form  difference  retries");
    for stations in [1, 2, 5, 10, 20] {
        let (simulated, retries) = simulate(stations)?;
        let computed = bianchi(stations);
        println!(
            "{stations:8}  {simulated:10.2}  {computed:11.2}  {:+8.1} %  {:5.1} %",
            100.0 * (simulated / computed - 1.0),
            100.0 * retries,
        );
    }
    Ok(())
}

/// Runs the cell; returns its throughput in Mb/s and the share of retransmissions.
fn simulate(stations: u16) -> Result<(f64, f64), CellError> {
    let mut cell = Cell::new(&config(stations), Seed::new(1, 0))?;
    let end = Instant::ZERO + TIME;
    let (mut now, mut tag, mut delivered) = (Instant::ZERO, 0, 0);
    for station in 1..=stations {
        refill(&mut cell, StationId(station), now, &mut tag);
    }
    while let Some((at, _)) = cell.poll_timeout().filter(|(at, _)| *at < end) {
        now = at;
        cell.handle_timeout(now);
        while let Some(output) = cell.poll_output() {
            delivered += u64::from(matches!(output, Output::Delivered { .. }));
        }
        // A station whose queue has space again.
        while let Some(station) = cell.poll_space() {
            refill(&mut cell, station, now, &mut tag);
        }
    }
    let link = |station| cell.link_stats(StationId(station), Address::Station(ACCESS_POINT));
    let links = || (1..=stations).filter_map(link);
    let mpdus: u64 = links().map(|link| link.mpdus).sum();
    let retries: u64 = links().map(|link| link.mpdu_retries).sum();
    let bytes = Bytes::new(delivered * u64::from(PACKET_BYTES));
    Ok((Bitrate::from_bytes_in(bytes, TIME).as_mbps_f64(), retries as f64 / mpdus as f64))
}

fn refill(cell: &mut Cell, station: StationId, now: Instant, tag: &mut u64) {
    while station != ACCESS_POINT && cell.held_packets(station) < 8 {
        let packet = Packet::new(*tag, PACKET_BYTES, now);
        cell.handle_packet(now, station, Address::Station(ACCESS_POINT), packet);
        *tag += 1;
    }
}

fn config(stations: u16) -> CellConfig {
    let place = |station: u16| match station {
        0 => (0.0, 0.0),
        _ => {
            let angle = std::f64::consts::TAU * f64::from(station) / f64::from(stations);
            (angle.cos(), angle.sin())
        }
    };
    let propagation = Propagation::in_band(BAND, ChannelWidth::Mhz20);
    let pair = |from: u16, to: u16| {
        let ((x, y), (u, v)) = (place(from), place(to));
        let link = propagation.link(Dbm(16.0), Meters((x - u).hypot(y - v)), Db(0.0));
        PairConfig::steady(StationId(from), StationId(to), link)
    };
    let all = 0..=stations;
    let pairs = all.clone().flat_map(|from| all.clone().map(move |to| (from, to)));
    let links = pairs.filter(|(from, to)| from != to).map(|(from, to)| pair(from, to)).collect();
    let station = |number: u16| {
        let role = if number == 0 { Role::AccessPoint } else { Role::Station };
        StationConfig {
            queue: QueueConfig::DropTail { limit: Limit::Packets(8) },
            aggregation: Aggregation { ampdu_bytes_max: 0, ..Aggregation::STANDARD },
            retry_limit: RETRY_LIMIT,
            ..StationConfig::fixed(role, Identity::numbered(number.into()), RATE)
        }
    };
    CellConfig {
        beacon_interval: None,
        capture_margin: None,
        ..CellConfig::new(Standard::Dot11n, BAND, all.map(station).collect(), links)
    }
}

/// The throughput in Mb/s of the closed form, with a retry limit.
fn bianchi(stations: u16) -> f64 {
    let timing = Timing::new(Standard::Dot11n, BAND);
    let response = ControlRates::for_standard(Standard::Dot11n, BAND).response(RATE);
    let aifs = timing.aifs(EDCA.aifsn);
    let ppdu = RATE.ppdu_duration(sizes::mpdu(PACKET_BYTES.into(), true), BAND);
    let success = ppdu + timing.sifs + response.ppdu_duration(sizes::ACK, BAND) + aifs;
    let collision = ppdu + aifs;

    // The more often the others attempt, the less often does one station: bisection.
    let others_idle = |attempt: f64, others: u16| (1.0 - attempt).powi(i32::from(others));
    let (mut low, mut high) = (0.0, 1.0);
    while high - low > 1e-12 {
        let attempt = 0.5 * (low + high);
        let collides = 1.0 - others_idle(attempt, stations - 1);
        let (mut attempts, mut slots, mut reached) = (0.0, 0.0, 1.0);
        for retry in 0..RETRY_LIMIT {
            let window = (f64::from(EDCA.cw_min) + 1.0) * f64::from(1_u32 << retry);
            let mean = (window.min(f64::from(EDCA.cw_max) + 1.0) - 1.0) / 2.0;
            attempts += reached;
            slots += reached * (1.0 + mean);
            reached *= collides;
        }
        *(if attempts / slots > attempt { &mut low } else { &mut high }) = attempt;
    }

    let idle = others_idle(low, stations);
    let alone = f64::from(stations) * low * others_idle(low, stations - 1);
    let us = Duration::as_micros_f64;
    let slot_us =
        idle * us(timing.slot) + alone * us(success) + (1.0 - idle - alone) * us(collision);
    alone * f64::from(PACKET_BYTES) * 8.0 / slot_us
}
