//! What a node is and how it codes. Values as in the paper (section IV) where it names
//! them: field, block size, symbol size, encoder timeout, overshoot.
//!
//! Lengths are bytes; a datagram is what the transport carries for us (the payload of
//! UDP or of an Ethernet frame), an inner packet an IP packet, header included.

use crate::backlog::BacklogConfig;
use crate::wire::{self, NodeId};
use alloc::vec::Vec;
use lasthop_rlnc::{Code, CodeError, Field};
use lasthop_units::{Bitrate, Duration, Probability};
use zeroize::Zeroize;

/// Bytes of a shared key.
pub const KEY_BYTES: usize = 32;

/// A shared key.
pub type Key = [u8; KEY_BYTES];

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Encoder and decoder: one of the two ends.
    End {
        /// The other end.
        peer: NodeId,
        /// The neighbour on the way to it: the peer itself, or a recoder.
        via: NodeId,
        /// Helpers beside that hop, 0 to 2.
        helpers: u8,
    },
    /// Hears both ends of a hop and sends combinations of what it heard.
    Helper {
        /// The ends of the hop.
        between: [NodeId; 2],
        /// How many helpers share the work.
        helpers: u8,
    },
    /// Takes part in a longer path: reliable on both sides, codes anew.
    Recoder {
        /// Its neighbours on the path.
        between: [NodeId; 2],
    },
    /// Passes datagrams on as they are.
    Forwarder {
        /// The nodes on its two sides whose datagrams pass.
        between: [NodeId; 2],
    },
}

/// What is shared with whom.
#[derive(Clone, PartialEq, Eq)]
pub enum Keys {
    /// The ends' key: seals packets end to end, and the hop key follows from it.
    Shared(Key),
    /// The hop key alone, for nodes that must not read ([`crate::hop_key`]).
    Hop(Key),
    /// A key that everybody knows: finds accidents, stops nobody.
    Insecure,
}

impl Drop for Keys {
    fn drop(&mut self) {
        match self {
            Self::Shared(key) | Self::Hop(key) => key.zeroize(),
            Self::Insecure => {}
        }
    }
}

impl core::fmt::Debug for Keys {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Shared(_) => "Shared(..)",
            Self::Hop(_) => "Hop(..)",
            Self::Insecure => "Insecure",
        })
    }
}

/// What becomes of packets that are much shorter than a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Small {
    /// Those that wait together share a symbol.
    #[default]
    Share,
    /// Each packet has a symbol of its own.
    Alone,
}

/// When the paper's decoder acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AckRules {
    /// Whenever all that it received is decoded, as the text has it.
    #[default]
    Text,
    /// As the authors' program of January 2014 (netmix 902fc60).
    January,
    /// As the authors' program of March 2014 (netmix 94897df).
    March,
}

/// How the paper's encoder reads the packets that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Reading {
    /// One by one: what a packet adds to the budget is sent before the next is read (section
    /// II.D: the budget grows with each packet that is added, and is spent again), as in both
    /// of the authors' programs.
    #[default]
    Packet,
    /// All that the block has room for at once, another reading of section V.C (in bursts).
    Burst,
}

/// Where the paper's text and its authors' programs differ, or the text can be read in two
/// ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaperRules {
    /// When the decoder acknowledges.
    pub acknowledge: AckRules,
    /// How the encoder reads.
    pub read: Reading,
    /// Packets that a timeout asks for, at least 1; `None`: a symbol's credit, as the text
    /// has it.
    pub timeout_packets: Option<u8>,
}

impl PaperRules {
    /// The text's.
    pub const TEXT: Self =
        Self { acknowledge: AckRules::Text, read: Reading::Packet, timeout_packets: None };
}

/// When an end sends what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// The paper's: one block at a time, budgets, states ENC, WAIT and IDLE.
    Paper {
        /// Budgets are multiplied by this; the paper: 1.05.
        overshoot: f64,
        /// Send each symbol as it is before combinations; the paper does not.
        systematic: bool,
        /// Where the paper's text and its authors' programs differ.
        rules: PaperRules,
    },
    /// Ours: several blocks in flight, symbols first as they are, combinations as the
    /// measured loss and the destination's rank ask for.
    Stream {
        /// Blocks in flight at most, 1 to 255.
        blocks_max: u8,
        /// Keep the queue of the way short ([`PaceConfig`]); `None` where the
        /// interface itself says when it takes more.
        pace: Option<PaceConfig>,
    },
}

/// How the rate of sending is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaceConfig {
    /// Delay that datagrams may have in queues of the way.
    pub queue_target: Duration,
    /// Never send faster than this.
    pub rate_max: Option<Bitrate>,
}

