//! Games and deadlines: one table makes two flows of datagrams, and other kinds' keys are refused.

use lasthop_hosts::{Endpoints, FlowKind, SourceConfig};
use lasthop_scenario::{Scenario, parse};
use lasthop_units::Duration;

const GAME: &str = r#"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "console"
role = "station"
[[flow]]
name = "game"
from = "console"
to = "ap"
kind = "game"
"#;

fn scenario(text: &str) -> Result<Scenario, String> {
    parse("game.toml", &format!("{GAME}{text}"), &[]).map_err(|why| why.to_string())
}

#[test]
fn a_game_is_two_flows() {
    let scenario = scenario("game.server_rate = 128\n").expect("a sound scenario");
    let [there, back] = &scenario.flows[..] else { panic!("two flows") };
    assert_eq!([&*there.name, &*back.name], ["game", "game-back"]);
    assert_eq!((there.from, there.to), (back.to, back.from));
    for (flow, rate, length) in [(there, 60, 100), (back, 128, 250)] {
        let FlowKind::Udp(SourceConfig::Ping { interval, bytes }) = flow.kind else {
            panic!("{:?}", flow.kind)
        };
        assert_eq!((interval, bytes), (Duration::from_secs(1) / rate, length));
        assert_eq!(flow.deadline, Some(Duration::from_millis(100)));
        assert_eq!(flow.endpoints, Endpoints::Kernel);
    }
}

#[test]
fn wrong_games_are_refused() {
    let other = "[[flow]]\nname = \"game-back\"\nfrom = \"ap\"\nto = \"console\"\nkind = \"udp\"\n";
    for (text, part) in [
        (other, "game-back"),
        ("rate = \"1Mb/s\"\n", "rate"),
        ("group = true\n", "group"),
        ("game.player_rate = 0\n", "player_rate"),
        ("game.server_bytes = 28\n", "server_bytes"),
        (&format!("{other}deadline = \"1s\"\ngame = {{}}\n"), "for game flows only"),
        ("deadline = \"0.1\"\n", "deadline"),
        (
            "[[flow]]\nname = \"a\"\nfrom = \"ap\"\nto = \"console\"\nkind = \"ping\"\ndeadline = \"1s\"\n",
            "for udp, video and game flows only",
        ),
    ] {
        let why = scenario(text).expect_err(text);
        assert!(why.contains(part), "{why}");
    }
}
