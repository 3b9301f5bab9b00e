//! Every key of a scenario file, as it is written: documentation, type, default.
//!
//! This is the one place where a key is declared (see [`crate::table`]). A
//! default in a `value` line is in force exactly as it stands there; what
//! depends on other keys is decided in [`crate::assemble`].
//! Ranges: the type of a key says what a single value may be, `assemble` what may
//! stand together. Long because no key is declared anywhere else, and each has its words.

use crate::Ready;
use crate::change::Settings;
use crate::coding::RawCoding;
use crate::quantity::Hertz;
use crate::scalar::{Command, Factor, FilePath, Name, OrOff, Whole, choices};
use crate::table::tables;
use lasthop_hosts::Endpoints;
use lasthop_packet::AccessCategory;
use lasthop_tcp::{HyStart, Recovery, WindowValidation};
use lasthop_units::{Bitrate, Bytes, Db, Dbm, Duration, MacAddr, Meters, Probability};
use lasthop_wifi::mac::service_period::FRAMES_MAX;
use lasthop_wifi::phy::{Band, ChannelWidth, PacketPadding, Preamble, Standard};

/// A whole number from 1 on that fits 32 bits.
pub(crate) type Positive = Whole<1, 0xffff_ffff>;

/// The MTU of a node: what IPv4 needs to what Ethernet's jumbo frames carry.
pub(crate) type MtuBytes = Whole<68, 9_000>;

/// The MTU of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mtu {
    Fixed(MtuBytes),
    Adaptive,
}

impl crate::scalar::Scalar for Mtu {
    fn allowed() -> String {
        format!("{} or \"adaptive\"", MtuBytes::allowed())
    }
    fn read(value: &crate::tree::Value) -> Result<Self, Option<String>> {
        match value {
            crate::tree::Value::String(text) if text == "adaptive" => Ok(Self::Adaptive),
            _ => MtuBytes::read(value).map(Self::Fixed),
        }
    }
    fn schema() -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [{ "const": "adaptive" }, MtuBytes::schema()] })
    }
}

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

/// Queue disciplines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueKind {
    DropTail,
    CoDel,
    FqCodel,
    EmulatedBdp,
}

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

/// What stations do when a secondary channel is busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BandwidthKind {
    Dynamic,
    Static,
}

/// When a receiver delivers what comes in an A-MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RxInterruptKind {
    Mpdu,
    Ppdu,
}

/// How a station looks for access points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanKind {
    Passive,
    Active,
}

/// How a dozing station gets what is held for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetrievalKind {
    PsPoll,
    Wake,
}

/// How a station saves power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PowerSaveKind {
    Legacy,
    Unscheduled,
    TargetWake,
}

/// When a station with a TWT agreement sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TwtUplinkKind {
    ServicePeriods,
    AtOnce,
}

/// Frames of a service period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServicePeriodLength(pub Option<u8>);

impl crate::scalar::Scalar for ServicePeriodLength {
    fn allowed() -> String {
        String::from("2, 4, 6 or \"all\"")
    }
    fn read(value: &crate::tree::Value) -> Result<Self, Option<String>> {
        match value {
            crate::tree::Value::String(text) if text == "all" => Ok(Self(None)),
            _ => {
                let frames = Whole::<2, 6>::read(value)?.get();
                FRAMES_MAX.contains(&frames).then_some(Self(Some(frames))).ok_or(None)
            }
        }
    }
    fn schema() -> schemars::Schema {
        schemars::json_schema!({ "enum": [2, 4, 6, "all"] })
    }
}

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

/// What becomes of packets that were not sent before a station leaves its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeftoverKind {
    Keep,
    DropDriver,
    DropAll,
}

/// Error models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorModelKind {
    Nist,
    Simulated,
    Table,
}

/// How the delay of a wire varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JitterKind {
    Uniform,
    Normal,
}

/// How a wire loses packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LossKind {
    Random,
    GilbertElliott,
}

/// Kinds of flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowKindName {
    Tcp,
    Udp,
    Video,
    Ping,
    Apq,
}

/// How an access point's queue is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApqMethod {
    Exact,
    Fast,
}

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowEnd {
    From,
    To,
}

/// What the nodes between the ends of a coded link do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relaying {
    Recode,
    Forward,
}

/// Where a coded link has its error probabilities from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrancLosses {
    Given,
    Estimated,
}

/// How packets of a UDP flow follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    Constant,
    Poisson,
    OnOff,
    OnOffExponential,
}

/// Where a flow's rate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offered {
    Saturated,
    Rate(Bitrate),
}

impl crate::scalar::Scalar for Offered {
    fn allowed() -> String {
        format!("{} or \"saturated\"", Bitrate::allowed())
    }
    fn read(value: &crate::tree::Value) -> Result<Self, Option<String>> {
        match value {
            crate::tree::Value::String(text) if text == "saturated" => Ok(Self::Saturated),
            _ => Bitrate::read(value).map(Self::Rate),
        }
    }
    fn schema() -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [{ "const": "saturated" }, Bitrate::schema()] })
    }
}

/// How much of a connection may wait in its node's queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SmallQueuesKind {
    Off,
    Pacing,
    Fixed(Bytes),
}

impl crate::scalar::Scalar for SmallQueuesKind {
    fn allowed() -> String {
        format!("{}, \"pacing\" or \"off\"", Bytes::allowed())
    }
    fn read(value: &crate::tree::Value) -> Result<Self, Option<String>> {
        match value {
            crate::tree::Value::String(text) if text == "off" => Ok(Self::Off),
            crate::tree::Value::String(text) if text == "pacing" => Ok(Self::Pacing),
            _ => Bytes::read(value).map(Self::Fixed),
        }
    }
    fn schema() -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{ "enum": ["pacing", "off"] }, Bytes::schema()]
        })
    }
}

/// Spacing of segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacingKind {
    Off,
    Window,
    Rate(Bitrate),
}

impl crate::scalar::Scalar for PacingKind {
    fn allowed() -> String {
        format!("{}, \"window\" or \"off\"", Bitrate::allowed())
    }
    fn read(value: &crate::tree::Value) -> Result<Self, Option<String>> {
        match value {
            crate::tree::Value::String(text) if text == "off" => Ok(Self::Off),
            crate::tree::Value::String(text) if text == "window" => Ok(Self::Window),
            _ => Bitrate::read(value).map(Self::Rate),
        }
    }
    fn schema() -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{ "enum": ["window", "off"] }, Bitrate::schema()]
        })
    }
}

/// The guard interval of 802.11n and later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShortestGuardInterval {
    Ns400,
    Ns800,
    Ns1600,
    Ns3200,
}

/// On which tones a PPDU of extended range has its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExtendedRangeTones {
    Tones242,
    Tones106,
}

/// What becomes of a segment that its own node's queue has no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalDrop {
    Lost,
    Refused,
}

