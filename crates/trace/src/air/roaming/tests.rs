//! Frames of roaming: lengths against `mac::roam::frame`, and fields against tshark, which skips
//! with a message where it is not installed.

use super::*;
use lasthop_units::{Duration, SeqNo12};
use lasthop_wifi::capabilities::Generation;
use lasthop_wifi::mac::rate::RateSet;
use lasthop_wifi::mac::roam::frame::Protection;
use lasthop_wifi::phy::{HeGuardInterval, OfdmRate, Rate};
use lasthop_wifi::wire::Flags;
use lasthop_wifi::wire::frame::{Layout, Repr, View};
use std::io::Write;
use std::process::{Command, Stdio};

const AP: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
const NEXT: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);
const NEIGHBOURS: [(MacAddr, u8); 2] = [(NEXT, 36), (MacAddr([2, 0, 0, 0, 0, 10]), 44)];
const SECURITIES: [Security; 5] =
    [Security::Open, Security::Psk, Security::Sae, Security::FtPsk, Security::FtSae];

fn info(band: Band, channel: u8, rates: Vec<Rate>) -> AirInfo {
    let ofdm = [OfdmRate::Mbps6, OfdmRate::Mbps12, OfdmRate::Mbps24];
    AirInfo {
        band,
        channel,
        channels: Vec::new(),
        ssid: "lasthop".into(),
        beacon_interval: Duration::from_micros(102_400),
        basic_rates: ofdm.map(Rate::Ofdm).to_vec(),
        rates,
        colour: 0,
        links: Vec::new(),
        devices: Vec::new(),
        roams: false,
        networks: Vec::new(),
        amsdu: false,
    }
}

/// Networks of each generation, band and width.
fn networks() -> Vec<(AirInfo, Generation, ChannelWidth)> {
    use ChannelWidth::{Mhz20, Mhz40, Mhz80, Mhz160, Mhz320};
    let he = |width| RateSet::he(2, width, HeGuardInterval::Ns800Ltf2x).rates;
    let eht = |width| RateSet::eht(2, width, HeGuardInterval::Ns800Ltf2x).rates;
    let ofdm = OfdmRate::ALL.map(Rate::Ofdm).to_vec();
    vec![
        (info(Band::Ghz5, 36, ofdm.clone()), Generation::NonHt, Mhz20),
        (info(Band::Ghz2_4, 6, RateSet::ht(2, Mhz20, true).rates), Generation::Ht, Mhz20),
        (info(Band::Ghz5, 36, RateSet::ht(2, Mhz40, true).rates), Generation::Ht, Mhz40),
        (info(Band::Ghz5, 36, RateSet::vht(2, Mhz80, true).rates), Generation::Vht, Mhz80),
        (info(Band::Ghz5, 36, RateSet::vht(2, Mhz160, true).rates), Generation::Vht, Mhz160),
        (info(Band::Ghz2_4, 6, he(Mhz20)), Generation::He, Mhz20),
        (info(Band::Ghz5, 36, he(Mhz80)), Generation::He, Mhz80),
        (info(Band::Ghz5, 36, he(Mhz160)), Generation::He, Mhz160),
        (info(Band::Ghz6, 37, he(Mhz80)), Generation::He, Mhz80),
        (info(Band::Ghz2_4, 6, eht(Mhz20)), Generation::Eht, Mhz20),
        (info(Band::Ghz5, 36, eht(Mhz160)), Generation::Eht, Mhz160),
        (info(Band::Ghz6, 37, eht(Mhz20)), Generation::Eht, Mhz20),
        (info(Band::Ghz6, 37, eht(Mhz320)), Generation::Eht, Mhz320),
    ]
}

fn facts(network: &(AirInfo, Generation, ChannelWidth), security: Security) -> JoinFacts {
    let (info, generation, width) = network;
    JoinFacts {
        security,
        ssid_octets: info.ssid.len() as u8,
        rates: rate_octets(info).len() as u8,
        generation: *generation,
        band: info.band,
        width: *width,
        qos: true,
        radio_measurement: true,
        bss_transition: true,
        neighbours: NEIGHBOURS.len() as u8,
        keyed: false,
        fast: security.has_fast_transitions(),
        cached: false,
    }
}

fn contents(info: &AirInfo, facts: JoinFacts) -> RoamContents<'_> {
    RoamContents {
        info,
        facts,
        aid: 5,
        current: AP,
        target: NEXT,
        neighbours: &NEIGHBOURS[..usize::from(facts.neighbours)],
        switch: ChannelSwitch { mode: 1, channel: 44, count: 3 },
    }
}

