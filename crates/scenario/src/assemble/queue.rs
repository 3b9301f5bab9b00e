//! Queues, of stations and of wires.

use crate::raw::{IsolationKind, Positive, QueueKind, RawQueue, SelectorKind, TinsKind};
use lasthop_config::error::{Place, Problems};
use lasthop_config::scalar::{At, Factor};
use lasthop_packet::aqm::Pi2Parameters;
use lasthop_packet::queue::{CeThreshold, Isolation, Limit, QueueConfig, Tins};
use lasthop_units::{Bytes, Duration};

/// Limit of Linux' txqueuelen, in packets.
const PACKETS: u32 = 1_000;

/// Returns the queue of `raw`. Missing keys come from `usual`, or from the RFC if `usual` is of
/// another kind. On the air `ampdu` is the longest A-MPDU of the node.
pub(crate) fn config(
    raw: &RawQueue,
    usual: QueueConfig,
    ampdu: Option<Duration>,
    problems: &mut Problems,
) -> QueueConfig {
    let kind = raw.kind.as_ref().map_or(
        match usual {
            QueueConfig::DropTail { .. } | QueueConfig::DropTailByPeer { .. } => {
                QueueKind::DropTail
            }
            QueueConfig::CoDel { .. } => QueueKind::CoDel,
            QueueConfig::FqCodel { .. } => QueueKind::FqCodel,
            QueueConfig::EmulatedBdp { .. } => QueueKind::EmulatedBdp,
            QueueConfig::DualPi2 { .. } => QueueKind::DualPi2,
            QueueConfig::Cake { .. } => QueueKind::Cake,
        },
        |at| at.value,
    );
    let on_air = usual == QueueConfig::MAC80211;
    check_keys(raw, kind, on_air, problems);
    match kind {
        QueueKind::DropTail => {
            let limit = limit(raw, problems);
            match raw.station_packets.as_ref().map(|at| at.value.get()) {
                None => QueueConfig::DropTail { limit },
                Some(peer_packets) => QueueConfig::DropTailByPeer { limit, peer_packets },
            }
        }
        QueueKind::CoDel => {
            let target = if on_air { MAC80211_TARGET } else { RFC_TARGET };
            QueueConfig::CoDel {
                limit: limit(raw, problems),
                target: target_or(raw, target),
                interval: or(&raw.interval, INTERVAL),
                ecn: or(&raw.ecn, false),
            }
        }
        QueueKind::FqCodel => {
            let usual = if on_air { QueueConfig::MAC80211 } else { QueueConfig::RFC_8290 };
            let QueueConfig::FqCodel {
                limit_packets,
                memory_limit,
                flows,
                quantum_bytes,
                target,
                interval,
                ecn,
                airtime,
                ce_threshold: _,
            } = usual
            else {
                unreachable!("both are FQ-CoDel")
            };
            QueueConfig::FqCodel {
                limit_packets: raw.packets.as_ref().map_or(limit_packets, |at| at.value.get()),
                memory_limit: or(&raw.bytes, memory_limit),
                flows: raw.flows.as_ref().map_or(flows, |at| at.value.get()),
                quantum_bytes: raw
                    .quantum_bytes
                    .as_ref()
                    .map_or(quantum_bytes, |at| at.value.get()),
                target: target_or(raw, target),
                interval: or(&raw.interval, interval),
                ecn: or(&raw.ecn, ecn),
                airtime: or(&raw.airtime_fairness, airtime),
                ce_threshold: ce_threshold(raw, ampdu),
            }
        }
        QueueKind::EmulatedBdp => ebdp(raw, problems),
        QueueKind::DualPi2 => dual_pi2(raw, problems),
        QueueKind::Cake => cake(raw, problems),
    }
}

