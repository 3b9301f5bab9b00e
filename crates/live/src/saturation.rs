//! Saturated flows: real datagrams, as many as the queue at the beginning of
//! their path has room for.
//!
//! A socket gives no hint of that queue: the kernel counts a datagram as sent
//! once its interface has taken it. So the loop lets the traffic thread send as
//! many datagrams as would fill the queue, and then as many as have left it; no
//! one waits busily, and no packet is sent only to be dropped.

use lasthop_hosts::{FlowKind, SourceConfig};
use lasthop_net::network::{Backlogs, Network, NetworkConfig, SaturatedFlow};
use lasthop_packet::FlowId;
use lasthop_scenario::Scenario;
use lasthop_units::Instant;

/// Room is granted once it is more than this share of the backlog: a wake-up of
/// the sender for every packet would cost more than the packet.
const GRANT_SHARE: u32 = 8;
/// Until the first packet has entered, no more are granted than the kernel keeps while it asks
/// for the destination's address (`unres_qlen_bytes`, 208 KiB).
const FIRST_PACKETS: u32 = 32;

/// All saturated flows.
#[derive(Debug)]
pub struct Saturation {
    backlogs: Backlogs,
    /// In the order of `backlogs`.
    flows: Vec<Flow>,
}

#[derive(Debug)]
struct Flow {
    id: FlowId,
    start: Instant,
    /// Packets that it was allowed to send so far.
    granted: u64,
    /// The least that was on its way at any moment since the last check.
    coming_min: u64,
}

impl Saturation {
    /// The saturated flows of a scenario, until `end`.
    pub fn new(
        scenario: &Scenario,
        config: &NetworkConfig,
        network: &Network,
        end: Instant,
    ) -> Self {
        let mut flows = Vec::new();
        let mut saturated = Vec::new();
        for (index, flow) in scenario.flows.iter().enumerate() {
            let FlowKind::Udp(SourceConfig::Saturated { bytes }) = flow.kind else { continue };
            let &lasthop_hosts::Flow { from, to, access_category, start, .. } = flow;
            let stop = flow.stop.map_or(end, |stop| stop.min(end));
            saturated.push(SaturatedFlow { from, to, access_category, bytes, start, stop });
            let id = FlowId(index as u16);
            flows.push(Flow { id, start, granted: 0, coming_min: u64::MAX });
        }
        Self { backlogs: Backlogs::new(config, network, saturated), flows }
    }

    /// When the next flow begins, after `now`.
    pub fn next_start(&self, now: Instant) -> Option<Instant> {
        self.flows.iter().map(|flow| flow.start).filter(|start| *start > now).min()
    }

    /// Grants what there is room for. `held` gives the packets of a flow that its
    /// source holds, `entered` those that have entered the network so far.
    pub fn grant(
        &mut self,
        now: Instant,
        held: impl Fn(FlowId) -> u64,
        entered: impl Fn(FlowId) -> u64,
        mut allow: impl FnMut(FlowId, u32),
    ) {
        for (place, flow) in self.flows.iter_mut().enumerate() {
            let target = self.backlogs.target(now, place);
            let entered = entered(flow.id);
            // What was granted and has not entered yet is on its way.
            let taken = held(flow.id).saturating_add(flow.coming(entered));
            let mut room = target.saturating_sub(taken.try_into().unwrap_or(u32::MAX));
            if room <= target / GRANT_SHARE {
                continue;
            }
            if entered == 0 {
                let first = u64::from(FIRST_PACKETS).saturating_sub(flow.granted);
                room = room.min(first as u32);
            }
            if room > 0 {
                flow.granted += u64::from(room);
                allow(flow.id, room);
            }
        }
    }

    /// To be called now and then, at intervals longer than a datagram takes to
    /// enter: what was on its way all the time since the last call is lost (nobody
    /// answered ARP, say), and may be granted again.
    pub fn forget_lost(&mut self, entered: impl Fn(FlowId) -> u64) {
        for flow in &mut self.flows {
            flow.coming(entered(flow.id));
            flow.granted -= flow.coming_min;
            flow.coming_min = u64::MAX;
        }
    }
}

impl Flow {
    /// Packets that were granted and are not among the `entered`.
    fn coming(&mut self, entered: u64) -> u64 {
        let coming = self.granted.saturating_sub(entered);
        self.coming_min = self.coming_min.min(coming);
        coming
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    const TWO_FLOWS: &str = r#"
duration = "10s"
[[node]]
name = "a"
role = "host"
[[node]]
name = "b"
role = "host"
[[wire]]
between = ["a", "b"]
rate = "10Mb/s"
[[flow]]
name = "one"
from = "a"
to = "b"
kind = "udp"
rate = "saturated"
[[flow]]
name = "two"
from = "a"
to = "b"
kind = "udp"
rate = "saturated"
start = "1s"
"#;

    fn saturation() -> Saturation {
        let scenario = lasthop_scenario::parse("test.toml", TWO_FLOWS, &[]).unwrap();
        let seed = lasthop_units::Seed::new(1, 0);
        let network = Network::new(&scenario.network, seed).unwrap();
        let end = Instant::ZERO + scenario.duration;
        Saturation::new(&scenario, &scenario.network, &network, end)
    }

    /// What each of the two flows is granted at `seconds` while its node holds
    /// `held` of each and all that was granted has entered.
    fn granted(saturation: &mut Saturation, seconds: u64, held: [u64; 2]) -> [u32; 2] {
        let granted = RefCell::new([0; 2]);
        let now = Instant::from_nanos(seconds * 1_000_000_000);
        saturation.grant(
            now,
            |flow| held[usize::from(flow.0)],
            |_| u64::MAX,
            |flow, packets| granted.borrow_mut()[usize::from(flow.0)] += packets,
        );
        granted.into_inner()
    }

    /// The queue of a wire has 1 000 packets.
    #[test]
    fn room_is_shared_by_the_flows_that_have_begun() {
        let mut saturation = saturation();
        assert_eq!(granted(&mut saturation, 0, [0, 0]), [1_000, 0]);
        assert_eq!(granted(&mut saturation, 2, [0, 0]), [500, 500]);
        // One that is served faster than the other gets no more of the queue.
        assert_eq!(granted(&mut saturation, 2, [500, 100]), [0, 400]);
        assert_eq!(granted(&mut saturation, 2, [499, 500]), [0, 0]);
        assert_eq!(granted(&mut saturation, 10, [0, 0]), [0, 0]);
    }

    #[test]
    fn what_is_on_its_way_is_not_granted_twice() {
        let mut saturation = saturation();
        let grant = |saturation: &mut Saturation| {
            let granted = RefCell::new(0);
            saturation.grant(Instant::ZERO, |_| 0, |_| 0, |_, n| *granted.borrow_mut() += n);
            granted.into_inner()
        };
        assert!(grant(&mut saturation) > 0);
        assert_eq!(grant(&mut saturation), 0);
        // The interval in which it was granted, and one in which it did not come.
        saturation.forget_lost(|_| 0);
        assert_eq!(grant(&mut saturation), 0);
        saturation.forget_lost(|_| 0);
        assert!(grant(&mut saturation) > 0);
    }
}
