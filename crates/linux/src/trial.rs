//! Trials of the rights that the kernel gives this process: the namespaces, device and way out of
//! an emulation, a TUN device, a packet socket, real-time priority. Everything that a trial makes
//! ends with it, and none of its packets leaves the machine. A trial loads no modules, but the
//! kernel loads one when a device of it is opened or made for the first time, so callers check for
//! the module first.

use super::clock::{Priority, Scheduling};
use super::device::{self, DeviceChoice, Interface};
use super::forward::Tally;
use super::ring::packet_socket;
use super::slirp::{Slirp, SlirpError};
use super::supervisor::{Gateway, Node, Outside, Plan, Supervisor};
use super::{Call, OsError};
use lasthop_units::MacAddr;
use nix::sched::{CloneFlags, unshare};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// MTU of the node's interface and of the way out, in bytes.
const MTU: u16 = 1_500;
/// The trial's node in the network of the nodes, and another address of it.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const MACHINE: Ipv4Addr = Ipv4Addr::new(10, 77, 255, 254);

/// Makes the namespaces and the device of an emulation of one node, and ends it.
///
/// # Errors
/// The system call that was refused.
pub fn emulation(device: DeviceChoice) -> Result<(), OsError> {
    Supervisor::start(&plan(device, None)).map(drop)
}

/// Makes an emulation with a way out to the machine's network, and ends it.
///
/// # Errors
/// If a system call is refused, or slirp4netns is missing or does not start.
pub fn way_out(device: DeviceChoice) -> Result<(), SlirpError> {
    let gateway = Some(Gateway { node: 0, machine: MACHINE, is_router: true });
    let outside = Outside { gateway, published: Vec::new(), tally: Arc::new(Tally::new(0)?) };
    let (supervisor, _devices, _) = Supervisor::start(&plan(device, Some(outside)))?;
    let namespaces = supervisor.outside().expect("a router's namespaces are handed over");
    let _slirp = Slirp::start(namespaces, MTU)?;
    Ok(supervisor.route()?)
}

fn plan(device: DeviceChoice, outside: Option<Outside>) -> Plan {
    let interface = Interface {
        name: "eth0",
        address: MacAddr([0x02, 0x77, 0, 0, 0, 1]),
        ipv4: ADDRESS,
        ipv6: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1),
        mtu: MTU,
    };
    Plan {
        nodes: vec![Node { name: "trial".into(), interface }],
        device,
        sockets: Vec::new(),
        jobs: Vec::new(),
        files: Vec::new(),
        outside,
    }
}

/// Whether this process may make a TUN device in its network namespace. The trial makes none: it
/// asks the kernel for a device of no kind, which the kernel refuses after the check of the
/// permission.
///
/// # Errors
/// `ENOENT`, `EACCES` and others of open(2); `EPERM` without CAP_NET_ADMIN.
pub fn tun() -> Result<(), OsError> {
    device::may_make_tun()
}

/// Opens and closes a packet socket that receives nothing.
///
/// # Errors
/// `EPERM` without CAP_NET_RAW.
pub fn packet() -> Result<(), OsError> {
    packet_socket().map(drop).call("socket(AF_PACKET, SOCK_RAW)")
}

/// The best scheduling that this thread may have. Afterwards the thread has its former scheduling
/// again.
pub fn scheduling() -> Scheduling {
    Priority::raise().scheduling()
}

/// Calls unshare(2) with no flags, which the kernel has no reason to refuse: a refusal comes from a
/// filter of system calls (seccomp(2)).
///
/// # Errors
/// The error of the filter.
pub fn unshare_nothing() -> Result<(), OsError> {
    unshare(CloneFlags::empty()).call("unshare(0)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::net::if_::if_nameindex;

    fn interfaces() -> Vec<String> {
        let all = if_nameindex().unwrap();
        all.iter().map(|one| one.name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    #[cfg_attr(miri, ignore = "namespaces")]
    fn a_trial_leaves_nothing_behind() {
        let before = interfaces();
        if let Err(error) = emulation(DeviceChoice::Automatic) {
            eprintln!("skipped: {error}");
            return;
        }
        assert_eq!(interfaces(), before);
    }

    /// Root may, an ordinary user may not; no device is made.
    #[test]
    #[cfg_attr(miri, ignore = "an ioctl")]
    fn a_permission_is_asked_for_without_a_device() {
        let before = interfaces();
        match tun() {
            Ok(()) => {}
            Err(error) => assert!(error.call.contains("tun"), "{error}"),
        }
        assert_eq!(interfaces(), before);
    }

    #[test]
    #[cfg_attr(miri, ignore = "scheduling")]
    fn scheduling_is_as_it_was_afterwards() {
        let policy = || {
            let text = std::fs::read_to_string("/proc/thread-self/sched").unwrap_or_default();
            text.lines().find(|line| line.starts_with("policy")).map(str::to_owned)
        };
        let before = policy();
        scheduling();
        assert_eq!(policy(), before);
    }
}
