//! Exchanges in one step, against the same in single steps.

use super::*;
use proptest::prelude::*;

/// What a driver polls: packets, events, reports, and stations with space.
#[derive(Debug, PartialEq)]
enum Polled {
    Output(Output),
    Event(Event),
    Released(Released),
    Space(Instant, StationId),
}

/// A cell whose driver keeps some packets queued at each sender.
struct Kept {
    cell: Cell,
    polled: Vec<Polled>,
    wake_ups: u32,
    tag: u64,
    /// Packets that each sender keeps.
    target: u32,
    /// Whether drivers act on packets that arrive, by tag modulo 4.
    prompt: [bool; 4],
}

impl Kept {
    fn new(config: &CellConfig, target: u32, prompt: [bool; 4]) -> Self {
        let cell = Cell::new(config, Seed::new(3, 1)).expect("a sound cell");
        Self { cell, polled: Vec::new(), wake_ups: 0, tag: 0, target, prompt }
    }

    fn send(&mut self, now: Instant, from: StationId, to: Address, bytes: u16) {
        let passive = !self.prompt[self.tag as usize % 4];
        let notify = self.tag.is_multiple_of(5);
        let packet = Packet { passive, notify, ..Packet::new(self.tag, bytes, now) };
        self.cell.handle_packet(now, from, to, packet);
        self.tag += 1;
    }

    /// Polls everything; whose queue became shorter fills it.
    fn poll(&mut self, flows: &[(StationId, StationId)]) {
        let now = self.cell.now();
        while let Some(event) = self.cell.poll_event() {
            self.polled.push(Polled::Event(event));
        }
        while let Some(output) = self.cell.poll_output() {
            self.polled.push(Polled::Output(output));
        }
        while let Some(released) = self.cell.poll_released() {
            self.polled.push(Polled::Released(released));
        }
        while let Some(station) = self.cell.poll_space() {
            self.polled.push(Polled::Space(now, station));
            self.fill(now, station, flows);
        }
    }

    fn fill(&mut self, now: Instant, station: StationId, flows: &[(StationId, StationId)]) {
        let Some(&(from, to)) = flows.iter().find(|(from, _)| *from == station) else { return };
        while self.cell.held_packets(from) < self.target {
            self.send(now, from, Address::Station(to), 900);
        }
    }

    /// Performs everything up to `until`: by single steps, or by as few as possible.
    fn run(&mut self, until: Instant, singly: bool, flows: &[(StationId, StationId)]) {
        while let Some((due, _)) = self.cell.poll_timeout()
            && due <= until
        {
            if singly {
                self.cell.handle_timeout(due);
            } else {
                self.cell.advance(until);
            }
            self.wake_ups += 1;
            self.poll(flows);
        }
    }
}

/// A saturated station costs a wake-up for a packet, not four.
#[test]
fn an_undisturbed_exchange_is_one_wake_up() {
    let rate = mcs(7, ChannelWidth::Mhz20, GuardInterval::Long);
    let config = cell(1, rate, ChannelWidth::Mhz20, 0);
    let flows = [(AP, StationId(1))];
    let wake_ups = [true, false].map(|singly| {
        let mut kept = Kept::new(&config, 20, [false; 4]);
        kept.fill(Instant::ZERO, AP, &flows);
        kept.run(Instant::from_nanos(100_000_000), singly, &flows);
        let delivered = |it: &&Polled| matches!(it, Polled::Output(Output::Delivered { .. }));
        (kept.wake_ups, kept.polled.iter().filter(delivered).count() as u32)
    });
    let [(singly, packets), (fewest, same)] = wake_ups;
    assert_eq!(packets, same);
    assert!(packets > 300, "{packets}");
    assert!(singly.abs_diff(4 * packets) < 5, "{singly} for {packets}");
    assert!(fewest.abs_diff(packets) < 5, "{fewest} for {packets}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]

    /// Both ways report the same in the same order, and end in the same state.
    #[test]
    fn one_step_is_like_single_steps(
        stations in 1usize..4,
        ampdu in prop::bool::ANY,
        interrupt in prop::bool::ANY,
        records in prop::bool::weighted(0.2),
        promiscuous in prop::bool::weighted(0.1),
        hidden in prop::bool::weighted(0.3),
        snr in 16.0..40.0f64,
        loss in prop::option::of(0.0..0.5f64),
        rts in prop::option::weighted(0.2, 100u32..1_500),
        gap in prop::option::weighted(0.2, 10u64..2_000),
        driver in prop::option::weighted(0.2, 2u32..10),
        txop in prop::option::weighted(0.3, 300u64..6_000),
        beacons in prop::option::weighted(0.5, 2u64..20),
        reorder in 20u64..3_000,
        change in prop::option::weighted(0.3, (0u64..20_000, 16.0..40.0f64)),
        target in 1u32..12,
        prompt in prop::array::uniform4(prop::bool::weighted(0.2)),
        flows in prop::collection::vec((0u16..4, 0u16..4), 1..4),
        arrivals in prop::collection::vec((1u64..3_000, 0u16..4, 60u16..1_500), 1..20),
    ) {
        let rate = mcs(4, ChannelWidth::Mhz20, GuardInterval::Long);
        let mut config = cell(stations, rate, ChannelWidth::Mhz20, if ampdu { 65_535 } else { 0 });
        config.record_events = records;
        config.beacon_interval = beacons.map(Duration::from_millis);
        config.change_links(|pair| {
            pair.link.loss = loss.map(|loss| Probability::new(loss).expect("in range"));
            let is_between_clients = pair.from != AP && pair.to != AP;
            pair.link.snr = Db(if hidden && is_between_clients { -10.0 } else { snr });
            if let (Some((at, snr)), 1) = (change, pair.to.0) {
                let at = Instant::ZERO + Duration::from_micros(at);
                pair.snr_changes = vec![crate::phy::SnrChange { at, snr: Db(snr) }];
            }
        });
        for station in &mut config.stations {
            station.rx_interrupt = if interrupt { RxInterrupt::Mpdu } else { RxInterrupt::Ppdu };
            station.promiscuous = promiscuous;
            station.rts_threshold = rts;
            station.transmit_gap = Duration::from_micros(gap.unwrap_or(0));
            station.block_ack.reorder_timeout = Duration::from_micros(reorder);
            station.driver_queue = driver.map_or(DriverLimit::None, DriverLimit::Packets);
            for access in &mut station.access {
                access.txop_limit = Duration::from_micros(txop.unwrap_or(0));
            }
        }
        // Clients have one peer.
        let place = |station: u16| StationId(station.min(stations as u16));
        let flows: Vec<_> = flows
            .iter()
            .map(|&(from, to)| match place(from) {
                AP => (AP, StationId(to.clamp(1, stations as u16))),
                from => (from, AP),
            })
            .collect();
        let [mut one, mut other] =
            [true, false].map(|singly| (singly, Kept::new(&config, target, prompt)));
        let mut now = Instant::ZERO;
        for &(from, _) in &flows {
            for (_, kept) in [&mut one, &mut other] {
                kept.fill(now, from, &flows);
            }
        }
        for (wait, from, bytes) in arrivals {
            now += Duration::from_micros(wait);
            for (singly, kept) in [&mut one, &mut other] {
                kept.run(now, *singly, &flows);
                let from = place(from);
                let to = if from == AP { StationId(1) } else { AP };
                kept.send(now, from, Address::Station(to), bytes);
            }
            prop_assert_eq!(&one.1.polled, &other.1.polled);
            prop_assert!(one.1.cell == other.1.cell);
        }
        prop_assert!(other.1.wake_ups <= one.1.wake_ups);
    }
}
