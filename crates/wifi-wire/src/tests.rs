//! Tests of the whole module: layouts written by hand from the standard, round trips of values,
//! arbitrary and truncated bytes.

mod roaming;

use super::frame::{Layout, Repr, View};
use super::{action, ampdu, amsdu, control, data, elements, llc, management, radiotap, *};
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use lasthop_units::{MacAddr, SeqNo12};
use proptest::prelude::*;

const AP: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
const HOST: MacAddr = MacAddr([2, 0, 0, 0, 0, 3]);
const FCS: Layout = Layout { fcs: true, padded: false };
const BARE: Layout = Layout { fcs: false, padded: false };

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let octet = |pair: &[u8]| core::str::from_utf8(pair).map(|s| u8::from_str_radix(s, 16));
    digits.chunks(2).map(|pair| octet(pair).unwrap().unwrap()).collect()
}

fn parse(mpdu: &[u8]) -> Result<Repr<'_>, Error> {
    Repr::parse(&View::new(mpdu, BARE)?)
}

/// Bitmap of the longest Block Ack.
const BITMAP: [u8; 128] = [0xa7; 128];

/// One frame of each kind and shape.
fn every_kind<'a>(flags: Flags, n: u16, wide: u64, body: &'a [u8]) -> Vec<Repr<'a>> {
    let sequence_control = SequenceControl { sequence: SeqNo12::new(n), fragment: 0 };
    let tid = (n >> 12) as u8;
    let start = SeqNo12::new(n ^ 0x5a5);
    let bitmap = &BITMAP[..[8, 32, 64, 128][usize::from(n % 4)]];
    let to_ds = data::Addresses::ToDs { bssid: AP, source: STATION, destination: HOST };
    let from_ds = data::Addresses::FromDs { destination: STATION, bssid: AP, source: HOST };
    let direct = data::Addresses::Direct { destination: HOST, source: STATION, bssid: AP };
    let relayed = data::Addresses::Relayed {
        receiver: AP,
        transmitter: STATION,
        destination: HOST,
        source: MacAddr::BROADCAST,
    };
    let qos = Some(QosControl::from_bits(n.rotate_left(5)));
    let mut frames = vec![];
    for addresses in [to_ds, from_ds, direct, relayed] {
        for (qos, ht_control) in [(None, None), (qos, None), (qos, Some(wide as u32))] {
            for body in [Some(body), None] {
                frames.push(Repr::Data(data::Repr {
                    flags,
                    duration_us: n,
                    addresses,
                    sequence_control,
                    qos,
                    ht_control,
                    body,
                }));
            }
        }
    }
    let transmitter = STATION;
    let no_ack = n & 1 == 1;
    for body in [
        control::Body::Ack,
        control::Body::Cts,
        control::Body::Rts { transmitter },
        control::Body::PsPoll { transmitter },
        control::Body::CfEnd { bssid: AP },
        control::Body::BlockAck {
            transmitter,
            ack: control::BlockAck::compressed(tid, start, bitmap),
        },
        control::Body::BlockAckRequest {
            transmitter,
            request: control::BlockAckRequest::compressed(tid, start),
        },
        control::Body::CfEndAck { bssid: AP },
        control::Body::ControlWrapper {
            carried: FrameControl::new(Kind::Rts, flags),
            ht_control: wide as u32,
            rest: body,
        },
        control::Body::BeamformingReportPoll { transmitter, segments: tid },
        control::Body::NdpAnnouncement {
            transmitter,
            announcement: control::NdpAnnouncement { token: n as u8, stations: &BITMAP[..12] },
        },
    ] {
        frames.push(Repr::Control(control::Repr { flags, duration_id: n, receiver: AP, body }));
    }
    for variant in [
        control::AckVariant::Basic { start, bitmap: &BITMAP },
        control::AckVariant::ExtendedCompressed { start, bitmap: &BITMAP[..8], receive_buffers: 9 },
        control::AckVariant::MultiTid(control::MultiTid::new(
            &BITMAP[..12 * usize::from(tid % 8 + 1)],
        )),
        control::AckVariant::Gcr { start, group: HOST, bitmap: &BITMAP[..8] },
        control::AckVariant::MultiSta(control::MultiSta::new(MULTI_STA)),
        control::AckVariant::Other { code: 5, information: body },
    ] {
        // Of Multi-TID, the number of records less one.
        let ack = control::BlockAck { no_ack, tid: tid % 8, variant };
        let body = control::Body::BlockAck { transmitter, ack };
        frames.push(Repr::Control(control::Repr { flags, duration_id: n, receiver: AP, body }));
    }
    for variant in [
        control::RequestVariant::Basic { start },
        control::RequestVariant::ExtendedCompressed { start },
        control::RequestVariant::MultiTid(control::MultiTidRequest::new(
            &BITMAP[..4 * usize::from(tid % 8 + 1)],
        )),
        control::RequestVariant::Gcr { start, group: HOST },
        control::RequestVariant::Other { code: 7, information: body },
    ] {
        let request = control::BlockAckRequest { no_ack, tid: tid % 8, variant };
        let body = control::Body::BlockAckRequest { transmitter, request };
        frames.push(Repr::Control(control::Repr { flags, duration_id: n, receiver: AP, body }));
    }
    // The kinds whose User Info fields have one octet of their own, a request, or nothing.
    for (kind, rest) in [
        (0, &[1, 0, 0, 0, 0, 0][..]),
        (1, &[1, 0, 0, 0, 0, 0]),
        (2, &[1, 0, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 0, 6, 0x10, 0, 0, 0, 0, 0, 0, 0, 0]),
        (3, &[1, 0, 0, 0, 0]),
        (4, &[1, 0, 0, 0, 0]),
        (5, &[4, 0, 0, 0, 1, 0, 0, 0, 0]),
        (6, &[1, 0, 0, 0, 0]),
        (7, &[1, 0, 0, 0, 0]),
    ] {
        let common = control::CommonInfo(wide << 4 | kind);
        let body =
            control::Body::Trigger { transmitter, trigger: control::Trigger { common, rest } };
        frames.push(Repr::Control(control::Repr { flags, duration_id: n, receiver: AP, body }));
    }
    // A body that is encrypted is not read: these are in the clear.
    let flags = Flags { protected: false, ..flags };
    let beacon = management::Beacon {
        timestamp_us: wide,
        interval_tu: 100,
        capabilities: n,
        elements: elements::Elements::new(ELEMENTS),
    };
    let parameters = action::BlockAckParameters {
        amsdu: n & 2 == 2,
        immediate: true,
        tid,
        buffer_size: n & 0x3ff,
    };
    let known = [
        management::Body::Beacon(beacon),
        management::Body::ProbeResponse(beacon),
        management::Body::ProbeRequest(elements::Elements::new(ELEMENTS)),
        management::Body::Action(action::Repr::AddbaRequest {
            dialog_token: 1,
            parameters,
            timeout_tu: n,
            start: SequenceControl::new(start),
            rest: body,
        }),
        management::Body::Action(action::Repr::AddbaResponse {
            dialog_token: 1,
            status: n,
            parameters,
            timeout_tu: 0,
            rest: body,
        }),
        management::Body::Action(action::Repr::Delba {
            initiator: no_ack,
            tid,
            reason: n,
            rest: body,
        }),
        management::Body::Action(action::Repr::Other { category: 4, bytes: body }),
        management::Body::Other { subtype: 9, bytes: body },
        management::Body::Other { subtype: 7, bytes: body },
    ];
    for body in known.into_iter().chain(roaming::bodies(n, wide, body)) {
        for ht_control in [None, Some(wide as u32)] {
            frames.push(Repr::Management(management::Repr {
                flags,
                duration_us: n,
                receiver: STATION,
                transmitter: AP,
                bssid: AP,
                sequence_control,
                ht_control,
                body,
            }));
        }
    }
    frames
}

