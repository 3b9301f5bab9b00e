//! The statements of the paper, in words of our own, each with the quantities that test
//! it or the reason why none does. Descriptions of other papers (section I) are no
//! results, and left out.

use crate::figure::Claim;

const METHOD: &str = "The method: `lasthop_apq` follows it, and its tests have the steps.";
const DISCUSSED: &str = "A rule of thumb that the discussion cites, not a measurement; the figure \
                         on capacities measures what such queues do.";

pub(super) const CLAIMS: &[Claim] = &[
    Claim::untested("II", "Equation 1, Algorithms 1 and 2, medians over fixed times.", METHOD),
    Claim::untested(
        "II",
        "A full queue's packets have 310 us of backoff each that an empty one's have not; this is \
         negligible.",
        "The standard's rule, which the model has. It is part of what equation 1 finds.",
    ),
    Claim::tested(
        "III, Fig. 3",
        "Next to no queue with the baseline flow alone.",
        &[("fig3", "100: queue before"), ("fig3", "1000: queue before")],
    ),
    Claim::tested(
        "III, Fig. 3",
        "The queue fills quickly, and stays filled to what was set until the flow stops (by the \
         text at 120 s, by the method at 90 s).",
        &[("fig3", "100: queue while"), ("fig3", "1000: queue while")],
    ),
    Claim::tested(
        "III, Fig. 4",
        "Queues of 30 to 2000 packets are estimated accurately. (Inferred for 500 and 1000: the \
         text has them neither above nor below.)",
        &[("fig4", "queue of 500"), ("fig4", "queue of 1000")],
    ),
    Claim::tested("III, Fig. 4", "With tight intervals.", &[("fig4", "widest 95 %")]),
    Claim::untested("III, Fig. 4", "Numbers are in a technical report.", "It is not at hand."),
    Claim::tested(
        "III, Fig. 4",
        "Up to 250 packets slightly more is found than was set, by the driver's queue.",
        &[
            ("fig4", "queue of 30"),
            ("fig4", "queue of 50:"),
            ("fig4", "queue of 100:"),
            ("fig4", "queue of 250"),
        ],
    ),
    Claim::tested(
        "III, Fig. 5",
        "The driver's queue is about 40 frames, by a queue of 1.",
        &[("fig4", "the driver's queue alone")],
    ),
    Claim::tested(
        "III, Fig. 4",
        "Above 1000 packets slightly less is found.",
        &[("fig4", "queue of 1500"), ("fig4", "queue of 2000")],
    ),
    Claim::untested(
        "IV.A, Table I",
        "The access points, at 11 Mb/s.",
        "The setting: it is in the scenarios.",
    ),
    Claim::tested(
        "IV.B, Fig. 6",
        "8.2 Mb/s with the Cisco (802.11g), 6.7 Mb/s with the Netgear (802.11b).",
        &[("fig6", "Cisco: mean"), ("fig6", "Netgear: mean")],
    ),
    Claim::untested(
        "IV.B, Fig. 6",
        "The Cisco has one dip of throughput.",
        "One event of unknown cause.",
    ),
    Claim::tested(
        "IV.B, Fig. 7",
        "94 ms with the Cisco's full queue, 584 ms with the Netgear's, consistently.",
        &[("fig7", "Cisco: with"), ("fig7", "Netgear: with")],
    ),
    Claim::tested(
        "IV.B, Fig. 7",
        "About half a second between them.",
        &[("fig7", "Netgear's above")],
    ),
    Claim::tested(
        "IV.B, Fig. 8",
        "Any percentile of both distributions gives the Netgear's queue.",
        &[("fig8", "queue from the 10th")],
    ),
    Claim::tested(
        "IV.B, Fig. 9 (one example)",
        "In one session the longest delay is nearly 300 ms beyond the others.",
        &[("fig9", "longest delay")],
    ),
    Claim::tested(
        "IV.B, Fig. 9 (one example)",
        "Without saturation delays are consistent, and the median limits what outliers do.",
        &[("fig9", "empty queue"), ("fig9", "median with")],
    ),
    Claim::untested(
        "IV.B",
        "The home Netgear shuts down at high rates; the commercial D-Link varies by half.",
        "Faults of devices; unknown to the model.",
    ),
    Claim::tested(
        "IV.B, Fig. 10",
        "Throughput follows the load and levels off, at another maximum for each.",
        &[("fig10", "throughput follows"), ("fig10", "greatest throughput")],
    ),
    Claim::tested(
        "IV.B, Fig. 10",
        "Losses are negligible up to saturation, and grow with the load from there.",
        &[("fig10", "loss is")],
    ),
    Claim::tested(
        "IV.B, Fig. 10",
        "Delay is negligible up to saturation, and quickly at its maximum.",
        &[("fig10", "delay is")],
    ),
    Claim::tested(
        "IV.C, Fig. 11",
        "Queues are of packets: 750 and 1500 bytes give nearly the same.",
        &[("fig11", "greatest difference")],
    ),
    Claim::tested(
        "IV.C",
        "In general slightly less is found with 750 bytes.",
        &[("fig11", "access points at which")],
    ),
    Claim::tested(
        "IV.C, Table II",
        "Fourteen capacities.",
        &[
            ("table2", "Cisco"),
            ("table2", "D-Link"),
            ("table2", "Netgear"),
            ("table2", "old Linksys"),
            ("table2", "Linksys"),
        ],
    ),
    Claim::tested(
        "IV.C, Table II",
        "95 % intervals of 0.2 to 5.7 packets to either side.",
        &[("table2", "widest 95 %")],
    ),
    Claim::tested(
        "IV.C",
        "From 40 to 338 packets, and both are Netgear's.",
        &[("fig11", "longest and shortest")],
    ),
    Claim::tested(
        "V",
        "Almost 500 ms of delay with the commercial D-Link and Netgear when congested.",
        &[("fig11", "commercial D-Link")],
    ),
    Claim::untested(
        "V",
        "The same of the Netgear.",
        "Figure 7 has 584 ms of the same session; that is tested.",
    ),
    Claim::tested("V", "200 ms with the Linksys.", &[("fig10", "Linksys: delay")]),
    Claim::untested("V", "A call stands 150 ms one way, a game 100 ms of round trip.", DISCUSSED),
    Claim::untested(
        "V",
        "300 packets by round trip times capacity, 60 by windows of that time, 30 with hundreds \
         of flows.",
        DISCUSSED,
    ),
    Claim::tested(
        "V, VI (future work)",
        "Which capacity a queue should have, over traffic and links.",
        &[("capacity", "no fixed capacity"), ("adapting", "no fixed capacity")],
    ),
    Claim::tested(
        "V",
        "Ideally an access point adapts its capacity to flows and round trips, or has classes \
         with queues of their own.",
        &[
            ("capacity", "a round trip"),
            ("capacity", "100 ms"),
            ("capacity", "300 packets"),
            ("capacity", "FQ-CoDel"),
            ("capacity", "eBDP"),
            ("adapting", "100 ms"),
            ("adapting", "eBDP"),
            ("adapting", "FQ-CoDel"),
        ],
    ),
];
