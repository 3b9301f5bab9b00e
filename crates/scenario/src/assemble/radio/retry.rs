//! Giving up early at low data rates, as a sender and as a receiver.

use super::{Expanded, Place, Problems, Role};
use crate::raw::RawNodeSettings;
use lasthop_config::scalar::{At, Whole};
use lasthop_hosts::{Flow, FlowKind};
use lasthop_units::{Bitrate, Probability};
use lasthop_wifi::mac::originator::LowRateRetry;
use lasthop_wifi::mac::retry_out::{RateStep, RateTable, STEPS_MAX};

/// Highest rate of a step: far above any data rate.
const STEP_BPS_MAX: u64 = 10_000_000_000;

/// Returns the sender's remedy, if it is in force.
pub(super) fn low_rate(raw: &RawNodeSettings, problems: &mut Problems) -> Option<LowRateRetry> {
    let low = &raw.low_rate_retry;
    let steps = Steps { rates: &low.rates, numbers: &low.limits, name: "limits" };
    let table = steps.table(&low.enabled.place, &low.smoothing, problems);
    if !low.enabled.value {
        return None;
    }
    let most = table.steps.iter().map(|step| step.retransmissions).max().unwrap_or(0);
    let retry_limit = raw.retry_limit.value.0;
    // The usual ones go as far as the retry limit lets them.
    if low.limits.is_some() && i64::from(most) + 1 > retry_limit {
        let message = format!(
            "{most} retransmissions are {} attempts, more than the retry_limit of {retry_limit} \
             that this should lower",
            i64::from(most) + 1
        );
        let place = low.limits.as_ref().map_or(&low.enabled.place, |at| &at.place);
        problems.push(place, message);
    }
    Some(LowRateRetry { table, all_traffic: low.all_traffic.value })
}

/// Returns the receiver's remedy, if it is in force.
pub(super) fn pseudo(
    raw: &RawNodeSettings,
    qos: bool,
    problems: &mut Problems,
) -> Option<RateTable> {
    let pseudo = &raw.pseudo_retry_out;
    let steps = Steps { rates: &pseudo.rates, numbers: &pseudo.indices, name: "indices" };
    let table = steps.table(&pseudo.enabled.place, &pseudo.smoothing, problems);
    if pseudo.enabled.value && !qos {
        let message = "this needs MPDUs under Block Ack, and without qos there are none";
        problems.push_unfit(&pseudo.enabled.place, message);
    }
    pseudo.enabled.value.then_some(table)
}

/// Reports pseudo retry-out at a station that only sends data: the receiver must have it.
pub(crate) fn check_receivers(nodes: &[Expanded<'_>], flows: &[Flow], problems: &mut Problems) {
    let one_way = |kind: &FlowKind| matches!(kind, FlowKind::Tcp(_) | FlowKind::Udp(_));
    let data = || flows.iter().filter(|flow| one_way(&flow.kind));
    for (index, node) in nodes.iter().enumerate() {
        let enabled = &node.raw.settings.pseudo_retry_out.enabled;
        let sends = data().any(|flow| flow.from.index() == index);
        // What others send to a host may pass it.
        let is_of_cell = |at: usize| matches!(nodes[at].role(), Role::AccessPoint | Role::Station);
        let passes = |flow: &Flow| flow.from.index() != index && !is_of_cell(flow.to.index());
        let only_sends = sends && data().all(|flow| flow.to.index() != index && !passes(flow));
        if node.role() == Role::Station && enabled.value && only_sends {
            let is_its = |it: &&Expanded<'_>| it.role() == Role::AccessPoint && it.shares_bss(node);
            let belongs = nodes.iter().find(is_its).map_or_else(String::new, |access_point| {
                format!(": set it at {:?}, which receives it", access_point.name)
            });
            let message = format!(
                "this key is for receivers of data, and {:?} only sends it{belongs}",
                node.name
            );
            problems.push_unfit(&enabled.place, message);
        }
    }
}

/// Raw values of a table of steps.
struct Steps<'a> {
    rates: &'a Option<At<Vec<Bitrate>>>,
    numbers: &'a Option<At<Vec<Whole<0, 254>>>>,
    /// Name of the key with the numbers.
    name: &'static str,
}

impl Steps<'_> {
    /// Returns the table; the paper's values where keys are missing.
    fn table(
        &self,
        place: &Place,
        smoothing: &Option<At<Probability>>,
        problems: &mut Problems,
    ) -> RateTable {
        let mut table = RateTable::PAPER;
        if let Some(At { value, place }) = smoothing {
            let weight = (value.as_f64() * 256.0).round();
            if weight < 1.0 {
                problems.push(place, "expected at least 1/256, or the rate never changes");
            }
            table.weight_256 = weight as u16;
        }
        let papers: Vec<RateStep> =
            table.steps.into_iter().filter(|step| step.below_kbps > 0).collect();
        let rates: Vec<u64> = match self.rates {
            Some(at) => at.value.iter().map(|rate| rate.as_bps()).collect(),
            None => papers.iter().map(|step| u64::from(step.below_kbps) * 1_000).collect(),
        };
        let numbers: Vec<u8> = match self.numbers {
            Some(at) => at.value.iter().map(|number| number.get()).collect(),
            None => papers.iter().map(|step| step.retransmissions).collect(),
        };
        let rates_place = self.rates.as_ref().map_or(place, |at| &at.place);
        if rates.len() > STEPS_MAX {
            let message = format!("expected at most {STEPS_MAX} steps, got {}", rates.len());
            problems.push(rates_place, message);
        }
        if rates.first() == Some(&0) || !rates.is_sorted_by(|one, other| one < other) {
            problems.push(rates_place, "expected rates above zero, each above the one before");
        }
        if rates.last().is_some_and(|&bps| bps > STEP_BPS_MAX) {
            problems.push(rates_place, "expected at most 10 Gb/s");
        }
        if rates.len() != numbers.len() {
            let message = format!(
                "expected {} {}, one for each of rates, got {}",
                rates.len(),
                self.name,
                numbers.len()
            );
            problems.push(self.numbers.as_ref().map_or(rates_place, |at| &at.place), message);
        }
        table.steps = [RateStep { below_kbps: 0, retransmissions: 0 }; STEPS_MAX];
        for (step, (bps, number)) in table.steps.iter_mut().zip(rates.into_iter().zip(numbers)) {
            *step = RateStep {
                // Rounded up: in force while below.
                below_kbps: bps.div_ceil(1_000).min(STEP_BPS_MAX / 1_000) as u32,
                retransmissions: number,
            };
        }
        table
    }
}
