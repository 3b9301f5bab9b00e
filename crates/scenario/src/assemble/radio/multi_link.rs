//! Devices of several links (802.11be): a further station for each `[[channel.link]]`, in a set of
//! its own on the channel of the link, after the stations of all nodes.

use super::{Common, Problems, WifiNode, channels, is_written, station};
use crate::Role;
use crate::raw::{
    MultiLinkKind, PowerSaveKind, RawChannelLink, RawEmlsr, RawLinkUse, RawPowerSave, RawScenario,
};
use lasthop_config::error::Place;
use lasthop_packet::AccessCategory;
use lasthop_units::{Db, Duration, Identity, MacAddr};
use lasthop_wifi::cell::{
    BandwidthAccess, CellConfig, DeviceConfig, LinkMode, LinkSet, Links, OperatingChannel,
    PairConfig, StationConfig,
};
use lasthop_wifi::phy::{Band, ChannelWidth, PathLoss, SnrChange, Standard, Subchannel};
use lasthop_wifi::{BssId, StationId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Links of a device, the channel itself among them.
const LINKS_MAX: usize = 3;

/// A further link.
struct Further<'a> {
    raw: &'a RawChannelLink,
    channel: Subchannel,
    width: ChannelWidth,
    band: Band,
    /// Width of the channel itself.
    main: ChannelWidth,
}

