//! Readings for a live view of a running analysis: each station with its traffic since the previous
//! reading and since the start, the channel, and the findings so far. A reading does not change the
//! analysis: a PPDU that may still get MPDUs is part of the next reading.
//!
//! Shares are 0 to 1, rates and throughput are in Mb/s. A quantity that is unknown for the interval
//! is `None`. Stations that exchange no data and send no beacons (devices that only look for
//! networks) are only counted.

mod news;
mod order;
mod wire;

pub use news::{Found, News};
pub use order::Order;
pub use wire::FlowRow;

use crate::air::Air;
use crate::air::beacons;
use crate::air::exchange::Link;
use crate::air::stations::StationId;
use crate::analysis::Analysis;
use crate::rate::Rate;
use lasthop_units::{Duration, MacAddr};
use std::collections::BTreeMap;
use wire::Wire;

/// State of the channel and its stations in the time since the previous reading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Time since the first packet, by capture times.
    pub length: Duration,
    /// Number of packets since the start.
    pub frames: u64,
    /// Packets per second.
    pub frames_per_s: f64,
    /// Share of the time in which frames were on the air; `None` on a wire.
    pub busy: Option<f64>,
    /// Share of the MPDUs since the start that the monitor captured; `None` if no answer was
    /// captured.
    pub captured: Option<f64>,
    /// Centre of the (primary) channel of the latest frame in MHz.
    pub frequency_mhz: Option<u16>,
    /// Stations and access points, in the order in which they were heard.
    pub stations: Vec<Row>,
    /// Number of stations that are not in `stations`.
    pub strangers: usize,
    /// Flows with packets, if there is no 802.11; the fastest first.
    pub flows: Vec<FlowRow>,
    /// Findings so far, worst first.
    pub findings: Vec<Found>,
}

/// A station or an access point.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// MAC address of the station.
    pub address: MacAddr,
    /// Whether it is an access point.
    pub access_point: bool,
    /// Name of its network; the address of the access point if no beacon with a name was captured.
    pub network: String,
    /// Mean level of its frames in dBm, in the last interval in which it sent frames.
    pub signal_dbm: Option<f64>,
    /// Data from the station. Its time on the air includes all of its frames.
    pub sent: Traffic,
    /// Data to the station.
    pub received: Traffic,
    /// State of the station; `None` if it never announces absences.
    pub state: Option<State>,
}

/// Data of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Traffic {
    /// PHY rate with the most time on the air.
    pub rate: Option<Rate>,
    /// Mean PHY rate weighted by time on the air, in Mb/s.
    pub rate_mbps: Option<f64>,
    /// Mean PHY rate since the start, in Mb/s.
    pub rate_mbps_mean: Option<f64>,
    /// MPDUs per second.
    pub mpdus_per_s: f64,
    /// Share of MPDUs with the Retry bit.
    pub retries: Option<f64>,
    /// Share of the time on the air.
    pub airtime: f64,
    /// Share of the time on the air since the start.
    pub airtime_mean: f64,
    /// Bodies of MSDUs, each once, in Mb/s.
    pub throughput_mbps: f64,
    /// Mean number of MPDUs in an A-MPDU.
    pub mpdus_per_ampdu: Option<f64>,
}

/// State of a station, as it announces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The station can be reached.
    Awake,
    /// The station rests, since this time before the latest packet.
    Dozing(Duration),
    /// The station has interrupted its traffic, this long before the latest packet.
    Away(Duration),
}

/// Source of readings of one analysis.
#[derive(Debug, Default)]
pub struct Meter {
    before: Progress,
    stations: Vec<StationSums>,
    rates: BTreeMap<(StationId, StationId), Rates>,
    news: News,
    wire: Wire,
}

/// Sums up to the previous reading.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    packets: u64,
    busy_ns: u64,
    end_ns: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct StationSums {
    signal: (i64, u64),
    airtime_ns: u64,
    sent: Sums,
    received: Sums,
    signal_dbm: Option<f64>,
}