/// Per AID TID Info fields: an Ack, a bitmap of 8 octets, one of 4, a station without AID.
const MULTI_STA: &[u8] = &[
    0x01, 0x08, 0x02, 0x50, 0x30, 0x12, 1, 2, 3, 4, 5, 6, 7, 8, 0x03, 0x00, 0x36, 0x12, 1, 2, 3, 4,
    0xfd, 0xf7, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3,
];

/// Elements: SSID "net", rates, DSSS channel 6, TIM, a vendor's.
const ELEMENTS: &[u8] = &[
    0, 3, b'n', b'e', b't', 1, 2, 0x82, 0x84, 3, 1, 6, 5, 4, 0, 3, 0, 0, 221, 4, 0, 0x50, 0xf2, 9,
];

fn some_flags() -> impl Strategy<Value = Flags> {
    any::<u8>().prop_map(|bits| Flags {
        more_fragments: bits & 1 != 0,
        retry: bits & 2 != 0,
        power_management: bits & 4 != 0,
        more_data: bits & 8 != 0,
        protected: bits & 16 != 0,
    })
}

fn some_radiotap() -> impl Strategy<Value = radiotap::Repr> {
    use radiotap::{AmpduStatus, Channel, Eht, EhtUser, EhtUsers, He, HeMu, HeMuOtherUser};
    use radiotap::{LSig, Mcs, Timestamp, USig, Vht, XChannel, ZeroLengthPsdu};
    let option = proptest::option::of::<BoxedStrategy<_>>;
    let first = (
        option(any::<u64>().boxed()),
        proptest::option::of(any::<u8>()),
        proptest::option::of(any::<u8>()),
        proptest::option::of(any::<(u16, u16)>()),
        proptest::option::of(any::<i8>()),
        proptest::option::of(any::<i8>()),
    );
    let second = (
        proptest::option::of(any::<u8>()),
        proptest::option::of(any::<u16>()),
        proptest::option::of(any::<[u8; 3]>()),
        proptest::option::of(any::<(u32, u16, u8)>()),
        proptest::option::of(any::<(u16, [u8; 8], u16)>()),
        proptest::option::of(any::<(u64, u16, u8, u8)>()),
    );
    let third = (
        proptest::option::of(any::<(u32, u16, [u8; 2])>()),
        proptest::option::of(any::<[u16; 6]>()),
        proptest::option::of(any::<(u16, u16, [u8; 4], [u8; 4])>()),
        proptest::option::of(any::<(u16, u16, u8, u8)>()),
        proptest::option::of(any::<u8>()),
        proptest::option::of(any::<(u16, u16)>()),
        proptest::option::of(any::<[u32; 3]>()),
        proptest::option::of((any::<[u32; 10]>(), prop::collection::vec(any::<u32>(), 0..12))),
    );
    let all = (first, second, third);
    all.prop_map(|((tsft_us, flags, rate, channel, signal, noise), second, third)| {
        let (xchannel, he, he_mu, other_user, psdu, l_sig, u_sig, eht) = third;
        let (antenna, rx_flags, mcs, ampdu, vht, timestamp) = second;
        radiotap::Repr {
            tsft_us,
            flags: flags.map(radiotap::FlagsField),
            rate_500kbps: rate,
            channel: channel.map(|(frequency_mhz, flags)| Channel { frequency_mhz, flags }),
            antenna_signal_dbm: signal,
            antenna_noise_dbm: noise,
            antenna,
            rx_flags,
            mcs: mcs.map(|[known, flags, index]| Mcs { known, flags, index }),
            ampdu_status: ampdu.map(|(reference, flags, delimiter_crc)| AmpduStatus {
                reference,
                flags,
                delimiter_crc,
            }),
            vht: vht.map(|(known, [flags, bandwidth, a, b, c, d, coding, group_id], aid)| Vht {
                known,
                flags,
                bandwidth,
                mcs_streams: [a, b, c, d],
                coding,
                group_id,
                partial_aid: aid,
            }),
            timestamp: timestamp.map(|(timestamp, accuracy, unit_position, flags)| Timestamp {
                timestamp,
                accuracy,
                unit_position,
                flags,
            }),
            xchannel: xchannel.map(|(flags, frequency_mhz, [number, max_power])| XChannel {
                flags,
                frequency_mhz,
                number,
                max_power,
            }),
            he: he.map(|data| He { data }),
            he_mu: he_mu.map(|(flags1, flags2, channel1, channel2)| HeMu {
                flags1,
                flags2,
                channel1,
                channel2,
            }),
            he_mu_other_user: other_user.map(|(user1, user2, position, known)| HeMuOtherUser {
                user1,
                user2,
                position,
                known,
            }),
            zero_length_psdu: psdu.map(ZeroLengthPsdu::from_code),
            l_sig: l_sig.map(|(known, data)| LSig { known, data }),
            u_sig: u_sig.map(|[common, value, mask]| USig { common, value, mask }),
            eht: eht.map(|([known, data @ ..], words)| {
                let mut users = EhtUsers::default();
                words.into_iter().for_each(|word| users.push(EhtUser(word)));
                Eht { known, data, users }
            }),
        }
    })
}

