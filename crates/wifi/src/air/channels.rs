//! PPDUs on different channels of a band: which primary channels a PPDU covers, and which PPDUs
//! that overlap in time also overlap in frequency.
//!
//! A PPDU occupies the channel of its width that contains its transmitter's primary channel. A
//! station detects preambles, and decodes, on its primary channel only. A PPDU without HT occupies
//! more than 20 MHz with duplicates of itself: only interference on the primary channel disturbs
//! its receiver. If all stations have the same primary channel, none of this applies.

use super::overlaps::Interference;
use super::{Air, Carried, Flight};
use crate::config::CellConfig;
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

    /// Whether another PPDU overlaps in frequency with the part of this one that a receiver
    /// decodes.
    #[inline]
    pub(super) fn falls_on(&self, flight: &Flight, other: &Interference) -> bool {
        self.primaries.is_empty() || {
            let width = self.received_width(flight).max(other.width);
            self.are_together(flight.transmitter, other.transmitter, width)
        }
    }

    /// Whether one channel of this width contains the primary channels of both stations.
    fn are_together(&self, one: StationId, other: StationId, width: ChannelWidth) -> bool {
        self.primaries[one.index()].shares(self.primaries[other.index()], width)
    }

    /// Whether a PPDU occupies the channel on which a roaming `station`, or an access point that it
    /// may find, is now.
    pub fn is_on_own_channel(&self, flight: &Flight, station: StationId) -> bool {
        self.covers(flight.transmitter, self.occupied(flight), station)
    }

    /// Whether a PPDU occupies the primary channel of `station`, if those of stations vary.
    pub fn is_on_channel(&self, flight: &Flight, station: StationId) -> bool {
        !self.channels_vary || self.covers(flight.transmitter, self.occupied(flight), station)
    }

    /// Moves a station to this primary channel; its PPDUs on the air stay where they are.
    pub fn retune(&mut self, station: StationId, primary: Subchannel) {
        if let Some(own) = self.primaries.get_mut(station.index()) {
            *own = primary;
        }
    }

    fn received_width(&self, flight: &Flight) -> ChannelWidth {
        match flight.carried {
            Carried::MultiUser { .. }
            | Carried::Triggered { .. }
            | Carried::TriggeredBlockAck { .. } => self.occupied(flight),
            _ => flight.rate.width(),
        }
    }

    /// Width occupied by a PPDU that is on the air or has just come off it.
    pub fn occupied(&self, flight: &Flight) -> ChannelWidth {
        self.overlapping.width_of(&flight.overlaps).unwrap_or(flight.rate.width())
    }
}

/// The primary channel of each station; empty if all have the same.
pub(super) fn primaries(config: &CellConfig) -> Vec<Subchannel> {
    if config.has_several_channels() {
        config.stations.iter().map(|it| config.channel_of(it.bss).primary).collect()
    } else {
        Vec::new()
    }
}
