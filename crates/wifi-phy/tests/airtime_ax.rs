//! Data rates and PPDU durations of 802.11ac and 802.11ax against ns-3 3.37
//! (`data/phy_tables_ax.csv`, `data/phy_tables_ax_mu.csv`): every row to the nanosecond, after the
//! known differences between ns-3 and the standard. The test requires exactly these differences:
//!
//! - VHT: no VHT-SIG-B (4 us); the short guard interval is not rounded up to 4 us.
//! - VHT: there is MCS 9 with three streams in 160 MHz, in three rows.
//! - HE: an HE-LTF takes 8 us with any guard interval; the data part is whole symbols with one BCC
//!   tail, and N_DBPS is not rounded down (MCS 9 on 996 tones); no packet extension.
//! - HE-SIG-B: the middle 26-tone RU of 80 MHz has no user field, a user of an RU of
//!   484 or 996 tones has one in both content channels, of twice 996 two in both.
//!
//! Another program, written from the clauses alone, counted the rows that differ.

#![expect(clippy::unwrap_used, reason = "a malformed row is a failed test")]

use lasthop_wifi_phy::{
    Band, ChannelWidth, GuardInterval, HeGuardInterval, MuPpdu, MuUser, PacketPadding, Rate, Ru,
    RuSize, SignalB, TriggeredPpdu,
};

/// Duration of an HE-LTF in ns-3.
const LTF_NS: u64 = 8_000;
const BAND: Band = Band::Ghz5;

/// A row, with the names of its table's columns.
struct Row {
    columns: Vec<&'static str>,
    values: Vec<&'static str>,
}

impl Row {
    fn text(&self, column: &str) -> &'static str {
        self.values[self.columns.iter().position(|name| *name == column).unwrap()]
    }

    fn number<T: std::str::FromStr>(&self, column: &str) -> T {
        let text = self.text(column);
        text.parse().unwrap_or_else(|_| panic!("{column}: {text}"))
    }

    fn nanoseconds(&self, column: &str) -> u64 {
        (self.number::<f64>(column) * 1e3).round() as u64
    }

    fn width(&self) -> ChannelWidth {
        match self.text("width_mhz") {
            "20" => ChannelWidth::Mhz20,
            "40" => ChannelWidth::Mhz40,
            "80" => ChannelWidth::Mhz80,
            "160" => ChannelWidth::Mhz160,
            other => panic!("{other} MHz"),
        }
    }

    /// Guard interval with an HE-LTF size, which ns-3 lacks: the size that the standard has with
    /// each interval for both one and several users.
    fn he_guard_interval(&self) -> HeGuardInterval {
        match self.text("gi_ns") {
            "800" => HeGuardInterval::Ns800Ltf2x,
            "1600" => HeGuardInterval::Ns1600Ltf2x,
            "3200" => HeGuardInterval::Ns3200Ltf4x,
            other => panic!("{other} ns"),
        }
    }

    fn rate(&self) -> Rate {
        let (mcs, streams, width) = (self.number("mcs"), self.number("nss"), self.width());
        let rate = match (self.text("family"), self.text("gi_ns")) {
            ("VHT", "800") => Rate::vht(mcs, streams, width, GuardInterval::Long),
            ("VHT", "400") => Rate::vht(mcs, streams, width, GuardInterval::Short),
            ("HE", _) => Rate::he(mcs, streams, width, self.he_guard_interval(), false),
            other => panic!("{other:?}"),
        };
        rate.unwrap_or_else(|| {
            // The one that ns-3 has and the standard has not (21.5).
            assert_eq!((mcs, streams, width), (9, 3, ChannelWidth::Mhz160));
            let guard_interval = if self.text("gi_ns") == "400" {
                GuardInterval::Short
            } else {
                GuardInterval::Long
            };
            Rate::Vht { mcs, streams, width, guard_interval }
        })
    }

    fn ru_size(&self) -> RuSize {
        let tones: u16 = self.number("ru_tones");
        RuSize::ALL.into_iter().find(|size| size.tones() == tones).unwrap()
    }
}

