//! The encoding of datagrams. All numbers are big-endian, times in nanoseconds
//! unless noted, lengths in bytes.
//!
//! ```text
//! every datagram   magic (4)  version (1)  type (1)
//! Hello            nonce (16), zeros up to HELLO_BYTES
//! Challenge        nonce (16)  token (24)  a key is needed (1)
//! OtherVersion     nonce (16)
//! Open             nonce (16)  token (24)  MAC tag (16), zeros up to HELLO_BYTES
//! Accepted         nonce (16)  session (8)  rate_max_bps (8)  duration_max_ns (8)
//!                  phase_packets_max (4)  MAC tag (16)
//! Turned           nonce (16)  reason (1)
//! in a session     session (8)  number (4)  proofs (2 x 12)  body  MAC tag (16)
//! Probe            session (8)  phase (4)  sequence (4)  stamp (8)  proof (12), zeros
//! proof            time (4)  value (8): what the server sends to one of the
//!                  client's sockets, and what the client last received there;
//!                  in messages the control socket's comes first
//! ```
//!
//! The version, the type of `Hello` and the position of its nonce are the same in every version, so
//! that versions can recognise each other. Every answer to an unproven address, and the answer to
//! an `Open`, is shorter than the question. Leaves out fragmentation: a datagram fits into a
//! packet.

use crate::auth::{self, Key, MAC_TAG_BYTES, MacTag, NONCE_BYTES, Nonce, TOKEN_BYTES, Token};
use crate::plan::{Direction, PhasePlan, STREAMS_MAX, StreamKind, StreamPlan};
use crate::proof::{Proof, Proofs};
use crate::record::{Sample, StreamCount};
use alloc::vec::Vec;
use lasthop_units::Duration;

/// The first bytes of every datagram.
pub const MAGIC: [u8; 4] = *b"lapq";
/// The version of the protocol.
pub const VERSION: u8 = 2;
/// Length of a `Hello` and of an `Open` in bytes: more than any answer to them.
pub const HELLO_BYTES: usize = 200;
/// Largest number of samples in a chunk.
pub const CHUNK_SAMPLES: usize = 55;
/// Length of the content of a probe in bytes.
pub const PROBE_BYTES: usize = 6 + 8 + 4 + 4 + 8 + 12;
/// Lengths of IP packets in a stream, in bytes.
pub const PACKET_BYTES: core::ops::RangeInclusive<u16> = 100..=9_000;

const HELLO: u8 = 1;
const CHALLENGE: u8 = 2;
const OTHER_VERSION: u8 = 3;
const OPEN: u8 = 4;
const ACCEPTED: u8 = 5;
const TURNED: u8 = 6;
const PROBE_SPARSE: u8 = 7;
const PROBE_BULK: u8 = 8;
/// Types from this one on belong to a session and are authenticated.
const SESSION: u8 = 16;
const ATTACH: u8 = 16;
const ATTACHED: u8 = 17;
const PREPARE: u8 = 18;
const READY: u8 = 19;
const FINISHED: u8 = 20;
const FINISHED_HEARD: u8 = 21;
const SUMMARY: u8 = 22;
const FETCH: u8 = 23;
const CHUNK: u8 = 24;
const ALIVE: u8 = 25;
const STOP: u8 = 26;
const STOPPED: u8 = 27;
const REFUSED: u8 = 28;

/// Why a datagram cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The datagram ends inside a field.
    #[error("the datagram ends at byte {0}, inside a field")]
    Short(usize),
    /// The datagram does not start with the magic number.
    #[error("the datagram does not begin as one of APQ")]
    Magic,
    /// The datagram has another version.
    #[error("version {0}; this program speaks version {VERSION}")]
    Version(u8),
    /// The datagram's type is unknown.
    #[error("byte 5: there is no type {0}")]
    Type(u8),
    /// A field has a value that is not allowed.
    #[error("byte {offset}: {field} cannot be {value}")]
    Value {
        /// Offset of the field in bytes.
        offset: usize,
        /// Name of the field.
        field: &'static str,
        /// Value of the field.
        value: u64,
    },
    /// There are bytes after its end.
    #[error("byte {0}: the message should end here")]
    Long(usize),
}

