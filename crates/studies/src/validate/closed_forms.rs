//! Throughput in closed form of n saturated stations that all hear each other. The
//! backoff of a station is a Markov chain over its retries, which depends on the others
//! only through the probability p that an attempt collides (Bianchi, "Performance
//! analysis of the IEEE 802.11 distributed coordination function", 2000). Includes the
//! retry limit, and the response timeout, during which stations that collided do not
//! contend while others count. Leaves out capture, EIFS and errors of the channel; the
//! timeout need not be a whole number of slots. Times are in microseconds.

/// The slots in which a backoff counter is decremented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// DCF: a slot counts when it is over and was idle (IEEE 802.11-2020, 10.3.4.3), so
    /// a counter frozen above zero cannot reach zero at DIFS. Only a station that drew
    /// zero transmits there: an exchange is followed by further exchanges of the same
    /// station without contention, and then by an idle slot. This is the refinement of
    /// Tinnirello, Bianchi and Xiao ("Refinements on IEEE 802.11 distributed
    /// coordination function modeling approaches", 2010). Draws of 1 to CW then form
    /// Bianchi's chain with 0 to CW - 1.
    IdleSlots,
    /// EDCA: the boundary that ends AIFS counts, and each slot boundary after it
    /// (10.23.2.4), so a busy period counts once. This is Bianchi's original chain,
    /// with draws of 0 to CW, and busy slots as long as the exchange and its AIFS.
    BusySlotsToo,
}

/// The parameters from which the throughput of a cell follows. Times are in
/// microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contenders {
    /// Number of stations; all of them are saturated.
    pub stations: u16,
    /// Smallest contention window in slots, such as 15.
    pub cw_min: u16,
    /// Largest contention window in slots, such as 1 023.
    pub cw_max: u16,
    /// Number of attempts to transmit a frame, the first included.
    pub retry_limit: u8,
    /// Length of a slot.
    pub slot_us: f64,
    /// Duration of a successful exchange from the start of its first PPDU to the end of
    /// the AIFS that follows.
    pub success_us: f64,
    /// Duration of a PPDU that collides, and of the AIFS that follows.
    pub collision_us: f64,
    /// Time by which a sender without a response starts to contend later than the
    /// others.
    pub timeout_us: f64,
}

/// The result for one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Number of successful exchanges per second, over all stations.
    pub exchanges_per_s: f64,
    /// Probability that an attempt with contention collides.
    pub collision_probability: f64,
    /// Probability that a station attempts to transmit in a slot.
    pub attempt: f64,
}

impl Contenders {
    /// Solves for the fixed point of the attempt probability, by bisection.
    pub fn solve(&self, counting: Counting) -> Prediction {
        let (mut low, mut high) = (0.0, 1.0);
        while high - low > 1e-12 {
            let attempt = 0.5 * (low + high);
            // The more often the others attempt, the less often does one station.
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

    /// Returns the behaviour of one station, if each of the others attempts with
    /// probability `attempt` in a slot.
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

    /// Number of values that the backoff drawn before attempt `retry` (from 0) can
    /// have.
    fn window(&self, retry: u8) -> f64 {
        let doubled = (f64::from(self.cw_min) + 1.0) * 2.0_f64.powi(i32::from(retry));
        doubled.min(f64::from(self.cw_max) + 1.0)
    }

    /// Number of slots that stations lose after a collision: the response timeout, or
    /// fewer if another station transmits before its end.
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
                // After each exchange the same station has another one if it draws
                // zero.
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

/// The behaviour of one station.
struct Chain {
    /// Probability of an attempt with contention in a slot.
    attempt: f64,
    /// Number of exchanges without contention after a collision, per attempt with
    /// contention.
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
        // Bianchi 2000, equation 7: windows of 32 to 1024, hence m = 5.
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
