//! `[channel]`: standard, band, width and what the whole cell shares; how a signal fades with
//! distance and time, and how a signal-to-noise ratio becomes loss. What may stand together, such
//! as a width and a band, is decided in `assemble::radio`.

use crate::quantity::Hertz;
use crate::scalar::{Factor, FilePath, OrOff, Whole, choices};
use crate::table::tables;
use lasthop_units::{Bitrate, Db, Dbm, Duration};
use lasthop_wifi::phy::{Band, ChannelWidth, Preamble, Standard};

/// How a path loss grows with distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathLossKind {
    LogDistance,
    FreeSpace,
}

/// Fading models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FadingKind {
    None,
    Rayleigh,
    Rician,
}

/// Error models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorModelKind {
    Nist,
    Simulated,
    Table,
}

/// The guard interval of 802.11n and later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShortestGuardInterval {
    Ns400,
    Ns800,
    Ns1600,
    Ns3200,
}

choices! {
    Standard {
        "802.11b" => Self::Dot11b,
        "802.11g" => Self::Dot11g,
        "802.11a" => Self::Dot11a,
        "802.11n" => Self::Dot11n,
        "802.11ac" => Self::Dot11ac,
        "802.11ax" => Self::Dot11ax,
    }
    Band { "2.4GHz" => Self::Ghz2_4, "5GHz" => Self::Ghz5, "6GHz" => Self::Ghz6 }
    ChannelWidth {
        "20MHz" => Self::Mhz20,
        "40MHz" => Self::Mhz40,
        "80MHz" => Self::Mhz80,
        "160MHz" => Self::Mhz160,
    }
    ShortestGuardInterval {
        "800ns" => Self::Ns800,
        "400ns" => Self::Ns400,
        "1600ns" => Self::Ns1600,
        "3200ns" => Self::Ns3200,
    }
    Preamble { "long" => Self::Long, "short" => Self::Short }
    FadingKind { "none" => Self::None, "rayleigh" => Self::Rayleigh, "rician" => Self::Rician }
    PathLossKind { "log-distance" => Self::LogDistance, "free-space" => Self::FreeSpace }
    ErrorModelKind {
        "nist" => Self::Nist,
        "simulated" => Self::Simulated,
        "table" => Self::Table,
    }
}

