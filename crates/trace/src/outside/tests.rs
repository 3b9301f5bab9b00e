//! Files as flent, iperf3 and irtt write them, with results by hand.

use super::*;
use proptest::prelude::*;

/// Written by hand, as `ResultSet.serialise` of flent 2 writes it. T0 is 1 000 000 000 s after 1970.
const FLENT: &str = r#"{
  "metadata": {
    "NAME": "tcp_nup", "TITLE": "a test", "HOST": "server", "HOSTS": ["server"],
    "LOCAL_HOST": "laptop", "LENGTH": 60, "STEP_SIZE": 0.2, "TOTAL_LENGTH": 70,
    "T0": "2001-09-09T01:46:40.000000Z", "KERNEL_RELEASE": "4.4.0",
    "SYSCTLS": {"net.ipv4.tcp_congestion_control": "reno", "net.ipv4.tcp_ecn": 1},
    "EGRESS_INFO": {"iface": "wlan0", "driver": "ath9k", "qdiscs": [
      {"name": "fq_codel", "id": "0:", "parent": "root",
       "params": {"limit": "10240p", "flows": "1024", "ecn": ""}}]},
    "WIFI_DATA": {"wlan0": {"type": "managed", "txpower": 15.0,
      "channel": {"number": 36, "band": 5180, "width": 40, "center1": 5190}}},
    "SERIES_META": {
      "Ping (ms) ICMP": {"UNITS": "ms"}, "TCP upload::1": {"UNITS": "Mbits/s"},
      "TCP upload avg": {"UNITS": "Mbits/s"}, "qdisc_stats": {"UNITS": "misc"}}
  },
  "raw_values": {
    "Ping (ms) ICMP": [
      {"seq": 1, "t": 1000000001.0, "val": 10.0}, {"seq": 2, "t": 1000000002.0, "val": 20.0},
      {"seq": 3, "t": 1000000003.0, "val": 30.0}, {"seq": 4, "t": 1000000004.0, "val": 40.0},
      {"seq": 5, "t": 1000000009.0, "val": 900.0}],
    "TCP upload::1": [
      {"dur": 1.0, "t": 1000000002.0, "val": 5.0}, {"dur": 3.0, "t": 1000000005.0, "val": 9.0},
      {"t": 1000000005.5, "tcp_rtt": 12.5, "tcp_cwnd": 10}],
    "TCP upload avg": [], "qdisc_stats": [{"t": 1000000001.0, "dropped": 1.0}]
  },
  "results": {}, "version": 3, "x_values": []
}"#;

fn read(text: &str) -> Result<Measurement, String> {
    Measurement::parse("FILE", text.as_bytes()).map_err(|error| error.to_string())
}

#[test]
fn flents_values_weigh_by_their_time() {
    let read = read(FLENT).expect("it is flent's");
    assert_eq!((read.program.as_str(), read.test.as_str()), ("flent", "tcp_nup"));
    let names: Vec<&str> = read.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["Ping (ms) ICMP", "TCP upload::1", "TCP upload::1, TCP's own"]);
    // 1 s of 5 Mb/s and 3 s of 9: 32 Mb in 4 s. From 1.5 to 3 s: half a second of 5, one of 9.
    assert_eq!(read.throughput_mbps([0.0, 10.0]), Some(8.0));
    let part = read.throughput_mbps([1.5, 3.0]).expect("it has some");
    assert!((part - (2.5 + 9.0) / 1.5).abs() < 1e-9, "{part}");
    assert_eq!(read.throughput_mbps([6.0, 7.0]), None);
    // Four pings until 5 s: the median is between the second and the third; rank 2.85 is 38.5.
    let trips = MeasurementKind::RoundTrip;
    assert_eq!(read.quantile(trips, [0.0, 5.0], 0.5), Some(25.0));
    let p95 = read.quantile(trips, [0.0, 5.0], 0.95).expect("there are some");
    assert!((p95 - 38.5).abs() < 1e-9, "{p95}");
    assert_eq!(read.max(trips, [0.0, 5.0]), Some(40.0));
    assert_eq!(read.max(trips, [0.0, 10.0]), Some(900.0));
    assert_eq!(read.max(MeasurementKind::TcpRoundTrip, [0.0, 10.0]), Some(12.5));
    assert_eq!(read.extent(), Some([1.0, 9.0]));
    assert_eq!(read.later(5.0).extent(), Some([6.0, 14.0]));
}

