//! The statements of the paper, in words of our own, each with the quantities that test
//! it or the reason why none does. Descriptions of other papers and of the standard
//! (sections I and II) are no results, and left out.

use crate::reproduce::figure::Claim;

const MEMORY: &str = "A limit of the kernel (buffer_bytes).";

pub(super) const CLAIMS: &[Claim] = &[
    Claim::untested("III", "Constants of mac80211 and ath9k bound payloads.", MEMORY),
    Claim::untested("III, IV", "A page of 4096 bytes bounds payloads to 4000 bytes.", MEMORY),
    Claim::untested(
        "III",
        "The modified kernel is stable, the module easy to deploy.",
        "Not about the link.",
    ),
    Claim::untested(
        "IV",
        "Networks around interfere with all measurements.",
        "The scenario has bursts of another node; the paper does not state the interference.",
    ),
    Claim::tested(
        "IV, Fig. 4",
        "Throughput is around 100 Mb/s at 1500 bytes.",
        &[("fig4", "throughput at 1500")],
    ),
    Claim::tested(
        "IV, Fig. 4",
        "Throughput is more than 170 Mb/s at 4000 bytes.",
        &[("fig4", "throughput at 4000")],
    ),
    Claim::tested(
        "IV, Fig. 4",
        "Without jumbo frames there is no such gain, but fluctuations.",
        &[("fig4", "without jumbo frames it is flat")],
    ),
    Claim::untested(
        "IV, Fig. 4",
        "Jumbo frames withstand interference better.",
        "A conclusion; figure 6 has the losses.",
    ),
    Claim::tested(
        "IV, Fig. 5",
        "Delay clearly increases with the payload, with jumbo frames and without.",
        &[("fig5", "from 2000 to 4000 bytes the delay rises")],
    ),
    Claim::tested(
        "IV, Fig. 5",
        "Jumbo frames have less delay than fragments in an A-MPDU.",
        &[("fig5", "without jumbo frames the delay is longer")],
    ),
    Claim::tested(
        "IV, Fig. 6; V",
        "Jumbo frames lose more at 2000, 2500 and 3500 bytes. (By the abstract longer frames lose \
         less.)",
        &[("fig6", "jumbo frames: losses at")],
    ),
    Claim::tested(
        "IV, Fig. 6; V",
        "On a good link losses are mitigated.",
        &[("fig6", "jumbo frames on a link without interference")],
    ),
    Claim::tested(
        "IV, Fig. 6",
        "Without jumbo frames losses can be much higher.",
        &[("fig6", "without jumbo frames more packets are lost")],
    ),
    Claim::untested(
        "IV, Fig. 6",
        "Fragments make bursts of packets and more errors.",
        "An explanation; the observation is tested.",
    ),
    Claim::tested(
        "IV, Fig. 7; V",
        "A video of 5 s needs more than 66 % fewer packets at 4000 bytes.",
        &[("fig7", "fewer packets")],
    ),
    Claim::untested("V", "Delays remain tolerable.", "The paper has no number and no load."),
    Claim::tested("V (future work)", "The frame size should follow the link.", &[("adaptive", "")]),
];
