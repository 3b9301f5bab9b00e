//! Sessions that nodes between the ends have heard begin. An end confirms a session by a
//! HELLO that names both nonces; which of the last few is in use, the tags of what follows
//! say.

use crate::keys::{Nonces, Secrets, Tagger};
use crate::wire::{Hello, NONCE_BYTES, NodeId};
use alloc::collections::VecDeque;

/// Sessions remembered: the current one, its successor, and a stranger's replays.
const SESSIONS_MAX: usize = 4;

/// A session as the hop key shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Heard {
    pub id: u16,
    pub tagger: Tagger,
    nonces: Nonces,
    /// The ends, the lower number first.
    pub ends: [NodeId; 2],
}

/// The last few sessions.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Sessions(VecDeque<Heard>);

impl Sessions {
    /// Takes note of a HELLO.
    pub fn hear(&mut self, secrets: &Secrets, hello: &Hello) {
        if hello.echo == [0; NONCE_BYTES] {
            return;
        }
        let nonces = Nonces::of(hello);
        if self.0.iter().any(|known| known.nonces == nonces) {
            return;
        }
        let (id, tagger) = secrets.session(&nonces);
        let (a, b) = (hello.origin, hello.destination);
        self.0.push_front(Heard { id, tagger, nonces, ends: [a.min(b), a.max(b)] });
        self.0.truncate(SESSIONS_MAX);
    }

    /// The session that `datagram` with abbreviation `id` belongs to.
    pub fn find(&self, id: u16, datagram: &[u8]) -> Option<Heard> {
        let mut found = self.0.iter().filter(|known| known.id == id);
        found.find(|known| known.tagger.is_authentic(datagram)).copied()
    }

    /// Whether any session is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
