//! The encoding of datagrams. Numbers are big-endian, lengths in bytes. Every
//! datagram starts with
//!
//! ```text
//! version and kind (1) | sender (1) | to (1) | session (2) | number (4)
//! ```
//!
//! and ends with a tag of 8 bytes over everything before it (`keys`). Between them
//! is one of
//!
//! ```text
//! ENC    block (4) | blocks down to the sender's oldest (1) | vector | payload
//!        vector: index (2), or first (2) count (2) of a combination whose seed is the
//!        datagram's number, or seed (4) first (2) count (2), or first (2) count (2) and
//!        the coefficients
//! ACK    all blocks below are done (4) | state of the receiver (2)
//!        | link reports (1), each node (1) highest number (4) received (4)
//!          heard at (4) delay (2) | block reports (1, the highest bit: there are more),
//!          each block (4) restarts (5 bits) rank (11 bits) bits (2) bitmap
//! BOTH   an ACK | kind of an ENC (1) | that ENC
//! HELLO  origin (1) | destination (1) | key (32) | the other end's key (32)
//!        | count (4) | blocks (1) | digest of the code (4) | proof (16) | hop fields (52)
//! CALL   hop fields (52) | zeros (91)
//! PULSE  counter (8) | received (8), arrived (8), oldest block (4), longest datagram (2),
//!        link reports without nodes (14 each, zeros if there is one link) and zeros (69), sealed
//!        | seal (16)
//! PROBE  a PULSE, and zeros: whether a datagram of this length comes (RFC 8899)
//! hop fields: cookie (16) | the neighbour's cookie (16) | life of the node (8) | count (4)
//!        | highest number heard (4) | next number (4)
//! ```
//!
//! ENC and ACK are the paper's two types. On Wi-Fi a datagram costs as much airtime
//! as some hundred bytes, so an ACK is sent in BOTH if there is an ENC for the same
//! neighbour. HELLO begins a session and announces it to the nodes between the
//! ends; CALL requests one, from the address that its sender claims; PULSE reports
//! end to end what arrived. These three have the same length, so that no answer is
//! longer than its question. Zeros at the end of a payload are left out.
//!
//! Between ends of two links the highest bit of a number names the link, also in a HELLO or a CALL,
//! whose number is 0 otherwise, in the highest number of a link report, and in the counter of a
//! PULSE. The other bits count on each link separately.
//!
//! The first two bytes have the same meaning in every version of the protocol.
//! Leaves out fragmentation: a datagram fits into a packet.

use alloc::vec::Vec;
use core::fmt;
use lasthop_rlnc::{Density, Field, Vector};

/// Number of a node on its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NodeId(pub u8);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Length of the header.
pub const HEADER_BYTES: usize = 9;
/// Length of the tag.
pub const TAG_BYTES: usize = 8;
/// Length of a public key.
pub const KEY_BYTES: usize = 32;
/// Length of a cookie.
pub const COOKIE_BYTES: usize = 16;
/// Length of the proof in a HELLO.
pub const PROOF_BYTES: usize = 16;
/// Length of what a symbol has in addition to its packets: their total length, and
/// the seal of 16 bytes; and before a single packet its flow and number.
pub const SYMBOL_OVERHEAD_BYTES: usize = 2 + 16 + 3;

/// Largest number of block reports in an ACK.
pub const BLOCK_REPORTS_MAX: usize = 127;
/// The flag next to their number: there are further blocks above them.
const MORE_BLOCKS: u8 = 0x80;
/// The bits of a report that hold the rank: up to 1 024 symbols. The others hold the
/// restarts.
const RANK_BITS: u32 = 11;
/// Restarts of a block are counted modulo this.
pub const RESTARTS: u8 = 1 << (u16::BITS - RANK_BITS);
/// Largest number of link reports in an ACK.
pub const LINK_REPORTS_MAX: usize = 8;

/// Largest number of links between two ends.
pub const LINKS_MAX: u8 = 2;
/// The bit of a number that names one of two links.
const LINK_BIT: u32 = 31;
/// The highest number that counts on one of two links.
pub const COUNT_MAX: u32 = (1 << LINK_BIT) - 1;

