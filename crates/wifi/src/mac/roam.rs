//! Roaming: a station leaves an access point for another of the same network (IEEE 802.11-2020,
//! 11.3, 12.4, 12.7 and 13).
//!
//! | module | models |
//! |---|---|
//! | [`frame`] | the frames on the air, and their lengths |
//! | [`elements`] | elements of association frames that all networks have |
//! | [`plan`] | when a station looks for another access point, and which one it takes, by product |
//! | [`policy`] | wpa_supplicant's part of that, and what a signal promises |
//! | [`join`] | the exchange of frames with which it joins one |
//! | [`neighbours`] | neighbor reports, which shorten its scans |
//! | [`steering`] | requests of access points to move |
//! | [`pmksa`] | keys of earlier joins |
//! | [`follow`], `following` | a station that follows its access point to another channel |
//! | [`station`] | a station that is associated, looks for access points, joins and loses them |

pub mod elements;
pub mod follow;
mod following;
pub mod frame;
pub mod join;
pub mod neighbours;
pub mod plan;
pub mod pmksa;
pub mod policy;
pub mod station;
pub mod steering;
