//! The statements of the paper, in words of our own, each with the quantities that test
//! it or the reason why none does. Descriptions of other papers (section I) are no
//! results, and left out.

use crate::reproduce::figure::Claim;

const METHOD: &str = "The method: `lasthop_apq` follows it, with tests of its steps.";
const DISCUSSED: &str = "A cited rule of thumb; `capacity` measures such queues.";

pub(super) const CLAIMS: &[Claim] = &[
    Claim::untested("II", "Equation 1, Algorithms 1 and 2, medians over fixed times.", METHOD),
    Claim::untested(
        "II",
        "Packets of a full queue have 310 us of backoff each, which is negligible.",
        "The model has this rule of the standard, and equation 1 includes the backoff.",
    ),
    Claim::tested(
        "III, Fig. 3",
        "The baseline flow alone makes almost no queue.",
        &[("fig3", "100: queue before"), ("fig3", "1000: queue before")],
    ),
    Claim::tested(
        "III, Fig. 3",
        "The queue fills quickly and stays full until the flow stops (text: 120 s, method: 90 s).",
        &[("fig3", "100: queue while"), ("fig3", "1000: queue while")],
    ),
    Claim::tested(
        "III, Fig. 4",
        "Queues of 30 to 2000 packets are estimated accurately. (Inferred for 500 and 1000.)",
        &[("fig4", "queue of 500"), ("fig4", "queue of 1000")],
    ),
    Claim::tested("III, Fig. 4", "The intervals are tight.", &[("fig4", "widest 95 %")]),
    Claim::untested(
        "III, Fig. 4",
        "The numbers are in a technical report.",
        "The report is not at hand.",
    ),
    Claim::tested(
        "III, Fig. 4",
        "Up to 250 packets the estimate is slightly high, by the driver's queue.",
        &[
            ("fig4", "queue of 30"),
            ("fig4", "queue of 50:"),
            ("fig4", "queue of 100:"),
            ("fig4", "queue of 250"),
        ],
    ),
    Claim::tested(
        "III, Fig. 5",
        "The driver's queue is about 40 frames (from a queue of 1).",
        &[("fig4", "the driver's queue alone")],
    ),
    Claim::tested(
        "III, Fig. 4",
        "Above 1000 packets the estimate is slightly low.",
        &[("fig4", "queue of 1500"), ("fig4", "queue of 2000")],
    ),
    Claim::untested(
        "IV.A, Table I",
        "The access points, at 11 Mb/s.",
        "The scenarios have this setting.",
    ),
    Claim::tested(
        "IV.B, Fig. 6",
        "8.2 Mb/s with the Cisco (802.11g), 6.7 Mb/s with the Netgear (802.11b).",
        &[("fig6", "Cisco: mean"), ("fig6", "Netgear: mean")],
    ),
    Claim::untested(
        "IV.B, Fig. 6",
        "The Cisco's throughput has one dip.",
        "A single event of unknown cause.",
    ),
    Claim::tested(
        "IV.B, Fig. 7",
        "A full queue takes 94 ms (Cisco) and 584 ms (Netgear).",
        &[("fig7", "Cisco: with"), ("fig7", "Netgear: with")],
    ),
    Claim::tested(
        "IV.B, Fig. 7",
        "The two differ by about half a second.",
        &[("fig7", "Netgear's above")],
    ),
    Claim::tested(
        "IV.B, Fig. 8",
        "Any percentile of both distributions gives the Netgear's queue.",
        &[("fig8", "queue from the 10th")],
    ),
    Claim::tested(
        "IV.B, Fig. 9, an example",
        "In one session the longest delay is 300 ms more.",
        &[("fig9", "longest delay")],
    ),
    Claim::tested(
        "IV.B, Fig. 9, an example",
        "Delays without saturation are consistent; the median resists outliers.",
        &[("fig9", "empty queue"), ("fig9", "median with")],
    ),
    Claim::untested(
        "IV.B",
        "The home Netgear fails at high rates; the commercial D-Link varies by half.",
        "Faults of devices are not modelled.",
    ),
    Claim::tested(
        "IV.B, Fig. 10",
        "Throughput follows the load and levels off, at another maximum for each.",
        &[("fig10", "throughput follows"), ("fig10", "greatest throughput")],
    ),
    Claim::tested(
        "IV.B, Fig. 10",
        "Losses are negligible up to saturation, then grow.",
        &[("fig10", "loss is")],
    ),
    Claim::tested(
        "IV.B, Fig. 10",
        "Delay is negligible up to saturation, then soon at its maximum.",
        &[("fig10", "delay is")],
    ),
    Claim::tested(
        "IV.C, Fig. 11",
        "Queues count packets: 750 and 1500 bytes give nearly the same.",
        &[("fig11", "greatest difference")],
    ),
    Claim::tested(
        "IV.C",
        "750 bytes give in general slightly less.",
        &[("fig11", "access points at which")],
    ),
    Claim::tested(
        "IV.C, Table II",
        "The table has fourteen capacities.",
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
        "The 95 % intervals are 0.2 to 5.7 packets to either side.",
        &[("table2", "widest 95 %")],
    ),
    Claim::tested(
        "IV.C",
        "Queues have 40 to 338 packets; both extremes are Netgear's.",
        &[("fig11", "longest and shortest")],
    ),
    Claim::tested(
        "V",
        "Almost 500 ms of delay with the commercial D-Link and Netgear.",
        &[("fig11", "commercial D-Link")],
    ),
    Claim::untested("V", "The Netgear has the same.", "Figure 7 tests 584 ms of the same session."),
    Claim::tested("V", "The Linksys has 200 ms.", &[("fig10", "Linksys: delay")]),
    Claim::untested(
        "V",
        "A call tolerates 150 ms one way, a game 100 ms of round trip.",
        DISCUSSED,
    ),
    Claim::untested(
        "V",
        "300 packets by round trip times capacity, 60 by TCP windows, 30 with hundreds of flows.",
        DISCUSSED,
    ),
    Claim::tested(
        "V, VI (future work)",
        "The best capacity over traffic and links is open.",
        &[("capacity", "no fixed capacity"), ("adapting", "no fixed capacity")],
    ),
    Claim::tested(
        "V",
        "An access point should adapt its capacity, or have classes.",
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
