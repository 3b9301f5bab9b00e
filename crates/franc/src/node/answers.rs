//! Reasons why no session begins, from the HELLOs and CALLs that a node hears. A node
//! without a session reports one after three seconds, then once a minute. Only
//! datagrams with the tag of the hop key count. Leaves out other keys, codes and
//! versions: their events are in `node`.

use crate::address::Address;
use crate::wire::NodeId;
use lasthop_units::{Duration, Instant};

/// Time without a session after which a node says why, and until it says so again. A reason that
/// explains more than the last one said waits only for the first of the two.
const PATIENCE: [Duration; 2] = [Duration::from_secs(3), Duration::from_secs(60)];

/// The reason why a neighbour does not answer; the last one explains most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// This node hears no neighbour.
    Silent,
    /// Two other ends are heard.
    Strangers {
        /// The number of the one that is heard.
        asking: NodeId,
        /// The node for which it asks.
        wanted: NodeId,
        /// The address from which it asks.
        from: Address,
    },
    /// This node hears the neighbour, and the neighbour does not hear this node.
    Deaf,
    /// A neighbour asks for another node than this one.
    OtherPeer {
        /// The number of the neighbour.
        asking: NodeId,
        /// The node for which it asks.
        wanted: NodeId,
    },
    /// A node with another number is heard in its place.
    OtherNumber {
        /// The other number.
        number: NodeId,
        /// The address of that node.
        from: Address,
    },
    /// Another node has the number of this one.
    SameNumber {
        /// The address of that node.
        from: Address,
    },
}

impl Unanswered {
    /// The higher, the more it explains.
    const fn rank(self) -> u8 {
        match self {
            Self::Silent => 0,
            Self::Strangers { .. } => 1,
            Self::Deaf => 2,
            Self::OtherPeer { .. } => 3,
            Self::OtherNumber { .. } => 4,
            Self::SameNumber { .. } => 5,
        }
    }
}

/// The reason heard since there is no session.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answers {
    due: Instant,
    heard: Unanswered,
    /// Rank of the last reason said.
    said: Option<u8>,
    /// Whether another event explained it.
    is_explained: bool,
}

impl Answers {
    pub fn new(now: Instant) -> Self {
        let heard = Unanswered::Silent;
        Self { due: now + PATIENCE[0], heard, said: None, is_explained: false }
    }

    /// Takes a reason.
    pub fn note(&mut self, now: Instant, heard: Unanswered) {
        if heard.rank() >= self.heard.rank() {
            self.heard = heard;
        }
        if self.said.is_some_and(|said| heard.rank() > said) {
            self.due = self.due.min(now + PATIENCE[0]);
        }
    }

    /// Another event explains why there is no session.
    pub fn explained(&mut self) {
        self.is_explained = true;
    }

    /// The reason to report, if it is time.
    pub fn take(&mut self, now: Instant) -> Option<Unanswered> {
        if now < self.due {
            return None;
        }
        let Self { heard, is_explained, .. } = *self;
        let said = if is_explained { Unanswered::Silent } else { heard };
        *self = Self { due: now + PATIENCE[1], said: Some(said.rank()), ..Self::new(now) };
        (!is_explained).then_some(heard)
    }
}
