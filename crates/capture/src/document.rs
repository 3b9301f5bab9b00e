//! Results of a capture as one JSON document, the output of `lasthop capture --json`. Names carry
//! units. A key that does not apply is absent; only the place of an error may be null. Times are
//! seconds since the first packet. The doc comments of the types are the descriptions in the
//! published JSON Schema.

mod channel;
mod decryption;
mod devices;
mod flows;
mod interfaces;
mod joined;
mod removals;
mod roams;

pub use channel::{
    AbsenceSummary, AirtimeSummary, BssSummary, ChannelSummary, DirectionSummary, NoticeSummary,
    PeriodSummary, RateSummary, ScheduleSummary, StationSummary,
};
pub use decryption::{ClosedSummary, DecryptionSummary};
pub use devices::{
    DeviceDirectionSummary, DeviceLinkSummary, DeviceShareSummary, DeviceSummary, EmlsrSummary,
};
pub use flows::{FlowDirectionSummary, FlowSummary};
pub use interfaces::InterfaceSummary;
pub use joined::{
    ClockSummary, ContextSummary, DelaySummary, FatesSummary, FileSummary, JoinedDirectionSummary,
    JoinedFile, JoinedFlowSummary, JoinedSummary, PartsSummary, PlaceSummary,
    RetransmissionSummary, SlowSegmentSummary, begin_ns,
};
pub use removals::RemovalsSummary;
pub use roams::{PhasesSummary, RoamSummary};

use crate::analysis::Analysis;
use crate::finding::{self, Extent, Finding};
use crate::rounding::seconds;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Results of a capture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaptureDocument {
    /// Name of the file as given on the command line; `-` is standard input.
    pub file: String,
    /// Number of packets, including malformed ones.
    pub frames: u64,
    /// Numbers of frames by type, as tshark counts them: all packets of the file, including frames
    /// with a wrong check sequence.
    pub counts: CountsSummary,
    /// Malformed packets, at most 1 000.
    pub errors: Vec<ErrorSummary>,
    /// Problems of the link, worst first.
    pub findings: Vec<Finding>,
    /// Limits of this capture, with reasons: findings about these subjects are not possible.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unknown: Vec<String>,
    /// Number of findings that are not in `findings`: of each kind the 50 worst are listed.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub findings_left_out: u64,
    /// Number of malformed packets that are not in `errors`.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub errors_left_out: u64,
    /// Version of lasthop that analysed the capture.
    pub version: String,
    /// Time of the first packet, in seconds since 1970-01-01 UTC. Absent if no packet has a time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub begin_unix_s: Option<f64>,
    /// Time from the first to the last packet, in seconds.
    pub duration_s: f64,
    /// Number of packets by link-layer header type.
    pub link_types: BTreeMap<String, u64>,
    /// Packets that could not be used, or only in part.
    pub unused: UnusedSummary,
    /// Results of decryption. Absent without a passphrase (`--psk`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub decryption: Option<DecryptionSummary>,
    /// Shares of the time on the air.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub airtime: Option<AirtimeSummary>,
    /// Networks, by the address of their access point.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub networks: BTreeMap<String, BssSummary>,
    /// Multi-link devices (802.11be) by MLD address: access points and stations that are one, on all
    /// interfaces. A device has one set of sequence numbers for all links.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub devices: BTreeMap<String, DeviceSummary>,
    /// Changes of stations between access points of one network, at most 4 096.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub roams: Vec<RoamSummary>,
    /// Number of stations that sent or were sent frames and belong to none of these networks.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub strangers: u64,
    /// Flows of TCP and UDP that could be read, by protocol and ends; those between multi-link devices
    /// over the links of all interfaces.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub flows: BTreeMap<String, FlowSummary>,
    /// Number of flows that are not in `flows`: with more than 4 096 flows, idle ones are dropped.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub flows_left_out: u64,
    /// Interfaces of the file, if it has several.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub interfaces: Vec<InterfaceSummary>,
    /// Results of this capture together with others (`--with`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub joined: Option<JoinedSummary>,
}

/// Numbers of frames by type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CountsSummary {
    /// Null frames, without QoS.
    pub null: u64,
    /// QoS Null frames, without data.
    pub qos_null: u64,
    /// Null and QoS Null frames with the Power Management bit set.
    pub null_pm1: u64,
    /// QoS Data frames.
    pub qos_data: u64,
    /// Block Ack frames.
    pub block_ack: u64,
    /// Block Ack Request frames.
    pub block_ack_req: u64,
    /// Frames with the Retry bit set.
    pub retry: u64,
    /// Frames whose radiotap header has an A-MPDU status field.
    pub ampdu_status: u64,
    /// Frames whose radiotap header has an MCS field (802.11n).
    pub mcs: u64,
    /// Frames whose radiotap header has a VHT field (802.11ac).
    pub vht: u64,
    /// Packets that carry TCP, at all interfaces.
    pub tcp: u64,
    /// Frames whose radiotap header has an HE field (802.11ax).
    pub he: u64,
    /// Frames whose radiotap header has an EHT field (802.11be).
    pub eht: u64,
    /// Trigger frames (802.11ax).
    pub trigger: u64,
}

/// A malformed packet, or an error of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorSummary {
    /// Number of the packet, from 1; null for an error of the file.
    pub frame: Option<u64>,
    /// Position of the error, in bytes from the start of the packet, or from the start of the file
    /// if `frame` is null.
    pub offset: Option<u64>,
    /// Error, and the expected value.
    pub message: String,
}

