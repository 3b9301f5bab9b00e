//! Trials of remedies: the scenario of a run as it was and with each remedy, in virtual time, with
//! the same seed and duration, and the numbers of both. The findings of the run propose the
//! remedies; a callback runs the scenario. Delays are in ms, goodput in Mb/s.

use crate::finding::{Finding, Kind, findings};
use crate::remedy::Remedies;
use lasthop_scenario::{Scenario, parse};
use lasthop_trace::{
    FindingSummary, FlowKind, FlowSummary, RunDocument, TimeSummary, TrialQuantity, TrialSummary,
};

/// Longest virtual time of a trial after the warm-up, in seconds. This limits the cost of a report,
/// and a minute is enough for percentiles.
const MEASURED_MAX_S: f64 = 60.0;
/// Share by which a number changes at least for a remedy to help, or to cost something.
const CHANGE: f64 = 0.1;

/// The trials of a run's remedies.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Trials {
    /// Virtual time of each trial, in seconds; zero if it is not known.
    pub duration_s: f64,
    /// Whether trials are shorter than the scenario.
    pub is_shortened: bool,
    /// Trials of the remedies, in the order of the findings.
    pub trials: Vec<Trial>,
    /// Remedies that were not tried, and why not, as a clause.
    pub left_out: Vec<(Vec<String>, String)>,
    /// Why none was tried, as a clause; `None` if some were, or if there are none.
    pub none_because: Option<String>,
}

/// Why remedies of several runs are not tried.
pub const OF_SEVERAL: &str = "remedies are tried for a single run only";

/// A remedy that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Changes of the scenario, as arguments of `--set`.
    pub sets: Vec<String>,
    /// Numbers without the remedy and with it.
    pub numbers: Vec<Number>,
    /// Whether the number that the finding is about gets better by a tenth or more.
    pub helps: bool,
}

/// A number without and with a remedy.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// Flow and quantity, such as `ping, 99 % of its round trips take at most`.
    pub what: String,
    /// Unit of both values, `ms` or `Mb/s`.
    pub unit: &'static str,
    /// Value of the scenario as it was; `None` if nothing arrived.
    pub before: Option<f64>,
    /// Value with the remedy; `None` if nothing arrived.
    pub after: Option<f64>,
}

/// The callback that runs a scenario in virtual time: the run with this number.
pub type Simulate<'a> = &'a mut dyn FnMut(&Scenario, u64) -> Result<RunDocument, String>;

impl Trial {
    /// The trial as it stands in documents.
    pub fn summary(&self) -> TrialSummary {
        let quantity = |number: &Number| TrialQuantity {
            quantity: number.what.clone(),
            unit: number.unit.to_owned(),
            before: number.before,
            after: number.after,
        };
        TrialSummary { helps: self.helps, quantities: self.numbers.iter().map(quantity).collect() }
    }
}

impl Trials {
    /// No trials, for this reason: a clause without a full stop.
    pub fn none(why: impl Into<String>) -> Self {
        Self { none_because: Some(why.into()), ..Self::default() }
    }

    /// The trials that the document of a run has already; other remedies are not tried, for this
    /// reason.
    pub fn noted(run: &RunDocument, why: impl Into<String>) -> Self {
        let trial = |finding: &FindingSummary| {
            let known = finding.trial.as_ref()?;
            let number = |known: &TrialQuantity| Number {
                what: known.quantity.clone(),
                unit: if known.unit == "ms" { "ms" } else { "Mb/s" },
                before: known.before,
                after: known.after,
            };
            let numbers = known.quantities.iter().map(number).collect();
            Some(Trial { sets: finding.remedy.clone(), numbers, helps: known.helps })
        };
        Self { trials: run.findings.iter().filter_map(trial).collect(), ..Self::none(why) }
    }

    /// Why the remedy with these changes was not tried, as a clause.
    pub fn why_not(&self, sets: &[String]) -> &str {
        let of = self.left_out.iter().find(|(left_out, _)| left_out == sets);
        let why = of.map(|(_, why)| why).or(self.none_because.as_ref());
        why.map_or("nothing ran the scenario again", String::as_str)
    }

    /// Tries the remedies that the scenario `text` of `run` accepts. The scenario as it was runs, too,
    /// so that both numbers have the same origin.
    pub fn try_all(run: &RunDocument, text: &str, simulate: Simulate<'_>) -> Self {
        Self::some(run, text, None, simulate)
    }

    /// Tries the remedies of a run that this program just simulated. The run itself is the one
    /// without a remedy, unless trials are shorter. Trials, worst findings first, end when all
    /// together would send more than `packets_max` packets and MPDUs.
    pub fn of_fresh(
        run: &RunDocument,
        text: &str,
        packets_max: u64,
        simulate: Simulate<'_>,
    ) -> Self {
        Self::some(run, text, Some(packets_max), simulate)
    }

