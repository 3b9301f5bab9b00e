//! Second reading of all files together. It always continues with the file that is behind by the
//! reference clock.

use super::{Event, Join, SegmentWay};
use crate::analysis::Analysis;
use crate::file::Capture;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read};

/// Reader of a file.
pub type Source = Box<dyn Read>;

/// End of the second reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// All files were read as far as the first time.
    Done,
    /// The reading was stopped earlier.
    Stopped,
}

/// Reads all files again. `open` opens a file by its index, and `begin` creates an analysis for
/// each. `each` receives the segments roughly in the order of departure. `stop` is polled and ends
/// the reading.
///
/// # Errors
///
/// Fails if a file cannot be opened again. Errors within a file were reported at its first reading;
/// here they end the file.
pub fn read(
    join: &mut Join,
    open: &mut dyn FnMut(usize) -> io::Result<Source>,
    begin: &dyn Fn() -> Analysis,
    each: &mut dyn FnMut(&SegmentWay),
    stop: &dyn Fn() -> bool,
) -> io::Result<Again> {
    let mut files: BTreeMap<usize, BTreeMap<u32, usize>> = BTreeMap::new();
    for (index, place) in join.places().iter().enumerate() {
        if join.plan.clocks[index].is_ok() {
            files.entry(place.file).or_default().insert(place.interface, index);
        }
    }
    let mut streams = Vec::new();
    for (file, places) in files {
        let capture = Capture::open(open(file)?).map_err(io::Error::other)?;
        let mut analysis = begin();
        analysis.watch();
        let events = VecDeque::new();
        streams.push(Stream { capture, analysis, events, places, ended: false });
    }
    let mut again = Again::Done;
    for count in 0u64.. {
        if count % 4_096 == 0 && stop() {
            again = Again::Stopped;
            break;
        }
        streams.iter_mut().for_each(|stream| stream.fill(join));
        let next = streams.iter_mut().filter(|stream| !stream.events.is_empty());
        let Some(stream) = next.min_by_key(|stream| stream.events.front().map(|next| next.0))
        else {
            break;
        };
        if let Some((_, place, event)) = stream.events.pop_front() {
            join.handle_event(place, &event);
        }
        while let Some(way) = join.poll_segment() {
            each(&way);
        }
    }
    join.finish();
    while let Some(way) = join.poll_segment() {
        each(&way);
    }
    Ok(again)
}

/// A file during reading.
struct Stream {
    capture: Capture,
    analysis: Analysis,
    /// Events with their time by the reference clock, and their place.
    events: VecDeque<(i64, usize, Event)>,
    /// Place by interface.
    places: BTreeMap<u32, usize>,
    ended: bool,
}

impl Stream {
    /// Reads until there is an event, or the file ends.
    fn fill(&mut self, join: &Join) {
        while self.events.is_empty() && !self.ended {
            match self.capture.next_packet() {
                Ok(Some(packet)) => self.analysis.handle_packet(&packet),
                Ok(None) | Err(_) => {
                    self.analysis.finish();
                    self.ended = true;
                }
            }
            while let Some(event) = self.analysis.poll_event() {
                let (interface, at_ns) = match event {
                    Event::Seen(sighting) => (sighting.interface, sighting.end_ns),
                    Event::Acknowledged { interface, at_ns, .. } => (interface, at_ns),
                };
                if let Some(&place) = self.places.get(&interface)
                    && let Some(at_ns) = join.to_reference(place, at_ns)
                {
                    self.events.push_back((at_ns, place, event));
                }
            }
        }
    }
}
