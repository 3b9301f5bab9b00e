//! Frames written octet by octet from the tables of IEEE 802.11-2020, and changed at random.

use super::*;
use lasthop_wifi_wire::fcs;
use proptest::prelude::*;

/// Version 0, 9 octets, flags are there.
const PLAIN: [u8; 9] = [0, 0, 9, 0, 2, 0, 0, 0, 0];
const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xa]);
const POINT: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xb]);
const OTHER: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xc]);
const OWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xd]);
/// LLC and SNAP of RFC 1042, and the EtherType for local experiments.
const SNAP: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0xb5];
const RETRY: u8 = 0x08;
const PROTECTED: u8 = 0x40;
const MORE_FRAGMENTS: u8 = 0x04;

/// An MSDU with a datagram.
fn msdu(datagram: &[u8]) -> Vec<u8> {
    [&SNAP[..], &(datagram.len() as u16).to_be_bytes(), datagram].concat()
}

/// A frame: subtype, second octet of Frame Control, addresses 1 to 3, sequence control, the fields
/// between it and the body, body.
struct Frame<'a> {
    subtype: u8,
    flags: u8,
    addresses: [MacAddr; 3],
    sequence: u16,
    more: &'a [u8],
    body: Vec<u8>,
}

impl Frame<'_> {
    fn mpdu(&self) -> Vec<u8> {
        let [one, two, three] = self.addresses.map(|address| address.0);
        let head = [self.subtype << 4 | 8, self.flags, 44, 0];
        let sequence = self.sequence.to_le_bytes();
        [&head[..], &one, &two, &three, &sequence, self.more, &self.body].concat()
    }

    /// Behind a plain radiotap header.
    fn captured(&self) -> Vec<u8> {
        [&PLAIN[..], &self.mpdu()].concat()
    }

    /// With the FCS, and radiotap's flag for it.
    fn captured_with_fcs(&self) -> Vec<u8> {
        let (mut header, mpdu) = (PLAIN, self.mpdu());
        header[8] = 0x10;
        [&header[..], &mpdu, &fcs::compute(&mpdu).to_le_bytes()].concat()
    }
}

/// From a station to its access point, and on to another station, without QoS.
fn to_ds() -> Frame<'static> {
    Frame {
        subtype: 0,
        flags: 1,
        addresses: [POINT, STATION, OTHER],
        sequence: 7 << 4,
        more: &[],
        body: msdu(b"datagram"),
    }
}

type Taken = Vec<(MacAddr, Vec<u8>)>;

fn take_with(monitor: &mut Monitor, captured: &[u8]) -> Taken {
    let mut taken = Vec::new();
    monitor.take(Instant::ZERO, Some(OWN), captured, &mut |from, datagram| {
        taken.push((from, datagram.to_vec()));
    });
    taken
}

fn take(captured: &[u8]) -> (Taken, MonitorCounts) {
    let mut monitor = Monitor::default();
    let taken = take_with(&mut monitor, captured);
    (taken, monitor.counts())
}

fn one(from: MacAddr) -> (Taken, MonitorCounts) {
    (vec![(from, b"datagram".to_vec())], MonitorCounts { datagrams: 1, ..MonitorCounts::default() })
}

fn none(counts: MonitorCounts) -> (Taken, MonitorCounts) {
    (Vec::new(), counts)
}

const NOTHING: MonitorCounts = MonitorCounts {
    datagrams: 0,
    retries: 0,
    bad_fcs: 0,
    protected: 0,
    fragments: 0,
    malformed: 0,
};

/// Table 9-30: the sender by the DS bits; the QoS Control, HT Control and fourth address that a
/// header may have.
#[test]
fn every_kind_of_header_gives_sender_and_datagram() {
    let fourth = [2, 0, 0, 0, 0, 0xe];
    let qos = [5, 0];
    let frame =
        |subtype, flags, addresses, more| Frame { subtype, flags, addresses, more, ..to_ds() };
    let relayed_qos = [&fourth[..], &qos].concat();
    let with_ht = [&qos[..], &[1, 2, 3, 4]].concat();
    for (frame, from) in [
        (frame(0, 0, [STATION, OTHER, POINT], &[]), OTHER),
        (frame(0, 1, [POINT, STATION, OTHER], &[]), STATION),
        (frame(0, 2, [STATION, POINT, OTHER], &[]), OTHER),
        (frame(0, 3, [POINT, STATION, OTHER], &fourth), MacAddr(fourth)),
        (frame(8, 0, [STATION, OTHER, POINT], &qos), OTHER),
        (frame(8, 1, [POINT, STATION, OTHER], &qos), STATION),
        (frame(8, 2, [STATION, POINT, OTHER], &qos), OTHER),
        (frame(8, 3, [POINT, STATION, OTHER], &relayed_qos), MacAddr(fourth)),
        (frame(8, 0x81, [POINT, STATION, OTHER], &with_ht), STATION),
        // To a group, as to a neighbour whose address is not known.
        (frame(0, 2, [MacAddr::BROADCAST, POINT, OTHER], &[]), OTHER),
    ] {
        assert_eq!(take(&frame.captured()), one(from), "{:?}", frame.addresses);
        assert_eq!(take(&frame.captured_with_fcs()), one(from), "{:?}", frame.addresses);
    }
}