/// Returns the number of a datagram on one of `links` links: the `count` on link `link`.
pub(crate) fn number_on(links: u8, link: u8, count: u32) -> u32 {
    if links > 1 { u32::from(link) << LINK_BIT | count.min(COUNT_MAX) } else { count }
}

/// Returns the link that a number names, of `links`, and the count on it.
pub(crate) fn link_of(links: u8, number: u32) -> (u8, u32) {
    if links > 1 { ((number >> LINK_BIT) as u8, number & COUNT_MAX) } else { (0, number) }
}

/// The version of the protocol.
pub const VERSION: u8 = 4;
const ENC_SOURCE: u8 = 1;
const ENC_SEEDED: u8 = 2;
const ENC_FULL: u8 = 3;
const ACK: u8 = 4;
const HELLO: u8 = 5;
const ENC_NUMBERED: u8 = 6;
const CALL: u8 = 7;
const PULSE: u8 = 8;
const PROBE: u8 = 9;
const BOTH: u8 = 10;

/// Length of a HELLO without its hop fields.
const END_BYTES: usize = 2 + 2 * KEY_BYTES + 4 + 1 + 4 + PROOF_BYTES;
/// Length of the hop fields.
const HOP_BYTES: usize = 2 * COOKIE_BYTES + 8 + 4 + 2 * 4;
/// Length of a HELLO, a CALL or a PULSE.
pub const CONTROL_BYTES: usize = HEADER_BYTES + END_BYTES + HOP_BYTES + TAG_BYTES;
/// Length of the sealed part of a PULSE, with its seal.
pub const SEALED_PULSE_BYTES: usize = END_BYTES + HOP_BYTES - 8;

/// The highest block number: a session ends before, because its datagram numbers
/// run out.
pub const BLOCK_MAX: u32 = u32::MAX - 1_024;

/// Length of the vector of a combination whose seed is the datagram's number.
pub const NUMBERED_BYTES: usize = 4;
/// Length of a combination's vector that is given by a seed.
pub const SEEDED_BYTES: usize = 8;

/// Length of a vector that is transmitted in full in `packed` bytes.
pub const fn full_bytes(packed: usize) -> usize {
    4 + packed
}

/// Length of an ENC without its payload, if its vector takes `vector` bytes.
pub const fn enc_bytes(vector: usize) -> usize {
    HEADER_BYTES + 4 + 1 + vector + TAG_BYTES
}

/// The header of every datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The neighbour that sent it.
    pub sender: NodeId,
    /// The neighbour for which it is; others may overhear it.
    pub to: NodeId,
    /// The session number, a short hash of the session.
    pub session: u16,
    /// Number of the datagram from `sender` to `to` in this session, from 1 on;
    /// each is used once.
    pub number: u32,
}

