//! The mirror of mac80211's reorder buffer in `kernel/lasthop_retryout` against
//! `wifi::mac::block_ack::Recipient`, which the model's tests judge by IEEE 802.11-2020, 10.25.6.6:
//! the same head after every step. Skipped without a C compiler.

#[cfg(not(c_core))]
#[test]
fn the_mirror_has_the_head_of_the_model() {
    eprintln!("skipped, because there is no C compiler");
}

#[cfg(c_core)]
mod with_a_compiler {
    use lasthop_kernel_core::Reorder;
    use lasthop_packet::Packet;
    use lasthop_units::{Duration, Instant, SeqNo12};
    use lasthop_wifi::mac::block_ack::Recipient;
    use lasthop_wifi::mac::mpdu::Msdus;
    use proptest::prelude::*;

    const TIMEOUT_MS: u32 = 100;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Receive(u16),
        Skip(u16),
        Request(u16),
        Wait(u32),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            10 => (0u16..70).prop_map(Step::Receive),
            4 => (0u16..6).prop_map(Step::Receive),
            1 => (0u16..4_096).prop_map(Step::Receive),
            3 => (0u16..6).prop_map(Step::Skip),
            2 => (0u16..4_096).prop_map(Step::Skip),
            1 => (0u16..80).prop_map(Step::Request),
            1 => (4_000u16..4_096).prop_map(Step::Request),
            2 => (0u32..150).prop_map(Step::Wait),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn the_mirror_has_the_head_of_the_model(
            start in 0u16..4_096,
            size in 1u16..=64,
            // The kernel's clock wraps; the model's begins at zero.
            boot in prop_oneof![Just(u32::MAX - 200), any::<u32>()],
            steps in proptest::collection::vec(step(), 1..200),
        ) {
            let mut model =
                Recipient::new(SeqNo12::new(start), size, Duration::from_millis(TIMEOUT_MS.into()));
            let mut mirror = Reorder::new(start, size);
            let mut now_ms = 0u32;
            for step in steps {
                let now = Instant::ZERO + Duration::from_millis(now_ms.into());
                let number = |ahead: u16| model.head().plus(ahead);
                match step {
                    Step::Receive(ahead) => {
                        let sequence = number(ahead);
                        let msdus = Msdus::One(Packet::new(0, 1500, now));
                        model.receive(now, sequence, msdus, |_| ());
                        mirror.receive(sequence.as_u16(), boot.wrapping_add(now_ms));
                    }
                    Step::Skip(ahead) => {
                        let sequence = number(ahead);
                        model.skip(sequence, |_| ());
                        mirror.skip(sequence.as_u16());
                    }
                    Step::Request(ahead) => {
                        let sequence = number(ahead);
                        model.request(sequence, |_| ());
                        mirror.request(sequence.as_u16());
                    }
                    Step::Wait(ms) => {
                        now_ms += ms;
                        let now = Instant::ZERO + Duration::from_millis(now_ms.into());
                        model.handle_timeout(now, |_| ());
                        mirror.timeout(boot.wrapping_add(now_ms), TIMEOUT_MS);
                    }
                }
                prop_assert_eq!(mirror.head(), model.head().as_u16(), "{:?}", step);
            }
        }

        /// A reorder buffer without skips, moved by the owed requests, has the same head: the
        /// module's requests to mac80211 suffice, and none is needless.
        #[test]
        fn what_is_owed_moves_a_plain_buffer_along(
            start in 0u16..4_096,
            size in 1u16..=64,
            steps in proptest::collection::vec(step(), 1..200),
        ) {
            let mut plain = Reorder::new(start, size);
            let mut mirror = Reorder::new(start, size);
            let mut given_up = std::collections::BTreeSet::new();
            for step in steps {
                let head = SeqNo12::new(mirror.head());
                match step {
                    Step::Receive(ahead) => {
                        let sequence = head.plus(ahead).as_u16();
                        if ahead >= 2_048 || given_up.contains(&sequence) {
                            continue;
                        }
                        plain.receive(sequence, 0);
                        mirror.receive(sequence, 0);
                    }
                    // An erroneous MPDU within the window, as the module takes them.
                    Step::Skip(ahead) if ahead < size => {
                        let before = mirror.clone();
                        mirror.skip(head.plus(ahead).as_u16());
                        if before != mirror {
                            given_up.insert(head.plus(ahead).as_u16());
                        }
                    }
                    Step::Request(ahead) => {
                        plain.request(head.plus(ahead).as_u16());
                        mirror.request(head.plus(ahead).as_u16());
                    }
                    _ => continue,
                }
                if let Some(owed) = mirror.owed() {
                    plain.request(owed);
                }
                prop_assert_eq!(plain.head(), mirror.head(), "{:?}", step);
                let head = SeqNo12::new(mirror.head());
                given_up.retain(|&number| SeqNo12::new(number).distance_from(head) < 2_048);
            }
        }
    }
}
