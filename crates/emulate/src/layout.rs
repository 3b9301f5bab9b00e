//! The names and addresses of nodes inside an emulation.
//!
//! Node `n` is 10.77.0.(n+1)/16 and fd77::(n+1)/64; its interface is `wlan0` on a station, `eth0`
//! on a host and on the access point, whose wired side it is. A relay only forwards packets and has
//! no interface, nor have neighbours on the channel. Inside, `NAME` is the IPv4 address and
//! `ip6-NAME` the IPv6 one.

use crate::hop::NodePorts;
use lasthop_linux::device::Interface;
use lasthop_linux::supervisor::Node as SupervisorNode;
use lasthop_net::network::NodeConfig;
use lasthop_packet::NodeId;
use lasthop_scenario::{Node, Role};
use lasthop_units::MacAddr;
use std::collections::BTreeMap;
use std::ffi::{CString, OsString};
use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::ffi::OsStringExt;

/// Name of the machine inside the emulation.
pub const MACHINE_NAME: &str = "host.lasthop";
/// Address of the machine inside: a second one of the node where the outside begins, which no node
/// has.
pub const MACHINE: Ipv4Addr = Ipv4Addr::new(10, 77, 255, 254);

/// The names and addresses of all nodes, and the files and variables by which programs see them.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The ports: the nodes that have an interface.
    pub doors: NodePorts,
    /// The nodes with an interface, by port.
    pub nodes: Vec<SupervisorNode>,
}

impl Layout {
    /// Returns the layout of a scenario's nodes. `configs` has the MTUs of their interfaces, in
    /// bytes, which are limited to `mtu_max`.
    pub fn new(nodes: &[Node], configs: &[NodeConfig], mtu_max: u16) -> Self {
        let mut layout = Self { doors: NodePorts::default(), nodes: Vec::new() };
        for (index, (node, config)) in nodes.iter().zip(configs).enumerate() {
            let id = NodeId(index as u16);
            if node.role == Role::Relay || node.is_neighbours {
                layout.doors.ports.push(None);
                continue;
            }
            layout.doors.ports.push(Some(layout.nodes.len() as u16));
            layout.doors.nodes.push(id);
            let interface = Interface {
                name: if node.role == Role::Station { "wlan0" } else { "eth0" },
                address: MacAddr::local(u32::from(id.0)),
                ipv4: ipv4(id),
                ipv6: ipv6(id),
                mtu: config.mtu.min(mtu_max),
            };
            layout.nodes.push(SupervisorNode { name: node.name.clone(), interface });
        }
        layout
    }

    /// Returns the files of `/etc` that programs see instead of the system's. Names of hosts are
    /// looked up in `/etc/hosts` only, unless there is a name server.
    pub fn files(
        &self,
        reaches_machine: bool,
        name_server: Option<&str>,
    ) -> Vec<(&'static str, String)> {
        let machine = reaches_machine.then(|| format!("{MACHINE} {MACHINE_NAME}\n"));
        let resolver = name_server.map(|server| format!("nameserver {server}\n"));
        let no_resolver = || "# Nodes have the names in /etc/hosts, and no name server.\n".into();
        vec![
            ("hosts", self.hosts() + &machine.unwrap_or_default()),
            ("nsswitch.conf", self.nsswitch(name_server.is_some())),
            ("resolv.conf", resolver.unwrap_or_else(no_resolver)),
        ]
    }

    fn hosts(&self) -> String {
        let mut text = String::from("127.0.0.1 localhost\n::1 localhost ip6-localhost\n");
        for node in &self.nodes {
            let (name, interface) = (&node.name, &node.interface);
            let _ = writeln!(text, "{} {name}\n{} ip6-{name}", interface.ipv4, interface.ipv6);
        }
        text
    }

    /// Names of the nodes' addresses.
    pub fn names(&self) -> BTreeMap<IpAddr, String> {
        let names = |node: &SupervisorNode| {
            let (name, interface) = (&node.name, &node.interface);
            let v4 = (IpAddr::V4(interface.ipv4), name.clone());
            [v4, (IpAddr::V6(interface.ipv6), format!("ip6-{name}"))]
        };
        self.nodes.iter().flat_map(names).collect()
    }

    /// Returns the system's file, except for the line about names of hosts.
    fn nsswitch(&self, has_name_server: bool) -> String {
        let system = std::fs::read_to_string("/etc/nsswitch.conf").unwrap_or_default();
        let others = system.lines().filter(|line| !line.trim_start().starts_with("hosts:"));
        let mut text = String::from("hosts: files");
        text.push_str(if has_name_server { " dns\n" } else { "\n" });
        others.for_each(|line| text.extend([line, "\n"]));
        text
    }

    /// Returns the environment of a program in the node at `port`: that of this process, the
    /// addresses of all nodes as `LASTHOP_NAME_ADDR`, and its own name as `LASTHOP_NODE`.
    pub fn environment(&self, port: u16) -> Vec<CString> {
        let mut all: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let own = &self.nodes[usize::from(port)];
        all.push(("LASTHOP_NODE".into(), own.name.clone().into()));
        for node in &self.nodes {
            let address = node.interface.ipv4.to_string();
            all.push((variable(&node.name).into(), address.into()));
        }
        let line = |(mut name, value): (OsString, OsString)| {
            name.push("=");
            name.push(value);
            CString::new(name.into_vec()).ok()
        };
        all.into_iter().filter_map(line).collect()
    }
}

/// Returns the IPv4 address of a node.
pub fn ipv4(node: NodeId) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(10, 77, 0, 1).to_bits() + u32::from(node.0))
}

/// Returns the IPv6 address of a node.
pub fn ipv6(node: NodeId) -> Ipv6Addr {
    Ipv6Addr::from_bits(Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1).to_bits() + u128::from(node.0))
}

fn variable(name: &str) -> String {
    let shout = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("LASTHOP_{}_ADDR", name.chars().map(shout).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relay_has_no_interface() {
        let node = |name: &str, role| Node { name: name.into(), role, is_neighbours: false };
        let nodes = [node("r", Role::Relay), node("my-laptop", Role::Station)];
        let layout = Layout::new(&nodes, &[NodeConfig::default(); 2], 1_400);
        assert_eq!(layout.doors.ports, [None, Some(0)]);
        assert_eq!(layout.nodes[0].interface.name, "wlan0");
        assert_eq!(layout.nodes[0].interface.mtu, 1_400);
        assert!(layout.hosts().ends_with("10.77.0.2 my-laptop\nfd77::2 ip6-my-laptop\n"));
        let files = layout.files(false, None);
        assert!(files.iter().all(|(_, text)| !text.contains("nameserver")));
        assert!(files[1].1.starts_with("hosts: files\n"), "{files:?}");
        let environment = layout.environment(0);
        assert!(environment.contains(&CString::from(c"LASTHOP_MY_LAPTOP_ADDR=10.77.0.2")));
    }

    #[test]
    fn addresses_go_on_past_a_byte() {
        assert_eq!(ipv4(NodeId(254)).to_string(), "10.77.0.255");
        assert_eq!(ipv4(NodeId(255)).to_string(), "10.77.1.0");
        assert_eq!(ipv6(NodeId(255)).to_string(), "fd77::100");
    }
}
