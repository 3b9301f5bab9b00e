//! Findings about waiting packets: the queue of the Wi-Fi hop, and stations that cannot be
//! reached. The numbers are those of the flow that waits longest. Delays are in ms.

use super::flow::{DRIVER_AIRTIME_MS, Flow, Load};
use super::{Finding, Kind, ms, percent, total, weight};
use lasthop_trace::{
    AbsenceClockSummary, AbsenceSummary, DelayPartsSummary, PowerSaveKind, QueueKind, QueueSummary,
    RunDocument,
};

/// Mean time in the queue above which the queue is too long, in ms: more than the target of
/// FQ-CoDel on the air, 20 ms.
const QUEUE_MEAN_MS: f64 = 25.0;
/// The same threshold for the slowest 1 %, which the mean may hide.
const QUEUE_SLOWEST_MS: f64 = 60.0;
/// Mean time in the queue below which the slowest 1 % are a single burst.
const QUEUE_STANDING_MS: f64 = 5.0;
/// Mean time in a queue, and time of the slowest 1 %, above which the queue is too long for calls,
/// pings and requests if another flow fills it, in ms. In separate queues they would not wait.
const SHARED_MEAN_MS: f64 = 3.0;
const SHARED_SLOWEST_MS: f64 = 30.0;
/// Mean time in a managed queue, relative to its target, above which the queue is longer than its
/// discipline intends: CoDel lets a bulk transfer's queue reach the target repeatedly.
const MANAGED: f64 = 2.0;
/// Share of the waiting packets above which the driver's queue has most of them.
const MOST: f64 = 0.5;
/// Longest time that an access point holds a packet for a station that dozes (11.2.3.7), as text.
const LONGEST_DOZE: &str = "; the access point holds a packet for up to (listen interval + beacons \
                            missed) beacon intervals";
/// The remedies of queues on real devices.
const ON_DEVICES_QUEUE: &str = "A driver with mac80211's queues has FQ-CoDel already (lasthop doctor \
                                says whether); elsewhere: tc qdisc replace dev IFACE root fq_codel, \
                                or an access point whose firmware has it, such as OpenWrt";
const ON_DEVICES_MANAGED: &str =
    "The queue is managed already: a faster link, or less traffic, makes it shorter";
const ON_DEVICES_DRIVER: &str = "Airtime Queue Limits: Linux 5.5 or later and a driver that asks for \
                                 them (lasthop doctor says whether); if they are off: echo 1 > \
                                 /sys/kernel/debug/ieee80211/PHY/aql_enable";
/// If an absence takes more than this share of the time in the queue, it is the cause of
/// the queue: packets that arrive during an absence wait behind each other when it ends.
const ABSENCE_SHARE: f64 = 0.1;
/// Share of the time for which a node that leaves by a clock is away, from which short absences are a
/// finding: the share of a capture's power save.
const ABSENT_SHARE: f64 = 0.05;
/// The remedy of a clock on real devices.
const ON_DEVICES_CLOCK: &str = "Switch off what shares the radio (AirDrop, AirPlay and Handoff for AWDL; \
                                Wi-Fi Direct, casting, a hotspot; Bluetooth), or put the access point on \
                                the channel to which the node goes";
/// The interval of a call's packets, in ms. A station with service periods may wake up at this
/// interval instead of less often.
const WAKE_MS: f64 = 20.0;
/// Wait of the slowest 1 % for a station, in ms, above which the wait is a finding.
const ABSENCE_SLOWEST_MS: f64 = 15.0;

/// The queue of the Wi-Fi hop, where it makes others wait or stands longer than its
/// discipline aims at.
pub(super) fn own_queue<'a, 'b>(
    run: &RunDocument,
    flows: &'b [Flow<'a>],
) -> Option<(Finding, &'b Flow<'a>)> {
    let found = long_queue(run, flows).into_iter().chain(starving_queue(flows));
    found.max_by(|(a, _), (b, _)| a.weight.total_cmp(&b.weight))
}

