//! Absences of a station, as it announces them: a frame with the Power Management bit, most often a
//! Null frame, is repeated until the access point answers; a frame without the bit follows when the
//! station is back (IEEE 802.11-2020, 11.2.3.2).
//!
//! A *sleeping period* reaches from the first frame with the bit to the last frame that takes it
//! back, as the `scan` paper counts (section IV.A). Between its announcement and its return the
//! station is *silent*. If the monitor missed the announcement or the return, the nearest captured
//! frame of the station, or its answer to data, takes its place, and the absence says so.
//!
//! All absences of a station together show the cause ([`schedule`](super::schedule)). Each
//! contributes the pause before it, compared with pauses in which the station stayed ([`Pauses`]);
//! a beacon that ends it; frames with the bit in it; Probe Requests; and sequence numbers of frames
//! that were not captured (frames other than QoS data share one counter, 10.3.2.14.2, and so do QoS
//! Null frames of most drivers).

use super::ANSWER_NS;
use super::bare::{self, BareFrame, Recent};
use super::pauses::Pauses;
use crate::frame::Frame;
use lasthop_units::SeqNo12;
use lasthop_wifi_wire::Kind;

/// A time in which a station could not be reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Absence {
    /// Frames that announced it; `None` if they were missed.
    pub leave: Option<Notice>,
    /// Frames that took it back; `None` if they were missed.
    pub back: Option<Notice>,
    /// Start in ns since 1970: the first frame that announced it, or the last frame before if that
    /// was missed.
    pub from_ns: u64,
    /// End in ns since 1970: the last frame that took it back, or the next frame if that was
    /// missed.
    pub to_ns: u64,
    /// Numbers of the first and last frame in the file.
    pub frames: (u64, u64),
    /// Time since the last data of or to the station; `None` if there was none.
    pub idle_before_ns: Option<u64>,
    /// Time since the last data of or to the station; `None` if there was none since its previous
    /// return.
    pub pause_ns: Option<u64>,
    /// Whether it ended right after a beacon of the access point, which announces held packets.
    pub woken: bool,
    /// Probe Requests of the station during the absence.
    pub probes: u32,
    /// Sequence numbers that the station used for frames that were not captured; `None` if its
    /// frames are not numbered in order.
    pub hidden: Option<u16>,
    /// Beacons of its access point during the absence.
    pub beacons: u32,
    /// PS-Polls, frames with the bit other than Null frames, and QoS Null frames after an answered
    /// announcement (triggers of U-APSD).
    pub polls: u32,
    /// Data frames from the access point to the station that it did not ask for.
    pub sent_in_vain: u32,
    /// Such frames after the station's announcement was acknowledged.
    pub sent_after_ack: u32,
    /// Frames without data of or to the station, and beacons, in their order.
    pub bare: Vec<BareFrame>,
}

/// Frames that announce an absence or a return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Number of the first frame in the file.
    pub first: u64,
    /// Number of the last frame.
    pub last: u64,
    /// Capture time of the first frame, in ns since 1970.
    pub from_ns: u64,
    /// Capture time of the last frame, or of its answer.
    pub to_ns: u64,
    /// Number of frames.
    pub frames: u32,
    /// Frames with the Retry bit.
    pub retries: u32,
    /// RTS frames before them.
    pub rts: u32,
    /// Acks after them.
    pub acks: u32,
    /// Whether they are Null or QoS Null frames.
    pub null: bool,
    sequence: Option<SeqNo12>,
}

/// Absences of one station.
#[derive(Debug, Default)]
pub struct Absences {
    done: Vec<Absence>,
    totals: Totals,
    state: PresenceState,
    /// Time and number of the latest frame of the station.
    heard: Option<(u64, u64)>,
    /// Time of the latest data of or to the station.
    data_ns: Option<u64>,
    /// RTS frames since its last other frame.
    rts: u32,
    /// Time of its last frame if that is a Null frame without an answer.
    unanswered_ns: Option<u64>,
    /// Time of its latest trigger or PS-Poll in power save mode.
    asked_ns: Option<u64>,
    /// Data to the station during an absence, since its last frame.
    pending: Option<Pending>,
    /// Time of its latest data, or of its return.
    active_ns: Option<u64>,
    /// Whether there was data since its return.
    served: bool,
    /// Time of the latest beacon of its access point during an absence.
    beacon_ns: Option<u64>,
    /// Newest sequence number of frames other than QoS data.
    number: Option<SeqNo12>,
    /// Frames of that counter outside of absences, and numbers that were passed over.
    here: (u64, u64),
    /// Pauses in which the station stayed.
    stays: Pauses,
    /// Pauses after which it left.
    leaves: Pauses,
    /// Latest frames without data outside of absences.
    recent: Recent,
}

