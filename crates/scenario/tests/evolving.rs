//! A scenario that is changed while it runs is the same as one whose file has those changes.

use lasthop_net::network::Change;
use lasthop_scenario::{Evolving, KnobKind, Scenario, parse};
use lasthop_units::{Db, Duration, Instant, Seed};
use proptest::prelude::*;

const SCENARIO: &str = r#"
name = "hop"
duration = "10s"

[channel]
standard = "802.11ac"

[[node]]
name = "ap"
role = "access-point"

[[node]]
name = "laptop"
role = "station"
queue = { kind = "drop-tail", packets = 100 }

[[node]]
name = "phone"
role = "station"

[[node]]
name = "server"
role = "host"

[[link]]
between = ["laptop", "ap"]
snr = "20dB"

[[wire]]
between = ["server", "ap"]
delay = "10ms"

[[change]]
at = "5s"
set = { wire.server-ap.rate = "3Mb/s" }
"#;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn scenario() -> Scenario {
    parse("hop.toml", SCENARIO, &[]).expect("it is valid")
}

fn evolving() -> Evolving {
    Evolving::new("hop.toml", &scenario(), Seed::new(1, 0)).expect("it is what its text says")
}

fn set(evolving: &mut Evolving, at: Duration, sets: &[&str]) -> Vec<(Instant, Change)> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    evolving.set(at, &sets).expect("it can change")
}