/// A datagram of any kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Datagram<'a> {
    /// A client requests a challenge.
    Hello(Nonce),
    /// A client of another version requests a challenge.
    HelloOfVersion(u8, Nonce),
    /// A server asks the client to prove its address.
    Challenge {
        /// The client's nonce.
        nonce: Nonce,
        /// The token, to be returned.
        token: Token,
        /// Whether the client must know the key.
        keyed: bool,
    },
    /// A server of another version answers.
    OtherVersion {
        /// The server's version.
        version: u8,
        /// The client's nonce.
        nonce: Nonce,
    },
    /// A client proves its address and its key.
    Open {
        /// The client's nonce.
        nonce: Nonce,
        /// The server's token.
        token: Token,
        /// The MAC tag under the handshake's key.
        mac_tag: MacTag,
    },
    /// A server accepts a client.
    Accepted {
        /// The session and its limits.
        accepted: Accepted,
        /// The MAC tag under the handshake's key.
        mac_tag: MacTag,
    },
    /// A server refuses a client at a proven address.
    Turned {
        /// The client's nonce.
        nonce: Nonce,
        /// Reason of the refusal.
        reason: Refusal,
    },
    /// A packet of a flow.
    Probe(Probe),
    /// A message of a session, not yet verified.
    Sealed(Sealed<'a>),
}

/// The content of the message that accepts a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The client's nonce.
    pub nonce: Nonce,
    /// The session number.
    pub session: u64,
    /// The limits of the server.
    pub limits: Limits,
}

/// The limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bits per second of all streams together, IP headers included.
    pub rate_max_bps: u64,
    /// Longest duration of a session.
    pub duration_max: Duration,
    /// Largest number of packets in a phase.
    pub phase_packets_max: u32,
}

/// A packet of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The flow of the packet.
    pub kind: StreamKind,
    /// The session number.
    pub session: u64,
    /// The phase number.
    pub phase: u32,
    /// Sequence number of the packet in flow and phase.
    pub sequence: u32,
    /// Reading of the sender's clock at transmission, in ns.
    pub sent_ns: u64,
    /// The proof of a server, for the socket to which the packet goes.
    pub proof: Proof,
}

impl Probe {
    /// The sample of this packet, with the receiver's clock at `received_ns`.
    pub const fn sample(&self, received_ns: u64) -> Sample {
        let &Self { kind, sequence, sent_ns, .. } = self;
        Sample { kind, sequence, sent_ns, received_ns }
    }
}

/// Why a server refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The MAC tag is wrong: the keys differ.
    WrongKey,
    /// The server has as many sessions as it allows.
    Busy,
    /// A phase is faster than it allows.
    TooFast,
    /// A phase has more packets than it allows.
    TooMany,
    /// The session would last longer than it allows.
    TooLong,
    /// The plan of the phase is not valid.
    Senseless,
    /// The server is being stopped.
    Ending,
    /// The server stores as many packets of uplink phases as it allows.
    Full,
}

impl Refusal {
    const ALL: [Self; 8] = [
        Self::WrongKey,
        Self::Busy,
        Self::TooFast,
        Self::TooMany,
        Self::TooLong,
        Self::Senseless,
        Self::Ending,
        Self::Full,
    ];

    fn from_byte(byte: u8, offset: usize) -> Result<Self, WireError> {
        Self::ALL.get(usize::from(byte)).copied().ok_or(WireError::Value {
            offset,
            field: "reason",
            value: u64::from(byte),
        })
    }
}

/// A message of a session as received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed<'a> {
    /// The session number.
    pub session: u64,
    /// The message number, used once per session and direction.
    pub number: u32,
    /// The proofs for the client's sockets.
    pub proofs: Proofs,
    kind: u8,
    /// The bytes that the MAC tag covers.
    covered: &'a [u8],
    mac_tag: &'a [u8],
}