/// Runs all parsers; an error must point into the buffer.
fn read_all(bytes: &[u8]) -> Result<(), TestCaseError> {
    let inside = |error: Error| -> Result<(), TestCaseError> {
        prop_assert!(error.offset <= bytes.len(), "{error} in {} bytes", bytes.len());
        Ok(())
    };
    for layout in [BARE, FCS, Layout { fcs: true, padded: true }] {
        match View::new(bytes, layout) {
            Ok(view) => {
                let _ = (view.destination(), view.source(), view.bssid(), view.qos_control());
                let _ = (view.ht_control(), view.sequence_control(), view.fcs_is_valid());
                match Repr::parse(&view) {
                    // What can be read can be written, and then says the same.
                    Ok(repr) => {
                        roaming::read_sae(&repr)?;
                        let mut again = vec![];
                        repr.emit(&mut again);
                        prop_assert_eq!(again.len(), repr.buffer_len());
                        prop_assert_eq!(parse(&again), Ok(repr));
                    }
                    Err(error) => inside(error)?,
                }
            }
            Err(error) => inside(error)?,
        }
    }
    match radiotap::View::new(bytes) {
        Ok(view) => {
            prop_assert_eq!(view.header_len() + view.frame().len(), bytes.len());
            radiotap::Repr::parse(&view).map_or_else(inside, |repr| {
                let _ = repr.bitrate();
                Ok(())
            })?;
        }
        Err(error) => inside(error)?,
    }
    elements::Elements::parse(bytes).map_or_else(inside, |_| Ok(()))?;
    for element in elements::Elements::new(bytes).iter().map_while(Result::ok) {
        roaming::read_element(&element)?;
        elements::VhtCapabilities::parse(&element).map_or_else(inside, |_| Ok(()))?;
        elements::VhtOperation::parse(&element).map_or_else(inside, |_| Ok(()))?;
        elements::HeCapabilities::parse(&element).map_or_else(inside, |_| Ok(()))?;
        elements::HeOperation::parse(&element).map_or_else(inside, |_| Ok(()))?;
        elements::EhtOperation::parse(&element).map_or_else(inside, |_| Ok(()))?;
    }
    for subframe in amsdu::AmsduSubframes::new(bytes) {
        subframe.map_or_else(inside, |_| Ok(()))?;
    }
    for subframe in ampdu::AmpduSubframes::new(bytes) {
        subframe.map_or_else(inside, |_| Ok(()))?;
    }
    llc::Repr::parse(bytes).map_or_else(inside, |_| Ok(()))
}

