//! Requests over nl80211 (linux/nl80211.h) and to generic netlink's controller (linux/genetlink.h),
//! and parsers of the answers. Pure functions only. Numbers are in the machine's byte order.
//! Unknown attributes are skipped, and truncated or missing ones are absent. Leaves out scans,
//! regulation, capabilities of stations, and links of a multi-link device.

use crate::document::{Rate, RateMode, Station, StationQueue, TxqStats};
use lasthop_linux::message::{Message, attributes};
use std::fmt::Write;

/// Name of the nl80211 family.
pub const FAMILY: &str = "nl80211";
/// `GENL_ID_CTRL`: the family that lists all others.
const CONTROLLER: u16 = 0x10;
/// Length of `genlmsghdr`: command, version, reserved.
const GENERIC_HEADER: usize = 4;
/// `NL80211_IFTYPE_*` by number.
const KINDS: [&str; 13] = [
    "unspecified",
    "ibss",
    "station",
    "ap",
    "ap-vlan",
    "wds",
    "monitor",
    "mesh-point",
    "p2p-client",
    "p2p-go",
    "p2p-device",
    "ocb",
    "nan",
];
/// `NL80211_CHAN_WIDTH_*` in MHz by number: 20 without HT, 20, 40, 80, 80+80, 160, 5, 10, 1, 2,
/// 4, 8, 16, 320.
const WIDTHS_MHZ: [u32; 14] = [20, 20, 40, 80, 160, 160, 5, 10, 1, 2, 4, 8, 16, 320];

/// Commands: `NL80211_CMD_*` and `CTRL_CMD_*`.
mod command {
    pub const GET_FAMILY: u8 = 3;
    pub const GET_WIPHY: u8 = 1;
    pub const GET_INTERFACE: u8 = 5;
    pub const GET_STATION: u8 = 17;
    pub const GET_POWER_SAVE: u8 = 62;
}

/// Attributes of the controller (`CTRL_ATTR_*`).
mod controller {
    pub const FAMILY_ID: u16 = 1;
    pub const FAMILY_NAME: u16 = 2;
}

/// Attributes (`NL80211_ATTR_*`).
mod attribute {
    pub const WIPHY: u16 = 1;
    pub const WIPHY_NAME: u16 = 2;
    pub const IFINDEX: u16 = 3;
    pub const IFNAME: u16 = 4;
    pub const IFTYPE: u16 = 5;
    pub const MAC: u16 = 6;
    pub const STA_INFO: u16 = 21;
    pub const SUPPORTED_IFTYPES: u16 = 32;
    pub const WIPHY_FREQ: u16 = 38;
    pub const SSID: u16 = 52;
    pub const PS_STATE: u16 = 93;
    pub const TX_POWER_LEVEL: u16 = 98;
    pub const CHANNEL_WIDTH: u16 = 159;
    pub const SPLIT_WIPHY_DUMP: u16 = 174;
    pub const EXT_FEATURES: u16 = 217;
    pub const TXQ_STATS: u16 = 265;
    pub const TXQ_LIMIT: u16 = 266;
    pub const TXQ_MEMORY_LIMIT: u16 = 267;
}

/// Bits of `NL80211_ATTR_EXT_FEATURES` (`NL80211_EXT_FEATURE_*`).
mod feature {
    pub const TXQS: usize = 28;
    pub const AIRTIME_FAIRNESS: usize = 33;
    pub const AQL: usize = 40;
}

