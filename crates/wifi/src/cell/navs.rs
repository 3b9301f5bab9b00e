//! The two NAVs of an HE station (IEEE 802.11ax-2021, 26.2.4), and of which set a frame is that
//! a station decodes (26.2.2).
//!
//! A frame of the station's own set goes to the intra-BSS NAV, one of another set, or of which a
//! receiver cannot tell, to the basic NAV. A station contends when both are over. An RTS of the
//! station that set the intra-BSS NAV, and a Trigger frame, are answered if the basic NAV is over.
//! They are kept only where that matters: contention has their maximum. An independent cell's
//! control frames name no access point, so nobody can tell of which set they are. Left out: the
//! NAV of a PPDU of which only HE-SIG-A is decoded, unless it is for several stations.

use super::Cell;
use super::bss::BssFacts;
use super::config::{CellConfig, StationConfig};
use crate::air::{Carried, Flight};
use crate::station::{Address, BssId, StationId};
use alloc::vec::Vec;
use lasthop_units::Instant;

/// The NAVs of a station, and who set the one of its own set.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(super) struct Navs {
    pub basic: Instant,
    intra: Instant,
    /// The TXOP holder whose frame set `intra`.
    holder: Option<StationId>,
}

/// Of which set a receiver takes a frame to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Own,
    Other,
    /// It cannot tell.
    Unknown,
}

impl Navs {
    /// By station; empty where nobody asks which of the two NAVs is set.
    pub fn of(config: &CellConfig, has_uplink: bool, sets: usize) -> Vec<Self> {
        let is_any = |is: fn(&StationConfig) -> bool| config.stations.iter().any(is);
        let matters = has_uplink && sets > 1
            || is_any(|station| station.rts_threshold.is_some())
            || is_any(|station| station.obss_pd.is_some());
        match matters && is_any(|station| station.capabilities.is_he()) {
            true => alloc::vec![Self::default(); config.stations.len()],
            false => Vec::new(),
        }
    }

    /// A frame of that origin was decoded, which reserves the medium until `flight` says.
    pub fn update(&mut self, flight: &Flight, origin: Origin) {
        let until = flight.reserves_until;
        if origin != Origin::Own {
            self.basic = self.basic.max(until);
        } else if until > self.intra {
            self.intra = until;
            let begins = matches!(
                flight.carried,
                Carried::Payload
                    | Carried::Rts
                    | Carried::MultiUser { .. }
                    | Carried::Trigger
                    | Carried::Solicitation
            );
            if begins {
                self.holder = Some(flight.transmitter);
            }
        }
    }

    /// Whether an RTS of `sender` is answered.
    fn allows(&self, sender: StationId, now: Instant) -> bool {
        self.basic <= now && (self.intra <= now || self.holder == Some(sender))
    }

    /// Of which set a station of `set` takes a frame to be that it decodes, or a PPDU of whose
    /// header alone it decodes something.
    pub fn origin(
        &self,
        (set, theirs): (BssId, BssId),
        sets: &[BssFacts],
        flight: &Flight,
    ) -> Origin {
        match flight.carried {
            Carried::MultiUser { .. }
            | Carried::Triggered { .. }
            | Carried::TriggeredBlockAck { .. } => by_colour((set, theirs), sets),
            Carried::Cts | Carried::Ack => match flight.receiver {
                // They have a receiver's address only: that of the access point, or of the
                // TXOP holder that the station knows of.
                Address::Station(receiver)
                    if receiver == sets[set.index()].access_point
                        || self.intra > flight.start && self.holder == Some(receiver) =>
                {
                    Origin::Own
                }
                _ => Origin::Unknown,
            },
            // One of their addresses is the access point's.
            _ if set == theirs => Origin::Own,
            _ => Origin::Other,
        }
    }
}

/// Of which set a station of `set` takes an HE PPDU to be, by its colour.
pub(super) fn by_colour((set, theirs): (BssId, BssId), sets: &[BssFacts]) -> Origin {
    match [set, theirs].map(|set| sets[set.index()].colour) {
        [0, _] | [_, 0] => Origin::Unknown,
        [own, theirs] if own == theirs => Origin::Own,
        _ => Origin::Other,
    }
}

impl Cell {
    /// Whether `receiver` answers an RTS of `sender` that it decoded, as far as its NAV goes.
    pub(super) fn may_clear(&self, receiver: StationId, sender: StationId) -> bool {
        let allows = |navs: &Navs| navs.allows(sender, self.now);
        !self.contention.is_reserved(receiver, self.now)
            || self.navs.get(receiver.index()).is_some_and(allows)
    }

    /// What the station heard before it left the channel is over.
    pub(super) fn forget_navs(&mut self, station: StationId) {
        if let Some(navs) = self.navs.get_mut(station.index()) {
            *navs = Navs::default();
        }
    }
}