/// A message of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// The socket that sends this is the client's bulk socket.
    Attach {
        /// The nonce of that socket's handshake.
        nonce: Nonce,
        /// The token of that socket's handshake.
        token: Token,
    },
    /// The server knows the bulk socket.
    Attached,
    /// The client asks for a phase.
    Prepare {
        /// The phase number.
        phase: u32,
        /// The direction of the packets.
        direction: Direction,
        /// The packets to send.
        plan: PhasePlan,
    },
    /// The server is ready for the phase; if it sends, it starts.
    Ready {
        /// The phase number.
        phase: u32,
    },
    /// The sender of a phase has sent everything.
    Finished {
        /// The phase number.
        phase: u32,
        /// Reading of the sender's clock at the start of the phase, in ns.
        started_ns: u64,
        /// Counts for each stream.
        counts: Vec<StreamCount>,
    },
    /// The client acknowledges that the server is finished.
    FinishedHeard {
        /// The phase number.
        phase: u32,
    },
    /// The number of packets that the server received in a phase.
    Summary {
        /// The phase number.
        phase: u32,
        /// Number of samples that can be fetched.
        samples: u32,
        /// Number of copies that arrived after the first.
        duplicates: u32,
    },
    /// The client requests samples.
    Fetch {
        /// The phase number.
        phase: u32,
        /// Number of the first chunk.
        first: u32,
        /// Bit `i` is set if chunk `first + i` is requested.
        wanted: u16,
    },
    /// Samples of a phase.
    Chunk {
        /// The phase number.
        phase: u32,
        /// Number of the chunk: its first sample is this number times
        /// [`CHUNK_SAMPLES`].
        index: u32,
        /// Samples of the chunk.
        samples: Vec<Sample>,
    },
    /// A keep-alive message.
    Alive,
    /// The client ends the session.
    Stop {
        /// Whether the survey is complete.
        done: bool,
    },
    /// The server confirms the end of the session, or ends it.
    Stopped,
    /// The server refuses a phase.
    Refused {
        /// Reason of the refusal.
        reason: Refusal,
    },
}

/// Decodes a datagram.
///
/// # Errors
/// The reason why it cannot be decoded, and the offset.
pub fn parse(bytes: &[u8]) -> Result<Datagram<'_>, WireError> {
    let mut reader = Reader { bytes, at: 0 };
    if reader.array::<4>()? != MAGIC {
        return Err(WireError::Magic);
    }
    let (version, kind) = (reader.u8()?, reader.u8()?);
    if version != VERSION {
        return match kind {
            HELLO if bytes.len() >= HELLO_BYTES => {
                Ok(Datagram::HelloOfVersion(version, reader.array()?))
            }
            OTHER_VERSION => Ok(Datagram::OtherVersion { version, nonce: reader.array()? }),
            _ => Err(WireError::Version(version)),
        };
    }
    let datagram = match kind {
        HELLO => {
            let nonce = reader.array()?;
            // Answers to shorter ones would make the server an amplifier.
            if bytes.len() < HELLO_BYTES {
                return Err(WireError::Short(bytes.len()));
            }
            return Ok(Datagram::Hello(nonce));
        }
        CHALLENGE => Datagram::Challenge {
            nonce: reader.array()?,
            token: reader.array()?,
            keyed: reader.flag("key is needed")?,
        },
        OTHER_VERSION => Datagram::OtherVersion { version, nonce: reader.array()? },
        OPEN => {
            let (nonce, token, mac_tag) = (reader.array()?, reader.array()?, reader.array()?);
            if bytes.len() < HELLO_BYTES {
                return Err(WireError::Short(bytes.len()));
            }
            return Ok(Datagram::Open { nonce, token, mac_tag });
        }
        ACCEPTED => Datagram::Accepted {
            accepted: Accepted {
                nonce: reader.array()?,
                session: reader.u64()?,
                limits: Limits {
                    rate_max_bps: reader.u64()?,
                    duration_max: Duration::from_nanos(reader.u64()?),
                    phase_packets_max: reader.u32()?,
                },
            },
            mac_tag: reader.array()?,
        },
        TURNED => Datagram::Turned { nonce: reader.array()?, reason: reader.refusal()? },
        PROBE_SPARSE | PROBE_BULK => {
            let kind = if kind == PROBE_BULK { StreamKind::Bulk } else { StreamKind::Sparse };
            return Ok(Datagram::Probe(Probe {
                kind,
                session: reader.u64()?,
                phase: reader.u32()?,
                sequence: reader.u32()?,
                sent_ns: reader.u64()?,
                proof: reader.proof()?,
            }));
        }
        SESSION.. => {
            let (session, number) = (reader.u64()?, reader.u32()?);
            let proofs = [reader.proof()?, reader.proof()?];
            let covered = bytes.len().checked_sub(MAC_TAG_BYTES).filter(|end| *end >= reader.at);
            let end = covered.ok_or(WireError::Short(bytes.len()))?;
            let (covered, mac_tag) = bytes.split_at(end);
            return Ok(Datagram::Sealed(Sealed {
                session,
                number,
                proofs,
                kind,
                covered,
                mac_tag,
            }));
        }
        other => return Err(WireError::Type(other)),
    };
    reader.end()?;
    Ok(datagram)
}

