//! Computes the [`RunDocument`] from the counts of the recorder and the network. Every value is
//! computed once, from integers, and rounded to their precision: milliseconds and Mb/s to six
//! decimal places (one nanosecond, one bit a second), shares of 0 to 1 to nine, microseconds to
//! three.

use crate::call::CallSummary;
use crate::document::{
    AbsenceClockSummary, AbsenceSummary, AggregationSummary, ChannelSwitchSummary,
    DriverQueueSummary, EmulationSummary, FlowGroupSummary, FlowSummary, LatenessSummary,
    LeftOutSummary, LinkSummary, NeighbourSummary, NodeSummary, PowerSaveKind, ProgramSummary,
    PseudoRetryOutSummary, QueueKind, QueueSummary, RateSummary, RoamSummary, RoamingSummary,
    RunDocument, StaySummary, SteeredBy, SteeringSummary, WireSummary,
};
use crate::error::OutputError;
use crate::experience::Experience;
use crate::histogram::Histogram;
use crate::multi_link::{FlowLinkSummary, of_device, of_flow};
use crate::names::{FlowKind, FlowName, Names, NeighbourName};
use crate::programs;
use crate::recorder::Recorder;
use crate::snapshot::Snapshot;
use crate::tally::FlowTally;
use crate::value::{CountSummary, WindowSummary, rounded, time_ms};
use crate::web::WebTally;
use lasthop_hosts::ProgramsLeftOut;
use lasthop_net::cable::CableConfig;
use lasthop_net::network::{NetworkConfig, NetworkStats, WireStats};
use lasthop_packet::queue::{DriverLimit, Limit, QueueConfig};
use lasthop_packet::{AccessCategory, FlowId, NodeId};
use lasthop_units::{Duration, Instant};
use lasthop_wifi::StationId;
use lasthop_wifi::cell::StationConfig;
use lasthop_wifi::mac::power_save::Sending;
use lasthop_wifi::mac::roam::steering::{RoamCause, SteerCause};
use lasthop_wifi::mac::schedule::AbsenceConfig;
use lasthop_wifi::mac::service_period::ServicePeriodConfig;
use lasthop_wifi::phy::{Band, Rate};
use lasthop_wifi::stats::{
    Levels, LinkStats, Outranked, Roamed, StationStats, SteeringStats, Switched,
};
use std::collections::BTreeMap;

/// Facts about a run that the recorder does not know.
#[derive(Clone, Debug, PartialEq)]
pub struct RunInfo {
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the run's random numbers.
    pub seed: u64,
    /// Number of the run.
    pub run: u64,
    /// Duration of the run: as planned, or less if it was interrupted. The recorder itself accounts
    /// for a run that ended early ([`Sink::ended`](lasthop_hosts::Sink::ended)).
    pub duration: Duration,
    /// Elapsed real time, in seconds.
    pub wall_s: f64,
    /// Changes to the scenario file, each as `key=value`.
    pub set: Vec<String>,
    /// Warnings about conditions that distort the results, as sentences.
    pub warnings: Vec<String>,
    /// Lateness above which a delivery is late; `None` for a simulation.
    pub lateness_max: Option<Duration>,
    /// Network of the run, with its queues and links.
    pub network: NetworkConfig,
}

impl Recorder {
    /// Ends the recording, completes the files, and returns the summary of the run. `stats` has the
    /// network's counts after the warm-up.
    ///
    /// # Errors
    /// The error of a file that could not be written, now or earlier.
    pub fn finish(self, info: &RunInfo, stats: &NetworkStats) -> Result<RunDocument, OutputError> {
        self.finish_with_intervals(info, stats).map(|(document, _)| document)
    }

    /// Finishes as [`finish`](Self::finish), and also returns the readings of every interval if
    /// they were [kept](Self::keeping_intervals), else none.
    ///
    /// # Errors
    /// The errors of [`finish`](Self::finish).
    pub fn finish_with_intervals(
        mut self,
        info: &RunInfo,
        stats: &NetworkStats,
    ) -> Result<(RunDocument, Vec<Snapshot>), OutputError> {
        self.complete(info)?;
        let intervals = self.take_intervals();
        Ok((self.document(info, stats), intervals))
    }