/// The queue in which a flow waits longest.
fn long_queue<'a, 'b>(run: &RunDocument, flows: &'b [Flow<'a>]) -> Option<(Finding, &'b Flow<'a>)> {
    let is_long = |flow: &&Flow<'_>| is_bloated(flow, flows) && !waits_behind_absence(flow);
    let flow = worst(flows.iter().filter(is_long), |parts| parts.queue)?;
    let longest = match flow.nodes.first() {
        Some(&name) => Some((name, run.nodes.get(name)?.queue_packets?)),
        None => (run.nodes.iter())
            .filter_map(|(name, node)| Some((name.as_str(), node.queue_packets?)))
            .max_by_key(|(_, queue)| queue.p95),
    };
    let has_long_driver = flow.driver_ms() > QUEUE_MEAN_MS;
    let kind = match flow.driver_share {
        share if has_long_driver && share >= MOST => Kind::DriverQueue,
        _ => Kind::OwnQueue,
    };
    let (place, remedy) = match longest {
        Some((name, queue)) if queue.p95 > 0 => {
            let mut remedy = Vec::new();
            if has_long_driver {
                remedy.push(format!(
                    "node.{name}.driver_queue={{airtime=\"{DRIVER_AIRTIME_MS}ms\"}}"
                ));
            }
            if flow.queue.is_none_or(|queue| queue.kind != QueueKind::FqCodel) {
                remedy.push(format!("node.{name}.queue.kind=fq-codel"));
            }
            (place(run, name, flow, kind, queue.mean), remedy)
        }
        _ => (String::new(), Vec::new()),
    };
    let finding = Finding {
        kind,
        sentence: format!(
            "Packets of {} wait {} behind other packets of the hop, {} of their one-way delay, and \
             the slowest 1 % wait {}{place}",
            flow.name,
            ms(flow.mean.queue),
            percent(flow.mean.queue / total(flow.mean)),
            ms(flow.slowest.queue),
        ),
        weight: weight(flow.slowest.queue, flow.slowest),
        remedy,
        device: Some(match kind {
            Kind::DriverQueue => ON_DEVICES_DRIVER,
            _ if flow.queue.is_some_and(|it| it.kind == QueueKind::FqCodel) => ON_DEVICES_MANAGED,
            _ => ON_DEVICES_QUEUE,
        }),
    };
    Some((finding, flow))
}

/// Returns the place of the packets that a flow waits behind, as text; `name` holds `held` packets.
fn place(run: &RunDocument, name: &str, flow: &Flow<'_>, kind: Kind, held: f64) -> String {
    let above = flow.queue.map_or(String::new(), |queue| format!(" ({})", described(&queue)));
    let node = run.nodes.get(name);
    let below = node.and_then(|node| Some((node.driver_queue_packets?.mean, node.driver_queue?)));
    match below {
        Some((below, driver)) if kind == Kind::DriverQueue => {
            let bound = match (driver.limit_packets, driver.limit_airtime_ms) {
                (Some(packets), _) => format!(" ({packets} packets at most)"),
                (None, Some(airtime)) => format!(" ({} of airtime at most)", ms(airtime)),
                (None, None) => String::new(),
            };
            format!(
                "; {below:.0} of the {held:.0} packets that {name} holds on average are in its \
                 driver's queue{bound}, which the queue above{above} does not manage"
            )
        }
        _ => format!("; the queue of {name}{above} holds {held:.0} packets on average"),
    }
}

/// A queue that others keep so full that nothing of a TCP transfer gets through.
fn starving_queue<'a, 'b>(flows: &'b [Flow<'a>]) -> Option<(Finding, &'b Flow<'a>)> {
    let is_first_in_first_out =
        |queue: QueueSummary| matches!(queue.kind, QueueKind::DropTail | QueueKind::Ebdp);
    let (starved, node, queue) = flows.iter().filter(|flow| flow.is_starved).find_map(|flow| {
        let queue = flow.queue.filter(|queue| is_first_in_first_out(*queue))?;
        Some((flow, *flow.nodes.first()?, queue))
    })?;
    let fills = |flow: &&Flow<'_>| {
        flow.nodes.first() == Some(&node) && flow.load.fills() && flow.mean.queue > QUEUE_MEAN_MS
    };
    let full = worst(flows.iter().filter(fills), |parts| parts.queue)?;
    let finding = Finding {
        kind: Kind::OwnQueue,
        sentence: format!(
            "Nothing of {} arrives: {} keeps the queue of {node} ({}) full, and its packets wait {} \
             there",
            starved.name,
            full.name,
            described(&queue),
            ms(full.mean.queue),
        ),
        weight: weight(full.slowest.queue, full.slowest),
        remedy: vec![format!("node.{node}.queue.kind=fq-codel")],
        device: Some(ON_DEVICES_QUEUE),
    };
    Some((finding, starved))
}

