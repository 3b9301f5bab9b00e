//! Traffic sources: the instant and length of each next packet. The same machine paces a simulated
//! flow and a real UDP socket.
//!
//! Lengths are in bytes of network-layer packets (UDP payload + 28), and rates in bit/s of these.
//! Schedules are exact: a constant rate or frame rate does not drift, however late the source is
//! polled. Left out: sources that react to the network (TCP).

use alloc::sync::Arc;
use lasthop_units::{Bitrate, Duration, Instant, Pace, Stream};

/// Length of the headers of IPv4 and UDP.
pub const UDP_OVERHEAD_BYTES: u16 = 28;

/// Traffic pattern of a source.
#[derive(Clone, Debug, PartialEq)]
pub enum SourceConfig {
    /// Packets at a constant rate, the first one at the start.
    Cbr {
        /// Rate in bit/s of network-layer packets, above zero.
        rate: Bitrate,
        /// Length of each packet.
        bytes: u16,
    },
    /// Packets at the instants of a Poisson process.
    Poisson {
        /// Mean rate in bit/s of network-layer packets, above zero.
        rate: Bitrate,
        /// Length of each packet.
        bytes: u16,
    },
    /// Bursts of packets that enter the network together, as one write of an application
    /// does, at the instants of a Poisson process.
    Bursts {
        /// Mean rate in bit/s of network-layer packets, above zero.
        rate: Bitrate,
        /// Length of each packet.
        bytes: u16,
        /// Packets in each burst, at least 1.
        packets: u16,
    },
    /// A constant rate that is switched on and off, on at the start. Only on-time counts for the
    /// spacing of packets, so the long-run rate is `rate * on / (on + off)`, also for short
    /// periods.
    OnOff {
        /// Rate while on in bit/s of network-layer packets, above zero.
        rate: Bitrate,
        /// Length of each packet.
        bytes: u16,
        /// Length of the on-periods, above zero.
        on: Period,
        /// Length of the off-periods.
        off: Period,
    },
    /// As many packets as the driver accepts, without a schedule: see [`Source::refill`].
    Saturated {
        /// Length of each packet.
        bytes: u16,
    },
    /// Video frames, each cut into packets that leave at once.
    Video {
        /// Number of frames per second, above zero.
        frames_per_s: f64,
        /// Payload bytes of each frame.
        sizes: Sizes,
        /// Frames that are larger than the others, if any.
        key_frames: Option<KeyFrames>,
        /// Length of the longest packet, with headers; above [`UDP_OVERHEAD_BYTES`].
        packet_bytes_max: u16,
    },
    /// Requests at a regular interval, the first one at the start.
    Ping {
        /// Time between two requests, above zero.
        interval: Duration,
        /// Length of each request.
        bytes: u16,
    },
}

/// The length of an on or off period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// Every period has this length.
    Fixed(Duration),
    /// Lengths are exponentially distributed with this mean.
    Exponential(Duration),
}

/// Payload bytes of video frames, at least 1, before key frames are enlarged.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// Every frame has this size.
    Constant(u32),
    /// Sizes with a normal distribution.
    Normal {
        /// Mean of the sizes.
        mean: f64,
        /// Standard deviation of the sizes.
        sd: f64,
    },
    /// Sizes with a log-normal distribution.
    LogNormal {
        /// Mean of the sizes (not of their logarithms).
        mean: f64,
        /// Standard deviation of the sizes.
        sd: f64,
    },
    /// A recorded sequence, repeated; not empty.
    Trace(Arc<[u32]>),
}

/// Frames at a regular interval, starting with the first one, that are larger than the
/// others. The others shrink so that the mean over all is that of [`Sizes`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyFrames {
    /// Number of frames from one key frame to the next, at least 1.
    pub interval_frames: u32,
    /// Size of a key frame relative to the others, above zero.
    pub factor: f64,
}

/// A packet that a source sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Instant at which it leaves.
    pub at: Instant,
    /// Length of the network-layer packet.
    pub bytes: u16,
}

/// A traffic source.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    schedule: Schedule,
    start: Instant,
    stop: Instant,
    next: Option<Departure>,
    stream: Stream,
}

impl Source {
    /// Returns a source that sends from `start` until before `stop`. Panics if
    /// parameters are outside the ranges given at [`SourceConfig`].
    pub fn new(config: &SourceConfig, start: Instant, stop: Instant, stream: Stream) -> Self {
        let schedule = Schedule::new(config, start);
        let mut source = Self { schedule, start, stop, next: None, stream };
        source.next = source.schedule.first(start, &mut source.stream);
        source.next = source.next.filter(|next| next.at < stop);
        source
    }