    /// Closes the last interval and completes the files.
    fn complete(&mut self, info: &RunInfo) -> Result<(), OutputError> {
        self.close_last(info);
        let end = self.end(info);
        self.writers.take().map_or(Ok(()), |writers| writers.close(end).map(drop))
    }

    /// Returns the end of the run.
    pub(crate) fn end(&self, info: &RunInfo) -> Instant {
        Instant::ZERO + self.lasted(info.duration)
    }

    /// Closes the last interval.
    pub(crate) fn close_last(&mut self, info: &RunInfo) {
        self.close_until(self.end(info));
    }

    pub(crate) fn document(&self, info: &RunInfo, stats: &NetworkStats) -> RunDocument {
        let duration = self.lasted(info.duration);
        let counted = self.counted(duration);
        let name = |node: NodeId| self.names.node(node).to_owned();
        let direction = |from, to| format!("{}->{}", self.names.node(from), self.names.node(to));
        let flows = self.names.flows.iter().zip(&self.flows);
        let band = info.network.cell.as_ref().map_or(Band::Ghz5, |cell| cell.band);
        RunDocument {
            scenario: info.scenario.clone(),
            seed: info.seed,
            run: info.run,
            duration_s: duration.as_secs_f64(),
            warmup_s: self.recording.warmup.as_secs_f64(),
            wall_s: rounded(info.wall_s, 6),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            set: info.set.clone(),
            warnings: info.warnings.clone(),
            findings: Vec::new(),
            flows: flows
                .enumerate()
                .map(|(index, (name, tally))| {
                    let absent_nodes = self.absent_nodes([name.from, name.to], tally, stats);
                    let flow = FlowSummary {
                        absent_nodes,
                        links: self.links_of(index, name.from, stats),
                        sender: Some(self.names.node(name.from).to_owned()),
                        receiver: Some(self.names.node(name.to).to_owned()),
                        ..flow(name, tally, duration)
                    };
                    (name.name.clone(), flow)
                })
                .collect(),
            flow_groups: self.flow_groups(duration),
            programs: self
                .programs
                .iter()
                .enumerate()
                .map(|(index, (flow, tally))| {
                    let absent_nodes = self.absent_nodes([flow.from, flow.to], tally, stats);
                    let program = ProgramSummary {
                        absent_nodes,
                        links: self.links_of(self.flows.len() + index, flow.from, stats),
                        program: self.program_names.get(&index).cloned(),
                        sender: Some(self.names.node(flow.from).to_owned()),
                        receiver: Some(self.names.node(flow.to).to_owned()),
                        ..program(tally)
                    };
                    (programs::name(flow, &self.names), program)
                })
                .collect(),
            programs_left_out: left_out(self.programs_left_out),
            nodes: stats
                .stations
                .iter()
                .filter(|(id, _)| !self.names.is_neighbours(*id))
                .map(|(id, of_node)| {
                    let device = stats.devices.iter().find(|(node, _)| node == id);
                    let device = device.map(|(_, it)| of_device(it, counted, &self.names));
                    let own =
                        node(of_node, station(&info.network, *id), counted, &self.names, band);
                    (name(*id), NodeSummary { multi_link: device, ..own })
                })
                .collect(),
            neighbours: self.neighbours(stats, counted),
            links: stats
                .links
                .iter()
                .filter(|(from, _, stats)| stats.ppdus > 0 && !self.names.is_neighbours(*from))
                .map(|(from, to, stats)| {
                    let name = self.names.on_link(direction(*from, *to), stats.link);
                    (name, link(stats, counted))
                })
                .collect(),
            wires: stats
                .wires
                .iter()
                .map(|(from, to, stats)| {
                    (direction(*from, *to), wire(stats, cable(&info.network, *from, *to)))
                })
                .collect(),
            franc: self
                .names
                .francs
                .iter()
                .zip(&self.francs)
                .filter_map(|(name, tally)| Some((name.clone(), tally.summary(&self.names)?)))
                .collect(),
            emulation: info.lateness_max.map(|limit| emulation(&self.lateness, limit)),
        }
    }
}

