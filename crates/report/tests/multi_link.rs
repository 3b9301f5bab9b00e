//! Findings about devices of several links, judged on scenarios that are drawn: an access point and
//! a laptop with links at 5 and 6 GHz, a neighbour, a transfer or a flood and a ping, and one fault
//! of any strength, or none. The truth is computed: a window or a radio is a fault if goodput gets
//! better by a tenth without it, or the slowest pings by that and 1 ms; reordering, if packets wait so
//! much less in the reorder buffer with one link.
//!
//! Draws 0 to 39 were looked at while the findings were written. Those from 100 on were not.

mod common;

use lasthop_report::finding::{Kind, findings};
use lasthop_report::remedy::applicable;
use lasthop_trace::RunDocument;
use lasthop_units::{Seed, Stream};
use std::collections::BTreeMap;

/// A fault, and how to do without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    Nothing,
    /// A Block Ack window that is too small for two links.
    Window,
    /// One radio for both links.
    OneRadio,
    /// A link whose PPDUs others wait for.
    SlowLink,
}

struct Draw {
    fault: Fault,
    text: String,
    /// Changes of the scenario without the fault.
    without: Vec<String>,
    /// Changes without the turns of a radio.
    without_turns: Vec<String>,
}

fn draw(number: u64) -> Draw {
    let mut stream = Seed::new(number, 0).stream("multi-link");
    let mut pick = |from: &[&str]| pick(&mut stream, from);
    let fault = match pick(&["nothing", "window", "radio", "slow"]).as_str() {
        "window" => Fault::Window,
        "radio" => Fault::OneRadio,
        "slow" => Fault::SlowLink,
        _ => Fault::Nothing,
    };
    let flow = match pick(&["tcp", "udp", "udp", "saturated"]).as_str() {
        "tcp" => "kind = \"tcp\"".to_owned(),
        "udp" => {
            let rate = pick(&["20", "60", "150", "300", "600", "1000"]);
            format!("kind = \"udp\"\nrate = \"{rate}Mb/s\"")
        }
        _ => "kind = \"udp\"\nrate = \"saturated\"".to_owned(),
    };
    let [wide, wider] = [pick(&["20", "40", "80"]), pick(&["40", "80", "160"])];
    let mut text = format!(
        "duration = \"5s\"\nwarmup = \"1s\"\nseed = {number}\n[channel]\nstandard = \"802.11be\"\n\
         band = \"5GHz\"\nwidth = \"{wide}MHz\"\n[[channel.link]]\nband = \"6GHz\"\n\
         width = \"{wider}MHz\"\n"
    );
    if fault == Fault::SlowLink {
        text += &format!("snr = \"{}dB\"\n", pick(&["6", "9", "12", "16"]));
    }
    let window = match fault {
        Fault::Window => pick(&["16", "32", "64", "128", "256"]),
        _ => "1024".to_owned(),
    };
    text += &format!("[node_defaults]\nblock_ack = {{ window = {window} }}\n");
    text += "[[node]]\nname = \"ap\"\nrole = \"access-point\"\n[[node]]\nname = \"laptop\"\n\
             role = \"station\"\n";
    text += &format!("position = [\"{}m\", \"0m\"]\n", pick(&["3", "6", "10", "15"]));
    if fault == Fault::OneRadio {
        text += "multi_link = \"emlsr\"\n";
        let [padding, transition] = [&["32", "128", "256"]; 2].map(|of| pick(of));
        text +=
            &format!("emlsr = {{ padding = \"{padding}us\", transition = \"{transition}us\" }}\n");
    }
    let busy = pick(&["0", "0", "0.3", "0.6"]);
    if busy != "0" {
        text += &format!("[[neighbour]]\nname = \"next\"\nlevel = \"-70dBm\"\nbusy = {busy}\n");
    }
    text += &format!("[[flow]]\nname = \"down\"\nfrom = \"ap\"\nto = \"laptop\"\n{flow}\n");
    text += "[[flow]]\nname = \"ping\"\nfrom = \"ap\"\nto = \"laptop\"\nkind = \"ping\"\n\
             interval = \"10ms\"\n";
    let without: &[&str] = match fault {
        Fault::Window => &["node_defaults.block_ack.window=1024"],
        Fault::Nothing | Fault::OneRadio | Fault::SlowLink => &[],
    };
    let turns = ["node.laptop.emlsr.padding=0us", "node.laptop.emlsr.transition=0us"];
    let turns = if fault == Fault::OneRadio { &turns[..] } else { &[] };
    let [without, without_turns] =
        [without, turns].map(|sets| sets.iter().map(|&set| set.to_owned()).collect());
    Draw { fault, text, without, without_turns }
}

fn pick(stream: &mut Stream, from: &[&str]) -> String {
    from[stream.up_to(from.len() as u32 - 1) as usize].to_owned()
}