/// The content of a datagram.
///
/// ```
/// use lasthop_franc::NodeId;
/// use lasthop_franc::wire::{self, Body, Enc, Header};
/// use lasthop_rlnc::{Field, Vector};
///
/// let header = Header { sender: NodeId(1), to: NodeId(2), session: 0xbeef, number: 77 };
/// let enc = Enc { block: 5, oldest: 4, vector: Vector::Source(9), payload: b"symbol" };
/// let mut datagram = Vec::new();
/// wire::emit(&header, &Body::Enc(enc), &mut datagram);
/// // A tag follows, which authenticates all bytes before it.
/// datagram.extend([0; wire::TAG_BYTES]);
/// assert_eq!(Header::parse(&datagram), Ok(header));
/// assert_eq!(wire::parse(&datagram, Field::Gf256), Ok(Body::Enc(enc)));
/// assert!(Header::parse(&datagram[..5]).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// A combination of a block's symbols.
    Enc(Enc<'a>),
    /// An acknowledgement: the receiver's state.
    Ack(Ack),
    /// An acknowledgement and a combination.
    Both(Ack, Enc<'a>),
    /// The start of a session, or its announcement.
    Hello(Hello),
    /// A request for a HELLO.
    Call(Hop),
    /// A report from end to end.
    Pulse(Pulse<'a>),
}

impl<'a> Body<'a> {
    /// The parts about blocks: the acknowledgement and the combination.
    pub fn into_parts(self) -> (Option<Ack>, Option<Enc<'a>>) {
        match self {
            Self::Enc(enc) => (None, Some(enc)),
            Self::Ack(ack) => (Some(ack), None),
            Self::Both(ack, enc) => (Some(ack), Some(enc)),
            Self::Hello(_) | Self::Call(_) | Self::Pulse(_) => (None, None),
        }
    }
}

/// A combination of symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enc<'a> {
    /// Number of the block.
    pub block: u32,
    /// The sender no longer has anything of blocks below this one; at most 255
    /// below `block`.
    pub oldest: u32,
    /// The coding vector; seeded ones are dense.
    pub vector: Vector<'a>,
    /// The payload; zeros follow.
    pub payload: &'a [u8],
}

impl Enc<'_> {
    /// Length of the datagram, supposing that a seed is not the datagram's number.
    pub(crate) fn datagram_bytes(&self) -> usize {
        let vector = match self.vector {
            Vector::Source(_) => 2,
            Vector::Seeded { .. } => SEEDED_BYTES,
            Vector::Full { packed, .. } => full_bytes(packed.len()),
        };
        enc_bytes(vector) + self.payload.len()
    }
}

/// State of a decoder, recoder or helper, as it reports it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Ack {
    /// All blocks below this one are complete, or were given up.
    pub done: u32,
    /// Changes when the receiver lost its memory.
    pub state: u16,
    /// Reports about links; that of the acknowledged neighbour is first.
    pub links: Vec<LinkReport>,
    /// Reports about blocks that are not done, the oldest first.
    pub blocks: Vec<BlockReport>,
    /// Whether blocks above the last report were left out.
    pub is_cut: bool,
}

impl Ack {
    /// An acknowledgement with as many of the reports `blocks` as it may have.
    pub(crate) fn new(
        done: u32,
        state: u16,
        links: Vec<LinkReport>,
        blocks: impl Iterator<Item = BlockReport>,
    ) -> Self {
        let mut blocks: Vec<BlockReport> = blocks.take(BLOCK_REPORTS_MAX + 1).collect();
        let is_cut = blocks.len() > BLOCK_REPORTS_MAX;
        blocks.truncate(BLOCK_REPORTS_MAX);
        Self { done, state, links, blocks, is_cut }
    }

    /// Shortens the acknowledgement to a datagram of `bytes`: leaves out the bitmaps
    /// of blocks of `symbols` that are complete, then the newest blocks, since the
    /// oldest ones hold up the others.
    pub(crate) fn shorten(&mut self, symbols: usize, bytes: usize) {
        if self.datagram_bytes() <= bytes {
            return;
        }
        for block in self.blocks.iter_mut().filter(|block| usize::from(block.rank) == symbols) {
            (block.bits, block.bitmap) = (0, Vec::new());
        }
        let mut length = self.datagram_bytes();
        while length > bytes
            && let Some(block) = self.blocks.pop()
        {
            length -= block.bytes();
            self.is_cut = true;
        }
    }

    /// The first block that it says nothing about.
    pub(crate) fn covers_below(&self) -> u32 {
        if self.is_cut {
            self.blocks.last().map_or(self.done, |last| last.block + 1).max(self.done)
        } else {
            u32::MAX
        }
    }

    /// Length of a datagram with only this acknowledgement.
    pub(crate) fn datagram_bytes(&self) -> usize {
        HEADER_BYTES + self.bytes() + TAG_BYTES
    }

    /// Additional length of an ENC with this acknowledgement.
    pub(crate) fn added_bytes(&self) -> usize {
        self.bytes() + 1
    }

    fn bytes(&self) -> usize {
        8 + 15 * self.links.len() + self.blocks.iter().map(BlockReport::bytes).sum::<usize>()
    }
}