/// The threshold of `raw`. A packet that waits for the end of one A-MPDU only is not marked, so the
/// default on the air is the longest A-MPDU.
fn ce_threshold(raw: &RawQueue, ampdu: Option<Duration>) -> Option<CeThreshold> {
    let ect1_only = or(&raw.ce_threshold_selector, SelectorKind::Any) == SelectorKind::Ect1;
    let usual = ect1_only.then(|| ampdu.unwrap_or(L4S_STEP));
    let sojourn = raw.ce_threshold.as_ref().map(|at| at.value).or(usual)?;
    Some(CeThreshold { sojourn, ect1_only })
}

fn dual_pi2(raw: &RawQueue, problems: &mut Problems) -> QueueConfig {
    let QueueConfig::DualPi2 { limit_packets, pi2, update_interval, step, classic_percent } =
        QueueConfig::DUAL_PI2
    else {
        unreachable!("it is DualPI2")
    };
    let mut gain = |at: &Option<At<Factor>>, usual| {
        let Some(at) = at else { return usual };
        // Linux' unit is 1/256 Hz, in 23 bits.
        let units = (at.value.0 * 256.0).round();
        if !(1.0..=8_388_607.0).contains(&units) {
            problems.push(&at.place, "expected a gain from 0.004 to 32767 Hz");
        }
        units as u32
    };
    let (alpha, beta) = (gain(&raw.alpha, pi2.alpha), gain(&raw.beta, pi2.beta));
    if let Some(interval) = &raw.tupdate {
        super::positive(interval, problems);
    }
    QueueConfig::DualPi2 {
        limit_packets: raw.packets.as_ref().map_or(limit_packets, |at| at.value.get()),
        pi2: Pi2Parameters {
            target: target_or(raw, pi2.target),
            alpha,
            beta,
            coupling: raw.coupling_factor.as_ref().map_or(pi2.coupling, |at| at.value.get()),
            drop_overload: or(&raw.drop_on_overload, pi2.drop_overload),
        },
        update_interval: or(&raw.tupdate, update_interval),
        step: or(&raw.step_thresh, step),
        classic_percent: raw
            .classic_protection
            .as_ref()
            .map_or(classic_percent, |at| at.value.get()),
    }
}

fn cake(raw: &RawQueue, problems: &mut Problems) -> QueueConfig {
    let QueueConfig::Cake { interval, overhead_bytes, .. } = QueueConfig::CAKE else {
        unreachable!("it is CAKE")
    };
    if let Some(rtt) = &raw.rtt {
        super::positive(rtt, problems);
    }
    let interval = or(&raw.rtt, interval);
    QueueConfig::Cake {
        bandwidth: raw.bandwidth.as_ref().map(|at| at.value),
        memory_limit: raw.bytes.as_ref().map(|at| at.value),
        target: (interval / CAKE_TARGETS).max(Duration::from_micros(1)),
        interval,
        isolation: match or(&raw.isolation, IsolationKind::Triple) {
            IsolationKind::Flows => Isolation::Flows,
            IsolationKind::Sources => Isolation::DualSource,
            IsolationKind::Destinations => Isolation::DualDestination,
            IsolationKind::Triple => Isolation::Triple,
        },
        tins: match or(&raw.diffserv, TinsKind::Diffserv3) {
            TinsKind::BestEffort => Tins::BestEffort,
            TinsKind::Diffserv3 => Tins::Diffserv3,
            TinsKind::Diffserv4 => Tins::Diffserv4,
        },
        overhead_bytes: raw.overhead_bytes.as_ref().map_or(overhead_bytes, |at| at.value.get()),
    }
}

/// Targets of CAKE in its interval (`rtt` of tc).
const CAKE_TARGETS: u64 = 20;

