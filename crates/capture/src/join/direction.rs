//! One direction of a flow at all places on its path. Observations are kept for [`HORIZON_NS`] and
//! then matched, so that the order of reports does not matter, and a retransmission is known before
//! the previous copy is judged.

use super::Roles;
use super::ledger::{AirPart, Ledger, Record, RecordKey};
use super::sample::COPIES_NS;
use super::tally::Tally;
use super::way::{SegmentWay, Trigger, WayFate};
use crate::sighting::Tcp;
use std::collections::VecDeque;

/// Role of a place for a direction, as an index.
pub(super) mod role {
    /// Wired place farthest before the air.
    pub const SENDER: usize = 0;
    /// Last wired place before the air, if that is another one.
    pub const GATEWAY: usize = 1;
    pub const AIR: usize = 2;
    /// Wired place farthest behind the air.
    pub const RECEIVER: usize = 3;
}
use role::{AIR, GATEWAY, RECEIVER};

/// Time for which observations are kept, in ns. It exceeds queueing delays and a first timeout.
pub(super) const HORIZON_NS: i64 = 20_000_000_000;
/// Time by which later observations may belong to an earlier one, in ns.
const MARGIN_NS: i64 = 1_000_000_000;
/// Longest A-MPDU (aPPDUMaxTime; IEEE 802.11-2020, table 19-25), in ns.
const AMPDU_NS_MAX: i64 = 5_484_000;
/// Longest time from an acknowledgement to a segment that it causes, in ns.
const CAUSED_NS: i64 = 1_000_000;
/// Largest number of acknowledgements remembered.
const ACKNOWLEDGED_MAX: usize = 1 << 16;

/// One direction of a flow.
#[derive(Debug, Default)]
pub(super) struct JoinDirection {
    ledgers: [Ledger; 4],
    /// Last number at each place, and its position in the direction.
    last: [Option<(u32, u64)>; 4],
    /// Acknowledgements at the sender: time and position. Both ascend.
    acknowledged: VecDeque<(i64, u64)>,
    /// Time of the latest segment of the other direction at the sender without payload.
    acknowledgement_ns: Option<i64>,
    /// Shortest time from a segment to its acknowledgement.
    round_trip_ns: Option<i64>,
    /// Latest departure at each place that is known to have arrived.
    reached_ns: [Option<i64>; 4],
    pub tally: Tally,
}

/// Origin of positions, which leaves space before the first one.
const ORIGIN: u64 = 1 << 40;

impl JoinDirection {
    pub fn len(&self) -> usize {
        self.ledgers.iter().map(Ledger::len).sum()
    }

    pub fn record(&mut self, role: usize, key: RecordKey) -> Option<&mut Record> {
        self.ledgers[role].get_mut(key)
    }

    /// Returns the position of a number in the direction.
    pub fn position(&mut self, role: usize, number: u32) -> u64 {
        // Number at another place, if this one has none.
        let known = self.last[role].or_else(|| self.last.iter().flatten().next().copied());
        let position = match known {
            Some((last, at)) => {
                at.saturating_add_signed(i64::from(number.wrapping_sub(last) as i32))
            }
            None => ORIGIN,
        };
        self.last[role] = Some((number, position));
        position
    }

