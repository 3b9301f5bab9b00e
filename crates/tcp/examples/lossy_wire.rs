//! Two TCP endpoints and a wire that loses packets: the time for 8 MB, by congestion control and
//! loss.
//!
//! The loop in `Wire::run` shows the whole work of a driver: deliver arrivals, wake the endpoints
//! whose time has come, poll until there is nothing left, advance to the next instant.
//!
//! `cargo run -p lasthop-tcp --example lossy_wire`

#![expect(clippy::print_stdout, reason = "an example shows what it computes")]

use lasthop_tcp::{Config, CongestionControlKind, Endpoint, HyStart, Segment};
use lasthop_units::{Bitrate, Bytes, Duration, Instant, Machine, Probability, Seed, Stream};
use std::collections::VecDeque;

const TRANSFER: u64 = 8_000_000;
const RATE: Bitrate = Bitrate::from_mbps(50);
const DELAY: Duration = Duration::from_millis(10);
/// Length of the wire's queue: the delay of a round trip.
const QUEUE: Duration = Duration::from_millis(20);

fn main() {
    println!("8 MB over {RATE} with a round trip of 20 ms and a queue of {QUEUE}");
    println!();
    println!("control   loss %  seconds   Mb/s  retransmissions  timeouts");
    for (name, congestion_control) in [
        ("CUBIC", CongestionControlKind::Cubic { hystart: HyStart::Linux }),
        ("NewReno", CongestionControlKind::NewReno),
    ] {
        for loss in [0.0, 0.001, 0.01, 0.05] {
            let config = Config { congestion_control, ..Config::default() };
            let mut wire = Wire::new(&config, Probability::new(loss).expect("from 0 to 1"));
            let time = wire.run();
            let [client, server] = &wire.ends;
            assert_eq!(server.received_bytes(), TRANSFER, "every byte, once and in order");
            println!(
                "{name:<8}  {:6.1}  {:7.2}  {:5.2}  {:15}  {:8}",
                loss * 100.0,
                time.as_secs_f64(),
                Bitrate::from_bytes_in(Bytes::new(TRANSFER), time).as_mbps_f64(),
                client.retransmissions(),
                client.timeouts(),
            );
        }
    }
}

/// A client, a server, and one direction of a wire from each to the other.
struct Wire {
    ends: [Endpoint; 2],
    /// Segments in flight from each end with their arrival, in order of arrival.
    flying: [VecDeque<(Instant, Segment)>; 2],
    /// Instant at which the last segment of each end has left the queue.
    free_at: [Instant; 2],
    loss: Probability,
    stream: Stream,
    now: Instant,
}

impl Wire {
    fn new(config: &Config, loss: Probability) -> Self {
        Self {
            ends: [Endpoint::new(config), Endpoint::new(config)],
            flying: [VecDeque::new(), VecDeque::new()],
            free_at: [Instant::ZERO; 2],
            loss,
            stream: Seed::new(1, 0).stream("wire"),
            now: Instant::ZERO,
        }
    }

    /// Runs until the server has received everything; returns the elapsed time.
    fn run(&mut self) -> Duration {
        self.ends[0].connect(self.now);
        self.ends[0].write(self.now, TRANSFER);
        self.ends[0].finish(self.now);
        self.transmit(0);
        while !self.ends[1].is_received() {
            self.now = self.next().expect("a transfer goes on until it ends");
            for end in [0, 1] {
                while self.flying[1 - end].front().is_some_and(|(at, _)| *at <= self.now) {
                    let (_, segment) = self.flying[1 - end].pop_front().expect("it is there");
                    self.ends[end].handle_segment(self.now, &segment, false);
                    self.transmit(end);
                }
                self.ends[end].handle_timeout(self.now);
                self.transmit(end);
            }
        }
        self.now - Instant::ZERO
    }

    /// The next instant at which a segment arrives, or an endpoint wants to be woken.
    fn next(&self) -> Option<Instant> {
        let arrivals = self.flying.iter().filter_map(|way| way.front().map(|(at, _)| *at));
        let timers = self.ends.iter().filter_map(|end| end.poll_timeout().map(|(at, _)| at));
        arrivals.chain(timers).min()
    }

    /// Puts the segments of an endpoint onto the wire.
    fn transmit(&mut self, end: usize) {
        while let Some(segment) = self.ends[end].poll_transmit(self.now) {
            let bytes = segment.packet_bytes();
            if segment.payload_bytes > 0 {
                // Without a queue of its own the node has passed it on at once.
                self.ends[end].handle_released(self.now, 1, bytes);
            }
            let start = self.free_at[end].max(self.now);
            let is_full = start - self.now > QUEUE;
            if is_full || self.stream.chance(self.loss) {
                continue;
            }
            self.free_at[end] = start + Bytes::new(bytes.into()) / RATE;
            self.flying[end].push_back((self.free_at[end] + DELAY, segment));
        }
    }
}
