//! Findings about Wi-Fi interfaces: causes of delay, with the numbers read.

use super::{finding, milliseconds};
use crate::counter::{self, Share};
use crate::document::{
    Facts, Finding, Interface, Rate, RateMode, Severity, SleepSetting, Station, Wifi,
};
use Severity::{Note, Problem};

/// Time unit of 802.11, in milliseconds.
const TIME_UNIT_MS: f64 = 1.024;
/// Beacon interval of most access points, in time units.
const BEACON_INTERVAL_TU: u32 = 100;
/// Airtime of a radio below mac80211's queues from which stations have the lower limits
/// (`IEEE80211_AQL_THRESHOLD`), if the radio does not report it.
const AQL_THRESHOLD_US: u32 = 24_000;
/// Bits of a packet of 1 500 bytes.
const PACKET_BITS: f64 = 12_000.0;
/// Mean signal in dBm below which 802.11n at 20 MHz has its lowest rates: a receiver must support
/// MCS 2 at -77 dBm (IEEE 802.11-2020, table 19-23).
const WEAK_DBM: i32 = -77;
/// Share of the highest rate of the same mode, width and streams below which a rate is low: MCS 2
/// of 802.11n has 0.3 of MCS 7.
const LOW_SHARE: f64 = 0.31;
/// Minimum number of retries for each packet at which they take a large part of the airtime.
const RETRIES_SHARE: f64 = 0.2;
/// Share of packets given up from which TCP suffers.
const FAILED_SHARE: f64 = 0.01;
/// Packets below which a share has no significance.
const PACKETS_MIN: u32 = 100;

/// Returns the findings of each interface in order, or the finding that there is none.
pub fn findings(facts: &Facts) -> Vec<Finding> {
    let mut all = Vec::new();
    let radios = facts.interfaces.iter().filter_map(|one| Some((one, one.wifi.as_ref()?)));
    for (interface, wifi) in radios.clone() {
        let mut found = Vec::new();
        if wifi.kind != "monitor" {
            found.extend(power_save(interface, wifi));
            found.extend(queues(facts, interface, wifi));
            found.extend(airtime_limits(wifi));
            for station in &wifi.stations {
                found.extend(airtime_pending(wifi, station));
                found.extend(weak(station));
                found.extend(low_rate(station));
                found.extend(retries(station));
                found.extend(failures(station));
                found.extend(counters(station));
                found.extend(missed_beacons(station));
            }
        }
        for mut one in found {
            one.interface = Some(interface.name.clone());
            all.push(one);
        }
    }
    if radios.clone().count() == 0 {
        all.push(finding(
            "no-wifi",
            Note,
            "There is no Wi-Fi interface in this network namespace.",
            "lasthop models the hop, so only capture --live on a monitor interface requires one.",
            None,
        ));
    } else if !radios.clone().any(|(_, wifi)| wifi.kind == "monitor") {
        all.extend(no_monitor(radios.map(|(_, wifi)| wifi)));
    }
    all
}

fn power_save(interface: &Interface, wifi: &Wifi) -> Option<Finding> {
    if wifi.power_save != Some(true) {
        return wifi.sleep_settings.iter().find_map(sleeps_anyway);
    }
    let interval = wifi.stations.iter().find_map(|station| station.beacon_interval_tu);
    let ms = |units: u32| milliseconds(f64::from(units) * TIME_UNIT_MS);
    let interval = match interval {
        Some(units) => format!("{} ({units} time units)", ms(units)),
        None => format!("usually {}", ms(BEACON_INTERVAL_TU)),
    };
    Some(finding(
        "power-save",
        Problem,
        "Power save is on.",
        format!(
            "While the radio sleeps, packets for this machine wait at the access point until a beacon \
             announces them. The wait is up to (listen interval + beacons missed) beacon intervals of \
             {interval}: a small computer had delays of 0.4 to 0.6 s at the 90th percentile and of 0.8 to 2 s \
             at the 99th. If the firmware sends without leaving power save, the answer to each of this \
             machine's pings waits, too."
        ),
        Some(format!("sudo iw dev {} set power_save off", interface.name)),
    ))
}

