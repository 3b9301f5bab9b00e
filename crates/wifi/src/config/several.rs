//! Transmissions to and from several stations at once: OFDMA, uplink OFDMA, MU-MIMO.

use crate::phy::{Codebook, HeGuardInterval};
use lasthop_units::Duration;

/// Configuration of transmissions to several stations at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfdmaConfig {
    /// Limit of stations in a PPDU, 2 to 74. The number of equal RUs limits them further: at 80 MHz
    /// to 2, 4, 8, 16 or 37.
    pub stations_max: u8,
    /// Kind of acknowledgement.
    pub acknowledgement: OfdmaAcknowledgement,
    /// Guard interval and HE-LTFs of HE MU PPDUs; must be one that they have
    /// ([`HeGuardInterval::is_of_multi_user`]). Answers to a Trigger frame have 3.2 us if HE MU
    /// PPDUs do, otherwise 1.6 us.
    pub guard_interval: HeGuardInterval,
    /// Uplink OFDMA, limited to the same number of stations; downlink only if `None`.
    pub uplink: Option<UplinkConfig>,
}

/// Kinds of acknowledgement of an HE MU PPDU (IEEE 802.11ax-2021, 26.4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfdmaAcknowledgement {
    /// One after the other: the first station answers with a Block Ack, and each of the others
    /// answers a Block Ack Request.
    BlockAckRequest,
    /// Together, in trigger-based PPDUs: an MU-BAR Trigger frame follows the PPDU.
    MuBlockAckRequest,
    /// Together, in trigger-based PPDUs: each PSDU ends with an MU-BAR Trigger frame.
    Aggregated,
}

/// Configuration of an access point that solicits several stations at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UplinkConfig {
    /// Interval of buffer status reports. A BSRP Trigger frame precedes each Basic one; while no
    /// backlog is known, one is sent when this time has passed since the last. If `None`, none is
    /// sent: the access point learns backlogs only from QoS frames.
    pub buffer_reports: Option<Duration>,
    /// MU EDCA parameters by [`AccessCategory`](lasthop_packet::AccessCategory) index; `None` if
    /// contention stays unchanged.
    pub mu_edca: [Option<MuEdcaParameters>; 4],
}

/// Contention parameters of a station in an access category after the access point acknowledged its
/// data in a trigger-based PPDU (IEEE 802.11ax-2021, 9.4.2.251 and 26.2.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MuEdcaParameters {
    /// Arbitration interframe space in slots after SIFS, 2 to 15; with 0 the station does not
    /// contend.
    pub aifsn: u8,
    /// Smallest contention window in slots, 2^n - 1.
    pub cw_min: u16,
    /// Largest contention window in slots, 2^n - 1.
    pub cw_max: u16,
    /// Duration of these parameters from each such acknowledgement on: 1 to 255 times 8.192 ms.
    pub timer: Duration,
}

/// Configuration of transmissions to several stations at once in space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MuMimoConfig {
    /// Limit of stations in a PPDU: 2 to 4 in 802.11ac, 2 to 8 in 802.11ax.
    pub stations_max: u8,
    /// Antennas of the access point, 2 to 8, which limit the streams of all stations together.
    pub antennas: u8,
    /// Limit of streams for one station, 1 to 4.
    pub streams_max: u8,
    /// Kind of acknowledgement; in 802.11ac always one station after the other.
    pub acknowledgement: OfdmaAcknowledgement,
    /// Guard interval and HE-LTFs of HE MU PPDUs and HE NDPs; must be one that HE MU PPDUs have.
    pub guard_interval: HeGuardInterval,
    /// Age of a report at which the station is sounded again.
    pub sounding_interval: Duration,
    /// Subcarriers that share the angles of a report: 1, 2 or 4 in VHT, 4 or 16 in HE.
    pub grouping: u8,
    /// Number of bits of each angle.
    pub codebook: Codebook,
    /// Doppler rate of a station at rest in hertz, from people who move about. A link that fades
    /// faster ages at its own rate; the access point knows only this one.
    pub doppler_hz: f64,
}

impl MuMimoConfig {
    /// Returns usual values for an access point with this many antennas: groups of as many
    /// stations, up to four, one stream for each, sounded every 20 ms, in an office whose Doppler
    /// rate is 0.4 Hz.
    pub const fn new(antennas: u8) -> Self {
        Self {
            stations_max: if antennas < 4 { antennas } else { 4 },
            antennas,
            streams_max: 1,
            acknowledgement: OfdmaAcknowledgement::BlockAckRequest,
            guard_interval: HeGuardInterval::Ns800Ltf2x,
            sounding_interval: Duration::from_millis(20),
            grouping: 4,
            codebook: Codebook::Fine,
            doppler_hz: 0.4,
        }
    }
}