impl Sealed<'_> {
    /// Whether it was made by a holder of the peer's session key.
    pub fn is_authentic(&self, key: &Key) -> bool {
        auth::is_mac_tag(key, self.covered, self.mac_tag)
    }

    /// Decodes the message.
    ///
    /// # Errors
    /// The reason why it cannot be decoded, and the offset.
    pub fn message(&self) -> Result<Message, WireError> {
        let mut reader = Reader { bytes: self.covered, at: SEALED_HEAD_BYTES };
        let message = match self.kind {
            ATTACH => Message::Attach { nonce: reader.array()?, token: reader.array()? },
            ATTACHED => Message::Attached,
            PREPARE => {
                let phase = reader.u32()?;
                let is_up = reader.flag("direction")?;
                let direction = if is_up { Direction::Up } else { Direction::Down };
                let streams = reader.list(reader.at, STREAMS_MAX, Reader::stream)?;
                Message::Prepare { phase, direction, plan: PhasePlan { streams } }
            }
            READY => Message::Ready { phase: reader.u32()? },
            FINISHED => Message::Finished {
                phase: reader.u32()?,
                started_ns: reader.u64()?,
                counts: reader.list(reader.at, STREAMS_MAX, Reader::count)?,
            },
            FINISHED_HEARD => Message::FinishedHeard { phase: reader.u32()? },
            SUMMARY => Message::Summary {
                phase: reader.u32()?,
                samples: reader.u32()?,
                duplicates: reader.u32()?,
            },
            FETCH => {
                Message::Fetch { phase: reader.u32()?, first: reader.u32()?, wanted: reader.u16()? }
            }
            CHUNK => Message::Chunk {
                phase: reader.u32()?,
                index: reader.u32()?,
                samples: reader.list(reader.at, CHUNK_SAMPLES, Reader::sample)?,
            },
            ALIVE => Message::Alive,
            STOP => Message::Stop { done: reader.flag("done")? },
            STOPPED => Message::Stopped,
            REFUSED => Message::Refused { reason: reader.refusal()? },
            other => return Err(WireError::Type(other)),
        };
        reader.end()?;
        Ok(message)
    }
}

/// Length of magic, version, type, session, number and proofs in bytes.
const SEALED_HEAD_BYTES: usize = 6 + 8 + 4 + 2 * 12;

/// Encodes a datagram; a `Hello` with its zeros.
pub fn emit(datagram: &Datagram<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    out.extend(MAGIC);
    out.push(VERSION);
    match datagram {
        Datagram::Hello(nonce) => {
            out.push(HELLO);
            out.extend(nonce);
            out.resize(HELLO_BYTES, 0);
        }
        Datagram::HelloOfVersion(version, nonce) => {
            out[4] = *version;
            out.push(HELLO);
            out.extend(nonce);
            out.resize(HELLO_BYTES, 0);
        }
        Datagram::Challenge { nonce, token, keyed } => {
            out.push(CHALLENGE);
            out.extend(nonce);
            out.extend(token);
            out.push(u8::from(*keyed));
        }
        Datagram::OtherVersion { version, nonce } => {
            out[4] = *version;
            out.push(OTHER_VERSION);
            out.extend(nonce);
        }
        Datagram::Open { nonce, token, mac_tag } => {
            out.push(OPEN);
            out.extend(nonce);
            out.extend(token);
            out.extend(mac_tag);
            out.resize(HELLO_BYTES, 0);
        }
        Datagram::Accepted { accepted, mac_tag } => {
            out = accepted.covered();
            out.extend(mac_tag);
        }
        Datagram::Turned { nonce, reason } => {
            out.push(TURNED);
            out.extend(nonce);
            out.push(*reason as u8);
        }
        Datagram::Probe(probe) => {
            out.push(match probe.kind {
                StreamKind::Sparse => PROBE_SPARSE,
                StreamKind::Bulk => PROBE_BULK,
            });
            out.extend(probe.session.to_be_bytes());
            out.extend(probe.phase.to_be_bytes());
            out.extend(probe.sequence.to_be_bytes());
            out.extend(probe.sent_ns.to_be_bytes());
            emit_proof(&mut out, probe.proof);
        }
        Datagram::Sealed(sealed) => {
            out.clear();
            out.extend(sealed.covered);
            out.extend(sealed.mac_tag);
        }
    }
    out
}