/// Data frames to a station during an absence.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// Time of the first, in ns since 1970.
    first_ns: u64,
    /// Number of all of them.
    frames: u32,
    /// Number of those after the announcement was acknowledged.
    after_ack: u32,
    /// Time of the latest PPDU with such frames, in ns since 1970.
    ppdu_ns: u64,
    /// Number of frames in it.
    in_ppdu: u32,
}

#[derive(Debug, Default)]
enum PresenceState {
    #[default]
    Here,
    Away(Absence),
    /// The station has announced its return, and may repeat the announcement; or it has answered data
    /// of an access point that does not know of the absence, and may still announce its return.
    Back(Absence),
}

/// Sums over all absences of a station, including those that are no longer kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of absences.
    pub absences: u64,
    /// Sum of their lengths, in ns.
    pub asleep_ns: u64,
    /// Length of the longest absence, in ns.
    pub longest_ns: u64,
    /// Data frames that the access point sent to the station during absences.
    pub sent_in_vain: u64,
    /// Number of absences with such frames.
    pub in_vain: u64,
    /// Number of absences that were announced without a captured answer.
    pub unanswered: u64,
}

/// Largest number of absences kept for a station; beyond it the earlier half is dropped. A station
/// that dozes between two beacons has some ten thousand absences an hour.
const ABSENCES_MAX: usize = 4_096;
/// Longest time from traffic to an absence that interrupts it. No driver saves power so soon after
/// traffic.
const INTERRUPTS_NS: u64 = 5_000_000;
/// Longest time from a beacon to the return of a station that it has woken.
const WOKEN_NS: u64 = 10_000_000;
/// Largest number of sequence numbers of one absence. A larger step is another counter.
const HIDDEN_MAX: u16 = 256;
/// Sequence numbers that may be passed over outside of absences without any meaning.
const FEW_PASSED: u64 = 16;
/// Shortest silence that counts as an absence if a Null frame ends it.
const SILENCE_NS: u64 = 20_000_000;
/// Time after a PS-Poll or a trigger during which data to the station is expected, in ns.
const SERVED_NS: u64 = 100_000_000;
/// Longest time over which a return is repeated, in ns.
const REPEATS_NS: u64 = 20_000_000;

/// Kind of an absence, by its frames and by the pauses of its station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// A rest: it follows a longer pause than those in which the station stays, a beacon ends it,
    /// or the station polls in it.
    Rest,
    /// An interruption of the station's traffic.
    Interruption,
    /// Likely a rest: it ended more pauses of this length than the station stayed through.
    LikelyRest,
    /// Likely an interruption: the station stayed through somewhat more pauses of this length.
    LikelyInterruption,
    /// No traffic came before it, or its start was missed.
    Unclear,
}

impl Notice {
    fn new(frame: &Frame<'_>, rts: u32) -> Self {
        Self {
            first: frame.number,
            last: frame.number,
            from_ns: frame.at_ns,
            to_ns: frame.at_ns,
            frames: 1,
            retries: u32::from(frame.control.flags.retry),
            rts,
            acks: 0,
            null: frame.is_null(),
            sequence: frame.view.sequence_control().map(|control| control.sequence),
        }
    }

    fn repeat(&mut self, frame: &Frame<'_>, rts: u32) {
        self.last = frame.number;
        self.to_ns = frame.at_ns;
        self.frames += 1;
        self.retries += u32::from(frame.control.flags.retry);
        self.rts += rts;
    }
}