/// Every kind of frame.
fn frames() -> Vec<RoamFrame> {
    let mut frames = vec![];
    for status in [0, 1, 30, 53, 76, 77, 126] {
        let algorithms = [
            (AuthenticationAlgorithm::Open, 1),
            (AuthenticationAlgorithm::Open, 2),
            (AuthenticationAlgorithm::SaeCommit, 1),
            (AuthenticationAlgorithm::SaeConfirm, 2),
            (AuthenticationAlgorithm::Ft, 1),
            (AuthenticationAlgorithm::Ft, 2),
        ];
        for (algorithm, sequence) in algorithms {
            frames.push(RoamFrame::Authentication { algorithm, sequence, status });
        }
        for again in [false, true] {
            frames.push(RoamFrame::AssociationResponse { again, status });
        }
        frames.push(RoamFrame::FtResponse { status });
        frames.push(RoamFrame::TransitionResponse { status: status as u8 });
    }
    frames.extend((1..=4).map(|message| RoamFrame::Handshake { message }));
    frames.extend([false, true].map(|again| RoamFrame::AssociationRequest { again }));
    frames.extend([
        RoamFrame::Deauthentication { reason: 3 },
        RoamFrame::Disassociation { reason: 8 },
        RoamFrame::NeighborReportRequest,
        RoamFrame::NeighborReportResponse,
        RoamFrame::TransitionQuery,
        RoamFrame::TransitionRequest { removal: 0 },
        RoamFrame::TransitionRequest { removal: 100 },
        RoamFrame::FtRequest,
        RoamFrame::ChannelSwitch,
    ]);
    frames
}

fn written(roam: RoamFrame, contents: &RoamContents<'_>) -> Vec<u8> {
    let from_access_point = roam.from_access_point().unwrap_or(true);
    let (transmitter, receiver) = if from_access_point { (AP, STATION) } else { (STATION, AP) };
    let receiver = if roam == RoamFrame::ChannelSwitch { MacAddr::BROADCAST } else { receiver };
    let link = Link {
        transmitter,
        receiver,
        from_access_point,
        flags: Flags::default(),
        duration_us: 44,
        sequence: SeqNo12::new(7),
    };
    let mut out = Vec::new();
    link.roam(roam, contents, &mut out);
    out
}

#[test]
fn frames_are_as_long_as_on_the_air() {
    let mut compared = 0;
    for network in networks() {
        for security in SECURITIES {
            let usual = facts(&network, security);
            let other = JoinFacts {
                qos: false,
                radio_measurement: false,
                bss_transition: false,
                neighbours: 0,
                keyed: true,
                fast: false,
                cached: security.is_sae(),
                ..usual
            };
            for facts in [usual, other] {
                let contents = contents(&network.0, facts);
                for roam in frames() {
                    let bytes = written(roam, &contents);
                    let length = bytes.len() as u32 + roam.protection(&facts).octets();
                    assert_eq!(length, roam.octets(&facts), "{roam:?} {facts:?}");
                    let layout = Layout { fcs: true, padded: false };
                    let view = View::new(&bytes, layout).unwrap();
                    assert_eq!(view.fcs_is_valid(), Some(true));
                    // It is read as a frame whose body is known, and written alike.
                    let repr = Repr::parse(&view).unwrap();
                    assert_eq!(repr.to_mpdu(), bytes, "{roam:?}");
                    let is_known = match repr {
                        Repr::Data(_) => true,
                        Repr::Management(it) => !matches!(
                            it.body,
                            management::Body::Other { .. }
                                | management::Body::Action(action::Repr::Other { .. })
                        ),
                        _ => false,
                    };
                    assert!(is_known, "{roam:?}");
                    compared += 1;
                }
            }
        }
    }
    assert_eq!(compared, networks().len() * 5 * 2 * frames().len());
}

/// Beacons of a network with these abilities are as much longer as its facts say.
#[test]
fn beacons_announce_security() {
    for network in networks() {
        let plain = beacon_elements(&network.0, &DeviceElements::default()).concat();
        for security in SECURITIES {
            let facts = facts(&network, security);
            let bytes = contents(&network.0, facts).beacon_elements().concat();
            assert_eq!(bytes.len(), plain.len() + facts.beacon() as usize);
            let elements = Elements::parse(&bytes).unwrap();
            let rsn = elements.rsn().unwrap();
            assert_eq!(rsn.is_some(), security.is_robust());
            let domain = elements.find(elements::id::MOBILITY_DOMAIN);
            assert_eq!(domain.is_some(), security.has_fast_transitions());
        }
    }
}