/// Returns the configuration of the Wi-Fi station at a node.
fn station(network: &NetworkConfig, node: NodeId) -> Option<&StationConfig> {
    let station = network.nodes.get(node.index())?.station?;
    network.cell.as_ref()?.stations.get(station.index())
}

/// Returns the configuration of the wire from one node to another.
fn cable(network: &NetworkConfig, from: NodeId, to: NodeId) -> Option<&CableConfig> {
    network.wires.iter().find_map(|wire| match wire.ends {
        ends if ends == [from, to] => Some(&wire.directions[0]),
        ends if ends == [to, from] => Some(&wire.directions[1]),
        _ => None,
    })
}

fn program(tally: &FlowTally) -> ProgramSummary {
    ProgramSummary {
        program: None,
        sender: None,
        receiver: None,
        packets_sent: tally.sent,
        packets_received: tally.received,
        bytes_received: tally.payload_bytes,
        packets_lost: tally.lost(),
        packets_lost_by_reason: tally.lost_by_reason(),
        acks_replaced: tally.acks_replaced(),
        one_way_delay_ms: time_ms(&tally.delays),
        delay_parts_ms: tally.parts.all(),
        delay_parts_slowest_ms: tally.parts.slowest(),
        absent_nodes: Vec::new(),
        links: BTreeMap::new(),
    }
}

fn left_out(left_out: ProgramsLeftOut) -> Option<LeftOutSummary> {
    let ProgramsLeftOut { flows, packets } = left_out;
    (packets > 0).then_some(LeftOutSummary { flows, packets })
}

impl Recorder {
    /// Summarises the links that the packets of the flow with this index took; empty without devices
    /// of several links.
    fn links_of(
        &self,
        index: usize,
        source: NodeId,
        stats: &NetworkStats,
    ) -> BTreeMap<String, FlowLinkSummary> {
        let flow = u16::try_from(index).map(FlowId);
        flow.map_or_else(|_| BTreeMap::new(), |flow| of_flow(flow, source, stats, &self.names))
    }

    /// Summarises the airtime of the neighbours on the channel.
    fn neighbours(
        &self,
        stats: &NetworkStats,
        counted: Duration,
    ) -> BTreeMap<String, NeighbourSummary> {
        let summary = |neighbour: &NeighbourName| {
            let of_it = stats.stations.iter().filter(|(node, _)| neighbour.nodes.contains(node));
            let airtime_ns: u64 = of_it.map(|(_, stats)| stats.airtime.as_nanos()).sum();
            NeighbourSummary {
                busy: rounded(neighbour.busy, 9),
                airtime_fraction: fraction(airtime_ns, counted.as_nanos()).unwrap_or(0.0),
            }
        };
        self.names.neighbours.iter().map(|it| (it.name.clone(), summary(it))).collect()
    }

    /// Summarises the flows that the scenario describes together.
    fn flow_groups(&self, duration: Duration) -> BTreeMap<String, FlowGroupSummary> {
        let mut members: BTreeMap<&str, Vec<(&FlowName, &FlowTally)>> = BTreeMap::new();
        for (name, tally) in self.names.flows.iter().zip(&self.flows) {
            if let Some(table) = &name.table {
                members.entry(table).or_default().push((name, tally));
            }
        }
        let group = |(table, flows): (&str, Vec<_>)| (table.to_owned(), group(&flows, duration));
        members.into_iter().map(group).collect()
    }

    /// Returns the time that the network's counters cover in a run of `duration`: they restart at
    /// the end of the warm-up, and a shorter run has those from its beginning.
    fn counted(&self, duration: Duration) -> Duration {
        let warmup = self.recording.warmup;
        if duration > warmup { duration - warmup } else { duration }
    }

