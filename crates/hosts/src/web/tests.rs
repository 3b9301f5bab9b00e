//! The distributions against the published parameters and closed forms, and the order of a page.

use super::*;
use lasthop_units::Seed;

fn stream() -> Stream {
    Seed::new(5, 0).stream("web")
}

/// The parameters of the logarithms that C.R1002 has beside the means and deviations.
#[test]
fn logarithms_have_the_published_parameters() {
    for (lengths, published) in [(MAIN, [8.35, 1.37]), (EMBEDDED, [6.17, 2.36])] {
        for (own, published) in lengths.logarithm().into_iter().zip(published) {
            assert!((own - published).abs() < 0.005, "{own}, {published}");
        }
    }
}

/// Draws are within the published limits, and closer to the truncated lognormal distribution than
/// the 99.9 % point of Kolmogorov's, 1.95 / sqrt(n).
#[test]
fn lengths_are_truncated_lognormal() {
    let mut stream = stream();
    for (lengths, limits) in [(MAIN, 100.0..=2e6), (EMBEDDED, 50.0..=2e6)] {
        let mut all: Vec<f64> = (0..20_000).map(|_| lengths.draw(&mut stream)).collect();
        all.sort_by(f64::total_cmp);
        assert!(all.iter().all(|length| limits.contains(length)));
        let variance = libm::log(1.0 + (lengths.deviation / lengths.mean).powi(2));
        let normal = |x: f64| {
            let z = (x.ln() - lengths.mean.ln() + variance / 2.0) / variance.sqrt();
            0.5 * libm::erfc(-z / core::f64::consts::SQRT_2)
        };
        let [low, high] = [*limits.start(), *limits.end()].map(normal);
        let gap = |(i, &x): (usize, &f64)| {
            ((normal(x) - low) / (high - low) - (i as f64 + 0.5) / 20_000.0).abs()
        };
        let apart = all.iter().enumerate().map(gap).fold(0.0, f64::max);
        assert!(apart * 20_000_f64.sqrt() < 1.95, "{apart}");
    }
}

/// The mean after the truncation is that of the distribution, by numerical integration of its tail
/// over the logarithm.
#[test]
fn truncated_means_are_integrals() {
    for lengths in [MAIN, EMBEDDED] {
        let [mean, deviation] = lengths.logarithm();
        let [mut weight, mut sum] = [0.0; 2];
        let [from, to] = [lengths.min.ln(), lengths.max.ln()];
        let steps = 100_000;
        for step in 0..steps {
            let x = from + (to - from) * (f64::from(step) + 0.5) / f64::from(steps);
            let density = (-0.5 * ((x - mean) / deviation).powi(2)).exp();
            weight += density;
            sum += density * x.exp();
        }
        let (own, expected) = (lengths.truncated_mean(), sum / weight);
        assert!((own / expected - 1.0).abs() < 1e-6, "{own}, {expected}");
    }
}

/// The published mean number is 5.64, and the largest 53. Four standard errors of 400 000 draws
/// are 0.07, for a deviation of 11.
#[test]
fn numbers_have_the_published_mean_and_limit() {
    let mut stream = stream();
    let all: Vec<u32> = (0..400_000).map(|_| embedded_objects(&mut stream)).collect();
    let mean = all.iter().map(|&n| f64::from(n)).sum::<f64>() / all.len() as f64;
    assert!((mean - 5.64).abs() < 0.07, "{mean}");
    assert_eq!(all.iter().max(), Some(&53));
    // P(N = 53) is that of values of 55 and more, (2 / 55) ^ 1.1 = 2.61 %, and half of those from 54
    // on, 0.03 %. Four standard errors are 0.1 %.
    let most = all.iter().filter(|&&n| n == 53).count() as f64 / all.len() as f64;
    assert!((0.0254..0.0274).contains(&most), "{most}");
}

/// A page: one main object, time to parse, then embedded objects on no more connections than
/// allowed, each of which carries one at a time.
#[test]
fn a_page_has_its_order() {
    let config = WebConfig { scale: 1.0, think: Duration::from_secs(1), connections: 3 };
    let mut reader = Reader::new(config, Instant::ZERO, stream());
    for _ in 0..50 {
        assert!(reader.page().is_none());
        let mut now = reader.poll_timeout().expect("the reader reads");
        reader.handle_timeout(now);
        let begun = now;
        assert_eq!(reader.poll_request().map(|it| it.connection), Some(0));
        assert_eq!((reader.poll_request(), reader.poll_timeout()), (None, None));
        now += Duration::from_millis(7);
        reader.handle_object(now, 0);
        now = reader.poll_timeout().expect("the browser parses");
        reader.handle_timeout(now);
        let mut open: VecDeque<usize> = VecDeque::new();
        let page = loop {
            while let Some(request) = reader.poll_request() {
                assert!(!open.contains(&request.connection) && request.connection < 3);
                open.push_back(request.connection);
            }
            match open.pop_front() {
                Some(connection) => {
                    assert_eq!(reader.page(), Some(Page { begun, load: None }));
                    now += Duration::from_millis(1);
                    reader.handle_object(now, connection);
                }
                None => break reader.poll_page().expect("all objects are there"),
            }
        };
        assert_eq!(page, Page { begun, load: Some(now - begun) });
    }
}