fn ebdp(raw: &RawQueue, problems: &mut Problems) -> QueueConfig {
    let QueueConfig::EmulatedBdp { limit_packets, target, burst_packets, average_packets, .. } =
        QueueConfig::EMULATED_BDP
    else {
        unreachable!("it is eBDP")
    };
    let number = |at: &Option<At<Positive>>, usual| at.as_ref().map_or(usual, |at| at.value.get());
    let limit_packets = number(&raw.packets, limit_packets);
    let burst_packets = number(&raw.burst_packets, burst_packets);
    if burst_packets > limit_packets {
        let place = raw.burst_packets.as_ref().or(raw.packets.as_ref()).map(|at| &at.place);
        let message =
            format!("a burst of {burst_packets} packets is more than the queue's {limit_packets}");
        problems.push(place.expect("one of them is written"), message);
    }
    let counts = raw.count_flows.as_ref().is_some_and(|at| at.value);
    if let Some(interval) = raw.interval.as_ref().filter(|_| !counts) {
        problems.push(&interval.place, "flows are counted over it: write count_flows = true");
    }
    QueueConfig::EmulatedBdp {
        limit_packets,
        target: target_or(raw, target),
        burst_packets,
        average_packets: number(&raw.average_packets, average_packets),
        flows: counts.then(|| or(&raw.interval, FLOWS_INTERVAL)),
    }
}

/// Default period of counting flows: long enough for every connection to send a packet.
const FLOWS_INTERVAL: Duration = Duration::from_secs(1);

/// Default target on the air, where an aggregate takes milliseconds (mac80211).
const MAC80211_TARGET: Duration = Duration::from_millis(20);
/// Default target on wires (RFC 8289, 4.3).
const RFC_TARGET: Duration = Duration::from_millis(5);
/// Default interval (RFC 8289, 4.4).
const INTERVAL: Duration = Duration::from_millis(100);

/// Default threshold of L4S marks on wires (RFC 9332, A.1).
const L4S_STEP: Duration = Duration::from_millis(1);

fn or<T: Copy>(at: &Option<At<T>>, usual: T) -> T {
    at.as_ref().map_or(usual, |at| at.value)
}

/// The target, or one that no packet reaches.
fn target_or(raw: &RawQueue, usual: Duration) -> Duration {
    raw.target.as_ref().map_or(usual, |at| at.value.0.unwrap_or(QueueConfig::NO_TARGET))
}

fn place<T>(at: &Option<At<T>>) -> Option<&Place> {
    at.as_ref().map(|at| &at.place)
}

fn limit(raw: &RawQueue, problems: &mut Problems) -> Limit {
    match (&raw.packets, &raw.bytes) {
        (None, None) => Limit::Packets(PACKETS),
        (Some(packets), None) => Limit::Packets(packets.value.get()),
        (None, Some(bytes)) => Limit::Bytes(bytes.value),
        (Some(_), Some(bytes)) => {
            problems
                .push(&bytes.place, "this queue is bounded by packets or by bytes, not by both");
            Limit::Bytes(bytes.value)
        }
    }
}

