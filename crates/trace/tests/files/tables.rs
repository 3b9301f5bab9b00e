//! The rows and columns of `events.parquet` and `series.parquet`, read back with the
//! `parquet` crate and compared with `docs/files.md`; and equal bytes of two equal
//! runs.

use crate::scene;
use lasthop_hosts::Sink;
use lasthop_net::network::NetworkStats;
use lasthop_packet::NodeId;
use lasthop_trace::{
    AbsenceRow, Delays, EventsReading, Files, Heard, HeardWriter, OutputDir, PartsReading,
    Recorder, SecondReading, SegmentRow, SegmentWriter, SeriesOf, SeriesReading, SeriesTable,
};
use lasthop_units::{Duration, Instant};
use lasthop_wifi::event::{Event, PacketLink};
use lasthop_wifi::{Address, StationId};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use serde_json::Value;
use std::fs::{self, File};
use std::path::Path;

pub fn rows(path: &Path) -> Vec<Row> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    reader.get_row_iter(None).unwrap().map(Result::unwrap).collect()
}

pub fn columns(path: &Path) -> Vec<String> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    schema.columns().iter().map(|column| column.name().to_owned()).collect()
}

pub fn field(row: &Row, name: &str) -> Value {
    match row.get_column_iter().find(|(column, _)| *column == name).unwrap().1 {
        Field::Null => Value::Null,
        Field::Bool(value) => (*value).into(),
        Field::Int(value) => (*value).into(),
        Field::Long(value) => (*value).into(),
        Field::Double(value) => (*value).into(),
        Field::Str(value) => value.as_str().into(),
        other => panic!("no column holds {other:?}"),
    }
}

/// Returns the columns of `file` that `docs/files.md` lists: the names in the first cells of a table,
/// one or several in each.
pub fn documented_columns(file: &str) -> Vec<String> {
    let text = include_str!("../../../../docs/files.md");
    let section = text.split("\n## ").find(|section| section.starts_with(&format!("`{file}`")));
    section
        .unwrap_or_else(|| panic!("a section on {file}"))
        .lines()
        .filter(|line| line.starts_with("| `"))
        .filter_map(|line| line.split('|').nth(1))
        .flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned))
        .collect()
}

#[test]
fn events_say_what_happened() {
    let path = scene::scratch("events");
    scene::record(&path, &scene::files(), scene::play);
    let events = rows(&path.join("events.parquet"));
    let of_kind = |kind: &str| -> Vec<&Row> {
        events.iter().filter(|row| field(row, "kind") == kind).collect()
    };
    assert_eq!(of_kind("ppdu").len(), scene::ppdus().len());
    assert_eq!((of_kind("sent").len(), of_kind("arrived").len(), of_kind("lost").len()), (5, 4, 1));
    let aggregate = of_kind("ppdu")[7];
    let expected = [
        ("at_ns", 3_200_000.into()),
        ("node", "laptop".into()),
        ("peer", "ap".into()),
        ("flow", "up".into()),
        ("frame", "qos_data".into()),
        ("mpdus", 3.into()),
        ("received", 2.into()),
        ("sequence", 100.into()),
        ("rate", "HT MCS 7 20MHz 400ns".into()),
        ("rate_kbps", 72_222.into()),
        ("reason", Value::Null),
    ];
    for (name, value) in expected {
        assert_eq!(field(aggregate, name), value, "{name}");
    }
    let lost = of_kind("lost")[0];
    assert_eq!(
        (field(lost, "reason"), field(lost, "node")),
        ("retry_limit".into(), "laptop".into())
    );
    let arrived = of_kind("arrived")[0];
    assert_eq!(field(arrived, "delay_ns"), 4_000_000);
    assert_eq!(field(arrived, "queue_ns"), 4_000_000);
}

