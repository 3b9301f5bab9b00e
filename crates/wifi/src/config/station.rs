//! Configuration of one station: queue, channel access, aggregation, and the mechanisms that are on.

use super::channel::ObssPd;
use super::error::CellError;
use super::several::{MuMimoConfig, OfdmaConfig};
use crate::capabilities::Capabilities;
use crate::mac::adaptive_mtu::AdaptiveMtuConfig;
use crate::mac::originator::LowRateRetry;
use crate::mac::power_save::PowerSaveConfig;
use crate::mac::rate::RateControlConfig;
use crate::mac::retry_out::RateTable;
use crate::mac::roam::station::RoamingConfig;
use crate::mac::roam::steering::SteeringConfig;
use crate::mac::scan::ScanConfig;
use crate::mac::schedule::AbsenceConfig;
use crate::mac::service_period::ServicePeriodConfig;
use crate::phy::{OperatingMode, Rate};
use crate::station::{BssId, Role, StationId};
use alloc::vec::Vec;
use lasthop_packet::queue::{DriverLimit, QueueConfig};
use lasthop_units::{Duration, Identity, MacAddr};

/// Configuration of one station.
#[derive(Clone, Debug, PartialEq)]
pub struct StationConfig {
    /// Key of the station's random streams; no two stations of a cell share one.
    pub identity: Identity,
    /// MAC address: an individual one, which no other station has.
    pub address: MacAddr,
    /// Access point or client.
    pub role: Role,
    /// Basic service set of the station. The station sends only within this set.
    pub bss: BssId,
    /// Delay of an access point's first beacon beyond one beacon interval.
    pub beacon_offset: Duration,
    /// Channel access parameters, by [`AccessCategory`](lasthop_packet::AccessCategory) index.
    pub access: [EdcaParameters; 4],
    /// Queue above the MAC; each access category has its own.
    pub queue: QueueConfig,
    /// Queue of driver and hardware below it.
    pub driver_queue: DriverLimit,
    /// Rate control towards every peer.
    pub rate_control: RateControlConfig,
    /// Fixed rates towards single peers, which have no rate control. Linux has them for each
    /// station, too (Minstrel's `fixed_rate_idx`).
    pub peer_rates: Vec<PeerRate>,
    /// Capabilities in sending and receiving; two stations use those that they share.
    pub capabilities: Capabilities,
    /// Subset of its capabilities that a client notifies to its access point; all of them if
    /// `None`. The access point has no operating mode.
    pub operating_mode: Option<OperatingMode>,
    /// Length in bytes, of an MPDU or a whole A-MPDU, from which RTS/CTS precedes a frame; never if
    /// `None`.
    pub rts_threshold: Option<u32>,
    /// Aggregation when sending.
    pub aggregation: Aggregation,
    /// Time from the end of an exchange with data until the hardware has the next frame of the
    /// access category: that of driver and bus.
    pub transmit_gap: Duration,
    /// Block Ack when receiving and sending.
    pub block_ack: BlockAck,
    /// Time at which the station delivers the MPDUs of a received A-MPDU.
    pub rx_interrupt: RxInterrupt,
    /// Attempts for an MPDU before it is given up, the first one included (dot11LongRetryLimit,
    /// dot11ShortRetryLimit).
    pub retry_limit: u8,
    /// Fewer attempts at a low data rate.
    pub low_rate_retry: Option<LowRateRetry>,
    /// Retry-out indices by which a recipient under a Block Ack agreement lets the sender give up
    /// TCP segments early (pseudo retry-out).
    pub pseudo_retry_out: Option<RateTable>,
    /// Age at which an MSDU is given up (dot11EDCATableMSDULifetime); unlimited if `None`.
    pub msdu_lifetime: Option<Duration>,
    /// Background scans of the station. An access point scans without Null frames.
    pub scan: Option<ScanConfig>,
    /// Roaming of a client within an extended service set; excludes other scans and power save.
    pub roaming: Option<RoamingConfig>,
    /// Requests of an access point to its stations to move to another one of their network.
    pub steering: Option<SteeringConfig>,
    /// Absences by a clock; they exclude scans and power save, and an access point leaves without
    /// notice.
    pub absences: Vec<AbsenceConfig>,
    /// Whether an access point has failed, until it comes back
    /// ([`Cell::change_failure`](crate::cell::Cell::change_failure)).
    pub failed: bool,
    /// Power save of an idle client, which dozes between beacons; requires beacons, and excludes
    /// scans.
    pub power_save: Option<PowerSaveConfig>,
    /// Power save with service periods: U-APSD, or a TWT agreement of 802.11ax. Clients with QoS
    /// frames only; excludes `power_save` and scans.
    pub service_periods: Option<ServicePeriodConfig>,
    /// Limit of packets that an access point queues for an unreachable station, in each access
    /// category; the oldest are dropped. The limit of the queue applies if `None`.
    pub power_save_buffer: Option<u32>,
    /// Adaptive MTU: [`Cell::mtu`](crate::cell::Cell::mtu) follows the link.
    pub adaptive_mtu: Option<AdaptiveMtuConfig>,
    /// Downlink OFDMA; access points of 802.11ax or 802.11be only. If `None`, each PPDU has one receiver.
    pub ofdma: Option<OfdmaConfig>,
    /// Spatial reuse; stations of 802.11ax only. If `None`, the station defers to every PPDU that
    /// it senses.
    pub obss_pd: Option<ObssPd>,
    /// Downlink MU-MIMO; access points of 802.11ac or 802.11ax only.
    pub mu_mimo: Option<MuMimoConfig>,
    /// Whether the station also delivers packets that it decodes and that are for other stations
    /// ([`Output::Overheard`](crate::cell::Output::Overheard)).
    pub promiscuous: bool,
}

