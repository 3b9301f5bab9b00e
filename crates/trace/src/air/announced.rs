//! Elements of beacons and probes: those of an access point, and those of a station that probes
//! (IEEE 802.11-2020, tables 9-32 and 9-38), up to 802.11be. The model has one set of rates;
//! further abilities of an amendment (STBC, beamforming, other widths) are not announced. Leaves
//! out ERP information, EDCA and MU EDCA parameters, and TWT.

use super::AirInfo;
use lasthop_wifi::phy::{Band, ChannelWidth, GuardInterval, Rate};
use lasthop_wifi::wire::elements::{
    self, EhtCapabilities, EhtMcsMap, EhtMcsSet, EhtOperation, Ghz6Operation, HeCapabilities,
    HeOperation, HtCapabilities, HtOperation, VhtCapabilities, VhtOperation,
};

/// Elements that a link of a device adds to its beacons; none without a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DeviceElements {
    /// Reduced Neighbor Report.
    pub neighbors: Vec<u8>,
    /// Basic Multi-Link element.
    pub multi_link: Vec<u8>,
}

/// Returns the elements of a beacon in the order of table 9-32: SSID, rates and channel before the
/// TIM; extended rates, and the elements of amendments, after it.
/// `device` is what a link of a multi-link device adds.
pub(super) fn beacon_elements(info: &AirInfo, device: &DeviceElements) -> [Vec<u8>; 2] {
    let ssid = ssid(info);
    let rates = rate_octets(info);
    let (supported, extended) = rates.split_at(rates.len().min(SUPPORTED_RATES_MAX));
    let mut before = vec![elements::Repr::Ssid(ssid), elements::Repr::SupportedRates(supported)];
    if info.band == Band::Ghz2_4 {
        before.push(elements::Repr::DsssParameterSet { channel: info.channel });
    }
    let mut behind = Vec::new();
    if !extended.is_empty() {
        behind.extend(octets(&[elements::Repr::ExtendedSupportedRates(extended)]));
    }
    let phy = Phy::new(info);
    phy.emit_ht(true, &mut behind);
    phy.emit_vht(true, &mut behind);
    behind.extend_from_slice(&device.neighbors);
    phy.emit_he(true, &mut behind);
    behind.extend_from_slice(&device.multi_link);
    phy.emit_eht(true, &mut behind);
    [octets(&before), behind]
}

/// Returns the elements of a Probe Request (table 9-38): a wildcard SSID, and rates.
pub(super) fn probe_elements(info: &AirInfo) -> Vec<u8> {
    let rates = rate_octets(info);
    let (supported, extended) = rates.split_at(rates.len().min(SUPPORTED_RATES_MAX));
    let mut list = vec![elements::Repr::Ssid(&[]), elements::Repr::SupportedRates(supported)];
    if !extended.is_empty() {
        list.push(elements::Repr::ExtendedSupportedRates(extended));
    }
    let mut bytes = octets(&list);
    let phy = Phy::new(info);
    phy.emit_ht(false, &mut bytes);
    phy.emit_later(false, &mut bytes);
    bytes
}

/// Returns the SSID, cut to 32 bytes.
pub(super) fn ssid(info: &AirInfo) -> &[u8] {
    const SSID_BYTES_MAX: usize = 32;
    let ssid = info.ssid.as_bytes();
    &ssid[..ssid.len().min(SSID_BYTES_MAX)]
}

/// Largest number of rates in a Supported Rates element (9.4.2.3).
pub(super) const SUPPORTED_RATES_MAX: usize = 8;

pub(super) fn rate_octets(info: &AirInfo) -> Vec<u8> {
    const BASIC: u8 = 0x80;
    // Basic rates are always included: they are supported whatever rate control uses
    // for data, and the element must not be empty.
    let others =
        info.rates.iter().filter(|rate| !rate.may_aggregate() && !info.basic_rates.contains(rate));
    let half_mbps = |rate: &Rate| (rate.bitrate().as_bps() / 500_000) as u8;
    let mut rates: Vec<u8> = info.basic_rates.iter().map(|rate| half_mbps(rate) | BASIC).collect();
    rates.extend(others.map(half_mbps));
    rates.sort_unstable_by_key(|rate| rate & !BASIC);
    rates
}

