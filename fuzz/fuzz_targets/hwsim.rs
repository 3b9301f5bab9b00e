//! Feeds any bytes as messages of the kernel's simulated radios. No panic, every frame lies within
//! its message, rates are those of the model, and frames of any content are examined.
#![no_main]

use lasthop_hwsim::frame::{FrameFacts, agreement_change, declined};
use lasthop_hwsim::rates::{receive_index, series};
use lasthop_hwsim::wire::Event;
use lasthop_linux::message::messages;
use lasthop_wifi_phy::Band;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|datagram: &[u8]| {
    for message in messages(datagram) {
        let _ = message.outcome();
        let Some(Event::Sent(sent)) = Event::parse(&message) else { continue };
        let (begin, end) = (datagram.as_ptr_range().start, datagram.as_ptr_range().end);
        let range = sent.frame.as_ptr_range();
        assert!(begin <= range.start && range.end <= end);
        for band in [Band::Ghz2_4, Band::Ghz5] {
            let translated = series(&sent.tries, band);
            assert!(translated.series[0].is_some());
            for stage in translated.series.iter().flatten() {
                assert!(stage.tries > 0);
                assert!(receive_index(stage.rate, band) < 12);
            }
        }
        if let Some(facts) = FrameFacts::read(sent.frame) {
            assert!(facts.bytes as usize == sent.frame.len() + 4);
            let change = agreement_change(sent.frame);
            let answer = declined(sent.frame);
            assert!(change.is_none() || answer.is_none());
            if let Some(answer) = answer {
                assert!(
                    FrameFacts::read(&answer)
                        .is_some_and(|a| a.transmitter == Some(facts.receiver))
                );
            }
        }
    }
});
