//! Absences by a clock ([`Schedule`](crate::mac::schedule::Schedule)): announcement, departure and
//! return of a station, and of an access point without notice. A frame exchange in progress ends
//! first; an absence that is over by then is left out.

use super::Power;
use super::absence::Rhythm;
use crate::air::Action;
use crate::cell::floor::Floor;
use crate::mac::schedule::{ScheduleAction, ScheduleInput};
use crate::station::StationId;

impl Power {
    /// Passes an input to the station's schedule.
    pub(super) fn schedule_input(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
        input: ScheduleInput,
    ) {
        let now = floor.now;
        let Rhythm::Schedule(schedule) = &mut floor.away(station).rhythm else {
            unreachable!("it has a schedule, or would not have asked");
        };
        let action = schedule.handle(now, input);
        floor.set_gate(station);
        let null = |power_management| Action::Null { power_management };
        match action {
            ScheduleAction::Nothing => {}
            ScheduleAction::Announce => self.queue_about_absence(floor, station, null(true)),
            ScheduleAction::Depart => self.depart(floor, station),
            ScheduleAction::Return => {
                floor.come_back(station);
                self.queue_about_absence(floor, station, null(false));
            }
            ScheduleAction::Resume => {
                floor.come_back(station);
                self.resume(floor, station);
            }
        }
        floor.find_next_absence();
    }
}
