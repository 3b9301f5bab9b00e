"""The summary of a run, as types for a type checker: what ``Run.summary`` returns.

Made by ``python/tools/summary.py`` from the JSON Schema that ``lasthop schema run`` prints.
A value that does not apply is absent, never None. Units are in the names.
"""

from __future__ import annotations

from typing import Literal, TypedDict


class _AbsenceSummary(TypedDict):
    count: int
    """How often."""
    time_fraction: float
    """Share of the time after the warm-up, 0 to 1."""
    nulls: int
    """Null frames sent, retries included."""
    nulls_given_up: int
    """Null frames given up."""
    ps_polls: int
    """PS-Poll frames sent, retries included."""
    packets_given_up: int
    """Packets given up on leaving."""


class AbsenceSummary(_AbsenceSummary, total=False):
    """When a node was off its channel or dozed, after the warm-up."""

    beacons_missed: int
    """Beacons that it dozed for and did not hear; absent if none."""
    power_save: PowerSaveKind
    """How it saves power; absent if it scans."""
    triggers: int
    """QoS Null frames that begin service periods sent, retries included."""
    wake_duration_ms: float
    """How long a service period lasts in ms; absent without TWT."""
    wake_interval_ms: float
    """Time from one target wake time to the next in ms; absent without TWT."""


class _AggregationSummary(TypedDict):
    frames_max: int
    """Most MPDUs, the Block Ack window apart."""
    bytes_max: int
    """Most bytes; 0 if it sends no A-MPDUs, although the standard has them."""
    duration_max_ms: float
    """Longest time on the air in ms."""
    block_ack_window: int
    """Block Ack window of the node in MPDUs; that of the receiver bounds it, too."""


class AggregationSummary(_AggregationSummary, total=False):
    """The bounds of the A-MPDUs of a node, as the scenario has them."""

    driver_packets: int
    """Packets that its driver holds at most; absent if they are not bounded by number."""
    txop_limit_ms: float
    """TXOP limit of best effort in ms; absent if there is none."""


class _ApqDirection(TypedDict):
    direction: ApqWay
    """Which way the packets went, as the host that measures sees it."""
    trusted: bool
    """Nothing speaks against the result: there are no doubts."""
    doubts: list[ApqDoubt]
    """Why the result may be wrong."""
    sizes: list[ApqSize]
    """What packets of each length showed, in the order of measurement."""
    measured_s: float
    """Seconds that its phases took, pauses between them left out."""


class ApqDirection(_ApqDirection, total=False):
    """The queue in one direction."""

    discipline: ApqDisciplineJudgement
    """How the queue chooses what to drop and what to send; absent if it was not asked for."""
    driver_queue_packets: ApqEstimate
    """Packets that a queue under the upper one holds, where that shows."""
    unit: ApqUnitJudgement
    """What the queue's bound counts; absent if it was not asked for."""


ApqDiscipline = Literal["drop_tail", "codel", "fair_drop_tail", "fq_codel", "cannot_tell"]
"""How a queue chooses what to drop and what to send."""


class ApqDisciplineJudgement(TypedDict):
    """How the queue is managed, and how sure that is."""

    verdict: ApqDiscipline
    """What was decided."""
    confidence: float
    """How sure, 0 to 1; of `cannot_tell`, how sure the likeliest verdict would have been."""


class ApqDoubt(TypedDict):
    """Why a result may be wrong."""

    kind: str
    """Which doubt, in one word."""
    sentence: str
    """The same for a person."""


class _ApqEstimate(TypedDict):
    mean: float
    """Mean."""
    values: int
    """How many values it is made of."""


class ApqEstimate(_ApqEstimate, total=False):
    """A mean over sessions."""

    ci95: float
    """Half the width of its 95 % confidence interval; absent for fewer than two values."""


ApqFlowEnding = Literal["done", "unfinished", "failed"]
"""How a simulated measurement ended."""


class _ApqFlowSummary(TypedDict):
    ending: ApqFlowEnding
    """How it ended; what was found until then is told in any case."""
    directions: list[ApqDirection]
    """One for each direction, in the order of measurement."""


class ApqFlowSummary(_ApqFlowSummary, total=False):
    """What a simulated measurement found."""

    error: str
    """Why it failed, if it did."""


