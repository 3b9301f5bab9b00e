//! Any text gives an answer without a panic; accepted texts can be written and read again.

use lasthop_apq::Survey;
use lasthop_hosts::{FlowKind, Source};
use lasthop_net::Network;
use lasthop_scenario::{Scenario, ScenarioError, parse, parse_bytes};
use lasthop_units::{Instant, Seed};
use proptest::prelude::*;

const SHIPPED: [&str; 11] = [
    include_str!("../../../scenarios/hello.toml"),
    include_str!("../../../scenarios/upload.toml"),
    include_str!("../../../scenarios/contention.toml"),
    include_str!("../../../scenarios/hidden.toml"),
    include_str!("../../../scenarios/link.toml"),
    include_str!("../../../scenarios/video.toml"),
    include_str!("../../../scenarios/edca.toml"),
    include_str!("../../../scenarios/fading.toml"),
    include_str!("../../../scenarios/jumbo.toml"),
    include_str!("../../../scenarios/apq.toml"),
    include_str!("../../../scenarios/apq/linksys-old-busy.toml"),
];

/// Words that mean something somewhere.
const WORDS: [&str; 24] = [
    "node",
    "flow",
    "wire",
    "link",
    "run",
    "channel",
    "queue",
    "kind",
    "\"off\"",
    "\"40MHz\"",
    "\"10ms\"",
    "0",
    "-1",
    "9223372036854775807",
    "nan",
    "true",
    "[]",
    "{}",
    "[[",
    "]]",
    "=",
    ".",
    "\"*\"",
    "\n",
];

/// An answer is checked as far as it can be.
fn check(answer: Result<Scenario, ScenarioError>) {
    match answer {
        Ok(scenario) => {
            let again = parse("again.toml", &scenario.source_text, &[]);
            let mut again = again.unwrap_or_else(|why| panic!("{why}\n{}", scenario.source_text));
            // What was given by `--set` is in the text already.
            again.set.clone_from(&scenario.set);
            assert_eq!(again, scenario);
            check_machines(&scenario);
        }
        Err(error) => {
            assert!(!error.problems().is_empty());
            assert!(!error.to_string().is_empty());
        }
    }
}

/// The machines accept every accepted scenario.
fn check_machines(scenario: &Scenario) {
    const NODES_MAX: usize = 40;
    let seed = Seed::new(scenario.seed, 0);
    if scenario.nodes.len() <= NODES_MAX {
        let network = Network::new(&scenario.network_for(seed), seed);
        assert!(network.is_ok(), "{:?}\n{}", network.err(), scenario.source_text);
    }
    for flow in &scenario.flows {
        if let FlowKind::Udp(source) | FlowKind::Video(source) = &flow.kind {
            Source::new(source, flow.start, flow.stop.unwrap_or(Instant::MAX), seed.stream("test"));
        }
        if let FlowKind::Apq(apq) = &flow.kind {
            assert_eq!(apq.survey.check(), Ok(()), "{}", scenario.source_text);
            Survey::new(apq.survey.clone()).report();
        }
    }
}

/// A shipped scenario with a piece of it replaced.
fn mutated() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        prop::sample::select(&WORDS[..]).prop_map(String::from),
        "[a-z_]{1,8}",
        "\\PC{0,4}",
    ];
    let change = (any::<prop::sample::Index>(), 0..30_usize, word);
    (prop::sample::select(&SHIPPED[..]), prop::collection::vec(change, 1..4)).prop_map(
        |(text, changes)| {
            let mut chars: Vec<char> = text.chars().collect();
            for (at, length, word) in changes {
                let start = at.index(chars.len());
                let end = (start + length).min(chars.len());
                chars.splice(start..end, word.chars());
                if chars.is_empty() {
                    chars.push('\n');
                }
            }
            chars.into_iter().collect()
        },
    )
}

/// A `--set` argument that may or may not mean something.
fn set() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "duration",
        "channel",
        "width",
        "node",
        "0",
        "1",
        "sta",
        "laptop",
        "*",
        "queue",
        "packets",
        "kind",
        "flow",
        "up",
        "wire",
        "server-ap",
        "rate",
        "between",
        "emulation",
        "mtu",
        "name",
        "position",
        "",
        "path_loss",
        "node_defaults",
        "rate_control",
        "error_model",
        "table",
        "loss",
        "jitter",
        "trace",
        "film",
    ]);
    let value = prop_oneof![
        prop::sample::select(vec![
            "1",
            "10",
            "\"10s\"",
            "40MHz",
            "[]",
            "{}",
            "{ kind = \"codel\" }",
            "{ kind = \"gilbert-elliott\", good_to_bad = 0.1, bad_to_good = 1 }",
            "{ kind = \"normal\", sd = \"2ms\" }",
            "{ table = \".\" }",
            "2ms",
            "1%",
            "true",
            "codel",
            "[\"server\", \"ap\"]",
            "3m",
            "[{}]",
            "off",
            "",
        ])
        .prop_map(String::from),
        "\\PC{0,8}",
    ];
    (prop::collection::vec(key, 1..5), value)
        .prop_map(|(path, value)| format!("{}={value}", path.join(".")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn bytes(bytes: Vec<u8>) {
        check(parse_bytes("any.toml", &bytes, &[]));
    }

    #[test]
    fn text(text in "\\PC*") {
        check(parse("any.toml", &text, &[]));
    }

    #[test]
    fn a_scenario_with_something_replaced(text in mutated()) {
        check(parse("mutated.toml", &text, &[]));
    }

    #[test]
    fn set_arguments(
        text in prop::sample::select(&SHIPPED[..]),
        sets in prop::collection::vec(set(), 1..4),
    ) {
        check(parse("set.toml", text, &sets));
    }

    #[test]
    fn any_set_argument(text in prop::sample::select(&SHIPPED[..]), set: String) {
        check(parse("set.toml", text, &[set]));
    }
}