    /// Handles a segment with payload.
    pub fn handle_segment(
        &mut self,
        role: usize,
        tcp: &Tcp,
        seen: SeenSegment,
        roles: &Roles,
    ) -> RecordKey {
        let from = self.position(role, tcp.first());
        let to = from + u64::from(tcp.payload_bytes);
        let caused = self.acknowledgement_ns.map(|at| seen.begin_ns - at);
        let ledger = &self.ledgers[role];
        let highest = ledger.highest.unwrap_or(from);
        // A keep-alive probe repeats one byte that was acknowledged (RFC 9293, 3.8.4).
        let probe = tcp.payload_bytes == 1 && highest == from + 1;
        let record = Record {
            from,
            to,
            begin_ns: seen.begin_ns,
            ends_ns: vec![seen.end_ns],
            frames: [seen.frame; 2],
            timestamp: tcp.timestamps.map(|timestamps| timestamps.value),
            id: seen.id,
            again: from < highest && !probe,
            after_acknowledgement: caused.is_some_and(|after| (0..CAUSED_NS).contains(&after)),
            air: seen.air,
            claimed: false,
        };
        if seen.air.is_none()
            && let Some(key) = self.captured_before(role, &record)
        {
            self.tally.captured_twice += 1;
            return key;
        }
        if let Some(air) = seen.air
            && let Some(key) = self.hop_before(&record, air, roles)
            && let Some(before) = self.ledgers[AIR].get_mut(key)
        {
            before.ends_ns.push(seen.end_ns);
            before.frames[1] = seen.frame;
            before.air = before.air.map(|known| AirPart {
                hops: known.hops + 1,
                link: air.link,
                acknowledged_ns: None,
                ..known
            });
            return key;
        }
        if let Some(key) = self.ledgers[role].crowded(&record) {
            self.tally.left_out += 1;
            return key;
        }
        self.tally.sent_again_unknown += u64::from(record.again && role == roles.first());
        self.ledgers[role].insert(record)
    }

    /// Returns the same packet just before on the same wire.
    fn captured_before(&self, role: usize, record: &Record) -> Option<RecordKey> {
        let known = self.ledgers[role].covering(record.from).find(|(_, known)| {
            (known.from, known.to, known.timestamp, known.id)
                == (record.from, record.to, record.timestamp, record.id)
                && record.begin_ns.abs_diff(known.begin_ns) < COPIES_NS
        });
        known.map(|(key, _)| key)
    }

    /// Returns the same copy on another link of the air: an access point relays it.
    fn hop_before(&self, record: &Record, air: AirPart, roles: &Roles) -> Option<RecordKey> {
        if record.timestamp.is_none() && (record.id == 0 || !roles.ids_agree) {
            return None;
        }
        let known = self.ledgers[AIR].overlapping(record.from, record.to).find(|(_, known)| {
            (known.from, known.to, known.timestamp, known.id)
                == (record.from, record.to, record.timestamp, record.id)
                && known.air.is_some_and(|it| it.link != air.link && it.link.1 == air.link.0)
        });
        known.map(|(key, _)| key)
    }

    /// Handles an acknowledgement of the other direction up to a number. `role` is the place that
    /// captured it, for this direction. `empty`: without payload.
    pub fn handle_acknowledgement(&mut self, role: usize, number: u32, at_ns: i64, empty: bool) {
        if empty {
            self.acknowledgement_ns = Some(at_ns);
        }
        let Some((last, at)) = self.last[role].or(self.last.iter().flatten().next().copied())
        else {
            return;
        };
        let position = at.saturating_add_signed(i64::from(number.wrapping_sub(last) as i32));
        if self.acknowledged.back().is_none_or(|(_, highest)| *highest < position) {
            self.acknowledged.push_back((at_ns, position));
            if self.acknowledged.len() > ACKNOWLEDGED_MAX {
                self.acknowledged.pop_front();
            }
        }
    }

    /// Matches observations from before `limit_ns`; all of them without a limit.
    pub fn settle(
        &mut self,
        limit_ns: Option<i64>,
        roles: &Roles,
        out: &mut dyn FnMut(SegmentWay),
    ) {
        let limit = limit_ns.unwrap_or(i64::MAX);
        let later = limit_ns.map_or(i64::MAX, |limit| limit.saturating_sub(MARGIN_NS));
        let first = roles.first();
        while let Some(key) = self.ledgers[first].oldest_before(limit) {
            self.settle_record(first, key, roles, out);
            self.ledgers[first].pop();
        }
        // Observations that belong to no earlier one.
        if first != AIR {
            while let Some(key) = self.ledgers[AIR].oldest_before(later) {
                if self.ledgers[AIR].get(key).is_some_and(|record| !record.claimed) {
                    self.settle_record(AIR, key, roles, out);
                }
                self.ledgers[AIR].pop();
            }
        }
        for role in [GATEWAY, RECEIVER] {
            while role != first && self.ledgers[role].oldest_before(later).is_some() {
                self.ledgers[role].pop();
            }
        }
        while self.acknowledged.len() > 1 && self.acknowledged[0].0 < later {
            self.acknowledged.pop_front();
        }
    }

