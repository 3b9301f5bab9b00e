//! Devices of several links in captures (IEEE 802.11be-2024, 35.3): addresses of their links, the
//! interface of each channel, and the elements that announce the device in its beacons: a Reduced
//! Neighbor Report of the other links (9.4.2.170), and a Basic Multi-Link element (9.4.2.322.2).
//!
//! The address of the device is that of its node, and of its first link, which 35.3.3 permits: DA
//! and SA of data. Each further link has its own, under which it sends and receives. In an A-MSDU
//! the third address is the BSSID, the link's.

use super::AirInfo;
use super::announced::{DeviceElements, Phy, ssid};
use crate::names::Names;
use crate::pcapng;
use lasthop_units::{Duration, MacAddr};
use lasthop_wifi::StationId;
use lasthop_wifi::phy::{Band, ChannelWidth, Rate};
use lasthop_wifi::wire::control::{self, CommonInfo, SpecialUserInfo, TriggerKind};
use lasthop_wifi::wire::elements::{
    BasicMultiLink, EmlCapabilities, MldCapabilities, MldParameters, MultiLink, NeighborChannel,
    ReducedNeighborReport, TbttInfo,
};
use lasthop_wifi::wire::{fcs, radiotap};

/// A station's link, if devices have several.
#[derive(Clone, Debug, PartialEq)]
pub struct AirLink {
    /// Band of its channel.
    pub band: Band,
    /// Rates of the station.
    pub rates: Vec<Rate>,
    /// Address under which the station sends and receives.
    pub address: MacAddr,
    /// Time of its first beacon after those of others.
    pub beacon_offset: Duration,
}

/// BSS Parameters of another link (figure 9-632a): Same SSID, Co-Located AP.
const SAME_SSID_AND_PLACE: u8 = 1 << 1 | 1 << 6;

impl DeviceElements {
    /// Returns what a station announces of its device.
    pub(super) fn new(info: &AirInfo, station: StationId) -> Self {
        let Some(links) = info.devices.iter().find(|links| links.contains(&station)) else {
            return Self::default();
        };
        let mut fields = Vec::new();
        for (other, link_id) in links.iter().zip(0..).filter(|(other, _)| **other != station) {
            let on_link = info.on_link(*other);
            let neighbor = TbttInfo {
                offset_tu: Some(offset_tu(info, station, *other)),
                bssid: Some(info.links[other.index()].address),
                short_ssid: Some(fcs::compute(ssid(info))),
                bss_parameters: Some(SAME_SSID_AND_PLACE),
                psd: None,
                mld: Some(MldParameters { link_id, ..MldParameters::default() }),
            };
            let class = Phy::new(&on_link).operating_class();
            NeighborChannel::emit(class, on_link.channel, &[neighbor], &mut fields);
        }
        let mut neighbors = Vec::new();
        ReducedNeighborReport::emit(&fields, &mut neighbors).expect("a device has three links");
        let place = links.iter().position(|link| *link == station).unwrap_or(0);
        let basic = BasicMultiLink {
            address: info.links[links[0].index()].address,
            link_id: Some(place as u8),
            change_count: Some(0),
            // An access point only says that it takes part in EMLSR.
            eml: Some(EmlCapabilities::emlsr(Duration::ZERO, Duration::ZERO, Duration::ZERO)),
            mld: Some(MldCapabilities::with_links(links.len() as u8)),
            ..BasicMultiLink::default()
        };
        let mut multi_link = Vec::new();
        MultiLink::basic(basic, &[]).emit(&mut multi_link);
        Self { neighbors, multi_link }
    }
}

/// Next beacon of another link after one of this link, in whole units of 1 024 us; 254 for 254 or
/// more (9.4.2.170.2).
fn offset_tu(info: &AirInfo, of: StationId, other: StationId) -> u8 {
    const LATE: u64 = 254;
    let tu = Duration::from_micros(1_024).as_nanos();
    let offset = |station: StationId| info.links[station.index()].beacon_offset.as_nanos();
    let interval = info.beacon_interval.as_nanos().max(1);
    let behind = (offset(other) + interval - offset(of) % interval) % interval;
    (behind / tu).min(LATE) as u8
}

impl AirInfo {
    /// The same properties on the channel of a station.
    pub(super) fn on_link(&self, station: StationId) -> Self {
        let mut info = Self { channels: Vec::new(), ..self.clone() };
        if let Some(number) = self.channels.get(station.index()) {
            info.channel = *number;
        }
        if let Some(link) = self.links.get(station.index()) {
            (info.band, info.rates) = (link.band, link.rates.clone());
        }
        info
    }
}

/// Interfaces of a capture, one for each channel of devices: their names, and the number of each
/// station's. Empty without devices: there is one interface.
pub(super) fn interfaces(
    info: &AirInfo,
    channels: &[radiotap::Channel],
) -> (Vec<String>, Vec<u32>) {
    if info.links.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let mut known: Vec<(u16, usize)> = Vec::new();
    let mut of_station = Vec::new();
    for (station, channel) in channels.iter().enumerate() {
        let place = known.iter().position(|(frequency, _)| *frequency == channel.frequency_mhz);
        of_station.push(place.unwrap_or(known.len()) as u32);
        if place.is_none() {
            known.push((channel.frequency_mhz, station));
        }
    }
    let band = |station: usize| info.links[station].band;
    let name = |(_, station): &(u16, usize)| {
        let same = known.iter().filter(|(_, other)| band(*other) == band(*station)).count();
        match same {
            1 => format!("air@{}", band(*station)),
            _ => format!("air@{}:{}", band(*station), info.channels[*station]),
        }
    };
    (known.iter().map(name).collect(), of_station)
}

/// Names of the addresses of links that are not their node's.
pub(super) fn names(info: &AirInfo, names: &Names) -> Vec<(pcapng::Address, String)> {
    let links = info.links.iter().zip(0..).filter_map(|(link, station)| {
        let station = StationId(station);
        let node = names.nodes.get(names.stations.get(station.index())?.index())?;
        if node.address == link.address {
            return None;
        }
        let number = names.link_of.get(station.index()).copied().unwrap_or(0);
        let name = names.on_link(node.name.clone(), number);
        Some((pcapng::Address::Eui48(link.address.0), name))
    });
    links.collect()
}

/// Returns Common Info of an MU-RTS Trigger frame to one station, and its User Info with the padding
/// that makes the frame `bytes` long; answers of 320 MHz need the EHT variant. `place` is that of the
/// primary 20 MHz in its 80 MHz.
pub(super) fn mu_rts(
    aid: u16,
    width: ChannelWidth,
    place: u8,
    bytes: u16,
) -> (CommonInfo, Vec<u8>) {
    /// Addresses and FCS around the fields, and Common Info.
    const AROUND: usize = 16 + 8 + fcs::LEN;
    let width_mhz = (width.as_hz() / 1_000_000) as u16;
    let mut common = CommonInfo::request_to_send(width);
    let mut rest = Vec::new();
    if width == ChannelWidth::Mhz320 {
        common = common.for_eht(width_mhz);
        SpecialUserInfo::of_width(width_mhz).emit(TriggerKind::RequestToSend, &mut rest);
    }
    let place = if width == ChannelWidth::Mhz40 { place / 2 } else { place };
    control::emit_request_to_send(aid, width_mhz, place, &mut rest);
    let padding = usize::from(bytes).saturating_sub(AROUND + rest.len());
    if padding > 0 {
        control::emit_trigger_padding(padding, &mut rest);
    }
    (common, rest)
}
