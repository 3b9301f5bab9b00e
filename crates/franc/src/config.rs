//! The configuration of a node: its role and its code. Values are the paper's
//! (section IV) where it gives them: field, block size, symbol size, encoder
//! timeout, overshoot.
//!
//! Lengths are in bytes. A datagram is what the transport carries (the payload of
//! UDP or of an Ethernet frame); an inner packet is an IP packet, header included.
//! Leaves out addresses and interfaces, which are the driver's.

use crate::backlog::BacklogConfig;
use crate::wire::{self, NodeId};
use alloc::vec::Vec;
use lasthop_rlnc::{Code, CodeError, Field};
use lasthop_units::{Bitrate, Duration, Probability};
use zeroize::Zeroize;

/// Length of a shared key in bytes.
pub const KEY_BYTES: usize = 32;

/// A shared key.
pub type Key = [u8; KEY_BYTES];

/// The role of a node.
///
/// A path of two hops with a recoder between the ends. A helper overhears the first hop, and a
/// forwarder carries the datagrams of the second one:
///
/// ```
/// use lasthop_franc::config::{Config, ConfigError, Keys, Role};
/// use lasthop_franc::{Address, Entropy, Node, NodeId, hop_key};
/// use lasthop_units::{Duration, Instant, Machine, Seed};
///
/// let [left, right, recoder, helper, forwarder] = [1, 2, 3, 4, 5].map(NodeId);
/// let (key, hop) = ([7; 32], hop_key(&[7; 32]));
/// let roles = [
///     (left, Role::End { peer: right, via: recoder, helpers: 1 }, Keys::Shared(key)),
///     (right, Role::End { peer: left, via: recoder, helpers: 0 }, Keys::Shared(key)),
///     // Nodes between the ends cannot read packets.
///     (recoder, Role::Recoder { between: [left, right] }, Keys::Hop(hop)),
///     (helper, Role::Helper { between: [left, recoder], helpers: 1 }, Keys::Hop(hop)),
///     (forwarder, Role::Forwarder { between: [recoder, right] }, Keys::Hop(hop)),
/// ];
/// let mut nodes = Vec::new();
/// for (id, role, keys) in roles {
///     let mut stream = Seed::new(1, u64::from(id.0)).stream("node");
///     let entropy = Entropy::from_stream(&mut stream);
///     let config = Config::new(id, role, keys, 1472);
///     nodes.push((id, Node::new(config, entropy, stream, Instant::ZERO)?));
/// }
/// let mut packet = vec![9; 100];
/// packet[..20].copy_from_slice(&[
///     0x45, 0, 0, 100, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
/// ]);
/// let mut arrived = 0;
/// for ms in 0..4_000 {
///     let now = Instant::ZERO + Duration::from_millis(ms);
///     if ms >= 2_000 && ms % 10 == 0 && ms < 3_000 {
///         nodes[0].1.handle_packet(now, &packet);
///     }
///     for at in 0..nodes.len() {
///         let from = nodes[at].0;
///         nodes[at].1.handle_timeout(now);
///         while let Some(transmit) = nodes[at].1.poll_transmit(now) {
///             let is_second_hop = [from, transmit.to].iter().all(|id| [recoder, right].contains(id));
///             let to = if is_second_hop { forwarder } else { transmit.to };
///             for (id, node) in &mut nodes {
///                 // The helper overhears all datagrams.
///                 if *id == to || *id == helper && from != helper {
///                     node.handle_datagram(now, Address::Node(from), &transmit.datagram);
///                 }
///             }
///         }
///     }
///     while let Some(received) = nodes[1].1.poll_packet() {
///         assert_eq!(received, packet);
///         arrived += 1;
///     }
/// }
/// assert_eq!(arrived, 100);
/// # Ok::<(), ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Encoder and decoder: one of the two ends of the link.
    End {
        /// The other end.
        peer: NodeId,
        /// The neighbour towards it: the other end itself, or a recoder.
        via: NodeId,
        /// Number of helpers on that hop, 0 to 2.
        helpers: u8,
    },
    /// A node that overhears both ends of a hop and sends combinations of the packets it received.
    Helper {
        /// The ends of the hop.
        between: [NodeId; 2],
        /// Number of helpers that share the work.
        helpers: u8,
    },
    /// Part of a longer path: reliable on both sides; recodes.
    Recoder {
        /// The two neighbours on the path.
        between: [NodeId; 2],
    },
    /// Forwards datagrams unchanged.
    Forwarder {
        /// The neighbours whose datagrams it forwards.
        between: [NodeId; 2],
    },
}

