//! The frames with which a station joins an access point, one after the other: authentication,
//! association and the 4-way handshake (IEEE 802.11-2020, 11.3, 12.4, 12.7.6, 13.5), with the timeouts
//! of mac80211 (`net/mac80211/mlme.c`) and hostapd (`wpa_auth.c`). Secrets are not computed; an end
//! answers later instead.
//!
//! A sender learns of a loss only by a missing answer. Left out: mac80211's shorter waits
//! once it knows whether a frame was acknowledged, anti-clogging tokens.

use super::frame::{AuthenticationAlgorithm, RoamFrame, Security};
use lasthop_units::{Duration, Instant};

/// Wait for the answer to an Authentication frame or a (Re)Association Request
/// (`IEEE80211_AUTH_TIMEOUT`, `IEEE80211_ASSOC_TIMEOUT`, HZ / 5).
const ANSWER: Duration = Duration::from_millis(200);
/// The same in SAE (`IEEE80211_AUTH_TIMEOUT_SAE`).
const ANSWER_OF_SAE: Duration = Duration::from_secs(2);
/// Transmissions of such a frame (`IEEE80211_AUTH_MAX_TRIES`, `IEEE80211_ASSOC_MAX_TRIES`).
const REQUESTS: u8 = 3;
/// An access point's wait for an answer in the handshake, first and later (hostapd:
/// `eapol_key_timeout_first`, `eapol_key_timeout_subseq`).
const KEY_ANSWER: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];
/// Transmissions of such a message (`wpa_pairwise_update_count`).
const MESSAGES: u8 = 4;

/// Time in which a station that has an access point chooses another one, from the end of its scan
/// until it begins to leave: wpa_supplicant's part of the measured walks (`data/kernels/roam.csv` of the
/// studies; data flowed for 2 ms more, with SAE until the commit message was computed).
const CHOICE: Duration = Duration::from_millis(2);

/// Times of a join that are not on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delays {
    /// Time from the begin of leaving an access point until the first frame to the next one. No
    /// data flow meanwhile: mac80211 waits until nobody uses what it deletes (`synchronize_net` in
    /// `ieee80211_set_disassoc`). The station's own commit message of SAE is computed before.
    pub leave: Duration,
    /// Time in which a station answers, from the end of a frame to the next one in its queue.
    pub station: Duration,
    /// The same of an access point.
    pub access_point: Duration,
    /// Time to compute a commit message of SAE, beyond the usual one.
    pub commit: Duration,
}

/// Way in which a station joins an access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// Authentication and key management of the network.
    pub security: Security,
    /// Whether the station comes from another access point of the network.
    pub roams: bool,
    /// Whether both have a key from an earlier SAE (PMKSA), so that Open System authentication
    /// replaces SAE.
    pub has_key: bool,
    /// Whether a fast transition begins at the access point that the station leaves (over the DS).
    pub over_ds: bool,
}

impl Manner {
    /// Whether it is a fast BSS transition (13.5), which needs no handshake.
    pub fn is_fast(&self) -> bool {
        self.roams && self.security.has_fast_transitions()
    }

    /// Whether it authenticates by SAE.
    pub fn does_sae(self) -> bool {
        self.security.is_sae() && !self.is_fast() && !self.has_key
    }

    /// Whether it names a key of an earlier SAE.
    pub fn names_key(self) -> bool {
        self.security.is_sae() && !self.is_fast() && self.has_key
    }

