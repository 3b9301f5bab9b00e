//! The statements of the paper, in words of our own, each with the quantities that test
//! it or the reason why none does. Descriptions of 802.11, of Linux and of other papers
//! (sections I and II) are no results, and left out.

use crate::reproduce::figure::Claim;

const SETTING: &str = "The scenario has this setting.";
const EXPLAINS: &str = "An explanation; the observation is tested.";

pub(super) const CLAIMS: &[Claim] = &[
    Claim::untested("III", "802.11n at 5 GHz, up to 300 Mb/s, a server at 1 Gb/s.", SETTING),
    Claim::tested(
        "IV",
        "The congestion control hardly affects uploads.",
        &[("fig3", "throughput in a normal period with NewReno")],
    ),
    Claim::tested(
        "IV.A, Fig. 3",
        "Degraded periods last 10 s and come every 120 s.",
        &[("fig5", "a degraded period"), ("fig5", "from one degraded period")],
    ),
    Claim::tested(
        "IV.A, Fig. 3",
        "An upload with small queues has 136 Mb/s in normal periods.",
        &[("fig3", "throughput in a normal period")],
    ),
    Claim::tested(
        "IV.A, Fig. 3",
        "Throughput falls to 57 % when degraded. (Read as the lowest second: a mean could not be \
         so low without losses.)",
        &[("fig3", "lowest second when degraded")],
    ),
    Claim::tested(
        "IV.A, Fig. 3",
        "The window does not decrease then: nothing is lost.",
        &[("fig3", "segments retransmitted"), ("fig3", "congestion window when degraded")],
    ),
    Claim::tested(
        "IV.A, Fig. 3",
        "The window stays near 200 packets.",
        &[("fig3", "congestion window in a normal period")],
    ),
    Claim::tested(
        "IV.A, Fig. 4, an example",
        "A Null with PM = 1 is retried eight times, from the fourth with RTS, until acknowledged.",
        &[("fig4", "Null with PM = 1"), ("fig4", "RTS before")],
    ),
    Claim::tested(
        "IV.A, Fig. 4, an example",
        "The nine Nulls last 1.8 ms.",
        &[("fig4", "leaving, where the ninth")],
    ),
    Claim::tested(
        "IV.A, Fig. 4, an example",
        "A beacon follows after 90 ms, a Null with PM = 0 24 ms later.",
        &[("fig4", "from there to the beacon"), ("fig4", "from there to the Null")],
    ),
    Claim::tested(
        "IV.A, Fig. 4, an example",
        "That Null is retried four times.",
        &[("fig4", "Null with PM = 0")],
    ),
    Claim::untested(
        "IV.A, Fig. 4, an example",
        "A second Null with PM = 0 follows and is acknowledged.",
        "Not modelled: ours sends one. The reason for a second is unknown.",
    ),
    Claim::tested(
        "IV.A, Fig. 4, an example",
        "Both Nulls last 1.3 ms.",
        &[("fig4", "returning, where the fifth")],
    ),
    Claim::tested("IV.A", "No data in between.", &[("fig4", "between them")]),
    Claim::tested(
        "IV.A",
        "A degraded period has around 26 absences.",
        &[("fig5", "absences in it")],
    ),
    Claim::tested(
        "IV.A, Fig. 5",
        "A degraded period lasts 10 s, a normal one 110 s.",
        &[("fig5", "a degraded period"), ("fig5", "a normal period")],
    ),
    Claim::tested(
        "IV.A, Fig. 5",
        "The laptop sleeps for 110 ms and is awake for 320 ms.",
        &[("fig5", "asleep"), ("fig5", "awake")],
    ),
    Claim::untested(
        "IV.A, Fig. 5",
        "The average duration of each part of a sleeping period.",
        "The text has no number but those of the example.",
    ),
    Claim::untested(
        "IV.A",
        "Small queues and congestion window validation together keep the window small.",
        EXPLAINS,
    ),
    Claim::tested(
        "IV.B, Fig. 6",
        "Without small queues it has 174 Mb/s, 38 Mb/s more.",
        &[("fig6", "throughput in a normal period")],
    ),
    Claim::tested(
        "IV.B, Fig. 6",
        "The window goes up to 970 packets.",
        &[("fig6", "greatest congestion window")],
    ),
    Claim::tested(
        "IV.B, Fig. 6",
        "Throughput decreases to as low as 10 % when degraded.",
        &[("fig6", "lowest second when degraded")],
    ),
    Claim::tested(
        "IV.B, Fig. 6",
        "The window decreases largely in degraded periods.",
        &[("fig6", "congestion window in every degraded period")],
    ),
    Claim::untested(
        "IV.B",
        "Queued packets of the laptop are lost then, and the window shrinks.",
        EXPLAINS,
    ),
    Claim::tested(
        "V",
        "Small queues make no difference to downloads.",
        &[("fig7", "throughput in a normal period with small queues")],
    ),
    Claim::tested(
        "V.A, Fig. 7",
        "Downloads are degraded periodically, with the same Nulls.",
        &[("fig7", "from one exchange of Nulls")],
    ),
    Claim::tested(
        "V.A, Fig. 7",
        "The server's window is between 350 and 500 packets, and drops frequently.",
        &[("fig7", "congestion window, 5 %"), ("fig7", "drops of the")],
    ),
    Claim::tested(
        "V.A, Fig. 7",
        "The window grows along a cubic curve.",
        &[("fig7", "growth of the window")],
    ),
    Claim::tested(
        "V.A, Fig. 7",
        "Throughput drops sharply, the window does not decrease largely, unlike in uploads.",
        &[
            ("fig7", "lowest second when degraded"),
            ("fig7", "least congestion window"),
            ("fig7", "less of the window goes"),
        ],
    ),
    Claim::tested(
        "V.A, Fig. 7",
        "Throughput just after is rather low.",
        &[("fig7", "throughput in the 10 s after")],
    ),
    Claim::tested(
        "V.A, Fig. 8",
        "A-MPDUs and their MPDUs decrease largely in degraded periods.",
        &[("fig8", "A-MPDUs a second"), ("fig8", "MPDUs an A-MPDU when")],
    ),
    Claim::tested(
        "V.A, Fig. 8",
        "MPDUs are few just after.",
        &[("fig8", "MPDUs an A-MPDU in the 10 s after")],
    ),
    Claim::tested(
        "V.B, Fig. 9",
        "With NewReno throughput is degraded sharply every 120 s.",
        &[("fig9", "from one exchange of Nulls"), ("fig9", "lowest second when degraded")],
    ),
    Claim::tested(
        "V.B, Fig. 9",
        "The window is between 300 and 500 packets, and drops frequently.",
        &[("fig9", "congestion window, 5 %"), ("fig9", "drops of the")],
    ),
    Claim::tested("V.B, Fig. 9", "The window grows linearly.", &[("fig9", "growth of the window")]),
    Claim::tested(
        "V.B, Fig. 9",
        "The window does not decrease largely; throughput just after is low.",
        &[
            ("fig9", "least congestion window"),
            ("fig9", "less of the window goes"),
            ("fig9", "throughput in the 10 s after"),
        ],
    ),
    Claim::tested(
        "V.B, Fig. 10",
        "A-MPDUs and their MPDUs decrease largely, also just after.",
        &[("fig10", "A-MPDUs a second"), ("fig10", "MPDUs an A-MPDU")],
    ),
];
