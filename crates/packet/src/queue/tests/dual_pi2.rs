//! Tests of DualPI2 against the pseudo-code of RFC 9332, appendix A, in floating point, and against
//! closed forms: shares of the scheduler, frequencies of marks and drops under a standing queue. A
//! separate file compares it with the kernel's.

mod kernel;

use super::*;
use crate::aqm::{Pi2, Signal};

const PI2: Pi2Parameters = Pi2Parameters {
    target: Duration::from_millis(15),
    alpha: 41,
    beta: 819,
    coupling: 2,
    drop_overload: true,
};

/// `dualpi2_update` of RFC 9332 (figure 6): times in seconds, gains in hertz.
struct Model {
    p: f64,
    prevq: f64,
    gains: (f64, f64),
}

impl Model {
    /// The gains of Linux, about 0.16 and 3.2 Hz.
    const LINUX: Self = Self::new((41.0 / 256.0, 819.0 / 256.0));

    /// Linux' integers: 44 and 879 of 2^-32 in 64 ns, 0.16007 and 3.1978 Hz.
    const ROUNDED: Self =
        Self::new((44.0 / 64e-9 / 4_294_967_296.0, 879.0 / 64e-9 / 4_294_967_296.0));

    const fn new(gains: (f64, f64)) -> Self {
        Self { p: 0.0, prevq: 0.0, gains }
    }

    fn update(&mut self, curq: f64) {
        let (alpha, beta) = self.gains;
        self.p += alpha * (curq - 0.015) + beta * (curq - self.prevq);
        self.p = self.p.clamp(0.0, 1.0);
        self.prevq = curq;
    }
}

proptest! {
    /// Every probability of a run is that of the pseudo-code to 1e-6, for the gains to which Linux
    /// rounds; with the gains before, single updates differ by less than a thousandth.
    #[test]
    fn updates_follow_the_pseudo_code(delays in prop::collection::vec(0..200_000u64, 1..200)) {
        let (mut model, mut single) = (Model::ROUNDED, Model::LINUX);
        let mut control = Pi2::default();
        for micros in delays {
            let delay = Duration::from_micros(micros);
            let curq = delay.as_secs_f64();
            let growth = (curq - single.prevq).abs();
            single.p = control.probability();
            single.update(curq);
            model.update(curq);
            control.update(delay, &PI2);
            prop_assert!((control.probability() - model.p).abs() < 1e-6);
            let terms = 1e-3 * (0.16 * (curq - 0.015).abs() + 3.2 * growth);
            prop_assert!((control.probability() - single.p).abs() <= terms + 1e-8);
        }
    }
}

/// The kernel's integers: alpha 41 is 44 and beta 819 is 879 in units of 2^-32 for 64 ns
/// (`dualpi2_scale_alpha_beta`), computed by hand. A delay of 30 ms makes 44 * 15e6 / 64 + 879 *
/// 30e6 / 64 = 10 312 500 + 412 031 250.
#[test]
fn updates_have_the_kernels_integers() {
    let mut control = Pi2::default();
    let probability = |base: u32| f64::from(base) / f64::from(u32::MAX);
    control.update(Duration::from_millis(30), &PI2);
    assert_eq!(control.probability(), probability(422_343_750));
    control.update(Duration::from_millis(30), &PI2);
    assert_eq!(control.probability(), probability(432_656_250));
    // 5 ms: -(44 * 10e6 + 879 * 25e6) / 64.
    control.update(Duration::from_millis(5), &PI2);
    assert_eq!(control.probability(), probability(432_656_250 - 350_234_375));
    control.update(Duration::ZERO, &PI2);
    assert_eq!(control.probability(), probability(82_421_875 - 68_671_875 - 10_312_500));
    control.update(Duration::ZERO, &PI2);
    assert!(control.is_at_rest());
}

/// Half a second of queue that leaves within one update takes 1.6 from p', which is 1 and ends at 0
/// (RFC 9332, figure 6: p' stays within 0 and 1). In Linux 7.2 the difference wraps around at 1, and
/// 0.41 remain.
#[test]
fn a_long_queue_that_leaves_at_once_leaves_no_probability() {
    let (mut control, mut model) = (Pi2::default(), Model::ROUNDED);
    for millis in (0..=496).step_by(16) {
        control.update(Duration::from_millis(millis), &PI2);
        model.update(millis as f64 * 1e-3);
    }
    assert_eq!((control.probability(), model.p), (1.0, 1.0));
    control.update(Duration::ZERO, &PI2);
    model.update(0.0);
    assert_eq!((control.probability(), model.p), (0.0, 0.0));
}

