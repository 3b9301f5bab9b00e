//! Frame check sequences, computed where a header announces them (IEEE Std 802.11-2020, 9.2.4.8). A
//! receiver in monitor mode may deliver damaged frames, whose addresses belong to no station.
//!
//! Some programs change frames (addresses, payload) and keep the old check sequence; some drivers
//! announce one and deliver other bytes. If the first [`WRONG_MAX`] frames of an interface are all
//! wrong, its check sequences are ignored.

use crate::link::Radio;
use lasthop_wifi_wire::fcs;
use lasthop_wifi_wire::frame::View;

/// Number of wrong frames, without a right one before, after which the check sequences are ignored.
pub const WRONG_MAX: u64 = 100;

/// Check sequences of one interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Check {
    right: bool,
    wrong: u64,
}

/// Verdict about a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The frame is right, as far as is known.
    Right,
    /// The frame was damaged.
    Wrong,
    /// The last bytes are not a check sequence.
    None,
}

impl Check {
    /// Judges a frame of the interface. `view` is `None` if the header is malformed.
    pub fn judge(&mut self, mpdu: &[u8], view: Option<&View<'_>>, radio: &Radio) -> Verdict {
        if radio.bad_fcs {
            return Verdict::Wrong;
        }
        if !radio.layout.fcs {
            return Verdict::Right;
        }
        if is_right(mpdu, view) {
            self.right = true;
            return Verdict::Right;
        }
        self.wrong += 1;
        if self.right || self.wrong <= WRONG_MAX { Verdict::Wrong } else { Verdict::None }
    }
}

fn is_right(mpdu: &[u8], view: Option<&View<'_>>) -> bool {
    let Some((frame, last)) = mpdu.split_last_chunk::<{ fcs::LEN }>() else { return false };
    let last = u32::from_le_bytes(*last);
    match view {
        // The receiver inserted the padding: it was not on the air.
        Some(view) if view.body_start() > view.header_len() => {
            let header = frame.get(..view.header_len()).unwrap_or_default();
            fcs::compute(&[header, view.body()].concat()) == last
        }
        _ => fcs::compute(frame) == last,
    }
}
