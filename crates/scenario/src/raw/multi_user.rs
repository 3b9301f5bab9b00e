//! PPDUs for several stations, or of several: OFDMA in both directions, MU EDCA parameters, and
//! downlink MU-MIMO (802.11ac and 802.11ax). Only access points have these tables. What each
//! standard has of them is decided in `assemble::radio`.

use crate::quantity::Hertz;
use crate::scalar::{OrOff, Whole, choices};
use crate::table::tables;
use lasthop_units::Duration;

/// How stations acknowledge what they were sent at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfdmaAcknowledgementKind {
    BlockAckRequest,
    MuBlockAckRequest,
    Aggregated,
}

/// Bits of the angles in a beamforming report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodebookKind {
    Coarse,
    Fine,
}

choices! {
    OfdmaAcknowledgementKind {
        "bar" => Self::BlockAckRequest,
        "mu-bar" => Self::MuBlockAckRequest,
        "aggregated" => Self::Aggregated,
    }
    CodebookKind { "coarse" => Self::Coarse, "fine" => Self::Fine }
}

tables! {
    /// OFDMA. Downlink: when the access point gains the channel and has packets of that access
    /// category for several stations, it sends to as many at once as RUs of one size fill the
    /// channel for. They take turns; with a queue that schedules airtime, by their airtime.
    RawOfdma {
        /// Most stations in a PPDU. RUs are for 2, 4 or 9 at 20 MHz, 2, 4, 8 or 18 at 40 MHz,
        /// 2, 4, 8, 16 or 37 at 80 MHz, and 2, 4, 8, 16, 32 or 74 at 160 MHz; with fewer
        /// stations the next lower number.
        value stations: Whole<2, 74> = 8;
        /// How they acknowledge. "mu-bar": a Trigger frame behind the PPDU asks all for their
        /// Block Acks at once; "aggregated": the Trigger frame is inside the PPDU; "bar": a
        /// Block Ack Request for each, one after the other.
        value acknowledgement: OfdmaAcknowledgementKind = "mu-bar";
        /// Uplink OFDMA: the access point asks stations to send at once.
        option_table uplink: RawUplink = "none: stations send only when they gain the channel";
    }

    /// Downlink MU-MIMO. When the access point gains the channel and has packets of that access
    /// category for several stations, it sends to a group of those whose turn it is; who was not
    /// sounded for an interval is sounded first. With ofdma as well, OFDMA is for what MU-MIMO is
    /// not. What a station receives is that of zero forcing, see the page on the model.
    RawMuMimo {
        /// Most stations in a PPDU: 2 to 4 with 802.11ac, to 8 with 802.11ax.
        value stations: Whole<2, 8> = 4;
        /// Antennas of the access point, as many as its streams at least: most streams of all
        /// stations in a PPDU. The more there are beyond these, the stronger each is.
        option antennas: Whole<2, 8> = "4, or the node's streams if these are more";
        /// Most streams of one station, at most those of its rate and the node's.
        value streams: Whole<1, 4> = 1;
        /// How stations acknowledge, as with OFDMA. 802.11ac has "bar" only.
        option acknowledgement: OfdmaAcknowledgementKind = "\"bar\" with 802.11ac, \"mu-bar\" with 802.11ax";
        /// A station is sounded again when its report is this old, at least 1 ms. At 20 ms and
        /// 0.4 Hz other streams are 29 dB below its own, at 100 ms 15 dB.
        value sounding_interval: Duration = "20ms";
        /// Subcarriers that share the angles of a report: 1, 2 or 4 with 802.11ac, 4 or 16 with
        /// 802.11ax. It is only about the length of reports.
        value grouping: Whole<1, 16> = 4;
        /// Bits of the angles: "coarse" has 7 and 5, "fine" 9 and 7, which leave other streams of
        /// four antennas 33 and 45 dB below a station's own.
        value codebook: CodebookKind = "fine";
        /// Doppler rate of the place: people move while stations stand still, at 0.089 km/h in
        /// 802.11ac's channel model, which are 0.4 Hz at 5 GHz. Reports age by it,
        /// and the access point reckons with it; a link whose fading is faster ages by that,
        /// unknown to the access point.
        value doppler: Hertz = "0.4Hz";
    }

    /// Uplink OFDMA. When the access point gains the channel and knows of stations that hold
    /// packets of that access category, it asks up to `stations` of them with a Basic Trigger
    /// frame, and they send at once, for as long as the longest backlog takes. It takes turns with
    /// downlink, and the stations with each other; with a queue that schedules airtime, those come
    /// first that had least. How much a station holds is in all of its QoS frames.
    RawUplink {
        /// Asks for buffer status by a BSRP Trigger frame ahead of each Basic one, and, where no
        /// backlog is known, when this time has passed since the last. "off": a station
        /// that said that it holds nothing has to gain the channel itself.
        value buffer_reports: OrOff<Duration> = "off";
        /// How stations contend after the access point acknowledged what it asked for.
        table mu_edca: RawMuEdca;
    }

    /// MU EDCA parameters that the access point announces, by access category.
    RawMuEdca {
        /// AC_BK.
        option_table background: RawMuEdcaParameters = "none: as ever";
        /// AC_BE.
        option_table best_effort: RawMuEdcaParameters = "none: as ever";
        /// AC_VI.
        option_table video: RawMuEdcaParameters = "none: as ever";
        /// AC_VO.
        option_table voice: RawMuEdcaParameters = "none: as ever";
    }

    /// How a station contends in an access category from each acknowledgement of data that it
    /// was asked for until the timer ends.
    RawMuEdcaParameters {
        /// Slots of the arbitration interframe space after SIFS, 2 to 15; 0: it does not contend,
        /// whatever the windows are.
        value aifsn: Whole<0, 15> = 0;
        /// Smallest contention window in slots, 2^n - 1.
        value cw_min: Whole<0, 32_767> = 15;
        /// Largest contention window in slots, 2^n - 1.
        value cw_max: Whole<0, 32_767> = 1023;
        /// A multiple of 8.192 ms, up to 255 of them (2.08896 s).
        value timer: Duration = "8.192ms";
    }
}
