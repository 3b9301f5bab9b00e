"""The summary of a run, as types for a type checker: the type of ``Run.summary``.

Made by ``python/tools/summary.py`` from the JSON Schema that ``lasthop schema run`` prints.
A value that does not apply is absent, never None. Units are in the names.
"""

from __future__ import annotations

from typing import Literal, TypedDict


class _AbsenceClockSummary(TypedDict):
    away_ms: float
    """Length of an absence in ms."""
    announced: bool
    """Whether Null frames announce departure and return."""


class AbsenceClockSummary(_AbsenceClockSummary, total=False):
    """Absences by a clock, as the scenario has them."""

    channel: int
    """Number of the channel on which the node is meanwhile; absent if the scenario has none."""
    every_ms: float
    """Time from the start of one absence to that of the next in ms; absent for a single one."""


class _AbsenceSummary(TypedDict):
    count: int
    """Number of absences."""
    time_fraction: float
    """Share of the time after the warm-up, 0 to 1."""
    nulls: int
    """Null frames sent, retries included."""
    nulls_given_up: int
    """Null frames given up."""
    ps_polls: int
    """PS-Poll frames sent, retries included."""
    packets_given_up: int
    """Packets given up when the node left, or that came while it had no access point or had
    failed."""


class AbsenceSummary(_AbsenceSummary, total=False):
    """Times off the channel or dozing, after the warm-up."""

    beacons_missed: int
    """Beacons missed while the node dozed; absent if none."""
    power_save: PowerSaveKind
    """Kind of power save; absent if the node scans or leaves by a clock."""
    triggers: int
    """QoS Null frames sent to begin service periods, retries included."""
    wake_duration_ms: float
    """Duration of a service period, in ms; absent without TWT."""
    wake_interval_ms: float
    """Time from one target wake time to the next in ms; absent without TWT."""


class _AggregationSummary(TypedDict):
    frames_max: int
    """Largest number of MPDUs, apart from the Block Ack window."""
    bytes_max: int
    """Largest length in bytes; 0 if the node sends no A-MPDUs although its standard has them."""
    duration_max_ms: float
    """Longest duration on the air, in ms."""
    block_ack_window: int
    """Block Ack window of the node, in MPDUs; the receiver's limits it, too."""


class AggregationSummary(_AggregationSummary, total=False):
    """Limits of a node's A-MPDUs in the scenario."""

    driver_packets: int
    """Largest number of packets in the node's driver; absent if there is no such limit."""
    txop_limit_ms: float
    """TXOP limit of best effort, in ms; absent if there is none."""


class _ApqDirection(TypedDict):
    direction: ApqWay
    """Direction of the packets, as seen by the measuring host."""
    trusted: bool
    """Whether the result is without doubts."""
    doubts: list[ApqDoubt]
    """Reasons why the result may be wrong."""
    sizes: list[ApqSize]
    """Results for each packet length, in the order of measurement."""
    measured_s: float
    """Duration of the phases, in seconds, without the pauses between them."""


class ApqDirection(_ApqDirection, total=False):
    """The queue in one direction."""

    discipline: ApqDisciplineJudgement
    """Discipline of the queue; absent if not tested."""
    driver_queue_packets: ApqEstimate
    """Packets in a queue below the upper one, if the measurement shows them."""
    unit: ApqUnitJudgement
    """Unit of the queue's limit, packets or bytes; absent if not tested."""


ApqDiscipline = Literal["drop_tail", "codel", "fair_drop_tail", "fq_codel", "cannot_tell"]
"""Disciplines of a queue: the choice of packets to drop and to send."""


class ApqDisciplineJudgement(TypedDict):
    """Verdict on the discipline of the queue, with its confidence."""

    verdict: ApqDiscipline
    """Discipline that fits the samples."""
    confidence: float
    """Confidence of the verdict, 0 to 1; of `cannot_tell`, that of the likeliest verdict."""


class ApqDoubt(TypedDict):
    """A reason why a result may be wrong."""

    kind: str
    """Kind of the doubt, in one word."""
    sentence: str
    """The doubt as a sentence."""


class _ApqEstimate(TypedDict):
    mean: float
    """Mean of the values."""
    values: int
    """Number of values."""


class ApqEstimate(_ApqEstimate, total=False):
    """A mean over sessions."""

    ci95: float
    """Half-width of the mean's 95 % confidence interval; absent for fewer than two values."""


ApqFlowEnding = Literal["done", "unfinished", "failed"]
"""Ends of a simulated measurement."""


class _ApqFlowSummary(TypedDict):
    ending: ApqFlowEnding
    """End of the measurement; the results until then are present in any case."""
    directions: list[ApqDirection]
    """Results for each direction, in the order of measurement."""


class ApqFlowSummary(_ApqFlowSummary, total=False):
    """The result of a simulated measurement."""

    error: str
    """Reason of the failure, if it failed."""