    /// Returns the names of the nodes whose absences the packets of a flow waited for: the ends of
    /// the flow that were absent. If neither was, the flow passes through an absent node, so all
    /// absent nodes are returned.
    fn absent_nodes(
        &self,
        ends: [NodeId; 2],
        tally: &FlowTally,
        stats: &NetworkStats,
    ) -> Vec<String> {
        if !tally.parts.all().is_some_and(|parts| parts.away + parts.asleep + parts.roam > 0.0) {
            return Vec::new();
        }
        let absent = stats.stations.iter().filter(|(_, stats)| {
            stats.absences > 0 || !stats.roams.is_empty() || stats.access_points_lost > 0
        });
        let absent: Vec<NodeId> = absent.map(|(node, _)| *node).collect();
        let at_ends: Vec<&NodeId> = absent.iter().filter(|node| ends.contains(node)).collect();
        let nodes = if at_ends.is_empty() { absent.iter().collect() } else { at_ends };
        nodes.into_iter().map(|node| self.names.node(*node).to_owned()).collect()
    }
}

fn flow(name: &FlowName, tally: &FlowTally, duration: Duration) -> FlowSummary {
    let end = tally.until.min(Instant::ZERO + duration);
    let tcp = tally.tcp.as_ref();
    let acknowledged = tcp.and_then(|tcp| {
        mbps(tcp.last.1.saturating_sub(tcp.base.1), tcp.last.0.saturating_since(tcp.base.0))
    });
    let arrived = || mbps(tally.payload_bytes_measured, end.saturating_since(tally.from));
    let is_udp = matches!(name.kind, FlowKind::Udp | FlowKind::Video | FlowKind::Call);
    let offered = || mbps(tally.offered_bytes, end.saturating_since(tally.from));
    FlowSummary {
        kind: name.kind,
        sender: None,
        receiver: None,
        saturated: name.saturated,
        offered_mbps: is_udp.then(offered).flatten(),
        goodput_mbps: acknowledged.or_else(arrived),
        written_mbps: tcp.and_then(|tcp| {
            let [base, last] = tcp.written;
            mbps(last?.saturating_sub(base?), tcp.last.0.saturating_since(tcp.base.0))
        }),
        rtt_ms: time_ms(&tally.round_trips)
            .or_else(|| tcp.and_then(|tcp| time_ms(&tcp.round_trips))),
        one_way_delay_ms: time_ms(&tally.delays),
        application_delay_ms: time_ms(&tally.application_delays),
        cwnd_packets: tcp.and_then(|tcp| window(&tcp.cwnd_packets)),
        packets_sent: tally.sent,
        packets_received: tally.received,
        packets_lost: tally.lost(),
        packets_lost_by_reason: tally.lost_by_reason(),
        retransmissions: tcp.map(|tcp| tcp.latest.retransmissions),
        delay_parts_ms: tally.parts.all(),
        delay_parts_slowest_ms: tally.parts.slowest(),
        absent_nodes: Vec::new(),
        links: BTreeMap::new(),
        call: match tally.experience.as_deref() {
            Some(Experience::Call(call, playout)) => {
                CallSummary::new(call, playout, Instant::ZERO + duration)
            }
            _ => None,
        },
        web: web(tally).map(WebTally::summary),
        deadline: match tally.experience.as_deref() {
            Some(Experience::Deadline(packets)) => packets.summary(),
            _ => None,
        },
        stream: match tally.experience.as_deref() {
            Some(Experience::Stream(stream)) => Some(stream.summary(Instant::ZERO + duration)),
            _ => None,
        },
        apq: tally.apq.as_deref().cloned(),
    }
}

