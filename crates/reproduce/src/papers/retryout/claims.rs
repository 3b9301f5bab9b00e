//! The statements of the paper, in words of our own, each with the quantities that test
//! it or the reason why none does. Descriptions of 802.11, of CoDel and of other papers
//! (sections I and II) are no results, and left out.

use crate::figure::Claim;

const NO_MODEL: &str = "Windows 10 and macOS 10.11 are not modelled.";

pub(super) const CLAIMS: &[Claim] = &[
    Claim::untested(
        "I, II",
        "At 6.5 Mb/s round trips reach seconds without more losses.",
        "Cited from an earlier paper; the measurements here end at 700 ms.",
    ),
    Claim::tested(
        "II.B",
        "CoDel with a target of 5 ms and an interval of 100 ms; small queues of 128 KiB.",
        &[("fig6", "codel: mean"), ("fig6", "tsq: mean")],
    ),
    Claim::untested(
        "II.B (2)",
        "A lower retry limit of the sender at low data rates (2 to 8 below 100 Mb/s).",
        "Their earlier method; no figure here has it. The key is low_rate_retry.",
    ),
    Claim::tested(
        "III.B (1), Table I",
        "Retry-out index of 2, 5 and 8 below 25, 50 and 100 Mb/s; none from there on.",
        &[
            ("table1", "below 25"),
            ("table1", "25 to 50"),
            ("table1", "50 to 100"),
            ("table1", "100 Mb/s"),
        ],
    ),
    Claim::tested(
        "III.B (1)",
        "The data rate is smoothed with 0.75 of before and 0.25 of the MPDU's.",
        &[("table1", "smoothed rate")],
    ),
    Claim::tested(
        "III.B (2) to (4), III.C, Fig. 4",
        "Erroneous receptions are counted; at the index an MPDU is lost, what follows goes up, \
         and the MPDU is ignored when it comes. An example of seven A-MPDUs.",
        &[("fig4", "A-MPDU (")],
    ),
    Claim::untested(
        "III.C",
        "The hardware reports numbers of MPDUs of a wholly corrupted A-MPDU; this was checked.",
        "A property of the hardware, which the model has.",
    ),
    Claim::tested(
        "IV.B, Fig. 6 (a)",
        "Without the method and a remedy the round trip is large below 20 Mb/s.",
        &[("fig6", "none: mean below 20 Mb/s, of that above")],
    ),
    Claim::tested(
        "IV.B, Fig. 6 (a)",
        "The worst case is around 700 ms.",
        &[("fig6", "none: worst")],
    ),
    Claim::tested(
        "IV.B, Fig. 6 (a)",
        "With small queues or CoDel it is around 200 ms below 20 Mb/s.",
        &[("fig6", "tsq: mean"), ("fig6", "codel: mean")],
    ),
    Claim::untested(
        "IV.B, Fig. 6 (a)",
        "Windows and macOS are as Linux without a remedy, so they have none.",
        NO_MODEL,
    ),
    Claim::tested(
        "IV.B, Fig. 6 (b)",
        "With the method none has large delays, also below 20 Mb/s.",
        &[("fig6", "none: longest at"), ("fig6", "tsq: longest at"), ("fig6", "codel: longest at")],
    ),
    Claim::tested(
        "IV.B, Fig. 6 (b)",
        "The reduction is clear for those without a remedy.",
        &[("fig6", "none: mean below 20 Mb/s with the method")],
    ),
    Claim::untested("IV.B, Fig. 6 (b)", "Also for Windows and macOS.", NO_MODEL),
    Claim::tested(
        "IV.B, Fig. 7 (a)",
        "Around 600 packets are queued at any data rate without a remedy.",
        &[("fig7", "none: shortest"), ("fig7", "none: longest at any rate")],
    ),
    Claim::untested(
        "IV.B, Fig. 7 (a)",
        "That is the congestion window.",
        "The paper's explanation, from an earlier one. Ours takes the server's receive window for \
         the bound.",
    ),
    Claim::tested(
        "IV.B, Fig. 7 (a)",
        "With small queues or CoDel it is around 100 packets.",
        &[("fig7", "tsq: mean"), ("fig7", "codel: mean")],
    ),
    Claim::tested(
        "IV.B, Fig. 7 (b)",
        "With the method it is less than 50 packets below 50 Mb/s.",
        &[
            ("fig7", "none: longest below 50"),
            ("fig7", "tsq: longest below 50"),
            ("fig7", "codel: longest below 50"),
        ],
    ),
    Claim::tested(
        "IV.B, Fig. 7 (b)",
        "Above 50 Mb/s it increases without a remedy.",
        &[("fig7", "none: mean above 50 Mb/s")],
    ),
    Claim::tested(
        "IV.B, Fig. 7 (b)",
        "Which is no problem, since the round trip is small there.",
        &[("fig6", "none: longest above 50")],
    ),
    Claim::tested(
        "IV.B, Fig. 8 (a)",
        "The long queue does not affect throughput.",
        &[("fig8", "none: throughput by data rate")],
    ),
    Claim::tested(
        "IV.B, Fig. 8 (b), V",
        "With the method throughput is similar, also with small queues or CoDel.",
        &[
            ("fig8", "none: mean change"),
            ("fig8", "tsq: mean change"),
            ("fig8", "codel: mean change"),
        ],
    ),
];