class ApqLoad(TypedDict):
    """One load of the search for the saturation rate."""

    offered_pps: float
    """Packets sent a second."""
    received_pps: float
    """Packets received a second."""
    loss_fraction: float
    """Share of lost packets, 0 to 1."""
    queueing_delay_ms: float
    """Median delay minus the shortest delay of the search so far, in ms."""


class ApqSession(TypedDict):
    """One session: an empty queue, a full queue, an empty queue."""

    equation_1_packets: float
    """Capacity by equation 1 of the paper, in packets."""
    counted_packets: float
    """Capacity counted packet by packet, in packets."""
    throughput_mbps: float
    """Throughput with a full queue in Mb/s, IP headers included."""
    queueing_delay_ms: float
    """Median delay with a full queue minus that with an empty queue, in ms."""
    loss_fraction: float
    """Share of the saturation flow's packets that were lost, 0 to 1."""
    drift_ppm: float
    """Drift of the receiver's clock against the sender's, in parts per million; positive if the
    receiver's is faster."""


class _ApqSize(TypedDict):
    packet_bytes: int
    """Length of the IP packets in bytes."""
    search: list[ApqLoad]
    """The search for that rate, in the order of measurement."""
    sessions: list[ApqSession]
    """The sessions, in the order of measurement."""


class ApqSize(_ApqSize, total=False):
    """Results with packets of one length."""

    capacity_bytes: ApqEstimate
    """The capacity in bytes of IP packets, counted in the same way."""
    capacity_packets: ApqEstimate
    """The capacity in packets, counted packet by packet: the largest number in the queue and in
    transmission when another one was accepted, that one included."""
    equation_1_packets: ApqEstimate
    """Equation 1 of the paper, in packets: median queueing delay times throughput."""
    queueing_delay_ms: ApqEstimate
    """Median delay with a full queue minus that with an empty queue, in ms."""
    saturation_pps: float
    """Rate of the saturation flow in packets a second."""
    throughput_mbps: ApqEstimate
    """Throughput with a full queue in Mb/s, IP headers included."""


ApqUnit = Literal["packets", "bytes", "cannot_tell"]
"""Unit of a queue's limit."""


class ApqUnitJudgement(TypedDict):
    """Verdict on the unit of the queue's limit, with its confidence."""

    verdict: ApqUnit
    """Unit that fits the samples."""
    confidence: float
    """Confidence of the verdict, 0 to 1; of `cannot_tell`, that of the likeliest verdict."""


ApqWay = Literal["down", "up"]
"""Directions of a measurement."""


class _CallSummary(TypedDict):
    packets: int
    """Number of packets that were due."""
    late_fraction: float
    """Share of the packets that arrived after the instant at which they were due, 0 to 1."""
    lost_fraction: float
    """Share of the packets that had not arrived by the end of the run, 0 to 1."""
    concealed_run_max_packets: int
    """Largest number of successive packets that the receiver concealed, because they were late or
    lost."""
    jitter_ms: float
    """Interarrival jitter (RFC 3550) of the last packets, in ms."""
    mos: float
    """Mean opinion score of that rating, 1 to 4.5; 1 if nothing arrived."""


class CallSummary(_CallSummary, total=False):
    """Quality of a call in one direction, of the packets that left after the warm-up and were due
    by the end of the run."""

    mouth_to_ear_ms: float
    """Delay from mouth to ear, in ms: speech of one packet, delay of the first packet that arrived,
    and jitter buffer. Absent if nothing arrived."""
    r_factor: float
    """Rating factor R of the E-model (ITU-T G.107), at most 93.2; below 50 nearly all users are
    dissatisfied. The codec is G.711 with concealment. Absent if nothing arrived."""


class _ChannelSwitchSummary(TypedDict):
    from_channel: int
    """Number of the primary channel before."""
    to_channel: int
    """Number of the new primary channel."""
    radar: bool
    """Whether a radar was the cause."""
    quiet: bool
    """Whether neither the access point nor its stations were to send data until the move."""
    at_s: float
    """Time in the run at which the access point was to move, in s."""
    stations: int
    """Stations of the access point at `at_s`."""
    followed: int
    """Stations of these that followed by an announcement."""


class ChannelSwitchSummary(_ChannelSwitchSummary, total=False):
    """A move of an access point to another channel."""

    announced_ms: float
    """Time from `at_s` to the move, in ms; absent if that did not come."""
    check_ms: float
    """Time from the move until the access point had heard no radar, in ms; absent without this
    check."""
    checking: bool
    """Whether this check had not ended at the end of the run; absent if not."""
    without_ms: float
    """Longest time without data of a station that followed, in ms; absent if none did."""


class CodedDirectionSummary(TypedDict):
    """One direction of a coded link."""

    packets: int
    """Packets that left the link."""
    delay_ms: TimeSummary
    """Delay from entering to leaving the link, in ms."""


