//! Names of the flows of real programs (emulation), such as
//! `tcp 10.0.0.1:43210 -> 10.0.0.2:80`: protocol, addresses and ports; for an ICMP echo
//! its identifier instead of ports. A protocol without a name here is given as its
//! number.

use lasthop_hosts::ProgramFlow;
use std::net::SocketAddr;

/// Protocol numbers assigned by IANA: ICMP, TCP, UDP, ICMPv6.
const PROTOCOLS: [(u8, &str); 4] = [(1, "icmp"), (6, "tcp"), (17, "udp"), (58, "icmpv6")];
const ICMP: u8 = 1;

/// The name of `flow`.
pub(crate) fn name(flow: &ProgramFlow) -> String {
    let ProgramFlow { protocol, source, destination, ports, .. } = *flow;
    let known = PROTOCOLS.iter().find(|(number, _)| *number == protocol);
    let protocol_name = known.map_or_else(|| protocol.to_string(), |(_, name)| (*name).to_owned());
    match ports {
        Some([id, _]) if protocol == ICMP => {
            format!("{protocol_name} {source} -> {destination} id {id}")
        }
        Some([from, to]) => {
            let (source, destination) =
                (SocketAddr::new(source, from), SocketAddr::new(destination, to));
            format!("{protocol_name} {source} -> {destination}")
        }
        None => format!("{protocol_name} {source} -> {destination}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_packet::NodeId;
    use std::net::IpAddr;

    #[test]
    fn names_say_all_that_tells_flows_apart() {
        let flow = |protocol, ends: [&str; 2], ports| {
            let [source, destination] = ends.map(|end| end.parse::<IpAddr>().expect("an address"));
            let (from, to) = (NodeId(0), NodeId(1));
            name(&ProgramFlow { from, to, protocol, source, destination, ports })
        };
        let v4 = ["10.0.0.1", "10.0.0.2"];
        assert_eq!(flow(6, v4, Some([4, 80])), "tcp 10.0.0.1:4 -> 10.0.0.2:80");
        assert_eq!(
            flow(17, ["fd00::1", "fd00::2"], Some([4, 53])),
            "udp [fd00::1]:4 -> [fd00::2]:53"
        );
        assert_eq!(flow(1, v4, Some([9, 9])), "icmp 10.0.0.1 -> 10.0.0.2 id 9");
        assert_eq!(flow(17, v4, None), "udp 10.0.0.1 -> 10.0.0.2");
        assert_eq!(flow(47, v4, None), "47 10.0.0.1 -> 10.0.0.2");
    }
}
