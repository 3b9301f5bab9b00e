//! Web pages in whole runs: the load time over a wire, readers together, and the ports of a page's
//! connections in a capture.

use crate::common::{run, scenario};
use lasthop_trace::{RunDocument, WebSummary};

const WIRE: &str = r#"
    duration = "2000s"
    [[node]]
    name = "server"
    role = "host"
    [[node]]
    name = "reader"
    role = "host"
    [[wire]]
    between = ["server", "reader"]
    rate = "off"
    delay = "50ms"
    [[flow]]
    name = "web"
    from = "server"
    to = "reader"
    kind = "web"
"#;

fn web(keys: &str) -> RunDocument {
    run(&scenario(&format!("{WIRE}{keys}"), &[]))
}

/// Objects of one segment over one connection take a round trip of 100 ms each, the handshake
/// another one. With 5.64 embedded objects, a deviation of 11.4, and parsing for 130 ms, the mean is
/// 894 ms; four standard errors of 1 300 pages are 15 %. Pages follow each other after 1 s of reading
/// and their load time.
#[test]
fn small_pages_take_round_trips() {
    let document = web("web = { page = \"100B\", connections = 1, think = \"1s\" }");
    let WebSummary { pages, pages_unfinished, page_load_ms } =
        document.flows["web"].web.expect("pages");
    let load = page_load_ms.expect("pages were loaded");
    assert!((load.mean / 894.0 - 1.0).abs() < 0.15, "{load:?}");
    assert!((pages as f64 * (1.0 + load.mean / 1e3) / 2000.0 - 1.0).abs() < 0.1, "{pages}");
    assert!(pages_unfinished <= 1);
    // 53 embedded objects, and a long time to parse.
    assert!((5500.0..7000.0).contains(&load.max), "{load:?}");
    // Six connections fetch several objects in a round trip.
    let six = web("web = { page = \"100B\", think = \"1s\" }").flows["web"].web.expect("pages");
    assert!(six.page_load_ms.expect("pages").mean < 0.75 * load.mean);
}

/// Readers of a count are summed up, and do not begin together. A page that is asked for in the
/// warm-up does not count.
#[test]
fn readers_are_summed_up() {
    let document = web("count = 8\nweb.think = \"10s\"");
    let all = document.flow_groups["web"].web.expect("pages");
    let each: Vec<WebSummary> =
        (1..=8).map(|n| document.flows[&format!("web{n}")].web.expect("pages")).collect();
    assert_eq!(all.pages, each.iter().map(|web| web.pages).sum::<u64>());
    let max = each.iter().filter_map(|web| web.page_load_ms).map(|load| load.max);
    assert_eq!(all.page_load_ms.expect("pages").max, max.fold(0.0, f64::max));
    assert!(each.windows(2).any(|pair| pair[0].pages != pair[1].pages));
    let late =
        web("count = 8\nweb.think = \"10s\"\n[[flow]]\nname = \"ping\"\nfrom = \"server\"\n\
                    to = \"reader\"\nkind = \"ping\"\ninterval = \"10s\"");
    assert_eq!(late.flow_groups["web"].web, Some(all), "another flow changes no page");
    let text = format!("warmup = \"1990s\"\n{WIRE}count = 8\nweb.think = \"10s\"");
    let last = run(&scenario(&text, &[])).flow_groups["web"].web.expect("pages");
    assert!((1..30).contains(&last.pages), "{last:?}");
}
