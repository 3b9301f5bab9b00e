//! PPDUs for several stations, or of several: OFDMA in both directions, MU EDCA parameters, and
//! downlink MU-MIMO (802.11ac, ax and be). Only access points have these tables.
//! `assemble::radio` decides what each standard allows.

use lasthop_config::choices;
use lasthop_config::quantity::Hertz;
use lasthop_config::scalar::{OrOff, Whole};
use lasthop_config::tables;
use lasthop_units::Duration;

/// Acknowledgement of PPDUs for several stations.
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
    /// OFDMA of an access point. In the downlink, one PPDU carries packets of the access category
    /// that gained the channel to as many stations as RUs of one size fill the channel for.
    /// Stations take turns, by airtime if the queue schedules airtime.
    RawOfdma {
        /// Most stations in a PPDU. RUs serve 2, 4 or 9 at 20 MHz, 2, 4, 8 or 18 at 40 MHz, 2, 4,
        /// 8, 16 or 37 at 80 MHz, 2, 4, 8, 16, 32 or 74 at 160 MHz, up to 64 at 320 MHz; with fewer
        /// stations the next lower number. 802.11be has 36 and 72 instead of 37 and 74. A PPDU serves
        /// stations of one generation, 802.11ax or 802.11be.
        value stations: Whole<2, 74> = 8;
        /// "mu-bar": a Trigger frame behind the PPDU requests all Block Acks at once. "aggregated":
        /// the Trigger frame is inside the PPDU. "bar": one Block Ack Request after the other.
        value acknowledgement: OfdmaAcknowledgementKind = "mu-bar";
        /// Uplink OFDMA: the access point triggers stations to send at once.
        option_table uplink: RawUplink = "none: stations only contend";
    }

    /// Downlink MU-MIMO of an access point. One PPDU carries packets of the access category that
    /// gained the channel to a group of stations; stations without a recent report are sounded
    /// first. With ofdma too, OFDMA serves the others. Reception follows zero forcing ([the
    /// model](model.md#several-stations-in-one-ppdu-mu-mimo)).
    RawMuMimo {
        /// Most stations in a PPDU: up to 4 with 802.11ac, up to 8 with 802.11ax and 802.11be.
        value stations: Whole<2, 8> = 4;
        /// Antennas of the access point, at least its streams; also the most streams in a PPDU.
        /// Each further antenna strengthens all streams.
        option antennas: Whole<2, 8> = "4, or the node's streams if these are more";
        /// Most streams of one station, within those of its rate and node.
        value streams: Whole<1, 4> = 1;
        /// Acknowledgement as with OFDMA; 802.11ac has "bar" only.
        option acknowledgement: OfdmaAcknowledgementKind = "\"bar\" with 802.11ac, \"mu-bar\" with 802.11ax and 802.11be";
        /// Age at which a report is renewed, at least 1 ms. At 0.4 Hz other streams are 29 dB below
        /// a station's own after 20 ms, 15 dB after 100 ms.
        value sounding_interval: Duration = "20ms";
        /// Subcarriers that share the angles of a report: 1, 2 or 4 with 802.11ac, 4 or 16 with
        /// 802.11ax and 802.11be. Only affects the length of reports.
        value grouping: Whole<1, 16> = 4;
        /// Bits of the angles: "coarse" 7 and 5, "fine" 9 and 7, which leave other streams of four
        /// antennas 33 and 45 dB below a station's own.
        value codebook: CodebookKind = "fine";
        /// Doppler rate of the surroundings, which ages reports and which the access point knows:
        /// 0.089 km/h in 802.11ac's channel model, 0.4 Hz at 5 GHz. A link with faster fading ages
        /// faster, unknown to the access point.
        value doppler: Hertz = "0.4Hz";
    }

    /// Uplink OFDMA of an access point. When the access point gains the channel and knows of
    /// backlogs in that access category, a Basic Trigger frame makes up to `stations` stations send
    /// at once, for as long as the longest backlog takes. Uplink and downlink take turns, as do
    /// stations; with a queue that schedules airtime, those with the least airtime come first. All
    /// QoS frames report the size of the queue.
    RawUplink {
        /// Interval of BSRP Trigger frames while no backlog is known; one also precedes each Basic
        /// Trigger frame. "off": stations that reported an empty queue must contend.
        value buffer_reports: OrOff<Duration> = "off";
        /// Contention of stations after the access point acknowledged triggered data.
        table mu_edca: RawMuEdca;
    }

    /// MU EDCA parameters that the access point announces, by access category.
    RawMuEdca {
        /// MU EDCA parameters of AC_BK.
        option_table background: RawMuEdcaParameters = "none: EDCA's";
        /// MU EDCA parameters of AC_BE.
        option_table best_effort: RawMuEdcaParameters = "none: EDCA's";
        /// MU EDCA parameters of AC_VI.
        option_table video: RawMuEdcaParameters = "none: EDCA's";
        /// MU EDCA parameters of AC_VO.
        option_table voice: RawMuEdcaParameters = "none: EDCA's";
    }

    /// Contention of a station from each acknowledgement of triggered data until the timer ends.
    RawMuEdcaParameters {
        /// Slots of the arbitration interframe space after SIFS, 2 to 15; 0 stops contention.
        value aifsn: Whole<0, 15> = 0;
        /// Smallest contention window in slots, 2^n - 1.
        value cw_min: Whole<0, 32_767> = 15;
        /// Largest contention window in slots, 2^n - 1.
        value cw_max: Whole<0, 32_767> = 1023;
        /// Duration of the timer: 1 to 255 times 8.192 ms (2.08896 s).
        value timer: Duration = "8.192ms";
    }
}
