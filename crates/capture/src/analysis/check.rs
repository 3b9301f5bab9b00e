//! Frame check sequences, computed where a header says that they are there (IEEE Std 802.11-2020,
//! 9.2.4.8): a receiver in monitor mode may deliver damaged frames, whose addresses are those of
//! nobody.
//!
//! Some programs change frames (addresses, payload) and keep the old check sequence, some drivers
//! announce one and deliver other bytes. Of an interface on which [`WRONG_MAX`] frames were wrong
//! and none was right, the check sequence decides nothing.

use crate::link::Radio;
use lasthop_wifi::wire::fcs;
use lasthop_wifi::wire::frame::View;

/// Frames that are wrong before the first right one after which nothing is concluded from it.
pub const WRONG_MAX: u64 = 100;

/// Check sequences of one interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Check {
    right: bool,
    wrong: u64,
}

/// Whether a frame was damaged on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// As far as is known.
    Right,
    /// The frame was damaged.
    Wrong,
    /// The last bytes are no check sequence.
    None,
}

impl Check {
    /// A frame of the interface; `view` is `None` if its header is malformed.
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
        // The receiver put the padding in: it was not on the air.
        Some(view) if view.body_start() > view.header_len() => {
            let header = frame.get(..view.header_len()).unwrap_or_default();
            fcs::compute(&[header, view.body()].concat()) == last
        }
        _ => fcs::compute(frame) == last,
    }
}
