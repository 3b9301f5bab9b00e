//! Active queue management for packets of any kind: keeps the standing delay of a
//! queue short.
//!
//! | module | contents |
//! |---|---|
//! | [`cobalt`] | COBALT, of `cake`: CoDel and BLUE together |
//! | [`codel`] | CoDel's control law (RFC 8289), one state per queue |
//! | [`pi2`] | the control law of DualPI2 (RFC 9332): one controller, two coupled probabilities |
//! | [`round_robin`] | deficit round robin with precedence for new flows (RFC 8290) |
//! | [`flow_queues`] | queues of flows that use both |
//!
//! Times are instants and durations of `units`, lengths in bytes. Left out: the queues themselves,
//! their limits, and the definition of a flow, all of which the owner provides.

pub mod cobalt;
pub mod codel;
pub mod flow_queues;
pub mod pi2;
pub mod round_robin;

pub use cobalt::{Cobalt, CobaltParameters, Verdict};
pub use codel::{Control, Parameters, Queueable, Source, Variant};
pub use flow_queues::FlowQueues;
pub use pi2::{Pi2, Pi2Parameters, Signal};
pub(crate) use round_robin::mixed;
pub use round_robin::{Members, RoundRobin, bucket_of};
