//! How a session begins: each end says its nonce until the other repeats it.
//!
//! ```text
//! a: HELLO nonce A, echo -      b: HELLO nonce B, echo A     b has no proof yet
//! a: has one (A came back)      a: HELLO nonce A, echo B     b: has one
//! ```
//!
//! A nonce is used for one session; an answer to what was not asked is ignored, so a
//! recorded HELLO makes an end answer and nothing else. A restarted end asks with an empty
//! echo, and is answered with a fresh nonce.

use crate::keys::{Nonces, SessionNonce};
use crate::wire::{Hello, NONCE_BYTES};
use lasthop_units::Stream;

/// An end's side of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Handshake {
    /// What this end says.
    nonce: SessionNonce,
    /// What the other end said last, for the echo.
    heard: Option<SessionNonce>,
    /// Whether `nonce` made a session already.
    is_used: bool,
}

/// What a HELLO asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// Nothing.
    Ignore,
    /// The session of this pair of nonces, and an answer.
    Begin(Nonces),
    /// An answer.
    Answer,
    /// Nothing but a sign of life of the session.
    Alive,
}

fn fresh(stream: &mut Stream) -> SessionNonce {
    let mut nonce = [0; NONCE_BYTES];
    nonce[..8].copy_from_slice(&stream.next_u64().to_be_bytes());
    nonce[8..].copy_from_slice(&stream.next_u64().to_be_bytes());
    nonce
}

impl Handshake {
    pub fn new(stream: &mut Stream) -> Self {
        Self { nonce: fresh(stream), heard: None, is_used: false }
    }

    /// Forgets the other end.
    pub fn restart(&mut self, stream: &mut Stream) {
        *self = Self::new(stream);
    }

    /// Asks for another session beside the one there is.
    pub fn renew(&mut self, stream: &mut Stream) {
        if self.is_used {
            self.restart(stream);
        }
    }

    /// Nonce and echo to say where there is no session, or to who asks for a new one.
    pub fn say(&self) -> (SessionNonce, SessionNonce) {
        (self.nonce, self.heard.unwrap_or([0; NONCE_BYTES]))
    }

    /// Takes what the other end says; `current` is the session that there is.
    pub fn handle(&mut self, hello: &Hello, current: Option<Nonces>, stream: &mut Stream) -> Step {
        let nonces = Nonces::of(hello);
        if hello.echo != [0; NONCE_BYTES] && current == Some(nonces) {
            return Step::Alive;
        }
        if hello.echo == self.nonce && !self.is_used {
            self.heard = Some(hello.nonce);
            self.is_used = true;
            return Step::Begin(nonces);
        }
        if hello.echo != [0; NONCE_BYTES] {
            return Step::Ignore;
        }
        if self.is_used {
            self.nonce = fresh(stream);
            self.is_used = false;
        }
        self.heard = Some(hello.nonce);
        Step::Answer
    }
}
