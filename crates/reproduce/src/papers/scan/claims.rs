//! The statements of the paper, in words of our own, each with the quantities that test
//! it or the reason why none does. Descriptions of 802.11, of Linux and of other papers
//! (sections I and II) are no results, and left out.

use crate::figure::Claim;

const SETTING: &str = "The setting: it is in the scenario.";
const EXPLAINS: &str = "The paper's explanation of what it saw; what it explains is tested.";

pub(super) const CLAIMS: &[Claim] = &[
    Claim::untested("III", "802.11n at 5 GHz, up to 300 Mb/s, a server at 1 Gb/s.", SETTING),
    Claim::tested(
        "IV",
        "The congestion control hardly affects uploads.",
        &[("fig3", "throughput in a normal period with NewReno")],
    ),
    Claim::tested(
        "IV.A, Fig. 3",
        "Degraded periods last about 10 s and come about every 120 s.",
        &[("fig5", "a degraded period"), ("fig5", "from one degraded period")],
    ),
    Claim::tested(
        "IV.A, Fig. 3",
        "In normal periods an upload with small queues has 136 Mb/s on average.",
        &[("fig3", "throughput in a normal period")],
    ),
    Claim::tested(
        "IV.A, Fig. 3",
        "It decreases to as much as 57 % when degraded. Read as the lowest second: a mean over \
         the schedule of Fig. 5, which leaves 74 % of the time, could not be so low without \
         losses.",
        &[("fig3", "lowest second when degraded")],
    ),
    Claim::tested(
        "IV.A, Fig. 3",
        "The window does not decrease then, so nothing is lost.",
        &[("fig3", "segments retransmitted"), ("fig3", "congestion window when degraded")],
    ),
    Claim::tested(
        "IV.A, Fig. 3",
        "The window is limited to around 200 packets.",
        &[("fig3", "congestion window in a normal period")],
    ),
    Claim::tested(
        "IV.A, Fig. 4 (one example)",
        "A Null with PM = 1 is not acknowledged, and is sent again eight times with its number \
         and the Retry bit, from the fourth time on after RTS and CTS; the ninth is acknowledged.",
        &[("fig4", "Null with PM = 1"), ("fig4", "RTS before")],
    ),
    Claim::tested(
        "IV.A, Fig. 4 (one example)",
        "That takes 1.8 ms.",
        &[("fig4", "leaving, where the ninth")],
    ),
    Claim::tested(
        "IV.A, Fig. 4 (one example)",
        "A beacon comes 90 ms later, and 24 ms after it a Null with PM = 0.",
        &[("fig4", "from there to the beacon"), ("fig4", "from there to the Null")],
    ),
    Claim::tested(
        "IV.A, Fig. 4 (one example)",
        "That is sent again four times, although the monitor hears its Acks.",
        &[("fig4", "Null with PM = 0")],
    ),
    Claim::untested(
        "IV.A, Fig. 4 (one example)",
        "Another Null with PM = 0 and the next number follows, and is acknowledged at once.",
        "Not modelled: ours sends one. Why the laptop sent a second is unknown.",
    ),
    Claim::tested(
        "IV.A, Fig. 4 (one example)",
        "Both together take 1.3 ms.",
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
        "On average a degraded period lasts around 10 s and a normal one 110 s.",
        &[("fig5", "a degraded period"), ("fig5", "a normal period")],
    ),
    Claim::tested(
        "IV.A, Fig. 5",
        "On average the laptop sleeps for 110 ms and is awake for 320 ms.",
        &[("fig5", "asleep"), ("fig5", "awake")],
    ),
    Claim::untested(
        "IV.A, Fig. 5",
        "The average duration of each part of a sleeping period.",
        "Only in the figure: the text has no number but those of the example.",
    ),
    Claim::untested(
        "IV.A",
        "Small queues and congestion window validation together keep the window small.",
        EXPLAINS,
    ),
    Claim::tested(
        "IV.B, Fig. 6",
        "Without small queues an upload has 174 Mb/s in normal periods, 38 Mb/s more.",
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
        "Packets that queue at the laptop are lost then, which reduces the window and with it \
         the throughput.",
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
        "It increases along a cubic curve.",
        &[("fig7", "growth of the window")],
    ),
    Claim::tested(
        "V.A, Fig. 7",
        "In contrast to uploads, throughput drops sharply although the window does not decrease \
         largely.",
        &[
            ("fig7", "lowest second when degraded"),
            ("fig7", "least congestion window"),
            ("fig7", "less of the window goes"),
        ],
    ),
    Claim::tested(
        "V.A, Fig. 7",
        "Throughput just after a degraded period is rather low.",
        &[("fig7", "throughput in the 10 s after")],
    ),
    Claim::tested(
        "V.A, Fig. 8",
        "A-MPDUs, and MPDUs in each, decrease largely in degraded periods.",
        &[("fig8", "A-MPDUs a second"), ("fig8", "MPDUs an A-MPDU when")],
    ),
    Claim::tested(
        "V.A, Fig. 8",
        "MPDUs in an A-MPDU are few just after a degraded period.",
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
    Claim::tested("V.B, Fig. 9", "It increases linearly.", &[("fig9", "growth of the window")]),
    Claim::tested(
        "V.B, Fig. 9",
        "The window does not decrease largely, and throughput just after is rather low.",
        &[
            ("fig9", "least congestion window"),
            ("fig9", "less of the window goes"),
            ("fig9", "throughput in the 10 s after"),
        ],
    ),
    Claim::tested(
        "V.B, Fig. 10",
        "A-MPDUs, and MPDUs in each, decrease largely in degraded periods; MPDUs are few just \
         after.",
        &[("fig10", "A-MPDUs a second"), ("fig10", "MPDUs an A-MPDU")],
    ),
];