/// The keys of a node.
#[derive(Clone, PartialEq, Eq)]
pub enum Keys {
    /// The key of the ends: seals packets end to end; the hop key is derived from
    /// it.
    Shared(Key),
    /// The hop key only, for nodes that must not decrypt packets
    /// ([`crate::hop_key`]).
    Hop(Key),
    /// A public constant: detects accidental corruption, protects against no attacker.
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

/// Handling of packets that are much shorter than a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Small {
    /// Packets that wait together share a symbol.
    #[default]
    Share,
    /// Each packet has its own symbol.
    Alone,
}

/// When the paper's decoder acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AckRules {
    /// Whenever everything received is decoded, as in the text.
    #[default]
    Text,
    /// As in the authors' program of January 2014 (netmix 902fc60).
    January,
    /// As in the authors' program of March 2014 (netmix 94897df).
    March,
}

/// The way in which the paper's encoder reads waiting packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Reading {
    /// One by one: the budget of a packet is spent before the next one is taken
    /// (section II.D: the budget grows with each packet that is added, and is spent
    /// again), as in both of the authors' programs.
    #[default]
    Packet,
    /// All packets that fit in the block at once: another reading of section V.C
    /// (in bursts).
    Burst,
}

/// When the paper's encoder sends the packets that symbols grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Spending {
    /// The credit of each symbol follows that symbol (section II.D). A full block is granted the
    /// rest of its budget by PlayNCool, in whole packets.
    #[default]
    Text,
    /// The credit of each symbol follows that symbol, and nothing else, as in the authors' program
    /// of January 2014 (netmix 902fc60).
    January,
    /// One packet follows each symbol. The rest of the credits follows the last symbol of the
    /// block, as in the authors' program of March 2014 (netmix 94897df).
    March,
}

/// The amount that the paper's helper sends for the packets that it hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Helping {
    /// A credit for each packet above the threshold, up to the budget (section II.D).
    #[default]
    Text,
    /// From the threshold on at least one packet for each that it hears, and more if credits of
    /// innovative ones allow; none once the block had more than the budget. The first packet of a
    /// new block only announces the block. All of this as in both of the authors' programs
    /// (netmix 902fc60 and 94897df).
    Program,
}

/// The start of the wait of the paper's encoder for an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WaitStart {
    /// The last packet that it sent (section II.D).
    #[default]
    Text,
    /// The last packet that it sent or received: both of the authors' programs (netmix 902fc60 and
    /// 94897df) wait until no descriptor had an event for this time.
    Program,
}

/// Choices where the paper's text and its authors' programs differ, or where the
/// text is ambiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaperRules {
    /// When the decoder acknowledges.
    pub acknowledge: AckRules,
    /// The way in which the encoder reads packets.
    pub read: Reading,
    /// When the encoder sends the packets that symbols grant.
    pub spend: Spending,
    /// The amount that the helper sends.
    pub help: Helping,
    /// The start of the encoder's wait.
    pub wait: WaitStart,
    /// Packets that a timeout grants, at least 1; `None`: the credit of a symbol,
    /// as in the text.
    pub timeout_packets: Option<u8>,
}

impl PaperRules {
    /// The rules of the text.
    pub const TEXT: Self = Self {
        acknowledge: AckRules::Text,
        read: Reading::Packet,
        spend: Spending::Text,
        help: Helping::Text,
        wait: WaitStart::Text,
        timeout_packets: None,
    };

    /// The rules of the authors' program of January 2014 (netmix 902fc60), which also sends each
    /// symbol uncoded first.
    pub const JANUARY: Self = Self {
        acknowledge: AckRules::January,
        read: Reading::Packet,
        spend: Spending::January,
        help: Helping::Program,
        wait: WaitStart::Program,
        timeout_packets: None,
    };

    /// The rules of the authors' program of March 2014 (netmix 94897df), which also sends each
    /// symbol uncoded first.
    pub const MARCH: Self = Self {
        acknowledge: AckRules::March,
        spend: Spending::March,
        timeout_packets: Some(5),
        ..Self::JANUARY
    };
}