class _CodedEndLinkSummary(TypedDict):
    link: int
    """Number of the link, from 1 on."""
    alive: bool
    """Whether the link is in use; otherwise the end only tests it."""
    datagram_bytes_sent: int
    """Bytes of the datagrams that this end sent on the link."""
    pace_mbps: float
    """Sending rate in Mb/s."""


class CodedEndLinkSummary(_CodedEndLinkSummary, total=False):
    """One of two links of an end, with estimates as of the end of the run."""

    loss_in: float
    """Share of the other end's datagrams lost on the link, once known."""
    loss_out: float
    """Share of this end's datagrams lost on the link, once known."""
    round_trip_ms: float
    """Smoothed round-trip time in ms, once known."""
    share: float
    """Share of the bytes that this end sent on both, once something was sent."""
    silences: list[CodedSilence]
    """Times at which the link was dead, over the whole run."""


class CodedLinkSummary(TypedDict):
    """A coded link, after the warm-up."""

    corrupt: int
    """Packets that left the link without having entered it, or twice: zero, or a bug."""
    directions: dict[str, CodedDirectionSummary]
    """Directions from each end to the other, as `from->to`; absent without traffic."""
    nodes: dict[str, CodedNodeSummary]
    """Nodes of the link by name."""


class _CodedNodeSummary(TypedDict):
    role: CodedRole
    """Role of the node."""
    packets_in: int
    """Packets that entered the link here."""
    packets_out: int
    """Packets that left the link here."""
    backlog_drops: int
    """Packets dropped by the backlog."""
    blocks: int
    """Blocks acknowledged by the other end."""
    source_sent: int
    """Datagrams sent with an uncoded symbol; of a plain link, frames."""
    coded_sent: int
    """Datagrams sent with combinations of symbols."""
    timeouts: int
    """Number of encoder timeouts."""
    acks_sent: int
    """Number of acknowledgements sent."""
    innovative: int
    """Innovative datagrams received: those that raised the rank of their block."""
    redundant: int
    """Redundant datagrams received."""
    stale: int
    """Stale datagrams received, of completed blocks."""
    injected_losses: int
    """Injected losses of datagrams here."""
    datagram_bytes_sent: int
    """Bytes of the datagrams sent."""
    symbols_lost: int
    """Symbols given up because their sender restarted or vanished."""
    sessions: int
    """Number of sessions begun."""


class CodedNodeSummary(_CodedNodeSummary, total=False):
    """A node of a coded link."""

    acks_replaced: int
    """TCP acknowledgements in the backlog that later ones replaced."""
    links: dict[str, CodedEndLinkSummary]
    """The links of an end with two, by the node whose network interface is the end's."""
    loss_in: dict[str, float]
    """Share of the datagrams to this node that were lost, by neighbour, as estimated at the end."""
    timeouts_per_block: float
    """Mean number of encoder timeouts for a block of this end."""
    transmissions_per_block: float
    """Mean number of `source_sent` and `coded_sent` for a block of this end."""


CodedRole = Literal["end", "relay", "helper"]
"""Roles of a node of a coded link."""


class _CodedSilence(TypedDict):
    from_s: float
    """Time at which the last datagram was sent that arrived, in s since the start of the run."""


class CodedSilence(_CodedSilence, total=False):
    """A time at which a link was dead, as an end noticed it."""

    until_s: float
    """Time at which the end knew that datagrams arrive again; absent if none did."""


class CountSummary(TypedDict):
    """A distribution of counts with its median."""

    mean: float
    """Mean of the counts."""
    p50: int
    """Median of the counts."""
    p95: int
    """Count that 95 % of the values do not exceed."""
    max: int
    """Greatest of the counts."""


class DeadlineSummary(TypedDict):
    """Packets of a flow with a deadline, of those that left in the measured time, at least the
    deadline before its end."""

    deadline_ms: float
    """One-way delay after which a packet is late, in ms."""
    packets: int
    """Number of packets."""
    late_fraction: float
    """Share of the packets that arrived after the deadline, 0 to 1."""
    lost_fraction: float
    """Share of the packets that had not arrived by the end of the run, 0 to 1."""


class _DelayPartsSummary(TypedDict):
    queue: float
    """Waiting behind other packets in the queues of the Wi-Fi hop."""
    contention: float
    """Waiting for the channel: AIFS, backoff, other stations, RTS/CTS."""
    retries: float
    """From the first PPDU that carried the packet to the PPDU that delivered it."""
    reorder: float
    """Held in the recipient's reorder buffer."""
    air: float
    """On the air, in the PPDU that delivered the packet."""
    wire: float
    """On wires: queue, serialisation, propagation, jitter."""