/// Rows of links have a wait for the channel, but none of the other parts of a delay, so that these
/// columns have different numbers of values.
#[test]
fn the_wait_for_a_link_moves_no_other_delay() {
    let path = scene::scratch("link-wait");
    let at = |ms| Instant::ZERO + Duration::from_millis(ms);
    let mut names = scene::names();
    names.roams = false;
    names.links = vec!["5GHz".into(), "6GHz".into()];
    names.link_of = vec![0, 0, 1];
    let mut directory = OutputDir::create(&*path).unwrap();
    let files = Files { air: None, nodes: None, ..scene::files() };
    let mut recorder =
        Recorder::with_files(names, scene::recording(), &files, &mut directory).unwrap();
    for tag in 1..4 {
        let mut packet = scene::packet(tag, 1_000, 0, scene::LAPTOP, scene::SERVER);
        packet.created = at(tag);
        recorder.sent(at(tag), &packet);
        let link = PacketLink {
            at: at(tag + 1),
            station: StationId(1),
            peer: StationId(0),
            flow: packet.flow,
            tag,
            bytes: 1_000,
            waited: Duration::from_micros(100 * tag),
            is_taken: true,
        };
        recorder.event(&Event::Link(link), &|_| None);
        packet.parts.queue = Duration::from_micros(10 * tag);
        packet.parts.contention = Duration::from_micros(20 * tag);
        packet.parts.air = Duration::from_micros(30 * tag);
        recorder.arrived(at(2 * tag), NodeId(scene::SERVER), &packet);
    }
    recorder.finish(&scene::info(), &NetworkStats::default()).unwrap();
    directory.commit().unwrap();
    let events = rows(&path.join("events.parquet"));
    let of_kind = |kind: &str, name: &str| -> Vec<Value> {
        let rows = events.iter().filter(|row| field(row, "kind") == kind);
        rows.map(|row| field(row, name)).collect()
    };
    assert_eq!(of_kind("link", "contention_ns"), [100_000, 200_000, 300_000]);
    assert_eq!(of_kind("arrived", "delay_ns"), [1_000_000, 2_000_000, 3_000_000]);
    assert_eq!(of_kind("arrived", "queue_ns"), [10_000, 20_000, 30_000]);
    assert_eq!(of_kind("arrived", "contention_ns"), [20_000, 40_000, 60_000]);
    assert_eq!(of_kind("arrived", "air_ns"), [30_000, 60_000, 90_000]);
}

#[test]
fn series_have_a_row_for_every_flow_and_interval() {
    let path = scene::scratch("series");
    scene::record(&path, &scene::files(), scene::play);
    let series = rows(&path.join("series.parquet"));
    let up: Vec<_> = series.iter().filter(|row| field(row, "flow") == "up").collect();
    assert_eq!(up.len(), 10);
    // One packet with 972 bytes of payload in the interval from 50 to 60 ms.
    assert_eq!(field(up[5], "at_ns"), 60_000_000);
    assert_eq!(field(up[5], "throughput_mbps"), 0.7776);
    assert_eq!(field(up[5], "one_way_delay_ms"), 4.0);
    let link = series.iter().find(|row| field(row, "link") == "laptop->ap").unwrap();
    // An A-MPDU with three MPDUs and a PPDU with one.
    assert_eq!((field(link, "ppdus"), field(link, "mpdus_per_ppdu")), (2.into(), 2.0.into()));
}

#[test]
fn series_are_read_back_and_broken_files_are_errors() {
    let path = scene::scratch("series-back");
    scene::record(&path, &scene::files(), scene::play);
    let file = path.join("series.parquet");
    let readings = SeriesReading::read(&file).unwrap();
    assert_eq!(readings.len(), rows(&file).len());
    let up = SeriesOf::Flow("up".to_owned());
    let sixth = readings.iter().filter(|reading| reading.of == up).nth(5).unwrap();
    assert_eq!((sixth.at_s, sixth.throughput_mbps), (0.06, Some(0.7776)));
    assert_eq!((sixth.one_way_delay_ms, sixth.queue_packets), (Some(4.0), None));
    let link = SeriesOf::Link("laptop->ap".to_owned());
    let link = readings.iter().find(|reading| reading.of == link).unwrap();
    assert_eq!(link.mpdus_per_ppdu, Some(2.0));
    let whole = fs::read(&file).unwrap();
    for length in [0, 3, whole.len() / 2, whole.len() - 1] {
        fs::write(&file, &whole[..length]).unwrap();
        let error = SeriesReading::read(&file).unwrap_err().to_string();
        assert!(error.contains("series.parquet: expected a whole Parquet file"), "{error}");
    }
    fs::remove_file(&file).unwrap();
    assert!(SeriesReading::read(&file).unwrap_err().to_string().contains("cannot read"));
    // Rows of events have a time and a node, too.
    let error = SeriesReading::read(&path.join("events.parquet")).unwrap_err().to_string();
    assert!(error.contains("events.parquet: expected a table of series"), "{error}");
}

