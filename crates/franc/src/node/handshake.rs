//! Beginning of a session: each end sends a public key until the other one returns it.
//!
//! ```text
//! a: HELLO key A, echo -         b: HELLO key B, echo A     an answer; b keeps nothing
//! a: has the session (A, B), because A, which nobody used before, came back
//! a: HELLO key A, echo B         b: has it too
//! ```
//!
//! A key pair is used for one session and erased. A question may carry the other end's key of a
//! session that exists already, because our answer was lost or the question was late. It is
//! answered with the keys of that session: with a new key both ends would begin another session. A
//! HELLO that returns none of our keys proves nothing, whoever made it; the answer to it costs
//! neither state nor key computation. A new session is a candidate until a pulse or a symbol of it
//! arrives, which cannot exist before both ends have the session. Only then it replaces the current
//! session, whose keys are erased. Leaves out the keys themselves (`keys`) and the times of HELLOs
//! (`end`).

use crate::keys::Pair;
use crate::secret::{Entropy, Ephemeral, PublicKey};
use crate::wire::{Hello, KEY_BYTES};
use lasthop_units::{Duration, Instant};

/// The state of one end in the handshake.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Handshake {
    /// Our key pair, not yet used for a session.
    ours: Ephemeral,
    /// Time at which its public key was first sent.
    said: Option<Instant>,
    /// The other end's last key: returning it saves a question, but it may be
    /// outdated.
    heard: Option<PublicKey>,
    /// Whether the next question returns that key.
    is_echoed: bool,
}

impl Handshake {
    pub fn new(entropy: &mut Entropy) -> Self {
        Self { ours: Ephemeral::new(entropy), said: None, heard: None, is_echoed: false }
    }

    /// Our key pair, not yet used for a session.
    pub fn ours(&self) -> &Ephemeral {
        &self.ours
    }

    /// The other end sent a key that may be of a future session.
    pub fn hear(&mut self, theirs: PublicKey) {
        self.heard = Some(theirs);
    }

    /// Key and echo to send while there is no session. Every second question
    /// returns the last key received, which may answer the other end, or be of a
    /// recording.
    pub fn ask(&mut self, now: Instant) -> (PublicKey, PublicKey) {
        let echo = self.heard.filter(|_| self.is_echoed);
        self.is_echoed = !self.is_echoed;
        (self.say(now), echo.unwrap_or([0; KEY_BYTES]))
    }

    /// Our public key, which is being sent.
    pub fn say(&mut self, now: Instant) -> PublicKey {
        self.said.get_or_insert(now);
        *self.ours.public()
    }

    /// Time since our public key was first sent.
    pub fn age(&self, now: Instant) -> Duration {
        self.said.map_or(Duration::ZERO, |said| now.saturating_since(said))
    }

    /// The session that `hello` begins, if it returns our key.
    pub fn begun_by(&self, hello: &Hello) -> Option<Pair> {
        Pair::from_hello(hello).filter(|_| hello.echo == *self.ours.public())
    }

    /// Replaces our key pair, which was used.
    pub fn renew(&mut self, entropy: &mut Entropy) {
        *self = Self::new(entropy);
    }
}
