//! A sounding exchange on the air (IEEE 802.11-2020, 10.37.5; IEEE 802.11ax-2021, 26.7).
//!
//! If no report arrives, the exchange failed: the window doubles, and the access point contends
//! anew. A polled station without an answer is skipped as soon as its timeout ends with an idle
//! medium. If the first station does not answer, the access point has no transmission opportunity,
//! as with data. A station that was asked and did not report is asked again an interval later. A
//! station answers regardless of carrier sense and NAV, as it does to data. An NDP sets no NAV and
//! causes no EIFS, because it has no frame.

use super::super::content::Exchange;
use super::super::multi_user::User;
use super::super::single::Outline;
use super::{Report, Sounding, Step};
use crate::air::{Carried, Flight, Overlaps, Reduction, SoundingFrame};
use crate::cell::floor::Floor;
use crate::cell::frames::Context;
use crate::cell::station::Station;
use crate::cell::timers::OwedResponse;
use crate::cell::{Cell, Sequel};
use crate::station::{Address, StationId};
use lasthop_units::Instant;

impl Station {
    /// The next frame of the station's sounding exchange, which begins now.
    pub(in crate::cell) fn send_sounding(&mut self, cx: &Context<'_>) -> Flight {
        let now = cx.now;
        let station = self.id;
        let sounding = self.sounding();
        let several = match sounding.users[..] {
            [one] => Address::Station(one.station),
            _ => Address::Group,
        };
        let until = sounding.until;
        let (receiver, (rate, psdu_bytes, duration), reserves_until, frame) = match sounding.step {
            Step::Announcement => {
                (several, sounding.announcement, until, SoundingFrame::Announcement)
            }
            Step::Ndp => {
                let (rate, duration) = sounding.ndp;
                (several, (rate, 0, duration), now + duration, SoundingFrame::Ndp)
            }
            Step::Trigger => {
                let triggered = sounding.triggered.expect("the sequence has it");
                (Address::Group, triggered.trigger, until, SoundingFrame::Trigger)
            }
            Step::Poll(turn) => {
                let user = sounding.users[turn];
                let (rate, duration) = user.poll;
                let of = (rate, crate::mac::sizes::BEAMFORMING_REPORT_POLL, duration);
                (Address::Station(user.station), of, until, SoundingFrame::Poll)
            }
        };
        Flight {
            transmitter: station,
            receiver,
            start: now,
            end: now + duration,
            rate,
            psdu_bytes,
            reserves_until,
            carried: Carried::Sounding(frame),
            overlaps: Overlaps::NONE,
            reduction: Reduction::NONE,
        }
    }

    /// Ends the sounding exchange and records the reports; returns the exchange, and whether there
    /// is a report.
    fn settle_sounding(&mut self, now: Instant) -> (Outline, bool) {
        let Some(Exchange::Sounding(sounding)) = self.exchange.take() else {
            unreachable!("it sounds")
        };
        let soundings = self.soundings.get_or_insert_default();
        let at: Instant = sounding.measured_at;
        for user in &sounding.users {
            let report = user.measured.filter(|_| user.is_reported);
            soundings.note(user.station, now, report.map(|snr| Report { at, snr }));
        }
        let success = sounding.users.iter().any(|user| user.is_reported);
        self.edcaf(sounding.edcaf).backoff.reset_or_widen(success);
        (sounding.outline(), success)
    }

    /// Discards the reports of users that acknowledged less than half of their MPDUs, so that they
    /// are served alone until they are sounded again. The losses also update the estimated speed of
    /// the users' channels, which the rate control of single stations does not know.
    pub(in crate::cell) fn judge_reports(&mut self, users: &[User]) {
        let Some(soundings) = &mut self.soundings else { return };
        for user in users.iter().filter(|user| user.beam.is_some()) {
            let acked = user.acked.as_ref();
            let count =
                acked.map_or(0, |acked| (0..user.mpdus).filter(|&n| acked.contains(n)).count());
            if 2 * count < user.mpdus && (user.asked || acked.is_some()) {
                soundings.spoil(user.station);
            }
            if user.asked || acked.is_some() {
                let lost = 1.0 - count as f64 / user.mpdus.max(1) as f64;
                soundings.learn(user.station, lost);
            }
        }
    }

    fn sounding(&mut self) -> &mut Sounding {
        match &mut self.exchange {
            Some(Exchange::Sounding(sounding)) => sounding,
            _ => unreachable!("it sounds"),
        }
    }
}

