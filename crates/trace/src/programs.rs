//! Names of the flows of real programs (emulation), such as `tcp laptop:43210 -> 192.0.2.1:80`:
//! protocol, addresses and ports; an ICMP echo has its identifier instead of ports. An address
//! appears by its name, if it has one; a protocol without a name here, by its number.

use crate::Names;
use lasthop_hosts::ProgramFlow;
use std::net::{IpAddr, SocketAddr};

/// Protocol numbers assigned by IANA: ICMP, TCP, UDP, ICMPv6.
const PROTOCOLS: [(u8, &str); 4] = [(1, "icmp"), (6, "tcp"), (17, "udp"), (58, "icmpv6")];
const ICMP: u8 = 1;

/// Returns the name of `flow`.
pub(crate) fn name(flow: &ProgramFlow, names: &Names) -> String {
    let host =
        |address: IpAddr| names.hosts.get(&address).cloned().unwrap_or_else(|| address.to_string());
    let socket = |address: IpAddr, port: u16| match names.hosts.get(&address) {
        Some(name) => format!("{name}:{port}"),
        None => SocketAddr::new(address, port).to_string(),
    };
    let ProgramFlow { protocol, source, destination, ports, .. } = *flow;
    let known = PROTOCOLS.iter().find(|(number, _)| *number == protocol);
    let protocol_name = known.map_or_else(|| protocol.to_string(), |(_, name)| (*name).to_owned());
    match ports {
        Some([from, to]) if protocol != ICMP => {
            format!("{protocol_name} {} -> {}", socket(source, from), socket(destination, to))
        }
        _ => {
            let id = ports.map_or_else(String::new, |[id, _]| format!(" id {id}"));
            format!("{protocol_name} {} -> {}{id}", host(source), host(destination))
        }
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
            let hosts = [("10.9.0.1", "laptop"), ("fd09::1", "ip6-laptop")];
            let hosts = hosts.map(|(address, name)| (address.parse().expect("one"), name.into()));
            let names = Names { hosts: hosts.into(), ..Names::default() };
            name(&ProgramFlow { from, to, protocol, source, destination, ports }, &names)
        };
        assert_eq!(flow(6, ["10.9.0.1", "10.0.0.2"], Some([4, 80])), "tcp laptop:4 -> 10.0.0.2:80");
        assert_eq!(
            flow(17, ["fd00::2", "fd09::1"], Some([53, 4])),
            "udp [fd00::2]:53 -> ip6-laptop:4"
        );
        assert_eq!(flow(1, ["10.0.0.2", "10.9.0.1"], Some([9, 9])), "icmp 10.0.0.2 -> laptop id 9");
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