/// A report about the datagrams received from one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LinkReport {
    /// Number of that node.
    pub node: NodeId,
    /// The highest datagram number received from it for any node on this hop.
    pub highest: u32,
    /// Count of datagrams received.
    pub received: u32,
    /// Time at which the highest number was received, in microseconds of the receiver's clock,
    /// modulo 2^32.
    pub heard_at_us: u32,
    /// Time from then until the report, in units of 4 us, at most 65 535.
    pub delay_4us: u16,
}

/// A node's report of one block.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct BlockReport {
    /// Number of the block.
    pub block: u32,
    /// Times that it began anew there, because something in it was forged: modulo
    /// [`RESTARTS`].
    pub restarts: u8,
    /// Number of independent combinations, at most 1 024.
    pub rank: u16,
    /// Number of valid bits in `bitmap`.
    pub bits: u16,
    /// One bit per symbol, set if it is known; the lowest bit of the first byte is
    /// symbol 0.
    pub bitmap: Vec<u8>,
}

impl BlockReport {
    fn bytes(&self) -> usize {
        8 + usize::from(self.bits).div_ceil(8)
    }

    /// Whether symbol `index` is known.
    pub fn knows(&self, index: u16) -> bool {
        index < self.bits
            && self
                .bitmap
                .get(usize::from(index / 8))
                .is_some_and(|byte| byte >> (index % 8) & 1 == 1)
    }
}

/// The start of a session, or its announcement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The end that sends it.
    pub origin: NodeId,
    /// The end for which it is.
    pub destination: NodeId,
    /// A public key of the origin, for one session.
    pub key: [u8; KEY_BYTES],
    /// The destination's key that the origin received; zeros if none.
    pub echo: [u8; KEY_BYTES],
    /// Increases with each HELLO of the origin with this key.
    pub count: u32,
    /// Largest number of blocks that the origin has in flight.
    pub blocks_max: u8,
    /// Digest of the parameters of the code, which both ends must share.
    pub digest: u32,
    /// Proof that the origin has the shared key.
    pub proof: [u8; PROOF_BYTES],
    /// Fields between neighbours; not covered by the proof.
    pub hop: Hop,
}

/// The fields that prove a node's address to a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Hop {
    /// The receiver returns it from the address to which it was sent.
    pub cookie: [u8; COOKIE_BYTES],
    /// The receiver's last cookie; zeros if none.
    pub echo: [u8; COOKIE_BYTES],
    /// A random number chosen by the sender when it started.
    pub life: u64,
    /// Increases with each HELLO and CALL of this life.
    pub count: u32,
    /// The highest number received from the receiver in the announced session.
    pub highest: u32,
    /// The next number that the sender sends to the receiver in it; lower ones are
    /// old.
    pub next: u32,
}

/// A report from end to end, sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulse<'a> {
    /// Increases with each pulse, from 1 on.
    pub counter: u64,
    /// The sealed report, of [`SEALED_PULSE_BYTES`].
    pub sealed: &'a [u8],
    /// Number of bytes after it, which make it a probe of the path's MTU; 0 if it
    /// is none.
    pub padding: usize,
}

/// Why a datagram cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The datagram ends inside a field.
    #[error("at byte {offset}: {field} is cut off")]
    Short {
        /// Name of the field.
        field: &'static str,
        /// Offset of the field in bytes.
        offset: usize,
    },
    /// The datagram's kind is unknown.
    #[error("at byte 0: there is no kind {0:#03x}")]
    Kind(u8),
    /// The datagram's version is unknown.
    #[error("at byte 0: version {theirs}; this program speaks version {VERSION}")]
    Version {
        /// The sender's version.
        theirs: u8,
        /// The sender that it names.
        sender: NodeId,
    },
    /// A field has a value that is not allowed.
    #[error("at byte {offset}: {field} is out of range")]
    Range {
        /// Name of the field.
        field: &'static str,
        /// Offset of the field in bytes.
        offset: usize,
    },
    /// There are bytes after its end.
    #[error("at byte {offset}: {left} bytes too many")]
    Trailing {
        /// Offset of the first of them.
        offset: usize,
        /// Number of these bytes.
        left: usize,
    },
}

