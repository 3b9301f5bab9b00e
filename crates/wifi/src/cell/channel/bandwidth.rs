//! Sets on different channels, and the width of a PPDU: a station's secondary channels (IEEE
//! 802.11-2020, 21.3.18.5.4; IEEE 802.11ax-2021, 27.3.20.6.4) and the PPDUs with which it may begin
//! a TXOP (10.23.2.5; 802.11n: 11.15.9).
//!
//! A PPDU that does not cover a station's primary channel is within one of its secondary channels
//! (20, 40, 80 MHz). The secondary channel is busy while the station receives such a PPDU at -72
//! dBm or more, -69 dBm if the PPDU is 80 MHz wide, and -62 dBm before 802.11ac (clauses not seen;
//! ns-3 has the former, too). A station uses a secondary channel that was idle for PIFS, at 2.4 GHz
//! for DIFS, before the TXOP begins. In a TXOP no PPDU is wider than the one before. Responses, RTS
//! and CTS are duplicates as wide as the PPDU of the exchange (10.6.6.6). The same holds for the
//! Trigger frame and the answers after an HE MU PPDU, which is as wide as the idle channel, and for
//! all frames of an uplink exchange. All other frames without HT have 20 MHz; sounding occupies the
//! whole channel. An RTS asks for the idle width at its receiver, which answers by the width of its
//! CTS (10.3.2.9). A station that receives a Trigger frame checks the channels of its RU
//! (26.5.2.5). With static access, MU-MIMO and uplink OFDMA occupy the whole channel. Left out:
//! sums of several PPDUs, the time to detect a PPDU, signals that are not Wi-Fi, puncturing by
//! what is busy. A set that leaves channels out does not mind PPDUs there, and uses the widths for
//! which a PPDU without them exists.
//!
//! Touches its own state, the widths of one station's TXOP, and reads the air.

use crate::air::{Air, Carried, Flight, Reduction, is_below};
use crate::capabilities::Generation;
use crate::cell::CellError;
use crate::cell::bss::BssFacts;
use crate::cell::edcaf::{BEACON_EDCAF, Work};
use crate::cell::exchange::content::Exchange;
use crate::cell::station::Station;
use crate::config::{BandwidthAccess, CellConfig, OperatingChannel};
use crate::phy::{Band, ChannelWidth, Rate, Ru, Subchannel, Timing};
use crate::station::{Address, StationId};
use alloc::vec::Vec;
use lasthop_units::{Dbm, Duration, Instant};

/// Received power of a PPDU at which a secondary channel is busy.
const SECONDARY: Dbm = Dbm(-72.0);
/// The same power for a PPDU of 80 MHz.
const SECONDARY_80_MHZ: Dbm = Dbm(-69.0);
/// The same power at an HT station, which only detects energy there.
const SECONDARY_HT: Dbm = Dbm(-62.0);

/// Duration of the longest RTS: 20 bytes at 6 Mb/s are 20 us, eight symbols and signal extension.
const LONGEST_RTS: Duration = Duration::from_micros(20 + 8 * 4 + 6);

/// State of the secondary channels of all stations.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bandwidth {
    stations: Vec<Wide>,
    /// Time for which a secondary channel must be idle before use.
    interval: Duration,
    /// PPDUs that ended within that interval, or within the longest RTS before it.
    ended: Vec<Ended>,
}

/// Channel settings of a station.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wide {
    primary: Subchannel,
    width: ChannelWidth,
    /// Width of its access point's channel.
    width_of_set: ChannelWidth,
    access: BandwidthAccess,
    is_ht: bool,
    /// Of a set that leaves channels out, whether each width has such a PPDU, in the order of
    /// [`ChannelWidth::ALL_EHT`].
    permitted: Option<[bool; 5]>,
}

/// A PPDU that came off the air.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ended {
    transmitter: StationId,
    width: ChannelWidth,
    reduction: Reduction,
    start: Instant,
    end: Instant,
}

impl Bandwidth {
    /// Returns the state for the stations of a cell, if they have several primary channels.
    ///
    /// # Errors
    /// Returns an error if a station's width exceeds the channels of the band at its place.
    pub fn new(
        config: &CellConfig,
        sets: &[BssFacts],
        timing: Timing,
    ) -> Result<Option<Self>, CellError> {
        if config.channels.is_empty() {
            return Ok(None);
        }
        let mut stations = Vec::with_capacity(config.stations.len());
        for (index, station) in config.stations.iter().enumerate() {
            let OperatingChannel { primary, access, .. } = config.channel_of(station.bss);
            let width = station.capabilities.width();
            if width > primary.widest(config.band) {
                return Err(CellError::NoSuchChannel(index as u16));
            }
            let access_point = sets[station.bss.index()].access_point;
            let width_of_set = config.stations[access_point.index()].capabilities.width();
            let is_ht = station.capabilities.generation() < Generation::Vht;
            let channel = config.punctured_channel(StationId(index as u16));
            let permitted = channel.map(|(channel, whole)| {
                let is_there = |it: ChannelWidth| channel.puncturing_of(whole, it.min(whole));
                ChannelWidth::ALL_EHT.map(|it| is_there(it).is_some())
            });
            stations.push(Wide { primary, width, width_of_set, access, is_ht, permitted });
        }
        let interval = if config.band == Band::Ghz2_4 { timing.difs() } else { timing.pifs() };
        let all = Self { stations, interval, ended: Vec::new() };
        Ok(config.has_several_channels().then_some(all))
    }

