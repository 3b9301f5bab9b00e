//! Beacons of an access point: their contents, and the number that the monitor missed, by the
//! sender's clock (IEEE 802.11-2020, 9.3.3.2, 11.1.2.1). Beacons count while the receiver stays on
//! the channel that they name.

use lasthop_wifi_wire::elements::{EhtOperation, KeyManagement, Rsn, extension, id};
use lasthop_wifi_wire::management::Beacon;

/// Captured beacons of an access point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beacons {
    /// Name of the network; empty if it is hidden.
    pub ssid: Vec<u8>,
    /// Beacon interval in units of 1 024 us.
    pub interval_tu: u16,
    /// Number of captured beacons.
    pub heard: u64,
    /// Number of beacons sent from the first to the last captured one, while the receiver was on
    /// the channel that they name.
    pub sent: u64,
    /// Sum of the levels of the beacons in dBm, and their number.
    pub signal: (i64, u64),
    /// Captured beacons that name another channel than the receiver's.
    pub off_channel: u64,
    /// Number of the channel that the latest beacon names.
    pub channel: Option<u8>,
    /// Number of times that the clock went back because the access point restarted.
    pub restarts: u32,
    /// Supported amendments and protection, by the elements of the latest beacon.
    pub capabilities: Capabilities,
    last_us: Option<u64>,
    /// Receiver's stay on its channel in which the latest beacon was captured.
    stay: u64,
    /// Capture time of the latest beacon minus its timestamp, in us.
    clock_us: i128,
}

/// Capabilities that an access point announces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether encryption is required.
    pub privacy: bool,
    /// Authentication of stations by the RSN element, which WPA2 and later have.
    pub rsn: Option<Protection>,
    /// Whether 802.11n (HT) is supported.
    pub ht: bool,
    /// Whether 802.11ac (VHT) is supported.
    pub vht: bool,
    /// Whether 802.11ax (HE) is supported.
    pub he: bool,
    /// Whether 802.11be (EHT) is supported.
    pub eht: bool,
    /// Width in MHz by the EHT Operation element.
    pub width_mhz: Option<u16>,
    /// Punctured 20 MHz channels by the EHT Operation element: bit n for channel n, from the lowest
    /// on.
    pub punctured: u16,
    /// Whether the ERP element asks for protection for 802.11b.
    pub erp_protection: bool,
}

/// Authentication of stations: the best of the known methods that are offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protection {
    /// A method that is unknown here.
    Other,
    /// Encrypted without a password (opportunistic wireless encryption).
    Owe,
    /// WPA2 with a password.
    Wpa2Psk,
    /// WPA2 or WPA3 with 802.1X.
    Enterprise,
    /// WPA3 with a password (SAE).
    Wpa3Sae,
    /// Both passwords: WPA2 and WPA3.
    Wpa2And3,
}

const ERP: u8 = 42;
/// ERP element, bit 1 (Use_Protection).
const USE_PROTECTION: u8 = 2;
/// Largest difference of the clocks of one radio, given the unevenness of host times, in us.
const CLOCKS_ALIKE_US: u128 = 5_000;
/// Microseconds of a time unit.
const TIME_UNIT_US: u64 = 1_024;

impl Beacons {
    /// Handles a beacon. `on` is the number of the receiver's channel, if known; `stay` is the
    /// number of its stay there.
    pub fn handle_beacon(&mut self, beacon: &Beacon<'_>, at_ns: u64, on: Option<u8>, stay: u64) {
        self.heard += 1;
        self.channel = channel_of(beacon);
        self.clock_us = i128::from(at_ns / 1_000) - i128::from(beacon.timestamp_us);
        if let Some(ssid) = beacon.elements.ssid() {
            self.ssid.clear();
            self.ssid.extend_from_slice(ssid);
        }
        self.interval_tu = beacon.interval_tu;
        self.capabilities = Capabilities::from_beacon(beacon);
        if self.is_other(on) {
            self.off_channel += 1;
            return;
        }
        if std::mem::replace(&mut self.stay, stay) != stay {
            self.last_us = None;
        }
        let interval_us = u64::from(beacon.interval_tu) * TIME_UNIT_US;
        match self.last_us {
            Some(last) if beacon.timestamp_us > last && interval_us > 0 => {
                // A busy channel may delay a beacon, but not the next one.
                let apart = beacon.timestamp_us - last;
                let sent = (apart.saturating_add(interval_us / 2) / interval_us).max(1);
                self.sent = self.sent.saturating_add(sent);
            }
            Some(last) if beacon.timestamp_us < last => {
                self.restarts += 1;
                self.sent = self.sent.saturating_add(1);
            }
            _ => self.sent = self.sent.saturating_add(1),
        }
        self.last_us = Some(beacon.timestamp_us);
    }