class DelayPartsSummary(_DelayPartsSummary, total=False):
    """The parts of a mean one-way delay."""

    asleep: float
    """Waiting for a station that dozed (power save), up to its return, its PS-Poll or, of group
    frames, the DTIM: for the sender or for the receiver."""
    away: float
    """Waiting for a station that was off its channel (background scan): for the sender from the
    stop of its queue on, or for the receiver."""
    other: float
    """Other delay (the processing time of hosts, coded links); absent when zero."""
    roam: float
    """Waiting for a station without an access point, the sender or the receiver, until it has
    joined one; absent when zero."""


class DriverQueueSummary(TypedDict, total=False):
    """Configuration of the queue of driver and hardware in the scenario. Active queue management
    does not cover it."""

    limit_airtime_ms: float
    """Limit of the estimated airtime of each receiver's packets, in ms (Airtime Queue Limits);
    absent if there is none."""
    limit_packets: int
    """Limit in packets, those in flight included; absent if there is none."""


class _EmulationSummary(TypedDict):
    late: bool
    """Whether more than one delivery in a thousand was later than the scenario allows: if so, do
    not trust the delays."""
    deliveries: int
    """Packets delivered, in all."""


class EmulationSummary(_EmulationSummary, total=False):
    """Lateness of an emulated run, and its ways to the machine."""

    lateness_us: LatenessSummary
    """Lateness of deliveries, from the computed to the real instant, in us."""
    ways: dict[str, WaySummary]
    """Ports between the nodes and the machine's loopback, by option and value (`--reach 3000`)."""


class _FindingSummary(TypedDict):
    kind: str
    """Kind of the finding as a word, such as `own_queue`."""
    title: str
    """Heading of the finding."""
    sentence: str
    """Evidence in numbers, as a sentence."""
    weight: float
    """Cost of the problem, 0 to 1; findings are in descending order of it."""


class FindingSummary(_FindingSummary, total=False):
    """A problem of a run."""

    device: str
    """The remedy on real devices, as a sentence; absent if there is none."""
    not_tried: str
    """The reason why the remedy was not tried, as a clause; absent if it was tried, or if there is
    none."""
    remedy: list[str]
    """Changes of the scenario that may help together, as arguments of `--set`; absent if there are
    none."""
    trial: TrialSummary
    """The result of the remedy in virtual time; absent if the remedy was not tried."""


class _FlowGroupSummary(TypedDict):
    kind: FlowKind
    """Kind of traffic."""
    flows: int
    """Number of flows."""


class FlowGroupSummary(_FlowGroupSummary, total=False):
    """Several flows that a scenario describes together."""

    fairness: float
    """Jain's fairness index of the flows' `goodput_mbps`: 1 if all are equal."""
    goodput_mbps: float
    """Sum of the flows' `goodput_mbps`."""
    one_way_delay_ms: TimeSummary
    """One-way delays of all flows together, in ms."""
    rtt_ms: TimeSummary
    """Round-trip times of all flows together, in ms."""
    web: WebSummary
    """Web pages of all readers together."""
    written_mbps: float
    """Sum of the flows' `written_mbps`."""


FlowKind = Literal["tcp", "udp", "ping", "video", "call", "apq"]
"""Kinds of flows."""


class _FlowLinkSummary(TypedDict):
    packets: int
    """Packets that the link delivered."""
    share: float
    """Their share of the packets that all links of these devices delivered, 0 to 1."""
    reorder_ms: float
    """Mean time in the reorder buffer, in ms, for earlier packets that another link sent first."""


class FlowLinkSummary(_FlowLinkSummary, total=False):
    """Packets of a flow on one link of two devices, after the warm-up."""

    delay_ms: TimeSummary
    """Delay from entering the network to leaving this hop, in ms; percentiles to a hundredth.
    Absent if the link delivered none."""
    other_wait_ms: dict[str, float]
    """Mean wait that the same packets would have had for each other link, in ms, by its name: until
    that link, which contends at the same time, gained its channel."""
    wait_ms: float
    """Mean wait for this link, of packets that it took first, in ms: from when they were first in
    line until the link gained its channel. Absent if the wait for no other link is known."""


class _FlowSummary(TypedDict):
    kind: FlowKind
    """Kind of traffic."""
    packets_sent: int
    """Packets that entered the network, over the whole run."""
    packets_received: int
    """Packets that arrived, over the whole run."""
    packets_lost: int
    """Packets that the network gave up, over the whole run. Packets neither received nor lost were
    in flight when the run ended."""


