//! U-SIG and EHT fields of a known PPDU (radiotap.org/fields/U-SIG, EHT; IEEE 802.11be-2024,
//! 36.3.12.7 and 36.3.12.8): constructors and setters for the words that [`USig`], [`Eht`] and
//! [`EhtUser`] read. Values beyond their field lose their upper bits. CRC, tail and disregarded
//! bits stay unknown.

use super::{Channel, Eht, EhtFormat, EhtUser, EhtUsers, HeFormat, Repr, USig, puncture};
use lasthop_units::{Dbm, Instant};
use lasthop_wifi_phy::{EhtSignal, HeGuardInterval, OfdmRate, Rate, Ru};

/// The transmission parameters of an EHT PPDU for one user, or of one user's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EhtParameters {
    /// MCS index, 0 to 15.
    pub mcs: u8,
    /// Number of spatial streams, 1 to 16.
    pub streams: u8,
    /// Width of the PPDU in MHz: 20, 40, 80, 160 or 320.
    pub width_mhz: u16,
    /// Guard interval in ns: 800, 1 600 or 3 200.
    pub guard_interval_ns: u16,
    /// Length of an LTF symbol: 1, 2 or 4 times 3.2 us.
    pub ltf_size: u8,
}

impl Repr {
    /// Returns the header of a frame with FCS at a monitor, received in an EHT MU PPDU for one user
    /// in the downlink; the other parameters are those of [`Repr::received`]. The coding is LDPC
    /// where EHT requires it: above 20 MHz, or from MCS 10 on (36.1.1), except with MCS 15.
    pub fn received_eht(
        at: Instant,
        parameters: EhtParameters,
        channel: Channel,
        signal: Dbm,
    ) -> Self {
        let EhtParameters { mcs, streams, width_mhz, guard_interval_ns, ltf_size } = parameters;
        let ldpc = width_mhz > 20 || matches!(mcs, 10..=14);
        let user = EhtUser::new(mcs, streams, ldpc).captured();
        Self {
            rate_500kbps: None,
            u_sig: Some(USig::new(EhtFormat::SingleUser, width_mhz, false)),
            eht: Some(Eht::new(guard_interval_ns, ltf_size).with_user(user)),
            ..Self::received(at, Rate::Ofdm(OfdmRate::Mbps6), channel, signal)
        }
    }

    /// Returns the header of a frame of an EHT MU PPDU for one user that a station sent to its
    /// access point. A header without U-SIG stays as it is.
    pub fn in_uplink(mut self) -> Self {
        self.u_sig = self.u_sig.map(|sig| USig { common: sig.common | 1 << 18, ..sig });
        self
    }
}

/// The fields of a PPDU for one user in the downlink, with the modulation of EHT-SIG and the LDPC
/// code that [`lasthop_wifi_phy`] has; `None` for other rates than those of EHT.
pub(super) fn of_rate(rate: Rate) -> Option<(USig, Eht)> {
    let Rate::Eht { mcs, streams, width, guard_interval, puncturing } = rate else { return None };
    let ltf_size = match guard_interval {
        HeGuardInterval::Ns800Ltf1x | HeGuardInterval::Ns1600Ltf1x => 1,
        HeGuardInterval::Ns800Ltf2x | HeGuardInterval::Ns1600Ltf2x => 2,
        HeGuardInterval::Ns800Ltf4x | HeGuardInterval::Ns3200Ltf4x => 4,
    };
    let signal = EhtSignal::for_data(mcs);
    // At most 320 and 3 200.
    let width_mhz = (width.as_hz() / 1_000_000) as u16;
    let guard_interval_ns = guard_interval.duration().as_nanos() as u16;
    let sig = USig::new(EhtFormat::SingleUser, width_mhz, false)
        .with_eht_sig(signal.mcs(), signal.symbols_of_one_user());
    let sig = sig.with_punctured(puncturing.subchannels(width)).unwrap_or(sig);
    // 1, 2, 4, 6 or 8 (as table 27-15).
    let ltf_symbols = if streams == 1 { 1 } else { streams.next_multiple_of(2) };
    let eht = Eht::new(guard_interval_ns, ltf_size)
        .with_ltf_symbols(ltf_symbols)
        .with_non_ofdma_users(1)
        .with_user(EhtUser::new(mcs, streams, true).captured());
    Some((sig, eht))
}

