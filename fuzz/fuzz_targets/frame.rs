//! Reads an MPDU from any bytes, with and without FCS. An accepted frame can be written, and is
//! equal after another reading.
#![no_main]

use lasthop_wifi_wire::control::{AckVariant, Body};
use lasthop_wifi_wire::frame::{Layout, Repr, View};
use lasthop_wifi_wire::management;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|mpdu: &[u8]| {
    for layout in [Layout::default(), Layout { fcs: true, padded: true }] {
        match View::new(mpdu, layout).and_then(|view| Repr::parse(&view)) {
            Ok(repr) => {
                let again = repr.to_mpdu();
                let view = View::new(&again, Layout { fcs: true, padded: false });
                let view = view.expect("the header that was just written");
                assert_eq!(view.fcs_is_valid(), Some(true));
                assert_eq!(Repr::parse(&view), Ok(repr));
                match repr {
                    Repr::Control(control) => lists_are_whole(control.body),
                    Repr::Management(frame) => sae_is_read(frame.body),
                    _ => {}
                }
            }
            Err(error) => assert!(error.offset <= mpdu.len()),
        }
    }
});

/// Lists of records were looked through when the frame was parsed.
fn lists_are_whole(body: Body<'_>) {
    match body {
        Body::BlockAck { ack, .. } => {
            for record in ack.bitmaps() {
                let bitmap = record.expect("its frame was parsed").bitmap;
                assert!(bitmap.received().count() <= bitmap.len());
            }
            if let AckVariant::MultiSta(records) = ack.variant {
                assert!(records.iter().all(|record| record.is_ok()));
            }
        }
        Body::BlockAckRequest { request, .. } => assert!(request.starts().all(|s| s.is_ok())),
        Body::Trigger { trigger, .. } => assert!(trigger.users().all(|user| user.is_ok())),
        Body::NdpAnnouncement { announcement, .. } => {
            assert!(announcement.stations().all(|station| station.is_ok()));
        }
        _ => {}
    }
}

/// The fields of SAE are all of the octets after the fixed fields.
fn sae_is_read(body: management::Body<'_>) {
    let management::Body::Authentication(authentication) = body else { return };
    let mut again = Vec::new();
    match authentication.sae_commit() {
        Ok(Some(commit)) => {
            commit.emit(&mut again);
            assert_eq!(again, authentication.rest);
        }
        Ok(None) => {}
        Err(error) => assert!(error.offset <= authentication.rest.len()),
    }
    if let Ok(Some(confirm)) = authentication.sae_confirm() {
        again.clear();
        confirm.emit(&mut again);
        assert_eq!(again, authentication.rest);
    }
}
