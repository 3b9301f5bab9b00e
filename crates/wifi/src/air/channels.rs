//! PPDUs on different channels of a band: which primary channels a PPDU covers, and which PPDUs
//! that overlap in time also overlap in frequency.
//!
//! A PPDU occupies the channel of its width that contains its transmitter's primary channel. A
//! station detects preambles, and decodes, on its primary channel only. A PPDU without HT occupies
//! more than 20 MHz with duplicates of itself: only interference on the primary channel disturbs
//! its receiver. If all stations have the same primary channel, none of this applies. PPDUs of a set
//! with punctured channels leave those out: neither reception nor interference is there, and the
//! power is on the rest.

use super::overlaps::Interference;
use super::{Air, Carried, Flight};
use crate::config::CellConfig;
use crate::phy::{ChannelWidth, RuSize, Subchannel};
use crate::station::StationId;
use alloc::vec::Vec;
use lasthop_units::Db;

impl Air {
    /// Whether a PPDU of this width covers the primary channel of `station`.
    #[inline]
    pub fn covers(&self, transmitter: StationId, width: ChannelWidth, station: StationId) -> bool {
        self.primaries.is_empty()
            || self.are_together(transmitter, station, width)
                && (self.punctured.is_empty() || self.reaches(transmitter, station))
    }

    /// Whether another PPDU overlaps in frequency with the part of this one that a receiver
    /// decodes.
    #[inline]
    pub(super) fn falls_on(&self, flight: &Flight, other: &Interference) -> bool {
        self.primaries.is_empty() || {
            let width = self.received_width(flight).max(other.width);
            self.are_together(flight.transmitter, other.transmitter, width)
                && (self.punctured.is_empty() || self.common(flight, other) != 0)
        }
    }

    /// Whether the primary channel of `station`, which is in one of 320 MHz with that of the
    /// transmitter, is none that the transmitter leaves out.
    fn reaches(&self, transmitter: StationId, station: StationId) -> bool {
        let place = self.primaries[station.index()].place_in(ChannelWidth::Mhz320);
        self.punctured[transmitter.index()] >> place & 1 == 0
    }

    /// The channels of 20 MHz that a PPDU of this width occupies, by place among 16 of 320 MHz.
    pub fn parts(&self, transmitter: StationId, width: ChannelWidth) -> u16 {
        let primary = self.primaries.get(transmitter.index()).copied().unwrap_or_default();
        let punctured = self.punctured.get(transmitter.index()).copied().unwrap_or(0);
        primary.parts(width) & !punctured
    }

    /// Channels of 20 MHz that a PPDU, as far as its receiver decodes it, shares with another.
    fn common(&self, flight: &Flight, other: &Interference) -> u16 {
        self.parts(flight.transmitter, self.received_width(flight))
            & self.parts(other.transmitter, other.width)
    }

    /// Gain in SNR of a PPDU with all its power on fewer channels of 20 MHz than the widest channel
    /// has, where sets leave channels out.
    #[cold]
    pub(super) fn gain_of_parts(&self, flight: &Flight) -> Db {
        let own = self.parts(flight.transmitter, flight.rate.width()).count_ones();
        let all = RuSize::Tones242.count_in(self.width);
        Db::from_linear(f64::from(all) / f64::from(own.max(1)))
    }

    /// Result of [`Air::share_of_noise`] if sets leave channels out: the noise of the wanted PPDU is
    /// that of its own parts, and its share of the other's power that of the common parts.
    pub(super) fn share_of_parts(&self, flight: &Flight, other: &Interference) -> f64 {
        let count = |parts: u16| f64::from(parts.count_ones().max(1));
        let own = self.parts(flight.transmitter, flight.rate.width());
        let theirs = self.parts(other.transmitter, other.width);
        let all = f64::from(RuSize::Tones242.count_in(self.width));
        all / count(own) * f64::from((own & theirs).count_ones()) / count(theirs)
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
    if config.has_several_channels() || config.is_punctured() {
        config.stations.iter().map(|it| config.channel_of(it.bss).primary).collect()
    } else {
        Vec::new()
    }
}

/// The channels of 20 MHz that the set of each station leaves out; empty if no set leaves any out.
pub(super) fn punctured(config: &CellConfig) -> Vec<u16> {
    if !config.is_punctured() {
        return Vec::new();
    }
    let of = |index| {
        let channel = config.punctured_channel(StationId(index as u16));
        channel.map_or(0, |(channel, whole)| channel.punctured(whole))
    };
    (0..config.stations.len()).map(of).collect()
}
