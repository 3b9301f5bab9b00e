//! The system layer against the kernel: real devices, real programs.

#![expect(clippy::disallowed_methods, reason = "programs take real time")]

use super::device::{DeviceChoice, Interface};
use super::port::Ports;
use super::supervisor::{Job, Node, Plan, Supervisor, SupervisorOrder, SupervisorReport};
use super::*;
use lasthop_units::MacAddr;
use std::ffi::CString;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

#[test]
fn a_refused_user_namespace_says_what_to_do() {
    let text = OsError::new("unshare(CLONE_NEWUSER)", Errno::EPERM).to_string();
    assert!(text.starts_with("unshare(CLONE_NEWUSER): Operation not permitted"), "{text}");
    assert!(text.contains("kernel.apparmor_restrict_unprivileged_userns"), "{text}");
}

#[test]
fn limits_are_named() {
    let text = OsError::new("unshare(CLONE_NEWNET)", Errno::ENOSPC).to_string();
    assert!(text.contains("user.max_.*_namespaces"), "{text}");
    let text = OsError::new("epoll_create", Errno::EMFILE).to_string();
    assert!(text.contains("ulimit -n"), "{text}");
}

#[test]
fn a_refused_capture_names_the_capability() {
    let text = OsError::new("socket(AF_PACKET, SOCK_RAW)", Errno::EPERM).to_string();
    assert!(text.contains("CAP_NET_RAW") && text.contains("setcap cap_net_raw+ep"), "{text}");
    let text = OsError::new("if_nametoindex(mon9)", Errno::ENODEV).to_string();
    assert!(text.contains("`ip link`"), "{text}");
}

#[test]
fn other_errors_stay_short() {
    let text = OsError::new("mount(/proc)", Errno::EPERM).to_string();
    assert_eq!(text, "mount(/proc): Operation not permitted");
}

fn plan(device: DeviceChoice, command: &str) -> Plan {
    let node = |i: u8, name: &str| Node {
        name: name.into(),
        interface: Interface {
            name: "eth0",
            address: MacAddr::local(u32::from(i)),
            ipv4: Ipv4Addr::new(10, 77, 0, i + 1),
            ipv6: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, u16::from(i) + 1),
            mtu: 1500,
        },
    };
    let command = ["/bin/sh", "-c", command].map(|a| CString::new(a).unwrap()).to_vec();
    Plan {
        nodes: vec![node(0, "left"), node(1, "right")],
        device,
        sockets: vec![],
        jobs: vec![Job {
            node: 0,
            command,
            environment: vec![CString::new("PATH=/usr/bin:/bin:/usr/sbin:/sbin").unwrap()],
            output: None,
            foreground: false,
            ready: None,
        }],
        files: vec![
            ("hosts", "127.0.0.1 localhost\n10.77.0.1 left\n10.77.0.2 right\n".into()),
            ("nsswitch.conf", "hosts: files\n".into()),
        ],
        outside: None,
    }
}

/// Runs `command` on a wire without delay and gives its exit status.
fn run(device: DeviceChoice, command: &str) -> i32 {
    let (supervisor, devices, _) = Supervisor::start(&plan(device, command)).unwrap();
    let mut ports = Ports::new(devices, 1514).unwrap();
    supervisor.order(SupervisorOrder::Start { job: 0 }).unwrap();
    let start = Instant::now();
    let mut buffer = [0; 2048];
    while start.elapsed() < Duration::from_secs(10) {
        for door in 0..ports.doors().len() {
            while let Some((node, length)) = ports.read(door, &mut buffer) {
                assert_eq!(ports.write(&[(1 - node, &buffer[..length])]), 0);
            }
        }
        match supervisor.report().unwrap() {
            Some(SupervisorReport::Exited { status, .. }) => return status,
            Some(other) => panic!("{other:?}"),
            None => std::thread::sleep(Duration::from_micros(100)),
        }
    }
    panic!("{command} takes too long");
}

/// The kinds of devices that can be made here.
fn devices() -> Vec<DeviceChoice> {
    if !super::device::tap_opens() {
        eprintln!("TAP skipped, because /dev/net/tun does not open");
        return vec![DeviceChoice::Veth];
    }
    vec![DeviceChoice::Tap, DeviceChoice::Veth]
}

#[test]
#[cfg_attr(miri, ignore = "namespaces")]
fn programs_see_two_hosts_on_a_wire() {
    for device in devices() {
        assert_eq!(run(device, "ping -q -c 2 -i 0.2 right"), 0, "{device:?}");
        assert_eq!(run(device, "ping -q -c 2 -i 0.2 fd77::2"), 0, "{device:?}");
        assert_eq!(run(device, "test $(id -u) = 0 && test $(hostname) = left"), 0, "{device:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "namespaces")]
fn a_status_is_the_one_a_shell_gives() {
    let device = DeviceChoice::Automatic;
    assert_eq!(run(device, "exit 3"), 3);
    assert_eq!(run(device, "kill -9 $$"), 137);
}