    /// Whether the beacons name another channel than this one.
    fn is_other(&self, on: Option<u8>) -> bool {
        self.channel.zip(on).is_some_and(|(named, on)| named != on)
    }

    /// Returns the number of beacons captured on the channel that they name.
    pub const fn on_channel(&self) -> u64 {
        self.heard.saturating_sub(self.off_channel)
    }

    /// Whether both belong to one radio with several networks: they name one channel, and their
    /// clocks agree within the unevenness of host times. Clocks of two access points were started
    /// at different times.
    pub fn is_alike(&self, other: &Self) -> bool {
        self.channel == other.channel && self.clock_us.abs_diff(other.clock_us) < CLOCKS_ALIKE_US
    }
}

/// Returns the channel of an access point, by the DSSS Parameter Set or HT Operation element.
fn channel_of(beacon: &Beacon<'_>) -> Option<u8> {
    let named = |id| beacon.elements.find(id).and_then(|element| element.data.first().copied());
    named(id::DSSS_PARAMETER_SET).or_else(|| named(id::HT_OPERATION))
}

impl Capabilities {
    fn from_beacon(beacon: &Beacon<'_>) -> Self {
        let mut is =
            Self { privacy: beacon.capabilities & Beacon::PRIVACY != 0, ..Self::default() };
        let elements = beacon.elements;
        is.ht = elements.find(id::HT_CAPABILITIES).is_some();
        is.vht = elements.find(id::VHT_CAPABILITIES).is_some();
        is.he = elements.find_extension(extension::HE_CAPABILITIES).is_some();
        is.eht = elements.find_extension(extension::EHT_CAPABILITIES).is_some();
        let operation = elements.find_extension(extension::EHT_OPERATION);
        if let Some(Ok(operation)) = operation.map(|it| EhtOperation::parse(&it)) {
            is.width_mhz = operation.bandwidth_mhz();
            is.punctured = operation.disabled_channels.unwrap_or_default();
        }
        is.rsn = elements.rsn().ok().flatten().map(|rsn| Protection::from_rsn(&rsn));
        let erp = elements.find(ERP).and_then(|element| element.data.first());
        is.erp_protection = erp.is_some_and(|flags| flags & USE_PROTECTION != 0);
        is
    }
}

/// Formats the name of a network. A name may have any bytes (9.4.2.2). Bytes that are not UTF-8
/// (characters of other encodings, such as GBK) and control characters are written as `\xb2\xe2`.
pub fn name(ssid: &[u8]) -> String {
    let escaped =
        |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect() };
    let mut text = String::new();
    for chunk in ssid.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_control() {
                text.push_str(&escaped(character.encode_utf8(&mut [0; 4]).as_bytes()))
            } else {
                text.push(character)
            }
        }
        text.push_str(&escaped(chunk.invalid()));
    }
    text
}

impl Protection {
    fn from_rsn(rsn: &Rsn<'_>) -> Self {
        let (mut psk, mut sae, mut best) = (false, false, Self::Other);
        for way in rsn.key_managements() {
            let is = match way {
                KeyManagement::Psk | KeyManagement::FtPsk | KeyManagement::PskSha256 => {
                    psk = true;
                    Self::Wpa2Psk
                }
                KeyManagement::Sae
                | KeyManagement::FtSae
                | KeyManagement::SaeGroupDependent
                | KeyManagement::FtSaeGroupDependent => {
                    sae = true;
                    Self::Wpa3Sae
                }
                KeyManagement::Dot1x
                | KeyManagement::FtDot1x
                | KeyManagement::Dot1xSha256
                | KeyManagement::SuiteB
                | KeyManagement::SuiteB192 => Self::Enterprise,
                KeyManagement::Owe => Self::Owe,
                KeyManagement::Other(_) => Self::Other,
            };
            best = best.max(is);
        }
        if psk && sae { Self::Wpa2And3 } else { best }
    }

    /// Returns the common name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Other => "RSN",
            Self::Owe => "OWE",
            Self::Wpa2Psk => "WPA2-PSK",
            Self::Enterprise => "WPA2 or WPA3 Enterprise",
            Self::Wpa3Sae => "WPA3-SAE",
            Self::Wpa2And3 => "WPA2-PSK and WPA3-SAE",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn names_in_any_characters() {
        assert_eq!(name("caf\u{e9} \u{6d4b}".as_bytes()), "caf\u{e9} \u{6d4b}");
        // "\u{6d4b}\u{8bd5}" in GBK.
        assert_eq!(name(&[0xb2, 0xe2, 0xca, 0xd4]), "\\xb2\\xe2\\xca\\xd4");
        assert_eq!(name(b"a\x1b[2Jb\xff"), "a\\x1b[2Jb\\xff");
        assert_eq!(name(b""), "");
    }
}
