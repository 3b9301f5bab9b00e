//! `lasthop franc run`: starts the daemon from its configuration, and prints a line for each event.
//! Resolves the names of hosts and reads keys from their file; the daemon (`lasthop_daemon::franc`)
//! does everything else until a signal.

use super::{key, sockets};
use crate::address::Host as Named;
use crate::args::FrancRun;
use crate::console;
use crate::failure::Failure;
use lasthop_daemon::franc::{
    Daemon, DaemonReport, Deaf, FrancError, Host, Options, PORT, Reach, Refusal, Snapshot,
    Transport, UdpNeighbour, datagram_bytes_max,
};
use lasthop_franc::config::Keys;
use lasthop_franc::{Address as Place, NodeId, Role, Unanswered};
use lasthop_franc_node::document::{FrancDaemonCounts, FrancDocument, FrancPlace};
use lasthop_franc_node::{self as file, Link};
use lasthop_linux::confine::{self, capabilities};
use lasthop_linux::link::Address;
use lasthop_report::franc as words;
use nix::errno::Errno;
use std::fs;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Runs the daemon until a signal; returns the exit status.
pub fn run(args: &FrancRun) -> Result<u8, Failure> {
    confine::keep_memory_private();
    let link = file::load(args.config.as_deref(), &args.keys.0)?;
    let keys = match &link.key_file {
        Some(path) => key::read(path)?,
        None => Keys::Insecure,
    };
    let transport = transport(&link)?;
    let datagram_bytes_max = datagram_bytes_max(&transport, link.mtu).map_err(Failure::message)?;
    let config = link.config(keys, datagram_bytes_max);
    config.check().map_err(Failure::message)?;
    may_run(&link)?;
    let options = Options {
        config,
        transport,
        copies_to: link.copies_to.clone(),
        name: link.name.clone(),
        addresses: link.addresses.clone(),
        control: control(&link)?,
        metrics: link.metrics,
    };
    let has_key = options.config.keys != Keys::Insecure;
    let mut host = Printer { name: options.name.clone(), has_key, failure: None };
    let daemon = Daemon::new(options).map_err(failure)?;
    let signal = daemon.run(&mut host).map_err(failure)?;
    Err(match (host.failure, signal) {
        (Some(failure), _) => failure,
        (None, Some(signal)) => Failure::Interrupted { signal: signal as u8 },
        (None, None) => Failure::Stopped,
    })
}

