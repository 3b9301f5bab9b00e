//! Roaming: a station leaves an access point for another of the same network (IEEE 802.11-2020,
//! 11.3, 12.4, 12.7 and 13).
//!
//! | module | models |
//! |---|---|
//! | [`frame`] | the frames on the air, and their lengths |
//! | [`policy`] | when a station looks for another access point, and which one it takes |
//! | [`join`] | the exchange of frames with which it joins one |
//! | [`follow`] | a station that follows its access point to another channel |
//! | [`station`] | a station that is associated, looks for access points, joins and loses them |

pub mod follow;
pub mod frame;
pub mod join;
pub mod policy;
pub mod station;