/// Attributes of a station (`NL80211_STA_INFO_*`).
mod station {
    pub const INACTIVE_TIME: u16 = 1;
    pub const RX_BYTES: u16 = 2;
    pub const TX_BYTES: u16 = 3;
    pub const SIGNAL: u16 = 7;
    pub const TX_BITRATE: u16 = 8;
    pub const RX_PACKETS: u16 = 9;
    pub const TX_PACKETS: u16 = 10;
    pub const TX_RETRIES: u16 = 11;
    pub const TX_FAILED: u16 = 12;
    pub const SIGNAL_AVG: u16 = 13;
    pub const RX_BITRATE: u16 = 14;
    pub const BSS_PARAM: u16 = 15;
    pub const CONNECTED_TIME: u16 = 16;
    pub const BEACON_LOSS: u16 = 18;
    pub const RX_BYTES64: u16 = 23;
    pub const TX_BYTES64: u16 = 24;
    pub const TID_STATS: u16 = 31;
    pub const RX_DURATION: u16 = 32;
    pub const TX_DURATION: u16 = 39;
    /// In `BSS_PARAM` (`NL80211_STA_BSS_PARAM_*`).
    pub const DTIM_PERIOD: u16 = 4;
    pub const BEACON_INTERVAL: u16 = 5;
    /// In each TID of `TID_STATS` (`NL80211_TID_STATS_TXQ_STATS`).
    pub const TXQ_STATS: u16 = 6;
}

/// Attributes of a rate (`NL80211_RATE_INFO_*`).
mod rate {
    pub const BITRATE: u16 = 1;
    pub const MCS: u16 = 2;
    pub const WIDTH_40: u16 = 3;
    pub const SHORT_GI: u16 = 4;
    pub const BITRATE32: u16 = 5;
    pub const VHT_MCS: u16 = 6;
    pub const VHT_NSS: u16 = 7;
    pub const WIDTH_80: u16 = 8;
    pub const WIDTH_80P80: u16 = 9;
    pub const WIDTH_160: u16 = 10;
    pub const WIDTH_10: u16 = 11;
    pub const WIDTH_5: u16 = 12;
    pub const HE_MCS: u16 = 13;
    pub const HE_NSS: u16 = 14;
    pub const HE_GI: u16 = 15;
    pub const WIDTH_320: u16 = 18;
    pub const EHT_MCS: u16 = 19;
    pub const EHT_NSS: u16 = 20;
    pub const EHT_GI: u16 = 21;
}

/// Attributes of queues (`NL80211_TXQ_STATS_*`).
mod txq {
    pub const BACKLOG_BYTES: u16 = 1;
    pub const BACKLOG_PACKETS: u16 = 2;
    pub const DROPS: u16 = 4;
    pub const ECN_MARKS: u16 = 5;
    pub const OVERLIMIT: u16 = 6;
    pub const TX_PACKETS: u16 = 10;
}

/// Makes a request for all current families. A request for one family by name would make the kernel
/// load its module.
pub fn ask_families() -> Message {
    generic(CONTROLLER, command::GET_FAMILY, NLM_F_DUMP)
}

/// Makes a request for all radios, each in many messages.
pub fn ask_radios(family: u16) -> Message {
    let mut message = generic(family, command::GET_WIPHY, NLM_F_DUMP);
    message.bytes(attribute::SPLIT_WIPHY_DUMP, &[]);
    message
}

/// Makes a request for all interfaces.
pub fn ask_interfaces(family: u16) -> Message {
    generic(family, command::GET_INTERFACE, NLM_F_DUMP)
}

/// Makes a request for the stations of an interface.
pub fn ask_stations(family: u16, interface: u32) -> Message {
    let mut message = generic(family, command::GET_STATION, NLM_F_DUMP);
    message.u32(attribute::IFINDEX, interface);
    message
}

/// Makes a request for the power save setting.
pub fn ask_power_save(family: u16, interface: u32) -> Message {
    let mut message = generic(family, command::GET_POWER_SAVE, NLM_F_ACK);
    message.u32(attribute::IFINDEX, interface);
    message
}

/// `NLM_F_ACK`, `NLM_F_ROOT` and `NLM_F_MATCH` (linux/netlink.h).
const NLM_F_ACK: i32 = 0x4;
const NLM_F_DUMP: i32 = 0x100 | 0x200;

fn generic(family: u16, command: u8, flags: i32) -> Message {
    let mut message = Message::new(family, flags);
    message.raw(&[command, 1, 0, 0]);
    message
}