impl Absences {
    /// Handles a frame from the station to its access point.
    pub fn handle_sent(&mut self, frame: &Frame<'_>) {
        let kind = frame.kind();
        match kind {
            Kind::Rts => {
                self.rts += 1;
                return;
            }
            // Of control frames only a PS-Poll has the bit (9.2.4.1.7).
            Kind::PsPoll => {
                if let PresenceState::Away(absence) = &mut self.state {
                    absence.polls += 1;
                    self.asked_ns = Some(frame.at_ns);
                }
                self.heard = Some((frame.at_ns, frame.number));
                return;
            }
            _ if kind.is_control() => return,
            // Not before association, and not in frames to find a network (11.2.3.2).
            Kind::ProbeRequest | Kind::Authentication | Kind::Beacon => return,
            _ => {}
        }
        self.count(frame);
        self.pending = None;
        let rts = std::mem::take(&mut self.rts);
        let saves = frame.control.flags.power_management;
        let state = std::mem::take(&mut self.state);
        self.state = match (state, saves) {
            (PresenceState::Here, true) => self.leave(frame, rts),
            (PresenceState::Here, false) => self.stay(frame, rts),
            (PresenceState::Away(mut absence), true) => {
                absence.to_ns = frame.at_ns;
                absence.frames.1 = frame.number;
                let is_new = !frame.control.flags.retry;
                let is_answered = absence.leave.as_ref().is_none_or(|leave| leave.acks > 0);
                // An answered frame is not repeated: this one begins a service period.
                let triggers = kind == Kind::QosNull && is_new && is_answered;
                match &mut absence.leave {
                    Some(leave) if frame.is_null() && absence.polls == 0 && !triggers => {
                        leave.repeat(frame, rts);
                    }
                    _ if frame.is_null() && !triggers => {}
                    _ => absence.polls += 1,
                }
                if kind != Kind::Null && absence.polls > 0 {
                    self.asked_ns = Some(frame.at_ns);
                }
                PresenceState::Away(absence)
            }
            (PresenceState::Away(mut absence), false) => {
                absence.to_ns = frame.at_ns;
                absence.frames.1 = frame.number;
                absence.back = Some(Notice::new(frame, rts));
                let is_soon = |beacon_ns| frame.at_ns.saturating_sub(beacon_ns) < WOKEN_NS;
                absence.woken = self.beacon_ns.is_some_and(is_soon);
                self.come_back(frame.at_ns);
                if frame.is_null() {
                    PresenceState::Back(absence)
                } else {
                    // Other frames without the bit also announce the return, but are not repeated
                    // for it.
                    self.keep(absence);
                    PresenceState::Here
                }
            }
            (PresenceState::Back(mut absence), false) => {
                let returned_ns = absence.back.as_ref().map_or(absence.to_ns, |back| back.to_ns);
                if frame.is_null() && frame.at_ns.saturating_sub(returned_ns) < REPEATS_NS {
                    match &mut absence.back {
                        Some(back) => back.repeat(frame, rts),
                        back => *back = Some(Notice::new(frame, rts)),
                    }
                    absence.to_ns = frame.at_ns;
                    absence.frames.1 = frame.number;
                    PresenceState::Back(absence)
                } else {
                    self.keep(absence);
                    PresenceState::Here
                }
            }
            (PresenceState::Back(absence), true) => {
                self.keep(absence);
                self.leave(frame, rts)
            }
        };
        self.heard = Some((frame.at_ns, frame.number));
        // An answer to a trigger does not answer the announcement.
        let is_trigger = matches!(&self.state, PresenceState::Away(absence) if absence.polls > 0);
        self.unanswered_ns = (frame.is_null() && !is_trigger).then_some(frame.at_ns);
        if frame.has_payload() {
            self.handle_data(frame.at_ns);
        }
    }

    /// Handles a management frame of the station.
    pub fn handle_management(&mut self, frame: &Frame<'_>) {
        self.count(frame);
        if let PresenceState::Away(absence) = &mut self.state {
            absence.probes += u32::from(frame.kind() == Kind::ProbeRequest);
        }
    }

    /// Counts the sequence numbers between a frame and the previous one of the same counter.
    fn count(&mut self, frame: &Frame<'_>) {
        let Some(control) = frame.view.sequence_control() else { return };
        if frame.kind() == Kind::QosData {
            return;
        }
        let Some(before) = self.number.replace(control.sequence) else { return };
        let ahead = control.sequence.distance_from(before);
        if !(1..=HIDDEN_MAX).contains(&ahead) {
            return;
        }
        match &mut self.state {
            PresenceState::Away(absence) => {
                let hidden = absence.hidden.unwrap_or_default();
                absence.hidden = Some(hidden.saturating_add(ahead - 1));
            }
            _ => {
                self.here.0 += 1;
                self.here.1 += u64::from(ahead) - 1;
            }
        }
    }