/// Reports a driver's setting of its sleep, if nl80211 has power save off or not at all.
fn sleeps_anyway(setting: &SleepSetting) -> Option<Finding> {
    let SleepSetting { path, value } = setting;
    if matches!(value.as_str(), "0" | "N" | "") {
        return None;
    }
    let parts: Vec<&str> = path.split('/').collect();
    let remedy = match parts[..] {
        ["", "sys", "module", module, "parameters", name] => format!(
            "echo options {module} {name}=0 | sudo tee /etc/modprobe.d/{module}.conf; sudo reboot"
        ),
        _ => format!("echo 0 | sudo tee {path}"),
    };
    Some(finding(
        "sleeps-anyway",
        Note,
        format!("nl80211 does not report power save as on, but {path} is {value}."),
        "The driver or its firmware may sleep nevertheless: packets for this machine then wait as with \
         power save.",
        Some(remedy),
    ))
}

/// Reports the queue in which packets wait.
fn queues(facts: &Facts, interface: &Interface, wifi: &Wifi) -> Option<Finding> {
    let root = interface.qdiscs.iter().find(|qdisc| qdisc.root)?.kind.as_str();
    if wifi.txqs {
        return (root != "noqueue").then(|| {
            finding(
                "queue-above-mac80211",
                Note,
                format!("The queueing discipline {root} is above mac80211's queues, which have FQ-CoDel."),
                "mac80211 accepts packets at once, so none waits above it unless the discipline limits a \
                 rate. noqueue is enough here.",
                Some(format!("sudo tc qdisc replace dev {} root noqueue", interface.name)),
            )
        });
    }
    let is_fifo = |kind: &str| matches!(kind, "pfifo_fast" | "pfifo" | "bfifo");
    let driver = interface.driver.as_deref().unwrap_or("this driver");
    let fifo = interface.qdiscs.iter().find(|one| is_fifo(&one.kind));
    let Some(fifo) = fifo else {
        // mq has one below it for each access category.
        let below = interface.qdiscs.iter().find(|qdisc| !qdisc.root && root == "mq");
        let kind = below.map_or(root, |qdisc| &qdisc.kind);
        return Some(finding(
            "no-mac80211-queues",
            Note,
            format!("{driver} has first-in-first-out queues below {kind}."),
            "FQ-CoDel does not manage the packets there: under load the driver's queue adds to every \
             packet's delay.",
            None,
        ));
    };
    let packets = interface.queue_frames.unwrap_or(1_000);
    let rate = wifi.stations.iter().find_map(|station| Some(station.tx_rate.as_ref()?.mbps));
    let holds = rate.filter(|rate| *rate > 0.0).map(|rate| {
        let ms = f64::from(packets) * PACKET_BITS / (rate * 1e3);
        format!(
            ": at {rate} Mb/s, the last frame's rate, {} of 1 500-byte packets",
            milliseconds(ms)
        )
    });
    let default = facts.tcp.default_qdisc.as_deref().unwrap_or("unknown");
    Some(finding(
        "bufferbloat",
        Problem,
        format!(
            "All packets{} that {} sends share a {} queue of up to {packets}, and {driver} does not use \
             mac80211's queues (net.core.default_qdisc is {default}).",
            if fifo.root { "" } else { " of an access category" },
            interface.name,
            fifo.kind
        ),
        format!(
            "A bulk transfer fills it, and all other packets wait behind it{}.",
            holds.unwrap_or_default()
        ),
        Some(format!("sudo tc qdisc replace dev {} root fq_codel", interface.name)),
    ))
}

