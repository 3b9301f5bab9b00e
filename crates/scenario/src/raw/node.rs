//! `[[node]]` and `[node_defaults]`: a node and its settings, whose tables are in the files beside
//! this one: `queue`, `mac`, `absence` (scans, absences, power save), `multi_user`. Lengths of packets are
//! those of IP packets, in bytes.

use super::{
    Positive, RawAbsence, RawAggregation, RawBlockAck, RawDriverQueue, RawEdca, RawLowRateRetry,
    RawMuMimo, RawOfdma, RawOperatingMode, RawPowerSave, RawPseudoRetryOut, RawQueue,
    RawRateControl, RawRoaming, RawScan,
};
use crate::profile::Profile;
use crate::scalar::{FilePath, TraceNode, Word};
use lasthop_config::choices;
use lasthop_config::quantity::Speed;
use lasthop_config::scalar::{Name, OrOff, Whole};
use lasthop_config::tables;
use lasthop_packet::AccessCategory;
use lasthop_units::{Dbm, Duration, MacAddr, Meters};
use lasthop_wifi::cell::LinkChoice;
use lasthop_wifi::phy::{ChannelWidth, PacketPadding, Standard};

/// The MTU of a node: what IPv4 needs to what Ethernet's jumbo frames carry.
pub(crate) type MtuBytes = Whole<68, 9_000>;

/// The MTU of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mtu {
    Fixed(MtuBytes),
    Adaptive,
}

impl lasthop_config::scalar::Scalar for Mtu {
    type Value = Self;

    fn allowed() -> String {
        format!("{} or \"adaptive\"", MtuBytes::allowed())
    }
    fn read(value: &lasthop_config::tree::Value) -> Result<Self, Option<String>> {
        match value {
            lasthop_config::tree::Value::String(text) if text == "adaptive" => Ok(Self::Adaptive),
            _ => MtuBytes::read(value).map(Self::Fixed),
        }
    }
    fn schema() -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [{ "const": "adaptive" }, MtuBytes::schema()] })
    }
}

/// Time at which a receiver delivers the MPDUs of an A-MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RxInterruptKind {
    Mpdu,
    Ppdu,
    Held,
}

/// Dependence of a device's links on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MultiLinkKind {
    Off,
    Str,
    Nstr,
    Emlsr,
}

choices! {
    Word<LinkChoice> as LinkChoice { "first" => LinkChoice::First, "load" => LinkChoice::Load, "delay" => LinkChoice::Delay }
    MultiLinkKind { "off" => Self::Off, "str" => Self::Str, "nstr" => Self::Nstr, "emlsr" => Self::Emlsr }
    Word<PacketPadding> as PacketPadding { "0us" => PacketPadding::None, "8us" => PacketPadding::Us8, "16us" => PacketPadding::Us16, "20us" => PacketPadding::Us20 }
    Word<AccessCategory> as AccessCategory {
        "background" => AccessCategory::Background,
        "best-effort" => AccessCategory::BestEffort,
        "video" => AccessCategory::Video,
        "voice" => AccessCategory::Voice,
    }
    crate::Role {
        "access-point" => Self::AccessPoint,
        "station" => Self::Station,
        "host" => Self::Host,
        "relay" => Self::Relay,
    }
    RxInterruptKind { "mpdu" => Self::Mpdu, "ppdu" => Self::Ppdu, "held" => Self::Held }
}

