//! A capture as text and as a page. The numbers are those of its JSON document.
//!
//! | module | content |
//! |---|---|
//! | [`text`] | findings and tables as text |
//! | [`joined`] | simultaneous captures as text |
//! | [`page`], [`plots`] | the page |
//! | `devices`, `roams` | multi-link devices and roams as tables of both |

mod devices;
pub mod joined;
pub mod page;
pub mod plots;
mod roams;
pub mod text;

use lasthop_capture::air::Air;
use lasthop_capture::air::exchange::Link;
use lasthop_capture::series::Seconds;
use lasthop_capture::transport::{Direction, FlowKey};

/// Number of latest seconds kept for each direction of joined segments: an hour.
const SECONDS_MAX: usize = 3_600;

/// A second of one direction of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SegmentSecond {
    /// Sums in ns, and numbers of segments: until the first attempt, on the air, and after it.
    pub parts: [(i64, u32); 3],
    /// Segments lost at any place.
    pub lost: u32,
}

/// Seconds of one direction, by the first sight of its segments.
pub type SegmentSeconds = Seconds<SegmentSecond, SECONDS_MAX>;

/// Parts of the delay of each direction's segments, with the direction's name; most segments first.
pub type BySecond = Vec<(String, SegmentSeconds)>;

/// Returns both directions of a flow that have packets, with their names.
pub fn directions<'a>(
    key: &FlowKey,
    directions: &'a [Direction; 2],
) -> impl Iterator<Item = (String, &'a Direction)> {
    let [a, b] = key.ends.map(|end| end.to_string());
    let protocol = if key.protocol == 6 { "tcp" } else { "udp" };
    let names = [format!("{protocol} {a}->{b}"), format!("{protocol} {b}->{a}")];
    names.into_iter().zip(directions).filter(|(_, direction)| direction.packets > 0)
}

/// Returns the name of a link: both addresses.
pub fn link_name(air: &Air, link: &Link) -> String {
    let [from, to] = [link.from, link.to].map(|id| air.stations.get(id).address);
    format!("{from}->{to}")
}
