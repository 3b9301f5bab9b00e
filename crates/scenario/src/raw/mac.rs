//! The MAC of a node: rate control, EDCA, aggregation, Block Ack, and giving up early at low data
//! rates. Contention windows are slots, lengths of aggregates bytes. `assemble::radio` decides
//! defaults and limits of a standard.

use lasthop_config::choices;
use lasthop_config::scalar::Whole;
use lasthop_config::tables;
use lasthop_units::{Bitrate, Db, Duration, Probability};

/// Rate control algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RateControlKind {
    Fixed,
    Ideal,
    Firmware,
    MinstrelHt,
    Ath9k,
}

/// When a Block Ack Request is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    AfterMissing,
    AfterDrop,
}

/// On which tones a PPDU of extended range has its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExtendedRangeTones {
    Tones242,
    Tones106,
}

choices! {
    ExtendedRangeTones { "242-tones" => Self::Tones242, "106-tones" => Self::Tones106 }
    RateControlKind {
        "fixed" => Self::Fixed,
        "ideal" => Self::Ideal,
        "firmware" => Self::Firmware,
        "minstrel-ht" => Self::MinstrelHt,
        "ath9k" => Self::Ath9k,
    }
    RequestKind { "after-missing" => Self::AfterMissing, "after-drop" => Self::AfterDrop }
}