#[test]
fn older_begins_are_in_a_time_zone() {
    // Two hours east of Greenwich, and a begin half a second before the first ping.
    let older = FLENT.replace("2001-09-09T01:46:40.000000Z", "2001-09-09T03:46:40.500000");
    assert_eq!(read(&older).expect("it is flent's").extent(), Some([0.5, 8.5]));
    let without = FLENT.replace("\"T0\"", "\"T1\"");
    assert_eq!(read(&without).expect("it is flent's").extent(), Some([0.0, 8.0]));
}

#[cfg(feature = "files")]
#[test]
fn files_are_read_with_gzip_and_without() {
    use std::io::Write;
    let path = std::env::temp_dir().join(format!("lasthop-{}.flent.gz", std::process::id()));
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(FLENT.as_bytes()).expect("memory takes it");
    let packed = encoder.finish().expect("memory takes it");
    for bytes in [packed.as_slice(), FLENT.as_bytes()] {
        std::fs::write(&path, bytes).expect("there is room");
        assert_eq!(read_measurement_text(&path).expect("it is there"), FLENT.as_bytes());
    }
    std::fs::write(&path, &packed[..40]).expect("there is room");
    let cut = read_measurement_text(&path).expect_err("it is cut").to_string();
    std::fs::remove_file(&path).expect("it was written");
    let missing = read_measurement_text(&path).expect_err("it is gone").to_string();
    for error in [cut, missing] {
        assert!(error.starts_with(&format!("{}: ", path.display())), "{error}");
    }
}

#[test]
fn files_without_raw_values_have_a_grid() {
    let text = r#"{"metadata": {"NAME": "rrul"}, "version": 1, "x_values": [0, 0.2, 0.4],
        "results": {"TCP upload": [1, null, 3], "TCP totals": [9, 9, 9], "Ping (ms)": [5, 6, 7],
        "TCP upload avg": [2, 2, 2]}}"#;
    let read = read(text).expect("it is flent's");
    assert_eq!(read.series.len(), 2);
    let mean = read.throughput_mbps([0.0, 1.0]).expect("one value is inside");
    assert!((mean - 3.0).abs() < 1e-9, "{mean}");
    assert_eq!(read.notes.len(), 1);
}

#[test]
fn metadata_begin_a_scenario() {
    let read = FlentMetadata::parse("FILE", FLENT.as_bytes()).expect("it is flent's");
    let wifi = read.wifi.expect("it has Wi-Fi");
    assert_eq!((wifi.frequency_mhz, wifi.width_mhz), (Some(5180.0), Some(40.0)));
    assert_eq!(read.hosts, ["server"]);
    assert_eq!(read.congestion_control.as_deref(), Some("reno"));
    assert_eq!((read.uploads.len(), read.downloads.len(), read.pings.len()), (1, 0, 1));
    assert_eq!(read.qdiscs.len(), 1);
    assert!(read.qdiscs[0].1.contains("limit 10240p"), "{:?}", read.qdiscs);
}

