//! Multi-link devices: who belongs together, numbers that are used on several links, and an MPDU
//! that fails on one link and gets across on another.

use crate::feed::{BEGIN, GROUP, frame};
use lasthop_capture::analysis::Analysis;
use lasthop_capture::document::{CaptureDocument, DeviceSummary, DirectionSummary};
use lasthop_capture::file::Packet;
use lasthop_capture::link::LinkType;
use lasthop_units::{Dbm, Duration, Instant, MacAddr, SeqNo12};
use lasthop_wifi_phy::Band;
use lasthop_wifi_wire::elements::{
    BasicMultiLink, EhtOperation, EmlCapabilities, MldParameters, MultiLink, NeighborChannel,
    ReducedNeighborReport, StationProfile, TbttInfo,
};
use lasthop_wifi_wire::radiotap::{AmpduStatus, Channel, EhtParameters, Repr};
use lasthop_wifi_wire::{Flags, control, frame};

const AP_DEVICE: MacAddr = MacAddr([2, 0, 0, 0, 1, 0]);
const DEVICE: MacAddr = MacAddr([2, 0, 0, 0, 2, 0]);
/// Access point and station on links 0 and 1.
const LINKS: [([u8; 6], [u8; 6]); 2] =
    [([2, 0, 0, 0, 1, 1], [2, 0, 0, 0, 2, 1]), ([2, 0, 0, 0, 1, 2], [2, 0, 0, 0, 2, 2])];

struct Air {
    analysis: Analysis,
    number: u64,
    /// Whether each link has an interface.
    apart: bool,
    /// Interface of all frames, if it is chosen.
    interface: Option<u32>,
}

const RATE: EhtParameters =
    EhtParameters { mcs: 13, streams: 2, width_mhz: 320, guard_interval_ns: 800, ltf_size: 2 };

impl Air {
    fn new(apart: bool) -> Self {
        Self { analysis: Analysis::default(), number: 0, apart, interface: None }
    }

    fn header(link: usize, parameters: EhtParameters) -> Repr {
        let (band, number) = [(Band::Ghz6, 31), (Band::Ghz5, 36)][link];
        let channel = Channel::from_number(band, number);
        let header = Repr::received_eht(Instant::ZERO, parameters, channel, Dbm(-50.0));
        Repr { tsft_us: None, flags: None, ..header }
    }

    fn sent(&mut self, at_us: u64, link: usize, header: &Repr, mpdu: &[u8]) {
        let mut bytes = vec![];
        header.emit(&mut bytes);
        bytes.extend_from_slice(mpdu);
        self.number += 1;
        self.analysis.handle_packet(&Packet {
            number: self.number,
            offset: 0,
            interface: self.interface.unwrap_or(if self.apart { link as u32 } else { 0 }),
            link: LinkType::Radiotap,
            at_ns: Some(BEGIN + at_us * 1_000),
            bytes: &bytes,
            length: bytes.len() as u32,
            fcs_bytes: None,
        });
    }

    /// An A-MPDU of one MPDU to the station on a link.
    fn data(&mut self, at_us: u64, link: usize, number: u16, retry: bool) {
        let (ap, station) = LINKS[link];
        let flags = 0x42 | if retry { 0x08 } else { 0 };
        let mut body = vec![0, 0];
        body.extend([0x55; 100]);
        let mut header = Self::header(link, RATE);
        header.ampdu_status = Some(AmpduStatus::new(self.number as u32 + 1, true));
        self.sent(at_us, link, &header, &frame([0x88, flags], station, ap, number, &body));
    }

    fn block_ack(&mut self, at_us: u64, link: usize, start: u16, bits: u64) {
        let (ap, station) = LINKS[link];
        let bitmap = bits.to_le_bytes();
        let ack = control::BlockAck::compressed(0, SeqNo12::new(start), &bitmap);
        let repr = control::Repr {
            flags: Flags::default(),
            duration_id: 0,
            receiver: MacAddr(ap),
            body: control::Body::BlockAck { transmitter: MacAddr(station), ack },
        };
        let mut mpdu = frame::Repr::from(repr).to_mpdu();
        mpdu.truncate(mpdu.len() - 4);
        let legacy =
            Repr { u_sig: None, eht: None, rate_500kbps: Some(48), ..Self::header(link, RATE) };
        self.sent(at_us, link, &legacy, &mpdu);
    }