choices! {
    HyStart { "linux" => Self::Linux, "hystart++" => Self::PlusPlus, "off" => Self::Off }
    WindowValidation {
        "linux" => Self::Linux,
        "linux-3" => Self::Linux3,
        "rfc2861" => Self::Rfc2861,
        "rfc7661" => Self::Rfc7661,
        "off" => Self::Off,
    }
    Recovery {
        "linux-3.2" => Self::Linux32,
        "linux-3.13" => Self::Linux313,
        "today" => Self::Today,
    }
    LocalDrop { "lost" => Self::Lost, "refused" => Self::Refused }
    Endpoints { "kernel" => Self::Kernel, "model" => Self::Model }
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
    PacketPadding { "0us" => Self::None, "8us" => Self::Us8, "16us" => Self::Us16 }
    ExtendedRangeTones { "242-tones" => Self::Tones242, "106-tones" => Self::Tones106 }
    Preamble { "long" => Self::Long, "short" => Self::Short }
    AccessCategory {
        "background" => Self::Background,
        "best-effort" => Self::BestEffort,
        "video" => Self::Video,
        "voice" => Self::Voice,
    }
    crate::Role {
        "access-point" => Self::AccessPoint,
        "station" => Self::Station,
        "host" => Self::Host,
        "relay" => Self::Relay,
    }
    BandwidthKind { "dynamic" => Self::Dynamic, "static" => Self::Static }
    FadingKind { "none" => Self::None, "rayleigh" => Self::Rayleigh, "rician" => Self::Rician }
    PathLossKind { "log-distance" => Self::LogDistance, "free-space" => Self::FreeSpace }
    QueueKind {
        "drop-tail" => Self::DropTail,
        "codel" => Self::CoDel,
        "fq-codel" => Self::FqCodel,
        "ebdp" => Self::EmulatedBdp,
    }
    RateControlKind {
        "fixed" => Self::Fixed,
        "ideal" => Self::Ideal,
        "firmware" => Self::Firmware,
        "minstrel-ht" => Self::MinstrelHt,
    }
    RequestKind { "after-missing" => Self::AfterMissing, "after-drop" => Self::AfterDrop }
    RxInterruptKind { "mpdu" => Self::Mpdu, "ppdu" => Self::Ppdu }
    ScanKind { "passive" => Self::Passive, "active" => Self::Active }
    RetrievalKind { "ps-poll" => Self::PsPoll, "wake" => Self::Wake }
    PowerSaveKind {
        "legacy" => Self::Legacy,
        "u-apsd" => Self::Unscheduled,
        "twt" => Self::TargetWake,
    }
    TwtUplinkKind { "service-periods" => Self::ServicePeriods, "at-once" => Self::AtOnce }
    OfdmaAcknowledgementKind {
        "bar" => Self::BlockAckRequest,
        "mu-bar" => Self::MuBlockAckRequest,
        "aggregated" => Self::Aggregated,
    }
    CodebookKind { "coarse" => Self::Coarse, "fine" => Self::Fine }
    LeftoverKind {
        "keep" => Self::Keep,
        "drop-driver" => Self::DropDriver,
        "drop-all" => Self::DropAll,
    }
    ErrorModelKind {
        "nist" => Self::Nist,
        "simulated" => Self::Simulated,
        "table" => Self::Table,
    }
    JitterKind { "uniform" => Self::Uniform, "normal" => Self::Normal }
    LossKind { "random" => Self::Random, "gilbert-elliott" => Self::GilbertElliott }
    FlowKindName {
        "tcp" => Self::Tcp,
        "udp" => Self::Udp,
        "video" => Self::Video,
        "ping" => Self::Ping,
        "apq" => Self::Apq,
    }
    ApqMethod { "exact" => Self::Exact, "fast" => Self::Fast }
    Relaying { "recode" => Self::Recode, "forward" => Self::Forward }
    FrancLosses { "given" => Self::Given, "estimated" => Self::Estimated }
    FlowEnd { "from" => Self::From, "to" => Self::To }
    Pattern {
        "constant" => Self::Constant,
        "poisson" => Self::Poisson,
        "on-off" => Self::OnOff,
        "on-off-exponential" => Self::OnOffExponential,
    }
}

