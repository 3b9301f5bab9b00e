//! Queueing disciplines over rtnetlink (rtnetlink(7); linux/rtnetlink.h, linux/gen_stats.h): the
//! request, and a parser of its answers. Pure functions only. Leaves out options, classes and
//! filters.

use crate::document::Qdisc;
use lasthop_linux::message::{Message, attributes};

/// `RTM_GETQDISC`, `NLM_F_DUMP` (linux/rtnetlink.h, linux/netlink.h).
const RTM_GETQDISC: u16 = 38;
const NLM_F_DUMP: i32 = 0x100 | 0x200;
/// Length of `tcmsg`: family and padding, then index, handle, parent, info.
const TCMSG: usize = 20;
/// `TC_H_ROOT`, and `TC_H_INGRESS`, which is also clsact's (linux/pkt_sched.h).
const ROOT: u32 = u32::MAX;
const INGRESS: u32 = 0xffff_fff1;
/// `TCA_KIND`, `TCA_STATS2`, and in it `TCA_STATS_BASIC`, `TCA_STATS_QUEUE`.
const KIND: u16 = 1;
const STATS2: u16 = 7;
const STATS_BASIC: u16 = 1;
const STATS_QUEUE: u16 = 3;

/// Makes a request for the queueing disciplines of all interfaces.
pub fn ask() -> Message {
    let mut message = Message::new(RTM_GETQDISC, NLM_F_DUMP);
    message.raw(&[0; TCMSG]);
    message
}

/// Returns a queueing discipline and the index of its interface, from an answer to [`ask`]; `None`
/// for disciplines of ingress.
pub fn qdisc(payload: &[u8]) -> Option<(u32, Qdisc)> {
    let word = |index: usize| -> Option<u32> {
        Some(u32::from_ne_bytes(*payload.get(4 * index..)?.first_chunk()?))
    };
    let (interface, parent) = (word(1)?, word(3)?);
    let all = payload.get(TCMSG..)?;
    let find = |bytes, wanted| attributes(bytes).find(|(kind, _)| *kind == wanted).map(|(_, v)| v);
    let kind: &[u8] = find(all, KIND)?;
    let kind = kind.strip_suffix(&[0]).unwrap_or(kind);
    let stats: &[u8] = find(all, STATS2).unwrap_or_default();
    let queue: &[u8] = find(stats, STATS_QUEUE).unwrap_or_default();
    let counter = |index: usize| -> u32 {
        let bytes = queue.get(4 * index..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u32::from_ne_bytes(*bytes))
    };
    // struct gnet_stats_basic: bytes (64 bits), packets (32 bits).
    let sent = find(stats, STATS_BASIC)
        .and_then(|basic: &[u8]| basic.get(8..)?.first_chunk())
        .map(|packets| u32::from_ne_bytes(*packets).into());
    let qdisc = Qdisc {
        kind: String::from_utf8_lossy(kind).into_owned(),
        root: parent == ROOT,
        backlog_packets: counter(0),
        backlog_bytes: counter(1),
        drops: counter(2),
        sent_packets: sent,
    };
    (parent != INGRESS).then_some((interface, qdisc))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_linux::message::messages;
    use proptest::prelude::*;

    fn answer(parent: u32, kind: &str) -> Vec<u8> {
        let mut message = Message::new(36, 0);
        for word in [0, 3, 0x8001_0000, parent, 2] {
            message.raw(&u32::to_ne_bytes(word));
        }
        message.text(KIND, kind);
        message.nest(STATS2, |m| {
            let mut basic = 90_000u64.to_ne_bytes().to_vec();
            basic.extend(60u32.to_ne_bytes());
            m.bytes(STATS_BASIC, &basic);
            let queue: Vec<u8> =
                [7u32, 10_500, 2, 0, 9].iter().flat_map(|n| n.to_ne_bytes()).collect();
            m.bytes(STATS_QUEUE, &queue);
        });
        let bytes = message.finish(1);
        messages(&bytes).next().unwrap().payload.to_vec()
    }

    #[test]
    fn a_discipline_is_read() {
        let (interface, found) = qdisc(&answer(ROOT, "fq_codel")).unwrap();
        assert_eq!(interface, 3);
        let expected = Qdisc {
            kind: "fq_codel".into(),
            root: true,
            backlog_packets: 7,
            backlog_bytes: 10_500,
            drops: 2,
            sent_packets: Some(60),
        };
        assert_eq!(found, expected);
        assert!(!qdisc(&answer(0x10001, "pfifo")).unwrap().1.root);
        assert_eq!(qdisc(&answer(INGRESS, "clsact")), None);
    }

    #[test]
    fn without_statistics_there_is_the_kind() {
        let payload = answer(ROOT, "noqueue");
        let (_, found) = qdisc(&payload[..TCMSG + 12]).unwrap();
        assert_eq!((found.kind.as_str(), found.sent_packets), ("noqueue", None));
        assert_eq!(qdisc(&payload[..TCMSG]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = qdisc(&bytes);
        }
    }
}
