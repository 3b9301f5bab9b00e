//! Findings about namespaces, devices, capabilities, time, programs and TCP.

use super::{finding, milliseconds};
use crate::document::{Attempt, Class, Facts, Finding, ModuleState, Severity};
use Severity::{Note, Problem};

/// Error numbers (errno(3)) of Linux, the same on every instruction set that lasthop is built for.
const EPERM: i32 = 1;
const EACCES: i32 = 13;
const EINVAL: i32 = 22;
const ENOSPC: i32 = 28;
const ENOSYS: i32 = 38;
/// Lateness, as the 99th percentile in microseconds, from which an emulated hop shows delays of the
/// machine: a frame of 1 500 bytes needs less at 12 Mb/s.
const LATE_US: f64 = 1_000.0;
/// Resolution in nanoseconds above which timers are not high-resolution ones: without these, it is
/// a jiffy, 1 ms or more.
const COARSE_NS: u64 = 100_000;
/// Real-time priority of an emulation's thread.
const REALTIME_PRIORITY: u64 = 20;
/// Clock sources that are read from a device or with a tick's resolution: a read needs a
/// microsecond or more, or the time is coarse.
const SLOW_CLOCKS: [&str; 4] = ["hpet", "acpi_pm", "jiffies", "refined-jiffies"];

/// Returns the findings in a fixed order.
pub fn findings(facts: &Facts) -> Vec<Finding> {
    let looks: [fn(&Facts) -> Option<Finding>; 14] = [
        namespaces,
        tun,
        net_admin,
        net_raw,
        way_out,
        simulated_radios,
        resolution,
        late,
        realtime,
        load,
        clock_source,
        governor,
        bbr,
        first_in_first_out,
    ];
    looks.iter().filter_map(|look| look(facts)).collect()
}

fn namespaces(facts: &Facts) -> Option<Finding> {
    let namespaces = &facts.namespaces;
    let errno = namespaces.emulation.errno()?;
    let is_denied = matches!(errno, EPERM | EACCES);
    // These settings depend on a capability in the first user namespace.
    let is_privileged = facts.user.in_first_user_namespace && facts.user.can("CAP_SYS_ADMIN");
    let container = facts.machine.container.as_deref();
    let (why, remedy) = if !namespaces.user_namespaces_built || matches!(errno, ENOSYS | EINVAL) {
        (
            "this kernel is built without user namespaces; root needs none".into(),
            Some("sudo lasthop emulate upload"),
        )
    } else if errno == ENOSPC && namespaces.user_max == Some(0) {
        ("user.max_user_namespaces is 0".into(), Some("sudo sysctl user.max_user_namespaces=10000"))
    } else if errno == ENOSPC {
        let number = |max: Option<u64>| max.map_or("?".into(), |max| max.to_string());
        let (users, nets) = (number(namespaces.user_max), number(namespaces.net_max));
        (
            format!(
                "a limit of namespaces is reached (user.max_user_namespaces is {users}, \
                 user.max_net_namespaces is {nets})"
            ),
            Some("sudo sysctl user.max_user_namespaces=10000 user.max_net_namespaces=10000"),
        )
    } else if is_denied && namespaces.unshare_filtered {
        (
            "a filter of system calls (seccomp) refuses unshare(2), as Docker's default one does: \
             even unshare(0) is refused, which the kernel would permit"
                .into(),
            match container {
                Some("docker") => Some("docker run --security-opt seccomp=unconfined .."),
                Some("podman") => Some("podman run --security-opt seccomp=unconfined .."),
                _ => None,
            },
        )
    } else if is_denied && namespaces.unprivileged_clone == Some(0) && !is_privileged {
        (
            "kernel.unprivileged_userns_clone is 0".into(),
            Some("sudo sysctl kernel.unprivileged_userns_clone=1"),
        )
    } else if is_denied && namespaces.apparmor_restricts == Some(1) && !is_privileged {
        (
            "kernel.apparmor_restrict_unprivileged_userns is 1".into(),
            Some("sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"),
        )
    } else {
        ("the cause is unknown: no setting known to lasthop forbids it".into(), None)
    };
    Some(finding(
        "namespaces",
        Problem,
        format!(
            "The namespaces of an emulation cannot be made ({}): {why}.",
            namespaces.emulation.text()
        ),
        "emulate, compare and demo do not work; verbs in virtual time do.",
        remedy.map(Into::into),
    ))
}