fn group(members: &[(&FlowName, &FlowTally)], duration: Duration) -> FlowGroupSummary {
    let flows: Vec<FlowSummary> =
        members.iter().map(|(name, tally)| flow(name, tally, duration)).collect();
    let goodputs: Vec<f64> = flows.iter().filter_map(|flow| flow.goodput_mbps).collect();
    let written: Vec<f64> = flows.iter().filter_map(|flow| flow.written_mbps).collect();
    let sum = |values: &[f64]| (!values.is_empty()).then(|| rounded(values.iter().sum::<f64>(), 6));
    let squares: f64 = goodputs.iter().map(|value| value * value).sum();
    let fairness = goodputs.iter().sum::<f64>().powi(2) / (goodputs.len() as f64 * squares);
    let together = |of: fn(&FlowTally) -> &Histogram| {
        let mut all = Histogram::default();
        members.iter().for_each(|(_, tally)| all.merge(of(tally)));
        time_ms(&all)
    };
    FlowGroupSummary {
        kind: members[0].0.kind,
        flows: members.len(),
        goodput_mbps: sum(&goodputs),
        written_mbps: sum(&written),
        fairness: (squares > 0.0).then(|| rounded(fairness, 6)),
        rtt_ms: together(|tally| &tally.round_trips),
        one_way_delay_ms: together(|tally| &tally.delays),
        web: members
            .iter()
            .filter_map(|(_, tally)| web(tally).cloned())
            .reduce(|mut all, one| {
                all.merge(&one);
                all
            })
            .map(|all| all.summary()),
    }
}

/// The pages of a reader; `None` for other flows.
fn web(tally: &FlowTally) -> Option<&WebTally> {
    match tally.experience.as_deref()? {
        Experience::Web(web) => Some(web),
        Experience::Call(..) | Experience::Stream(_) | Experience::Deadline(_) => None,
    }
}

fn node(
    stats: &StationStats,
    station: Option<&StationConfig>,
    counted: Duration,
    names: &Names,
    band: Band,
) -> NodeSummary {
    NodeSummary {
        queue_packets: window(&stats.queue_packets),
        driver_queue_packets: window(&stats.driver_packets),
        queue: station.map(|station| queue(&station.queue)),
        driver_queue: station.and_then(|station| driver_queue(station.driver_queue)),
        aggregation: station.and_then(aggregation),
        queue_drops: stats.queue_drops,
        airtime_fraction: fraction(stats.airtime.as_nanos(), counted.as_nanos()).unwrap_or(0.0),
        pseudo_retry_outs: (stats.pseudo_retry_outs > 0).then_some(PseudoRetryOutSummary {
            mpdus: stats.pseudo_retry_outs,
            ignored: stats.pseudo_retry_outs_ignored,
        }),
        absences: (stats.absences > 0).then(|| absences(stats, station, counted)),
        absence_clocks: station
            .map_or(&[][..], |station| &station.absences)
            .iter()
            .map(absence_clock)
            .collect(),
        roaming: roaming(stats, station, names),
        channel_switches: stats.switches.iter().map(|switched| moved(switched, band)).collect(),
        multi_link: None,
    }
}

/// Shortest stay at a weak access point that is told: NetworkManager's interval of scans.
const LONG_STAY: Duration = Duration::from_secs(30);

fn roaming(
    stats: &StationStats,
    station: Option<&StationConfig>,
    names: &Names,
) -> Option<RoamingSummary> {
    let policy = station.and_then(|station| station.roaming.as_ref()?.policy);
    let long = stats.outranked.iter().filter(|spell| spell.until - spell.from >= LONG_STAY);
    let stays: Vec<_> = long.map(|spell| stay(spell, names)).collect();
    let some = |number: u64| Some(number).filter(|number| *number > 0);
    let StationStats { neighbor_reports, neighbor_reports_missed, .. } = *stats;
    let is_any = stats.access_points_lost > 0
        || !stats.roams.is_empty()
        || !stays.is_empty()
        || neighbor_reports + neighbor_reports_missed > 0
        || stats.steering.requests > 0;
    is_any.then(|| RoamingSummary {
        policy: policy.map(|policy| policy.as_str().to_owned()),
        threshold_dbm: policy.map(|policy| policy.threshold().into()),
        access_points_lost: stats.access_points_lost,
        neighbor_reports: some(neighbor_reports),
        neighbor_reports_missed: some(neighbor_reports_missed),
        steering: Some(stats.steering).filter(|it| it.requests + it.removed > 0).map(steering),
        roams: stats.roams.iter().map(|roamed| roam(roamed, names)).collect(),
        stays,
    })
}