#[test]
fn delays_are_distributed_as_the_rows_say() {
    let path = scene::scratch("delays-back");
    scene::record(&path, &scene::files(), scene::play);
    let file = path.join("events.parquet");
    let of = |kind: &str, column: &str, from_ns: i64| -> Vec<i64> {
        let rows = rows(&file);
        let rows = rows.iter().filter(|row| field(row, "kind") == kind);
        let rows = rows.filter(|row| field(row, "at_ns").as_i64().unwrap() >= from_ns);
        rows.filter(|row| field(row, "flow") == "up")
            .filter(|row| kind != "arrived" || field(row, "node") == "server")
            .filter_map(|row| field(row, column).as_i64())
            .collect()
    };
    let all = Delays::read(&file, 0.0).unwrap();
    let arrived = of("arrived", "delay_ns", 0);
    assert!(!arrived.is_empty());
    assert_eq!(all.every, 1, "the file is short");
    let up = &all.one_way["up"];
    assert_eq!(up.count(), arrived.len() as u64);
    assert_eq!(up.sum(), arrived.iter().map(|&nanos| nanos as u128).sum::<u128>());
    for (flow, histogram) in &all.round_trips {
        assert!(histogram.count() > 0, "{flow}");
    }
    let later = Delays::read(&file, 0.06).unwrap();
    let after = of("arrived", "delay_ns", 60_000_000).len() as u64;
    assert!(after < up.count(), "some are in the warm-up");
    assert_eq!(later.one_way.get("up").map_or(0, |up| up.count()), after);
    let error = Delays::read(&path.join("series.parquet"), 0.0).unwrap_err().to_string();
    assert!(
        error.contains("expected a table of events, got one without the column kind"),
        "{error}"
    );
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let error = Delays::read(&file, 0.0).unwrap_err().to_string();
    assert!(error.contains("events.parquet: expected a whole Parquet file"), "{error}");
}

#[test]
fn events_are_read_back_as_the_rows_say() {
    let path = scene::scratch("events-back");
    scene::record(&path, &scene::files(), scene::play);
    let file = path.join("events.parquet");
    let rows = rows(&file);
    let events = EventsReading::read(&file, u64::MAX).unwrap();
    assert_eq!((events.rows, events.rows_all), (rows.len() as u64, rows.len() as u64));
    let of = |kinds: &[&str]| -> Vec<&Row> {
        let is_one = |row: &&Row| kinds.contains(&field(row, "kind").as_str().unwrap());
        rows.iter().filter(is_one).collect()
    };
    let text = |row: &Row, column: &str| field(row, column).as_str().unwrap_or_default().to_owned();
    let number = |row: &Row, column: &str| field(row, column).as_i64();
    let packets = of(&["sent", "queued", "dropped", "delivered", "arrived", "lost"]);
    assert_eq!(packets.len(), events.packets.len());
    for (row, packet) in packets.into_iter().zip(&events.packets) {
        assert_eq!(text(row, "kind"), packet.event.as_str());
        assert_eq!(number(row, "at_ns"), Some(packet.at_ns));
        assert_eq!(number(row, "tag"), Some(packet.tag));
        for (column, id) in
            [("node", packet.node), ("flow", packet.flow), ("reason", packet.reason)]
        {
            assert_eq!(text(row, column), events.text(id), "{column}");
        }
        assert_eq!(number(row, "queue_packets").unwrap_or(-1), i64::from(packet.queue_packets));
        let parts = packet.parts.map(|place| events.parts[place as usize]);
        assert_eq!(number(row, "delay_ns"), parts.map(|parts| parts.delay_ns));
        for name in PartsReading::NAMES {
            let part = parts.map(|parts| parts.part(name));
            assert_eq!(number(row, &format!("{name}_ns")), part, "{name}");
        }
    }
    let ppdus = of(&["ppdu"]);
    assert_eq!(ppdus.len(), events.ppdus.len());
    for (row, ppdu) in ppdus.into_iter().zip(&events.ppdus) {
        assert_eq!(number(row, "at_ns"), Some(ppdu.at_ns));
        assert_eq!(number(row, "duration_ns"), Some(ppdu.duration_ns));
        for (column, id) in [("node", ppdu.node), ("peer", ppdu.peer), ("frame", ppdu.frame)] {
            assert_eq!(text(row, column), events.text(id), "{column}");
        }
        let counts =
            [("mpdus", ppdu.mpdus), ("retries", ppdu.retries), ("received", ppdu.received)];
        for (column, count) in counts {
            assert_eq!(number(row, column), Some(i64::from(count)), "{column}");
        }
        assert_eq!(field(row, "collided").as_bool(), Some(ppdu.collided));
    }
    assert_eq!(of(&["off_channel", "dozing", "awake"]).len(), events.absences.len());
    let none = EventsReading::read(&file, rows.len() as u64 - 1).unwrap();
    assert_eq!((none.rows, none.packets.len()), (0, 0), "whole row groups or nothing");
}

