//! The way of a segment through several captures: one row of a table. All times are in ns since
//! 1970 by the reference clock; unknown times are `None`.

/// A piece of payload on its way: a segment as it was on the air, or as its sender's host sent it
/// if it was not captured on the air. Segmentation in the card splits one packet into several.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentWay {
    /// Index of the flow in [`Join::flows`](super::Join::flows).
    pub flow: usize,
    /// Whether it goes from the second end of the flow to the first.
    pub back: bool,
    /// Sequence number of its first byte.
    pub sequence: u32,
    /// Length of its payload, in bytes.
    pub payload_bytes: u32,
    /// Whether its first byte was sent before.
    pub retransmission: bool,
    /// Capture time at the place farthest before the air: the sender's host.
    pub left_ns: Option<i64>,
    /// Packet number at that place.
    pub left_frame: Option<u64>,
    /// Capture time at the last wired place before the air, if that is another one.
    pub gateway_ns: Option<i64>,
    /// Start of its first captured attempt on the air.
    pub air_begin_ns: Option<i64>,
    /// End of the successful attempt: the last one that ended before it arrived.
    pub air_end_ns: Option<i64>,
    /// Numbers of its first and last frame on the air.
    pub air_frames: Option<[u64; 2]>,
    /// Number of captured attempts on the air.
    pub attempts: u32,
    /// Whether earlier attempts were missed: the first captured one has the Retry bit.
    pub first_attempt_missed: bool,
    /// Number of hops on the air; more than one for a relayed segment.
    pub hops: u32,
    /// Whether its first hop on the air goes to an access point.
    pub to_access_point: bool,
    /// Time of the first acknowledgement of its MPDU.
    pub air_acknowledged_ns: Option<i64>,
    /// Capture time at the last wired place behind the air: the receiver's host.
    pub arrived_ns: Option<i64>,
    /// Packet number at that place.
    pub arrived_frame: Option<u64>,
    /// Time at which the first acknowledgement that covers it came to its origin.
    pub acknowledged_ns: Option<i64>,
    /// Time at which its first byte was sent again.
    pub sent_again_ns: Option<i64>,
    /// Trigger of the retransmission.
    pub trigger: Option<Trigger>,
    /// Fate of the segment.
    pub fate: WayFate,
}

/// Fate of a copy of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WayFate {
    /// The copy arrived: it was captured there, or acknowledged before another copy could be.
    Arrived,
    /// The copy left, and was not captured on the air: it was lost before the hop or in its queue,
    /// or the monitor missed all of its attempts.
    LostBefore,
    /// The copy was captured on the air, and never acknowledged there.
    LostOnAir,
    /// The copy was acknowledged on the air, and did not arrive.
    LostBehind,
    /// The copy was lost between two places with no capture of the air between them.
    LostBetween,
    /// The copy was acknowledged on the air; nothing behind the air was captured.
    AcrossAir,
    /// The fate is unknown: the copy was on its way when a capture ended.
    Unknown,
}

/// Trigger of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trigger {
    /// An acknowledgement that came just before: duplicates, or SACK.
    Acknowledgement,
    /// A timer: no acknowledgement came just before.
    Timer,
}

impl WayFate {
    /// Returns its name in documents: the key of `fates`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arrived => "arrived",
            Self::LostBefore => "lost_before",
            Self::LostOnAir => "lost_on_air",
            Self::LostBehind => "lost_behind",
            Self::LostBetween => "lost_between",
            Self::AcrossAir => "across_air",
            Self::Unknown => "unknown",
        }
    }

    /// Whether the copy was lost.
    pub const fn is_loss(self) -> bool {
        matches!(self, Self::LostBefore | Self::LostOnAir | Self::LostBehind | Self::LostBetween)
    }
}

impl Trigger {
    /// Returns its name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Acknowledgement => "acknowledgement",
            Self::Timer => "timer",
        }
    }
}

impl SegmentWay {
    /// Returns the time between the two wired places before the air.
    pub fn wire_before_ns(&self) -> Option<i64> {
        Some(self.gateway_ns? - self.left_ns?)
    }

    /// Returns the time from the last wired place before the air until its first attempt.
    pub fn wait_ns(&self) -> Option<i64> {
        let begin = self.air_begin_ns.filter(|_| !self.first_attempt_missed)?;
        Some(begin - self.gateway_ns.or(self.left_ns)?)
    }

    /// Returns the time from the start of its first attempt to the end of the successful one.
    pub fn air_ns(&self) -> Option<i64> {
        let begin = self.air_begin_ns.filter(|_| !self.first_attempt_missed)?;
        Some(self.air_end_ns? - begin)
    }

    /// Returns the time from the end of the successful attempt until it arrived.
    pub fn behind_ns(&self) -> Option<i64> {
        Some(self.arrived_ns? - self.air_end_ns?)
    }

    /// Returns the time from departure to arrival.
    pub fn total_ns(&self) -> Option<i64> {
        Some(self.arrived_ns? - self.left_ns?)
    }

    /// Returns the time of its first capture; `None` if no place captured it.
    pub fn first_seen_ns(&self) -> Option<i64> {
        [self.left_ns, self.air_begin_ns, self.arrived_ns].into_iter().flatten().min()
    }

    /// Returns the time from the first to the last place that captured it, by which it is ranked.
    pub fn seen_ns(&self) -> i64 {
        let times = [self.left_ns, self.air_begin_ns, self.air_end_ns, self.arrived_ns];
        let times = || times.iter().flatten();
        times().max().zip(times().min()).map_or(0, |(last, first)| last - first)
    }
}