tables! {
    /// A node: an access point, a station, a host behind wires, or a relay.
    RawNode {
        /// Name of the node in flows, wires and results; with a count the prefix of "sta1", "sta2"
        /// ..
        required name: Name;
        /// Role of the node. A relay is a wired box that only forwards packets.
        required role: crate::Role;
        /// Number of such nodes, called "sta1", "sta2" .. after the name "sta".
        option count: Whole<1, 1000> = "one node with exactly that name";
        /// Position on the floor, x and y.
        option position: [Meters; 2] = "[\"0m\", \"0m\"] for an access point, [\"5m\", \"0m\"] for a station: a strong link";
        /// With a count: radius of the circle around the position on which the nodes stand evenly.
        option ring: Meters = "all at the position";
        /// Places that the node reaches at instants: it begins at its position, moves evenly on
        /// straight lines, and stays at the last one ([movement](model.md#movement)).
        list waypoints: RawWaypoint;
        /// Way from the position at an even speed.
        option_table path: RawPath = "none";
        /// Movement in a file.
        option_table trace: RawTrace = "none";
        /// Whether an access point has failed: no beacons, it hears and sends nothing, and loses the
        /// packets that it holds or that come to it. With a [[change]] it fails and comes back.
        value failed: bool = false;
        /// Basic service set, by any name: an access point and its stations. Sets share the air;
        /// only wires join them ([several cells](model.md#several-cells-on-one-channel)).
        option bss: Name = "the set of all nodes without a bss";
        /// MAC address; not with a count.
        option address: MacAddr = "locally administered, 02:1a: and the node's number";
        /// Settings on the air and at the host.
        flatten settings: RawNodeSettings;
    }

    /// Times of a device with a single radio.
    RawEmlsr {
        /// Padding that it needs in the MU-RTS before each PPDU: 0, 32, 64, 128 or 256 us.
        value padding: Duration = "64us";
        /// Time until it listens on all links again: 0, 16, 32, 64, 128 or 256 us.
        value transition: Duration = "64us";
    }

    /// Links that a device of several links uses, by number: 0 is the channel itself, 1 and 2 the
    /// `[[channel.link]]`s. Lists hold for both directions of the traffic between the node and its
    /// access point or stations (TID-To-Link Mapping, IEEE 802.11be-2024, 35.3.7).
    RawLinkUse {
        /// Link that takes the next packets that the node sends. "first": whichever gains its
        /// channel first. "load": the one with the most throughput left, by its rate and the time
        /// that others are on the air. "delay": the one with the shortest time from contention to
        /// acknowledgement; the others are tried each 102.4 ms.
        value choice: Word<LinkChoice> = "first";
        /// Links that are switched on, 0 among them: it has the group frames. The others of an
        /// access point are off for its stations, too. A `[[change]]` may set it.
        option on: Vec<Whole<0, 2>> = "all";
        /// Links for voice.
        option voice: Vec<Whole<0, 2>> = "all";
        /// Links for video.
        option video: Vec<Whole<0, 2>> = "all";
        /// Links for best effort.
        option best_effort: Vec<Whole<0, 2>> = "all";
        /// Links for background traffic.
        option background: Vec<Whole<0, 2>> = "all";
    }

    /// A place that a node reaches at an instant.
    RawWaypoint {
        /// Instant at which the node is there, after the start.
        required at: Duration;
        /// The place, x and y.
        required position: [Meters; 2];
    }

    /// A way at an even speed.
    RawPath {
        /// Speed: people walk at 1.4 m/s.
        required speed: Speed;
        /// Places on the way, in order, after the position.
        required through: Vec<[Meters; 2]>;
        /// Whether the node returns to the position and begins again.
        value repeat: bool = false;
        /// Instant at which the node begins to move.
        value start: Duration = "0s";
    }

    /// Movement in a file: a trace of ns-2, as BonnMotion and SUMO write them, or CSV with the
    /// header time,node,x,y in seconds and metres, even on straight lines between two rows.
    RawTrace = file {
        /// The file.
        required file: FilePath;
        /// Name of the node in the file, such as 3 for `$node_(3)`; with a count the number of the
        /// first one.
        option node: TraceNode = "the node's name";
    }

    /// Settings of a node, or of all nodes in `[node_defaults]`.
    RawNodeSettings {
        /// Product class of the node; sets keys that neither the node nor [node_defaults] has, and keys of its TCP flows.
        option profile: Profile = "the scenario's";
        /// Transmit power; 20 dBm is the limit of Europe at 2.4 GHz and usual at 5 GHz.
        value tx_power: Dbm = "20dBm";
        /// Spatial streams for sending and receiving: up to 4 with 802.11n, 8 with 802.11ac and
        /// 802.11ax, else 1. Most devices have two.
        value streams: Whole<1, 8> = 2;
        /// Older generation than the channel's ([mixed cells](model.md#mixed-generations)).
        option standard: Word<Standard> = "the channel's";
        /// Narrower channel around the primary one.
        option width: Word<ChannelWidth> = "the channel's, as far as the standard allows";
        /// Dependence of the node's links on each other. "str": each acts alone. "emlsr": one radio
        /// that listens on all links and exchanges frames on one. "nstr": one link at a time, without
        /// delays. "off": a node of one link, the channel's.
        option multi_link: MultiLinkKind = "\"str\" with 802.11be where the channel has further links, else \"off\"";
        /// With multi_link = "emlsr": times that the radio needs.
        table emlsr: RawEmlsr;
        /// Links of a node of several links that carry its data.
        table link_use: RawLinkUse;
        /// Dual carrier modulation (802.11ax): each bit on two tones, half the rate of MCS 0, 1, 3
        /// and 4, 3 dB less SNR. With 802.11be MCS 15, and at 6 GHz from 80 MHz on MCS 14 (EHT DUP).
        /// Rate control uses it between two such nodes; few devices have it.
        value dcm: bool = false;
        /// HE extended range PPDUs (802.11ax): one stream in the primary 20 MHz, MCS 0 to 2, or MCS
        /// 0 on 106 tones. Preambles and acknowledgements reach 3 dB further. Rate control uses
        /// them between two such nodes.
        value extended_range: bool = false;
        /// Nominal packet padding (802.11ax and 802.11be, "20us" the latter only): packet extension
        /// that the receiver requires after the last symbol. Chips announce longer ones for wider and faster PPDUs.
        value packet_padding: Word<PacketPadding> = "0us";
        /// Queue above the MAC, one for each access category.
        table queue: RawQueue;
        /// Queue of driver and hardware below it.
        table driver_queue: RawDriverQueue;
        /// Rate control towards each peer.
        table rate_control: RawRateControl;
        /// Length in bytes from which RTS/CTS precedes a frame or A-MPDU. "off" is the default of
        /// access points and Linux.
        value rts_threshold: OrOff<Whole<0, 65_535>> = "off";
        /// QoS frames with EDCA and Block Ack, or plain DCF.
        option qos: bool = "true with 802.11n and later, else false";
        /// Channel access parameters of the four access categories.
        table edca: RawEdca;
        /// Aggregation by the sender.
        table aggregation: RawAggregation;
        /// Time from the end of a data frame or A-MPDU until the hardware has the next one of its
        /// access category, as with a slow driver or bus.
        value transmit_gap: Duration = "0s";
        /// Block Ack agreements with all peers.
        table block_ack: RawBlockAck;
        /// Delivery of received frames: each MPDU at its last bit, as mt76 does, all of an A-MPDU
        /// at the end of the PPDU, or "held" back by timers, as ath9k and iwlwifi do. Held frames
        /// also wait for no longer than the node's next completed transmission.
        value rx_interrupt: RxInterruptKind = "mpdu";
        /// Timers of rx_interrupt = "held".
        table rx_hold: RawRxHold;
        /// Attempts for a frame, including the first; 7 is the default of Linux and of
        /// dot11ShortRetryLimit.
        value retry_limit: Whole<1, 255> = 7;
        /// Fewer retransmissions when sending at a low data rate.
        table low_rate_retry: RawLowRateRetry;
        /// Giving up received MPDUs at a low data rate; not at a station that only sends.
        table pseudo_retry_out: RawPseudoRetryOut;
        /// Age at which the MAC gives up a packet. Linux drivers have no limit.
        value msdu_lifetime: OrOff<Duration> = "off";
        /// Longest packet on a link, including the IP header; longer ones are fragmented as in
        /// IPv4. Limits: 9000 on wires and with 802.11ac and 802.11ax, 7900 with 802.11n, 2296
        /// without qos. "adaptive" chooses the length with the highest expected goodput on the air
        /// every 50 ms; saturated flows and TCP follow.
        option mtu: Mtu = "1500, Ethernet's";
        /// Bounds of an adaptive MTU.
        table adaptive_mtu: RawAdaptiveMtu;
        /// Longest frame that the buffers hold. The MTU must leave 38 bytes for headers on the air,
        /// 18 on a wire. 4096 is a kernel that keeps a packet in one page.
        value buffer_bytes: OrOff<Whole<576, 65_535>> = "off";
        /// Background scans of a station, which announces each absence by a Null frame, or of an
        /// access point, which leaves without notice: no beacons, packets wait, frames of stations
        /// are lost.
        off_table scan: RawScan = "\"off\": the node stays on its channel";
        /// Roaming of a station among the access points of its network; not together with scan and
        /// power_save.
        off_table roaming: RawRoaming = "\"off\": the station stays with its access point";
        /// Absences of a node by a clock, a table or a list of them; not together with scan or
        /// power_save. An access point sends no beacons meanwhile, as in scan.
        off_tables absence: RawAbsence = "\"off\": the node stays on its channel";
        /// Power save of a station; not together with scan, roaming or absence. With several links
        /// each further link saves power by itself ("legacy" only), and the first stays awake.
        off_table power_save: RawPowerSave = "\"off\": always awake, as on mains power";
        /// Limits of a station of 802.11ac, ax or be, announced when it associates. A [[change]]
        /// sends a frame to the access point, as phones do to save power.
        off_table operating_mode: RawOperatingMode = "\"off\": no limits";
        /// Packets that an access point holds for each absent or dozing station and access
        /// category; the oldest are dropped.
        option power_save_buffer: OrOff<Positive> = "64 with drop-tail and codel (mac80211 without queues for each station, STA_MAX_TX_BUFFER); \"off\", the bound of the queue, with fq-codel";
        /// OFDMA of an 802.11ax or 802.11be access point: one PPDU to several stations, each on different
        /// tones.
        off_table ofdma: RawOfdma = "\"off\": one station in each PPDU";
        /// Downlink MU-MIMO of an 802.11ac, ax or be access point: one PPDU to several stations,
        /// each on different streams over the whole width.
        off_table mu_mimo: RawMuMimo = "\"off\": one station in each PPDU";
        /// Host time for each packet sent, received or forwarded.
        off_table host_cost: RawHostCost = "\"off\": the host is never the bottleneck";
        /// Receive offload (GRO) of the node's wires: full segments of a TCP flow that arrive
        /// together are one packet for drop-tail queues with a limit of packets, and for the
        /// processor.
        off_table receive_offload: RawReceiveOffload = "\"off\": packets one by one";
    }

    /// Timers of a held back interrupt.
    RawRxHold {
        /// Longest time after the last frame.
        option last: Duration = "500us, as in ath9k from AR9300 on (rimt_last); 250us before";
        /// Longest time after the first frame.
        option first: Duration = "2ms, as in ath9k from AR9300 on (rimt_first); 700us before";
    }

    /// Bounds of an adaptive MTU.
    RawAdaptiveMtu {
        /// Shortest length of a packet. Below 256 bytes headers take more than a fifth of the air.
        value min: MtuBytes = 256;
        /// Longest length of a packet.
        option max: MtuBytes = "the limit of the standard and the buffers of both ends";
    }

    /// Receive offload of wires. A receiving end of TCP has `tcp.receive_offload`.
    RawReceiveOffload {
        /// Most segments in one: 45 fill 64 KiB; Linux before 3.13 had 17.
        value segments: Whole<2, 64> = 45;
        /// Shortest time between two interrupts; packets in this time are handled together. Intel's
        /// e1000e and igb have 50 us for few packets (low latency), 250 us for many (bulk).
        value interval: Duration = "50us";
    }

    /// Host time for packets: at both ends of a flow, and at nodes that forward them, such as an
    /// access point between wire and air. Each fragment counts. A forwarding node drops packets
    /// while 1000 wait (Linux' net.core.netdev_max_backlog).
    RawHostCost {
        /// Processor time for every packet.
        value per_packet: Duration = "0s";
        /// Processor time for every byte.
        value per_byte: Duration = "0s";
        /// Further delay of every packet, during which the processor is free: interrupts held back
        /// (ath9k and iwlwifi up to 2 ms), threads that wake up.
        value latency: Duration = "0s";
    }
}
