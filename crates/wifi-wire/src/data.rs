//! Data frames (IEEE 802.11-2020, 9.3.2): Data, Null, QoS Data, QoS Null, with three or four
//! addresses. The subtypes with CF-Ack and CF-Poll, which no device sends, are
//! [`frame::Repr::Other`](super::frame::Repr::Other).

use super::view::View;
use super::{Flags, FrameControl, Kind, QosControl, SequenceControl};
use alloc::vec::Vec;
use lasthop_units::MacAddr;

/// A data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr<'a> {
    /// The flags of Frame Control: retry, power management and others.
    pub flags: Flags,
    /// Duration field in microseconds.
    pub duration_us: u16,
    /// The addresses, which determine the DS bits.
    pub addresses: Addresses,
    /// Sequence and fragment number.
    pub sequence_control: SequenceControl,
    /// QoS Control; `None` for a frame without QoS.
    pub qos: Option<QosControl>,
    /// HT Control, in QoS frames only.
    pub ht_control: Option<u32>,
    /// Body of the frame: an MSDU from its LLC header on, or an A-MSDU; `None` for a Null frame.
    pub body: Option<&'a [u8]>,
}

/// Addresses of a data frame, which determine its DS bits (table 9-30).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// Neither DS bit: a frame between stations.
    Direct {
        /// DA, the receiver.
        destination: MacAddr,
        /// SA, the transmitter.
        source: MacAddr,
        /// BSSID: the address of the access point, or that of the independent cell.
        bssid: MacAddr,
    },
    /// To DS: a frame from a station to its access point.
    ToDs {
        /// BSSID: the access point, which is the receiver.
        bssid: MacAddr,
        /// SA, the transmitter.
        source: MacAddr,
        /// DA; in an A-MSDU the BSSID again.
        destination: MacAddr,
    },
    /// From DS: a frame from an access point to a station.
    FromDs {
        /// DA, the receiver.
        destination: MacAddr,
        /// BSSID: the access point, which is the transmitter.
        bssid: MacAddr,
        /// SA; in an A-MSDU the BSSID again.
        source: MacAddr,
    },
    /// Both DS bits: a frame with four addresses.
    Relayed {
        /// Receiver address (RA): the next station on the way.
        receiver: MacAddr,
        /// Transmitter address (TA): the station that sends this frame.
        transmitter: MacAddr,
        /// Destination address (DA): the final receiver of the payload.
        destination: MacAddr,
        /// Source address (SA): the origin of the payload.
        source: MacAddr,
    },
}

impl Addresses {
    const fn ds_bits(&self) -> (bool, bool) {
        match self {
            Self::Direct { .. } => (false, false),
            Self::ToDs { .. } => (true, false),
            Self::FromDs { .. } => (false, true),
            Self::Relayed { .. } => (true, true),
        }
    }

    /// Addresses 1 to 4 in order.
    const fn in_order(&self) -> (MacAddr, MacAddr, MacAddr, Option<MacAddr>) {
        match *self {
            Self::Direct { destination, source, bssid } => (destination, source, bssid, None),
            Self::ToDs { bssid, source, destination } => (bssid, source, destination, None),
            Self::FromDs { destination, bssid, source } => (destination, bssid, source, None),
            Self::Relayed { receiver, transmitter, destination, source } => {
                (receiver, transmitter, destination, Some(source))
            }
        }
    }
}

impl<'a> Repr<'a> {
    /// Parses a view; `None` for other types than these four.
    pub(super) fn parse(view: &View<'a>) -> Option<Self> {
        let frame_control = view.frame_control();
        let body = match frame_control.kind {
            Kind::Data | Kind::QosData => Some(view.body()),
            Kind::Null | Kind::QosNull => None,
            _ => return None,
        };
        let (first, second, third) = (view.receiver()?, view.transmitter()?, view.address_3()?);
        let addresses = match (frame_control.to_ds, frame_control.from_ds) {
            (false, false) => {
                Addresses::Direct { destination: first, source: second, bssid: third }
            }
            (true, false) => Addresses::ToDs { bssid: first, source: second, destination: third },
            (false, true) => Addresses::FromDs { destination: first, bssid: second, source: third },
            (true, true) => Addresses::Relayed {
                receiver: first,
                transmitter: second,
                destination: third,
                source: view.address_4()?,
            },
        };
        Some(Self {
            flags: frame_control.flags,
            duration_us: view.duration_id()?,
            addresses,
            sequence_control: view.sequence_control()?,
            qos: view.qos_control(),
            ht_control: view.ht_control(),
            body,
        })
    }

    /// Length without FCS in bytes.
    pub fn buffer_len(&self) -> usize {
        let address_4 = if matches!(self.addresses, Addresses::Relayed { .. }) { 6 } else { 0 };
        let qos = match (self.qos, self.ht_control) {
            (None, _) => 0,
            (Some(_), None) => 2,
            (Some(_), Some(_)) => 6,
        };
        24 + address_4 + qos + self.body.map_or(0, <[u8]>::len)
    }

    /// Appends the frame without FCS.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let kind = match (self.qos, self.body) {
            (None, Some(_)) => Kind::Data,
            (None, None) => Kind::Null,
            (Some(_), Some(_)) => Kind::QosData,
            (Some(_), None) => Kind::QosNull,
        };
        let (to_ds, from_ds) = self.addresses.ds_bits();
        let htc = self.qos.is_some() && self.ht_control.is_some();
        let control = FrameControl { kind, to_ds, from_ds, flags: self.flags, htc };
        let (first, second, third, fourth) = self.addresses.in_order();
        // The fixed part at once: appending field by field costs three times as much.
        let mut head = [0; 24];
        head[0..2].copy_from_slice(&control.bits().to_le_bytes());
        head[2..4].copy_from_slice(&self.duration_us.to_le_bytes());
        head[4..10].copy_from_slice(&first.0);
        head[10..16].copy_from_slice(&second.0);
        head[16..22].copy_from_slice(&third.0);
        head[22..24].copy_from_slice(&self.sequence_control.bits().to_le_bytes());
        out.extend_from_slice(&head);
        if let Some(fourth) = fourth {
            out.extend_from_slice(&fourth.0);
        }
        if let Some(qos) = self.qos {
            out.extend_from_slice(&qos.bits().to_le_bytes());
            if let Some(ht_control) = self.ht_control {
                out.extend_from_slice(&ht_control.to_le_bytes());
            }
        }
        out.extend_from_slice(self.body.unwrap_or_default());
    }
}
