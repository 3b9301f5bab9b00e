//! Tests of the encoding of datagrams: written datagrams are read back; truncated, padded and
//! arbitrary bytes are refused or read without a panic; and the layout is the documented one.

use super::*;
use crate::link::Link;
use alloc::vec;
use proptest::prelude::*;

const KEY: Key = [1; 32];

fn kinds() -> impl Strategy<Value = StreamKind> {
    prop_oneof![Just(StreamKind::Sparse), Just(StreamKind::Bulk)]
}

fn streams() -> impl Strategy<Value = StreamPlan> {
    (kinds(), PACKET_BYTES, 1u64.., any::<u64>(), any::<u64>()).prop_map(
        |(kind, packet_bytes, interval, begin, end)| StreamPlan {
            kind,
            packet_bytes,
            interval: Duration::from_nanos(interval),
            begin: Duration::from_nanos(begin),
            end: Duration::from_nanos(end),
        },
    )
}

fn counts() -> impl Strategy<Value = StreamCount> {
    any::<(u32, u32, u64)>().prop_map(|(sent, unsent, late)| StreamCount {
        sent,
        unsent,
        late_max: Duration::from_nanos(late),
    })
}

fn samples() -> impl Strategy<Value = Sample> {
    (kinds(), any::<(u32, u64, u64)>()).prop_map(|(kind, (sequence, sent_ns, received_ns))| {
        Sample { kind, sequence, sent_ns, received_ns }
    })
}

fn proofs() -> impl Strategy<Value = Proof> {
    any::<(u32, u64)>().prop_map(|(at_ms, value)| Proof { at_ms, value })
}

fn messages() -> impl Strategy<Value = Message> {
    use proptest::collection::vec as list;
    let direction = prop_oneof![Just(Direction::Down), Just(Direction::Up)];
    let reason = (0..Refusal::ALL.len()).prop_map(|index| Refusal::ALL[index]);
    prop_oneof![
        (any::<[u8; 16]>(), any::<[u8; 24]>())
            .prop_map(|(nonce, token)| Message::Attach { nonce, token }),
        Just(Message::Attached),
        (any::<u32>(), direction, list(streams(), 0..=STREAMS_MAX)).prop_map(
            |(phase, direction, streams)| Message::Prepare {
                phase,
                direction,
                plan: PhasePlan { streams }
            }
        ),
        any::<u32>().prop_map(|phase| Message::Ready { phase }),
        (any::<(u32, u64)>(), list(counts(), 0..=STREAMS_MAX)).prop_map(
            |((phase, started_ns), counts)| Message::Finished { phase, started_ns, counts }
        ),
        any::<u32>().prop_map(|phase| Message::FinishedHeard { phase }),
        any::<(u32, u32, u32)>().prop_map(|(phase, samples, duplicates)| Message::Summary {
            phase,
            samples,
            duplicates
        }),
        any::<(u32, u32, u16)>().prop_map(|(phase, first, wanted)| Message::Fetch {
            phase,
            first,
            wanted
        }),
        (any::<(u32, u32)>(), list(samples(), 0..=CHUNK_SAMPLES))
            .prop_map(|((phase, index), samples)| Message::Chunk { phase, index, samples }),
        Just(Message::Alive),
        any::<bool>().prop_map(|done| Message::Stop { done }),
        Just(Message::Stopped),
        reason.prop_map(|reason| Message::Refused { reason }),
    ]
}

