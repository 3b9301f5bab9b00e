//! The files of a run, read by others: Parquet by the reader of its crate,
//! captures by tshark.

#![allow(missing_docs, clippy::unwrap_used)]

mod absence;
mod air;
mod apq;
mod cell;
mod scene;
mod tables;