fn tun(facts: &Facts) -> Option<Finding> {
    let tun = &facts.tun;
    let loadable = facts.modules.iter().any(|module| {
        module.name == "tun" && matches!(module.state, ModuleState::Loadable | ModuleState::Unknown)
    });
    if tun.exists && !tun.driver {
        return Some(finding(
            "tun-not-loaded",
            Note,
            "/dev/net/tun exists, but the kernel's driver is not loaded.",
            "This was not tried, because opening it makes the kernel load the module tun, as the first \
             emulation does. Without the module, franc run and emulate --outside fail.",
            loadable.then(|| "sudo modprobe tun".into()),
        ));
    }
    if !tun.exists {
        return Some(finding(
            "no-tun",
            Problem,
            "/dev/net/tun does not exist.",
            "franc run and emulate --outside do not work. emulate uses veth pairs instead of TAP \
             devices, at a higher CPU cost a packet.",
            match (facts.machine.container.as_deref(), loadable) {
                (Some("docker" | "podman"), _) => {
                    Some("docker run --device /dev/net/tun ..".into())
                }
                (_, true) => Some("sudo modprobe tun".into()),
                _ => None,
            },
        ));
    }
    match &tun.permission {
        Attempt::Refused { call, errno, reason } if call.starts_with("open") => Some(finding(
            "tun-closed",
            Problem,
            format!("/dev/net/tun does not open: {reason}."),
            "franc run and emulate --outside do not work. emulate uses veth pairs instead of TAP \
             devices, at a higher CPU cost a packet.",
            (*errno == EACCES).then(|| "sudo chmod 666 /dev/net/tun".into()),
        )),
        _ => None,
    }
}

fn net_admin(facts: &Facts) -> Option<Finding> {
    let refused = matches!(&facts.tun.permission, Attempt::Refused { call, errno, .. }
        if call.contains("TUNSETIFF") && *errno == EPERM);
    let is_untried = matches!(facts.tun.permission, Attempt::Skipped { .. } | Attempt::NotTried);
    let lacks = refused || is_untried && !facts.user.can("CAP_NET_ADMIN");
    lacks.then(|| {
        finding(
            "no-net-admin",
            Note,
            "This process lacks CAP_NET_ADMIN in its network namespace.",
            "franc run cannot make its TUN device, and medium no radios. emulate needs no capability, \
             because it makes new namespaces.",
            Some("sudo lasthop franc run ..".into()),
        )
    })
}

fn net_raw(facts: &Facts) -> Option<Finding> {
    let is_refused = facts.packet_socket.errno() == Some(EPERM);
    let lacks = is_refused || !facts.packet_socket.works() && !facts.user.can("CAP_NET_RAW");
    lacks.then(|| {
        finding(
            "no-net-raw",
            Note,
            format!("This process may open no packet socket ({}).", facts.packet_socket.text()),
            "capture --live and franc run over Ethernet require CAP_NET_RAW.",
            Some("sudo lasthop capture --live IFACE".into()),
        )
    })
}

fn way_out(facts: &Facts) -> Option<Finding> {
    let Attempt::Refused { call, reason, .. } = &facts.way_out else { return None };
    let has = |name: &str| facts.programs.iter().any(|one| one.name == name && one.path.is_some());
    let means = if has("pasta") {
        "emulate --outside does not work. pasta is installed, but lasthop does not use it."
    } else {
        "emulate --outside does not work."
    };
    Some(if has("slirp4netns") {
        finding(
            "no-way-out",
            Problem,
            format!("slirp4netns cannot connect an emulation to the network: {call}: {reason}."),
            means,
            call.starts_with("write(/proc/sys")
                .then(|| "docker run --security-opt systempaths=unconfined ..".into()),
        )
    } else {
        finding(
            "no-slirp4netns",
            Note,
            "The program slirp4netns is not installed.",
            means,
            Some(install(facts, "slirp4netns")),
        )
    })
}

