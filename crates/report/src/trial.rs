//! Remedies that are tried: the scenario of a run as it was and with each remedy, in virtual
//! time, with the same seed and for the same time, and the numbers of both. Which remedies
//! there are follows from the findings; what runs a scenario is given. Delays are in ms,
//! goodput in Mb/s.

use crate::finding::{Finding, Kind, findings};
use crate::remedy::Remedies;
use lasthop_scenario::{Scenario, parse};
use lasthop_trace::{FlowKind, FlowSummary, RunDocument, TimeSummary};

/// Longest virtual time of a trial after the warm-up in seconds: what a report costs is
/// bounded, and a minute is enough for percentiles.
const MEASURED_MAX_S: f64 = 60.0;
/// Share by which a number changes at least for a remedy to help, or to cost something.
const CHANGE: f64 = 0.1;

/// The remedies of a run that were tried.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Trials {
    /// The virtual time of each run in seconds.
    pub duration_s: f64,
    /// Whether that is less than the scenario has.
    pub is_shortened: bool,
    /// One for each list of changes, in the order of the findings.
    pub trials: Vec<Trial>,
    /// Why there are none although there are remedies; `None` if there are.
    pub none_because: Option<String>,
}

/// A remedy that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The changes, as arguments of `--set`.
    pub sets: Vec<String>,
    /// The numbers without and with them.
    pub numbers: Vec<Number>,
    /// Whether what the finding is about gets better by a tenth or more.
    pub helps: bool,
}

/// A number without and with a remedy.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// What it is, such as `ping, 99 % of round trips`.
    pub what: String,
    /// Its unit.
    pub unit: &'static str,
    /// The number of the scenario as it was; `None` if nothing arrived.
    pub before: Option<f64>,
    /// With the remedy.
    pub after: Option<f64>,
}

/// Runs a scenario in virtual time: the run with this number.
pub type Simulate<'a> = &'a mut dyn FnMut(&Scenario, u64) -> Result<RunDocument, String>;

impl Trials {
    /// Tries the remedies that the scenario `text` of `run` takes. The scenario as it was is
    /// run, too, so that both numbers are made in the same way.
    pub fn of(run: &RunDocument, text: &str, simulate: Simulate<'_>) -> Self {
        Self::some(run, text, None, simulate)
    }

    /// Those of a run that this program just simulated: the run itself is the one without a
    /// remedy, unless trials are shorter. As many are tried, worst findings first, as send
    /// `packets_max` packets and MPDUs together; others are not tried.
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
            let sets = remedies.of(&finding);
            if !sets.is_empty() && wanted.iter().all(|(_, known)| *known != sets) {
                wanted.push((finding, sets));
            }
        }
        let before = packets_max.filter(|_| run.emulation.is_none()).map(|_| run);
        if let Some(most) = packets_max {
            wanted.truncate(affordable(run, most));
        }
        if wanted.is_empty() {
            return Self::default();
        }
        match Self::tried(run, text, (wanted, before), simulate) {
            Ok(trials) => trials,
            Err(why) => Self { none_because: Some(why), ..Self::default() },
        }
    }

    /// The trial of these changes.
    pub fn with(&self, sets: &[String]) -> Option<&Trial> {
        self.trials.iter().find(|trial| trial.sets == sets)
    }

    fn tried(
        run: &RunDocument,
        text: &str,
        (wanted, before): (Vec<(Finding, Vec<String>)>, Option<&RunDocument>),
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
            none_because: None,
        })
    }
}

/// How many runs of the length of a trial send at most so many packets and MPDUs, less the one
/// without a remedy where that is made, too.
fn affordable(run: &RunDocument, packets_max: u64) -> usize {
    let sent = run.flows.values().map(|flow| flow.packets_sent);
    let sent = sent.chain(run.programs.values().map(|program| program.packets_sent));
    let sent = sent.chain(run.links.values().map(|link| link.mpdus)).sum::<u64>();
    let longest_s = run.warmup_s + MEASURED_MAX_S;
    let (share, once_more) = match run.duration_s > longest_s {
        true => (longest_s / run.duration_s, 1),
        false => (1.0, 0),
    };
    let each = (sent as f64 * share).max(1.0);
    ((packets_max as f64 / each) as usize).saturating_sub(once_more)
}

impl Number {
    /// Both numbers with about three digits, or `nothing`.
    pub fn values(&self) -> [String; 2] {
        [self.before, self.after].map(|value| match value {
            None => "nothing".to_owned(),
            Some(value) if value < 99.95 => format!("{value:.1}"),
            Some(value) => format!("{value:.0}"),
        })
    }

    /// By which share it falls; below zero if it rises. What arrives only with the remedy is
    /// as much as can be gained.
    fn falls(&self) -> f64 {
        match (self.before, self.after) {
            (Some(before), Some(after)) if before > 0.0 => 1.0 - after / before,
            (None, Some(_)) => 1.0,
            (Some(_), None) => -1.0,
            _ => 0.0,
        }
    }
}

/// Whether what a finding is about gets better: delay, goodput, or either of them.
fn helps(kind: Kind, delay: Option<&Number>, goodput: Option<&Number>) -> bool {
    let less_delay = delay.map_or(0.0, Number::falls);
    let more_goodput = goodput.map_or(0.0, |number| -number.falls());
    match kind {
        // The remedy of a wire is for its queue: what waits less is worth some goodput.
        Kind::OwnQueue
        | Kind::DriverQueue
        | Kind::Overload
        | Kind::Scan
        | Kind::Sleep
        | Kind::Wire => less_delay >= CHANGE,
        Kind::TcpWindow | Kind::Aggregation => more_goodput >= CHANGE,
        Kind::Contention | Kind::Retries | Kind::SlowStation => {
            less_delay.max(more_goodput) >= CHANGE && less_delay.min(more_goodput) > -CHANGE
        }
    }
}

/// The delay that a flow is felt by, and its name; of bulk TCP the round trip.
fn felt(flow: &FlowSummary) -> Option<(&'static str, TimeSummary)> {
    match flow.kind {
        FlowKind::Ping | FlowKind::Apq => Some(("round trips", flow.rtt_ms?)),
        FlowKind::Udp | FlowKind::Video => Some(("one-way delays", flow.one_way_delay_ms?)),
        FlowKind::Tcp => match flow.application_delay_ms {
            Some(delay) => Some(("requests and answers", delay)),
            None => Some(("round trips", flow.rtt_ms?)),
        },
    }
}

/// The flow with the longest delay of the slowest 1 % before: of pings, calls, films and
/// requests, or of bulk transfers if there is nothing else.
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

/// The goodput of the flow with most, or of all flows with a tenth of that or more.
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
        let trials = Trials::of(&document(1_000.0, 20.0), TEXT, &mut simulate);
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
        let trials = Trials::of(&bad, TEXT, &mut |_, _| Ok(bad.clone()));
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
        assert!(Trials::of_fresh(&short, &text, 26, &mut simulate).trials.is_empty());
        assert_eq!(made, 1);
        let trials = Trials::of(&bad, TEXT, &mut |_, _| Err("no".to_owned()));
        assert_eq!(trials.none_because.as_deref(), Some("no"));
        let mut never = |_: &Scenario, _| panic!("nothing to try");
        assert_eq!(Trials::of(&document(1.0, 20.0), TEXT, &mut never), Trials::default());
    }
}
