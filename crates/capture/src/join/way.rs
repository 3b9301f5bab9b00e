//! The way of a segment, as several captures together show it: the row of a table. All times are in
//! ns since 1970 by the clock of the place of reference; what was not seen is `None`.

/// A piece of payload on its way: a segment as it was on the air, or as its sender's host has sent
/// it where the air has not heard it. Segmentation in the card makes several of one packet.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentWay {
    /// The flow: its index in what [`Join::flows`](super::Join::flows) names.
    pub flow: usize,
    /// It goes from the flow's second end to the first.
    pub back: bool,
    /// Number of its first byte.
    pub sequence: u32,
    /// Bytes of payload.
    pub payload_bytes: u32,
    /// Its first byte was sent before.
    pub retransmission: bool,
    /// When it was captured at the place farthest before the air: the sender's host.
    pub left_ns: Option<i64>,
    /// Number of the packet there.
    pub left_frame: Option<u64>,
    /// When it was captured at the last wired place before the air, if that is another one.
    pub gateway_ns: Option<i64>,
    /// When its first attempt on the air began that was captured.
    pub air_begin_ns: Option<i64>,
    /// When the attempt ended that got it across: the last one that had ended when it arrived.
    pub air_end_ns: Option<i64>,
    /// Numbers of its first and last frame on the air.
    pub air_frames: Option<[u64; 2]>,
    /// Attempts on the air that were captured.
    pub attempts: u32,
    /// Attempts before the first that was captured were missed: it has the Retry bit.
    pub first_attempt_missed: bool,
    /// Hops on the air: more than one if it is relayed there.
    pub hops: u32,
    /// Its first hop on the air goes to an access point.
    pub to_access_point: bool,
    /// When its MPDU was acknowledged first.
    pub air_acknowledged_ns: Option<i64>,
    /// When it was captured at the last wired place behind the air: the receiver's host.
    pub arrived_ns: Option<i64>,
    /// Number of the packet there.
    pub arrived_frame: Option<u64>,
    /// When the first acknowledgement that covers it came to where it left.
    pub acknowledged_ns: Option<i64>,
    /// When its first byte was sent again.
    pub sent_again_ns: Option<i64>,
    /// What made the sender do so.
    pub trigger: Option<Trigger>,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a copy of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It arrived: it was captured there, or it was acknowledged before another copy could be.
    Arrived,
    /// It left, and was not heard on the air: it was lost before the hop, or in its queue. A copy
    /// that the monitor has missed as a whole looks the same.
    LostBefore,
    /// It was heard on the air, and never acknowledged there.
    LostOnAir,
    /// It was acknowledged on the air, and did not arrive.
    LostBehind,
    /// It was lost between the two places; no capture is of the air between them.
    LostBetween,
    /// It was acknowledged on the air; what came then is not captured.
    AcrossAir,
    /// It is not known: it was still on its way when a capture ended.
    Unknown,
}

/// What makes a sender send again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trigger {
    /// An acknowledgement that came right before: duplicates, or SACK.
    Acknowledgement,
    /// A timer: nothing came right before.
    Timer,
}

impl Fate {
    /// Its name in documents: the key of `fates`.
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

    /// It did not get across.
    pub const fn is_loss(self) -> bool {
        matches!(self, Self::LostBefore | Self::LostOnAir | Self::LostBehind | Self::LostBetween)
    }
}

impl Trigger {
    /// Its name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Acknowledgement => "acknowledgement",
            Self::Timer => "timer",
        }
    }
}

impl SegmentWay {
    /// Between the two wired places before the air.
    pub fn wire_before_ns(&self) -> Option<i64> {
        Some(self.gateway_ns? - self.left_ns?)
    }

    /// From the last wired place before the air until its first attempt began.
    pub fn wait_ns(&self) -> Option<i64> {
        let begin = self.air_begin_ns.filter(|_| !self.first_attempt_missed)?;
        Some(begin - self.gateway_ns.or(self.left_ns)?)
    }

    /// From the begin of the first attempt to the end of the one that got it across.
    pub fn air_ns(&self) -> Option<i64> {
        let begin = self.air_begin_ns.filter(|_| !self.first_attempt_missed)?;
        Some(self.air_end_ns? - begin)
    }

    /// From the end of the attempt that got it across until it arrived.
    pub fn behind_ns(&self) -> Option<i64> {
        Some(self.arrived_ns? - self.air_end_ns?)
    }

    /// From leaving to arriving.
    pub fn total_ns(&self) -> Option<i64> {
        Some(self.arrived_ns? - self.left_ns?)
    }

    /// When it was seen first; `None` if it was seen nowhere.
    pub fn first_seen_ns(&self) -> Option<i64> {
        [self.left_ns, self.air_begin_ns, self.arrived_ns].into_iter().flatten().min()
    }

    /// From the first to the last place that has seen it: what it is ranked by.
    pub fn seen_ns(&self) -> i64 {
        let times = [self.left_ns, self.air_begin_ns, self.air_end_ns, self.arrived_ns];
        let times = || times.iter().flatten();
        times().max().zip(times().min()).map_or(0, |(last, first)| last - first)
    }
}
