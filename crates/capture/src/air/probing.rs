//! Storms of Probe Requests (IEEE 802.11-2020, 11.1.4.3): their largest number in ten seconds, of
//! one station and of all, and the time on the air that they and their answers take. MAC
//! retransmissions of directed requests do not count.

use super::Air;
use super::stations::StationId;
use lasthop_units::Duration;

/// Probe Requests of all stations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Probing {
    /// Requests of all stations.
    pub all: Rush,
    /// Time on the air of requests, and of responses.
    pub airtime: (Duration, Duration),
    /// Number of captured Probe Responses.
    pub responses: u64,
}

/// The ten seconds with most Probe Requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rush {
    /// Number of requests in the capture.
    pub count: u64,
    /// Largest number in ten seconds.
    pub most: u32,
    /// Times of the first and the last of these, in ns since 1970.
    pub times: (u64, u64),
    /// Numbers of their packets.
    pub frames: (u64, u64),
    /// The present ten seconds: first time and packet, and number.
    window: (u64, u64, u32),
}

/// Length of a window in ns.
pub const WINDOW_NS: u64 = 10_000_000_000;

impl Rush {
    /// Counts a request.
    pub fn handle_request(&mut self, number: u64, at_ns: u64) {
        self.count += 1;
        let (since, _, _) = self.window;
        if self.window.2 == 0 || at_ns.saturating_sub(since) >= WINDOW_NS {
            self.window = (at_ns, number, 0);
        }
        self.window.2 += 1;
        let (since, first, count) = self.window;
        if count > self.most {
            self.most = count;
            self.times = (since, at_ns.max(since));
            self.frames = (first, number);
        }
    }
}

impl Air {
    /// Returns the station with most Probe Requests in ten seconds.
    pub fn most_probing(&self) -> Option<(StationId, Rush)> {
        let stations = self.heard.iter().enumerate();
        let most = stations.max_by_key(|(_, heard)| heard.probing.most)?;
        Some((StationId::at(most.0), most.1.probing)).filter(|(_, rush)| rush.most > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ten_seconds_with_most() {
        let mut rush = Rush::default();
        let second = 1_000_000_000;
        // One a second, then twenty a second for five seconds, then none.
        (0..50).for_each(|n| rush.handle_request(n, n * second));
        (0..100).for_each(|n| rush.handle_request(50 + n, 50 * second + n * second / 20));
        rush.handle_request(150, 400 * second);
        assert_eq!((rush.count, rush.most), (151, 100));
        assert_eq!((rush.frames, rush.times.0), ((50, 149), 50 * second));
    }
}
