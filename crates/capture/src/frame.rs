//! An MPDU in a capture: its MAC header, and metadata of the receiver.

use crate::link::Radio;
use lasthop_units::MacAddr;
use lasthop_wifi_wire::frame::View;
use lasthop_wifi_wire::{FrameControl, Kind};

/// A captured MPDU with a complete MAC header.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Number of the packet in the file, from 1.
    pub number: u64,
    /// Capture time in ns since 1970; for a packet without time, that of the previous one.
    pub at_ns: u64,
    /// Metadata of the receiver.
    pub radio: Radio,
    /// The Frame Control field.
    pub control: FrameControl,
    /// MAC header, and the captured part of the body.
    pub view: View<'a>,
    /// Length of the MPDU on the air including the FCS, in bytes.
    pub mpdu_bytes: u32,
    /// Whether a snap length has cut it short.
    pub cut: bool,
}

impl<'a> Frame<'a> {
    /// Returns the type and subtype.
    pub const fn kind(&self) -> Kind {
        self.control.kind
    }

    /// Whether it is a Null or QoS Null frame.
    pub const fn is_null(&self) -> bool {
        matches!(self.control.kind, Kind::Null | Kind::QosNull)
    }

    /// Whether it is a data frame with a body.
    pub const fn has_payload(&self) -> bool {
        matches!(self.control.kind, Kind::Data | Kind::QosData)
    }

    /// Returns the receiver address. Every frame has one, except those of type extension.
    pub fn receiver(&self) -> MacAddr {
        self.view.receiver().unwrap_or_default()
    }

    /// Returns the transmitter address; Ack and CTS have none. A group bit in it signals the
    /// bandwidth (9.2.4.3.7) and is not part of the address.
    pub fn transmitter(&self) -> Option<MacAddr> {
        let MacAddr([first, rest @ ..]) = self.view.transmitter()?;
        let [a, b, c, d, e] = rest;
        Some(MacAddr([first & !1, a, b, c, d, e]))
    }

    /// Returns the length of the frame body on the air without FCS, in bytes.
    pub fn body_bytes(&self) -> u32 {
        let around = self.view.body_start() + lasthop_wifi_wire::fcs::LEN;
        self.mpdu_bytes.saturating_sub(around as u32)
    }

    /// Returns the captured part of the frame body.
    pub fn body(&self) -> &'a [u8] {
        self.view.body()
    }
}
