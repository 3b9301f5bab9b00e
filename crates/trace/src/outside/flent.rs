//! Results of flent (file format 3, and 1 and 2 of netperf-wrapper): `raw_values` has each value of
//! a test with its time since 1970 (`t`), and `dur` seconds of netperf's interval before it;
//! `metadata.T0` is the begin. Units are in `metadata.SERIES_META`: "Mbits/s" and "ms". Older files
//! without raw values have `x_values` and `results` on a grid. Left out: computed series (averages,
//! sums), statistics of queues and CPUs.

use super::field::{Field, FieldError};
use super::measurement::{
    Measurement, MeasurementKind, MeasurementSeries, MeasurementValue, TIME_S_MAX,
};

/// Endings of computed series in files without raw values.
const COMPUTED: [&str; 4] = [" avg", " sum", " totals", " fairness"];

/// Time zones differ by multiples of this, in seconds.
const QUARTER_S: f64 = 900.0;

/// Facts of a test that begin a scenario. Fields are absent where the file lacks them.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct FlentMetadata {
    /// Name of the test, such as `rrul`.
    pub test: String,
    /// Title of the user.
    pub title: Option<String>,
    /// Seconds of load.
    pub length_s: Option<f64>,
    /// Seconds between two pings.
    pub step_s: Option<f64>,
    /// Name of the machine that ran the test.
    pub local_host: Option<String>,
    /// Names of the machines at the other end.
    pub hosts: Vec<String>,
    /// Release of the kernel.
    pub kernel: Option<String>,
    /// Default congestion control.
    pub congestion_control: Option<String>,
    /// Value of the sysctl `net.ipv4.tcp_ecn`.
    pub tcp_ecn: Option<f64>,
    /// Value of the sysctl `net.ipv4.tcp_no_metrics_save`.
    pub no_metrics_save: Option<f64>,
    /// Interface towards the other end.
    pub interface: Option<String>,
    /// Driver of the interface.
    pub driver: Option<String>,
    /// Rate of the interface by ethtool, such as `1000Mb/s`.
    pub speed: Option<String>,
    /// Queue disciplines of the interface: name and parameters.
    pub qdiscs: Vec<(String, String)>,
    /// Wi-Fi of the machine.
    pub wifi: Option<FlentWifi>,
    /// Names of uploads with data, in the order of the file.
    pub uploads: Vec<String>,
    /// Names of downloads with data.
    pub downloads: Vec<String>,
    /// Names of pings with data.
    pub pings: Vec<String>,
}

/// The channel and the interface of `iw dev`.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct FlentWifi {
    /// Name of the interface.
    pub interface: String,
    /// Type, such as `managed` or `AP`.
    pub role: Option<String>,
    /// Centre of the primary channel in MHz.
    pub frequency_mhz: Option<f64>,
    /// Width of the channel in MHz.
    pub width_mhz: Option<f64>,
    /// Transmit power in dBm.
    pub power_dbm: Option<f64>,
}

/// Reads the series.
pub(super) fn measurement(top: &Field<'_>) -> Result<Measurement, FieldError> {
    let metadata = top.get("metadata");
    let test = metadata.as_ref().and_then(|it| it.get("NAME")?.word()).unwrap_or_default();
    let mut read = Measurement { program: "flent".into(), test, ..Measurement::default() };
    let units = |name: &str| {
        let series = metadata.as_ref()?.get("SERIES_META")?;
        series.entries().ok()?.into_iter().find(|(other, _)| *other == name)?.1.get("UNITS")?.word()
    };
    let mut raw = Vec::new();
    for (name, values) in top.get("raw_values").map_or(Ok(Vec::new()), |it| it.entries())? {
        if let Some(kind) = kind(name, units(name).as_deref()) {
            raw.push((name, kind, values));
        }
    }
    let begin = metadata.as_ref().and_then(|it| it.get("T0"));
    let mut begin_s = begin.map(|it| begin_of(&it, &raw)).transpose()?;
    for (name, kind, values) in raw {
        let mut series = values_of(&values, kind, &mut begin_s)?;
        series.retain(|it| !it.values.is_empty());
        for (index, series) in series.iter_mut().enumerate() {
            series.name = if index == 0 { name.to_owned() } else { format!("{name}, TCP's own") };
        }
        read.series.extend(series);
    }
    if read.series.is_empty() {
        read.series = gridded(top, &units)?;
        read.notes.push(
            "the file has no raw values: those of the grid are means that flent interpolated"
                .into(),
        );
    }
    Ok(read)
}