/// ath9k and others pad the header to four octets, with a flag for it.
#[test]
fn a_padded_header_is_read() {
    let frame = Frame { subtype: 8, more: &[0, 0], ..to_ds() };
    let mut mpdu = frame.mpdu();
    mpdu.splice(26..26, [0, 0]);
    let mut header = PLAIN;
    header[8] = 0x20;
    assert_eq!(take(&[&header[..], &mpdu].concat()), one(STATION));
}

/// A datagram with bytes behind it, and its length before it.
#[test]
fn a_datagram_is_as_long_as_it_says() {
    let mut frame = to_ds();
    frame.body.extend([0; 30]);
    assert_eq!(take(&frame.captured()), one(STATION));
    frame.body = msdu(b"");
    assert_eq!(take(&frame.captured()).0, [(STATION, Vec::new())]);
    frame.body = msdu(b"datagram");
    frame.body.pop();
    assert_eq!(take(&frame.captured()), none(MonitorCounts { malformed: 1, ..NOTHING }));
}

#[test]
fn what_is_damaged_is_left_out() {
    let damaged = none(MonitorCounts { bad_fcs: 1, ..NOTHING });
    let mut flagged = to_ds().captured();
    flagged[8] = 0x40;
    assert_eq!(take(&flagged), damaged);
    let good = to_ds().captured_with_fcs();
    // Every bit behind those that say what kind of frame this is.
    for bit in (PLAIN.len() + 2) * 8..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(take(&bad), damaged, "{bit}");
    }
}

#[test]
fn what_is_for_others_or_nobody_is_left_out() {
    let body = |body: Vec<u8>| Frame { body, ..to_ds() };
    let snap = |at: usize, value: u8| {
        let mut msdu = msdu(b"datagram");
        msdu[at] = value;
        body(msdu)
    };
    let addresses = |addresses| Frame { addresses, ..to_ds() };
    for (why, frame) in [
        ("another EtherType", snap(7, 0xb6)),
        ("the OUI of 802.1H", snap(5, 0xf8)),
        ("LLC without SNAP", snap(0, 0x42)),
        ("an empty body", body(Vec::new())),
        ("a Null frame", Frame { subtype: 4, ..to_ds() }),
        ("a QoS Null frame", Frame { subtype: 12, more: &[0, 0], ..to_ds() }),
        ("CF-Ack", Frame { subtype: 1, ..to_ds() }),
        ("to the own interface", addresses([OWN, STATION, OTHER])),
        ("sent by it", addresses([POINT, OWN, OTHER])),
        ("sent by it, and passed on", Frame { flags: 2, ..addresses([STATION, POINT, OWN]) }),
    ] {
        assert_eq!(take(&frame.captured()), none(NOTHING), "{why}");
    }
    // Beacons, acknowledgements.
    for first in [0x80, 0xd4] {
        let mut captured = to_ds().captured();
        captured[PLAIN.len()] = first;
        assert_eq!(take(&captured), none(NOTHING));
    }
    // No frame at all behind the header (radiotap's bit 26).
    let empty = [0, 0, 9, 0, 0, 0, 0, 4, 0];
    assert_eq!(take(&[&empty[..], &to_ds().mpdu()].concat()), none(NOTHING));
}

#[test]
fn what_cannot_be_read_is_counted() {
    let protected = Frame { flags: 1 | PROTECTED, ..to_ds() };
    let fragment = Frame { flags: 1 | MORE_FRAGMENTS, ..to_ds() };
    let last = Frame { sequence: 7 << 4 | 1, ..to_ds() };
    let group = Frame { addresses: [POINT, MacAddr::BROADCAST, OTHER], ..to_ds() };
    for (frame, counts) in [
        (protected, MonitorCounts { protected: 1, ..NOTHING }),
        (fragment, MonitorCounts { fragments: 1, ..NOTHING }),
        (last, MonitorCounts { fragments: 1, ..NOTHING }),
        (group, MonitorCounts { malformed: 1, ..NOTHING }),
    ] {
        assert_eq!(take(&frame.captured()), none(counts));
        assert_eq!(take(&frame.captured_with_fcs()), none(counts));
    }
    for bad in [&[][..], &[0; 8], &[1, 0, 8, 0, 0, 0, 0, 0], &PLAIN] {
        assert_eq!(take(bad), none(MonitorCounts { malformed: 1, ..NOTHING }), "{bad:?}");
    }
}

/// DA, SA, length and MSDU, padded to four octets (9.3.2.2.2).
fn subframe(source: MacAddr, msdu: &[u8]) -> Vec<u8> {
    let mut subframe = [&OTHER.0[..], &source.0, &(msdu.len() as u16).to_be_bytes(), msdu].concat();
    subframe.resize(subframe.len().next_multiple_of(4), 0);
    subframe
}

