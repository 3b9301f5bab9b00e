//! `[[flow]]`: traffic that lasthop generates. Keys of only one kind of flow are options, so that
//! `assemble::traffic` sees which are given. Rates are those at the network layer, lengths of
//! packets those of IP packets, in bytes.

use super::{RawApq, RawTcp};
use crate::scalar::{FilePath, Word};
use lasthop_config::choices;
use lasthop_config::scalar::{Factor, Name, Whole};
use lasthop_config::tables;
use lasthop_hosts::Endpoints;
use lasthop_packet::AccessCategory;
use lasthop_units::{Bitrate, Bytes, Duration};

/// Kinds of flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowKindName {
    Tcp,
    Udp,
    Video,
    Ping,
    Call,
    Web,
    Stream,
    Game,
    Apq,
}

/// Spacing of the packets of a UDP flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    Constant,
    Poisson,
    OnOff,
    OnOffExponential,
}

/// Offered load of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offered {
    Saturated,
    Rate(Bitrate),
}

impl lasthop_config::scalar::Scalar for Offered {
    type Value = Self;

    fn allowed() -> String {
        format!("{} or \"saturated\"", Bitrate::allowed())
    }
    fn read(value: &lasthop_config::tree::Value) -> Result<Self, Option<String>> {
        match value {
            lasthop_config::tree::Value::String(text) if text == "saturated" => Ok(Self::Saturated),
            _ => Bitrate::read(value).map(Self::Rate),
        }
    }
    fn schema() -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [{ "const": "saturated" }, Bitrate::schema()] })
    }
}

choices! {
    Word<Endpoints> as Endpoints { "kernel" => Endpoints::Kernel, "model" => Endpoints::Model }
    FlowKindName {
        "tcp" => Self::Tcp,
        "udp" => Self::Udp,
        "video" => Self::Video,
        "ping" => Self::Ping,
        "call" => Self::Call,
        "web" => Self::Web,
        "stream" => Self::Stream,
        "game" => Self::Game,
        "apq" => Self::Apq,
    }
    Pattern {
        "constant" => Self::Constant,
        "poisson" => Self::Poisson,
        "on-off" => Self::OnOff,
        "on-off-exponential" => Self::OnOffExponential,
    }
}

