//! Segments without payload (acknowledgements, SYN, FIN) at all places. They are never split or
//! merged, so numbers and timestamps identify each. Segments that appear twice at a place are not
//! followed.

use super::Roles;
use super::direction::role::{AIR, GATEWAY, RECEIVER, SENDER};
use super::sample::COPIES_NS;
use super::tally::Tally;
use super::way::{SegmentWay, WayFate};
use crate::sighting::AirCarrier;
use std::collections::{BTreeMap, VecDeque};

/// Segments without payload of one direction.
#[derive(Debug, Default)]
pub(super) struct Acks {
    seen: BTreeMap<u64, Ack>,
    by_time: VecDeque<(i64, u64)>,
}

#[derive(Debug, Default)]
struct Ack {
    at_ns: [Option<i64>; 4],
    ends_ns: Vec<i64>,
    carrier: Option<AirCarrier>,
    first_missed: bool,
    unclear: bool,
}

impl Acks {
    pub fn len(&self) -> usize {
        self.seen.len()
    }

    pub fn handle(
        &mut self,
        role: usize,
        digest: u64,
        begin_ns: i64,
        end_ns: i64,
        carrier: Option<AirCarrier>,
    ) {
        let by_time = &mut self.by_time;
        let ack = self.seen.entry(digest).or_insert_with(|| {
            by_time.push_back((begin_ns, digest));
            Ack::default()
        });
        if role == AIR {
            let same = |a: &AirCarrier, b: &AirCarrier| {
                (a.from, a.to, a.tid, a.sequence) == (b.from, b.to, b.tid, b.sequence)
            };
            match (&ack.carrier, &carrier) {
                (Some(known), Some(again)) if again.retry && same(known, again) => {
                    ack.ends_ns.push(end_ns);
                    return;
                }
                // The second hop of a relay is not kept separately.
                (Some(_), _) => ack.unclear = true,
                (None, _) => {}
            }
            ack.first_missed = carrier.is_some_and(|carrier| carrier.retry);
            ack.carrier = carrier;
            ack.ends_ns.push(end_ns);
        }
        match ack.at_ns[role] {
            Some(known) if role != AIR && begin_ns.abs_diff(known) < COPIES_NS => {}
            Some(_) => ack.unclear = true,
            None => ack.at_ns[role] = Some(begin_ns),
        }
    }

    pub fn settle(&mut self, limit_ns: Option<i64>, roles: &Roles, tally: &mut Tally) {
        while let Some((at, digest)) = self.by_time.front().copied()
            && limit_ns.is_none_or(|limit| at < limit)
        {
            self.by_time.pop_front();
            let Some(ack) = self.seen.remove(&digest) else { continue };
            if ack.unclear {
                tally.acknowledgements_unclear += 1;
                continue;
            }
            tally.acknowledgements.add(&ack.way(roles));
        }
    }
}

impl Ack {
    fn way(&self, roles: &Roles) -> SegmentWay {
        let arrived_ns = self.at_ns[RECEIVER];
        let until = arrived_ns.map_or(i64::MAX, |at| at.saturating_add(roles.slack_ns));
        let ended = self.ends_ns.iter().copied().filter(|end| *end <= until).max();
        SegmentWay {
            flow: roles.flow,
            back: roles.back,
            sequence: 0,
            payload_bytes: 0,
            retransmission: false,
            left_ns: self.at_ns[SENDER],
            left_frame: None,
            gateway_ns: self.at_ns[GATEWAY],
            air_begin_ns: self.at_ns[AIR],
            air_end_ns: ended.or(self.ends_ns.first().copied()),
            air_frames: None,
            attempts: self.ends_ns.len() as u32,
            first_attempt_missed: self.first_missed,
            hops: 1,
            to_access_point: false,
            air_acknowledged_ns: None,
            arrived_ns,
            arrived_frame: None,
            acknowledged_ns: None,
            sent_again_ns: None,
            trigger: None,
            fate: WayFate::Unknown,
        }
    }
}
