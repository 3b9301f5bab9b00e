//! Active queue management: what queues of packets share whose standing delay is kept
//! short, whatever their packets are.
//!
//! | module | what it is |
//! |---|---|
//! | [`codel`] | CoDel's control law (RFC 8289), one state for each queue |
//! | [`round_robin`] | deficit round robin with precedence for new flows (RFC 8290) |
//! | [`flow_queues`] | queues of flows under both |
//!
//! Queues themselves, their bounds and what a flow is are their owners'.

pub mod codel;
pub mod flow_queues;
pub mod round_robin;

pub use codel::{Control, Packet, Parameters, Source};
pub use flow_queues::FlowQueues;
pub use round_robin::{Members, RoundRobin, bucket_of};