/// Puts the nodes of sets with a `link` on that one; returns the number of each node's link, 0 for
/// the channel itself.
pub(super) fn place(
    raw: &RawScenario,
    wifi: &[WifiNode<'_>],
    own: &mut [Common],
    problems: &mut Problems,
) -> Vec<usize> {
    let mut alone = vec![0; wifi.len()];
    for cell in &raw.cell {
        let Some(at) = &cell.link else { continue };
        let number: usize = at.value.get::<u8>().into();
        let Some(link) = raw.channel.link.get(number - 1) else {
            problems.push(&at.place, "there is no such [[channel.link]]");
            continue;
        };
        if let Some(channel) = &cell.channel {
            problems.push(&channel.place, "a set on a further link is on the channel of that");
        }
        let name = cell.name.as_ref().map(|at| at.value.0.as_str());
        for (index, (_, node)) in wifi.iter().enumerate() {
            if node.bss() == name {
                alone[index] = number;
                let own = &mut own[index];
                own.band = link.band.value;
                own.width = link.width.value.min(own.standard.width_max());
                own.propagation.width = link.width.value;
            }
        }
    }
    alone
}

/// Gives the nodes their further links.
pub(super) fn apply(
    raw: &RawScenario,
    wifi: &[WifiNode<'_>],
    own: &[Common],
    alone: &[usize],
    used: &BTreeSet<Standard>,
    cell: &mut CellConfig,
    problems: &mut Problems,
) {
    let nodes = wifi.iter().zip(own).zip(alone);
    let modes: Vec<Option<DeviceConfig>> =
        nodes.map(|((node, own), alone)| device(raw, node, own, *alone, problems)).collect();
    let Some(further) = links(raw, cell.band, problems) else { return };
    if modes.iter().all(Option::is_none) {
        let place = &raw.channel.link[0].here;
        problems.push(place, "no node has several links: that takes 802.11be");
        return;
    }
    if cell.movement.is_some() || cell.channels_vary {
        let message = "nodes that move, and channels that change, are not modelled with several \
                       links";
        problems.push(&raw.channel.link[0].here, message);
        return;
    }
    let heads = wifi.len();
    let sets = cell.stations.iter().map(|it| it.bss.0 + 1).max().unwrap_or(0);
    cell.channels.resize(usize::from(sets), OperatingChannel::default());
    for channel in &mut cell.channels {
        channel.primary = channel.primary.among_all(cell.band);
    }
    for (head, link) in alone.iter().enumerate() {
        if let Some(link) = link.checked_sub(1).and_then(|index| further.get(index)) {
            cell.channels[cell.stations[head].bss.index()].primary = link.channel;
        }
    }
    let mut devices: Vec<Vec<StationId>> = (0..heads).map(|head| vec![id(head)]).collect();
    // Of each further station the link and the node.
    let mut places: Vec<(usize, usize)> = alone.iter().copied().zip(0..).collect();
    let mut set = sets;
    for (number, link) in (1..).zip(&further) {
        let mut known: Vec<(BssId, BssId)> = Vec::new();
        for (head, (node, own)) in wifi.iter().zip(own).enumerate() {
            if modes[head].is_none() {
                continue;
            }
            let of = cell.stations[head].bss;
            let bss = known.iter().find(|(first, _)| *first == of).map(|(_, bss)| *bss);
            let bss = bss.unwrap_or_else(|| {
                known.push((of, BssId(set)));
                cell.channels.push(OperatingChannel {
                    primary: link.channel,
                    access: BandwidthAccess::Dynamic,
                    ..OperatingChannel::default()
                });
                set += 1;
                BssId(set - 1)
            });
            let common = common_of(own, link);
            // What is wrong with the node is said of its first link.
            let mut said = Problems::default();
            let mut other = station::config(node.0, node.1, bss, &common, used, &mut said);
            other.identity = other.identity.to(Identity::numbered(number));
            other.address = address(&cell.stations[head], number);
            if let Some(interval) = raw.channel.beacon_interval.value.0 {
                other.beacon_offset = other.identity.offset_within(interval);
            }
            // The first link stays awake.
            cell.stations[head].power_save = None;
            devices[head].push(id(cell.stations.len()));
            places.push((number as usize, head));
            cell.stations.push(other);
        }
    }
    cell.links = Arc::new(pairs(&places, &further, cell));
    let of_head = devices
        .into_iter()
        .zip(modes)
        .filter_map(|(links, device)| device.map(|device| DeviceConfig { links, ..device }));
    cell.devices = of_head.collect();
    check_common(wifi, cell, problems);
}

/// Reports stations that share no link with their access point for some access category.
fn check_common(wifi: &[WifiNode<'_>], cell: &CellConfig, problems: &mut Problems) {
    let station = |device: &DeviceConfig| &cell.stations[device.links[0].index()];
    for device in &cell.devices {
        let own = station(device);
        let is_its = |other: &&DeviceConfig| {
            station(other).bss == own.bss
                && station(other).role == lasthop_wifi::cell::Role::AccessPoint
        };
        let Some(access_point) = cell.devices.iter().find(is_its) else { continue };
        let off = device.off.with(access_point.off);
        let all = LinkSet::from_numbers(0..device.links.len()).without(off);
        for category in AccessCategory::ALL {
            let mapped = [device, access_point].map(|it| it.mapping[category.index()]);
            if mapped[0].both(mapped[1]).both(all).is_empty() {
                let place = &wifi[device.links[0].index()].1.raw.settings.link_use.here;
                let name = match category {
                    AccessCategory::Background => "background traffic",
                    AccessCategory::BestEffort => "best effort",
                    AccessCategory::Video => "video",
                    AccessCategory::Voice => "voice",
                };
                let message = format!(
                    "the node and its access point share no link for {name} that is not off"
                );
                problems.push(place, message);
                break;
            }
        }
    }
}

/// A device without its links; `None` for a node of one link.
fn device(
    raw: &RawScenario,
    (_, node): &WifiNode<'_>,
    own: &Common,
    alone: usize,
    problems: &mut Problems,
) -> Option<DeviceConfig> {
    let settings = &node.raw.settings;
    let is_there = !raw.channel.link.is_empty() && alone == 0;
    // A neighbour's load is that of the channel.
    let is_there = is_there && !channels::is_neighbour(&node.bss());
    let can = own.standard == Standard::Dot11be;
    let kind = match &settings.multi_link {
        None if is_there && can => MultiLinkKind::Str,
        None => MultiLinkKind::Off,
        Some(at) => {
            let kind = at.value;
            if kind != MultiLinkKind::Off && !can {
                let message = format!("several links need 802.11be, not {}", own.standard);
                problems.push(&at.place, message);
            } else if kind != MultiLinkKind::Off && !is_there {
                let message = match alone {
                    0 => "which links? add a [[channel.link]]",
                    _ => "the set of this node is on one further link alone",
                };
                problems.push(&at.place, message);
            } else if !matches!(kind, MultiLinkKind::Off | MultiLinkKind::Str)
                && node.role() == Role::AccessPoint
            {
                problems.push(&at.place, "an access point has \"str\" or \"off\"");
            }
            kind
        }
    };
    let emlsr = &settings.emlsr;
    if kind != MultiLinkKind::Emlsr && is_written(&emlsr.here) {
        problems.push_unfit(&emlsr.here, "these times are for multi_link = \"emlsr\" only");
    }
    let link_use = &settings.link_use;
    if kind == MultiLinkKind::Off && is_written(&link_use.here) {
        problems.push_unfit(&link_use.here, "this node has one link");
    }
    let mode = match kind {
        MultiLinkKind::Off => return None,
        MultiLinkKind::Str => LinkMode::Simultaneous,
        MultiLinkKind::Nstr => LinkMode::Nonsimultaneous,
        MultiLinkKind::Emlsr => single_radio(emlsr, problems),
    };
    check(node, problems);
    Some(used(link_use, raw.channel.link.len() + 1, mode, problems))
}

/// Links that a device uses of as many as it has.
fn used(raw: &RawLinkUse, links: usize, mode: LinkMode, problems: &mut Problems) -> DeviceConfig {
    let mut device = DeviceConfig::new(Vec::new(), mode);
    device.choice = raw.choice.value;
    let mut set = |numbers: Vec<u8>, place: &Place| {
        let beyond = numbers.iter().find(|number| usize::from(**number) >= links);
        if let Some(number) = beyond {
            let most = links - 1;
            problems.push(place, format!("there is no link {number}: expected 0 to {most}"));
        }
        LinkSet::from_numbers(numbers.into_iter().map(usize::from).filter(|number| *number < links))
    };
    if let Some(on) = &raw.on {
        let numbers = on.value.iter().map(|number| number.get()).collect();
        device.off = LinkSet::from_numbers(0..links).without(set(numbers, &on.place));
    }
    let categories = [
        (AccessCategory::Voice, &raw.voice),
        (AccessCategory::Video, &raw.video),
        (AccessCategory::BestEffort, &raw.best_effort),
        (AccessCategory::Background, &raw.background),
    ];
    let mut mapped = Vec::new();
    for (category, at) in categories {
        let Some(at) = at else { continue };
        let all = set(at.value.iter().map(|number| number.get()).collect(), &at.place);
        device.mapping[category.index()] = all;
        mapped.push((all, &at.place));
    }
    if let Some(on) = raw.on.as_ref().filter(|_| device.off.has(0)) {
        problems.push(&on.place, "expected link 0 among them: it has the group frames");
    }
    for (all, place) in mapped {
        if all.without(device.off).is_empty() {
            problems.push(place, "expected at least one link that is not switched off");
        }
    }
    device
}

/// Times of EMLSR, as the EML Capabilities have them (IEEE 802.11be-2024, 9.4.2.322.2.4).
fn single_radio(raw: &RawEmlsr, problems: &mut Problems) -> LinkMode {
    let times =
        [(&raw.padding, &[0, 32, 64, 128, 256][..]), (&raw.transition, &[0, 16, 32, 64, 128, 256])];
    for (at, allowed) in times {
        if !allowed.iter().any(|us| at.value == Duration::from_micros(*us)) {
            let allowed: Vec<String> = allowed.iter().map(|us| format!("{us}us")).collect();
            let message = format!("expected one of {}, got {}", allowed.join(", "), at.value);
            problems.push(&at.place, message);
        }
    }
    LinkMode::SingleRadio { padding: raw.padding.value, transition: raw.transition.value }
}

/// Reports what a node of several links cannot have.
fn check(node: &crate::assemble::nodes::Expanded<'_>, problems: &mut Problems) {
    let raw = &node.raw.settings;
    let places = [
        raw.scan.as_ref().map(|it| &it.here),
        raw.roaming.as_ref().map(|it| &it.here),
        raw.absence.first().map(|it| &it.here),
        raw.power_save.as_ref().filter(|it| !is_link_wise(it)).map(|it| &it.here),
        raw.ofdma.as_ref().map(|it| &it.here),
        raw.mu_mimo.as_ref().map(|it| &it.here),
        raw.operating_mode.as_ref().map(|it| &it.here),
        raw.pseudo_retry_out.enabled.value.then_some(&raw.pseudo_retry_out.enabled.place),
        raw.driver_queue.packets.as_ref().map(|it| &it.place),
        raw.driver_queue.airtime.as_ref().map(|it| &it.place),
    ];
    for place in places.into_iter().flatten() {
        let message = "this is not modelled for a node of several links; give it multi_link = \
                       \"off\"";
        problems.push(place, message);
    }
}

/// Whether each link can save power in this way, by itself.
fn is_link_wise(raw: &RawPowerSave) -> bool {
    raw.kind.value == PowerSaveKind::Legacy
}

/// The further links; `None` without any, or if they are wrong.
fn links<'a>(
    raw: &'a RawScenario,
    main: Band,
    problems: &mut Problems,
) -> Option<Vec<Further<'a>>> {
    let all = &raw.channel.link;
    let first = all.first()?;
    if all.len() >= LINKS_MAX {
        let place = &all[LINKS_MAX - 1].here;
        problems.push(place, "expected at most two further links: a device has up to three");
        return None;
    }
    if raw.channel.independent.value {
        problems.push(&first.here, "an independent cell has no devices of several links");
        return None;
    }
    let mut further: Vec<Further<'a>> = Vec::new();
    let mut is_sound = true;
    for link in all {
        let (band, width) = (link.band.value, link.width.value);
        let usual = || Subchannel::from_number(band, if band == Band::Ghz5 { 36 } else { 1 });
        let primary = match &link.channel {
            Some(at) => channels::primary(at, band, problems),
            None => usual(),
        };
        let Some(primary) = primary else {
            is_sound = false;
            continue;
        };
        if width > primary.widest(band) {
            let message = format!(
                "channel {} at {band} is part of none that is wider than {}",
                primary.number(band),
                primary.widest(band)
            );
            problems.push(&link.width.place, message);
            is_sound = false;
        }
        let channel = primary.among_all(band);
        let same = further.iter().any(|it| it.channel.shares(channel, it.width.max(width)));
        if same || band == main && link.channel.is_none() {
            let message = "links of a device are on channels that do not overlap: say which \
                           channel";
            problems.push(&link.here, message);
            is_sound = false;
        }
        let main = raw.channel.width.value;
        further.push(Further { raw: link, channel, width, band, main });
    }
    is_sound.then_some(further)
}

/// Common settings of a node on a further link.
fn common_of(own: &Common, link: &Further<'_>) -> Common {
    let mut common = Common { band: link.band, width: link.width, ..own.clone() };
    common.propagation.width = link.width;
    common
}

/// Address of a further link: that of the node with another number in its second octet.
fn address(first: &StationConfig, link: u64) -> MacAddr {
    let MacAddr(mut octets) = first.address;
    octets[0] |= 0x02;
    octets[1] ^= (link as u8) << 6;
    MacAddr(octets)
}

/// Links of all pairs of stations: on a further link those of the nodes, less what its band and
/// width change.
fn pairs(places: &[(usize, usize)], further: &[Further<'_>], cell: &CellConfig) -> Links {
    let mut links = Links::none(places.len());
    let main = further[0].main;
    let widest = further.iter().map(|link| link.width).max().unwrap_or(main).max(main);
    let over = |wide: ChannelWidth, narrow: ChannelWidth| {
        Db(10.0 * (wide.as_hz() as f64 / narrow.as_hz() as f64).log10())
    };
    let usual = |band: Band| PathLoss::in_band(band).reference;
    // What the SNR over the widest channel is less than that over the link's own, and what a link
    // gains by its band and width.
    let change = |number: usize| match number.checked_sub(1).map(|index| &further[index]) {
        None => (over(widest, main), Db(0.0)),
        Some(link) => {
            let nearer = usual(cell.band) - usual(link.band);
            (over(widest, link.width), nearer - over(link.width, main))
        }
    };
    for (from, &(link, one)) in places.iter().enumerate() {
        for (to, &(other, two)) in places.iter().enumerate() {
            if from == to {
                continue;
            }
            let Some(mut pair) = cell.links.pair(id(one), id(two)) else {
                // The links of one device among each other, which are on different channels.
                if let Some(any) = cell.links.iter().next() {
                    links.add_steady(id(from), id(to), &any.link);
                }
                continue;
            };
            if link == other {
                let (less, gain) = change(link);
                let given = link.checked_sub(1).and_then(|index| further[index].raw.snr.as_ref());
                let snr = gain - less;
                pair.link.noise = pair.link.noise + over(widest, main);
                pair.link.snr = given.map_or(pair.link.snr + snr, |at| at.value - less);
                pair.link.loss = pair.link.loss.filter(|_| given.is_none());
                let moved = |it: SnrChange| SnrChange { snr: it.snr + snr, ..it };
                pair.snr_changes = match given {
                    Some(_) => Vec::new(),
                    None => pair.snr_changes.into_iter().map(moved).collect(),
                };
            }
            links.add(PairConfig { from: id(from), to: id(to), ..pair });
        }
    }
    links
}

fn id(index: usize) -> StationId {
    StationId(u16::try_from(index).expect("nodes and links are at most three times NODES_MAX"))
}
