//! Saturated flows whose endpoints are the kernel's: they send as many real datagrams as the
//! queue at the beginning of their path should hold.
//!
//! The machines report that queue ([`Backlog`], in packets). A socket does not show it: to the
//! kernel a datagram is sent once its interface has taken it. So the loop grants the
//! flow as many datagrams as fill the queue, and then as many as have left it; no thread
//! spins, and no packet is sent only to be dropped.

use lasthop_hosts::{Backlog, Endpoints, FlowKind, SourceConfig};
use lasthop_packet::FlowId;
use lasthop_units::Instant;

/// Packets are granted once their number exceeds the target divided by this: waking the sender for
/// every packet would cost more than the packet.
const GRANT_SHARE: u32 = 8;
/// The number of packets granted before the first has entered: the kernel keeps no more while
/// it asks for the destination's MAC address (`unres_qlen_bytes`, 208 KiB).
const FIRST_PACKETS: u32 = 32;

/// All saturated flows whose endpoints are the kernel's.
#[derive(Debug)]
pub struct Saturation {
    flows: Vec<Flow>,
}

#[derive(Debug)]
struct Flow {
    id: FlowId,
    start: Instant,
    /// Packets granted so far.
    granted: u64,
    /// The least number of packets granted and not entered since the last check.
    coming_min: u64,
}

impl Saturation {
    /// Returns the saturated ones of `flows`, which are in the order of their numbers.
    pub fn new(flows: &[lasthop_hosts::Flow]) -> Self {
        let is_saturated = |flow: &lasthop_hosts::Flow| {
            flow.endpoints == Endpoints::Kernel
                && matches!(flow.kind, FlowKind::Udp(SourceConfig::Saturated { .. }))
        };
        let saturated = flows.iter().enumerate().filter(|(_, flow)| is_saturated(flow));
        let flow = |(index, flow): (usize, &lasthop_hosts::Flow)| {
            let id = FlowId(index as u16);
            Flow { id, start: flow.start, granted: 0, coming_min: u64::MAX }
        };
        Self { flows: saturated.map(flow).collect() }
    }

    /// Returns the instant after `now` at which the next flow starts.
    pub fn next_start(&self, now: Instant) -> Option<Instant> {
        self.flows.iter().map(|flow| flow.start).filter(|start| *start > now).min()
    }

    /// Calls `allow` with the packets that each flow may add; `backlog` returns the state of its
    /// queue.
    pub fn grant(
        &mut self,
        mut backlog: impl FnMut(FlowId) -> Option<Backlog>,
        mut allow: impl FnMut(FlowId, u32),
    ) {
        for flow in &mut self.flows {
            let Some(Backlog { target, held, entered }) = backlog(flow.id) else { continue };
            // What was granted and has not entered yet is on its way.
            let taken = u64::from(held).saturating_add(flow.coming(entered));
            let mut credit = target.saturating_sub(taken.try_into().unwrap_or(u32::MAX));
            if credit <= target / GRANT_SHARE {
                continue;
            }
            if entered == 0 {
                let first = u64::from(FIRST_PACKETS).saturating_sub(flow.granted);
                credit = credit.min(first as u32);
            }
            if credit > 0 {
                flow.granted += u64::from(credit);
                allow(flow.id, credit);
            }
        }
    }

    /// Takes packets for lost that were granted before the last call and have not entered (for
    /// instance because ARP got no answer), so that they are granted again. The interval must be
    /// longer than a datagram takes to enter.
    pub fn forget_lost(&mut self, mut backlog: impl FnMut(FlowId) -> Option<Backlog>) {
        for flow in &mut self.flows {
            let Some(Backlog { entered, .. }) = backlog(flow.id) else { continue };
            flow.coming(entered);
            flow.granted -= flow.coming_min;
            flow.coming_min = u64::MAX;
        }
    }
}

impl Flow {
    /// Returns the number of packets granted that are not among the `entered`.
    fn coming(&mut self, entered: u64) -> u64 {
        let coming = self.granted.saturating_sub(entered);
        self.coming_min = self.coming_min.min(coming);
        coming
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        Saturation::new(&scenario.flows)
    }

    /// The packets that each of two flows is granted while it should have `targets` in its queue
    /// and has `held`, and all granted packets have entered.
    fn granted(saturation: &mut Saturation, targets: [u32; 2], held: [u32; 2]) -> [u32; 2] {
        let mut granted = [0; 2];
        let backlog = |flow: FlowId| {
            let index = usize::from(flow.0);
            Some(Backlog { target: targets[index], held: held[index], entered: u64::MAX })
        };
        saturation.grant(backlog, |flow, packets| granted[usize::from(flow.0)] += packets);
        granted
    }

    #[test]
    fn credit_is_granted_by_the_flow() {
        let mut saturation = saturation();
        assert_eq!(granted(&mut saturation, [1_000, 0], [0, 0]), [1_000, 0]);
        assert_eq!(granted(&mut saturation, [500, 500], [0, 0]), [500, 500]);
        // One that is served faster than the other gets no more of the queue.
        assert_eq!(granted(&mut saturation, [500, 500], [500, 100]), [0, 400]);
        // A wake-up for one packet costs more than the packet.
        assert_eq!(granted(&mut saturation, [500, 500], [499, 500]), [0, 0]);
        assert_eq!(granted(&mut saturation, [0, 0], [0, 0]), [0, 0]);
    }

    #[test]
    fn what_is_on_its_way_is_not_granted_twice() {
        let mut saturation = saturation();
        let backlog = |_: FlowId| Some(Backlog { target: 1_000, held: 0, entered: 0 });
        let grant = |saturation: &mut Saturation| {
            let mut granted = 0;
            saturation.grant(backlog, |_, packets| granted += packets);
            granted
        };
        assert!(grant(&mut saturation) > 0);
        assert_eq!(grant(&mut saturation), 0);
        // The interval in which it was granted, and one in which it did not come.
        saturation.forget_lost(backlog);
        assert_eq!(grant(&mut saturation), 0);
        saturation.forget_lost(backlog);
        assert!(grant(&mut saturation) > 0);
    }
}
