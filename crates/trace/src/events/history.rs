//! Reads the history of a run from `events.parquet`: PPDUs, events of packets, and absences of
//! nodes, as compact rows in the order of the file. A row needs 40 to 130 bytes; the caller limits
//! the number of rows. Leaves out Block Ack agreements, rates, round trips and readings of TCP
//! senders.

use crate::read::{Group, TableError, TableReader};
use parquet::data_type::ByteArray;
use std::collections::BTreeMap;
use std::path::Path;

/// Index of a text in [`EventsReading::texts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextId(pub u32);

impl TextId {
    /// Text of an empty cell, the first of all texts.
    pub const NONE: Self = Self(0);

    /// Returns the index in [`EventsReading::texts`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A PPDU, or the part of it for one of several receivers. Times are in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PpduReading {
    /// Start of the PPDU.
    pub at_ns: i64,
    /// Duration on the air.
    pub duration_ns: i64,
    /// Node that transmits.
    pub node: TextId,
    /// Link of a device of several; empty for other nodes.
    pub link: TextId,
    /// Node that receives; `*` for all.
    pub peer: TextId,
    /// Flow of the first packet.
    pub flow: TextId,
    /// Kind of the first MPDU.
    pub frame: TextId,
    /// PHY rate by name.
    pub rate: TextId,
    /// PHY rate in kb/s.
    pub rate_kbps: i64,
    /// Length of the PSDU.
    pub bytes: i32,
    /// Number of MPDUs.
    pub mpdus: i32,
    /// Number of MPDUs with the Retry bit.
    pub retries: i32,
    /// Number of MPDUs that the receiver decoded.
    pub received: i32,
    /// Sequence number of the first MPDU; -1 if it has none.
    pub sequence: i32,
    /// Level at the receiver in dBm; NaN if there is none.
    pub signal_dbm: f32,
    /// Whether it overlapped with another PPDU at the receiver.
    pub collided: bool,
}

/// Events of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PacketEvent {
    /// The packet entered the network.
    Sent,
    /// The packet entered the Wi-Fi queue of a station.
    Queued,
    /// A station gave the packet up.
    Dropped,
    /// The packet left the Wi-Fi hop.
    Delivered,
    /// The packet left the network.
    Arrived,
    /// The packet was lost.
    Lost,
}

impl PacketEvent {
    const ALL: [(&'static str, Self); 6] = [
        ("sent", Self::Sent),
        ("queued", Self::Queued),
        ("dropped", Self::Dropped),
        ("delivered", Self::Delivered),
        ("arrived", Self::Arrived),
        ("lost", Self::Lost),
    ];

    /// Returns the event's word in the file.
    pub const fn as_str(self) -> &'static str {
        Self::ALL[self as usize].0
    }
}

/// An event of a packet at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketReading {
    /// Time of the event, in ns.
    pub at_ns: i64,
    /// Number of the packet.
    pub tag: i64,
    /// Kind of the event.
    pub event: PacketEvent,
    /// Node at which it occurred.
    pub node: TextId,
    /// Link that delivered it, for `Delivered` to a device of several links; else empty.
    pub link: TextId,
    /// Other end, for `Sent` and `Arrived`.
    pub peer: TextId,
    /// Flow of the packet.
    pub flow: TextId,
    /// Reason, for `Dropped` and `Lost`.
    pub reason: TextId,
    /// Length of the network-layer packet, in bytes.
    pub bytes: i32,
    /// Packets that the station holds for the access category, for `Queued`; -1 otherwise.
    pub queue_packets: i32,
    /// Index of the delay in [`EventsReading::parts`], for `Delivered` and `Arrived`.
    pub parts: Option<u32>,
}

/// Delay of a packet so far, and its parts, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartsReading {
    /// Time since it entered the network.
    pub delay_ns: i64,
    /// Parts with columns, in their order: queue, away, asleep, contention, retries, reorder, air,
    /// wire, roam.
    pub parts_ns: [i64; 9],
}

/// Index of `roam`, the last one.
const ROAM: usize = 8;