/// The scheme by which an end sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// The paper's: one block at a time, budgets, states ENC, WAIT and IDLE.
    Paper {
        /// Factor of the budgets; in the paper 1.05.
        overshoot: f64,
        /// Whether each symbol is sent uncoded before combinations. The text does not say; the
        /// authors' programs use Kodo's `sliding_window_encoder`, which does so by default.
        systematic: bool,
        /// Choices where the paper's text and its authors' programs differ.
        rules: PaperRules,
    },
    /// lasthop's: several blocks in flight, uncoded symbols first, combinations
    /// according to the measured loss and the destination's rank.
    Stream {
        /// Largest number of blocks in flight, 1 to 255.
        blocks_max: u8,
        /// Parameters of pacing, which keeps the queues of the path short
        /// ([`PaceConfig`]); `None` if the interface itself limits the rate.
        pace: Option<PaceConfig>,
    },
}

/// The parameters of rate control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaceConfig {
    /// Delay that datagrams may have in queues of the path.
    pub queue_target: Duration,
    /// Upper bound of the rate; `None`: no bound.
    pub rate_max: Option<Bitrate>,
}

/// Loss probabilities of the links of a hop with a helper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Losses {
    /// From source to helper.
    pub e1: Probability,
    /// From helper to destination.
    pub e2: Probability,
    /// From source to destination.
    pub e3: Probability,
}

/// Losses by injection, for tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SyntheticLoss {
    /// The neighbour whose datagrams are affected, regardless of their recipient.
    pub from: NodeId,
    /// Probability that a datagram is dropped before it is processed.
    pub loss: Probability,
}

/// The configuration of a node.
///
/// ```
/// use lasthop_franc::NodeId;
/// use lasthop_franc::config::{Config, ConfigError, Keys, Role};
///
/// let role = Role::End { peer: NodeId(2), via: NodeId(2), helpers: 0 };
/// let config = Config::new(NodeId(1), role, Keys::Shared([7; 32]), 1472);
/// assert_eq!(config.check(), Ok(()));
/// // The tunnel's MTU is a datagram less the link's headers.
/// assert!((1400..1472).contains(&config.inner_mtu()));
/// let wrong = Config { keys: Keys::Hop([7; 32]), ..config };
/// assert_eq!(wrong.check(), Err(ConfigError::HopKeyAtEnd));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Number of the node on its link.
    pub id: NodeId,
    /// Role of the node.
    pub role: Role,
    /// Keys of the node.
    pub keys: Keys,
    /// The field of the coefficients.
    pub field: Field,
    /// Symbols per block, 1 to 1 024.
    pub block_symbols: u16,
    /// Length of a symbol in bytes.
    pub symbol_bytes: u16,
    /// Length of the longest datagram that the transport carries, in bytes.
    pub datagram_bytes_max: u16,
    /// The scheme by which it sends.
    pub mode: Mode,
    /// Time that an end waits for an acknowledgement in addition to a round trip; in the paper's
    /// mode the whole time.
    pub encoder_timeout: Duration,
    /// Loss probabilities as seen from this node; `None`: they are estimated.
    pub losses: Option<Losses>,
    /// Handling of small packets.
    pub small: Small,
    /// Parameters of the backlog.
    pub backlog: BacklogConfig,
    /// Number of blocks after which both ends derive their next key; at least 16.
    pub rekey_blocks: u32,
    /// Losses by injection.
    pub synthetic: Vec<SyntheticLoss>,
    /// Number of links to the other end, 1 or 2; both ends must have the same. With two, each
    /// datagram names its link, and symbols go on both.
    pub links: u8,
}