tables! {
    /// Rate control towards each peer.
    RawRateControl {
        /// Rate control algorithm. Linux uses Minstrel-HT for drivers without rate control; it has
        /// no 802.11ax rates. "ath9k" is the driver's own, its default before Linux 3.9, without
        /// 802.11ac rates, too. "firmware" stands in for 802.11ax devices: the ideal choice from an
        /// old and inexact SNR.
        option kind: RateControlKind = "\"minstrel-ht\"; \"firmware\" with 802.11ax";
        /// The fixed rate.
        flatten fixed: RawFixedRate;
        /// Time between decisions of Minstrel-HT or the firmware.
        option update_interval: Duration = "50ms, as in Linux; 20ms for the firmware, no product's";
        /// Firmware: standard deviation of the SNR's error.
        option snr_error: Db = "1dB, no product's";
        /// Minstrel-HT: shortest time between two probes.
        option sample_interval: Duration = "20ms, as in Linux";
        /// Ideal: highest packet error rate of a chosen rate.
        option per_max: Probability = "0.5";
        /// Peers with a fixed rate, whatever the kind is, as with Minstrel's fixed_rate_idx of a
        /// station.
        list peers: RawPeerRate;
    }

    /// A fixed rate towards one peer, in place of rate control. A [[change]] of rate_control does
    /// not change it.
    RawPeerRate {
        /// A peer of this node, or several by a `*`; of two entries for a peer the last one holds.
        required node: String;
        /// The fixed rate.
        flatten fixed: RawFixedRate;
    }

    /// A fixed rate.
    RawFixedRate {
        /// Fixed rate: MCS of 802.11n (0 to 31, which includes the streams), 802.11ac (0 to 9),
        /// 802.11ax (0 to 11) or 802.11be (0 to 13; 14 and 15 between nodes with dcm), at the width and guard interval of the channel.
        option mcs: Whole<0, 31> = "none; a fixed rate requires mcs or rate";
        /// Fixed rate: streams with 802.11ac and later.
        option streams: Whole<1, 8> = "the node's streams";
        /// Fixed rate with dual carrier modulation (802.11ax): MCS 0, 1, 3 or 4, at most two
        /// streams, between nodes with dcm.
        option dcm: bool = "false";
        /// Fixed rate in extended range (802.11ax), one stream: 242 tones with MCS 0 to 2 (0 and 1
        /// with dcm), 106 tones with MCS 0, between nodes with extended_range.
        option extended_range: ExtendedRangeTones = "none: the whole channel";
        /// Fixed rate of 802.11a, b or g; with later standards, too, where its frames are not
        /// aggregated.
        option rate: Bitrate = "none; a fixed rate requires mcs or rate";
    }

    /// EDCA parameters by access category.
    RawEdca {
        /// AC_BK: traffic below best effort.
        table background: RawEdcaParameters;
        /// AC_BE: the default of all traffic. Without qos these are the DCF's parameters.
        table best_effort: RawEdcaParameters;
        /// AC_VI: parameters for video.
        table video: RawEdcaParameters;
        /// AC_VO: parameters for voice.
        table voice: RawEdcaParameters;
    }

    /// EDCA parameters of one access category, the same for access point and station (IEEE
    /// 802.11-2020, table 9-155).
    RawEdcaParameters {
        /// Slots of the arbitration interframe space after SIFS.
        option aifsn: Whole<1, 15> = "7, 3, 2, 2 for background, best effort, video, voice; 2 without qos";
        /// Smallest contention window in slots, 2^n - 1.
        option cw_min: Whole<0, 32_767> = "aCWmin (15; 802.11b 31) for background and best effort, 7 for video, 3 for voice (802.11b 15, 7)";
        /// Largest contention window in slots, 2^n - 1.
        option cw_max: Whole<0, 32_767> = "1023 for background and best effort, aCWmin for video, 7 for voice (802.11b 15)";
        /// TXOP limit, a multiple of 32 us; zero allows one exchange.
        option txop_limit: Duration = "0s for background and best effort, 3.008ms for video, 1.504ms for voice (802.11b 6.016ms, 3.264ms)";
    }

    /// Aggregation by the sender (802.11n and later). The defaults are the limits of the
    /// generation, which most drivers use, without A-MSDUs.
    RawAggregation {
        /// Longest A-MPDU in bytes; 0 for none.
        option ampdu_bytes_max: Whole<0, 15_523_200> = "with qos the generation's limit: 65535 in 802.11n, 1048575 in 802.11ac, 6500631 in 802.11ax, 15523200 in 802.11be (both 524287 at 2.4 GHz); else 0";
        /// Longest PPDU with an A-MPDU (aPPDUMaxTime); many drivers use 4 ms.
        value ampdu_duration_max: Duration = "5.484ms";
        /// Most MPDUs in an A-MPDU, within the Block Ack window.
        option ampdu_frames_max: Whole<1, 1_024> = "the Block Ack window";
        /// Shortest time between the starts of two MPDUs, up to 16 us; many chips require 4 to 8
        /// us.
        value mpdu_start_spacing: Duration = "0s";
        /// Longest A-MSDU in bytes, up to 7935 in 802.11n and 11424 later (MPDUs of 11454 bytes); 0
        /// for none, as in ns-3 and most Linux drivers for 802.11n. Two-stream 802.11ac adapters
        /// use A-MSDUs: see profile "iwlwifi".
        value amsdu_bytes_max: Whole<0, 11_424> = 0;
        /// A-MPDUs are built before the channel is won, as under ath9k, for one peer after the
        /// other. Otherwise each takes all waiting packets when it begins, which the best drivers
        /// and firmwares come close to.
        value built_ahead: bool = false;
        /// With built_ahead: most A-MPDUs in the hardware queue of an access category, the one on
        /// the air included.
        option hardware_ampdus: Whole<1, 16> = "2 (ATH_AGGR_MIN_QDEPTH of ath9k)";
    }

    /// Block Ack agreements with all peers.
    RawBlockAck {
        /// Window in MPDUs; the limit of 802.11n and 802.11ac is 64.
        option window: Whole<1, 1_024> = "64; 256 with 802.11ax, 1024 with 802.11be";
        /// Time after which the receiver gives up a gap (Linux: 100 ms).
        value reorder_timeout: Duration = "100ms";
        /// Block Ack Requests after every missing Block Ack, or only after given-up frames, as
        /// Linux drivers send them.
        value request: RequestKind = "after-drop";
    }

    /// Fewer retransmissions at low data rates, so that TCP loses segments and slows down before
    /// the queue is long. The numbers are those of "Resolving Bufferbloat in TCP Communication over
    /// IEEE 802.11n WLAN by Reducing MAC Retransmission Limit at Low Data Rate" (ICN 2017), for ten
    /// retransmissions otherwise (retry_limit = 11).
    RawLowRateRetry = enabled {
        /// Whether the mechanism is on.
        value enabled: bool = false;
        /// Upper ends of up to four steps, ascending; a step applies while the smoothed data rate
        /// is below.
        option rates: Vec<Bitrate> = "[\"25Mb/s\", \"50Mb/s\", \"100Mb/s\"]";
        /// Retransmissions in each step: attempts less the first. Above the last step retry_limit
        /// applies.
        option limits: Vec<Whole<0, 254>> = "[2, 5, 8], as far as retry_limit allows";
        /// Weight of an MPDU's data rate in the smoothed one, in 256ths.
        option smoothing: Probability = "0.25";
        /// Applies to all MPDUs, not only to those with TCP.
        value all_traffic: bool = false;
    }

    /// Pseudo retry-out: a receiver under a Block Ack agreement gives up an MPDU with TCP after a
    /// few erroneous receptions, as if the sender had. The numbers are Table I of "A Solution for
    /// Bufferbloat Problem in Upload TCP Communication over IEEE 802.11n WLAN Only by Modifying
    /// Access Point".
    RawPseudoRetryOut = enabled {
        /// Whether the mechanism is on.
        value enabled: bool = false;
        /// Upper ends of up to four steps, ascending; a step applies while the smoothed data rate
        /// is below, and none above the last.
        option rates: Vec<Bitrate> = "[\"25Mb/s\", \"50Mb/s\", \"100Mb/s\"]";
        /// Retry-out index of each step: the retransmissions that may fail.
        option indices: Vec<Whole<0, 254>> = "[2, 5, 8]";
        /// Weight of an MPDU's data rate in the smoothed one, in 256ths.
        option smoothing: Probability = "0.25";
    }
}
