//! [`Source`] of any kind and configuration: departures lie between its start and its
//! stop, are in order, and do not depend on when it is polled. The video has no key
//! frames here.

use crate::{one_in, pause};
use lasthop_arch_tests::contract::Driver;
use lasthop_hosts::traffic::{Departure, Period, Sizes};
use lasthop_hosts::{Source, SourceConfig};
use lasthop_units::{Bitrate, Duration, Instant, Machine, Seed};
use proptest::prelude::*;

/// A source with the functions of a machine.
#[derive(Clone, Debug, PartialEq)]
struct Schedule {
    source: Source,
    departures: Vec<Departure>,
}

impl Machine for Schedule {
    type Reason = ();

    fn poll_timeout(&self) -> Option<(Instant, ())> {
        self.source.next_departure().map(|at| (at, ()))
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(departure) = self.source.poll_packet(now) {
            self.departures.push(departure);
        }
    }
}

fn config() -> impl Strategy<Value = SourceConfig> {
    let rate = (10_000..20_000_000u64).prop_map(Bitrate::from_bps);
    (0..6, rate, 29..1_500u16, 1..50_000_000u64).prop_map(|(kind, rate, bytes, ns)| {
        let interval = Duration::from_nanos(ns);
        match kind {
            0 => SourceConfig::Cbr { rate, bytes },
            1 if bytes % 2 == 0 => SourceConfig::Poisson { rate, bytes },
            1 => SourceConfig::Bursts { rate, bytes, packets: 1 + bytes % 5 },
            2 => SourceConfig::OnOff {
                rate,
                bytes,
                on: Period::Exponential(interval),
                off: Period::Fixed(interval),
            },
            3 => SourceConfig::Saturated { bytes },
            4 => SourceConfig::Video {
                frames_per_s: 30.0,
                sizes: Sizes::LogNormal { mean: f64::from(bytes), sd: 500.0 },
                key_frames: None,
                packet_bytes_max: 1_500,
            },
            _ => SourceConfig::Ping { interval: interval.max(Duration::from_micros(100)), bytes },
        }
    })
}

proptest! {
    #![proptest_config(one_in(4))]
    #[test]
    fn keeps_the_contract(
        config in config(),
        pauses in prop::collection::vec(pause(Duration::from_millis(200)), 1..8),
    ) {
        let (start, stop) = (Instant::from_nanos(1_000_000), Instant::from_nanos(900_000_000));
        let source = Source::new(&config, start, stop, Seed::new(1, 0).stream("source"));
        let mut driver = Driver::new(Schedule { source: source.clone(), departures: Vec::new() });
        for pause in pauses {
            pause.pass(&mut driver, |_, _| {});
        }
        let departures = &driver.machine.departures;
        prop_assert!(departures.is_sorted_by_key(|departure| departure.at));
        prop_assert!(departures.iter().all(|departure| start <= departure.at && departure.at < stop));

        let mut asked_once = Schedule { source, departures: Vec::new() };
        asked_once.handle_timeout(driver.now());
        prop_assert_eq!(&asked_once, &driver.machine);
    }
}
