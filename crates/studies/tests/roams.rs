//! Roams of wpa_supplicant over mac80211 of Linux 6.1, and the model's on the same walks: what the
//! documentation shows of them is what `data/kernels/roam.csv` and the model say now.

use lasthop_studies::Verdict;
use lasthop_studies::validate::roams::{CASES, WalkCompared, in_page, table};
use lasthop_studies::validate::summary;

/// The documentation; with the variable `UPDATE_DOCS` both files are made anew.
const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

fn assert_is(name: &str, made: impl FnOnce(&str) -> String) {
    let path = format!("{DOCS}/{name}");
    let is = std::fs::read_to_string(&path).expect("the documentation has it");
    let made = made(&is);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &made).expect("it can be written");
    } else {
        assert_eq!(
            made, is,
            "{name}: run UPDATE_DOCS=1 cargo test -p lasthop-studies --test roams"
        );
    }
}

/// One roam in each walk, with Linux' frames in its order; the instants of scan and first frame, the
/// length of the scan, the time after it and that without data within 15 % in all walks, apart from the
/// time without data in the open network, where Linux loses two pings more.
/// The page and the file beside it show every figure, those outside of the band, too.
#[test]
fn the_model_roams_as_linux_does() {
    let compared: Vec<_> = CASES.iter().map(WalkCompared::make).collect();
    let made = table(&compared);
    assert_is("validation/vm-roam.csv", |_| summary::csv(&made));
    assert_is("validation-vm.md", |page| in_page(page, &compared).expect("it has a table"));
    for (cells, verdict) in &made.rows {
        let name = &*cells[1];
        let is_kept = name.starts_with("order")
            || name.starts_with("from the scan")
            || ["roams in a walk", "begin of the scan", "first frame", "scan"].contains(&name)
            || name == "without data" && cells[0] != "open";
        assert!(!is_kept || *verdict != Verdict::Fail, "{cells:?}");
        if name == "without data" && *verdict != Verdict::Listed {
            assert!(cells[8].parse::<f64>().unwrap() < 1.15, "{cells:?}");
        }
    }
    let judged = made.rows.iter().filter(|(_, verdict)| *verdict != Verdict::Listed).count();
    assert!(judged > 50, "{judged}");
}
