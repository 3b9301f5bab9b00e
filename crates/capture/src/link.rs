//! What stands in front of a frame: radiotap (`wifi::wire::radiotap`),
//! AVS (`avs`), Prism (`prism`), PPI (`ppi`) or nothing in front of an MPDU of 802.11; Ethernet
//! and what replaces it on wired captures (`wired`). All of it becomes one form: what the receiver
//! knew ([`Radio`]) and the MPDU, or the network-layer packet and its addresses.

mod avs;
mod headers;
mod ppi;
mod prism;
mod wired;

pub use headers::Headers;
pub use wired::Wired;

use crate::file::Packet;
use crate::rate::Rate;
use lasthop_wifi::wire::frame::Layout;
use lasthop_wifi::wire::{Error, fcs, radiotap};
use std::fmt;

/// The kinds of headers in front of a packet (the registry of LINKTYPE values).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkType {
    /// 0, also 108: BSD's loopback, an address family and a packet.
    Loopback,
    /// 1: Ethernet.
    Ethernet,
    /// 101, also 12, 14, 228 and 229: an IPv4 or IPv6 packet.
    Ip,
    /// 105: an MPDU of 802.11.
    Ieee80211,
    /// 113: what Linux writes for interface `any`.
    LinuxSll,
    /// 119: Prism, then an MPDU.
    Prism,
    /// 127: radiotap, then an MPDU.
    Radiotap,
    /// 163: AVS, then an MPDU.
    Avs,
    /// 192: per-packet information, then most often an MPDU.
    Ppi,
    /// 276: the newer form of 113.
    LinuxSll2,
    /// Any other.
    Other(u16),
}

impl LinkType {
    /// The kind of this number.
    pub const fn from_code(code: u16) -> Self {
        match code {
            0 | 108 => Self::Loopback,
            1 => Self::Ethernet,
            12 | 14 | 101 | 228 | 229 => Self::Ip,
            105 => Self::Ieee80211,
            113 => Self::LinuxSll,
            119 => Self::Prism,
            127 => Self::Radiotap,
            163 => Self::Avs,
            192 => Self::Ppi,
            276 => Self::LinuxSll2,
            other => Self::Other(other),
        }
    }

    /// Its number.
    pub const fn code(self) -> u16 {
        match self {
            Self::Loopback => 0,
            Self::Ethernet => 1,
            Self::Ip => 101,
            Self::Ieee80211 => 105,
            Self::LinuxSll => 113,
            Self::Prism => 119,
            Self::Radiotap => 127,
            Self::Avs => 163,
            Self::Ppi => 192,
            Self::LinuxSll2 => 276,
            Self::Other(other) => other,
        }
    }

    /// Whether it is one that can be read.
    pub const fn is_supported(self) -> bool {
        !matches!(self, Self::Other(_))
    }

    /// Those that can be read, for messages.
    pub const SUPPORTED: &'static str = "802.11 (105), radiotap (127), Prism (119), AVS (163), \
        PPI (192), Ethernet (1), IP (101, 12, 14, 228, 229), Linux cooked (113, 276), \
        BSD loopback (0, 108)";
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loopback => f.write_str("BSD loopback"),
            Self::Ethernet => f.write_str("Ethernet"),
            Self::Ip => f.write_str("IP"),
            Self::Ieee80211 => f.write_str("802.11"),
            Self::LinuxSll => f.write_str("Linux cooked"),
            Self::Prism => f.write_str("Prism"),
            Self::Radiotap => f.write_str("radiotap"),
            Self::Avs => f.write_str("AVS"),
            Self::Ppi => f.write_str("PPI"),
            Self::LinuxSll2 => f.write_str("Linux cooked v2"),
            Self::Other(code) => write!(f, "link type {code}"),
        }
    }
}

/// What the receiver knew about an MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Radio {
    /// The receiver's clock in us, at the first bit of the MPDU or the PPDU.
    pub tsft_us: Option<u64>,
    /// PHY rate.
    pub rate: Option<Rate>,
    /// Centre of the (primary) channel in MHz.
    pub frequency_mhz: Option<u16>,
    /// Power at the antenna in dBm.
    pub signal_dbm: Option<i8>,
    /// Noise at the antenna in dBm.
    pub noise_dbm: Option<i8>,
    /// The frame check sequence was wrong: nothing in the frame can be relied on.
    pub bad_fcs: bool,
    /// Whether the frame ends with its FCS, and whether its header is padded.
    pub layout: Layout,
    /// It was part of an A-MPDU.
    pub ampdu: Option<Ampdu>,
    /// The frame ended with its FCS on the way to the file; a snap length may have cut it off.
    pub had_fcs: bool,
    /// What is in front of the frame is radiotap.
    pub radiotap: bool,
    /// The header has an MCS field (802.11n).
    pub has_mcs: bool,
    /// The header has a VHT field (802.11ac).
    pub has_vht: bool,
    /// The header has an HE field (802.11ax).
    pub has_he: bool,
    /// The header has an EHT field (802.11be).
    pub has_eht: bool,
}