fn rows(table: &'static str) -> Vec<Row> {
    let mut lines = table.lines();
    let columns: Vec<_> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| Row { columns: columns.clone(), values: line.split(',').collect() })
        .inspect(|row| assert_eq!(row.columns.len(), row.values.len()))
        .collect()
}

fn single_user() -> Vec<Row> {
    rows(include_str!("data/phy_tables_ax.csv"))
}

fn multi_user() -> Vec<Row> {
    rows(include_str!("data/phy_tables_ax_mu.csv"))
}

fn training_fields(streams: u64) -> u64 {
    [1, 2, 4, 4, 6, 6, 8, 8][streams as usize - 1]
}

/// ns-3's data part of an HE PPDU: whole symbols of SERVICE, PSDU and one BCC tail,
/// whose data bits are not rounded to a whole number.
fn he_data_of_ns3(row: &Row, size: RuSize) -> u64 {
    let (coded_bits, (numerator, denominator)) = coding(row);
    let streams: u64 = row.number("nss");
    let coded = u64::from(size.data_subcarriers(false)) * coded_bits * streams;
    let bits = 16 + 8 * row.number::<u64>("psdu_bytes") + 6;
    let symbols = (bits * denominator).div_ceil(coded * numerator);
    symbols * row.he_guard_interval().symbol().as_nanos()
}

#[test]
fn vht_durations_are_those_of_ns3() {
    let (mut equal, mut rounded, mut forbidden) = (0, 0, 0);
    for row in single_user().iter().filter(|row| row.text("family") == "VHT") {
        let (rate, header) = (row.rate(), row.nanoseconds("preamble_header_us"));
        let ours_before = rate.preamble_and_header(BAND).as_nanos();
        assert_eq!(ours_before, header + 4_000, "{rate}: VHT-SIG-B");
        let is_forbidden = matches!(
            rate,
            Rate::Vht { mcs: 9, streams: 3, width: ChannelWidth::Mhz160, guard_interval: _ }
        );
        forbidden += u32::from(is_forbidden);
        let theirs = row.nanoseconds("ppdu_us") - header;
        let ours = rate.ppdu_duration(row.number("psdu_bytes"), BAND).as_nanos() - ours_before;
        if row.text("gi_ns") == "400" {
            assert_eq!(theirs % 3_600, 0, "{rate}");
            assert_eq!(ours, theirs.next_multiple_of(4_000), "{rate}");
            rounded += u32::from(ours != theirs);
        } else {
            assert_eq!(ours, theirs, "{rate} {} bytes", row.text("psdu_bytes"));
            equal += 1;
        }
    }
    assert_eq!((equal, forbidden), (208, 3));
    assert!(rounded > 150, "{rounded} of 208 rows with the short guard interval rounded up");
}

#[test]
fn he_durations_are_those_of_ns3() {
    let (mut rows, mut shorter_or_longer, mut factors) = (0, [0; 3], [0; 5]);
    for row in single_user().iter().filter(|row| row.text("family") == "HE") {
        let (rate, header) = (row.rate(), row.nanoseconds("preamble_header_us"));
        let training = training_fields(row.number("nss"));
        let ours_before = rate.preamble_and_header(BAND).as_nanos();
        let ours_ltf = row.he_guard_interval().training_symbol().as_nanos();
        assert_eq!(ours_before - ours_ltf * training, header - LTF_NS * training, "{rate}");
        let bytes = row.number("psdu_bytes");
        let at = |padding| rate.padded_ppdu_duration(bytes, BAND, padding).as_nanos();
        let size = RuSize::of_width(rate.width());
        let ours = at(PacketPadding::None) - ours_before;
        shorter_or_longer[he_data(row, size, ours, &rate.to_string())] += 1;
        let extension = at(PacketPadding::Us16) - at(PacketPadding::None);
        assert_eq!(extension % 4_000, 0, "{rate}");
        factors[(extension / 4_000) as usize] += 1;
        rows += 1;
    }
    assert_eq!((rows, shorter_or_longer), (768, [9, 749, 10]));
    // 4 us for each segment of the last symbol: pre-FEC padding factors 1 to 4.
    assert_eq!(factors, [0, 218, 247, 151, 152]);
}

