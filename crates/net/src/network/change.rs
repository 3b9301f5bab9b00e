//! Changes of a network during the run.

use super::{DirectedWire, Network};
use crate::cable::CableConfig;
use alloc::boxed::Box;
use lasthop_packet::NodeId;
use lasthop_packet::queue::QueueConfig;
use lasthop_units::{Db, Instant, Probability};
use lasthop_wifi::cell::{AdjustError, Adjustment, LinkSet, OperatingMode};
use lasthop_wifi::mac::channel_switch::ChannelSwitch;
use lasthop_wifi::mac::scan::ScanConfig;

/// A change during the run.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Change of a setting of a node's radio.
    Radio {
        /// Node of the radio.
        node: NodeId,
        /// Setting to change.
        what: Adjustment,
    },
    /// Change of the queue above the MAC; queued packets stay.
    RadioQueue {
        /// Node of the radio.
        node: NodeId,
        /// Configuration of the queue from now on.
        queue: QueueConfig,
        /// Limit of packets held for a station that cannot be reached; that of the queue if `None`.
        power_save_buffer: Option<u32>,
    },
    /// Change of a station's background scans; `None` ends them.
    Scan {
        /// Node of the station.
        node: NodeId,
        /// Configuration of the scans from now on.
        scan: Option<ScanConfig>,
    },
    /// Failure of an access point, or its return; packets that it holds are lost.
    Failure {
        /// Node of the access point.
        node: NodeId,
        /// Whether it has failed from now on.
        failed: bool,
    },
    /// Change of the links of a device that are switched off.
    Links {
        /// Node of the device.
        node: NodeId,
        /// Links that are off from now on.
        off: LinkSet,
    },
    /// Move of an access point to another channel.
    Channel {
        /// Node of the access point.
        node: NodeId,
        /// The order to move.
        order: ChannelSwitch,
    },
    /// Change of a station's operating mode, which it notifies to its access point.
    OperatingMode {
        /// Node of the station.
        node: NodeId,
        /// Mode that the station uses once the access point has acknowledged the notification.
        mode: OperatingMode,
    },
    /// Change of the link from one node to another.
    Link {
        /// The transmitting node.
        from: NodeId,
        /// The receiving node.
        to: NodeId,
        /// Mean SNR in the full width of the channel.
        snr: Db,
        /// Probability that an MPDU is lost; replaces the error model.
        loss: Option<Probability>,
        /// Whether the SNR is that at the positions at the beginning of the run, and follows the
        /// positions of nodes that move.
        follows: bool,
    },
    /// Change of one direction of a wire ([`Cable::change`](crate::cable::Cable::change)).
    Wire {
        /// The transmitting node.
        from: NodeId,
        /// The receiving node.
        to: NodeId,
        /// Configuration of the wire from now on.
        config: Box<CableConfig>,
    },
}

impl Network {
    /// Makes a change at `now`, after all steps that are due by then.
    ///
    /// # Errors
    /// Returns an [`AdjustError`] for a change that cannot be made; the network is then unchanged.
    ///
    /// # Panics
    /// Panics if there is no such radio, link or wire.
    pub fn change(&mut self, now: Instant, change: &Change) -> Result<(), AdjustError> {
        self.catch_up(now);
        self.now = now;
        let radio = |network: &Self, node| network.routes.station(node).expect("it has a radio");
        let cell = "radios are in a cell";
        match *change {
            Change::Radio { node, what } => {
                let station = radio(self, node);
                self.cell.as_mut().expect(cell).adjust(station, what)?;
            }
            Change::RadioQueue { node, queue, power_save_buffer } => {
                let station = radio(self, node);
                let cell = self.cell.as_mut().expect(cell);
                cell.replace_queue(now, station, queue, power_save_buffer);
            }
            Change::Scan { node, scan } => {
                let station = radio(self, node);
                self.cell.as_mut().expect(cell).change_scan(now, station, scan)?;
            }
            Change::Failure { node, failed } => {
                let station = radio(self, node);
                self.cell.as_mut().expect(cell).change_failure(now, station, failed)?;
            }
            Change::Links { node, off } => {
                let station = radio(self, node);
                self.cell.as_mut().expect(cell).switch_links(now, station, off)?;
            }
            Change::Channel { node, order } => {
                let station = radio(self, node);
                self.cell.as_mut().expect(cell).change_channel(now, station, order)?;
            }
            Change::OperatingMode { node, mode } => {
                let station = radio(self, node);
                let cell = self.cell.as_mut().expect(cell);
                cell.change_operating_mode(now, station, mode)?;
            }
            Change::Link { from, to, snr, loss, follows } => {
                let ends = [from, to].map(|node| radio(self, node));
                self.cell.as_mut().expect(cell).change_link(now, ends, snr, loss, follows)?;
            }
            Change::Wire { from, to, ref config } => {
                let is_it = |wire: &DirectedWire| wire.from == from && wire.to == to;
                let index = self.wires.iter().position(is_it).expect("there is such a wire");
                self.wires[index].wire.change(now, config);
                self.wire_changed(index);
            }
        }
        self.collect();
        self.next = self.earliest();
        Ok(())
    }
}