#[test]
fn series_by_columns_are_those_by_rows() {
    let path = scene::scratch("series-columns");
    scene::record(&path, &scene::files(), scene::play);
    let file = path.join("series.parquet");
    let (table, rows) = (SeriesTable::read(&file).unwrap(), rows(&file));
    assert_eq!(table.at_ns.len(), rows.len());
    for (place, row) in rows.iter().enumerate() {
        let (column, name) = match &table.names[table.of[place]] {
            SeriesOf::Flow(name) => ("flow", name),
            SeriesOf::Node(name) => ("node", name),
            SeriesOf::Link(name) => ("link", name),
        };
        assert_eq!(field(row, column), name.as_str());
        assert_eq!(field(row, "at_ns").as_i64(), Some(table.at_ns[place]));
        for (quantity, values) in &table.quantities {
            assert_eq!(field(row, quantity).as_f64(), values[place], "{quantity}");
        }
    }
    assert!(table.quantities.iter().any(|(name, _)| name == "throughput_mbps"));
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    assert!(SeriesTable::read(&file).is_err());
}

#[test]
fn the_documentation_names_the_columns() {
    let path = scene::scratch("columns");
    scene::record(&path, &scene::files(), scene::play);
    for file in ["events.parquet", "series.parquet"] {
        // Only devices of several links have one, and none is in the scene.
        let listed = documented_columns(file).into_iter().filter(|name| name != "link");
        let made = columns(&path.join(file)).into_iter().filter(|name| name != "link");
        assert_eq!(listed.collect::<Vec<_>>(), made.collect::<Vec<_>>(), "{file}");
    }
}

#[test]
fn many_rows_are_in_several_groups() {
    const ROWS: u64 = 150_000;
    let path = scene::scratch("groups");
    let files = Files { events: true, ..Files::default() };
    scene::record(&path, &files, |recorder| {
        for tag in 0..ROWS {
            let now = Instant::ZERO + Duration::from_nanos(tag * 100);
            recorder.sent(now, &scene::packet(tag, 1_500, 0, scene::LAPTOP, scene::SERVER));
        }
    });
    let file = path.join("events.parquet");
    let reader = SerializedFileReader::new(File::open(&file).unwrap()).unwrap();
    assert_eq!(reader.metadata().num_row_groups(), 3);
    let events = rows(&file);
    assert_eq!(events.len() as u64, ROWS);
    assert!(events.iter().zip(0..).all(|(row, tag)| {
        row.get_column_iter().any(|(name, value)| name == "tag" && *value == Field::Long(tag))
    }));
    // A few bytes per row, because of delta encoding.
    assert!(fs::metadata(&file).unwrap().len() < 4 * ROWS);
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let paths = ["same-1", "same-2"].map(scene::scratch);
    for path in &paths {
        scene::record(path, &scene::files(), scene::play);
    }
    for entry in fs::read_dir(&paths[0]).unwrap() {
        let name = entry.unwrap().file_name();
        let contents = paths.each_ref().map(|path| fs::read(path.join(&name)).unwrap());
        assert!(contents[0] == contents[1], "{name:?}");
    }
}

