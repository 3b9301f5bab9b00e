//! Changes during the run: contention windows, rate and queue of a station, as drivers and hostapd
//! change them, and the link between two stations. Agents that decide during a run use them, and
//! scenarios with changes.

use super::floor::Roster;
use super::station::Station;
use super::{AdjustError, Cell, LinkSet};
use crate::mac::rate::RateControlConfig;
use crate::mac::scan::ScanConfig;
use crate::phy::Rate;
use crate::station::{Address, StationId};
use lasthop_packet::queue::QueueConfig;
use lasthop_packet::{AccessCategory, DropReason};
use lasthop_units::{Db, Duration, Instant, Probability};

/// A change at a station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Adjustment {
    /// Contention windows of a category in slots, 2^n - 1, the smallest first (IEEE 802.11-2020,
    /// 9.4.2.28). A running backoff continues, as when hardware registers change; the next one is
    /// drawn from the new window.
    ContentionWindow {
        /// The access category to change.
        access_category: AccessCategory,
        /// CWmin in slots.
        cw_min: u16,
        /// CWmax in slots.
        cw_max: u16,
    },
    /// A fixed rate for every data frame from now on, except towards peers with their own rate; it
    /// replaces the rate control. Frames that are
    /// already built keep their rate.
    Rate(Rate),
    /// Limit of each of its queues, in packets. Packets beyond the limit stay queued.
    QueuePackets(u32),
    /// Acceptable standing delay of its queues with active queue management.
    QueueTarget(Duration),
}

impl Cell {
    /// Changes a setting of a station from now on.
    ///
    /// # Errors
    /// Returns an [`AdjustError`] if the station cannot have the setting.
    pub fn adjust(&mut self, id: StationId, what: Adjustment) -> Result<(), AdjustError> {
        if let Adjustment::Rate(rate) = what {
            self.only_of_one_link(id)?;
            self.roster().check_rate(id, rate)?;
        }
        if let Adjustment::ContentionWindow { .. } = what {
            for link in self.devices.links(id).to_vec().into_iter().skip(1) {
                self.adjust_one(link, what)?;
            }
        }
        self.adjust_one(id, what)
    }

    /// Refuses a change of a device of several links.
    fn only_of_one_link(&self, id: StationId) -> Result<(), AdjustError> {
        if self.devices.has(id) { Err(AdjustError::Device) } else { Ok(()) }
    }

    fn adjust_one(&mut self, id: StationId, what: Adjustment) -> Result<(), AdjustError> {
        let station = &mut self.stations[id.index()];
        match what {
            Adjustment::ContentionWindow { access_category, cw_min, cw_max } => {
                let is_window = |window: u16| window <= 32_767 && (window & (window + 1)) == 0;
                if !is_window(cw_min) || !is_window(cw_max) || cw_min > cw_max {
                    return Err(AdjustError::Windows);
                }
                let category = access_category.index();
                let parameters = &mut station.config.access[category];
                (parameters.cw_min, parameters.cw_max) = (cw_min, cw_max);
                let parameters = *parameters;
                if let Some(edcaf) = &mut station.edcafs[category] {
                    edcaf.parameters = parameters;
                    edcaf.backoff.set_limits(cw_min, cw_max);
                }
            }
            Adjustment::Rate(rate) => {
                station.config.rate_control = RateControlConfig::Fixed { rate };
                let has_modes = station.modes.is_some();
                let edcafs = station.edcafs.iter_mut().flatten();
                for originator in edcafs.flat_map(|edcaf| &mut edcaf.originators) {
                    if let Address::Station(peer) = originator.peer
                        && station.config.peer_rate(peer).is_some()
                    {
                        continue;
                    }
                    let Some(control) = &mut originator.rate_control else { continue };
                    control.fix(rate);
                    if has_modes {
                        control.keep_within(&originator.shared.rates);
                    }
                }
            }
            Adjustment::QueuePackets(packets) => {
                let config = station.config.queue.with_packets_max(packets);
                station.config.queue = config.ok_or(AdjustError::QueuePackets)?;
                for edcaf in station.edcafs.iter_mut().flatten() {
                    edcaf.queue.set_packets_max(packets);
                }
            }
            Adjustment::QueueTarget(target) => {
                let config = station.config.queue.with_target(target);
                station.config.queue = config.ok_or(AdjustError::QueueTarget)?;
                for edcaf in station.edcafs.iter_mut().flatten() {
                    edcaf.queue.set_target(target);
                }
            }
        }
        Ok(())
    }