fn recorded(evolving: &Evolving) -> Scenario {
    let text = evolving.source_text(ms(10_000));
    parse("hop.toml", &text, &[]).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

#[test]
fn its_own_changes_come_to_what_was_set() {
    let mut evolving = evolving();
    let changes = set(&mut evolving, ms(1_000), &["wire.server-ap.delay=200ms"]);
    let wires: Vec<_> = changes
        .iter()
        .map(|(at, change)| match change {
            Change::Wire { config, .. } => (at.as_nanos() / 1_000_000, config.delay, config.rate),
            other => panic!("{other:?}"),
        })
        .collect();
    let at = |at| wires.iter().filter(|wire| wire.0 == at).collect::<Vec<_>>();
    assert_eq!((wires.len(), at(1_000).len(), at(5_000).len()), (4, 2, 2), "{wires:?}");
    let rates = [1_000, 5_000].map(|time| at(time)[0].2.expect("limited").as_mbps_f64());
    assert_eq!(rates, [1_000.0, 3.0]);
    assert!(wires.iter().all(|wire| wire.1 == ms(200)), "the delay stays: {wires:?}");
    assert_eq!(recorded(&evolving).changes, changes);
}

#[test]
fn a_loss_takes_the_place_of_a_ratio_until_it_is_off() {
    let mut evolving = evolving();
    let links = |changes: Vec<(Instant, Change)>| -> Vec<(Db, bool)> {
        let links = changes.into_iter().filter_map(|(_, change)| match change {
            Change::Link { snr, loss, .. } => Some((snr, loss.is_some())),
            _ => None,
        });
        links.collect()
    };
    let outage = links(set(&mut evolving, ms(1_000), &["link.laptop-ap.loss=1"]));
    assert_eq!(outage.len(), 2, "both directions");
    assert!(outage.iter().all(|(_, is_lost)| *is_lost));
    let back = links(set(&mut evolving, ms(2_000), &["link.laptop-ap.loss=off"]));
    assert_eq!(back, [(Db(20.0), false); 2], "the ratio that it had");
    let outage = links(set(&mut evolving, ms(3_000), &["link.ap-phone.loss=1"]));
    assert!(outage.len() == 2 && outage[0].1, "a link that no [[link]] tells of");
    let ratio = links(set(&mut evolving, ms(4_000), &["link.ap-phone.snr=12dB"]));
    assert_eq!(ratio, [(Db(12.0), false); 2]);
    recorded(&evolving);
}

#[test]
fn what_cannot_be_set_changes_nothing() {
    let mut evolving = evolving();
    set(&mut evolving, ms(1_000), &["node.ap.queue.kind=codel"]);
    let before = (evolving.source_text(ms(9_000)), evolving.knobs(ms(1_000)));
    for (wrong, message) in [
        ("nonsense", "expected path=value"),
        ("channel.width=40MHz", "cannot change during a run"),
        ("node.nobody.queue.kind=codel", "there is no \"nobody\""),
        ("link.ap-laptop.loss=2", "expected a probability"),
        ("wire.server-ap.rate=off", "a rate stays a rate"),
        ("seed=2", "cannot change during a run"),
        ("link.laptop-ap.snr=-80dB", "sense each other"),
    ] {
        let error = evolving.set(ms(2_000), &[wrong.to_owned()]).expect_err(wrong).to_string();
        assert!(error.contains(message), "{wrong}: {error}");
    }
    assert_eq!((evolving.source_text(ms(9_000)), evolving.knobs(ms(1_000))), before);
    assert!(evolving.set(ms(2_000), &[]).is_err(), "nothing to set");
}

#[test]
fn without_changes_the_text_is_the_file() {
    assert_eq!(evolving().source_text(ms(77)), scenario().source_text);
}

/// Every knob can be set to each value on offer, and then shows it.
#[test]
fn knobs_offer_what_can_be_set() {
    let knobs = evolving().knobs(Duration::ZERO);
    let paths: Vec<_> = knobs.iter().map(|knob| &*knob.path).collect();
    for path in [
        "link.laptop-ap.loss",
        "link.laptop-ap.snr",
        "link.ap-phone.loss",
        "node.phone.operating_mode",
    ] {
        assert!(paths.contains(&path), "{paths:?}");
    }
    each_can_be_set(&evolving());
}

/// Sets each knob to values on offer.
fn each_can_be_set(evolving: &Evolving) {
    for knob in evolving.knobs(Duration::ZERO) {
        let texts: Vec<String> = match &knob.kind {
            KnobKind::Number { unit, min, max, step, .. } => {
                [*min, *max, min + step].iter().map(|value| format!("{value}{unit}")).collect()
            }
            KnobKind::Choice { choices, .. } => choices.clone(),
        };
        for text in texts {
            let mut evolving = evolving.clone();
            let set = format!("{}={text}", knob.path);
            evolving
                .set(ms(1_000), std::slice::from_ref(&set))
                .unwrap_or_else(|why| panic!("{set}: {why}"));
            let now = evolving.knobs(ms(1_000)).into_iter().find(|it| it.path == knob.path);
            match now.map(|knob| knob.kind) {
                Some(KnobKind::Number { value, unit, .. }) => {
                    assert_eq!(format!("{value}{unit}"), text, "{set}");
                }
                Some(KnobKind::Choice { value, .. }) => assert_eq!(value, text, "{set}"),
                None => panic!("{set}: the knob is gone"),
            }
        }
    }
}

/// Wires can change beside devices of several links; radios cannot.
#[test]
fn knobs_beside_devices_of_several_links_can_be_set() {
    let house = include_str!("../../../scenarios/places/wifi7-house.toml");
    let house = parse("wifi7-house.toml", house, &[]).expect("it is valid");
    let evolving = Evolving::new("wifi7-house.toml", &house, Seed::new(1, 0)).expect("its text");
    let knobs = evolving.knobs(Duration::ZERO);
    assert!(!knobs.is_empty() && knobs.iter().all(|knob| knob.path.starts_with("wire.")));
    each_can_be_set(&evolving);
}

/// In a café: the laptop, the access point and the line, then all guests.
#[test]
fn the_first_station_has_the_first_knobs_and_nobody_has_none() {
    let cafe = include_str!("../../../scenarios/places/cafe.toml");
    let cafe = parse("cafe.toml", cafe, &[]).expect("it is valid");
    let evolving = Evolving::new("cafe.toml", &cafe, Seed::new(1, 0)).expect("it keeps its text");
    let knobs = evolving.knobs(Duration::ZERO);
    let mut groups: Vec<(&str, bool)> =
        knobs.iter().map(|knob| (&*knob.group, knob.is_first)).collect();
    groups.dedup();
    let guests: Vec<String> = (1..=12).map(|number| format!("guest{number}")).collect();
    let mut expected = vec![("laptop", true), ("ap", true), ("wire ap-server", true)];
    expected.push(("guest1 to guest12", false));
    expected.extend(guests.iter().map(|guest| (&**guest, false)));
    assert_eq!(groups, expected);
    assert!(knobs[0].path.contains("laptop"), "{:?}", knobs[0]);
    for guest in &guests {
        let path = format!("link.ap-{guest}.loss");
        assert!(knobs.iter().any(|knob| knob.path == path), "{path}");
    }
    // What several share is set of all of them.
    let mut changed = evolving.clone();
    let changes = set(&mut changed, ms(1_000), &["node.guest.queue.kind=codel"]);
    assert_eq!(changes.len(), 12);
}

fn setting() -> impl Strategy<Value = String> {
    prop_oneof![
        (0u32..300).prop_map(|ms| format!("wire.server-ap.delay={ms}ms")),
        (1u32..90).prop_map(|mbps| format!("wire.server-ap.rate={mbps}Mb/s")),
        (0u32..100).prop_map(|percent| format!("wire.server-ap.loss={percent}%")),
        prop_oneof!["off", "0.5", "1"].prop_map(|loss| format!("link.laptop-ap.loss={loss}")),
        prop_oneof!["off", "0.5", "1"].prop_map(|loss| format!("link.ap-phone.loss={loss}")),
        (8u32..40).prop_map(|snr| format!("link.laptop-ap.snr={snr}dB")),
        prop_oneof!["drop-tail", "codel", "fq-codel"]
            .prop_map(|kind| format!("node.*.queue.kind={kind}")),
        (1u32..500).prop_map(|packets| format!("node.laptop.queue.packets={packets}")),
        prop_oneof![Just("off"), Just("{ streams = 1 }")]
            .prop_map(|mode| format!("node.phone.operating_mode={mode}")),
        (1u32..=2).prop_map(|streams| format!("node.phone.operating_mode.streams={streams}")),
    ]
}

proptest! {
    /// Whatever is set at whatever instants: the recorded file, read again, changes the same.
    #[test]
    fn a_session_is_a_scenario_again(
        sets in prop::collection::vec((1u64..9_000, prop::collection::vec(setting(), 1..3)), 1..6),
    ) {
        let mut evolving = evolving();
        let mut sets = sets;
        sets.sort_by_key(|(at, _)| *at);
        let mut made: Vec<(Instant, Change)> = evolving_changes();
        for (at, sets) in sets {
            let instant = Instant::ZERO + ms(at);
            let Ok(changes) = evolving.set(ms(at), &sets) else { continue };
            made.retain(|(known, _)| *known <= instant);
            made.extend(changes);
        }
        prop_assert_eq!(recorded(&evolving).changes, made);
    }
}

fn evolving_changes() -> Vec<(Instant, Change)> {
    scenario().changes
}