    /// Whether gaps in the sequence numbers show frames on other channels: outside of absences, at
    /// least a third of the frames of this counter were captured.
    pub const fn is_counted(&self) -> bool {
        self.here.1 <= 2 * self.here.0 + FEW_PASSED
    }

    /// Handles data of or to the station.
    fn handle_data(&mut self, at_ns: u64) {
        self.data_ns = Some(at_ns);
        if matches!(self.state, PresenceState::Away(_)) {
            return;
        }
        if let Some(active_ns) = self.active_ns.replace(at_ns) {
            self.stays.add(at_ns.saturating_sub(active_ns));
        }
        self.served = true;
    }

    fn come_back(&mut self, at_ns: u64) {
        self.active_ns = Some(at_ns);
        self.served = false;
        self.beacon_ns = None;
    }

    /// Handles an Ack to the station.
    pub fn handle_ack(&mut self, number: u64, at_ns: u64) {
        // A later Ack answers another frame, which was not captured.
        let prompt = |sent_ns| at_ns.saturating_sub(sent_ns) < ANSWER_NS;
        if !self.unanswered_ns.take().is_some_and(prompt) {
            return;
        }
        let (absence, notice) = match &mut self.state {
            PresenceState::Away(absence) => (&mut absence.frames, &mut absence.leave),
            PresenceState::Back(absence) => {
                absence.to_ns = at_ns;
                (&mut absence.frames, &mut absence.back)
            }
            PresenceState::Here => return,
        };
        absence.1 = number;
        if let Some(notice) = notice {
            notice.acks += 1;
            notice.to_ns = at_ns;
            notice.last = number;
        }
    }

    /// Handles a data frame to the station, in a PPDU of `ppdu_ns`.
    pub fn handle_received(&mut self, at_ns: u64, ppdu_ns: u64) {
        if let PresenceState::Away(absence) = &mut self.state {
            let is_prompt = |asked_ns| at_ns.saturating_sub(asked_ns) < SERVED_NS;
            if self.asked_ns.is_some_and(is_prompt) {
                return;
            }
            absence.sent_in_vain += 1;
            let acknowledged = absence.leave.as_ref().is_some_and(|leave| leave.acks > 0);
            absence.sent_after_ack += u32::from(acknowledged);
            // Until its announcement is answered the station is there.
            let announced_ns = absence.leave.as_ref().map_or(0, |leave| leave.to_ns);
            if at_ns.saturating_sub(announced_ns) >= REPEATS_NS {
                let pending = self.pending.get_or_insert(Pending {
                    first_ns: at_ns,
                    frames: 0,
                    after_ack: 0,
                    ppdu_ns,
                    in_ppdu: 0,
                });
                pending.frames += 1;
                pending.after_ack += u32::from(acknowledged);
                if pending.ppdu_ns != ppdu_ns {
                    (pending.ppdu_ns, pending.in_ppdu) = (ppdu_ns, 0);
                }
                pending.in_ppdu += 1;
            }
        } else {
            self.handle_data(at_ns);
        }
    }

    /// Handles an Ack or a Block Ack of the station, in frame `number`. If it answers data that the
    /// station did not ask for, the station is back.
    ///
    /// An access point that knows of the absence sends only after the return: the station is back
    /// since the first of this data, and the monitor missed the announcement. An access point that
    /// does not know of it tries all the time: the station is back since the PPDU that is answered,
    /// and an announcement may follow.
    pub fn handle_answer(&mut self, number: u64) {
        let Some(pending) = self.pending.take() else { return };
        match std::mem::take(&mut self.state) {
            PresenceState::Away(mut absence) => {
                let is_known = absence.leave.as_ref().is_some_and(|leave| leave.acks > 0);
                let (at_ns, frames) = if is_known {
                    (pending.first_ns, pending.frames)
                } else {
                    (pending.ppdu_ns, pending.in_ppdu)
                };
                absence.sent_in_vain = absence.sent_in_vain.saturating_sub(frames);
                absence.sent_after_ack = absence.sent_after_ack.saturating_sub(pending.after_ack);
                absence.to_ns = absence.to_ns.max(at_ns);
                absence.frames.1 = absence.frames.1.max(number);
                self.come_back(at_ns);
                self.handle_data(at_ns);
                if is_known {
                    self.keep(absence);
                } else {
                    self.state = PresenceState::Back(absence);
                }
            }
            state => self.state = state,
        }
    }

