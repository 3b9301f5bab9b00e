//! Losses that do not depend on the load: independent ones, and bursts from the
//! two-state Markov chain of Gilbert (1960) and Elliott (1963).
//!
//! The state changes per packet, not with time. Losses at a full queue belong to the
//! queue, and losses on the air to the cell.

use lasthop_units::{Probability, Stream};

/// Losses of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Loss {
    /// No packet is lost.
    #[default]
    None,
    /// Independent loss of each packet with this probability.
    Random(Probability),
    /// Bursts of losses: a hidden state that may change before each packet, in steady state from
    /// the first packet on. The share of packets in the bad state is
    /// `p_good_to_bad / (p_good_to_bad + p_bad_to_good)`; a bad period lasts `1 / p_bad_to_good`
    /// packets on average.
    GilbertElliott {
        /// Probability per packet of a change from good to bad.
        p_good_to_bad: Probability,
        /// Probability per packet of a change from bad to good.
        p_bad_to_good: Probability,
        /// Probability of a loss in the good state (0 in Gilbert's model).
        loss_good: Probability,
        /// Probability of a loss in the bad state.
        loss_bad: Probability,
    },
}

/// A [`Loss`] and the state of its chain.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LossProcess {
    loss: Loss,
    bad: bool,
}

impl LossProcess {
    pub(crate) fn new(loss: Loss, stream: &mut Stream) -> Self {
        let bad = match loss {
            Loss::GilbertElliott { p_good_to_bad, p_bad_to_good, .. } => {
                let (to_bad, to_good) = (p_good_to_bad.as_f64(), p_bad_to_good.as_f64());
                stream.uniform() * (to_bad + to_good) < to_bad
            }
            Loss::None | Loss::Random(_) => false,
        };
        Self { loss, bad }
    }

    /// Changes the losses from the next packet on; if `loss` is the same as before, the chain keeps
    /// its state.
    pub(crate) fn change(&mut self, loss: Loss, stream: &mut Stream) {
        if self.loss != loss {
            *self = Self::new(loss, stream);
        }
    }

    /// Whether packets may be lost.
    pub(crate) fn is_lossy(&self) -> bool {
        self.loss != Loss::None
    }

    /// Whether the next packet is lost.
    pub(crate) fn next(&mut self, stream: &mut Stream) -> bool {
        match self.loss {
            Loss::None => false,
            Loss::Random(p) => stream.chance(p),
            Loss::GilbertElliott { p_good_to_bad, p_bad_to_good, loss_good, loss_bad } => {
                let change = if self.bad { p_bad_to_good } else { p_good_to_bad };
                self.bad ^= stream.chance(change);
                stream.chance(if self.bad { loss_bad } else { loss_good })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Seed;

    fn p(p: f64) -> Probability {
        Probability::new(p).expect("in range")
    }

    const PACKETS: u32 = 1_000_000;

    fn losses(loss: Loss) -> impl Iterator<Item = bool> {
        let mut stream = Seed::new(11, 0).stream("loss");
        let mut process = LossProcess::new(loss, &mut stream);
        (0..PACKETS).map(move |_| process.next(&mut stream))
    }

    fn share(loss: Loss) -> f64 {
        losses(loss).filter(|&lost| lost).count() as f64 / f64::from(PACKETS)
    }

    #[test]
    fn independent_losses_have_their_probability() {
        assert_eq!(share(Loss::None), 0.0);
        // Four standard deviations of a binomial share.
        let deviation = libm::sqrt(0.02 * 0.98 / f64::from(PACKETS));
        assert!((share(Loss::Random(p(0.02))) - 0.02).abs() < 4.0 * deviation);
    }

    /// Compares the share of losses with the stationary one, within four standard
    /// deviations of a sum whose terms correlate by (1 - p - r)^k.
    #[test]
    fn bursty_losses_have_the_stationary_share() {
        let (to_bad, to_good, good, bad) = (0.01, 0.2, 0.001, 0.7);
        let loss = Loss::GilbertElliott {
            p_good_to_bad: p(to_bad),
            p_bad_to_good: p(to_good),
            loss_good: p(good),
            loss_bad: p(bad),
        };
        let in_bad = to_bad / (to_bad + to_good);
        let mean = in_bad * bad + (1.0 - in_bad) * good;
        let memory = 1.0 - to_bad - to_good;
        let covariance = (bad - good) * (bad - good) * in_bad * (1.0 - in_bad);
        let variance = mean * (1.0 - mean) + 2.0 * covariance * memory / (1.0 - memory);
        let deviation = libm::sqrt(variance / f64::from(PACKETS));
        let share = share(loss);
        assert!((share - mean).abs() < 4.0 * deviation, "{share} is not {mean} +- {deviation}");
    }

    /// In Gilbert's model with certain loss the length of a burst is geometric with
    /// mean 1 / p_bad_to_good.
    #[test]
    fn bursts_have_their_mean_length() {
        let loss = Loss::GilbertElliott {
            p_good_to_bad: p(0.01),
            p_bad_to_good: p(0.25),
            loss_good: p(0.0),
            loss_bad: p(1.0),
        };
        let (mut bursts, mut lost, mut before) = (0.0, 0.0, false);
        for now in losses(loss) {
            bursts += f64::from(now && !before);
            lost += f64::from(now);
            before = now;
        }
        let deviation = libm::sqrt(0.75) / 0.25 / libm::sqrt(bursts);
        assert!((lost / bursts - 4.0).abs() < 4.0 * deviation, "{}", lost / bursts);
    }
}
