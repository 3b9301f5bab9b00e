//! Tables of all kinds of values, written and read back with the `parquet` crate, which has
//! encoders and decoders of its own.

use super::*;
use crate::output::OutputDir;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use proptest::prelude::*;
use std::fs::{self, File};

mod kinds {
    use super::super::{Kind, columns};
    columns! {
        BOOL "bool" Bool,
        INT32 "int32" Int32,
        INT64 "int64" Int64,
        DOUBLE "double" Double,
        TEXT "text" Text,
        NEVER "never" Int64,
        NO_TEXT "no_text" Text,
        ALWAYS "always" Int64,
    }
    pub const ALL: [usize; 8] = [BOOL, INT32, INT64, DOUBLE, TEXT, NEVER, NO_TEXT, ALWAYS];
}

/// The values of a row in the columns that have any.
#[derive(Clone, Debug, Default, PartialEq)]
struct Values {
    bool: Option<bool>,
    int32: Option<i32>,
    int64: Option<i64>,
    double: Option<f64>,
    text: Option<String>,
}

/// Writes rows, the number of each in the last column, and reads them back.
fn round_trip(name: &str, rows: &[Values]) -> Vec<(Values, i64)> {
    let [bool, int32, int64, double, text, _, _, always] = kinds::ALL;
    let path = std::env::temp_dir().join(format!("lasthop-table-{}-{name}", std::process::id()));
    let mut directory = OutputDir::create(&path).unwrap();
    let file = directory.file("table.parquet").unwrap();
    let mut table = Table::new(file, kinds::COLUMNS, &[]).unwrap();
    for (values, number) in rows.iter().zip(0..) {
        let word = values.text.as_ref().map(|text| table.word(text));
        let mut row = table.row().unwrap();
        // In another order than in the schema.
        row.int64(always, number);
        if let Some(word) = word {
            row.text(text, word);
        }
        values.bool.map(|value| row.bool(bool, value));
        values.double.map(|value| row.double(double, value));
        values.int32.map(|value| row.int32(int32, value));
        values.int64.map(|value| row.int64(int64, value.cast_unsigned()));
    }
    table.close().unwrap();
    directory.commit().unwrap();
    let file = File::open(path.join("table.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let read = |row: Result<parquet::record::Row, _>| {
        let row = row.unwrap();
        let mut values = Values::default();
        let mut number = -1;
        for (name, field) in row.get_column_iter() {
            match (name.as_str(), field.clone()) {
                ("always", Field::Long(value)) => number = value,
                (_, Field::Null) => {}
                (_, Field::Bool(value)) => values.bool = Some(value),
                (_, Field::Int(value)) => values.int32 = Some(value),
                ("int64", Field::Long(value)) => values.int64 = Some(value),
                (_, Field::Double(value)) => values.double = Some(value),
                ("text", Field::Str(value)) => values.text = Some(value),
                (name, field) => panic!("{name} is {field:?}"),
            }
        }
        (values, number)
    };
    let found = reader.get_row_iter(None).unwrap().map(read).collect();
    fs::remove_dir_all(path).unwrap();
    found
}

fn check(name: &str, rows: &[Values]) {
    let found = round_trip(name, rows);
    assert_eq!(found.len(), rows.len());
    for ((found, number), (values, at)) in found.iter().zip(rows.iter().zip(0..)) {
        assert_eq!((found, *number), (values, at), "row {at}");
    }
}

/// Values of which there are long runs, small steps and extremes.
fn rows() -> impl Strategy<Value = Vec<Values>> {
    let extreme = prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(0), Just(-1), any::<i64>()];
    let values = (
        proptest::option::of(any::<bool>()),
        proptest::option::of(prop_oneof![-3..3, Just(i32::MIN), Just(i32::MAX), any::<i32>()]),
        proptest::option::of(prop_oneof![-9..9_i64, extreme]),
        proptest::option::of(-1e300..1e300),
        proptest::option::of("[a-e]{0,2}"),
    );
    let values = values.prop_map(|(bool, int32, int64, double, text)| Values {
        bool,
        int32,
        int64,
        double,
        text,
    });
    let run = (values, 1_usize..90).prop_map(|(values, length)| vec![values; length]);
    proptest::collection::vec(run, 0..30).prop_map(|runs| runs.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn what_was_written_is_read(rows in rows()) {
        check("any", &rows);
    }
}

#[test]
fn steps_of_any_width_are_read() {
    // Steps that grow from one bit to 64, in as many rows as several blocks have.
    let wide = |at: u64| 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(at) >> (63 - at / 16 % 64);
    let rows: Vec<Values> = (0..2_000)
        .map(|at| Values {
            int32: Some(wide(at) as i32),
            int64: Some(wide(at).cast_signed()),
            ..Values::default()
        })
        .collect();
    check("steps", &rows);
}

#[test]
fn groups_and_batches_lose_no_row() {
    // More rows than two groups have, with words that later batches bring.
    let rows: Vec<Values> = (0..150_001)
        .map(|at| Values {
            int64: (at % 3 == 0).then_some(at),
            text: (at % 2 == 0).then(|| format!("word {}", at / 10_000)),
            bool: Some(at % 7 < 3),
            ..Values::default()
        })
        .collect();
    check("groups", &rows);
}

#[test]
fn an_error_of_the_thread_is_returned() {
    let path = std::env::temp_dir().join(format!("lasthop-table-{}-full", std::process::id()));
    let mut directory = OutputDir::create_named(&path).unwrap();
    std::os::unix::fs::symlink("/dev/full", path.join("table.parquet.part")).unwrap();
    let file = directory.file("table.parquet").unwrap();
    let mut table = Table::new(file, kinds::COLUMNS, &[]).unwrap();
    let [_, _, int64, ..] = kinds::ALL;
    let fill = |table: &mut Table| -> Result<(), OutputError> {
        for at in 0..1_000_000_u64 {
            // Numbers that are not compressed, so that much is written.
            table.row()?.int64(int64, at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1);
        }
        Ok(())
    };
    let error = fill(&mut table).expect_err("the device is full, as the thread finds");
    assert!(error.to_string().contains("No space left on device"), "{error}");
    drop(directory);
}