class ApqLoad(TypedDict):
    """One load of the search for the saturation rate."""

    offered_pps: float
    """Packets a second that were sent."""
    received_pps: float
    """Packets a second that arrived."""
    loss_fraction: float
    """Share of packets that did not arrive, 0 to 1."""
    queueing_delay_ms: float
    """Median delay less the shortest one of the search so far, in ms."""


class ApqSession(TypedDict):
    """One session: an empty queue, a full queue, an empty queue."""

    equation_1_packets: float
    """Equation 1 in packets."""
    counted_packets: float
    """The capacity counted packet by packet."""
    throughput_mbps: float
    """Throughput with a full queue in Mb/s, IP headers included."""
    queueing_delay_ms: float
    """Median delay with a full queue less that with an empty one, in ms."""
    loss_fraction: float
    """Share of the saturation flow's packets that did not arrive, 0 to 1."""
    drift_ppm: float
    """By how much the receiver's clock gained on the sender's, in parts per million."""


class _ApqSize(TypedDict):
    packet_bytes: int
    """Length of the IP packets in bytes."""
    search: list[ApqLoad]
    """The search for that rate, in the order of measurement."""
    sessions: list[ApqSession]
    """The sessions, in the order of measurement."""


class ApqSize(_ApqSize, total=False):
    """What packets of one length showed."""

    capacity_bytes: ApqEstimate
    """The same in bytes of IP packets."""
    capacity_packets: ApqEstimate
    """The capacity in packets, counted packet by packet: the most that were in the queue and in
    transmission when one more was let in, that one included."""
    equation_1_packets: ApqEstimate
    """Equation 1 of the paper, in packets: median queueing delay times throughput."""
    queueing_delay_ms: ApqEstimate
    """Median delay with a full queue less that with an empty one, in ms."""
    saturation_pps: float
    """Rate of the saturation flow in packets a second."""
    throughput_mbps: ApqEstimate
    """Throughput with a full queue in Mb/s, IP headers included."""


ApqUnit = Literal["packets", "bytes", "cannot_tell"]
"""What the bound of a queue counts."""


class ApqUnitJudgement(TypedDict):
    """What the queue's bound counts, and how sure that is."""

    verdict: ApqUnit
    """What was decided."""
    confidence: float
    """How sure, 0 to 1; of `cannot_tell`, how sure the likeliest verdict would have been."""


ApqWay = Literal["down", "up"]
"""A direction."""


class CodedDirectionSummary(TypedDict):
    """One direction of a coded link."""

    packets: int
    """Packets that came out."""
    delay_ms: TimeSummary
    """From going in to coming out, in ms."""


class CodedLinkSummary(TypedDict):
    """A coded link, after the warm-up."""

    corrupt: int
    """Packets that came out and were not, or not again, what went in: zero, or a bug."""
    directions: dict[str, CodedDirectionSummary]
    """From each end to the other, as `from->to`; absent where nothing was carried."""
    nodes: dict[str, CodedNodeSummary]
    """Its nodes by name."""


class _CodedNodeSummary(TypedDict):
    role: CodedRole
    """What it is."""
    packets_in: int
    """Packets that went in here."""
    packets_out: int
    """Packets that came out here."""
    backlog_drops: int
    """Packets that the backlog dropped."""
    blocks: int
    """Blocks that the other end has."""
    source_sent: int
    """Datagrams sent with a symbol as it is; of a plain link, frames."""
    coded_sent: int
    """Datagrams sent with combinations of symbols."""
    timeouts: int
    """Encoder timeouts."""
    acks_sent: int
    """Acknowledgements sent."""
    innovative: int
    """Datagrams received that told something new."""
    redundant: int
    """Datagrams received that told nothing new."""
    stale: int
    """Datagrams received of blocks that were done."""
    injected_losses: int
    """Datagrams lost here by injection."""
    datagram_bytes_sent: int
    """Bytes of the datagrams that it sent."""
    symbols_lost: int
    """Symbols given up because their sender restarted or vanished."""
    sessions: int
    """Sessions that began."""


class CodedNodeSummary(_CodedNodeSummary, total=False):
    """A node of a coded link."""

    loss_in: dict[str, float]
    """Share of the datagrams to it that were lost, by neighbour, as it finds at the end."""
    timeouts_per_block: float
    """The same in the mean for a block of this end."""
    transmissions_per_block: float
    """Both in the mean for a block of this end."""


