//! Whole runs in virtual time, compared with calculations by hand, and with runs of the same tables
//! in another order or beside others: every kind of flow and coded link, and all shipped scenarios.
//! One test program, because each links all of the simulator.

mod adjust;
mod apq;
mod by_hand;
mod call;
#[cfg(feature = "files")]
mod captures;
mod changes;
mod common;
#[cfg(feature = "files")]
mod eht_captures;
mod franc;
mod game;
mod generations;
mod group;
mod layout;
mod moving;
mod mtu;
mod multi_link;
mod neighbours;
mod products;
mod roaming;
mod saturated;
mod shipped;
mod steering;
mod stream;
mod switching;
mod tcp;
mod warm_up;
mod web;