    fn some(
        run: &RunDocument,
        text: &str,
        packets_max: Option<u64>,
        simulate: Simulate<'_>,
    ) -> Self {
        let mut wanted: Vec<(Finding, Vec<String>)> = Vec::new();
        let mut remedies = Remedies::new(text);
        for finding in findings(run) {
            let sets = remedies.for_finding(&finding);
            if !sets.is_empty() && wanted.iter().all(|(_, known)| *known != sets) {
                wanted.push((finding, sets));
            }
        }
        let before = packets_max.filter(|_| run.emulation.is_none()).map(|_| run);
        let left_out = match packets_max {
            Some(most) => wanted.split_off(affordable(run, most).min(wanted.len())),
            None => Vec::new(),
        };
        let why = "simulate tries remedies of short runs only; with --out DIR, lasthop report DIR tries all";
        let left_out: Vec<_> =
            left_out.into_iter().map(|(_, sets)| (sets, why.to_owned())).collect();
        if wanted.is_empty() {
            return Self { left_out, ..Self::default() };
        }
        match Self::tried(run, text, wanted, before, simulate) {
            Ok(trials) => Self { left_out, ..trials },
            Err(why) => Self::none(why),
        }
    }

    /// Returns the trial of these changes.
    pub fn with(&self, sets: &[String]) -> Option<&Trial> {
        self.trials.iter().find(|trial| trial.sets == sets)
    }

    fn tried(
        run: &RunDocument,
        text: &str,
        wanted: Vec<(Finding, Vec<String>)>,
        before: Option<&RunDocument>,
        simulate: Simulate<'_>,
    ) -> Result<Self, String> {
        let with =
            |sets: &[String]| parse("scenario.toml", text, sets).map_err(|error| error.to_string());
        let whole = with(&[])?;
        let longest_s = whole.warmup.as_secs_f64() + MEASURED_MAX_S;
        let is_shortened = whole.duration.as_secs_f64() > longest_s;
        let shorter = is_shortened.then(|| format!("duration={longest_s}s"));
        let scenario = |sets: &[String]| -> Result<Scenario, String> {
            let sets: Vec<String> = sets.iter().cloned().chain(shorter.clone()).collect();
            let mut scenario = with(&sets)?;
            scenario.seed = run.seed;
            Ok(scenario)
        };
        let as_it_was = scenario(&[])?;
        if as_it_was.flows.is_empty() {
            return Err("the scenario has no flows, and programs do not run in virtual time".into());
        }
        let before = match before.filter(|_| !is_shortened) {
            Some(before) => before.clone(),
            None => simulate(&as_it_was, run.run)?,
        };
        let trials = wanted.into_iter().map(|(finding, sets)| {
            let after = simulate(&scenario(&sets)?, run.run)?;
            let (delay, goodput) = (delay(&before, &after), goodput(&before, &after));
            let helps = helps(finding.kind, delay.as_ref(), goodput.as_ref());
            let numbers = delay.into_iter().chain(goodput).collect();
            Ok(Trial { sets, numbers, helps })
        });
        let trials = trials.collect::<Result<Vec<_>, String>>()?;
        Ok(Self {
            duration_s: as_it_was.duration.as_secs_f64(),
            is_shortened,
            trials,
            left_out: Vec::new(),
            none_because: None,
        })
    }
}

/// Returns the number of trials that send at most `packets_max` packets and MPDUs together, without
/// the run that has no remedy.
fn affordable(run: &RunDocument, packets_max: u64) -> usize {
    let sent = run.flows.values().map(|flow| flow.packets_sent);
    let sent = sent.chain(run.programs.values().map(|program| program.packets_sent));
    let sent = sent.chain(run.links.values().map(|link| link.mpdus)).sum::<u64>();
    let longest_s = run.warmup_s + MEASURED_MAX_S;
    let (share, once_more) =
        if run.duration_s > longest_s { (longest_s / run.duration_s, 1) } else { (1.0, 0) };
    let each = (sent as f64 * share).max(1.0);
    ((packets_max as f64 / each) as usize).saturating_sub(once_more)
}

impl Number {
    /// Returns the share by which the number falls, below zero if it rises. A flow that arrives
    /// only with the remedy counts as 1, the most.
    fn falls(&self) -> f64 {
        match (self.before, self.after) {
            (Some(before), Some(after)) if before > 0.0 => 1.0 - after / before,
            (None, Some(_)) => 1.0,
            (Some(_), None) => -1.0,
            _ => 0.0,
        }
    }
}

