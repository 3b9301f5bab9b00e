//! Calls in whole runs over a wire, against closed forms: nothing late without jitter, the late share
//! under uniform jitter, and the E-model's cost of losses.

use crate::common::{run, scenario};
use lasthop_trace::CallSummary;

/// Rating with a delay of 130 ms.
const R130: f64 = 90.061_358;

const WIRE: &str = r#"
    duration = "200s"
    warmup = "0s"
    [[node]]
    name = "alice"
    role = "host"
    [[node]]
    name = "bob"
    role = "host"
    [[wire]]
    between = ["alice", "bob"]
    rate = "off"
    delay = "50ms"
    [[flow]]
    name = "talk"
    from = "alice"
    to = "bob"
    kind = "call"
"#;

/// The two directions of the call.
fn calls(keys: &str) -> [CallSummary; 2] {
    let text = WIRE.replace("rate = \"off\"", &format!("rate = \"off\"\n{keys}"));
    let document = run(&scenario(&text, &[]));
    ["talk", "talk-back"].map(|name| document.flows[name].call.expect("a call"))
}

/// Speech of 20 ms, a delay of 50 ms and a buffer of 60 ms. The rating is that of another program of
/// G.107 (manucorporat/e-model) for 130 ms.
#[test]
fn an_empty_wire_is_never_late() {
    for call in calls("") {
        assert_eq!([call.late_fraction, call.lost_fraction, call.jitter_ms], [0.0; 3]);
        assert_eq!((call.concealed_run_max_packets, call.mouth_to_ear_ms), (0, Some(130.0)));
        let r = call.r_factor.expect("packets arrived");
        assert!((r - R130).abs() < 1e-5, "{r}");
    }
}

/// Delays are uniform in 10 to 90 ms. The first one and the buffer give the instant of playout, and
/// the share beyond it is late, within four standard errors. After a short first delay a buffer
/// of 5 ms makes most packets late.
#[test]
fn uniform_jitter_is_late_beyond_the_buffer() {
    let jitter = "jitter = \"40ms\"\nreorder = true";
    let text = WIRE.replace("rate = \"off\"", &format!("rate = \"off\"\n{jitter}"));
    let short = run(&scenario(&format!("{text}playout = \"5ms\""), &[]));
    let short = ["talk", "talk-back"].map(|name| short.flows[name].call.expect("a call"));
    assert!(short.iter().any(|call| call.late_fraction > 0.1), "{short:?}");
    for call in calls(jitter).into_iter().chain(short) {
        let limit_ms = call.mouth_to_ear_ms.expect("packets arrived") - 20.0;
        let late = ((90.0 - limit_ms) / 80.0).clamp(0.0, 1.0);
        let error = (late * (1.0 - late) / call.packets as f64).sqrt();
        assert!((call.late_fraction - late).abs() <= 4.0 * error, "{call:?}, expected {late}");
    }
}

/// Independent losses of 5 %: their share within four standard errors, and a rating that the formula
/// `95 * p / (p + 25.1)` lowers by 15.78. Four errors are 0.87 % of packets, 2.3 of R; the burst
/// ratio is near 1 and adds less than 0.5.
#[test]
fn losses_cost_what_the_formula_says() {
    for call in calls("loss = 0.05") {
        assert_eq!(call.late_fraction, 0.0);
        assert!((call.lost_fraction - 0.05).abs() < 0.0087, "{call:?}");
        let cost = R130 - call.r_factor.expect("packets arrived");
        assert!((cost - 95.0 * 5.0 / 30.1).abs() < 2.8, "{cost}");
    }
}
