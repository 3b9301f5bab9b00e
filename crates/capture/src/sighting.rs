//! A packet of IP at one place: its invariant properties, and its time.
//!
//! Addresses, ports, numbers and timestamps of TCP (RFC 9293, RFC 7323), and the first bytes of a
//! payload are the same at all places. The time to live, checksums (computed by the card), and
//! lengths and PSH of TCP (segmentation in the card or GRO) are not. A translator changes addresses
//! and ports, so there are two keys: with them and without.

use crate::transport::{FlowKey, said_bytes};
use lasthop_packet::ip;
use lasthop_packet::transport::tcp::{Flags, Timestamps};
use lasthop_packet::transport::{icmp, tcp, udp};
use std::net::SocketAddr;

/// An event at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// A packet of IP; on the air, each attempt is one.
    Seen(Sighting),
    /// An MPDU was acknowledged for the first time.
    Acknowledged {
        /// Interface that captured the acknowledgement.
        interface: u32,
        /// Sender of the MPDU, as a number of the capture.
        from: u32,
        /// Receiver of the MPDU.
        to: u32,
        /// Traffic identifier (TID); 16 without QoS.
        tid: u8,
        /// Sequence number of the MPDU.
        sequence: u16,
        /// Time in ns since 1970 by the clock of the capture.
        at_ns: u64,
    },
}

/// A captured packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sighting {
    /// Interface that captured the packet.
    pub interface: u32,
    /// Number of the packet in the file, from 1.
    pub number: u64,
    /// Start of its PPDU, in ns since 1970 by the clock of the capture; on a wire, the capture
    /// time.
    pub begin_ns: u64,
    /// End of its MPDU; on a wire, the capture time.
    pub end_ns: u64,
    /// Whether the end is exact: no MPDU behind it in the A-MPDU was missed.
    pub exact: bool,
    /// MPDU that carried it on the air.
    pub air: Option<AirCarrier>,
    /// Fields of its headers.
    pub header: Header,
}

/// An MPDU that carries a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AirCarrier {
    /// Sender of the MPDU, as a number of the capture.
    pub from: u32,
    /// Receiver of the MPDU.
    pub to: u32,
    /// Traffic identifier (TID); 16 without QoS.
    pub tid: u8,
    /// Sequence number of the MPDU.
    pub sequence: u16,
    /// Whether the Retry bit is set.
    pub retry: bool,
    /// Whether the MPDU is sent to an access point.
    pub to_ds: bool,
}

/// Fields of a packet's headers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// Flow of the packet. Echoes of ICMP have their identifier as ports.
    pub flow: FlowKey,
    /// Whether it goes from the second end of the flow to the first.
    pub back: bool,
    /// Identification of IPv4; 0 for IPv6.
    pub id: u16,
    /// Time to live or hop limit.
    pub hops_left: u8,
    /// Hash of the fields that distinguish packets, without addresses.
    pub digest: u64,
    /// Fields of TCP.
    pub tcp: Option<Tcp>,
}

/// Fields of a segment's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// Sequence number of the first byte.
    pub sequence: u32,
    /// Acknowledgement number; `None` without ACK.
    pub acknowledges: Option<u32>,
    /// Length of the payload on the way in bytes, including bytes that were not captured.
    pub payload_bytes: u32,
    /// Whether the SYN flag is set.
    pub syn: bool,
    /// Whether the FIN flag is set.
    pub fin: bool,
    /// Whether the RST flag is set.
    pub rst: bool,
    /// The timestamps option.
    pub timestamps: Option<Timestamps>,
}

impl Tcp {
    /// Reads the fields of a segment of `bytes` bytes; `None` if its length is wrong.
    fn new(view: tcp::View<'_>, bytes: u64) -> Option<Self> {
        let payload = bytes.checked_sub(view.header_bytes() as u64)?;
        let payload = Some(payload).filter(|payload| *payload <= PAYLOAD_BYTES_MAX)?;
        let flags = view.flags();
        Some(Self {
            sequence: view.sequence(),
            acknowledges: view.acknowledges(),
            payload_bytes: u32::try_from(payload).ok()?,
            syn: flags.has(Flags::SYN),
            fin: flags.has(Flags::FIN),
            rst: flags.has(Flags::RST),
            timestamps: view.timestamps(),
        })
    }