    /// Replaces the configuration of all queues of a station at `now`, and the limit of packets
    /// held for an absent station; queued packets stay
    /// ([`Queue::replace`](lasthop_packet::queue::Queue::replace)).
    pub fn replace_queue(
        &mut self,
        now: Instant,
        id: StationId,
        queue: QueueConfig,
        power_save_buffer: Option<u32>,
    ) {
        self.now = now;
        let (station, cx) = self.at(id);
        station.config.queue = queue;
        station.config.power_save_buffer = power_save_buffer;
        for edcaf in station.edcafs.iter_mut().flatten() {
            let (perturbation, held) = (edcaf.perturbation, edcaf.held_below());
            edcaf.queue.replace(now, &queue, perturbation, held, &mut cx.outbox.dropped);
            for peer in edcaf.peers() {
                edcaf.keep_turn(peer);
            }
        }
        let fewer = cx.outbox.dropped.len();
        station.hold(now, 0, fewer as u32);
        station.stats.queue_drops += fewer as u64;
        station.announce_space(cx.outbox);
        cx.outbox.lose_dropped(now, id, DropReason::QueueFull);
    }

    /// Changes the link from one station to another: the mean SNR of PPDUs that begin from `now`
    /// on, and the probability that an MPDU is lost, which replaces the error model, for MPDUs
    /// whose last bit arrives after `now`. A link that `follows` the positions of moving stations
    /// has this mean SNR at their positions at the beginning of the run.
    ///
    /// # Errors
    /// Refuses a change with which the two would begin or cease to sense each other, unless carrier
    /// sense [varies](super::CellConfig::varies), and one of a link with
    /// [`PairConfig::snr_changes`](super::PairConfig::snr_changes).
    pub fn change_link(
        &mut self,
        now: Instant,
        ends: [StationId; 2],
        snr: Db,
        loss: Option<Probability>,
        follows: bool,
    ) -> Result<(), AdjustError> {
        ends.into_iter().try_for_each(|end| self.only_of_one_link(end))?;
        self.take_arrived(now);
        self.air.change_link(now, ends, snr, loss, follows)?;
        self.arrivals.forget_success();
        Ok(())
    }

    /// Lets an access point fail from `now` on, or come back: it sends no beacons, hears and sends
    /// nothing meanwhile, and gives up all packets.
    ///
    /// # Errors
    /// Returns an error for another station.
    pub fn change_failure(
        &mut self,
        now: Instant,
        station: StationId,
        failed: bool,
    ) -> Result<(), AdjustError> {
        self.only_of_one_link(station)?;
        self.now = now;
        self.power(|power, floor| power.change_failure(floor, station, failed))?;
        self.schedule();
        Ok(())
    }

    /// Switches links of a device off from now on, and its others on. MPDUs that wait for a Block
    /// Ack on such a link are sent again on another one; those of an access point are off for its
    /// clients, too.
    ///
    /// # Errors
    /// Returns an error for a station of one link, and if a category keeps no link or group frames
    /// would lose theirs, the first one.
    pub fn switch_links(
        &mut self,
        now: Instant,
        station: StationId,
        off: LinkSet,
    ) -> Result<(), AdjustError> {
        if !self.devices.can_switch(station, off) {
            return Err(AdjustError::Links);
        }
        self.now = now;
        self.floor().switch_links(station, off);
        self.schedule();
        Ok(())
    }

    /// Starts scans of a station with the settings of `config` from `now` on, or ends them
    /// ([`Scan::change`](crate::mac::scan::Scan::change)).
    ///
    /// # Errors
    /// Returns an error if the station dozes, or leaves by a schedule.
    pub fn change_scan(
        &mut self,
        now: Instant,
        station: StationId,
        config: Option<ScanConfig>,
    ) -> Result<(), AdjustError> {
        self.only_of_one_link(station)?;
        self.now = now;
        self.power(|power, floor| power.change_scan(floor, station, config))?;
        self.schedule();
        Ok(())
    }
}

impl Roster<'_> {
    /// Refuses a rate that a station or one of its peers does not support.
    fn check_rate(&self, id: StationId, rate: Rate) -> Result<(), AdjustError> {
        let peers = &self.settings.peers;
        let access_point = self.access_point_of(id);
        let can = |station: usize| peers[station].1.rates.contains(&rate);
        let is_member = |station: &Station| station.config.bss == self.bss_of(id);
        // A station talks to its access point, the access point to all of its set.
        let is_shared = if id == access_point {
            self.stations.iter().filter(|it| is_member(it)).all(|it| can(it.id.index()))
        } else {
            can(id.index()) && can(access_point.index())
        };
        is_shared.then_some(()).ok_or(AdjustError::Rate)
    }
}
