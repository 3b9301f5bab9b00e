//! Drives the machines in real time.

#![cfg(target_os = "linux")]

pub mod frame;
pub mod os;