impl Repr {
    /// Makes the EHT fields of a PPDU for one user those of a part on `ru`. If that is the whole
    /// bandwidth of an EHT MU PPDU, several users share it in space, and the code of their streams
    /// stays unknown. EHT-SIG's fields for all users, and puncturing, stay unknown, too.
    pub(super) fn on_eht_unit(mut self, format: HeFormat, ru: Ru) -> Self {
        let (Some(sig), Some(eht)) = (self.u_sig, self.eht) else { return self };
        let tones = ru.size().tones();
        let is_whole = [(20, 242), (40, 484), (80, 996), (160, 1_992), (320, 3_984)]
            .contains(&(sig.bandwidth_mhz().unwrap_or(0), tones));
        let format = match format {
            HeFormat::TriggerBased => EhtFormat::TriggerBased,
            HeFormat::MultiUser if is_whole => EhtFormat::MuMimo,
            HeFormat::MultiUser => EhtFormat::Ofdma,
            HeFormat::SingleUser | HeFormat::ExtendedRange => return self,
        };
        let bare = USig::new(format, sig.bandwidth_mhz().unwrap_or(0), false);
        self.u_sig = Some(USig { mask: bare.mask & !(0x1f << 9), ..bare });
        let mut own = Eht { users: EhtUsers::default(), ..eht };
        own.known &= !NON_OFDMA_USERS_KNOWN;
        own.data[7] &= !(7 << 17);
        for user in eht.users.as_slice() {
            let in_space = EhtUser(user.0 & !(0xf << 24 | STREAMS_KNOWN));
            own.users.push(if format == EhtFormat::MuMimo { in_space } else { *user });
        }
        self.eht = match format {
            EhtFormat::MuMimo => Some(own),
            _ => own.with_resource_unit(tones, ru.index()),
        };
        self
    }
}

impl USig {
    /// Returns the field of an EHT PPDU of this format and width in MHz (an unknown width stays
    /// unknown). A trigger-based PPDU is always in the uplink, OFDMA and MU-MIMO never. No channel
    /// is punctured.
    pub fn new(format: EhtFormat, width_mhz: u16, uplink: bool) -> Self {
        let (kind, uplink) = match format {
            EhtFormat::Ofdma => (0, false),
            EhtFormat::SingleUser => (1, uplink),
            EhtFormat::MuMimo => (2, false),
            EhtFormat::TriggerBased => (0, true),
        };
        let width = match width_mhz {
            20 => Some(0),
            40 => Some(1),
            80 => Some(2),
            160 => Some(3),
            320 => Some(4),
            _ => None,
        };
        let mut sig = Self { common: VERSION_KNOWN, ..Self::default() };
        if let Some(code) = width {
            sig.common |= BANDWIDTH_KNOWN | code << 15;
        }
        sig.common |= DIRECTION_KNOWN | u32::from(uplink) << 18;
        let sig = sig.with(6, 3, kind);
        match format {
            // A set bit is a channel that is there; the fifth bit is reserved.
            EhtFormat::Ofdma => sig.with(9, 0x1f, 0x1f),
            EhtFormat::SingleUser | EhtFormat::MuMimo => sig.with(9, 0x1f, 0),
            EhtFormat::TriggerBased => sig,
        }
    }

    /// Sets the bandwidth to the second of two overlapping 320 MHz channels (320 MHz-2).
    #[must_use]
    pub const fn with_second_320_mhz(mut self) -> Self {
        self.common = self.common & !(7 << 15) | BANDWIDTH_KNOWN | 5 << 15;
        self
    }

    /// Sets the BSS colour, 0 to 63.
    #[must_use]
    pub const fn with_bss_colour(mut self, colour: u8) -> Self {
        self.common = self.common & !(0x3f << 19) | 0x08 | (colour as u32 & 0x3f) << 19;
        self
    }

    /// Sets the raw TXOP field; 127 for "unspecified".
    #[must_use]
    pub const fn with_txop(mut self, txop: u8) -> Self {
        self.common = self.common & !(0x7f << 25) | 0x10 | (txop as u32 & 0x7f) << 25;
        self
    }

    /// Punctures 20 MHz channels (bit n for channel n, from the lowest on); `None` if the format,
    /// the width or the standard (table 36-30) does not permit the pattern. In OFDMA the bits are
    /// those of the four channels of one 80 MHz block, of which not all may be set.
    #[must_use]
    pub fn with_punctured(self, channels: u16) -> Option<Self> {
        let code = match self.format()? {
            EhtFormat::TriggerBased => return None,
            EhtFormat::Ofdma if channels < 0xf => 0x10 | !(channels as u8) & 0xf,
            EhtFormat::Ofdma => return None,
            EhtFormat::SingleUser | EhtFormat::MuMimo => {
                puncture::code(self.bandwidth_mhz()?, channels)?
            }
        };
        Some(self.with(9, 0x1f, u32::from(code)))
    }

