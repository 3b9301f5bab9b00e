//! Rates.

/// Frequency band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Band {
    /// 2.4 GHz: OFDM and HT PPDUs end with a 6 us signal extension.
    Ghz2_4,
    /// 5 GHz.
    Ghz5,
}

/// Channel width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChannelWidth {
    /// 20 MHz.
    Mhz20,
    /// 40 MHz.
    Mhz40,
}

/// HT guard interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GuardInterval {
    /// 800 ns.
    Long,
    /// 400 ns.
    Short,
}

/// DSSS and CCK preamble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Preamble {
    /// 144 + 48 us.
    Long,
    /// 72 + 24 us; not at 1 Mb/s.
    Short,
}

/// DSSS and CCK data rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DsssRate {
    /// 1 Mb/s DBPSK.
    Mbps1,
    /// 2 Mb/s DQPSK.
    Mbps2,
    /// 5.5 Mb/s CCK.
    Mbps5_5,
    /// 11 Mb/s CCK.
    Mbps11,
}

/// OFDM and ERP-OFDM data rates at 20 MHz.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OfdmRate {
    /// BPSK 1/2.
    Mbps6,
    /// BPSK 3/4.
    Mbps9,
    /// QPSK 1/2.
    Mbps12,
    /// QPSK 3/4.
    Mbps18,
    /// 16-QAM 1/2.
    Mbps24,
    /// 16-QAM 3/4.
    Mbps36,
    /// 64-QAM 2/3.
    Mbps48,
    /// 64-QAM 3/4.
    Mbps54,
}

/// How a PPDU is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rate {
    /// DSSS or CCK (clauses 15 and 16).
    Dsss {
        /// Data rate.
        rate: DsssRate,
        /// Preamble.
        preamble: Preamble,
    },
    /// OFDM (clause 17), 5 GHz.
    Ofdm(OfdmRate),
    /// ERP-OFDM (clause 18), 2.4 GHz.
    ErpOfdm(OfdmRate),
    /// HT-mixed (clause 19).
    Ht {
        /// MCS index, 0 to 31: one to four equal streams.
        mcs: u8,
        /// Channel width.
        width: ChannelWidth,
        /// Guard interval.
        guard_interval: GuardInterval,
    },
}
