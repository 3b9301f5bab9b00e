//! Throughput of n saturated stations that all hear each other, in closed form.
//!
//! Each station's backoff is a Markov chain over its retries, decoupled from
//! the others but for the probability p that its attempt collides (Bianchi,
//! "Performance analysis of the IEEE 802.11 distributed coordination function",
//! 2000). What differs is when a counter counts:
//!
//! - EDCA counts at the boundary that ends AIFS and at each slot boundary after
//!   it (IEEE 802.11-2020, 10.23.2.4), so once for every busy time: that is
//!   Bianchi's original chain, with draws of 0 to CW and a busy slot as long
//!   as the exchange and its AIFS.
//! - DCF counts a slot when it is over and idle (10.3.4.3), so a counter that
//!   was frozen above zero cannot end at DIFS. Only who drew a zero sends
//!   there: the exchange is followed by others of the same station, without
//!   contest, and then by an idle slot. That is the refinement of Tinnirello,
//!   Bianchi and Xiao ("Refinements on IEEE 802.11 distributed coordination
//!   function modeling approaches", 2010). Draws of 1 to CW then are a chain as
//!   Bianchi's that begins at 0 to CW - 1.
//!
//! Both with the retry limit, and with the response timeout that keeps those
//! who collided from contending while the others already count. Left out:
//! capture, EIFS, errors of the channel, and that the timeout is no whole
//! number of slots.

/// When a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// Idle slots only: DCF.
    IdleSlots,
    /// Once for every busy time, too: EDCA, and Bianchi's original model.
    BusySlotsToo,
}

/// What the throughput of a cell follows from. Times are in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contenders {
    /// How many there are.
    pub stations: u16,
    /// Smallest contention window.
    pub cw_min: u16,
    /// Largest contention window.
    pub cw_max: u16,
    /// Attempts for a frame.
    pub retry_limit: u8,
    /// Slot.
    pub slot_us: f64,
    /// A successful exchange from its first PPDU on, and the AIFS after it.
    pub success_us: f64,
    /// A PPDU that collides, and the AIFS after it.
    pub collision_us: f64,
    /// How long a sender that waits in vain is behind the others.
    pub timeout_us: f64,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Exchanges that succeed, per second, of all stations together.
    pub exchanges_per_s: f64,
    /// Probability that a contested attempt collides.
    pub collision_probability: f64,
    /// Probability that a station attempts in a slot.
    pub attempt: f64,
}

impl Contenders {
    /// Solves the fixed point of the attempt rate.
    pub fn solve(&self, counting: Counting) -> Prediction {
        let (mut low, mut high) = (0.0, 1.0);
        while high - low > 1e-12 {
            let attempt = 0.5 * (low + high);
            // The more the others attempt, the less does one.
            if self.chain(attempt, counting).attempt > attempt {
                low = attempt;
            } else {
                high = attempt;
            }
        }
        self.throughput(0.5 * (low + high), counting)
    }

    fn others_idle(&self, attempt: f64, others: u16) -> f64 {
        (1.0 - attempt).powi(i32::from(others))
    }

    /// One station if each of the others attempts with probability `attempt`
    /// in a slot.
    fn chain(&self, attempt: f64, counting: Counting) -> Chain {
        let collision = 1.0 - self.others_idle(attempt, self.stations - 1);
        let late = self.late_slots(attempt);
        let (mut attempts, mut slots, mut uncontested) = (0.0, 0.0, 0.0);
        let mut visits = 1.0;
        for retry in 0..self.retry_limit {
            let window = self.window(retry);
            attempts += visits;
            slots += visits
                * match counting {
                    Counting::BusySlotsToo => 1.0 + (window - 1.0) / 2.0,
                    Counting::IdleSlots => 1.0 + (window - 2.0) / 2.0,
                };
            let failures = visits * collision;
            slots += failures * late;
            let next = if retry + 1 < self.retry_limit { retry + 1 } else { 0 };
            let zero = match counting {
                Counting::BusySlotsToo => 0.0,
                Counting::IdleSlots => 1.0 / self.window(next),
            };
            uncontested += failures * zero;
            visits = failures * (1.0 - zero);
        }
        Chain { attempt: attempts / slots, uncontested: uncontested / attempts }
    }

    /// Values that a draw can have.
    fn window(&self, retry: u8) -> f64 {
        let doubled = (f64::from(self.cw_min) + 1.0) * 2.0_f64.powi(i32::from(retry));
        doubled.min(f64::from(self.cw_max) + 1.0)
    }

    /// Slots that those who collided lose: the timeout, or less if somebody
    /// else sends before.
    fn late_slots(&self, attempt: f64) -> f64 {
        let idle = self.others_idle(attempt, self.stations.saturating_sub(2));
        let slots = self.timeout_us / self.slot_us;
        let whole = slots.floor() as i32;
        let sum: f64 = (1..=whole).map(|slot| idle.powi(slot)).sum();
        sum + (slots - slots.floor()) * idle.powi(whole + 1)
    }

    fn throughput(&self, attempt: f64, counting: Counting) -> Prediction {
        let n = f64::from(self.stations);
        let chain = self.chain(attempt, counting);
        let idle = self.others_idle(attempt, self.stations);
        let alone = n * attempt * self.others_idle(attempt, self.stations - 1);
        let collided = 1.0 - idle - alone;
        let (exchanges, trailing_us) = match counting {
            Counting::BusySlotsToo => (alone, 0.0),
            Counting::IdleSlots => {
                let first = alone + n * attempt * chain.uncontested;
                // Each is followed by another one if the next draw is zero.
                (first / (1.0 - 1.0 / self.window(0)), self.slot_us)
            }
        };
        let slot_us = idle * self.slot_us
            + (1.0 - idle) * trailing_us
            + exchanges * self.success_us
            + collided * self.collision_us;
        Prediction {
            exchanges_per_s: exchanges / slot_us * 1e6,
            collision_probability: 1.0 - self.others_idle(attempt, self.stations - 1),
            attempt,
        }
    }
}

/// One station's behaviour.
struct Chain {
    /// Probability of a contested attempt in a slot.
    attempt: f64,
    /// Exchanges without contest after a collision, per contested attempt.
    uncontested: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contenders(stations: u16) -> Contenders {
        Contenders {
            stations,
            cw_min: 15,
            cw_max: 1023,
            retry_limit: 7,
            slot_us: 9.0,
            success_us: 400.0,
            collision_us: 350.0,
            timeout_us: 0.0,
        }
    }

    #[test]
    fn one_station_waits_for_seven_and_a_half_slots() {
        for counting in [Counting::IdleSlots, Counting::BusySlotsToo] {
            let prediction = contenders(1).solve(counting);
            let cycle_us = 400.0 + 7.5 * 9.0;
            assert!((prediction.exchanges_per_s * cycle_us / 1e6 - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn without_a_retry_limit_it_is_the_published_fixed_point() {
        // Bianchi 2000, equation 7: windows of 32 to 1024, so m = 5.
        let (window, m) = (32.0, 5);
        for stations in [2, 5, 10, 50] {
            let bianchi = Contenders { cw_min: 31, retry_limit: 200, ..contenders(stations) };
            let prediction = bianchi.solve(Counting::BusySlotsToo);
            let p = prediction.collision_probability;
            let doubled = 1.0 - (2.0 * p).powi(m);
            let attempt =
                2.0 * (1.0 - 2.0 * p) / ((1.0 - 2.0 * p) * (window + 1.0) + p * window * doubled);
            assert!((prediction.attempt / attempt - 1.0).abs() < 1e-6, "{stations} stations");
        }
    }
}