/// Returns a family's name and number, from an answer to [`ask_families`].
pub fn family(payload: &[u8]) -> Option<(String, u16)> {
    let all = payload.get(GENERIC_HEADER..)?;
    Some((text(find(all, controller::FAMILY_NAME)?), u16_of(all, controller::FAMILY_ID)?))
}

/// A radio of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Radio {
    /// Index of the radio.
    pub index: u32,
    /// Name of the radio.
    pub name: String,
    /// Kinds of interfaces that the radio supports.
    pub kinds: Vec<String>,
    /// Whether packets wait in mac80211's queues for each station and TID.
    pub txqs: bool,
    /// Whether its driver requests airtime queue limits.
    pub aql: bool,
    /// Whether its driver reports airtime.
    pub airtime_fairness: bool,
    /// Packet limit of mac80211's queues.
    pub txq_limit_packets: Option<u32>,
    /// Byte limit of mac80211's queues.
    pub txq_memory_bytes: Option<u32>,
    /// Contents of these queues.
    pub queue: Option<TxqStats>,
}

/// Returns the radios from all answers to [`ask_radios`], by index. Joins the messages of each
/// radio.
pub fn radios<'a>(payloads: impl IntoIterator<Item = &'a [u8]>) -> Vec<Radio> {
    let mut radios: Vec<Radio> = Vec::new();
    for payload in payloads {
        let Some(all) = payload.get(GENERIC_HEADER..) else { continue };
        let Some(index) = u32_of(all, attribute::WIPHY) else { continue };
        let place = match radios.iter().position(|radio| radio.index == index) {
            Some(place) => place,
            None => {
                radios.push(Radio { index, ..Radio::default() });
                radios.len() - 1
            }
        };
        let radio = &mut radios[place];
        for (kind, value) in attributes(all) {
            match kind {
                attribute::WIPHY_NAME => radio.name = text(value),
                attribute::SUPPORTED_IFTYPES => {
                    radio.kinds =
                        attributes(value).map(|(kind, _)| kind_name(kind.into())).collect();
                }
                attribute::EXT_FEATURES => {
                    radio.txqs = has_bit(value, feature::TXQS);
                    radio.aql = has_bit(value, feature::AQL);
                    radio.airtime_fairness = has_bit(value, feature::AIRTIME_FAIRNESS);
                }
                attribute::TXQ_LIMIT => radio.txq_limit_packets = u32_from(value),
                attribute::TXQ_MEMORY_LIMIT => radio.txq_memory_bytes = u32_from(value),
                attribute::TXQ_STATS => radio.queue = Some(queue(value)),
                _ => {}
            }
        }
    }
    radios.sort_by_key(|radio| radio.index);
    radios
}

/// An interface of a radio.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RadioInterface {
    /// Index of the interface.
    pub index: u32,
    /// Name of the interface.
    pub name: String,
    /// Index of its radio.
    pub radio: u32,
    /// Kind of the interface.
    pub kind: String,
    /// Name of the network.
    pub ssid: Option<String>,
    /// Frequency of the channel, in MHz.
    pub frequency_mhz: Option<u32>,
    /// Width of the channel, in MHz.
    pub width_mhz: Option<u32>,
    /// Transmit power in dBm.
    pub power_dbm: Option<f64>,
}

/// Returns an interface from an answer to [`ask_interfaces`]; `None` for those without a network
/// device, such as P2P devices.
pub fn interface(payload: &[u8]) -> Option<RadioInterface> {
    let all = payload.get(GENERIC_HEADER..)?;
    let width = u32_of(all, attribute::CHANNEL_WIDTH);
    let power = u32_of(all, attribute::TX_POWER_LEVEL);
    Some(RadioInterface {
        index: u32_of(all, attribute::IFINDEX)?,
        name: text(find(all, attribute::IFNAME)?),
        radio: u32_of(all, attribute::WIPHY)?,
        kind: kind_name(u32_of(all, attribute::IFTYPE)?),
        ssid: find(all, attribute::SSID).filter(|ssid| !ssid.is_empty()).map(ssid_text),
        frequency_mhz: u32_of(all, attribute::WIPHY_FREQ),
        width_mhz: width.and_then(|width| WIDTHS_MHZ.get(width as usize).copied()),
        // In hundredths of a dBm.
        power_dbm: power.map(|power| f64::from(power.cast_signed()) / 100.0),
    })
}