    /// Instant of the next packet; `None` if no packet is left, or if the source is saturated.
    pub fn next_departure(&self) -> Option<Instant> {
        self.next.map(|next| next.at)
    }

    /// Returns the next packet that has left by `now`, with its exact instant. A driver
    /// that is late gets all packets that it missed, one per call.
    pub fn poll_packet(&mut self, now: Instant) -> Option<Departure> {
        let departure = self.next.filter(|next| next.at <= now)?;
        let next = self.schedule.after(departure.at, &mut self.stream);
        self.next = next.filter(|next| next.at < self.stop);
        Some(departure)
    }

    /// Whether packets that leave at the same instant enter the network together.
    pub fn is_bursty(&self) -> bool {
        matches!(self.schedule, Schedule::Poisson { packets: 2.., .. })
    }

    /// Length of one more packet of a saturated source, which the driver may take whenever its
    /// queue has space; `None` before the start and after the stop, and for all other sources.
    pub fn refill(&self, now: Instant) -> Option<u16> {
        match self.schedule {
            Schedule::Saturated { bytes } if self.start <= now && now < self.stop => Some(bytes),
            _ => None,
        }
    }
}

/// A configuration, and the state of the source.
#[derive(Clone, Debug, PartialEq)]
enum Schedule {
    Cbr {
        pace: Pace,
        bytes: u16,
    },
    /// A Poisson process of bursts, `left` of whose current packets have not left; single packets
    /// are bursts of one.
    Poisson {
        mean_ns: f64,
        bytes: u16,
        packets: u16,
        left: u16,
    },
    OnOff {
        pace: Pace,
        bytes: u16,
        on: Period,
        off: Period,
        on_left: Duration,
    },
    Saturated {
        bytes: u16,
    },
    Video(Video),
    Ping {
        interval: Duration,
        bytes: u16,
    },
}

#[derive(Clone, Debug, PartialEq)]
struct Video {
    start: Instant,
    period_ns: f64,
    sizes: Sizes,
    key_frames: Option<KeyFrames>,
    payload_bytes_max: u32,
    /// Number of the frame that is being sent, from 0.
    frame: u64,
    /// Payload bytes of that frame that have not left.
    left_bytes: u32,
}

impl Schedule {
    fn new(config: &SourceConfig, start: Instant) -> Self {
        match *config {
            SourceConfig::Cbr { rate, bytes } => Self::Cbr { pace: Pace::new(rate, start), bytes },
            SourceConfig::Poisson { rate, bytes } => {
                assert!(rate.as_bps() > 0, "a rate must be above zero");
                let mean_ns = f64::from(bytes) * 8e9 / rate.as_bps() as f64;
                Self::Poisson { mean_ns, bytes, packets: 1, left: 0 }
            }
            SourceConfig::Bursts { rate, bytes, packets } => {
                assert!(rate.as_bps() > 0, "a rate must be above zero");
                assert!(packets > 0, "a burst has packets");
                let bits = f64::from(bytes) * f64::from(packets) * 8.0;
                let mean_ns = bits * 1e9 / rate.as_bps() as f64;
                Self::Poisson { mean_ns, bytes, packets, left: 0 }
            }
            SourceConfig::OnOff { rate, bytes, on, off } => {
                let (Period::Fixed(length) | Period::Exponential(length)) = on;
                assert!(!length.is_zero(), "an on-period must be above zero");
                let pace = Pace::new(rate, Instant::ZERO);
                Self::OnOff { pace, bytes, on, off, on_left: Duration::ZERO }
            }
            SourceConfig::Saturated { bytes } => Self::Saturated { bytes },
            SourceConfig::Video { frames_per_s, ref sizes, key_frames, packet_bytes_max } => {
                assert!(frames_per_s > 0.0, "a frame rate must be above zero");
                assert!(packet_bytes_max > UDP_OVERHEAD_BYTES, "a packet must have a payload");
                let recorded = !matches!(sizes, Sizes::Trace(sizes) if sizes.is_empty());
                assert!(recorded, "a trace of frame sizes must not be empty");
                let keyed = key_frames.is_none_or(|k| k.interval_frames > 0 && k.factor > 0.0);
                assert!(keyed, "a key frame interval and factor must be above zero");
                Self::Video(Video {
                    start,
                    period_ns: 1e9 / frames_per_s,
                    sizes: sizes.clone(),
                    key_frames,
                    payload_bytes_max: u32::from(packet_bytes_max - UDP_OVERHEAD_BYTES),
                    frame: 0,
                    left_bytes: 0,
                })
            }
            SourceConfig::Ping { interval, bytes } => {
                assert!(!interval.is_zero(), "an interval must be above zero");
                Self::Ping { interval, bytes }
            }
        }
    }

