//! Feeds any bytes as a table of a run or of a measured queue to its readers and to `lasthop
//! serve`. Indices of the result are within their bounds, an error names the file, and a series is
//! equal after writing and reading.
#![no_main]

use lasthop_fuzz::{Folder, quiet, watched};
use lasthop_serve::http::{Method, Request};
use lasthop_serve::route::{Answer, Site, answer};
use lasthop_trace::{
    ApqSample, Cell, ColumnKind, Delays, EventsReading, OutputDir, RowsWriter, SeriesOf,
    SeriesReading, SeriesTable, TableError, TextId, check_table,
};
use libfuzzer_sys::fuzz_target;
use std::fmt::Write;
use std::fs;
use std::path::Path;

const RUN: &[u8] = include_bytes!("../seeds/documents/run");
const ROWS_MAX: u64 = 200_000;

fuzz_target!(init: quiet(), |bytes: &[u8]| {
    watched(|| table(bytes));
});

fn table(bytes: &[u8]) {
    let folder = Folder::new();
    let path = folder.path().join("series.parquet");
    fs::write(&path, bytes).expect("there is room");
    if read(check_table(&path), &path).is_none() {
        return;
    }
    read(Delays::read(&path, 0.0), &path);
    read(ApqSample::read(&path), &path);
    let mut is_served = read(SeriesReading::read(&path), &path).is_some();
    if let Some(series) = read(SeriesTable::read(&path), &path) {
        is_served = true;
        again(&series, folder.path());
    }
    if let Some(events) = read(EventsReading::read(&path, ROWS_MAX), &path) {
        is_served = true;
        assert!(events.rows <= ROWS_MAX);
        hold(&events);
    }
    if is_served {
        fs::copy(&path, folder.path().join("events.parquet")).expect("there is room");
        serve(folder.path());
    }
}

fn read<T>(read: Result<T, TableError>, path: &Path) -> Option<T> {
    read.map_err(|why| assert!(why.to_string().contains(path.to_str().expect("text")), "{why}"))
        .ok()
}

/// Every text and every delay that a row names is there.
fn hold(events: &EventsReading) {
    let are_there = |ids: &[TextId]| ids.iter().all(|id| id.index() < events.texts.len());
    for ppdu in &events.ppdus {
        assert!(are_there(&[ppdu.node, ppdu.peer, ppdu.flow, ppdu.frame, ppdu.rate]));
        assert!(ppdu.duration_ns >= 0);
    }
    for packet in &events.packets {
        assert!(are_there(&[packet.node, packet.peer, packet.flow, packet.reason]));
        assert!(packet.parts.is_none_or(|it| (it as usize) < events.parts.len()));
    }
    let rows = events.ppdus.len() + events.packets.len() + events.absences.len();
    assert!(rows as u64 <= events.rows);
}

/// Writes a series as the tables of sweeps are written, and reads it back.
fn again(series: &SeriesTable, folder: &Path) {
    let mut columns = vec![("at_ns".to_owned(), ColumnKind::Int)];
    columns.extend(["flow", "node", "link"].map(|name| (name.to_owned(), ColumnKind::Text)));
    for (name, _) in &series.quantities {
        if columns.iter().any(|(known, _)| known == name) {
            return;
        }
        columns.push((name.clone(), ColumnKind::Double));
    }
    if series.at_ns.len() > 20_000 {
        return;
    }
    let folder = folder.join("again");
    let mut directory = OutputDir::create(&folder).expect("a folder");
    let file = directory.file("series.parquet").expect("a file");
    let mut rows = RowsWriter::new(file, &columns, &[]).expect("a table");
    for (row, at) in series.at_ns.iter().enumerate() {
        let mut names = [Cell::Null; 3];
        match &series.names[series.of[row]] {
            SeriesOf::Flow(name) => names[0] = Cell::Text(name),
            SeriesOf::Node(name) => names[1] = Cell::Text(name),
            SeriesOf::Link(name) => names[2] = Cell::Text(name),
        }
        let quantity =
            |(_, values): &(String, Vec<Option<f64>>)| values[row].map_or(Cell::Null, Cell::Double);
        let cells = [Cell::Int(*at)].into_iter().chain(names);
        rows.row(cells.chain(series.quantities.iter().map(quantity))).expect("there is room");
    }
    rows.finish().expect("there is room");
    directory.commit().expect("there is room");
    let read = SeriesTable::read(&folder.join("series.parquet")).expect("it was written");
    let mut expected = series.clone();
    expected.is_cut = false;
    assert_eq!(read, expected);
}

/// Sends a browser's requests for a run with these tables; no answer reports a bug.
fn serve(folder: &Path) {
    fs::write(folder.join("run.json"), RUN).expect("there is room");
    let site = Site::new(Some(folder.to_owned()), None).expect("there is a run");
    let mut paths = vec![("runs", String::new()), ("run/0", String::new())];
    paths.extend([("run/0/series", String::new()), ("run/0/report.html", String::new())]);
    for (from, to, width) in [(0, 100_000_000, 1_000), (i64::MIN, i64::MAX, 7), (5, 6, 4_096)] {
        let mut query = String::new();
        write!(query, "from_ns={from}&to_ns={to}&width={width}").expect("it is text");
        paths.push(("run/0/air", query));
    }
    paths.extend((0..3).map(|number| ("run/0/packet", format!("number={number}"))));
    for (path, query) in paths {
        let request = Request { method: Method::Get, path: path.into(), query, body: Vec::new() };
        let Answer::Whole(response) = answer(&site, &request) else { panic!("nothing runs") };
        assert!([200, 404, 422].contains(&response.status()), "{path}: {}", response.status());
    }
}
