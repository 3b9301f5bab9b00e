//! Modulations and code rates, and those of each MCS of HT, VHT, HE and EHT.

/// Modulation of a subcarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Modulation {
    /// BPSK: one coded bit per subcarrier.
    Bpsk,
    /// QPSK: two coded bits per subcarrier.
    Qpsk,
    /// 16-QAM: four coded bits per subcarrier.
    Qam16,
    /// 64-QAM: six coded bits per subcarrier.
    Qam64,
    /// 256-QAM: eight coded bits per subcarrier (VHT and HE).
    Qam256,
    /// 1024-QAM: ten coded bits per subcarrier (HE).
    Qam1024,
    /// 4096-QAM: twelve coded bits per subcarrier (EHT).
    Qam4096,
}

/// Rate of the (punctured) binary convolutional code, or of the LDPC code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CodeRate {
    /// Code rate 1/2, without puncturing.
    Half,
    /// Code rate 2/3, punctured.
    TwoThirds,
    /// Code rate 3/4, punctured.
    ThreeQuarters,
    /// Code rate 5/6, punctured.
    FiveSixths,
}

impl Modulation {
    /// Coded bits per subcarrier (N_BPSCS): 1, 2, 4, 6, 8, 10 or 12.
    #[inline]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bpsk => 1,
            Self::Qpsk => 2,
            Self::Qam16 => 4,
            Self::Qam64 => 6,
            Self::Qam256 => 8,
            Self::Qam1024 => 10,
            Self::Qam4096 => 12,
        }
    }
}

impl CodeRate {
    /// Numerator and denominator of the code rate.
    #[inline]
    pub const fn ratio(self) -> (u32, u32) {
        match self {
            Self::Half => (1, 2),
            Self::TwoThirds => (2, 3),
            Self::ThreeQuarters => (3, 4),
            Self::FiveSixths => (5, 6),
        }
    }
}

/// Modulation and code rate by MCS index: for HT modulo 8 (tables 19-27 to 19-34), for VHT up to 9
/// (tables 21-30 to 21-61), for HE up to 11 (IEEE 802.11ax-2021, 27.5), for EHT up to 13 (IEEE
/// 802.11be-2024, 36.5).
pub(super) const MCS_MODULATION: [(Modulation, CodeRate); 14] = [
    (Modulation::Bpsk, CodeRate::Half),
    (Modulation::Qpsk, CodeRate::Half),
    (Modulation::Qpsk, CodeRate::ThreeQuarters),
    (Modulation::Qam16, CodeRate::Half),
    (Modulation::Qam16, CodeRate::ThreeQuarters),
    (Modulation::Qam64, CodeRate::TwoThirds),
    (Modulation::Qam64, CodeRate::ThreeQuarters),
    (Modulation::Qam64, CodeRate::FiveSixths),
    (Modulation::Qam256, CodeRate::ThreeQuarters),
    (Modulation::Qam256, CodeRate::FiveSixths),
    (Modulation::Qam1024, CodeRate::ThreeQuarters),
    (Modulation::Qam1024, CodeRate::FiveSixths),
    (Modulation::Qam4096, CodeRate::ThreeQuarters),
    (Modulation::Qam4096, CodeRate::FiveSixths),
];