fn amsdu(subframes: &[Vec<u8>]) -> Frame<'static> {
    let addresses = [POINT, STATION, POINT];
    Frame { subtype: 8, more: &[0x80, 0], addresses, body: subframes.concat(), ..to_ds() }
}

#[test]
fn an_amsdu_is_split() {
    let other = [&SNAP[..6], &[8, 0, 1, 2, 3]].concat();
    let [two, three] = [b"two", b"333"].map(|datagram| msdu(datagram));
    let mut all = amsdu(&[
        subframe(STATION, &msdu(b"datagram")),
        subframe(STATION, &other),
        subframe(OWN, &two),
        subframe(OTHER, &three),
    ]);
    let expected = vec![(STATION, b"datagram".to_vec()), (OTHER, b"333".to_vec())];
    let counts = MonitorCounts { datagrams: 2, ..NOTHING };
    assert_eq!(take(&all.captured()), (expected.clone(), counts));
    assert_eq!(take(&all.captured_with_fcs()), (expected, counts));
    // The last one is cut: those before it are taken.
    all.body.truncate(all.body.len() - 4);
    let counts = MonitorCounts { malformed: 1, datagrams: 1, ..NOTHING };
    assert_eq!(take(&all.captured()), (vec![(STATION, b"datagram".to_vec())], counts));
    // Without the flag it is no MSDU.
    all.more = &[0, 0];
    assert_eq!(take(&all.captured()), none(NOTHING));
}

#[test]
fn retransmissions_are_left_out_but_not_those_to_groups_or_of_others() {
    let mut monitor = Monitor::default();
    let mut count = |frame: &Frame<'_>| take_with(&mut monitor, &frame.captured()).len();
    let first = to_ds();
    let again = Frame { flags: 1 | RETRY, ..to_ds() };
    assert_eq!([count(&first), count(&again), count(&again)], [1, 0, 0]);
    let next = Frame { sequence: 8 << 4, flags: 1 | RETRY, ..to_ds() };
    assert_eq!([count(&next), count(&next)], [1, 0]);
    // The same number: of a TID, of the access point that passes the datagram on, to a group.
    let qos = Frame { subtype: 8, more: &[3, 0], flags: 1 | RETRY, ..to_ds() };
    let passed = Frame { flags: 2 | RETRY, addresses: [OTHER, POINT, STATION], ..to_ds() };
    let group = Frame { flags: 2, addresses: [MacAddr::BROADCAST, STATION, OTHER], ..to_ds() };
    assert_eq!([count(&qos), count(&passed), count(&group), count(&group)], [1, 1, 1, 1]);
    // All of an A-MSDU, not its later subframes.
    let two = [subframe(STATION, &msdu(b"one")), subframe(STATION, &msdu(b"two"))];
    let amsdu = Frame { sequence: 9 << 4, flags: 1 | RETRY, ..amsdu(&two) };
    assert_eq!([count(&amsdu), count(&amsdu)], [2, 0]);
    assert_eq!(monitor.counts().retries, 4);
}

/// Others' frames neither take a place among the transmitters nor make a number known.
#[test]
fn frames_of_other_protocols_are_no_transmissions_of_the_link() {
    let mut monitor = Monitor::default();
    let other = Frame { body: vec![0xaa; 30], ..to_ds() };
    take_with(&mut monitor, &other.captured());
    let again = Frame { flags: 1 | RETRY, ..to_ds() };
    assert_eq!(take_with(&mut monitor, &again.captured()).len(), 1);
}

proptest! {
    /// Any bytes: no panic, no datagram that is not in the bytes, one count a frame.
    #[test]
    fn anything_is_read(captured in prop::collection::vec(any::<u8>(), 0..200)) {
        let (taken, counts) = take(&captured);
        for (_, datagram) in taken {
            prop_assert!(captured.windows(datagram.len().max(1)).any(|found| found == datagram)
                || datagram.is_empty());
        }
        let MonitorCounts { retries, bad_fcs, protected, fragments, malformed, .. } = counts;
        prop_assert!(retries + bad_fcs + protected + fragments + malformed <= 1);
    }

    /// A frame that is cut anywhere gives no datagrams, or with an A-MSDU the whole ones.
    #[test]
    fn a_cut_frame_gives_only_whole_datagrams(
        datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..5),
        cut in 0.0..1.0,
    ) {
        let subframes: Vec<_> = datagrams.iter().map(|d| subframe(STATION, &msdu(d))).collect();
        let captured = amsdu(&subframes).captured();
        let (taken, _) = take(&captured);
        prop_assert_eq!(taken.iter().map(|(_, d)| d).collect::<Vec<_>>(), datagrams.iter().collect::<Vec<_>>());
        let (taken, _) = take(&captured[..(cut * captured.len() as f64) as usize]);
        prop_assert!(taken.len() <= datagrams.len());
        for ((_, taken), sent) in taken.iter().zip(&datagrams) {
            prop_assert_eq!(taken, sent);
        }
    }
}
