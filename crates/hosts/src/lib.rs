//! The hosts of a network: what begins and ends there, under both clocks.
//!
//! | module | what it is |
//! |---|---|
//! | [`config`] | flows and coded links, as a scenario has them |
//! | [`traffic`] | sources that pace simulated flows and real sockets alike |
//! | [`sink`] | whom a driver tells what happened |

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod config;
pub mod sink;
pub mod traffic;

pub use config::{
    ApqFlow, Flow, FlowKind, FrancLink, FrancMachine, FrancNode, FrancOutage, TcpApplication,
    TcpFlow,
};
pub use sink::{
    ApqEnding, FrameDirection, FrancNodeReport, FrancReport, ProgramFlow, ProgramsLeftOut, Sink,
    TcpSample,
};
pub use traffic::{Source, SourceConfig};