    /// Matches the observations of a record at the first place that captured it.
    fn settle_record(
        &mut self,
        first: usize,
        key: RecordKey,
        roles: &Roles,
        out: &mut dyn FnMut(SegmentWay),
    ) {
        let Some(record) = self.ledgers[first].get(key).cloned() else { return };
        let mut ways: Vec<(u64, u64, SegmentWay)> = Vec::new();
        if first == AIR {
            let way = self.way(AIR, key, &record, Some(&record), record.from, roles);
            ways.push((record.from, record.to, way));
        } else {
            let heard: Vec<RecordKey> = self.ledgers[AIR]
                .overlapping(record.from, record.to)
                .filter(|(_, copy)| !copy.claimed)
                .filter(|(_, copy)| {
                    let byte = copy.from.max(record.from);
                    self.ledgers[first].owner(copy, byte, roles.slack_ns, roles.ids_agree)
                        == Some(key)
                })
                .map(|(key, _)| key)
                .collect();
            let mut cursor = record.from;
            for copy_key in heard.into_iter().rev() {
                let Some(copy) = self.ledgers[AIR].get_mut(copy_key) else { continue };
                copy.claimed = true;
                let copy = copy.clone();
                if copy.to <= cursor || cursor >= record.to {
                    continue;
                }
                let from = copy.from.max(cursor);
                if from > cursor {
                    let way = self.way(first, key, &record, None, cursor, roles);
                    ways.push((cursor, from, way));
                }
                let way = self.way(first, key, &record, Some(&copy), from, roles);
                let to = copy.to.min(record.to);
                ways.push((from, to, way));
                cursor = to;
            }
            if cursor < record.to {
                let way = self.way(first, key, &record, None, cursor, roles);
                ways.push((cursor, record.to, way));
            }
        }
        // Retransmissions are counted where they leave.
        let again = if first == roles.first() {
            self.copies_after(first, key, &record)
        } else {
            Vec::new()
        };
        for (_, _, way) in &mut ways {
            way.fate = self.fate(way, first, &record, roles);
        }
        for (byte, at_ns, trigger) in &again {
            let of = ways.iter().find(|(from, to, _)| (from..to).contains(&byte));
            let fate = of.map_or(WayFate::Unknown, |(_, _, way)| way.fate);
            self.tally.add_sent_again(fate, at_ns - record.begin_ns, *trigger);
            self.tally.sent_again_unknown = self.tally.sent_again_unknown.saturating_sub(1);
        }
        for (from, to, mut way) in ways {
            way.sequence = self.number(first, from);
            way.payload_bytes = u32::try_from(to - from).unwrap_or(u32::MAX);
            way.retransmission = record.again;
            if let (None, Some(left), Some(acknowledged), false) =
                (way.sent_again_ns, way.left_ns, way.acknowledged_ns, record.again)
            {
                let round_trip = acknowledged - left;
                let least = self.round_trip_ns.get_or_insert(round_trip);
                *least = round_trip.min(*least);
            }
            self.tally.add(&way);
            out(way);
        }
    }

