//! Configuration of a cell: the channel, the stations (`station`) and the links between them
//! (`links`). The types are plain values; `scenario` creates them from TOML and supplies the
//! defaults. `air`, `medium` and `cell` read them; the module knows none of these.

mod channel;
mod device;
mod error;
mod links;
mod movement;
mod several;
mod station;

use crate::phy::{Band, ControlRates, ErrorModel, Preamble, Rate, SnrChange, Standard};
use crate::station::{BssId, StationId};
use alloc::sync::Arc;
use alloc::vec::Vec;
use lasthop_units::{Db, Dbm, Duration};

pub use crate::phy::OperatingMode;
pub use crate::station::Role;
pub use channel::{BandwidthAccess, ObssPd, OperatingChannel};
pub use device::{DeviceConfig, LinkChoice, LinkMode, LinkSet};
pub use error::{AdjustError, CellError};
pub use links::{Links, PairConfig};
pub use movement::{Movement, Track, Waypoint, distance};
pub use several::{
    MuEdcaParameters, MuMimoConfig, OfdmaAcknowledgement, OfdmaConfig, UplinkConfig,
};
pub(crate) use station::ranks;
pub use station::{
    Aggregation, BlockAck, BlockAckRequestPolicy, EdcaParameters, PeerRate, RxHold, RxInterrupt,
    StationConfig,
};

/// Configuration that [`Cell::new`](crate::cell::Cell::new) requires.
#[derive(Clone, Debug, PartialEq)]
pub struct CellConfig {
    /// PHY generation: slot, SIFS, contention windows, default basic rates.
    pub standard: Standard,
    /// Frequency band, which determines slot, SIFS and signal extension together with the standard.
    pub band: Band,
    /// Preamble of DSSS control responses; if `None`, that of the frame they answer.
    pub control_preamble: Option<Preamble>,
    /// Basic rates, among which the rates of control responses, beacons and group frames are.
    pub basic_rates: Vec<Rate>,
    /// Rate of broadcast and multicast data; the lowest basic rate if `None`.
    pub group_rate: Option<Rate>,
    /// Time between beacons of each access point; without beacons if `None`. Set 0 queues its
    /// beacons at multiples of the interval, the other sets in between.
    pub beacon_interval: Option<Duration>,
    /// Beacons from one DTIM to the next, at least 1. Group frames for dozing stations follow a
    /// DTIM.
    pub dtim_period: u8,
    /// Error model: from SNR to loss.
    pub error_model: ErrorModel,
    /// Power at which a received PPDU makes the medium busy (IEEE 802.11-2020, 17.3.10.6: -82 dBm
    /// or less for a 20 MHz preamble).
    pub carrier_sense: Dbm,
    /// Lead in power with which a later PPDU takes over a receiver that is locked to another one,
    /// if it arrives during the preamble of the first; no capture if `None`.
    pub capture_margin: Option<Db>,
    /// Whether the cell is an independent one (IBSS): stations send to each other directly, and
    /// slots at 2.4 GHz are long (IEEE 802.11-2020, 9.4.1.4: the Short Slot Time bit is 0). The
    /// role access point then means the station that sends beacons.
    pub independent: bool,
    /// BSS colours by [`BssId`]: 1 to 63, or 0 for a set without a colour. Sets beyond the end of
    /// the list have one more than their number, modulo 63. Only HE and EHT PPDUs carry
    /// colours.
    pub colours: Vec<u8>,
    /// Channels of the sets by [`BssId`], with the use of their secondary channels. Sets beyond the
    /// end of the list are on the band's first channel. The SNRs of links refer to the widest
    /// channel in use, wherever in the band it is.
    pub channels: Vec<OperatingChannel>,
    /// Whether sets may move to other channels during the run
    /// ([`Cell::change_channel`](crate::cell::Cell::change_channel)); `channels` then has all sets.
    pub channels_vary: bool,
    /// Stations, indexed by [`StationId`]. Each basic service set has exactly one access point
    /// among them.
    pub stations: Vec<StationConfig>,
    /// Devices of several links, each with a station on each. Stations in none have one link.
    pub devices: Vec<DeviceConfig>,
    /// Links between each ordered pair of stations, shared between copies because they are most of
    /// the data of a large cell.
    pub links: Arc<Links>,
    /// Movement of the stations; they stay where they are if `None`. `links` then holds the mean
    /// SNRs at the beginning.
    pub movement: Option<Arc<Movement>>,
    /// Whether links may change during the run so that stations begin or cease to sense each other
    /// ([`Cell::change_link`](crate::cell::Cell::change_link)).
    pub senses_vary: bool,
    /// Length of the networks' names in octets, 0 to 32: of beacons of 802.11be. Others have a name
    /// of seven letters.
    pub ssid_octets: u8,
    /// Whether [`Event`](crate::event::Event)s are recorded, for
    /// [`Cell::poll_event`](crate::cell::Cell::poll_event).
    pub record_events: bool,
}