/// Checks the capabilities that the node needs before their lack makes something else fail.
fn may_run(link: &Link) -> Result<(), Failure> {
    let is_end = matches!(link.role(), Role::End { .. });
    let is_ethernet = matches!(link.transport, file::Transport::Ethernet { .. });
    let needed = [
        (is_end, capabilities::NET_ADMIN, "CAP_NET_ADMIN", "the tunnel interface"),
        (is_ethernet, capabilities::NET_RAW, "CAP_NET_RAW", "Ethernet frames"),
    ];
    let mut missing = Vec::new();
    for (is_needed, capability, name, what) in needed {
        if is_needed && !capabilities::has(capability).map_err(Failure::message)? {
            missing.push((name, what));
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let (names, purposes): (Vec<&str>, Vec<&str>) = missing.into_iter().unzip();
    Err(Failure::Message(format!(
        "franc run needs root or {}, for {}: `sudo lasthop franc run ..`, `setcap \
         cap_net_admin,cap_net_raw+ep lasthop`, or AmbientCapabilities= in a systemd unit",
        names.join(" and "),
        purposes.join(" and ")
    )))
}

fn failure(error: FrancError) -> Failure {
    Failure::message(error)
}

/// Returns the transport of the link, with the names of hosts resolved.
fn transport(link: &Link) -> Result<Transport, Failure> {
    Ok(match &link.transport {
        file::Transport::Udp { listen, neighbours } => {
            let mut found = Vec::new();
            for file::UdpNeighbour { id, link, host, interface } in neighbours {
                let wrong = |why: String| Failure::Message(format!("neighbour {id}: {why}"));
                let named = Named::parse_with(host, PORT)
                    .map_err(|why| wrong(format!("{host:?}: {why}")))?;
                let address = named.find().map_err(wrong)?;
                let interface = interface.clone();
                found.push(UdpNeighbour { id: *id, link: *link, address, interface });
            }
            for (index, one) in found.iter().enumerate() {
                let place = |it: &UdpNeighbour| (it.id, it.address, it.interface.clone());
                if found[..index].iter().any(|other| place(other) == place(one)) {
                    return Err(Failure::Message(format!(
                        "neighbour {}: both links go to {}: give two addresses, or two interfaces \
                         as in --neighbours {}=HOST%wwan0",
                        one.id, one.address, one.id
                    )));
                }
            }
            let v6 = |address: &std::net::SocketAddr| address.is_ipv6();
            let first = listen.as_ref().or(found.first().map(|it| &it.address)).map(v6);
            if let Some(UdpNeighbour { id, address, .. }) =
                found.iter().find(|it| Some(v6(&it.address)) != first)
            {
                return Err(Failure::Message(format!(
                    "neighbour {id} is at {address}, but the node listens to the other family of \
                     addresses: use IPv4 or IPv6 for all, and for --listen"
                )));
            }
            Transport::Udp { listen: *listen, neighbours: found }
        }
        file::Transport::Ethernet { interface, monitor, neighbours } => Transport::Ethernet {
            interface: interface.clone(),
            promiscuous: matches!(link.role(), Role::Helper { .. }) && monitor.is_none(),
            monitor: monitor.clone(),
            neighbours: neighbours.clone(),
        },
    })
}

/// Returns the path of the control socket; creates its directory if missing.
fn control(link: &Link) -> Result<PathBuf, Failure> {
    if let Some(path) = &link.socket {
        return Ok(path.clone());
    }
    let path = sockets(&link.name).into_iter().next().expect("there is always a place");
    let folder = path.parent().unwrap_or(Path::new("/"));
    let made = fs::DirBuilder::new().recursive(true).mode(0o755).create(folder);
    made.map_err(|why| {
        let shown = folder.display();
        Failure::Message(match why.kind() {
            // The next thing to fail would be the tunnel interface.
            ErrorKind::PermissionDenied => format!(
                "{shown}: only root makes this folder, for the control socket; another user gives \
                 --socket PATH, and lasthop the capabilities for the tunnel: `setcap \
                 cap_net_admin,cap_net_raw+ep lasthop`, or AmbientCapabilities= in a systemd unit"
            ),
            _ => format!("{shown}: {why}; choose a place for the control socket with --socket"),
        })
    })?;
    Ok(path)
}

/// Prints events, and keeps the first failure.
struct Printer {
    name: String,
    has_key: bool,
    failure: Option<Failure>,
}

impl Host for Printer {
    fn report(&mut self, report: DaemonReport<'_>) -> ControlFlow<()> {
        match console::print(&self.line(report)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(why) => {
                self.failure = Some(why);
                ControlFlow::Break(())
            }
        }
    }

    fn stats(&mut self, snapshot: &Snapshot<'_>) -> String {
        document(snapshot).to_json()
    }

    fn metrics(&mut self, snapshot: &Snapshot<'_>) -> String {
        document(snapshot).to_prometheus()
    }
}

fn document(snapshot: &Snapshot<'_>) -> FrancDocument {
    let Snapshot { options, up, stats, counts, reached } = snapshot;
    let transport = match options.transport {
        Transport::Udp { .. } => "udp",
        Transport::Ethernet { .. } => "ethernet",
    };
    let counts = FrancDaemonCounts {
        unplaced: counts.unplaced,
        unsent: counts.unsent,
        too_long: counts.too_long,
        full: counts.full,
        undelivered: counts.undelivered,
        overheard: counts.monitor.datagrams,
        overheard_again: counts.monitor.retries,
        overheard_bad_fcs: counts.monitor.bad_fcs,
        overheard_protected: counts.monitor.protected,
        overheard_unread: counts.monitor.fragments + counts.monitor.malformed,
        overheard_drops: counts.monitor_drops,
    };
    let place =
        |reach: &Reach| FrancPlace { id: reach.id.0, link: reach.link, address: at(reach.address) };
    let places: Vec<FrancPlace> = reached.iter().map(place).collect();
    FrancDocument::new(&options.name, transport, &options.config, *up, stats, &counts, &places)
}

impl Printer {
    /// Returns the line about a report.
    fn line(&self, report: DaemonReport<'_>) -> String {
        let name = &self.name;
        match report {
            DaemonReport::Ready { config, metrics, reached } => {
                let calls: Vec<String> = reached
                    .iter()
                    .map(|reach| format!("node {} at {}", reach.id, at(reach.address)))
                    .collect();
                let calls = if calls.is_empty() {
                    String::new()
                } else {
                    format!("; calls {}", calls.join(", "))
                };
                let metrics =
                    metrics.map_or(String::new(), |at| format!("; metrics at http://{at}/metrics"));
                format!("{name}: node {}: {}{calls}{metrics}\n", config.id, words::node(config))
            }
            DaemonReport::Unconfined(refused) => {
                let refused: Vec<String> = refused.iter().map(ToString::to_string).collect();
                format!(
                    "{name}: this system lacks some confinement of the daemon: {}\n",
                    refused.join("; ")
                )
            }
            DaemonReport::Slower(refused) => {
                let refused: Vec<String> = refused.iter().map(ToString::to_string).collect();
                format!(
                    "{name}: this system lacks features that make the daemon faster: {}\n",
                    refused.join("; ")
                )
            }
            DaemonReport::Event(event) => words::event(event, self.has_key)
                .map_or(String::new(), |text| format!("{name}: {text}\n")),
            DaemonReport::Link { peer, link, address, interface, is_alive, silent } => {
                let address = address.map_or("an unknown address".into(), at);
                let through = interface.map_or(String::new(), |name| format!(" through {name}"));
                let place = format!("{address}{through}");
                format!("{name}: {}\n", words::link_event(peer, link, &place, is_alive, silent))
            }
            DaemonReport::Unanswered { peer, why, options, reached, refusal } => {
                format!("{name}: {}\n", unanswered(peer, why, options, reached, refusal))
            }
            DaemonReport::SameMac { neighbour, mac } => format!(
                "{name}: node {neighbour} has the MAC address of this interface, {mac}: give one of \
             the two another (`ip link set IFACE address ..`)\n"
            ),
            DaemonReport::Deaf { monitor, why: Deaf::Down } => format!(
                "{name}: the monitor interface {monitor} is down: other nodes are not heard until it is up \
             (`ip link set {monitor} up`)\n"
            ),
            DaemonReport::Deaf { monitor, why: Deaf::Protected(frames) } => format!(
                "{name}: no frame of this link was readable on {monitor} for some seconds; {frames} data \
             frames were encrypted, as all frames of other stations in a WPA network. Use an open \
             network or cell (the link itself is encrypted), or udp with --copies-to\n"
            ),
            DaemonReport::TooLong { bytes } => format!(
                "{name}: this host no longer sends datagrams of {bytes} bytes, because the MTU of the interface \
             has shrunk; searching for the path's MTU again\n"
            ),
        }
    }
}

/// Describes the unanswered attempts, the numbers seen and expected, and the flags to check.
fn unanswered(
    peer: NodeId,
    why: Unanswered,
    options: &Options,
    reached: &[Reach],
    refusal: Option<Refusal>,
) -> String {
    let me = options.config.id;
    // The neighbour that is asked: on the way to the other end, a recoder. An end without recoders
    // names it by one flag.
    let (asked, ours, theirs) = match options.config.role {
        Role::End { peer, via, .. } if peer == via => (via, "--peer", "--peer"),
        Role::End { via, .. } => (via, "--via", "--between"),
        _ => (peer, "--between", "--peer, --via or --between"),
    };
    let place = reached.iter().find(|reach| reach.id == asked).map(|reach| reach.address);
    let refusal = refusal.filter(|refusal| Some(refusal.to) == place);
    match why {
        Unanswered::Silent => match refusal {
            Some(refusal) => {
                let (fact, check) = refused(refusal, asked);
                format!("no answer from node {asked}: {fact}; {check}")
            }
            None => silent(asked, options, place),
        },
        Unanswered::Strangers { asking, wanted, from } => format!(
            "no answer from node {asked}, but node {asking} at {} calls node {wanted}, and this \
             one is node {me}: if it is the other end, give it --id {asked} {theirs} {me}, or this \
             one --id {wanted} {ours} {asking}",
            place_of(from)
        ),
        Unanswered::Deaf => {
            let told = refusal.map_or(String::new(), |refusal| {
                let (fact, check) = refused(refusal, asked);
                format!("; {fact}: {check}")
            });
            format!(
                "datagrams of node {peer} arrive here, but those of this node do not arrive there: \
                 check that no firewall drops datagrams from here to there, and --neighbours \
                 here{told}"
            )
        }
        Unanswered::OtherPeer { asking, wanted } => format!(
            "node {asking} calls node {wanted}, but this one is node {me}: give this one --id \
             {wanted}, or node {asking} {theirs} {me}"
        ),
        Unanswered::OtherNumber { number, from } => format!(
            "node {number} calls from {}, where node {asked} is expected: give it --id {asked}, or \
             this node {ours} {number}",
            place_of(from)
        ),
        Unanswered::SameNumber { from } => format!(
            "the node at {} has --id {me}, as this one does: each node needs another --id, and \
             here the other one is expected as node {asked}",
            place_of(from)
        ),
    }
}

/// Describes the checks if nothing at all is known of node `asked`.
fn silent(asked: NodeId, options: &Options, place: Option<Address>) -> String {
    let me = options.config.id;
    let runs = format!("check that `lasthop franc run` runs there with --id {asked}");
    match (&options.transport, place) {
        (Transport::Udp { listen, .. }, Some(place)) => {
            let port = listen.map_or(PORT, |listen| listen.port());
            format!(
                "no answer from node {asked} at {}: check that this is its address (--neighbours), \
                 that firewalls let UDP pass both ways, here to port {port}, and that `lasthop franc \
                 run` runs there with --id {asked} and --transport udp",
                at(place)
            )
        }
        (Transport::Udp { .. }, None) => format!(
            "no answer from node {asked} (unknown address): give --neighbours {asked}=HOST here, or \
             {runs}, --transport udp and --neighbours {me}=THIS_HOST"
        ),
        (Transport::Ethernet { interface, .. }, _) => format!(
            "no answer from node {asked} on {interface}: {runs} and --transport ethernet, and that \
             both interfaces are in the same network, which passes EtherType 0x88B5"
        ),
    }
}

/// Returns the fact of a refusal, and the checks to make.
fn refused(refusal: Refusal, asked: NodeId) -> (String, String) {
    let Refusal { to, by, why } = refusal;
    let host = match to {
        Address::Udp(to) => to.ip().to_string(),
        Address::Mac(mac) => mac.to_string(),
    };
    let port = match to {
        Address::Udp(to) => to.port(),
        Address::Mac(_) => PORT,
    };
    let route = format!("`ip route get {host}` shows the way");
    match (by, why) {
        (None, Errno::EPERM) => (
            format!("a firewall of this host drops datagrams to {}", at(to)),
            format!("let UDP to port {port} pass"),
        ),
        (None, Errno::EINVAL) => (format!("this host's route to {} is a blackhole", at(to)), route),
        (None, _) => (format!("this host cannot send to {}: {}", at(to), why.desc()), route),
        (Some(_), Errno::ECONNREFUSED) => (
            format!("the host {host} is there, but no program listens to UDP port {port}"),
            format!(
                "start `lasthop franc run` there, or check --listen there and --neighbours {asked}={host}:PORT here"
            ),
        ),
        (Some(by), Errno::EHOSTUNREACH) => (
            format!("{by} finds no host {host}"),
            format!("check --neighbours {asked}={host}, and that the host is up"),
        ),
        (Some(by), _) => (
            format!("{by} refuses datagrams to {} ({})", at(to), why.desc()),
            format!("check its firewall and routes; {route}"),
        ),
    }
}

fn place_of(place: Place) -> String {
    match place {
        Place::Udp(address) => address.to_string(),
        Place::Mac(mac) => mac.to_string(),
        Place::Node(node) => node.to_string(),
    }
}

fn at(address: Address) -> String {
    match address {
        Address::Udp(address) => address.to_string(),
        Address::Mac(mac) => mac.to_string(),
    }
}
