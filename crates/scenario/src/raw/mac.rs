//! The MAC of a node: rate control, EDCA, aggregation, Block Ack, and giving up early at low data
//! rates. Contention windows are slots, lengths of aggregates bytes. Defaults and bounds that are
//! of a standard are decided in `assemble::radio`.

use crate::scalar::{Whole, choices};
use crate::table::tables;
use lasthop_units::{Bitrate, Db, Duration, Probability};

/// Rate control algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RateControlKind {
    Fixed,
    Ideal,
    Firmware,
    MinstrelHt,
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
    }
    RequestKind { "after-missing" => Self::AfterMissing, "after-drop" => Self::AfterDrop }
}

tables! {
    /// Rate control.
    RawRateControl {
        /// The algorithm. Minstrel-HT is what Linux uses for drivers without
        /// their own; it has no rates of 802.11ax, where firmware chooses. "firmware"
        /// stands in for that: the ideal choice from an SNR that is old and not exact.
        option kind: RateControlKind = "\"minstrel-ht\"; \"firmware\" with 802.11ax";
        /// The MCS, for a fixed rate with 802.11n (0 to 31, which says the streams,
        /// too), 802.11ac (0 to 9) and 802.11ax (0 to 11); width and guard interval
        /// are the channel's.
        option mcs: Whole<0, 31> = "none; a fixed rate needs mcs or rate";
        /// Streams of a fixed rate with 802.11ac and 802.11ax.
        option streams: Whole<1, 8> = "the node's streams";
        /// A fixed rate of 802.11ax with dual carrier modulation: MCS 0, 1, 3 or 4, at most two
        /// streams, between nodes with dcm.
        option dcm: bool = "false";
        /// A fixed rate of 802.11ax in extended range: one stream, on 242 tones MCS 0 to 2 (0 and
        /// 1 with dcm), on 106 tones MCS 0, between nodes with extended_range.
        option extended_range: ExtendedRangeTones = "none: the whole channel";
        /// The rate, for a fixed rate before 802.11n.
        option rate: Bitrate = "none; a fixed rate needs mcs or rate";
        /// How often Minstrel-HT or the firmware chooses anew.
        option update_interval: Duration = "50ms, as in Linux; 20ms for the firmware, no product's";
        /// Standard deviation of the firmware's error about the SNR.
        option snr_error: Db = "1dB, no product's";
        /// Shortest time between two probes of Minstrel-HT.
        option sample_interval: Duration = "20ms, as in Linux";
        /// The ideal control takes no rate whose packet error rate is above this.
        option per_max: Probability = "0.5";
    }

    /// EDCA parameters by access category.
    RawEdca {
        /// AC_BK; everything below best effort.
        table background: RawEdcaParameters;
        /// AC_BE; the default of all traffic. Without qos these are the DCF's.
        table best_effort: RawEdcaParameters;
        /// AC_VI.
        table video: RawEdcaParameters;
        /// AC_VO.
        table voice: RawEdcaParameters;
    }

    /// EDCA parameters of one access category. The defaults are those of IEEE
    /// 802.11-2020, table 9-155, for access point and station alike.
    RawEdcaParameters {
        /// Slots of the arbitration interframe space after SIFS.
        option aifsn: Whole<1, 15> = "7, 3, 2, 2 for background, best effort, video, voice; 2 without qos";
        /// Smallest contention window in slots, 2^n - 1.
        option cw_min: Whole<0, 32_767> = "aCWmin (15; 31 with 802.11b) for background and best effort, 7 for video, 3 for voice (15 and 7 with 802.11b)";
        /// Largest contention window in slots, 2^n - 1.
        option cw_max: Whole<0, 32_767> = "1023 for background and best effort, aCWmin for video, 7 for voice (15 with 802.11b)";
        /// TXOP limit in multiples of 32 us; zero allows one exchange.
        option txop_limit: Duration = "0s for background and best effort, 3.008ms for video, 1.504ms for voice (6.016ms and 3.264ms with 802.11b)";
    }

    /// What a sender packs into one PPDU (802.11n and later). The defaults are the
    /// limits of the generation, which most drivers use.
    RawAggregation {
        /// Longest A-MPDU in bytes; 0 for none.
        option ampdu_bytes_max: Whole<0, 6_500_631> = "with qos the most of the generation: 65535 in 802.11n, 1048575 in 802.11ac, 6500631 in 802.11ax (524287 at 2.4 GHz); else 0";
        /// Longest PPDU with an A-MPDU. aPPDUMaxTime is 5.484 ms; many drivers
        /// use 4 ms.
        value ampdu_duration_max: Duration = "5.484ms";
        /// Most MPDUs in an A-MPDU; never more than the Block Ack window.
        option ampdu_frames_max: Whole<1, 256> = "the Block Ack window";
        /// Shortest time between the starts of two MPDUs, up to 16 us. Zero is
        /// a receiver without that need; many chips ask for 4 to 8 us.
        value mpdu_start_spacing: Duration = "0s";
        /// Longest A-MSDU in bytes, up to 7935 in 802.11n and 11424 later, with which
        /// an MPDU has 11454; 0 for none, as in most Linux drivers for 802.11n.
        value amsdu_bytes_max: Whole<0, 11_424> = 0;
        /// A-MPDUs are built before the channel is won: the hardware has two
        /// for a peer, one on the air and the next, as under ath9k, and what
        /// comes later waits for the one after. Without it each takes all that
        /// is there when it begins, as the best drivers and firmwares come close to.
        value built_ahead: bool = false;
    }

    /// Block Ack.
    RawBlockAck {
        /// Window in MPDUs; 64 is the most that 802.11n and 802.11ac have.
        option window: Whole<1, 256> = "64; 256 with 802.11ax";
        /// The receiver gives a gap up after this long. Linux waits 100 ms.
        value reorder_timeout: Duration = "100ms";
        /// When the sender asks for a Block Ack: after every missing one, or
        /// only after giving frames up, as Linux drivers do.
        value request: RequestKind = "after-drop";
    }

    /// Fewer retransmissions at a low data rate, so that TCP loses segments
    /// and slows down before the queue is long. The numbers are those of
    /// "Resolving Bufferbloat in TCP Communication over IEEE 802.11n WLAN by
    /// Reducing MAC Retransmission Limit at Low Data Rate" (ICN 2017), for a
    /// node with ten retransmissions otherwise (retry_limit = 11).
    RawLowRateRetry = enabled {
        /// Whether it is in force.
        value enabled: bool = false;
        /// Upper ends of the steps, ascending, up to four of them: each is in
        /// force while the smoothed data rate is below.
        option rates: Vec<Bitrate> = "[\"25Mb/s\", \"50Mb/s\", \"100Mb/s\"]";
        /// Retransmissions in each step: attempts less the first. Above the
        /// last step retry_limit is in force.
        option limits: Vec<Whole<0, 254>> = "[2, 5, 8], as far as retry_limit allows";
        /// Weight of an MPDU's data rate in the smoothed one, in 256ths.
        option smoothing: Probability = "0.25";
        /// For all MPDUs, not only for those that carry TCP.
        value all_traffic: bool = false;
    }

    /// Pseudo retry-out: a receiver under a Block Ack agreement gives an MPDU
    /// that carries TCP up after a few erroneous receptions, as if its sender
    /// had. The numbers are Table I of "A Solution for Bufferbloat Problem in
    /// Upload TCP Communication over IEEE 802.11n WLAN Only by Modifying Access
    /// Point".
    RawPseudoRetryOut = enabled {
        /// Whether it is in force.
        value enabled: bool = false;
        /// Upper ends of the steps, ascending, up to four of them: each is in
        /// force while the smoothed data rate is below. Above the last one
        /// nothing is given up.
        option rates: Vec<Bitrate> = "[\"25Mb/s\", \"50Mb/s\", \"100Mb/s\"]";
        /// Retry-out index of each step: the retransmissions that may fail.
        option indices: Vec<Whole<0, 254>> = "[2, 5, 8]";
        /// Weight of an MPDU's data rate in the smoothed one, in 256ths.
        option smoothing: Probability = "0.25";
    }
}