/// Reports the limits of the queues below mac80211's.
fn airtime_limits(wifi: &Wifi) -> Option<Finding> {
    let is_off = wifi.aql_limits.as_ref().is_some_and(|limits| limits.enabled == Some(false));
    if wifi.txqs && wifi.aql && is_off {
        return Some(finding(
            "aql-off",
            Problem,
            "The driver requests airtime queue limits, but they are disabled (aql_enable is 0).",
            "The airtime of packets in the driver and the radio has no limit: at low rates it is many \
             milliseconds, which FQ-CoDel does not manage.",
            Some(format!(
                "echo 1 | sudo tee /sys/kernel/debug/ieee80211/{}/aql_enable",
                wifi.radio_name
            )),
        ));
    }
    (wifi.txqs && !wifi.aql).then(|| {
        finding(
            "no-aql",
            Note,
            "The driver requests no airtime queue limits (AQL).",
            "The driver decides how many packets it and the radio hold below mac80211's FQ-CoDel. If its \
             limit is a number of frames, their delay is long at low rates.",
            None,
        )
    })
}

/// Reports airtime below mac80211's queues that exceeds its limit.
fn airtime_pending(wifi: &Wifi, station: &Station) -> Option<Finding> {
    let limits = wifi.aql_limits.clone().unwrap_or_default();
    let is_off = limits.enabled == Some(false);
    let of_stations = wifi.stations.iter().flat_map(|station| &station.aql);
    // This sum lacks the stations of other interfaces.
    let sum = of_stations.filter_map(|one| counter::microseconds(one.pending_us)).map(u64::from);
    let total = limits.pending_us.and_then(counter::microseconds).map_or(sum.sum(), u64::from);
    let is_low = total > u64::from(limits.threshold_us.unwrap_or(AQL_THRESHOLD_US));
    let above = station.aql.iter().filter_map(|one| {
        let limit = if is_low { one.low_us } else { one.high_us };
        let pending = counter::microseconds(one.pending_us).filter(|us| *us > limit)?;
        Some(format!("{pending} us in {} (limit {limit} us)", one.category))
    });
    let above: Vec<String> = above.collect();
    if above.is_empty() {
        return None;
    }
    let means = if is_off {
        "The limits are disabled (aql_enable is 0), so this airtime has no bound, and FQ-CoDel does not \
         manage these packets."
    } else {
        "mac80211 gives the driver no more frames of this category until some are complete, which is \
         normal for moments under load. If it persists without traffic, the driver has lost count of \
         its frames, and packets to this station are stuck: run doctor again, then reconnect."
    };
    Some(finding(
        "aql-exceeded",
        Problem,
        format!(
            "The driver's airtime for {} exceeds its limit: {}.",
            station.address,
            above.join(", ")
        ),
        means,
        None,
    ))
}

fn weak(station: &Station) -> Option<Finding> {
    let signal = counter::signal_dbm(station).filter(|dbm| *dbm < WEAK_DBM)?;
    Some(finding(
        "weak-signal",
        Problem,
        format!("The signal of {} is {signal} dBm.", station.address),
        "Only the lowest rates work, so each frame occupies the channel for a long time, for all \
         stations on it.",
        None,
    ))
}

fn low_rate(station: &Station) -> Option<Finding> {
    let rate = station.tx_rate.as_ref()?;
    let share = share_of_highest(rate).filter(|share| *share < LOW_SHARE)?;
    // Before there was traffic the rate is where rate control begins.
    station.tx_packets.filter(|packets| *packets >= PACKETS_MIN)?;
    let ms = PACKET_BITS / (rate.mbps * 1e3);
    Some(finding(
        "low-rate",
        Note,
        format!(
            "The last frame to {} had {} Mb/s, {:.0} % of the highest rate of its mode, width and streams.",
            station.address,
            rate.mbps,
            100.0 * share
        ),
        format!(
            "A packet of 1 500 bytes needs {} at this rate, without preamble and access. Rate control chooses \
             the rate by losses; management frames always have a low rate, so run doctor again under load.",
            milliseconds(ms)
        ),
        None,
    ))
}