fn datagrams() -> impl Strategy<Value = Datagram<'static>> {
    let nonce = any::<[u8; 16]>();
    let token = any::<[u8; 24]>();
    let reason = (0..Refusal::ALL.len()).prop_map(|index| Refusal::ALL[index]);
    prop_oneof![
        nonce.prop_map(Datagram::Hello),
        (VERSION + 1.., nonce)
            .prop_map(|(version, nonce)| Datagram::HelloOfVersion(version, nonce)),
        (nonce, token, any::<bool>()).prop_map(|(nonce, token, keyed)| Datagram::Challenge {
            nonce,
            token,
            keyed
        }),
        any::<(u8, [u8; 16])>()
            .prop_map(|(version, nonce)| Datagram::OtherVersion { version, nonce }),
        (nonce, token, any::<[u8; 16]>()).prop_map(|(nonce, token, mac_tag)| Datagram::Open {
            nonce,
            token,
            mac_tag
        }),
        (nonce, any::<(u64, u64, u64, u32)>(), any::<[u8; 16]>()).prop_map(
            |(nonce, (session, rate_max_bps, duration, phase_packets_max), mac_tag)| {
                let duration_max = Duration::from_nanos(duration);
                let limits = Limits { rate_max_bps, duration_max, phase_packets_max };
                Datagram::Accepted { accepted: Accepted { nonce, session, limits }, mac_tag }
            }
        ),
        (nonce, reason).prop_map(|(nonce, reason)| Datagram::Turned { nonce, reason }),
        (kinds(), any::<(u64, u32, u32, u64)>(), proofs()).prop_map(
            |(kind, (session, phase, sequence, sent_ns), proof)| Datagram::Probe(Probe {
                kind,
                session,
                phase,
                sequence,
                sent_ns,
                proof,
            })
        ),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(datagram in datagrams()) {
        let bytes = emit(&datagram);
        prop_assert_eq!(parse(&bytes), Ok(datagram));
    }

    #[test]
    fn messages_are_sealed_and_opened(
        message in messages(),
        session: u64,
        control in proofs(),
        bulk in proofs(),
    ) {
        let mut client = Link::new(&KEY, session, auth::Side::Client);
        let mut server = Link::new(&KEY, session, auth::Side::Server);
        let bytes = client.seal(&message, &[control, bulk]);
        prop_assert!(bytes.len() <= crate::HEAD_BYTES_MAX, "{} bytes", bytes.len());
        let parsed = parse(&bytes);
        let Ok(Datagram::Sealed(sealed)) = parsed else { panic!("{parsed:?}") };
        prop_assert_eq!(emit(&Datagram::Sealed(sealed)), bytes.clone());
        prop_assert_eq!(server.open(&sealed), Some(message));
        prop_assert_eq!(sealed.proofs, [control, bulk]);
    }

    /// Any bytes are decoded, or refused at an offset inside of them.
    #[test]
    fn anything_can_come(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..300),
        kind in 0u8..32,
        looks_right: bool,
    ) {
        if looks_right && bytes.len() > 6 {
            bytes[..4].copy_from_slice(&MAGIC);
            bytes[4] = VERSION;
            bytes[5] = kind;
        }
        let check = |error: WireError| match error {
            WireError::Short(at) | WireError::Long(at) => assert!(at <= bytes.len()),
            WireError::Value { offset, .. } => assert!(offset < bytes.len()),
            WireError::Magic | WireError::Version(_) | WireError::Type(_) => {}
        };
        match parse(&bytes) {
            Err(error) => check(error),
            Ok(Datagram::Sealed(sealed)) => {
                if let Err(error) = sealed.message() {
                    check(error);
                }
            }
            Ok(_) => {}
        }
    }

    /// A truncated datagram is refused, unless the rest is padding.
    #[test]
    fn what_is_cut_is_refused(datagram in datagrams(), part in 0.0f64..1.0) {
        let bytes = emit(&datagram);
        let cut = (bytes.len() as f64 * part) as usize;
        prop_assert!(parse(&bytes[..cut]).is_err(), "{} of {}", cut, bytes.len());
    }
}

/// The layout is the documented one; a change would make versions incompatible.
#[test]
fn the_layout_stays() {
    let probe = Probe {
        kind: StreamKind::Bulk,
        session: 0x0102_0304_0506_0708,
        phase: 9,
        sequence: 10,
        sent_ns: 11,
        proof: Proof { at_ms: 12, value: 13 },
    };
    let mut expected = vec![b'l', b'a', b'p', b'q', 2, 8, 1, 2, 3, 4, 5, 6, 7, 8];
    expected.extend([0, 0, 0, 9, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 11]);
    expected.extend([0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 13]);
    assert_eq!(emit(&Datagram::Probe(probe)), expected);
    assert_eq!(expected.len(), PROBE_BYTES);
    let hello = emit(&Datagram::Hello([5; 16]));
    assert_eq!(hello.len(), HELLO_BYTES);
    assert_eq!(hello[..22], [[b'l', b'a', b'p', b'q', 2, 1].as_slice(), &[5; 16]].concat());
}

#[test]
fn nothing_said_to_strangers_is_longer_than_what_they_said() {
    let (nonce, token) = ([0; 16], [0; 24]);
    for answer in [
        Datagram::Challenge { nonce, token, keyed: true },
        Datagram::OtherVersion { version: 3, nonce },
    ] {
        assert!(emit(&answer).len() < HELLO_BYTES);
    }
    let mut short = emit(&Datagram::Hello(nonce));
    short.truncate(HELLO_BYTES - 1);
    assert_eq!(parse(&short), Err(WireError::Short(HELLO_BYTES - 1)));
}

#[test]
fn errors_say_what_and_where() {
    assert_eq!(parse(b"GET "), Err(WireError::Magic));
    assert_eq!(
        parse(b"lapq\x02\x0b").map_err(|e| alloc::format!("{e}")),
        Err("byte 5: there is no type 11".into())
    );
    let mut challenge = emit(&Datagram::Challenge { nonce: [0; 16], token: [0; 24], keyed: true });
    challenge[46] = 7;
    let why = parse(&challenge).expect_err("7 is no flag");
    assert_eq!(alloc::format!("{why}"), "byte 46: key is needed cannot be 7");
}