/// What is known of the A-MPDU that an MPDU came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ampdu {
    /// The same for all MPDUs of one A-MPDU; some drivers leave it at 0.
    pub reference: u32,
    /// Whether it is the last, if that is known.
    pub last: Option<bool>,
}

/// A packet without the headers that its link type says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Opened<'a> {
    /// An MPDU, as it was on the air.
    Air {
        /// What the receiver knew.
        radio: Radio,
        /// The MPDU, as far as it was captured.
        mpdu: &'a [u8],
        /// Where it begins in the packet.
        offset: usize,
    },
    /// A packet of a wired (or any) interface.
    Wired(Wired<'a>),
}

/// Opens a packet of a link type that is [supported](LinkType::is_supported). `headers` remembers
/// what those before looked like.
///
/// # Errors
/// A header that is cut or makes no sense; offsets count from the start of the packet.
pub fn open<'a>(headers: &mut Headers, packet: &Packet<'a>) -> Result<Opened<'a>, Error> {
    let bytes = packet.bytes;
    let (mut radio, offset) = match packet.link {
        LinkType::Radiotap => headers.parse(bytes)?,
        LinkType::Ieee80211 => (Radio::default(), 0),
        LinkType::Avs => avs::parse(bytes)?,
        LinkType::Prism => prism::parse(bytes)?,
        LinkType::Ppi => match ppi::parse(bytes)? {
            ppi::Inside::Air(radio, offset) => (radio, offset),
            ppi::Inside::Other(link, offset) => {
                let inside = bytes.get(offset..).unwrap_or_default();
                let wired = wired::parse(link, inside).map_err(|error| error.shifted(offset))?;
                return Ok(Opened::Wired(wired));
            }
        },
        link => return wired::parse(link, bytes).map(Opened::Wired),
    };
    if let Some(length) = packet.fcs_bytes
        && packet.link == LinkType::Ieee80211
    {
        radio.layout.fcs = length == 4;
    }
    let mut mpdu = bytes.get(offset..).unwrap_or_default();
    let says_fcs = matches!(packet.link, LinkType::Radiotap | LinkType::Ppi)
        || packet.link == LinkType::Ieee80211 && packet.fcs_bytes.is_some();
    if !says_fcs && !packet.is_cut() {
        // Four other bytes are its check sequence once in 4 billion frames.
        radio.layout.fcs = ends_with_fcs(mpdu);
    }
    radio.had_fcs = radio.layout.fcs;
    if packet.is_cut() && radio.layout.fcs {
        // The end is missing, and so is the FCS, or what is left of it is of no use.
        let missing = packet.length as usize - bytes.len();
        let rest = mpdu.len().saturating_sub(4usize.saturating_sub(missing));
        mpdu = mpdu.get(..rest).unwrap_or_default();
        radio.layout.fcs = false;
    }
    Ok(Opened::Air { radio, mpdu, offset })
}

/// Whether the last four bytes are the check sequence of those before.
fn ends_with_fcs(mpdu: &[u8]) -> bool {
    // An Ack, the shortest frame but for those of extension.
    const LEAST: usize = 10;
    mpdu.split_last_chunk::<{ fcs::LEN }>().is_some_and(|(frame, last)| {
        frame.len() >= LEAST && fcs::compute(frame) == u32::from_le_bytes(*last)
    })
}

/// RX flags, bit 1: the check sequence of the PHY header was wrong.
const BAD_PLCP: u16 = 2;

fn of_radiotap(header: &radiotap::Repr) -> Radio {
    let flags = header.flags.unwrap_or_default();
    let ampdu = header.ampdu_status;
    let ampdu = ampdu.map(|status| headers::ampdu_of(status.reference, status.flags));
    Radio {
        tsft_us: header.tsft_us,
        rate: Rate::of_radiotap(header),
        frequency_mhz: header.channel.map(|channel| channel.frequency_mhz),
        signal_dbm: header.antenna_signal_dbm,
        noise_dbm: header.antenna_noise_dbm,
        bad_fcs: flags.bad_fcs() || header.rx_flags.is_some_and(|flags| flags & BAD_PLCP != 0),
        layout: flags.layout(),
        ampdu,
        had_fcs: false,
        radiotap: true,
        has_mcs: header.mcs.is_some(),
        has_vht: header.vht.is_some(),
        has_he: header.he.is_some(),
        has_eht: header.eht.is_some(),
    }
}
