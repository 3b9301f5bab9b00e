//! Shares of time in a run's document, which must not depend on how much of the run is
//! warm-up.

use crate::common::{run, scenario};

/// A station that always has something to send, and one that dozes half of the time.
const SCENARIO: &str = r#"
duration = "8s"

[[node]]
name = "ap"
role = "access-point"

[[node]]
name = "sta"
role = "station"

[[node]]
name = "dozing"
role = "station"
power_save = { idle = "50ms" }

[[flow]]
name = "up"
from = "sta"
to = "ap"
kind = "udp"
rate = "saturated"
"#;

#[test]
fn a_steady_share_of_the_time_is_the_same_with_a_warm_up() {
    let shares = |set| {
        let run = run(&scenario(SCENARIO, &[set]));
        let absences = run.nodes["dozing"].absences.expect("it dozes");
        [
            run.nodes["sta"].airtime_fraction,
            run.links["sta->ap"].airtime_fraction,
            absences.time_fraction,
        ]
    };
    let whole = shares("warmup=0s");
    assert!(whole.iter().all(|share| (0.5..1.0).contains(share)), "{whole:?}");
    for set in ["warmup=2s", "warmup=6s"] {
        for (share, whole) in shares(set).into_iter().zip(whole) {
            assert!((share - whole).abs() < 0.02, "{set}: {share} and {whole}");
        }
    }
}
