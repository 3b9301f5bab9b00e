//! Findings: problems of a link in sentences, each with the frames and times that show it, its
//! cost, and a way to check it. A finding states the observation, and a cause only if the capture
//! shows it; inferred causes are called likely.

mod absences;
mod bound;
mod channel;
mod heard;
mod interfaces;
mod joining;
mod kind;
mod links;
mod probing;
pub(crate) mod roams;
mod tcp;
mod unknown;

use crate::analysis::{Analysis, InterfaceView};
use crate::rounding::seconds;
pub use kind::{Certainty, Kind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
pub(crate) use unknown::unknown;

/// A problem of the link. As JSON it also has the properties of its kind: [`Kind::certainty`] and
/// [`Kind::unless`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "kind::Said", from = "kind::Said")]
pub struct Finding {
    /// Kind of the finding, for programs.
    pub kind: Kind,
    /// Problem in words, for people.
    pub sentence: String,
    /// First and last of the frames that show it.
    pub frames: [u64; 2],
    /// Start, in seconds since the first packet.
    pub from_s: f64,
    /// End, in seconds since the first packet.
    pub to_s: f64,
    /// Cost while it lasts, 0 to 1: a share of the throughput, of the time on the air or of the
    /// delay, as the sentence says. The worst finding comes first, after those about limits of the
    /// capture, and before missing beacons.
    pub harm: f64,
    /// Instructions to check the finding, and remedies.
    pub check: String,
    /// Station that the finding is about, if it is about one.
    pub station: Option<String>,
}

/// Range of the past for findings whose computation time grows with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of absences of each station.
    pub absences: usize,
    /// Number of seconds of each link.
    pub seconds: usize,
}

impl Extent {
    /// Everything that is kept.
    pub const ALL: Self = Self { absences: usize::MAX, seconds: usize::MAX };
    /// Range for a reading each second, which takes some milliseconds for a hundred stations:
    /// twenty scans of 25 channels, and the throughput of half an hour.
    pub const LATEST: Self = Self { absences: 512, seconds: 1_800 };
}

/// Largest number of findings of one kind in a list; the worst ones remain.
pub const OF_KIND_MAX: usize = 50;

/// Returns the findings about a file and its main interface, worst first, with at most
/// [`OF_KIND_MAX`] of each kind.
pub fn findings(analysis: &Analysis, extent: Extent) -> Vec<Finding> {
    counted(analysis, extent).0
}

/// Returns the findings and the number of those that were left out.
pub(crate) fn counted(analysis: &Analysis, extent: Extent) -> (Vec<Finding>, u64) {
    limited(&analysis.view(&analysis.main), interfaces::several(analysis), extent)
}

/// Returns the findings about one interface alone.
pub(crate) fn of_interface(view: &InterfaceView<'_>) -> Vec<Finding> {
    limited(view, Vec::new(), Extent::ALL).0
}

/// Returns the findings about an interface together with those about its file, and the number of
/// those that were left out.
fn limited(
    view: &InterfaceView<'_>,
    about_file: Vec<Finding>,
    extent: Extent,
) -> (Vec<Finding>, u64) {
    let mut found = Vec::new();
    let heard = heard::Coverage::sum(view.air);
    absences::find(view, &heard, extent, &mut found);
    links::find(view, &mut found);
    channel::find(view, &heard, &mut found);
    tcp::find(view, &mut found);
    found.extend(interfaces::hopping(view));
    found.extend(about_file);
    joining::find(view, &mut found);
    roams::find(view, &mut found);
    probing::find(view, &mut found);
    sort(&mut found);
    let all = found.len();
    let mut kinds = BTreeMap::new();
    found.retain(|finding| {
        let number: &mut usize = kinds.entry(finding.kind).or_default();
        *number += 1;
        *number <= OF_KIND_MAX
    });
    let left_out = (all - found.len()) as u64;
    (found, left_out)
}

/// Sorts findings by harm, and by kind where the harm is equal, so that the order is always the
/// same. Findings that make others partial come first: a receiver that was elsewhere, or missed
/// many frames. Missing beacons come last: they cost little, and the receiver is the most frequent
/// cause.
pub(crate) fn sort(found: &mut [Finding]) {
    let place = |finding: &Finding| match finding.kind {
        Kind::ChannelHopping => 0,
        Kind::MonitorMisses => 1,
        Kind::BeaconLoss => 3,
        _ => 2,
    };
    found.sort_by(|a, b| {
        let order = place(a).cmp(&place(b));
        order.then(b.harm.total_cmp(&a.harm)).then(a.kind.cmp(&b.kind))
    });
}

/// Converts a time to seconds since the first packet.
fn at(view: &InterfaceView<'_>, ns: u64) -> f64 {
    let begin = view.times().map_or(0, |(first, _)| first);
    seconds(ns.saturating_sub(begin))
}

/// Creates a finding about the whole capture.
fn throughout(view: &InterfaceView<'_>, kind: Kind, sentence: String, check: &str) -> Finding {
    let (first, last) = view.times().unwrap_or_default();
    Finding {
        kind,
        sentence,
        frames: [1, view.packets],
        from_s: 0.0,
        to_s: seconds(last.saturating_sub(first)),
        harm: 0.0,
        check: check.to_owned(),
        station: None,
    }
}

/// Formats a share as whole per cent.
fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Formats milliseconds with two or three digits. Captures draw nothing, so this needs no `figures`.
fn ms(ns: u64) -> String {
    let ms = ns as f64 / 1e6;
    if ms < 10.0 { format!("{ms:.1} ms") } else { format!("{ms:.0} ms") }
}

/// Formats milliseconds below a second, and seconds with one decimal from there on.
fn ms_or_s(ns: u64) -> String {
    if ns < 1_000_000_000 { ms(ns) } else { format!("{:.1} s", ns as f64 / 1e9) }
}