fn stay(spell: &Outranked, names: &Names) -> StaySummary {
    let in_s = |time: Duration| rounded(time.as_secs_f64(), 6);
    StaySummary {
        access_point: names.station(spell.at).to_owned(),
        stronger: names.station(spell.by).to_owned(),
        at_s: in_s(spell.from - Instant::ZERO),
        duration_s: in_s(spell.until - spell.from),
        level_dbm: rounded(spell.level.0, 2),
        stronger_dbm: rounded(spell.stronger.0, 2),
    }
}

fn moved(switched: &Switched, band: Band) -> ChannelSwitchSummary {
    let ms = |time: Duration| rounded(time.as_nanos() as f64 / 1e6, 6);
    let Switched { from, to, radar, quiet, ordered_at, moved_at, checks, checked_at, .. } =
        *switched;
    ChannelSwitchSummary {
        from_channel: from.number(band),
        to_channel: to.number(band),
        radar,
        quiet,
        at_s: rounded((ordered_at - Instant::ZERO).as_secs_f64(), 6),
        announced_ms: moved_at.map(|moved_at| ms(moved_at - ordered_at)),
        check_ms: moved_at.zip(checked_at).map(|(moved, checked)| ms(checked - moved)),
        checking: checks && checked_at.is_none(),
        stations: switched.stations,
        followed: switched.followed,
        without_ms: (switched.followed > 0).then(|| ms(switched.without)),
    }
}

fn absence_clock(absence: &AbsenceConfig) -> AbsenceClockSummary {
    let in_ms = |time: Duration| time.as_secs_f64() * 1e3;
    AbsenceClockSummary {
        away_ms: in_ms(absence.away),
        every_ms: absence.every.map(in_ms),
        announced: absence.announced,
        channel: absence.channel,
    }
}

/// The changes of a station's access point; `None` if nothing came of its roaming.
fn steering(stats: SteeringStats) -> SteeringSummary {
    let SteeringStats { requests, accepted, refused, removed } = stats;
    SteeringSummary { requests, accepted, refused, removed }
}

fn roam(roamed: &Roamed, names: &Names) -> RoamSummary {
    let name = |station: StationId| names.station(station).to_owned();
    let ms = |from: Option<Instant>, to: Option<Instant>| {
        Some(rounded(to?.saturating_since(from?).as_nanos() as f64 / 1e6, 6))
    };
    let Roamed { left_at, authenticated_at, associated_at, joined_at, .. } = *roamed;
    RoamSummary {
        leaves: name(roamed.from),
        joins: name(roamed.to),
        at_s: rounded((left_at - Instant::ZERO).as_secs_f64(), 6),
        steered_by: match roamed.cause {
            RoamCause::Better | RoamCause::Lost => None,
            RoamCause::Removed => Some(SteeredBy::Removal),
            RoamCause::Steered(SteerCause::Signal) => Some(SteeredBy::Signal),
            RoamCause::Steered(SteerCause::Stations) => Some(SteeredBy::Stations),
        },
        scan_ms: ms(Some(roamed.looked_from), Some(left_at)).unwrap_or(0.0),
        listed_channels: roamed.listed_channels,
        authentication_ms: ms(Some(left_at), authenticated_at),
        association_ms: ms(authenticated_at, associated_at),
        handshake_ms: ms(associated_at, joined_at),
        without_ms: ms(Some(roamed.without_from), joined_at),
    }
}

