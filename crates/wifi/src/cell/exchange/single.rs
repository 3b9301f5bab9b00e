//! Plain facts of an exchange: a frame or A-MPDU to one receiver or group, its outline for the next
//! exchange in the opportunity, the MPDUs that it carries, and their outcome. The file knows neither
//! stations nor other kinds of exchanges.

use crate::air::{Content, Expected, Rates};
use crate::phy::Rate;
use crate::station::Address;
use lasthop_units::{Duration, Instant};

/// An exchange with one receiver or group.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cell) struct Single {
    pub edcaf: usize,
    pub peer: Address,
    pub content: Content,
    pub rate: Rate,
    pub psdu_bytes: u32,
    /// Air time of the payload PPDU.
    pub duration: Duration,
    pub response: Option<Expected>,
    /// Whether the RTS was sent and the CTS is awaited.
    pub requesting: bool,
    /// End of the transmission opportunity; its start if the opportunity permits one exchange.
    pub opportunity_end: Instant,
    /// Whether the payload overlapped with another PPDU at its receiver.
    pub collided: bool,
    /// Whether the frame ends a service period (EOSP).
    pub ends_service: bool,
    /// More Data bit of the frame as it leaves, during a service period.
    pub more_data: Option<bool>,
}

/// Facts of an exchange on which the next one in its transmission opportunity depends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::cell) struct Outline {
    pub edcaf: usize,
    pub peer: Address,
    /// Rate of its first PPDU; with several stations, of the first one's data.
    pub rate: Rate,
    pub is_data: bool,
    pub response: Option<Expected>,
    /// End of the transmission opportunity; its start if the opportunity permits one exchange.
    pub opportunity_end: Instant,
}

/// MPDUs to one peer that a PPDU carried, or for which an RTS was sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::cell) struct Sent {
    pub edcaf: usize,
    pub peer: Address,
    /// Number of the originator's first pending MPDUs.
    pub mpdus: usize,
    pub aggregated: bool,
    pub rate: Rate,
    /// Air time of the PPDU.
    pub duration: Duration,
    /// Whether only the RTS was sent.
    pub requesting: bool,
    /// Whether the PPDU overlapped with another one at its receiver.
    pub collided: bool,
    /// Whether it was sent with MU-MIMO; rate control ignores the outcome then.
    pub in_space: bool,
}

/// Settled MPDUs of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(in crate::cell) struct Settled {
    /// Number of MPDUs that were acknowledged or given up.
    pub mpdus: u32,
    /// Whether an MPDU, or a Block Ack Request, was given up.
    pub is_given_up: bool,
}

impl Single {
    pub fn outline(&self) -> Outline {
        let &Self { edcaf, peer, rate, response, opportunity_end, .. } = self;
        let is_data = matches!(self.content, Content::Data { .. });
        Outline { edcaf, peer, rate, is_data, response, opportunity_end }
    }

    /// Rate of the awaited response.
    pub fn awaited(&self, rates: &mut Rates) -> Rate {
        match self.response {
            Some(response) if !self.requesting => response.rate,
            _ => rates.facts(self.rate).response,
        }
    }

    /// The data that it carries, or that its RTS announces.
    pub fn sent(&self, mpdus: usize, aggregated: bool) -> Sent {
        let &Self { edcaf, peer, rate, duration, requesting, collided, .. } = self;
        let in_space = false;
        Sent { edcaf, peer, mpdus, aggregated, rate, duration, requesting, collided, in_space }
    }
}
