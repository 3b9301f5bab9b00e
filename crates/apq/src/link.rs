//! An authenticated session between two hosts: the keys of both directions, the
//! number of the next message, and the numbers of the peer's messages that were
//! used (RFC 4303, 3.4.3). Leaves out retransmission: messages are lost, reordered
//! and repeated like any datagram.

use crate::auth::{Key, ReplayWindow, Side, session_key};
use crate::proof::Proofs;
use crate::wire::{self, Message, Sealed};
use alloc::vec::Vec;
use zeroize::Zeroize;

/// One side of a session. The session's keys are wiped on drop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    session: u64,
    ours: Key,
    theirs: Key,
    number: u32,
    used: ReplayWindow,
}

impl Link {
    /// The end that is `side`, after a handshake with the key `handshake`.
    pub fn new(handshake: &Key, session: u64, side: Side) -> Self {
        let other = match side {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        };
        Self {
            session,
            ours: session_key(handshake, session, side),
            theirs: session_key(handshake, session, other),
            number: 0,
            used: ReplayWindow::default(),
        }
    }

    /// The session number.
    pub fn session(&self) -> u64 {
        self.session
    }

    /// Number of the peer's messages that were lost or are still in flight.
    pub fn missing(&self) -> u32 {
        self.used.missing()
    }

    /// Encodes a message to the peer, with proofs of reception.
    pub fn seal(&mut self, message: &Message, proofs: &Proofs) -> Vec<u8> {
        // Numbers stop after 2^32 messages instead of repeating: the peer accepts no
        // more.
        self.number = self.number.saturating_add(1);
        wire::seal(message, self.session, self.number, proofs, &self.ours)
    }

    /// Decodes a message of the peer; `None` if it is not authentic, a repetition,
    /// or malformed.
    pub fn open(&mut self, sealed: &Sealed<'_>) -> Option<Message> {
        let is_theirs = sealed.session == self.session && sealed.is_authentic(&self.theirs);
        if !is_theirs || !self.used.take(sealed.number) {
            return None;
        }
        sealed.message().ok()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.ours.zeroize();
        self.theirs.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Datagram, parse};

    #[test]
    fn a_message_is_taken_once_and_by_the_other_side_only() {
        let handshake = [9; 32];
        let mut client = Link::new(&handshake, 5, Side::Client);
        let mut server = Link::new(&handshake, 5, Side::Server);
        let bytes = client.seal(&Message::Alive, &Proofs::default());
        let Ok(Datagram::Sealed(sealed)) = parse(&bytes) else { panic!("{bytes:?}") };
        assert_eq!(client.open(&sealed), None, "sent back");
        assert_eq!(server.open(&sealed), Some(Message::Alive));
        assert_eq!(server.open(&sealed), None, "sent twice");
        let mut stranger = Link::new(&[8; 32], 5, Side::Server);
        let Ok(Datagram::Sealed(sealed)) = parse(&bytes) else { panic!("{bytes:?}") };
        assert_eq!(stranger.open(&sealed), None, "another key");
        for byte in 0..bytes.len() {
            let mut bad = client.seal(&Message::Ready { phase: 3 }, &Proofs::default());
            if byte < bad.len() {
                bad[byte] ^= 1;
                if let Ok(Datagram::Sealed(sealed)) = parse(&bad) {
                    assert_eq!(server.open(&sealed), None, "byte {byte}");
                }
            }
        }
    }
}
