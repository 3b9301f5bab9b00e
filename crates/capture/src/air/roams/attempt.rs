//! An attempt of a station to join an access point, and the roam that it is: the first and the last
//! frame of each step, and the result. Without a captured end, a result follows from the last step:
//! three requests without an answer, three messages 1 of a handshake without message 3, or three
//! messages 3 without message 4, are a failure.

use super::{Mark, Span};
use crate::air::joining::handshake::AGAIN_MIN;
use crate::air::stations::StationId;
use lasthop_units::MacAddr;

/// A step of joining an access point that may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoamPhase {
    /// Authentication, by any algorithm; also the FT Request over the distribution system.
    Authentication,
    /// Association or reassociation.
    Association,
    /// 802.1X and the 4-way handshake.
    Keys,
}

/// Cause of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// The access point refuses, with this status code.
    Status(u16),
    /// One of both ends the attempt by a deauthentication or disassociation.
    Removed {
        /// Reason code; `None` if it is encrypted.
        reason: Option<u16>,
        /// Whether the access point sent it.
        by_access_point: bool,
    },
    /// Requests of the station are not answered.
    Unanswered,
    /// The access point does not accept message 2 of the handshake.
    WrongKey,
}

/// Result of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoamOutcome {
    /// The station is connected.
    Done,
    /// A step failed.
    Failed(RoamPhase, Why),
    /// The monitor missed the end.
    Unknown,
}

/// How a station was authenticated and associated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Method {
    /// Authentication algorithm (9.4.1.1), if a frame of authentication was captured.
    pub algorithm: Option<u16>,
    /// Whether a fast transition went over the distribution system.
    pub over_ds: bool,
    /// Whether the station reassociated, naming the old access point.
    pub reassociation: bool,
    /// Whether the request says that the network has no encryption.
    pub is_open: bool,
}

impl Method {
    /// Authentication algorithm of a fast transition.
    const FAST: u16 = 2;
    /// Authentication algorithm SAE.
    const SAE: u16 = 3;

    /// Whether it is a fast transition (802.11r), which needs no handshake for keys.
    pub fn is_fast(&self) -> bool {
        self.over_ds || self.algorithm == Some(Self::FAST)
    }

    /// Returns the name: of the authentication, or of the fast transition's way.
    pub fn name(&self) -> Option<&'static str> {
        match (self.over_ds, self.algorithm?) {
            (true, _) => Some("FT over the DS"),
            (_, Self::FAST) => Some("FT"),
            (_, Self::SAE) => Some("SAE"),
            (_, 0) => Some("open"),
            (_, 1) => Some("shared key"),
            _ => None,
        }
    }
}

/// Frames of an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    /// Last data with the old access point: acknowledged, or of the station if no Ack was captured.
    pub last_data: Option<Mark>,
    /// Probe Requests of the station since then.
    pub probes: Option<Span>,
    /// Number of these Probe Requests.
    pub probe_requests: u32,
    /// Frames of authentication.
    pub authentication: Option<Span>,
    /// Frames of (re)association.
    pub association: Option<Span>,
    /// Frames of 802.1X before the handshake.
    pub dot1x: Option<Span>,
    /// Messages of the 4-way handshake.
    pub keys: Option<Span>,
    /// First data with the new access point.
    pub first_data: Option<Mark>,
}

impl Moments {
    /// Returns the first frame of joining.
    pub fn begin(&self) -> Option<Mark> {
        let spans = [self.authentication, self.association, self.dot1x, self.keys];
        spans.iter().flatten().map(|span| span.first).min().or(self.first_data)
    }

    /// Returns the frame after which data may flow: the last one of association or keys.
    pub fn ready(&self) -> Option<Mark> {
        let spans = [self.association, self.keys];
        spans.iter().flatten().map(|span| span.last).max()
    }

    /// Returns the last frame.
    pub fn end(&self) -> Option<Mark> {
        let spans = [self.authentication, self.association, self.dot1x, self.keys];
        spans.iter().flatten().map(|span| span.last).chain(self.first_data).max()
    }
}

