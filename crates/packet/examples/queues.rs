//! A game's packets beside an upload, over one link: the delay depends on the queue.
//!
//! `cargo run -p lasthop-packet --example queues`

#![expect(clippy::print_stdout, reason = "an example shows what it computes")]

use lasthop_packet::Packet;
use lasthop_packet::queue::{Held, Limit, PeerId, Queue, QueueConfig};
use lasthop_units::{Bitrate, Bytes, Duration, Instant};

const LINK: Bitrate = Bitrate::from_mbps(10);
const UPLOAD: Source = Source { flow: 1, bytes: 1500, interval: Duration::from_micros(1_100) };
const GAME: Source = Source { flow: 2, bytes: 100, interval: Duration::from_millis(20) };
const LENGTH: Duration = Duration::from_secs(20);

/// Packets at equal intervals.
struct Source {
    flow: u32,
    bytes: u16,
    interval: Duration,
}

/// The results of one queue.
#[derive(Default)]
struct Results {
    /// Delays of the game's packets.
    delays: Vec<Duration>,
    /// Dropped packets of the upload and of the game.
    dropped: [usize; 2],
}

fn main() {
    let queues = [
        ("drop-tail", QueueConfig::DropTail { limit: Limit::Packets(200) }),
        ("CoDel", QueueConfig::RFC_8289),
        ("FQ-CoDel", QueueConfig::RFC_8290),
    ];
    println!("{LENGTH} over {LINK}: an upload of 10.9 Mb/s, and a game\n");
    println!("queue       mean and longest delay of the game   dropped: upload  game");
    for (name, config) in queues {
        let Results { delays, dropped: [upload, game] } = run(&config);
        let mean = delays.iter().copied().sum::<Duration>() / delays.len() as u64;
        let max = delays.iter().max().copied().unwrap_or_default();
        let [mean, max] = [mean, max].map(Duration::as_millis_f64);
        println!("{name:10} {mean:19.1} ms {max:12.1} ms {upload:17} {game:5}");
    }
}

/// Sends both flows through a queue, whose packets leave one after the other.
fn run(config: &QueueConfig) -> Results {
    let mut queue = Queue::new(config, 0);
    let (mut results, mut dropped) = (Results::default(), Vec::new());
    let mut arrivals: Vec<Packet> = [UPLOAD, GAME].iter().flat_map(packets).collect();
    arrivals.sort_by_key(|packet| packet.created);
    let mut arrivals = arrivals.into_iter().peekable();
    let mut now = Instant::ZERO;
    while let Some(next) = arrivals.peek() {
        if queue.is_empty() {
            now = now.max(next.created);
        }
        while let Some(packet) = arrivals.next_if(|packet| packet.created <= now) {
            queue.enqueue(packet.created, PeerId::ONLY, packet, Held::NONE, &mut dropped);
        }
        if let Some((_, packet)) = queue.dequeue(now, &mut dropped) {
            now += Bytes::new(packet.bytes.into()) / LINK;
            if packet.flow_hash == GAME.flow {
                results.delays.push(now - packet.created);
            }
        }
    }
    let count = |flow| dropped.iter().filter(|packet| packet.flow_hash == flow).count();
    results.dropped = [UPLOAD.flow, GAME.flow].map(count);
    results
}

/// The packets of a source.
fn packets(source: &Source) -> impl Iterator<Item = Packet> {
    (0..LENGTH / source.interval).map(move |tag| Packet {
        flow_hash: source.flow,
        ..Packet::new(tag, source.bytes, Instant::ZERO + source.interval * tag)
    })
}
