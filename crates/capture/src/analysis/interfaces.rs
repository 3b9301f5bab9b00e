//! The interfaces of a file. A pcapng file may hold what several interfaces have captured: two
//! radios on two channels, one channel twice, a monitor and a wire. Their packets are interleaved,
//! so that each interface has its own air and its own flows: put together, one radio's frames would
//! tear the A-MPDUs of the other, and a packet that both have captured would be a retransmission.
//!
//! Sections of a file number their interfaces anew; those with the same number count as one. A
//! radio that hops over channels is one interface and one air. Two radios under one number (a pcap
//! file that was merged) cannot be separated: that is recognised by how often the channel changes.

use super::check::Check;
use super::dedupe::Dedupe;
use crate::air::Air;
use crate::air::channels::{HOPS_MIN, HOPS_PER_S_MAX};
use crate::link::LinkType;
use crate::transport::Flows;
use std::collections::BTreeMap;

/// Interfaces that are analysed besides the first; packets of others are counted.
pub const OTHERS_MAX: usize = 63;

/// What is counted of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceCounts {
    /// Packets.
    pub packets: u64,
    /// Numbers of the first and the last packet.
    pub numbers: Option<(u64, u64)>,
    /// Times of the first and the last packet, in ns since 1970.
    pub times: Option<(u64, u64)>,
    /// Packets by link type.
    pub links: BTreeMap<LinkType, u64>,
    /// Frames by the centre of the channel in MHz, of radios that say it.
    pub frequencies_mhz: BTreeMap<u16, u64>,
    /// How often the channel changed from one frame to the next.
    pub channel_changes: u64,
    /// The channel of the latest frame, and frames that are not in `frequencies_mhz` yet.
    latest: (u16, u64),
    pub(super) check: Check,
}

/// An interface besides the main one.
#[derive(Debug, Default)]
pub struct Interface {
    /// What was counted of it.
    pub counts: InterfaceCounts,
    /// What it heard on the air.
    pub air: Air,
    /// Flows of transport protocols.
    pub flows: Flows,
    pub(super) dedupe: Dedupe,
}

impl InterfaceCounts {
    pub(super) fn handle_packet(&mut self, number: u64, link: LinkType, at_ns: u64) {
        self.packets += 1;
        let (first, _) = self.numbers.unwrap_or((number, number));
        self.numbers = Some((first, number));
        let (first, last) = self.times.unwrap_or((at_ns, at_ns));
        self.times = Some((first, last.max(at_ns)));
        *self.links.entry(link).or_default() += 1;
    }

    /// Packets without a time came at this one.
    pub(super) fn begin(&mut self, at_ns: u64) {
        self.times = self.times.map(|_| (at_ns, at_ns));
    }

    pub(super) fn handle_channel(&mut self, mhz: u16) {
        if self.latest.0 == mhz {
            self.latest.1 += 1;
            return;
        }
        self.channel_changes += u64::from(self.latest.1 > 0);
        self.settle();
        self.latest = (mhz, 1);
    }

    /// Frames by channel, those of the latest included.
    pub fn frequencies(&self) -> BTreeMap<u16, u64> {
        let mut counts = self.clone();
        counts.settle();
        counts.frequencies_mhz
    }

    /// Whether frames of several channels come in such quick turns that one radio cannot have
    /// captured them.
    pub fn is_several_radios(&self) -> bool {
        let (first, last) = self.times.unwrap_or_default();
        let limit = u128::from(last.saturating_sub(first)) * u128::from(HOPS_PER_S_MAX);
        self.channel_changes >= HOPS_MIN && u128::from(self.channel_changes) * 1_000_000_000 > limit
    }

    fn settle(&mut self) {
        let (mhz, frames) = std::mem::take(&mut self.latest);
        if frames > 0 {
            *self.frequencies_mhz.entry(mhz).or_default() += frames;
        }
    }
}
