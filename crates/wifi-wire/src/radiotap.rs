//! Radiotap headers (radiotap.org): the receiver's, or the sender's, knowledge of a frame beyond
//! its bytes.
//!
//! [`View`] iterates over the fields of any header: several presence words, resets of the radiotap
//! namespace, vendor namespaces (skipped by their length), the alignment of each field from the
//! start of the header, and TLVs after them. [`Repr`] holds the values of the known fields; it is
//! written with one presence word in the radiotap namespace. A field of unknown size ends the
//! iteration; the fields before it stay valid. Not read: S1G, vendors' TLVs.

mod bitrate;
mod eht;
mod eht_write;
mod fields;
mod he;
mod puncture;
mod read;
#[cfg(test)]
mod tests;
mod vht;
mod write;

pub use bitrate::Allocation;
pub use eht::{Eht, EhtFormat, EhtUser, EhtUsers, USig};
pub use eht_write::EhtParameters;
pub use fields::{
    AmpduStatus, Channel, FlagsField, LSig, Mcs, Timestamp, XChannel, ZeroLengthPsdu,
};
pub use he::{He, HeFormat, HeMu, HeMuOtherUser};
pub use read::{Field, Fields, View};
pub use vht::{Vht, VhtUser};

/// Presence bits, which are the field numbers of the radiotap namespace.
pub mod bit {
    /// TSFT: microseconds of the receiver's clock.
    pub const TSFT: u8 = 0;
    /// Flags: short preamble, FCS, padding, bad FCS.
    pub const FLAGS: u8 = 1;
    /// Rate in units of 500 kb/s, for frames before HT.
    pub const RATE: u8 = 2;
    /// Channel: frequency in MHz and its flags.
    pub const CHANNEL: u8 = 3;
    /// Antenna signal in dBm.
    pub const ANTENNA_SIGNAL: u8 = 5;
    /// Antenna noise in dBm.
    pub const ANTENNA_NOISE: u8 = 6;
    /// Antenna: index of the receiving antenna.
    pub const ANTENNA: u8 = 11;
    /// RX flags: whether the PLCP check failed.
    pub const RX_FLAGS: u8 = 14;
    /// XChannel: like Channel, with more flags.
    pub const XCHANNEL: u8 = 18;
    /// MCS: rate of an HT frame.
    pub const MCS: u8 = 19;
    /// A-MPDU status: reference number of the A-MPDU, delimiter.
    pub const AMPDU_STATUS: u8 = 20;
    /// VHT: rate of a VHT frame.
    pub const VHT: u8 = 21;
    /// Timestamp: a clock with its unit and accuracy.
    pub const TIMESTAMP: u8 = 22;
    /// HE: rate of an HE frame.
    pub const HE: u8 = 23;
    /// HE-MU: properties that the users of an HE MU PPDU share.
    pub const HE_MU: u8 = 24;
    /// HE-MU-other-user: the user field of another station.
    pub const HE_MU_OTHER_USER: u8 = 25;
    /// 0-length-PSDU: no frame follows the header.
    pub const ZERO_LENGTH_PSDU: u8 = 26;
    /// L-SIG: the legacy part of an OFDM preamble.
    pub const L_SIG: u8 = 27;
    /// TLV: TLVs fill the rest of the header.
    pub const TLV: u8 = 28;
    /// Radiotap namespace: the next presence word is of the radiotap namespace, from bit 0 again.
    pub const RADIOTAP_NAMESPACE: u8 = 29;
    /// Vendor namespace: the next presence word is of a vendor's namespace.
    pub const VENDOR_NAMESPACE: u8 = 30;
    /// Extended: another presence word follows.
    pub const EXTENDED: u8 = 31;
}

/// Types of TLVs; presence bits may be types, too.
pub mod tlv {
    /// S1G: rate of a frame below 1 GHz.
    pub const S1G: u16 = 32;
    /// U-SIG: the preamble of EHT and later.
    pub const U_SIG: u16 = 33;
    /// EHT: rate of an EHT frame.
    pub const EHT: u16 = 34;
}

/// A radiotap header as values. If a header repeats a field (for each antenna), the first one
/// counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Repr {
    /// Clock of the MAC, in microseconds, at the arrival of the MPDU's first bit.
    pub tsft_us: Option<u64>,
    /// Properties of the frame.
    pub flags: Option<FlagsField>,
    /// Data rate in 500 kb/s, for frames before HT.
    pub rate_500kbps: Option<u8>,
    /// Frequency and modulation.
    pub channel: Option<Channel>,
    /// Power at the antenna in dBm.
    pub antenna_signal_dbm: Option<i8>,
    /// Noise at the antenna in dBm.
    pub antenna_noise_dbm: Option<i8>,
    /// Index of the antenna, from 0.
    pub antenna: Option<u8>,
    /// RX flags; bit 1 marks a wrong CRC of the PLCP.
    pub rx_flags: Option<u16>,
    /// Frequency and modulation, HT included.
    pub xchannel: Option<XChannel>,
    /// Rate of an HT frame.
    pub mcs: Option<Mcs>,
    /// Position of the frame in its A-MPDU.
    pub ampdu_status: Option<AmpduStatus>,
    /// Rate of a VHT frame.
    pub vht: Option<Vht>,
    /// Reading of a clock with its unit and accuracy.
    pub timestamp: Option<Timestamp>,
    /// Rate of an HE frame.
    pub he: Option<He>,
    /// Properties that the users of an HE MU PPDU share.
    pub he_mu: Option<HeMu>,
    /// User field of another station in an HE MU PPDU.
    pub he_mu_other_user: Option<HeMuOtherUser>,
    /// Reason why no frame follows.
    pub zero_length_psdu: Option<ZeroLengthPsdu>,
    /// The legacy part of an OFDM preamble.
    pub l_sig: Option<LSig>,
    /// The preamble of an EHT frame.
    pub u_sig: Option<USig>,
    /// Rate of an EHT frame.
    pub eht: Option<Eht>,
}
