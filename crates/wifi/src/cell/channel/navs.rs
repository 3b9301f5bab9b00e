//! The two NAVs of an HE station (IEEE 802.11ax-2021, 26.2.4), and the set to which a station
//! assigns a frame that it decodes (26.2.2).
//!
//! A frame of the station's own set updates the intra-BSS NAV. A frame of another set, or of an
//! unknown one, updates the basic NAV. A station contends when both are over. A station answers an
//! RTS of the holder of the intra-BSS NAV, and a Trigger frame, if the basic NAV is over. The two
//! are stored only where the difference matters; contention uses their maximum. The control frames
//! of an independent cell name no access point, so their set is unknown to receivers. Left out: the
//! NAV of a PPDU of which only HE-SIG-A is decoded, unless it is for several stations; two NAVs of
//! EHT stations if only RTS makes them differ.
//! Touches the NAVs of one station.

use crate::air::{Carried, Flight};
use crate::cell::bss::BssFacts;
use crate::cell::config::{CellConfig, StationConfig};
use crate::station::{Address, BssId, StationId};
use alloc::vec::Vec;
use lasthop_units::Instant;

/// The NAVs of a station, and the holder of the intra-BSS NAV.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(super) struct Navs {
    pub basic: Instant,
    intra: Instant,
    /// The TXOP holder whose frame set `intra`.
    holder: Option<StationId>,
}

/// Set to which a receiver assigns a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Own,
    Other,
    /// The receiver cannot determine the set.
    Unknown,
}

impl Navs {
    /// Returns the NAVs of each station; empty if the two NAVs never differ in effect.
    pub fn all(config: &CellConfig, sets: usize) -> Vec<Self> {
        let is_any = |is: fn(&StationConfig) -> bool| config.stations.iter().any(is);
        let of_sets = is_any(StationConfig::solicits) && sets > 1
            || is_any(|station| station.obss_pd.is_some());
        let matters = of_sets || is_any(|station| station.rts_threshold.is_some());
        if matters && is_any(|station| station.capabilities.is_he())
            || of_sets && is_any(|station| station.capabilities.is_eht())
        {
            alloc::vec![Self::default(); config.stations.len()]
        } else {
            Vec::new()
        }
    }

    /// Updates a NAV after a decoded frame of that origin, with the reservation of `flight`.
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
    pub fn allows(&self, sender: StationId, now: Instant) -> bool {
        self.basic <= now && (self.intra <= now || self.holder == Some(sender))
    }

    /// The set to which a station of `set` assigns a frame that it decodes, or a PPDU of which it
    /// decodes part of the header.
    pub fn origin(&self, set: BssId, theirs: BssId, sets: &[BssFacts], flight: &Flight) -> Origin {
        match flight.carried {
            Carried::MultiUser { .. }
            | Carried::Triggered { .. }
            | Carried::TriggeredBlockAck { .. } => by_colour(set, theirs, sets),
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

/// The set to which a station of `set` assigns an HE PPDU by its colour.
pub(super) fn by_colour(set: BssId, theirs: BssId, sets: &[BssFacts]) -> Origin {
    match [set, theirs].map(|set| sets[set.index()].colour) {
        [0, _] | [_, 0] => Origin::Unknown,
        [own, theirs] if own == theirs => Origin::Own,
        _ => Origin::Other,
    }
}