/// Whether goodput is better by a tenth in `after`, or pings by that and 1 ms.
fn is_better(before: &RunDocument, after: &RunDocument) -> bool {
    let ping = |run: &RunDocument| run.flows["ping"].rtt_ms.map_or(f64::MAX, |it| it.p95);
    let saved = ping(before) - ping(after);
    is_faster(before, after) || saved >= 1.0 && saved >= 0.1 * ping(before)
}

/// Whether a flow waits less in the reorder buffer in `after`: by a tenth of its delay, and 1 ms.
fn is_less_reordered(before: &RunDocument, after: &RunDocument) -> bool {
    ["down", "ping"].iter().any(|name| {
        let parts = |run: &RunDocument| run.flows[*name].delay_parts_ms;
        let (Some(with), Some(without)) = (parts(before), parts(after)) else { return false };
        let delay = before.flows[*name].one_way_delay_ms.map_or(0.0, |it| it.mean);
        let saved = with.reorder - without.reorder;
        saved >= 1.0 && saved >= 0.1 * delay
    })
}

/// For each kind of finding, how often it is right, wrong, missing, and rightly absent.
fn judge(numbers: impl Iterator<Item = u64>) -> (BTreeMap<Kind, [usize; 4]>, Vec<String>) {
    let mut all: BTreeMap<Kind, [usize; 4]> = BTreeMap::new();
    let mut faults = Vec::new();
    for number in numbers {
        let draw = draw(number);
        let run = |sets: &[String]| common::run("drawn.toml", &draw.text, sets);
        let before = run(&[]);
        let found: Vec<_> = findings(&before).into_iter().map(|it| it.kind).collect();
        let helps = |sets: &[String]| !sets.is_empty() && is_better(&before, &run(sets));
        let of_radio = draw.text.replace("multi_link = \"emlsr\"\n", "").replace("emlsr = {", "#");
        let two_radios = draw.fault == Fault::OneRadio
            && is_better(&before, &common::run("drawn.toml", &of_radio, &[]));
        let one_link = ["node.laptop.multi_link=off".to_owned()];
        let one_link = match draw.fault {
            // It has times that one link cannot have, and sends on one link at a time.
            Fault::OneRadio => Vec::new(),
            _ => one_link.to_vec(),
        };
        let truths = [
            (Kind::IdleLink, draw.fault == Fault::Window && helps(&draw.without) || two_radios),
            (Kind::Reordering, is_less_reordered(&before, &run(&one_link))),
            (Kind::Switching, helps(&draw.without_turns)),
        ];
        for (kind, is_fault) in truths {
            let place = match (found.contains(&kind), is_fault) {
                (true, true) => 0,
                (true, false) => 1,
                (false, true) => 2,
                (false, false) => 3,
            };
            all.entry(kind).or_default()[place] += 1;
            if place == 1 || place == 2 {
                let how = ["", "wrong", "missing"][place];
                faults.push(format!("{number}: {kind:?} {how}, {found:?}"));
            }
        }
    }
    (all, faults)
}

/// The first run of the draws that were not looked at: of 56 findings 52 were right, and 4 were missing.
/// Most faults are near the threshold of one radio's turns.
#[test]
#[ignore = "a campaign"]
fn findings_of_draws_are_right() {
    let (all, faults) = judge((0..40).chain(100..180));
    let [right, wrong, missing] =
        [0, 1, 2].map(|place| all.values().map(|counts| counts[place]).sum::<usize>());
    assert!(10 * wrong <= right && 8 * missing <= right, "{all:?} {faults:#?}");
}

/// The remedy is the key that decides: of the node, if it has its own.
#[test]
fn remedies_change_the_device() {
    let text = "duration = \"3s\"\n[channel]\nstandard = \"802.11be\"\nband = \"5GHz\"\n\
        width = \"80MHz\"\n[[channel.link]]\nband = \"6GHz\"\nwidth = \"160MHz\"\n\
        [node_defaults]\nblock_ack = { window = 64 }\nmulti_link = \"str\"\n\
        [[node]]\nname = \"ap\"\nrole = \"access-point\"\n\
        [[node]]\nname = \"laptop\"\nrole = \"station\"\nmulti_link = \"emlsr\"\n\
        [[flow]]\nname = \"down\"\nfrom = \"ap\"\nto = \"laptop\"\nkind = \"tcp\"\n";
    let document = common::run("test.toml", text, &[]);
    let found = findings(&document);
    let remedy = |kind| {
        let finding = found.iter().find(|it| it.kind == kind);
        finding.map(|it| applicable(text, it)).unwrap_or_default()
    };
    assert_eq!(remedy(Kind::IdleLink), ["node.laptop.multi_link=str"], "{found:#?}");
    assert_eq!(remedy(Kind::Switching), ["node.laptop.multi_link=off"], "{found:#?}");
    let windows = text.replace("multi_link = \"emlsr\"\n", "");
    let document = common::run("test.toml", &windows, &[]);
    let found = findings(&document);
    let idle = found.iter().find(|it| it.kind == Kind::IdleLink);
    let idle = idle.unwrap_or_else(|| panic!("{found:#?}"));
    assert!(idle.sentence.contains("the Block Ack window of 64 MPDUs is full"), "{idle:?}");
    let sets = applicable(&windows, idle);
    assert_eq!(sets.len(), 2, "both ends have one: {sets:?}");
    let after = common::run("test.toml", &windows, &sets);
    assert!(is_faster(&document, &after), "{sets:?}");
}