    /// Width of the widest channel around its primary one that was idle for `station` up to `now`;
    /// PPDUs count that ended up to one interval before.
    fn idle(&self, air: &Air, station: StationId, now: Instant) -> ChannelWidth {
        let own = self.stations[station.index()];
        let mut widest = own.width;
        let mut narrow = |other: Ended| {
            let Some(place) = self.is_busy_with(air, station, other) else { return };
            let meets = |widest: ChannelWidth| match own.permitted {
                None => own.primary.shares(place, widest),
                Some(_) => {
                    air.parts(station, widest) & air.parts(other.transmitter, other.width) != 0
                        && own.primary.shares(place, ChannelWidth::Mhz320)
                }
            };
            while widest > ChannelWidth::Mhz20 && (meets(widest) || !own.permits(widest)) {
                widest = narrower(widest);
            }
        };
        for flight in air.flights().filter(|flight| flight.start < now) {
            narrow(Ended::new(flight, air.occupied(flight)));
        }
        for &ended in &self.ended {
            if ended.start < now && ended.end.saturating_add(self.interval) > now {
                narrow(ended);
            }
        }
        widest
    }

    /// The primary channel of another's PPDU that makes a secondary channel of `station` busy.
    fn is_busy_with(&self, air: &Air, station: StationId, other: Ended) -> Option<Subchannel> {
        let Ended { transmitter, width, reduction, .. } = other;
        let own = self.stations[station.index()];
        let place = self.stations[transmitter.index()].primary;
        let threshold = match width {
            _ if own.is_ht => SECONDARY_HT,
            ChannelWidth::Mhz80 => SECONDARY_80_MHZ,
            _ => SECONDARY,
        };
        let is_beside = transmitter != station
            && !air.covers(transmitter, width, station)
            && !is_below(air.level_mw(transmitter, reduction, station), threshold);
        is_beside.then_some(place)
    }

    /// Whether, for `station`, the secondary channels within an RU of a PPDU of `width` are idle
    /// now.
    pub fn is_idle_around(
        &self,
        air: &Air,
        station: StationId,
        now: Instant,
        ru: Ru,
        width: ChannelWidth,
    ) -> bool {
        let own = self.stations[station.index()].primary;
        let (first, last) = ru.subchannels();
        air.flights().filter(|flight| flight.start < now && flight.end > now).all(|flight| {
            let other = Ended::new(flight, air.occupied(flight));
            let place = self.is_busy_with(air, station, other);
            place.is_none_or(|place| {
                let theirs = air.parts(other.transmitter, other.width);
                let mut of_ru = (first..=last).map(|number| own.at_place(number, width));
                !of_ru.any(|channel| {
                    channel.shares(place, other.width)
                        && channel.parts(ChannelWidth::Mhz20) & theirs != 0
                })
            })
        })
    }

    /// Whether the channels of two stations overlap.
    pub fn overlap(&self, one: StationId, other: StationId) -> bool {
        let [one, other] = [one, other].map(|station| self.stations[station.index()]);
        one.primary.shares(other.primary, one.width.max(other.width))
    }

    /// Moves a station to this primary channel.
    pub fn retune(&mut self, station: StationId, primary: Subchannel) {
        self.stations[station.index()].primary = primary;
    }

    /// Limits a station to `width` from now on.
    pub fn set_width(&mut self, station: StationId, width: ChannelWidth) {
        self.stations[station.index()].width = width;
    }

    /// Records a PPDU that came off the air.
    pub fn ended(&mut self, flight: &Flight, width: ChannelWidth) {
        let now = flight.end;
        let kept = self.interval + LONGEST_RTS;
        self.ended.retain(|it| it.end.saturating_add(kept) > now);
        self.ended.push(Ended::new(flight, width));
    }

    /// Width that a PPDU occupies which begins now.
    pub fn occupied_by(&self, flight: &Flight, stations: &[Station]) -> ChannelWidth {
        let wide = self.stations[flight.transmitter.index()];
        let of_exchange = |station: StationId| {
            let exchange = stations[station.index()].exchange.as_ref();
            exchange.map_or(ChannelWidth::Mhz20, Exchange::width)
        };
        let is_duplicated = matches!(flight.rate, Rate::Ofdm(_) | Rate::ErpOfdm(_));
        match (flight.carried, flight.receiver) {
            (Carried::MultiUser { .. } | Carried::TriggeredBlockAck { .. }, _) => {
                flight.rate.width()
            }
            (Carried::Trigger, _) => of_exchange(flight.transmitter),
            (Carried::Solicitation | Carried::MultiStationBlockAck, _) => {
                let exchange = stations[flight.transmitter.index()].exchange.as_ref();
                let uplink = exchange.and_then(Exchange::uplink);
                uplink.map_or(wide.width_of_set, |uplink| uplink.rate.width())
            }
            (Carried::Triggered { .. }, _) => flight.rate.width(),
            _ if flight.carried.is_of_several() => wide.width_of_set,
            (Carried::Rts, _) if is_duplicated => of_exchange(flight.transmitter),
            (Carried::Cts, Address::Station(of)) if is_duplicated => {
                of_exchange(of).min(stations[of.index()].width_max)
            }
            (Carried::Ack | Carried::BlockAck, Address::Station(of)) if is_duplicated => {
                of_exchange(of)
            }
            _ => flight.rate.width(),
        }
    }