tables! {
    /// A lasthop scenario: a Wi-Fi cell, the hosts and wires around it, and
    /// the traffic that crosses it.
    RawScenario {
        /// Name of the scenario, in results and file names.
        option name: Name = "the file's name without its extension";
        /// How long the run lasts. Ten seconds show a steady state of a cell
        /// with few stations.
        value duration: Duration = "10s";
        /// Left out of the results at the beginning of the run. Zero keeps the
        /// transient; a second removes slow start and Minstrel's first
        /// probing.
        value warmup: Duration = "0s";
        /// Seed of every random stream; the run number is mixed into it.
        value seed: Whole<0, { i64::MAX }> = 1;
        /// Time between two samples of queues, windows and throughput.
        value series_interval: Duration = "100ms";
        /// The radio channel and the cell on it. Only scenarios with Wi-Fi nodes have one.
        table channel: RawChannel;
        /// What every node is unless it says otherwise.
        checked node_defaults: RawNodeSettings = "none";
        /// The nodes: one access point and its stations, and hosts behind wires.
        list node: RawNode;
        /// What nodes that name the same bss have in common.
        list cell: RawCell;
        /// Exceptions from the channel for single pairs of Wi-Fi nodes.
        list link: RawLink;
        /// Other people's cells on the channel, given by what is heard of them.
        list neighbour: RawNeighbour;
        /// Cables between two nodes.
        list wire: RawWire;
        /// Links that are coded over the network, and reliable (FRANC).
        list franc: RawFranc;
        /// Traffic that lasthop makes.
        list flow: RawFlow;
        /// Programs to start in the nodes (emulation only).
        list run: RawRun;
        /// What becomes different while it runs.
        list change: RawChange;
        /// How the scenario is emulated.
        table emulation: RawEmulation;
        /// What `lasthop sweep` varies. Other commands run the scenario as it stands.
        checked sweep: RawSweep = "none";
    }

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
        /// Rate of broadcast and multicast data.
        option group_rate: Bitrate = "the lowest basic rate";
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
        /// that sends the beacons, and slots at 2.4 GHz last 20 us. Without scans and
        /// power save.
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

    /// A node: an access point, a station, or a host behind wires.
    RawNode {
        /// Its name, in flows, wires and results; the first part of the names
        /// "sta1", "sta2" .. if there is a count.
        required name: Name;
        /// What it is. A relay is a wired box that only passes packets on.
        required role: crate::Role;
        /// How many nodes like this: they are called "sta1", "sta2" .. after
        /// the name "sta".
        option count: Whole<1, 1000> = "one node, with exactly that name";
        /// Where it stands on the floor, x and y.
        option position: [Meters; 2] = "[\"0m\", \"0m\"] for an access point, [\"5m\", \"0m\"] for a station: a strong link in the same room";
        /// With a count: the nodes stand evenly on a circle of this radius
        /// around the position.
        option ring: Meters = "all at the position";
        /// The basic service set that it belongs to, by any name: an access point and its
        /// stations. Neighbours on the channel are in sets of their own, which are sensed,
        /// reserve and interfere; wires join them to the rest. All that say nothing are one set.
        option bss: Name = "the set of all that have none";
        /// MAC address; not with a count.
        option address: MacAddr = "locally administered, 02:1a: and the node's number";
        /// What it does on the air and at the host.
        flatten settings: RawNodeSettings;
    }

    /// Settings of a node, or of all nodes in `[node_defaults]`.
    RawNodeSettings {
        /// Transmit power. 20 dBm is the limit at 2.4 GHz in Europe and what
        /// most access points and laptops reach at 5 GHz.
        value tx_power: Dbm = "20dBm";
        /// Spatial streams that it sends and receives: up to 4 with 802.11n, 8 with
        /// 802.11ac and 802.11ax; all others have one. Most laptops, phones and access
        /// points have two.
        value streams: Whole<1, 8> = 2;
        /// An older generation than the channel's. Two nodes send to each other with the
        /// newest that both have; who does not understand a PPDU defers for as long as its
        /// legacy preamble says, and for EIFS.
        option standard: Standard = "the channel's";
        /// A narrower channel than the others use: the primary one of that width.
        option width: ChannelWidth = "the channel's, as far as its standard goes";
        /// It can send and receive with dual carrier modulation (802.11ax): each bit on two
        /// tones, at half the rate of MCS 0, 1, 3 and 4, with 3 dB less. Rate control uses it
        /// between two nodes that both can. Few devices can, so it is off.
        value dcm: bool = false;
        /// It can send and receive HE extended range PPDUs (802.11ax): one stream in the
        /// primary 20 MHz, MCS 0 to 2 or, on 106 tones, MCS 0. Their preamble gets 3 dB further
        /// than others, and so do their acknowledgements, which have the format, too. Rate
        /// control uses it between two nodes that both can.
        value extended_range: bool = false;
        /// How long it needs for the last symbol of a PPDU of 802.11ax: what is sent to it has
        /// a packet extension of up to that (nominal packet padding). Chips say 0, 8 or 16 us,
        /// the longer the wider and faster.
        value packet_padding: PacketPadding = "0us";
        /// Queue above the MAC, one of these an access category.
        table queue: RawQueue;
        /// Queue of driver and hardware below it.
        table driver_queue: RawDriverQueue;
        /// Rate control towards every peer.
        table rate_control: RawRateControl;
        /// RTS/CTS before a frame, or a whole A-MPDU, of at least this many
        /// bytes. Off is the default of access points and Linux.
        value rts_threshold: OrOff<Whole<0, 65_535>> = "off";
        /// QoS frames with EDCA and Block Ack, or plain DCF.
        option qos: bool = "true with 802.11n, else false";
        /// Channel access parameters of the four access categories.
        table edca: RawEdca;
        /// Aggregation when sending.
        table aggregation: RawAggregation;
        /// Block Ack.
        table block_ack: RawBlockAck;
        /// When it delivers what comes in an A-MPDU: each MPDU when its last bit
        /// is in, as mt76 does, or all of them at the end of the PPDU. ath9k and
        /// iwlwifi hold interrupts back for up to 2 ms, which is not modelled.
        value rx_interrupt: RxInterruptKind = "mpdu";
        /// Attempts for a frame, the first included. 7 is Linux' default and
        /// dot11ShortRetryLimit's.
        value retry_limit: Whole<1, 255> = 7;
        /// Fewer retransmissions when sending at a low data rate.
        table low_rate_retry: RawLowRateRetry;
        /// Giving MPDUs up as a receiver when they come at a low data rate; not
        /// at a station that only sends.
        table pseudo_retry_out: RawPseudoRetryOut;
        /// A packet older than this is given up by the MAC. Linux drivers have
        /// no such limit.
        value msdu_lifetime: OrOff<Duration> = "off";
        /// Longest packet that it puts on a link, IP header included; longer
        /// ones are cut as IPv4 does. Up to 9000 on wires, 7900 on the air with
        /// 802.11n and qos, 2296 without. On the air \"adaptive\" follows the
        /// link: the length that promises the most goodput at its rates and
        /// losses, each 50 ms anew; saturated flows and TCP take it over.
        option mtu: Mtu = "1500, Ethernet's";
        /// Bounds of an adaptive MTU.
        table adaptive_mtu: RawAdaptiveMtu;
        /// Longest frame that its buffers take; the MTU must leave room for the
        /// headers: 38 bytes on the air, 18 on a wire. "4096" is a kernel that
        /// keeps a packet in one page. Off is a kernel that does not.
        value buffer_bytes: OrOff<Whole<576, 65_535>> = "off";
        /// Background scans of a station: it leaves its channel again and
        /// again to look for other access points.
        option_table scan: RawScan = "none: it stays on its channel";
        /// Power save of a station: it dozes when nothing happens, or but for service
        /// periods. Not together with scan.
        option_table power_save: RawPowerSave = "none: it is always awake, as on mains power";
        /// What a station of 802.11ac or 802.11ax uses of what it can, as it announces when it
        /// associates. When a [[change]] sets it, it notifies its access point by a frame, as a
        /// phone does that begins to save power, and that goes by it from then on.
        option_table operating_mode: RawOperatingMode = "none: all that it can";
        /// Packets that an access point holds in its queue for a station that is
        /// away or dozes, of each access category; the oldest go first.
        option power_save_buffer: OrOff<Positive> = "64 with drop-tail and codel (mac80211 without queues for each station, STA_MAX_TX_BUFFER); \"off\", which is the queue's own bound, with fq-codel";
        /// OFDMA of an access point with 802.11ax: one PPDU to several
        /// stations, each on tones of its own.
        option_table ofdma: RawOfdma = "none: each PPDU is for one station";
        /// Downlink MU-MIMO of an access point with 802.11ac or 802.11ax: one PPDU to
        /// several stations, each on streams of its own over the whole width.
        option_table mu_mimo: RawMuMimo = "none: each PPDU is for one station";
        /// CPU time of the host for every packet it sends or receives.
        option_table host_cost: RawHostCost = "none: a host that is never the bottleneck";
    }

    /// Bounds of an adaptive MTU.
    RawAdaptiveMtu {
        /// Shortest packet that it may choose. Below 256 bytes headers take
        /// more than a fifth of the air.
        value min: MtuBytes = 256;
        /// Longest.
        option max: MtuBytes = "what the standard and the buffers of both ends allow";
    }

    /// A queue of packets. On the air the defaults are those of Linux'
    /// mac80211, on wires those of RFC 8289, RFC 8290 and Linux' interfaces.
    RawQueue {
        /// The discipline. "ebdp" is a tail-drop queue that adapts its capacity: what is
        /// served in a target delay has room (Li, Leith, Malone, "Buffer Sizing for 802.11
        /// Based Networks", 2011).
        option kind: QueueKind = "\"fq-codel\" on the air (Linux since 2016), \"drop-tail\" on wires";
        /// Most packets in it.
        option packets: Positive = "1000 for drop-tail and codel (Linux' txqueuelen); for fq-codel 8192 on the air, 10240 on wires; for ebdp, which holds no more at any rate, 400 (lasthop's choice)";
        /// Most bytes in it; for drop-tail and codel instead of packets.
        option bytes: Bytes = "no such limit for drop-tail and codel; for fq-codel 4 MiB on the air (mac80211 without VHT), 32 MiB on wires";
        /// Standing delay that codel and fq-codel accept; with ebdp the delay of a full queue.
        option target: Duration = "20 ms on the air, where an aggregate takes milliseconds, 5 ms on wires; with ebdp 200 ms, the median round trip of TCP in the trace of the paper of reproduce apq";
        /// Time in which a burst may drain (codel and fq-codel); with ebdp and count_flows
        /// the time over which flows are counted.
        option interval: Duration = "100ms; with ebdp 1s";
        /// Room for a burst, beyond what is served in the target (ebdp).
        option burst_packets: Positive = "5 (lasthop's choice)";
        /// Packets over which the time that one takes is averaged (ebdp).
        option average_packets: Positive = "1000 (lasthop's choice)";
        /// Divide the target by the root of the number of flows that arrive (ebdp), as
        /// Appenzeller, Keslassy and McKeown, "Sizing Router Buffers", 2004, have it for
        /// many.
        option count_flows: bool = "false";
        /// Buckets of the flow hash (fq-codel).
        option flows: Whole<1, 65_535> = "4096 on the air, 1024 on wires";
        /// Bytes that a flow may send before the next one's turn (fq-codel).
        option quantum_bytes: Whole<1, 65_535> = "300 on the air, 1514 on wires";
        /// Mark ECN-capable packets instead of dropping them (codel and fq-codel).
        option ecn: bool = "true for fq-codel, false for codel, as in Linux";
        /// Share air time evenly among the stations (fq-codel on the air), as
        /// mac80211 does since Linux 4.11.
        option airtime_fairness: bool = "true";
    }

    /// The queue of driver and hardware; what is in it is out of reach of the
    /// queue above. One of its keys, or none.
    RawDriverQueue {
        /// So many packets.
        option packets: Positive = "no driver queue: the MAC takes from the queue above when it builds an aggregate";
        /// So much estimated air time a peer (mac80211 since Linux 5.5: 5 to 12 ms).
        option airtime: Duration = "no driver queue";
    }

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

    /// Background scans. For each channel the station stops its queue, lets the
    /// driver send what it holds, tells the access point with a Null frame
    /// that it is gone, is away, and comes back with another Null. The defaults
    /// are those of Linux: NetworkManager's period, mac80211's software scan.
    RawScan {
        /// When the first scan begins.
        value start: Duration = "25s";
        /// From the beginning of one scan to the next. NetworkManager ends up
        /// at 120 s while a station is associated.
        value period: Duration = "120s";
        /// Channels in a scan, one absence each. 26 is what a laptop in Japan
        /// scanned at 2.4 and 5 GHz (Kobayashi et al., ICWMC 2016); Europe has 32.
        value channels: Whole<1, 1000> = 26;
        /// Listening for beacons, or sending Probe Requests too.
        value kind: ScanKind = "passive";
        /// Time away for each channel, from the Null that announces it to
        /// the one that takes it back.
        option away: Duration = "111ms for a passive scan (mac80211's IEEE80211_PASSIVE_CHANNEL_TIME, 1/9 s), 60ms for an active one (IEEE80211_PROBE_DELAY and IEEE80211_CHANNEL_TIME, 1/33 s each)";
        /// Time on the own channel between two absences, the flush not counted
        /// (mac80211: 1/5 s).
        value back: Duration = "200ms";
        /// Which of the channels is the cell's own, from 1 on. The station stays there
        /// for its time, without data, and sends a Probe Request if it is active.
        value own_channel: OrOff<Whole<1, 1000>> = "off";
        /// How long the driver may go on sending what it holds before it leaves
        /// (ath9k: 200 ms); it leaves earlier once that is sent.
        value flush: Duration = "200ms";
        /// What becomes of packets that are left after the flush. They stay since
        /// drivers use mac80211's queues (Linux 4.9 and later). "drop-driver"
        /// gives up what driver and hardware hold, as ath9k did before;
        /// "drop-all" the queue above them, too.
        value leftover: LeftoverKind = "keep";
        /// Packets of the queue above the driver that each return but a scan's last loses at
        /// most. In Linux 3.2.7 (not in 3.2.0, nor in 3.13) mac80211 starts the
        /// device's queue while it still drops data as off channel (scan.c,
        /// ieee80211_scan_state_enter_oper_channel), so what the queue hands over meanwhile
        /// is lost. That is source; how many that are is not: nothing, if nobody
        /// runs the queue in these microseconds, and up to 640, if an interrupt does (ten rounds
        /// of softirqs, 64 packets each).
        value return_drain: OrOff<Positive> = "off";
        /// Attempts for a Null, the first included. Atheros cards make eight retries.
        value null_attempts: Whole<1, 255> = 9;
        /// Retries of a Null after which an RTS goes ahead of it. The
        /// fourth retry of Atheros cards has one.
        value null_rts_after: OrOff<Whole<0, 254>> = 3;
        /// Probability that the access point ignores a Null, whatever the
        /// signal. Some do: the card of the paper above needed up to nine attempts.
        value null_loss: Probability = 0.0;
        /// The same for the Null that ends an absence.
        option return_null_loss: Probability = "that of null_loss";
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

    /// The operating mode of a station. A rate_control of kind "fixed" keeps its MCS in it.
    RawOperatingMode {
        /// The widest PPDU that it receives and sends.
        option width: ChannelWidth = "the node's width";
        /// Most streams that it receives.
        option streams: Whole<1, 8> = "the node's streams";
        /// Most streams that it sends.
        option transmit_streams: Whole<1, 8> = "the node's streams";
        /// It answers Trigger frames that ask for data; only 802.11ax has them.
        value uplink_ofdma: bool = true;
    }

    /// Power save of a station.
    RawPowerSave {
        /// "legacy": the station tells the access point with a Null frame that it dozes, wakes
        /// for beacons, and fetches what they announce; the defaults are those of Linux'
        /// mac80211. "u-apsd" (WMM power save): it stays in power save mode, and its own frames
        /// begin service periods, in which the access point sends what it holds. "twt", with
        /// 802.11ax: an individual agreement, by which it wakes up at fixed times.
        value kind: PowerSaveKind = "legacy";
        /// It dozes after so long without traffic (legacy).
        option idle: Duration = "100ms";
        /// It listens to one beacon of so many (legacy and u-apsd).
        option listen_interval: Whole<1, 255> = "1";
        /// How it gets what is held for it (legacy): by waking up with a Null frame, or
        /// by a PS-Poll for each frame.
        option retrieval: RetrievalKind = "\"wake\"";
        /// Access categories of which the access point sends in service periods (u-apsd). It
        /// announces what it holds of others in beacons, and the station asks for it by PS-Poll
        /// frames; with all categories it announces all, and the station triggers.
        option delivery_enabled: Vec<AccessCategory> = "all";
        /// Access categories whose frames begin service periods (u-apsd).
        option trigger_enabled: Vec<AccessCategory> = "those of delivery_enabled";
        /// Most frames that come in a service period, Max SP Length (u-apsd): 2, 4, 6 or "all".
        option service_period: ServicePeriodLength = "\"all\"";
        /// After so long without a service period the station begins one by a QoS Null frame
        /// (u-apsd).
        option trigger_interval: Duration = "none: its data and beacons only";
        /// Time from one target wake time to the next (twt): up to 65535 times a power of two, in
        /// microseconds. Phones and access points negotiate anything from some milliseconds, for
        /// calls, to minutes.
        option wake_interval: Duration = "102.4ms";
        /// How long the station is awake, nominal minimum wake duration (twt): up to 255 times
        /// 256 us or 1.024 ms.
        option wake_duration: Duration = "8.192ms";
        /// The first target wake time (twt).
        option first_wake: Duration = "within the first interval, by a hash of the node's name, so that stations wake at different times";
        /// The station tells that it is awake with a frame of its own before the access point
        /// sends (twt), a QoS Null frame if it has nothing else. Otherwise the access point takes
        /// that for granted.
        option announced: bool = "true";
        /// The access point ends a service period as soon as it holds nothing for the station any
        /// more (twt).
        option ends_early: bool = "true";
        /// When the station sends (twt): in its service periods only, as the agreement asks, or at
        /// once. What is sent at once begins a service period of its own, as with u-apsd.
        option uplink: TwtUplinkKind = "\"service-periods\"";
        /// The station wakes up for beacons with a DTIM, too, and so gets group frames (twt).
        option dtim: bool = "true";
    }

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
        /// Most streams of one station, at most those of its rate.
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
        /// Slots of the arbitration interframe space after SIFS, 2 to 15; 0: it does not contend.
        value aifsn: Whole<0, 15> = 0;
        /// Smallest contention window in slots, 2^n - 1.
        value cw_min: Whole<0, 32_767> = 15;
        /// Largest contention window in slots, 2^n - 1.
        value cw_max: Whole<0, 32_767> = 1023;
        /// A multiple of 8.192 ms, up to 255 of them (2.08896 s).
        value timer: Duration = "8.192ms";
    }

    /// CPU time of a host; the parts of a packet that was cut count each for itself.
    RawHostCost {
        /// For every packet.
        value per_packet: Duration = "0s";
        /// For every byte.
        value per_byte: Duration = "0s";
    }

    /// A pair of Wi-Fi nodes whose link is not what the channel would give.
    RawLink {
        /// Both directions between these two nodes; names may have a `*`.
        option between: [String; 2] = "none; a link needs between, or from and to";
        /// One direction, from this node; its name may have a `*`.
        option from: String = "none";
        /// One direction, to this node; its name may have a `*`.
        option to: String = "none";
        /// A fixed signal-to-noise ratio at the receiver.
        option snr: Db = "from path loss and transmit power";
        /// How the signal-to-noise ratio changes during the run, one change after the
        /// other; by default never. It needs snr. What is received stays above
        /// carrier_sense, or below it.
        list snr_changes: RawSnrChange;
        /// A fixed path loss; "200dB" hides the two from each other.
        option path_loss: Db = "from the distance";
        /// Every MPDU is lost with this probability, whatever its rate and
        /// length; the signal is strong and does not fade. "off" is the error model.
        option loss: OrOff<Probability> = "\"off\"";
        /// Fading of this pair.
        option_table fading: RawFading = "the channel's";
    }

    /// A change of a link's signal-to-noise ratio. A frame has the ratio at which it began.
    RawSnrChange {
        /// From when on.
        required from: Duration;
        /// The new ratio.
        required snr: Db;
    }

    /// A basic service set: what its access point announces to the nodes that name it by bss.
    RawCell {
        /// Its name, as in bss of its nodes.
        option name: Name = "the set of all nodes that have no bss";
        /// The number of its primary channel of 20 MHz: where its beacons are, and around which
        /// PPDUs of 40, 80 and 160 MHz lie. A PPDU is sensed, decoded and minded by those whose
        /// primary channel it covers, and disturbs what it overlaps with. Sets may be so far
        /// apart that they have nothing in common. At 2.4 GHz 1, 6 and 11, or 1, 5, 9 and 13.
        option channel: Whole<1, 233> = "36 at 5 GHz, else 1";
        /// What its nodes do that gain the primary channel while a secondary one is busy (PPDUs
        /// of others at -72 dBm or more within the last 25 us): "dynamic" sends to as much of
        /// the channel as is idle, at the same MCS, "static" begins a new backoff until all is.
        value bandwidth: BandwidthKind = "dynamic";
        /// Its BSS colour with 802.11ax, by which stations know at the end of HE-SIG-A that a
        /// PPDU is of another set; 0 for none. Two sets with the same colour take each other's PPDUs for
        /// their own until they have decoded a frame.
        option colour: Whole<0, 63> = "the lowest, from 1 on, that is given to no set and no neighbour: first the set without a name, then by name, then neighbours by name; beyond 63 sets they repeat";
        /// Spatial reuse by OBSS-PD.
        table spatial_reuse: RawSpatialReuse;
    }

    /// Spatial reuse by OBSS-PD (802.11ax): a node of the set that receives an HE PPDU of another colour
    /// below the level goes on with its backoff, and sends, while that PPDU is on the air. Until
    /// the end of its next transmission opportunity it sends with 21 dBm (25 dBm of an access point
    /// with more than two streams) less what the level is above -82 dBm, if tx_power is more.
    RawSpatialReuse = level {
        /// The OBSS-PD level, for 20 MHz: from -82 to -62 dBm. -82 dBm asks for no lower power.
        value level: OrOff<Dbm> = "off";
    }

    /// A neighbour on the channel: an access point and stations of its own set, known by how
    /// loud and how busy it is. It senses, is sensed, backs off, collides and interferes as any
    /// other set does. Its nodes are called "NAME:ap", "NAME:sta1" .., which no flow, link or
    /// wire can name, and no program runs there.
    RawNeighbour {
        /// Its name, in results.
        required name: Name;
        /// How strong every node of the scenario hears all of its nodes. They send with 20 dBm,
        /// and hear each node as strong as the same path loss makes it. Below carrier_sense it
        /// only interferes.
        required level: Dbm;
        /// Nodes that hear it otherwise.
        list levels: RawNeighbourLevel;
        /// Share of the time in which a PPDU of its own is on the air while nobody else sends:
        /// data, their acknowledgements and beacons, without the pauses of 16 us between them.
        /// 0 turns it off, beacons included. In company it sends as much, as far as there is
        /// room; retransmissions after collisions come on top.
        required busy: Probability;
        /// Share of its data that its stations send to their access point. Most traffic goes
        /// the other way; a fifth is lasthop's choice.
        value uplink: Probability = 0.2;
        /// Stations among which the data are divided evenly.
        value stations: Whole<1, 100> = 1;
        /// Length of its packets, IP header included.
        value packet_bytes: Whole<29, 1_500> = 1500;
        /// Its data PPDUs last at most so long: packets come in bursts (at the instants of a
        /// Poisson process) of as many as fit, one at least. 2 ms is lasthop's choice, between
        /// web pages and bulk transfers; before 802.11n there is one packet in each.
        value ppdu_duration: Duration = "2ms";
        /// Its MCS, with 802.11n (0 to 31, which says the streams, too), 802.11ac (0 to 9) and
        /// 802.11ax (0 to 11); the guard interval is the channel's.
        option mcs: Whole<0, 31> = "16-QAM 3/4 with two streams: 12 with 802.11n, else 4";
        /// The number of its primary channel, as of a [[cell]].
        option channel: Whole<1, 233> = "that of the nodes without a bss, or of the first set by name";
        /// How wide its PPDUs are. On a channel beside the primary one of others, 20 MHz is
        /// what makes a secondary channel of theirs busy and no more.
        option width: ChannelWidth = "the channel's";
        /// Its streams with 802.11ac and 802.11ax.
        option streams: Whole<1, 8> = "2";
        /// Its BSS colour with 802.11ax, 0 for none. It does not reuse the air itself.
        option colour: Whole<0, 63> = "as that of a [[cell]], behind all of them";
        /// Its rate before 802.11n.
        option rate: Bitrate = "24 Mb/s; 11 Mb/s with 802.11b";
    }

    /// A node that hears a neighbour otherwise.
    RawNeighbourLevel {
        /// The node, or several by a name with a `*`; or another neighbour, whose nodes hear
        /// this one at its own level or theirs, whichever is less, if nothing is said.
        required node: String;
        /// How strong it hears all nodes of the neighbour.
        required level: Dbm;
    }

    /// A cable between two nodes.
    RawWire {
        /// Its ends.
        required between: [String; 2];
        /// Both directions.
        flatten both: RawWireDirection;
        /// From the first end to the second, where it differs.
        option_table up: RawWireDirection = "as above; so are the keys that it leaves out";
        /// From the second end to the first, where it differs.
        option_table down: RawWireDirection = "as above; so are the keys that it leaves out";
    }

    /// One direction of a cable.
    RawWireDirection {
        /// Bit rate of the Ethernet frames; "off" never limits.
        /// Gigabit Ethernet is what an access point usually has.
        value rate: OrOff<Bitrate> = "1Gb/s";
        /// How the rate changes during the run, one change after the other; by default never.
        list rate_changes: RawRateChange;
        /// The changes of the rate come again after this time, and again, also when an
        /// emulation lasts longer than the duration.
        option rate_repeat: Duration = "never: they come once";
        /// Propagation delay, one way. Zero is a cable in the house; a server
        /// on the Internet is 5 to 50 ms away.
        value delay: Duration = "0s";
        /// How the delay varies from packet to packet, by default not at all: a
        /// path that nobody else loads. A time alone is the most that it varies.
        table jitter: RawJitter;
        /// Jitter may reorder packets; otherwise each waits for those before it.
        value reorder: bool = false;
        /// How packets are lost, by default never: a wire in good order. A
        /// probability alone is that of each packet.
        table loss: RawLoss;
        /// The queue before the transmitter.
        table queue: RawQueue;
    }

    /// A change of a wire's rate. What is being transmitted goes on at the new rate.
    RawRateChange {
        /// From when on.
        required from: Duration;
        /// The new rate.
        required rate: Bitrate;
    }

    /// How the delay of a wire varies. In all it is never below zero.
    RawJitter = most {
        /// Evenly within bounds, or normally distributed around the delay.
        value kind: JitterKind = "uniform";
        /// Uniform: at most so much more or less.
        option most: Duration = "\"0s\"";
        /// Normal: standard deviation.
        option sd: Duration = "none; a normal jitter needs it";
    }

    /// How a wire loses packets, whatever its load.
    RawLoss = probability {
        /// Each packet alike, or in bursts: a hidden state, good or bad, that
        /// may change before each packet (Gilbert and Elliott).
        value kind: LossKind = "random";
        /// Random: probability that a packet is lost.
        option probability: Probability = "0";
        /// Gilbert-Elliott: probability of going from good to bad.
        option good_to_bad: Probability = "none; bursts need it";
        /// Gilbert-Elliott: probability of going from bad to good; a bad spell
        /// lasts one over this many packets in the mean.
        option bad_to_good: Probability = "none; bursts need it";
        /// Gilbert-Elliott: loss in the good state.
        option loss_good: Probability = "0, as in Gilbert's model";
        /// Gilbert-Elliott: loss in the bad state.
        option loss_bad: Probability = "1: everything is lost";
    }

    /// Traffic from one node to another.
    RawFlow {
        /// Its name, in results.
        required name: Name;
        /// Where it begins: a node, or several by a name with a `*`, each of
        /// which gets a flow of its own called "name-node".
        required from: String;
        /// Where it ends, likewise.
        required to: String;
        /// What it is.
        required kind: FlowKindName;
        /// When it begins.
        value start: Duration = "0s";
        /// When it ends.
        option stop: Duration = "the end of the run";
        /// Priority on the air. What is not marked is best effort.
        value access_category: AccessCategory = "best-effort";
        /// Who sends and receives under `emulate`: sockets of the kernel, or the same machines
        /// as under `simulate`. The kernel has bulk transfers, datagrams, video and pings.
        option endpoints: Endpoints = "\"kernel\"; \"model\" for what the kernel has not: requests, a tcp rate, apq";
        /// TCP: the congestion control, by the kernel's name ("cubic", "reno", "bbr").
        option congestion_control: Name = "\"cubic\", the default of Linux, Windows and macOS";
        /// TCP: how many bytes are sent.
        option bytes: Bytes = "as many as fit into the time";
        /// TCP: the application asks for answers instead of sending in bulk.
        option_table requests: RawRequests = "a bulk transfer";
        /// TCP: how the model's endpoints behave. The kernel's have its own settings.
        table tcp: RawTcp;
        /// APQ: how a queue on the way is measured. The node where the flow
        /// begins sends what fills it. The real programs measure an emulated queue,
        /// too: `lasthop apq serve` in a [[run]], `lasthop apq measure` as COMMAND.
        table apq: RawApq;
        /// UDP and video: the rate at the network layer. TCP: that at which
        /// the application writes. "saturated" (UDP)
        /// keeps its own packets in its queue, as many as its share of the limit is,
        /// whatever is lost: before CoDel and FQ-CoDel, which drop more and more of
        /// such a flow, take drop-tail to measure what a link carries. It fills a
        /// drop-tail queue at every instant, and others in it lose all they send:
        /// take a rate above the link's where there are others.
        option rate: Offered = "\"saturated\" for udp, as fast as it goes for tcp, 5 Mb/s for video (1080p streaming)";
        /// UDP, video and ping: length of a packet, IP header included. What is
        /// longer than an MTU on the way is cut and put together again.
        option packet_bytes: Whole<29, 65_535> = "1500 for udp and video, as long as they should be for saturated flows from a node whose mtu is adaptive, 84 for ping (56 bytes of data)";
        /// UDP: how packets follow each other; with "on-off" the rate is that
        /// while on, and the periods are fixed or exponentially distributed.
        option pattern: Pattern = "\"constant\"";
        /// UDP on-off: how long it is on, in the mean.
        option on: Duration = "1s";
        /// UDP on-off: how long it is off, in the mean.
        option off: Duration = "1s";
        /// Video: frames a second.
        option frame_rate: Whole<1, 1000> = "30";
        /// Video: standard deviation of the log-normal frame sizes, relative
        /// to their mean; 0 makes them constant.
        option size_deviation: Factor = "0.2";
        /// Video: every so many frames one is a key frame; 1 makes all alike.
        option key_frame_interval: Whole<1, 100_000> = "60, two seconds of streaming";
        /// Video: size of a key frame relative to the others.
        option key_frame_factor: Factor = "4";
        /// Video: file of recorded frame sizes instead of rate, deviation and key
        /// frames: one size in bytes a line, repeated from the start when it
        /// ends. The path is kept absolute in the results' scenario.toml.
        option trace: FilePath = "none: sizes are drawn";
        /// Ping: time between requests.
        option interval: Duration = "100ms";
    }

    /// Requests and answers over one TCP connection, one at a time. The defaults
    /// are a web page's small objects.
    RawRequests {
        /// Bytes of a request.
        value request: Bytes = "500B";
        /// Bytes of an answer.
        value response: Bytes = "20kB";
        /// From an answer to the next request.
        value think: Duration = "100ms";
    }

    /// A TCP endpoint in virtual time. The defaults are those of Linux 6.
    RawTcp {
        /// Whose rules for losses, recovery and growth both ends follow: those of an
        /// older kernel, or today's ([kernels.md](kernels.md) has the differences). Where
        /// window_validation and small_queues are left out, they are that kernel's, too.
        value recovery: Recovery = "today";
        /// Initial window in segments (RFC 6928).
        value initial_window: Whole<1, 1_000> = 10;
        /// How CUBIC's slow start ends before there is loss: as in Linux
        /// (ack trains and delay), by RFC 9406, or not at all.
        value hystart: HyStart = "linux";
        /// What happens to a window that is not used: no growth and a restart
        /// after idle as in Linux, the stricter rule of Linux 3.2 to 3.13,
        /// RFC 2861, RFC 7661, or nothing.
        option window_validation: WindowValidation = "\"linux\"; \"linux-3\" with an older kernel's recovery";
        /// TCP small queues: how much may wait in the own node's queues. A
        /// fixed limit was Linux' way from 3.6 to 3.13, with 128 KiB; "pacing"
        /// is today's: what the pacing rate sends in a millisecond, 8 ms above
        /// Wi-Fi.
        option small_queues: SmallQueuesKind = "\"pacing\"; with recovery = \"linux-3.2\" \"off\", with \"linux-3.13\" \"128KiB\"";
        /// Memory that a queued packet takes beside its own bytes, counted by
        /// a fixed limit. Linux counts the whole buffer: 2304 bytes for an
        /// Ethernet-sized segment.
        value small_queues_overhead: Bytes = "804B";
        /// Spacing of segments: at 200 % and 120 % of the window over the
        /// round-trip time as with Linux' fq, at a fixed rate, or none, as with Linux'
        /// other queue disciplines.
        value pacing: PacingKind = "off";
        /// A receiver acknowledges every so many full segments (RFC 5681: 2).
        /// More are stretch acknowledgements, as receive offloads make them.
        value ack_segments: Whole<1, 64> = 2;
        /// Or after this time.
        value ack_delay: Duration = "40ms";
        /// So many segments at the start are acknowledged one by one.
        value quick_acks: Whole<0, 1_000> = 16;
        /// Most that a receiver lets be in flight: half of Linux' tcp_rmem.
        value receive_window: Bytes = "3MiB";
        /// Most that a sender lets be in flight: Linux' tcp_wmem of 4 MiB less
        /// the overhead of buffers.
        value send_window: Bytes = "2621440B";
        /// Selective acknowledgements, and with them what recovery says of losses: today
        /// RACK and tail loss probes.
        value sack: bool = true;
        /// Shortest retransmission timeout.
        value timeout_min: Duration = "200ms";
        /// A segment for which the own node's queue has no room is lost, as
        /// under mac80211's queues, or refused, as by a qdisc above the
        /// driver: the sender then reduces its window and sends it later.
        value local_drop: LocalDrop = "lost";
        /// Explicit congestion notification (RFC 3168). Linux answers to it,
        /// but does not ask.
        value ecn: bool = false;
    }

    /// A measurement of a queue from outside: APQ (Li et al., "Measuring Queue
    /// Capacities of IEEE 802.11 Wireless Access Points"). It takes as long as
    /// it takes; the run ends early when nothing else is left to do.
    RawApq = method {
        /// "exact" is the paper's: a search for the saturation rate in steps, then
        /// sessions of two minutes each. "fast" bisects the rate and sends short
        /// bursts until it is precise enough.
        value method: ApqMethod = "exact";
        /// Lengths of the IP packets, measured one after the other. The paper's
        /// two tell a queue of packets from one of bytes.
        value packet_bytes: Vec<Whole<100, 9_000>> = [1500, 750];
        /// Which end of the flow is the host that measures; the other one answers.
        value measured_by: FlowEnd = "to";
        /// Exact: sessions of each packet length.
        option sessions: Whole<1, 1_000> = "30, as in the paper";
        /// Exact: how long each rate of the search is sent.
        option dwell: Duration = "\"60s\", as in the paper";
        /// Exact: steps of the search, in packets a second.
        option step: Whole<1, 100_000> = "50, as in the paper";
        /// Exact: every time of a session is so many times as long; above 0, up
        /// to 1. A queue must still fill and drain in time.
        option time_scale: Factor = "1: a session takes 120 s";
        /// Exact: the saturation rate of the packet length (there may be one
        /// only), in packets a second.
        option saturation_rate: Whole<1, 1_000_000> = "searched for";
        /// Exact: find out the queue's discipline, too. The fast method always does.
        option discipline: bool = "false, as in the paper";
        /// Fast: most time, all packet lengths together.
        option duration: Duration = "\"60s\"";
        /// Fast: half width of the 95 % confidence interval that is precise
        /// enough, relative to the capacity.
        option precision: Probability = "0.01";
        /// No packets are sent faster than this, in packets a second. Far
        /// beyond what 802.11n with four streams carries.
        value rate_max: Whole<1, 1_000_000> = 100_000;
        /// By how much the clock of the far host, the one that answers, is ahead.
        value clock_offset: Duration = "0s";
        /// By how much it is fast, in parts per million. Crystals have up to
        /// 100; 200 is two of them that differ as much as they can.
        value clock_drift: Whole<-1_000, 1_000> = 0;
    }

    /// A network-coded, reliable link (FRANC: Hundeboll et al., "Throughput vs. Delay
    /// in Lossy Wireless Mesh Networks with Random Linear Network Coding"). Its ends
    /// take the packets of flows that go from one to the other, or through both, and
    /// carry them in raw Ethernet frames of their own. `simulate` and
    /// `emulate` run the machines of the daemon; real nodes run the daemon itself.
    RawFranc {
        /// Its name, in results.
        required name: Name;
        /// The two nodes that encode and decode. A node takes part in one link.
        required ends: [String; 2];
        /// One or two nodes beside a link on the air that hear both ends and send
        /// combinations of what they heard. Without an independent cell, one of the
        /// ends must be the access point for them to be of use.
        option helpers: Vec<String> = "none";
        /// Nodes between the ends, from the first to the second; not with helpers.
        option relays: Vec<String> = "none";
        /// Relays are reliable on both sides and code anew, or pass datagrams on as
        /// they are.
        value relaying: Relaying = "recode";
        /// How it codes.
        flatten coding: RawCoding;
        /// The nodes are told the losses of [[franc.loss]], or find them out.
        option losses: FrancLosses = "\"given\" in the paper's mode, as there; else \"estimated\"";
        /// Frames that are lost by injection, beside those that the air loses.
        list loss: RawFrancLoss;
        /// What waits at an end.
        moved backlog: () = "the keys of this table are called backlog_target and backlog_packets";
        /// Blocks in flight.
        moved blocks: () = "this key is called blocks_max";
        /// Frames of the link that a node's interface holds, unless they are paced: what
        /// the buffer of a socket has room for. Two keep it busy, and the queue
        /// where it is managed.
        value interface_packets: Whole<1, 10_000> = 2;
        /// Times at which a node of it is dead.
        list outage: RawFrancOutage;
    }

    /// Frames of a coded link to lose by injection.
    RawFrancLoss {
        /// Between these two of its nodes, both directions.
        option between: [String; 2] = "none; a loss needs between, or from and to";
        /// One direction, from this node.
        option from: String = "none";
        /// One direction, to this node.
        option to: String = "none";
        /// So many are lost on arrival, whomever they are for.
        required loss: Probability;
    }

    /// A time at which a node of a coded link is dead.
    RawFrancOutage {
        /// The node.
        required node: String;
        /// It dies.
        required from: Duration;
        /// It begins anew, knowing nothing.
        option until: Duration = "the end of the run";
    }

    /// A program to run in a node. Virtual time has no programs: `simulate`
    /// checks these and runs the flows alone.
    RawRun {
        /// The node.
        required node: String;
        /// The program and its arguments; a text is a line for the shell (sh -c).
        required command: Command;
        /// When it is started: not before this, and not before each program above it is
        /// ready that has `ready`.
        value start: Duration = "0s";
        /// When it is ready: once a TCP socket of its node listens at a port, or a UDP socket
        /// has the port ("tcp:8000", "udp:5000"), once a file is there that was not when it
        /// was started, or is changed ("file:PATH"), or so long after its start ("1s"). The
        /// programs below it and COMMAND are started then. If it ends before, the emulation
        /// fails.
        option ready: Ready = "nothing waits for it";
        /// The emulation fails if it is not ready so long after its start.
        option ready_timeout: Duration = "\"30s\"";
    }

    /// What becomes different while it runs: keys as `--set` has them, with their new values.
    /// What is not set stays, also from one change to the next. A signal-to-noise ratio, and the
    /// rate, delay and losses of a wire, hold for what begins to be sent from then on; the loss
    /// of a link for what ends from then on; a queue that is replaced keeps its packets, in the
    /// order in which they came. It may be snr and loss of a `[[link]]`, position and tx_power
    /// of a node (who senses whom stays); rate, delay, jitter, loss and queue of a `[[wire]]`;
    /// queue, scan, operating_mode, a fixed rate, and cw_min and cw_max of a node. The scan
    /// `"off"` ends scans after the absence that has begun; a first scan whose start is over
    /// begins at once, and one that is changed keeps its rhythm. The operating_mode `"off"` is
    /// all that the node can. Flows have start and stop of their own.
    RawChange {
        /// When, after the beginning and before the end.
        required at: Duration;
        /// The keys, such as { "wire.server-ap.delay" = "200ms" }. A key in quotes is a path as
        /// `--set` has it, its value is taken whole; a table without quotes stands for what is
        /// in it.
        required set: Settings;
    }

    /// Emulation.
    RawEmulation {
        /// A run is marked late if a delivery in a thousand is later than this.
        /// A millisecond is well below what a program sees of a Wi-Fi hop. On a busy
        /// hop deliveries wait for each other for up to a fifth of it, 200 us at most.
        value lateness_max: Duration = "1ms";
        /// The MTU of nodes that have none of their own.
        moved mtu: () = "this is `mtu` of [node_defaults] now: it is for `simulate`, too";
    }

    /// A sweep: runs of many combinations of values.
    RawSweep {
        /// The keys and their values, as in the command's `--vary`, which takes their place
        /// if it is given: `"node.sta.count=1,2,5"`, `"wire.cable.delay=1ms..50ms:8"`.
        option vary: Vec<String> = "none: --vary says what";
        /// Take the first values of all keys together, then the second ones, and so on,
        /// instead of every combination.
        value zip: bool = false;
        /// Runs of each combination, with independent random numbers.
        value runs: Positive = 1;
    }
}