/// Whether a flow waits in a queue because of an absence, and would not wait as long without it.
fn waits_behind_absence(flow: &Flow<'_>) -> bool {
    let is_minor = |parts: &DelayPartsSummary| {
        parts.away + parts.asleep + parts.roam <= ABSENCE_SHARE * parts.queue
    };
    !(is_minor(flow.slowest) || flow.mean.queue > QUEUE_MEAN_MS && is_minor(flow.mean))
}

/// Whether a flow waits in a queue for too long. UDP that offers too much waits for its own
/// packets ([`overload`](super::overload)) and does not count.
fn is_bloated(flow: &Flow<'_>, flows: &[Flow<'_>]) -> bool {
    let (mean, slowest) = (flow.mean.queue, flow.slowest.queue);
    let standing = mean > QUEUE_STANDING_MS && slowest > QUEUE_SLOWEST_MS;
    let is_long = mean > QUEUE_MEAN_MS || standing;
    let managed = flow.queue.and_then(|queue| match queue.kind {
        QueueKind::Codel | QueueKind::FqCodel | QueueKind::DualPi2 | QueueKind::Cake => {
            queue.target_ms
        }
        QueueKind::DropTail | QueueKind::Ebdp => None,
    });
    // No discipline above reaches the driver's queue.
    let managed = managed.filter(|_| flow.driver_ms() <= QUEUE_MEAN_MS);
    let is_fair =
        managed.is_some() && flow.queue.is_some_and(|queue| queue.kind == QueueKind::FqCodel);
    let is_beyond = |target: f64| mean > QUEUE_MEAN_MS && mean > MANAGED * target;
    match (flow.load, managed) {
        (Load::Excess(_), _) => false,
        (Load::Bulk, None) => is_long,
        (Load::Bulk, Some(target)) => is_beyond(target),
        // Behind its own packets, or those of others in their turn.
        (Load::Requests | Load::Sparse, Some(_)) if is_fair => false,
        (Load::Requests | Load::Sparse, managed) => {
            let node = flow.nodes.first().copied();
            let fills =
                |it: &Flow<'_>| it.name != flow.name && it.load.fills() && it.waits_at(node);
            let is_shared = flow.nodes.is_empty() || flows.iter().any(fills);
            let is_long = is_long || mean > SHARED_MEAN_MS && slowest > SHARED_SLOWEST_MS;
            is_shared && managed.map_or(is_long, is_beyond)
        }
    }
}

/// The discipline of a queue and its bound.
pub(super) fn described(queue: &QueueSummary) -> String {
    let kind = match queue.kind {
        QueueKind::DropTail => "drop-tail",
        QueueKind::Codel => "CoDel",
        QueueKind::FqCodel => "FQ-CoDel",
        QueueKind::Ebdp => "eBDP",
        QueueKind::DualPi2 => "DualPI2",
        QueueKind::Cake => "CAKE",
    };
    match (queue.limit_packets, queue.limit_bytes) {
        (Some(packets), _) => format!("{kind}, {packets} packets at most"),
        (None, Some(bytes)) => format!("{kind}, {} KiB at most", bytes / 1_024),
        (None, None) => kind.to_owned(),
    }
}