    /// Lets an EDCAF of `station`, which gained its primary channel, begin with the idle width; if
    /// it may not begin, returns the slots of another backoff.
    #[inline(never)]
    pub fn must_back_off(
        &self,
        air: &Air,
        now: Instant,
        station: &mut Station,
        edcaf: usize,
    ) -> Option<u32> {
        let idle = self.idle(air, station.id, now);
        let wide = self.stations[station.id.index()];
        let needed = if idle < wide.width { wide.needed(station, edcaf) } else { idle };
        if idle < needed {
            return Some(station.edcaf(edcaf).backoff.draw());
        }
        station.width_max = idle;
        None
    }

    /// Whether `receiver` answers an RTS of `sender` that it decoded, its NAV apart (10.3.2.9). The
    /// CTS is as wide as the channel that was idle before the RTS; with static access no CTS follows
    /// if that is narrower than the RTS. Stations of 802.11n signal no bandwidth.
    pub fn clears(
        &self,
        air: &Air,
        sender: &mut Station,
        receiver: StationId,
        flight: &Flight,
    ) -> bool {
        let [wide, theirs] = [sender.id, receiver].map(|it| self.stations[it.index()]);
        if wide.is_ht || theirs.is_ht {
            return true;
        }
        let idle = self.idle(air, receiver, flight.start);
        if idle >= air.occupied(flight) {
            return true;
        }
        if wide.access == BandwidthAccess::Static {
            return false;
        }
        sender.width_max = sender.width_max.min(idle);
        true
    }
}

impl Wide {
    /// Whether PPDUs of this width exist in its set.
    fn permits(self, width: ChannelWidth) -> bool {
        let all = ChannelWidth::ALL_EHT.iter().zip(self.permitted.iter().flatten());
        all.filter(|(known, _)| **known == width).all(|(_, is_there)| *is_there)
    }

    /// Minimum width with which an EDCAF of `station` begins a TXOP.
    fn needed(self, station: &mut Station, edcaf: usize) -> ChannelWidth {
        if edcaf == BEACON_EDCAF {
            return ChannelWidth::Mhz20;
        }
        let access = station.edcaf(edcaf);
        match access.next_work() {
            // Only Trigger frames are left.
            None if self.access == BandwidthAccess::Static => self.width,
            Some(Work::Data(peer @ Address::Station(_)))
                if self.access == BandwidthAccess::Static =>
            {
                let shared = access.originator(peer).map(|index| {
                    let originator = &access.originators[index];
                    let widths = originator.shared.rates.iter().map(|rate| rate.width());
                    let main = originator.rate_control.as_ref().map(|it| it.main_rate().width());
                    // A fixed rate may be narrower than what both can, or than any in the set.
                    let is_fixed = originator.rate_control.as_ref().is_some_and(|it| it.is_fixed());
                    main.filter(|_| is_fixed).or(widths.max())
                });
                shared.flatten().unwrap_or(self.width).min(self.width)
            }
            None | Some(_) => ChannelWidth::Mhz20,
        }
    }
}

impl Ended {
    fn new(flight: &Flight, width: ChannelWidth) -> Self {
        let &Flight { transmitter, reduction, start, end, .. } = flight;
        Self { transmitter, width, reduction, start, end }
    }
}

/// Returns half the width, but at least 20 MHz.
fn narrower(width: ChannelWidth) -> ChannelWidth {
    match width {
        ChannelWidth::Mhz320 => ChannelWidth::Mhz160,
        ChannelWidth::Mhz160 => ChannelWidth::Mhz80,
        ChannelWidth::Mhz80 => ChannelWidth::Mhz40,
        ChannelWidth::Mhz40 | ChannelWidth::Mhz20 => ChannelWidth::Mhz20,
    }
}

impl Station {
    /// Width of a PPDU to several stations in space, or of an uplink exchange: the idle width;
    /// `None` if the whole channel is required and was not idle.
    pub fn width_of_several(&self) -> Option<ChannelWidth> {
        let whole = self.config.capabilities.width();
        (self.narrows || self.width_max >= whole).then_some(whole.min(self.width_max))
    }

    /// Limits later PPDUs of its TXOP to the width of the one that begins.
    pub fn stay_within_exchange(&mut self) {
        let limit = self.exchange.as_ref().and_then(Exchange::width_limit);
        self.width_max = limit.map_or(self.width_max, |width| self.width_max.min(width));
    }
}
