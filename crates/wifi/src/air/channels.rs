//! PPDUs on different channels of a band: whose primary channel one covers, and which of two that
//! overlap in time do so in frequency, too.
//!
//! A PPDU occupies the channel of its width that its transmitter's primary channel is part of. A
//! station detects preambles, and decodes, on its primary channel only. What a PPDU without HT
//! occupies beyond 20 MHz are duplicates of it: its receiver is disturbed by what falls on the
//! primary channel. Where all stations have the same primary channel, nothing of this is asked.

use super::overlaps::Interference;
use super::{Air, Carried, Flight};
use crate::cell::CellConfig;
use crate::phy::{ChannelWidth, Subchannel};
use crate::station::StationId;
use alloc::vec::Vec;

impl Air {
    /// Whether a PPDU of this width covers the primary channel of `station`.
    #[inline]
    pub(super) fn covers(
        &self,
        transmitter: StationId,
        width: ChannelWidth,
        station: StationId,
    ) -> bool {
        self.primaries.is_empty() || self.are_together(transmitter, station, width)
    }

    /// Whether another PPDU has something in common with what a receiver takes of this one.
    #[inline]
    pub(super) fn falls_on(&self, flight: &Flight, other: &Interference) -> bool {
        self.primaries.is_empty() || {
            let width = self.received_width(flight).max(other.width);
            self.are_together(flight.transmitter, other.transmitter, width)
        }
    }

    /// Whether one channel of this width contains the primary channels of both.
    fn are_together(&self, one: StationId, other: StationId, width: ChannelWidth) -> bool {
        self.primaries[one.index()].shares(self.primaries[other.index()], width)
    }

    fn received_width(&self, flight: &Flight) -> ChannelWidth {
        match flight.carried {
            Carried::MultiUser { .. }
            | Carried::Triggered { .. }
            | Carried::TriggeredBlockAck { .. } => self.occupied(flight),
            _ => flight.rate.width(),
        }
    }

    /// What a PPDU occupies that is on the air or has just come off it.
    pub fn occupied(&self, flight: &Flight) -> ChannelWidth {
        self.overlapping.width_of(&flight.overlaps).unwrap_or(flight.rate.width())
    }
}

/// The primary channel of each station; empty if all have the same.
pub(super) fn primaries(config: &CellConfig) -> Vec<Subchannel> {
    match config.has_several_channels() {
        true => config.stations.iter().map(|it| config.channel_of(it.bss).primary).collect(),
        false => Vec::new(),
    }
}
