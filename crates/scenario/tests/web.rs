//! Web pages: defaults, the scale of a page, and refused keys.

use lasthop_hosts::web::mean_page_bytes;
use lasthop_hosts::{Endpoints, FlowKind, TcpApplication, WebConfig};
use lasthop_scenario::{Scenario, parse};
use lasthop_units::Duration;

const WEB: &str = r#"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "laptop"
role = "station"
[[flow]]
name = "web"
from = "ap"
to = "laptop"
kind = "web"
"#;

fn scenario(text: &str) -> Result<Scenario, String> {
    parse("web.toml", &format!("{WEB}{text}"), &[]).map_err(|why| why.to_string())
}

fn web(text: &str) -> WebConfig {
    let scenario = scenario(text).expect("a sound scenario");
    assert_eq!(scenario.flows[0].endpoints, Endpoints::Model);
    let FlowKind::Tcp(tcp) = &scenario.flows[0].kind else { panic!("TCP") };
    let TcpApplication::Web(web) = tcp.application else { panic!("pages") };
    web
}

#[test]
fn a_page_is_the_models_unless_it_is_given() {
    let think = Duration::from_secs(30);
    assert_eq!(web(""), WebConfig { scale: 1.0, think, connections: 6 });
    // The reference page says so.
    assert_eq!((mean_page_bytes() / 1e3).round(), 57.0);
    let given = web("web.page = \"2MB\"\nweb.think = \"5s\"\nweb.connections = 2\n");
    assert_eq!((given.think, given.connections), (Duration::from_secs(5), 2));
    assert!((given.scale * mean_page_bytes() - 2e6).abs() < 1e-3, "{}", given.scale);
}

#[test]
fn wrong_pages_are_refused() {
    for (text, key) in [
        ("web.think = \"0s\"\n", "think"),
        ("web.page = \"0B\"\n", "page"),
        ("web.connections = 65\n", "connections"),
        ("web.size = \"1MB\"\n", "size"),
        ("rate = \"1Mb/s\"\n", "rate"),
        ("bytes = \"1MB\"\n", "bytes"),
        ("requests = {}\n", "requests"),
        ("interval = \"1s\"\n", "interval"),
        ("endpoints = \"kernel\"\n", "endpoints"),
        ("group = true\n", "group"),
        (
            "[[flow]]\nname = \"a\"\nfrom = \"ap\"\nto = \"laptop\"\nkind = \"tcp\"\nweb = {}\n",
            "web",
        ),
    ] {
        let why = scenario(text).expect_err(text);
        assert!(why.contains(key), "{why}");
    }
}
