//! Tests of the hosts of a network as a driver sees them: departures, arrivals and reports.
//! Networks are chains of wires whose delays and rates make the times closed forms: a packet of `n`
//! bytes occupies a wire of `r` bit/s for `8 (n + 14) / r`. Left out: most cases with a cell, which
//! are tested through `sim`.

mod apq;
mod bed;
mod coded;
mod datagrams;
mod driver;
mod parts;
mod tcp;
mod web;
