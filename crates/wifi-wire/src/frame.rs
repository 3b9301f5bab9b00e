//! Whole MPDUs (IEEE 802.11-2020, 9.2 and 9.3): the frame as a [`Repr`], read from a [`View`];
//! [`Repr::to_mpdu`] writes it with its FCS. Lengths are in bytes.

pub use super::view::{Layout, View};

use super::{Error, FrameControl, control, data, fcs, management};
use alloc::vec::Vec;

/// A frame as values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repr<'a> {
    /// Data, Null, QoS Data, QoS Null.
    Data(data::Repr<'a>),
    /// A management frame (9.3.3).
    Management(management::Repr<'a>),
    /// A control frame of the types in [`Kind`](super::Kind).
    Control(control::Repr<'a>),
    /// A frame of any other type, unread.
    Other {
        /// Frame Control of the frame.
        frame_control: FrameControl,
        /// Bytes after Frame Control, without the FCS.
        rest: &'a [u8],
    },
}

impl<'a> Repr<'a> {
    /// Reads a frame to its last known field.
    ///
    /// # Errors
    /// Returns an error for a body too short for its fields, or an element that exceeds the end;
    /// the offset counts from the start of the MPDU.
    pub fn parse(view: &View<'a>) -> Result<Self, Error> {
        if let Some(data) = data::Repr::parse(view) {
            return Ok(Self::Data(data));
        }
        if view.kind().is_management() {
            return management::Repr::parse(view).map(Self::Management);
        }
        if view.kind().is_control()
            && let Some(control) = control::Repr::parse(view)?
        {
            return Ok(Self::Control(control));
        }
        let rest = view.as_bytes().get(2..).unwrap_or_default();
        Ok(Self::Other { frame_control: view.frame_control(), rest })
    }

    /// Length without FCS in bytes.
    pub fn buffer_len(&self) -> usize {
        match self {
            Self::Data(data) => data.buffer_len(),
            Self::Management(management) => management.buffer_len(),
            Self::Control(control) => control.buffer_len(),
            Self::Other { rest, .. } => 2 + rest.len(),
        }
    }

    /// Appends the frame without FCS.
    pub fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Data(data) => data.emit(out),
            Self::Management(management) => management.emit(out),
            Self::Control(control) => control.emit(out),
            Self::Other { frame_control, rest } => {
                out.extend_from_slice(&frame_control.bits().to_le_bytes());
                out.extend_from_slice(rest);
            }
        }
    }

    /// Appends the frame with its FCS.
    pub fn emit_mpdu(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.reserve(self.buffer_len() + fcs::LEN);
        self.emit(out);
        fcs::append(out, start);
    }

    /// Returns the frame with its FCS.
    pub fn to_mpdu(&self) -> Vec<u8> {
        let mut mpdu = Vec::new();
        self.emit_mpdu(&mut mpdu);
        mpdu
    }
}

impl<'a> From<data::Repr<'a>> for Repr<'a> {
    fn from(data: data::Repr<'a>) -> Self {
        Self::Data(data)
    }
}

impl<'a> From<management::Repr<'a>> for Repr<'a> {
    fn from(management: management::Repr<'a>) -> Self {
        Self::Management(management)
    }
}

impl<'a> From<control::Repr<'a>> for Repr<'a> {
    fn from(control: control::Repr<'a>) -> Self {
        Self::Control(control)
    }
}
