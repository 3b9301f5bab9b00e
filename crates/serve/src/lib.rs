//! Runs in a browser: a server of HTTP/1.1 on the loopback that shows the files of runs in a
//! folder and a running emulation, and the page that it serves.
//!
//! | module | content |
//! |---|---|
//! | `server` | [`Server`]: the socket, a thread for each connection, bounds, the end |
//! | [`http`] | requests and responses as bytes, who may ask, what browsers are told |
//! | [`route`] | which request gets what |
//! | `runs` | which runs there are, and their documents and findings |
//! | `series` | what changed over time |
//! | `air` | the timeline of the air at any resolution |
//! | `packet` | the way of one packet |
//! | `live` | [`Live`]: what a running emulation publishes, for any number of browsers |
//!
//! Nothing is modelled and nothing is written here. A request names runs by numbers and files by
//! words that are compared; no part of it becomes a path.

#![forbid(unsafe_code)]

mod air;
pub mod http;
mod live;
mod packet;
pub mod route;
mod runs;
mod series;
mod server;

pub use live::{Live, Session};
pub use server::{Options, ServeError, Server};
