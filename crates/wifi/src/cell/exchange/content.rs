//! The kinds of frame exchanges (IEEE 802.11-2020, 10.23.2). Lengths are in bytes, FCS included.

use super::mu_mimo::Sounding;
use super::multi_user::Downlink;
use super::single::Single;
use super::uplink::{Answer, Answered, Uplink};
use crate::air::{Content, Management, Rates};
use crate::cell::hardware::Turn;
use crate::phy::{ChannelWidth, Rate};
use crate::station::{Address, StationId};
use alloc::boxed::Box;

/// A frame exchange in progress; a station takes part in one at a time.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cell) enum Exchange {
    /// One frame or A-MPDU to a station or a group.
    Single(Single),
    /// A PPDU to several stations, with their acknowledgements.
    Downlink(Box<Downlink>),
    /// Sounding of the stations' channels by an access point.
    Sounding(Box<Sounding>),
    /// Trigger frames of an access point, and the solicited PPDUs.
    Uplink(Box<Uplink>),
    /// Answer of a station to a Trigger frame.
    Answer(Box<Answer>),
}

impl Exchange {
    pub fn edcaf(&self) -> usize {
        match self {
            Self::Single(single) => single.edcaf,
            Self::Downlink(downlink) => downlink.edcaf,
            Self::Sounding(sounding) => sounding.edcaf,
            Self::Uplink(uplink) => uplink.outline.edcaf,
            Self::Answer(answer) => answer.edcaf,
        }
    }

    /// Receiver of the current frame: of several stations the first one, or the one that receives a
    /// Block Ack Request; the group for Trigger frames.
    pub fn peer(&self) -> Address {
        match self {
            Self::Single(single) => single.peer,
            Self::Downlink(downlink) => downlink.peer(),
            Self::Sounding(sounding) => Address::Station(sounding.first()),
            Self::Uplink(_) => Address::Group,
            Self::Answer(answer) => Address::Station(answer.to),
        }
    }

    /// Whether the station that began the exchange addresses `station` in it.
    pub fn attends(&self, station: StationId) -> bool {
        self.peer() == Address::Station(station)
            || match self {
                Self::Downlink(downlink) => downlink.has(station),
                Self::Uplink(uplink) => uplink.has(station),
                Self::Single(_) | Self::Sounding(_) | Self::Answer(_) => false,
            }
    }

    /// Rate of the first response; if it is a control response, that to the current frame.
    pub fn awaited(&self, rates: &mut Rates) -> Rate {
        match self {
            Self::Single(single) => single.awaited(rates),
            Self::Downlink(downlink) => downlink.awaited(rates),
            Self::Sounding(sounding) => rates.facts(sounding.announced_at()).response,
            Self::Uplink(uplink) => uplink.outline.response.map_or(uplink.rate, |one| one.rate),
            Self::Answer(answer) => answer.acknowledged_at,
        }
    }

    /// Width of the PPDUs.
    pub fn width(&self) -> ChannelWidth {
        match self {
            Self::Single(single) => single.rate.width(),
            Self::Downlink(downlink) => downlink.rate.width(),
            Self::Sounding(sounding) => sounding.announced_at().width(),
            Self::Uplink(uplink) => uplink.outline.rate.width(),
            Self::Answer(answer) => answer.rate.width(),
        }
    }

    /// Width that later PPDUs of the transmission opportunity must not exceed because of this
    /// exchange.
    pub fn width_limit(&self) -> Option<ChannelWidth> {
        match self {
            Self::Single(_) | Self::Downlink(_) | Self::Answer(_) => Some(self.width()),
            Self::Sounding(_) | Self::Uplink(_) => None,
        }
    }

    /// Data of `edcaf` to one peer that is on the air, or about to be.
    pub fn data_of(&self, edcaf: usize) -> Option<Turn> {
        let mpdus = match self {
            Self::Single(Single { content: Content::Data { mpdus, .. }, .. }) => *mpdus,
            Self::Answer(answer) => match answer.content {
                Answered::Data { mpdus } => mpdus,
                _ => return None,
            },
            _ => return None,
        };
        (self.edcaf() == edcaf).then_some(Turn { peer: self.peer(), mpdus })
    }

    /// The management frame that it consists of.
    pub fn management(&self) -> Option<&Management> {
        match self {
            Self::Single(Single { content: Content::Management(frame), .. }) => Some(frame),
            _ => None,
        }
    }

    /// The frame with one receiver or group that is on the air, or about to be: also a Block Ack
    /// Request to one of several stations.
    pub fn frame(&mut self) -> Option<&mut Single> {
        match self {
            Self::Single(single) => Some(single),
            Self::Downlink(downlink) => downlink.request(),
            Self::Sounding(_) | Self::Uplink(_) | Self::Answer(_) => None,
        }
    }

    pub fn downlink(&self) -> Option<&Downlink> {
        if let Self::Downlink(downlink) = self { Some(downlink) } else { None }
    }

    pub fn uplink(&self) -> Option<&Uplink> {
        if let Self::Uplink(uplink) = self { Some(uplink) } else { None }
    }
}