fn absences(
    stats: &StationStats,
    station: Option<&StationConfig>,
    counted: Duration,
) -> AbsenceSummary {
    let service_periods = station.and_then(|station| station.service_periods);
    let twt = service_periods.and_then(|service_periods| match service_periods {
        ServicePeriodConfig::TargetWake(twt) => Some(twt),
        ServicePeriodConfig::Unscheduled(_) => None,
    });
    let in_ms = |time: Duration| time.as_secs_f64() * 1e3;
    AbsenceSummary {
        count: stats.absences,
        time_fraction: fraction(stats.away.as_nanos(), counted.as_nanos()).unwrap_or(0.0),
        nulls: stats.nulls,
        nulls_given_up: stats.nulls_given_up,
        ps_polls: stats.ps_polls,
        triggers: stats.triggers,
        power_save: match (service_periods, station.and_then(|station| station.power_save)) {
            (Some(_), _) if twt.is_some() => Some(PowerSaveKind::Twt),
            (Some(_), _) => Some(PowerSaveKind::UApsd),
            (None, power_save) => power_save.map(|config| match config.sending {
                Sending::Awake => PowerSaveKind::Legacy,
                Sending::InPowerSave(_) => PowerSaveKind::Firmware,
            }),
        },
        wake_interval_ms: twt.map(|twt| in_ms(twt.wake_interval)),
        wake_duration_ms: twt.map(|twt| in_ms(twt.wake_duration)),
        beacons_missed: stats.beacons_missed,
        packets_given_up: stats.off_channel_drops,
    }
}

fn queue(config: &QueueConfig) -> QueueSummary {
    let limits = |limit| match limit {
        Limit::Packets(packets) => (Some(packets), None),
        Limit::Bytes(bytes) => (None, Some(bytes.as_u64())),
    };
    let ms = |time: Duration| {
        (time != QueueConfig::NO_TARGET).then(|| rounded(time.as_nanos() as f64 / 1e6, 6))
    };
    let (kind, (limit_packets, limit_bytes), target_ms) = match *config {
        QueueConfig::DropTail { limit } | QueueConfig::DropTailByPeer { limit, .. } => {
            (QueueKind::DropTail, limits(limit), None)
        }
        QueueConfig::CoDel { limit, target, .. } => (QueueKind::Codel, limits(limit), ms(target)),
        QueueConfig::FqCodel { limit_packets, memory_limit, target, .. } => {
            (QueueKind::FqCodel, (Some(limit_packets), Some(memory_limit.as_u64())), ms(target))
        }
        QueueConfig::EmulatedBdp { limit_packets, target, .. } => {
            (QueueKind::Ebdp, (Some(limit_packets), None), ms(target))
        }
        QueueConfig::DualPi2 { limit_packets, pi2, .. } => {
            (QueueKind::DualPi2, (Some(limit_packets), None), ms(pi2.target))
        }
        QueueConfig::Cake { target, .. } => {
            (QueueKind::Cake, (None, config.bytes_max().map(|bytes| bytes.as_u64())), ms(target))
        }
    };
    QueueSummary { kind, limit_packets, limit_bytes, target_ms }
}

fn driver_queue(limit: DriverLimit) -> Option<DriverQueueSummary> {
    let (limit_packets, limit_airtime_ms) = match limit {
        DriverLimit::None => return None,
        DriverLimit::Packets(packets) => (Some(packets), None),
        DriverLimit::Airtime(airtime) => (None, Some(rounded(airtime.as_nanos() as f64 / 1e6, 6))),
    };
    Some(DriverQueueSummary { limit_packets, limit_airtime_ms })
}

/// Returns the limits of the A-MPDUs of a station with QoS and 802.11n.
fn aggregation(station: &StationConfig) -> Option<AggregationSummary> {
    /// Index of best effort.
    const BEST_EFFORT: usize = AccessCategory::BestEffort.index();
    let ms = |time: Duration| rounded(time.as_nanos() as f64 / 1e6, 6);
    let aggregation = &station.aggregation;
    let txop_limit = station.access[BEST_EFFORT].txop_limit;
    (station.capabilities.ampdu_bytes_max > 0).then(|| AggregationSummary {
        frames_max: aggregation.ampdu_frames_max,
        bytes_max: aggregation.ampdu_bytes_max,
        duration_max_ms: ms(aggregation.ampdu_duration_max),
        block_ack_window: station.block_ack.window,
        txop_limit_ms: (!txop_limit.is_zero()).then(|| ms(txop_limit)),
        driver_packets: match station.driver_queue {
            DriverLimit::Packets(packets) => Some(packets),
            DriverLimit::None | DriverLimit::Airtime(_) => None,
        },
    })
}

