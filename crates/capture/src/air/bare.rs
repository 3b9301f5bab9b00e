//! Frames without data around an absence: Null frames, RTS, CTS, Acks and PS-Polls of the station
//! and to it, and beacons of its access point. The `scan` paper prints this list (Fig. 4). Times
//! are in ns since 1970.
//!
//! The first and the last frames of each absence are kept, at most [`FRAMES_MAX`], and at most
//! [`BUDGET`] frames of all absences: a station that dozes for hours hears many beacons. Frames for
//! a Block Ack agreement and for data are left out.

use super::ANSWER_NS;
use super::ppdu::Ppdu;
use super::stations::StationId;
use crate::rate::Rate;
use lasthop_units::SeqNo12;
use lasthop_wifi_wire::Kind;
use std::collections::VecDeque;

/// A frame without data that is alone in its PPDU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BareFrame {
    /// Number of the packet in the file.
    pub number: u64,
    /// Start of the frame: its time on the air before the capture time. If its rate is unknown, the
    /// capture time.
    pub from_ns: u64,
    /// Capture time of the frame.
    pub to_ns: u64,
    /// Type and subtype.
    pub kind: Kind,
    /// Sender of the frame. An Ack or a CTS does not name it; its sender is the receiver of the
    /// frame that it answers, if that was captured.
    pub transmitter: Option<StationId>,
    /// Receiver of the frame; `None` for a group.
    pub receiver: Option<StationId>,
    /// Whether the Power Management bit is set.
    pub power_management: bool,
    /// Whether the Retry bit is set.
    pub retry: bool,
    /// Sequence number; control frames have none.
    pub sequence: Option<SeqNo12>,
    /// PHY rate of the frame.
    pub rate: Option<Rate>,
}

/// Largest number of frames kept for one absence: half of them are its first, half its last.
pub const FRAMES_MAX: usize = 64;
/// Largest number of frames kept for all absences of a capture together.
pub const BUDGET: u32 = 200_000;
/// Time before an absence in which a frame may belong to it, in ns: RTS and CTS before its Null
/// frame.
const AHEAD_NS: u64 = 1_000_000;
/// Time after the frame that ends an absence within which another such frame, or its RTS, may
/// follow, in ns.
const AFTER_NS: u64 = 5_000_000;
/// Frames that are remembered outside of absences.
const RECENT_MAX: usize = 4;

impl BareFrame {
    /// Returns the frame of a PPDU, if it is one without data. `before`: sender, receiver and end
    /// of the previous PPDU.
    pub fn from_ppdu(ppdu: &Ppdu, before: Option<(StationId, StationId, u64)>) -> Option<Self> {
        let [mpdu] = ppdu.mpdus[..] else { return None };
        let bare = matches!(
            mpdu.kind,
            Kind::Null
                | Kind::QosNull
                | Kind::Rts
                | Kind::Cts
                | Kind::Ack
                | Kind::PsPoll
                | Kind::Beacon
        );
        let answers = matches!(mpdu.kind, Kind::Ack | Kind::Cts);
        let asked = before.filter(|(asks, _, at_ns)| {
            ppdu.receiver == Some(*asks) && ppdu.at_ns.saturating_sub(*at_ns) < ANSWER_NS
        });
        let answerer = asked.filter(|_| answers).map(|(_, answerer, _)| answerer);
        bare.then(|| Self {
            number: mpdu.number,
            from_ns: ppdu.at_ns.saturating_sub(ppdu.airtime.as_nanos()),
            to_ns: ppdu.at_ns,
            kind: mpdu.kind,
            transmitter: ppdu.transmitter.or(answerer),
            receiver: ppdu.receiver,
            power_management: mpdu.power_management,
            retry: mpdu.retry,
            sequence: mpdu.sequence,
            rate: ppdu.rate,
        })
    }
}

/// Latest frames without data of a station outside of absences.
#[derive(Debug, Default)]
pub(super) struct Recent(VecDeque<BareFrame>);

impl Recent {
    /// Adds a frame of or to the station.
    pub fn push(&mut self, frame: BareFrame) {
        if self.0.len() >= RECENT_MAX {
            self.0.pop_front();
        }
        self.0.push_back(frame);
    }

    /// Handles any other frame of or to the station.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the frames that belong to an absence announced by a frame at `at_ns`.
    pub fn take(&mut self, at_ns: u64) -> Vec<BareFrame> {
        let near = |frame: &BareFrame| at_ns.saturating_sub(frame.to_ns) < AHEAD_NS;
        // An Ack or a beacon ends an exchange, and an RTS begins the next one.
        let begin = self.0.iter().rposition(|frame| !matches!(frame.kind, Kind::Rts | Kind::Cts));
        let frames = self.0.drain(..).skip(begin.map_or(0, |index| index + 1));
        frames.filter(near).collect()
    }
}

/// Appends a frame to those of an absence whose end so far is `to_ns`, if the frame belongs to the
/// absence.
pub(super) fn keep(frames: &mut Vec<BareFrame>, frame: BareFrame, to_ns: u64, budget: &mut u32) {
    if frame.from_ns.saturating_sub(to_ns) > AFTER_NS {
        return;
    }
    if frames.len() >= FRAMES_MAX {
        frames.remove(FRAMES_MAX / 2);
    } else if *budget == 0 {
        return;
    } else {
        *budget -= 1;
    }
    frames.push(frame);
}

/// Removes frames after the end of an absence, once that is known.
pub(super) fn end(frames: &mut Vec<BareFrame>, to_ns: u64) {
    let kept = frames.iter().rposition(|frame| frame.to_ns <= to_ns).map_or(0, |last| last + 1);
    frames.truncate(kept);
}