/// A change of a station from one access point to another, or an attempt that failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roam {
    /// Station that changes.
    pub station: StationId,
    /// Old access point.
    pub from: MacAddr,
    /// New access point.
    pub to: MacAddr,
    /// Channels of both in MHz, if headers have them.
    pub mhz: (Option<u16>, Option<u16>),
    /// How the station joined.
    pub method: Method,
    /// Frames of its steps.
    pub moments: Moments,
    /// Deauthentication or disassociation that ended the attempt.
    pub ended: Option<Mark>,
    /// Number of messages 1 to 4 of the handshake.
    pub messages: [u32; 4],
    /// Result.
    pub outcome: RoamOutcome,
    /// Whether the new access point has accepted the association.
    pub accepted: bool,
    /// Deauthentication or disassociation from or to the old access point before.
    pub removed: Option<Why>,
    /// Whether the old access point had asked for a change (802.11v) in the last seconds.
    pub asked: bool,
    /// Longest pause of the station's last data, in ns; `None` with too little data.
    pub pause_ns: Option<u64>,
}

impl Roam {
    /// Whether the change succeeded.
    pub fn is_done(&self) -> bool {
        self.outcome == RoamOutcome::Done
    }

    /// Returns the step and the cause of a failure.
    pub const fn failure(&self) -> Option<(RoamPhase, Why)> {
        match self.outcome {
            RoamOutcome::Failed(step, why) => Some((step, why)),
            _ => None,
        }
    }

    /// Returns the first and the last frame, with those of data.
    pub fn span(&self) -> Option<Span> {
        let Moments { last_data, .. } = self.moments;
        let first = last_data.or_else(|| self.moments.begin())?;
        let last = self.moments.end().max(self.ended)?;
        Some(Span { first: first.min(last), last })
    }

    /// Returns the time without data in ns, from the last data with the old access point to the
    /// first with the new one.
    pub fn without_data_ns(&self) -> Option<u64> {
        let Moments { last_data, first_data, .. } = self.moments;
        last_data.zip(first_data).map(|(last, first)| first.at_ns.saturating_sub(last.at_ns))
    }

    /// Returns the time from the first frame of joining until data may flow, in ns.
    pub fn joining_ns(&self) -> Option<u64> {
        let ready = self.moments.ready()?;
        self.moments.begin().map(|begin| ready.at_ns.saturating_sub(begin.at_ns))
    }

    /// Returns the time that the roam costs, in ns: from the last data until data may flow, if the
    /// station's data had no pause as long; otherwise the time of joining.
    pub fn cost_ns(&self) -> Option<u64> {
        let ready = self.moments.ready().or(self.moments.first_data);
        let gap = self.moments.last_data.zip(ready);
        let gap_ns = gap.map(|(last, ready)| ready.at_ns.saturating_sub(last.at_ns));
        let is_cost = |gap: &u64| self.pause_ns.is_some_and(|pause| *gap > pause);
        gap_ns.filter(is_cost).or_else(|| self.joining_ns())
    }

    /// Returns the lengths of the phases in ns, which follow each other: until authentication
    /// begins, authentication, association, keys, and until the first data. Phases that were not
    /// captured are `None`; their time is part of the next one.
    pub fn phases_ns(&self) -> [Option<u64>; 5] {
        let Moments { last_data, authentication, association, dot1x, keys, first_data, .. } =
            self.moments;
        let secured = keys.or(dot1x).map(|span| span.last);
        let ends = [
            authentication.or(association).map(|span| span.first),
            authentication.map(|span| association.map_or(span.last, |next| next.first)),
            association.map(|span| span.last),
            secured,
            first_data,
        ];
        let mut before = last_data;
        ends.map(|end| {
            let end = end?;
            let start = before.map_or(end, |before| before.min(end));
            let known = before.is_some();
            before = Some(before.map_or(end, |before| before.max(end)));
            known.then(|| end.at_ns.saturating_sub(start.at_ns))
        })
    }
}

