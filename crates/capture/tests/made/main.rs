//! Captures that are made here frame by frame, with findings that they must have, and findings that
//! they must not have.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails, which is its job")]

mod absences;
mod check;
mod devices;
mod feed;
mod joining;
mod judged;
mod roams;
mod scene;
mod shares;
mod tcp;
