//! Data rates and PPDU durations against ns-3 3.37 (`data/phy_tables.csv`): every row to the
//! nanosecond. One difference follows from the standard: ns-3 ends a short-GI PPDU on a multiple of
//! 3.6 us, whereas 19.4.3 rounds the data part up to a multiple of 4 us. The test requires exactly
//! that difference.

#![expect(clippy::unwrap_used, reason = "a malformed row is a failed test")]

use lasthop_wifi_phy::{Band, ChannelWidth, DsssRate, GuardInterval, OfdmRate, Preamble, Rate};

struct Row<'a>(Vec<&'a str>);

impl Row<'_> {
    fn rate(&self) -> Rate {
        let [family, mode, mcs, width, gi, _, preamble] = self.0[..7] else { panic!("short row") };
        let mbps = mode.trim_end_matches("Mbps").rsplit("Rate").next().unwrap();
        let ofdm = || {
            let index =
                ["6", "9", "12", "18", "24", "36", "48", "54"].iter().position(|m| *m == mbps);
            OfdmRate::ALL[index.unwrap()]
        };
        match family {
            "DSSS" => Rate::Dsss {
                rate: DsssRate::ALL
                    [["1", "2", "5_5", "11"].iter().position(|m| *m == mbps).unwrap()],
                preamble: if preamble == "SHORT" { Preamble::Short } else { Preamble::Long },
            },
            "OFDM" => Rate::Ofdm(ofdm()),
            "ERP-OFDM" => Rate::ErpOfdm(ofdm()),
            "HT" => Rate::Ht {
                mcs: mcs.parse().unwrap(),
                width: if width == "40" { ChannelWidth::Mhz40 } else { ChannelWidth::Mhz20 },
                guard_interval: if gi == "400" {
                    GuardInterval::Short
                } else {
                    GuardInterval::Long
                },
            },
            other => panic!("unknown family {other}"),
        }
    }

    fn band(&self) -> Band {
        if self.0[7] == "5" { Band::Ghz5 } else { Band::Ghz2_4 }
    }

    fn number(&self, column: usize) -> f64 {
        self.0[column].parse().unwrap()
    }

    fn nanoseconds(&self, column: usize) -> u64 {
        (self.number(column) * 1e3).round() as u64
    }
}

fn rows() -> Vec<Row<'static>> {
    let lines = include_str!("data/phy_tables.csv").lines().skip(1);
    lines.map(|line| Row(line.split(',').collect())).collect()
}

#[test]
fn durations_are_those_of_ns3() {
    let (mut equal, mut rounded) = (0, 0);
    for row in rows() {
        let (rate, band) = (row.rate(), row.band());
        let bytes = row.0[8].parse().unwrap();
        let ours = rate.ppdu_duration(bytes, band).as_nanos();
        let theirs = row.nanoseconds(11);
        let header = row.nanoseconds(10);
        assert_eq!(rate.preamble_and_header(band).as_nanos(), header, "{rate} {band}");
        if matches!(rate, Rate::Ht { guard_interval: GuardInterval::Short, .. }) {
            let extension = if band == Band::Ghz2_4 { 6_000 } else { 0 };
            let data = theirs - header - extension;
            assert_eq!(data % 3_600, 0, "{rate} {bytes}");
            assert_eq!(ours, header + data.next_multiple_of(4_000) + extension, "{rate} {bytes}");
            rounded += u32::from(ours != theirs);
        } else {
            assert_eq!(ours, theirs, "{rate} {band} {bytes} bytes");
            equal += 1;
        }
    }
    assert!(equal > 450 && rounded > 300, "{equal} rows equal, {rounded} rounded up");
}

#[test]
fn data_rates_are_those_of_ns3() {
    for row in rows() {
        // The table has one decimal.
        let tenths = (row.rate().bitrate().as_mbps_f64() * 10.0).round();
        assert_eq!(tenths, (row.number(9) * 10.0).round(), "{}", row.rate());
        assert_eq!(f64::from(row.rate().streams()), row.number(5));
    }
}