    /// Beacons of both access points.
    fn beacons(&mut self) {
        for (link, (ap, _)) in LINKS.into_iter().enumerate() {
            let mut body = 102_400_u64.to_le_bytes().to_vec();
            body.extend([100, 0, 1, 0, 0, 4]);
            body.extend(b"home");
            let basic = BasicMultiLink {
                address: AP_DEVICE,
                link_id: Some(link as u8),
                change_count: Some(0),
                ..BasicMultiLink::default()
            };
            MultiLink::basic(basic, &[]).emit(&mut body);
            if link == 0 {
                EhtOperation::of_width(320, 31, 31, 0x00c0).emit(&mut body);
                let other = TbttInfo {
                    bssid: Some(MacAddr(LINKS[1].0)),
                    mld: Some(MldParameters { link_id: 1, ..MldParameters::default() }),
                    ..TbttInfo::default()
                };
                let mut fields = vec![];
                NeighborChannel::emit(115, 36, &[other], &mut fields);
                ReducedNeighborReport::emit(&fields, &mut body).unwrap();
            }
            let mut beacon = frame([0x80, 0], GROUP, ap, 1, &body);
            beacon[16..22].copy_from_slice(&ap);
            let header = Self::header(link, RATE);
            let legacy = Repr { u_sig: None, eht: None, rate_500kbps: Some(12), ..header };
            self.sent(1_000 * link as u64, link, &legacy, &beacon);
        }
    }

    fn request(&mut self, ap: [u8; 6], station: [u8; 6], body: &[u8]) {
        let mut request = frame([0, 0], ap, station, 1, body);
        request[16..22].copy_from_slice(&ap);
        let legacy =
            Repr { u_sig: None, eht: None, rate_500kbps: Some(12), ..Self::header(0, RATE) };
        self.sent(3_000, 0, &legacy, &request);
    }

    /// Beacons of both access points, and the association of the station on link 0.
    fn introduce(&mut self) {
        self.beacons();
        let (ap, station) = LINKS[0];
        let us = Duration::from_micros;
        let basic = BasicMultiLink {
            address: DEVICE,
            eml: Some(EmlCapabilities::emlsr(us(64), us(128), us(0))),
            ..BasicMultiLink::default()
        };
        let mut links = vec![];
        let address = Some(MacAddr(LINKS[1].1));
        StationProfile { link_id: 1, complete: true, address, ..StationProfile::default() }
            .emit(&mut links);
        let mut body = vec![1, 0, 5, 0, 0, 4];
        body.extend(b"home");
        MultiLink::basic(basic, &links).emit(&mut body);
        self.request(ap, station, &body);
    }

    fn document(mut self) -> CaptureDocument {
        self.analysis.finish();
        CaptureDocument::new("-", &self.analysis).with_interfaces(&self.analysis)
    }
}

fn text(address: [u8; 6]) -> String {
    MacAddr(address).to_string()
}

#[test]
fn the_links_of_devices_are_named_together() {
    for apart in [false, true] {
        let mut air = Air::new(apart);
        air.introduce();
        let document = air.document();
        assert_eq!(document.errors, []);
        assert_eq!(document.devices.len(), 2);
        let ap = &document.devices[&AP_DEVICE.to_string()];
        let station = &document.devices[&DEVICE.to_string()];
        assert!(ap.access_point && !station.access_point && ap.emlsr.is_none());
        let ids = |device: &DeviceSummary| {
            device.links.iter().map(|(link, it)| (link.clone(), it.link_id)).collect::<Vec<_>>()
        };
        assert_eq!(ids(ap), [(text(LINKS[0].0), Some(0)), (text(LINKS[1].0), Some(1))]);
        assert_eq!(ids(station), [(text(LINKS[0].1), None), (text(LINKS[1].1), Some(1))]);
        let emlsr = station.emlsr.as_ref().unwrap();
        assert_eq!((emlsr.padding_us, emlsr.transition_us), (Some(64), Some(128)));
        let network = &document.networks[&text(LINKS[0].0)];
        assert_eq!(network.width_mhz, Some(320));
        assert_eq!(network.punctured, [6, 7]);
        assert_eq!(document.counts.eht, 0);
    }
}

/// Numbers that alternate between two links, with a monitor on each that hears no answers: nothing
/// was missed. Between single-link stations, each second number was.
#[test]
fn numbers_on_another_link_are_not_missed() {
    for (known, captured) in [(true, 1.0), (false, 0.5)] {
        let mut air = Air::new(true);
        if known {
            air.introduce();
        }
        for number in 0..200_u16 {
            air.data(10_000 + u64::from(number) * 1_000, usize::from(number % 2), number, false);
        }
        let document = air.document();
        let (ap, station) = LINKS[0];
        let down = document.networks[&text(ap)].stations[&text(station)].down.as_ref().unwrap();
        assert_eq!((down.mpdus, down.mpdus_missed), (100, 0));
        assert!((down.captured - captured).abs() < 0.01, "{}", down.captured);
    }
}