impl PartsReading {
    /// Names of the parts.
    pub const NAMES: [&'static str; 9] =
        ["queue", "away", "asleep", "contention", "retries", "reorder", "air", "wire", "roam"];
    /// Columns of the parts.
    const COLUMNS: [&'static str; 9] = [
        "queue_ns",
        "away_ns",
        "asleep_ns",
        "contention_ns",
        "retries_ns",
        "reorder_ns",
        "air_ns",
        "wire_ns",
        "roam_ns",
    ];

    /// Returns the part with this name; 0 if there is none.
    pub fn part(&self, name: &str) -> i64 {
        Self::NAMES.iter().position(|known| *known == name).map_or(0, |at| self.parts_ns[at])
    }
}

/// A change of a node's reachability: it left its channel, dozed, or returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbsenceReading {
    /// Time of the change, in ns.
    pub at_ns: i64,
    /// Node that changed.
    pub node: TextId,
    /// Its link that changed; empty if it has one.
    pub link: TextId,
    /// Kind of the change: `off_channel`, `dozing` or `awake`.
    pub kind: TextId,
}

/// Events of a run.
#[derive(Clone, Debug, Default)]
pub struct EventsReading {
    /// Texts of cells; the first is empty.
    pub texts: Vec<String>,
    /// PPDUs in the order of their ends.
    pub ppdus: Vec<PpduReading>,
    /// Events of packets, in their order.
    pub packets: Vec<PacketReading>,
    /// Delays of delivered and arrived packets.
    pub parts: Vec<PartsReading>,
    /// Absences of nodes, in their order.
    pub absences: Vec<AbsenceReading>,
    /// Number of rows read.
    pub rows: u64,
    /// Number of rows of the file.
    pub rows_all: u64,
    /// Time of the last row read, in ns.
    pub until_ns: i64,
}

impl EventsReading {
    /// Returns the text of a cell.
    pub fn text(&self, id: TextId) -> &str {
        self.texts.get(id.index()).map_or("", String::as_str)
    }

    /// Reads the events of the file at `path` from its beginning, in whole row groups, up to
    /// `rows_max` rows.
    ///
    /// # Errors
    /// See [`TableError`].
    pub fn read(path: &Path, rows_max: u64) -> Result<Self, TableError> {
        let table = TableReader::open(path, "events")?;
        let mut texts = Texts::default();
        let mut events = Self { rows_all: table.rows(), ..Self::default() };
        for group in table.groups(usize::MAX) {
            let rows = events.group(&group, &mut texts, rows_max)?;
            if rows == 0 {
                break;
            }
            events.rows += rows;
        }
        events.texts = texts.texts;
        Ok(events)
    }