/// Reads fields one after the other.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize, field: &'static str) -> Result<&'a [u8], WireError> {
        let offset = self.at;
        let end = offset.checked_add(count).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or(WireError::Short { field, offset })?;
        self.at = end;
        Ok(&self.bytes[offset..end])
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], WireError> {
        Ok(self.take(N, field)?.try_into().expect("as many bytes were taken"))
    }

    fn u8(&mut self, field: &'static str) -> Result<u8, WireError> {
        Ok(u8::from_be_bytes(self.array(field)?))
    }

    fn u16(&mut self, field: &'static str) -> Result<u16, WireError> {
        Ok(u16::from_be_bytes(self.array(field)?))
    }

    fn u32(&mut self, field: &'static str) -> Result<u32, WireError> {
        Ok(u32::from_be_bytes(self.array(field)?))
    }

    fn block(&mut self, field: &'static str) -> Result<u32, WireError> {
        let block = self.u32(field)?;
        self.check(block <= BLOCK_MAX, 4, field)?;
        Ok(block)
    }

    fn rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        self.at = self.bytes.len();
        rest
    }

    /// Checks the value of `bytes` bytes that was just read.
    fn check(&self, ok: bool, bytes: usize, field: &'static str) -> Result<(), WireError> {
        if ok { Ok(()) } else { Err(WireError::Range { field, offset: self.at - bytes }) }
    }
}

impl Header {
    /// Decodes the header of a datagram.
    ///
    /// # Errors
    /// If it is too short or of an unknown kind.
    pub fn parse(datagram: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader { bytes: datagram, at: 0 };
        let kind = reader.u8("kind")?;
        let sender = NodeId(reader.u8("sender")?);
        if kind >> 4 != VERSION {
            return Err(WireError::Version { theirs: kind >> 4, sender });
        }
        if !(ENC_SOURCE..=BOTH).contains(&(kind & 0x0f)) {
            return Err(WireError::Kind(kind & 0x0f));
        }
        let header = Self {
            sender,
            to: NodeId(reader.u8("to")?),
            session: reader.u16("session")?,
            number: reader.u32("number")?,
        };
        if datagram.len() < HEADER_BYTES + TAG_BYTES {
            Err(WireError::Short { field: "tag", offset: HEADER_BYTES })
        } else {
            Ok(header)
        }
    }

    /// Whether a datagram that [`Header::parse`] accepted belongs to no session: a
    /// HELLO or a CALL.
    pub fn is_sessionless(datagram: &[u8]) -> bool {
        matches!(datagram[0] & 0x0f, HELLO | CALL)
    }
}

/// Decodes the content of a datagram that [`Header::parse`] accepted, over `field`.
///
/// # Errors
/// The reason why it cannot be decoded, and the offset.
pub fn parse(datagram: &[u8], field: Field) -> Result<Body<'_>, WireError> {
    let end = datagram.len().saturating_sub(TAG_BYTES).max(HEADER_BYTES.min(datagram.len()));
    let mut reader = Reader { bytes: &datagram[..end], at: 0 };
    let kind = reader.u8("kind")? & 0x0f;
    reader.take(HEADER_BYTES - 5, "header")?;
    let number = reader.u32("number")?;
    let body = match kind {
        ENC_SOURCE | ENC_SEEDED | ENC_FULL | ENC_NUMBERED => {
            Body::Enc(parse_enc(&mut reader, kind, number, field)?)
        }
        ACK => Body::Ack(parse_ack(&mut reader)?),
        BOTH => {
            let ack = parse_ack(&mut reader)?;
            let kind = reader.u8("kind of ENC")?;
            let is_enc = matches!(kind, ENC_SOURCE | ENC_SEEDED | ENC_FULL | ENC_NUMBERED);
            reader.check(is_enc, 1, "kind of ENC")?;
            Body::Both(ack, parse_enc(&mut reader, kind, number, field)?)
        }
        HELLO => Body::Hello(Hello {
            origin: NodeId(reader.u8("origin")?),
            destination: NodeId(reader.u8("destination")?),
            key: reader.array("key")?,
            echo: reader.array("echo")?,
            count: reader.u32("count")?,
            blocks_max: reader.u8("blocks")?,
            digest: reader.u32("digest")?,
            proof: reader.array("proof")?,
            hop: parse_hop(&mut reader)?,
        }),
        CALL => {
            let hop = parse_hop(&mut reader)?;
            reader.take(END_BYTES, "padding")?;
            Body::Call(hop)
        }
        PULSE | PROBE => {
            let counter = u64::from_be_bytes(reader.array("counter")?);
            let sealed = reader.take(SEALED_PULSE_BYTES, "pulse")?;
            let padding = if kind == PROBE { reader.rest().len() } else { 0 };
            reader.check((kind == PROBE) == (padding > 0), padding, "padding")?;
            Body::Pulse(Pulse { counter, sealed, padding })
        }
        kind => return Err(WireError::Kind(kind)),
    };
    match reader.bytes.len() - reader.at {
        0 => Ok(body),
        left => Err(WireError::Trailing { offset: reader.at, left }),
    }
}