    /// Handles a beacon of its access point.
    pub fn handle_beacon(&mut self, at_ns: u64) {
        if let PresenceState::Away(absence) = &mut self.state {
            absence.beacons += 1;
            self.beacon_ns = Some(at_ns);
        }
    }

    /// Handles a frame without data from or to the station, or a beacon of its access point. Frames
    /// come in order of time. `budget` is the number of frames that may still be kept.
    pub fn handle_bare(&mut self, frame: BareFrame, budget: &mut u32) {
        match &mut self.state {
            PresenceState::Here => self.recent.push(frame),
            PresenceState::Away(absence) => {
                bare::keep(&mut absence.bare, frame, u64::MAX, budget);
            }
            PresenceState::Back(absence) => {
                bare::keep(&mut absence.bare, frame, absence.to_ns, budget);
            }
        }
    }

    /// Handles any other PPDU of or to the station. Frames before it do not belong to a later
    /// absence.
    pub fn handle_other(&mut self) {
        self.recent.clear();
    }

    /// Handles a change of the receiver's channel. A current absence has no known end, so it is
    /// dropped; the next frame is not related to earlier ones.
    pub fn interrupt(&mut self) {
        if let PresenceState::Back(absence) = std::mem::take(&mut self.state) {
            self.keep(absence);
        }
        self.heard = None;
        self.data_ns = None;
        self.rts = 0;
        self.unanswered_ns = None;
        self.asked_ns = None;
        self.pending = None;
        self.active_ns = None;
        self.served = false;
        self.beacon_ns = None;
        self.number = None;
        self.recent.clear();
    }

    /// Ends the analysis. Returns all kept absences in their order, without one that has not ended.
    pub fn finish(&mut self) -> &[Absence] {
        match std::mem::take(&mut self.state) {
            PresenceState::Back(absence) => self.keep(absence),
            state => self.state = state,
        }
        &self.done
    }

    /// Returns the latest complete absences: all of them, or some thousand.
    pub fn so_far(&self) -> &[Absence] {
        &self.done
    }

    /// Returns the sums over all complete absences.
    pub const fn totals(&self) -> Totals {
        self.totals
    }

    /// Returns the start of the current absence in ns since 1970, if there is one, and whether the
    /// station rests rather than interrupts its traffic.
    pub fn away(&self) -> Option<(u64, bool)> {
        let PresenceState::Away(absence) = &self.state else { return None };
        let look = self.look(absence);
        let rests = !matches!(look, Look::Interruption | Look::LikelyInterruption);
        Some((absence.from_ns, rests))
    }

    /// Returns the kind of an absence of the station.
    pub fn look(&self, absence: &Absence) -> Look {
        if absence.polls > 0 || absence.woken {
            return Look::Rest;
        }
        match absence.pause_ns {
            None => Look::Unclear,
            Some(pause) if pause < INTERRUPTS_NS => Look::Interruption,
            // Power save follows nearly every pause of this length; the monitor may have missed
            // some.
            Some(pause) => {
                let (stays, leaves) = (self.stays.at_least(pause), self.leaves.at_least(pause));
                match stays {
                    _ if stays <= leaves => Look::LikelyRest,
                    _ if stays <= 3 * leaves => Look::LikelyInterruption,
                    _ => Look::Interruption,
                }
            }
        }
    }

    /// Returns the number of kept absences.
    pub const fn kept(&self) -> usize {
        self.done.len()
    }

    /// Drops all but the latest absences.
    pub(super) fn forget(&mut self, kept: usize) {
        let gone = self.done.len().saturating_sub(kept);
        if gone > 0 {
            self.done.drain(..gone);
            self.done.shrink_to_fit();
        }
    }

    fn leave(&mut self, frame: &Frame<'_>, rts: u32) -> PresenceState {
        // The frame may be a trigger if it has data.
        self.asked_ns = (!frame.is_null()).then_some(frame.at_ns);
        self.beacon_ns = None;
        let pause_ns = self.pause_ns(frame.at_ns);
        if let Some(pause_ns) = pause_ns {
            self.leaves.add(pause_ns);
        }
        PresenceState::Away(Absence {
            leave: Some(Notice::new(frame, rts)),
            back: None,
            from_ns: frame.at_ns,
            to_ns: frame.at_ns,
            frames: (frame.number, frame.number),
            idle_before_ns: self.data_ns.map(|data| frame.at_ns.saturating_sub(data)),
            pause_ns,
            woken: false,
            probes: 0,
            hidden: None,
            beacons: 0,
            polls: u32::from(!frame.is_null()),
            sent_in_vain: 0,
            sent_after_ack: 0,
            bare: self.recent.take(frame.at_ns),
        })
    }

