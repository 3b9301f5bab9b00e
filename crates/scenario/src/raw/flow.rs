//! `[[flow]]`: traffic that lasthop makes. Keys of one kind of flow only are options, so that
//! `assemble::traffic` sees which are given. Rates are those at the network layer, lengths of
//! packets those of IP packets, in bytes.

use super::{RawApq, RawTcp};
use crate::scalar::{Factor, FilePath, Name, Whole, choices};
use crate::table::tables;
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
    Apq,
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

choices! {
    Endpoints { "kernel" => Self::Kernel, "model" => Self::Model }
    FlowKindName {
        "tcp" => Self::Tcp,
        "udp" => Self::Udp,
        "video" => Self::Video,
        "ping" => Self::Ping,
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
        /// Its name, in results.
        required name: Name;
        /// Where it begins: a node, or several by a name with a `*`, each of
        /// which gets a flow of its own called "name-node".
        required from: String;
        /// Where it ends, likewise.
        required to: String;
        /// What it is.
        required kind: FlowKindName;
        /// UDP and video: its packets are group-addressed (broadcast, multicast). Whatever the
        /// number of nodes in `to`, each packet is sent once; an access point sends it once to all
        /// stations of its set, at channel.group_rate or group_mcs, without acknowledgement and
        /// aggregation, behind the DTIM if some station dozes. Each node in `to` has results of its
        /// own.
        value group: bool = false;
        /// When it begins.
        value start: Duration = "0s";
        /// When it ends.
        option stop: Duration = "the end of the run";
        /// Priority on the air. What is not marked is best effort.
        value access_category: AccessCategory = "best-effort";
        /// Who sends and receives under `emulate`: sockets of the kernel, or the same machines
        /// as under `simulate`. The kernel has bulk transfers, datagrams, video and pings.
        option endpoints: Endpoints = "\"kernel\"; \"model\" for what the kernel has not: requests, a tcp rate, apq, group";
        /// TCP: the congestion control. The model has "cubic" and "reno"; `emulate` takes any that
        /// the kernel has, such as "bbr", for endpoints of the kernel.
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
}
