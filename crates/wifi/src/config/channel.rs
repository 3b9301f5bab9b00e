//! Channels of basic service sets in their band, with punctured parts, and the levels of spatial reuse.

use super::{CellConfig, StationConfig};
use crate::mac::rate::RateControlConfig;
use crate::phy::{ChannelWidth, Puncturing, Rate, RuSize, Subchannel};
use crate::station::{Role, StationId};
use lasthop_units::{Db, Dbm};

/// Channel of a basic service set in its band, and the use of its secondary channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct OperatingChannel {
    /// The primary channel: that of its beacons and of all PPDUs of 20 MHz. A wider PPDU occupies
    /// the channel of its width that contains the primary channel.
    pub primary: Subchannel,
    /// Behaviour of its stations while a secondary channel is busy.
    pub access: BandwidthAccess,
    /// The part of its access point's channel that all its PPDUs leave out, without the primary
    /// channel: the Disabled Subchannel Bitmap of EHT Operation (IEEE 802.11be-2024, 9.4.2.321).
    /// Rates of its stations leave it out, too ([`CellConfig::puncture`]).
    pub puncturing: Puncturing,
}

impl OperatingChannel {
    /// The channels of 20 MHz that a set of this width leaves out: bit n is the place among the 16
    /// of 320 MHz around its primary channel.
    pub(crate) fn punctured(&self, whole: ChannelWidth) -> u16 {
        let [wide, own] = [ChannelWidth::Mhz320, whole].map(|it| self.primary.place_in(it));
        self.puncturing.subchannels(whole) << (wide - own)
    }

    /// Puncturing of PPDUs of `width` in a set of width `whole`; `None` if the standard has no such
    /// PPDU.
    pub(crate) fn puncturing_of(
        &self,
        whole: ChannelWidth,
        width: ChannelWidth,
    ) -> Option<Puncturing> {
        let [wide, own] = [whole, width].map(|it| self.primary.place_in(it));
        let count = RuSize::Tones242.count_in(width);
        let own_bits = u32::from(self.puncturing.subchannels(whole)) >> (wide - own);
        let own_bits = own_bits & ((1 << count) - 1);
        Puncturing::of_subchannels(u16::try_from(own_bits).ok()?, width)
    }

    /// The rate without what a set of width `whole` leaves out; `None` if there is none such:
    /// before 802.11be a PPDU leaves nothing out.
    fn without_punctured(&self, whole: ChannelWidth, rate: Rate) -> Option<Rate> {
        let puncturing = self.puncturing_of(whole, rate.width().min(whole))?;
        match rate {
            Rate::Eht { width, .. } if width <= whole => rate.punctured(puncturing),
            other => puncturing.is_none().then_some(other),
        }
    }
}

impl CellConfig {
    /// Lets the rates of all stations leave out what their sets do: those of 802.11be become
    /// punctured ones, and others vanish that would cover a punctured channel. Fixed rates that have
    /// no such form stay, and are an error of [`Cell::new`](crate::cell::Cell::new).
    pub fn puncture(&mut self) {
        for index in 0..self.stations.len() {
            let Some((channel, whole)) = self.punctured_channel(StationId(index as u16)) else {
                continue;
            };
            let of = |rate: Rate| channel.without_punctured(whole, rate);
            let station = &mut self.stations[index];
            let rates = station.capabilities.rates.iter();
            station.capabilities.rates = rates.filter_map(|rate| of(*rate)).collect();
            if let RateControlConfig::Fixed { rate } = &mut station.rate_control {
                *rate = of(*rate).unwrap_or(*rate);
            }
            for peer in &mut station.peer_rates {
                peer.rate = of(peer.rate).unwrap_or(peer.rate);
            }
        }
    }

    /// Whether rates of a station cover what its set leaves out.
    pub(crate) fn covers_punctured(&self, station: StationId) -> bool {
        let Some((channel, whole)) = self.punctured_channel(station) else { return false };
        let station = &self.stations[station.index()];
        let fixed = match station.rate_control {
            RateControlConfig::Fixed { rate } => Some(rate),
            _ => None,
        };
        let mut rates = station.capabilities.rates.iter().copied().chain(fixed);
        rates.any(|rate| channel.without_punctured(whole, rate) != Some(rate))
            || channel.puncturing_of(whole, ChannelWidth::Mhz20).is_none()
    }

    /// Channel and width of a station's set, if that leaves a part out.
    pub(crate) fn punctured_channel(
        &self,
        station: StationId,
    ) -> Option<(OperatingChannel, ChannelWidth)> {
        let bss = self.stations[station.index()].bss;
        let channel = self.channel_of(bss);
        if channel.puncturing.is_none() {
            return None;
        }
        let is_its = |it: &&StationConfig| it.bss == bss && it.role == Role::AccessPoint;
        let access_point = self.stations.iter().find(is_its)?;
        Some((channel, access_point.capabilities.width()))
    }
}

/// Behaviour of a station that gains its primary channel while a secondary channel is busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum BandwidthAccess {
    /// Sends a PPDU as wide as the idle channel.
    #[default]
    Dynamic,
    /// Begins a new backoff with an unchanged contention window, until the whole channel shared
    /// with the receiver is idle.
    Static,
}

/// OBSS-PD of one station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObssPd {
    /// Level below which PPDUs of another set are ignored: -82 to -62 dBm, for 20 MHz.
    pub level: Dbm,
    /// Usual transmit power of the station.
    pub tx_power: Dbm,
    /// TXPWR_ref: the power up to which the lowest level requires no restriction.
    pub tx_power_reference: Dbm,
}

impl ObssPd {
    /// The lowest level, which every station may use with any power (26.10.2.4).
    pub const LEVEL_MIN: Dbm = Dbm(-82.0);
    /// The highest level.
    pub const LEVEL_MAX: Dbm = Dbm(-62.0);

    /// TXPWR_ref of a station that sends this many streams (26.10.2.4): 25 dBm for an access point
    /// with more than two, otherwise 21 dBm.
    pub const fn tx_power_reference(role: Role, streams: u8) -> Dbm {
        match role {
            Role::AccessPoint if streams > 2 => Dbm(25.0),
            _ => Dbm(21.0),
        }
    }

    /// Highest power with which the station may send after it ignored a PPDU; `None` (no limit) at
    /// the lowest level.
    pub fn tx_power_max(&self) -> Option<Dbm> {
        let above = self.level - Self::LEVEL_MIN;
        (above.0 > 0.0).then(|| self.tx_power_reference - above)
    }

    /// Reduction of its power after it ignored a PPDU.
    pub fn reduction(&self) -> Db {
        let above = self.tx_power_max().map_or(Db(0.0), |max| self.tx_power - max);
        if above.0 > 0.0 { above } else { Db(0.0) }
    }
}
