//! `[channel]`: standard, band, width and settings of the whole cell; variation of a signal with
//! distance and time, and the error model. `assemble::radio` decides on combinations, such as a
//! width and a band.

use crate::scalar::{FilePath, Word, not_modelled};
use lasthop_config::choices;
use lasthop_config::quantity::Hertz;
use lasthop_config::scalar::{Factor, OrOff, Whole};
use lasthop_config::tables;
use lasthop_units::{Bitrate, Db, Dbm, Duration};
use lasthop_wifi::mac::sizes::Encryption;
use lasthop_wifi::phy::{Band, ChannelWidth, Preamble, Standard};

/// Model of the path loss over distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathLossKind {
    LogDistance,
    FreeSpace,
}

/// Model of block fading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FadingKind {
    None,
    Rayleigh,
    Rician,
}

/// Model of frame errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorModelKind {
    Nist,
    Simulated,
    Table,
}

/// Power of each spatial stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamPowerKind {
    Whole,
    Shared,
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
    Word<Standard> as Standard {
        "802.11b" => Standard::Dot11b,
        "802.11g" => Standard::Dot11g,
        "802.11a" => Standard::Dot11a,
        "802.11n" => Standard::Dot11n,
        "802.11ac" => Standard::Dot11ac,
        "802.11ax" => Standard::Dot11ax,
        "802.11be" => Standard::Dot11be;
        else not_modelled
    }
    Word<Band> as Band { "2.4GHz" => Band::Ghz2_4, "5GHz" => Band::Ghz5, "6GHz" => Band::Ghz6 }
    Word<ChannelWidth> as ChannelWidth {
        "20MHz" => ChannelWidth::Mhz20,
        "40MHz" => ChannelWidth::Mhz40,
        "80MHz" => ChannelWidth::Mhz80,
        "160MHz" => ChannelWidth::Mhz160,
        "320MHz" => ChannelWidth::Mhz320,
    }
    ShortestGuardInterval {
        "800ns" => Self::Ns800,
        "400ns" => Self::Ns400,
        "1600ns" => Self::Ns1600,
        "3200ns" => Self::Ns3200,
    }
    Word<Encryption> as Encryption {
        "none" => Encryption::None,
        "ccmp" => Encryption::Ccmp,
        "gcmp" => Encryption::Gcmp,
    }
    Word<Preamble> as Preamble { "long" => Preamble::Long, "short" => Preamble::Short }
    StreamPowerKind { "whole" => Self::Whole, "shared" => Self::Shared }
    FadingKind { "none" => Self::None, "rayleigh" => Self::Rayleigh, "rician" => Self::Rician }
    PathLossKind { "log-distance" => Self::LogDistance, "free-space" => Self::FreeSpace }
    ErrorModelKind {
        "nist" => Self::Nist,
        "simulated" => Self::Simulated,
        "table" => Self::Table,
    }
}

