//! Calls: one table makes two flows, and keys of other kinds are refused.

use lasthop_hosts::{CallConfig, FlowKind};
use lasthop_scenario::{Scenario, parse};
use lasthop_units::Duration;

const CALL: &str = r#"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "phone"
role = "station"
[[flow]]
name = "talk"
from = "phone"
to = "ap"
kind = "call"
"#;

fn scenario(text: &str) -> Result<Scenario, String> {
    parse("call.toml", &format!("{CALL}{text}"), &[]).map_err(|why| why.to_string())
}

#[test]
fn a_call_is_two_flows() {
    let scenario = scenario("playout = \"40ms\"\n").expect("a sound scenario");
    let [there, back] = &scenario.flows[..] else { panic!("two flows") };
    assert_eq!([&*there.name, &*back.name], ["talk", "talk-back"]);
    assert_eq!((there.from, there.to), (back.to, back.from));
    assert_eq!(back.start.saturating_since(there.start), Duration::from_millis(10));
    for flow in [there, back] {
        let FlowKind::Call(call) = flow.kind else { panic!("a call") };
        let [interval, buffer] = [20, 40].map(Duration::from_millis);
        assert_eq!(call, CallConfig { interval, bytes: 200, buffer });
    }
}

#[test]
fn wrong_calls_are_refused() {
    let other = "[[flow]]\nname = \"talk-back\"\nfrom = \"ap\"\nto = \"phone\"\nkind = \"udp\"\n";
    for (text, key) in [
        (other, "talk-back"),
        ("rate = \"1Mb/s\"\n", "rate"),
        ("group = true\n", "group"),
        ("interval = \"0s\"\n", "interval"),
        ("endpoints = \"kernel\"\n", "endpoints"),
        (&format!("{other}playout = \"1s\"\n"), "playout"),
    ] {
        let why = scenario(text).expect_err(text);
        assert!(why.contains(key), "{why}");
    }
}
