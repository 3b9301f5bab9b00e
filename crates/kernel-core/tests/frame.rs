//! The reader of frames in `kernel/lasthop_retryout` against `wifi-wire`, which writes them (and
//! is judged by tshark): every form of data frame and Block Ack Request, cut anywhere. Skipped
//! without a C compiler.

#[cfg(not(c_core))]
#[test]
fn frames_are_read_as_they_were_written() {
    eprintln!("skipped, because there is no C compiler");
}

#[cfg(c_core)]
mod with_a_compiler {
    use lasthop_kernel_core::{Kind, frame};
    use lasthop_units::{MacAddr, SeqNo12};
    use lasthop_wifi_wire::data::{Addresses, Repr};
    use lasthop_wifi_wire::{AckPolicy, Flags, QosControl, SequenceControl, frame as whole};
    use proptest::prelude::*;

    const RECEIVER: MacAddr = MacAddr([0x02, 1, 2, 3, 4, 5]);
    const GROUP: MacAddr = MacAddr([0x01, 0, 0x5e, 3, 4, 5]);
    const TRANSMITTER: MacAddr = MacAddr([0x06, 9, 8, 7, 6, 5]);
    const THIRD: MacAddr = MacAddr([0x0a, 5, 5, 5, 5, 5]);

    /// LLC, SNAP and an IP header, written out; whether it is TCP.
    const MSDUS: [(&[u8], Option<bool>); 8] = [
        (b"\xaa\xaa\x03\0\0\0\x08\0\x45\0\0\x28\0\0\x40\0\x40\x06", Some(true)),
        (b"\xaa\xaa\x03\0\0\0\x08\0\x46\0\0\x28\0\0\x40\0\x40\x11", Some(false)),
        (b"\xaa\xaa\x03\0\0\0\x08\0\x65\0\0\x28\0\0\x40\0\x40\x06", Some(false)),
        (b"\xaa\xaa\x03\0\0\0\x86\xdd\x60\0\0\0\0\x14\x06", Some(true)),
        (b"\xaa\xaa\x03\0\0\0\x86\xdd\x60\0\0\0\0\x14\x3a", Some(false)),
        (b"\xaa\xaa\x03\0\0\0\x81\0\0\x05\x08\0\x45\0\0\x28\0\0\x40\0\x40\x06", Some(true)),
        (b"\xaa\xaa\x03\0\0\0\x08\x06\0\x01\x08\0\x06\x04", Some(false)),
        (b"\xaa\xaa\x03\0\0\x01\x08\0\x45\0\0\x28\0\0\x40\0\x40\x06", Some(false)),
    ];

    fn addresses() -> impl Strategy<Value = Addresses> {
        let receiver = prop_oneof![4 => Just(RECEIVER), 1 => Just(GROUP)];
        (receiver, 0..4).prop_map(|(receiver, form)| match form {
            0 => Addresses::Direct { destination: receiver, source: TRANSMITTER, bssid: THIRD },
            1 => Addresses::ToDs { bssid: receiver, source: TRANSMITTER, destination: THIRD },
            2 => Addresses::FromDs { destination: receiver, bssid: TRANSMITTER, source: THIRD },
            _ => Addresses::Relayed {
                receiver,
                transmitter: TRANSMITTER,
                destination: THIRD,
                source: THIRD,
            },
        })
    }