fn is_faster(before: &RunDocument, after: &RunDocument) -> bool {
    after.flows["down"].goodput_mbps > before.flows["down"].goodput_mbps.map(|it| it * 1.1)
}

/// The text of each cell of the table under a title, by row.
fn cells(page: &str, title: &str) -> Vec<Vec<String>> {
    let section = page.split_once(&format!("<h2>{title}</h2>")).expect("a section").1;
    let body = section.split_once("<tbody>").expect("a table").1.split_once("</tbody>");
    let rows = body.expect("its end").0.split("</tr>").filter(|row| !row.is_empty());
    let texts = |row: &str| {
        let cells = row.split('<').filter_map(|tag| tag.split_once('>'));
        let cells = cells.filter(|(tag, _)| tag.starts_with("th ") || tag.starts_with("td"));
        cells.map(|(_, text)| text.replace("&gt;", ">")).collect()
    };
    rows.map(texts).collect()
}

/// Whether a cell is this number, to the cell's last digit.
fn is_number(cell: &str, number: &serde_json::Value) -> bool {
    let Some(number) = number.as_f64() else { return cell.is_empty() };
    let digits = cell.replace(' ', "");
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let half = 0.5 * 10_f64.powi(-(decimals as i32));
    digits.parse::<f64>().is_ok_and(|it| (it - number).abs() <= half * 1.001)
}

/// The numbers of the page are those of `run.json`, which the test reads by key.
#[test]
fn the_page_shows_the_links_of_the_document() {
    let text = "duration = \"2s\"\n[channel]\nstandard = \"802.11be\"\nband = \"5GHz\"\n\
        width = \"80MHz\"\n[[channel.link]]\nband = \"6GHz\"\nwidth = \"160MHz\"\n\
        [[node]]\nname = \"ap\"\nrole = \"access-point\"\n[[node]]\nname = \"laptop\"\n\
        role = \"station\"\n[[neighbour]]\nname = \"next\"\nlevel = \"-70dBm\"\nbusy = 0.7\n\
        [[flow]]\nname = \"down\"\nfrom = \"ap\"\nto = \"laptop\"\nkind = \"udp\"\n\
        rate = \"200Mb/s\"\n[[flow]]\nname = \"up\"\nfrom = \"laptop\"\nto = \"ap\"\n\
        kind = \"ping\"\ninterval = \"10ms\"\n";
    let run = common::run("links.toml", text, &[]);
    let page = lasthop_report::page::html(&lasthop_report::page::Content {
        run: &run,
        series: None,
        delays: None,
        scenario: None,
        trials: &Default::default(),
    });
    let document: serde_json::Value = serde_json::from_str(&run.to_json()).expect("JSON");
    let mut expected = 0;
    let rows = cells(&page, "Links that packets took");
    for (flow, its) in document["flows"].as_object().expect("flows") {
        for (link, it) in its["links"].as_object().expect("links") {
            let row = rows.iter().find(|row| (&row[0], &row[1]) == (flow, link));
            let row = row.unwrap_or_else(|| panic!("no {flow} on {link}: {rows:?}"));
            let share = 100.0 * it["share"].as_f64().expect("a share");
            let others = it["other_wait_ms"].as_object().expect("waits for others");
            assert_eq!(others.len(), 1, "two links: {it}");
            let numbers = [
                it["packets"].clone(),
                share.into(),
                it["delay_ms"]["mean"].clone(),
                it["delay_ms"]["p99"].clone(),
                it["reorder_ms"].clone(),
                it["wait_ms"].clone(),
                others.values().next().expect("one").clone(),
            ];
            for (cell, number) in row[2..].iter().zip(&numbers) {
                assert!(is_number(cell, number), "{cell} is not {number}: {row:?}");
            }
            expected += 1;
        }
    }
    assert_eq!((rows.len(), expected), (4, 4), "two flows on two links");
    assert!(rows.iter().all(|row| row.iter().all(|cell| !cell.is_empty())), "{rows:?}");
}