#[test]
fn only_robust_frames_are_protected() {
    let network = &networks()[0];
    for security in SECURITIES {
        let keyed = JoinFacts { keyed: true, ..facts(network, security) };
        for roam in frames() {
            let is_robust = !matches!(
                roam,
                RoamFrame::Authentication { .. }
                    | RoamFrame::AssociationRequest { .. }
                    | RoamFrame::AssociationResponse { .. }
                    | RoamFrame::Handshake { .. }
            );
            let expected = match roam {
                RoamFrame::Handshake { .. } if security.is_robust() => Protection::Ccmp,
                RoamFrame::ChannelSwitch if security.is_sae() => Protection::Bip,
                _ if is_robust && security.is_sae() => Protection::Ccmp,
                _ => Protection::None,
            };
            assert_eq!(roam.protection(&keyed), expected, "{roam:?} {security:?}");
        }
    }
}

/// A radiotap header with only its flags: an FCS follows the frame.
const RADIOTAP: [u8; 9] = [0, 0, 9, 0, 2, 0, 0, 0, 0x10];

/// A pcap file in memory of link type 127, a frame a second.
fn pcap(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = vec![];
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 127] {
        file.extend_from_slice(&u32::to_le_bytes(word));
    }
    for (second, frame) in (0u32..).zip(frames) {
        let length = (RADIOTAP.len() + frame.len()) as u32;
        for word in [second, 0, length, length] {
            file.extend_from_slice(&word.to_le_bytes());
        }
        file.extend_from_slice(&RADIOTAP);
        file.extend_from_slice(frame);
    }
    file
}

/// The fields of each frame as tshark prints them; `None` without tshark.
fn tshark(frames: &[Vec<u8>], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-r", "-", "-T", "fields", "-o", "wlan.check_checksum:TRUE"]);
    for field in fields {
        command.args(["-e", field]);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        println!("skipped, because tshark is not installed");
        return None;
    };
    let file = pcap(frames);
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&file).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Vec<String>> =
        text.lines().map(|line| line.split('\t').map(String::from).collect()).collect();
    assert_eq!(rows.len(), frames.len());
    Some(rows)
}

/// tshark 4.0 reads the fields of a confirm message also where a refusal has none.
fn is_read_by_tshark(roam: &RoamFrame) -> bool {
    match *roam {
        RoamFrame::Authentication {
            algorithm: AuthenticationAlgorithm::SaeConfirm,
            status,
            ..
        } => status == SUCCESS,
        _ => true,
    }
}

/// No frame of any network is malformed, and tshark has nothing to warn of.
#[test]
fn tshark_finds_no_fault() {
    let mut bytes = vec![];
    let mut kinds = vec![];
    for network in networks() {
        for security in SECURITIES {
            let contents = contents(&network.0, facts(&network, security));
            for roam in frames().into_iter().filter(is_read_by_tshark) {
                bytes.push(written(roam, &contents));
                kinds.push((roam, security));
            }
        }
    }
    let fields = ["_ws.malformed", "wlan.fcs.status", "_ws.expert.severity", "_ws.expert.message"];
    let Some(rows) = tshark(&bytes, &fields) else { return };
    let mut faults = vec![];
    for (kind, row) in kinds.iter().zip(rows) {
        let [malformed, fcs, severity, message] = &row[..] else { panic!("{row:?}") };
        assert_eq!(fcs, "1", "{kind:?}");
        // An old tshark says of EHT Capabilities and Operation that it does not know them.
        let is_unknown = ["(106)", "(108)"]
            .iter()
            .any(|tag| message.starts_with(&format!("Dissector for 802.11 Extension Tag {tag}")));
        if !malformed.is_empty() || !severity.is_empty() && !is_unknown {
            faults.push((kind, message.clone()));
        }
    }
    assert!(faults.is_empty(), "{} faults: {faults:#?}", faults.len());
}