pub(super) fn octets(list: &[elements::Repr<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for element in list {
        element.emit(&mut bytes).expect("SSID and rates are cut to what fits");
    }
    bytes
}

/// Number of the lowest channel from which wider ones with this `primary` are counted.
const fn lowest(band: Band, primary: u8) -> u8 {
    match band {
        Band::Ghz5 if primary >= 149 => 149,
        Band::Ghz5 => 36,
        Band::Ghz2_4 | Band::Ghz6 => 1,
    }
}

/// Place of a channel of 20 MHz in its 80 MHz, 0 to 3; there are none at 2.4 GHz.
pub(super) const fn place_in_80(band: Band, primary: u8) -> u8 {
    match band {
        Band::Ghz2_4 => 0,
        Band::Ghz5 | Band::Ghz6 => primary.saturating_sub(lowest(band, primary)) / 4 % 4,
    }
}

/// Abilities of the amendments that a station's rates require.
#[derive(Clone, Copy)]
pub(super) struct Phy<'a> {
    band: Band,
    primary: u8,
    rates: &'a [Rate],
    width: ChannelWidth,
    colour: u8,
}

impl<'a> Phy<'a> {
    pub(super) fn new(info: &'a AirInfo) -> Self {
        let width = info.rates.iter().map(|rate| rate.width()).max();
        let width = width.unwrap_or(ChannelWidth::Mhz20);
        Self {
            band: info.band,
            primary: info.channel,
            rates: &info.rates,
            width,
            colour: info.colour,
        }
    }

    /// Returns the same abilities on another channel.
    pub(super) const fn on(self, primary: u8) -> Self {
        Self { primary, ..self }
    }

    pub(super) const fn width(&self) -> ChannelWidth {
        self.width
    }

    fn has(&self, is_it: fn(Rate) -> bool) -> bool {
        self.rates.iter().any(|rate| is_it(*rate))
    }

    /// Whether the station has HT: stations of later amendments do, too, except at 6 GHz.
    pub(super) fn is_ht(&self) -> bool {
        self.has(Rate::may_aggregate) && self.band != Band::Ghz6
    }

    /// Whether the station has VHT, which the standard has at 5 GHz only.
    pub(super) fn is_vht(&self) -> bool {
        self.has(|rate| rate.is_vht() || rate.is_he() || rate.is_eht()) && self.band == Band::Ghz5
    }

    /// Whether the station has HE: stations of 802.11be do, too.
    pub(super) fn is_he(&self) -> bool {
        self.has(|rate| rate.is_he() || rate.is_eht())
    }

    fn has_short_guard_interval(&self, width: ChannelWidth) -> bool {
        self.rates.iter().any(|rate| match *rate {
            Rate::Ht { guard_interval, width: of, .. }
            | Rate::Vht { guard_interval, width: of, .. } => {
                of == width && guard_interval == GuardInterval::Short
            }
            _ => false,
        })
    }

    /// Highest MCS for this number of streams; for HT, that of each stream.
    fn mcs_max(&self, streams: u8) -> Option<u8> {
        let of = self.rates.iter().filter(|rate| rate.streams() == streams);
        let mcs = of.filter(|rate| rate.may_aggregate()).filter_map(|rate| match *rate {
            Rate::Ht { mcs, .. } => Some(mcs % 8),
            rate => rate.mcs(),
        });
        mcs.max()
    }

    /// Returns the MCS map of an amendment whose codes stand for these highest MCSs.
    fn mcs_map(&self, highest: [u8; 3]) -> u16 {
        elements::mcs_map(core::array::from_fn(|index| {
            let most = self.mcs_max(index as u8 + 1)?;
            let known = highest.iter().rposition(|mcs| *mcs <= most);
            Some(known.unwrap_or(0) as u8)
        }))
    }

    /// Returns the channel number at the centre of the BSS's channel of this `width`.
    pub(super) fn centre(&self, width: ChannelWidth) -> u8 {
        // A channel's number counts 5 MHz, and its own middle is at 2 such steps.
        let span = match width {
            ChannelWidth::Mhz20 => 4,
            ChannelWidth::Mhz40 => 8,
            ChannelWidth::Mhz80 => 16,
            ChannelWidth::Mhz160 => 32,
            ChannelWidth::Mhz320 => 64,
        };
        let lowest = lowest(self.band, self.primary);
        lowest + (self.primary - lowest) / span * span + span / 2 - 2
    }