fn parse_hop(reader: &mut Reader<'_>) -> Result<Hop, WireError> {
    Ok(Hop {
        cookie: reader.array("cookie")?,
        echo: reader.array("neighbour's cookie")?,
        life: u64::from_be_bytes(reader.array("life")?),
        count: reader.u32("count")?,
        highest: reader.u32("highest number")?,
        next: reader.u32("next number")?,
    })
}

fn parse_enc<'a>(
    reader: &mut Reader<'a>,
    kind: u8,
    number: u32,
    field: Field,
) -> Result<Enc<'a>, WireError> {
    let block = reader.block("block")?;
    let below = u32::from(reader.u8("oldest")?);
    reader.check(below <= block, 1, "oldest")?;
    let vector = match kind {
        ENC_SOURCE => Vector::Source(u64::from(reader.u16("index")?)),
        ENC_NUMBERED | ENC_SEEDED => Vector::Seeded {
            seed: u64::from(if kind == ENC_SEEDED { reader.u32("seed")? } else { number }),
            first: u64::from(reader.u16("first")?),
            count: reader.u16("count")?,
            density: Density::DENSE,
        },
        _ => {
            let first = u64::from(reader.u16("first")?);
            let count = reader.u16("count")?;
            let packed = reader.take(field.packed_bytes(usize::from(count)), "coefficients")?;
            Vector::Full { first, count, packed }
        }
    };
    Ok(Enc { block, oldest: block - below, vector, payload: reader.rest() })
}

fn parse_ack(reader: &mut Reader<'_>) -> Result<Ack, WireError> {
    let done = reader.block("done")?;
    let state = reader.u16("state")?;
    let links = usize::from(reader.u8("link reports")?);
    reader.check(links <= LINK_REPORTS_MAX, 1, "link reports")?;
    let links = (0..links)
        .map(|_| {
            Ok(LinkReport {
                node: NodeId(reader.u8("node")?),
                highest: reader.u32("highest number")?,
                received: reader.u32("received")?,
                heard_at_us: reader.u32("heard at")?,
                delay_4us: reader.u16("delay")?,
            })
        })
        .collect::<Result<_, WireError>>()?;
    let blocks = reader.u8("block reports")?;
    let is_cut = blocks & MORE_BLOCKS != 0;
    let blocks = (0..blocks & !MORE_BLOCKS)
        .map(|_| {
            let (block, word) = (reader.block("block")?, reader.u16("rank")?);
            let (restarts, rank) = ((word >> RANK_BITS) as u8, word & ((1 << RANK_BITS) - 1));
            let bits = reader.u16("bits")?;
            let bitmap = reader.take(usize::from(bits).div_ceil(8), "bitmap")?.to_vec();
            Ok(BlockReport { block, restarts, rank, bits, bitmap })
        })
        .collect::<Result<_, WireError>>()?;
    Ok(Ack { done, state, links, blocks, is_cut })
}