/// Returns shares of marks and drops of `count` decisions at a base probability of about `p`.
fn shares(p: f64, parameters: Pi2Parameters, class: Ecn) -> (f64, f64) {
    const COUNT: u32 = 200_000;
    let mut control = Pi2::default();
    let mut stream = lasthop_units::Seed::new(1, 1).stream("test");
    while control.probability() < p {
        let before = control.probability();
        control.update(Duration::from_millis(16), &parameters);
        if control.probability() == before {
            break;
        }
    }
    let mut counts = [0, 0];
    for _ in 0..COUNT {
        let draw = || (stream.next_u64() >> 32) as u32;
        let signal = match class {
            Ecn::Capable1 => control.decide_scalable(&parameters, draw),
            other => control.decide_classic(other == Ecn::Capable0, &parameters, draw),
        };
        counts[0] += u32::from(signal == Signal::Mark);
        counts[1] += u32::from(signal == Signal::Drop);
    }
    let [marks, drops] = counts.map(|count| f64::from(count) / f64::from(COUNT));
    (marks, drops)
}

/// p_C = p'^2 and p_CL = k p' (RFC 9332, equations 1 and 2); at overload L4S packets are dropped
/// with p'^2 and the rest of them marked. Four standard deviations of 200 000 draws are below 0.005.
#[test]
fn probabilities_are_coupled() {
    let is_near = |(marks, drops): (f64, f64), expected: (f64, f64)| {
        let near = |a: f64, b: f64| (a - b).abs() < 0.005;
        assert!(near(marks, expected.0) && near(drops, expected.1), "{marks} {drops} {expected:?}");
    };
    for p in [0.1, 0.2, 0.4] {
        is_near(shares(p, PI2, Ecn::NotCapable), (0.0, p * p));
        is_near(shares(p, PI2, Ecn::Capable0), (p * p, 0.0));
        is_near(shares(p, PI2, Ecn::Capable1), (2.0 * p, 0.0));
    }
    let p: f64 = 0.7;
    is_near(shares(p, PI2, Ecn::Capable0), (0.0, p * p));
    is_near(shares(p, PI2, Ecn::Capable1), (1.0 - p * p, p * p));
    // Without drops at overload p' ends at 1 / k.
    let never = Pi2Parameters { drop_overload: false, ..PI2 };
    is_near(shares(p, never, Ecn::Capable1), (1.0, 0.0));
    is_near(shares(p, never, Ecn::NotCapable), (0.0, 0.25));
}

/// While both queues are full, the classic one sends 10 % of the frames' bytes, with packets of any
/// length.
#[test]
fn the_classic_queue_has_its_share() {
    for (classic, scalable) in [(1500, 1500), (1500, 100), (100, 1500)] {
        let QueueConfig::DualPi2 { limit_packets, pi2, update_interval, classic_percent, .. } =
            QueueConfig::DUAL_PI2
        else {
            unreachable!()
        };
        let config = QueueConfig::DualPi2 {
            limit_packets,
            pi2: Pi2Parameters { target: Duration::from_secs(9), ..pi2 },
            update_interval,
            step: Duration::from_secs(9),
            classic_percent,
        };
        let mut queue = Queue::new(&config, 5);
        let now = Instant::ZERO;
        for tag in 0..5_000 {
            let (code, bytes) = [(Ecn::NotCapable, classic), (Ecn::Congestion, scalable)][tag % 2];
            let packet = coded(tag as u64, bytes, code);
            queue.enqueue(now, peer(1), packet, Held::NONE, &mut vec![]);
        }
        let mut sent = [0_u64; 2];
        for _ in 0..2_500 {
            let (_, packet) = queue.dequeue(now, &mut vec![]).expect("both are full");
            sent[(packet.tag % 2) as usize] += u64::from(packet.bytes) + 14;
            if sent[1] >= 2_400 * (u64::from(scalable) + 14)
                || sent[0] >= 2_400 * (u64::from(classic) + 14)
            {
                break;
            }
        }
        let share = sent[0] as f64 / (sent[0] + sent[1]) as f64;
        assert!((share - 0.1).abs() < 0.01, "{classic} {scalable}: {share}");
    }
}