proptest! {
    #[test]
    fn every_frame_survives(
        flags in some_flags(), n: u16, wide: u64, body in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        for repr in every_kind(flags, n, wide, &body) {
            let mpdu = repr.to_mpdu();
            prop_assert_eq!(mpdu.len(), repr.buffer_len() + fcs::LEN);
            let view = View::new(&mpdu, FCS).unwrap();
            prop_assert_eq!(view.fcs_is_valid(), Some(true));
            prop_assert_eq!(Repr::parse(&view), Ok(repr));
        }
    }

    #[test]
    fn every_truncation_is_an_error_or_a_shorter_frame(n: u16, wide: u64) {
        for repr in every_kind(Flags::default(), n, wide, &[]) {
            let bytes = emit(&repr);
            for length in 0..bytes.len() {
                read_all(&bytes[..length])?;
            }
            // Without a body, every byte of data and control frames belongs to a field.
            if !matches!(repr, Repr::Management(_)) {
                let error = parse(&bytes[..bytes.len() - 1]).unwrap_err();
                prop_assert!(matches!(error.reason, Reason::Short { .. }), "{error} in {repr:?}");
            }
        }
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_all(&bytes)?;
    }

    #[test]
    fn damaged_frames_do_not_panic(
        n: u16, wide: u64, damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        for repr in every_kind(Flags::default(), n, wide, ELEMENTS) {
            let mut mpdu = repr.to_mpdu();
            for (index, octet) in &damage {
                let at = index.index(mpdu.len());
                mpdu[at] ^= octet;
            }
            read_all(&mpdu)?;
        }
    }

    #[test]
    fn damaged_radiotap_does_not_panic(
        repr in some_radiotap(), words in prop::collection::vec(any::<u32>(), 1..4),
        tail in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let mut bytes = vec![];
        repr.emit(&mut bytes);
        read_all(&bytes)?;
        // Several presence words, any bits, and too few or too many fields.
        let mut bytes = vec![0, 0, (4 + 4 * words.len() + tail.len()) as u8, 0];
        for (at, word) in words.iter().enumerate() {
            let more = u32::from(at + 1 < words.len()) << 31;
            bytes.extend_from_slice(&(word & 0x7fff_ffff | more).to_le_bytes());
        }
        bytes.extend_from_slice(&tail);
        read_all(&bytes)?;
    }

    #[test]
    fn radiotap_survives(repr in some_radiotap(), before in 0usize..9) {
        let mut bytes = vec![0xee; before];
        repr.emit(&mut bytes);
        prop_assert_eq!(bytes.len() - before, repr.buffer_len());
        bytes.extend_from_slice(b"frame");
        let view = radiotap::View::new(&bytes[before..]).unwrap();
        prop_assert_eq!(view.frame(), b"frame");
        prop_assert_eq!(radiotap::Repr::parse(&view), Ok(repr));
        for length in 0..repr.buffer_len() {
            prop_assert!(radiotap::View::new(&bytes[before..before + length]).is_err());
        }
    }

    #[test]
    fn amsdu_survives(msdus in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 1..5)) {
        let subframe = |msdu| amsdu::AmsduSubframe { destination: HOST, source: STATION, msdu };
        let mut writer = amsdu::AmsduWriter::new();
        for msdu in &msdus {
            writer.push(&subframe(msdu)).unwrap();
        }
        let body = writer.finish();
        let read: Result<Vec<_>, _> = amsdu::AmsduSubframes::new(&body).collect();
        let wrote: Vec<_> = msdus.iter().map(|msdu| subframe(msdu)).collect();
        prop_assert_eq!(read, Ok(wrote));
        for length in 0..body.len() {
            read_all(&body[..length])?;
        }
    }

    #[test]
    fn ampdu_resynchronises(
        mpdus in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..50), 2..6),
        spacing in 0usize..4, broken: prop::sample::Index, flip in 1u8..=255,
    ) {
        let mut writer = ampdu::AmpduWriter::new();
        let mut starts = vec![];
        for mpdu in &mpdus {
            writer.push_spacing(spacing);
            writer.push(mpdu).unwrap();
        }
        let mut psdu = writer.finish();
        for subframe in ampdu::AmpduSubframes::new(&psdu) {
            starts.push(subframe.unwrap().offset);
        }
        let read: Vec<_> = ampdu::AmpduSubframes::new(&psdu).map(|s| s.unwrap().mpdu.to_vec()).collect();
        prop_assert_eq!(&read, &mpdus);
        // One delimiter is broken: one error there, the other MPDUs are found,
        // unless the broken one's own bytes look like a delimiter.
        let broken = broken.index(mpdus.len());
        prop_assume!(mpdus[broken].iter().all(|octet| *octet != ampdu::SIGNATURE));
        psdu[starts[broken] + 3] ^= flip;
        let found: Vec<_> = ampdu::AmpduSubframes::new(&psdu).collect();
        let errors: Vec<_> = found.iter().filter_map(|s| s.err()).collect();
        prop_assert_eq!(errors.len(), 1);
        prop_assert_eq!(errors[0].offset, starts[broken] + 3);
        prop_assert_eq!(errors[0].field, "delimiter signature");
        let mut expected = mpdus.clone();
        expected.remove(broken);
        let read: Vec<_> = found.iter().flatten().map(|s| s.mpdu.to_vec()).collect();
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn delimiters_survive(length in 0u16..=ampdu::MPDU_LEN_MAX as u16, end_of_frame: bool) {
        let delimiter = ampdu::Delimiter { end_of_frame, mpdu_length: length };
        let bytes = delimiter.to_bytes();
        prop_assert_eq!(ampdu::Delimiter::parse(&bytes), Ok(delimiter));
        prop_assert_eq!(bytes[2], crc8(&[bytes[0], bytes[1]].map(bits_of).concat()));
    }

    #[test]
    fn elements_survive(data in prop::collection::vec(any::<u8>(), 0..32), octet: u8, n: u16) {
        let mut bitmap = data.clone();
        bitmap.push(octet);
        let wrote = [
            elements::Repr::Ssid(&data),
            elements::Repr::SupportedRates(&data),
            elements::Repr::ExtendedSupportedRates(&data),
            elements::Repr::DsssParameterSet { channel: octet },
            elements::Repr::Tim(elements::Tim {
                dtim_count: octet,
                dtim_period: 3,
                group_traffic: octet & 1 == 1,
                bitmap_offset: octet >> 1,
                bitmap: &bitmap,
            }),
            elements::Repr::HtCapabilities(elements::HtCapabilities {
                information: n,
                ampdu_parameters: octet,
                mcs_set: [octet; 16],
                extended: n,
                beamforming: u32::from(n),
                antenna_selection: octet,
            }),
            elements::Repr::Other { id: 200, data: &data },
        ];
        let mut bytes = vec![];
        for element in &wrote {
            element.emit(&mut bytes).unwrap();
        }
        prop_assert_eq!(bytes.len(), wrote.iter().map(elements::Repr::buffer_len).sum::<usize>());
        let elements = elements::Elements::parse(&bytes).unwrap();
        let read: Vec<_> = elements.iter().map(|e| elements::Repr::parse(&e.unwrap()).unwrap()).collect();
        prop_assert_eq!(read, wrote);
        for length in 0..bytes.len() {
            read_all(&bytes[..length])?;
        }
    }
}

