//! Frames of 802.11be on one link as tshark decodes them: parameters of PPDUs, agreements about
//! windows of 1 024 MPDUs, and the length of their Block Acks. Skipped if tshark is not installed, or
//! too old.

use crate::air::fields;
use crate::scene;
use lasthop_hosts::Sink;
use lasthop_packet::queue::{Limit, QueueConfig};
use lasthop_packet::{AccessCategory, NodeId, Packet};
use lasthop_trace::{AirInfo, Files};
use lasthop_units::{Db, Duration, Identity, Instant, Machine, Seed};
use lasthop_wifi::cell::{Cell, CellConfig, PairConfig, Role, StationConfig};
use lasthop_wifi::event::{Event, FrameKind};
use lasthop_wifi::phy::{
    Band, ChannelWidth, HeGuardInterval, Propagation, Puncturing, Rate, Standard,
};
use lasthop_wifi::{Address, StationId};
use std::path::Path;
use std::process::Command;

/// Packets in the queue: more than a window.
const PACKETS: u64 = 1_100;

/// Agreements about windows of 512 and 1 024 MPDUs, with and without an ADDBA Extension, and Block
/// Acks whose bitmaps have a bit for each MPDU of the PPDU.
#[test]
fn tshark_reads_long_windows() {
    for (window, addba_octets, buffer, tag) in [(512, 37, "512", ""), (1_024, 40, "0", "159")] {
        let (path, longest) = exchange(window);
        assert_eq!(longest, usize::from(window), "MPDUs in a PPDU");
        let asked = [
            "wlan.fc.type_subtype",
            "frame.len",
            "radiotap.length",
            "wlan.fcs.status",
            "wlan.fixed.baparams.buffersize",
            "wlan.tag.number",
        ];
        let path = path.join("air.pcapng");
        let Some(lines) = fields(&path, &asked) else { return };
        let octets = |line: &[String]| {
            let number = |index: usize| line[index].parse::<u32>().expect("a number");
            number(1) - number(2)
        };
        assert!(lines.iter().all(|line| ["1", "Good"].contains(&&*line[3])), "FCS");
        let of = |kind: &str| lines.iter().filter(move |line| line[0] == kind).collect::<Vec<_>>();
        let actions = of("0x000d");
        assert_eq!(actions.len(), 2, "request and response");
        for line in actions {
            // 24 octets of header, 9 of the body, 3 of the element, FCS.
            let found = (octets(line), line[4].as_str(), line[5].as_str());
            assert_eq!(found, (addba_octets, buffer, tag), "{line:?}");
        }
        let answers = of("0x0019");
        assert!(!answers.is_empty());
        for line in answers {
            // 16 octets of header, 2 of control, 2 of the starting sequence control, bitmap, FCS.
            assert_eq!(octets(line), 16 + 2 + 2 + u32::from(window) / 8 + 4, "{line:?}");
        }

        // The last one is there for its age.
        let asked = [
            "wlan.fc.type_subtype",
            "wlan.fixed.ssc.fragment",
            "wlan.ba.bm",
            "radiotap.u_sig.common.bw",
        ];
        let Some(lines) = fields_of_eht(&path, &asked) else { return };
        // The Fragment Number of a bitmap of 512 and 1 024 bits (table 9-30).
        let fragment = if window == 512 { "8" } else { "10" };
        let all = "ff".repeat(usize::from(window) / 8);
        let answers: Vec<_> = lines.iter().filter(|line| line[0] == "25").collect();
        assert!(answers.iter().all(|line| line[1] == fragment), "{answers:?}");
        assert!(answers.iter().any(|line| line[2] == all), "no whole window was acknowledged");
    }
}