/// Packets that could not be used, or only in part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnusedSummary {
    /// Frames with a wrong check sequence, by the receiver's flag or by their own bytes. They are
    /// in `counts` and in nothing else.
    pub bad_fcs: u64,
    /// Frames that are not checked: their header announces a check sequence, but the last bytes of
    /// all frames of the interface are other data.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub without_fcs: u64,
    /// Packets that a snap length has cut short.
    pub cut: u64,
    /// Packets that were cut within their headers; a part of `cut`.
    pub too_short: u64,
    /// Encrypted frames that were not opened: their headers are used, their bodies are not.
    pub protected: u64,
    /// Packets of an unsupported link-layer header type.
    pub unsupported: u64,
    /// Packets with an earlier time than the previous packet.
    pub clock_backwards: u64,
    /// Packets without a time. They get the time of the previous packet, and are not part of the
    /// duration.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub without_time: u64,
    /// PPDUs of unknown rate, which are not part of the time on the air.
    pub without_rate: u64,
    /// Packets that the kernel dropped before they could be read, in a live capture.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub dropped: u64,
}

impl CaptureDocument {
    /// Builds the document of a capture that has been read. `file` is the name of the file.
    pub fn new(file: &str, analysis: &Analysis) -> Self {
        let counts = &analysis.file.counts;
        let times = analysis.times();
        let duration_s = times.map_or(0.0, |(first, last)| seconds(last.saturating_sub(first)));
        let air = &analysis.main.air;
        let (findings, findings_left_out) = finding::counted(analysis, Extent::ALL);
        Self {
            file: file.to_owned(),
            frames: analysis.packets,
            counts: CountsSummary {
                null: counts.null,
                qos_null: counts.qos_null,
                null_pm1: counts.null_pm1,
                qos_data: counts.qos_data,
                block_ack: counts.block_ack,
                block_ack_req: counts.block_ack_req,
                retry: counts.retry,
                ampdu_status: counts.ampdu_status,
                mcs: counts.mcs,
                vht: counts.vht,
                tcp: analysis.packets_tcp(),
                he: counts.he,
                eht: counts.eht,
                trigger: counts.trigger,
            },
            errors: errors(analysis),
            findings,
            findings_left_out,
            unknown: finding::unknown(analysis),
            errors_left_out: analysis.file.errors_left_out,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            begin_unix_s: times.filter(|(first, _)| *first > 0).map(|(first, _)| seconds(first)),
            duration_s,
            link_types: analysis.links.iter().map(|(l, n)| (l.to_string(), *n)).collect(),
            unused: UnusedSummary::new(analysis),
            decryption: DecryptionSummary::new(analysis),
            airtime: AirtimeSummary::new(air),
            networks: channel::networks(air),
            devices: devices::devices(analysis),
            roams: roams::roams(air),
            strangers: air.stations.iter().filter(|(_, s)| s.bss.is_none()).count() as u64,
            flows: flows::flows(&analysis.main.flows, times.map_or(0, |(first, _)| first)),
            flows_left_out: analysis.main.flows.forgotten(),
            interfaces: Vec::new(),
            joined: None,
        }
    }

    /// Adds the interfaces of the file, if it has several.
    #[must_use]
    pub fn with_interfaces(mut self, analysis: &Analysis) -> Self {
        self.interfaces = interfaces::interfaces(analysis);
        self
    }

    /// Adds the results of this capture together with others.
    #[must_use]
    pub fn with_joined(mut self, joined: JoinedSummary) -> Self {
        self.findings.extend(joined.findings(&self));
        finding::sort(&mut self.findings);
        self.joined = Some(joined);
        self
    }

    /// Adds the results of other measurements.
    #[must_use]
    pub fn with_context(mut self, context: Vec<ContextSummary>) -> Self {
        if !context.is_empty() {
            self.joined = Some(JoinedSummary { context, ..JoinedSummary::default() });
        }
        self
    }

    /// Formats the document as JSON, with a line feed at the end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("every value has a JSON form");
        text.push('\n');
        text
    }
}

impl UnusedSummary {
    fn new(analysis: &Analysis) -> Self {
        let decryption = DecryptionSummary::new(analysis);
        let opened = decryption.map_or(0, |decryption| decryption.opened());
        let counts = &analysis.file.counts;
        let others = analysis.others.values().map(|other| other.air.without_rate);
        Self {
            bad_fcs: counts.bad_fcs,
            without_fcs: counts.without_fcs,
            cut: counts.cut,
            too_short: counts.too_short,
            protected: counts.protected.saturating_sub(opened),
            unsupported: counts.unsupported,
            clock_backwards: counts.clock_backwards,
            without_time: analysis.without_time(),
            without_rate: analysis.main.air.without_rate + others.sum::<u64>(),
            dropped: analysis.dropped,
        }
    }
}

fn errors(analysis: &Analysis) -> Vec<ErrorSummary> {
    let error = |error: &crate::analysis::Malformed| ErrorSummary {
        frame: error.frame,
        offset: error.offset,
        message: error.message.clone(),
    };
    analysis.file.errors.iter().map(error).collect()
}

/// Returns the JSON Schema of [`CaptureDocument`].
pub fn schema() -> serde_json::Value {
    let text = include_str!("../schemas/capture.json");
    serde_json::from_str(text).expect("a test compares it with what schemars makes")
}
