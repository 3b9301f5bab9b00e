//! Shares against a count of every nanosecond, and the hops of packets.

use super::*;
use proptest::prelude::*;

fn ppdu(at_ns: i64, duration_ns: i64, node: u32, frame: u32, again: (i32, i32)) -> PpduReading {
    let (retries, mpdus) = again;
    PpduReading {
        at_ns,
        duration_ns,
        node: TextId(node),
        link: TextId::NONE,
        peer: TextId(2),
        flow: TextId::NONE,
        frame: TextId(frame),
        rate: TextId::NONE,
        rate_kbps: 0,
        bytes: 0,
        mpdus,
        retries,
        received: 0,
        sequence: -1,
        signal_dbm: f32::NAN,
        collided: false,
    }
}

fn reading(ppdus: Vec<PpduReading>) -> EventsReading {
    let texts = ["", "a", "b", "qos_data", "ack", "beacon"].map(str::to_owned).to_vec();
    EventsReading { texts, ppdus, rows: 1, ..EventsReading::default() }
}

/// The shares by a count of every nanosecond: the first PPDU that covers one of a transmitter
/// and begins at its instant counts.
fn by_counting(events: &EventsReading, node: u32, window: Window) -> BTreeMap<String, Vec<i64>> {
    let mut shares = BTreeMap::new();
    let width = i64::from(window.width);
    let span = window.to_ns - window.from_ns;
    let mut firsts: Vec<&PpduReading> = Vec::new();
    for ppdu in events.ppdus.iter().filter(|ppdu| ppdu.node == TextId(node)) {
        if firsts.iter().all(|first| first.at_ns != ppdu.at_ns) {
            firsts.push(ppdu);
        }
    }
    for column in 0..width {
        let edge = |column: i64| window.from_ns + span * column / width;
        let (from, to) = (edge(column), edge(column + 1));
        let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
        for ppdu in &firsts {
            let met = (from..to)
                .filter(|at| *at >= ppdu.at_ns && *at < ppdu.at_ns + ppdu.duration_ns)
                .count() as i64;
            let frame = events.text(ppdu.frame);
            if ppdu.collided {
                *sums.entry("collided").or_default() += met;
            } else if frame == "qos_data" {
                let again = met * i64::from(ppdu.retries) / i64::from(ppdu.mpdus.max(1));
                *sums.entry("retries").or_default() += again;
                *sums.entry("data").or_default() += met - again;
            } else {
                let class = if frame == "ack" { "control" } else { "management" };
                *sums.entry(class).or_default() += met;
            }
        }
        for (class, sum) in sums {
            let length = (to - from).max(1);
            let share = ((1_000 * sum + length / 2) / length).min(1_000);
            let all = shares.entry(class.to_owned());
            all.or_insert_with(|| vec![0; width as usize])[column as usize] = share;
        }
    }
    shares.retain(|_, shares| shares.iter().any(|share| *share > 0));
    shares
}

proptest! {
    #[test]
    fn shares_are_what_counting_gives(
        drawn in prop::collection::vec(
            (0..600_i64, 0..80_i64, 1..3_u32, 3..6_u32, 0..5_i32, any::<bool>()), 0..30),
        from_ns in -50..550_i64,
        span in 1..500_i64,
        width in 1..60_u32,
    ) {
        let ppdus: Vec<_> = drawn
            .into_iter()
            .map(|(at, duration, node, frame, retries, collided)| PpduReading {
                collided,
                ..ppdu(at, duration, node, frame, (retries, retries + 1))
            })
            .collect();
        let events = reading(ppdus);
        let timeline = Timeline::new(events.clone());
        let window = Window::new(from_ns, from_ns + span, width);
        for lane in &timeline.lanes {
            let shares = timeline.shares(lane, window);
            let shares: BTreeMap<String, Vec<i64>> = shares
                .into_iter()
                .map(|(class, all)| (class.to_owned(), all.into_iter().map(i64::from).collect()))
                .filter(|(_, all): &(_, Vec<i64>)| all.iter().any(|share| *share > 0))
                .collect();
            prop_assert_eq!(shares, by_counting(&events, lane.places[0].0.0, window));
        }
    }

    #[test]
    fn a_column_holds_what_is_between_its_edges(
        from_ns in -1_000_000_000_000_i64..1_000_000_000_000,
        span in 1..1_000_000_000_000_i64,
        width in 1..WIDTH_MAX,
        part in 0.0..1.0_f64,
    ) {
        let window = Window::new(from_ns, from_ns + span, width);
        let at = from_ns + ((span as f64 * part) as i64).min(span - 1);
        let column = window.column(at);
        prop_assert!(window.edge(column) <= at && at < window.edge(column + 1));
        prop_assert_eq!(window.edge(window.width as usize), window.to_ns);
    }

    #[test]
    fn every_ppdu_of_a_short_window_is_there(
        drawn in prop::collection::vec((0..600_i64, 0..200_i64), 0..40),
        from_ns in 0..600_i64,
        span in 1..300_i64,
    ) {
        let ppdus: Vec<_> =
            drawn.iter().map(|(at, duration)| ppdu(*at, *duration, 1, 3, (0, 1))).collect();
        let mut expected: Vec<i64> = drawn
            .iter()
            .filter(|(at, duration)| *at < from_ns + span && at + duration > from_ns)
            .map(|(at, _)| *at)
            .collect();
        expected.sort_unstable();
        let timeline = Timeline::new(reading(ppdus));
        let mut texts = Texts::default();
        let window = Window::new(from_ns, from_ns + span, 10);
        let there: Vec<i64> = timeline
            .lanes
            .iter()
            .flat_map(|lane| timeline.each_ppdu(lane, window, &mut texts).at_ns)
            .collect();
        prop_assert_eq!(there, expected);
    }
}

