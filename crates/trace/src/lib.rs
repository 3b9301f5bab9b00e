//! Records of simulated and emulated runs, with one schema for both. The [`Recorder`]
//! implements [`Sink`](lasthop_hosts::Sink): a driver reports to it, and it produces
//!
//! | what | where |
//! |---|---|
//! | the summary of a run | [`RunDocument`] (`run.json`, `--json`) |
//! | the summary of several runs | [`RunSet`] |
//! | a scenario simulated and emulated, side by side | [`Comparison`] |
//! | events, and series over time | `events.parquet`, `series.parquet` ([`Files`]) |
//! | series, events, distributions of delays and measured packets read back | [`SeriesReading`], [`SeriesTable`], [`EventsReading`], [`Delays`], [`ApqSample`] |
//! | the same, and the flows, nodes and links of a summary, as tables in memory | [`Columns`], [`Tidy`] |
//! | frames on the air, and at each node | `air.pcapng`, `node-NAME.pcapng`; the air also as a stream ([`AirStream`]) |
//! | the air for the Perfetto viewer | a file of any name ([`Recorder::with_perfetto`]) |
//! | seconds, absences and segments of captures | [`HeardWriter`], [`SegmentWriter`] |
//! | the directory of these files, written completely or not at all, by one writer at a time | [`OutputDir`], [`OutputLock`] |
//! | the readings of the last interval, for a live view | [`Snapshot`] |
//! | measurements of flent, iperf3 and irtt, and one beside simulated runs | [`Measurement`], [`MeasuredComparison`] (`measured.json`) |
//! | a measured queue, and the packets it was measured with | [`ApqDocument`] (`apq.json`), [`SamplesWriter`] (`samples.parquet`) |
//!
//! The crate knows no driver and no scenario: [`Names`] maps indices to names. Without the feature
//! `files`, which is on by default, it has the documents, [`Recorder`] and [`Snapshot`] only, and
//! builds for targets without files and threads.
//!
//! The feature `schema` derives `schemars::JsonSchema` of the documents, for the test that
//! compares the kept JSON Schemas, `schemas`, with it.
//!
//! Only this crate uses Parquet. Tables in memory have Arrow's layout; only `py` links Arrow, to pass
//! tables to other libraries and processes. A new column or file is documented in `docs/files.md`, a
//! new key of a document also in its schema.
//!
//! Unstable: the API follows the command `lasthop` and may change in any version.

#![forbid(unsafe_code)]

mod apq;
mod call;
mod coded;
mod comparison;
mod deadline;
mod document;
mod error;
mod experience;
mod histogram;
mod medium;
mod multi_link;
mod names;
mod outside;
mod parts;
mod programs;
mod recorder;
mod run_set;
mod snapshot;
mod summary;
mod tally;
mod value;

#[cfg(feature = "files")]
mod air;
#[cfg(feature = "files")]
mod captures;
#[cfg(feature = "files")]
mod ethernet;
#[cfg(feature = "files")]
mod events;
#[cfg(feature = "files")]
mod files;
#[cfg(not(feature = "files"))]
#[path = "files/absent.rs"]
mod files;
#[cfg(feature = "files")]
mod heard;
#[cfg(feature = "files")]
mod lock;
#[cfg(feature = "files")]
mod manifest;
#[cfg(feature = "files")]
mod output;
#[cfg(feature = "files")]
mod pcapng;
#[cfg(feature = "files")]
mod perfetto;
#[cfg(feature = "files")]
mod read;
#[cfg(feature = "files")]
mod rows;
#[cfg(feature = "files")]
mod segments;
#[cfg(feature = "files")]
mod series;
#[cfg(feature = "files")]
mod stream;
#[cfg(feature = "files")]
mod table;
#[cfg(feature = "files")]
mod tidy;
mod web;
mod wide;