/// The begin of a test in seconds since 1970. Before version 3 of the format it is in the time zone
/// of the machine, and differs from the times of the values by whole quarters of an hour.
fn begin_of(
    from: &Field<'_>,
    raw: &[(&str, MeasurementKind, Field<'_>)],
) -> Result<f64, FieldError> {
    let text = from.text()?;
    let begin_s = time(text).ok_or_else(|| from.other("a time (ISO 8601)"))?;
    if text.ends_with('Z') {
        return Ok(begin_s);
    }
    let mut first_s = f64::INFINITY;
    for (_, _, values) in raw {
        for item in values.items()? {
            first_s = first_s.min(item.need("t")?.number()?);
        }
    }
    let quarters = ((first_s - begin_s) / QUARTER_S).round();
    // More than a day is no time zone.
    let is_zone = quarters.is_finite() && quarters.abs() <= 96.0;
    Ok(begin_s + if is_zone { quarters * QUARTER_S } else { 0.0 })
}

/// The kind of a series by its unit, or by its name without one; `None` for other statistics.
fn kind(name: &str, units: Option<&str>) -> Option<MeasurementKind> {
    if name.contains("::tcp_") || COMPUTED.iter().any(|ending| name.ends_with(ending)) {
        return None;
    }
    match units {
        Some("Mbits/s") => Some(MeasurementKind::Throughput),
        Some("ms") | None if name.starts_with("Ping") => Some(MeasurementKind::RoundTrip),
        None if name.starts_with("TCP ") => Some(MeasurementKind::Throughput),
        _ => None,
    }
}

/// The values of a series, and the round trips of its TCP sender. The earliest value is the begin
/// if the file has no other.
fn values_of(
    values: &Field<'_>,
    kind: MeasurementKind,
    begin_s: &mut Option<f64>,
) -> Result<Vec<MeasurementSeries>, FieldError> {
    let mut own = MeasurementSeries { name: String::new(), kind, values: Vec::new() };
    let mut tcp = MeasurementSeries { kind: MeasurementKind::TcpRoundTrip, ..own.clone() };
    for item in values.items()? {
        let at = item.need("t")?;
        let at_s = at.number()? - *begin_s.get_or_insert(at.number()?);
        if at_s.abs() > TIME_S_MAX {
            return Err(at.other("a time within eleven days of metadata.T0"));
        }
        if let Some(rtt) = item.get("tcp_rtt") {
            tcp.values.push(MeasurementValue { at_s, span_s: 0.0, value: rtt.amount()? });
        }
        let Some(value) = item.get("val") else { continue };
        let span_s = item.get("dur").map_or(Ok(0.0), |it| it.number())?.clamp(0.0, TIME_S_MAX);
        own.values.push(MeasurementValue { at_s, span_s, value: value.amount()? });
    }
    Ok(vec![own, tcp])
}

/// Series of a file without raw values.
fn gridded(
    top: &Field<'_>,
    units: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<MeasurementSeries>, FieldError> {
    let mut times = Vec::new();
    for x in top.need("x_values")?.items()? {
        let at_s = x.number()?;
        if at_s.abs() > TIME_S_MAX {
            return Err(x.other("a second of the test"));
        }
        times.push(at_s);
    }
    let span_s = match times[..] {
        [first, second, ..] => f64::max(second - first, 0.0),
        _ => 0.0,
    };
    let mut all = Vec::new();
    for (name, values) in top.need("results")?.entries()? {
        let Some(kind) = kind(name, units(name).as_deref()) else { continue };
        let mut series = MeasurementSeries { name: name.into(), kind, values: Vec::new() };
        for (item, at_s) in values.items()?.zip(&times) {
            if !item.is_null() {
                let value = item.amount()?;
                series.values.push(MeasurementValue { at_s: *at_s, span_s, value });
            }
        }
        if !series.values.is_empty() {
            all.push(series);
        }
    }
    Ok(all)
}

/// Reads the metadata.
pub(super) fn metadata(top: &Field<'_>) -> Result<FlentMetadata, FieldError> {
    let from = top.need("metadata")?;
    let word = |key| from.get(key).and_then(|it| it.word()).filter(|it| !it.is_empty());
    let number = |key| from.get(key).map(|it| it.number()).transpose();
    let read = measurement(top)?;
    let named = |kind: MeasurementKind, word: &str| {
        let of_kind = read.of_kind(kind).filter(|series| series.name.contains(word));
        of_kind.map(|series| series.name.clone()).collect::<Vec<_>>()
    };
    let mut metadata = FlentMetadata {
        test: from.need("NAME")?.text()?.to_owned(),
        title: word("TITLE"),
        length_s: number("LENGTH")?,
        step_s: number("STEP_SIZE")?,
        local_host: word("LOCAL_HOST"),
        kernel: word("KERNEL_RELEASE"),
        uploads: named(MeasurementKind::Throughput, "upload"),
        downloads: named(MeasurementKind::Throughput, "download"),
        pings: named(MeasurementKind::RoundTrip, "Ping"),
        ..FlentMetadata::default()
    };
    if let Some(hosts) = from.get("HOSTS") {
        for host in hosts.items()? {
            metadata.hosts.extend(host.word());
        }
    }
    if let Some(sysctls) = from.get("SYSCTLS") {
        let number = |key| sysctls.get(key).map(|it| it.number()).transpose();
        metadata.tcp_ecn = number("net.ipv4.tcp_ecn")?;
        metadata.no_metrics_save = number("net.ipv4.tcp_no_metrics_save")?;
        let control = sysctls.get("net.ipv4.tcp_congestion_control");
        metadata.congestion_control = control.and_then(|it| it.word());
    }
    if let Some(egress) = from.get("EGRESS_INFO") {
        let word = |key| egress.get(key).and_then(|it| it.word());
        metadata.interface = word("iface");
        metadata.driver = word("driver");
        metadata.speed = egress.get("link_params").and_then(|it| it.get("speed")?.word());
        if let Some(qdiscs) = egress.get("qdiscs") {
            for qdisc in qdiscs.items()? {
                let params = qdisc.get("params").map_or(Ok(Vec::new()), |it| it.entries())?;
                let params = params.iter().map(|(key, value)| {
                    format!("{key} {}", value.word().unwrap_or_default()).trim().to_owned()
                });
                let params = params.collect::<Vec<_>>().join(" ");
                metadata.qdiscs.push((qdisc.need("name")?.text()?.to_owned(), params));
            }
            // One for each hardware queue below `mq`.
            metadata.qdiscs.dedup();
        }
    }
    if let Some(wifi) = from.get("WIFI_DATA") {
        let interfaces = wifi.entries()?;
        let is_used = |name: &str| metadata.interface.as_deref() == Some(name);
        let used = interfaces.iter().find(|(name, _)| is_used(name)).or(interfaces.first());
        if let Some((name, wifi)) = used {
            let channel = wifi.get("channel");
            let number = |field: Option<Field<'_>>| field.map(|it| it.number()).transpose();
            let of_channel = |key| number(channel.as_ref().and_then(|it| it.get(key)));
            metadata.wifi = Some(FlentWifi {
                interface: (*name).to_owned(),
                role: wifi.get("type").and_then(|it| it.word()),
                frequency_mhz: of_channel("band")?,
                width_mhz: of_channel("width")?,
                power_dbm: number(wifi.get("txpower"))?,
            });
        }
    }
    Ok(metadata)
}

/// Seconds since 1970 of `2017-05-30T15:42:47.075621Z` (UTC, with or without the Z); `None` for
/// other texts.
fn time(text: &str) -> Option<f64> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (date, time) = text.split_once('T').or_else(|| text.split_once(' '))?;
    let mut date = date.split('-').map(|it| it.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut time = time.split(':').map(|it| it.parse::<f64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let is_date = (1970..10_000).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0.0..24.0).contains(&hour)
        && (0.0..60.0).contains(&minute)
        && (0.0..61.0).contains(&second);
    if !is_date {
        return None;
    }
    // Days of the Gregorian calendar, with years that begin in March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    // 1970-01-01 is day 719 468 since 0000-03-01.
    Some((days - 719_468) as f64 * 86_400.0 + hour * 3_600.0 + minute * 60.0 + second)
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_are_seconds_since_1970() {
        // `date -u -d 2017-05-30T15:42:47 +%s`, and the day of the leap year 2000.
        assert_eq!(time("2017-05-30T15:42:47.5Z"), Some(1_496_158_967.5));
        assert_eq!(time("2000-02-29T00:00:00"), Some(951_782_400.0));
        assert_eq!(time("1970-01-01 00:00:01"), Some(1.0));
        for text in ["", "today", "2017-13-01T00:00:00", "2017-05-30T15:42", "2017-05-30T25:00:00"]
        {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
