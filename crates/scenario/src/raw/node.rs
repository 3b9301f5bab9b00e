//! `[[node]]` and `[node_defaults]`: what a node is, and its settings, whose tables are in the files
//! beside this one: `queue`, `mac`, `absence` (scans, power save), `multi_user`. Lengths of packets
//! are those of IP packets, in bytes.

use super::{
    Positive, RawAggregation, RawBlockAck, RawDriverQueue, RawEdca, RawLowRateRetry, RawMuMimo,
    RawOfdma, RawOperatingMode, RawPowerSave, RawPseudoRetryOut, RawQueue, RawRateControl, RawScan,
};
use crate::profile::Profile;
use crate::scalar::{Name, OrOff, Whole, choices};
use crate::table::tables;
use lasthop_packet::AccessCategory;
use lasthop_units::{Dbm, Duration, MacAddr, Meters};
use lasthop_wifi::phy::{ChannelWidth, PacketPadding, Standard};

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

/// When a receiver delivers what comes in an A-MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RxInterruptKind {
    Mpdu,
    Ppdu,
}

choices! {
    PacketPadding { "0us" => Self::None, "8us" => Self::Us8, "16us" => Self::Us16 }
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
    RxInterruptKind { "mpdu" => Self::Mpdu, "ppdu" => Self::Ppdu }
}

tables! {
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
        /// Product class of the node: it sets keys that neither the node nor [node_defaults] has.
        option profile: Profile = "the scenario's";
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
        option qos: bool = "true with 802.11n and later, else false";
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
        /// ones are cut as IPv4 does. Up to 9000 on wires and on the air with
        /// 802.11ac and 802.11ax, 7900 with 802.11n, 2296 without qos. On the
        /// air "adaptive" follows the link: the length that promises the most
        /// goodput at its rates and losses, each 50 ms anew; saturated flows and
        /// TCP take it over.
        option mtu: Mtu = "1500, Ethernet's";
        /// Bounds of an adaptive MTU.
        table adaptive_mtu: RawAdaptiveMtu;
        /// Longest frame that its buffers take; the MTU must leave room for the
        /// headers: 38 bytes on the air, 18 on a wire. "4096" is a kernel that
        /// keeps a packet in one page. Off is a kernel that does not.
        value buffer_bytes: OrOff<Whole<576, 65_535>> = "off";
        /// Background scans: the node leaves its channel again and again. A station looks
        /// for other access points, and announces each absence by a Null frame. An access point
        /// leaves without notice, to choose its channel or to watch for rogues: beacons are
        /// missing, its packets wait, and frames of its stations are lost.
        off_table scan: RawScan = "\"off\": it stays on its channel";
        /// Power save of a station: it dozes when nothing happens, or but for service
        /// periods. Not together with scan.
        off_table power_save: RawPowerSave = "\"off\": it is always awake, as on mains power";
        /// What a station of 802.11ac or 802.11ax uses of what it can, as it announces when it
        /// associates. When a [[change]] sets it, it notifies its access point by a frame, as a
        /// phone does that begins to save power, and that goes by it from then on.
        off_table operating_mode: RawOperatingMode = "\"off\": all that it can";
        /// Packets that an access point holds in its queue for a station that is
        /// away or dozes, of each access category; the oldest go first.
        option power_save_buffer: OrOff<Positive> = "64 with drop-tail and codel (mac80211 without queues for each station, STA_MAX_TX_BUFFER); \"off\", which is the queue's own bound, with fq-codel";
        /// OFDMA of an access point with 802.11ax: one PPDU to several
        /// stations, each on tones of its own.
        off_table ofdma: RawOfdma = "\"off\": each PPDU is for one station";
        /// Downlink MU-MIMO of an access point with 802.11ac or 802.11ax: one PPDU to
        /// several stations, each on streams of its own over the whole width.
        off_table mu_mimo: RawMuMimo = "\"off\": each PPDU is for one station";
        /// Time that every packet costs the host that sends, receives or forwards it.
        off_table host_cost: RawHostCost = "\"off\": a host that is never the bottleneck";
    }

    /// Bounds of an adaptive MTU.
    RawAdaptiveMtu {
        /// Shortest packet that it may choose. Below 256 bytes headers take
        /// more than a fifth of the air.
        value min: MtuBytes = 256;
        /// Longest.
        option max: MtuBytes = "what the standard and the buffers of both ends allow";
    }

    /// Time that packets cost a host: at both ends of a flow, and at nodes that forward them, as an
    /// access point does between wire and air. The parts of a packet that was cut count each
    /// for itself. A node that forwards more than its processor can drops them, from 1000 that
    /// wait on (Linux' net.core.netdev_max_backlog).
    RawHostCost {
        /// For every packet.
        value per_packet: Duration = "0s";
        /// For every byte.
        value per_byte: Duration = "0s";
        /// Delay of every packet beside the processor's time: interrupts that are held back (ath9k
        /// and iwlwifi up to 2 ms), threads that wake up. Others pass meanwhile.
        value latency: Duration = "0s";
    }
}