/// Returns the rate divided by the highest of the same mode, width, streams and guard interval,
/// from data bits for each subcarrier and symbol (IEEE 802.11-2020, tables 19-27, 21-29;
/// 802.11ax-2021, 27-61; 802.11be: 36-71). `None` for legacy rates and schemes outside these
/// tables.
fn share_of_highest(rate: &Rate) -> Option<f64> {
    const BITS: [f64; 14] =
        [0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 4.5, 5.0, 6.0, 20.0 / 3.0, 7.5, 25.0 / 3.0, 9.0, 10.0];
    let mcs = usize::from(rate.mcs?);
    let (index, highest) = match rate.mode {
        RateMode::Legacy => return None,
        RateMode::Ht if mcs < 32 => (mcs % 8, 7),
        RateMode::Ht => return None,
        RateMode::Vht => (mcs, 9),
        RateMode::He => (mcs, 11),
        RateMode::Eht => (mcs, 13),
    };
    (index <= highest).then(|| BITS[index] / BITS[highest])
}

fn retries(station: &Station) -> Option<Finding> {
    let packets = station.tx_packets.filter(|packets| *packets >= PACKETS_MIN)?;
    let retries = station.tx_retries?;
    let Share::Known(share) = counter::retries(station) else { return None };
    (share > RETRIES_SHARE).then(|| {
        finding(
            "retries",
            Problem,
            format!(
                "{retries} retransmissions to {} were needed for {packets} packets ({:.0} %).",
                station.address,
                100.0 * share
            ),
            "Each retransmission needs airtime and another wait for the channel, and later packets of its \
             Block Ack window wait, too.",
            None,
        )
    })
}

fn failures(station: &Station) -> Option<Finding> {
    let packets = station.tx_packets.filter(|packets| *packets >= PACKETS_MIN)?;
    let failed = station.tx_failed?;
    let Share::Known(share) = counter::failures(station) else { return None };
    (share > FAILED_SHARE).then(|| {
        finding(
            "given-up",
            Problem,
            format!(
                "{failed} of {packets} packets to {} were given up ({:.1} %).",
                station.address,
                100.0 * share
            ),
            "Their sender must send them again a round trip later; TCP treats the loss as congestion.",
            None,
        )
    })
}

/// Reports implausible counters of the driver.
fn counters(station: &Station) -> Option<Finding> {
    station.tx_packets.filter(|packets| *packets >= PACKETS_MIN)?;
    let shares =
        [("retries", counter::retries(station)), ("packets given up", counter::failures(station))];
    let unknown = shares.iter().filter_map(|(name, share)| match share {
        Share::Unknown(why) => Some((*name, why)),
        Share::Absent | Share::Known(_) => None,
    });
    let unknown: Vec<(&str, &String)> = unknown.collect();
    let (_, why) = unknown.first()?;
    let names: Vec<&str> = unknown.iter().map(|(name, _)| *name).collect();
    let whys = match unknown[..] {
        // One counter under both names is told once.
        [(_, one), (_, other)] if one != other => format!("{one}, {other}"),
        _ => (*why).clone(),
    };
    Some(finding(
        "counters",
        Note,
        format!(
            "The driver's count of {} to {} is implausible: {whys}.",
            names.join(" and of "),
            station.address
        ),
        "The numbers of frames retransmitted and given up are unknown here; a capture shows them.",
        None,
    ))
}

fn missed_beacons(station: &Station) -> Option<Finding> {
    let losses = counter::beacon_losses(station).filter(|losses| *losses > 0)?;
    Some(finding(
        "beacon-loss",
        Note,
        format!("Several beacons of {} in sequence were missed {losses} times.", station.address),
        "The station then probes its access point, and may lose its association: gaps of a second and \
         more.",
        None,
    ))
}

/// Reports radios without a monitor interface.
fn no_monitor<'a>(mut radios: impl Iterator<Item = &'a Wifi>) -> Option<Finding> {
    let able = radios.find(|wifi| wifi.radio_kinds.iter().any(|kind| kind == "monitor"));
    let remedy = able.map(|wifi| {
        let name = &wifi.radio_name;
        format!("sudo iw phy {name} interface add mon0 type monitor && sudo ip link set mon0 up")
    });
    Some(finding(
        "no-monitor",
        Note,
        match remedy {
            Some(_) => "There is no monitor interface.",
            None => "There is no monitor interface, and no radio here can have one.",
        },
        "Without one, capture --live sees only this machine's packets and no frames on the air.",
        remedy,
    ))
}