impl StationConfig {
    /// Whether the station is an access point that solicits uplink PPDUs.
    pub(crate) fn solicits(&self) -> bool {
        self.ofdma.is_some_and(|ofdma| ofdma.uplink.is_some())
    }

    /// The fixed rate towards `peer`, if there is one.
    pub fn peer_rate(&self, peer: StationId) -> Option<Rate> {
        self.peer_rates.iter().find(|it| it.peer == peer).map(|it| it.rate)
    }

    /// Returns the rate control towards `peer`.
    pub fn rate_control_towards(&self, peer: StationId) -> RateControlConfig {
        let fixed = self.peer_rate(peer).map(|rate| RateControlConfig::Fixed { rate });
        fixed.unwrap_or_else(|| self.rate_control.clone())
    }

    /// Returns a station that sends all frames at `rate`. The other settings have usual values: MAC
    /// address 0, set 0, best effort parameters in every access category, mac80211's queue without
    /// a driver queue, QoS from 802.11n on, the longest A-MPDUs of the standard, 7 attempts. All
    /// optional mechanisms are off.
    pub fn fixed(role: Role, identity: Identity, rate: Rate) -> Self {
        let capabilities = Capabilities::new(alloc::vec![rate], rate.may_aggregate());
        Self {
            identity,
            address: MacAddr::local(0),
            role,
            bss: BssId::default(),
            beacon_offset: Duration::ZERO,
            access: [EdcaParameters::BEST_EFFORT; 4],
            queue: QueueConfig::MAC80211,
            driver_queue: DriverLimit::None,
            rate_control: RateControlConfig::Fixed { rate },
            peer_rates: Vec::new(),
            aggregation: Aggregation::from_capabilities(&capabilities),
            block_ack: BlockAck::from_capabilities(&capabilities),
            capabilities,
            operating_mode: None,
            rts_threshold: None,
            transmit_gap: Duration::ZERO,
            rx_interrupt: RxInterrupt::Mpdu,
            retry_limit: 7,
            low_rate_retry: None,
            pseudo_retry_out: None,
            msdu_lifetime: None,
            scan: None,
            roaming: None,
            steering: None,
            absences: Vec::new(),
            failed: false,
            power_save: None,
            service_periods: None,
            power_save_buffer: None,
            adaptive_mtu: None,
            ofdma: None,
            obss_pd: None,
            mu_mimo: None,
            promiscuous: false,
        }
    }
}

/// A fixed rate of data frames towards one peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerRate {
    /// Station that receives the frames.
    pub peer: StationId,
    /// The rate, which both ends support.
    pub rate: Rate,
}

/// Channel access parameters of one category (IEEE 802.11-2020, table 9-155).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdcaParameters {
    /// Arbitration interframe space in slots after SIFS, 1 to 15 (2 = DIFS).
    pub aifsn: u8,
    /// Smallest contention window in slots, 2^n - 1.
    pub cw_min: u16,
    /// Largest contention window in slots, 2^n - 1.
    pub cw_max: u16,
    /// TXOP limit; zero permits one exchange.
    pub txop_limit: Duration,
}

impl EdcaParameters {
    /// Parameters of an access point's beacons: PIFS without backoff.
    pub(crate) const BEACON: Self =
        Self { aifsn: 1, cw_min: 0, cw_max: 0, txop_limit: Duration::ZERO };

    /// Best effort (IEEE 802.11-2020, table 9-155, of OFDM PHYs): AIFSN 3, CW 15 to 1 023.
    pub const BEST_EFFORT: Self =
        Self { aifsn: 3, cw_min: 15, cw_max: 1_023, txop_limit: Duration::ZERO };
}

/// Limits of the PPDUs that a sender builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// Longest A-MPDU in bytes, 0 (no A-MPDU) or up to 65 535 (HT), 1 048 575 (VHT), 6 500 631
    /// (HE).
    pub ampdu_bytes_max: u32,
    /// Longest duration of a PPDU with an A-MPDU (aPPDUMaxTime 5.484 ms; drivers use less).
    pub ampdu_duration_max: Duration,
    /// Limit of MPDUs in an A-MPDU, 1 to 1 024; the Block Ack window limits them too.
    pub ampdu_frames_max: u16,
    /// Minimum MPDU start spacing, zero to 16 us (IEEE 802.11-2020, 9.4.2.55.3).
    pub mpdu_start_spacing: Duration,
    /// Longest A-MSDU in bytes: 0 (no A-MSDU), up to 3 839 or 7 935 (HT), or the content of an MPDU
    /// of 11 454 (VHT, HE). An HT MPDU inside an A-MPDU stays within 4 095 bytes.
    pub amsdu_bytes_max: u16,
    /// Whether A-MPDUs are built before the channel is won. Later packets then join an A-MPDU after
    /// those that are built. Otherwise each A-MPDU takes the packets that are queued when its
    /// exchange begins.
    pub built_ahead: bool,
    /// Limit of A-MPDUs that are built ahead in each access category, for all peers together, the
    /// one on the air included; at least one.
    pub hardware_ampdus: u8,
}

