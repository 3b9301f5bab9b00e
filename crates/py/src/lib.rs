//! The compiled part of the Python package `lasthop`: the module `lasthop._lasthop`.
//! `python/lasthop` has its documentation, its types and the parts that need no speed.
//!
//! | module | content |
//! |---|---|
//! | `scenario` | scenario files, changed by key (`toml`: Python's values as TOML) |
//! | `simulate` | one run, without the interpreter's lock, which Ctrl-C ends |
//! | `sweep` | the runs of a sweep: missing ones, made here or in other processes |
//! | `steps` | a run in steps, whose radios can be changed |
//! | `figures` | reproduced figures of papers |
//! | `table` | tables in memory through the Arrow PyCapsule interface, without a copy |
//! | `mean` | means over rows, with confidence intervals |
//! | `rlnc` | network coding on buffers |
//!
//! Built for the stable ABI of Python 3.10, which has no buffer protocol: `bytes` are read
//! in place, every other buffer is converted to `bytes` first. Leaves out emulation and the
//! other verbs of the command.
//!
//! A feature of Python is in `python/lasthop`, and here if it is compiled. Its documentation is in
//! `_lasthop.pyi` and beside the function, which a test compares.

#![forbid(unsafe_code)]

mod figures;
mod mean;
mod rlnc;
mod scenario;
mod simulate;
mod steps;
mod sweep;
mod table;
mod toml;

#[pyo3::pymodule]
mod _lasthop {
    #[pymodule_export]
    use crate::figures::{RawFigures, RawPaper, papers, reproduce};
    #[pymodule_export]
    use crate::mean::mean_ci;
    #[pymodule_export]
    use crate::rlnc::{Code, Decoder, Encoder, Recoder, Vector, WindowDecoder, WindowEncoder};
    #[pymodule_export]
    use crate::scenario::Scenario;
    #[pymodule_export]
    use crate::simulate::{RawRun, simulate};
    #[pymodule_export]
    use crate::steps::Steps;
    #[pymodule_export]
    use crate::sweep::{SweepPlan, SweepWork, make_runs, sweep_tables};
    #[pymodule_export]
    use crate::table::Table;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("run_schema", lasthop_trace::run_schema().to_string())
    }
}
