//! Data rates and PPDU durations of 802.11be against ns-3 3.48 (`data/phy_tables_be.csv`,
//! `data/phy_tables_be_mu.csv`): every row to the nanosecond, after the known differences between
//! ns-3 and the standard. The test requires exactly these differences:
//!
//! - EHT-SIG is HE-SIG-B in ns-3: 8 bits for each RU allocation and one for a middle RU, 21 for a
//!   user, at MCS 0 to 5; a user of the whole channel has a common field in PPDUs to one user, and
//!   none in EHT MU PPDUs of 160 and 320 MHz.
//! - An EHT-LTF takes 8 us with any guard interval.
//! - The data part is whole symbols with one BCC tail, and N_DBPS is not rounded down.

#![expect(clippy::unwrap_used, reason = "a malformed row is a failed test")]

use lasthop_wifi_phy::{
    Band, ChannelWidth, EhtMuPpdu, EhtMuUser, EhtRu, EhtSignal, EhtTriggeredPpdu, HeGuardInterval,
    PacketPadding, Rate, RuSize,
};

/// Duration of an EHT-LTF in ns-3.
const LTF_NS: u64 = 8_000;
const BAND: Band = Band::Ghz6;

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
        let hz = self.number::<u64>("width_mhz") * 1_000_000;
        ChannelWidth::ALL_EHT.into_iter().find(|width| width.as_hz() == hz).unwrap()
    }

    /// Guard interval with the size of EHT-LTFs that both MU and trigger-based PPDUs have.
    fn guard_interval(&self) -> HeGuardInterval {
        match self.text("gi_ns") {
            "800" => HeGuardInterval::Ns800Ltf2x,
            "1600" => HeGuardInterval::Ns1600Ltf2x,
            "3200" => HeGuardInterval::Ns3200Ltf4x,
            other => panic!("{other} ns"),
        }
    }

    fn mcs(&self) -> u8 {
        self.number("mcs")
    }

    fn what(&self) -> String {
        self.values.join(",")
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
    rows(include_str!("data/phy_tables_be.csv"))
}

fn multi_user() -> Vec<Row> {
    rows(include_str!("data/phy_tables_be_mu.csv"))
}

fn training_fields(streams: u64) -> u64 {
    [1, 2, 4, 4, 6, 6, 8, 8][streams as usize - 1]
}

/// Coded bits of a subcarrier, numerator and denominator of the code rate.
fn coding(mcs: u8) -> (u64, u64, u64) {
    [
        (1, 1, 2),
        (2, 1, 2),
        (2, 3, 4),
        (4, 1, 2),
        (4, 3, 4),
        (6, 2, 3),
        (6, 3, 4),
        (6, 5, 6),
        (8, 3, 4),
        (8, 5, 6),
        (10, 3, 4),
        (10, 5, 6),
        (12, 3, 4),
        (12, 5, 6),
    ][usize::from(mcs)]
}

/// ns-3's symbols of HE-SIG-B with this number of bits, at MCS 0 to 5.
fn signal_of_ns3(row: &Row, bits: u32) -> u64 {
    let in_symbol = [26, 52, 78, 104, 156, 208][usize::from(row.mcs().min(5))];
    u64::from(bits.div_ceil(in_symbol)) * 4_000
}

/// Bits of ns-3's common field.
fn common_of_ns3(width: ChannelWidth) -> u32 {
    match width {
        ChannelWidth::Mhz20 | ChannelWidth::Mhz40 => 10 + 8,
        ChannelWidth::Mhz80 => 10 + 2 * 8 + 1,
        ChannelWidth::Mhz160 => 10 + 4 * 8 + 1,
        ChannelWidth::Mhz320 => 10 + 8 * 8 + 1,
    }
}

/// Duration of EHT-SIG with this number of bits at the fastest of MCS 0, 1 and 3 up to the data's.
fn signal_ns(row: &Row, bits: u32) -> u64 {
    let in_symbol = [26, 52, 52, 104][usize::from(row.mcs().min(3))];
    u64::from(bits.div_ceil(in_symbol)) * 4_000
}

