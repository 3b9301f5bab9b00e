//! The MAC header of an MPDU as a view of its bytes (IEEE 802.11-2020, 9.2).
//!
//! Type, subtype, DS bits and +HTC determine the header's length; FCS and header padding are known
//! from outside, see [`Layout`].

use super::reader::Reader;
use super::{Error, FrameControl, Kind, QosControl, SequenceControl, fcs};
use lasthop_units::MacAddr;

/// Properties of a frame's bytes that the bytes do not show; radiotap's flags do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Layout {
    /// Whether the last four bytes are the FCS.
    pub fcs: bool,
    /// Whether the MAC header of data frames is padded to a multiple of four bytes.
    pub padded: bool,
}

/// An MPDU as bytes with a complete MAC header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View<'a> {
    bytes: &'a [u8],
    frame_control: FrameControl,
    fcs: Option<u32>,
    header_len: usize,
    body_start: usize,
}

impl<'a> View<'a> {
    /// Returns a view of an MPDU.
    ///
    /// # Errors
    /// Returns an error for a protocol version other than 0, or too few bytes for the MAC header of
    /// the frame's kind (and its FCS and padding).
    pub fn new(mpdu: &'a [u8], layout: Layout) -> Result<Self, Error> {
        let mut reader = Reader::new("frame", mpdu);
        let frame_control = reader.u16("frame control")?;
        if frame_control & VERSION != 0 {
            let version = u32::from(frame_control & VERSION);
            return Err(reader.value("protocol version", 0, version, "0"));
        }
        let frame_control = FrameControl::from_bits(frame_control);
        let layer = frame_control.kind.name();
        let (bytes, fcs) = if layout.fcs {
            let mut tail = Reader::at(layer, mpdu, mpdu.len().saturating_sub(fcs::LEN).max(2));
            let fcs = tail.u32("FCS")?;
            (mpdu.get(..mpdu.len() - fcs::LEN).unwrap_or_default(), Some(fcs))
        } else {
            (mpdu, None)
        };
        let header_len = header_len(&frame_control);
        let is_padded = layout.padded && frame_control.kind.is_data();
        let body_start = if is_padded { header_len.next_multiple_of(4) } else { header_len };
        if bytes.len() < body_start {
            // Field by field, to name the one that is cut.
            let mut reader = Reader::at(layer, bytes, 2);
            for (field, len) in header_fields(&frame_control) {
                reader.take(field, len)?;
            }
            reader.take("header padding", body_start - header_len)?;
        }
        Ok(Self { bytes, frame_control, fcs, header_len, body_start })
    }

    /// Bytes of the frame without its FCS.
    #[inline]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The Frame Control field.
    #[inline]
    pub const fn frame_control(&self) -> FrameControl {
        self.frame_control
    }

    /// Type and subtype.
    #[inline]
    pub const fn kind(&self) -> Kind {
        self.frame_control.kind
    }

    /// The Duration/ID field: microseconds, or the AID in a PS-Poll. Extension frames have none.
    #[inline]
    pub fn duration_id(&self) -> Option<u16> {
        self.array(2).map(u16::from_le_bytes)
    }

    /// Address 1, which is RA.
    #[inline]
    pub fn receiver(&self) -> Option<MacAddr> {
        self.array(4).map(MacAddr)
    }

    /// Address 2, which is TA; absent in Ack and CTS, and in a Control Wrapper the carried frame's.
    #[inline]
    pub fn transmitter(&self) -> Option<MacAddr> {
        if self.kind() != Kind::ControlWrapper {
            return self.array(10).map(MacAddr);
        }
        let carried = self.array(10).map(u16::from_le_bytes).map(FrameControl::from_bits)?;
        let address = self.body().first_chunk().copied().map(MacAddr);
        address.filter(|_| has_transmitter(carried.kind))
    }

    /// Address 3 of data and management frames.
    #[inline]
    pub fn address_3(&self) -> Option<MacAddr> {
        self.array(16).map(MacAddr)
    }

    /// Address 4 of data frames with both DS bits.
    #[inline]
    pub fn address_4(&self) -> Option<MacAddr> {
        if self.has_address_4() { self.array(24).map(MacAddr) } else { None }
    }

    /// DA of data and management frames; RA of an A-MSDU.
    #[inline]
    pub fn destination(&self) -> Option<MacAddr> {
        match self.kind() {
            kind if kind.is_data() && self.frame_control().to_ds => self.address_3(),
            kind if kind.is_control() => None,
            _ => self.receiver(),
        }
    }

    /// SA of data and management frames; TA of an A-MSDU.
    #[inline]
    pub fn source(&self) -> Option<MacAddr> {
        let frame_control = self.frame_control();
        match (frame_control.kind, frame_control.to_ds, frame_control.from_ds) {
            (kind, _, _) if kind.is_control() => None,
            (kind, false, true) if kind.is_data() => self.address_3(),
            (kind, true, true) if kind.is_data() => self.address_4(),
            _ => self.transmitter(),
        }
    }