/// Sums over the links of a station.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    mpdus: u64,
    retries: u64,
    ampdus: u64,
    ampdu_mpdus: u64,
    payload_bytes: u64,
    airtime_ns: u64,
    /// PHY rate in kb/s times time on the air in ns, and that time if the rate is known.
    rate: (f64, f64),
}

/// Time on the air of a link by rate in ns.
#[derive(Clone, Debug, Default)]
struct Rates {
    ppdus: u64,
    airtime_ns: BTreeMap<Rate, u64>,
}

impl Meter {
    /// Returns a reading of an analysis, `elapsed` after the previous one (or after the start). If
    /// the captured time is longer, as for a pipe that has waited or for a file, the captured time
    /// counts.
    pub fn read(&mut self, analysis: &Analysis, elapsed: Duration) -> Reading {
        let air = &analysis.main.air;
        let (first_ns, end_ns) = analysis.times().unwrap_or_default();
        let since_ns = self.before.end_ns.unwrap_or(first_ns);
        let interval_ns = elapsed.as_nanos().max(end_ns.saturating_sub(since_ns)).max(1);
        let most_used = self.most_used(air);
        let sums = sums(air);
        let mut rows = Vec::new();
        self.stations.resize(sums.len(), StationSums::default());
        for (id, known) in air.stations.iter() {
            let heard = air.heard.get(id.index());
            let now = StationSums {
                signal: heard.map_or((0, 0), |heard| heard.signal),
                airtime_ns: heard.map_or(0, |heard| heard.airtime.as_nanos()),
                ..sums[id.index()]
            };
            let before = std::mem::replace(&mut self.stations[id.index()], now);
            let (sum, number) = (now.signal.0 - before.signal.0, now.signal.1 - before.signal.1);
            let signal_dbm = (number > 0).then(|| sum as f64 / number as f64);
            let signal_dbm = signal_dbm.or(before.signal_dbm);
            self.stations[id.index()].signal_dbm = signal_dbm;
            let Some(bss) = known.bss else { continue };
            let name = air.beacons.get(&bss).map(|beacons| beacons.ssid.as_slice());
            let name = name.filter(|name| name.iter().any(|byte| *byte != 0));
            let share = |ns: u64, of: u64| ns as f64 / of.max(1) as f64;
            let mut sent = Traffic::new(&before.sent, &now.sent, interval_ns, air.length_ns());
            sent.airtime = share(now.airtime_ns - before.airtime_ns, interval_ns);
            sent.airtime_mean = share(now.airtime_ns, air.length_ns());
            let mut received =
                Traffic::new(&before.received, &now.received, interval_ns, air.length_ns());
            [sent.rate, received.rate] = most_used.get(&id).copied().unwrap_or_default();
            rows.push(Row {
                address: known.address,
                access_point: known.access_point,
                network: match name {
                    Some(name) => beacons::name(name),
                    None => air.stations.get(bss).address.to_string(),
                },
                signal_dbm,
                sent,
                received,
                state: air.absences.get(&id).and_then(|absences| match absences.away() {
                    Some((since_ns, rests)) => {
                        let since = Duration::from_nanos(air.end_ns.saturating_sub(since_ns));
                        Some(if rests { State::Dozing(since) } else { State::Away(since) })
                    }
                    None => (absences.totals().absences > 0).then_some(State::Awake),
                }),
            });
        }
        let per_s = 1e9 / interval_ns as f64;
        let proved = air.links.values().map(|link| link.counts.proved);
        let proved = proved.fold((0, 0), |sum, link| (sum.0 + link.0, sum.1 + link.1));
        let busy_ns = air.busy.sum_ns - self.before.busy_ns;
        let reading = Reading {
            length: Duration::from_nanos(end_ns.saturating_sub(first_ns)),
            frames: analysis.packets,
            frames_per_s: (analysis.packets - self.before.packets) as f64 * per_s,
            busy: (air.ppdus > 0).then(|| busy_ns as f64 / interval_ns as f64),
            captured: (proved.0 > 0).then(|| proved.0 as f64 / (proved.0 + proved.1) as f64),
            frequency_mhz: air.frequency_mhz,
            strangers: air.stations.count() - rows.len(),
            stations: rows,
            flows: match air.begin_ns {
                Some(_) => Vec::new(),
                None => self.wire.read(analysis, interval_ns),
            },
            findings: self.news.found_in(analysis, Duration::from_nanos(interval_ns)),
        };
        let end_ns = analysis.times().map(|(_, end)| end.max(since_ns));
        self.before = Progress { packets: analysis.packets, busy_ns: air.busy.sum_ns, end_ns };
        reading
    }

