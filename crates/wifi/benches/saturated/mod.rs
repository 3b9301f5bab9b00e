//! Saturated cells that both benches run: an access point in the middle, stations on a circle of 1
//! m around it, 1500-byte packets, best effort with AIFSN 3 and CW 15 to 1023, no TXOP limit,
//! queues of 500 packets kept full. Packets are passive, and no event is recorded. A bench measures
//! the cost of delivering a number of packets, with refilled queues and drained outputs.

use lasthop_packet::Packet;
use lasthop_packet::queue::{Limit, QueueConfig};
use lasthop_units::{Db, Dbm, Identity, Instant, Machine, Meters, Seed};
use lasthop_wifi::cell::{Cell, CellConfig, Output, PairConfig, Role, StationConfig};
use lasthop_wifi::phy::{
    Band, ChannelWidth, GuardInterval, HeGuardInterval, Propagation, Rate, Standard,
};
use lasthop_wifi::{Address, StationId};
use std::hint::black_box;

const AP: StationId = StationId(0);
const BYTES: u16 = 1500;
const QUEUE_PACKETS: u32 = 500;

/// Parameters of a saturated cell.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    stations: usize,
    standard: Standard,
    rate: Rate,
    /// Whether packets are sent in A-MPDUs, up to the longest of the standard.
    aggregates: bool,
}

/// The access point sends to one station in A-MPDUs of 42 MPDUs, which fill 65 535 bytes.
pub const ONE_AMPDU: Case = Case {
    stations: 1,
    standard: Standard::Dot11n,
    rate: Rate::Ht { mcs: 15, width: ChannelWidth::Mhz40, guard_interval: GuardInterval::Short },
    aggregates: true,
};
/// The access point sends to one station, each packet in a separate exchange.
pub const ONE_SINGLE: Case = Case { aggregates: false, ..ONE_AMPDU };
/// The access point sends to one station with 802.11ac: 64 MPDUs in a PPDU.
pub const ONE_VHT: Case = Case {
    standard: Standard::Dot11ac,
    rate: Rate::Vht {
        mcs: 9,
        streams: 2,
        width: ChannelWidth::Mhz80,
        guard_interval: GuardInterval::Short,
    },
    ..ONE_AMPDU
};
/// The same with 802.11ax: 256 MPDUs in a PPDU.
pub const ONE_HE: Case = Case {
    standard: Standard::Dot11ax,
    rate: Rate::He {
        mcs: 11,
        streams: 2,
        width: ChannelWidth::Mhz80,
        guard_interval: HeGuardInterval::Ns800Ltf2x,
        dcm: false,
    },
    ..ONE_AMPDU
};
/// Ten stations send to the access point in A-MPDUs.
pub const TEN_AMPDU: Case = Case { stations: 10, ..ONE_AMPDU };
/// Fifty stations send to the access point: most PPDUs collide.
pub const FIFTY_SINGLE: Case = Case {
    stations: 50,
    rate: Rate::Ht { mcs: 7, width: ChannelWidth::Mhz20, guard_interval: GuardInterval::Long },
    ..ONE_SINGLE
};

/// A cell in steady state, and the sources that keep it busy.
pub struct Saturated {
    cell: Cell,
    /// Receiver of each station's packets, if it sends.
    peers: Vec<Option<Address>>,
    now: Instant,
    tag: u64,
}

impl Saturated {
    /// The case after its first 5000 deliveries.
    pub fn new(case: Case) -> Self {
        let cell = Cell::new(&config(case), Seed::new(1, 0)).expect("a sound cell");
        let peers = match case.stations {
            1 => vec![Some(Address::Station(StationId(1))), None],
            n => (0..=n).map(|s| (s > 0).then_some(Address::Station(AP))).collect(),
        };
        let mut saturated = Self { cell, peers, now: Instant::ZERO, tag: 0 };
        for station in 0..=case.stations as u16 {
            saturated.refill(StationId(station));
        }
        saturated.deliver(5_000);
        saturated
    }

    /// Runs until `packets` more are delivered.
    pub fn deliver(&mut self, packets: u64) {
        let mut delivered = 0;
        while delivered < packets {
            let (at, _) = self.cell.poll_timeout().expect("a saturated cell never rests");
            self.now = at;
            self.cell.handle_timeout(at);
            while let Some(output) = self.cell.poll_output() {
                delivered += u64::from(matches!(output, Output::Delivered { .. }));
                black_box(&output);
            }
            while let Some(station) = self.cell.poll_space() {
                self.refill(station);
            }
        }
    }

    fn refill(&mut self, station: StationId) {
        let Some(peer) = self.peers[station.index()] else { return };
        while self.cell.held_packets(station) < QUEUE_PACKETS {
            let packet = Packet { passive: true, ..Packet::new(self.tag, BYTES, self.now) };
            self.cell.handle_packet(self.now, station, peer, packet);
            self.tag += 1;
        }
    }
}

fn config(case: Case) -> CellConfig {
    let propagation = Propagation::in_band(Band::Ghz5, case.rate.width());
    let place = |station: u16| match station {
        0 => (0.0, 0.0),
        _ => {
            let angle = std::f64::consts::TAU * f64::from(station) / case.stations as f64;
            (angle.cos(), angle.sin())
        }
    };
    let pair = |from: u16, to: u16| {
        let ((x, y), (u, v)) = (place(from), place(to));
        let link = propagation.link(Dbm(16.02), Meters((x - u).hypot(y - v)), Db(0.0));
        PairConfig::steady(StationId(from), StationId(to), link)
    };
    let all = 0..=case.stations as u16;
    let links = all.clone().flat_map(|from| all.clone().map(move |to| (from, to)));
    let links = links.filter(|(from, to)| from != to).map(|(from, to)| pair(from, to));
    let mut stations = vec![station(case, Role::Station); case.stations + 1];
    stations[0].role = Role::AccessPoint;
    for (number, station) in (0..).zip(&mut stations) {
        station.identity = Identity::numbered(number);
    }
    CellConfig::new(case.standard, Band::Ghz5, stations, links.collect())
}

fn station(case: Case, role: Role) -> StationConfig {
    let mut station = StationConfig::fixed(role, Identity::default(), case.rate);
    station.queue = QueueConfig::DropTail { limit: Limit::Packets(QUEUE_PACKETS) };
    if !case.aggregates {
        station.aggregation.ampdu_bytes_max = 0;
    }
    station
}
