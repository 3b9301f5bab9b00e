//! The statements of the paper, in words of our own, each with the quantities that test
//! it or the reason why none does. Descriptions of network coding and of other papers
//! (section I) are no results, and left out.

use crate::reproduce::figure::Claim;

const PROTOCOL: &str = "The protocol: `lasthop_franc::paper` follows it, with its states in \
                        tests.";
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
        "Delay improves up to twofold.",
        "Section V.C has, and tests have, an order of magnitude at 20 % loss.",
    ),
    Claim::untested("II.A, II.D", "Budgets of PlayNCool, states of encoder and helper.", PROTOCOL),
    Claim::tested(
        "II.B",
        "A field of 2^8 makes fewer dependent packets.",
        &[("parameters", "GF(2^8)")],
    ),
    Claim::untested(
        "II.B",
        "A larger field costs computation; blocks should fill the MTU.",
        "Processors are not modelled.",
    ),
    Claim::tested(
        "II.B",
        "An overshoot of 1.10 makes fewer timeouts and more dependent packets.",
        &[("parameters", "overshoot of 1.10")],
    ),
    Claim::untested(
        "III",
        "The programs run in user space, the client on another device.",
        "The setting; the program of January 2014 acknowledges a block after all of its packets \
         entered the tunnel.",
    ),
    Claim::tested(
        "V.A, Fig. 9",
        "Without helper 83 % of the unreliable link's throughput.",
        &[("fig9", "without helper")],
    ),
    Claim::tested(
        "V.A, Fig. 9",
        "With helper 105 %, and a clear trend with e3.",
        &[("fig9", "with helper"), ("fig9", "the helper's gain")],
    ),
    Claim::tested(
        "V.A, Fig. 10",
        "The helper reduces transmissions for rising e3. (Closed form inferred.)",
        &[("fig10", "from 20 %"), ("fig10", "FRANC")],
    ),
    Claim::tested(
        "V.B, Fig. 11",
        "Without helper 82 % of the unreliable link.",
        &[("fig11", "without helper")],
    ),
    Claim::tested(
        "V.B, Fig. 11",
        "The helper is a clear improvement for rising e3.",
        &[("fig11", "the helper's gain")],
    ),
    Claim::tested(
        "V.B, Fig. 11",
        "The symmetric helper (30 %, 30 %) is best. (Section IV prints 3 %, but both links have \
         49 %.)",
        &[("fig11", "the mean over e3 is best")],
    ),
    Claim::tested(
        "V.B, Fig. 12",
        "Asymmetric helpers have more timeouts.",
        &[("fig12", "more in the mean")],
    ),
    Claim::tested(
        "V.C, Fig. 13",
        "Without losses FRANC is similar to the unreliable link.",
        &[("fig13", "least throughput below 5"), ("fig13", "mean delay below 5")],
    ),
    Claim::tested(
        "V.C, Fig. 13",
        "Above 5 Mb/s delays are high and throughput is limited.",
        &[("fig13", "greatest load"), ("fig13", "FRANC's delay at 8")],
    ),
    Claim::tested(
        "V.C, Fig. 13",
        "The unreliable link carries 7 Mb/s, close to UDP's maximum.",
        &[("fig13", "most over the unreliable link")],
    ),
    Claim::tested(
        "V.C, Fig. 14",
        "At 10 % the unreliable link carries about 1 Mb/s, FRANC more than 2.5.",
        &[("fig14", "most over the unreliable"), ("fig14", "most over FRANC")],
    ),
    Claim::tested(
        "V.C, Fig. 14",
        "Delays double for both.",
        &[("fig14", "unreliable: mean delay"), ("fig14", "FRANC: mean delay")],
    ),
    Claim::untested(
        "V.C",
        "TCP Vegas would reduce FRANC's delays.",
        "Vegas is not modelled, and the paper has no number. `backlog` has managed queues.",
    ),
    Claim::tested(
        "V.C, Fig. 15",
        "At 20 % less than 0.2 Mb/s without FRANC, about 2 with it.",
        &[("fig15", "most over the unreliable"), ("fig15", "throughput over FRANC, from")],
    ),
    Claim::tested(
        "V.C, Fig. 15",
        "Delays are lower by an order of magnitude.",
        &[("fig15", "mean delay over all loads")],
    ),
    Claim::tested(
        "abstract, VI",
        "Throughput at 20 % can be ten times plain TCP's.",
        &[("fig15", "throughput over FRANC, of the most")],
    ),
    Claim::tested(
        "IV.A",
        "Above 20 % loss TCP is practically unusable.",
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
        "Acknowledgements of TCP compete for the air.",
        "An explanation; the observation is tested.",
    ),
    Claim::tested("VI (future work)", "Bufferbloat can be reduced.", &[("backlog", "")]),
    Claim::tested(
        "VI (future work)",
        "A helper should save more over more hops.",
        &[("corridor", "")],
    ),
    Claim::tested("VI (future work)", "Forwarding nodes could recode.", &[("hops", "")]),
    Claim::tested(
        "not in the paper",
        "More helpers, estimated losses, sparse traffic, a lost helper.",
        &[("helpers", ""), ("redundancy", ""), ("sparse", ""), ("vanish", "")],
    ),
];