class FlowSummary(_FlowSummary, total=False):
    """A flow, in the direction from its sender to its receiver."""

    absent_nodes: list[str]
    """Nodes whose absences packets waited for (`away`, `asleep`, `roam`): the flow's ends, or all
    absent nodes if neither end was absent."""
    application_delay_ms: TimeSummary
    """Delay from an application's write to the read of its last byte at the other end of a TCP
    connection, in ms, for data read after the warm-up. Absent for a bulk transfer, which always has
    more to write."""
    apq: ApqFlowSummary
    """Result of an APQ flow."""
    call: CallSummary
    """Quality of one direction of a call."""
    cwnd_packets: WindowSummary
    """Congestion window after the warm-up, in segments, over regular readings."""
    deadline: DeadlineSummary
    """Packets that came too late or never, of a flow with a deadline."""
    delay_parts_ms: DelayPartsSummary
    """Parts of the one-way delay, in ms a packet; their sum is its mean."""
    delay_parts_slowest_ms: DelayPartsSummary
    """Parts of the delay of the slowest 1 % of these packets, at least one; their sum is the mean
    delay of these. Delays within 1.6 % of each other count as equal."""
    goodput_mbps: float
    """Payload delivered after the warm-up, while the flow was on, in Mb/s (10^6 bits a second).
    Payload is the content of UDP, ICMP or TCP; for a TCP flow, the data that the sender saw
    acknowledged, if the sender was read."""
    links: dict[str, FlowLinkSummary]
    """Links of devices of several links that its packets took, as `sender->receiver@band`, after
    the warm-up; absent if each node has one link."""
    offered_mbps: float
    """UDP payload (video, too) that entered the network after the warm-up, while the flow was on,
    in Mb/s: the value of `goodput_mbps` without losses."""
    one_way_delay_ms: TimeSummary
    """Delay from entering to leaving the network, in ms, of the packets that arrived after the
    warm-up."""
    packets_lost_by_reason: dict[str, int]
    """Lost packets by reason; reasons that did not occur are absent."""
    receiver: str
    """Node at which the flow's data leaves the network."""
    retransmissions: int
    """Segments that the TCP sender retransmitted, over the whole run."""
    rtt_ms: TimeSummary
    """Round-trip times after the warm-up, in ms: of echo requests, or of a TCP sender. In
    simulation, they are the times from transmission to acknowledgement of all segments sent once;
    in emulation, regular readings of the kernel's smoothed round-trip time."""
    saturated: bool
    """Whether the flow always has a packet to send, and so fills its share of the queue; absent if
    not, and for other traffic than UDP."""
    sender: str
    """Node at which the flow's data enters the network; absent, as `receiver`, in documents of
    earlier versions."""
    stream: StreamSummary
    """Streamed video of a viewer."""
    web: WebSummary
    """Web pages of a reader."""
    written_mbps: float
    """Payload that the sender's socket accepted in the time of `goodput_mbps`, in Mb/s: netperf and
    iperf count this where they send. Of simulated TCP senders only."""


class IdleLinkSummary(TypedDict):
    """A link that neither contends nor sends although packets wait for a device with this link:
    shares of the time after the warm-up, 0 to 1, by reason."""

    window_fraction: float
    """The Block Ack window is full."""
    engaged_fraction: float
    """A device at one end has one radio, which is on another link or returns from it."""
    barred_fraction: float
    """The packets may not take the link."""


class LatenessSummary(TypedDict):
    """Distribution of lateness, in microseconds."""

    p50: float
    """Median of the lateness."""
    p99: float
    """Lateness that 99 % of deliveries do not exceed."""
    p99_9: float
    """Lateness that 99.9 % of deliveries do not exceed."""
    max: float
    """Greatest of the lateness."""


class LeftOutSummary(TypedDict):
    """Flows of real programs beyond the recorded ones."""

    flows: int
    """Number of flows; 65536 means that number or more."""
    packets: int
    """Number of packets of these flows."""


class _LinkSummary(TypedDict):
    ppdus: int
    """Data PPDUs sent."""
    mpdus: int
    """Data MPDUs sent, retransmissions included."""
    mpdu_retries: int
    """Retransmissions among the MPDUs sent."""
    mpdus_failed: int
    """MPDUs that were sent and not acknowledged in that exchange."""
    mpdus_lost: int
    """MPDUs given up (retry limit or lifetime)."""
    collisions: int
    """Data PPDUs that overlapped with another PPDU at the receiver."""
    rts: int
    """RTS frames sent."""
    block_ack_requests: int
    """Block Ack Requests sent."""
    airtime_fraction: float
    """Share of the time after the warm-up in which its data PPDUs were on the air, 0 to 1."""


class LinkSummary(_LinkSummary, total=False):
    """One direction of a Wi-Fi link, after the warm-up."""

    data_rate_mbps: RateSummary
    """PHY rates of data PPDUs in Mb/s."""
    mpdu_error_rate: float
    """Share of the MPDUs sent that were not acknowledged in that exchange, 0 to 1."""
    mpdus_per_ppdu: CountSummary
    """Data MPDUs in a PPDU."""


class _MultiLinkSummary(TypedDict):
    queued_fraction: float
    """Time for which packets wait in its queue, as a share of the time after the warm-up, 0 to 1;
    summed over access categories."""
    links: dict[str, IdleLinkSummary]
    """Its links by name."""


class MultiLinkSummary(_MultiLinkSummary, total=False):
    """A device of several links, after the warm-up."""

    switching: SwitchingSummary
    """Time that a device with one radio (EMLSR) takes to turn it; absent for other devices."""