fn check_keys(raw: &RawQueue, kind: QueueKind, on_air: bool, problems: &mut Problems) {
    use QueueKind::{Cake, CoDel, DropTail, DualPi2, EmulatedBdp, FqCodel};
    if let Some(place) = place(&raw.target)
        && matches!(kind, DropTail | Cake)
    {
        let only = "this key is for kind = \"codel\", \"fq-codel\", \"ebdp\" and \"dualpi2\" only";
        problems.push_unfit(place, only);
    }
    if let Some(place) = place(&raw.interval)
        && matches!(kind, DropTail | DualPi2 | Cake)
    {
        let only = "this key is for kind = \"codel\", \"fq-codel\" and \"ebdp\" only";
        problems.push_unfit(place, only);
    }
    let coupled = [
        place(&raw.tupdate),
        place(&raw.alpha),
        place(&raw.beta),
        place(&raw.coupling_factor),
        place(&raw.step_thresh),
        place(&raw.classic_protection),
        place(&raw.drop_on_overload),
    ];
    for place in coupled.into_iter().flatten().filter(|_| kind != DualPi2) {
        problems.push_unfit(place, "this key is for kind = \"dualpi2\" only");
    }
    let shared = [
        place(&raw.bandwidth),
        place(&raw.rtt),
        place(&raw.isolation),
        place(&raw.diffserv),
        place(&raw.overhead_bytes),
    ];
    for place in shared.into_iter().flatten().filter(|_| kind != Cake) {
        problems.push_unfit(place, "this key is for kind = \"cake\" only");
    }
    if let Some(packets) = place(&raw.packets)
        && kind == Cake
    {
        problems.push_unfit(packets, "this queue is bounded by bytes");
    }
    if let Some(bandwidth) = &raw.bandwidth {
        if bandwidth.value.as_bps() < BANDWIDTH_MIN_BPS {
            problems.push(&bandwidth.place, "expected at least 64 kb/s");
        } else if on_air && kind == Cake {
            let message = "no shaper is modelled above the air: let a wire have this queue";
            problems.push(&bandwidth.place, message);
        }
    }
    if let Some(place) = place(&raw.ecn)
        && !matches!(kind, CoDel | FqCodel)
    {
        problems.push_unfit(place, "this key is for kind = \"codel\" and \"fq-codel\" only");
    }
    let adapting =
        [place(&raw.burst_packets), place(&raw.average_packets), place(&raw.count_flows)];
    for place in adapting.into_iter().flatten().filter(|_| kind != EmulatedBdp) {
        problems.push_unfit(place, "this key is for kind = \"ebdp\" only");
    }
    if let Some(bytes) = place(&raw.bytes)
        && matches!(kind, EmulatedBdp | DualPi2)
    {
        problems.push_unfit(bytes, "this queue is bounded by packets");
    }
    let fair = [
        place(&raw.flows),
        place(&raw.quantum_bytes),
        place(&raw.airtime_fairness),
        place(&raw.ce_threshold),
        place(&raw.ce_threshold_selector),
    ];
    for place in fair.into_iter().flatten().filter(|_| kind != FqCodel) {
        problems.push_unfit(place, "this key is for kind = \"fq-codel\" only");
    }
    if let Some(place) = place(&raw.station_packets) {
        if kind != DropTail {
            problems.push_unfit(place, "this key is for kind = \"drop-tail\" only");
        } else if !on_air {
            problems.push(place, "a wire has one receiver: use packets");
        }
    }
    if let Some(fairness) = &raw.airtime_fairness
        && fairness.value
        && kind == FqCodel
        && !on_air
    {
        problems.push(&fairness.place, "a wire has no air time to share");
    }
    if let Some(target) = &raw.target {
        match target.value.0 {
            Some(Duration::ZERO) => problems.push(&target.place, "expected more than zero"),
            None if kind != FqCodel => {
                problems.push_unfit(&target.place, "only fq-codel does without a target");
            }
            _ => {}
        }
    }
    if let Some(threshold) = &raw.ce_threshold {
        super::positive(threshold, problems);
    }
    if let Some(selector) = &raw.ce_threshold_selector
        && selector.value == SelectorKind::Any
        && raw.ce_threshold.is_none()
    {
        problems.push(&selector.place, "no threshold selects packets: write ce_threshold, too");
    }
    if let Some(interval) = &raw.interval {
        super::positive(interval, problems);
    }
    if let Some(bytes) = &raw.bytes
        && bytes.value < Bytes::new(PACKET_BYTES_MAX)
    {
        let message = format!("expected room for a packet of {PACKET_BYTES_MAX} bytes at least");
        problems.push(&bytes.place, message);
    }
}

/// Least bandwidth of a shaper: a longest packet takes 190 ms.
const BANDWIDTH_MIN_BPS: u64 = 64_000;

/// Length of a packet that every Ethernet carries. A queue that is too short for it would stall
/// without a message.
const PACKET_BYTES_MAX: u64 = 1_500;
