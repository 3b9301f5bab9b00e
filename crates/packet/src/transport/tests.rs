//! Views against etherparse, another parser, with arbitrary headers and arbitrary bytes, cut
//! anywhere.

use super::{icmp, tcp, udp};
use crate::ip::protocol;
use alloc::vec::Vec;
use etherparse::{
    Icmpv4Slice, Icmpv4Type, Icmpv6Slice, Icmpv6Type, TcpOptionElement, TcpSlice, UdpSlice,
};
use proptest::collection::vec;
use proptest::prelude::*;
use tcp::{Flags, Timestamps};

/// Compares a segment; a header whose length is below 20 bytes or beyond the end has no judge.
fn assert_tcp(bytes: &[u8]) {
    let Some(view) = tcp::View::new(bytes) else {
        assert!(bytes.len() < tcp::HEADER_BYTES && TcpSlice::from_slice(bytes).is_err());
        return;
    };
    let _ = (view.timestamps(), view.window_shift());
    let Ok(slice) = TcpSlice::from_slice(bytes) else {
        assert!(view.header_bytes() < tcp::HEADER_BYTES || view.header_bytes() > bytes.len());
        assert!(view.options().is_empty());
        return;
    };
    assert_eq!(view.ports(), [slice.source_port(), slice.destination_port()]);
    assert_eq!(view.sequence(), slice.sequence_number());
    assert_eq!(view.acknowledges(), slice.ack().then(|| slice.acknowledgment_number()));
    let flags = [slice.fin(), slice.syn(), slice.rst(), slice.psh()];
    let flags = [flags, [slice.ack(), slice.urg(), slice.ece(), slice.cwr()]].concat();
    let ours = [Flags::FIN, Flags::SYN, Flags::RST, Flags::PSH];
    let ours = [ours, [Flags::ACK, Flags::URG, Flags::ECE, Flags::CWR]].concat();
    let ours: Vec<_> = ours.into_iter().map(|bit| view.flags().has(bit)).collect();
    assert_eq!(ours, flags);
    assert_eq!(view.window(), slice.window_size());
    assert_eq!(
        (view.checksum(), view.urgent()),
        (Some(slice.checksum()), Some(slice.urgent_pointer()))
    );
    assert_eq!((view.options(), view.payload()), (slice.options(), slice.payload()));
    let elements: Vec<_> = slice.options_iterator().collect();
    if elements.iter().all(Result::is_ok) {
        let timestamps = elements.iter().find_map(|element| match element {
            Ok(TcpOptionElement::Timestamp(value, echo)) => {
                Some(Timestamps { value: *value, echo: *echo })
            }
            _ => None,
        });
        let shift = elements.iter().find_map(|element| match element {
            Ok(TcpOptionElement::WindowScale(shift)) => Some((*shift).min(14)),
            _ => None,
        });
        assert_eq!((view.timestamps(), view.window_shift()), (timestamps, shift));
    }
}

/// A SYN of Linux: MSS, SACK permitted, timestamps, no operation, window scale 7.
#[test]
fn the_options_of_a_syn() {
    let mut bytes = [0x9c, 0x40, 0, 80, 1, 2, 3, 4, 0, 0, 0, 0, 0xa0, 2, 0xfa, 0xf0].to_vec();
    bytes.extend([0, 0, 0, 0, 2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 1, 0, 0, 0, 0, 9, 1, 3, 3, 7]);
    assert_tcp(&bytes);
    let view = tcp::View::new(&bytes).expect("it is complete");
    assert_eq!(view.timestamps(), Some(Timestamps { value: 256, echo: 9 }));
    assert_eq!((view.window_shift(), view.acknowledges()), (Some(7), None));
    // A capture may have cut it: the options are unknown then.
    let cut = tcp::View::cut(&bytes[..18]).expect("the window is there");
    assert_eq!((cut.sequence(), cut.window()), (0x0102_0304, 0xfaf0));
    assert_eq!((cut.checksum(), cut.urgent(), cut.timestamps()), (Some(0), None, None));
    assert_eq!(tcp::View::cut(&bytes[..15]), None);
}

proptest! {
    #[test]
    fn segments_are_those_of_etherparse(
        start in vec(any::<u8>(), 12),
        words in 4u8..=15,
        behind in vec(prop_oneof![any::<u8>(), 0u8..=10], 0..80),
    ) {
        let bytes = [start, [words << 4].to_vec(), behind].concat();
        assert_tcp(&bytes);
    }

    #[test]
    fn any_bytes_are_read(bytes in vec(any::<u8>(), 0..80)) {
        assert_tcp(&bytes);
        prop_assert_eq!(tcp::View::cut(&bytes).is_some(), bytes.len() >= tcp::CUT_BYTES);
        // Its length is not ours to judge.
        let judged = |header: &[u8]| {
            let mut bytes = header.to_vec();
            bytes.resize(usize::from(udp::View::new(header).map_or(0, |udp| udp.length())), 0);
            UdpSlice::from_slice(&bytes).map(|s| (s.source_port(), s.destination_port(), s.checksum()))
        };
        match udp::View::new(&bytes) {
            None => prop_assert!(bytes.len() < 8),
            Some(view) => {
                if let Ok((source, destination, checksum)) = judged(&bytes[..8]) {
                    prop_assert_eq!(view.ports(), [source, destination]);
                    prop_assert_eq!(view.checksum(), checksum);
                }
                prop_assert_eq!(view.payload(), &bytes[8..]);
            }
        }
    }

    #[test]
    fn echoes_are_those_of_etherparse(
        kind in prop_oneof![Just(0u8), Just(8), Just(128), Just(129), any::<u8>()],
        behind in vec(any::<u8>(), 0..20),
    ) {
        let bytes = [[kind, 0].to_vec(), behind].concat();
        let Some(view) = icmp::View::new(&bytes) else {
            prop_assert!(bytes.len() < 8);
            return Ok(());
        };
        prop_assert_eq!((view.kind(), view.code()), (kind, 0));
        let v4 = Icmpv4Slice::from_slice(&bytes).ok().and_then(|slice| match slice.icmp_type() {
            Icmpv4Type::EchoRequest(it) => Some((it.id, it.seq, false)),
            Icmpv4Type::EchoReply(it) => Some((it.id, it.seq, true)),
            _ => None,
        });
        let slice = Icmpv6Slice::from_slice(&bytes).expect("it is long enough");
        let v6 = match slice.icmp_type() {
            Icmpv6Type::EchoRequest(it) => Some((it.id, it.seq, false)),
            Icmpv6Type::EchoReply(it) => Some((it.id, it.seq, true)),
            _ => None,
        };
        prop_assert_eq!(view.checksum(), slice.checksum());
        for (protocol, expected) in [(protocol::ICMP, v4), (protocol::ICMPV6, v6)] {
            let echo = view.echo(protocol).map(|it| (it.identifier, it.sequence, it.is_reply));
            prop_assert_eq!(echo, expected);
        }
        prop_assert_eq!(view.echo(protocol::TCP), None);
    }
}
