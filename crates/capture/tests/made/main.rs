//! Captures that are made here frame by frame, and what is found in them: where a finding must be,
//! and where it must not.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails, which is its job")]

mod check;
mod feed;
mod joining;
mod tcp;
