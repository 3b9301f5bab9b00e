//! Events of sounding: NDP Announcement, NDP, requests for reports, and the reports.

use super::super::content::Exchange;
use super::super::multi_user::NEXT_TO_IT;
use super::{Sounded, Step, report_mpdus};
use crate::air::Flight;
use crate::cell::record::{Recorder, control_frame};
use crate::event::{Event, Frame, FrameKind, Ppdu, Psdu, TriggeredUser};
use crate::phy::Ru;
use crate::station::{Address, StationId};
use alloc::vec::Vec;
use lasthop_units::SeqNo12;

impl Recorder<'_> {
    /// Records a frame of the access point; `received` is whether its addressees decoded it.
    pub(super) fn record_sounding(&mut self, flight: &Flight, sender: StationId, received: bool) {
        let Some(Exchange::Sounding(sounding)) = &self.stations[sender.index()].exchange else {
            return;
        };
        let aid = |station: StationId| self.stations[station.index()].aid;
        let frame = frame(flight, received);
        let frames = match sounding.step {
            Step::Announcement => {
                let announced = sounding.users.iter().map(|user| aid(user.station)).collect();
                let feedback = sounding.users[0].feedback;
                let kind = FrameKind::NdpAnnouncement { feedback };
                alloc::vec![Frame { kind, announced, ..frame }]
            }
            Step::Ndp => Vec::new(),
            Step::Trigger => {
                let triggered = sounding.triggered.expect("the sequence has it");
                let asked = sounding.users.iter().map(|user| TriggeredUser {
                    aid: aid(user.station),
                    ru: user.ru.expect("it answers on one"),
                    mcs: user.report.0.mcs().unwrap_or(0),
                    streams: 1,
                    dcm: false,
                    is_eht: triggered.rate.is_eht(),
                    start: SeqNo12::default(),
                });
                let kind = FrameKind::BeamformingReportTrigger {
                    response: triggered.duration,
                    guard_interval: triggered.guard_interval,
                    width: triggered.rate.width(),
                };
                alloc::vec![Frame { kind, triggered: asked.collect(), ..frame }]
            }
            Step::Poll(_) => alloc::vec![frame],
        };
        self.record_psdu(flight, None, frames);
    }

    /// Records a report, on an RU if it is in a trigger-based PPDU.
    pub(super) fn record_report(&mut self, own: &Flight, user: &Sounded, received: bool) {
        let &Sounded { feedback, ru, .. } = user;
        let mpdus = report_mpdus(feedback.grouping.is_he(), feedback.bytes());
        let count = mpdus.len();
        let segment = |(index, bytes): (usize, u32)| Frame {
            kind: FrameKind::BeamformingReport {
                feedback,
                remaining: (count - 1 - index) as u8,
                is_first: index == 0,
            },
            bytes: bytes as u16,
            ..frame(own, received)
        };
        self.record_psdu(own, ru, mpdus.enumerate().map(segment).collect());
    }

    fn record_psdu(&mut self, flight: &Flight, ru: Option<Ru>, frames: Vec<Frame>) {
        let collided = match flight.receiver {
            Address::Station(receiver) => self.air.is_disturbed(flight, receiver),
            Address::Group => false,
        };
        let signal = match flight.receiver {
            Address::Station(receiver) => self.air.mean_power(flight, receiver),
            Address::Group => None,
        };
        let is_report = |frame: &Frame| matches!(frame.kind, FrameKind::BeamformingReport { .. });
        let psdu = Psdu {
            receiver: flight.receiver,
            rate: flight.rate,
            ru,
            bytes: flight.psdu_bytes,
            aggregated: frames.iter().any(is_report),
            frames,
            signal: signal.unwrap_or(NEXT_TO_IT),
            collided,
        };
        let &Flight { start, end, transmitter, .. } = flight;
        let psdus = alloc::vec![psdu];
        self.outbox.events.push_back(Event::Ppdu(Ppdu { start, end, transmitter, psdus }));
    }
}

/// Returns the record of a Beamforming Report Poll, from which those of other frames are derived.
fn frame(flight: &Flight, received: bool) -> Frame {
    control_frame(flight, FrameKind::BeamformingReportPoll, received)
}
