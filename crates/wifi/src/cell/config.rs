//! What a cell is made of: the channel, its stations, and what each of them
//! does. Plain values; `scenario` makes them from TOML and fills the defaults.

use super::bandwidth::OperatingChannel;
use super::links::Links;
use super::mu_mimo::MuMimoConfig;
use super::multi_user::OfdmaConfig;
use super::operating_mode::OperatingMode;
use super::spatial_reuse::ObssPd;
use crate::capabilities::Capabilities;
use crate::mac::adaptive_mtu::AdaptiveMtuConfig;
use crate::mac::originator::LowRateRetry;
use crate::mac::power_save::PowerSaveConfig;
use crate::mac::rate::RateControlConfig;
use crate::mac::retry_out::RateTable;
use crate::mac::scan::ScanConfig;
use crate::mac::service_period::ServicePeriodConfig;
use crate::phy::{Band, ControlRates, ErrorModel, LinkConfig, Preamble, Rate, SnrChange, Standard};
use crate::station::{BssId, StationId};
use alloc::sync::Arc;
use alloc::vec::Vec;
use lasthop_packet::queue::{DriverLimit, QueueConfig};
use lasthop_units::{Db, Dbm, Duration, Identity, MacAddr};

/// Everything that [`Cell::new`](crate::cell::Cell::new) needs.
#[derive(Clone, Debug, PartialEq)]
pub struct CellConfig {
    /// PHY generation: slot, SIFS, contention windows, default basic rates.
    pub standard: Standard,
    /// Frequency band, which gives slot, SIFS and signal extension with the standard.
    pub band: Band,
    /// Preamble of DSSS control responses; that of the frame they answer if `None`.
    pub control_preamble: Option<Preamble>,
    /// Basic rates, from which control responses, beacons and group frames
    /// are taken.
    pub basic_rates: Vec<Rate>,
    /// Rate of broadcast and multicast data; the lowest basic rate if `None`.
    pub group_rate: Option<Rate>,
    /// Time between beacons of each access point; none are sent if `None`. Those of set 0 are
    /// queued at its multiples, those of others between them.
    pub beacon_interval: Option<Duration>,
    /// Beacons from one with a DTIM, behind which group frames for dozing
    /// stations are sent, to the next; at least 1.
    pub dtim_period: u8,
    /// From SNR to loss.
    pub error_model: ErrorModel,
    /// A PPDU received at this level or above makes the medium busy
    /// (IEEE 802.11-2020, 17.3.10.6: -82 dBm or less for a 20 MHz preamble).
    pub carrier_sense: Dbm,
    /// A receiver locked to one PPDU turns to a later one that is stronger by
    /// this much if it arrives during the first preamble.
    pub capture_margin: Option<Db>,
    /// An independent cell (IBSS): stations send to each other directly too, and
    /// slots at 2.4 GHz are long (IEEE 802.11-2020, 9.4.1.4: the Short Slot Time bit
    /// is 0). What is called the access point is then the station that sends beacons.
    pub independent: bool,
    /// BSS colours by [`BssId`]: 1 to 63, or 0 for a set that has none. Sets beyond the end have
    /// one more than their number, modulo 63. Only HE PPDUs show them.
    pub colours: Vec<u8>,
    /// Where the sets are by [`BssId`], and how they use what is beside their primary channels.
    /// Sets beyond the end are on the band's first channel. Links are given over the widest
    /// channel that is in use, wherever it is.
    pub channels: Vec<OperatingChannel>,
    /// The stations; the index is the [`StationId`]. Exactly one of each basic service set is
    /// its access point.
    pub stations: Vec<StationConfig>,
    /// What each ordered pair hears of each other: in large cells most of what there is, so
    /// that copies share it.
    pub links: Arc<Links>,
    /// Whether [`Event`](crate::event::Event)s are made, to be polled.
    pub record_events: bool,
}

/// One direction between two stations.
#[derive(Clone, Debug, PartialEq)]
pub struct PairConfig {
    /// The station that sends.
    pub from: StationId,
    /// The station that receives.
    pub to: StationId,
    /// How the signal gets there. Both directions share shadowing and fading
    /// only as far as their [`LinkConfig`]s say so.
    pub link: LinkConfig,
    /// How its mean SNR changes during the run, each later than the one before. Whether the
    /// receiver senses the sender does not change.
    pub snr_changes: Vec<SnrChange>,
}

impl CellConfig {
    /// A cell of `stations` with what most cells have: beacons every 102.4 ms with a DTIM in
    /// every second, basic rates and error model of the `standard`, carrier sense at
    /// -82 dBm, capture by 5 dB. Nothing is recorded.
    pub fn new(
        standard: Standard,
        band: Band,
        stations: Vec<StationConfig>,
        links: Vec<PairConfig>,
    ) -> Self {
        let links = Arc::new(Links::new(stations.len(), links));
        Self {
            standard,
            band,
            control_preamble: None,
            basic_rates: ControlRates::of(standard, band).basic,
            group_rate: None,
            beacon_interval: Some(Duration::from_micros(102_400)),
            dtim_period: 2,
            error_model: ErrorModel::usual(standard),
            carrier_sense: Dbm(-82.0),
            capture_margin: Some(Db(5.0)),
            independent: false,
            colours: Vec::new(),
            channels: Vec::new(),
            stations,
            links,
            record_events: false,
        }
    }