/// Error probabilities of the links of a hop with a helper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Losses {
    /// Source to helper.
    pub e1: Probability,
    /// Helper to destination.
    pub e2: Probability,
    /// Source to destination.
    pub e3: Probability,
}

/// Datagrams to lose by injection, for tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SyntheticLoss {
    /// Of those that this neighbour sends, whomever they are for.
    pub from: NodeId,
    /// So many are lost before anything looks at them.
    pub loss: Probability,
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Its number on the link.
    pub id: NodeId,
    /// What it is.
    pub role: Role,
    /// Its keys.
    pub keys: Keys,
    /// The field of coefficients.
    pub field: Field,
    /// Symbols of a block, 1 to 1 024.
    pub block_symbols: u16,
    /// Bytes of a symbol.
    pub symbol_bytes: u16,
    /// The longest datagram that the transport carries.
    pub datagram_bytes_max: u16,
    /// When to send what.
    pub mode: Mode,
    /// How long an end waits for an acknowledgement beyond a round trip (the paper's
    /// mode: altogether).
    pub encoder_timeout: Duration,
    /// Error probabilities from this node's side, if they are not to be estimated.
    pub losses: Option<Losses>,
    /// What becomes of small packets.
    pub small: Small,
    /// Packets that wait to be coded.
    pub backlog: BacklogConfig,
    /// Blocks after which both ends derive their next key; at least 16.
    pub rekey_blocks: u32,
    /// Injected losses.
    pub synthetic: Vec<SyntheticLoss>,
}

/// A node that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The code is unsound.
    #[error(transparent)]
    Code(#[from] CodeError),
    /// A block of too many symbols.
    #[error("a block has 1 to {allowed} symbols, not {is}")]
    Block {
        /// What was asked for.
        is: u16,
        /// The most.
        allowed: u16,
    },
    /// A symbol does not fit in a datagram.
    #[error(
        "a symbol of {symbol} bytes needs a datagram of {needed} with its headers and \
         coefficients, and the path carries {allowed}: use symbols of at most {fits}"
    )]
    Symbol {
        /// Bytes of a symbol.
        symbol: u16,
        /// Bytes of the longest datagram with it.
        needed: usize,
        /// The bound.
        allowed: u16,
        /// The longest symbol that fits.
        fits: usize,
    },
    /// A HELLO does not fit in a datagram.
    #[error(
        "the path carries datagrams of {is} bytes, and a HELLO has {}: it needs a larger MTU",
        wire::CONTROL_BYTES
    )]
    Datagram {
        /// The bound.
        is: u16,
    },
    /// A symbol has no room for a packet of [`INNER_MTU_MIN`] bytes.
    #[error(
        "a symbol of {symbol} bytes leaves {mtu} for a packet; at least {INNER_MTU_MIN} are needed: \
         use symbols of {} bytes or more, for which the path may need a larger MTU",
        usize::from(*.symbol) + INNER_MTU_MIN - .mtu
    )]
    Small {
        /// Bytes of a symbol.
        symbol: u16,
        /// Bytes left.
        mtu: usize,
    },
    /// Two nodes have one number.
    #[error("node {0} is named twice; every node of a link has a number of its own")]
    Twice(NodeId),
    /// An end needs the shared key.
    #[error("an end needs the shared key; the hop key is for helpers, recoders and forwarders")]
    HopKeyAtEnd,
    /// A parameter out of its range.
    #[error("{what} must be {allowed}")]
    Range {
        /// Which.
        what: &'static str,
        /// What is allowed.
        allowed: &'static str,
    },
}

/// The shortest MTU of a link: what IPv4 asks of every link (RFC 791).
pub const INNER_MTU_MIN: usize = 68;

/// Symbols are not made shorter than this for a path that carries less.
const SYMBOL_BYTES_MIN: u16 = 128;

/// Symbols of a block at most.
pub const BLOCK_SYMBOLS_MAX: u16 = 1024;

impl Config {
    /// A node as the daemon makes it by default, tuned for a lossy link of 12 Mb/s and
    /// 10 ms: GF(2^8), 64 symbols a block, 16 blocks, a timeout of 20 ms.
    pub fn new(id: NodeId, role: Role, keys: Keys, datagram_bytes_max: u16) -> Self {
        let mut config = Self {
            id,
            role,
            keys,
            field: Field::Gf256,
            block_symbols: 64,
            symbol_bytes: 0,
            datagram_bytes_max,
            mode: Mode::Stream {
                blocks_max: 64,
                pace: Some(PaceConfig { queue_target: Duration::from_millis(5), rate_max: None }),
            },
            encoder_timeout: Duration::from_millis(20),
            losses: None,
            small: Small::Share,
            backlog: BacklogConfig::default(),
            rekey_blocks: 1 << 14,
            synthetic: Vec::new(),
        };
        config.symbol_bytes = config.symbol_bytes_max();
        config
    }