    /// BSSID of data and management frames; none with four addresses.
    #[inline]
    pub fn bssid(&self) -> Option<MacAddr> {
        let frame_control = self.frame_control();
        match (frame_control.kind, frame_control.to_ds, frame_control.from_ds) {
            (kind, _, _) if kind.is_control() => None,
            (kind, true, false) if kind.is_data() => self.receiver(),
            (kind, false, true) if kind.is_data() => self.transmitter(),
            (kind, true, true) if kind.is_data() => None,
            _ => self.address_3(),
        }
    }

    /// Sequence Control of data and management frames.
    #[inline]
    pub fn sequence_control(&self) -> Option<SequenceControl> {
        self.array(22).map(u16::from_le_bytes).map(SequenceControl::from_bits)
    }

    /// QoS Control of QoS data frames.
    #[inline]
    pub fn qos_control(&self) -> Option<QosControl> {
        if !self.kind().has_qos_control() {
            return None;
        }
        let offset = if self.has_address_4() { 30 } else { 24 };
        self.array(offset).map(u16::from_le_bytes).map(QosControl::from_bits)
    }

    /// HT Control (or its VHT and HE variants) of QoS data and management frames and of
    /// Control Wrappers.
    pub fn ht_control(&self) -> Option<u32> {
        if !has_ht_control(&self.frame_control()) {
            return None;
        }
        self.array(self.header_len.checked_sub(4)?).map(u32::from_le_bytes)
    }

    /// Length of the MAC header in bytes, padding not included.
    #[inline]
    pub const fn header_len(&self) -> usize {
        self.header_len
    }

    /// Offset of the frame body, in bytes.
    #[inline]
    pub const fn body_start(&self) -> usize {
        self.body_start
    }

    /// The frame body, after the MAC header.
    #[inline]
    pub fn body(&self) -> &'a [u8] {
        self.bytes.get(self.body_start..).unwrap_or_default()
    }

    /// The FCS, if the layout has one.
    #[inline]
    pub const fn fcs(&self) -> Option<u32> {
        self.fcs
    }

    /// Whether the FCS matches the frame; `None` without one.
    pub fn fcs_is_valid(&self) -> Option<bool> {
        self.fcs.map(|fcs| fcs == fcs::compute(self.bytes))
    }

    #[inline]
    fn has_address_4(&self) -> bool {
        let frame_control = self.frame_control();
        frame_control.kind.is_data() && frame_control.to_ds && frame_control.from_ds
    }

    /// Bytes of the MAC header; `None` beyond its end.
    #[inline]
    fn array<const N: usize>(&self, offset: usize) -> Option<[u8; N]> {
        let header = self.bytes.get(..self.header_len)?;
        header.get(offset..)?.first_chunk().copied()
    }
}

/// Protocol Version, bits 0 and 1 of Frame Control (9.2.4.1.2).
const VERSION: u16 = 3;

fn has_ht_control(frame_control: &FrameControl) -> bool {
    let kind = frame_control.kind;
    kind == Kind::ControlWrapper
        || frame_control.htc && (kind.is_management() || kind.has_qos_control())
}

/// Whether address 2 is in the header, as far as the kind is known.
fn has_transmitter(kind: Kind) -> bool {
    let without =
        matches!(kind, Kind::Ack | Kind::Cts | Kind::ControlWrapper | Kind::Other { kind: 1, .. });
    kind.is_data() || kind.is_management() || kind.is_control() && !without
}

/// Length of the MAC header in bytes: Frame Control and the fields of [`header_fields`].
fn header_len(frame_control: &FrameControl) -> usize {
    let kind = frame_control.kind;
    let wrapper = usize::from(kind == Kind::ControlWrapper);
    let ht_control = 4 * usize::from(has_ht_control(frame_control));
    let is_data = kind.is_data();
    if is_data || kind.is_management() {
        let address_4 = is_data && frame_control.to_ds && frame_control.from_ds;
        24 + 6 * usize::from(address_4) + 2 * usize::from(kind.has_qos_control()) + ht_control
    } else if kind.is_control() {
        10 + 6 * usize::from(has_transmitter(kind)) + 2 * wrapper + ht_control
    } else {
        2
    }
}

/// Names and lengths of the MAC header's fields after Frame Control.
fn header_fields(frame_control: &FrameControl) -> impl Iterator<Item = (&'static str, usize)> {
    const ADDRESS: usize = 6;
    let kind = frame_control.kind;
    let long = kind.is_data() || kind.is_management();
    let address_4 = kind.is_data() && frame_control.to_ds && frame_control.from_ds;
    [
        ("duration", 2, long || kind.is_control()),
        ("receiver address", ADDRESS, long || kind.is_control()),
        ("transmitter address", ADDRESS, has_transmitter(kind)),
        ("carried frame control", 2, kind == Kind::ControlWrapper),
        ("address 3", ADDRESS, long),
        ("sequence control", 2, long),
        ("address 4", ADDRESS, address_4),
        ("QoS control", 2, kind.has_qos_control()),
        ("HT control", 4, has_ht_control(frame_control)),
    ]
    .into_iter()
    .filter_map(|(name, len, present)| present.then_some((name, len)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_is_that_of_the_fields() {
        for bits in 0..=u16::MAX {
            let frame_control = FrameControl::from_bits(bits);
            let fields = header_fields(&frame_control).fold(2, |sum, (_, len)| sum + len);
            assert_eq!(header_len(&frame_control), fields, "{bits:#06x}");
        }
    }
}
