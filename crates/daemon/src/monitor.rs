//! Datagrams of a coded link that a helper overhears through a monitor interface: data frames (IEEE
//! 802.11-2020, 9.3.2) behind radiotap headers, each as a managed interface would deliver it to the
//! packet socket of [`os::link`](lasthop_linux::link): sender's address (SA) and datagram. To and from
//! the DS, between stations, and with four addresses; A-MSDUs split; retransmissions left out
//! ([`Retries`]). Reads bytes only: no socket, no clock. Left out: encrypted frames, fragments,
//! frames of an 802.11s mesh, whose bodies begin with a Mesh Control field, and frames that are not
//! of [`ETHERTYPE`] under RFC 1042's OUI.

mod retries;

use crate::franc::MonitorCounts;
use lasthop_linux::link::{ETHERTYPE, unframed};
use lasthop_units::{Instant, MacAddr};
use lasthop_wifi_wire::amsdu::AmsduSubframes;
use lasthop_wifi_wire::{self as wire, Kind, data, frame, llc, radiotap};
pub use retries::Retries;

/// A reader of captured frames.
#[derive(Clone, Debug, Default)]
pub struct Monitor {
    retries: Retries,
    counts: MonitorCounts,
}

impl Monitor {
    /// Returns the counts so far.
    pub const fn counts(&self) -> MonitorCounts {
        self.counts
    }

    /// Reads a frame that was captured at `now`, from its radiotap header on, and calls `each`
    /// with the sender (SA) and the bytes of every datagram of the link in it. Frames to and from
    /// `own`, the address of the managed interface beside the monitor, are left out: that
    /// interface delivers the first, and this host sent the others.
    pub fn take(
        &mut self,
        now: Instant,
        own: Option<MacAddr>,
        captured: &[u8],
        each: &mut dyn FnMut(MacAddr, &[u8]),
    ) {
        match self.read(now, own, captured, each) {
            Ok(()) => {}
            Err(Unread::BadFcs) => self.counts.bad_fcs += 1,
            Err(Unread::Protected) => self.counts.protected += 1,
            Err(Unread::Fragment) => self.counts.fragments += 1,
            Err(Unread::Retry) => self.counts.retries += 1,
            Err(Unread::Malformed) => self.counts.malformed += 1,
        }
    }

    fn read(
        &mut self,
        now: Instant,
        own: Option<MacAddr>,
        captured: &[u8],
        each: &mut dyn FnMut(MacAddr, &[u8]),
    ) -> Result<(), Unread> {
        let header = radiotap::View::new(captured)?;
        let fields = radiotap::Repr::parse(&header)?;
        let flags = fields.flags.unwrap_or_default();
        if flags.bad_fcs() {
            return Err(Unread::BadFcs);
        }
        if fields.zero_length_psdu.is_some() {
            return Ok(());
        }
        let view = frame::View::new(header.frame(), flags.layout())?;
        if !matches!(view.kind(), Kind::Data | Kind::QosData) {
            return Ok(());
        }
        // Before the FCS is computed: on a busy channel most frames are encrypted.
        if view.frame_control().flags.protected {
            return Err(Unread::Protected);
        }
        if view.fcs_is_valid() == Some(false) {
            return Err(Unread::BadFcs);
        }
        let frame::Repr::Data(data) = frame::Repr::parse(&view)? else { return Ok(()) };
        let (Some(receiver), Some(transmitter)) = (view.receiver(), view.transmitter()) else {
            return Ok(());
        };
        if own.is_some_and(|own| own == receiver || own == transmitter) {
            return Ok(());
        }
        if data.flags.more_fragments || data.sequence_control.fragment != 0 {
            return Err(Unread::Fragment);
        }
        let mut is_new = false;
        for msdu in msdus(&data) {
            let (source, msdu) = msdu?;
            let Some(datagram) = datagram(msdu)? else { continue };
            if source.is_multicast() {
                return Err(Unread::Malformed);
            }
            // Only frames of the link take a place among the transmitters. Frames to groups
            // are not retransmitted, and have sequence numbers of their own (10.3.2.14).
            if !is_new && !receiver.is_multicast() {
                let tid = data.qos.map(|qos| qos.tid);
                let sequence = data.sequence_control.sequence;
                if self.retries.is_again(now, (transmitter, tid), sequence, data.flags.retry) {
                    return Err(Unread::Retry);
                }
            }
            is_new = true;
            if own != Some(source) {
                self.counts.datagrams += 1;
                each(source, datagram);
            }
        }
        Ok(())
    }
}

/// Reason why a frame is not read, or not read further.
enum Unread {
    BadFcs,
    Protected,
    Fragment,
    Retry,
    Malformed,
}

impl From<wire::Error> for Unread {
    fn from(_: wire::Error) -> Self {
        Self::Malformed
    }
}

/// The MSDUs of a data frame, each with its sender (SA).
fn msdus<'a>(
    data: &data::Repr<'a>,
) -> impl Iterator<Item = Result<(MacAddr, &'a [u8]), wire::Error>> {
    let body = data.body.unwrap_or_default();
    let is_amsdu = data.qos.is_some_and(|qos| qos.amsdu_present);
    let source = match data.addresses {
        data::Addresses::Direct { source, .. }
        | data::Addresses::ToDs { source, .. }
        | data::Addresses::FromDs { source, .. }
        | data::Addresses::Relayed { source, .. } => source,
    };
    let alone = (!is_amsdu).then_some(Ok((source, body)));
    let subframes = AmsduSubframes::new(if is_amsdu { body } else { &[] });
    let subframes = subframes.map(|subframe| subframe.map(|found| (found.source, found.msdu)));
    alone.into_iter().chain(subframes)
}

/// The datagram of the link in an MSDU; `None` if it is of another protocol.
fn datagram(msdu: &[u8]) -> Result<Option<&[u8]>, Unread> {
    match llc::Repr::parse(msdu) {
        Ok((header, payload)) if header == llc::Repr::new(ETHERTYPE) => {
            unframed(payload).map(Some).ok_or(Unread::Malformed)
        }
        // LLC without SNAP is another protocol, and so is what is too short.
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests;
