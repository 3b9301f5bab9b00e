//! Records of simulated and emulated runs, with one schema for both. The [`Recorder`]
//! implements [`Sink`](lasthop_hosts::Sink): a driver reports to it, and it produces
//!
//! | what | where |
//! |---|---|
//! | the summary of a run | [`RunDocument`] (`run.json`, `--json`) |
//! | the summary of several runs | [`RunSet`] |
//! | a scenario simulated and emulated, side by side | [`Comparison`] |
//! | events, and series over time | `events.parquet`, `series.parquet` ([`Files`]) |
//! | series, distributions of delays and measured packets read back | [`SeriesReading`], [`Delays`], [`ApqSample`] |
//! | the same, and the flows, nodes and links of a summary, as tables in memory | [`Columns`], [`Tidy`] |
//! | frames on the air, and at each node | `air.pcapng`, `node-NAME.pcapng`; the air also as a stream ([`AirStream`]) |
//! | what was heard in captures: seconds, absences, segments | [`HeardWriter`], [`SegmentWriter`] |
//! | the directory of these files, written completely or not at all | [`OutputDir`] |
//! | the counters of a node of a coded link | [`FrancDocument`] |
//! | the readings of the last interval, for a live view | [`Snapshot`] |
//! | a measured queue, and the packets it was measured with | [`ApqDocument`] (`apq.json`), [`SamplesWriter`] (`samples.parquet`) |
//!
//! The crate knows no driver and no scenario: [`Names`] maps indices to names.

#![forbid(unsafe_code)]

mod air;
mod apq;
mod coded;
mod comparison;
mod document;
mod error;
mod ethernet;
mod events;
mod files;
mod franc;
mod heard;
mod histogram;
mod manifest;
mod medium;
mod names;
mod output;
mod parts;
mod pcapng;
mod programs;
mod read;
mod recorder;
mod rows;
mod run_set;
mod segments;
mod series;
mod snapshot;
mod summary;
mod table;
mod tally;
mod tidy;
mod value;

pub use air::{AirInfo, AirStream};
pub use apq::{
    ApqDirection, ApqDiscipline, ApqDisciplineJudgement, ApqDocument, ApqDoubt, ApqEstimate,
    ApqFlowEnding, ApqFlowSummary, ApqLoad, ApqMethod, ApqSession, ApqSize, ApqUnit,
    ApqUnitJudgement, ApqWay, apq_schema, read::ApqSample, samples::SamplesWriter,
};
pub use coded::{CodedDirectionSummary, CodedLinkSummary, CodedNodeSummary, CodedRole};
pub use comparison::{Comparison, FlowComparison, NodeComparison, Pair, comparison_schema};
pub use document::{
    AbsenceSummary, AggregationSummary, EmulationSummary, FlowSummary, LatenessSummary,
    LeftOutSummary, LinkSummary, NodeSummary, ProgramSummary, PseudoRetryOutSummary, QueueKind,
    QueueSummary, RateSummary, RunDocument, WireSummary, run_schema,
};
pub use error::OutputError;
pub use events::read::Delays;
pub use files::{Files, NodeFrames, Tables};
pub use franc::{
    FrancCounters, FrancDaemonCounts, FrancDocument, FrancNeighbour, FrancRole, franc_schema,
};
pub use heard::{AbsenceRow, Heard, HeardWriter, SecondReading, SegmentRow, SegmentWriter};
pub use histogram::Histogram;
pub use manifest::replace_earlier;
pub use medium::{MediumChannel, MediumDocument, MediumRadio, medium_schema};
pub use names::{FlowKind, FlowName, Names, NodeName};
pub use output::{OutputDir, PartFile};
pub use read::TableError;
pub use recorder::{Recorder, Recording};
pub use rows::{Cell, ColumnKind, RowsWriter};
pub use run_set::{Estimate, FlowEstimates, RunSet, run_set_schema};
pub use series::read::{SeriesError, SeriesOf, SeriesReading};
pub use snapshot::{FlowReading, LinkReading, NodeReading, Snapshot};
pub use summary::RunInfo;
pub use table::memory::{Column, ColumnValues, Columns};
pub use tidy::{DocumentColumn, DocumentSchema, Tidy};
pub use value::{CountSummary, DelayPartsSummary, LossReason, TimeSummary, WindowSummary};
