//! The statements of the paper, in words of our own, each with the quantities that test
//! it or the reason why none does. Descriptions of network coding and of other papers
//! (section I) are no results, and left out.

use crate::figure::Claim;

const PROTOCOL: &str = "The protocol: `lasthop_franc::paper` follows it, and its tests have its \
                        states as tables.";
const NOTHING_LOST: &[(&str, &str)] = &[
    ("fig9", "what comes out"),
    ("fig13", "what comes out"),
    ("fig14", "what comes out"),
    ("fig15", "what comes out"),
];

pub(super) const CLAIMS: &[Claim] = &[
    Claim::tested("I, VI", "The link is reliable for any protocol.", NOTHING_LOST),
    Claim::untested(
        "abstract",
        "Up to twofold improvement of the delay of a packet.",
        "Section V.C has an order of magnitude at 20 % loss, which is tested; the two differ.",
    ),
    Claim::untested("II.A, II.D", "Budgets of PlayNCool, states of encoder and helper.", PROTOCOL),
    Claim::tested(
        "II.B",
        "A field of 2^8 makes fewer dependent packets.",
        &[("parameters", "GF(2^8)")],
    ),
    Claim::untested(
        "II.B",
        "It costs more computation; blocks should be as large as the MTU allows.",
        "Processors are not modelled.",
    ),
    Claim::tested(
        "II.B",
        "An overshoot of 1.10 makes fewer timeouts and more dependent packets.",
        &[("parameters", "overshoot of 1.10")],
    ),
    Claim::untested(
        "III",
        "Programs in user space, and a client of their own on another device.",
        "The setting. In the authors' program of January 2014 a full block is acknowledged only \
         after all its packets were handed to the tunnel; how long that took is not stated.",
    ),
    Claim::tested(
        "V.A, Fig. 9",
        "Without helper 83 % of the throughput of the unreliable link on average.",
        &[("fig9", "without helper")],
    ),
    Claim::tested(
        "V.A, Fig. 9",
        "With helper 105 %, with a clear trend of improvement.",
        &[("fig9", "with helper"), ("fig9", "the helper's gain")],
    ),
    Claim::tested(
        "V.A, Fig. 10",
        "For increasing e3 the helper reduces the number of transmissions. (The numbers are only \
         in the figure: the closed form beside ours is inferred.)",
        &[("fig10", "from 20 %"), ("fig10", "FRANC")],
    ),
    Claim::tested(
        "V.B, Fig. 11",
        "Without helper 82 % of the unreliable link on average.",
        &[("fig11", "without helper")],
    ),
    Claim::tested(
        "V.B, Fig. 11",
        "With it a clear improvement as e3 increases.",
        &[("fig11", "the helper's gain")],
    ),
    Claim::tested(
        "V.B, Fig. 11",
        "The symmetric helper is best (both links together 49 % against 45 %, so the set is \
         (30 %, 30 %), not (30 %, 3 %) as section IV prints).",
        &[("fig11", "the mean over e3 is best")],
    ),
    Claim::tested(
        "V.B, Fig. 12",
        "More timeouts in the asymmetric cases.",
        &[("fig12", "more in the mean")],
    ),
    Claim::tested(
        "V.C, Fig. 13",
        "Without losses FRANC is similar to the unreliable link when not congested.",
        &[("fig13", "least throughput below 5"), ("fig13", "mean delay below 5")],
    ),
    Claim::tested(
        "V.C, Fig. 13",
        "High delays and limited throughput when the load exceeds 5 Mb/s.",
        &[("fig13", "greatest load"), ("fig13", "FRANC's delay at 8")],
    ),
    Claim::tested(
        "V.C, Fig. 13",
        "The unreliable link is limited to 7 Mb/s, close to the maximum of UDP.",
        &[("fig13", "most over the unreliable link")],
    ),
    Claim::tested(
        "V.C, Fig. 14",
        "At 10 % the maximum over the unreliable link is about 1 Mb/s, over FRANC more than 2.5.",
        &[("fig14", "most over the unreliable"), ("fig14", "most over FRANC")],
    ),
    Claim::tested(
        "V.C, Fig. 14",
        "Delays increase by a factor of two for both.",
        &[("fig14", "unreliable: mean delay"), ("fig14", "FRANC: mean delay")],
    ),
    Claim::untested(
        "V.C",
        "TCP Vegas would reduce FRANC's delays (initial tests).",
        "Vegas is not modelled, and there is no number. Queues that are managed instead are in \
         the figure on the backlog.",
    ),
    Claim::tested(
        "V.C, Fig. 15",
        "At 20 % less than 0.2 Mb/s without FRANC, and about 2 Mb/s of throughput with it.",
        &[("fig15", "most over the unreliable"), ("fig15", "throughput over FRANC, from")],
    ),
    Claim::tested(
        "V.C, Fig. 15",
        "Delays are lower by an order of magnitude.",
        &[("fig15", "mean delay over all loads")],
    ),
    Claim::tested(
        "abstract, VI",
        "Throughput can be an order of magnitude higher than plain TCP's at 20 %.",
        &[("fig15", "throughput over FRANC, of the most")],
    ),
    Claim::tested(
        "IV.A",
        "Errors above 20 % make TCP practically unusable.",
        &[("fig15", "over the unreliable link at 30 %")],
    ),
    Claim::tested(
        "V.C, Fig. 16",
        "FRANC is best just below the congested state.",
        &[("fig16", "load at which")],
    ),
    Claim::tested(
        "V.C",
        "A helper brings no gain to TCP.",
        &[
            ("fig13", "most with helper"),
            ("fig14", "most with helper"),
            ("fig15", "most with helper"),
        ],
    ),
    Claim::untested(
        "V.C",
        "Since acknowledgements of TCP compete for the air with two or three nodes.",
        "The paper's explanation; what it explains is tested.",
    ),
    Claim::tested("VI (future work)", "Bufferbloat can be reduced.", &[("backlog", "")]),
    Claim::tested(
        "VI (future work)",
        "What a helper saves is expected to grow with the hops.",
        &[("corridor", "")],
    ),
    Claim::tested("VI (future work)", "Recoding in forwarding nodes.", &[("hops", "")]),
    Claim::tested(
        "not in the paper",
        "More helpers, losses that are found out, sparse traffic, a helper that vanishes.",
        &[("helpers", ""), ("redundancy", ""), ("sparse", ""), ("vanish", "")],
    ),
];
