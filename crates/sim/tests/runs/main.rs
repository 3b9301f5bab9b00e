//! Whole runs in virtual time: against calculations by hand, and against themselves with other
//! tables beside or in another order; every kind of flow and coded link, and what is shipped. One
//! test program, because each links all of the simulator.

mod adjust;
mod apq;
mod by_hand;
mod changes;
mod franc;
mod generations;
mod group;
mod layout;
mod mtu;
mod products;
mod saturated;
mod shipped;
mod tcp;