tables! {
    /// The radio channel, and settings that the whole cell shares.
    RawChannel {
        /// Generation of the access point and of all stations that do not name an older one. Every
        /// device in use supports 802.11n. [Products behind the
        /// defaults](model.md#defaults-and-products).
        value standard: Word<Standard> = "802.11n";
        /// Frequency band of the channel.
        option band: Word<Band> = "\"2.4GHz\" for 802.11b and 802.11g, else \"5GHz\"";
        /// Channel width. 40 MHz requires 802.11n; 80 and 160 MHz require 802.11ac or later
        /// outside 2.4 GHz, 320 MHz 802.11be at 6 GHz. Crowded places use 20 MHz.
        value width: Word<ChannelWidth> = "20MHz";
        /// Shortest guard interval. "400ns" requires 802.11n or 802.11ac; 800 ns is mandatory. With
        /// 802.11ax and 802.11be it is the only one: "800ns" and "1600ns" with 2x training fields,
        /// "3200ns" with 4x.
        value guard_interval: ShortestGuardInterval = "800ns";
        /// Encryption of all data. Each MPDU has 16 octets more with "ccmp" (WPA2) and 24 with "gcmp"
        /// (WPA3 with 256 bits) than in an open network; captures show the frames decrypted.
        value encryption: Word<Encryption> = "none";
        /// Preamble of DSSS and CCK frames (802.11b, 802.11g). Every receiver understands the long
        /// one.
        value preamble: Word<Preamble> = "long";
        /// Preamble of control responses at DSSS and CCK rates. ns-3 uses the long one.
        option control_preamble: Word<Preamble> = "that of the answered frame, as in hardware";
        /// Noise figure of every receiver; 7 dB is usual for laptops and phones.
        value noise_figure: Db = "7dB";
        /// Frame loss as a function of the signal-to-noise ratio.
        table error_model: RawErrorModel;
        /// Time between beacons: 100 time units at almost every access point.
        value beacon_interval: OrOff<Duration> = "102.4ms";
        /// Beacons from one DTIM to the next (hostapd's default). Group frames wait for a DTIM
        /// while a station dozes or is away.
        value dtim_period: Whole<1, 255> = 2;
        /// Rates of control responses, group frames and beacons.
        option basic_rates: Vec<Bitrate> = "mandatory rates: 6, 12, 24 Mb/s at 5 GHz; 1, 2 Mb/s with 802.11b; all five with 802.11g, and with 802.11n and 802.11ax at 2.4 GHz";
        /// Rate of broadcast and multicast data, without HT. hostapd and Linux use the lowest basic
        /// rate unless `iw set mcast_rate` changes it.
        option group_rate: Bitrate = "the lowest basic rate";
        /// MCS of group data, at 20 MHz and 800 ns, in the format of the oldest node (802.11n or
        /// later): 0 to 31 with 802.11n as far as all nodes have the streams, 0 to 9 with 802.11ac
        /// and 0 to 11 with 802.11ax in one stream.
        option group_mcs: Whole<0, 31> = "none: group_rate";
        /// Level at which a signal makes the medium busy. The default is 4 dB above the noise of 20
        /// MHz, where preamble detection begins; the standard requires -82 dBm (IEEE 802.11-2020,
        /// 17.3.10.6).
        value carrier_sense: Dbm = "-90dBm";
        /// Margin by which a later signal captures the receiver during the first preamble (ns-3's
        /// frame capture: 5 dB). "off" keeps the first signal.
        value capture_margin: OrOff<Db> = "5dB";
        /// Independent cell (IBSS, ad hoc, mesh): stations send to each other, the access point
        /// only sends beacons, slots at 2.4 GHz last 20 us. No scans,
        /// absences, power save, OFDMA or MU-MIMO.
        value independent: bool = false;
        /// Further links of devices of 802.11be: with the channel itself two or three
        /// ([multi-link devices](model.md#multi-link-devices)).
        list link: RawChannelLink;
        /// Path loss over distance.
        table path_loss: RawPathLoss;
        /// Variation of the signal in time.
        table fading: RawFading;
    }

    /// A further link of multi-link devices: a channel of its own.
    RawChannelLink {
        /// Frequency band of the link.
        required band: Word<Band>;
        /// Width of the link's channel.
        value width: Word<ChannelWidth> = "80MHz";
        /// Number of the link's primary channel.
        option channel: Whole<1, 233> = "the first one of the band: 1 at 2.4 and 6 GHz, 36 at 5 GHz";
        /// Signal-to-noise ratio over this width, of all pairs.
        option snr: Db = "that of the channel, less what band and width change";
    }

    /// Probability of losing a frame, from its signal-to-noise ratio and length.
    RawErrorModel {
        /// "nist": closed forms of NIST for the convolutional code, DSSS and CCK. "simulated":
        /// curves of link simulations, with LDPC where 802.11ax requires it (above 20 MHz, MCS 10
        /// and 11), which need 1 to 5 dB less. "table": curves from a file. Use the same kind to
        /// compare generations.
        option kind: ErrorModelKind = "\"nist\"; \"simulated\" with 802.11ac and 802.11ax; \"table\" with a table";
        /// CSV file with the header mode,bytes,snr_db,per. Modes are MCS0 to MCS11 (any width,
        /// guard interval and streams), 6Mb/s to 54Mb/s or 1Mb/s to 11Mb/s; bytes is the frame
        /// length, interpolated; the SNR is -20 to 60 dB. Each curve requires two rows with a rate
        /// between 0 and 1. Other modes keep "nist".
        option table: FilePath = "none";
        /// Power of a spatial stream. "whole", as in ns-3 with an antenna for each stream: several
        /// streams need no more SNR than one, and MCS 8 of 802.11n replaces MCS 0 everywhere.
        /// "shared": each of n streams has 1/n of the power, 3 dB less for two.
        value stream_power: StreamPowerKind = "whole";
    }

    /// Path loss over distance.
    RawPathLoss {
        /// Model of the path loss; free space has an exponent of 2 and no shadowing.
        value model: PathLossKind = "log-distance";
        /// Exponent of log-distance: about 3 with light walls, up to 4 with heavy ones.
        option exponent: Factor = "3 (indoors); 2 for free space";
        /// Loss at a distance of 1 m.
        option reference: Db = "free space: 40.05 dB at 2.4 GHz, 46.68 dB at 5 GHz";
        /// Standard deviation of log-normal shadowing, drawn once for each pair and run; flats have
        /// 4 to 8 dB.
        value shadowing: Db = "0dB";
    }

    /// Block fading: variation of the signal in time.
    RawFading {
        /// Model: none (the mean of a fixed installation), Rayleigh (no line of sight), Rician
        /// (line of sight).
        value kind: FadingKind = "none";
        /// Doppler rate; 0 Hz draws once for the whole run.
        option doppler: Hertz = "10Hz: walking pace at 2.4 GHz";
        /// Rician: power of the line of sight over that of scattered waves.
        option k: Db = "6dB";
    }
}
