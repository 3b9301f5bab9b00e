//! The number of packets that source and helper send for a block: the budgets of
//! PlayNCool (Khamfroush et al., ICC 2014), as its authors' programs compute them.
//!
//! The source sends `r` packets alone; then source and helper alternate until the
//! destination has the block or the helper has nothing new. Losses are `e1` from
//! source to helper, `e2` from helper to destination, `e3` from source to
//! destination, 0 to 1; counts are packets and may be fractions. Beyond the
//! published budgets: a helper is used only if that saves airtime ([`is_worth`])
//! unless the plan is [`Plan::published`], two helpers share the work, and budgets
//! may have a [`Plan::margin`] for chance. Leaves out collisions and the time to
//! access the channel.

use crate::config::Losses;
use lasthop_rlnc::Field;
use lasthop_units::Probability;

/// Upper bound of losses in the formulas: no budget is more than a hundred packets
/// per symbol.
const LOSS_MAX: f64 = 0.99;

/// The parameters of a budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// The field of the coefficients.
    pub field: Field,
    /// Symbols per block.
    pub symbols: u16,
    /// Losses of the links.
    pub losses: Losses,
    /// Number of helpers; all have the same losses.
    pub helpers: u8,
    /// Factor of the source's budget.
    pub overshoot: f64,
    /// Whether the helper is used as published, also if it costs more airtime than
    /// it saves.
    pub published: bool,
    /// `None`: the budget suffices on average, as published, and therefore falls short for about
    /// every other block. `Some(z)`: it suffices unless losses are worse by `z` standard
    /// deviations. The budget is then that of a block that is longer by the packets that the field
    /// wastes ([`overhead`]) and by `z` times
    ///
    /// ```text
    /// sqrt(max(Bs e (1 - e), Bs e3 (1 - e3) + Bh e2 (1 - e2)))    e = e1 e3
    /// ```
    ///
    /// which is the standard deviation of the number of packets that cross the
    /// narrower of the two cuts: from the source to its receivers, and from the
    /// senders to the destination.
    pub margin: Option<f64>,
}

/// The number of packets sent for a block.
///
/// A helper close to the destination saves airtime, and the source then sends less:
///
/// ```
/// use lasthop_franc::budget::{Budget, Plan, saving};
/// use lasthop_franc::config::Losses;
/// use lasthop_rlnc::Field;
/// use lasthop_units::Probability;
///
/// let loss = |p| Probability::new(p).expect("between 0 and 1");
/// let losses = Losses { e1: loss(0.1), e2: loss(0.1), e3: loss(0.5) };
/// let plan = |helpers| Plan {
///     field: Field::Gf256,
///     symbols: 64,
///     losses,
///     helpers,
///     overshoot: 1.0,
///     published: false,
///     margin: None,
/// };
/// let alone = Budget::new(&plan(0));
/// assert_eq!((alone.source, alone.helper), (128.0, None));
/// let helped = Budget::new(&plan(1));
/// let helper = helped.helper.expect("it saves airtime").packets;
/// assert!(helped.source + helper < 0.8 * alone.source);
/// assert!(saving(64, losses, 1) > 0.2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Packets of the source per block.
    pub source: f64,
    /// Packets of the source per symbol that is added, at least 1.
    pub source_credit: f64,
    /// The budget of each helper; `None`: helpers stay silent.
    pub helper: Option<HelperBudget>,
}

/// The number of packets that a helper sends for a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HelperBudget {
    /// The helper starts when it has received more independent packets than this.
    pub threshold: f64,
    /// Packets per block.
    pub packets: f64,
    /// Packets per packet that it receives from then on.
    pub credit: f64,
}

impl Budget {
    /// Computes the budget of a plan.
    pub fn new(plan: &Plan) -> Self {
        let symbols = f64::from(plan.symbols);
        let published = Self::without_margin(symbols, plan);
        let Some(deviations) = plan.margin else { return published };
        let variance = published.variance(plan);
        let longer = symbols + overhead(plan.field) + deviations * libm::sqrt(variance);
        let mut budget = Self::without_margin(longer, plan);
        budget.source_credit *= longer / symbols;
        budget
    }