impl Accepted {
    /// The bytes that its MAC tag covers.
    pub fn covered(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(80);
        out.extend(MAGIC);
        out.extend([VERSION, ACCEPTED]);
        out.extend(self.nonce);
        out.extend(self.session.to_be_bytes());
        out.extend(self.limits.rate_max_bps.to_be_bytes());
        out.extend(self.limits.duration_max.as_nanos().to_be_bytes());
        out.extend(self.limits.phase_packets_max.to_be_bytes());
        out
    }
}

/// The bytes that the MAC tag of an `Open` covers.
pub fn open_covered(nonce: &Nonce, token: &Token) -> [u8; NONCE_BYTES + TOKEN_BYTES + 4] {
    let mut out = [0; NONCE_BYTES + TOKEN_BYTES + 4];
    out[..4].copy_from_slice(b"open");
    out[4..4 + NONCE_BYTES].copy_from_slice(nonce);
    out[4 + NONCE_BYTES..].copy_from_slice(token);
    out
}

fn emit_proof(out: &mut Vec<u8>, proof: Proof) {
    out.extend(proof.at_ms.to_be_bytes());
    out.extend(proof.value.to_be_bytes());
}

/// Encodes a message of a session, with its MAC tag.
pub fn seal(message: &Message, session: u64, number: u32, proofs: &Proofs, key: &Key) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    out.extend(MAGIC);
    out.extend([VERSION, message.kind()]);
    out.extend(session.to_be_bytes());
    out.extend(number.to_be_bytes());
    proofs.iter().for_each(|proof| emit_proof(&mut out, *proof));
    match message {
        Message::Attach { nonce, token } => {
            out.extend(nonce);
            out.extend(token);
        }
        Message::Attached | Message::Alive | Message::Stopped => {}
        Message::Prepare { phase, direction, plan } => {
            out.extend(phase.to_be_bytes());
            out.push(*direction as u8);
            out.push(plan.streams.len() as u8);
            for stream in &plan.streams {
                out.push(stream.kind as u8);
                out.extend(stream.packet_bytes.to_be_bytes());
                for time in [stream.interval, stream.begin, stream.end] {
                    out.extend(time.as_nanos().to_be_bytes());
                }
            }
        }
        Message::Ready { phase } | Message::FinishedHeard { phase } => {
            out.extend(phase.to_be_bytes());
        }
        Message::Finished { phase, started_ns, counts } => {
            out.extend(phase.to_be_bytes());
            out.extend(started_ns.to_be_bytes());
            out.push(counts.len() as u8);
            for count in counts {
                out.extend(count.sent.to_be_bytes());
                out.extend(count.unsent.to_be_bytes());
                out.extend(count.late_max.as_nanos().to_be_bytes());
            }
        }
        Message::Summary { phase, samples, duplicates } => {
            for value in [phase, samples, duplicates] {
                out.extend(value.to_be_bytes());
            }
        }
        Message::Fetch { phase, first, wanted } => {
            out.extend(phase.to_be_bytes());
            out.extend(first.to_be_bytes());
            out.extend(wanted.to_be_bytes());
        }
        Message::Chunk { phase, index, samples } => {
            out.extend(phase.to_be_bytes());
            out.extend(index.to_be_bytes());
            out.push(samples.len() as u8);
            for sample in samples {
                out.push(sample.kind as u8);
                out.extend(sample.sequence.to_be_bytes());
                out.extend(sample.sent_ns.to_be_bytes());
                out.extend(sample.received_ns.to_be_bytes());
            }
        }
        Message::Stop { done } => out.push(u8::from(*done)),
        Message::Refused { reason } => out.push(*reason as u8),
    }
    let mac_tag = auth::mac_tag(key, &out);
    out.extend(mac_tag);
    out
}

