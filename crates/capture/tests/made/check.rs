//! Check sequences: computed where a header says that they are there.

use crate::feed::{AP, Feed, MS, beacon, checked, frame, radiotap};
use lasthop_capture::link::LinkType;

/// Flags of radiotap: FCS at the end; padding behind the MAC header.
const FCS: u8 = 0x10;
const PADDED: u8 = 0x20;

/// Damaged beacons create no networks and no stations; they are counted.
#[test]
fn damaged_frames_are_nobody() {
    let mut feed = Feed::new(LinkType::Radiotap);
    for n in 0..50u64 {
        let whole = checked(beacon(n as u16, n * 102_400, b"home"));
        feed.packet(n * 100 * MS, &radiotap(FCS, None, &whole));
        let mut damaged = whole;
        damaged[12 + n as usize % 20] ^= 1 << (n % 8);
        feed.packet(n * 100 * MS + MS, &radiotap(FCS, None, &damaged));
    }
    let document = feed.document();
    assert_eq!((document.networks.len(), document.strangers), (1, 0));
    assert_eq!((document.unused.bad_fcs, document.unused.without_fcs), (50, 0));
    assert_eq!(document.networks.values().next().unwrap().beacons, 50);
    assert!(document.errors.is_empty(), "{:?}", document.errors);
}

/// A receiver that pads headers has computed nothing over the padding.
#[test]
fn padding_is_not_checked() {
    let data = frame([0x88, 1], AP, [2, 0, 0, 0, 0, 2], 7, &[0, 0, 1, 2, 3, 4]);
    let whole = checked(data);
    let padded = [&whole[..26], &[0, 0], &whole[26..]].concat();
    let mut feed = Feed::new(LinkType::Radiotap);
    feed.packet(0, &radiotap(FCS | PADDED, None, &padded));
    let document = feed.document();
    assert_eq!((document.unused.bad_fcs, document.counts.qos_data), (0, 1));
    assert_eq!(document.networks.len(), 1);
}

/// A program has changed all frames and kept the old check sequences: after a hundred of them they
/// are ignored.
#[test]
fn what_never_fits_is_no_check_sequence() {
    let mut feed = Feed::new(LinkType::Radiotap);
    for n in 0..300u64 {
        let mut bytes = beacon(n as u16, n * 102_400, b"home");
        bytes.extend([1, 2, 3, 4]);
        feed.packet(n * 100 * MS, &radiotap(FCS, None, &bytes));
    }
    let document = feed.document();
    assert_eq!((document.unused.bad_fcs, document.unused.without_fcs), (100, 200));
    assert_eq!(document.networks.values().next().unwrap().beacons, 200);
}

/// Headers without information about a check sequence: Prism, AVS, none. The last bytes count as
/// one if they fit.
#[test]
fn what_fits_is_a_check_sequence() {
    let mut prism = [0x44u32.to_le_bytes(), 24u32.to_le_bytes()].concat();
    prism.extend([0; 16]);
    let mut avs = [0x8021_1001u32.to_be_bytes(), 64u32.to_be_bytes()].concat();
    avs.resize(64, 0);
    for (link, head) in
        [(LinkType::Prism, prism), (LinkType::Avs, avs), (LinkType::Ieee80211, vec![])]
    {
        let mut feed = Feed::new(link);
        let plain = frame([0x08, 1], AP, [2, 0, 0, 0, 0, 2], 7, &[9; 30]);
        feed.packet(0, &[&head[..], &plain].concat());
        feed.packet(
            MS,
            &[&head[..], &checked(frame([0x08, 1], AP, [2, 0, 0, 0, 0, 2], 8, &[9; 30]))].concat(),
        );
        feed.packet(2 * MS, &[&head[..], &checked(beacon(1, 1, b"x"))].concat());
        let document = feed.document();
        assert!(document.errors.is_empty(), "{link}: {:?}", document.errors);
        let network = document.networks.values().next().unwrap();
        let up = network.stations.values().next().unwrap().up.as_ref().unwrap();
        // Twice 30 bytes: the check sequence is none of them.
        assert_eq!((up.mpdus, up.payload_bytes), (2, 60), "{link}");
    }
}