class NeighbourSummary(TypedDict):
    """A neighbour on the channel."""

    busy: float
    """Share of the time in which a PPDU of the neighbour would be on the air without other traffic,
    0 to 1, as the scenario sets it."""
    airtime_fraction: float
    """Share of the time after the warm-up in which one of the neighbour's nodes transmitted, 0 to
    1: less than `busy` on a crowded channel, more with retransmissions after collisions."""


class _NodeSummary(TypedDict):
    queue_drops: int
    """Packets dropped by a full queue or by active queue management."""
    airtime_fraction: float
    """Share of the time after the warm-up in which the node transmitted, 0 to 1."""


class NodeSummary(_NodeSummary, total=False):
    """A Wi-Fi node, after the warm-up."""

    absence_clocks: list[AbsenceClockSummary]
    """Clocks of the node's absences in the scenario; absent without any."""
    absences: AbsenceSummary
    """Absences of the node for scans, by a clock or for power save; absent if it was always
    reachable."""
    aggregation: AggregationSummary
    """Limits of the node's A-MPDUs; absent if it sends none."""
    channel_switches: list[ChannelSwitchSummary]
    """Moves of an access point to other channels, after the warm-up; absent without any."""
    driver_queue: DriverQueueSummary
    """Driver's queue below that one; absent if there is none."""
    driver_queue_packets: WindowSummary
    """Packets of `queue_packets` in the driver's queue and in flight, over time; absent without a
    driver's queue."""
    multi_link: MultiLinkSummary
    """Use of its links; absent if it has one."""
    pseudo_retry_outs: PseudoRetryOutSummary
    """MPDUs that the node gave up as a receiver; absent if there are none."""
    queue: QueueSummary
    """Queue above the MAC, one for each access category."""
    queue_packets: WindowSummary
    """Packets in the node's Wi-Fi queues over time, driver queue and packets in flight included."""
    roaming: RoamingSummary
    """Changes of the node's access point; absent if it stayed."""


PowerSaveKind = Literal["legacy", "firmware", "u-apsd", "twt"]
"""Kinds of power save, by their words in scenario files."""


class _ProgramSummary(TypedDict):
    packets_sent: int
    """Packets that entered the network."""
    packets_received: int
    """Packets that arrived."""
    bytes_received: int
    """Bytes of the packets that arrived, IP header included."""
    packets_lost: int
    """Packets that the network gave up."""


class ProgramSummary(_ProgramSummary, total=False):
    """One direction of a flow of real programs, over the whole run."""

    absent_nodes: list[str]
    """Nodes whose absences packets waited for, as for a flow."""
    acks_replaced: int
    """Acknowledgements of TCP that a coded link replaced by later ones: nothing is lost with
    them."""
    delay_parts_ms: DelayPartsSummary
    """Parts of the one-way delay, in ms a packet; their sum is its mean."""
    delay_parts_slowest_ms: DelayPartsSummary
    """Parts of the delay of the slowest 1 % of these packets, at least one."""
    links: dict[str, FlowLinkSummary]
    """Links of devices of several links that its packets took, as for a flow."""
    one_way_delay_ms: TimeSummary
    """Delay from entering to leaving the network, in ms."""
    packets_lost_by_reason: dict[str, int]
    """Lost packets by reason; reasons that did not occur are absent."""
    program: str
    """Program that sends, by its name in the kernel (up to 15 bytes); absent if the program had
    ended before the look-up, or sends from outside."""
    receiver: str
    """Node at which the packets leave the network."""
    sender: str
    """Node at which the packets enter the network; absent, as `receiver`, in documents of earlier
    versions."""


class PseudoRetryOutSummary(TypedDict):
    """Erroneous MPDUs that a receiver gave up, after the warm-up."""

    mpdus: int
    """MPDUs given up."""
    ignored: int
    """Of those, MPDUs that arrived later and were ignored."""


QueueKind = Literal["drop-tail", "codel", "fq-codel", "ebdp", "dualpi2", "cake"]
"""Queue disciplines, by their words in scenario files."""


class _QueueSummary(TypedDict):
    kind: QueueKind
    """Discipline of the queue."""


class QueueSummary(_QueueSummary, total=False):
    """Configuration of a queue in the scenario."""

    limit_bytes: int
    """Limit of the queue, in bytes; absent if there is none."""
    limit_packets: int
    """Limit of the queue, in packets; absent if there is none."""
    target_ms: float
    """Target of the standing delay (CoDel and FQ-CoDel) or of a full queue's delay (eBDP), in ms;
    absent with drop-tail."""


class RateSummary(TypedDict):
    """Rates of PPDUs, in Mb/s."""

    mean: float
    """Mean rate over PPDUs."""
    min: float
    """Lowest rate of a PPDU."""
    max: float
    """Highest rate of a PPDU."""