impl Aggregation {
    /// The longest A-MPDUs of 802.11n, without A-MSDUs.
    pub const STANDARD: Self = Self {
        ampdu_bytes_max: 65_535,
        ampdu_duration_max: Duration::from_micros(5_484),
        ampdu_frames_max: 64,
        mpdu_start_spacing: Duration::ZERO,
        amsdu_bytes_max: 0,
        built_ahead: false,
        hardware_ampdus: Self::HARDWARE_AMPDUS,
    };

    /// A-MPDUs in a hardware queue of ath9k (`ATH_AGGR_MIN_QDEPTH`).
    pub const HARDWARE_AMPDUS: u8 = 2;

    /// A-MPDUs that are built ahead in each access category; 0 if none are.
    pub(crate) fn hardware_turns(&self) -> usize {
        if self.built_ahead { self.hardware_ampdus.max(1).into() } else { 0 }
    }

    /// Returns limits for the longest A-MPDUs that a station of these capabilities receives, and at
    /// least those of [`Self::STANDARD`]; the capabilities of a pair limit them further.
    pub fn from_capabilities(capabilities: &Capabilities) -> Self {
        let usual = Self::STANDARD;
        Self {
            ampdu_bytes_max: capabilities.ampdu_bytes_max.max(usual.ampdu_bytes_max),
            ampdu_frames_max: capabilities.block_ack_window_max.max(usual.ampdu_frames_max),
            ..usual
        }
    }
}

/// Block Ack of one station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAck {
    /// Window in MPDUs, 1 to 1 024.
    pub window: u16,
    /// Time after which the recipient gives up a gap (Linux: 100 ms).
    pub reorder_timeout: Duration,
    /// Policy by which the originator sends Block Ack Requests.
    pub request: BlockAckRequestPolicy,
}

impl BlockAck {
    /// The largest window of 802.11n, the timeout of Linux, and the standard's reaction to a gap.
    pub const STANDARD: Self = Self {
        window: 64,
        reorder_timeout: Duration::from_millis(100),
        request: BlockAckRequestPolicy::AfterMissing,
    };

    /// Returns [`Self::STANDARD`] with the largest window of these capabilities, if that is larger.
    pub fn from_capabilities(capabilities: &Capabilities) -> Self {
        let window = capabilities.block_ack_window_max.max(Self::STANDARD.window);
        Self { window, ..Self::STANDARD }
    }
}

/// Time at which a receiver delivers the MPDUs of an A-MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RxInterrupt {
    /// Each MPDU when its last bit arrives (mt76, which leaves its delayed interrupts off; ns-3).
    Mpdu,
    /// All MPDUs at the end of the PPDU.
    Ppdu,
    /// All MPDUs of a time, by timers of the hardware.
    Held(RxHold),
}

/// Timers of a held back interrupt. The interrupt of a completed transmission serves received
/// frames, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RxHold {
    /// Longest time after the last frame.
    pub last: Duration,
    /// Longest time after the first frame.
    pub first: Duration,
}

impl RxHold {
    /// ath9k from AR9300 on (`rimt_last`, `rimt_first`); older chips have 250 and 700 us.
    pub const ATH9K: Self =
        Self { last: Duration::from_micros(500), first: Duration::from_millis(2) };
}

/// Policy by which an originator sends Block Ack Requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockAckRequestPolicy {
    /// After every missing Block Ack, and after MPDUs were given up (ns-3).
    AfterMissing,
    /// Only after MPDUs were given up, to move the recipient's window (Linux drivers); a missing
    /// Block Ack leads to retransmission.
    AfterDrop,
}

/// Rank of each station in an order that does not depend on that of the configuration; stations
/// that transmit at the same instant are served in this order.
pub(crate) fn ranks(stations: &[StationConfig]) -> Result<Vec<u16>, CellError> {
    let mut order: Vec<u16> = (0..stations.len() as u16).collect();
    let identity = |station: u16| stations[usize::from(station)].identity;
    order.sort_by_key(|&station| identity(station));
    if let Some(pair) = order.windows(2).find(|pair| identity(pair[0]) == identity(pair[1])) {
        return Err(CellError::SameIdentity(pair[0].min(pair[1]), pair[0].max(pair[1])));
    }
    let mut ranks = alloc::vec![0; stations.len()];
    for (rank, station) in (0..).zip(order) {
        ranks[usize::from(station)] = rank;
    }
    Ok(ranks)
}