#[test]
fn a_full_disk_ends_the_run_with_the_file_named() {
    let path = scene::scratch("full");
    fs::create_dir_all(&path).unwrap();
    for file in ["events.parquet", "air.pcapng"] {
        let link = path.join(format!("{file}.part"));
        std::os::unix::fs::symlink("/dev/full", &link).unwrap();
        let air = (file == "air.pcapng").then(scene::air);
        let files = Files { events: air.is_none(), air, ..Files::default() };
        let mut directory = OutputDir::create_named(&*path).unwrap();
        let mut recorder =
            Recorder::with_files(scene::names(), scene::recording(), &files, &mut directory)
                .unwrap();
        scene::play(&mut recorder);
        recorder.arrived(
            Instant::ZERO,
            NodeId(scene::SERVER),
            &scene::packet(1, 1_000, 0, scene::LAPTOP, scene::SERVER),
        );
        let error =
            recorder.finish(&scene::info(), &NetworkStats::default()).unwrap_err().to_string();
        assert!(error.contains(file) && error.contains("No space left on device"), "{error}");
        drop(directory);
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0, "nothing is left");
    }
}

/// A PPDU for two receivers is a row, a link and a reading for each of them, and one time on
/// the air of its sender.
#[test]
fn a_ppdu_for_two_stations_is_counted_for_both() {
    let path = scene::scratch("two-receivers");
    scene::record(&path, &scene::files(), |recorder| {
        let to = |station| Address::Station(StationId(station));
        let data = |tag, station| {
            let packet = scene::packet(tag, 1_000, 1, scene::SERVER, station);
            vec![scene::qos_data(tag as u16, vec![packet], false)]
        };
        let mut ppdu =
            scene::ppdu(0, scene::AP, to(scene::LAPTOP), scene::HT, data(1, scene::LAPTOP));
        let other = scene::ppdu(0, scene::AP, to(scene::PHONE), scene::HT, data(2, scene::PHONE));
        ppdu.psdus.extend(other.psdus);
        recorder.event(&Event::Ppdu(ppdu), &|_| None);
    });
    let events = rows(&path.join("events.parquet"));
    let peers: Vec<_> = events.iter().map(|row| field(row, "peer")).collect();
    assert_eq!(peers, ["laptop", "phone"]);
    let series = rows(&path.join("series.parquet"));
    let mut links: Vec<_> = series.iter().map(|row| field(row, "link")).collect();
    links.retain(|link| !link.is_null());
    assert_eq!(links, ["ap->laptop", "ap->phone"]);
}

/// Rows of a capture come back as they were written, under the documented names.
#[test]
fn seconds_and_absences_come_back() {
    let path = scene::scratch("heard");
    let mut directory = OutputDir::create(&*path).unwrap();
    let mut writer = HeardWriter::new(&mut directory).unwrap();
    let channel = SecondReading { airtime_fraction: Some(0.25), ..SecondReading::default() };
    writer.second(7, Heard::Channel, &channel).unwrap();
    let link = SecondReading { ppdus: Some(3), data_rate_mbps: Some(6.5), ..channel };
    writer.second(8, Heard::Link("a->b"), &link).unwrap();
    let flow = SecondReading { flight_bytes_max: Some(1 << 40), ..SecondReading::default() };
    writer.second(8, Heard::Flow("tcp c->d"), &flow).unwrap();
    let absence = AbsenceRow {
        station: "a",
        from_ns: 1,
        to_ns: 2,
        frames: (3, 4),
        attempts: [Some(5), None],
        acks: [Some(6), None],
        beacons: 7,
        polls: 8,
        sent_while_away: u32::MAX,
    };
    writer.absence(&absence).unwrap();
    writer.close().unwrap();
    directory.commit().unwrap();
    for file in ["seconds.parquet", "absences.parquet"] {
        assert_eq!(columns(&path.join(file)), documented_columns(file), "{file}");
    }
    let read = rows(&path.join("seconds.parquet"));
    let all = |name: &str| -> Vec<Value> { read.iter().map(|row| field(row, name)).collect() };
    assert_eq!(all("at_ns"), [7.into(), 8.into(), Value::from(8)]);
    assert_eq!(all("link"), [Value::Null, "a->b".into(), Value::Null]);
    assert_eq!(all("flow"), [Value::Null, Value::Null, "tcp c->d".into()]);
    assert_eq!(all("airtime_fraction"), [Value::from(0.25), 0.25.into(), Value::Null]);
    assert_eq!(all("ppdus"), [Value::Null, 3.into(), Value::Null]);
    assert_eq!(all("flight_bytes_max"), [Value::Null, Value::Null, (1_u64 << 40).into()]);
    let read = rows(&path.join("absences.parquet"));
    for (name, value) in [
        ("station", "a".into()),
        ("from_ns", 1.into()),
        ("to_ns", 2.into()),
        ("first_frame", 3.into()),
        ("last_frame", 4.into()),
        ("leave_attempts", 5.into()),
        ("back_attempts", Value::Null),
        ("leave_acks", 6.into()),
        ("back_acks", Value::Null),
        ("beacons", 7.into()),
        ("polls", 8.into()),
        ("sent_while_away", i32::MAX.into()),
    ] {
        assert_eq!(field(&read[0], name), value, "{name}");
    }
}

