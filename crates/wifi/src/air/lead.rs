//! The lead in power that lets a receiver lock to one of two PPDUs.

use super::overlaps::Order;
use super::{MARGIN, SnrThreshold};
use lasthop_units::{Db, Dbm};

/// Lead in power with which a receiver locks to a PPDU rather than to another one that is strong
/// enough to be sensed.
pub(super) fn lead_needed(order: Order, capture_margin: Option<SnrThreshold>) -> Lead {
    match (order, capture_margin) {
        (Order::Before, _) | (Order::HeaderBefore, None) => Lead::Never,
        (Order::HeaderBefore, Some(margin)) => Lead::AtLeast(margin),
        // Of two equally strong ones neither is heard.
        (Order::Together, _) => {
            Lead::AtLeast(SnrThreshold { snr: Db(f64::MIN_POSITIVE), linear: 1.0 })
        }
        (Order::DuringHeader, Some(SnrThreshold { snr, linear })) => {
            Lead::AtLeast(SnrThreshold { snr: Db((-snr.0).next_up()), linear: 1.0 / linear })
        }
        (Order::DuringHeader, None) | (Order::After, _) => Lead::Always,
    }
}

/// Required lead of one power over another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Lead {
    Always,
    AtLeast(SnrThreshold),
    Never,
}

impl Lead {
    /// Whether a power exceeds another by this margin.
    pub fn has(self, power_mw: f64, theirs_mw: f64) -> bool {
        let needed = match self {
            Self::Always => return true,
            Self::Never => return false,
            Self::AtLeast(needed) => needed,
        };
        let needed_mw = needed.linear * theirs_mw;
        if (power_mw - needed_mw).abs() > MARGIN * needed_mw {
            return power_mw > needed_mw;
        }
        Dbm::from_milliwatts(power_mw) - Dbm::from_milliwatts(theirs_mw) >= needed.snr
    }
}
