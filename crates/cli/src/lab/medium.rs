//! `lasthop medium`: radios of the kernel's mac80211_hwsim on a scenario's air, until a signal or
//! the end of `--duration`. Prints the radios, then the outcome of their frames.

use crate::args::{AggregationBy, Medium};
use crate::console::{self, Stream};
use crate::failure::Failure;
use crate::lab::scenario;
use crate::table::{self, number, text};
use lasthop_hwsim::{Aggregation, JoinedRadio, MediumOptions, MediumOutcome, medium as join};
use lasthop_linux::clock::Scheduling;
use lasthop_scenario::Scenario;
use lasthop_trace::{MediumChannel, MediumDocument, MediumRadio};
use lasthop_wifi::medium::RadioStats;

/// Runs the command.
pub fn medium(args: &Medium) -> Result<(), Failure> {
    let scenario = scenario::load(&args.scenario, &args.scenario.sets())?;
    let existing = args.radio.iter().map(|pair| node_and_radio(pair)).collect::<Result<_, _>>()?;
    let aggregation = match args.aggregation {
        AggregationBy::Radio => Aggregation::Radio,
        AggregationBy::Kernel => Aggregation::Kernel,
        AggregationBy::None => Aggregation::None,
    };
    let options = MediumOptions { existing, aggregation, duration: args.duration, run: 0 };
    // With --json standard output is the document's.
    let stream = if args.json { Stream::Error } else { Stream::Output };
    let mut written = Ok(());
    let mut ready = |radios: &[JoinedRadio]| written = stream.write(&greeting(radios, stream));
    let outcome = join(&scenario, &options, &mut ready).map_err(Failure::message)?;
    written?;
    let document = document(&scenario, &outcome);
    let is_realtime = outcome.scheduling == Scheduling::Realtime;
    if args.json {
        return console::print(&document.to_json());
    }
    console::print(&report(&document, is_realtime, Stream::Output))
}

/// Splits an argument of the form `NODE=RADIO`.
fn node_and_radio(pair: &str) -> Result<(String, String), Failure> {
    match pair.split_once('=') {
        Some((node, radio)) if !node.is_empty() && !radio.is_empty() => {
            Ok((node.into(), radio.into()))
        }
        _ => Err(Failure::Message(format!(
            "--radio {pair:?}: expected a node and a radio, such as laptop=phy0"
        ))),
    }
}

fn greeting(radios: &[JoinedRadio], stream: Stream) -> String {
    let columns = [text("node"), text("radio"), text("interface"), text("address")];
    let row = |radio: &JoinedRadio| {
        let interface = radio.interface.clone().unwrap_or_default();
        vec![radio.node.clone(), radio.name.clone(), interface, radio.address.to_string()]
    };
    let rows: Vec<_> = radios.iter().map(row).collect();
    let ready = "ready: these radios share the modelled air, until an interrupt\n";
    table::render_all(&columns, &rows, stream) + ready
}

fn document(scenario: &Scenario, outcome: &MediumOutcome) -> MediumDocument {
    let radio = |(joined, channels): &(JoinedRadio, Vec<(u32, RadioStats)>)| MediumRadio {
        node: joined.node.clone(),
        radio: joined.name.clone(),
        interface: joined.interface.clone(),
        address: joined.address.to_string(),
        channels: channels.iter().map(|(mhz, stats)| channel(*mhz, stats)).collect(),
    };
    let lateness = outcome.lateness_ns.quantile(0.999);
    MediumDocument {
        version: env!("CARGO_PKG_VERSION").into(),
        scenario: scenario.name.clone(),
        seed: scenario.seed,
        duration_s: outcome.duration.as_secs_f64(),
        radios: outcome.radios.iter().map(radio).collect(),
        given_up_by_kernel: outcome.given_up,
        rates_replaced: outcome.rates_replaced,
        too_long: outcome.too_long,
        lateness_p999_us: lateness.map(|ns| f64::from(ns) / 1e3),
    }
}

fn channel(mhz: u32, stats: &RadioStats) -> MediumChannel {
    MediumChannel {
        mhz,
        frames: stats.frames,
        ppdus: stats.ppdus,
        mpdus: stats.mpdus,
        retries: stats.retries,
        acknowledged: stats.acknowledged,
        given_up: stats.given_up,
        overlapped: stats.overlapped,
        refused: stats.refused,
        airtime_s: stats.airtime.as_secs_f64(),
    }
}

fn report(document: &MediumDocument, is_realtime: bool, stream: Stream) -> String {
    let columns = [
        text("radio"),
        number("channel", "MHz"),
        number("MPDUs", "handed over"),
        number("MPDUs", "sent"),
        number("MPDUs", "again"),
        number("MPDUs", "acknowledged"),
        number("MPDUs", "given up"),
        number("PPDUs", "sent"),
        number("PPDUs", "overlapped"),
        number("on the air", "%"),
    ];
    let mut rows = Vec::new();
    for radio in &document.radios {
        for channel in &radio.channels {
            let share = 100.0 * channel.airtime_s / document.duration_s.max(1e-9);
            rows.push(vec![
                radio.node.clone(),
                channel.mhz.to_string(),
                channel.frames.to_string(),
                channel.mpdus.to_string(),
                channel.retries.to_string(),
                channel.acknowledged.to_string(),
                channel.given_up.to_string(),
                channel.ppdus.to_string(),
                channel.overlapped.to_string(),
                format!("{share:.1}"),
            ]);
        }
    }
    let mut out = table::render(&columns, &rows, stream);
    if rows.is_empty() {
        out.push_str("no radio sent anything\n");
    }
    if let Some(late) = document.lateness_p999_us {
        let how = if is_realtime { "" } else { ", without real-time priority" };
        out.push_str(&format!("{late:.0} us late at most, for 99.9 % of the receptions{how}\n"));
    }
    for (count, what) in [
        (document.given_up_by_kernel, "frames that the kernel gave up while they waited"),
        (document.rates_replaced, "frames at a rate that the model does not have"),
        (document.too_long, "frames that are too long for the kernel's interface"),
    ] {
        if count > 0 {
            out.push_str(&format!("{} {count} {what}\n", stream.yellow("note:")));
        }
    }
    out
}