/// An L4S packet beyond the step is marked, also alone in the queue; a classic one waits longer
/// without a mark.
#[test]
fn the_step_marks_scalable_packets_only() {
    for (code, micros, is_marked) in [
        (Ecn::Capable1, 1_000, false),
        (Ecn::Capable1, 1_001, true),
        (Ecn::Capable0, 1_001, false),
        (Ecn::Capable0, 9_000, false),
    ] {
        let mut queue = Queue::new(&QueueConfig::DUAL_PI2, 5);
        queue.enqueue(Instant::ZERO, peer(1), coded(1, 1500, code), Held::NONE, &mut vec![]);
        let now = Instant::ZERO + Duration::from_micros(micros);
        let (_, packet) = queue.dequeue(now, &mut vec![]).expect("one waits");
        assert_eq!(packet.ecn_marked, is_marked, "{code:?} {micros}");
    }
}

/// Packets leave without draws while less than two frames of 1 514 bytes remain behind them, at a
/// probability of 1. Behind the packet that leaves remain `bytes` and 14 of each header.
#[test]
fn a_short_backlog_is_exempt() {
    for (lengths, is_dropped) in [
        ([1500, 1500].as_slice(), true),
        (&[1500, 1499], false),
        (&[1500, 743, 743], true),
        (&[1500, 743, 742], false),
    ] {
        let mut queue = Queue::new(&QueueConfig::DUAL_PI2, 5);
        for (tag, bytes) in [1500].iter().chain(lengths).enumerate() {
            let packet = packet(tag as u64, *bytes);
            queue.enqueue(Instant::ZERO, peer(1), packet, Held::NONE, &mut vec![]);
        }
        // Three updates at some seconds of delay make p' 1.
        let mut dropped = vec![];
        queue.dequeue(Instant::ZERO + Duration::from_secs(9), &mut dropped).expect("some remain");
        assert_eq!(!dropped.is_empty(), is_dropped, "{lengths:?}");
    }
}

/// The credit begins at 1 514 * (10 - 90) = -121 120. Each L4S packet of 1 486 bytes (a frame of
/// 1 500) adds 15 000, each classic one takes 135 000, and the sign decides: nine L4S packets first
/// (credit 13 880), then a classic one, then again nine.
#[test]
fn the_credit_is_the_kernels() {
    let mut queue = Queue::new(&QueueConfig::DUAL_PI2, 5);
    for tag in 0..60 {
        let code = [Ecn::Capable1, Ecn::NotCapable][usize::from(tag >= 30)];
        let packet = coded(tag, 1486, code);
        queue.enqueue(Instant::ZERO, peer(1), packet, Held::NONE, &mut vec![]);
    }
    let classic: Vec<_> = (0..30)
        .filter(|_| queue.dequeue(Instant::ZERO, &mut vec![]).expect("full").1.tag >= 30)
        .collect();
    assert_eq!(classic, [9, 19, 29]);
}

/// A standing classic queue whose head waits 20 ms: p' grows by the RFC's steps, every 16 ms of the
/// queue's clock and however rarely packets leave. The share of drops is the square of p'.
#[test]
fn a_standing_queue_is_dropped_with_the_square() {
    let mut queue = Queue::new(&QueueConfig::DUAL_PI2, 5);
    let mut model = Model::LINUX;
    let (mut expected, mut variance, mut drops) = (0.0, 0.0, 0.0);
    for step in 0..60_000_u64 {
        let now = Instant::from_nanos(step * 100_000);
        let mut dropped = vec![];
        if now.as_nanos().is_multiple_of(16_000_000) {
            // The head has waited for 200 steps.
            let delay = if step > 200 { 0.02 } else { step as f64 * 1e-4 };
            model.update(delay);
        }
        queue.enqueue(now, peer(1), packet(step, 1500), Held::NONE, &mut dropped);
        if step < 200 {
            continue;
        }
        while queue.len_packets() > 200 {
            queue.dequeue(now, &mut dropped);
            // Refilled, so that the head keeps its age.
            drops += dropped.len() as f64;
            let decided = 1.0 + dropped.len() as f64;
            dropped.clear();
            expected += decided * model.p * model.p;
            variance += decided * model.p * model.p;
        }
        if model.p > 0.5 {
            break;
        }
    }
    assert!(expected > 100.0, "{expected}");
    assert!((drops - expected).abs() < 5.0 * variance.sqrt(), "{drops} {expected}");
}