    /// Punctured 20 MHz channels as in [`with_punctured`](Self::with_punctured), if known.
    pub fn punctured(&self) -> Option<u16> {
        let code = self.punctured_channels()?;
        match self.format()? {
            EhtFormat::Ofdma => Some(u16::from(!code & 0xf)),
            _ => puncture::channels(self.bandwidth_mhz()?, code),
        }
    }

    /// Sets MCS (0, 1, 3 or 15) and number of symbols (1 to 32) of EHT-SIG in an EHT MU PPDU.
    #[must_use]
    pub const fn with_eht_sig(self, mcs: u8, symbols: u8) -> Self {
        let code = match mcs {
            0 | 1 => mcs as u32,
            3 => 2,
            _ => 3,
        };
        self.with(15, 3, code).with(17, 0x1f, symbols.saturating_sub(1) as u32)
    }

    /// Number of symbols of EHT-SIG in an EHT MU PPDU, if known: 1 to 32.
    pub const fn eht_sig_symbols(&self) -> Option<u8> {
        match self.format() {
            None | Some(EhtFormat::TriggerBased) => None,
            Some(_) if self.mask >> 17 & 0x1f != 0x1f => None,
            Some(_) => Some((self.value >> 17 & 0x1f) as u8 + 1),
        }
    }

    /// Sets the Spatial Reuse fields of a trigger-based PPDU.
    #[must_use]
    pub const fn with_spatial_reuse(self, first: u8, second: u8) -> Self {
        self.with(9, 0xf, first as u32).with(13, 0xf, second as u32)
    }

    const fn with(mut self, shift: u32, mask: u32, code: u32) -> Self {
        self.value = self.value & !(mask << shift) | (code & mask) << shift;
        self.mask |= mask << shift;
        self
    }
}

impl Eht {
    /// Returns the field of a PPDU with this guard interval in ns (800, 1 600, 3 200) and LTF size
    /// (1, 2, 4), without users; other values stay unknown.
    pub fn new(guard_interval_ns: u16, ltf_size: u8) -> Self {
        let mut eht = Self::default();
        let guard = match guard_interval_ns {
            800 => Some(0),
            1600 => Some(1),
            3200 => Some(2),
            _ => None,
        };
        if let Some(code) = guard {
            eht.known |= 0x04;
            eht.data[0] |= code << 7;
        }
        eht.data[0] |= match ltf_size {
            1 => 1 << 9,
            2 => 2 << 9,
            4 => 3 << 9,
            _ => 0,
        };
        eht
    }

    /// Adds a user.
    #[must_use]
    pub fn with_user(mut self, user: EhtUser) -> Self {
        self.users.push(user);
        self
    }

    /// Sets the (multiple) resource unit of the captured user: its number of subcarriers (26 to
    /// 3 x 996 + 484) and its index among those of its size; `None` for another size.
    pub fn with_resource_unit(mut self, tones: u16, index: u8) -> Option<Self> {
        let code = TONES.iter().position(|known| *known == tones)? as u32;
        self.known |= RU_SIZE_KNOWN | RU_INDEX_KNOWN;
        self.data[1] = self.data[1] & !0x1fff | code | u32::from(index) << 5;
        Some(self)
    }

    /// Sets the number of LTF symbols: 1, 2, 4, 6 or 8; other values stay unknown.
    #[must_use]
    pub fn with_ltf_symbols(mut self, symbols: u8) -> Self {
        if let Some(code) = [1, 2, 4, 6, 8].iter().position(|known| *known == symbols) {
            self.known |= 0x10;
            self.data[0] = self.data[0] & !(7 << 11) | (code as u32) << 11;
        }
        self
    }

    /// Sets the Spatial Reuse field of EHT-SIG.
    #[must_use]
    pub const fn with_spatial_reuse(mut self, code: u8) -> Self {
        self.known |= 0x02;
        self.data[0] = self.data[0] & !(15 << 3) | (code as u32 & 15) << 3;
        self
    }