impl Cell {
    /// Handles the end of the access point's frame in a sounding exchange.
    pub(in crate::cell) fn receive_sounding(&mut self, flight: &Flight, frame: SoundingFrame) {
        let sender = flight.transmitter;
        let mut users = core::mem::take(&mut self.stations[sender.index()].sounding().users);
        let mut is_heard = true;
        for user in &mut users {
            is_heard &= match frame {
                SoundingFrame::Announcement => {
                    user.is_announced = self.receivers().at(user.station).decodes_control(flight);
                    user.is_announced
                }
                SoundingFrame::Ndp => {
                    // Also who was not told hears the channel's state.
                    let snr = self.receivers().at(user.station).header(flight);
                    user.measured = snr.filter(|_| user.is_announced);
                    user.measured.is_some()
                }
                SoundingFrame::Poll if flight.receiver != Address::Station(user.station) => {
                    continue;
                }
                SoundingFrame::Poll | SoundingFrame::Trigger => {
                    user.is_asked = self.receivers().at(user.station).decodes_control(flight);
                    user.is_asked
                }
            };
        }
        self.stations[sender.index()].sounding().users = users;
        self.record(|recorder| recorder.record_sounding(flight, sender, is_heard));
        let sounding = self.stations[sender.index()].sounding();
        match frame {
            SoundingFrame::Announcement => {
                sounding.step = Step::Ndp;
                self.floor().follow(sender, Sequel::Frame);
            }
            SoundingFrame::Ndp => {
                sounding.measured_at = flight.end;
                if sounding.triggered.is_some() {
                    sounding.step = Step::Trigger;
                    self.floor().follow(sender, Sequel::Frame);
                } else {
                    sounding.step = Step::Poll(0);
                    sounding.users[0].is_asked = true;
                    self.floor().answer_poll(sender, 0);
                }
            }
            SoundingFrame::Poll => {
                let Step::Poll(turn) = sounding.step else { unreachable!("it polls") };
                self.floor().answer_poll(sender, turn);
            }
            SoundingFrame::Trigger => self.floor().answer_trigger(sender),
        }
    }

    /// Handles the end of a report at the access point.
    pub(in crate::cell) fn receive_beamforming_report(
        &mut self,
        flight: &Flight,
        receiver: StationId,
    ) {
        let sounding = self.stations[receiver.index()].sounding();
        let is_its = |user: &super::Sounded| user.station == flight.transmitter;
        let place = sounding.users.iter().position(is_its).expect("only those report");
        let user = sounding.users[place];
        let own = flight.to(receiver, user.report.0, flight.psdu_bytes);
        let is_decoded = self.receivers().at(receiver).decodes_control(&own);
        self.record(|recorder| recorder.record_report(&own, &user, is_decoded));
        let sounding = self.stations[receiver.index()].sounding();
        sounding.users[place].is_reported = is_decoded;
        match sounding.triggered {
            Some(_) => sounding.answers_due -= 1,
            None => self.sounding_goes_on(receiver, is_decoded),
        }
    }

    /// Handles a missing report at its timeout.
    pub(in crate::cell) fn sounding_unanswered(&mut self, station: StationId) {
        match self.stations[station.index()].sounding().triggered {
            Some(_) => self.sounding_over(station),
            None => self.sounding_goes_on(station, false),
        }
    }

    /// Continues after the turn of a user, which reported or not.
    fn sounding_goes_on(&mut self, station: StationId, is_reported: bool) {
        let sifs = self.settings.timing.sifs;
        let sounding = self.stations[station.index()].sounding();
        let Step::Poll(turn) = sounding.step else { unreachable!("one was asked") };
        let next = turn + 1;
        if next == sounding.users.len() || !is_reported && turn == 0 {
            return self.sounding_over(station);
        }
        sounding.step = Step::Poll(next);
        let at = if is_reported {
            self.now + sifs
        } else if self.floor().senses_any(station) {
            return self.sounding_over(station);
        } else {
            self.now
        };
        self.timers.follow(at, station, Sequel::Frame);
    }

    pub(in crate::cell) fn sounding_over(&mut self, station: StationId) {
        let now = self.now;
        let (outline, success) = self.stations[station.index()].settle_sounding(now);
        self.exchange_over(station, &outline, success);
    }
}

impl Floor<'_> {
    /// Lets the users that decoded the BFRP Trigger frame report, or begins the timeout.
    fn answer_trigger(&mut self, sender: StationId) {
        let until = self.stations[sender.index()].sounding().until;
        let triggered =
            self.stations[sender.index()].sounding().triggered.expect("the sequence has it");
        for turn in 0..self.stations[sender.index()].sounding().users.len() {
            let sounding = self.stations[sender.index()].sounding();
            let user = sounding.users[turn];
            if !user.is_asked || user.measured.is_none() {
                continue;
            }
            sounding.answers_due += 1;
            let sequel = Sequel::Response(OwedResponse {
                to: sender,
                carried: Carried::BeamformingReport { header: Some(triggered.header) },
                rate: triggered.rate,
                psdu_bytes: user.report.1,
                duration: triggered.duration,
                reserves_until: until,
            });
            self.follow(user.station, sequel);
        }
        if self.stations[sender.index()].sounding().answers_due == 0 {
            self.start_response_timeout(sender);
        }
    }

    /// Lets the user whose turn it is report, or begins the access point's timeout.
    fn answer_poll(&mut self, sender: StationId, turn: usize) {
        let sounding = self.stations[sender.index()].sounding();
        let (user, until) = (sounding.users[turn], sounding.until);
        if !user.is_asked || user.measured.is_none() {
            return self.start_response_timeout(sender);
        }
        let (rate, psdu_bytes, duration) = user.report;
        let sequel = Sequel::Response(OwedResponse {
            to: sender,
            carried: Carried::BeamformingReport { header: None },
            rate,
            psdu_bytes,
            duration,
            reserves_until: until,
        });
        self.follow(user.station, sequel);
    }
}
