//! Channels of basic service sets in their band, and the levels of spatial reuse.

use crate::phy::Subchannel;
use crate::station::Role;
use lasthop_units::{Db, Dbm};

/// Channel of a basic service set in its band, and the use of its secondary channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct OperatingChannel {
    /// The primary channel: that of its beacons and of all PPDUs of 20 MHz. A wider PPDU occupies
    /// the channel of its width that contains the primary channel.
    pub primary: Subchannel,
    /// Behaviour of its stations while a secondary channel is busy.
    pub access: BandwidthAccess,
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