    /// The budget of a block of `symbols` symbols, without the plan's margin.
    fn without_margin(symbols: f64, plan: &Plan) -> Self {
        let Losses { e3, .. } = plan.losses;
        if plan.helpers == 0 || !(plan.published || is_worth(plan.losses)) {
            let source_credit = (plan.overshoot / (1.0 - bounded(e3))).max(1.0);
            return Self { source: symbols * source_credit, source_credit, helper: None };
        }
        let together = together(plan.losses, plan.helpers);
        let play = PlayNCool::new(symbols, together);
        let (e1, each) = (bounded(plan.losses.e1), 1.0 / f64::from(plan.helpers));
        Self {
            source: plan.overshoot * play.source,
            source_credit: (plan.overshoot / (1.0 - bounded(together.e1) * bounded(e3))).max(1.0),
            helper: Some(HelperBudget {
                threshold: play.alone * (1.0 - e1),
                packets: play.helper * each,
                credit: each / (1.0 - e1),
            }),
        }
    }

    /// The variance of the packets that cross the cut where it is larger.
    fn variance(&self, plan: &Plan) -> f64 {
        let of_loss = |loss: f64| loss * (1.0 - loss);
        let (e2, e3) = (bounded(plan.losses.e2), bounded(plan.losses.e3));
        let Some(helper) = self.helper else { return self.source * of_loss(e3) };
        let together = together(plan.losses, plan.helpers);
        let heard = self.source * of_loss(bounded(together.e1) * e3);
        let helped = helper.packets * f64::from(plan.helpers);
        heard.max(self.source * of_loss(e3) + helped * of_loss(e2))
    }
}

/// Whether a helper saves airtime. By the closed form it does if
/// `Bs + Bh < g / (1 - e3)`, which is equivalent to `e2 < e3`: it must have a better
/// link to the destination than the source. The published programs do not check this.
pub fn is_worth(losses: Losses) -> bool {
    bounded(losses.e2) < bounded(losses.e3)
}

/// The share of the airtime for blocks of `symbols` that helpers save by the closed
/// form, 1 - (Bs + Bh) (1 - e3) / g; 0 if they save none. The airtime for access to
/// the channel and for reports is not included.
pub fn saving(symbols: u16, losses: Losses, helpers: u8) -> f64 {
    if helpers == 0 || !is_worth(losses) {
        return 0.0;
    }
    let symbols = f64::from(symbols);
    let play = PlayNCool::new(symbols, together(losses, helpers));
    (1.0 - (play.source + play.helper) * (1.0 - bounded(losses.e3)) / symbols).max(0.0)
}

/// Mean number of packets in excess of a block's symbols that a destination needs
/// because some are linearly dependent: the sum of `1 / (q^i - 1)` over `i` from 1
/// on.
pub fn overhead(field: Field) -> f64 {
    let order = field.order() as f64;
    let mut power = 1.0;
    // The remaining terms are below 2^-30.
    let terms = (1..=30).map(|_| {
        power *= order;
        1.0 / (power - 1.0)
    });
    terms.sum()
}

/// PlayNCool as published: without overshoot, and regardless of whether the helper
/// is of use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlayNCool {
    /// `r`: packets of the source before the helper starts.
    pub alone: f64,
    /// `Bs`: packets of the source, including `alone`.
    pub source: f64,
    /// `Bh`: packets of the helper.
    pub helper: f64,
}

impl PlayNCool {
    /// Computes the budgets for a block of `symbols`.
    ///
    /// Source and helper alternate, so `r (1 - e3) + (Bs - r) (1 - e3) + Bh (1 - e2) = g` with `Bh
    /// = Bs - r`. All packets that only the helper has received must be delivered: `Bs (1 - e1) e3
    /// = Bh (1 - e2)`. Both equations give `r`. If the helper's link is so bad that it never
    /// finishes, `r` is the number of packets until the helper has one new packet, or until the
    /// destination has the block.
    pub fn new(symbols: f64, losses: Losses) -> Self {
        let (e1, e2, e3) = (bounded(losses.e1), bounded(losses.e2), bounded(losses.e3));
        let news = (1.0 - e1) * e3;
        let alone = if 1.0 - e2 < news {
            (1.0 / news).min(symbols / (1.0 - e3))
        } else {
            symbols * (1.0 - e2 - e3 + e1 * e3) / ((1.0 - e2) * (1.0 - e1 * e3))
        };
        let both = 2.0 - e2 - e3;
        Self {
            alone,
            source: (symbols + alone * (1.0 - e2)) / both,
            helper: (symbols - alone * (1.0 - e3)) / both,
        }
    }
}