    /// Returns the rates with the most time on the air since the previous reading, for data from
    /// and to each station.
    fn most_used(&mut self, air: &Air) -> BTreeMap<StationId, [Option<Rate>; 2]> {
        let mut used: BTreeMap<StationId, [BTreeMap<Rate, u64>; 2]> = BTreeMap::new();
        for (key, link) in &air.links {
            let before = self.rates.entry(*key).or_default();
            if before.ppdus == link.counts.ppdus {
                continue;
            }
            before.ppdus = link.counts.ppdus;
            for (rate, at) in &link.rates {
                let airtime_ns = at.airtime.as_nanos();
                let before = before.airtime_ns.entry(*rate).or_default();
                let since = airtime_ns.saturating_sub(std::mem::replace(before, airtime_ns));
                if since > 0 {
                    for (id, direction) in [(link.from, 0), (link.to, 1)] {
                        *used.entry(id).or_default()[direction].entry(*rate).or_default() += since;
                    }
                }
            }
        }
        if self.rates.len() > air.links.len() {
            self.rates.retain(|key, _| air.links.contains_key(key));
        }
        let most = |rates: BTreeMap<Rate, u64>| {
            rates.into_iter().max_by_key(|(_, airtime)| *airtime).map(|(rate, _)| rate)
        };
        used.into_iter().map(|(id, directions)| (id, directions.map(most))).collect()
    }
}

/// Returns the sums of each station, in the order of stations.
fn sums(air: &Air) -> Vec<StationSums> {
    let mut stations = vec![StationSums::default(); air.stations.count()];
    for link in air.links.values() {
        stations[link.from.index()].sent.add(link);
        stations[link.to.index()].received.add(link);
    }
    stations
}

impl Sums {
    fn add(&mut self, link: &Link) {
        let counts = &link.counts;
        self.mpdus += counts.mpdus;
        self.retries += counts.retries;
        self.ampdus += counts.ampdus;
        self.ampdu_mpdus += counts.ampdu_mpdus.0 + counts.ampdu_mpdus.1;
        self.payload_bytes += counts.payload_bytes;
        self.airtime_ns += counts.airtime.as_nanos();
        for (rate, at) in &link.rates {
            let airtime_ns = at.airtime.as_nanos() as f64;
            self.rate.0 += f64::from(rate.kbps) * airtime_ns;
            self.rate.1 += airtime_ns;
        }
    }
}

impl Traffic {
    /// Creates traffic from earlier and current sums. Links may have been dropped in between.
    fn new(before: &Sums, now: &Sums, interval_ns: u64, length_ns: u64) -> Self {
        let since = |of: fn(&Sums) -> u64| of(now).saturating_sub(of(before)) as f64;
        let ratio = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
        let (mpdus, ampdus) = (since(|sums| sums.mpdus), since(|sums| sums.ampdus));
        let rate = (now.rate.0 - before.rate.0, now.rate.1 - before.rate.1);
        Self {
            rate: None,
            rate_mbps: ratio(rate.0 / 1e3, rate.1),
            rate_mbps_mean: ratio(now.rate.0 / 1e3, now.rate.1),
            mpdus_per_s: mpdus * 1e9 / interval_ns as f64,
            retries: ratio(since(|sums| sums.retries), mpdus),
            airtime: since(|sums| sums.airtime_ns) / interval_ns as f64,
            airtime_mean: now.airtime_ns as f64 / length_ns.max(1) as f64,
            throughput_mbps: since(|sums| sums.payload_bytes) * 8e3 / interval_ns as f64,
            mpdus_per_ampdu: ratio(since(|sums| sums.ampdu_mpdus), ampdus),
        }
    }
}