    /// The frames in their order, from the station's first one on; the two ends alternate, apart
    /// from the first message of a handshake, which follows the access point's response.
    fn frames(&self) -> impl Iterator<Item = RoamFrame> + Clone + use<> {
        const fn authentication(algorithm: AuthenticationAlgorithm, sequence: u16) -> RoamFrame {
            RoamFrame::Authentication { algorithm, sequence, status: 0 }
        }
        let again = self.roams;
        let is_fast = self.is_fast();
        let first: &[RoamFrame] = match () {
            () if is_fast && self.over_ds => {
                &[RoamFrame::FtRequest, RoamFrame::FtResponse { status: 0 }]
            }
            () if is_fast => {
                const {
                    &[
                        authentication(AuthenticationAlgorithm::Ft, 1),
                        authentication(AuthenticationAlgorithm::Ft, 2),
                    ]
                }
            }
            () if self.does_sae() => {
                const {
                    &[
                        authentication(AuthenticationAlgorithm::SaeCommit, 1),
                        authentication(AuthenticationAlgorithm::SaeCommit, 1),
                        authentication(AuthenticationAlgorithm::SaeConfirm, 2),
                        authentication(AuthenticationAlgorithm::SaeConfirm, 2),
                    ]
                }
            }
            () => {
                const {
                    &[
                        authentication(AuthenticationAlgorithm::Open, 1),
                        authentication(AuthenticationAlgorithm::Open, 2),
                    ]
                }
            }
        };
        let association = [
            RoamFrame::AssociationRequest { again },
            RoamFrame::AssociationResponse { again, status: 0 },
        ];
        let messages = if self.security.is_robust() && !is_fast { 4 } else { 0 };
        let handshake = (1..=messages).map(|message| RoamFrame::Handshake { message });
        first.iter().copied().chain(association).chain(handshake)
    }
}

/// A frame that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// The frame.
    pub frame: RoamFrame,
    /// Whether the station sends it, or the access point.
    pub from_station: bool,
}

/// A station on its way to an access point.
#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    manner: Manner,
    delays: Delays,
    /// Index of the frame that was sent last, or is the next.
    place: usize,
    /// Transmissions of the frame whose answer is awaited.
    sent: u8,
    /// Whether the station still chooses its access point, and computes its first frame.
    chooses: bool,
    state: State,
}

/// Next event of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The next frame is sent.
    Sends(Instant),
    /// A frame is on its way, and its answer is overdue then.
    Waits(Instant),
}

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinStep {
    /// No act is due before [`Join::due`].
    Wait,
    /// A frame is to be sent.
    Send(Due),
    /// Authentication is complete.
    Authenticated,
    /// Association is complete.
    Associated,
    /// The station has joined.
    Joined,
    /// An end does not answer.
    Failed,
}

impl Join {
    /// Begins to join at `now`.
    pub fn new(now: Instant, manner: Manner, delays: Delays) -> Self {
        let state = State::Sends(now);
        // Over the distribution system the first frame goes to the access point that it leaves.
        let chooses = manner.roams && !(manner.is_fast() && manner.over_ds);
        let mut join = Self { manner, delays, place: 0, sent: 0, chooses, state };
        let wait = if chooses { CHOICE + join.commit() } else { join.delay() };
        join.state = State::Sends(now + wait);
        join
    }

    /// The same join of a station that chose the access point before it answered a request to move.
    pub fn chosen(mut self, now: Instant) -> Self {
        if self.chooses {
            let commit = self.commit();
            self.chooses = !commit.is_zero();
            let wait = if self.chooses { commit } else { self.delay() };
            self.state = State::Sends(now + wait);
        }
        self
    }

    /// Time to compute the frame at the present place, if it is a commit message.
    fn commit(&self) -> Duration {
        let is_commit = matches!(
            self.frame(self.place),
            Some(Due {
                frame: RoamFrame::Authentication {
                    algorithm: AuthenticationAlgorithm::SaeCommit,
                    ..
                },
                ..
            })
        );
        if is_commit { self.delays.commit } else { Duration::ZERO }
    }

    /// The way in which it joins.
    pub fn manner(&self) -> Manner {
        self.manner
    }

    /// Instant of the next step.
    pub fn due(&self) -> Instant {
        match self.state {
            State::Sends(at) | State::Waits(at) => at,
        }
    }

    fn frame(&self, place: usize) -> Option<Due> {
        let frame = self.manner.frames().nth(place)?;
        // Both ends send SAE's frames, which alternate.
        let from_station = frame.from_access_point().map_or(place.is_multiple_of(2), |it| !it);
        Some(Due { frame, from_station })
    }

    /// Time that the sender of the next frame needs.
    fn delay(&self) -> Duration {
        let Some(due) = self.frame(self.place) else { return Duration::ZERO };
        let leaves_at = if self.manner.is_fast() && self.manner.over_ds { 2 } else { 0 };
        if self.place == leaves_at {
            return self.delays.leave;
        }
        let usual = if due.from_station { self.delays.station } else { self.delays.access_point };
        usual + self.commit()
    }