    /// Whether the secondary 20 MHz channel is above the primary one.
    fn is_secondary_above(&self) -> bool {
        match self.band {
            // 1 with 5, and 9 with 13.
            Band::Ghz2_4 => self.primary == 9 || self.primary <= 7 && self.primary != 5,
            Band::Ghz5 | Band::Ghz6 => self.centre(ChannelWidth::Mhz40) > self.primary,
        }
    }

    /// Returns the operating class of the channel (table E-4), as hostapd chooses it.
    pub(super) fn operating_class(&self) -> u8 {
        // With 40 MHz there are two classes, by the side of the secondary channel.
        let of = |narrow: u8, above: u8| match self.width {
            ChannelWidth::Mhz20 => narrow,
            _ if self.is_secondary_above() => above,
            _ => above + 1,
        };
        match (self.band, self.width) {
            (Band::Ghz2_4, _) if self.primary == 14 => 82,
            (Band::Ghz2_4, _) => of(81, 83),
            (Band::Ghz5, ChannelWidth::Mhz80) => 128,
            (Band::Ghz5, ChannelWidth::Mhz160 | ChannelWidth::Mhz320) => 129,
            (Band::Ghz5, _) => match self.primary {
                ..52 => of(115, 116),
                52..100 => of(118, 119),
                100..149 => of(121, 122),
                149.. => of(125, 126),
            },
            (Band::Ghz6, ChannelWidth::Mhz20) => 131,
            (Band::Ghz6, ChannelWidth::Mhz40) => 132,
            (Band::Ghz6, ChannelWidth::Mhz80) => 133,
            (Band::Ghz6, ChannelWidth::Mhz160) => 134,
            (Band::Ghz6, ChannelWidth::Mhz320) => 137,
        }
    }

    /// Returns the Secondary Channel Offset field of a channel of 40 MHz or more (9.4.2.19).
    pub(super) fn secondary_offset(&self) -> u8 {
        if self.is_secondary_above() {
            HtOperation::SECONDARY_ABOVE
        } else {
            HtOperation::SECONDARY_BELOW
        }
    }

    /// Returns width and centres of a channel as VHT Operation has them.
    pub(super) fn vht_channel(&self) -> [u8; 3] {
        let VhtOperation { width, centre_0, centre_1, .. } = self.vht_operation();
        [width, centre_0, centre_1]
    }

    /// Returns the number of the PHY's type (dot11PHYType in annex C).
    pub(super) fn number(&self) -> u8 {
        match self.band {
            _ if self.is_he() => 14,
            _ if self.is_vht() => 9,
            _ if self.is_ht() => 7,
            Band::Ghz2_4 => 6,
            Band::Ghz5 | Band::Ghz6 => 4,
        }
    }

    fn ht_capabilities(&self) -> HtCapabilities {
        let mut information = HtCapabilities::AMSDU_7935;
        if self.width > ChannelWidth::Mhz20 {
            information |= HtCapabilities::WIDTH_40_MHZ;
        }
        for (width, bit) in [
            (ChannelWidth::Mhz20, HtCapabilities::SHORT_GUARD_INTERVAL_20_MHZ),
            (ChannelWidth::Mhz40, HtCapabilities::SHORT_GUARD_INTERVAL_40_MHZ),
        ] {
            if self.has_short_guard_interval(width) {
                information |= bit;
            }
        }
        let mut mcs_set = [0; 16];
        for streams in 1..=4 {
            if let Some(mcs) = self.mcs_max(streams) {
                mcs_set[usize::from(streams) - 1] =
                    (1_u16 << (mcs.min(7) + 1)).wrapping_sub(1) as u8;
            }
        }
        // A-MPDUs of up to 65 535 bytes; no minimum spacing.
        HtCapabilities { information, ampdu_parameters: 3, mcs_set, ..HtCapabilities::default() }
    }

    fn ht_operation(&self) -> HtOperation {
        let mut information = [0; 5];
        if self.width > ChannelWidth::Mhz20 {
            information[0] = HtOperation::ANY_WIDTH
                | if self.is_secondary_above() {
                    HtOperation::SECONDARY_ABOVE
                } else {
                    HtOperation::SECONDARY_BELOW
                };
        }
        HtOperation { primary: self.primary, information, ..HtOperation::default() }
    }