/// Whether the number of a finding gets better: delay, goodput, or either of them.
fn helps(kind: Kind, delay: Option<&Number>, goodput: Option<&Number>) -> bool {
    let less_delay = delay.map_or(0.0, Number::falls);
    let more_goodput = goodput.map_or(0.0, |number| -number.falls());
    match kind {
        // The remedy of a wire is for its queue: a shorter wait is worth some goodput.
        Kind::OwnQueue
        | Kind::DriverQueue
        | Kind::Overload
        | Kind::Scan
        | Kind::Sleep
        | Kind::ChannelSwitch
        | Kind::Wire => less_delay >= CHANGE,
        Kind::TcpWindow | Kind::Aggregation => more_goodput >= CHANGE,
        // A weak access point costs rate. A link that is used carries more, also PPDUs that pings wait
        // for.
        Kind::Absence | Kind::Roaming | Kind::IdleLink => less_delay.max(more_goodput) >= CHANGE,
        Kind::Contention
        | Kind::Retries
        | Kind::SlowStation
        | Kind::Reordering
        | Kind::Switching => {
            less_delay.max(more_goodput) >= CHANGE && less_delay.min(more_goodput) > -CHANGE
        }
    }
}

/// The delay that the flow's user notices, and its name; for bulk TCP the round trip.
fn felt(flow: &FlowSummary) -> Option<(&'static str, TimeSummary)> {
    match flow.kind {
        FlowKind::Ping | FlowKind::Apq => Some(("round trips", flow.rtt_ms?)),
        FlowKind::Udp | FlowKind::Video | FlowKind::Call => {
            Some(("one-way delays", flow.one_way_delay_ms?))
        }
        FlowKind::Tcp => match flow.application_delay_ms {
            Some(delay) => Some(("requests and answers", delay)),
            None => Some(("round trips", flow.rtt_ms?)),
        },
    }
}

/// Returns the delay of the flow with the highest 99th percentile before: among pings, calls, films
/// and requests, or among bulk transfers if there are no others.
fn delay(before: &RunDocument, after: &RunDocument) -> Option<Number> {
    let is_bulk =
        |flow: &FlowSummary| flow.kind == FlowKind::Tcp && flow.application_delay_ms.is_none();
    let longest = |bulk: bool| {
        let flows = before.flows.iter().filter(|(_, flow)| is_bulk(flow) == bulk);
        flows
            .filter_map(|(name, flow)| Some((name, felt(flow)?)))
            .max_by(|(_, (_, a)), (_, (_, b))| a.p99.total_cmp(&b.p99))
    };
    let (name, (what, delay)) = longest(false).or_else(|| longest(true))?;
    let after = after.flows.get(name).and_then(felt);
    Some(Number {
        what: format!("{name}, 99 % of its {what} take at most"),
        unit: "ms",
        before: Some(delay.p99),
        after: after.map(|(_, delay)| delay.p99),
    })
}

