//! Protected frames and handshakes: MPDUs one after the other, each behind a flag (it was cut when
//! it was captured) and its length. Whatever they are, each protected frame is counted once, and
//! every error has its place in the frame. Seeds are from crates/capture/tests/data.
#![no_main]

use lasthop_capture::decrypt::{Credentials, Decryption, HEADER_LEN};
use lasthop_capture::frame::Frame;
use lasthop_capture::link::Radio;
use lasthop_wifi_wire::eapol::{Kdes, Key};
use lasthop_wifi_wire::frame::{Layout, View};
use libfuzzer_sys::fuzz_target;

/// Keys of the two networks that seeds are from, so that no passphrase slows it down.
const HOME: &[u8] = b"3df01a07a82bc4b5442b8eb7c22683e0cf05ca9822172a32dec575338133c58d";
const OFFICE: &[u8] = b"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fuzz_target!(|input: &[u8]| {
    if let Ok(Some(key)) = Key::parse(input) {
        assert!(key.frame.len() <= input.len() && key.key_data.len() <= key.frame.len());
    }
    if let Some(gtk) = Kdes::new(input).gtk() {
        assert!(gtk.id < 4 && !gtk.key.is_empty());
    }
    let mut credentials = Credentials::default();
    credentials.add(HOME).expect("64 digits");
    credentials.add(OFFICE).expect("64 digits");
    let mut decryption = Decryption::new(credentials);
    let (mut rest, mut number, mut protected) = (input, 0, 0);
    while let [flags, low, high, behind @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(behind.len());
        let (mpdu, behind) = behind.split_at(length);
        rest = behind;
        let layout = Layout { fcs: flags & 2 != 0, padded: flags & 4 != 0 };
        let Ok(view) = View::new(mpdu, layout) else { continue };
        number += 1;
        protected += u64::from(view.frame_control().flags.protected);
        let frame = Frame {
            number,
            at_ns: number,
            radio: Radio { layout, bad_fcs: flags & 8 != 0, ..Radio::default() },
            control: view.frame_control(),
            view,
            mpdu_bytes: mpdu.len() as u32 + u32::from(flags >> 4) * 100,
            cut: flags & 1 != 0,
        };
        match decryption.handle_frame(&frame) {
            Ok(Some(body)) => assert!(body.len() + HEADER_LEN <= frame.body().len()),
            Ok(None) => {}
            Err(error) => assert!(error.offset <= mpdu.len(), "{error}"),
        }
    }
    assert_eq!(decryption.counts().protected(), protected);
});