fn link(stats: &LinkStats, counted: Duration) -> LinkSummary {
    LinkSummary {
        data_rate_mbps: rates(&stats.ppdus_by_rate),
        ppdus: stats.ppdus,
        mpdus: stats.mpdus,
        mpdus_per_ppdu: count(&stats.mpdus_per_ppdu),
        mpdu_retries: stats.mpdu_retries,
        mpdus_failed: stats.mpdus_failed,
        mpdu_error_rate: fraction(stats.mpdus_failed, stats.mpdus),
        mpdus_lost: stats.mpdus_lost,
        collisions: stats.collisions,
        rts: stats.rts,
        block_ack_requests: stats.block_ack_requests,
        airtime_fraction: fraction(stats.data_airtime.as_nanos(), counted.as_nanos())
            .unwrap_or(0.0),
    }
}

fn wire(stats: &WireStats, cable: Option<&CableConfig>) -> WireSummary {
    let WireStats { packets, queue_drops, lost, waited } = *stats;
    let sent = packets + lost;
    WireSummary {
        rate_mbps: cable.and_then(|cable| Some(cable.rate?.as_mbps_f64())),
        queue: cable.map(|cable| queue(&cable.queue)),
        delay_ms: cable.map(|cable| rounded(cable.delay.as_nanos() as f64 / 1e6, 6)),
        queue_ms: cable
            .filter(|cable| cable.rate.is_some() && sent > 0)
            .map(|_| rounded(waited.as_nanos() as f64 / 1e6 / sent as f64, 6)),
        packets,
        queue_drops,
        packets_lost: lost,
    }
}

fn rates(ppdus_by_rate: &[(Rate, u64)]) -> Option<RateSummary> {
    let rates = || ppdus_by_rate.iter().map(|(rate, _)| rate.bitrate());
    let ppdus: u64 = ppdus_by_rate.iter().map(|(_, ppdus)| ppdus).sum();
    let bps: u128 = ppdus_by_rate
        .iter()
        .map(|(rate, ppdus)| u128::from(rate.bitrate().as_bps()) * u128::from(*ppdus))
        .sum();
    Some(RateSummary {
        mean: rounded(bps as f64 / ppdus as f64 / 1e6, 6),
        min: rates().min()?.as_mbps_f64(),
        max: rates().max()?.as_mbps_f64(),
    })
}

fn emulation(lateness: &Histogram, limit: Duration) -> EmulationSummary {
    let us = |nanos: u64| rounded(nanos as f64 / 1e3, 3);
    let at = |q| lateness.quantile(q).map(us);
    EmulationSummary {
        lateness_us: (|| {
            Some(LatenessSummary {
                p50: at(0.5)?,
                p99: at(0.99)?,
                p99_9: at(0.999)?,
                max: us(lateness.max()?),
            })
        })(),
        late: lateness.quantile(0.999).is_some_and(|p99_9| p99_9 > limit.as_nanos()),
        deliveries: lateness.count(),
        ways: BTreeMap::new(),
    }
}

fn window(levels: &Levels) -> Option<WindowSummary> {
    Some(WindowSummary {
        mean: rounded(levels.mean()?, 6),
        p95: levels.quantile(0.95)?,
        max: levels.max()?,
    })
}

fn count(levels: &Levels) -> Option<CountSummary> {
    Some(CountSummary {
        mean: rounded(levels.mean()?, 6),
        p50: levels.quantile(0.5)?,
        p95: levels.quantile(0.95)?,
        max: levels.max()?,
    })
}

fn mbps(bytes: u64, time: Duration) -> Option<f64> {
    let nanos = time.as_nanos();
    (nanos > 0).then(|| rounded(bytes as f64 * 8e3 / nanos as f64, 6))
}

fn fraction(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| rounded(part as f64 / whole as f64, 9))
}

#[cfg(test)]
mod tests;