/// Segments of several captures: every column is documented, and unknown values are absent.
#[test]
fn segments_of_captures_are_rows() {
    let path = scene::scratch("segments");
    let mut directory = OutputDir::create(&*path).unwrap();
    let mut writer = SegmentWriter::new(&mut directory).unwrap();
    let lost = SegmentRow {
        flow: "tcp a:1->b:2",
        sequence: u32::MAX,
        payload_bytes: 1448,
        retransmission: true,
        left: Some((-5, 9)),
        gateway_ns: None,
        air_begin_ns: None,
        air_end_ns: None,
        air_frames: None,
        attempts: 0,
        first_attempt_missed: false,
        hops: 0,
        air_acknowledged_ns: None,
        arrived: None,
        acknowledged_ns: None,
        sent_again_ns: Some(6),
        sent_again_by: Some("timer"),
        fate: "lost_before",
    };
    writer.segment(&lost).unwrap();
    let arrived = SegmentRow {
        gateway_ns: Some(10),
        air_begin_ns: Some(11),
        air_end_ns: Some(12),
        air_frames: Some([13, 14]),
        attempts: 15,
        first_attempt_missed: true,
        hops: 16,
        air_acknowledged_ns: Some(17),
        arrived: Some((18, 19)),
        acknowledged_ns: Some(20),
        sent_again_ns: None,
        sent_again_by: None,
        fate: "arrived",
        ..lost
    };
    writer.segment(&arrived).unwrap();
    writer.close().unwrap();
    directory.commit().unwrap();
    let file = path.join("segments.parquet");
    assert_eq!(columns(&file), documented_columns("segments.parquet"));
    let read = rows(&file);
    for (name, values) in [
        ("flow", ["tcp a:1->b:2".into(), Value::from("tcp a:1->b:2")]),
        ("sequence", [u32::MAX.into(), u32::MAX.into()]),
        ("payload_bytes", [1448.into(), 1448.into()]),
        ("retransmission", [true.into(), true.into()]),
        ("left_ns", [(-5).into(), (-5).into()]),
        ("left_frame", [9.into(), 9.into()]),
        ("gateway_ns", [Value::Null, 10.into()]),
        ("air_begin_ns", [Value::Null, 11.into()]),
        ("air_end_ns", [Value::Null, 12.into()]),
        ("air_first_frame", [Value::Null, 13.into()]),
        ("air_last_frame", [Value::Null, 14.into()]),
        ("attempts", [0.into(), 15.into()]),
        ("first_attempt_missed", [false.into(), true.into()]),
        ("hops", [0.into(), 16.into()]),
        ("air_acknowledged_ns", [Value::Null, 17.into()]),
        ("arrived_ns", [Value::Null, 18.into()]),
        ("arrived_frame", [Value::Null, 19.into()]),
        ("acknowledged_ns", [Value::Null, 20.into()]),
        ("sent_again_ns", [6.into(), Value::Null]),
        ("sent_again_by", ["timer".into(), Value::Null]),
        ("fate", ["lost_before".into(), "arrived".into()]),
    ] {
        assert_eq!([0, 1].map(|row| field(&read[row], name)), values, "{name}");
    }
}
