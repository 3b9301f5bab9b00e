//! An access point that moves to another channel (IEEE 802.11-2020, 11.8.8): it announces the move
//! in beacons (9.4.2.18, 9.4.2.52), moves at a beacon time, and on a channel with radar listens before
//! it sends (channel availability check, ETSI EN 301 893, 4.2.6).
//!
//! The count is hostapd's `cs_count`: mac80211 counts before each beacon, so that with 5 four beacons
//! announce 4 to 1, and moves at once with 0 or 1 (`ieee80211_set_csa_beacon`). Beacons have both
//! announcements, as hostapd's. Left out: action frames, announcements in Probe Responses, Quiet
//! elements, channels that stay unavailable (30 minutes after a radar), other clocks than whole beacon
//! intervals (Max Channel Switch Time).

use crate::phy::{Band, ChannelWidth, Subchannel};
use lasthop_units::{Duration, Instant};

/// Length of Channel Switch Announcement and Extended Channel Switch Announcement.
const ANNOUNCEMENTS: u32 = 5 + 6;
/// Length of Secondary Channel Offset (9.4.2.19).
const SECONDARY_OFFSET: u32 = 3;
/// Length of Channel Switch Wrapper with Wide Bandwidth Channel Switch (9.4.2.159).
const WRAPPER: u32 = 2 + 2 + 3;

/// An order to an access point to move to another channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelSwitch {
    /// Its new primary channel.
    pub to: Subchannel,
    /// Beacon times from the order to the move; 0 and 1 move at once, without announcement.
    pub count: u8,
    /// Whether neither the access point nor its stations send data until the move (Channel Switch
    /// Mode 1).
    pub quiet: bool,
    /// Time for which the access point listens for radar on the new channel before it sends; zero
    /// for none.
    pub check: Duration,
    /// Whether a radar is the cause.
    pub radar: bool,
}

/// Announcement of a move in a beacon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// The new primary channel.
    pub to: Subchannel,
    /// Width of the new channel.
    pub width: ChannelWidth,
    /// Whether nobody may send until the move.
    pub quiet: bool,
    /// Beacon times until the move; 1 means before the next one.
    pub count: u8,
}

impl Announcement {
    /// Length of its elements in octets.
    pub fn octets(&self, band: Band) -> u32 {
        let secondary = if self.has_secondary(band) { SECONDARY_OFFSET } else { 0 };
        ANNOUNCEMENTS + secondary + if self.has_wrapper(band) { WRAPPER } else { 0 }
    }

    /// Whether a Secondary Channel Offset element follows: with HT and 40 MHz or more.
    pub fn has_secondary(&self, band: Band) -> bool {
        self.width > ChannelWidth::Mhz20 && band != Band::Ghz6
    }

    /// Whether a Channel Switch Wrapper with the new width follows: from 80 MHz on, at 5 GHz.
    pub fn has_wrapper(&self, band: Band) -> bool {
        self.width > ChannelWidth::Mhz40 && band == Band::Ghz5
    }
}

/// Phase of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SwitchPhase {
    /// Beacon times until the move.
    Announcing { left: u8 },
    /// The move is due.
    Moving { at: Instant },
    /// The access point listens for radar on the new channel.
    Checking { until: Instant },
}

/// A move in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchPlan {
    order: ChannelSwitch,
    phase: SwitchPhase,
}

impl SwitchPlan {
    /// The plan of an order at `now`.
    pub fn new(now: Instant, order: ChannelSwitch) -> Self {
        let phase = match order.count {
            0 | 1 => SwitchPhase::Moving { at: now },
            left => SwitchPhase::Announcing { left },
        };
        Self { order, phase }
    }

    /// The order.
    pub fn order(&self) -> &ChannelSwitch {
        &self.order
    }

    /// Handles a time at which a beacon is due.
    pub fn handle_beacon_time(&mut self, now: Instant) {
        if let SwitchPhase::Announcing { left } = &mut self.phase {
            *left -= 1;
            if *left == 0 {
                self.phase = SwitchPhase::Moving { at: now };
            }
        }
    }

    /// Beacon times until the move as beacons announce them; `None` if they do not.
    pub fn announced(&self) -> Option<u8> {
        match self.phase {
            SwitchPhase::Announcing { left } if left < self.order.count => Some(left),
            _ => None,
        }
    }