    fn vht_capabilities(&self) -> VhtCapabilities {
        let mut information = VhtCapabilities::MPDU_11454 | VhtCapabilities::AMPDU_LONGEST;
        if self.width == ChannelWidth::Mhz160 {
            information |= VhtCapabilities::WIDTH_160_MHZ;
        }
        for (width, bit) in [
            (ChannelWidth::Mhz80, VhtCapabilities::SHORT_GUARD_INTERVAL_80_MHZ),
            (ChannelWidth::Mhz160, VhtCapabilities::SHORT_GUARD_INTERVAL_160_MHZ),
        ] {
            if self.has_short_guard_interval(width) {
                information |= bit;
            }
        }
        let map = self.mcs_map([7, 8, 9]);
        VhtCapabilities { information, rx_mcs_map: map, tx_mcs_map: map }
    }

    /// Makes the VHT Operation element; with 160 MHz, it has the centres of the primary 80 MHz and
    /// of the whole channel.
    fn vht_operation(&self) -> VhtOperation {
        match self.width {
            ChannelWidth::Mhz20 | ChannelWidth::Mhz40 => VhtOperation::default(),
            ChannelWidth::Mhz80 => {
                VhtOperation { width: 1, centre_0: self.centre(self.width), centre_1: 0 }
            }
            ChannelWidth::Mhz160 | ChannelWidth::Mhz320 => VhtOperation {
                width: 1,
                centre_0: self.centre(ChannelWidth::Mhz80),
                centre_1: self.centre(ChannelWidth::Mhz160),
            },
        }
    }

    fn he_capabilities(&self) -> HeCapabilities {
        /// Maximum A-MPDU Length Exponent Extension, bits 27 and 28: the longest.
        const AMPDU_LONGEST: u8 = 3 << 3;
        /// HE PHY Capabilities, bit 13: LDPC, required by 40 MHz and more, and by MCS 10 and 11.
        const LDPC: u8 = 1 << 5;
        /// HE PHY Capabilities, bits 1 to 3: 40 MHz at 2.4 GHz; 40 and 80 MHz; 160 MHz.
        const WIDE_2_4: u8 = 1 << 1;
        const WIDE: u8 = 1 << 2;
        const WIDEST: u8 = 1 << 3;
        let map = self.mcs_map([7, 9, 11]);
        let widths = match (self.width, self.band) {
            (ChannelWidth::Mhz20, _) => 0,
            (_, Band::Ghz2_4) => WIDE_2_4,
            (ChannelWidth::Mhz40 | ChannelWidth::Mhz80, _) => WIDE,
            (ChannelWidth::Mhz160 | ChannelWidth::Mhz320, _) => WIDE | WIDEST,
        };
        let mut capabilities =
            HeCapabilities { rx_mcs_map: map, tx_mcs_map: map, ..HeCapabilities::default() };
        capabilities.mac[3] = AMPDU_LONGEST;
        capabilities.phy[0] = widths;
        capabilities.phy[1] = LDPC;
        capabilities
    }

    fn he_operation(&self) -> HeOperation {
        /// TXOP Duration RTS Threshold that disables it.
        const NO_RTS: u32 = 0x3ff << 4;
        /// BSS Color Disabled bit.
        const NO_COLOUR: u8 = 1 << 7;
        let ghz_6 = (self.band == Band::Ghz6).then(|| {
            let (control, centre_0, centre_1) = match self.width {
                // HE stations know 160 MHz of a wider channel.
                ChannelWidth::Mhz160 | ChannelWidth::Mhz320 => {
                    (3, self.centre(ChannelWidth::Mhz80), self.centre(ChannelWidth::Mhz160))
                }
                ChannelWidth::Mhz80 => (2, self.centre(self.width), 0),
                ChannelWidth::Mhz40 => (1, self.centre(self.width), 0),
                ChannelWidth::Mhz20 => (0, self.primary, 0),
            };
            Ghz6Operation { primary: self.primary, control, centre_0, centre_1, minimum_rate: 6 }
        });
        HeOperation {
            parameters: NO_RTS,
            colour: if self.colour == 0 { NO_COLOUR } else { self.colour },
            basic_mcs_map: elements::ONE_STREAM,
            vht: None,
            ghz_6,
        }
    }