fn emit(repr: &Repr<'_>) -> Vec<u8> {
    let mut out = vec![];
    repr.emit(&mut out);
    out
}

/// Bits in the order of transmission.
fn bits_of(octet: u8) -> [u8; 8] {
    core::array::from_fn(|bit| octet >> bit & 1)
}

/// The CRC of 19.3.9.4.4 as the shift register of its figure; c7 is sent first.
fn crc8(bits: &[u8]) -> u8 {
    let register = bits.iter().fold(0xffu8, |register, bit| {
        let feedback = register >> 7 ^ bit;
        (register << 1) ^ (feedback * 0x07)
    });
    (!register).reverse_bits()
}

/// The worked example of 19.3.9.4.4 for HT-SIG, which has the same CRC.
#[test]
fn the_standards_crc_example() {
    // MCS 15, 40 MHz, 100 bytes; smoothing, not sounding, reserved.
    let mut signal = [0; 34];
    for one in [0, 1, 2, 3, 7, 10, 13, 14, 24, 25, 26] {
        signal[one] = 1;
    }
    assert_eq!(bits_of(crc8(&signal)), [1, 0, 1, 0, 1, 0, 0, 0]);
}

/// The three TIM examples of annex L.
#[test]
fn the_standards_tim_examples() {
    let has = |tim: &[u8], aids: &[u16], group: bool| {
        let mut bytes = vec![5, tim.len() as u8];
        bytes.extend_from_slice(tim);
        let element = elements::Elements::new(&bytes).find(elements::id::TIM).unwrap();
        let Ok(elements::Repr::Tim(tim)) = elements::Repr::parse(&element) else {
            panic!("not a TIM")
        };
        assert_eq!(tim.group_traffic, group);
        for aid in 1..2008 {
            assert_eq!(tim.has_traffic_for(aid), aids.contains(&aid), "AID {aid}");
        }
    };
    has(&[1, 3, 0x00, 0x84], &[2, 7], false);
    has(&[0, 3, 0x01, 0x84, 0x00, 0x40, 0x01], &[2, 7, 22, 24], true);
    has(&[0, 3, 0x03, 0x00, 0x01], &[24], true);
}