    /// Instant of the next step; [`Instant::MAX`] if it comes with a beacon time.
    pub fn due(&self) -> Instant {
        match self.phase {
            SwitchPhase::Announcing { .. } => Instant::MAX,
            SwitchPhase::Moving { at } => at,
            SwitchPhase::Checking { until } => until,
        }
    }

    /// Whether the move is due, or is overdue.
    pub fn is_moving(&self) -> bool {
        matches!(self.phase, SwitchPhase::Moving { .. })
    }

    /// Whether the access point listens for radar.
    pub fn is_checking(&self) -> bool {
        matches!(self.phase, SwitchPhase::Checking { .. })
    }

    /// Whether the access point sends no data before the move.
    pub fn is_quiet(&self) -> bool {
        self.order.quiet && !self.is_checking()
    }

    /// Delays the move until the access point's frame exchange is over.
    pub fn delay(&mut self, until: Instant) {
        self.phase = SwitchPhase::Moving { at: until };
    }

    /// Records the move at `now`; returns whether a check follows.
    pub fn moved(&mut self, now: Instant) -> bool {
        let checks = !self.order.check.is_zero();
        if checks {
            self.phase = SwitchPhase::Checking { until: now + self.order.check };
        }
        checks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const BEACON: Duration = Duration::from_micros(102_400);

    fn order(count: u8, check: Duration) -> ChannelSwitch {
        let to = Subchannel::from_number(Band::Ghz5, 44).expect("it exists");
        ChannelSwitch { to, count, quiet: true, check, radar: false }
    }

    /// hostapd's count of 5 over mac80211: four beacons announce 4 to 1, and the fifth beacon time is
    /// the move.
    #[test]
    fn beacons_count_down_to_one() {
        let mut now = Instant::ZERO;
        let mut plan = SwitchPlan::new(now, order(5, Duration::ZERO));
        assert_eq!(plan.announced(), None, "the first beacon is due later");
        let mut counts = Vec::new();
        while !plan.is_moving() {
            now += BEACON;
            plan.handle_beacon_time(now);
            counts.extend(plan.announced());
        }
        assert_eq!(counts, [4, 3, 2, 1]);
        assert_eq!(plan.due(), Instant::ZERO + BEACON * 5);
        assert!(!plan.moved(now));
        for count in [0, 1] {
            assert_eq!(SwitchPlan::new(now, order(count, Duration::ZERO)).due(), now);
        }
    }

    /// 5 + 6 octets; 3 more from 40 MHz on but at 6 GHz; 7 more from 80 MHz on at 5 GHz.
    #[test]
    fn lengths_by_hand() {
        use ChannelWidth::{Mhz20, Mhz40, Mhz80};
        let of = |band, width| {
            let to = Subchannel::default();
            Announcement { to, width, quiet: false, count: 1 }.octets(band)
        };
        assert_eq!([Mhz20, Mhz40, Mhz80].map(|width| of(Band::Ghz5, width)), [11, 14, 21]);
        assert_eq!([Mhz20, Mhz40].map(|width| of(Band::Ghz2_4, width)), [11, 14]);
        assert_eq!([Mhz20, Mhz80].map(|width| of(Band::Ghz6, width)), [11, 11]);
    }

    proptest! {
        /// Whatever comes in between, counts fall by one, and the move and the check come once.
        #[test]
        fn a_move_is_always_in_order(
            count in any::<u8>(),
            check_ms in 0..3_u64,
            delays in prop::collection::vec(0..200_u64, 0..5),
        ) {
            let check = Duration::from_millis(check_ms);
            let mut now = Instant::ZERO;
            let mut plan = SwitchPlan::new(now, order(count, check));
            let mut last = count;
            while !plan.is_moving() {
                now += BEACON;
                plan.handle_beacon_time(now);
                if let Some(announced) = plan.announced() {
                    prop_assert_eq!(announced + 1, last);
                    last = announced;
                }
                prop_assert!(plan.is_quiet());
            }
            prop_assert!(last <= 1 || count <= 1);
            for delay in delays {
                plan.delay(now + Duration::from_micros(delay));
                now = plan.due();
                plan.handle_beacon_time(now);
                prop_assert!(plan.is_moving() && plan.announced().is_none());
            }
            prop_assert_eq!(plan.moved(now), check_ms > 0);
            if check_ms > 0 {
                prop_assert!(plan.is_checking() && !plan.is_quiet());
                prop_assert_eq!(plan.due() - now, check);
            }
        }
    }
}
