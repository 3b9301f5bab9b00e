//! What becomes different while a network runs.

use super::{DirectedWire, Network};
use crate::cable::CableConfig;
use alloc::boxed::Box;
use lasthop_packet::NodeId;
use lasthop_packet::queue::QueueConfig;
use lasthop_units::{Db, Instant, Probability};
use lasthop_wifi::cell::{AdjustError, Adjustment, OperatingMode};
use lasthop_wifi::mac::scan::ScanConfig;

/// A change while a network runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// At the radio of a node.
    Radio {
        /// The node.
        node: NodeId,
        /// What changes.
        what: Adjustment,
    },
    /// Another queue above the MAC; the packets in it stay.
    RadioQueue {
        /// The node.
        node: NodeId,
        /// Its queue from now on.
        queue: QueueConfig,
        /// Most packets that it holds for a station that cannot be reached; `None`: as many
        /// as the queue.
        power_save_buffer: Option<u32>,
    },
    /// Background scans of a station; `None`: it makes none.
    Scan {
        /// The node.
        node: NodeId,
        /// How it scans from now on.
        scan: Option<ScanConfig>,
    },
    /// Another operating mode of a station, which notifies its access point.
    OperatingMode {
        /// The node.
        node: NodeId,
        /// What it uses once the access point has acknowledged the notification.
        mode: OperatingMode,
    },
    /// How well a node hears another one.
    Link {
        /// The node that sends.
        from: NodeId,
        /// The node that receives.
        to: NodeId,
        /// Mean SNR in the full width of the channel.
        snr: Db,
        /// Probability that an MPDU is lost, in place of the error model.
        loss: Option<Probability>,
    },
    /// One direction of a wire ([`Cable::change`](crate::cable::Cable::change)).
    Wire {
        /// The node that sends.
        from: NodeId,
        /// The node that receives.
        to: NodeId,
        /// What it is from now on.
        config: Box<CableConfig>,
    },
}

impl Network {
    /// Changes something from `now` on, after all that is due by then.
    ///
    /// # Errors
    /// See [`AdjustError`]; nothing was changed.
    ///
    /// # Panics
    /// If there is no such radio, link or wire.
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
            Change::OperatingMode { node, mode } => {
                let station = radio(self, node);
                let cell = self.cell.as_mut().expect(cell);
                cell.change_operating_mode(now, station, mode)?;
            }
            Change::Link { from, to, snr, loss } => {
                let [from, to] = [from, to].map(|node| radio(self, node));
                self.cell.as_mut().expect(cell).change_link(now, (from, to), snr, loss)?;
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