/// Stations that scan.
pub(super) fn scan(run: &RunDocument, flows: &[Flow<'_>]) -> Option<Finding> {
    let is_its = |flow: &&Flow<'_>| clock_of(run, flow).is_none() && waits_for_scan(run, flow);
    let found = absence(
        flows.iter().filter(is_its),
        Kind::Scan,
        |parts| parts.away,
        None,
        "leaves its channel to scan",
        |name| vec![format!("node.{name}.scan.channels=1")],
        "Keep the station from looking for other access points: with NetworkManager or iwd fix the \
         BSSID",
    );
    found.map(|mut finding| {
        let mut names = flows.iter().flat_map(|flow| flow.absent_nodes);
        let roamer = names.find_map(|name| Some((name, run.nodes.get(name)?.roaming.as_ref()?)));
        if let Some((name, roaming)) = roamer {
            // It finds its next access point so.
            finding.remedy = match roaming.policy.as_deref() {
                Some("simple") => vec![format!("node.{name}.roaming.policy=learn")],
                _ => Vec::new(),
            };
            finding.device = Some(
                "Let it look at fewer channels: freq_list or bgscan \"learn\" of wpa_supplicant, \
                 neighbour reports (802.11k)",
            );
        }
        finding
    })
}

/// Whether a flow's packets can wait for a scan. Packets also wait for the end of a quiet announcement
/// of another channel ([`switching`](super::switching)), although no station leaves.
fn waits_for_scan(run: &RunDocument, flow: &Flow<'_>) -> bool {
    let leaves = |name: &String| {
        let node = run.nodes.get(name);
        node.is_some_and(|node| node.channel_switches.is_empty() && node.absences.is_some())
    };
    let has_moves = run.nodes.values().any(|node| !node.channel_switches.is_empty());
    !has_moves || flow.absent_nodes.iter().any(leaves)
}

/// Nodes that leave their channel by a clock.
pub(super) fn clock(run: &RunDocument, flows: &[Flow<'_>]) -> Option<Finding> {
    let waiting = || flows.iter().filter(|flow| clock_of(run, flow).is_some());
    let (name, clocks) = clock_of(run, worst(waiting(), |parts| parts.away)?)?;
    let rhythms: Vec<String> = clocks.iter().map(rhythm).collect();
    let does = format!("leaves its channel {}", rhythms.join(", and "));
    let remedy = vec![format!("node.{name}.absence=off")];
    let by_delay = absence(
        waiting(),
        Kind::Absence,
        |parts| parts.away,
        Some(name),
        &does,
        |_| remedy.clone(),
        ON_DEVICES_CLOCK,
    );
    // Short absences make nobody wait for long, and take their share of the time.
    let share =
        run.nodes.get(name).and_then(|node| node.absences).map_or(0.0, |it| it.time_fraction);
    let by_share = (share >= ABSENT_SHARE).then(|| Finding {
        kind: Kind::Absence,
        sentence: format!(
            "{name} {does}: {} of the time, in which frames from and to it wait, or fail",
            percent(share)
        ),
        weight: share,
        remedy: remedy.clone(),
        device: Some(ON_DEVICES_CLOCK),
    });
    by_delay.or(by_share)
}

/// Length and period of absences by a clock, as text.
fn rhythm(clock: &AbsenceClockSummary) -> String {
    let every = clock.every_ms.map_or(" once".to_owned(), |every| format!(" every {}", ms(every)));
    let channel = clock.channel.map_or(String::new(), |number| format!(" (to channel {number})"));
    let notice = if clock.announced { "" } else { " without notice" };
    format!("for {}{every}{notice}{channel}", ms(clock.away_ms))
}

/// The first node for which a flow waits that leaves by a clock, and its clocks.
fn clock_of<'a>(
    run: &'a RunDocument,
    flow: &Flow<'a>,
) -> Option<(&'a str, &'a [AbsenceClockSummary])> {
    flow.absent_nodes.iter().find_map(|name| {
        let clocks = &run.nodes.get(name)?.absence_clocks;
        (!clocks.is_empty()).then_some((name.as_str(), &clocks[..]))
    })
}

/// Stations that save power.
pub(super) fn sleep(run: &RunDocument, flows: &[Flow<'_>]) -> Option<Finding> {
    let remedy = |name: &str| {
        let absences = run.nodes.get(name).and_then(|node| node.absences);
        remedy_for_sleep(name, absences.as_ref())
    };
    absence(
        flows.iter(),
        Kind::Sleep,
        |parts| parts.asleep,
        None,
        "dozes to save power",
        remedy,
        "Switch power save off: iw dev IFACE set power_save off; to keep it so, with NetworkManager \
         wifi.powersave = 2",
    )
    .map(|mut finding| {
        if !is_by_target_wake(run, flows) {
            finding.sentence.push_str(LONGEST_DOZE);
        }
        finding
    })
}

/// Whether the stations that doze wake up at target wake times, not for beacons.
fn is_by_target_wake(run: &RunDocument, flows: &[Flow<'_>]) -> bool {
    let names = flows.iter().flat_map(|flow| flow.absent_nodes);
    let mut kinds = names.filter_map(|name| run.nodes.get(name)?.absences?.power_save);
    kinds.all(|kind| kind == PowerSaveKind::Twt)
}

/// A station that does not doze, or with service periods asks or wakes up more often.
fn remedy_for_sleep(name: &str, absences: Option<&AbsenceSummary>) -> Vec<String> {
    let key = |key: &str| vec![format!("node.{name}.power_save.{key}")];
    match absences.and_then(|absences| absences.power_save) {
        Some(PowerSaveKind::UApsd) => key("trigger_interval=20ms"),
        Some(PowerSaveKind::Twt) => {
            let time = |of: fn(&AbsenceSummary) -> Option<f64>| absences.and_then(of);
            let is_long = time(|it| it.wake_interval_ms).is_some_and(|ms| ms >= 2.0 * WAKE_MS);
            let fits = time(|it| it.wake_duration_ms).is_some_and(|ms| ms <= WAKE_MS);
            if is_long && fits { key("wake_interval=20ms") } else { Vec::new() }
        }
        _ => vec![format!("node.{name}.power_save=off")],
    }
}

fn absence<'a, 'b>(
    flows: impl Iterator<Item = &'b Flow<'a>>,
    kind: Kind,
    part: fn(&DelayPartsSummary) -> f64,
    who: Option<&str>,
    does: &str,
    remedy: impl Fn(&str) -> Vec<String>,
    device: &'static str,
) -> Option<Finding>
where
    'a: 'b,
{
    let is_long = |flow: &&Flow<'_>| part(flow.slowest) > ABSENCE_SLOWEST_MS;
    let flow = worst(flows.filter(is_long), part)?;
    let who = match (who, flow.absent_nodes) {
        (Some(who), _) => who.to_owned(),
        (None, [one]) => one.clone(),
        (None, []) => "A station".to_owned(),
        (None, many) => format!("One of {}", many.join(", ")),
    };
    // Packets in the queue behind an absence wait because of it, unless they would wait anyway.
    let is_behind = waits_behind_absence(flow) && !matches!(flow.load, Load::Excess(_));
    let (waited, queue) = (part(flow.slowest), if is_behind { flow.slowest.queue } else { 0.0 });
    let behind = if queue > waited / 10.0 {
        format!(", and {} in the queue that it leaves", ms(queue))
    } else {
        String::new()
    };
    Some(Finding {
        kind,
        sentence: format!(
            "{who} {does}: the slowest 1 % of the packets of {} wait {} for it{behind}, {} of \
             their one-way delay; the mean is {}",
            flow.name,
            ms(waited),
            percent((waited + queue) / total(flow.slowest)),
            ms(part(flow.mean)),
        ),
        weight: weight(waited + queue, flow.slowest),
        remedy: flow.absent_nodes.first().map_or_else(Vec::new, |name| remedy(name)),
        device: Some(device),
    })
}

/// The flow whose slowest 1 % have the greatest part.
pub(super) fn worst<'a, 'b>(
    flows: impl Iterator<Item = &'b Flow<'a>>,
    part: impl Fn(&DelayPartsSummary) -> f64,
) -> Option<&'b Flow<'a>>
where
    'a: 'b,
{
    flows.max_by(|a, b| part(a.slowest).total_cmp(&part(b.slowest)))
}