#[test]
fn layouts_of_control_frames() {
    let frame = |body| {
        Repr::Control(control::Repr {
            flags: Flags::default(),
            duration_id: 0x012c,
            receiver: AP,
            body,
        })
    };
    let transmitter = STATION;
    let short = [3, 0, 0, 0, 0, 0, 0, 0x80];
    let ack = control::BlockAck::compressed(5, SeqNo12::new(0x123), &short);
    let long: [u8; 32] = core::array::from_fn(|n| n as u8);
    let long_ack = control::BlockAck::compressed(5, SeqNo12::new(0x123), &long);
    let request = control::BlockAckRequest::compressed(5, SeqNo12::new(0x123));
    for (repr, bytes) in [
        (frame(control::Body::Ack), "d400 2c01 020000000001"),
        (frame(control::Body::Cts), "c400 2c01 020000000001"),
        (frame(control::Body::Rts { transmitter }), "b400 2c01 020000000001 020000000002"),
        (frame(control::Body::CfEnd { bssid: transmitter }), "e400 2c01 020000000001 020000000002"),
        (
            frame(control::Body::BlockAck { transmitter, ack }),
            "9400 2c01 020000000001 020000000002 0450 3012 0300000000000080",
        ),
        (
            frame(control::Body::BlockAck { transmitter, ack: long_ack }),
            "9400 2c01 020000000001 020000000002 0450 3412 0001020304050607 08090a0b0c0d0e0f\
             1011121314151617 18191a1b1c1d1e1f",
        ),
        (
            frame(control::Body::BlockAckRequest { transmitter, request }),
            "8400 2c01 020000000001 020000000002 0450 3012",
        ),
    ] {
        assert_eq!(emit(&repr), hex(bytes));
        assert_eq!(parse(&hex(bytes)), Ok(repr));
    }
}

