//! Streamed video in whole runs over a wire of constant rate, against closed forms.

use crate::common::{run, scenario};
use lasthop_trace::StreamSummary;

/// Share of a wire's rate that is TCP's payload: 1448 bytes of 1514, with Ethernet's header.
const PAYLOAD: f64 = 1448.0 / 1514.0;

fn film(rate: &str, keys: &str) -> StreamSummary {
    let text = format!(
        r#"
        duration = "2000s"
        [[node]]
        name = "server"
        role = "host"
        [[node]]
        name = "tv"
        role = "host"
        [[wire]]
        between = ["server", "tv"]
        rate = "{rate}"
        delay = "5ms"
        [[flow]]
        name = "film"
        from = "server"
        to = "tv"
        kind = "stream"
        stream.ladder = ["1Mb/s", "2Mb/s", "4Mb/s", "8Mb/s"]
        {keys}
    "#
    );
    run(&scenario(&text, &[])).flows["film"].stream.expect("a film")
}

/// A wire of 800 kb/s carries 765 kb/s of payload, so each segment of 4 s takes 5.23 s, and its
/// request a round trip of 10 ms. Play waits before each but the first. Bands are a segment at the
/// end of the run.
#[test]
fn a_narrow_wire_stalls() {
    let film = film("800kb/s", "");
    let seconds = 4.0 / (0.8 * PAYLOAD) + 0.01;
    assert!((film.startup_s.expect("it began") - seconds).abs() < 0.05, "{film:?}");
    assert!((film.segments as f64 - 2000.0 / seconds).abs() <= 1.0, "{film:?}");
    let (share, expected) = (film.rebuffering_fraction.expect("it began"), 1.0 - 4.0 / seconds);
    assert!((share - expected).abs() < 4.0 / 2000.0, "{share}, {expected}");
    assert_eq!((film.mean_bitrate_mbps, film.switches), (Some(1.0), 0));
    assert!(film.stalls.abs_diff(film.segments) <= 1, "{film:?}");
}

/// A wire of 5 Mb/s, between two bitrates: no stall, and the bits of all segments are those that the
/// wire carried, for 2 000 s of play and a buffer of 144 to 216 s, where the player changes between
/// 4 and 8 Mb/s. Round trips and a segment at the end are 0.5 %. A wire of 100 Mb/s: the highest
/// bitrate, and as many segments as fill the buffer and were played.
#[test]
fn a_wire_sets_the_bitrate() {
    let medium = film("5Mb/s", "");
    assert_eq!((medium.stalls, medium.rebuffering_fraction), (0, Some(0.0)));
    let share = medium.mean_bitrate_mbps.expect("segments arrived") / (5.0 * PAYLOAD);
    let [least, most] = [216.0, 144.0].map(|buffer| 2000.0 / (2000.0 + buffer));
    assert!((0.995 * least..1.005 * most).contains(&share), "{share}: {least} to {most}");
    let wide = film("100Mb/s", "");
    assert!(wide.mean_bitrate_mbps.expect("segments arrived") > 7.0, "{wide:?}");
    assert!(wide.segments.abs_diff(60 + 500) <= 2 && wide.switches <= 3, "{wide:?}");
    assert!(wide.startup_s.expect("it began") < 0.2, "{wide:?}");
}