    /// Where a set is.
    pub fn channel_of(&self, bss: BssId) -> OperatingChannel {
        self.channels.get(bss.index()).copied().unwrap_or_default()
    }

    /// Not all stations have the same primary channel.
    pub(crate) fn has_several_channels(&self) -> bool {
        let primary = |station: &StationConfig| self.channel_of(station.bss).primary;
        let first = self.stations.first().map(primary);
        self.stations.iter().any(|station| Some(primary(station)) != first)
    }

    /// Lets `change` change each link; they are copied first if a copy of the configuration
    /// shares them.
    pub fn change_links(&mut self, change: impl FnMut(&mut PairConfig)) {
        Arc::make_mut(&mut self.links).change(change);
    }
}

impl PairConfig {
    /// A link whose SNR does not change.
    pub const fn steady(from: StationId, to: StationId, link: LinkConfig) -> Self {
        Self { from, to, link, snr_changes: Vec::new() }
    }
}

/// Access point or client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends beacons; every frame goes from or to it.
    AccessPoint,
    /// Associated from the first instant on.
    Station,
}

/// What one station is, can do and does.
#[derive(Clone, Debug, PartialEq)]
pub struct StationConfig {
    /// Whose random streams it draws from; no two stations of a cell share one.
    pub identity: Identity,
    /// MAC address: an individual one, which no other station has.
    pub address: MacAddr,
    /// Access point or client.
    pub role: Role,
    /// The basic service set that it belongs to. It sends to stations of this set only.
    pub bss: BssId,
    /// An access point's: how much later than one beacon interval its first beacon is.
    pub beacon_offset: Duration,
    /// Channel access parameters, by [`AccessCategory`](lasthop_packet::AccessCategory) index.
    pub access: [EdcaParameters; 4],
    /// Queue above the MAC, one of these for each access category.
    pub queue: QueueConfig,
    /// Queue of driver and hardware below it.
    pub driver_queue: DriverLimit,
    /// Rate control towards every peer.
    pub rate_control: RateControlConfig,
    /// What it can send and receive; two stations use what both can.
    pub capabilities: Capabilities,
    /// What it uses of that, as it notifies its access point; `None`: all. A station's only.
    pub operating_mode: Option<OperatingMode>,
    /// Frames of at least this many bytes (MPDU, or whole A-MPDU) are preceded
    /// by RTS/CTS; never if `None`.
    pub rts_threshold: Option<u32>,
    /// Aggregation when sending.
    pub aggregation: Aggregation,
    /// Block Ack when receiving and sending.
    pub block_ack: BlockAck,
    /// When it delivers what it receives in an A-MPDU.
    pub rx_interrupt: RxInterrupt,
    /// Attempts for an MPDU before it is given up, the first included
    /// (dot11LongRetryLimit, dot11ShortRetryLimit).
    pub retry_limit: u8,
    /// Fewer attempts at a low data rate.
    pub low_rate_retry: Option<LowRateRetry>,
    /// When receiving under a Block Ack agreement: retry-out indices by which
    /// TCP segments are given up early (pseudo retry-out).
    pub pseudo_retry_out: Option<RateTable>,
    /// An MSDU older than this is given up (dot11EDCATableMSDULifetime).
    pub msdu_lifetime: Option<Duration>,
    /// Background scans. An access point makes them without Null frames.
    pub scan: Option<ScanConfig>,
    /// Dozing when nothing happens; a client's only, without scans, and with
    /// beacons.
    pub power_save: Option<PowerSaveConfig>,
    /// Power save with service periods: U-APSD, or a TWT agreement of 802.11ax; a client's only,
    /// with QoS frames, without `power_save` and scans.
    pub service_periods: Option<ServicePeriodConfig>,
    /// Packets that an access point holds in its queue for a station that
    /// cannot be reached, of each access category; the oldest go first. The
    /// queue's own bound if `None`.
    pub power_save_buffer: Option<u32>,
    /// Let [`Cell::mtu`](super::Cell::mtu) follow the link.
    pub adaptive_mtu: Option<AdaptiveMtuConfig>,
    /// Downlink OFDMA; an access point's of 802.11ax only. Each PPDU has one receiver if `None`.
    pub ofdma: Option<OfdmaConfig>,
    /// Spatial reuse; a station's of 802.11ax only. It waits for every PPDU that it senses if
    /// `None`.
    pub obss_pd: Option<ObssPd>,
    /// Downlink MU-MIMO; an access point's of 802.11ac or 802.11ax only.
    pub mu_mimo: Option<MuMimoConfig>,
    /// It also delivers packets that it hears and that are for other stations
    /// ([`Output::Overheard`](super::Output::Overheard)).
    pub promiscuous: bool,
}