/// An MPDU fails on link 0, and is sent again on link 1, where it gets across: one chain of two
/// attempts, which is acknowledged. Between single-link stations, it would be lost. One interface
/// captures both links, or each one.
#[test]
fn an_mpdu_that_fails_on_one_link_gets_across_on_another() {
    for apart in [false, true] {
        let document = failing(false, apart);
        let [lost, _] = downlinks(&document);
        assert_eq!((lost.chains, lost.acknowledged), (300, 0.666667));
        assert!(document.devices.is_empty());
        let document = failing(true, apart);
        let [first, second] = downlinks(&document);
        assert_eq!((first.mpdus, second.mpdus), (300, 100));
        assert_eq!((first.chains, second.chains), (300, 100));
        assert_eq!((first.mpdus_acknowledged, second.mpdus_acknowledged), (200, 100));
        assert_eq!(first.mpdus_missed + second.mpdus_missed, 0);
        assert_eq!((first.captured, second.captured), (1.0, 1.0));
        // Each body once.
        assert_eq!(second.payload_bytes, 0);
        let data = &document.devices[&AP_DEVICE.to_string()].to[&DEVICE.to_string()];
        assert_eq!((data.chains, data.acknowledged), (300, 1.0), "{apart}");
        assert_eq!(data.attempts, [200, 100]);
        assert_eq!(data.payload_bytes, first.payload_bytes);
        let links = LINKS.map(|(ap, _)| &data.links[&text(ap)]);
        assert_eq!(links.map(|link| link.interface), [0, u32::from(apart)]);
        assert_eq!(links.map(|link| link.to.clone()), LINKS.map(|(_, to)| text(to)));
        assert_eq!(links.map(|link| (link.taken_over, link.delivered)), [(0, 200), (100, 100)]);
        assert_eq!(links.map(|link| link.share), [0.666667, 0.333333]);
        // The next MPDU is sent after all attempts of one.
        assert_eq!(links.map(|link| link.reordered), [0, 0]);
    }
}

/// The answer to an A-MPDU on link 0 comes 600 us after that to the next numbers on link 1: these
/// wait.
#[test]
fn mpdus_wait_for_earlier_ones_of_another_link() {
    for apart in [false, true] {
        let mut air = Air::new(apart);
        air.introduce();
        let mut at_us = 10_000;
        for number in (0..100_u16).map(|n| 2 * n) {
            air.data(at_us, 0, number, false);
            air.data(at_us + 100, 1, number + 1, false);
            air.block_ack(at_us + 200, 1, number + 1, 1);
            air.block_ack(at_us + 800, 0, number, 1);
            at_us += 2_000;
        }
        let document = air.document();
        let data = &document.devices[&AP_DEVICE.to_string()].to[&DEVICE.to_string()];
        let links = LINKS.map(|(ap, _)| &data.links[&text(ap)]);
        // With an interface for each link, the first PPDU of link 0 ends after the first answer.
        let reordered = 100 - u64::from(apart);
        assert_eq!(
            links.map(|link| (link.delivered, link.reordered)),
            [(100, 0), (100, reordered)]
        );
        assert_eq!(links[0].reorder_ms, [0.0, 0.0]);
        assert_eq!(links[1].reorder_ms, [0.006 * reordered as f64, 0.6]);
        assert_eq!((data.chains, data.acknowledged, &data.attempts[..]), (200, 1.0, &[200][..]));
    }
}

/// Link 0 sends an A-MPDU whose Block Ack is lost, and is idle. Its MPDU comes again on link 1, before
/// the next frame on link 0: the retry is the second attempt.
#[test]
fn a_retry_on_another_link_ends_the_ppdu_before_it() {
    let mut air = Air::new(true);
    air.introduce();
    for number in 0..50_u16 {
        let at_us = 10_000 + 1_000 * u64::from(number);
        air.data(at_us, 0, number, false);
        air.data(at_us + 300, 1, number, true);
        air.block_ack(at_us + 500, 1, number, 1);
    }
    let document = air.document();
    let data = &document.devices[&AP_DEVICE.to_string()].to[&DEVICE.to_string()];
    assert_eq!((data.chains, data.acknowledged, &data.attempts[..]), (50, 1.0, &[0, 50][..]));
    let [_, second] = LINKS.map(|(ap, _)| &data.links[&text(ap)]);
    assert_eq!((second.taken_over, second.delivered), (50, 50));
}

