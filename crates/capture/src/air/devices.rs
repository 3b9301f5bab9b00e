//! Multi-link devices (IEEE 802.11be-2024, 35.3): which access points and stations are the links of
//! one device, by Multi-Link elements of beacons, probes, authentications and associations, and by
//! the neighbors that an access point reports as its own links (9.4.2.170). All interfaces of a file
//! share them, with the data between them ([`Pairs`]).

use super::pairs::{LinkPlace, Pairs};
use lasthop_units::MacAddr;
use lasthop_wifi_wire::elements::{
    Elements, EmlCapabilities, MultiLink, MultiLinkCommon, ReducedNeighborReport, StationProfile,
    extension, id,
};
use lasthop_wifi_wire::management::{self, Body};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of devices that are kept: stations that look for networks change their address
/// often.
pub const DEVICES_MAX: usize = 4_096;
/// Largest number of links of a device (IEEE 802.11be-2024, 9.4.2.322).
const LINKS_MAX: usize = 15;
/// AP MLD ID of the reporting access point's own device.
const OWN: u8 = 0;

/// Multi-link devices of a capture, by MLD MAC address.
#[derive(Debug, Default)]
pub struct Devices {
    /// Data between devices.
    pub pairs: Pairs,
    list: BTreeMap<MacAddr, Device>,
    by_link: BTreeMap<MacAddr, MacAddr>,
    /// Stations that associated without a Multi-Link element, and so have one link.
    singles: BTreeSet<MacAddr>,
}

/// A multi-link device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Whether its links are access points.
    pub access_point: bool,
    /// Address of each link, with its link ID if a frame has it.
    pub links: BTreeMap<MacAddr, Option<u8>>,
    /// EML Capabilities that it announced last.
    pub eml: Option<EmlCapabilities>,
}

impl Devices {
    /// Handles a management frame.
    pub fn handle_management(&mut self, frame: &management::Repr<'_>) {
        let elements = match frame.body {
            Body::Beacon(it) | Body::ProbeResponse(it) => it.elements,
            Body::AssociationRequest(it) | Body::ReassociationRequest { request: it, .. } => {
                it.elements
            }
            Body::AssociationResponse(it) | Body::ReassociationResponse(it) => it.elements,
            Body::Authentication(it) => match it.sae_commit() {
                Ok(Some(commit)) => commit.elements,
                _ => it.elements(),
            },
            _ => return,
        };
        let is_request =
            matches!(frame.body, Body::AssociationRequest(_) | Body::ReassociationRequest { .. });
        if is_request {
            self.note_request(frame.transmitter, &elements);
        }
        for data in elements.whole_extensions(extension::MULTI_LINK) {
            let Ok(element) = MultiLink::parse(&data) else { continue };
            let MultiLinkCommon::Basic(basic) = element.common else { continue };
            // An AP MLD ID other than 0 is that of another device of a multiple BSSID set.
            if basic.mld_id.is_some_and(|id| id != OWN) {
                continue;
            }
            let is_ap = frame.transmitter == frame.bssid;
            self.note(basic.address, is_ap, frame.transmitter, basic.link_id);
            if let Some(device) = self.list.get_mut(&basic.address)
                && basic.eml.is_some()
            {
                device.eml = basic.eml;
            }
            for profile in element.profiles() {
                if let Ok(profile) = StationProfile::parse(&profile)
                    && let Some(address) = profile.address
                {
                    self.note(basic.address, is_ap, address, Some(profile.link_id));
                }
            }
            if is_ap {
                self.neighbors(basic.address, &elements);
            }
        }
    }

    /// Adds the links that a report has.
    fn neighbors(&mut self, device: MacAddr, elements: &Elements<'_>) {
        let reports = elements.iter().map_while(Result::ok);
        for report in reports.filter(|element| element.id == id::REDUCED_NEIGHBOR_REPORT) {
            let Ok(report) = ReducedNeighborReport::parse(&report) else { continue };
            for neighbor in report.channels().flat_map(|channel| channel.access_points()) {
                if let (Some(address), Some(mld)) = (neighbor.bssid, neighbor.mld)
                    && mld.mld_id == OWN
                {
                    self.note(device, true, address, Some(mld.link_id));
                }
            }
        }
    }

    fn note(&mut self, device: MacAddr, access_point: bool, link: MacAddr, id: Option<u8>) {
        if link.is_multicast() || device.is_multicast() {
            return;
        }
        if !self.list.contains_key(&device) && self.list.len() >= DEVICES_MAX {
            return;
        }
        let known = self.list.entry(device).or_default();
        known.access_point |= access_point;
        if !known.links.contains_key(&link) && known.links.len() >= LINKS_MAX {
            return;
        }
        let place = known.links.entry(link).or_default();
        *place = id.or(*place);
        self.by_link.insert(link, device);
    }

    /// Notes whether a station associates with one link.
    fn note_request(&mut self, station: MacAddr, elements: &Elements<'_>) {
        let is_single = elements.whole_extensions(extension::MULTI_LINK).next().is_none();
        if is_single && self.singles.len() < DEVICES_MAX {
            self.singles.insert(station);
            self.by_link.remove(&station);
        } else {
            self.singles.remove(&station);
        }
    }

    /// Returns the place of a link between two devices, if this interface is the first that captures
    /// it.
    pub(super) fn place(
        &mut self,
        from: MacAddr,
        to: MacAddr,
        interface: u32,
    ) -> Option<LinkPlace> {
        let Self { pairs, by_link, .. } = self;
        pairs.place([from, to], interface, || {
            Some([by_link.get(&from).copied()?, by_link.get(&to).copied()?])
        })
    }

    /// Whether every link between two devices was heard: each that the one with fewer links has.
    pub(super) fn is_whole(&mut self, place: LinkPlace) -> bool {
        let pair = self.pairs.at(place);
        let links = |device| self.list.get(device).map_or(usize::MAX, |it| it.links.len());
        pair.links.len() >= links(&pair.from).min(links(&pair.to))
    }

    /// Whether both addresses are links of devices.
    pub(super) fn are_of(&self, from: MacAddr, to: MacAddr) -> bool {
        self.by_link.contains_key(&from) && self.by_link.contains_key(&to)
    }

    /// Whether a station and an access point may have further links that are not known: one is of a
    /// device, and no association of the other was captured.
    pub(super) fn may_have_links(&self, a: MacAddr, b: MacAddr) -> bool {
        let is_single = self.singles.contains(&a) || self.singles.contains(&b);
        !is_single && (self.by_link.contains_key(&a) || self.by_link.contains_key(&b))
    }

    /// Whether no device is known.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns all devices by address.
    pub fn iter(&self) -> impl Iterator<Item = (MacAddr, &Device)> {
        self.list.iter().map(|(address, device)| (*address, device))
    }
}