#[test]
fn iperf3_has_streams_and_round_trips() {
    // As iperf 3.16 writes it, shortened: the omitted interval does not count.
    let text = r#"{"start": {"test_start": {"protocol": "TCP", "reverse": 0}}, "intervals": [
        {"streams": [{"socket": 5, "start": 0, "end": 1, "bits_per_second": 9e9, "rtt": 1,
            "omitted": true, "sender": true}]},
        {"streams": [{"socket": 5, "start": 0, "end": 1, "bits_per_second": 1e7, "rtt": 20000,
            "omitted": false, "sender": true}]},
        {"streams": [{"socket": 5, "start": 1, "end": 3, "bits_per_second": 4e7, "rtt": 50000,
            "omitted": false, "sender": true}]}], "end": {}}"#;
    let own = read(text).expect("it is iperf3's");
    // 10 Mb and 80 Mb in 3 s.
    assert_eq!(own.throughput_mbps([0.0, 3.0]), Some(30.0));
    assert_eq!(own.max(MeasurementKind::TcpRoundTrip, [0.0, 3.0]), Some(50.0));
    assert!(own.notes.is_empty());
    let other = read(&text.replace(r#""sender": true"#, r#""sender": false"#)).expect("so is it");
    assert_eq!((other.notes.len(), other.series.len()), (1, 1));
    let failed = read(r#"{"start": {}, "intervals": [], "error": "unable to connect"}"#);
    assert!(failed.expect_err("it is none").contains("\"unable to connect\""));
}

#[test]
fn irtt_has_round_trips_in_nanoseconds() {
    let trip = |wall: u64, lost: &str, rtt: u64| {
        format!(
            r#"{{"seqno": 0, "lost": {lost}, "delay": {{"rtt": {rtt}}},
            "timestamps": {{"client": {{"send": {{"wall": {wall}, "monotonic": 1}}}}}}}}"#
        )
    };
    let trips = [
        trip(1_700_000_000_000_000_000, "\"false\"", 20_000_000),
        trip(1_700_000_001_000_000_000, "\"true_up\"", 0),
        trip(1_700_000_002_000_000_000, "false", 40_000_000),
    ];
    let read = read(&format!(r#"{{"round_trips": [{}]}}"#, trips.join(","))).expect("irtt's");
    let values = &read.series[0].values;
    assert_eq!(values.len(), 2);
    assert!((values[1].at_s - 2.04).abs() < 1e-3, "{values:?}");
    assert_eq!(read.quantile(MeasurementKind::RoundTrip, [0.0, 9.0], 0.5), Some(30.0));
    assert_eq!(read.notes, ["1 of 3 requests were lost"]);
}

#[test]
fn errors_name_file_and_field() {
    for (text, message) in [
        ("{", "FILE: expected JSON: "),
        ("[]", "FILE: the text: expected the results of flent"),
        (
            r#"{"round_trips": [{"timestamps": {}}]}"#,
            "FILE: round_trips[0].timestamps: expected a table with client",
        ),
        (
            &FLENT.replace("\"val\": 30.0", "\"val\": \"slow\""),
            "FILE: raw_values.\"Ping (ms) ICMP\"[2].val: expected a number from -1e12 to 1e12, got \"slow\"",
        ),
        (
            &FLENT.replace("2001-09-09T", "on a day in "),
            "FILE: metadata.T0: expected a time (ISO 8601), got \"on a day in 01:46:40.000000Z\"",
        ),
        (
            &FLENT.replace("1000000003.0", "5"),
            "FILE: raw_values.\"Ping (ms) ICMP\"[2].t: expected a time within eleven days",
        ),
        (r#"{"intervals": 5}"#, "FILE: intervals: expected an array, got 5"),
    ] {
        let error = read(text).expect_err("it is damaged");
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn both_sides_are_in_one_document() {
    let measured = read(FLENT).expect("it is flent's");
    let value = |value| MeasurementValue { at_s: 5.0, span_s: 5.0, value };
    let run = |mbps| Measurement {
        series: vec![MeasurementSeries {
            name: "up".into(),
            kind: MeasurementKind::Throughput,
            values: vec![value(mbps)],
        }],
        ..Measurement::default()
    };
    let runs = [run(6.0), run(8.0)];
    let document = MeasuredComparison::new("it", 1, "FILE", &measured, &runs, 0.0, [0.0, 5.0]);
    let throughput = document.quantities["throughput_mbps"];
    assert_eq!(throughput.measured, Some(8.0));
    let side = throughput.simulated.expect("there are runs");
    assert_eq!((side.mean, side.least, side.most), (7.0, 6.0, 8.0));
    assert_eq!(throughput.ratio, Some(0.875));
    let trips = document.quantities["rtt_p50_ms"];
    assert_eq!((trips.measured, trips.simulated), (Some(25.0), None));
    assert_eq!(document.distributions["rtt_ms"].measured[5], 25.0);
    assert_eq!(document.flows.simulated_mbps["up"], 7.0);
    let again: MeasuredComparison =
        serde_json::from_str(&document.to_json()).expect("it was written");
    assert_eq!(again, document);
}

proptest! {
    /// Of equal weights the quantile is between the ranks around it.
    #[test]
    fn a_quantile_is_between_its_ranks(
        values in prop::collection::vec(0.0f64..1e3, 1..50), share in 0.0f64..=1.0
    ) {
        let series = MeasurementSeries {
            name: String::new(),
            kind: MeasurementKind::RoundTrip,
            values: values
                .iter()
                .map(|&value| MeasurementValue { at_s: 1.0, span_s: 0.0, value })
                .collect(),
        };
        let mut sorted = values;
        sorted.sort_unstable_by(f64::total_cmp);
        let rank = share * (sorted.len() - 1) as f64;
        let [low, high] = [rank.floor(), rank.ceil()].map(|rank| sorted[rank as usize]);
        let expected = low + (high - low) * rank.fract();
        let quantile = series.quantile([0.0, 2.0], share).expect("it has values");
        prop_assert!((quantile - expected).abs() < 1e-6, "{quantile} {expected}");
    }
}