/// Sends as many packets as a queue holds under a window; returns the captures, and the number of
/// MPDUs in the longest PPDU.
fn exchange(window: u16) -> (scene::Scratch, usize) {
    let width = ChannelWidth::Mhz320;
    let rate = Rate::eht(13, 4, width, HeGuardInterval::Ns800Ltf2x).expect("a rate");
    let link = Propagation::in_band(Band::Ghz6, width).link_with_snr(Db(60.0));
    let stations = [Role::AccessPoint, Role::Station].into_iter().zip(0..);
    let stations: Vec<StationConfig> = stations
        .map(|(role, number)| {
            let mut station = StationConfig {
                queue: QueueConfig::DropTail { limit: Limit::Packets(2_000) },
                ..StationConfig::fixed(role, Identity::numbered(number), rate)
            };
            station.block_ack.window = window;
            station.aggregation.ampdu_frames_max = window;
            station.aggregation.ampdu_bytes_max = 15_523_200;
            station
        })
        .collect();
    let pair = |(from, to)| PairConfig::steady(StationId(from), StationId(to), link);
    let links = [(0, 1), (1, 0)].into_iter().map(pair).collect();
    let config = CellConfig::new(Standard::Dot11be, Band::Ghz6, stations, links);
    let config = CellConfig { record_events: true, beacon_interval: None, ..config };

    let path = scene::scratch(&format!("eht-{window}"));
    let air = AirInfo { band: Band::Ghz6, channel: 1, rates: vec![rate], ..scene::air() };
    let files = Files { events: true, air: Some(air), ..Files::default() };
    let mut longest = 0;
    scene::record(&path, &files, |recorder| {
        let mut cell = Cell::new(&config, Seed::new(4, 0)).expect("a sound cell");
        for tag in 0..PACKETS {
            let source = NodeId(scene::SERVER);
            let packet = Packet { source, ..Packet::new(tag, 900, Instant::ZERO) };
            cell.handle_packet(Instant::ZERO, StationId(0), Address::Station(StationId(1)), packet);
        }
        let until = Instant::ZERO + Duration::from_millis(20);
        while let Some((at, _)) = cell.poll_timeout().filter(|(at, _)| *at < until) {
            cell.handle_timeout(at);
            while let Some(event) = cell.poll_event() {
                if let Event::Ppdu(ppdu) = &event {
                    longest = longest.max(ppdu.psdus[0].frames.len());
                    recorder.event(&event, &|_| None);
                }
            }
        }
    });
    (path, longest)
}

/// Returns these fields of every frame as decimal numbers; `None`, with a message, without a tshark
/// that knows 802.11be (from 4.4 on).
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn fields_of_eht(path: &Path, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-r"]).arg(path).args(["-o", "wlan.check_checksum:TRUE", "-T", "fields"]);
    command.args(fields.iter().flat_map(|field| ["-e", field]));
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            println!("skipped, because tshark cannot be run: {error}");
            return None;
        }
    };
    let error = String::from_utf8_lossy(&output.stderr);
    if error.contains("aren't valid") {
        println!("skipped, because tshark is older than 4.4: {error}");
        return None;
    }
    assert!(output.status.success(), "{error}");
    let number = |text: &str| match text {
        "True" | "Good" => "1".to_owned(),
        "False" => "0".to_owned(),
        _ => match text.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16)) {
            Some(Ok(number)) => number.to_string(),
            _ => text.to_owned(),
        },
    };
    let text = String::from_utf8(output.stdout).expect("it is text");
    let row = |line: &str| line.split('\t').map(number).collect();
    Some(text.lines().map(row).collect())
}