impl StationConfig {
    /// A station that sends everything at `rate`, with what has a value: MAC address 0, set 0, best
    /// effort in every access category, mac80211's queue and no driver's, QoS if the rate is
    /// 802.11n's or later, A-MPDUs as long as the standard lets them be, 7 attempts. All else is off.
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
            aggregation: Aggregation::of(&capabilities),
            block_ack: BlockAck::of(&capabilities),
            capabilities,
            operating_mode: None,
            rts_threshold: None,
            rx_interrupt: RxInterrupt::Mpdu,
            retry_limit: 7,
            low_rate_retry: None,
            pseudo_retry_out: None,
            msdu_lifetime: None,
            scan: None,
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

/// Channel access parameters of one category (IEEE 802.11-2020, table 9-155).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdcaParameters {
    /// Arbitration interframe space in slots after SIFS, 1 to 15 (2 = DIFS).
    pub aifsn: u8,
    /// Smallest contention window in slots, 2^n - 1.
    pub cw_min: u16,
    /// Largest contention window in slots, 2^n - 1.
    pub cw_max: u16,
    /// TXOP limit; zero allows one exchange.
    pub txop_limit: Duration,
}

impl EdcaParameters {
    /// Of an access point's beacons: after PIFS, without backoff.
    pub(crate) const BEACON: Self =
        Self { aifsn: 1, cw_min: 0, cw_max: 0, txop_limit: Duration::ZERO };

    /// Best effort (IEEE 802.11-2020, table 9-155, of OFDM PHYs): AIFSN 3, CW 15 to 1 023.
    pub const BEST_EFFORT: Self =
        Self { aifsn: 3, cw_min: 15, cw_max: 1_023, txop_limit: Duration::ZERO };
}

/// What a sender packs into one PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// Longest A-MPDU in bytes, 0 (no A-MPDU) or up to 65 535 (HT), 1 048 575 (VHT), 6 500 631
    /// (HE).
    pub ampdu_bytes_max: u32,
    /// Longest PPDU that carries an A-MPDU (aPPDUMaxTime 5.484 ms; drivers use less).
    pub ampdu_duration_max: Duration,
    /// Most MPDUs in an A-MPDU, 1 to 1 024; the Block Ack window bounds them too.
    pub ampdu_frames_max: u16,
    /// Minimum MPDU start spacing, zero to 16 us (IEEE 802.11-2020, 9.4.2.55.3).
    pub mpdu_start_spacing: Duration,
    /// Longest A-MSDU in bytes, 0 (no A-MSDU), up to 3 839 or 7 935 (HT) or what fits into an
    /// MPDU of 11 454 (VHT, HE); inside an A-MPDU an MPDU of HT stays within 4 095 bytes.
    pub amsdu_bytes_max: u16,
    /// A-MPDUs are built before the channel is won: the hardware has two for a
    /// peer, one on the air and the next, and packets that come later wait for
    /// the one after (ath9k: ATH_AGGR_MIN_QDEPTH). Otherwise each takes all
    /// that is there when its exchange begins.
    pub built_ahead: bool,
}

impl Aggregation {
    /// A-MPDUs as long as 802.11n lets them be, no A-MSDUs.
    pub const STANDARD: Self = Self {
        ampdu_bytes_max: 65_535,
        ampdu_duration_max: Duration::from_micros(5_484),
        ampdu_frames_max: 64,
        mpdu_start_spacing: Duration::ZERO,
        amsdu_bytes_max: 0,
        built_ahead: false,
    };

    /// A-MPDUs as long as a station of these capabilities receives them, and at least as long
    /// as in [`Self::STANDARD`]: to whom, the pair's capabilities say.
    pub fn of(capabilities: &Capabilities) -> Self {
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
    /// The recipient releases a gap after this long (Linux: 100 ms).
    pub reorder_timeout: Duration,
    /// When the originator sends a Block Ack Request.
    pub request: BlockAckRequestPolicy,
}

impl BlockAck {
    /// The largest window of 802.11n, Linux' timeout, and the standard's answer to a gap.
    pub const STANDARD: Self = Self {
        window: 64,
        reorder_timeout: Duration::from_millis(100),
        request: BlockAckRequestPolicy::AfterMissing,
    };

    /// The same with the largest window of these capabilities, if it is larger.
    pub fn of(capabilities: &Capabilities) -> Self {
        let window = capabilities.block_ack_window_max.max(Self::STANDARD.window);
        Self { window, ..Self::STANDARD }
    }
}

/// When a receiver delivers the MPDUs of an A-MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RxInterrupt {
    /// Each when its last bit is in (mt76, which leaves its delayed interrupts
    /// off; ns-3). Others hold interrupts back by a timer: ath9k until 500 us
    /// after the last MPDU, 2 ms after the first at most (AR_RIMT), iwlwifi for
    /// up to 2 ms (CSR_INT_COALESCING).
    Mpdu,
    /// All at the end of the PPDU.
    Ppdu,
}

/// When an originator sends a Block Ack Request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockAckRequestPolicy {
    /// After every missing Block Ack, and when MPDUs were given up (ns-3).
    AfterMissing,
    /// Only when MPDUs were given up, to move the recipient's window (Linux
    /// drivers); a missing Block Ack leads to retransmission.
    AfterDrop,
}