/// Why a configuration is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The parameters of the code are not valid.
    #[error(transparent)]
    Code(#[from] CodeError),
    /// A block has too many symbols.
    #[error("a block has 1 to {allowed} symbols, not {is}")]
    Block {
        /// Configured number of symbols.
        is: u16,
        /// Largest number of symbols.
        allowed: u16,
    },
    /// A symbol does not fit in a datagram.
    #[error(
        "a symbol of {symbol} bytes needs a datagram of {needed} with its headers and \
         coefficients, and the path carries {allowed}: use symbols of at most {fits}"
    )]
    Symbol {
        /// Length of a symbol in bytes.
        symbol: u16,
        /// Length of the longest datagram with such a symbol in bytes.
        needed: usize,
        /// Length of the longest datagram that is allowed, in bytes.
        allowed: u16,
        /// Length of the longest symbol that fits, in bytes.
        fits: usize,
    },
    /// A HELLO does not fit in a datagram.
    #[error(
        "the path carries datagrams of {is} bytes, and a HELLO has {}: it needs a larger MTU",
        wire::CONTROL_BYTES
    )]
    Datagram {
        /// Length of the longest datagram that is allowed, in bytes.
        is: u16,
    },
    /// A symbol is too short for a packet of [`INNER_MTU_MIN`] bytes.
    #[error(
        "a symbol of {symbol} bytes leaves {mtu} for a packet; at least {INNER_MTU_MIN} are needed: \
         use symbols of {} bytes or more, for which the path may need a larger MTU",
        usize::from(*.symbol) + INNER_MTU_MIN - .mtu
    )]
    Small {
        /// Length of a symbol in bytes.
        symbol: u16,
        /// Bytes that it leaves for a packet.
        mtu: usize,
    },
    /// Two nodes have the same number.
    #[error("node {0} is named twice; each node of a link needs a different number")]
    Twice(NodeId),
    /// An end needs the shared key, not only the hop key.
    #[error("an end needs the shared key; the hop key is for helpers, recoders and forwarders")]
    HopKeyAtEnd,
    /// A parameter is outside of its range.
    #[error("{what} must be {allowed}")]
    Range {
        /// Name of the parameter.
        what: &'static str,
        /// The range that is allowed.
        allowed: &'static str,
    },
}

/// The smallest MTU of a link in bytes: what IPv4 requires of every link (RFC 791).
pub const INNER_MTU_MIN: usize = 68;

/// Symbols are not shortened below this for a path with a smaller MTU.
const SYMBOL_BYTES_MIN: u16 = 128;

/// Largest number of symbols per block.
pub const BLOCK_SYMBOLS_MAX: u16 = 1024;

impl Config {
    /// The daemon's default, tuned for a lossy link of 12 Mb/s and 10 ms: GF(2^8),
    /// 64 symbols per block, at most 128 blocks in flight, a timeout of 20 ms.
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
                blocks_max: 128,
                pace: Some(PaceConfig { queue_target: Duration::from_millis(5), rate_max: None }),
            },
            encoder_timeout: Duration::from_millis(20),
            losses: None,
            small: Small::Share,
            backlog: BacklogConfig::default(),
            rekey_blocks: 1 << 14,
            synthetic: Vec::new(),
            links: 1,
        };
        config.symbol_bytes = config.symbol_bytes_max();
        config
    }

    /// Length in bytes of the longest symbol that fits in a datagram. Where helpers or recoders
    /// recode, the datagram also has space for the coefficients of a block.
    pub fn symbol_bytes_max(&self) -> u16 {
        self.fitting(self.datagram_bytes_max)
    }

    /// Length of a symbol, at most [`Self::symbol_bytes`], that fits in datagrams
    /// of `datagram_bytes`.
    pub(crate) fn symbol_bytes_in(&self, datagram_bytes: u16) -> u16 {
        self.symbol_bytes.min(self.fitting(datagram_bytes).max(SYMBOL_BYTES_MIN))
    }

    fn fitting(&self, datagram_bytes: u16) -> u16 {
        let fits = usize::from(datagram_bytes).saturating_sub(self.around_symbol());
        u16::try_from(fits).unwrap_or(u16::MAX)
    }

    /// Largest length of a datagram without its symbol, in bytes.
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

    /// Length of the longest inner packet in bytes.
    pub fn inner_mtu(&self) -> usize {
        usize::from(self.symbol_bytes).saturating_sub(wire::SYMBOL_OVERHEAD_BYTES)
    }

    /// The parameters of the code.
    ///
    /// # Errors
    /// If they are not valid.
    pub fn code(&self) -> Result<Code, CodeError> {
        Code::new(self.field, self.block_symbols, usize::from(self.symbol_bytes))
    }

    /// Checks the configuration.
    ///
    /// # Errors
    /// Returns the first problem found.
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
        let range = |ok: bool, what, allowed| {
            if ok { Ok(()) } else { Err(ConfigError::Range { what, allowed }) }
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
        if self.links > 1 {
            let is_direct = matches!(self.role, Role::End { peer, via, helpers: 0 } if peer == via);
            let is_stream = matches!(self.mode, Mode::Stream { pace: Some(_), .. });
            range(is_direct, "links", "1 with recoders or helpers")?;
            range(is_stream, "links", "1 without a pace")?;
        }
        range((1..=wire::LINKS_MAX).contains(&self.links), "links", "1 or 2")?;
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