tables! {
    /// The radio channel and what the whole cell shares.
    RawChannel {
        /// Generation of the cell, of the access point and all stations that do not name an
        /// older one. 802.11n is what every device in use can speak; 802.11ax sends to
        /// several stations at once where the access point has ofdma.
        value standard: Standard = "802.11n";
        /// Frequency band.
        option band: Band = "\"2.4GHz\" for 802.11b and 802.11g, else \"5GHz\"";
        /// Channel width. 20 MHz is what crowded places use; 40 MHz needs 802.11n,
        /// 80 and 160 MHz need 802.11ac or 802.11ax and another band than 2.4 GHz.
        value width: ChannelWidth = "20MHz";
        /// Shortest guard interval in use; "400ns" needs 802.11n or 802.11ac. The long
        /// one is the mandatory one. With 802.11ax it is the only one: "800ns" and
        /// "1600ns" with HE-LTFs of twice the length of a usual one, "3200ns" of four
        /// times.
        value guard_interval: ShortestGuardInterval = "800ns";
        /// Preamble of DSSS and CCK frames (802.11b and 802.11g). Long is what
        /// every receiver understands.
        value preamble: Preamble = "long";
        /// Preamble of control responses at DSSS and CCK rates. Real receivers
        /// answer as they were asked; ns-3 answers with a long one.
        option control_preamble: Preamble = "that of the frame they answer";
        /// Noise figure of every receiver. 7 dB is a usual laptop or phone.
        value noise_figure: Db = "7dB";
        /// How a signal-to-noise ratio becomes loss.
        table error_model: RawErrorModel;
        /// Time between beacons. 100 time units, as almost every
        /// access point is configured.
        value beacon_interval: OrOff<Duration> = "102.4ms";
        /// Beacons from one with a DTIM to the next. Group frames wait for it
        /// while some station dozes or is away. 2 is hostapd's default.
        value dtim_period: Whole<1, 255> = 2;
        /// Rates of control responses, group frames and beacons.
        option basic_rates: Vec<Bitrate> = "the mandatory rates of the standard: 6, 12, 24 Mb/s at 5 GHz; 1, 2 Mb/s with 802.11b; all five with 802.11g, and with 802.11n and 802.11ax at 2.4 GHz";
        /// Rate of broadcast and multicast data, one without HT. hostapd and Linux take the lowest
        /// basic rate unless `iw set mcast_rate` says otherwise.
        option group_rate: Bitrate = "the lowest basic rate";
        /// The same by its MCS, in 20 MHz with a guard interval of 800 ns, in the format of the
        /// oldest node's standard, 802.11n or later: 0 to 31 with 802.11n, as far as all nodes have
        /// the streams; 0 to 9 and 0 to 11 with one stream later.
        option group_mcs: Whole<0, 31> = "none: group_rate";
        /// A signal at least this strong makes the medium busy. The default is 4 dB
        /// above the noise of 20 MHz, where receivers begin to detect a preamble, so
        /// that what can be received is also sensed; the standard asks for -82 dBm
        /// at least (IEEE 802.11-2020, 17.3.10.6).
        value carrier_sense: Dbm = "-90dBm";
        /// A receiver turns to a later signal that is stronger by this much if
        /// it comes during the first preamble. 5 dB is the margin of ns-3's
        /// frame capture; "off" stays with the first one.
        value capture_margin: OrOff<Db> = "5dB";
        /// An independent cell (IBSS), as ad-hoc and mesh networks use: stations send
        /// to each other without the access point, which is then no more than the node
        /// that sends the beacons, and slots at 2.4 GHz last 20 us. Without scans, power
        /// save, OFDMA and MU-MIMO.
        value independent: bool = false;
        /// How the signal fades with distance.
        table path_loss: RawPathLoss;
        /// How the signal varies with time.
        table fading: RawFading;
    }

    /// From signal-to-noise ratio and length of a frame to the probability that
    /// it is lost.
    RawErrorModel {
        /// "nist": the closed form of NIST for the convolutional code and that of DSSS
        /// and CCK. "simulated": curves of link simulations, with LDPC where 802.11ax
        /// requires it (above 20 MHz, MCS 10 and 11), which need 1 to 5 dB less.
        /// "table": curves from a file. To compare generations, give both the same.
        option kind: ErrorModelKind = "\"nist\"; \"simulated\" with 802.11ac and 802.11ax; \"table\" with a table";
        /// CSV file of packet error rates with the header mode,bytes,snr_db,per. A
        /// mode is MCS0 to MCS11 (whatever width, guard interval and streams), 6Mb/s
        /// to 54Mb/s or 1Mb/s to 11Mb/s; bytes is the frame's length, other
        /// lengths are interpolated; the SNR is -20 to 60 dB. Each curve needs two
        /// rows with a rate between 0 and 1. Modes without rows keep "nist". The
        /// path is kept absolute in the results' scenario.toml.
        option table: FilePath = "none";
    }

    /// Path loss over distance.
    RawPathLoss {
        /// The model: free space has an exponent of 2 and no shadowing.
        value model: PathLossKind = "log-distance";
        /// Exponent of the log-distance model: about 3 in an office or a flat
        /// with light walls, up to 4 through heavy ones.
        option exponent: Factor = "3 (indoors); 2 for free space";
        /// Loss at 1 m.
        option reference: Db = "that of free space: 40.05 dB at 2.4 GHz, 46.68 dB at 5 GHz";
        /// Standard deviation of the log-normal shadowing, drawn once a pair of
        /// nodes and run. Zero keeps every pair at the mean; flats have 4 to 8 dB.
        value shadowing: Db = "0dB";
    }

    /// Block fading: how the signal varies with time.
    RawFading {
        /// The model: none, without a line of sight (Rayleigh), or with one
        /// (Rician). None is the average that a fixed installation sees.
        value kind: FadingKind = "none";
        /// Doppler rate; 0 Hz draws once for the whole run.
        option doppler: Hertz = "10Hz: walking pace at 2.4 GHz";
        /// Power of the line of sight over that of the scattered waves (Rician).
        option k: Db = "6dB";
    }
}