    fn receiver_of(addresses: &Addresses) -> MacAddr {
        match *addresses {
            Addresses::Direct { destination, .. } | Addresses::FromDs { destination, .. } => {
                destination
            }
            Addresses::ToDs { bssid, .. } => bssid,
            Addresses::Relayed { receiver, .. } => receiver,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn frames_are_read_as_they_were_written(
            addresses in addresses(),
            (number, fragment) in (0u16..4_096, prop_oneof![4 => Just(0u8), 1 => 0u8..16]),
            qos in prop_oneof![1 => Just(None), 8 => (0u16..=u16::MAX).prop_map(|bits| {
                Some(QosControl::from_bits(bits))
            })],
            ht_control in prop::option::of(any::<u32>()),
            (msdu, tail) in (0usize..MSDUS.len(), 0usize..60),
            (protected, retry, more) in (any::<bool>(), any::<bool>(), prop::bool::weighted(0.1)),
            null in prop::bool::weighted(0.1),
            cipher in 0u32..3,
            cut in 0usize..140,
        ) {
            let amsdu = qos.is_some_and(|qos| qos.amsdu_present);
            let has_header = protected && cipher != 2;
            let mut body = vec![0; if has_header { 8 } else { 0 } + if amsdu { 14 } else { 0 }];
            body.extend_from_slice(MSDUS[msdu].0);
            body.resize(body.len() + tail, 0xee);
            let flags = Flags { protected, retry, more_fragments: more, ..Flags::default() };
            let repr = Repr {
                flags,
                duration_us: 0,
                addresses,
                sequence_control: SequenceControl { sequence: SeqNo12::new(number), fragment },
                qos,
                ht_control,
                body: (!null).then_some(&body[..]),
            };
            let mut bytes = Vec::new();
            whole::Repr::from(repr).emit(&mut bytes);
            let length = bytes.len();
            let read = frame(&bytes[..length.min(cut + 60)], length, cipher);
            let expected = qos.filter(|qos| {
                let receiver = receiver_of(&addresses);
                qos.tid < 8
                    && qos.ack_policy != AckPolicy::NoAck
                    && fragment == 0
                    && !more
                    && !null
                    && receiver == RECEIVER
            });
            let Some(qos) = expected else {
                prop_assert_eq!(read.kind, Kind::Other);
                return Ok(());
            };
            prop_assert_eq!(read.kind, Kind::Data);
            prop_assert_eq!((read.receiver, read.transmitter), (RECEIVER.0, TRANSMITTER.0));
            prop_assert_eq!((read.tid, read.sequence), (qos.tid, number));
            prop_assert_eq!(read.body as usize, body.len());
            prop_assert_eq!(read.encrypted, protected && cipher == 0);
            let is_readable = !read.encrypted && length <= cut + 60;
            if is_readable {
                prop_assert_eq!(read.carries_tcp, MSDUS[msdu].1);
            } else if read.encrypted {
                prop_assert_eq!(read.carries_tcp, None);
            }
            // Cut in its header, it is nothing; cut behind it, its numbers are the same.
            let header = length - body.len();
            let short = frame(&bytes[..cut.min(length)], length, cipher);
            prop_assert_eq!(short.kind == Kind::Data, cut.min(length) >= header);
        }

        #[test]
        fn block_ack_requests_are_read_as_they_were_written(
            tid in 0u16..16,
            variant in 0u16..16,
            number in 0u16..4_096,
            cut in 0usize..30,
        ) {
            // Frame Control, Duration, RA, TA, BAR Control, Starting Sequence Control (9.3.1.7).
            let mut bytes = vec![0x84, 0, 0, 0];
            bytes.extend_from_slice(&RECEIVER.0);
            bytes.extend_from_slice(&TRANSMITTER.0);
            bytes.extend_from_slice(&(tid << 12 | variant << 1).to_le_bytes());
            bytes.extend_from_slice(&(number << 4).to_le_bytes());
            let read = frame(&bytes[..cut.min(20)], bytes.len(), 0);
            // Variant 2 is the compressed one (table 9-28).
            let is_ours = variant == 2 && tid < 8 && cut >= 20;
            prop_assert_eq!(read.kind == Kind::BlockAckRequest, is_ours);
            if is_ours {
                prop_assert_eq!((u16::from(read.tid), read.sequence), (tid, number));
                prop_assert_eq!((read.receiver, read.transmitter), (RECEIVER.0, TRANSMITTER.0));
            }
        }

        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..120), more in 0usize..2_000, cipher in 0u32..3) {
            let read = frame(&bytes, bytes.len() + more, cipher);
            prop_assert!(read.tid < 8 && read.sequence < 4_096);
        }
    }
}