pub use apq::{
    ApqDirection, ApqDiscipline, ApqDisciplineJudgement, ApqDocument, ApqDoubt, ApqEstimate,
    ApqFlowEnding, ApqFlowSummary, ApqLoad, ApqMethod, ApqSession, ApqSize, ApqUnit,
    ApqUnitJudgement, ApqWay, apq_schema,
};
pub use call::CallSummary;
pub use coded::{
    CodedDirectionSummary, CodedEndLinkSummary, CodedLinkSummary, CodedNodeSummary, CodedRole,
    CodedSilence,
};
pub use comparison::{Comparison, FlowComparison, NodeComparison, Pair, comparison_schema};
pub use deadline::DeadlineSummary;
pub use document::{
    AbsenceClockSummary, AbsenceSummary, AggregationSummary, ChannelSwitchSummary,
    DriverQueueSummary, EmulationSummary, FindingSummary, FlowGroupSummary, FlowSummary,
    LatenessSummary, LeftOutSummary, LinkSummary, NeighbourSummary, NodeSummary, PowerSaveKind,
    ProgramSummary, PseudoRetryOutSummary, QueueKind, QueueSummary, RateSummary, RoamSummary,
    RoamingSummary, RunDocument, StaySummary, SteeredBy, SteeringSummary, TrialQuantity,
    TrialSummary, WaySummary, WireSummary, run_schema,
};
pub use error::OutputError;
pub use experience::ExperienceKind;
pub use histogram::Histogram;
pub use medium::{MediumChannel, MediumDocument, MediumRadio, medium_schema};
pub use multi_link::{FlowLinkSummary, IdleLinkSummary, MultiLinkSummary, SwitchingSummary};
pub use names::{FlowKind, FlowName, Names, NeighbourName, NodeName};
pub use outside::{
    FieldError, FlentMetadata, FlentWifi, FlowWatch, MeasuredComparison, MeasuredDistribution,
    MeasuredFlows, MeasuredQuantity, MeasuredSide, Measurement, MeasurementError, MeasurementKind,
    MeasurementSeries, MeasurementValue, measured_comparison_schema,
};
pub use recorder::{Recorder, Recording};
pub use run_set::{Estimate, FlowEstimates, RunSet, run_set_schema};
pub use snapshot::{FlowReading, LinkReading, NodeReading, Snapshot};
pub use stream::StreamSummary;
pub use summary::RunInfo;
pub use value::{CountSummary, DelayPartsSummary, LossReason, TimeSummary, WindowSummary};
pub use web::WebSummary;

#[cfg(feature = "files")]
pub use air::{AirInfo, AirLink, AirStream};
#[cfg(feature = "files")]
pub use apq::{read::ApqSample, samples::SamplesWriter};
#[cfg(feature = "files")]
pub use events::history::{
    AbsenceReading, EventsReading, PacketEvent, PacketReading, PartsReading, PpduReading, TextId,
};
#[cfg(feature = "files")]
pub use events::read::Delays;
#[cfg(feature = "files")]
pub use files::{Files, NodeFrames, Tables};
#[cfg(feature = "files")]
pub use heard::{AbsenceRow, Heard, HeardWriter, SecondReading, SegmentRow, SegmentWriter};
#[cfg(feature = "files")]
pub use lock::{OutputLock, holder};
#[cfg(feature = "files")]
pub use manifest::replace_earlier;
#[cfg(feature = "files")]
pub use output::{OutputDir, PartFile};
#[cfg(feature = "files")]
pub use outside::read_measurement_text;
#[cfg(feature = "files")]
pub use read::{TableError, check_table};
#[cfg(feature = "files")]
pub use rows::{Cell, ColumnKind, RowsWriter};
#[cfg(feature = "files")]
pub use series::read::{SeriesOf, SeriesReading};
#[cfg(feature = "files")]
pub use table::memory::{Column, ColumnValues, Columns};
#[cfg(feature = "files")]
pub use tidy::{DocumentColumn, DocumentSchema, Tidy};
#[cfg(feature = "files")]
pub use wide::SeriesTable;
