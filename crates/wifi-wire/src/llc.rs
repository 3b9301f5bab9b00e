//! The LLC and SNAP headers in front of every MSDU's payload (IEEE 802.11-2020, 5.1.4; IEEE 802;
//! RFC 1042): AA AA 03, OUI, EtherType. Other LLC formats are not supported.

use super::reader::Reader;
use super::{Error, Reason};
use alloc::vec::Vec;

/// Length in bytes.
pub const LEN: usize = 8;

/// DSAP and SSAP of SNAP, and unnumbered information.
const SNAP: [u8; 3] = [0xaa, 0xaa, 0x03];

/// An LLC/SNAP header.
///
/// ```
/// use lasthop_wifi_wire::llc::Repr;
///
/// let bytes = Repr::new(0x0800).to_bytes();
/// let (header, rest) = Repr::parse(&bytes)?;
/// assert_eq!((header.ethertype, rest.len()), (0x0800, 0));
/// # Ok::<(), lasthop_wifi_wire::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// OUI of the organisation that assigned the type.
    pub oui: [u8; 3],
    /// EtherType, if the OUI is that of RFC 1042.
    pub ethertype: u16,
}

impl Repr {
    /// The OUI of RFC 1042.
    pub const RFC1042: [u8; 3] = [0, 0, 0];
    /// The OUI of IEEE 802.1H, for AppleTalk ARP and IPX.
    pub const BRIDGE_TUNNEL: [u8; 3] = [0, 0, 0xf8];

    /// Returns the header of an EtherType under RFC 1042.
    pub const fn new(ethertype: u16) -> Self {
        Self { oui: Self::RFC1042, ethertype }
    }

    /// Splits an MSDU into header and payload.
    ///
    /// # Errors
    /// Returns an error for fewer than [`LEN`] bytes, or another format than SNAP.
    pub fn parse(msdu: &[u8]) -> Result<(Self, &[u8]), Error> {
        let mut reader = Reader::new("LLC", msdu);
        let llc: [u8; 3] = reader.array("header")?;
        if llc != SNAP {
            let found = u32::from_be_bytes([0, llc[0], llc[1], llc[2]]);
            let reason = Reason::Value { found, allowed: "SNAP (0xaaaa03)" };
            return Err(Error { layer: "LLC", field: "header", offset: 0, reason });
        }
        let oui = reader.array("OUI")?;
        let ethertype = u16::from_be_bytes(reader.array("EtherType")?);
        Ok((Self { oui, ethertype }, reader.rest()))
    }

    /// Appends the header.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_bytes());
    }

    /// Returns the bytes of the header.
    pub const fn to_bytes(&self) -> [u8; LEN] {
        let ([dsap, ssap, control], oui) = (SNAP, self.oui);
        let [high, low] = self.ethertype.to_be_bytes();
        [dsap, ssap, control, oui[0], oui[1], oui[2], high, low]
    }
}
