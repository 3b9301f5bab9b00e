//! Announcements of a move to another channel in beacons (IEEE 802.11-2020, 9.4.2.18, 9.4.2.19,
//! 9.4.2.52, 9.4.2.159), and the channels of nodes that move.

use super::announced::{DeviceElements, Phy};
use super::{AirInfo, AirWriter, beacon_elements};
use lasthop_wifi::StationId;
use lasthop_wifi::event::SwitchStep;
use lasthop_wifi::mac::channel_switch::Announcement;
use lasthop_wifi::phy::Subchannel;
use lasthop_wifi::wire::elements::{self, ChannelSwitch, Elements, ExtendedChannelSwitch};
use lasthop_wifi::wire::radiotap::Channel;

/// Secondary Channel Offset element (9.4.2.19).
const SECONDARY_CHANNEL_OFFSET: u8 = 62;
/// Wide Bandwidth Channel Switch element (9.4.2.160).
const WIDE_BANDWIDTH_CHANNEL_SWITCH: u8 = 194;
/// Channel Switch Wrapper element (9.4.2.159).
const CHANNEL_SWITCH_WRAPPER: u8 = 196;

/// Elements of 802.11n and later, which come after the extended announcement in a beacon (table 9-32).
const AFTER: [u8; 4] = [
    elements::id::HT_CAPABILITIES,
    elements::id::VHT_CAPABILITIES,
    elements::id::VHT_OPERATION,
    elements::id::EXTENSION,
];

impl Announced<'_> {
    /// Appends the elements between the TIM and `behind`, then `behind`, with the others at their
    /// places.
    pub(super) fn emit(&self, behind: &[u8], out: &mut Vec<u8>) {
        let Announcement { to, quiet, count, .. } = *self.said;
        let band = self.info.band;
        let moved = AirInfo { channel: to.number(band), ..self.info.clone() };
        let phy = Phy::new(&moved);
        let (mode, channel) = (u8::from(quiet), to.number(band));
        ChannelSwitch { mode, channel, count }.emit(out);
        let is_after = |element: &elements::Element<'_>| AFTER.contains(&element.id);
        let mut list = Elements::new(behind).iter().map_while(Result::ok);
        let split = list.find(is_after).map_or(behind.len(), |element| element.offset);
        let (before, after) = behind.split_at(split);
        out.extend_from_slice(before);
        let operating_class = phy.operating_class();
        ExtendedChannelSwitch { mode, operating_class, channel, count }.emit(out);
        out.extend_from_slice(after);
        if self.said.has_secondary(band) {
            out.extend_from_slice(&[SECONDARY_CHANNEL_OFFSET, 1, phy.secondary_offset()]);
        }
        if self.said.has_wrapper(band) {
            out.extend_from_slice(&[CHANNEL_SWITCH_WRAPPER, 5, WIDE_BANDWIDTH_CHANNEL_SWITCH, 3]);
            out.extend_from_slice(&phy.vht_channel());
        }
    }
}

/// An announcement, and the properties of the cell.
pub(super) struct Announced<'a> {
    pub said: &'a Announcement,
    pub info: &'a AirInfo,
}

impl AirWriter {
    /// Follows an access point, or a station, to another channel.
    pub(crate) fn switch(
        &mut self,
        station: StationId,
        access_point: StationId,
        step: SwitchStep,
        to: Subchannel,
    ) {
        let number = to.number(self.band);
        let channel = Channel::from_number(self.band, number);
        match step {
            SwitchStep::Moved | SwitchStep::Checking if station == access_point => {
                let index = usize::from(station.0);
                let stations = self.channels.len().max(index + 1);
                self.channels.resize(stations, self.channel);
                self.maker.elements_of.resize(stations, None);
                self.channels[index] = channel;
                let info =
                    AirInfo { channel: number, channels: Vec::new(), ..self.maker.info.clone() };
                self.maker.elements_of[index] =
                    Some(beacon_elements(&info, &DeviceElements::default()));
            }
            SwitchStep::Moved => _ = self.ahead.insert(station, channel),
            SwitchStep::Followed => _ = self.ahead.remove(&station),
            _ => {}
        }
    }

    /// Lets a station that lost its access point, or leaves it, be where the next one is.
    pub(crate) fn roam(&mut self, station: StationId) {
        self.ahead.remove(&station);
    }
}