/// Encodes header and content; the caller adds the tag.
///
/// Panics if there are more reports than fit in an ACK, or if a vector's numbers
/// are not those of a block.
pub fn emit(header: &Header, body: &Body<'_>, out: &mut Vec<u8>) {
    let kind_of = |enc: &Enc<'_>| match enc.vector {
        Vector::Source(_) => ENC_SOURCE,
        Vector::Seeded { seed, .. } if seed == u64::from(header.number) => ENC_NUMBERED,
        Vector::Seeded { .. } => ENC_SEEDED,
        Vector::Full { .. } => ENC_FULL,
    };
    let kind = match body {
        Body::Enc(enc) => kind_of(enc),
        Body::Ack(_) => ACK,
        Body::Both(..) => BOTH,
        Body::Hello(_) => HELLO,
        Body::Call(_) => CALL,
        Body::Pulse(Pulse { padding: 0, .. }) => PULSE,
        Body::Pulse(_) => PROBE,
    };
    out.extend([VERSION << 4 | kind, header.sender.0, header.to.0]);
    out.extend(header.session.to_be_bytes());
    out.extend(header.number.to_be_bytes());
    match body {
        Body::Enc(enc) => emit_enc(enc, kind == ENC_NUMBERED, out),
        Body::Ack(ack) => emit_ack(ack, out),
        Body::Both(ack, enc) => {
            emit_ack(ack, out);
            let kind = kind_of(enc);
            out.push(kind);
            emit_enc(enc, kind == ENC_NUMBERED, out);
        }
        Body::Hello(hello) => {
            out.extend(hello.proven());
            out.extend(hello.proof);
            emit_hop(&hello.hop, out);
        }
        Body::Call(hop) => {
            emit_hop(hop, out);
            out.extend([0; END_BYTES]);
        }
        Body::Pulse(pulse) => {
            assert_eq!(pulse.sealed.len(), SEALED_PULSE_BYTES, "a pulse has one length");
            out.extend(pulse.counter.to_be_bytes());
            out.extend(pulse.sealed);
            out.resize(out.len() + pulse.padding, 0);
        }
    }
}

impl Hello {
    /// The bytes that the proof covers.
    pub fn proven(&self) -> [u8; END_BYTES - PROOF_BYTES] {
        let mut bytes = [0; END_BYTES - PROOF_BYTES];
        let (ids, rest) = bytes.split_at_mut(2);
        let (key, rest) = rest.split_at_mut(KEY_BYTES);
        let (echo, rest) = rest.split_at_mut(KEY_BYTES);
        let (count, rest) = rest.split_at_mut(4);
        let (blocks_max, digest) = rest.split_at_mut(1);
        count.copy_from_slice(&self.count.to_be_bytes());
        ids.copy_from_slice(&[self.origin.0, self.destination.0]);
        key.copy_from_slice(&self.key);
        echo.copy_from_slice(&self.echo);
        blocks_max.copy_from_slice(&[self.blocks_max]);
        digest.copy_from_slice(&self.digest.to_be_bytes());
        bytes
    }
}

fn emit_hop(hop: &Hop, out: &mut Vec<u8>) {
    out.extend(hop.cookie);
    out.extend(hop.echo);
    out.extend(hop.life.to_be_bytes());
    out.extend(hop.count.to_be_bytes());
    out.extend(hop.highest.to_be_bytes());
    out.extend(hop.next.to_be_bytes());
}

/// The number of a symbol as transmitted.
fn symbol(number: u64) -> [u8; 2] {
    u16::try_from(number).expect("a block has fewer symbols").to_be_bytes()
}

fn emit_enc(enc: &Enc<'_>, is_numbered: bool, out: &mut Vec<u8>) {
    out.extend(enc.block.to_be_bytes());
    let below = enc.block.saturating_sub(enc.oldest);
    out.push(u8::try_from(below).expect("blocks in flight are fewer than 256"));
    match enc.vector {
        Vector::Source(index) => out.extend(symbol(index)),
        Vector::Seeded { seed, first, count, .. } => {
            if !is_numbered {
                out.extend((seed as u32).to_be_bytes());
            }
            out.extend(symbol(first));
            out.extend(count.to_be_bytes());
        }
        Vector::Full { first, count, packed } => {
            out.extend(symbol(first));
            out.extend(count.to_be_bytes());
            out.extend(packed);
        }
    }
    out.extend(enc.payload);
}