/// Checks that ns-3's data part is whole symbols with a BCC tail and N_DBPS as a fraction, and that
/// of the crate whole symbols without a tail, and one more if LDPC has an extra segment in a
/// separate symbol. Returns 0 if the crate's is a symbol shorter than ns-3's, 1 if both are equal
/// and 2 if it is a symbol longer.
fn data(row: &Row, size: RuSize, ours: u64) -> usize {
    let what = row.what();
    let (bits_of_subcarrier, numerator, denominator) = coding(row.mcs());
    let streams: u64 = row.number("nss");
    let coded = u64::from(size.data_subcarriers(false)) * bits_of_subcarrier * streams;
    let symbol = row.guard_interval().symbol().as_nanos();
    let bits = 16 + 8 * row.number::<u64>("psdu_bytes");
    let theirs = row.nanoseconds("ppdu_us") - row.nanoseconds("preamble_header_us");
    let of_ns3 = ((bits + 6) * denominator).div_ceil(coded * numerator) * symbol;
    assert_eq!(theirs, of_ns3, "{what}");
    let whole = bits.div_ceil(coded * numerator / denominator) * symbol;
    assert!(ours == whole || ours == whole + symbol, "{what}: {ours} {whole}");
    match (ours + symbol).checked_sub(theirs) {
        Some(difference) if difference % symbol == 0 => (difference / symbol) as usize,
        _ => panic!("{what}: {ours} {theirs}"),
    }
}

#[test]
fn durations_to_one_user_are_those_of_ns3() {
    let (mut count, mut shorter_or_longer, mut factors, mut signals) = (0, [0; 3], [0; 6], [0; 2]);
    for row in single_user() {
        let (streams, bytes): (u8, u32) = (row.number("nss"), row.number("psdu_bytes"));
        let rate = Rate::eht(row.mcs(), streams, row.width(), row.guard_interval()).unwrap();
        let training = training_fields(streams.into());
        let ours_before = rate.preamble_and_header(BAND).as_nanos();
        let ours_ltf = row.guard_interval().training_symbol().as_nanos() * training;
        let theirs_before = row.nanoseconds("preamble_header_us");
        // 17 + 3 + 22 + 10 bits; in ns-3 a common field and 21 + 10 bits.
        let (ours, theirs) =
            (signal_ns(&row, 52), signal_of_ns3(&row, common_of_ns3(row.width()) + 31));
        let before = 20_000 + 4_000 + 8_000 + 4_000;
        assert_eq!(ours_before, before + ours + ours_ltf, "{}", row.what());
        assert_eq!(theirs_before, before + theirs + LTF_NS * training, "{}", row.what());
        signals[usize::from(ours != theirs)] += 1;

        let at = |padding| rate.padded_ppdu_duration(bytes, BAND, padding).as_nanos();
        let ours = at(PacketPadding::None) - ours_before;
        shorter_or_longer[data(&row, RuSize::of_width(row.width()), ours)] += 1;
        let extension = at(PacketPadding::Us20) - at(PacketPadding::None);
        assert_eq!(extension % 4_000, 0, "{rate}");
        factors[(extension / 4_000) as usize] += 1;
        count += 1;
    }
    assert_eq!((count, signals), (1_400, [1_235, 165]));
    // 4 us for each segment of the last symbol, and 4 us more: pre-FEC padding factors 1 to 4.
    assert_eq!((shorter_or_longer, factors), ([3, 1_374, 23], [0, 0, 443, 441, 269, 247]));
}

#[test]
fn data_rates_are_those_of_ns3() {
    for row in single_user() {
        let rate = Rate::eht(row.mcs(), row.number("nss"), row.width(), row.guard_interval());
        let rate = rate.unwrap();
        // In three decimals.
        let theirs: f64 = row.number("data_rate_mbps");
        let ours = rate.bitrate().as_mbps_f64();
        assert!((ours - theirs).abs() < 0.000_501, "{rate}: {ours} {theirs}");
    }
}

/// The first users of the RUs of a size in a channel, and all of these RUs.
fn users(row: &Row) -> (Vec<EhtMuUser>, Vec<EhtRu>) {
    let tones: u16 = row.number("ru_tones");
    let size = RuSize::ALL_EHT.into_iter().find(|size| size.tones() == tones).unwrap();
    let all: Vec<_> = EhtRu::all(size, row.width()).collect();
    let users = all.iter().take(row.number("n_users")).map(|&ru| EhtMuUser {
        ru,
        mcs: row.mcs(),
        streams: row.number("nss"),
        psdu_bytes: row.number("psdu_bytes"),
    });
    (users.collect(), all)
}

