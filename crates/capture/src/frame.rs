//! An MPDU in a capture: what its MAC header says, and what the receiver knew of it.

use crate::link::Radio;
use lasthop_units::MacAddr;
use lasthop_wifi::wire::frame::View;
use lasthop_wifi::wire::{FrameControl, Kind};

/// An MPDU that was captured, its MAC header complete.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Number of the packet in the file, from 1.
    pub number: u64,
    /// When it was captured, in ns since 1970; of packets without time, that of the one before.
    pub at_ns: u64,
    /// What the receiver knew.
    pub radio: Radio,
    /// The Frame Control field.
    pub control: FrameControl,
    /// The MAC header, and the body as far as it was captured.
    pub view: View<'a>,
    /// Length of the MPDU on the air in bytes, with its FCS.
    pub mpdu_bytes: u32,
    /// A snap length has cut off its end.
    pub cut: bool,
}

impl<'a> Frame<'a> {
    /// Type and subtype.
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

    /// The address that it was sent to. Every frame has one but those of type extension.
    pub fn receiver(&self) -> MacAddr {
        self.view.receiver().unwrap_or_default()
    }

    /// The address of its sender; Ack and CTS have none. An address with the group bit says that
    /// the sender signals its bandwidth (9.2.4.3.7); the bit is not part of the address.
    pub fn transmitter(&self) -> Option<MacAddr> {
        let MacAddr([first, rest @ ..]) = self.view.transmitter()?;
        let [a, b, c, d, e] = rest;
        Some(MacAddr([first & !1, a, b, c, d, e]))
    }

    /// Length of the frame body in bytes on the air, without FCS.
    pub fn body_bytes(&self) -> u32 {
        let around = self.view.body_start() + lasthop_wifi::wire::fcs::LEN;
        self.mpdu_bytes.saturating_sub(around as u32)
    }

    /// The frame body, as far as it was captured.
    pub fn body(&self) -> &'a [u8] {
        self.view.body()
    }
}
