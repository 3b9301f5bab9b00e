//! The command as a person or a script uses it.

mod action;
mod apq;
mod apq_rogue;
mod apq_strangers;
mod capture;
mod capture_live;
mod completions;
mod demo;
mod doctor;
mod documents;
mod emulate;
mod errors;
mod expect;
mod findings;
mod help;
mod interrupts;
mod lasthop;
mod perfetto;
mod places;
mod report;
mod reproduce;
mod scenario;
mod simulate;
mod sweep;
mod units;
mod writers;