#[test]
fn layout_of_a_qos_data_frame() {
    let mut body = vec![];
    llc::Repr::new(0x0800).emit(&mut body);
    let repr = Repr::Data(data::Repr {
        flags: Flags { retry: true, power_management: true, ..Flags::default() },
        duration_us: 44,
        addresses: data::Addresses::ToDs { bssid: AP, source: STATION, destination: HOST },
        sequence_control: SequenceControl { sequence: SeqNo12::new(0xabc), fragment: 0 },
        qos: Some(QosControl {
            tid: 6,
            ack_policy: AckPolicy::BlockAck,
            amsdu_present: true,
            ..QosControl::default()
        }),
        ht_control: Some(0x0403_0201),
        body: Some(&body),
    });
    let bytes = hex("8899 2c00 020000000001 020000000002 020000000003 c0ab e600 01020304
         aaaa03 000000 0800");
    assert_eq!(emit(&repr), bytes);
    let view = View::new(&bytes, BARE).unwrap();
    assert_eq!(view.source(), Some(STATION));
    assert_eq!(view.destination(), Some(HOST));
    assert_eq!(view.bssid(), Some(AP));
    assert_eq!(llc::Repr::parse(view.body()), Ok((llc::Repr::new(0x0800), &[][..])));
    // The header of 30 bytes, padded to 32.
    let mut padded = bytes.clone();
    padded.splice(30..30, [0, 0]);
    let view = View::new(&padded, Layout { fcs: false, padded: true }).unwrap();
    assert_eq!((view.header_len(), view.body()), (30, &body[..]));
}

#[test]
fn layouts_of_block_ack_actions() {
    let frame = |action| {
        let repr = management::Repr {
            flags: Flags::default(),
            duration_us: 0,
            receiver: AP,
            transmitter: STATION,
            bssid: AP,
            sequence_control: SequenceControl::default(),
            ht_control: None,
            body: management::Body::Action(action),
        };
        emit(&repr.into()).split_off(24)
    };
    let parameters =
        action::BlockAckParameters { amsdu: true, immediate: true, tid: 6, buffer_size: 64 };
    let request = action::Repr::AddbaRequest {
        dialog_token: 7,
        parameters,
        timeout_tu: 0,
        start: SequenceControl::new(SeqNo12::new(0x123)),
        rest: &[],
    };
    let response = action::Repr::AddbaResponse {
        dialog_token: 7,
        status: 0,
        parameters,
        timeout_tu: 5000,
        rest: &[],
    };
    let delba = action::Repr::Delba { initiator: true, tid: 6, reason: 39, rest: &[] };
    assert_eq!(frame(request), hex("03 00 07 1b10 0000 3012"));
    assert_eq!(frame(response), hex("03 01 07 0000 1b10 8813"));
    assert_eq!(frame(delba), hex("03 02 0068 2700"));
    // ADDBA Extension: no fragmentation, extended buffer size 1; then one that is cut.
    let extended = |rest| action::Repr::AddbaResponse {
        dialog_token: 7,
        status: 0,
        parameters: action::BlockAckParameters { buffer_size: 0, ..parameters },
        timeout_tu: 0,
        rest,
    };
    let response_be = extended(&[159, 1, 0x21]);
    assert_eq!((request.buffer_size(), response_be.buffer_size()), (Some(64), Some(1024)));
    let extension = response_be.addba_extension().unwrap();
    assert!(extension.no_fragmentation() && extension.fragmentation_level() == 0);
    assert_eq!(extended(&[159, 1]).buffer_size(), Some(0));
    assert_eq!((delba.buffer_size(), delba.addba_extension()), (None, None));
}

#[test]
fn errors_name_layer_field_and_offset() {
    let message = |text: &str| parse(&hex(text)).unwrap_err().to_string();
    assert_eq!(
        message("9400 0000 020000000001 020000000002 0400 0000 030000"),
        "block ack: bitmap at offset 20: needs 8 bytes, 3 left"
    );
    assert_eq!(message("d4"), "frame: frame control at offset 0: needs 2 bytes, 1 left");
    assert_eq!(message("d500"), "frame: protocol version at offset 0: 0x1, expected 0");
    assert_eq!(
        message("8800 0000 020000000001 020000000002 020000000003 0000 00"),
        "QoS data: QoS control at offset 24: needs 2 bytes, 1 left"
    );
    // A TIM without bitmap in a beacon, behind an SSID of three bytes.
    assert_eq!(
        message(
            "8000 0000 ffffffffffff 020000000001 020000000001 0000 0000000000000000 6400 0100
             0003 6e6574 0503 000300"
        ),
        "element: TIM partial virtual bitmap at offset 46: needs 1 byte, 0 left"
    );
    let long = [0u8; 33];
    assert_eq!(
        elements::Repr::Ssid(&long).emit(&mut vec![]).unwrap_err().to_string(),
        "element: SSID at offset 2: 33 bytes, at most 32 are allowed"
    );
}

#[test]
fn unknown_frames_keep_their_bytes() {
    // A QoS CF-Poll, an extension frame, a DMG control frame.
    for text in [
        "e800 0000 020000000001 020000000002
         020000000003 0000 0000",
        "0c00",
        "6400 0000 020000000001 0102",
    ] {
        let bytes = hex(text);
        let repr = parse(&bytes).unwrap();
        assert!(matches!(repr, Repr::Other { .. }), "{repr:?}");
        assert_eq!(emit(&repr), bytes);
    }
}

/// A vendor namespace between two radiotap namespaces, the second per antenna.
#[test]
fn radiotap_namespaces() {
    // Flags, signal; then the vendor's, all bits set; then signal, antenna.
    let header = "0000 1f00 220000c0 ffffffbf 20080000";
    let fields = "10 d0 001122 01 0500 0102030405 c0 01";
    let bytes = hex(&[header, fields].concat());
    let view = radiotap::View::new(&bytes).unwrap();
    let fields: Vec<_> = view.fields().map(|field| field.map(|f| (f.number, f.offset))).collect();
    assert_eq!(fields, [Ok((1, 16)), Ok((5, 17)), Ok((30, 18)), Ok((5, 29)), Ok((11, 30))]);
    let repr = radiotap::Repr::parse(&view).unwrap();
    assert_eq!((repr.antenna_signal_dbm, repr.antenna), (Some(-48), Some(1)));
    // The vendor's length runs over the header's end.
    let mut long = bytes.clone();
    long[22] = 8;
    let error = radiotap::Repr::parse(&radiotap::View::new(&long).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "radiotap: vendor namespace at offset 24: needs 8 bytes, 7 left");
}

/// At an undefined field the iteration ends; the fields before it count.
#[test]
fn radiotap_stops_at_an_unknown_field() {
    // Bit 32: the second word is not of the radiotap namespace again.
    let bytes = hex("0000 1000 02000080 01000000 10 aabbcc");
    let view = radiotap::View::new(&bytes).unwrap();
    let repr = radiotap::Repr::parse(&view).unwrap();
    assert_eq!(
        repr,
        radiotap::Repr { flags: Some(radiotap::FlagsField(0x10)), ..Default::default() }
    );
}

/// TLVs after the antennas of a second word, as mac80211 writes them.
#[test]
fn radiotap_tlvs() {
    // Flags; antenna signal and antenna, TLVs. S1G; padding; U-SIG without its end; a vendor's;
    // EHT with a user and half of another, its own padding missing.
    let header = "0000 6e00 020000a0 20080010 10 d0 00 00";
    let s1g = "2000 0600 010203040506 0000";
    let filler = "1c00 0000";
    let u_sig = "2100 0700 03000010 445566 00";
    let vendor = "1e00 0900 001122 01 0500 0000 aa 000000";
    let eht = "2200 2e00 44444444 00000000000000000000000000000000 00000000000000000000000000000000
        00000000 01000080 ff01";
    let bytes = hex(&[header, s1g, filler, u_sig, vendor, eht].concat());
    let view = radiotap::View::new(&bytes).unwrap();
    let fields: Vec<_> = view.fields().map(|field| field.map(|f| (f.number, f.offset))).collect();
    let expected = [(1, 12), (5, 13), (11, 14), (32, 20), (28, 32), (33, 36), (30, 48), (34, 64)];
    assert_eq!(fields, expected.map(Ok));
    let repr = radiotap::Repr::parse(&view).unwrap();
    assert_eq!(repr.antenna, Some(0));
    let u_sig = radiotap::USig { common: 0x1000_0003, value: 0x66_5544, mask: 0 };
    assert_eq!(repr.u_sig, Some(u_sig));
    let eht = repr.eht.unwrap();
    assert_eq!((eht.known, eht.data), (0x4444_4444, [0; 9]));
    let users = eht.users.as_slice().iter().map(|user| user.0);
    assert_eq!(users.collect::<Vec<_>>(), [0x8000_0001, 0x01ff]);
    // The vendor's TLV runs over the end.
    let mut long = bytes.clone();
    long[46] = 0x40;
    let error = radiotap::Repr::parse(&radiotap::View::new(&long).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "radiotap: TLV at offset 48: needs 64 bytes, 62 left");
}
