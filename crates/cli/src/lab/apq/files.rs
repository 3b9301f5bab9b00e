//! The files of a measurement (`--out`): samples are written as they arrive, `apq.json` and the
//! plots at the end. All files get their names at once, so that an interrupt leaves none; their
//! page follows. docs/files.md documents the formats.

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::lab::page;
use lasthop_apq::PhaseRecord;
use lasthop_figures::plot;
use lasthop_report::apq::plots::Plots;
use lasthop_report::trial::Trials;
use lasthop_trace::{OutputDir, OutputError, SamplesWriter};
use std::path::{Path, PathBuf};

/// Files that are being written.
#[derive(Debug)]
pub struct Files {
    directory: OutputDir,
    samples: SamplesWriter,
    plots: Plots,
}

impl Files {
    /// Starts the files in the directory at `path`.
    ///
    /// # Errors
    /// An error if they cannot be created.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let mut directory = OutputDir::create(path).map_err(Failure::message)?;
        let samples = SamplesWriter::new(&mut directory).map_err(Failure::message)?;
        Ok(Self { directory, samples, plots: Plots::default() })
    }

    /// Adds the packets of a phase.
    ///
    /// # Errors
    /// An error if they cannot be written.
    pub fn phase(&mut self, number: u32, record: &PhaseRecord) -> Result<(), Failure> {
        self.plots.phase(record);
        self.samples.phase(number, record).map_err(Failure::message)
    }

    /// Completes the files, and adds their page; returns its path.
    ///
    /// # Errors
    /// An error if they cannot be written, or after a signal.
    pub fn commit(self, json: &str, host: &str, interrupt: &Interrupt) -> Result<PathBuf, Failure> {
        let Self { mut directory, samples, plots } = self;
        let write = |directory: &mut OutputDir| -> Result<(), OutputError> {
            samples.close()?;
            directory.write("apq.json", json.as_bytes())?;
            for (name, panels) in [("session", plots.session(host)), ("delays", plots.delays(host))]
            {
                directory.write(&format!("{name}.svg"), plot::svg(&panels).as_bytes())?;
                directory.write(&format!("{name}.png"), &plot::png(&panels))?;
            }
            Ok(())
        };
        write(&mut directory).map_err(Failure::message)?;
        interrupt.check()?;
        let path = directory.path().to_owned();
        directory.commit().map_err(Failure::message)?;
        page::add(&path, &Trials::default())
    }
}
