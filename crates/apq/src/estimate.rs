//! Estimates of the queue, of rates and of the discipline, from the records of
//! phases.
//!
//! | module | input and result |
//! |---|---|
//! | [`statistics`] | medians, quantiles, intervals, lines, peaks |
//! | [`timeline`] | a record in the order of sending, on one clock |
//! | [`session`] | equation 1 and the counted capacity, from an empty, a full and an empty queue |
//! | [`discipline`] | drop-tail, CoDel or fair queueing; the driver queue |
//! | [`limit_unit`](mod@limit_unit) | whether the limit counts packets or bytes |
//! | [`symptoms`] | reasons to doubt a result |
//!
//! Times are seconds as `f64` from the start of a phase. Readings of clocks are not
//! converted themselves: only their differences are, as integers, so that clocks
//! that are hours apart lose no precision.

pub mod discipline;
pub mod limit_unit;
pub mod session;
pub mod statistics;
pub mod symptoms;
pub mod timeline;

pub use discipline::Evidence;
pub use session::Session;
pub use symptoms::Symptoms;
pub use timeline::{Passage, Timeline, Window, Windows};
