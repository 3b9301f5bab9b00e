//! The server over its socket: who is answered, what runs are listed, what a running emulation
//! shows, and what happens when much is asked or nothing is read.

mod client;
mod folders;
mod live;
mod safety;
