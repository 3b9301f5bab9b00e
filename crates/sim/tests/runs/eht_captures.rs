//! Captures of runs of 802.11be as tshark decodes them: what a device of several links announces,
//! addresses of its links, and initial control frames. Skipped if tshark is not installed, or older
//! than 4.4.

#![allow(clippy::unwrap_used)]

use lasthop_trace::{NodeFrames, OutputDir, Recorder};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The directory of a run's captures, which is removed with it.
struct Captured(PathBuf);

impl Drop for Captured {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn simulate(name: &str, sets: &[&str]) -> Captured {
    let path = std::env::temp_dir().join(format!("lasthop-eht-{}-{name}", std::process::id()));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/wifi7/two-links.toml");
    let usual = [
        "duration=0.12s",
        "flow.download.start=0s",
        "flow.download.rate=20Mb/s",
        "flow.ping.interval=5ms",
        "neighbour.next-door.busy=0.1",
    ];
    let sets: Vec<_> = usual.iter().chain(sets).map(|set| (*set).to_owned()).collect();
    let scenario = lasthop_scenario::load(&file, &sets).expect("it is valid");
    let mut directory = OutputDir::create(&path).unwrap();
    let files = lasthop_sim::files(&scenario, false, Some(NodeFrames::MadeUp));
    let names = lasthop_sim::names(&scenario);
    let recording = lasthop_sim::recording(&scenario);
    let recorder = Recorder::with_files(names, recording, &files, &mut directory).unwrap();
    let mut progress = |_| ControlFlow::Continue(());
    lasthop_sim::record(&scenario, 0, recorder, &mut progress).unwrap();
    directory.commit().unwrap();
    Captured(path)
}

/// Returns these fields of every frame, numbers as decimal ones; `None` without a tshark that knows
/// them.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn fields(run: &Captured, asked: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-r"]).arg(run.0.join("air.pcapng"));
    command.args(["-o", "wlan.check_checksum:TRUE", "-T", "fields"]);
    command.args(asked.iter().flat_map(|field| ["-e", field]));
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
    let each = |text: &str| text.split(',').map(number).collect::<Vec<_>>().join(",");
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(|line| line.split('\t').map(each).collect()).collect())
}

const AP: [&str; 2] = ["02:1a:00:00:00:00", "02:5a:00:00:00:00"];
const LAPTOP: [&str; 2] = ["02:1a:00:00:00:01", "02:5a:00:00:00:01"];

/// Beacons of both links: the device's address, the number of the link, the other link as neighbor,
/// and channels of 80 MHz at 5 GHz and of 320 MHz at 6 GHz.
#[test]
fn beacons_announce_the_device() {
    let run = simulate("beacons", &["duration=0.25s", "channel.link.0.width=320MHz"]);
    let element = |name: &str| format!("wlan.eht.multi_link.common_info.{name}");
    let asked = [
        "wlan.fc.type_subtype",
        "wlan.ta",
        "wlan.fcs.status",
        "_ws.malformed",
        "radiotap.channel.freq",
        "frame.interface_name",
        &element("mld_mac_address"),
        &element("link_id_subfield.link_id"),
        &element("bss_parameters_change_count"),
        &element("eml_capabilities.emlsr_support"),
        &element("mld_capabilities.max_simultaneous_links"),
        "wlan.rnr.tbtt_info.bssid",
        "wlan.rnr.tbtt_info.operating_class",
        "wlan.rnr.tbtt_info.channel_num",
        "wlan.rnr.tbtt_info.mld_parameters.mld_id",
        "wlan.rnr.tbtt_info.mld_parameters.link_id",
        "wlan.eht.eht_operation_information.control.channel_width",
        "wlan.eht.eht_operation_information.ccfs0",
        "wlan.eht.eht_operation_information.ccfs1",
        "wlan.eht.phy_capabilities.bits_0_15.support_for_320mhz_in_6ghz",
        "wlan.eht.supported_eht_mcs_bss_set.le_80.rx_max_nss_supports_eht_mcs_0_9",
    ];
    let Some(rows) = fields(&run, &asked) else { return };
    for (link, expected) in [
        // Class 137 with channel 1; 80 MHz around channel 42.
        [
            "5180", "air@5GHz", AP[0], "0", "0", "1", "1", AP[1], "137", "1", "0", "1", "2", "42",
            "0", "0",
        ],
        // Class 128 with channel 36; 160 MHz around 15, 320 MHz around 31.
        [
            "5955", "air@6GHz", AP[0], "1", "0", "1", "1", AP[0], "128", "36", "0", "0", "4", "15",
            "31", "1",
        ],
    ]
    .iter()
    .enumerate()
    {
        let is_its = |row: &&Vec<String>| row[0] == "8" && row[1] == AP[link];
        let beacons: Vec<_> = rows.iter().filter(is_its).collect();
        assert!(!beacons.is_empty(), "link {link}");
        for beacon in beacons {
            assert_eq!((&*beacon[2], &*beacon[3]), ("1", ""), "{beacon:?}");
            assert_eq!(beacon[4..20], expected[..], "link {link}");
            assert_ne!(beacon[20], "", "no streams");
        }
    }
}