    /// Returns the time since the last data, if there was any since the station's return.
    fn pause_ns(&self, at_ns: u64) -> Option<u64> {
        let active_ns = self.active_ns.filter(|_| self.served)?;
        Some(at_ns.saturating_sub(active_ns))
    }

    /// Handles a frame without the bit outside of absences. A Null frame after a silence ends an
    /// absence whose start was missed.
    fn stay(&mut self, frame: &Frame<'_>, rts: u32) -> PresenceState {
        let Some((heard_ns, number)) = self.heard else { return PresenceState::Here };
        let silent = frame.at_ns.saturating_sub(heard_ns);
        // Traffic precedes a silence that is an absence. Otherwise a station may only check that
        // its access point is there.
        let busy = self.data_ns.is_some_and(|data| heard_ns.saturating_sub(data) < SILENCE_NS);
        if !frame.is_null() || silent < SILENCE_NS || !busy {
            return PresenceState::Here;
        }
        self.come_back(frame.at_ns);
        PresenceState::Back(Absence {
            leave: None,
            back: Some(Notice::new(frame, rts)),
            from_ns: heard_ns,
            to_ns: frame.at_ns,
            frames: (number, frame.number),
            idle_before_ns: self.data_ns.map(|data| heard_ns.saturating_sub(data)),
            pause_ns: None,
            woken: false,
            probes: 0,
            hidden: None,
            beacons: 0,
            polls: 0,
            sent_in_vain: 0,
            sent_after_ack: 0,
            bare: self.recent.take(frame.at_ns),
        })
    }

    fn keep(&mut self, mut absence: Absence) {
        bare::end(&mut absence.bare, absence.to_ns);
        let totals = &mut self.totals;
        totals.absences += 1;
        totals.asleep_ns = totals.asleep_ns.saturating_add(absence.asleep_ns());
        totals.longest_ns = totals.longest_ns.max(absence.asleep_ns());
        totals.sent_in_vain += u64::from(absence.sent_in_vain);
        totals.in_vain += u64::from(absence.sent_in_vain > 0);
        totals.unanswered += u64::from(absence.leave.as_ref().is_some_and(|leave| leave.acks == 0));
        if self.done.len() >= ABSENCES_MAX {
            self.done.drain(..ABSENCES_MAX / 2);
        }
        self.done.push(absence);
    }
}

impl Absence {
    /// Returns the length of the absence in ns: from the first frame that announced it to the last
    /// that took it back.
    pub const fn asleep_ns(&self) -> u64 {
        self.to_ns.saturating_sub(self.from_ns)
    }