CodedRole = Literal["end", "relay", "helper"]
"""What a node of a coded link is."""


class CountSummary(TypedDict):
    """A distribution of counts with its median."""

    mean: float
    """Mean."""
    p50: int
    """Median."""
    p95: int
    """95 % are at or below."""
    max: int
    """Greatest."""


class _DelayPartsSummary(TypedDict):
    queue: float
    """Waiting behind other packets in the queues of the Wi-Fi hop."""
    contention: float
    """Waiting for the channel: AIFS, backoff, other stations, RTS/CTS."""
    retries: float
    """From the first PPDU that carried the packet to the one that got it across."""
    reorder: float
    """Held in the recipient's reorder buffer."""
    air: float
    """In the PPDU that got the packet across."""
    wire: float
    """On wires: queue, serialisation, propagation, jitter."""


class DelayPartsSummary(_DelayPartsSummary, total=False):
    """The parts of a mean one-way delay."""

    asleep: float
    """Waiting for a station that dozed (power save), up to its return, its PS-Poll or, of group
    frames, the DTIM: the sender itself or the receiver."""
    away: float
    """Waiting for a station that was off its channel (background scan): the sender itself, from the
    stop of its queue on, or the receiver."""
    other: float
    """In no other part (the processing time of hosts, coded links); absent when zero."""


class DriverQueueSummary(TypedDict, total=False):
    """The queue of driver and hardware as the scenario has it. Active queue management does not
    reach it."""

    limit_airtime_ms: float
    """Most estimated airtime in it for each receiver in ms (Airtime Queue Limits); absent if there
    is no such limit."""
    limit_packets: int
    """Most packets in it, those in flight included; absent if there is no such limit."""


class _EmulationSummary(TypedDict):
    late: bool
    """More than one delivery in a thousand was later than the scenario allows: do not trust the
    delays."""
    deliveries: int
    """Packets handed over."""


class EmulationSummary(_EmulationSummary, total=False):
    """Lateness of an emulated run, and its ways to the machine."""

    lateness_us: LatenessSummary
    """How long after its computed instant a packet was handed over, in us."""
    ways: dict[str, WaySummary]
    """The ways between the nodes and the machine's loopback, by option and value (`--reach
    3000`)."""


class _FindingSummary(TypedDict):
    kind: str
    """The kind as a word, such as `own_queue`."""
    title: str
    """The same as a heading."""
    sentence: str
    """The numbers that show it, as a sentence."""
    weight: float
    """The cost, 0 to 1; findings are in descending order of it."""


class FindingSummary(_FindingSummary, total=False):
    """Something that is wrong with a run."""

    device: str
    """The remedy on real devices, as a sentence; absent if there is none."""
    not_tried: str
    """The reason why the remedy was not tried, as a clause; absent if it was tried, or if there is
    none."""
    remedy: list[str]
    """Changes of the scenario that may help, together, as arguments of `--set`; absent if the
    scenario takes none."""
    trial: TrialSummary
    """The result of the remedy in virtual time; absent if the remedy was not tried."""


FlowKind = Literal["tcp", "udp", "ping", "video", "apq"]
"""The kinds of flows."""


class _FlowSummary(TypedDict):
    kind: FlowKind
    """Kind of traffic."""
    packets_sent: int
    """Packets that entered the network, over the whole run."""
    packets_received: int
    """Packets that arrived, over the whole run."""
    packets_lost: int
    """Packets that the network gave up, over the whole run. What is neither received nor lost was
    on its way when the run ended."""