/// Rates of each width, MCS, number of streams, guard interval and puncturing, and what radiotap has
/// for them: codes of width, puncturing, guard interval, LTF size, LTF symbols, and of MCS and
/// symbols of EHT-SIG. EHT-SIG for one user has 52 bits: one symbol of 16-QAM 1/2 (104 bits) or QPSK
/// 1/2 (52), two of BPSK 1/2 (26), four with dual carrier modulation (13).
fn rates() -> Vec<(Rate, [u8; 7])> {
    use HeGuardInterval::{Ns800Ltf2x, Ns800Ltf4x, Ns1600Ltf1x, Ns1600Ltf2x, Ns3200Ltf4x};
    let mut all = Vec::new();
    for (width, code) in ChannelWidth::ALL_EHT.into_iter().zip(0..) {
        for (guard_interval, guard, ltf) in [
            (Ns800Ltf2x, 0, 2),
            (Ns800Ltf4x, 0, 3),
            (Ns1600Ltf1x, 1, 1),
            (Ns1600Ltf2x, 1, 2),
            (Ns3200Ltf4x, 2, 3),
        ] {
            for (mcs, [signal, symbols]) in
                [(0, [0, 2]), (2, [1, 1]), (3, [2, 1]), (11, [2, 1]), (13, [2, 1]), (15, [3, 4])]
            {
                for (streams, training) in [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (8, 4)] {
                    let rate = Rate::eht(mcs, streams, width, guard_interval);
                    let codes = [code, 0, guard, ltf, training, signal, symbols - 1];
                    all.extend(rate.map(|rate| (rate, codes)));
                }
            }
        }
    }
    let duplicate = Rate::eht(14, 1, ChannelWidth::Mhz320, Ns800Ltf2x).expect("a rate");
    all.push((duplicate, [4, 0, 0, 2, 0, 0, 1]));
    // The second 20 of 80 MHz; the lowest 80 and the 40 MHz behind of 320 MHz (table 36-30).
    for (width, channels, code, value) in
        [(ChannelWidth::Mhz80, 0b10, 2, 2), (ChannelWidth::Mhz320, 0x3f, 4, 13)]
    {
        let rate = Rate::eht(9, 1, width, Ns800Ltf2x).expect("a rate");
        let Rate::Eht { mcs, streams, width, guard_interval, .. } = rate else { unreachable!() };
        let puncturing = Puncturing::of_subchannels(channels, width).expect("it is permitted");
        let rate = Rate::Eht { mcs, streams, width, guard_interval, puncturing };
        all.push((rate, [code, value, 0, 2, 0, 2, 0]));
    }
    all
}

#[test]
fn tshark_reads_the_parameters_of_ppdus() {
    let path = scene::scratch("eht-rates");
    let rates = rates();
    let air = AirInfo {
        band: Band::Ghz6,
        channel: 1,
        rates: rates.iter().map(|it| it.0).collect(),
        ..scene::air()
    };
    let files = Files { air: Some(air), ..Files::default() };
    let ends = [scene::AP, scene::LAPTOP];
    scene::record(&path, &files, |recorder| {
        for (index, (rate, _)) in rates.iter().enumerate() {
            let (from, to) = (ends[index % 2], Address::Station(StationId(ends[1 - index % 2])));
            let frame = scene::plain(
                FrameKind::QosNull {
                    power_management: false,
                    access_category: AccessCategory::BestEffort,
                },
                30,
            );
            let ppdu = scene::ppdu(1_000 * index as u64, from, to, *rate, vec![frame]);
            recorder.event(&Event::Ppdu(ppdu), &|_| None);
        }
    });
    let u_sig = |name: &str| format!("radiotap.u_sig.{name}");
    let eht = |name: &str| format!("radiotap.eht.{name}");
    let asked = [
        u_sig("common.bw"),
        u_sig("value.mu_ppdu.punctured_channel_information"),
        eht("data_0.gi"),
        eht("data_0.ltf_symbol_size"),
        eht("data_0.number_ltf_symbols"),
        u_sig("value.mu_ppdu.eht_sig_mcs"),
        u_sig("value.mu_ppdu.number_of_eht_sig_symbols"),
        eht("user_info.mcs"),
        eht("user_info.nss"),
        eht("user_info.coding"),
        u_sig("common.ul_dl"),
        u_sig("common.phy_version_identifier"),
        u_sig("value.ppdu_type_and_compression_mode"),
        eht("user_info.data_captured_for_this_user"),
        "radiotap.channel.freq".to_owned(),
        "wlan.fcs.status".to_owned(),
        "_ws.malformed".to_owned(),
    ];
    let asked: Vec<_> = asked.iter().map(String::as_str).collect();
    let Some(rows) = fields_of_eht(&path.join("air.pcapng"), &asked) else { return };
    assert_eq!(rows.len(), rates.len());
    for (index, (row, (rate, codes))) in rows.iter().zip(&rates).enumerate() {
        let mcs = rate.mcs().expect("it has one");
        // LDPC, and the uplink of every other PPDU; version 0; one user.
        let behind = [mcs, rate.streams() - 1, 1, (index % 2) as u8, 0, 1, 1];
        let expected = codes.iter().chain(&behind).map(u8::to_string);
        let expected: Vec<_> = expected.chain(["5955", "1", ""].map(str::to_owned)).collect();
        assert_eq!(*row, expected, "{rate:?}");
    }
}