    /// Whether the station sent frames on other channels; `None` without evidence. `counts` is
    /// [`Absences::is_counted`] of the station.
    pub fn is_elsewhere(&self, counts: bool) -> Option<bool> {
        match (self.probes, self.hidden) {
            (1.., _) => Some(true),
            (0, hidden) => hidden.filter(|_| counts).map(|hidden| hidden > 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Radio;
    use lasthop_wifi_wire::frame::{Layout, View};

    const MS: u64 = 1_000_000;

    /// A data frame to the access point: its subtype, flags beside To DS, and when.
    fn send(absences: &mut Absences, subtype: u8, flags: u8, at_ms: u64) {
        let mut bytes = vec![subtype << 4 | 0x08, 0x01 | flags, 0, 0];
        bytes.extend([[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1]].concat());
        // Sequence Control, QoS Control.
        bytes.extend([0, 0, 0, 0]);
        let view = View::new(&bytes, Layout::default()).unwrap();
        absences.handle_sent(&Frame {
            number: at_ms,
            at_ns: at_ms * MS,
            radio: Radio::default(),
            control: view.frame_control(),
            view,
            mpdu_bytes: 30,
            cut: false,
        });
    }

    const NULL: u8 = 4;
    const QOS_DATA: u8 = 8;
    const QOS_NULL: u8 = 12;
    const RETRY: u8 = 0x08;
    const SAVES: u8 = 0x10;

    /// A station with U-APSD enters power save mode in the middle of its traffic, and requests held
    /// frames with QoS Null frames: it rests, and requested frames are not unexpected.
    #[test]
    fn service_periods_are_no_scan() {
        let mut absences = Absences::default();
        send(&mut absences, QOS_DATA, 0, 1_000);
        send(&mut absences, QOS_NULL, SAVES, 1_001);
        send(&mut absences, QOS_NULL, SAVES | RETRY, 1_002);
        absences.handle_ack(9, 1_002 * MS + 60_000);
        // This frame was not requested.
        absences.handle_received(1_010 * MS, 1_010 * MS);
        for at_ms in [1_050, 1_090] {
            send(&mut absences, QOS_NULL, SAVES, at_ms);
            absences.handle_ack(9, at_ms * MS + 60_000);
            absences.handle_received((at_ms + 1) * MS, (at_ms + 1) * MS);
            absences.handle_received((at_ms + 2) * MS, (at_ms + 2) * MS);
        }
        absences.handle_received(1_195 * MS, 1_195 * MS);
        send(&mut absences, QOS_NULL, 0, 1_200);
        let [absence] = &absences.finish().to_vec()[..] else { panic!("one") };
        assert_eq!(absences.look(absence), Look::Rest);
        assert_eq!((absence.polls, absence.sent_in_vain), (2, 2));
        let leave = absence.leave.as_ref().unwrap();
        assert_eq!((leave.frames, leave.retries, leave.acks), (2, 1, 1));
    }

    /// A scanning station announces its absence until it is answered, and sends no other frame: it
    /// interrupts its traffic, and data to it is lost.
    #[test]
    fn a_scan_is_no_rest() {
        for kind in [NULL, QOS_NULL] {
            let mut absences = Absences::default();
            send(&mut absences, QOS_DATA, 0, 1_000);
            send(&mut absences, kind, SAVES, 1_001);
            send(&mut absences, kind, SAVES, 1_003);
            absences.handle_ack(9, 1_003 * MS + 60_000);
            absences.handle_received(1_050 * MS, 1_050 * MS);
            send(&mut absences, kind, 0, 1_100);
            let [absence] = &absences.finish().to_vec()[..] else { panic!("one") };
            assert_eq!(absences.look(absence), Look::Interruption);
            assert_eq!((absence.polls, absence.sent_in_vain), (0, 1));
            assert_eq!(absence.leave.as_ref().unwrap().frames, 2);
        }
    }

    /// An access point that did not hear the announcement tries on. The station is back when it
    /// answers, and its own announcement comes after that: one absence, not two.
    #[test]
    fn an_answer_before_the_return_is_announced() {
        let mut absences = Absences::default();
        send(&mut absences, QOS_DATA, 0, 1_000);
        send(&mut absences, NULL, SAVES, 1_001);
        // Four PPDUs of two frames in vain, and one that is answered.
        for at_ms in [1_030, 1_050, 1_070, 1_090, 1_109] {
            absences.handle_received(at_ms * MS, at_ms * MS);
            absences.handle_received(at_ms * MS, at_ms * MS);
        }
        absences.handle_answer(20);
        send(&mut absences, NULL, 0, 1_110);
        send(&mut absences, NULL, RETRY, 1_111);
        absences.handle_ack(21, 1_111 * MS + 60_000);
        let [absence] = &absences.finish().to_vec()[..] else { panic!("one") };
        assert_eq!((absence.from_ns, absence.to_ns), (1_001 * MS, 1_111 * MS + 60_000));
        assert_eq!((absence.sent_in_vain, absence.sent_after_ack), (8, 0));
        let back = absence.back.as_ref().unwrap();
        assert_eq!((back.from_ns, back.frames, back.retries, back.acks), (1_110 * MS, 2, 1, 1));
    }

    /// An access point that knows of the absence sends after the return, whose announcement the
    /// monitor missed: the station is back since the first of that data.
    #[test]
    fn an_answer_after_a_missed_announcement() {
        let mut absences = Absences::default();
        send(&mut absences, QOS_DATA, 0, 1_000);
        send(&mut absences, NULL, SAVES, 1_001);
        absences.handle_ack(9, 1_001 * MS + 60_000);
        for at_ms in [1_100, 1_102] {
            absences.handle_received(at_ms * MS, at_ms * MS);
        }
        absences.handle_answer(20);
        let [absence] = &absences.finish().to_vec()[..] else { panic!("one") };
        assert_eq!((absence.to_ns, absence.sent_in_vain), (1_100 * MS, 0));
    }
}