    /// Returns the retransmissions whose previous copy is this record: first byte in the record,
    /// time, and trigger.
    fn copies_after(
        &self,
        role: usize,
        key: RecordKey,
        record: &Record,
    ) -> Vec<(u64, i64, Trigger)> {
        let ledger = &self.ledgers[role];
        let later = ledger.overlapping(record.from, record.to).filter(|(other, copy)| {
            copy.again && *other != key && copy.begin_ns >= record.begin_ns && other.1 > key.1
        });
        later
            .filter(|(other, copy)| {
                let byte = copy.from.max(record.from);
                let before = ledger.covering(byte).filter(|(known, before)| {
                    known != other && before.begin_ns <= copy.begin_ns && known.1 < other.1
                });
                let latest = before.max_by_key(|(known, before)| (before.begin_ns, known.1));
                copy.from >= record.from && latest.is_some_and(|(latest, _)| latest == key)
            })
            .map(|(_, copy)| {
                let trigger = if copy.after_acknowledgement {
                    Trigger::Acknowledgement
                } else {
                    Trigger::Timer
                };
                (copy.from, copy.begin_ns, trigger)
            })
            .collect()
    }

    /// Returns the sequence number of a byte.
    fn number(&self, role: usize, byte: u64) -> u32 {
        let (last, at) = self.last[role].unwrap_or_default();
        last.wrapping_add(byte.wrapping_sub(at) as u32)
    }

    /// Returns the way of the bytes from `byte` on: of a record, and of its copy on the air if that
    /// was captured.
    fn way(
        &self,
        first: usize,
        key: RecordKey,
        record: &Record,
        heard: Option<&Record>,
        byte: u64,
        roles: &Roles,
    ) -> SegmentWay {
        let wired = first != AIR;
        let air = heard.and_then(|copy| copy.air);
        let slack = roles.slack_ns;
        // Earliest observation at a later place that may be this copy and not a later one.
        let seen_at = |role: usize, not_before_ns: i64| {
            let copy = heard.unwrap_or(record);
            self.ledgers[role]
                .covering(byte)
                .filter(|(_, there)| there.end_ns() + slack >= not_before_ns)
                .filter(|(_, there)| copy.may_be(there, roles.ids_agree))
                .filter(|(_, there)| {
                    self.ledgers[first].owner(there, byte, slack, roles.ids_agree) == Some(key)
                })
                .min_by_key(|(_, there)| there.begin_ns)
                .map(|(_, there)| (there.begin_ns, there.frames[0]))
        };
        let gateway = if wired { seen_at(GATEWAY, record.begin_ns) } else { None };
        // If MPDUs behind it were missed, it ended within the A-MPDU.
        let is_exact = air.is_none_or(|air| air.exact);
        let first_end = heard.map_or(record.begin_ns, |copy| {
            if is_exact { copy.ends_ns[0] } else { copy.ends_ns[0] - AMPDU_NS_MAX }
        });
        let arrived = seen_at(RECEIVER, first_end);
        let air_end_ns = heard.map(|copy| {
            let until = arrived.map_or(i64::MAX, |(at, _)| at.saturating_add(slack));
            let ended = copy.ends_ns.iter().copied().filter(|end| *end <= until);
            let first = copy.ends_ns[0];
            ended.max().unwrap_or(if is_exact { first } else { first.min(until) })
        });
        let sent_again = self.ledgers[first].covering(byte).filter(|(other, copy)| {
            *other != key && copy.again && copy.begin_ns >= record.begin_ns && other.1 > key.1
        });
        let sent_again = sent_again.min_by_key(|(other, copy)| (copy.begin_ns, other.1));
        let sent_again = sent_again.map(|(_, copy)| {
            let trigger =
                if copy.after_acknowledgement { Trigger::Acknowledgement } else { Trigger::Timer };
            (copy.begin_ns, trigger)
        });
        let end = heard.map_or(record.to, |copy| copy.to);
        let acknowledged = self.acknowledged.partition_point(|(_, up_to)| *up_to < end);
        let acknowledged = self.acknowledged.get(acknowledged).map(|(at, _)| *at);
        let acknowledged = acknowledged.filter(|at| *at >= record.begin_ns);
        SegmentWay {
            flow: roles.flow,
            back: roles.back,
            sequence: 0,
            payload_bytes: 0,
            retransmission: false,
            left_ns: wired.then_some(record.begin_ns),
            left_frame: wired.then_some(record.frames[0]),
            gateway_ns: gateway.map(|(at, _)| at),
            air_begin_ns: heard.map(|copy| copy.begin_ns),
            air_end_ns,
            air_frames: heard.map(|copy| copy.frames),
            attempts: heard.map_or(0, |copy| copy.ends_ns.len() as u32),
            first_attempt_missed: air.is_some_and(|air| air.first_missed),
            hops: air.map_or(0, |air| air.hops),
            to_access_point: air.is_some_and(|air| air.to_ds),
            air_acknowledged_ns: air.and_then(|air| air.acknowledged_ns),
            arrived_ns: arrived.map(|(at, _)| at),
            arrived_frame: arrived.map(|(_, frame)| frame),
            acknowledged_ns: acknowledged,
            sent_again_ns: sent_again.map(|(at, _)| at),
            trigger: sent_again.map(|(_, trigger)| trigger),
            fate: WayFate::Unknown,
        }
    }