    /// Returns the number of the first byte of payload, which follows a SYN.
    pub const fn first(&self) -> u32 {
        self.sequence.wrapping_add(self.syn as u32)
    }
}

/// Bytes of a payload of UDP or ICMP in the digest: as many as short snap lengths leave.
const DIGEST_BYTES: usize = 16;
/// Longest payload of a segment that is accepted, in bytes: twice the greatest length that cards
/// segment (512 KiB).
const PAYLOAD_BYTES_MAX: u64 = 1 << 20;

impl Header {
    /// Parses a packet of IP as far as it was captured. `bytes` is its whole length, which counts
    /// if the header has no length. Returns `None` for packets without ports, later fragments, and
    /// packets that are cut within their headers.
    pub fn parse(packet: &[u8], bytes: u64) -> Option<Self> {
        let view = ip::View::new(packet)?;
        let (protocol, upper) = view.upper();
        if view.is_later_fragment() {
            return None;
        }
        let header_bytes = (packet.len() - upper.len()) as u64;
        let (id, hops_left) = match view.version() {
            ip::Version::V4 => (u16::from_be_bytes([packet[4], packet[5]]), packet[8]),
            ip::Version::V6 => (0, packet[7]),
        };
        let (ports, tcp, digest) = match protocol {
            ip::protocol::TCP => {
                let length = said_bytes(packet).unwrap_or(bytes);
                let view = tcp::View::new(upper)?;
                let tcp = Tcp::new(view, length.saturating_sub(header_bytes))?;
                (view.ports(), Some(tcp), digest_of(&tcp))
            }
            ip::protocol::UDP => {
                let view = udp::View::new(upper)?;
                let digest = mixed(
                    mixed(u64::from(ip::protocol::UDP), u64::from(id)),
                    u64::from(view.length()),
                );
                (view.ports(), None, payload(digest, view.payload()))
            }
            ip::protocol::ICMP | ip::protocol::ICMPV6 => {
                let view = icmp::View::new(upper)?;
                let echo = view.echo(protocol)?;
                let head = u64::from(view.kind()) << 16 | u64::from(echo.sequence);
                let digest = mixed(mixed(u64::from(protocol), u64::from(id)), head);
                ([echo.identifier; 2], None, payload(digest, view.payload()))
            }
            _ => return None,
        };
        let [source, destination] = view.addresses();
        let [source, destination] =
            [(source, ports[0]), (destination, ports[1])].map(SocketAddr::from);
        let (flow, back) = FlowKey::between(protocol, source, destination);
        Some(Self { flow, back, id, hops_left, digest, tcp })
    }
}

/// Computes the digest of a segment from fields that segmentation in the card, GRO and translators
/// preserve in the first of several segments.
fn digest_of(tcp: &Tcp) -> u64 {
    let (value, echo) = tcp.timestamps.map_or((0, 0), |it| (it.value, it.echo));
    let numbers = u64::from(tcp.sequence) << 32 | u64::from(tcp.acknowledges.unwrap_or_default());
    let flags =
        u64::from(tcp.syn) | u64::from(tcp.rst) << 1 | u64::from(tcp.payload_bytes > 0) << 2;
    mixed(mixed(mixed(6, flags), numbers), u64::from(value) << 32 | u64::from(echo))
}

fn payload(digest: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes[..bytes.len().min(DIGEST_BYTES)].as_chunks::<8>();
    let whole = words.iter().fold(digest, |digest, word| mixed(digest, u64::from_be_bytes(*word)));
    rest.iter().fold(whole, |digest, byte| mixed(digest, u64::from(*byte) + 1))
}

/// Mixes two numbers into a hash: the finaliser of SplitMix64, in which every bit depends on every
/// other.
pub(crate) const fn mixed(a: u64, b: u64) -> u64 {
    let mut z = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
