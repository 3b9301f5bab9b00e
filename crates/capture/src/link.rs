//! Headers in front of a frame: radiotap (`wifi_wire::radiotap`), AVS (`avs`), Prism (`prism`),
//! PPI (`ppi`) or none for an MPDU of 802.11; Ethernet and similar headers of wired captures
//! (`wired`). The result is an MPDU with metadata of the receiver ([`Radio`]), or a network-layer
//! packet with its addresses.

mod avs;
mod headers;
mod ppi;
mod prism;
mod wired;

pub use crate::file::LinkType;
pub use headers::Headers;
pub use wired::Wired;

use crate::file::Packet;
use crate::rate::Rate;
use lasthop_wifi_wire::frame::Layout;
use lasthop_wifi_wire::{Error, fcs, radiotap};

/// Metadata of the receiver for an MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Radio {
    /// Receiver's clock in us, at the first bit of the MPDU or the PPDU.
    pub tsft_us: Option<u64>,
    /// PHY rate of the MPDU.
    pub rate: Option<Rate>,
    /// Centre of the (primary) channel in MHz.
    pub frequency_mhz: Option<u16>,
    /// Power at the antenna in dBm.
    pub signal_dbm: Option<i8>,
    /// Noise at the antenna in dBm.
    pub noise_dbm: Option<i8>,
    /// Whether the frame check sequence was wrong, so that the frame is not reliable.
    pub bad_fcs: bool,
    /// Whether the frame ends with its FCS, and whether its header is padded.
    pub layout: Layout,
    /// A-MPDU that the MPDU was part of, if the header marks one.
    pub ampdu: Option<Ampdu>,
    /// Whether the frame originally ended with its FCS, which a snap length may have cut off.
    pub had_fcs: bool,
    /// Whether the header is radiotap.
    pub radiotap: bool,
    /// Whether the header has an MCS field (802.11n).
    pub has_mcs: bool,
    /// Whether the header has a VHT field (802.11ac).
    pub has_vht: bool,
    /// Whether the header has an HE field (802.11ax).
    pub has_he: bool,
    /// Whether the header has an EHT field (802.11be).
    pub has_eht: bool,
}

/// The A-MPDU of an MPDU, as the header describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ampdu {
    /// Reference number of all MPDUs of one A-MPDU; some drivers leave it at 0.
    pub reference: u32,
    /// Whether the MPDU is the last one, if known.
    pub last: Option<bool>,
}

/// A packet without its link-layer headers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Opened<'a> {
    /// An MPDU as it was on the air.
    Air {
        /// Metadata of the receiver.
        radio: Radio,
        /// Captured part of the MPDU.
        mpdu: &'a [u8],
        /// Offset of the MPDU in the packet.
        offset: usize,
    },
    /// A packet of a wired (or any) interface.
    Wired(Wired<'a>),
}

/// Opens a packet of a [supported](LinkType::is_supported) link type. `headers` remembers earlier
/// headers.
///
/// # Errors
///
/// Fails for a header that is cut or invalid; offsets count from the start of the packet.
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
        // Four other bytes equal the check sequence once in 4 billion frames.
        radio.layout.fcs = ends_with_fcs(mpdu);
    }
    radio.had_fcs = radio.layout.fcs;
    if packet.is_cut() && radio.layout.fcs {
        // The end is missing, and with it the FCS or a part of it.
        let missing = packet.length as usize - bytes.len();
        let rest = mpdu.len().saturating_sub(4usize.saturating_sub(missing));
        mpdu = mpdu.get(..rest).unwrap_or_default();
        radio.layout.fcs = false;
    }
    Ok(Opened::Air { radio, mpdu, offset })
}

/// Whether the last four bytes are the check sequence of the other bytes.
fn ends_with_fcs(mpdu: &[u8]) -> bool {
    // Length of an Ack, the shortest frame except those of extension.
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