    /// Whether a later departure has arrived at a place, so that a missing one is lost. At the end
    /// of a capture many segments may still be on the way.
    fn is_passed(&mut self, first: usize, role: usize, left_ns: i64, roles: &Roles) -> bool {
        /// Number of latest packets that are checked.
        const LATEST: usize = 64;
        if self.reached_ns[role].is_none_or(|reached| reached <= left_ns) {
            let ledger = &self.ledgers[first];
            let latest = self.ledgers[role].latest(LATEST).filter_map(|record| {
                if role == first {
                    return Some(record.begin_ns);
                }
                let owner = ledger.owner(record, record.from, roles.slack_ns, roles.ids_agree)?;
                Some(ledger.get(owner)?.begin_ns)
            });
            self.reached_ns[role] = latest.max().max(self.reached_ns[role]);
        }
        self.reached_ns[role].is_some_and(|reached| reached > left_ns)
    }

    fn fate(&mut self, way: &SegmentWay, first: usize, record: &Record, roles: &Roles) -> WayFate {
        let captured = [AIR, RECEIVER].map(|role| {
            let (from, to) = roles.times[role]?;
            Some((from..=to).contains(&record.begin_ns))
        });
        let [air, receiver] = captured;
        // It was acknowledged before an acknowledgement of the next copy can arrive; half of the
        // least round trip so far is a safe margin. If it should have been captured and was not,
        // another copy must not be the reason.
        let only = way.sent_again_ns.is_none() && !record.again;
        let acknowledged = match (way.acknowledged_ns, way.sent_again_ns) {
            (Some(_), _) if receiver == Some(true) => only,
            (Some(at), Some(again)) => at < again + self.round_trip_ns.unwrap_or_default() / 2,
            (acknowledged, _) => acknowledged.is_some(),
        };
        if way.arrived_ns.is_some() || acknowledged {
            return WayFate::Arrived;
        }
        let (heard, answered) = (way.attempts > 0, way.air_acknowledged_ns.is_some());
        match (receiver, heard, answered) {
            (Some(false), ..) => return WayFate::Unknown,
            (None, true, true) => return WayFate::AcrossAir,
            _ => {}
        }
        // A segment that is not captured further on counts as lost only if a later one has passed.
        let role = match (receiver, heard) {
            (Some(true), true) => RECEIVER,
            (Some(true), false) if air.is_none() => RECEIVER,
            _ => AIR,
        };
        if !self.is_passed(first, role, record.begin_ns, roles) {
            return WayFate::Unknown;
        }
        match (air, heard, answered) {
            (None, ..) => WayFate::LostBetween,
            (Some(_), true, true) => WayFate::LostBehind,
            (Some(_), true, false) => WayFate::LostOnAir,
            (Some(true), false, _) => WayFate::LostBefore,
            (Some(false), false, _) => WayFate::Unknown,
        }
    }
}

/// Observation of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeenSegment {
    pub begin_ns: i64,
    pub end_ns: i64,
    pub frame: u64,
    pub id: u16,
    pub air: Option<AirPart>,
}