    /// The longest symbol that fits in a datagram. Where helpers or recoders code anew,
    /// there is room for the coefficients of a block.
    pub fn symbol_bytes_max(&self) -> u16 {
        self.fitting(self.datagram_bytes_max)
    }

    /// How long a symbol may be, at most [`Self::symbol_bytes`], so that it fits in datagrams
    /// of `datagram_bytes`.
    pub(crate) fn symbol_bytes_in(&self, datagram_bytes: u16) -> u16 {
        self.symbol_bytes.min(self.fitting(datagram_bytes).max(SYMBOL_BYTES_MIN))
    }

    fn fitting(&self, datagram_bytes: u16) -> u16 {
        let fits = usize::from(datagram_bytes).saturating_sub(self.around_symbol());
        u16::try_from(fits).unwrap_or(u16::MAX)
    }

    /// Bytes of a datagram around its symbol at most.
    fn around_symbol(&self) -> usize {
        let recoded = match self.role {
            Role::End { peer, via, helpers } => helpers > 0 || peer != via,
            _ => true,
        };
        let own = match self.mode {
            Mode::Stream { .. } => wire::NUMBERED_BYTES,
            Mode::Paper { .. } => wire::SEEDED_BYTES,
        };
        let packed = self.field.packed_bytes(usize::from(self.block_symbols));
        wire::enc_bytes(if recoded { own.max(wire::full_bytes(packed)) } else { own })
    }

    /// The longest inner packet.
    pub fn inner_mtu(&self) -> usize {
        usize::from(self.symbol_bytes).saturating_sub(wire::SYMBOL_OVERHEAD_BYTES)
    }

    /// The code.
    ///
    /// # Errors
    /// If it is unsound.
    pub fn code(&self) -> Result<Code, CodeError> {
        Code::new(self.field, self.block_symbols, usize::from(self.symbol_bytes))
    }

    /// Checks everything that can be wrong.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.code()?;
        if self.block_symbols > BLOCK_SYMBOLS_MAX {
            let (is, allowed) = (self.block_symbols, BLOCK_SYMBOLS_MAX);
            return Err(ConfigError::Block { is, allowed });
        }
        let (symbol, allowed) = (self.symbol_bytes, self.datagram_bytes_max);
        if self.inner_mtu() < INNER_MTU_MIN {
            return Err(ConfigError::Small { symbol, mtu: self.inner_mtu() });
        }
        let needed = usize::from(symbol) + self.around_symbol();
        if usize::from(allowed) < wire::CONTROL_BYTES {
            return Err(ConfigError::Datagram { is: allowed });
        }
        if needed > usize::from(allowed) {
            let fits = usize::from(self.symbol_bytes_max());
            return Err(ConfigError::Symbol { symbol, needed, allowed, fits });
        }
        let others: Vec<NodeId> = match self.role {
            Role::End { peer, via, .. } if peer == via => alloc::vec![peer],
            Role::End { peer, via, .. } => alloc::vec![peer, via],
            Role::Helper { between, .. }
            | Role::Recoder { between }
            | Role::Forwarder { between } => between.to_vec(),
        };
        for (at, &other) in others.iter().enumerate() {
            if other == self.id || others[..at].contains(&other) {
                return Err(ConfigError::Twice(other));
            }
        }
        if matches!(self.role, Role::End { .. }) && matches!(self.keys, Keys::Hop(_)) {
            return Err(ConfigError::HopKeyAtEnd);
        }
        let range = |ok: bool, what, allowed| match ok {
            true => Ok(()),
            false => Err(ConfigError::Range { what, allowed }),
        };
        range(self.rekey_blocks >= 16, "blocks between keys", "at least 16")?;
        range(!self.encoder_timeout.is_zero(), "the encoder timeout", "above zero")?;
        match (&self.role, self.mode) {
            (Role::End { helpers, .. }, _) => range(*helpers <= 2, "helpers", "0 to 2")?,
            (Role::Helper { helpers, .. }, _) => {
                range((1..=2).contains(helpers), "helpers", "1 or 2")?;
            }
            _ => {}
        }
        match self.mode {
            Mode::Paper { overshoot, rules, .. } => {
                range(rules.timeout_packets != Some(0), "packets at a timeout", "at least 1")?;
                range((1.0..=10.0).contains(&overshoot), "the overshoot", "1 to 10")
            }
            Mode::Stream { blocks_max, .. } => {
                range(blocks_max > 0, "blocks in flight", "1 to 255")
            }
        }
    }
}
