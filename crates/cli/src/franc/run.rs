//! `lasthop franc run`: starts the daemon from its configuration, and prints a line for each event.
//! Resolves the names of hosts and reads keys from their file; the daemon (`lasthop_daemon::franc`)
//! does everything else until a signal.

use super::{key, sockets};
use crate::address::Host as Named;
use crate::args::FrancRun;
use crate::console;
use crate::failure::Failure;
use lasthop_daemon::franc::{
    Daemon, DaemonReport, Deaf, FrancError, Host, Options, PORT, Reach, Snapshot, Transport,
    datagram_bytes_max,
};
use lasthop_franc::config::Keys;
use lasthop_franc::{Address as Place, NodeId, Role, Unanswered};
use lasthop_franc_node::document::{FrancDaemonCounts, FrancDocument};
use lasthop_franc_node::{self as file, Link};
use lasthop_linux::confine::{self, capabilities};
use lasthop_linux::link::Address;
use lasthop_report::franc as words;
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
    let mut host = Printer { name: options.name.clone(), failure: None };
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
            for (id, place) in neighbours {
                let wrong = |why: String| Failure::Message(format!("neighbour {id}: {why}"));
                let named = Named::parse_with(place, PORT)
                    .map_err(|why| wrong(format!("{place:?}: {why}")))?;
                found.push((*id, named.find().map_err(wrong)?));
            }
            let v6 = |address: &std::net::SocketAddr| address.is_ipv6();
            let first = listen.as_ref().or(found.first().map(|(_, address)| address)).map(v6);
            if let Some((id, address)) =
                found.iter().find(|(_, address)| Some(v6(address)) != first)
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
    failure: Option<Failure>,
}

impl Host for Printer {
    fn report(&mut self, report: DaemonReport<'_>) -> ControlFlow<()> {
        match console::print(&line(&self.name, report)) {
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
    let places: Vec<(u8, String)> =
        reached.iter().map(|reach| (reach.id.0, at(reach.address))).collect();
    FrancDocument::new(&options.name, transport, &options.config, *up, stats, &counts, &places)
}

fn line(name: &str, report: DaemonReport<'_>) -> String {
    match report {
        DaemonReport::Ready { config, metrics } => {
            let metrics =
                metrics.map_or(String::new(), |at| format!(", metrics at http://{at}/metrics"));
            format!("{name}: node {}: {}{metrics}\n", config.id, words::node(config))
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
        DaemonReport::Event(event) => {
            words::event(event).map_or(String::new(), |text| format!("{name}: {text}\n"))
        }
        DaemonReport::Unanswered { peer, why, options, reached } => {
            format!("{name}: {}\n", unanswered(peer, why, options, reached))
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

/// Describes the unanswered attempts, and the checks to make.
fn unanswered(peer: NodeId, why: Unanswered, options: &Options, reached: &[Reach]) -> String {
    let me = options.config.id;
    // The neighbour that is asked: on the way to the other end, a recoder.
    let asked = match options.config.role {
        Role::End { via, .. } => via,
        _ => peer,
    };
    let place = reached.iter().find(|reach| reach.id == asked).map(|reach| at(reach.address));
    let from_place = |place: Place| match place {
        Place::Udp(address) => address.to_string(),
        Place::Mac(mac) => mac.to_string(),
        Place::Node(node) => node.to_string(),
    };
    match why {
        Unanswered::Silent => {
            let (to, check) = match (&options.transport, place) {
                (Transport::Udp { listen, .. }, Some(place)) => {
                    let port = listen.map_or(PORT, |listen| listen.port());
                    (
                        format!(" at {place}"),
                        format!("that firewalls let UDP pass both ways, here to port {port}"),
                    )
                }
                (Transport::Udp { .. }, None) => (
                    " (unknown address)".to_owned(),
                    format!(
                        "that it has --neighbours {me}=THIS_HOST, or give --neighbours {asked}=HOST \
                         here"
                    ),
                ),
                (Transport::Ethernet { interface, .. }, _) => (
                    format!(" on {interface}"),
                    "that its interface is in the same network, and passes EtherType 0x88B5"
                        .to_owned(),
                ),
            };
            format!(
                "no answer from node {asked}{to}: check that it runs with --id {asked} and the \
                 same key, and {check}"
            )
        }
        Unanswered::Deaf => format!(
            "datagrams from node {peer} arrive, but it does not hear this node: check firewalls, and \
             --neighbours there"
        ),
        Unanswered::OtherPeer { asking, wanted } => format!(
            "node {asking} calls node {wanted}, but this one is node {me}: check --id here, and --peer, \
             --via or --between there"
        ),
        Unanswered::OtherNumber { number, from } => format!(
            "node {number} calls this node from {}, where node {asked} is expected: check --id there, \
             and --peer, --via or --between here",
            from_place(from)
        ),
        Unanswered::SameNumber { from } => format!(
            "the node at {} has the number {me}, as this one does: give one of the two another --id",
            from_place(from)
        ),
    }
}

fn at(address: Address) -> String {
    match address {
        Address::Udp(address) => address.to_string(),
        Address::Mac(mac) => mac.to_string(),
    }
}