/// Returns a command that installs a package with the same name on all distributions.
fn install(facts: &Facts, package: &str) -> String {
    let distribution = facts.machine.distribution.as_deref().unwrap_or_default();
    let begins = |names: &[&str]| names.iter().any(|name| distribution.starts_with(name));
    if begins(&["Fedora", "Red Hat", "CentOS", "Rocky", "Alma"]) {
        format!("sudo dnf install {package}")
    } else if begins(&["Arch", "Manjaro", "EndeavourOS"]) {
        format!("sudo pacman -S {package}")
    } else if begins(&["openSUSE"]) {
        format!("sudo zypper install {package}")
    } else if begins(&["Alpine"]) {
        format!("sudo apk add {package}")
    } else {
        format!("sudo apt-get install {package}")
    }
}

fn simulated_radios(facts: &Facts) -> Option<Finding> {
    let module = facts.modules.iter().find(|module| module.name == "mac80211_hwsim")?;
    let (what, remedy) = match module.state {
        ModuleState::Loaded | ModuleState::BuiltIn => return None,
        ModuleState::Loadable => (
            "The module mac80211_hwsim is not loaded.",
            Some("sudo modprobe mac80211_hwsim radios=0"),
        ),
        ModuleState::Absent => ("This kernel has no module mac80211_hwsim.", None),
        ModuleState::Unknown => (
            "The module mac80211_hwsim is not loaded, and the list of this kernel's modules is missing.",
            None,
        ),
    };
    let means = "medium has no simulated radios; other verbs do not need them.";
    Some(finding("no-hwsim", Note, what, means, remedy.map(Into::into)))
}

fn resolution(facts: &Facts) -> Option<Finding> {
    let ns = facts.timer.resolution_ns.filter(|ns| *ns > COARSE_NS)?;
    let ms = milliseconds(ns as f64 / 1e6);
    Some(finding(
        "coarse-timers",
        Problem,
        format!("Timers have a resolution of {ms}: the kernel has no high-resolution timers."),
        "Packets of emulate and medium are late by as much, which is longer than a frame on the air.",
        None,
    ))
}

fn late(facts: &Facts) -> Option<Finding> {
    let timer = &facts.timer;
    if timer.wakeups == 0 || timer.late_p99_us <= LATE_US {
        return None;
    }
    let of = |us: f64| milliseconds(us / 1e3);
    let (median, most) = (of(timer.late_p50_us), of(timer.late_p99_us));
    let how = match timer.scheduling {
        Class::Realtime => "with real-time priority",
        Class::Nice | Class::Ordinary => "without real-time priority",
    };
    let share = facts.machine.load_1min.filter(|load| *load > f64::from(facts.machine.processors));
    let why = match (share, facts.machine.virtual_machine) {
        (Some(load), _) => {
            format!(" The load is {load:.1} on {} processors.", facts.machine.processors)
        }
        (None, true) => " In a virtual machine, processors may wait for those of the host.".into(),
        (None, false) => String::new(),
    };
    Some(finding(
        "late-timers",
        Problem,
        format!(
            "Of {} timers, half were late by up to {median}, one of a hundred by {most} or more, {how}.{why}",
            timer.wakeups
        ),
        "Packets of emulate and medium are late by as much, and apq measures this lateness as delay.",
        None,
    ))
}

fn realtime(facts: &Facts) -> Option<Finding> {
    let scheduling = &facts.scheduling;
    if scheduling.best == Class::Realtime {
        return None;
    }
    let max = scheduling.realtime_priority_max.unwrap_or(0);
    let has_capability = facts.user.in_first_user_namespace && facts.user.can("CAP_SYS_NICE");
    let means = "emulate, medium and franc run compete with other programs; emulate reports its \
                 lateness.";
    Some(if max < REALTIME_PRIORITY && !has_capability {
        finding(
            "no-realtime",
            Note,
            format!(
                "Threads of this process may not have real-time priority {REALTIME_PRIORITY}: the limit \
                 is {max} (RLIMIT_RTPRIO), and the process lacks CAP_SYS_NICE."
            ),
            means,
            Some(format!("sudo prlimit --pid $$ --rtprio={REALTIME_PRIORITY}")),
        )
    } else {
        finding(
            "no-realtime",
            Note,
            format!(
                "The kernel refuses real-time priority although the limit is {max} and CAP_SYS_NICE is \
                 {}: because of a control group without real time, or of a filter of system calls.",
                if has_capability { "present" } else { "absent" }
            ),
            means,
            None,
        )
    })
}

