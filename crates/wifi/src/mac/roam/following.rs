//! A roaming station's part in a move of its access point to another channel ([`Follow`]).

use super::follow::Follow;
use super::station::{Roam, RoamAction};
use crate::mac::channel_switch::Announcement;
use crate::station::BssId;
use lasthop_units::Instant;

impl Roam {
    /// The move of its access point that the station follows.
    pub fn follows(&self) -> Option<&Follow> {
        self.follow.as_ref()
    }

    /// Whether the station sends no data because of a move of its access point.
    pub fn is_quiet(&self) -> bool {
        self.follow.is_some_and(|follow| follow.quiet)
    }

    /// Handles an announcement in a beacon of `bss`; returns whether the station will follow it.
    pub fn handle_announcement(&mut self, now: Instant, bss: BssId, said: Announcement) -> bool {
        if bss != self.at() || !self.is_connected() || self.follow.is_some() {
            return false;
        }
        let intervals = u64::from(said.count.saturating_sub(1));
        let at = now + self.config().beacon_interval * intervals;
        let Announcement { to, quiet, .. } = said;
        self.follow = Some(Follow { to, quiet, heard_at: now, at, moved: false });
        true
    }

    /// Performs the move if it is due.
    pub(super) fn follow_due(&mut self, now: Instant) -> Option<RoamAction> {
        let follow = self.follow.filter(|follow| !follow.moved && follow.at <= now)?;
        Some(RoamAction::Follow(follow.to))
    }

    /// Instant of the move to come; [`Instant::MAX`] without one.
    pub(super) fn follows_at(&self) -> Instant {
        self.follow.filter(|follow| !follow.moved).map_or(Instant::MAX, |follow| follow.at)
    }

    /// Records that the station moved at `now`.
    pub fn moved(&mut self, now: Instant) {
        if let Some(follow) = &mut self.follow {
            (follow.at, follow.moved) = (now, true);
        }
        self.hear_from_now(now);
    }

    /// Delays the move until the station's frame exchange is over.
    pub fn delay_move(&mut self, until: Instant) {
        if let Some(follow) = &mut self.follow {
            follow.at = until;
        }
    }

    /// Handles a beacon of `bss`; returns the move that it completes.
    pub fn handle_first_beacon(&mut self, bss: BssId) -> Option<Follow> {
        let at = self.at();
        self.follow.take_if(|follow| follow.moved && bss == at)
    }

    /// Moves a set of the network to the channel of the sets that `are_there`, or to one on which no
    /// set was.
    pub fn set_channel(&mut self, bss: BssId, are_there: impl Fn(BssId) -> bool) {
        let others = self.config().members.iter().filter(|other| other.bss != bss);
        let shared = others.clone().find(|other| are_there(other.bss)).map(|other| other.channel);
        let is_free = |channel: &u16| others.clone().all(|other| other.channel != *channel);
        let channel = shared.or_else(|| (0..).find(is_free)).unwrap_or_default();
        self.set_member_channel(bss, channel);
    }
}

#[cfg(test)]
mod tests {
    use super::super::station::tests::{BEACON, config};
    use super::*;
    use crate::phy::{Band, ChannelWidth, Subchannel};
    use lasthop_units::{Dbm, Duration};

    fn channel(number: u8) -> Subchannel {
        Subchannel::from_number(Band::Ghz5, number).expect("it exists")
    }

    fn said(count: u8, quiet: bool) -> Announcement {
        Announcement { to: channel(44), width: ChannelWidth::Mhz20, quiet, count }
    }

    /// (count - 1) beacon intervals after the first announcement, whatever later ones say; from then on
    /// seven beacons may be missed.
    #[test]
    fn a_station_moves_by_the_first_announcement() {
        for count in [1, 2, 4, 255] {
            for quiet in [false, true] {
                let mut roam = Roam::new(config(), BssId(0), Duration::ZERO);
                let heard = Instant::ZERO + Duration::from_millis(100);
                roam.handle_heard(heard, BssId(0), Dbm(-50.0), true);
                assert!(!roam.handle_announcement(heard, BssId(1), said(count, quiet)));
                assert!(roam.handle_announcement(heard, BssId(0), said(count, quiet)));
                assert!(!roam.handle_announcement(heard, BssId(0), said(1, !quiet)));
                assert_eq!(roam.is_quiet(), quiet);
                let at = heard + BEACON * u64::from(count - 1);
                // Between, lost beacons do not matter.
                let mut now = roam.due().expect("it moves");
                while now < at {
                    assert_eq!(roam.handle_due(now), RoamAction::Nothing);
                    now = roam.due().expect("it moves");
                }
                assert_eq!((now, roam.handle_due(now)), (at, RoamAction::Follow(channel(44))));
                roam.moved(at);
                let tested = roam.due().expect("it watches");
                assert!(
                    tested - at >= BEACON * 7 && tested - at <= BEACON * 7 + Duration::from_secs(1)
                );
                assert_eq!(roam.handle_first_beacon(BssId(1)), None);
                let follow = roam.handle_first_beacon(BssId(0)).expect("it is there");
                assert_eq!(follow.without_since(), if quiet { heard } else { at });
                assert!(!roam.is_quiet());
            }
        }
    }

    /// Numbers in the list of a search: that of another set on the channel, or the first free one.
    #[test]
    fn a_set_has_the_number_of_its_channel() {
        let mut roam = Roam::new(config(), BssId(0), Duration::ZERO);
        roam.set_channel(BssId(0), |_| true);
        assert_eq!(roam.set_on(1), Some(BssId(0)));
        assert_eq!(roam.set_on(0), None);
        roam.set_channel(BssId(0), |_| false);
        assert_eq!((roam.set_on(0), roam.set_on(1)), (Some(BssId(0)), Some(BssId(1))));
        roam.set_channel(BssId(1), |_| false);
        assert_eq!(roam.set_on(1), Some(BssId(1)));
    }
}