    /// Place of the frame whose sender repeats it if the frame at `place` is missing, the wait and
    /// the limit of transmissions.
    fn awaited(&self, place: usize) -> (usize, Duration, u8) {
        let before = place.saturating_sub(1);
        let Some(Due { frame, from_station }) = self.frame(place) else {
            return (place, ANSWER, REQUESTS);
        };
        match frame {
            RoamFrame::Handshake { message } => {
                let first = if message % 2 == 1 { place } else { before };
                (first, KEY_ANSWER[usize::from(self.sent > 1)], MESSAGES)
            }
            RoamFrame::Authentication {
                algorithm: AuthenticationAlgorithm::SaeCommit | AuthenticationAlgorithm::SaeConfirm,
                ..
            } => (if from_station { place } else { before }, ANSWER_OF_SAE, REQUESTS),
            _ => (if from_station { place } else { before }, ANSWER, REQUESTS),
        }
    }

    /// Handles the departure at `now`, which a frame exchange may have delayed.
    pub fn handle_left(&mut self, now: Instant) {
        self.sent = 0;
        self.state = State::Sends(now + self.delay());
    }

    /// Performs the step that is due at `now`.
    pub fn handle_due(&mut self, now: Instant) -> JoinStep {
        if core::mem::take(&mut self.chooses) {
            self.state = State::Sends(now + self.delay());
            return JoinStep::Wait;
        }
        match self.state {
            State::Sends(_) => {}
            State::Waits(_) => {
                let (first, _, most) = self.awaited(self.place);
                if self.sent >= most {
                    return JoinStep::Failed;
                }
                self.place = first;
            }
        }
        let Some(due) = self.frame(self.place) else { return JoinStep::Wait };
        if self.awaited(self.place).0 == self.place {
            self.sent = self.sent.saturating_add(1);
        }
        self.state = State::Waits(now + self.awaited(self.place).1);
        JoinStep::Send(due)
    }

    /// Handles the arrival of `frame` at its receiver.
    pub fn handle_arrival(
        &mut self,
        now: Instant,
        frame: RoamFrame,
        from_station: bool,
    ) -> JoinStep {
        let awaited = self.frame(self.place);
        let is_it = awaited == Some(Due { frame, from_station });
        if !is_it || !matches!(self.state, State::Waits(_)) {
            return JoinStep::Wait;
        }
        self.place += 1;
        let Some(_) = self.frame(self.place) else { return JoinStep::Joined };
        if self.awaited(self.place).0 == self.place {
            self.sent = 0;
        }
        self.state = State::Sends(now + self.delay());
        match frame {
            RoamFrame::AssociationResponse { .. } => JoinStep::Associated,
            RoamFrame::FtResponse { .. } => JoinStep::Authenticated,
            RoamFrame::Authentication { .. }
                if matches!(
                    self.frame(self.place),
                    Some(Due { frame: RoamFrame::AssociationRequest { .. }, .. })
                ) =>
            {
                JoinStep::Authenticated
            }
            _ => JoinStep::Wait,
        }
    }