class FlowSummary(_FlowSummary, total=False):
    """One flow, in the direction from its sender to its receiver."""

    absent_nodes: list[str]
    """The nodes whose absences packets waited for (`away`, `asleep`): those at the flow's ends or,
    if none of these was absent, all that were."""
    application_delay_ms: TimeSummary
    """From an application's write to the read of its last byte at the other end of a TCP
    connection, of what was read after the warm-up, in ms. A bulk transfer, which always has more to
    write, has none."""
    apq: ApqFlowSummary
    """What an APQ flow found out."""
    cwnd_packets: WindowSummary
    """Congestion window after the warm-up in segments, over regular readings."""
    delay_parts_ms: DelayPartsSummary
    """Where the one-way delay went, in ms a packet; the parts add up to its mean."""
    delay_parts_slowest_ms: DelayPartsSummary
    """The same of the slowest 1 % of these packets, at least one; the parts add up to their mean
    delay. Delays within 1.6 % of each other are not told apart."""
    goodput_mbps: float
    """Payload delivered after the warm-up, while the flow was on, in Mb/s (10^6 bits a second).
    Payload is what UDP, ICMP or TCP carry; of a TCP flow it is what the sender saw acknowledged, if
    the sender was read."""
    offered_mbps: float
    """Payload of UDP (video, too) that entered the network after the warm-up, while the flow was
    on, in Mb/s: what there would be of `goodput_mbps` if everything arrived."""
    one_way_delay_ms: TimeSummary
    """From entering the network to leaving it, of the packets that arrived after the warm-up, in
    ms."""
    packets_lost_by_reason: dict[str, int]
    """The lost packets by reason; reasons that did not occur are absent."""
    receiver: str
    """The node at which its data leaves the network."""
    retransmissions: int
    """Segments that the TCP sender retransmitted, over the whole run."""
    rtt_ms: TimeSummary
    """Round-trip times after the warm-up in ms: of echo requests, or of a TCP sender. In simulation
    these are all segments that were sent once, from transmission to acknowledgement; in emulation
    regular readings of what the kernel has smoothed."""
    saturated: bool
    """It always has a packet to send, so that it fills its share of the queue; absent if not, and
    of other traffic than UDP."""
    sender: str
    """The node at which its data enters the network; absent in documents of earlier versions, as
    `receiver` is."""


class LatenessSummary(TypedDict):
    """The distribution of lateness."""

    p50: float
    """Median."""
    p99: float
    """99 % are at or below."""
    p99_9: float
    """99.9 % are at or below."""
    max: float
    """Greatest."""


class LeftOutSummary(TypedDict):
    """Flows of real programs beyond those that are kept."""

    flows: int
    """How many flows; 65536 stands for that and more."""
    packets: int
    """Their packets."""


class _LinkSummary(TypedDict):
    ppdus: int
    """Data PPDUs sent."""
    mpdus: int
    """Data MPDUs sent, retransmissions included."""
    mpdu_retries: int
    """Of the MPDUs sent, retransmissions."""
    mpdus_failed: int
    """MPDUs that were sent and not acknowledged in that exchange."""
    mpdus_lost: int
    """MPDUs given up (retry limit or lifetime)."""
    collisions: int
    """Data PPDUs that overlapped with another PPDU at the receiver."""
    rts: int
    """RTS sent."""
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


class NeighbourSummary(TypedDict):
    """A neighbour on the channel."""

    busy: float
    """Share of the time in which a PPDU of its own would be on the air if nobody else sent, 0 to 1:
    what the scenario asks for."""
    airtime_fraction: float
    """Share of the time after the warm-up in which one of its nodes transmitted, 0 to 1: less than
    `busy` where it found no room, more where it sent again after collisions."""


class _NodeSummary(TypedDict):
    queue_drops: int
    """Packets that found no room or were dropped by active queue management."""
    airtime_fraction: float
    """Share of the time after the warm-up in which it transmitted, 0 to 1."""


class NodeSummary(_NodeSummary, total=False):
    """One Wi-Fi node, after the warm-up."""

    absences: AbsenceSummary
    """Its absences, by scans or power save; absent if it was always there."""
    aggregation: AggregationSummary
    """What bounds the A-MPDUs that it sends; absent if it sends none."""
    driver_queue: DriverQueueSummary
    """The driver's queue below that; absent if there is none."""
    driver_queue_packets: WindowSummary
    """Of `queue_packets`, those below the queue above the MAC, over time: in the driver's queue and
    in flight; absent without a driver's queue."""
    pseudo_retry_outs: PseudoRetryOutSummary
    """What it gave up as a receiver; absent if that is nothing."""
    queue: QueueSummary
    """Its queue above the MAC: there is one for each access category."""
    queue_packets: WindowSummary
    """Packets in its Wi-Fi queues (driver queue and those in flight included), over time."""


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
    """The nodes whose absences packets waited for, as of a flow."""
    delay_parts_ms: DelayPartsSummary
    """Where the one-way delay went, in ms a packet; the parts add up to its mean."""
    delay_parts_slowest_ms: DelayPartsSummary
    """The same of the slowest 1 % of these packets, at least one."""
    one_way_delay_ms: TimeSummary
    """From entering the network to leaving it, in ms."""
    packets_lost_by_reason: dict[str, int]
    """The lost packets by reason; reasons that did not occur are absent."""
    program: str
    """The program that sends, as the kernel has its name (up to 15 bytes); absent if it was gone
    before it could be found, or sends from outside."""
    receiver: str
    """The node at which they leave the network."""
    sender: str
    """The node at which its packets enter the network; absent in documents of earlier versions, as
    `receiver` is."""