/// Sender and receiver of each frame are those of its link, with the channel and interface of it; the
/// other ends of data are devices and hosts.
#[test]
fn frames_have_the_addresses_of_their_link() {
    let run = simulate("addresses", &[]);
    let asked = [
        "radiotap.channel.freq",
        "wlan.fc.type_subtype",
        "wlan.ta",
        "wlan.ra",
        "wlan.sa",
        "wlan.da",
    ];
    let Some(rows) = fields(&run, &asked) else { return };
    let mut seen = [0; 4];
    for row in &rows {
        let [frequency, kind, from, to, source, destination] = &row[..] else { panic!("{row:?}") };
        let link = usize::from(frequency == "5955");
        let ends = [AP[link], LAPTOP[link]];
        if ends.contains(&from.as_str()) || ends.contains(&to.as_str()) {
            for address in [from, to] {
                let is_its = ends.contains(&address.as_str());
                assert!(is_its || ["", "ff:ff:ff:ff:ff:ff"].contains(&&**address), "{row:?}");
            }
        } else {
            let others = [AP[1 - link], LAPTOP[1 - link]];
            assert!(!others.contains(&from.as_str()) && !others.contains(&to.as_str()), "{row:?}");
        }
        // QoS Data: from the server, down, and to it, up.
        match (kind.as_str(), from == ends[0], from == ends[1]) {
            ("40", true, _) => {
                assert!(source != AP[0] && source != AP[1], "{row:?}");
                assert_eq!(destination, ends[1], "{row:?}");
                seen[link] += 1;
            }
            ("40", _, true) => {
                assert_eq!(source, ends[1], "{row:?}");
                assert!(destination != AP[0] && destination != AP[1], "{row:?}");
                seen[2 + link] += 1;
            }
            _ => {}
        }
    }
    assert!(seen[..2].iter().all(|frames| *frames > 10) && seen[2] + seen[3] > 5, "{seen:?}");
}

/// A device with one radio: each exchange with it begins with an MU-RTS that asks for a CTS of the
/// channel's width, with padding of 64 us at its rate behind the station's field. 320 MHz need the
/// EHT variant with a Special User Info field of 5 octets.
#[test]
fn exchanges_with_one_radio_begin_with_mu_rts() {
    for (width, octets, variant) in [("160MHz", 33, "he"), ("320MHz", 38, "eht")] {
        let wide = format!("channel.link.0.width={width}");
        let sets = ["node.laptop.multi_link=emlsr", "node.laptop.emlsr.padding=64us", &wide];
        let run = simulate(&format!("emlsr-{variant}"), &sets);
        let of = |name: &str| format!("wlan.trigger.{variant}.{name}");
        let asked = [
            "wlan.fc.type_subtype",
            "radiotap.channel.freq",
            "frame.len",
            "radiotap.length",
            "wlan.fcs.status",
            "_ws.malformed",
            "wlan.ta",
            "wlan.ra",
            &of("trigger_type"),
            &of("cs_required"),
            &of("ul_bw"),
            "radiotap.datarate",
        ];
        let Some(rows) = fields(&run, &asked) else { return };
        let mut seen = 0;
        for (index, row) in rows.iter().enumerate() {
            // Of this variant: exchanges of 20 MHz, as of management frames, have that of HE.
            if row[0] != "18" || row[8].is_empty() {
                continue;
            }
            let link = usize::from(row[1] == "5955");
            let length = row[2].parse::<u32>().unwrap() - row[3].parse::<u32>().unwrap();
            let megabits: f64 = row[11].parse().unwrap();
            let padding = (64.0 * megabits / 8.0).ceil() as u32;
            assert_eq!(length, octets + padding, "{row:?}");
            assert_eq!(row[4..8], ["1", "", AP[link], LAPTOP[link]], "{row:?}");
            let whole = ["2", "3"][link];
            assert!(row[8..10] == ["3", "1"] && [whole, "0"].contains(&&*row[10]), "{row:?}");
            if row[10] != whole {
                continue;
            }
            // The CTS follows on the same channel, unless the MU-RTS was lost.
            let next = rows[index + 1..].iter().find(|next| next[1] == row[1]);
            seen += u32::from(next.is_some_and(|next| next[0] == "28" && next[7] == AP[link]));
        }
        assert!(seen > 10, "{width}: {seen}");
    }
}