#[test]
fn eht_mu_durations_are_those_of_ns3() {
    let (mut count, mut shorter_or_longer, mut signals) = (0, [0; 3], [0; 2]);
    for row in multi_user().iter().filter(|row| row.text("family") == "EHT_MU") {
        let (users, mut unassigned) = users(row);
        let what = row.what();
        assert_eq!(users.len(), row.number::<usize>("n_users"), "{what}");
        let size = users[0].ru.size();
        unassigned.retain(|ru| size < RuSize::Tones242 && !users.iter().any(|user| user.ru == *ru));
        let ppdu = EhtMuPpdu {
            width: row.width(),
            guard_interval: row.guard_interval(),
            signal: EhtSignal::for_data(row.mcs()),
            padding: PacketPadding::None,
            users: &users,
            unassigned: &unassigned,
        };
        ppdu.check().unwrap();
        let [first, second] = ppdu.user_fields();
        let fields = first.max(second);
        let is_whole = size == RuSize::of_width(row.width());
        assert_eq!(ppdu.is_compressed(), is_whole, "{what}");
        let blocks = |fields: u32, bits| fields * bits + fields.div_ceil(2) * 10;
        let theirs = match row.width() {
            ChannelWidth::Mhz160 | ChannelWidth::Mhz320 if is_whole => 31,
            width => common_of_ns3(width) + blocks(fields, 21),
        };
        let ours = match row.width() {
            _ if is_whole => 52,
            ChannelWidth::Mhz20 | ChannelWidth::Mhz40 => 17 + 9 + 10 + blocks(fields, 22),
            ChannelWidth::Mhz80 => 17 + 2 * 9 + 10 + blocks(fields, 22),
            ChannelWidth::Mhz160 => 17 + 4 * 9 + 20 + blocks(fields, 22),
            ChannelWidth::Mhz320 => 17 + 8 * 9 + 20 + blocks(fields, 22),
        };
        let (ours, theirs) = (signal_ns(row, ours), signal_of_ns3(row, theirs));
        signals[usize::from(ours != theirs)] += 1;
        let training = training_fields(row.number("nss"));
        let ours_ltf = row.guard_interval().training_symbol().as_nanos() * training;
        let before = 20_000 + 4_000 + 8_000 + 4_000;
        let ours_before = ppdu.preamble_and_header().as_nanos();
        assert_eq!(ours_before, before + ours + ours_ltf, "{what}");
        let theirs_before = row.nanoseconds("preamble_header_us");
        assert_eq!(theirs_before, before + theirs + LTF_NS * training, "{what}");
        let rate = users[0].bitrate(row.guard_interval()).as_mbps_f64();
        assert!((rate - row.number::<f64>("data_rate_mbps")).abs() < 0.000_501, "{what}");
        let ours = ppdu.duration(BAND).as_nanos() - ours_before;
        shorter_or_longer[data(row, size, ours)] += 1;
        count += 1;
    }
    assert_eq!((count, signals, shorter_or_longer), (1_188, [372, 816], [13, 1_133, 42]));
}

#[test]
fn eht_trigger_based_durations_are_those_of_ns3() {
    let (mut count, mut shorter_or_longer) = (0, [0; 3]);
    for row in multi_user().iter().filter(|row| row.text("family") == "EHT_TB") {
        let (users, _) = users(row);
        let guard_interval = row.guard_interval();
        let ppdu = EhtTriggeredPpdu {
            width: row.width(),
            guard_interval,
            padding: PacketPadding::None,
            users: &users,
        };
        ppdu.check().unwrap();
        let what = row.what();
        let training = training_fields(row.number("nss"));
        let before = 20_000 + 4_000 + 8_000 + 8_000;
        let ours_before = ppdu.preamble_and_header().as_nanos();
        let ours_ltf = guard_interval.training_symbol().as_nanos() * training;
        assert_eq!(ours_before, before + ours_ltf, "{what}");
        let theirs_before = row.nanoseconds("preamble_header_us");
        assert_eq!(theirs_before, before + LTF_NS * training, "{what}");
        let ours = ppdu.duration(BAND).as_nanos() - ours_before;
        shorter_or_longer[data(row, users[0].ru.size(), ours)] += 1;
        count += 1;
    }
    assert_eq!((count, shorter_or_longer), (720, [7, 692, 21]));
}
