//! Operating modes: a station announces that it receives fewer streams or a narrower channel than
//! it can (IEEE 802.11-2020, 11.40; IEEE 802.11ax-2021, 26.9), as phones do to save power.
//!
//! The station announces its mode when it associates, and by a frame while the cell runs: an
//! Operating Mode Notification (9.6.22.4), or between two HE or EHT stations a QoS Null frame with an OM
//! Control subfield (IEEE 802.11ax-2021, 9.2.4.6a.2). The access point applies the mode when it
//! receives the frame, the station when it receives the Ack; until then the station receives with
//! its former mode. A notification that was given up is repeated after the next beacon. Left out:
//! modes of access points, OM Control in frames with data, SM power save and channel widths of
//! 802.11n.
//!
//! This file has the knowledge of modes, `notify` the procedures.

mod notify;

use super::config::{CellConfig, Role, StationConfig};
use crate::capabilities::Capabilities;
use crate::phy::OperatingMode;
use crate::station::StationId;
use alloc::vec::Vec;
use lasthop_units::SeqNo12;
pub(super) use notify::begin_modes;

/// Whether a station with its own capabilities has operating modes under an access point with
/// theirs: both must support them. An independent cell has no access point in this sense.
fn has_modes_under(own: &Capabilities, theirs: &Capabilities, independent: bool) -> bool {
    !independent && own.has_operating_modes() && theirs.has_operating_modes()
}

impl CellConfig {
    /// Whether a station may notify its access point of an [`OperatingMode`]: it is a client, both
    /// are of 802.11ac, ax or be with QoS frames, and the cell is not an independent one.
    pub fn has_operating_modes(&self, station: StationId) -> bool {
        let own = &self.stations[station.index()];
        let is_its =
            |other: &&StationConfig| other.role == Role::AccessPoint && other.bss == own.bss;
        own.role == Role::Station
            && self.stations.iter().find(is_its).is_some_and(|access_point| {
                let theirs = &access_point.capabilities;
                has_modes_under(&own.capabilities, theirs, self.independent)
            })
    }
}

/// A station's knowledge of modes, its own and those of others.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Modes {
    /// Own mode as its access point knows it; all capabilities if `None`.
    pub own: Option<OperatingMode>,
    /// Modes of peers that notified this station.
    pub peers: Vec<(StationId, OperatingMode)>,
    /// Sequence number of the last notification.
    pub sequence: SeqNo12,
    /// Whether the last notification was given up.
    pub is_unannounced: bool,
}

impl Modes {
    /// Returns the state of a station that associates with this mode.
    pub fn associated(own: Option<OperatingMode>) -> Self {
        Self { own, ..Self::default() }
    }

    pub fn of_peer(&self, peer: StationId) -> Option<OperatingMode> {
        self.peers.iter().find(|(known, _)| *known == peer).map(|(_, mode)| *mode)
    }
}