fn load(facts: &Facts) -> Option<Finding> {
    let processors = facts.machine.processors;
    let load = facts.machine.load_1min.filter(|load| *load > f64::from(processors))?;
    Some(finding(
        "busy",
        Note,
        format!(
            "On average {load:.1} threads were runnable on {processors} processors in the last minute."
        ),
        "Without real-time priority, emulate, medium and franc run wait for these threads.",
        None,
    ))
}

fn clock_source(facts: &Facts) -> Option<Finding> {
    let name = facts.timer.clock_source.as_deref().filter(|name| SLOW_CLOCKS.contains(name))?;
    Some(finding(
        "slow-clock",
        Note,
        format!("The kernel's clock source is {name}."),
        "Each reading of the clock is a system call of a microsecond or more, or is as coarse as a tick. \
         emulate reads the clock for every packet.",
        None,
    ))
}

fn governor(facts: &Facts) -> Option<Finding> {
    let governor = facts.machine.governor.as_deref().filter(|name| *name == "powersave")?;
    let driver = facts.machine.frequency_driver.as_deref().unwrap_or("unknown");
    // Theirs of this name are dynamic.
    if driver.starts_with("intel_pstate") || driver.starts_with("amd-pstate") {
        return None;
    }
    Some(finding(
        "slow-processor",
        Note,
        format!(
            "The processors run at their lowest frequency (governor {governor}, driver {driver})."
        ),
        "emulate becomes late at fewer packets a second.",
        Some(
            "echo schedutil | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
                .into(),
        ),
    ))
}

fn bbr(facts: &Facts) -> Option<Finding> {
    let available = &facts.tcp.available;
    if available.is_empty() || available.iter().any(|name| name == "bbr") {
        return None;
    }
    let module = facts.modules.iter().find(|module| module.name == "tcp_bbr");
    let state = module.map_or(ModuleState::Unknown, |module| module.state);
    let (why, remedy) = match state {
        ModuleState::Absent => ("; this kernel has no module for it", None),
        ModuleState::Loadable => ("", Some("sudo modprobe tcp_bbr".into())),
        _ => ("", None),
    };
    Some(finding(
        "no-bbr",
        Note,
        format!(
            "The kernel's congestion controls are {}; BBR is not among them{why}.",
            available.join(", ")
        ),
        "emulate refuses flows with congestion_control = \"bbr\" unless endpoints = \"model\"; simulate and \
         sweep run the model's BBR on any machine. The queueing discipline fq is not required: TCP \
         paces its packets.",
        remedy,
    ))
}

fn first_in_first_out(facts: &Facts) -> Option<Finding> {
    let is_fifo = |kind: &str| matches!(kind, "pfifo_fast" | "pfifo" | "bfifo");
    let wired = facts.interfaces.iter().find(|interface| {
        let is_up = interface.state.as_deref() != Some("down");
        interface.wifi.is_none() && is_up && interface.qdiscs.iter().any(|one| is_fifo(&one.kind))
    })?;
    let kind = &wired.qdiscs.iter().find(|one| is_fifo(&one.kind))?.kind;
    let frames = wired.queue_frames.map(|n| format!(" of up to {n} packets")).unwrap_or_default();
    let default = facts
        .tcp
        .default_qdisc
        .as_deref()
        .map(|name| format!("; net.core.default_qdisc is {name}"));
    let mut found = finding(
        "fifo",
        Note,
        format!(
            "Packets sent through {} share a {kind} queue{frames}{}.",
            wired.name,
            default.unwrap_or_default()
        ),
        "If this interface is the slowest part of a path, other packets wait behind a bulk transfer. \
         Hops of lasthop have separate queues.",
        Some(format!("sudo tc qdisc replace dev {} root fq_codel", wired.name)),
    );
    found.interface = Some(wired.name.clone());
    Some(found)
}
