//! Interfaces of a file that has several.

use super::channel::{self, AirtimeSummary, BssSummary};
use super::flows::{self, FlowSummary};
use crate::analysis::{Analysis, InterfaceAnalysis, InterfaceCounts};
use crate::finding::{self, Finding};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Results of one interface of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterfaceSummary {
    /// Number of the interface in the file, from 0.
    pub interface: u32,
    /// Whether `airtime`, `networks`, `flows` and `findings` of the document are about this
    /// interface.
    pub main: bool,
    /// Number of packets of the interface.
    pub frames: u64,
    /// Numbers of its first and last packet.
    pub frame_range: [u64; 2],
    /// Number of packets by link-layer header type.
    pub link_types: BTreeMap<String, u64>,
    /// Number of frames by the centre of their channel in MHz, where headers name it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub frequencies_mhz: BTreeMap<String, u64>,
    /// Whether the channel changes so often that no single radio can have captured the frames.
    /// Results about the air then cover all of these radios together.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub several_radios: bool,
    /// Shares of the time on the air. Absent for the main interface.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub airtime: Option<AirtimeSummary>,
    /// Networks, by the address of their access point. Absent for the main interface.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub networks: BTreeMap<String, BssSummary>,
    /// Flows of TCP and UDP. Absent for the main interface.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub flows: BTreeMap<String, FlowSummary>,
    /// Problems of the link. Absent for the main interface.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub findings: Vec<Finding>,
}

/// Returns all interfaces if the file has several, or if one of them holds the frames of several
/// radios.
pub(super) fn interfaces(analysis: &Analysis) -> Vec<InterfaceSummary> {
    let Some(main) = analysis.interface() else { return Vec::new() };
    let begin_ns = analysis.times().map_or(0, |(first, _)| first);
    let mut all =
        vec![InterfaceSummary { main: true, ..InterfaceSummary::new(main, &analysis.main.counts) }];
    for other in analysis.others.values() {
        let InterfaceAnalysis { counts, air, flows, .. } = other;
        all.push(InterfaceSummary {
            airtime: AirtimeSummary::new(air),
            networks: channel::networks(air),
            flows: flows::flows(flows, begin_ns),
            findings: finding::of_interface(&analysis.view(other)),
            ..InterfaceSummary::new(other.number(), counts)
        });
    }
    all.sort_by_key(|summary| summary.interface);
    if all.len() > 1 || all.iter().any(|summary| summary.several_radios) { all } else { Vec::new() }
}

impl InterfaceSummary {
    fn new(interface: u32, counts: &InterfaceCounts) -> Self {
        let (first, last) = counts.numbers.unwrap_or_default();
        let frequencies = counts.frequencies();
        Self {
            interface,
            main: false,
            frames: counts.packets,
            frame_range: [first, last],
            link_types: counts.links.iter().map(|(link, n)| (link.to_string(), *n)).collect(),
            frequencies_mhz: frequencies.iter().map(|(mhz, n)| (mhz.to_string(), *n)).collect(),
            several_radios: counts.is_several_radios(),
            airtime: None,
            networks: BTreeMap::new(),
            flows: BTreeMap::new(),
            findings: Vec::new(),
        }
    }
}