impl CellConfig {
    /// Returns a cell of `stations` with usual settings: beacons every 102.4 ms with a DTIM in
    /// every second one, basic rates and error model of the `standard`, carrier sense at -82 dBm,
    /// capture by 5 dB. Events are not recorded.
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
            basic_rates: ControlRates::for_standard(standard, band).basic,
            group_rate: None,
            beacon_interval: Some(Duration::from_micros(102_400)),
            dtim_period: 2,
            error_model: ErrorModel::usual(standard),
            carrier_sense: Dbm(-82.0),
            capture_margin: Some(Db(5.0)),
            independent: false,
            colours: Vec::new(),
            channels: Vec::new(),
            channels_vary: false,
            stations,
            devices: Vec::new(),
            links,
            movement: None,
            senses_vary: false,
            ssid_octets: 7,
            record_events: false,
        }
    }

    /// First station of the device of a station, itself if it is alone; and the number of its link,
    /// from 0: that of a station alone is the link of devices on whose channel it is.
    pub fn head_of(&self, station: StationId) -> (StationId, usize) {
        let place = |device: &DeviceConfig| {
            let link = device.links.iter().position(|link| *link == station)?;
            Some((device.links[0], link))
        };
        self.devices.iter().find_map(place).unwrap_or_else(|| {
            let channel = |of: &StationId| self.channel_of(self.stations[of.index()].bss).primary;
            let links = self.devices.first().map_or(&[][..], |device| &device.links);
            let link = links.iter().position(|link| channel(link) == channel(&station));
            (station, link.unwrap_or(0))
        })
    }

    /// The channel of a set.
    pub fn channel_of(&self, bss: BssId) -> OperatingChannel {
        self.channels.get(bss.index()).copied().unwrap_or_default()
    }

    /// Whether some set leaves out a part of its channel.
    pub(crate) fn is_punctured(&self) -> bool {
        self.channels.iter().any(|channel| !channel.puncturing.is_none())
    }

    /// Whether sets have different primary channels, or may have.
    pub(crate) fn has_several_channels(&self) -> bool {
        if self.channels_vary {
            return true;
        }
        let primary = |station: &StationConfig| self.channel_of(station.bss).primary;
        let first = self.stations.first().map(primary);
        self.stations.iter().any(|station| Some(primary(station)) != first)
    }

    /// Whether stations may begin or cease to sense each other: because of a movement, of
    /// `senses_vary`, or of known changes of a mean SNR.
    pub fn varies(&self) -> bool {
        let crosses = |((from, to), changes): ((StationId, StationId), &[SnrChange])| {
            let link = self.links.link(from, to).expect("a link that changes is one");
            let is_sensed = |snr| link.is_sensed(snr, self.carrier_sense);
            changes.iter().any(|change| is_sensed(change.snr) != is_sensed(link.snr))
        };
        self.senses_vary || self.movement.is_some() || self.links.changes().any(crosses)
    }

    /// Calls `change` for each link; the links are copied first if another copy of the
    /// configuration shares them.
    pub fn change_links(&mut self, change: impl FnMut(&mut PairConfig)) {
        Arc::make_mut(&mut self.links).change(change);
    }
}