    /// Appends the capabilities of HT, and of a BSS its operation.
    pub(super) fn emit_ht(&self, is_bss: bool, out: &mut Vec<u8>) {
        if self.is_ht() {
            out.extend(octets(&[elements::Repr::HtCapabilities(self.ht_capabilities())]));
            if is_bss {
                self.ht_operation().emit(out);
            }
        }
    }

    /// Appends the elements of VHT, HE and EHT, in the order of table 9-32.
    pub(super) fn emit_later(&self, is_bss: bool, out: &mut Vec<u8>) {
        self.emit_vht(is_bss, out);
        self.emit_he(is_bss, out);
        self.emit_eht(is_bss, out);
    }

    fn emit_vht(&self, is_bss: bool, out: &mut Vec<u8>) {
        if self.is_vht() {
            self.vht_capabilities().emit(out);
            if is_bss {
                self.vht_operation().emit(out);
            }
        }
    }

    fn emit_he(&self, is_bss: bool, out: &mut Vec<u8>) {
        if self.is_he() {
            self.he_capabilities().emit(out);
            if is_bss {
                self.he_operation().emit(out);
            }
            if self.band == Band::Ghz6 {
                // MPDUs of 11 454 octets, A-MPDUs as long as HE has them, no spacing.
                let information = 2_u16 << 6 | 7 << 3;
                let [low, high] = information.to_le_bytes();
                let data = [elements::extension::HE_6_GHZ_BAND_CAPABILITIES, low, high];
                let element = elements::Repr::Other { id: elements::id::EXTENSION, data: &data };
                out.extend(octets(&[element]));
            }
        }
    }
    fn emit_eht(&self, is_bss: bool, out: &mut Vec<u8>) {
        if self.has(Rate::is_eht) {
            let mut set = Vec::new();
            self.eht_mcs_set(is_bss).emit(&mut set);
            let capabilities = EhtCapabilities { rest: &set, ..self.eht_capabilities() };
            capabilities.emit(out).expect("four maps are 12 octets at most");
            if is_bss {
                let centre = |width: ChannelWidth| self.centre(width);
                let half = match self.width {
                    ChannelWidth::Mhz160 => ChannelWidth::Mhz80,
                    ChannelWidth::Mhz320 => ChannelWidth::Mhz160,
                    width => width,
                };
                let whole = if half == self.width { 0 } else { centre(self.width) };
                let width_mhz = (self.width.as_hz() / 1_000_000) as u16;
                EhtOperation::of_width(width_mhz, centre(half), whole, 0).emit(out);
            }
        }
    }

    /// Capabilities of 802.11be without the set of MCSs.
    fn eht_capabilities(&self) -> EhtCapabilities<'static> {
        let wide = self.width == ChannelWidth::Mhz320;
        let bits = [
            (wide, EhtCapabilities::WIDTH_320_MHZ),
            (self.has(|rate| rate.mcs() == Some(15)), EhtCapabilities::MCS_15),
            (self.has(|rate| rate.mcs() == Some(14)), EhtCapabilities::MCS_14),
        ];
        let bits: Vec<usize> =
            bits.into_iter().filter_map(|(is_set, bit)| is_set.then_some(bit)).collect();
        EhtCapabilities {
            mac: EhtCapabilities::LONGER_AMPDU.to_le_bytes(),
            phy: EhtCapabilities::phy_with(&bits),
            rest: &[],
        }
    }

    /// Streams by MCS of each width of the channel; those of a station of 20 MHz.
    fn eht_mcs_set(&self, of_access_point: bool) -> EhtMcsSet {
        let streams = |mcs: u8| {
            let of = self.rates.iter().filter(|rate| {
                rate.is_eht() && rate.mcs().is_some_and(|it| (mcs..=13).contains(&it))
            });
            of.map(|rate| rate.streams()).max().unwrap_or(0) * 0x11
        };
        if self.width == ChannelWidth::Mhz20 && !of_access_point {
            return EhtMcsSet::Only20([0, 8, 10, 12].map(streams));
        }
        let map = EhtMcsMap([0, 10, 12].map(streams));
        let is_wide = self.band != Band::Ghz2_4;
        EhtMcsSet::Wide {
            up_to_80: Some(map),
            at_160: (is_wide && self.width >= ChannelWidth::Mhz160).then_some(map),
            at_320: (is_wide && self.width >= ChannelWidth::Mhz320).then_some(map),
        }
    }
}
