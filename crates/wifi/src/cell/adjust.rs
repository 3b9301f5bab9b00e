//! What may be changed while a cell runs: at a station, as drivers and hostapd change it, its
//! contention windows, its rate, its queue; and how well two stations hear each other. For
//! agents that decide during a run, and for scenarios that change.

use super::Cell;
use super::station::Station;
use crate::mac::rate::RateControlConfig;
use crate::phy::Rate;
use crate::station::StationId;
use lasthop_packet::queue::QueueConfig;
use lasthop_packet::{AccessCategory, DropReason};
use lasthop_units::{Db, Duration, Instant, Probability};
use thiserror::Error;

/// A change at a station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Adjustment {
    /// Contention windows of a category in slots, 2^n - 1, the smallest first (IEEE
    /// 802.11-2020, 9.4.2.28). A backoff that runs goes on, as when hardware's registers
    /// change; the next one is drawn from the new window.
    ContentionWindow {
        /// The category.
        access_category: AccessCategory,
        /// CWmin.
        cw_min: u16,
        /// CWmax.
        cw_max: u16,
    },
    /// From now on every data frame is sent at this rate; whatever rate control there was is
    /// gone. What is built already goes out as it was built.
    Rate(Rate),
    /// Most packets of each of its queues. Packets beyond it stay.
    QueuePackets(u32),
    /// Acceptable standing delay of its queues whose delay is managed.
    QueueTarget(Duration),
}

/// Why a change is refused; nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AdjustError {
    /// Not two windows of 2^n - 1 slots up to 32 767, the smaller one first.
    #[error("expected windows of 2^n - 1 slots from 0 to 32767, the smallest first")]
    Windows,
    /// Some station of its set cannot receive it, or this one cannot send it.
    #[error("the station and its peers do not share that rate")]
    Rate,
    /// The queue counts bytes, has no bound in packets, or would have none.
    #[error("the queue has no bound in packets that could be this one")]
    QueuePackets,
    /// The two would no longer sense each other, or now begin to.
    #[error("whether the two sense each other (channel.carrier_sense) cannot change")]
    CarrierSense,
    /// The link has changes that it knew from the beginning.
    #[error("its signal-to-noise ratio follows snr_changes already")]
    SnrChanges,
    /// Its delay is not managed, or the target would be zero.
    #[error("the queue has no target that could be this one")]
    QueueTarget,
    /// An access point, or a mode beyond what the station can.
    #[error("only a station of 802.11ac or 802.11ax has an operating mode, within what it can")]
    OperatingMode,
    /// A station that saves power.
    #[error("a station that saves power does not scan")]
    Scan,
}

impl Cell {
    /// Changes something at a station from now on.
    ///
    /// # Errors
    /// See [`AdjustError`].
    pub fn adjust(&mut self, id: StationId, what: Adjustment) -> Result<(), AdjustError> {
        if let Adjustment::Rate(rate) = what {
            self.check_rate(id, rate)?;
        }
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
                    edcaf.backoff.set_limits((cw_min, cw_max));
                }
            }
            Adjustment::Rate(rate) => {
                station.config.rate_control = RateControlConfig::Fixed { rate };
                let has_modes = station.modes.is_some();
                let edcafs = station.edcafs.iter_mut().flatten();
                for originator in edcafs.flat_map(|edcaf| &mut edcaf.originators) {
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

    /// Gives all queues of a station another configuration at `now`, and the bound on what they
    /// hold for a station that is away; their packets stay
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
        station.announce_room(cx.outbox);
        cx.outbox.lose_dropped(now, id, DropReason::QueueFull);
    }

    /// Changes how well the second station hears the first: the mean SNR of PPDUs that begin
    /// from `now` on, and the probability that an MPDU is lost, in place of the error model, of
    /// those that end from then on.
    ///
    /// # Errors
    /// If the two then sense each other and did not, or the other way round; if the link has
    /// [`PairConfig::snr_changes`](super::PairConfig::snr_changes).
    pub fn change_link(
        &mut self,
        now: Instant,
        (from, to): (StationId, StationId),
        snr: Db,
        loss: Option<Probability>,
    ) -> Result<(), AdjustError> {
        self.air.change_link(now, (from, to), snr, loss)
    }

    fn check_rate(&self, id: StationId, rate: Rate) -> Result<(), AdjustError> {
        let peers = &self.settings.peers;
        let access_point = self.access_point_of(id);
        let can = |station: usize| peers[station].1.rates.contains(&rate);
        let is_member = |station: &Station| station.config.bss == self.bss_of(id);
        // A station talks to its access point, the access point to all of its set.
        let is_shared = match id == access_point {
            true => self.stations.iter().filter(|it| is_member(it)).all(|it| can(it.id.index())),
            false => can(id.index()) && can(access_point.index()),
        };
        is_shared.then_some(()).ok_or(AdjustError::Rate)
    }
}
