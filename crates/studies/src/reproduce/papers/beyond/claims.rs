//! The findings of the papers that are looked at again, in words of our own.

use crate::reproduce::figure::Claim;

pub(super) const CLAIMS: &[Claim] = &[
    Claim::tested(
        "scan, IV.A",
        "An upload with small queues loses nothing while the laptop scans.",
        &[
            ("scan", "802.11n, upload: segments"),
            ("scan", "802.11ac, upload: segments"),
            ("scan", "802.11ax, upload: segments"),
        ],
    ),
    Claim::tested(
        "scan, IV.B",
        "Without small queues its window decreases largely.",
        &[
            ("scan", "802.11n, upload without"),
            ("scan", "802.11ac, upload without"),
            ("scan", "802.11ax, upload without"),
        ],
    ),
    Claim::tested(
        "scan, V.A",
        "A download's throughput drops sharply, although its window does not decrease largely.",
        &[
            ("scan", "802.11n, download: lowest"),
            ("scan", "802.11n, download: least"),
            ("scan", "802.11ac, download: lowest"),
            ("scan", "802.11ac, download: least"),
            ("scan", "802.11ax, download: lowest"),
            ("scan", "802.11ax, download: least"),
        ],
    ),
    Claim::tested(
        "scan, V.A",
        "Throughput just after is rather low.",
        &[
            ("scan", "802.11n, download: throughput"),
            ("scan", "802.11ac, download: throughput"),
            ("scan", "802.11ax, download: throughput"),
        ],
    ),
    Claim::tested(
        "retryout, IV.B, Fig. 6 (a)",
        "Without the method and a remedy round trips are large below 20 Mb/s.",
        &[
            ("retryout", "802.11n, long queue: mean below 20 Mb/s, of"),
            ("retryout", "802.11ac, long queue: mean below 20 Mb/s, of"),
            ("retryout", "802.11ax, long queue: mean below 20 Mb/s, of"),
        ],
    ),
    Claim::tested(
        "retryout, IV.B, Fig. 6 (b)",
        "With the method they are clearly shorter, and never large.",
        &[
            ("retryout", "802.11n, long queue: longest"),
            ("retryout", "802.11ac, long queue: longest"),
            ("retryout", "802.11ax, long queue: longest"),
            ("retryout", "802.11n, long queue: mean below 20 Mb/s with"),
            ("retryout", "802.11ac, long queue: mean below 20 Mb/s with"),
            ("retryout", "802.11ax, long queue: mean below 20 Mb/s with"),
        ],
    ),
    Claim::tested(
        "retryout, IV.B, Fig. 8",
        "Throughput is similar with the method.",
        &[
            ("retryout", "802.11n, long queue: throughput"),
            ("retryout", "802.11ac, long queue: throughput"),
            ("retryout", "802.11ax, long queue: throughput"),
        ],
    ),
    Claim::tested(
        "retryout, IV.B, Fig. 6 (a)",
        "With a remedy at the laptop they are not large either.",
        &[
            ("retryout", "802.11n, today's queue"),
            ("retryout", "802.11ac, today's queue"),
            ("retryout", "802.11ax, today's queue"),
        ],
    ),
    Claim::tested(
        "jumbo, IV, Fig. 4",
        "Payloads of 4000 bytes have more than 1.7 times the throughput.",
        &[
            ("jumbo", "802.11n, the paper's processors: throughput"),
            ("jumbo", "802.11n, ten times as fast: throughput"),
            ("jumbo", "802.11n, processors that cost nothing: throughput"),
            ("jumbo", "802.11ac, the paper's processors: throughput"),
            ("jumbo", "802.11ac, ten times as fast: throughput"),
            ("jumbo", "802.11ac, processors that cost nothing: throughput"),
            ("jumbo", "802.11ax, the paper's processors: throughput"),
            ("jumbo", "802.11ax, ten times as fast: throughput"),
            ("jumbo", "802.11ax, processors that cost nothing: throughput"),
        ],
    ),
    Claim::tested(
        "jumbo, IV, Fig. 4",
        "Without jumbo frames there is no such gain.",
        &[
            ("jumbo", "802.11n, the paper's processors: the same"),
            ("jumbo", "802.11n, ten times as fast: the same"),
            ("jumbo", "802.11n, processors that cost nothing: the same"),
            ("jumbo", "802.11ac, the paper's processors: the same"),
            ("jumbo", "802.11ac, ten times as fast: the same"),
            ("jumbo", "802.11ac, processors that cost nothing: the same"),
            ("jumbo", "802.11ax, the paper's processors: the same"),
            ("jumbo", "802.11ax, ten times as fast: the same"),
            ("jumbo", "802.11ax, processors that cost nothing: the same"),
        ],
    ),
    Claim::tested(
        "apq, III, Fig. 4",
        "Queues of 30 to 2000 packets are estimated accurately.",
        &[("apq", "802.11n, "), ("apq", "802.11ac, "), ("apq", "802.11ax, ")],
    ),
    Claim::untested(
        "jumbo, IV, Figs. 5 and 6",
        "Delay and losses by payload, among other networks.",
        "Each generation has other interferers.",
    ),
    Claim::untested(
        "franc",
        "A coded link with a helper.",
        "Losses and overhearing do not depend on the generation.",
    ),
];
