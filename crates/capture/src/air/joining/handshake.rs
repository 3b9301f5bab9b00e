//! The 4-way handshake of an access point and a station, as a monitor observes it (IEEE
//! 802.11-2020, 12.7.6): the captured messages, and the result. A handshake has failed if message 1
//! comes a third time and message 3 never comes, if message 3 comes a third time and is not
//! answered, or if either side leaves for that reason.
//! Encrypted data shows that it succeeded, whatever the monitor missed.

use lasthop_wifi_wire::eapol;

/// A message of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Message 1: the access point's nonce.
    First,
    /// Message 2: the station's nonce, and the proof that it knows the key.
    Second,
    /// Message 3: the access point's proof, and the group key.
    Third,
    /// Message 4: the confirmation.
    Fourth,
}

impl Message {
    /// Returns the message of an EAPOL-Key frame about the key of two stations (12.7.6.2 to
    /// 12.7.6.5). Message 4 has no key data.
    pub(crate) const fn from_key(key: &eapol::Key<'_>) -> Self {
        match (key.information.has_ack(), key.information.has_mic()) {
            (true, false) => Self::First,
            (true, true) => Self::Third,
            (false, _) if key.key_data.is_empty() => Self::Fourth,
            (false, _) => Self::Second,
        }
    }
}

/// All handshakes of a pair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    /// Number of handshakes that succeeded.
    pub done: u32,
    /// Number of handshakes that failed.
    pub failed: u32,
    /// Number of messages 1 to 4 in the last one that failed.
    pub messages: [u32; 4],
    /// Reason code of its end, if one was captured.
    pub reason: Option<u16>,
    /// Numbers of the first frame of the first failed handshake, and of the last frame of the last
    /// one.
    pub frames: (u64, u64),
    /// Times of these frames, in ns since 1970.
    pub times: (u64, u64),
    current: Option<HandshakeAttempt>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HandshakeAttempt {
    messages: [u32; 4],
    first: (u64, u64),
    last: (u64, u64),
}

/// Number of messages 1 without message 3, or of messages 3 without message 4, that are a failure.
/// hostapd sends four of either, a second apart.
pub(in crate::air) const AGAIN_MIN: u32 = 3;
/// Pause after which a new handshake begins, in ns.
const PAUSE_NS: u64 = 5_000_000_000;
/// Reason codes of a failed handshake (table 9-49): authentication no longer valid (hostapd sends
/// it when its messages are not answered), MIC failure, timeout, another RSN element than in
/// beacons, IEEE 802.1X failed.
const FAILURES: [u16; 5] = [2, 14, 15, 17, 23];

impl Handshake {
    /// Whether a handshake has begun and not ended.
    pub const fn is_open(&self) -> bool {
        self.current.is_some()
    }

    pub(super) fn handle_message(&mut self, message: Message, number: u64, at_ns: u64) {
        let is_new = |attempt: &HandshakeAttempt| {
            let is_late = at_ns.saturating_sub(attempt.last.1) > PAUSE_NS;
            is_late || message == Message::First && attempt.messages[2] > 0
        };
        if self.current.as_ref().is_some_and(is_new) {
            self.settle(None);
        }
        let here = (number, at_ns);
        let attempt = self.current.get_or_insert(HandshakeAttempt {
            messages: [0; 4],
            first: here,
            last: here,
        });
        attempt.messages[message as usize] += 1;
        attempt.last = here;
        if message == Message::Fourth {
            self.succeed();
        }
    }

    pub(super) fn handle_protected(&mut self) {
        if self.current.is_some() {
            self.succeed();
        }
    }

    pub(super) fn handle_removal(&mut self, reason: Option<u16>, number: u64, at_ns: u64) {
        if let Some(attempt) = &mut self.current {
            attempt.last = (number, at_ns);
        }
        self.settle(reason);
    }

    /// Returns the current state, including a handshake that has not ended.
    pub fn so_far(&self) -> Self {
        let mut settled = self.clone();
        settled.settle(None);
        settled
    }

    fn succeed(&mut self) {
        self.current = None;
        self.done += 1;
    }

    /// Ends the handshake, with the reason code of a deauthentication if there was one.
    fn settle(&mut self, reason: Option<u16>) {
        let Some(attempt) = self.current.take() else { return };
        let [first, _, third, _] = attempt.messages;
        let given_up = reason.filter(|reason| FAILURES.contains(reason));
        match () {
            () if given_up.is_some()
                || first >= AGAIN_MIN && third == 0
                || first > 0 && third >= AGAIN_MIN =>
            {
                if self.failed == 0 {
                    (self.frames.0, self.times.0) = attempt.first;
                }
                (self.frames.1, self.times.1) = attempt.last;
                self.failed += 1;
                self.messages = attempt.messages;
                self.reason = given_up.or(self.reason);
            }
            // Message 4 was missed.
            () if third > 0 && reason.is_none() => self.done += 1,
            () => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Message::{First, Fourth, Second, Third};
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Messages that are a second apart.
    fn after(messages: &[Message]) -> Handshake {
        let mut handshake = Handshake::default();
        for (n, message) in (1u64..).zip(messages) {
            handshake.handle_message(*message, n, n * SECOND);
        }
        handshake
    }

    #[test]
    fn how_it_ends() {
        let counts = |handshake: Handshake| (handshake.so_far().done, handshake.so_far().failed);
        assert_eq!(counts(after(&[First, Second, Third, Fourth])), (1, 0));
        assert_eq!(counts(after(&[First, First, Second, Third])), (1, 0));
        assert_eq!(counts(after(&[First, Second])), (0, 0));
        // Another passphrase: hostapd sends message 1 four times, and removes the station.
        let mut wrong = after(&[First, Second, First, Second, First, Second, First, Second]);
        wrong.handle_removal(Some(2), 9, 9 * SECOND);
        assert_eq!((wrong.failed, wrong.messages, wrong.reason), (1, [4, 4, 0, 0], Some(2)));
        assert_eq!((wrong.frames, wrong.times), ((1, 9), (SECOND, 9 * SECOND)));
        // A station that does not answer, or does not answer message 3.
        assert_eq!(counts(after(&[First, First, First])), (0, 1));
        assert_eq!(counts(after(&[First, Second, Third, Third, Third])), (0, 1));
        assert_eq!(counts(after(&[First, Second, Third, Third, Third, Fourth])), (1, 0));
        // Message 3 is repeated after message 4.
        assert_eq!(counts(after(&[First, Second, Third, Fourth, Third, Third, Third])), (2, 0));
        // The station answered, and the monitor missed it: there is encrypted data.
        let mut missed = after(&[First, First, First]);
        missed.handle_protected();
        assert_eq!(counts(missed), (1, 0));
        // A station leaves for another reason.
        let mut leaves = after(&[First, Second]);
        leaves.handle_removal(Some(3), 9, 9 * SECOND);
        assert_eq!(counts(leaves), (0, 0));
    }
}