/// Two interfaces capture the same link: the second has its own numbers, and no attempt counts twice.
#[test]
fn a_link_that_two_interfaces_capture_counts_once() {
    let mut air = Air::new(false);
    air.introduce();
    for number in 0..50_u16 {
        let at_us = 10_000 + 1_000 * u64::from(number);
        for copy in 0..2 {
            air.interface = Some(copy);
            air.data(at_us + u64::from(copy), 0, number, false);
            air.block_ack(at_us + 200 + u64::from(copy), 0, number, 1);
        }
    }
    let document = air.document();
    let data = &document.devices[&AP_DEVICE.to_string()].to[&DEVICE.to_string()];
    assert_eq!((data.chains, &data.attempts[..]), (50, &[50][..]));
    let (ap, station) = LINKS[0];
    let copy = &document.interfaces[1].networks[&text(ap)].stations[&text(station)];
    let copy = copy.down.as_ref().unwrap();
    assert_eq!((copy.chains, &copy.attempts[..], copy.mpdus_missed), (50, &[50][..], 0));
}

/// A station whose association was not captured is named; one that associated with a single link is
/// not, and its gaps are missed MPDUs.
#[test]
fn stations_without_an_association_are_named() {
    for (associated, captured) in [(false, 1.0), (true, 0.5)] {
        let mut air = Air::new(true);
        air.beacons();
        let (ap, station) = LINKS[0];
        if associated {
            let mut body = vec![1, 0, 5, 0, 0, 4];
            body.extend(b"home");
            air.request(ap, station, &body);
        }
        for number in 0..200_u16 {
            air.data(10_000 + u64::from(number) * 1_000, 0, 2 * number, false);
        }
        let document = air.document();
        let named = document.unknown.iter().find(|it| it.contains("No association was captured"));
        assert_eq!(named.is_some(), !associated, "{:?}", document.unknown);
        assert!(named.is_none_or(|it| it.contains(&text(station))));
        let down = document.networks[&text(ap)].stations[&text(station)].down.as_ref().unwrap();
        assert!((down.captured - captured).abs() < 0.01, "{}", down.captured);
    }
}

fn downlinks(document: &CaptureDocument) -> [DirectionSummary; 2] {
    let interfaces = document.interfaces.iter().map(|it| &it.networks);
    let networks: Vec<_> = std::iter::once(&document.networks).chain(interfaces).collect();
    LINKS.map(|(ap, station)| {
        let network = networks.iter().find_map(|it| it.get(&text(ap))).unwrap();
        network.stations[&text(station)].down.clone().unwrap()
    })
}

fn failing(known: bool, apart: bool) -> CaptureDocument {
    let mut air = Air::new(apart);
    if known {
        air.introduce();
    }
    let mut at_us = 10_000;
    for number in 0..300_u16 {
        let fails = number % 3 == 0;
        air.data(at_us, 0, number, false);
        air.block_ack(at_us + 200, 0, number, u64::from(!fails));
        if fails {
            air.data(at_us + 500, 1, number, true);
            air.block_ack(at_us + 700, 1, number, 1);
        }
        at_us += 1_000;
    }
    air.document()
}

/// PPDUs of 320 MHz, whole and punctured: rate, width and time on the air in closed form.
#[test]
fn rates_of_eht_have_their_width_and_time() {
    let mut air = Air::new(false);
    air.introduce();
    air.data(10_000, 0, 1, false);
    air.block_ack(10_200, 0, 1, 1);
    let (ap, station) = LINKS[0];
    let mut header = Air::header(0, RATE);
    header.u_sig = header.u_sig.unwrap().with_punctured(0xf000);
    let mpdu = frame([0x88, 0x42], station, ap, 2, &[0; 10]);
    air.sent(11_000, 0, &header, &mpdu);
    let header = Air::header(0, EhtParameters { mcs: 15, streams: 1, width_mhz: 20, ..RATE });
    air.sent(12_000, 0, &header, &frame([0x88, 0x42], station, ap, 3, &[0; 10]));
    let document = air.document();
    assert_eq!(document.counts.eht, 3);
    let down = document.networks[&text(ap)].stations[&text(station)].down.clone().unwrap();
    let rates: Vec<_> = down.rates.iter().map(|(name, it)| (name.as_str(), it.mbps)).collect();
    // 4 x 980 (3 x 980) subcarriers, 12 bits at 5/6, two streams, in 13.6 us; half of 234 with BPSK
    // at 1/2.
    assert_eq!(
        rates,
        [
            ("EHT MCS 13 x2 240MHz 800ns", 4323.529),
            ("EHT MCS 13 x2 320MHz 800ns", 5764.705),
            ("EHT MCS 15 x1 20MHz 800ns", 4.264),
        ]
    );
    let rate = lasthop_capture::rate::Rate {
        format: lasthop_capture::rate::Format::Eht,
        kbps: 5_764_705,
        mcs: 13,
        streams: 2,
        width_mhz: 320,
        guard_ns: 800,
        short_preamble: false,
    };
    // L-SIG to U-SIG 32 us, two symbols of EHT-SIG, STF, two LTFs of 7.2 us.
    assert_eq!(rate.preamble(Band::Ghz6), Duration::from_nanos(32_000 + 8_000 + 4_000 + 14_400));
}