#[test]
fn overlapping_waits_are_one() {
    assert_eq!(merged(vec![(5, 9), (1, 3), (2, 4), (4, 5), (20, 21)]), [(1, 9), (20, 21)]);
}

#[test]
fn nobody_waits_while_it_transmits() {
    let waits = [(0, 10), (20, 30), (40, 50)];
    assert_eq!(without(&waits, &[]), waits);
    assert_eq!(without(&waits, &[(5, 6), (8, 25), (45, 60)]), [(0, 5), (6, 8), (25, 30), (40, 45)]);
    assert_eq!(without(&waits, &[(-5, 2), (30, 40)]), [(2, 10), (20, 30), (40, 50)]);
    assert_eq!(without(&waits, &[(-5, 100)]), []);
}

#[test]
fn many_nodes_share_the_last_lane() {
    let mut texts = vec![String::new()];
    texts.extend((1..=100).map(|node| format!("sta{node}")));
    let ppdus = (1..=100).map(|node| ppdu(0, i64::from(node), node, 0, (0, 1))).collect();
    let timeline = Timeline::new(EventsReading { texts, ppdus, ..EventsReading::default() });
    assert_eq!(timeline.lanes.len(), LANES_MAX);
    let last = timeline.lanes.last().expect("lanes");
    assert_eq!((last.name.as_str(), last.places.len()), ("53 others", 53));
    assert_eq!(timeline.lanes[0].name, "sta54", "those that transmit most have their own");
    let all: usize = timeline.lanes.iter().map(|lane| lane.ppdus.len()).sum();
    assert_eq!(all, 100);
}

/// A device of two links that sends at once on both: neither hides the other, and a packet waits in
/// the lane of the link that carried it first.
#[test]
fn links_of_a_device_have_lanes_and_its_packets_another() {
    let texts = ["", "a", "b", "qos_data", "5GHz", "6GHz", "c"].map(str::to_owned).to_vec();
    let on = |link, it| PpduReading { link: TextId(link), ..it };
    let ppdus = vec![
        on(5, ppdu(100, 40, 1, 3, (0, 1))),
        on(4, ppdu(100, 60, 1, 3, (0, 1))),
        on(5, ppdu(200, 20, 1, 3, (0, 1))),
        on(4, ppdu(300, 20, 6, 3, (0, 1))),
    ];
    let packet = |at_ns, event, node, link, parts| PacketReading {
        at_ns,
        tag: 1,
        event,
        node: TextId(node),
        link: TextId(link),
        peer: TextId::NONE,
        flow: TextId::NONE,
        reason: TextId::NONE,
        bytes: 100,
        queue_packets: -1,
        parts,
    };
    let packets = vec![
        packet(190, PacketEvent::Queued, 1, 0, None),
        packet(220, PacketEvent::Delivered, 2, 5, Some(0)),
    ];
    let mut parts_ns = [0; 9];
    (parts_ns[3], parts_ns[6]) = (10, 20);
    let parts = vec![PartsReading { delay_ns: 30, parts_ns }];
    let events =
        EventsReading { texts, ppdus, packets, parts, rows: 1, ..EventsReading::default() };
    let timeline = Timeline::new(events);
    let view = timeline.view(Window::new(0, 400, 4));
    let seen: Vec<_> = view
        .lanes
        .iter()
        .map(|it| {
            let [ppdus, packets] =
                [&it.ppdus.as_ref().expect("few").at_ns, &it.packets.as_ref().expect("few").at_ns];
            (
                it.name.as_str(),
                it.node.as_str(),
                it.has_radio,
                it.has_queue,
                ppdus.len(),
                packets.len(),
            )
        })
        .collect();
    let expected = [
        ("a", "a", false, true, 0, 1),
        ("a@5GHz", "a", true, false, 1, 0),
        ("a@6GHz", "a", true, false, 2, 0),
        ("c@5GHz", "c", true, true, 1, 0),
        ("b", "b", false, true, 0, 1),
    ];
    assert_eq!(seen, expected, "a node with one link has one lane, and a host no frames");
    let shares = |lane: usize| timeline.shares(&timeline.lanes[lane], Window::new(100, 200, 1));
    assert_eq!((shares(1)["data"][0], shares(2)["data"][0]), (600, 400), "both are sent");
    assert_eq!(timeline.lanes[1].waiting, []);
    assert_eq!(timeline.lanes[2].waiting, [(190, 200)]);
    let starts = timeline.sent_by(TextId(1), 0, 400).iter().map(|it| it.at_ns).collect::<Vec<_>>();
    assert_eq!(starts, [100, 100, 200], "on all links, by time");
}
