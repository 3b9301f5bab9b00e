//! Streamed video: defaults, and refused keys and values.

use lasthop_hosts::{Endpoints, FlowKind, StreamConfig, TcpApplication};
use lasthop_scenario::{Scenario, parse};
use lasthop_units::{Bitrate, Duration};

const STREAM: &str = r#"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "tv"
role = "station"
[[flow]]
name = "film"
from = "ap"
to = "tv"
kind = "stream"
"#;

fn scenario(text: &str) -> Result<Scenario, String> {
    parse("stream.toml", &format!("{STREAM}{text}"), &[]).map_err(|why| why.to_string())
}

fn stream(text: &str) -> StreamConfig {
    let scenario = scenario(text).expect("a sound scenario");
    assert_eq!(scenario.flows[0].endpoints, Endpoints::Model);
    let FlowKind::Tcp(tcp) = &scenario.flows[0].kind else { panic!("TCP") };
    let TcpApplication::Stream(stream) = &tcp.application else { panic!("a film") };
    stream.clone()
}

#[test]
fn a_film_has_its_ladder() {
    let usual = stream("");
    assert_eq!(usual.ladder.len(), 10);
    assert_eq!([usual.segment, usual.buffer], [4, 240].map(Duration::from_secs));
    let own =
        stream("stream = { ladder = [\"1Mb/s\", \"3Mb/s\"], segment = \"2s\", buffer = \"4s\" }\n");
    assert_eq!(own.ladder, [1, 3].map(Bitrate::from_mbps));
    assert_eq!([own.segment, own.buffer], [2, 4].map(Duration::from_secs));
}

#[test]
fn wrong_films_are_refused() {
    for (text, part) in [
        ("stream.ladder = []\n", "at least one"),
        ("stream.ladder = [\"3Mb/s\", \"1Mb/s\"]\n", "rising order"),
        ("stream.ladder = [\"0b/s\", \"1Mb/s\"]\n", "above zero"),
        ("stream.segment = \"0s\"\n", "segment"),
        ("stream.buffer = \"7s\"\n", "at least two segments"),
        ("stream.rule = \"bola\"\n", "rule"),
        ("web.page = \"1MB\"\n", "for web flows only"),
        ("rate = \"1Mb/s\"\n", "rate"),
        ("frame_rate = 30\n", "for video flows only"),
        ("endpoints = \"kernel\"\n", "endpoints"),
    ] {
        let why = scenario(text).expect_err(text);
        assert!(why.contains(part), "{why}");
    }
}
