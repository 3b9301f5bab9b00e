//! The server over its socket: access control, the list of runs, running emulations, and clients
//! that request much or read nothing.

mod client;
mod folders;
mod live;
mod safety;
