//! Link layers of interfaces other than monitors: Ethernet with VLAN tags, the cooked headers of
//! Linux' interface `any` (versions 1 and 2), BSD's loopback, and bare IP packets.

use crate::file::LinkType;
use lasthop_units::MacAddr;
use lasthop_wifi_wire::{Error, Reason};

/// A packet of a wired (or any) interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wired<'a> {
    /// Source address, if known.
    pub source: Option<MacAddr>,
    /// Destination address, if known.
    pub destination: Option<MacAddr>,
    /// EtherType of the packet.
    pub ethertype: u16,
    /// Packet from its network-layer header on.
    pub packet: &'a [u8],
    /// Offset of the network-layer header.
    pub offset: usize,
}

/// EtherType of IPv4.
pub(crate) const IPV4: u16 = 0x0800;
/// EtherType of IPv6.
pub(crate) const IPV6: u16 = 0x86dd;
/// EtherTypes of VLAN tags (IEEE 802.1Q, 802.1ad).
const VLAN: [u16; 2] = [0x8100, 0x88a8];

/// Returns the EtherType of an address family of BSD's loopback. It is in the byte order of the
/// host that wrote it (0), or of the network (108); both are small numbers. IPv6 has a different
/// number on each system: Linux, NetBSD and OpenBSD, FreeBSD, Darwin.
fn ethertype_of(family: [u8; 4]) -> Option<u16> {
    let family = u32::from_be_bytes(family).min(u32::from_le_bytes(family));
    match family {
        2 => Some(IPV4),
        10 | 24 | 28 | 30 => Some(IPV6),
        _ => None,
    }
}

pub(super) fn parse(link: LinkType, bytes: &[u8]) -> Result<Wired<'_>, Error> {
    let layer = match link {
        LinkType::Ethernet => "Ethernet",
        LinkType::Ip => "IP",
        LinkType::Loopback => "BSD loopback",
        _ => "Linux cooked",
    };
    let short = |needs: usize| {
        let reason = Reason::Short { needs, left: bytes.len() };
        Error { layer, field: "header", offset: 0, reason }
    };
    let address = |at: usize| bytes.get(at..)?.first_chunk().copied().map(MacAddr);
    let u16_at = |at: usize| bytes.get(at..)?.first_chunk().copied().map(u16::from_be_bytes);
    let (source, destination, mut ethertype, mut offset) = match link {
        LinkType::Ethernet => {
            let ethertype = u16_at(12).ok_or_else(|| short(14))?;
            (address(6), address(0), ethertype, 14)
        }
        LinkType::LinuxSll => {
            let ethertype = u16_at(14).ok_or_else(|| short(16))?;
            (address(6).filter(|_| u16_at(4) == Some(6)), None, ethertype, 16)
        }
        LinkType::LinuxSll2 => {
            if bytes.len() < 20 {
                return Err(short(20));
            }
            (address(12).filter(|_| bytes[11] == 6), None, u16_at(0).unwrap_or_default(), 20)
        }
        LinkType::Loopback => {
            let family = bytes.first_chunk::<4>().ok_or_else(|| short(4))?;
            (None, None, ethertype_of(*family).unwrap_or_default(), 4)
        }
        LinkType::Ip => {
            let version = bytes.first().ok_or_else(|| short(1))? >> 4;
            let ethertype = match version {
                4 => IPV4,
                6 => IPV6,
                _ => {
                    let reason = Reason::Value { found: u32::from(version), allowed: "4 or 6" };
                    return Err(Error { layer, field: "version", offset: 0, reason });
                }
            };
            (None, None, ethertype, 0)
        }
        other => {
            let found = u32::from(other.code());
            let reason = Reason::Value { found, allowed: LinkType::SUPPORTED };
            return Err(Error { layer: "packet", field: "link type", offset: 0, reason });
        }
    };
    while VLAN.contains(&ethertype) {
        ethertype = u16_at(offset + 2).ok_or_else(|| short(offset + 4))?;
        offset += 4;
    }
    let packet = bytes.get(offset..).unwrap_or_default();
    Ok(Wired { source, destination, ethertype, packet, offset })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_in_either_order() {
        for (family, ethertype) in [(2u32, IPV4), (10, IPV6), (24, IPV6), (28, IPV6), (30, IPV6)] {
            for head in [family.to_le_bytes(), family.to_be_bytes()] {
                let bytes = [&head[..], &[0x45, 1, 2]].concat();
                let wired = parse(LinkType::Loopback, &bytes).unwrap();
                assert_eq!(
                    (wired.ethertype, wired.packet, wired.offset),
                    (ethertype, &bytes[4..], 4)
                );
            }
        }
        // AppleTalk does not carry IP, and three bytes are not a family.
        assert_eq!(parse(LinkType::Loopback, &[16, 0, 0, 0, 1]).unwrap().ethertype, 0);
        assert!(parse(LinkType::Loopback, &[2, 0, 0]).is_err());
        for code in [12, 14, 101, 228, 229] {
            assert_eq!(LinkType::from_code(code), LinkType::Ip);
        }
        for code in [0, 108] {
            assert_eq!(LinkType::from_code(code), LinkType::Loopback);
        }
    }
}