/// An attempt that goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct JoinAttempt {
    pub to: MacAddr,
    /// Access point that the station names as its current one.
    pub named: Option<MacAddr>,
    pub mhz: Option<u16>,
    pub method: Method,
    pub moments: Moments,
    pub messages: [u32; 4],
    pub accepted: bool,
    /// Requests of authentication and association, without MAC retransmissions.
    pub requests: [u32; 2],
    /// Whether any was answered.
    pub answered: [bool; 2],
    pub failure: Option<(RoamPhase, Why)>,
    /// Frame that ended the attempt from outside.
    pub end: Option<Mark>,
}

/// Number of requests without an answer that are a failure: mac80211 sends three
/// (`IEEE80211_AUTH_MAX_TRIES`, `IEEE80211_ASSOC_MAX_TRIES`).
const UNANSWERED_MIN: u32 = 3;

impl JoinAttempt {
    pub const fn new(to: MacAddr) -> Self {
        Self {
            to,
            named: None,
            mhz: None,
            method: Method {
                algorithm: None,
                over_ds: false,
                reassociation: false,
                is_open: false,
            },
            moments: Moments {
                last_data: None,
                probes: None,
                probe_requests: 0,
                authentication: None,
                association: None,
                dot1x: None,
                keys: None,
                first_data: None,
            },
            messages: [0; 4],
            accepted: false,
            requests: [0; 2],
            answered: [false; 2],
            failure: None,
            end: None,
        }
    }

    /// Whether frames show that the station has keys, or needs none.
    pub fn is_secured(&self) -> bool {
        let [.., third, fourth] = self.messages;
        let is_third = (1..AGAIN_MIN).contains(&third);
        let is_ready = self.method.is_fast() || self.method.is_open;
        // Message 4 may have been missed.
        fourth > 0 || is_third || self.accepted && is_ready
    }

    /// Returns the result as far as it is known.
    pub fn outcome(&self) -> RoamOutcome {
        let [first, second, third, _] = self.messages;
        match self.failure {
            _ if self.moments.first_data.is_some() => RoamOutcome::Done,
            Some((step, why)) => RoamOutcome::Failed(step, why),
            None if self.is_secured() => RoamOutcome::Done,
            None if third >= AGAIN_MIN => RoamOutcome::Failed(RoamPhase::Keys, Why::Unanswered),
            None if first >= AGAIN_MIN => {
                let why = if second > 0 { Why::WrongKey } else { Why::Unanswered };
                RoamOutcome::Failed(RoamPhase::Keys, why)
            }
            None if self.requests[1] >= UNANSWERED_MIN && !self.answered[1] => {
                RoamOutcome::Failed(RoamPhase::Association, Why::Unanswered)
            }
            None if self.requests[0] >= UNANSWERED_MIN
                && self.answered == [false; 2]
                && self.requests[1] == 0 =>
            {
                RoamOutcome::Failed(RoamPhase::Authentication, Why::Unanswered)
            }
            None => RoamOutcome::Unknown,
        }
    }
}

/// An attempt that has ended at another access point than the station's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub attempt: JoinAttempt,
    pub from: MacAddr,
    pub from_mhz: Option<u16>,
    pub removed: Option<Why>,
    pub asked: bool,
    pub pause_ns: Option<u64>,
}

impl Ended {
    pub fn into_roam(self, station: StationId) -> Roam {
        let Self { attempt, from, from_mhz, removed, asked, pause_ns } = self;
        Roam {
            station,
            from,
            to: attempt.to,
            mhz: (from_mhz, attempt.mhz),
            method: attempt.method,
            moments: attempt.moments,
            ended: attempt.end,
            messages: attempt.messages,
            outcome: attempt.outcome(),
            accepted: attempt.accepted,
            removed,
            asked,
            pause_ns,
        }
    }
}
