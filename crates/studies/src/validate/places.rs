//! The places in virtual time against real time: one TCP download (CUBIC) from the server to
//! the laptop and a ping beside it, by `lasthop compare`, which runs the model's TCP and the
//! kernel's over the same hop. Goodput in Mb/s, round trips in milliseconds. Results are not kept: the
//! table is copied to `docs/places.md`.

use crate::Verdict;
use crate::table::{Row, Table, is_within, ratio};
use serde_json::Value;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Largest accepted differences of goodput and median round trip from the emulation, as shares.
const GOODPUT_WITHIN: f64 = 0.15;
const ROUND_TRIP_WITHIN: f64 = 0.25;

/// The flows that are added to a place.
const FLOWS: &str = r#"
[[flow]]
name = "ping"
from = "laptop"
to = "server"
kind = "ping"
interval = "50ms"

[[flow]]
name = "download"
from = "server"
to = "laptop"
kind = "tcp"
"#;

/// A place, simulated and emulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Name of the place.
    pub place: String,
    /// Goodput of the download, simulated and emulated.
    pub goodput_mbps: [f64; 2],
    /// Median round trip of the ping, simulated and emulated.
    pub round_trip_ms: [f64; 2],
    /// Number of emulated runs that were late.
    pub late_runs: u64,
}

/// The names of all places, as the program `lasthop` has them.
///
/// # Errors
/// If the program does not list them.
pub fn names(lasthop: &Path) -> Result<Vec<String>, String> {
    let list = output(Command::new(lasthop).args(["scenario", "list"]), "")?;
    let places = list.lines().filter_map(|line| line.strip_prefix("places/"));
    Ok(places.filter_map(|line| Some(line.split_once(' ')?.0.to_owned())).collect())
}

/// Simulates and emulates a place, some runs of each.
///
/// # Errors
/// What the program says.
pub fn compare(lasthop: &Path, place: &str, runs: u32) -> Result<Compared, String> {
    let show = ["scenario", "show", &format!("places/{place}")];
    let text = output(Command::new(lasthop).args(show), "")? + FLOWS;
    // The outages of the train come again after 150 s; others move for a while.
    let duration = match place {
        "train" => "duration=152s",
        "walk" | "mesh-home" => "duration=62s",
        "metro" => "duration=37s",
        _ => "duration=32s",
    };
    let runs = runs.to_string();
    let mut command = Command::new(lasthop);
    command.args(["compare", "-", "--json", "--runs", &runs]);
    command.args(["--set", duration, "--set", "warmup=2s"]);
    let text = output(&mut command, &text)?;
    let document: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let pair = |flow: &str, quantity: &str| {
        let pair = &document["flows"][flow][quantity];
        let side = |side: &str| {
            let number = pair[side].as_f64();
            number.ok_or_else(|| format!("{place}: no {quantity} of {flow}, {side}"))
        };
        Ok::<_, String>([side("simulated")?, side("emulated")?])
    };
    Ok(Compared {
        place: place.to_owned(),
        goodput_mbps: pair("download", "goodput_mbps")?,
        round_trip_ms: pair("ping", "rtt_p50_ms")?,
        late_runs: document["late_runs"].as_u64().unwrap_or_default(),
    })
}

fn output(command: &mut Command, input: &str) -> Result<String, String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).map_err(|error| error.to_string())?;
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    if output.status.success() {
        String::from_utf8(output.stdout).map_err(|error| error.to_string())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// The places as a table.
pub fn table(places: &[Compared]) -> Table {
    Table {
        title: "Places, simulated and emulated",
        text: format!(
            "One TCP download with CUBIC, in Mb/s, and the median round trip of a ping beside it, \
             in ms. Targets: goodput within {:.0} %, round trip within {:.0} %. A place whose \
             emulation was late is not judged.",
            100.0 * GOODPUT_WITHIN,
            100.0 * ROUND_TRIP_WITHIN
        ),
        columns: vec![
            "place",
            "download, simulated",
            "emulated",
            "ratio",
            "round trip, simulated",
            "emulated",
            "ratio",
        ],
        rows: places.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

fn row(place: &Compared) -> Row {
    let is_right = [(place.goodput_mbps, GOODPUT_WITHIN), (place.round_trip_ms, ROUND_TRIP_WITHIN)]
        .into_iter()
        .all(|([ours, theirs], share)| is_within(ours, theirs, share));
    let verdict = match place.late_runs {
        0 => Verdict::pass_if(is_right),
        _ => Verdict::Listed,
    };
    let mut cells = vec![place.place.clone()];
    for [ours, theirs] in [place.goodput_mbps, place.round_trip_ms] {
        cells.extend([format!("{ours:.1}"), format!("{theirs:.1}"), ratio(ours, theirs)]);
    }
    (cells, verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_fails_and_what_was_late_is_listed() {
        let cafe = Compared {
            place: "cafe".into(),
            goodput_mbps: [10.0, 11.0],
            round_trip_ms: [240.0, 218.0],
            late_runs: 0,
        };
        assert_eq!(row(&cafe).1, Verdict::Pass);
        let slow = Compared { goodput_mbps: [10.0, 12.0], ..cafe.clone() };
        assert_eq!(row(&slow).1, Verdict::Fail);
        let short = Compared { round_trip_ms: [35.0, 218.0], ..cafe.clone() };
        assert_eq!(row(&short).1, Verdict::Fail);
        assert_eq!(row(&Compared { late_runs: 1, ..short }).1, Verdict::Listed);
        assert_eq!(table(&[cafe]).columns.len(), row(&slow).0.len());
    }
}