tables! {
    /// Traffic from one node to another.
    RawFlow {
        /// Name of the flow in results.
        required name: Name;
        /// Source node of the flow. A `*` makes one flow "name-node" for each matching node.
        required from: String;
        /// Destination node, likewise.
        required to: String;
        /// Number of such flows between each two nodes, called "tcp1", "tcp2" and so on for the name
        /// "tcp"; not with group.
        option count: Whole<1, 10_000> = "one flow with exactly that name";
        /// Kind of traffic. "call" and "game" make two flows: NAME, and NAME-back in the other direction. "web"
        /// and "stream" are TCP: pages and films from a server at `from` for a person at `to`.
        required kind: FlowKindName;
        /// UDP and video: group-addressed packets (broadcast, multicast), each sent once for all
        /// nodes in `to`. An access point sends to all its stations, at channel.group_rate or
        /// group_mcs, without acknowledgement and aggregation, after the DTIM if a station dozes.
        /// Each node in `to` has separate results.
        value group: bool = false;
        /// Start of the flow.
        value start: Duration = "0s";
        /// End of the flow.
        option stop: Duration = "the end of the run";
        /// Priority on the air; unmarked traffic is best effort.
        value access_category: Word<AccessCategory> = "best-effort";
        /// Endpoints under `emulate`: sockets of the kernel (bulk transfers, datagrams, video,
        /// pings), or the machines of `simulate`.
        option endpoints: Word<Endpoints> = "\"kernel\"; \"model\" for requests, a tcp rate, web, stream, call, apq and group";
        /// TCP, web and stream: congestion control. The model has "cubic", "reno", "bbr" (BBR v1),
        /// "bbr3", "dctcp" and "prague" (of L4S, with ECT(1)); kernel endpoints use any that the kernel
        /// has.
        option congestion_control: Name = "\"cubic\", the default of Linux, Windows and macOS";
        /// TCP: number of bytes to send.
        option bytes: Bytes = "as many as the time allows";
        /// TCP: requests and answers instead of a bulk transfer.
        option_table requests: RawRequests = "a bulk transfer";
        /// TCP, web and stream: settings of the model's endpoints. Kernel endpoints have their own.
        table tcp: RawTcp;
        /// Web: pages and their reader.
        table web: RawWeb;
        /// Stream: the film and its player.
        table stream: RawStream;
        /// Game: packets in both directions.
        table game: RawGame;
        /// APQ: measurement of a queue on the way; the source sends the load. Programs measure an
        /// emulated queue too: `lasthop apq serve` in a [[run]], `lasthop apq measure` as COMMAND.
        table apq: RawApq;
        /// UDP and video: rate at the network layer. TCP: rate at which the application writes.
        /// "saturated" (UDP) always keeps its share of the queue's limit filled. Other flows in a
        /// drop-tail queue then lose all their packets; with others, use a rate above the link's.
        /// CoDel and FQ-CoDel drop more and more of it; measure a link's capacity with drop-tail.
        option rate: Offered = "\"saturated\" for udp, unlimited for tcp, 5 Mb/s for video (1080p streaming)";
        /// UDP, video and game: one-way delay after which a packet is late. Results have the shares of
        /// late and of lost packets.
        option deadline: Duration = "none; 100ms for game (Claypool and Claypool, CACM 49(11), 2006: shooters)";
        /// UDP, video, ping and call: packet length in bytes, including the IP header. Packets above an
        /// MTU on the way are fragmented.
        option packet_bytes: Whole<29, 65_535> = "1500 for udp and video (the adapted length for saturated flows from a node with mtu \"adaptive\"), 84 for ping (56 bytes of data), 200 for call (20 ms of G.711)";
        /// UDP: spacing of packets. "on-off" sends at the rate while on; periods are fixed or
        /// exponentially distributed.
        option pattern: Pattern = "\"constant\"";
        /// UDP on-off: mean time on.
        option on: Duration = "1s";
        /// UDP on-off: mean time off.
        option off: Duration = "1s";
        /// Video: frames in a second.
        option frame_rate: Whole<1, 1000> = "30";
        /// Video: standard deviation of the log-normal frame sizes, relative to their mean; 0 for
        /// constant sizes.
        option size_deviation: Factor = "0.2";
        /// Video: every Nth frame is a key frame; 1 makes all alike.
        option key_frame_interval: Whole<1, 100_000> = "60, two seconds of streaming";
        /// Video: size of a key frame relative to the others.
        option key_frame_factor: Factor = "4";
        /// Video: file of frame sizes in bytes, one in each line, repeated at the end; replaces
        /// rate, deviation and key frames.
        option trace: FilePath = "none: sizes are drawn";
        /// Ping: time between requests. Call: time between packets, and the speech in each.
        option interval: Duration = "100ms for ping, 20ms for call";
        /// Call: length of the jitter buffer. The first packet waits for this time at its receiver,
        /// and later packets are played in step with it; a packet that comes too late is concealed.
        option playout: Duration = "60ms";
    }

    /// Requests and answers over one TCP connection, one at a time. The defaults are the small
    /// objects of a web page.
    RawRequests {
        /// Length of a request in bytes.
        value request: Bytes = "500B";
        /// Length of an answer in bytes.
        value response: Bytes = "20kB";
        /// Time from an answer to the next request.
        value think: Duration = "100ms";
    }

    /// A reader of web pages, after 3GPP2 C.R1002: a main object (mean 10 710 bytes), the time to
    /// parse it (mean 130 ms), embedded objects (mean number 5.64, mean 7 758 bytes) and the time to
    /// read the page. The first page follows a time to read, so readers do not begin together. Each
    /// object is a request and its answer; the page's connections end with it. Results have the
    /// times to load pages. Make the run several times as long as `think`, or set `count`.
    RawWeb {
        /// Mean length of a page with all its objects, whose lengths are scaled to it.
        option page: Bytes = "the model's: 57 kB";
        /// Mean time to read a page, from its last byte to the next request (exponential).
        value think: Duration = "30s";
        /// Most connections at a time; 6 as in browsers with HTTP/1.1.
        value connections: Whole<1, 64> = 6;
    }

    /// Streamed video with an adaptive bitrate: a player fetches segments over one connection, and
    /// chooses each bitrate by the play time in its buffer (BBA-0, Huang et al., SIGCOMM 2014): the
    /// lowest in the first 37.5 % of the buffer, the highest in the last 10 %, and between them those
    /// on a line. Play begins with the first segment and resumes after a stall with the next one.
    /// Results have the startup delay, the stalls, the mean bitrate and the number of switches.
    RawStream {
        /// Bitrates of the film, in rising order; those of Netflix before 2015 ("Per-Title Encode
        /// Optimization").
        value ladder: Vec<Bitrate> = ["235kb/s", "375kb/s", "560kb/s", "750kb/s", "1050kb/s", "1750kb/s", "2350kb/s", "3Mb/s", "4300kb/s", "5800kb/s"];
        /// Play time of a segment.
        value segment: Duration = "4s";
        /// Longest play time in the buffer, at least two segments. A run shorter than the buffer
        /// sees mostly its beginning.
        value buffer: Duration = "240s";
    }

    /// A game of fast action: UDP from the player at `from` to the server at `to` and back, a packet of
    /// constant length at each tick. Games send such small and regular packets (Feng et al.,
    /// "Provisioning On-line Games", 2002); the numbers are those of a shooter at 60 Hz. Lengths
    /// include the IP header.
    RawGame {
        /// Packets of the player in a second.
        value player_rate: Whole<1, 1000> = 60;
        /// Packets of the server in a second.
        value server_rate: Whole<1, 1000> = 60;
        /// Length of the player's packets in bytes.
        value player_bytes: Whole<29, 65_535> = 100;
        /// Length of the server's packets in bytes.
        value server_bytes: Whole<29, 65_535> = 250;
    }
}
