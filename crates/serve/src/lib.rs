//! Runs in a browser: a server of HTTP/1.1 on the loopback that shows the files of runs in a folder
//! and a running emulation, and the page that it serves.
//!
//! | module | content |
//! |---|---|
//! | `server` | [`Server`]: the socket, a thread for each connection, limits, the end |
//! | [`http`] | requests and responses as bytes, access control, policies for browsers |
//! | [`route`] | routing of requests |
//! | `runs` | list of runs, their documents and findings |
//! | `series` | series over time |
//! | `air` | the timeline of the air at any resolution |
//! | `packet` | the way of one packet |
//! | `live` | [`Live`]: events of a running emulation, for any number of browsers |
//!
//! The crate models nothing and writes nothing. A request names runs by numbers and files by words
//! that are compared; no part of it becomes a path.
//!
//! A request is in `route`, documented in `docs/serve-api.md`; the page is `web/src/viewer`.
//!
//! Unstable: the API follows the command `lasthop` and may change in any version.

#![forbid(unsafe_code)]

mod air;
mod error;
pub mod http;
mod live;
mod order;
mod packet;
pub mod route;
mod runs;
mod series;
mod server;

pub use error::ServeError;
pub use live::{Live, Session};
pub use server::{Options, Server};
