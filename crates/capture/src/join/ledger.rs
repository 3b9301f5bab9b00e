//! Observations of one direction of a flow at one place: ranges of its bytes, each with its time.
//! Places see the same bytes in packets of different lengths (segmentation in the card, GRO), so
//! observations are matched by bytes, and by properties that differ between copies of a segment:
//! its timestamp (RFC 7323), or else its identification (RFC 791) or the order of times.

use std::collections::{BTreeMap, VecDeque};

/// A captured packet with payload.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// Positions of its bytes in the direction.
    pub from: u64,
    pub to: u64,
    /// Capture time by the reference clock; on the air, the start of its first attempt.
    pub begin_ns: i64,
    /// End of each attempt on the air.
    pub ends_ns: Vec<i64>,
    /// Numbers of the first and last packet.
    pub frames: [u64; 2],
    pub timestamp: Option<u32>,
    pub id: u16,
    /// Whether the place captured its first byte before.
    pub again: bool,
    /// Whether an acknowledgement came just before the repetition.
    pub after_acknowledgement: bool,
    pub air: Option<AirPart>,
    /// Whether it was matched with a packet of an earlier place.
    pub claimed: bool,
}

/// Properties of a packet on the air.
#[derive(Clone, Copy, Debug)]
pub(super) struct AirPart {
    /// Sender and receiver.
    pub link: (u32, u32),
    /// Whether it is sent to an access point.
    pub to_ds: bool,
    pub first_missed: bool,
    /// Whether the end of its first attempt is exact: no MPDU behind it in the A-MPDU was missed.
    pub exact: bool,
    pub hops: u32,
    pub acknowledged_ns: Option<i64>,
}

pub(super) type RecordKey = (u64, u64);

/// Largest number of records checked around a range.
const OVERLAPPING_MAX: usize = 4_096;
/// Largest number of copies kept for a byte.
const COPIES_MAX: usize = 64;

/// Observations at one place.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    records: BTreeMap<RecordKey, Record>,
    by_time: VecDeque<(i64, RecordKey)>,
    longest: u64,
    next: u64,
    /// Position behind the highest byte.
    pub highest: Option<u64>,
}

impl Record {
    /// Returns the time of the latest observation.
    pub fn end_ns(&self) -> i64 {
        self.ends_ns.last().copied().unwrap_or(self.begin_ns)
    }

    /// Whether `later` may be the same packet, or a part of it. `ids`: identifications are the same
    /// at both places.
    pub fn may_be(&self, later: &Self, ids: bool) -> bool {
        match (self.timestamp, later.timestamp) {
            (Some(here), Some(there)) if here != there => return false,
            _ => {}
        }
        let same_range = self.from == later.from && self.to == later.to;
        !(ids && same_range && self.id != 0 && later.id != 0 && self.id != later.id)
    }
}

impl Ledger {
    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn insert(&mut self, record: Record) -> RecordKey {
        let key = (record.from, self.next);
        self.next += 1;
        self.longest = self.longest.max(record.to - record.from);
        self.highest = Some(self.highest.map_or(record.to, |highest| highest.max(record.to)));
        self.by_time.push_back((record.begin_ns, key));
        self.records.insert(key, record);
        key
    }

    pub fn get(&self, key: RecordKey) -> Option<&Record> {
        self.records.get(&key)
    }

    pub fn get_mut(&mut self, key: RecordKey) -> Option<&mut Record> {
        self.records.get_mut(&key)
    }

    /// Returns the records with bytes of this range, from the last to the first. A real capture has
    /// few; of a forged one with many, some are left out.
    pub fn overlapping(&self, from: u64, to: u64) -> impl Iterator<Item = (RecordKey, &Record)> {
        let start = from.saturating_sub(self.longest);
        let records = self.records.range((start, 0)..(to, 0)).rev().take(OVERLAPPING_MAX);
        records.filter(move |(_, record)| record.to > from).map(|(key, record)| (*key, record))
    }

    /// Returns the records with this byte.
    pub fn covering(&self, byte: u64) -> impl Iterator<Item = (RecordKey, &Record)> {
        self.overlapping(byte, byte + 1)
    }

    /// Returns a record with the first byte of this one, if there are too many to keep another.
    pub fn crowded(&self, record: &Record) -> Option<RecordKey> {
        self.covering(record.from).nth(COPIES_MAX).map(|(key, _)| key)
    }

    /// Returns the record of which `later` is likely a part: the latest earlier one that may be the
    /// same.
    pub fn owner(&self, later: &Record, byte: u64, slack_ns: i64, ids: bool) -> Option<RecordKey> {
        let before = self.covering(byte).filter(|(_, record)| {
            record.begin_ns <= later.begin_ns + slack_ns && record.may_be(later, ids)
        });
        before.max_by_key(|(key, record)| (record.begin_ns, key.1)).map(|(key, _)| key)
    }

    /// Returns the latest records, up to this number.
    pub fn latest(&self, count: usize) -> impl Iterator<Item = &Record> {
        self.by_time.iter().rev().take(count).filter_map(|(_, key)| self.records.get(key))
    }

    /// Returns the oldest record, if it is from before `limit_ns`.
    pub fn oldest_before(&self, limit_ns: i64) -> Option<RecordKey> {
        self.by_time.front().filter(|(at, _)| *at < limit_ns).map(|(_, key)| *key)
    }

    /// Removes the oldest record and returns it.
    pub fn pop(&mut self) -> Option<Record> {
        let (_, key) = self.by_time.pop_front()?;
        self.records.remove(&key)
    }
}
