//! The way of one packet: its events in their order, the PPDUs that carried it, and the parts of
//! its delay. `events.parquet` does not record the packets of a PPDU. The PPDUs of a packet follow
//! from the parts of its delay, which give the start of its first and of its successful PPDU. PPDUs
//! with data to the same receiver between those may have carried it, too, and are listed as such.

use crate::air::{Hop, Timeline};
use lasthop_trace::{PacketReading, PartsReading, PpduReading, TextId};
use serde_json::{Map, Value, json};

/// Largest number of PPDUs listed for a hop.
const PPDUS_MAX: usize = 200;

/// Returns the way of the packet with this number; `None` if there is none.
pub(crate) fn way(timeline: &Timeline, number: u32) -> Option<Value> {
    let events: Vec<&PacketReading> = timeline.packet(number).collect();
    let first = *events.first()?;
    let text = |id: TextId| {
        let text = timeline.events.text(id);
        if text.is_empty() { Value::Null } else { text.into() }
    };
    let mut steps: Vec<(i64, usize, Value)> = Vec::new();
    for packet in &events {
        let mut step = json!({
            "kind": packet.event.as_str(),
            "at_ns": packet.at_ns,
            "node": text(packet.node),
            "link": text(packet.link),
            "peer": text(packet.peer),
            "reason": text(packet.reason),
        });
        if packet.queue_packets >= 0 {
            step["queue_packets"] = packet.queue_packets.into();
        }
        if let Some(parts) = parts(timeline, packet) {
            step["delay_ns"] = parts.delay_ns.into();
            step["parts_ns"] = named(&parts);
        }
        steps.push((packet.at_ns, 1, step));
    }
    let mut left_out = 0;
    for hop in timeline.hops_of(number) {
        let there: Vec<_> = carriers(timeline, &hop).collect();
        left_out += there.len().saturating_sub(PPDUS_MAX);
        // The first and the last are what is known for certain.
        let behind = there.len().saturating_sub(PPDUS_MAX / 2).max(PPDUS_MAX / 2);
        for (index, (ppdu, carried)) in there.into_iter().enumerate() {
            if index < PPDUS_MAX / 2 || index >= behind {
                steps.push((ppdu.at_ns, 0, of_ppdu(timeline, ppdu, carried)));
            }
        }
    }
    steps.sort_by_key(|(at, order, _)| (*at, *order));
    // The last known delay is the whole.
    let whole = events.iter().rev().find_map(|packet| parts(timeline, packet));
    Some(json!({
        "number": number,
        // Tags may be beyond what numbers of JSON hold exactly.
        "tag": first.tag.to_string(),
        "flow": text(first.flow),
        "bytes": first.bytes,
        "delay_ns": whole.map(|parts| parts.delay_ns),
        "parts_ns": whole.map(|parts| named(&parts)),
        "ppdus_left_out": left_out,
        "steps": steps.into_iter().map(|(_, _, step)| step).collect::<Vec<_>>(),
    }))
}

fn parts(timeline: &Timeline, packet: &PacketReading) -> Option<PartsReading> {
    timeline.events.parts.get(packet.parts? as usize).copied()
}

/// Returns the parts by name; `other` is the rest without a column.
fn named(parts: &PartsReading) -> Value {
    let each = PartsReading::NAMES.iter().zip(parts.parts_ns);
    let mut named: Map<String, Value> =
        each.map(|(name, value)| ((*name).to_owned(), value.into())).collect();
    let known: i64 = parts.parts_ns.iter().sum();
    named.insert("other".to_owned(), (parts.delay_ns - known).max(0).into());
    Value::Object(named)
}

/// Returns the PPDUs of a hop that carried the packet or may have, with the certainty of each.
fn carriers<'a>(
    timeline: &'a Timeline,
    hop: &Hop,
) -> impl Iterator<Item = (&'a PpduReading, &'static str)> {
    let Hop { sender, receiver, link, first_ns, across_ns, .. } = *hop;
    let sent = timeline.sent_by(sender, first_ns, across_ns);
    sent.into_iter().filter_map(move |ppdu| {
        let has_data = ["data", "qos_data"].contains(&timeline.events.text(ppdu.frame));
        let is_for_it = ppdu.peer == receiver || timeline.events.text(ppdu.peer) == "*";
        if !has_data || !is_for_it {
            return None;
        }
        Some(match (ppdu.at_ns == first_ns, (ppdu.at_ns, ppdu.link) == (across_ns, link)) {
            (_, true) => (ppdu, "across"),
            (true, false) => (ppdu, "first"),
            (false, false) => (ppdu, "perhaps"),
        })
    })
}

fn of_ppdu(timeline: &Timeline, ppdu: &PpduReading, carried: &str) -> Value {
    let text = |id| timeline.events.text(id);
    json!({
        "kind": "ppdu",
        "carried": carried,
        "at_ns": ppdu.at_ns,
        "duration_ns": ppdu.duration_ns,
        "node": text(ppdu.node),
        "link": text(ppdu.link),
        "peer": text(ppdu.peer),
        "rate": text(ppdu.rate),
        "mpdus": ppdu.mpdus,
        "retries": ppdu.retries,
        "received": ppdu.received,
        "collided": ppdu.collided,
    })
}