    /// Whether the station is still at the access point that it leaves, over whose link data go, and
    /// the first frames of a transition over the distribution system.
    pub fn is_before_leaving(&self) -> bool {
        self.chooses || self.manner.is_fast() && self.manner.over_ds && self.place < 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const DELAYS: Delays = Delays {
        leave: Duration::from_millis(30),
        station: Duration::from_millis(1),
        access_point: Duration::from_millis(2),
        commit: Duration::from_millis(10),
    };

    fn manner(security: Security, roams: bool) -> Manner {
        Manner { security, roams, has_key: false, over_ds: false }
    }

    /// A join of a station that has chosen its access point.
    fn begun(manner: Manner) -> Join {
        let mut join = Join::new(Instant::ZERO, manner, DELAYS);
        if join.chooses {
            assert!(join.is_before_leaving());
            assert_eq!(join.handle_due(join.due()), JoinStep::Wait);
        }
        assert_eq!(join.is_before_leaving(), manner.is_fast() && manner.over_ds);
        join
    }

    /// Frames of a join on which none is lost, and its duration.
    fn whole(manner: Manner) -> (Vec<Due>, Duration) {
        let mut join = begun(manner);
        let mut frames = Vec::new();
        loop {
            let now = join.due();
            let JoinStep::Send(due) = join.handle_due(now) else { panic!("a frame is due") };
            frames.push(due);
            if join.handle_arrival(now, due.frame, due.from_station) == JoinStep::Joined {
                return (frames, now - Instant::ZERO);
            }
        }
    }

    /// The orders that a station of Linux and hostapd have on the air (IEEE 802.11-2020, 11.3.4, 12.4,
    /// 12.7.6, 13.5): 4, 8, 10, 8 and 4 frames.
    #[test]
    fn frames_alternate_in_their_order() {
        for (manner, number, ms) in [
            (manner(Security::Open, true), 4, 2 + 30 + 2 + 1 + 2),
            (manner(Security::Psk, true), 8, 37 + 2 + 1 + 2 + 1),
            (manner(Security::Sae, true), 10, 12 + 30 + 12 + 1 + 2 + 1 + 2 + 6),
            (Manner { has_key: true, ..manner(Security::Sae, true) }, 8, 43),
            (manner(Security::FtPsk, true), 4, 37),
            (Manner { over_ds: true, ..manner(Security::FtSae, true) }, 4, 1 + 2 + 30 + 2),
            (manner(Security::FtPsk, false), 8, 41),
        ] {
            let (frames, duration) = whole(manner);
            assert_eq!((frames.len(), duration), (number, Duration::from_millis(ms)), "{manner:?}");
            for pair in frames.windows(2) {
                let begins_handshake = pair[1].frame == RoamFrame::Handshake { message: 1 };
                assert_eq!(pair[0].from_station == pair[1].from_station, begins_handshake);
            }
            assert!(frames[0].from_station);
        }
    }

    /// Without any answer: three Authentication frames, 200 ms apart, and in SAE 2 s.
    #[test]
    fn requests_are_repeated() {
        for (security, wait) in [(Security::Psk, 200), (Security::Sae, 2_000)] {
            let mut join = begun(manner(security, true));
            let start = join.due();
            let mut sent = Vec::new();
            while let JoinStep::Send(_) = join.handle_due(join.due()) {
                sent.push(join.due() - start);
            }
            let wait = Duration::from_millis(wait);
            assert_eq!(sent, [wait, wait * 2, wait * 3]);
        }
    }

    /// The station does not hear message 1: hostapd repeats it after 100 ms and then each second,
    /// four in all.
    #[test]
    fn messages_are_repeated_by_the_access_point() {
        let mut join = begun(manner(Security::Psk, true));
        for _ in 0..4 {
            let now = join.due();
            let JoinStep::Send(due) = join.handle_due(now) else { panic!("a frame is due") };
            join.handle_arrival(now, due.frame, due.from_station);
        }
        let start = join.due();
        let mut sent = Vec::new();
        while let JoinStep::Send(due) = join.handle_due(join.due()) {
            assert_eq!(due.frame, RoamFrame::Handshake { message: 1 });
            sent.push((join.due() - start).as_nanos() / 1_000_000);
        }
        assert_eq!(sent, [100, 1_100, 2_100, 3_100]);
    }

    proptest! {
        /// With any losses a join ends, and every frame that is sent is of its order.
        #[test]
        fn a_join_ends(lost in prop::collection::vec(any::<bool>(), 64), sae in any::<bool>()) {
            let security = if sae { Security::Sae } else { Security::Psk };
            let manner = manner(security, true);
            let all: Vec<_> = manner.frames().collect();
            let mut join = begun(manner);
            let mut lost = lost.into_iter().cycle();
            let mut last = Instant::ZERO;
            for _ in 0..1_000 {
                let now = join.due();
                prop_assert!(now >= last);
                last = now;
                match join.handle_due(now) {
                    JoinStep::Send(due) => {
                        prop_assert!(all.contains(&due.frame));
                        let is_lost = lost.next() == Some(true);
                        if !is_lost
                            && join.handle_arrival(now, due.frame, due.from_station) == JoinStep::Joined
                        {
                            return Ok(());
                        }
                    }
                    JoinStep::Failed => return Ok(()),
                    step => prop_assert!(false, "{step:?}"),
                }
            }
            prop_assert!(false, "it goes on");
        }
    }
}
