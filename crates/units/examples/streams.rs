//! Quantities with only meaningful arithmetic, and random streams that are independent of other
//! components.
//!
//! `cargo run -p lasthop-units --example streams`

#![expect(clippy::print_stdout, reason = "an example shows what it computes")]

use lasthop_units::{
    Bitrate, Bytes, Db, Dbm, Duration, Identity, Instant, Pace, Seed, SeqNo12, Stream, TokenBucket,
};

fn main() {
    quantities();
    rates();
    streams();
}

/// Divides, adds and compares quantities.
fn quantities() {
    let packet = Bytes::new(1500);
    println!("{packet} at {} take {}", Bitrate::from_mbps(54), packet / Bitrate::from_mbps(54));

    // The difference of two powers is a ratio; the sum of two does not compile.
    let (signal, noise) = (Dbm(-61.0), Dbm(-94.0));
    let snr: Db = signal - noise;
    println!("{signal} over a noise of {noise} is an SNR of {snr}");

    // Sequence numbers of 802.11 wrap, and "before" means within half of their space.
    let last = SeqNo12::new(4095);
    println!("{last} is before {}: {}", last.next(), last.is_before(last.next()));
}

/// A bucket that allows bursts, and a pace that does not drift.
fn rates() {
    let start = Instant::ZERO;
    let mut bucket = TokenBucket::new(1_000, 3, start);
    let burst = (0..5).filter(|_| bucket.take(start, 1)).count();
    let next = bucket.next_at(1).expect("a bucket of 3 will have 1");
    println!("a bucket of 3 lets {burst} of 5 pass at once, the next at {next}");

    let mut pace = Pace::new(Bitrate::from_mbps(7), start);
    (0..7_000).for_each(|_| pace.pass(125));
    println!("7000 packets of 125 B at 7 Mb/s end at {}", pace.now());
}

/// A stream belongs to a component: one more component changes nothing for the others.
fn streams() {
    let seed = Seed::new(1, 0);
    let mut phone = seed.stream_of("backoff", Identity::from_name("phone"));
    println!("phone alone:           {}", draws(&mut phone));

    let mut phone = seed.stream_of("backoff", Identity::from_name("phone"));
    let mut laptop = seed.stream_of("backoff", Identity::from_name("laptop"));
    println!("laptop beside it:      {}", draws(&mut laptop));
    println!("phone beside a laptop: {}", draws(&mut phone));

    let mut other_run = Seed::new(1, 1).stream_of("backoff", Identity::from_name("phone"));
    println!("phone in run 1:        {}", draws(&mut other_run));

    let mut arrivals = seed.stream("arrivals");
    let mean = Duration::from_millis(10);
    let sum: Duration = (0..10_000).map(|_| arrivals.exponential_time(mean)).sum();
    println!("10 000 exponential times of mean {mean} have the mean {}", sum / 10_000);
}

/// Ten backoffs of 0 to 15 slots.
fn draws(stream: &mut Stream) -> String {
    (0..10).map(|_| format!("{:3}", stream.up_to(15))).collect()
}