    /// Sets whether LDPC needs one more symbol segment.
    #[must_use]
    pub const fn with_ldpc_extra_symbol(mut self, extra: bool) -> Self {
        self.known |= 0x20;
        self.data[0] = self.data[0] & !(1 << 14) | (extra as u32) << 14;
        self
    }

    /// Sets the position of the primary 80 MHz, from 0 for the lowest to 3.
    #[must_use]
    pub const fn with_primary_80_mhz(mut self, position: u8) -> Self {
        self.known |= 1 << 25;
        self.data[1] = self.data[1] & !(3 << 30) | (position as u32 & 3) << 30;
        self
    }

    /// Sets the number of users of a PPDU without OFDMA: 1 to 8.
    #[must_use]
    pub const fn with_non_ofdma_users(mut self, users: u8) -> Self {
        self.known |= 1 << 19;
        self.data[7] = self.data[7] & !(7 << 17) | (users.saturating_sub(1) as u32 & 7) << 17;
        self
    }

    /// Sets an RU Allocation subfield of EHT-SIG (nine bits, table 36-34): `place` n is the (n / 2)th
    /// subfield of content channel 1, if n is even, or else 2. Places beyond 15 are ignored.
    #[must_use]
    pub fn with_ru_allocation(mut self, place: usize, code: u16) -> Self {
        if let Some((word, shift)) = allocation_at(place) {
            let word = &mut self.data[word];
            *word = *word & !(0x1ff << shift) | u32::from(code & 0x1ff) << shift;
            *word |= 0x200 << shift;
        }
        self
    }

    /// RU Allocation subfield of EHT-SIG at a place as in
    /// [`with_ru_allocation`](Self::with_ru_allocation), if known.
    pub fn ru_allocation(&self, place: usize) -> Option<u16> {
        let (word, shift) = allocation_at(place)?;
        let word = self.data[word] >> shift;
        (word & 0x200 != 0).then_some((word & 0x1ff) as u16)
    }
}

impl EhtUser {
    /// Returns a user with this MCS, 0 to 15, number of spatial streams, 1 to 16, and coding.
    pub const fn new(mcs: u8, streams: u8, ldpc: bool) -> Self {
        let streams = streams.saturating_sub(1) as u32 & 15;
        Self(0x16 | (ldpc as u32) << 19 | (mcs as u32 & 15) << 20 | streams << 24)
    }

    /// Returns a user of MU-MIMO, whose streams are a code (table 36-43).
    pub const fn with_spatial_configuration(self, code: u8) -> Self {
        Self(self.0 & !(0x3f << 24 | 0x30) | 0x40 | (code as u32 & 0x3f) << 24)
    }

    /// Sets the STA-ID, 0 to 2 047.
    pub const fn with_station_id(self, id: u16) -> Self {
        Self(self.0 & !(0x7ff << 8) | 0x01 | (id as u32 & 0x7ff) << 8)
    }

    /// Sets whether the PPDU is beamformed to the user; not with MU-MIMO.
    pub const fn with_beamforming(self, beamformed: bool) -> Self {
        Self(self.0 & !(1 << 29) | 0x20 | (beamformed as u32) << 29)
    }

    /// Marks the user whose frame follows the header.
    pub const fn captured(self) -> Self {
        Self(self.0 | 0x80)
    }
}

/// Word and shift of an RU Allocation subfield: one in data 1, three in each of data 2 to 6.
const fn allocation_at(place: usize) -> Option<(usize, u32)> {
    match place {
        0 => Some((1, 13)),
        1..=15 => Some((2 + (place - 1) / 3, 10 * ((place - 1) % 3) as u32)),
        _ => None,
    }
}

/// Subcarriers of (multiple) resource units by radiotap's code.
pub(super) const TONES: [u16; 16] = [
    26,
    52,
    106,
    242,
    484,
    996,
    2 * 996,
    4 * 996,
    52 + 26,
    106 + 26,
    484 + 242,
    996 + 484,
    996 + 484 + 242,
    2 * 996 + 484,
    3 * 996,
    3 * 996 + 484,
];
const NON_OFDMA_USERS_KNOWN: u32 = 1 << 19;
/// In a user's word.
const STREAMS_KNOWN: u32 = 0x10;
const RU_SIZE_KNOWN: u32 = 1 << 22;
const RU_INDEX_KNOWN: u32 = 1 << 23;
const VERSION_KNOWN: u32 = 0x01;
const BANDWIDTH_KNOWN: u32 = 0x02;
const DIRECTION_KNOWN: u32 = 0x04;
