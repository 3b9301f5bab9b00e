//! Games in whole runs over a wire, against closed forms: the number of packets, and the shares that
//! are late under uniform jitter or lost.

use crate::common::{run, scenario};
use lasthop_trace::DeadlineSummary;

/// Both directions of a game over a wire with these keys.
fn game(wire: &str, keys: &str) -> [DeadlineSummary; 2] {
    let text = format!(
        r#"
        duration = "200s"
        [[node]]
        name = "player"
        role = "host"
        [[node]]
        name = "server"
        role = "host"
        [[wire]]
        between = ["player", "server"]
        rate = "off"
        {wire}
        [[flow]]
        name = "game"
        from = "player"
        to = "server"
        kind = "game"
        {keys}
    "#
    );
    let document = run(&scenario(&text, &[]));
    ["game", "game-back"].map(|name| document.flows[name].deadline.expect("a deadline"))
}

/// Packets of the last 100 ms do not count, and those that arrive at the deadline are in time.
#[test]
fn packets_at_the_deadline_are_in_time() {
    for packets in game("delay = \"100ms\"", "game.server_rate = 60") {
        assert!(packets.packets.abs_diff(11_994) <= 1, "{packets:?}");
        assert_eq!([packets.late_fraction, packets.lost_fraction], [0.0; 2]);
    }
    for packets in game("delay = \"100ms\"", "deadline = \"99999us\"") {
        assert_eq!([packets.late_fraction, packets.lost_fraction], [1.0, 0.0]);
    }
}

/// Delays are uniform in 10 to 90 ms, of which 1/8 is beyond 80 ms; a hundredth of the packets is
/// lost, independently. Bands are four standard errors of 12 000 packets.
#[test]
fn jitter_and_losses_have_their_shares() {
    let wire = "delay = \"50ms\"\njitter = \"40ms\"\nreorder = true\nloss = 0.01";
    for packets in game(wire, "deadline = \"80ms\"") {
        let band = |share: f64| 4.0 * (share * (1.0 - share) / packets.packets as f64).sqrt();
        let late = 0.99 / 8.0;
        assert!((packets.late_fraction - late).abs() < band(late), "{packets:?}");
        assert!((packets.lost_fraction - 0.01).abs() < band(0.01), "{packets:?}");
    }
}