    /// Adds a row group and returns its number of rows, unless it would exceed the limit.
    fn group(
        &mut self,
        group: &Group<'_>,
        texts: &mut Texts,
        rows_max: u64,
    ) -> Result<u64, TableError> {
        if self.rows + group.rows() > rows_max {
            return Ok(0);
        }
        // Only runs with roaming nodes have the one, only those with devices of several links the
        // other.
        let has_roam = group.has(PartsReading::COLUMNS[ROAM]);
        let has_links = group.has("link");
        let at = group.int64("at_ns")?;
        let mut text = |column| Ok(texts.column(&group.text(column)?));
        let (kind, node, peer, flow) = (text("kind")?, text("node")?, text("peer")?, text("flow")?);
        let (reason, frame, rate) = (text("reason")?, text("frame")?, text("rate")?);
        let link = if has_links { text("link")? } else { vec![TextId::NONE; at.len()] };
        let (tag, bytes) = (group.int64("tag")?, group.int32("bytes")?);
        let (duration, rate_kbps) = (group.int64("duration_ns")?, group.int64("rate_kbps")?);
        let (mpdus, retries) = (group.int32("mpdus")?, group.int32("retries")?);
        let (received, sequence) = (group.int32("received")?, group.int32("sequence")?);
        let (signal, collided) = (group.double("signal_dbm")?, group.bool("collided")?);
        let (queue, delay) = (group.int32("queue_packets")?, group.int64("delay_ns")?);
        let parts: Vec<_> = PartsReading::COLUMNS
            .into_iter()
            .take(if has_roam { PartsReading::COLUMNS.len() } else { ROAM })
            .map(|column| group.int64(column))
            .collect::<Result<_, _>>()?;
        let kinds: Vec<RowKind> = texts.texts.iter().map(|text| RowKind::parse(text)).collect();
        for row in 0..at.len() {
            let Some(at_ns) = at[row] else { continue };
            self.until_ns = self.until_ns.max(at_ns);
            match kinds[kind[row].index()] {
                RowKind::Other => {}
                RowKind::Absence => {
                    let (node, link, kind) = (node[row], link[row], kind[row]);
                    self.absences.push(AbsenceReading { at_ns, node, link, kind });
                }
                RowKind::Ppdu => self.ppdus.push(PpduReading {
                    at_ns,
                    duration_ns: duration[row].unwrap_or(0).max(0),
                    node: node[row],
                    link: link[row],
                    peer: peer[row],
                    flow: flow[row],
                    frame: frame[row],
                    rate: rate[row],
                    rate_kbps: rate_kbps[row].unwrap_or(0),
                    bytes: bytes[row].unwrap_or(0),
                    mpdus: mpdus[row].unwrap_or(0),
                    retries: retries[row].unwrap_or(0),
                    received: received[row].unwrap_or(0),
                    sequence: sequence[row].unwrap_or(-1),
                    signal_dbm: signal[row].map_or(f32::NAN, |signal| signal as f32),
                    collided: collided[row].unwrap_or(false),
                }),
                RowKind::Packet(event) => {
                    let Some(tag) = tag[row] else { continue };
                    let place = u32::try_from(self.parts.len()).ok();
                    let of_packet = delay[row].and_then(|delay_ns| {
                        let parts_ns = std::array::from_fn(|part| {
                            parts.get(part).and_then(|column| column[row]).unwrap_or(0)
                        });
                        self.parts.push(PartsReading { delay_ns, parts_ns });
                        place
                    });
                    self.packets.push(PacketReading {
                        at_ns,
                        tag,
                        event,
                        node: node[row],
                        link: link[row],
                        peer: peer[row],
                        flow: flow[row],
                        reason: reason[row],
                        bytes: bytes[row].unwrap_or(0),
                        queue_packets: queue[row].unwrap_or(-1),
                        parts: of_packet,
                    });
                }
            }
        }
        Ok(at.len() as u64)
    }
}

/// Kind of a row.
#[derive(Clone, Copy)]
enum RowKind {
    Ppdu,
    Packet(PacketEvent),
    Absence,
    Other,
}

impl RowKind {
    fn parse(text: &str) -> Self {
        let packet = PacketEvent::ALL.iter().find(|(name, _)| *name == text);
        match (text, packet) {
            ("ppdu", _) => Self::Ppdu,
            ("off_channel" | "dozing" | "awake", _) => Self::Absence,
            (_, Some((_, event))) => Self::Packet(*event),
            _ => Self::Other,
        }
    }
}

/// Texts with their indices.
struct Texts {
    texts: Vec<String>,
    known: BTreeMap<Vec<u8>, TextId>,
}

impl Default for Texts {
    fn default() -> Self {
        let known = BTreeMap::from([(Vec::new(), TextId::NONE)]);
        Self { texts: vec![String::new()], known }
    }
}

impl Texts {
    /// Returns the indices of a column's texts. The values come from a dictionary: equal addresses
    /// are equal texts, and most rows repeat a recent one.
    fn column(&mut self, cells: &[Option<ByteArray>]) -> Vec<TextId> {
        const LATEST: usize = 16;
        let mut latest: [(usize, usize, TextId); LATEST] = [(0, 0, TextId::NONE); LATEST];
        let mut ids = Vec::with_capacity(cells.len());
        for cell in cells {
            let Some(cell) = cell else {
                ids.push(TextId::NONE);
                continue;
            };
            let bytes = cell.data();
            let (place, length) = (bytes.as_ptr() as usize, bytes.len());
            let slot = &mut latest[(place >> 2) % LATEST];
            if (slot.0, slot.1) != (place, length) {
                *slot = (place, length, self.id(bytes));
            }
            ids.push(slot.2);
        }
        ids
    }

    fn id(&mut self, bytes: &[u8]) -> TextId {
        if let Some(id) = self.known.get(bytes) {
            return *id;
        }
        let id = TextId(u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
        self.texts.push(String::from_utf8_lossy(bytes).into_owned());
        self.known.insert(bytes.to_vec(), id);
        id
    }
}