class _RoamSummary(TypedDict):
    leaves: str
    """Access point before."""
    joins: str
    """Access point that it joins."""
    at_s: float
    """Time in the run at which it left for it, in s."""
    scan_ms: float
    """Duration of the scan or search that came before, in ms."""


class RoamSummary(_RoamSummary, total=False):
    """An attempt of a station to join an access point."""

    association_ms: float
    """Time from there to the end of association, in ms."""
    authentication_ms: float
    """Time from `at_s` to the end of authentication, in ms; absent if that did not come, as
    below."""
    handshake_ms: float
    """Time from there to the end of the handshake, in ms; 0 without one."""
    listed_channels: int
    """Channels of that scan; absent if it had all."""
    steered_by: SteeredBy
    """Reason, if an access point is it; absent if the station chose, or lost its access point."""
    without_ms: float
    """Time without data, from the loss of the old access point or from `at_s`, in ms; absent if it
    did not join."""


class _RoamingSummary(TypedDict):
    access_points_lost: int
    """Number of times that it lost its access point."""
    roams: list[RoamSummary]
    """Attempts to join another, in their order."""


class RoamingSummary(_RoamingSummary, total=False):
    """Changes of a station's access point, after the warm-up."""

    neighbor_reports: int
    """Number of neighbor reports that it received; absent without any."""
    neighbor_reports_missed: int
    """Number of neighbor reports that did not come; absent without any."""
    policy: str
    """When it scans for another, and which one it prefers: `simple`, `learn`, `iwd` or `phone`;
    absent if it scans only without an access point."""
    stays: list[StaySummary]
    """Spells of 30 s and more in which it stayed at an access point below -70 dBm while another one
    was at least 12 dB stronger."""
    steering: SteeringSummary
    """Requests of access points to move, and their results; absent without any."""
    threshold_dbm: float
    """Level in dBm below which it scans, or scans often; absent without a policy."""


class StaySummary(TypedDict):
    """A spell in which a station stays at a weak access point."""

    access_point: str
    """Access point of the station."""
    stronger: str
    """The strongest one of the network at the end."""
    at_s: float
    """Time in the run at which the spell began, in s."""
    duration_s: float
    """Duration of the spell in s."""
    level_dbm: float
    """Level of the access point at the end, without fading, in dBm."""
    stronger_dbm: float
    """Level of the stronger one at the end in dBm."""


SteeredBy = Literal["signal", "stations", "removal"]
"""Reason of a change of the access point that the station did not choose."""


class SteeringSummary(TypedDict):
    """Requests of access points to a station to move (802.11v)."""

    requests: int
    """Number of requests."""
    accepted: int
    """Number of requests that the station accepted."""
    refused: int
    """Number of requests that it refused, because it heard no candidate, or none loud enough."""
    removed: int
    """Number of times that an access point removed it."""


class _StreamSummary(TypedDict):
    stalls: int
    """Number of stalls, in which play waited for the next segment."""
    stalled_s: float
    """Time of all stalls, in s."""
    segments: int
    """Number of segments that arrived."""
    switches: int
    """Number of segments with another bitrate than the segment before."""


class StreamSummary(_StreamSummary, total=False):
    """A film of a viewer, in the measured time."""

    mean_bitrate_mbps: float
    """Mean bitrate of these segments, in Mb/s. Absent without any."""
    rebuffering_fraction: float
    """Share of the stalls in the time since play began, 0 to 1. Absent if it never did."""
    startup_s: float
    """Time from the start of the flow until play began, in s, also if play began in the warm-up.
    Absent if it never did."""


class SwitchingSummary(TypedDict):
    """Time that a device with one radio takes to turn it between links (EMLSR, 35.3.17 of IEEE
    802.11be-2024). Shares are of the time after the warm-up, 0 to 1."""

    requests: int
    """Initial control frames to it, and RTS that it sends because it lost the state of the
    medium."""
    unanswered: int
    """Requests of these without an answer."""
    request_fraction: float
    """Time from their begin to that of the data."""
    padding_fraction: float
    """Part of `request_fraction` that is padding."""
    transition_fraction: float
    """Time for its return to all links after exchanges."""
    exchange_fraction: float
    """Time of the exchanges, requests included."""
    request_ms: float
    """Mean time that a packet waits for its request, in ms, over packets in exchanges with one."""
    transition_ms: float
    """Mean time for which such a packet is first in line while the device returns to its links, in
    ms. Backoff goes on meanwhile, so it loses no more than that."""


class TimeSummary(TypedDict):
    """A distribution of times."""

    mean: float
    """Mean of the times."""
    p50: float
    """Median of the times."""
    p95: float
    """Time that 95 % of the values do not exceed."""
    p99: float
    """Time that 99 % of the values do not exceed."""
    max: float
    """Greatest of the times."""


