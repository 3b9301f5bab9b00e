//! What is between Wi-Fi nodes: `[[link]]` for a pair of them, `[[cell]]` for a basic service set,
//! `[[neighbour]]` for a set of others of which only level and load are known. Levels are those at
//! a receiver, in dBm; numbers of channels are those of primary channels of 20 MHz.

use super::RawFading;
use crate::scalar::{Name, OrOff, Whole, choices};
use crate::table::tables;
use lasthop_units::{Bitrate, Db, Dbm, Duration, Probability};
use lasthop_wifi::phy::ChannelWidth;

/// What stations do when a secondary channel is busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BandwidthKind {
    Dynamic,
    Static,
}

choices! {
    BandwidthKind { "dynamic" => Self::Dynamic, "static" => Self::Static }
}

tables! {
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
}