fn emit_ack(ack: &Ack, out: &mut Vec<u8>) {
    assert!(ack.links.len() <= LINK_REPORTS_MAX && ack.blocks.len() <= BLOCK_REPORTS_MAX);
    out.extend(ack.done.to_be_bytes());
    out.extend(ack.state.to_be_bytes());
    out.push(ack.links.len() as u8);
    for link in &ack.links {
        out.push(link.node.0);
        out.extend(link.highest.to_be_bytes());
        out.extend(link.received.to_be_bytes());
        out.extend(link.heard_at_us.to_be_bytes());
        out.extend(link.delay_4us.to_be_bytes());
    }
    out.push(ack.blocks.len() as u8 | if ack.is_cut { MORE_BLOCKS } else { 0 });
    for block in &ack.blocks {
        assert!(block.restarts < RESTARTS && block.rank < 1 << RANK_BITS);
        out.extend(block.block.to_be_bytes());
        out.extend((u16::from(block.restarts) << RANK_BITS | block.rank).to_be_bytes());
        out.extend(block.bits.to_be_bytes());
        out.extend(&block.bitmap[..usize::from(block.bits).div_ceil(8)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// Reports about `count` blocks of 64 symbols, of which every other one is complete.
    fn reports(count: u32) -> impl Iterator<Item = BlockReport> {
        (10..10 + count).map(|block| BlockReport {
            block,
            restarts: (block % 32) as u8,
            rank: if block % 2 == 0 { 64 } else { 60 },
            bits: 64,
            bitmap: vec![0xff; 8],
        })
    }

    fn ack(count: u32) -> Ack {
        Ack::new(10, 7, vec![LinkReport::default()], reports(count))
    }

    #[test]
    fn acknowledgements_come_back() {
        let header = Header { sender: NodeId(1), to: NodeId(2), session: 3, number: 4 };
        let longest = BlockReport { rank: 1_024, restarts: RESTARTS - 1, ..BlockReport::default() };
        let mut acks = vec![Ack { blocks: vec![longest], ..Ack::default() }, ack(0), ack(33)];
        acks.extend([ack(BLOCK_REPORTS_MAX as u32), ack(BLOCK_REPORTS_MAX as u32 + 1)]);
        for ack in acks {
            let mut datagram = Vec::new();
            emit(&header, &Body::Ack(ack.clone()), &mut datagram);
            assert_eq!(datagram.len() + TAG_BYTES, ack.datagram_bytes());
            datagram.resize(datagram.len() + TAG_BYTES, 0);
            assert_eq!(parse(&datagram, Field::Gf256), Ok(Body::Ack(ack)));
        }
    }

    #[test]
    fn a_long_acknowledgement_leaves_out_what_is_least_urgent() {
        let whole = ack(100);
        assert_eq!((whole.is_cut, whole.covers_below()), (false, u32::MAX));
        let mut shorter = whole.clone();
        shorter.shorten(64, whole.datagram_bytes() - 1);
        assert_eq!((shorter.blocks.len(), shorter.is_cut), (100, false));
        let bitmaps: Vec<usize> = shorter.blocks.iter().map(|block| block.bitmap.len()).collect();
        assert_eq!(bitmaps, [0, 8].repeat(50), "complete blocks need none");
        for bytes in [900, 500, 100, 0] {
            let mut shortest = whole.clone();
            shortest.shorten(64, bytes);
            assert!(shortest.datagram_bytes() <= bytes.max(ack(0).datagram_bytes()), "{bytes}");
            assert!(shortest.is_cut);
            let blocks: Vec<u32> = shortest.blocks.iter().map(|block| block.block).collect();
            assert_eq!(blocks, (10..shortest.covers_below()).collect::<Vec<u32>>());
        }
        assert_eq!(ack(200).covers_below(), 10 + BLOCK_REPORTS_MAX as u32);
    }
}
