//! Queue, rates and disciplines from the records of phases.
//!
//! | module | what follows from what |
//! |---|---|
//! | [`statistics`] | medians, quantiles, intervals, lines, peaks |
//! | [`timeline`] | a record in order, on one clock |
//! | [`session`] | equation 1 and the counted capacity from an empty, a full, an empty queue |
//! | [`discipline`] | drop-tail, CoDel, fair; the driver queue |
//! | [`unit`](mod@unit) | packets or bytes |
//! | [`symptoms`] | what makes a result doubtful |
//!
//! Times are seconds as `f64` from the start of a phase. A clock's reading is
//! never turned into one: only differences are, taken as integers, so that
//! clocks that are hours apart cost no digit.

pub mod discipline;
pub mod session;
pub mod statistics;
pub mod symptoms;
pub mod timeline;
pub mod unit;

pub use discipline::Evidence;
pub use session::{Session, Window, Windows};
pub use symptoms::Symptoms;
pub use timeline::{Passage, Timeline};