impl Message {
    fn kind(&self) -> u8 {
        match self {
            Self::Attach { .. } => ATTACH,
            Self::Attached => ATTACHED,
            Self::Prepare { .. } => PREPARE,
            Self::Ready { .. } => READY,
            Self::Finished { .. } => FINISHED,
            Self::FinishedHeard { .. } => FINISHED_HEARD,
            Self::Summary { .. } => SUMMARY,
            Self::Fetch { .. } => FETCH,
            Self::Chunk { .. } => CHUNK,
            Self::Alive => ALIVE,
            Self::Stop { .. } => STOP,
            Self::Stopped => STOPPED,
            Self::Refused { .. } => REFUSED,
        }
    }
}

/// Reads fields from the front of a datagram.
#[derive(Clone, Copy)]
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let rest = &self.bytes[self.at..];
        let array = rest.first_chunk().ok_or(WireError::Short(self.bytes.len()))?;
        self.at += N;
        Ok(*array)
    }

    fn u8(&mut self) -> Result<u8, WireError> {
        self.array().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Result<u16, WireError> {
        self.array().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Result<u32, WireError> {
        self.array().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Result<u64, WireError> {
        self.array().map(u64::from_be_bytes)
    }

    fn proof(&mut self) -> Result<Proof, WireError> {
        Ok(Proof { at_ms: self.u32()?, value: self.u64()? })
    }

    fn flag(&mut self, field: &'static str) -> Result<bool, WireError> {
        let offset = self.at;
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(WireError::Value { offset, field, value: u64::from(other) }),
        }
    }

    fn kind(&mut self) -> Result<StreamKind, WireError> {
        Ok(if self.flag("flow")? { StreamKind::Bulk } else { StreamKind::Sparse })
    }

    fn refusal(&mut self) -> Result<Refusal, WireError> {
        let offset = self.at;
        Refusal::from_byte(self.u8()?, offset)
    }

    fn list<T>(
        &mut self,
        offset: usize,
        max: usize,
        mut item: impl FnMut(&mut Self) -> Result<T, WireError>,
    ) -> Result<Vec<T>, WireError> {
        let n = usize::from(self.u8()?);
        if n > max {
            return Err(WireError::Value { offset, field: "length", value: n as u64 });
        }
        (0..n).map(|_| item(self)).collect()
    }

    fn stream(&mut self) -> Result<StreamPlan, WireError> {
        let kind = self.kind()?;
        let offset = self.at;
        let packet_bytes = self.u16()?;
        if !PACKET_BYTES.contains(&packet_bytes) {
            let value = u64::from(packet_bytes);
            return Err(WireError::Value { offset, field: "packet length", value });
        }
        let offset = self.at;
        let interval = Duration::from_nanos(self.u64()?);
        if interval.is_zero() {
            return Err(WireError::Value { offset, field: "interval", value: 0 });
        }
        let begin = Duration::from_nanos(self.u64()?);
        let end = Duration::from_nanos(self.u64()?);
        Ok(StreamPlan { kind, packet_bytes, interval, begin, end })
    }

    fn count(&mut self) -> Result<StreamCount, WireError> {
        Ok(StreamCount {
            sent: self.u32()?,
            unsent: self.u32()?,
            late_max: Duration::from_nanos(self.u64()?),
        })
    }

    fn sample(&mut self) -> Result<Sample, WireError> {
        Ok(Sample {
            kind: self.kind()?,
            sequence: self.u32()?,
            sent_ns: self.u64()?,
            received_ns: self.u64()?,
        })
    }

    fn end(&self) -> Result<(), WireError> {
        if self.at == self.bytes.len() { Ok(()) } else { Err(WireError::Long(self.at)) }
    }
}

#[cfg(test)]
mod tests;
