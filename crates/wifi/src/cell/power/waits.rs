//! Absences that a packet waits for, as `away` and `doze` record them. At a sender that scans or
//! dozes, they are its own. At the access point, they are those of the receiver, whether the access
//! point knows them and holds the packet, or does not and sends without success. For group frames
//! they are those of any station, up to the DTIM.

use super::Power;
use crate::cell::floor::{Floor, Roster};
use crate::mac::absence::{Absences, Cause, Span, Waits};
use crate::station::{Address, StationId};
use alloc::vec::Vec;
use lasthop_units::Instant;

impl Power {
    /// Records that the access point begins or ceases to hold frames for `station`, and possibly
    /// for the group.
    pub(in crate::cell) fn log_held(&mut self, floor: &mut Floor<'_>, station: StationId) {
        let now = floor.now;
        let is_held = self.dozing.contains(&station);
        let away = floor.away(station);
        let cause = Some(away.cause()).filter(|_| is_held);
        away.log.held.set(now, cause);
        let bss = floor.bss_of(station);
        let members = self.dozing.iter().filter(|dozing| floor.bss_of(**dozing) == bss);
        let causes = members.filter_map(|dozing| {
            floor.stations[dozing.index()].away.as_ref().map(|away| away.cause())
        });
        // A DTIM is the rhythm of those that doze.
        let group = if self.is_saving(floor, bss) {
            Some(Cause::Asleep)
        } else {
            causes.max_by_key(|cause| *cause == Cause::Asleep)
        };
        floor.bss[bss.index()].group_held.set(now, group);
    }
}

impl Roster<'_> {
    /// The absences for which the access point of a station's set held group frames.
    fn group_held(&self, station: StationId) -> &Absences {
        &self.bss[self.bss_of(station).index()].group_held
    }

    /// Whether packets from `sender` to `peer` can have waited for an absence.
    pub(in crate::cell) fn has_absences(&self, sender: StationId, peer: Address) -> bool {
        let comes_and_goes = |station: StationId| self.stations[station.index()].away.is_some();
        comes_and_goes(sender)
            || match peer {
                Address::Station(receiver) => comes_and_goes(receiver),
                Address::Group => self.group_held(sender) != &Absences::default(),
            }
    }

    /// The absences that delayed a packet of `sender` to `peer` in `edcaf` that arrived at `since`
    /// or later.
    pub(in crate::cell) fn waits(
        &self,
        sender: StationId,
        peer: Address,
        edcaf: usize,
        since: Instant,
    ) -> Waits {
        let log =
            |station: StationId| self.stations[station.index()].away.as_ref().map(|away| &away.log);
        let (mut above, mut below) = (Vec::new(), Vec::new());
        if let Some(log) = log(sender) {
            above.extend(log.stopped.since(since));
            below.extend(log.silent.since(since));
        }
        let mut both = |spans: &mut dyn Iterator<Item = Span>| {
            for span in spans {
                above.push(span);
                below.push(span);
            }
        };
        let released = || {
            let access = self.stations[sender.index()].edcafs[edcaf].as_ref();
            access.and_then(|access| access.absent.released_at(peer))
        };
        match peer {
            Address::Station(receiver) => {
                if let Some(log) = log(receiver) {
                    both(&mut log.gone.since(since));
                    if sender == self.access_point_of(receiver) {
                        both(&mut cut(log.held.since(since), released()));
                    }
                }
            }
            Address::Group => {
                // A frame that came later waited for the next opening.
                let opened = released().filter(|opened| *opened >= since);
                both(&mut cut(self.group_held(sender).since(since), opened));
            }
        }
        Waits::new(above, below)
    }
}

/// The spans, cut off at `released`.
fn cut(spans: impl Iterator<Item = Span>, released: Option<Instant>) -> impl Iterator<Item = Span> {
    let end = released.unwrap_or(Instant::MAX);
    spans
        .map(move |span| Span { until: span.until.min(end), ..span })
        .filter(|span| span.from < span.until)
}
