//! Tests of the files of a run with other readers: Parquet files with the reader of the
//! `parquet` crate, captures with tshark. The scene that most of them record is in
//! `scene`.

#![allow(missing_docs, clippy::unwrap_used)]

mod absence;
mod air;
mod announced;
mod apq;
mod beside;
mod cell;
mod cut;
mod damaged;
mod eht;
mod kept;
mod mu_mimo;
mod narrow;
mod ofdma_eht;
mod operating_mode;
mod scene;
mod stream;
mod tables;
mod tcp;