class PseudoRetryOutSummary(TypedDict):
    """Erroneous MPDUs that a receiver gave up, after the warm-up."""

    mpdus: int
    """MPDUs given up."""
    ignored: int
    """Of those, MPDUs that arrived later and were ignored."""


QueueKind = Literal["drop-tail", "codel", "fq-codel", "ebdp"]
"""The disciplines of queues, by their words in scenario files."""


class _QueueSummary(TypedDict):
    kind: QueueKind
    """Its discipline."""


class QueueSummary(_QueueSummary, total=False):
    """A queue as the scenario has it."""

    limit_bytes: int
    """Most bytes in it; absent if there is no such limit."""
    limit_packets: int
    """Most packets in it; absent if there is no such limit."""
    target_ms: float
    """Standing delay that it accepts in ms (CoDel and FQ-CoDel), or the delay of a full queue
    (eBDP); absent with drop-tail."""


class RateSummary(TypedDict):
    """The rates of PPDUs."""

    mean: float
    """Mean over PPDUs."""
    min: float
    """Lowest."""
    max: float
    """Highest."""


class TimeSummary(TypedDict):
    """A distribution of times."""

    mean: float
    """Mean."""
    p50: float
    """Median."""
    p95: float
    """95 % are at or below."""
    p99: float
    """99 % are at or below."""
    max: float
    """Greatest."""


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
    """The port at the far side, such as `port 80 of server`."""
    connections: int
    """Number of TCP connections."""
    connections_refused: int
    """TCP connections that were reset because nobody listened at the far side."""
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


class WindowSummary(TypedDict):
    """A distribution of counts: mean, 95th percentile, greatest."""

    mean: float
    """Mean."""
    p95: int
    """95 % are at or below."""
    max: int
    """Greatest."""


class _WireSummary(TypedDict):
    packets: int
    """Packets that came out at the far end."""
    queue_drops: int
    """Packets dropped by its queue."""
    packets_lost: int
    """Packets lost on the way."""


class WireSummary(_WireSummary, total=False):
    """One direction of a wire, after the warm-up."""

    delay_ms: float
    """Propagation delay in ms at the beginning of the run; absent in documents of earlier
    versions."""
    queue: QueueSummary
    """The queue before it."""
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
    """Length of the run in seconds of the scenario's time."""
    warmup_s: float
    """Seconds at the start that are left out of goodput, delays, round trips and windows, and of
    what is counted for nodes, links and wires."""
    wall_s: float
    """Seconds that a clock on the wall showed."""
    version: str
    """Version of lasthop that made the run."""
    flows: dict[str, FlowSummary]
    """The flows by name."""
    nodes: dict[str, NodeSummary]
    """The Wi-Fi nodes by name, those of neighbours left out."""
    links: dict[str, LinkSummary]
    """The directions of the Wi-Fi links that carried data, as `sender->receiver`; those of
    neighbours left out."""


class RunDocument(_RunDocument, total=False):
    """The summary of one run of a scenario."""

    emulation: EmulationSummary
    """How well real time was kept; only of an emulated run."""
    findings: list[FindingSummary]
    """The findings, worst first, as the report of the run has them; absent if there are none."""
    franc: dict[str, CodedLinkSummary]
    """The coded links by name."""
    neighbours: dict[str, NeighbourSummary]
    """The neighbours on the channel by name."""
    programs: dict[str, ProgramSummary]
    """The flows of real programs, each direction for itself, as `protocol source -> destination`;
    only of an emulated run."""
    programs_left_out: LeftOutSummary
    """The flows of programs that are not among `programs`; absent if there are none."""
    set: list[str]
    """What changed the scenario file, as `key=value`: `--set` and options that stand for it, in
    their order."""
    warnings: list[str]
    """What makes the results other than one might expect."""
    wires: dict[str, WireSummary]
    """The directions of the wires, as `from->to`."""
