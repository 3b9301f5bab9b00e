//! Tables that are cut or changed: an answer or an error that names the file, never a panic.

use crate::scene;
use lasthop_trace::{
    ApqSample, Delays, EventsReading, SeriesReading, SeriesTable, TableError, check_table,
};
use std::fs;
use std::path::Path;

/// Returns every reader's verdict on the file.
fn read(file: &Path) -> [Result<(), TableError>; 6] {
    [
        check_table(file),
        SeriesReading::read(file).map(drop),
        SeriesTable::read(file).map(drop),
        Delays::read(file, 0.0).map(drop),
        EventsReading::read(file, u64::MAX).map(drop),
        ApqSample::read(file).map(drop),
    ]
}

fn assert_named(file: &Path) -> usize {
    let errors = read(file).into_iter().filter_map(Result::err);
    let name = file.display().to_string();
    errors.inspect(|why| assert!(why.to_string().contains(&name), "{why}")).count()
}

#[test]
fn a_table_that_was_cut_is_no_table() {
    let path = scene::scratch("cut-tables");
    scene::record(&path, &scene::files(), scene::play);
    let whole = fs::read(path.join("series.parquet")).unwrap();
    let file = path.join("cut.parquet");
    for end in (0..whole.len()).step_by(7) {
        fs::write(&file, &whole[..end]).unwrap();
        assert_eq!(assert_named(&file), 6, "the first {end} bytes");
    }
}

/// Bytes at equal distances are changed. Many changes are in values, which are then others.
#[test]
fn a_table_that_was_changed_is_read_or_an_error() {
    let path = scene::scratch("changed-tables");
    scene::record(&path, &scene::files(), scene::play);
    let mut bytes = fs::read(path.join("series.parquet")).unwrap();
    let file = path.join("changed.parquet");
    let mut errors = 0;
    for at in (0..bytes.len()).step_by(7) {
        for bits in [0x01, 0xff] {
            bytes[at] ^= bits;
            fs::write(&file, &bytes).unwrap();
            if let Err(why) = SeriesReading::read(&file) {
                assert!(why.to_string().contains("changed.parquet"), "{why}");
                errors += 1;
            }
            bytes[at] ^= bits;
        }
    }
    assert!(
        errors > bytes.len() / 14,
        "{errors} of {} changes matter",
        bytes.len().div_ceil(7) * 2
    );
}
