//! The files of `--out`: the document, seconds, absences and segments as Parquet, and a page. All
//! get their names at once; docs/files.md describes them.

use crate::failure::Failure;
use lasthop_capture::air::Air;
use lasthop_capture::analysis::Analysis;
use lasthop_capture::document::CaptureDocument;
use lasthop_capture::transport::Direction;
use lasthop_report::capture::{BySecond, directions, link_name, page};
use lasthop_trace::{
    AbsenceRow, Heard, HeardWriter, OutputDir, OutputError, SecondReading, replace_earlier,
};

/// Writes the files to `directory`, returns the names of all files in it, and removes those of an
/// earlier run that this one did not replace.
///
/// # Errors
/// An error if they cannot be written.
pub fn write(
    mut directory: OutputDir,
    analysis: &Analysis,
    document: &CaptureDocument,
    by_second: &BySecond,
) -> Result<(), Failure> {
    let mut write = || -> Result<(), OutputError> {
        let mut writer = HeardWriter::new(&mut directory)?;
        channel(&mut writer, &analysis.main.air)?;
        let begin = analysis.times().map_or(0, |(first, _)| first);
        for (key, flow) in analysis.main.flows.iter() {
            for (name, direction) in directions(key, &flow.directions) {
                flow_seconds(&mut writer, &name, direction, begin)?;
            }
        }
        absences(&mut writer, &analysis.main.air)?;
        writer.close()?;
        directory.write("capture.json", document.to_json().as_bytes())?;
        let page = page::page(analysis, document, by_second);
        directory.write("capture.html", page.as_bytes())
    };
    write().map_err(Failure::message)?;
    let (path, written) = (directory.path().to_owned(), directory.files());
    directory.commit().map_err(Failure::message)?;
    replace_earlier(&path, &written).map_err(Failure::message)
}

fn channel(writer: &mut HeardWriter, air: &Air) -> Result<(), OutputError> {
    let begin = air.begin_ns.unwrap_or_default();
    for (second, busy_ns) in air.busy.seconds_ns.iter() {
        let reading =
            SecondReading { airtime_fraction: Some(*busy_ns as f64 / 1e9), ..Default::default() };
        writer.second(at(begin, second), Heard::Channel, &reading)?;
    }
    for link in air.links.values() {
        let name = link_name(air, link);
        for (second, it) in link.seconds.iter() {
            let reading = SecondReading {
                throughput_mbps: Some(it.payload_bytes as f64 * 8e-6),
                airtime_fraction: Some(it.airtime_ns as f64 / 1e9),
                ppdus: Some(it.ppdus.into()),
                mpdus: Some(it.mpdus.into()),
                ampdus: Some(it.ampdus.into()),
                mpdus_per_ampdu: mean(it.ampdu_mpdus.into(), it.ampdus.into()),
                retries: Some(it.retries.into()),
                data_rate_mbps: mean(it.rate_kbps_sum, it.ppdus.into()).map(|kbps| kbps / 1e3),
                ..Default::default()
            };
            writer.second(at(begin, second), Heard::Link(&name), &reading)?;
        }
    }
    Ok(())
}

fn flow_seconds(
    writer: &mut HeardWriter,
    name: &str,
    direction: &Direction,
    begin_ns: u64,
) -> Result<(), OutputError> {
    let is_tcp = direction.tcp.is_some();
    for (second, it) in direction.seconds.iter() {
        let reading = SecondReading {
            throughput_mbps: Some(it.payload_bytes as f64 * 8e-6),
            flight_bytes_max: is_tcp.then_some(it.flight_bytes_max.into()),
            ack_ms: mean(it.rtt.0, it.rtt.1.into()).map(|ns| ns / 1e6),
            retransmissions: is_tcp.then_some(it.retransmissions.into()),
            ..Default::default()
        };
        writer.second(at(begin_ns, second), Heard::Flow(name), &reading)?;
    }
    Ok(())
}

fn absences(writer: &mut HeardWriter, air: &Air) -> Result<(), OutputError> {
    for (id, absences) in &air.absences {
        let station = air.stations.get(*id).address.to_string();
        for absence in absences.so_far() {
            let notices = [absence.leave.as_ref(), absence.back.as_ref()];
            writer.absence(&AbsenceRow {
                station: &station,
                from_ns: absence.from_ns,
                to_ns: absence.to_ns,
                frames: absence.frames,
                attempts: notices.map(|notice| notice.map(|notice| notice.frames)),
                acks: notices.map(|notice| notice.map(|notice| notice.acks)),
                beacons: absence.beacons,
                polls: absence.polls,
                sent_while_away: absence.sent_in_vain,
            })?;
        }
    }
    Ok(())
}

/// Returns the start of a second, in ns since 1970.
fn at(begin_ns: u64, second: usize) -> u64 {
    begin_ns.saturating_add((second as u64).saturating_mul(1_000_000_000))
}

fn mean(sum: u64, number: u64) -> Option<f64> {
    (number > 0).then(|| sum as f64 / number as f64)
}