/// Users of the first `count` RUs of a size in a channel.
fn users(row: &Row, count: usize) -> Vec<MuUser> {
    Ru::all(row.ru_size(), row.width())
        .take(count)
        .map(|ru| MuUser {
            ru,
            mcs: row.number("mcs"),
            streams: row.number("nss"),
            dcm: false,
            psdu_bytes: row.number("psdu_bytes"),
        })
        .collect()
}

/// User fields in each content channel of ns-3.
fn user_fields_of_ns3(row: &Row) -> u32 {
    let of_20_mhz = (row.width().as_hz() / 20_000_000) as u32;
    let of_a_channel = of_20_mhz.div_ceil(2);
    match row.ru_size() {
        RuSize::Tones26 => 9 * of_a_channel,
        RuSize::Tones52 => 4 * of_a_channel,
        RuSize::Tones106 => 2 * of_a_channel,
        RuSize::Tones242 => of_a_channel,
        // Both channels have the user of each.
        RuSize::Tones484 => of_20_mhz / 2,
        RuSize::Tones996 => of_20_mhz / 4,
        RuSize::Tones2x996 => 2,
        size => panic!("{size} is no RU of HE"),
    }
}

/// HE-SIG-B with this number of user fields in the longer content channel.
fn signal_b_ns(row: &Row, fields: u32) -> u64 {
    let common = match row.width() {
        ChannelWidth::Mhz20 | ChannelWidth::Mhz40 => 18,
        ChannelWidth::Mhz80 => 27,
        ChannelWidth::Mhz160 => 43,
        ChannelWidth::Mhz320 => panic!("HE has no 320 MHz"),
    };
    let bits = common + fields / 2 * 52 + fields % 2 * 31;
    let in_symbol = [26, 52, 78, 104, 156, 208][row.number::<usize>("mcs").min(5)];
    u64::from(bits.div_ceil(in_symbol)) * 4_000
}

#[test]
fn he_mu_durations_are_those_of_ns3() {
    let (mut rows, mut departures, mut shorter_or_longer) = (0, 0, [0; 3]);
    for row in multi_user().iter().filter(|row| row.text("family") == "HE_MU") {
        let (size, width) = (row.ru_size(), row.width());
        let count: usize = row.number("n_users");
        let users = users(row, count);
        assert_eq!(users.len(), count);
        let mut unassigned: Vec<Ru> = Ru::all(size, width).skip(count).collect();
        unassigned.retain(|ru| ru.size() < RuSize::Tones242);
        let ppdu = MuPpdu {
            width,
            guard_interval: row.he_guard_interval(),
            signal_b: SignalB { mcs: row.number::<u8>("mcs").min(5), dcm: false },
            padding: PacketPadding::None,
            users: &users,
            unassigned: &unassigned,
        };
        ppdu.check().unwrap();
        assert!(!ppdu.is_compressed());
        let what = format!("{count} users of {size} tones in {width}, MCS {}", row.text("mcs"));

        // HE-SIG-B: ours by our user fields, theirs by theirs.
        let [first, second] = ppdu.user_fields();
        let ours = u64::from(ppdu.signal_b_symbols()) * 4_000;
        assert_eq!(ours, signal_b_ns(row, first.max(second)), "{what}");
        let theirs = signal_b_ns(row, user_fields_of_ns3(row));
        let middle = Ru::all(size, width).filter(|ru| ru.is_middle()).count() as u32;
        if size > RuSize::Tones242 {
            assert_eq!(first + second, count as u32, "{what}");
        } else {
            let per_channel = user_fields_of_ns3(row);
            let channels = if width == ChannelWidth::Mhz20 { 1 } else { 2 };
            assert_eq!(first + second, channels * per_channel + middle, "{what}");
            assert!(middle > 0 || ours == theirs, "{what}");
        }
        departures += u32::from(ours != theirs);

        let header = row.nanoseconds("preamble_header_us");
        let training = training_fields(row.number("nss"));
        let ours_ltf = row.he_guard_interval().training_symbol().as_nanos();
        let ours_before = ppdu.preamble_and_header().as_nanos();
        let without = ours_before - ours - ours_ltf * training;
        assert_eq!(without + theirs + LTF_NS * training, header, "{what}");
        let ours = ppdu.duration(BAND).as_nanos() - ours_before;
        shorter_or_longer[he_data(row, size, ours, &what)] += 1;
        rows += 1;
    }
    assert_eq!((rows, departures, shorter_or_longer), (750, 36, [10, 729, 11]));
}