/// Whether power save is on, from the answer to [`ask_power_save`].
pub fn power_save(payload: &[u8]) -> Option<bool> {
    match u32_of(payload.get(GENERIC_HEADER..)?, attribute::PS_STATE)? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

/// Returns a station from an answer to [`ask_stations`].
pub fn station(payload: &[u8]) -> Option<Station> {
    let all = payload.get(GENERIC_HEADER..)?;
    let address: [u8; 6] = *find(all, attribute::MAC)?.first_chunk()?;
    let info = find(all, attribute::STA_INFO)?;
    let bss = find(info, station::BSS_PARAM).unwrap_or_default();
    let number = |kind| u32_of(info, kind);
    let signal =
        |kind| find(info, kind).and_then(|v| v.first()).map(|v| i32::from(v.cast_signed()));
    let bytes = |wide, narrow| u64_of(info, wide).or_else(|| number(narrow).map(u64::from));
    Some(Station {
        address: lasthop_units::MacAddr(address).to_string(),
        connected_s: number(station::CONNECTED_TIME),
        inactive_ms: number(station::INACTIVE_TIME),
        signal_dbm: signal(station::SIGNAL),
        signal_mean_dbm: signal(station::SIGNAL_AVG),
        tx_rate: find(info, station::TX_BITRATE).and_then(rate),
        rx_rate: find(info, station::RX_BITRATE).and_then(rate),
        tx_packets: number(station::TX_PACKETS),
        rx_packets: number(station::RX_PACKETS),
        tx_bytes: bytes(station::TX_BYTES64, station::TX_BYTES),
        rx_bytes: bytes(station::RX_BYTES64, station::RX_BYTES),
        tx_retries: number(station::TX_RETRIES),
        tx_failed: number(station::TX_FAILED),
        beacon_losses: number(station::BEACON_LOSS),
        beacon_interval_tu: u16_of(bss, station::BEACON_INTERVAL).map(u32::from),
        dtim_beacons: u8_of(bss, station::DTIM_PERIOD).map(u32::from),
        tx_airtime_us: u64_of(info, station::TX_DURATION),
        rx_airtime_us: u64_of(info, station::RX_DURATION),
        aggregation: None,
        aql: Vec::new(),
        queue: find(info, station::TID_STATS).and_then(station_queue),
    })
}

/// Returns a rate; `None` without a bit rate.
fn rate(all: &[u8]) -> Option<Rate> {
    // In 100 kb/s; the older attribute has 16 bits.
    let hundreds = u32_of(all, rate::BITRATE32)
        .or_else(|| u16_of(all, rate::BITRATE).map(u32::from))
        .filter(|rate| *rate > 0)?;
    let has = |kind| find(all, kind).is_some();
    let of = |kind| u8_of(all, kind);
    let he_guard = |kind| {
        let index = of(kind)?;
        [0.8, 1.6, 3.2].get(usize::from(index)).copied()
    };
    let short = if has(rate::SHORT_GI) { 0.4 } else { 0.8 };
    let (mode, mcs, streams, guard) = if let Some(mcs) = of(rate::EHT_MCS) {
        (RateMode::Eht, Some(mcs), of(rate::EHT_NSS), he_guard(rate::EHT_GI))
    } else if let Some(mcs) = of(rate::HE_MCS) {
        (RateMode::He, Some(mcs), of(rate::HE_NSS), he_guard(rate::HE_GI))
    } else if let Some(mcs) = of(rate::VHT_MCS) {
        (RateMode::Vht, Some(mcs), of(rate::VHT_NSS), Some(short))
    } else if let Some(mcs) = of(rate::MCS) {
        // MCS 32 has one stream.
        let streams = if mcs < 32 { mcs / 8 + 1 } else { 1 };
        (RateMode::Ht, Some(mcs), Some(streams), Some(short))
    } else {
        (RateMode::Legacy, None, None, None)
    };
    let widths = [
        (rate::WIDTH_320, 320),
        (rate::WIDTH_160, 160),
        (rate::WIDTH_80P80, 160),
        (rate::WIDTH_80, 80),
        (rate::WIDTH_40, 40),
        (rate::WIDTH_10, 10),
        (rate::WIDTH_5, 5),
    ];
    let width = widths.into_iter().find(|(kind, _)| has(*kind)).map_or(20, |(_, mhz)| mhz);
    Some(Rate {
        mbps: f64::from(hundreds) / 10.0,
        mode,
        mcs,
        streams,
        width_mhz: Some(width),
        guard_us: guard,
    })
}

/// Returns the queues of a radio, of which mac80211 has no further totals.
fn queue(all: &[u8]) -> TxqStats {
    let number = |kind| u32_of(all, kind).unwrap_or(0);
    TxqStats {
        backlog_packets: number(txq::BACKLOG_PACKETS),
        backlog_bytes: number(txq::BACKLOG_BYTES),
        overlimit: number(txq::OVERLIMIT),
    }
}

/// Sums up the queues of a station over all TIDs; `None` if no TID has any.
fn station_queue(tids: &[u8]) -> Option<StationQueue> {
    let mut sums = None;
    for (_, tid) in attributes(tids) {
        let Some(one) = find(tid, station::TXQ_STATS) else { continue };
        let sums: &mut StationQueue = sums.get_or_insert_default();
        for (sum, kind) in [
            (&mut sums.backlog_packets, txq::BACKLOG_PACKETS),
            (&mut sums.drops, txq::DROPS),
            (&mut sums.marks, txq::ECN_MARKS),
            (&mut sums.sent_packets, txq::TX_PACKETS),
        ] {
            // As many numbers of 32 bits as a message has: no overflow.
            *sum += u64::from(u32_of(one, kind).unwrap_or(0));
        }
    }
    sums
}

fn kind_name(kind: u32) -> String {
    match KINDS.get(kind as usize) {
        Some(name) => (*name).into(),
        None => format!("kind-{kind}"),
    }
}

/// Whether a bit is set in bytes whose lowest bit is the first.
fn has_bit(bytes: &[u8], bit: usize) -> bool {
    bytes.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
}

fn find(all: &[u8], wanted: u16) -> Option<&[u8]> {
    attributes(all).find(|(kind, _)| *kind == wanted).map(|(_, value)| value)
}

fn u8_of(all: &[u8], wanted: u16) -> Option<u8> {
    find(all, wanted)?.first().copied()
}

fn u16_of(all: &[u8], wanted: u16) -> Option<u16> {
    find(all, wanted)?.first_chunk().copied().map(u16::from_ne_bytes)
}

fn u32_of(all: &[u8], wanted: u16) -> Option<u32> {
    u32_from(find(all, wanted)?)
}

fn u32_from(value: &[u8]) -> Option<u32> {
    value.first_chunk().copied().map(u32::from_ne_bytes)
}

fn u64_of(all: &[u8], wanted: u16) -> Option<u64> {
    find(all, wanted)?.first_chunk().copied().map(u64::from_ne_bytes)
}

/// Returns a text of the kernel, which ends in a zero byte.
fn text(value: &[u8]) -> String {
    let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).into_owned()
}

/// Returns the name of a network, with bytes other than printable text escaped as in `iw`.
fn ssid_text(ssid: &[u8]) -> String {
    let mut out = String::new();
    for chunk in ssid.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_control() || character == '\\' {
                character.to_string().bytes().for_each(|byte| {
                    let _ = write!(out, "\\x{byte:02x}");
                })
            } else {
                out.push(character)
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

#[cfg(test)]
mod tests;
