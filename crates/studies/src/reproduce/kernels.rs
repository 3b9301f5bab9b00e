//! Measurements of a paper's method on real kernels, in virtual machines (`tests/vm`), beside
//! those of the model in the same setting. `data/kernels/KEY.csv` has the figures,
//! `data/kernels/KEY.toml` the setting. There is no verdict: a reader gets both numbers and their
//! ratio. No simulation is run here; the model's figures are kept means of several seeds.

use crate::reproduce::number::number;
use crate::reproduce::request::ScenarioFile;

/// Measurements on real kernels beside those of the model.
#[derive(Debug)]
pub struct OnKernels {
    /// The setting, and where model and kernel differ, in two or three sentences.
    pub text: &'static str,
    /// The scenario of the setting.
    pub scenario: ScenarioFile,
    /// The rows as CSV, with the names of `COLUMNS`. No field has a comma.
    pub table: &'static str,
}

/// A quantity of a case on one kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelRow {
    /// The setting that distinguishes the case.
    pub case: &'static str,
    /// Name of the quantity.
    pub quantity: &'static str,
    /// Unit of the quantity.
    pub unit: &'static str,
    /// Series of the kernel, such as `6.1`.
    pub kernel: &'static str,
    /// Without the module.
    pub without: BesideModel,
    /// With the module.
    pub with: BesideModel,
}

/// A value of the kernel and that of the model, in the unit of the row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BesideModel {
    /// Value of the kernel, measured.
    pub kernel: f64,
    /// Value of the model: the mean of [`SEEDS`] runs.
    pub model: f64,
    /// Changes of the scenario, as after `--set`, with a space between them.
    pub sets: &'static str,
}

/// Number of runs of the model, with different random numbers.
pub const SEEDS: u64 = 5;
/// The heading of the section.
pub const HEADING: &str = "On real kernels";
/// The heads of the columns in tables of pages. A ratio is that of the model to the kernel.
pub const HEADS: [&str; 9] = [
    "case",
    "quantity",
    "Linux",
    "without the module",
    "model",
    "ratio",
    "with the module",
    "model",
    "ratio",
];
/// The number of the first columns, which have words.
pub const WORDS: usize = 3;

impl OnKernels {
    /// Returns the rows of the table.
    ///
    /// # Panics
    /// If the table is malformed.
    pub fn rows(&self) -> Vec<KernelRow> {
        let mut lines = self.table.lines();
        assert_eq!(lines.next(), Some(COLUMNS), "columns");
        lines.map(row).collect()
    }

    /// The cells below [`HEADS`], row by row.
    pub fn cells(&self) -> Vec<[String; HEADS.len()]> {
        self.rows().into_iter().map(KernelRow::cells).collect()
    }
}

const COLUMNS: &str =
    "case,quantity,unit,kernel,without,with,model_without,model_with,sets_without,sets_with";

fn row(line: &'static str) -> KernelRow {
    let fields: Vec<&str> = line.split(',').collect();
    let &[case, quantity, unit, kernel, without, with, model, model_with, sets, sets_with] =
        &fields[..]
    else {
        panic!("not ten fields: {line}")
    };
    let value = |text: &str| text.parse().unwrap_or_else(|why| panic!("{line}: {text}: {why}"));
    let without = BesideModel { kernel: value(without), model: value(model), sets };
    let with = BesideModel { kernel: value(with), model: value(model_with), sets: sets_with };
    KernelRow { case, quantity, unit, kernel, without, with }
}

impl KernelRow {
    fn cells(self) -> [String; HEADS.len()] {
        let [without, with] = [self.without, self.with].map(BesideModel::cells);
        let [kernel, model, ratio] = without;
        let [kernel_with, model_with, ratio_with] = with;
        [
            self.case.to_owned(),
            format!("{}, {}", self.quantity, self.unit),
            self.kernel.to_owned(),
            kernel,
            model,
            ratio,
            kernel_with,
            model_with,
            ratio_with,
        ]
    }
}

impl BesideModel {
    /// The model's value over the kernel's.
    pub fn ratio(self) -> f64 {
        self.model / self.kernel
    }

    fn cells(self) -> [String; 3] {
        [number(self.kernel), number(self.model), format!("{:.2}", self.ratio())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::PAPERS;
    use crate::reproduce::data::mean;
    use crate::reproduce::request::Run;
    use crate::reproduce::run::alone;
    use std::sync::atomic::AtomicBool;

    fn tables() -> impl Iterator<Item = &'static OnKernels> {
        PAPERS.into_iter().filter_map(|paper| paper.on_kernels.as_ref())
    }

    /// The model's value of a quantity: goodput, or mean round trip of the pings.
    fn of_model(file: ScenarioFile, sets: &str, quantity: &str) -> f64 {
        let run = sets.split_whitespace().fold(Run::new("", file), Run::set);
        let value = |number| {
            let data = alone(&run.clone().number(number), &AtomicBool::new(false));
            let data = data.expect("the scenario is sound");
            match quantity {
                "ping" => data.flow("ping").rtt_ms.expect("pings are answered").mean,
                bulk => data.flow(bulk).goodput_mbps.expect("it was on"),
            }
        };
        mean(&(0..SEEDS).map(value).collect::<Vec<_>>())
    }

    /// The first case of each table is made again; the others take longer.
    #[test]
    fn the_kept_values_are_those_of_the_model() {
        for on_kernels in tables() {
            let rows = on_kernels.rows();
            let case = rows[0].case;
            for row in rows.iter().filter(|row| row.case == case && row.kernel == rows[0].kernel) {
                for kept in [row.without, row.with] {
                    let made = of_model(on_kernels.scenario, kept.sets, row.quantity);
                    let off = (made / kept.model - 1.0).abs();
                    assert!(off < 0.005, "{row:?} {kept:?}: {made}");
                }
            }
        }
    }
}