class _TrialQuantity(TypedDict):
    quantity: str
    """The flow and its quantity, such as `upload carries`."""
    unit: str
    """The unit, `ms` or `Mb/s`."""


class TrialQuantity(_TrialQuantity, total=False):
    """A quantity without a remedy and with it."""

    after: float
    """The value with the remedy; absent if nothing arrived."""
    before: float
    """The value without the remedy; absent if nothing arrived."""


class TrialSummary(TypedDict):
    """The result of a remedy: the scenario without it and with it, in virtual time."""

    helps: bool
    """Whether the quantity that the finding is about gets better by a tenth or more."""
    quantities: list[TrialQuantity]
    """The longest delay and the goodput, where flows have them."""


class WaySummary(TypedDict):
    """The counts of a port between the nodes and the machine (`--reach`, `--publish`)."""

    far_side: str
    """Port at the far side, such as `port 80 of server`."""
    connections: int
    """Number of TCP connections."""
    connections_refused: int
    """TCP connections reset because no program listened at the far side."""
    clients: int
    """UDP clients, each an address with a port."""
    clients_displaced: int
    """UDP clients that newer ones displaced."""
    datagrams_sent: int
    """Datagrams passed on from clients."""
    datagrams_answered: int
    """Datagrams passed on to clients."""
    datagrams_refused: int
    """Datagrams dropped because no program had the port at the far side."""
    datagrams_overflowed: int
    """Datagrams dropped at a full buffer."""


class _WebSummary(TypedDict):
    pages: int
    """Number of pages that were loaded completely."""
    pages_unfinished: int
    """Number of pages that were not complete at the end of the run."""


class WebSummary(_WebSummary, total=False):
    """Pages of a reader, of those that the reader asked for in the measured time."""

    page_load_ms: TimeSummary
    """Time from the reader's wish for a page until its last byte arrived, in ms, with the time in
    which the browser parses it. Of complete pages; absent without any."""


class WindowSummary(TypedDict):
    """A distribution of counts: mean, 95th percentile, greatest."""

    mean: float
    """Mean of the counts."""
    p95: int
    """Count that 95 % of the values do not exceed."""
    max: int
    """Greatest of the counts."""


class _WireSummary(TypedDict):
    packets: int
    """Packets delivered at the far end."""
    queue_drops: int
    """Packets dropped by its queue."""
    packets_lost: int
    """Packets lost on the wire."""


class WireSummary(_WireSummary, total=False):
    """A direction of a wire, after the warm-up."""

    delay_ms: float
    """Propagation delay in ms at the beginning of the run; absent in documents of earlier
    versions."""
    queue: QueueSummary
    """Queue before the wire."""
    queue_ms: float
    """Mean time that packets waited in the queue before it, in ms; absent without a rate or
    packets."""
    rate_mbps: float
    """Bit rate in Mb/s at the beginning; absent if it never limits."""


class _RunDocument(TypedDict):
    scenario: str
    """Name of the scenario."""
    seed: int
    """Seed of the run's random numbers."""
    run: int
    """Number of the run; runs of one seed differ in their random numbers."""
    duration_s: float
    """Duration of the run, in seconds of the scenario's time."""
    warmup_s: float
    """Seconds at the start that are left out of goodput, delays, round trips and windows, and of
    the counters of nodes, links and wires."""
    wall_s: float
    """Elapsed real time, in seconds."""
    version: str
    """Version of lasthop that made the run."""
    flows: dict[str, FlowSummary]
    """Summaries of the flows, by name."""
    nodes: dict[str, NodeSummary]
    """Wi-Fi nodes by name, without those of neighbours."""
    links: dict[str, LinkSummary]
    """Directions of the Wi-Fi links that carried data, as `sender->receiver`, without those of
    neighbours; where devices have several links, each as `sender->receiver@band`."""


class RunDocument(_RunDocument, total=False):
    """The summary of one run of a scenario."""

    emulation: EmulationSummary
    """Timing of an emulated run; absent in simulated ones."""
    findings: list[FindingSummary]
    """Findings of the run's report, worst first; absent if there are none."""
    flow_groups: dict[str, FlowGroupSummary]
    """Flows that the scenario describes together, by a count or a pattern; absent if there are
    none."""
    franc: dict[str, CodedLinkSummary]
    """Coded links by name."""
    neighbours: dict[str, NeighbourSummary]
    """Neighbours on the channel, by name."""
    programs: dict[str, ProgramSummary]
    """Flows of real programs, each direction separately, as `protocol source -> destination`; of
    emulated runs only."""
    programs_left_out: LeftOutSummary
    """Flows of programs beyond those in `programs`; absent if there are none."""
    set: list[str]
    """Changes of the scenario file as `key=value`, in their order: arguments of `--set`, and of
    options that set a key."""
    warnings: list[str]
    """Warnings about settings that distort the results."""
    wires: dict[str, WireSummary]
    """Directions of the wires, as `from->to`."""
