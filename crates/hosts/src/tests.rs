//! Tests of the hosts of a network as a driver sees them: what is sent when, what
//! arrives, and what is reported. Networks are chains of wires whose delays and
//! rates make the times closed forms: a packet of `n` bytes occupies a wire of `r` bit/s
//! for `8 (n + 14) / r`. Leaves out most of what needs a cell, which is tested through
//! `sim`.

mod apq;
mod bed;
mod coded;
mod datagrams;
mod driver;
mod parts;
mod tcp;
