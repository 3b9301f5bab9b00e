//! Announcements of a new channel: Channel Switch Announcement (IEEE 802.11-2020, 9.4.2.18) and
//! Extended Channel Switch Announcement (9.4.2.52). The elements are read on demand. Elements that
//! add the width of the new channel keep their bytes.

use super::{Element, emit, id, read};
use crate::Error;
use alloc::vec::Vec;

/// Channel Switch Announcement element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ChannelSwitch {
    /// Channel Switch Mode: 1 if stations may not send until the switch, 0 if they may.
    pub mode: u8,
    /// Number of the new channel.
    pub channel: u8,
    /// Number of beacon intervals until the switch; 0 for any time after the frame.
    pub count: u8,
}

impl ChannelSwitch {
    /// Reads an element.
    ///
    /// # Errors
    /// Returns an error for an element that is too short; the offset is relative to the same start
    /// as [`Element::offset`].
    pub fn parse(element: &Element<'_>) -> Result<Self, Error> {
        read(element, |reader| {
            let [mode, channel, count] = reader.array("channel switch announcement")?;
            Ok(Self { mode, channel, count })
        })
    }

    /// Appends the element.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit(id::CHANNEL_SWITCH_ANNOUNCEMENT, out, |out| {
            out.extend_from_slice(&[self.mode, self.channel, self.count]);
        });
    }
}

/// Extended Channel Switch Announcement element, which also has the operating class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ExtendedChannelSwitch {
    /// Channel Switch Mode: 1 if stations may not send until the switch, 0 if they may.
    pub mode: u8,
    /// Operating class of the new channel (table E-4).
    pub operating_class: u8,
    /// Number of the new channel.
    pub channel: u8,
    /// Number of beacon intervals until the switch; 0 for any time after the frame.
    pub count: u8,
}

impl ExtendedChannelSwitch {
    /// Reads an element.
    ///
    /// # Errors
    /// Returns an error for an element that is too short; the offset is relative to the same start
    /// as [`Element::offset`].
    pub fn parse(element: &Element<'_>) -> Result<Self, Error> {
        read(element, |reader| {
            let [mode, operating_class, channel, count] =
                reader.array("extended channel switch announcement")?;
            Ok(Self { mode, operating_class, channel, count })
        })
    }

    /// Appends the element.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit(id::EXTENDED_CHANNEL_SWITCH_ANNOUNCEMENT, out, |out| {
            out.extend_from_slice(&[self.mode, self.operating_class, self.channel, self.count]);
        });
    }
}