/// The losses of a single helper that receives what any of the helpers receives.
fn together(losses: Losses, helpers: u8) -> Losses {
    let all = libm::pow(bounded(losses.e1), f64::from(helpers));
    Losses { e1: Probability::new(all).expect("a power of a probability"), ..losses }
}

fn bounded(loss: Probability) -> f64 {
    loss.as_f64().min(LOSS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn losses(e1: f64, e2: f64, e3: f64) -> Losses {
        let p = |p| Probability::new(p).unwrap();
        Losses { e1: p(e1), e2: p(e2), e3: p(e3) }
    }

    fn plan(losses: Losses) -> Plan {
        let (field, symbols) = (Field::Gf2, 150);
        Plan { field, symbols, losses, helpers: 1, overshoot: 1.0, published: false, margin: None }
    }

    /// A row of the published programs' output, and of a simulation of it: source and
    /// helper in turn, the source alone once the helper's budget is spent; GF(2), mean
    /// of 60 blocks.
    struct Row {
        losses: Losses,
        case_b: bool,
        /// The columns from `r` on.
        values: Vec<f64>,
    }

    fn rows() -> Vec<Row> {
        let data = include_str!("../tests/data/playncool_budgets.csv");
        let row = |line: &str| {
            let cells: Vec<&str> = line.split(',').collect();
            let value = |cell: &&str| cell.parse::<f64>().unwrap();
            Row {
                losses: losses(value(&cells[0]), value(&cells[1]), value(&cells[2])),
                case_b: cells[3] == "b",
                values: cells[4..].iter().map(value).collect(),
            }
        };
        data.lines().skip(1).map(row).collect()
    }

    /// Compares source and helper with the source alone, both in the output of the published
    /// programs.
    #[test]
    fn savings_are_those_of_the_published_budgets() {
        for Row { losses, values, .. } in rows() {
            let saved =
                if losses.e2 < losses.e3 { (1.0 - values[4] / values[7]).max(0.0) } else { 0.0 };
            assert!((saving(150, losses, 1) - saved).abs() < 1e-3, "{losses:?}: {saved}");
            assert_eq!(saving(150, losses, 0), 0.0);
        }
    }

    #[test]
    fn budgets_are_the_published_programs() {
        for Row { losses, case_b, values } in rows() {
            let play = PlayNCool::new(150.0, losses);
            let (e1, e2, e3) = (losses.e1.as_f64(), losses.e2.as_f64(), losses.e3.as_f64());
            let closed = 150.0 / (1.0 - e1 * e3);
            let closed_helper = closed * e3 * (1.0 - e1) / (1.0 - e2);
            let threshold = play.alone * (1.0 - e1);
            let total = play.source + play.helper;
            let no_helper = Budget::new(&Plan { helpers: 0, ..plan(losses) }).source;
            let ours = [
                play.alone,
                threshold,
                play.source,
                play.helper,
                total,
                closed,
                closed_helper,
                no_helper,
            ];
            for (column, (ours, theirs)) in ours.iter().zip(&values).enumerate() {
                // They print one digit.
                assert!((ours - theirs).abs() < 0.0501, "{losses:?} {column}: {ours} {theirs}");
            }
            if case_b {
                assert!((play.source - closed).abs() < 1e-9);
                assert!((play.helper - closed_helper).abs() < 1e-9);
                assert!((play.alone - (closed - closed_helper)).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn a_helper_that_costs_air_is_silent() {
        let mut silent = 0;
        for Row { losses, values, .. } in rows() {
            let budget = Budget::new(&Plan { overshoot: 1.05, ..plan(losses) });
            let (helped, alone) = (values[10], values[11]);
            match budget.helper {
                Some(helper) => {
                    assert!(helped < 1.02 * alone, "{losses:?}");
                    let play = PlayNCool::new(150.0, losses);
                    assert!((helper.packets - play.helper).abs() < 1e-9);
                    assert!((budget.source - 1.05 * play.source).abs() < 1e-9);
                }
                None => {
                    silent += 1;
                    assert!(helped > alone, "{losses:?}");
                    let credit = 1.05 / (1.0 - losses.e3.as_f64());
                    assert!((budget.source_credit - credit).abs() < 1e-9);
                    assert!((budget.source - 150.0 * credit).abs() < 1e-9);
                }
            }
        }
        assert_eq!(silent, 5);
    }

    /// As the authors' programs, which do not ask whether help saves air.
    #[test]
    fn a_published_plan_asks_every_helper() {
        for Row { losses, values, .. } in rows() {
            let budget = Budget::new(&Plan { published: true, ..plan(losses) });
            let helper = budget.helper.expect("it is asked");
            let theirs = [values[1], values[3]];
            for (ours, theirs) in [helper.threshold, helper.packets].into_iter().zip(theirs) {
                assert!((ours - theirs).abs() < 0.0501, "{losses:?}: {ours} {theirs}");
            }
            assert!((budget.source - values[2]).abs() < 0.0501, "{losses:?}");
        }
    }

    #[test]
    fn fields_waste_as_much_as_random_matrices() {
        // Each value is that of the sum, to four digits.
        for (field, expected) in
            [(Field::Gf2, 1.6067), (Field::Gf16, 0.0709), (Field::Gf256, 0.0039)]
        {
            let ours = overhead(field);
            assert!((ours - expected).abs() < 1e-4, "{field:?}: {ours}");
        }
    }

    /// The deviation in the margin explains the shortage of budgets made from expectations. The
    /// packets missing when budgets are spent are the worse of both cuts, if any is short; with
    /// both normal and independent the mean is an integral, and the source sends it alone.
    #[test]
    fn the_shortage_of_expectation_is_that_of_chance() {
        for Row { losses, case_b, values } in rows() {
            let plan = plan(losses);
            let budget = Budget::new(&plan);
            let (Some(helper), true) = (budget.helper, case_b) else { continue };
            let (e1, e2, e3) = (losses.e1.as_f64(), losses.e2.as_f64(), losses.e3.as_f64());
            let of = |loss: f64| loss * (1.0 - loss);
            let heard = libm::sqrt(budget.source * of(e1 * e3));
            let came = libm::sqrt(budget.source * of(e3) + helper.packets * of(e2));
            let short = mean_of_worst(heard, came);
            let source = budget.source + (overhead(plan.field) + short) / (1.0 - e3);
            let simulated = values[8];
            // Three standard errors of a mean of 60.
            let error = 3.0 * heard.max(came) / (1.0 - e3) / libm::sqrt(60.0);
            assert!((source - simulated).abs() < error, "{losses:?}: {source} {simulated}");
        }
    }

    /// The mean of the greatest of 0 and two normal variables with these deviations.
    fn mean_of_worst(a: f64, b: f64) -> f64 {
        let below = |x: f64, s: f64| 0.5 * libm::erfc(-x / (s * core::f64::consts::SQRT_2));
        let step = (a + b) / 1_000.0;
        (0..10_000)
            .map(|i| step * (f64::from(i) + 0.5))
            .map(|x| step * (1.0 - below(x, a) * below(x, b)))
            .sum()
    }

    proptest! {
        /// Whatever the losses: a budget is finite, a margin never lowers it, and a second
        /// helper lowers what the source sends.
        #[test]
        fn budgets_are_sound(
            (e1, e2, e3) in (0.0..=1.0f64, 0.0..=1.0f64, 0.0..=1.0f64),
            symbols in 1..=1024u16,
            margin in 0.0..3.0f64,
        ) {
            let plan = Plan { symbols, ..plan(losses(e1, e2, e3)) };
            let published = Budget::new(&plan);
            let budget = Budget::new(&Plan { margin: Some(margin), ..plan });
            let two = Budget::new(&Plan { helpers: 2, ..plan });
            prop_assert!(published.source.is_finite() && published.source_credit >= 1.0);
            prop_assert!(published.source >= f64::from(symbols) - 1e-9);
            prop_assert!(budget.source > published.source);
            prop_assert!(budget.source_credit > published.source_credit);
            // But for what it takes until the helper has a packet.
            let one = 1.0 / (2.0 - e2 - e3).max(0.02);
            prop_assert!(two.source <= published.source + one + 1e-9);
            prop_assert_eq!(published.helper.is_some(), is_worth(plan.losses));
            for (helper, more) in published.helper.iter().zip(&budget.helper) {
                prop_assert!(helper.packets >= 0.0 && helper.credit >= 1.0);
                prop_assert!(helper.threshold >= 0.0 && helper.threshold.is_finite());
                prop_assert!(more.packets >= helper.packets);
            }
        }
    }
}