/// The facts of a frame are in its fields: names of a network and addresses, the method of its
/// keys, its channel, codes and numbers.
#[test]
fn tshark_reads_the_facts() {
    let network = &networks()[3];
    let fast = RoamFrame::AssociationRequest { again: true };
    let expected: [(RoamFrame, &[(&str, &str)]); 9] = [
        (
            RoamFrame::Authentication {
                algorithm: AuthenticationAlgorithm::Ft,
                sequence: 2,
                status: 0,
            },
            &[
                ("wlan.fc.type_subtype", "0x000b"),
                ("wlan.sa", "02:00:00:00:00:01"),
                ("wlan.fixed.auth.alg", "2"),
                ("wlan.rsn.akms.type", "9"),
                ("wlan.ft.subelem.r1kh_id", "020000000001"),
                ("wlan.ft.subelem.r0kh_id", "303230303030303030303031"),
            ],
        ),
        (
            fast,
            &[
                ("wlan.fc.type_subtype", "0x0002"),
                ("wlan.fixed.current_ap", "02:00:00:00:00:01"),
                ("wlan.fixed.listen_ival", "0x0005"),
                ("wlan.ssid", "6c617374686f70"),
                ("wlan.rsn.capabilities.mfpr", "1"),
                ("wlan.rsn.pmkid.count", "1"),
                ("wlan.mobility_domain.mdid", "0x686c"),
                ("wlan.rmcap.b1", "1"),
                ("wlan.extcap.b19", "1"),
                ("wlan.extcap.b62", "1"),
                ("wlan.supopeclass.current", "128"),
                // tshark 4.0 shows the list without its values.
                ("wlan.supopeclass.alt", "1"),
                ("wlan.wfa.ie.wme.subtype", "0"),
                ("wlan.vht.mcsset.rxmcsmap.ss2", "0x0002"),
            ],
        ),
        (
            RoamFrame::AssociationResponse { again: true, status: 0 },
            &[
                ("wlan.fc.type_subtype", "0x0003"),
                ("wlan.fixed.aid", "0x0005"),
                ("wlan.wfa.ie.wme.subtype", "1"),
                ("wlan.wfa.ie.wme.acp.aifsn", "3,7,2,2"),
                ("wlan.wfa.ie.wme.acp.ecw.min", "4,4,3,2"),
                ("wlan.wfa.ie.wme.acp.ecw.max", "10,10,4,3"),
                ("wlan.wfa.ie.wme.acp.txop_limit", "0,0,94,47"),
                ("wlan.bss_max_idle.period", "292"),
                ("wlan.ft.subelem.id", "1,3,2,4"),
                ("wlan.ht.info.primarychannel", "36"),
                ("wlan.vht.op.channelcenter0", "42"),
            ],
        ),
        (
            RoamFrame::Handshake { message: 3 },
            &[
                ("wlan.fc.type_subtype", "0x0028"),
                ("wlan.qos.tid", "7"),
                ("wlan_rsna_eapol.keydes.msgnr", "3"),
                ("wlan_rsna_eapol.keydes.key_info.encrypted_key_data", "1"),
                ("eapol.keydes.replay_counter", "2"),
            ],
        ),
        (RoamFrame::Deauthentication { reason: 3 }, &[("wlan.fixed.reason_code", "0x0003")]),
        (
            RoamFrame::NeighborReportResponse,
            &[
                ("wlan.nreport.bssid", "02:00:00:00:00:09,02:00:00:00:00:0a"),
                ("wlan.nreport.channumber", "36,44"),
                ("wlan.nreport.opeclass", "128,128"),
                ("wlan.nreport.phytype", "0x09,0x09"),
            ],
        ),
        (
            RoamFrame::TransitionRequest { removal: 300 },
            &[
                ("wlan.fixed.request_mode.pref_cand", "1"),
                ("wlan.fixed.request_mode.disassoc_imminent", "1"),
                ("wlan.fixed.disassoc_timer", "300"),
                ("wlan.nreport.subelem.bss_trn_can_pref", "255,254"),
            ],
        ),
        (
            RoamFrame::FtRequest,
            &[
                ("wlan.fixed.sta_address", "02:00:00:00:00:02"),
                ("wlan.fixed.target_ap_address", "02:00:00:00:00:09"),
            ],
        ),
        (
            RoamFrame::ChannelSwitch,
            &[("wlan.da", "ff:ff:ff:ff:ff:ff"), ("wlan.csa.new_channel_number", "44")],
        ),
    ];
    let contents = contents(&network.0, facts(network, Security::FtSae));
    for (roam, expected) in expected {
        let fields: Vec<_> = expected.iter().map(|(field, _)| *field).collect();
        let Some(rows) = tshark(&[written(roam, &contents)], &fields) else { return };
        let read: Vec<_> = fields.iter().copied().zip(rows[0].iter().map(String::as_str)).collect();
        assert_eq!(read, expected, "{roam:?}");
    }
}