    fn first(&mut self, start: Instant, stream: &mut Stream) -> Option<Departure> {
        let (at, bytes) = match self {
            Self::Cbr { bytes, .. } | Self::Ping { bytes, .. } => (start, *bytes),
            Self::OnOff { bytes, on, on_left, .. } => {
                *on_left = on.draw(stream);
                (start, *bytes)
            }
            Self::Poisson { .. } => return self.after(start, stream),
            Self::Saturated { .. } => return None,
            Self::Video(video) => {
                video.left_bytes = video.frame_bytes(stream);
                (start, video.packet())
            }
        };
        Some(Departure { at, bytes })
    }

    /// Returns the packet that follows one at `at`.
    fn after(&mut self, at: Instant, stream: &mut Stream) -> Option<Departure> {
        let (at, bytes) = match self {
            Self::Cbr { pace, bytes } => {
                pace.pass(u32::from(*bytes));
                (pace.now(), *bytes)
            }
            Self::Ping { interval, bytes } => (at + *interval, *bytes),
            Self::Poisson { bytes, left, .. } if *left > 0 => {
                *left -= 1;
                (at, *bytes)
            }
            Self::Poisson { mean_ns, bytes, packets, left } => {
                *left = *packets - 1;
                let wait_ns = libm::round(*mean_ns * stream.exponential());
                (at + Duration::from_nanos(wait_ns as u64), *bytes)
            }
            Self::OnOff { pace, bytes, on, off, on_left } => {
                let before = pace.now();
                pace.pass(u32::from(*bytes));
                let mut wait = pace.now() - before;
                let mut at = at;
                while wait >= *on_left {
                    wait -= *on_left;
                    at = at.saturating_add(*on_left).saturating_add(off.draw(stream));
                    *on_left = on.draw(stream);
                }
                *on_left -= wait;
                (at.saturating_add(wait), *bytes)
            }
            Self::Saturated { .. } => return None,
            Self::Video(video) => {
                if video.left_bytes == 0 {
                    video.frame += 1;
                    video.left_bytes = video.frame_bytes(stream);
                }
                (video.frame_start(), video.packet())
            }
        };
        Some(Departure { at, bytes })
    }
}

impl Video {
    fn frame_start(&self) -> Instant {
        self.start + Duration::from_nanos(libm::round(self.frame as f64 * self.period_ns) as u64)
    }

    /// Takes the next packet out of the frame; returns its length.
    fn packet(&mut self) -> u16 {
        let payload = self.left_bytes.min(self.payload_bytes_max);
        self.left_bytes -= payload;
        payload as u16 + UDP_OVERHEAD_BYTES
    }

    fn frame_bytes(&self, stream: &mut Stream) -> u32 {
        let size = match self.sizes {
            Sizes::Constant(bytes) => f64::from(bytes),
            Sizes::Normal { mean, sd } => mean + sd * stream.normal(),
            Sizes::LogNormal { mean, sd } => {
                let variance = libm::log(1.0 + sd * sd / (mean * mean));
                mean * libm::exp(libm::sqrt(variance) * stream.normal() - variance / 2.0)
            }
            Sizes::Trace(ref sizes) => f64::from(sizes[(self.frame % sizes.len() as u64) as usize]),
        };
        let scale = self.key_frames.map_or(1.0, |key| {
            let others = f64::from(key.interval_frames) - 1.0;
            let shrink = (others + 1.0) / (others + key.factor);
            let is_key = self.frame.is_multiple_of(u64::from(key.interval_frames));
            if is_key { shrink * key.factor } else { shrink }
        });
        // Casting a number beyond the range of u32 gives its maximum.
        (libm::round(size * scale) as u32).max(1)
    }
}

impl Period {
    fn draw(self, stream: &mut Stream) -> Duration {
        match self {
            Self::Fixed(length) => length,
            Self::Exponential(mean) => stream.exponential_time(mean),
        }
    }
}

#[cfg(test)]
mod tests;
