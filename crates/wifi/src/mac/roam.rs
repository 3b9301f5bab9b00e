//! Roaming: a station leaves an access point for another of the same network (IEEE 802.11-2020,
//! 11.3, 12.4, 12.7 and 13). The module has the frames on the air.

pub mod frame;