/// Returns the goodput of the largest flow, or of all flows if several carry at least a tenth of
/// that.
fn goodput(before: &RunDocument, after: &RunDocument) -> Option<Number> {
    let of = |run: &RunDocument, name: &str| run.flows.get(name).and_then(|it| it.goodput_mbps);
    let carries = |flow: &FlowSummary| flow.kind != FlowKind::Ping && flow.kind != FlowKind::Apq;
    let names = before.flows.iter().filter(|(_, flow)| carries(flow)).map(|(name, _)| name);
    let most = names.clone().filter_map(|name| of(before, name)).fold(0.0, f64::max);
    let is_large = |name: &&String| of(before, name).is_some_and(|it| it >= most / 10.0);
    let large: Vec<&String> = names.clone().filter(is_large).collect();
    let sum = |run: &RunDocument| {
        let all: Vec<f64> = names.clone().filter_map(|name| of(run, name)).collect();
        (!all.is_empty()).then(|| all.iter().sum())
    };
    let (what, before, after) = match large[..] {
        [] => return None,
        [one] => (format!("{one} carries"), of(before, one), of(after, one)),
        _ => ("all flows together carry".to_owned(), sum(before), sum(after)),
    };
    Some(Number { what, unit: "Mb/s", before, after })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "duration = \"200s\"\nwarmup = \"2s\"\n\
        [[node]]\nname = \"ap\"\nrole = \"access-point\"\n\
        [[node]]\nname = \"sta\"\nrole = \"station\"\nqueue = { kind = \"drop-tail\" }\n\
        [[flow]]\nname = \"up\"\nfrom = \"sta\"\nto = \"ap\"\nkind = \"tcp\"\n\
        [[flow]]\nname = \"ping\"\nfrom = \"sta\"\nto = \"ap\"\nkind = \"ping\"\n";

    /// A run in which packets wait `queue_ms`, echo requests take as long, and the upload
    /// carries `goodput` Mb/s.
    fn document(queue_ms: f64, goodput: f64) -> RunDocument {
        let parts = format!(
            r#"{{"queue": {queue_ms}, "away": 0, "asleep": 0, "contention": 0, "retries": 0,
                "reorder": 0, "air": 1, "wire": 0}}"#
        );
        let flow = |kind: &str, more: &str| {
            format!(
                r#"{{"kind": "{kind}", "sender": "sta", "receiver": "ap", "packets_sent": 9,
                    "packets_received": 9, "packets_lost": 0, "delay_parts_ms": {parts},
                    "delay_parts_slowest_ms": {parts}, {more}}}"#
            )
        };
        let times =
            format!(r#""rtt_ms": {{"mean": 1, "p50": 1, "p95": 1, "p99": {queue_ms}, "max": 1}}"#);
        let node = r#"{"queue_drops": 0, "airtime_fraction": 0.9,
            "queue_packets": {"mean": 300, "p95": 400, "max": 500},
            "queue": {"kind": "drop-tail", "limit_packets": 1000}}"#;
        let link = r#"{"ppdus": 9, "mpdus": 9, "mpdu_retries": 0, "mpdus_failed": 0,
            "mpdus_lost": 0, "collisions": 0, "rts": 0, "block_ack_requests": 0,
            "airtime_fraction": 0.9}"#;
        let json = format!(
            r#"{{"scenario": "s", "seed": 5, "run": 3, "duration_s": 200, "warmup_s": 2,
                "wall_s": 0, "version": "0", "nodes": {{"sta": {node}}},
                "links": {{"sta->ap": {link}}},
                "flows": {{"ping": {}, "up": {}}}}}"#,
            flow("ping", &times),
            flow("tcp", &format!(r#""goodput_mbps": {goodput}"#)),
        );
        serde_json::from_str(&json).expect("a document")
    }

    #[test]
    fn a_remedy_is_run_as_the_run_was_and_no_longer_than_a_minute() {
        let mut seen = Vec::new();
        let mut simulate = |scenario: &Scenario, number| {
            seen.push((scenario.seed, number, scenario.duration.as_secs_f64()));
            Ok(if seen.len() == 1 { document(900.0, 23.0) } else { document(9.0, 22.0) })
        };
        let trials = Trials::try_all(&document(1_000.0, 20.0), TEXT, &mut simulate);
        assert_eq!(seen, [(5, 3, 62.0); 2]);
        assert!(trials.is_shortened && trials.none_because.is_none());
        let [trial] = &trials.trials[..] else { panic!("{trials:?}") };
        assert_eq!(trial.sets, ["node.sta.queue.kind=fq-codel"]);
        let numbers: Vec<_> = trial.numbers.iter().map(|it| (it.before, it.after)).collect();
        assert_eq!(numbers, [(Some(900.0), Some(9.0)), (Some(23.0), Some(22.0))]);
        assert!(trial.helps);
        assert_eq!(trials.with(&trial.sets), Some(trial));
    }

    #[test]
    fn what_does_not_help_and_what_cannot_run_is_said() {
        let bad = document(1_000.0, 20.0);
        let trials = Trials::try_all(&bad, TEXT, &mut |_, _| Ok(bad.clone()));
        assert!(trials.trials.iter().all(|trial| !trial.helps) && trials.trials.len() == 1);
        // A run that was just made is not made again, and nothing is tried that costs too much.
        let mut made = 0;
        let mut simulate = |_: &Scenario, _| {
            made += 1;
            Ok(document(9.0, 20.0))
        };
        let short = RunDocument { duration_s: 62.0, ..bad.clone() };
        let text = TEXT.replace("200s", "62s");
        assert!(Trials::of_fresh(&short, &text, 27, &mut simulate).trials[0].helps);
        let none = Trials::of_fresh(&short, &text, 26, &mut simulate);
        assert!(none.trials.is_empty());
        let sets = ["node.sta.queue.kind=fq-codel".to_owned()];
        assert!(none.why_not(&sets).starts_with("simulate tries remedies of short runs only"));
        assert_eq!(made, 1);
        let trials = Trials::try_all(&bad, TEXT, &mut |_, _| Err("no".to_owned()));
        assert_eq!(trials.none_because.as_deref(), Some("no"));
        let mut never = |_: &Scenario, _| panic!("nothing to try");
        assert_eq!(Trials::try_all(&document(1.0, 20.0), TEXT, &mut never), Trials::default());
    }
}
