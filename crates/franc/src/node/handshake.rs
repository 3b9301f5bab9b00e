//! How a session begins: each end says a public key until the other one says it back.
//!
//! ```text
//! a: HELLO key A, echo -         b: HELLO key B, echo A     an answer; b keeps nothing
//! a: has the session (A, B), because A, which nobody used before, came back
//! a: HELLO key A, echo B         b: has it too
//! ```
//!
//! A key pair is used for one session and erased. A HELLO that says back no key of ours
//! proves nothing, whoever made it: it is answered, and neither state nor work is spent on
//! it. A session that began is a candidate until a pulse or a symbol of it came, which
//! nobody could make before both ends had it; only then it takes the place of the one there
//! is, and that one's keys are erased.

use crate::keys::Pair;
use crate::secret::{Entropy, Ephemeral, PublicKey};
use crate::wire::{Hello, KEY_BYTES};
use lasthop_units::{Duration, Instant};

/// An end's side of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Handshake {
    /// Of no session yet.
    ours: Ephemeral,
    /// When its public key was first said.
    said: Option<Instant>,
    /// What the other end said last: an echo that saves it a question, and may be wrong.
    heard: Option<PublicKey>,
    /// Whether the next question has that echo.
    is_echoed: bool,
}

impl Handshake {
    pub fn new(entropy: &mut Entropy) -> Self {
        Self { ours: Ephemeral::new(entropy), said: None, heard: None, is_echoed: false }
    }

    /// Our key pair, of no session yet.
    pub fn ours(&self) -> &Ephemeral {
        &self.ours
    }

    /// The other end said a key that may be of a session to come.
    pub fn hear(&mut self, theirs: PublicKey) {
        self.heard = Some(theirs);
    }

    /// Key and echo to say while there is no session. Every second question has the echo
    /// of what was heard, which may answer the other end, or be of a recording.
    pub fn ask(&mut self, now: Instant) -> (PublicKey, PublicKey) {
        let echo = self.heard.filter(|_| self.is_echoed);
        self.is_echoed = !self.is_echoed;
        (self.say(now), echo.unwrap_or([0; KEY_BYTES]))
    }

    /// Our public key, to be said.
    pub fn say(&mut self, now: Instant) -> PublicKey {
        self.said.get_or_insert(now);
        *self.ours.public()
    }

    /// How long ago that was first.
    pub fn age(&self, now: Instant) -> Duration {
        self.said.map_or(Duration::ZERO, |said| now.saturating_since(said))
    }

    /// The session that `hello` begins, if it says back our key.
    pub fn begun_by(&self, hello: &Hello) -> Option<Pair> {
        Pair::of(hello).filter(|_| hello.echo == *self.ours.public())
    }

    /// Our key pair was used.
    pub fn renew(&mut self, entropy: &mut Entropy) {
        *self = Self::new(entropy);
    }
}
