//! Tables between Wi-Fi nodes: `[[link]]` for a pair of them, `[[cell]]` for a basic service set,
//! `[[neighbour]]` for another set known by level and load. Levels are those at a receiver, in dBm;
//! numbers of channels are those of primary channels of 20 MHz.

use super::{RawChannelSwitch, RawFading, RawSteering};
use crate::scalar::Word;
use lasthop_config::choices;
use lasthop_config::scalar::{Name, OrOff, Whole};
use lasthop_config::tables;
use lasthop_units::{Bitrate, Db, Dbm, Duration, Probability};
use lasthop_wifi::phy::ChannelWidth;

/// Access of stations while a secondary channel is busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BandwidthKind {
    Dynamic,
    Static,
}

choices! {
    BandwidthKind { "dynamic" => Self::Dynamic, "static" => Self::Static }
}

tables! {
    /// A pair of Wi-Fi nodes whose link differs from the channel.
    RawLink {
        /// Both directions between these two nodes; names may have a `*`.
        option between: [String; 2] = "none; a link requires between, or from and to";
        /// One direction, from this node; the name may have a `*`.
        option from: String = "none";
        /// One direction, to this node; the name may have a `*`.
        option to: String = "none";
        /// Fixed signal-to-noise ratio at the receiver.
        option snr: Db = "from path loss and transmit power";
        /// Changes of snr during the run, in order.
        list snr_changes: RawSnrChange;
        /// Fixed path loss; "200dB" hides the two nodes from each other.
        option path_loss: Db = "from the distance";
        /// Probability that an MPDU is lost, at any rate and length; the signal is strong and does
        /// not fade. "off" uses the error model.
        option loss: OrOff<Probability> = "\"off\"";
        /// Fading of this pair.
        option_table fading: RawFading = "the channel's";
    }

    /// A change of a link's signal-to-noise ratio. A frame keeps the ratio at its start.
    RawSnrChange {
        /// Instant of the change.
        required from: Duration;
        /// New signal-to-noise ratio.
        required snr: Db;
    }

    /// A basic service set: settings that its access point announces to the nodes with this bss.
    RawCell {
        /// Name of the set, as in `bss` of the nodes.
        option name: Name = "the set of all nodes without a bss";
        /// Number of the primary 20 MHz channel, which carries the beacons and lies inside the
        /// wider PPDUs ([other channels](model.md#other-channels)). At 2.4 GHz 1, 6 and 11, or 1,
        /// 5, 9 and 13.
        option channel: Whole<1, 233> = "36 at 5 GHz, else 1";
        /// The [[channel.link]] on whose channel the set is, by its number from 1 on; its nodes have
        /// that link alone.
        option link: Whole<1, 2> = "the channel itself";
        /// Network (SSID) of which the set is a part: stations with roaming move among the sets of one.
        option network: Name = "one of its own";
        /// Access while a secondary channel is busy (PPDUs of others at -72 dBm or more within the
        /// last 25 us): "dynamic" uses the idle part at the same MCS, "static" backs off until all
        /// is idle.
        value bandwidth: BandwidthKind = "dynamic";
        /// Channels of 20 MHz, by their numbers, that an 802.11be access point announces as disabled: PPDUs
        /// of the set leave them out, and neighbours there are none of its concern. Of 80 MHz one; of
        /// 160 MHz one, or 40 MHz; of 320 MHz 40 or 80 MHz, or an outer 80 MHz and 40 MHz; never the
        /// primary one. Older nodes of the set have the widest whole channel around the primary one.
        option punctured: Vec<Whole<1, 233>> = "none";
        /// BSS colour (802.11ax, 802.11be), by which stations recognise PPDUs of other sets at the end of
        /// HE-SIG-A or U-SIG; 0 for none. Sets of the same colour take each other's PPDUs for their own
        /// until they decode a frame.
        option colour: Whole<0, 63> = "the lowest unused one from 1 on: first for the set without a name, then by name, then neighbours by name; repeated beyond 63 sets";
        /// Requests to stations to move to another set of the network.
        off_table steering: RawSteering = "\"off\": stations go as they like";
        /// Spatial reuse by OBSS-PD.
        table spatial_reuse: RawSpatialReuse;
        /// Moves of the access point to another channel.
        option_table channel_switch: RawChannelSwitch = "none: the set stays on its channel";
    }

    /// Spatial reuse by OBSS-PD (802.11ax, 802.11be). A node of the set that receives an HE or EHT PPDU of another
    /// colour below the level resumes its backoff, and sends, during that PPDU. Until the end of
    /// its next TXOP its power is at most 21 dBm (25 dBm for access points with more than two
    /// streams) less the excess of the level over -82 dBm.
    RawSpatialReuse = level {
        /// OBSS-PD level for 20 MHz, -82 to -62 dBm. At -82 dBm the power is not reduced.
        value level: OrOff<Dbm> = "off";
    }

    /// A neighbouring access point and its stations, known by level and load. The nodes, "NAME:ap",
    /// "NAME:sta1" .., sense, contend, collide and interfere as those of any set; flows, links,
    /// wires and programs cannot name them.
    RawNeighbour {
        /// Name of the neighbour in results.
        required name: Name;
        /// Level of all its nodes at every node of the scenario. Neighbours send with 20 dBm and
        /// hear other nodes over the same path loss. Below carrier_sense a neighbour only
        /// interferes.
        required level: Dbm;
        /// Nodes with another level.
        list levels: RawNeighbourLevel;
        /// Share of time with a PPDU of the neighbour on the air while others are silent: data,
        /// acknowledgements and beacons, without the 16 us between them. In company it sends as
        /// much if the air allows, plus retransmissions after collisions. 0 turns it off, beacons
        /// included.
        required busy: Probability;
        /// Share of the data from stations to their access point (lasthop's choice; most traffic is
        /// downlink).
        value uplink: Probability = 0.2;
        /// Stations that share the data evenly.
        value stations: Whole<1, 100> = 1;
        /// Length of its packets in bytes, including the IP header.
        value packet_bytes: Whole<29, 1_500> = 1500;
        /// Longest data PPDU. Packets come in bursts that fill one, at the instants of a Poisson
        /// process; before 802.11n one packet each. 2 ms is lasthop's choice between web pages and
        /// bulk transfers.
        value ppdu_duration: Duration = "2ms";
        /// MCS with 802.11n (0 to 31, which includes the streams), 802.11ac (0 to 9) and 802.11ax
        /// (0 to 11), at the guard interval of the channel.
        option mcs: Whole<0, 31> = "16-QAM 3/4 with two streams: 12 with 802.11n, else 4";
        /// Number of its primary channel, as of a [[cell]].
        option channel: Whole<1, 233> = "that of the nodes without a bss, or of the first set by name";
        /// Width of its PPDUs. 20 MHz beside another's primary channel only makes a secondary
        /// channel busy.
        option width: Word<ChannelWidth> = "the channel's";
        /// Streams with 802.11ac and 802.11ax.
        option streams: Whole<1, 8> = "2";
        /// BSS colour with 802.11ax and 802.11be, 0 for none. Neighbours do not use spatial reuse.
        option colour: Whole<0, 63> = "after those of every [[cell]]";
        /// Bit rate before 802.11n.
        option rate: Bitrate = "24 Mb/s; 11 Mb/s with 802.11b";
    }

    /// Nodes that hear a neighbour at another level.
    RawNeighbourLevel {
        /// A node, several by a `*`, or another neighbour, which otherwise hears this one at the
        /// weaker of their levels.
        required node: String;
        /// Level of the neighbour's nodes there.
        required level: Dbm;
    }
}
