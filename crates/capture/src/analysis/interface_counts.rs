//! Counts of one interface, and of the channels that it was on.

use super::check::Check;
use crate::air::channels::{HOPS_MIN, HOPS_PER_S_MAX};
use crate::file::LinkType;
use std::collections::BTreeMap;

/// Counts of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceCounts {
    /// Number of packets of the interface.
    pub packets: u64,
    /// Numbers of the first and the last packet.
    pub numbers: Option<(u64, u64)>,
    /// Times of the first and the last packet, in ns since 1970.
    pub times: Option<(u64, u64)>,
    /// Packets by link type.
    pub links: BTreeMap<LinkType, u64>,
    /// Number of frames by the centre of the channel in MHz, where headers name it.
    pub frequencies_mhz: BTreeMap<u16, u64>,
    /// Number of channel changes from one frame to the next.
    pub channel_changes: u64,
    /// Channel of the latest frame, and its number of frames that are not yet in `frequencies_mhz`.
    latest: (u16, u64),
    pub(super) check: Check,
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

    /// Gives packets without a time this time.
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

    /// Returns the number of frames by channel, including the latest ones.
    pub fn frequencies(&self) -> BTreeMap<u16, u64> {
        let mut counts = self.clone();
        counts.settle();
        counts.frequencies_mhz
    }

    /// Whether the channel changes so often that no single radio can have captured the frames.
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
