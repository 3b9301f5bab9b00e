//! The medium access control layer.

pub mod rate;