#[test]
fn he_trigger_based_durations_are_those_of_ns3() {
    let (mut rows, mut shorter_or_longer) = (0, [0; 3]);
    for row in multi_user().iter().filter(|row| row.text("family") == "HE_TB") {
        let (size, width) = (row.ru_size(), row.width());
        let users = users(row, row.number("n_users"));
        let guard_interval = row.he_guard_interval();
        let padding = PacketPadding::None;
        let ppdu = TriggeredPpdu { width, guard_interval, padding, users: &users };
        ppdu.check().unwrap();
        let what = format!("{size} tones in {width}, MCS {}", row.text("mcs"));
        let training = training_fields(row.number("nss"));
        let ours_ltf = guard_interval.training_symbol().as_nanos();
        let header = row.nanoseconds("preamble_header_us");
        let ours_before = ppdu.preamble_and_header().as_nanos();
        assert_eq!(ours_before - ours_ltf * training, header - LTF_NS * training, "{what}");
        let ours = ppdu.duration(BAND).as_nanos() - ours_before;
        shorter_or_longer[he_data(row, size, ours, &what)] += 1;
        rows += 1;
    }
    assert_eq!((rows, shorter_or_longer), (440, [7, 428, 5]));
}

/// Checks that ns-3's data part is whole symbols with a BCC tail, and that of the crate whole
/// symbols with a tail if the code is BCC, and one more if LDPC has an extra segment in a separate
/// symbol. Returns 0 if the crate's is a symbol shorter than ns-3's, 1 if both are equal and 2 if
/// it is a symbol longer.
fn he_data(row: &Row, size: RuSize, ours: u64, what: &str) -> usize {
    let theirs = row.nanoseconds("ppdu_us") - row.nanoseconds("preamble_header_us");
    assert_eq!(theirs, he_data_of_ns3(row, size), "{what}");
    let symbol = row.he_guard_interval().symbol().as_nanos();
    let (mcs, streams): (u8, u64) = (row.number("mcs"), row.number("nss"));
    let is_ldpc = size > RuSize::Tones242 || mcs > 9;
    let (coded_bits, (numerator, denominator)) = coding(row);
    let coded = u64::from(size.data_subcarriers(false)) * coded_bits * streams;
    let data_bits = coded * numerator / denominator;
    let bits = 16 + 8 * row.number::<u64>("psdu_bytes") + if is_ldpc { 0 } else { 6 };
    let whole = bits.div_ceil(data_bits) * symbol;
    assert!(ours == whole || is_ldpc && ours == whole + symbol, "{what}: {ours} {whole}");
    match (ours + symbol).checked_sub(theirs) {
        Some(difference) if difference % symbol == 0 => (difference / symbol) as usize,
        _ => panic!("{what}: {ours} {theirs}"),
    }
}

/// Coded bits of a subcarrier, and the code rate, of an HE row.
fn coding(row: &Row) -> (u64, (u64, u64)) {
    let guard_interval = HeGuardInterval::Ns800Ltf2x;
    let rate = Rate::he(row.number("mcs"), 1, ChannelWidth::Mhz20, guard_interval, false);
    let (modulation, code) = rate.unwrap().modulation().unwrap();
    let (numerator, denominator) = code.ratio();
    (modulation.bits().into(), (numerator.into(), denominator.into()))
}

#[test]
fn data_rates_are_those_of_ns3() {
    let mut count = 0;
    for row in single_user() {
        let rate = row.rate();
        // In three decimals.
        let theirs: f64 = row.number("data_rate_mbps");
        let ours = rate.bitrate().as_mbps_f64();
        assert!((ours - theirs).abs() < 0.000_501, "{rate}: {ours} {theirs}");
        assert_eq!(rate.streams(), row.number::<u8>("nss"));
        assert_eq!(rate.width().as_hz(), row.number::<u64>("width_mhz") * 1_000_000);
        count += 1;
    }
    assert_eq!(count, 1_184);
}
