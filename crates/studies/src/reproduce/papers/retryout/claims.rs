//! The statements of the paper, in words of our own, each with the quantities that test
//! it or the reason why none does. Descriptions of 802.11, of CoDel and of other papers
//! (sections I and II) are no results, and left out.

use crate::reproduce::figure::Claim;

const NO_MODEL: &str = "Windows and macOS are not modelled.";

pub(super) const CLAIMS: &[Claim] = &[
    Claim::untested(
        "I, II",
        "Round trips reach seconds at 6.5 Mb/s without more losses.",
        "Cited from an earlier paper; measurements here end at 700 ms.",
    ),
    Claim::tested(
        "II.B",
        "CoDel with a target of 5 ms and an interval of 100 ms; small queues of 128 KiB.",
        &[("fig6", "codel: mean"), ("fig6", "tsq: mean")],
    ),
    Claim::untested(
        "II.B (2)",
        "A lower retry limit of the sender at low data rates (2 to 8 below 100 Mb/s).",
        "An earlier method without a figure here; the key is low_rate_retry.",
    ),
    Claim::tested(
        "III.B (1), Table I",
        "Retry-out index of 2, 5 and 8 below 25, 50 and 100 Mb/s; none above.",
        &[
            ("table1", "below 25"),
            ("table1", "25 to 50"),
            ("table1", "50 to 100"),
            ("table1", "100 Mb/s"),
        ],
    ),
    Claim::tested(
        "III.B (1)",
        "The data rate is smoothed: 0.75 of the old, 0.25 of the MPDU's.",
        &[("table1", "smoothed rate")],
    ),
    Claim::tested(
        "III.B (2) to (4), III.C, Fig. 4",
        "Failed receptions are counted; at the index an MPDU is lost, its successors go up, and a \
         late copy is ignored (seven A-MPDUs).",
        &[("fig4", "A-MPDU (")],
    ),
    Claim::untested(
        "III.C",
        "The hardware reports sequence numbers of a wholly corrupted A-MPDU.",
        "A property of the hardware; the model has it.",
    ),
    Claim::tested(
        "IV.B, Fig. 6 (a)",
        "Without method and remedy the round trip is large below 20 Mb/s.",
        &[("fig6", "none: mean below 20 Mb/s, of that above")],
    ),
    Claim::tested(
        "IV.B, Fig. 6 (a)",
        "The worst case is around 700 ms.",
        &[("fig6", "none: worst")],
    ),
    Claim::tested(
        "IV.B, Fig. 6 (a)",
        "With small queues or CoDel round trips are around 200 ms below 20 Mb/s.",
        &[("fig6", "tsq: mean"), ("fig6", "codel: mean")],
    ),
    Claim::untested(
        "IV.B, Fig. 6 (a)",
        "Windows and macOS behave as Linux without a remedy.",
        NO_MODEL,
    ),
    Claim::tested(
        "IV.B, Fig. 6 (b)",
        "With the method no laptop has large delays, also below 20 Mb/s.",
        &[("fig6", "none: longest at"), ("fig6", "tsq: longest at"), ("fig6", "codel: longest at")],
    ),
    Claim::tested(
        "IV.B, Fig. 6 (b)",
        "The reduction is clear without a remedy.",
        &[("fig6", "none: mean below 20 Mb/s with the method")],
    ),
    Claim::untested("IV.B, Fig. 6 (b)", "The same holds for Windows and macOS.", NO_MODEL),
    Claim::tested(
        "IV.B, Fig. 7 (a)",
        "Without a remedy around 600 packets wait at any data rate.",
        &[("fig7", "none: shortest"), ("fig7", "none: longest at any rate")],
    ),
    Claim::untested(
        "IV.B, Fig. 7 (a)",
        "The congestion window bounds the queue.",
        "An explanation from an earlier paper. In ours the server's receive window is the bound.",
    ),
    Claim::tested(
        "IV.B, Fig. 7 (a)",
        "With small queues or CoDel around 100 packets wait.",
        &[("fig7", "tsq: mean"), ("fig7", "codel: mean")],
    ),
    Claim::tested(
        "IV.B, Fig. 7 (b)",
        "With the method less than 50 packets wait below 50 Mb/s.",
        &[
            ("fig7", "none: longest below 50"),
            ("fig7", "tsq: longest below 50"),
            ("fig7", "codel: longest below 50"),
        ],
    ),
    Claim::tested(
        "IV.B, Fig. 7 (b)",
        "The queue grows above 50 Mb/s without a remedy.",
        &[("fig7", "none: mean above 50 Mb/s")],
    ),
    Claim::tested(
        "IV.B, Fig. 7 (b)",
        "The round trip is small there.",
        &[("fig6", "none: longest above 50")],
    ),
    Claim::tested(
        "IV.B, Fig. 8 (a)",
        "The long queue does not affect throughput.",
        &[("fig8", "none: throughput by data rate")],
    ),
    Claim::tested(
        "IV.B, Fig. 8 (b), V",
        "With the method throughput is similar, also with a remedy.",
        &[
            ("fig8", "none: mean change"),
            ("fig8", "tsq: mean change"),
            ("fig8", "codel: mean change"),
        ],
    ),
];
