//! The flows of real programs, identified by addresses, protocol and ports; each
//! direction is a flow. The first [`FLOWS_KEPT`] get numbers, which follow those of the
//! scenario's flows; the others are only counted, up to 65 536 of them.

use crate::frame::Header;
use lasthop_hosts::{ProgramFlow, ProgramsLeftOut};
use lasthop_packet::{FlowId, NodeId};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of flows that get a number.
pub const FLOWS_KEPT: usize = 256;
/// Largest number of other flows counted. Of further flows, only the packets are counted.
const OTHERS_COUNTED: usize = 65_536;

/// The flows seen so far.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    /// The number of the first flow.
    first: u16,
    known: BTreeMap<ProgramFlow, FlowId>,
    others: BTreeSet<ProgramFlow>,
    packets_left_out: u64,
}

impl Programs {
    /// Returns no flows of programs, for a scenario with `flows` flows.
    pub fn new(flows: usize) -> Self {
        let first = u16::try_from(flows).expect("a scenario has fewer flows than ports");
        Self { first, ..Self::default() }
    }

    /// Returns the number of the flow of a packet with this header, and the flow if it is new:
    /// [`FlowId::NONE`] for packets that are not IP, [`FlowId::UNNUMBERED`] after [`FLOWS_KEPT`]
    /// flows.
    pub fn number(
        &mut self,
        header: &Header,
        from: NodeId,
        to: NodeId,
    ) -> (FlowId, Option<ProgramFlow>) {
        let Some([source, destination]) = header.addresses else { return (FlowId::NONE, None) };
        let (protocol, ports) = (header.protocol, header.ports);
        let flow = ProgramFlow { from, to, protocol, source, destination, ports };
        if let Some(&id) = self.known.get(&flow) {
            return (id, None);
        }
        if self.known.len() < FLOWS_KEPT {
            let id = FlowId(self.first + self.known.len() as u16);
            self.known.insert(flow, id);
            return (id, Some(flow));
        }
        self.packets_left_out += 1;
        if self.others.len() < OTHERS_COUNTED {
            self.others.insert(flow);
        }
        (FlowId::UNNUMBERED, None)
    }

    /// Returns how many flows got no number, and how many packets they had.
    pub fn left_out(&self) -> ProgramsLeftOut {
        ProgramsLeftOut { flows: self.others.len() as u64, packets: self.packets_left_out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_packet::{AccessCategory, Transport};
    use lasthop_units::MacAddr;
    use std::net::{IpAddr, Ipv4Addr};

    fn header(port: u16) -> Header {
        Header {
            destination: MacAddr::local(1),
            source: MacAddr::local(0),
            packet_bytes: 100,
            access_category: AccessCategory::BestEffort,
            flow_hash: 0,
            addresses: Some([1, 2].map(|n| IpAddr::V4(Ipv4Addr::new(10, 0, 0, n)))),
            protocol: 6,
            ports: Some([port, 80]),
            transport: Transport::Tcp,
            ecn_capable: false,
            ecn_l4s: false,
        }
    }

    #[test]
    fn so_many_are_kept_and_the_others_counted() {
        let mut programs = Programs::new(3);
        let mut number = |port| programs.number(&header(port), NodeId(0), NodeId(1));
        for _ in 0..2 {
            for port in 0..FLOWS_KEPT as u16 {
                assert_eq!(number(port).0, FlowId(3 + port));
            }
            for port in 0..7 {
                assert_eq!(number(40_000 + port), (FlowId::UNNUMBERED, None));
            }
        }
        assert_eq!(number(5), (FlowId(8), None));
        assert_eq!(programs.left_out(), ProgramsLeftOut { flows: 7, packets: 14 });
    }

    #[test]
    fn each_direction_is_a_flow_and_what_is_not_ip_is_none() {
        let mut programs = Programs::new(0);
        let there = programs.number(&header(1), NodeId(0), NodeId(1));
        assert!(there.0 == FlowId(0) && there.1.is_some_and(|flow| flow.from == NodeId(0)));
        let mut back = header(1);
        back.addresses = back.addresses.map(|[a, b]| [b, a]);
        assert_eq!(programs.number(&back, NodeId(1), NodeId(0)).0, FlowId(1));
        let arp = Header { addresses: None, ports: None, ..header(1) };
        assert_eq!(programs.number(&arp, NodeId(0), NodeId(1)), (FlowId::NONE, None));
        assert_eq!(programs.left_out(), ProgramsLeftOut::default());
    }
}
