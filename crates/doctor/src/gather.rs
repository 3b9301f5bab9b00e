//! Gathers the facts: files of procfs and sysfs, netlink, and trials of the kernel's permissions.
//! Gathering needs a third of a second, most of it for the timer, and changes nothing: a trial that
//! would make the kernel load a module (the first open of /dev/net/tun) is skipped.

mod files;
mod wifi;

use crate::document::{
    Attempt, Class, EmulationDevice, Facts, Interface, Machine, Module, ModuleState, Namespaces,
    Program, Scheduling, Tcp, Timer, Tun, User,
};
use crate::qdisc;
use crate::text;
use files::Files;
use lasthop_linux::clock::Scheduling as LiveScheduling;
use lasthop_linux::device::DeviceChoice;
use lasthop_linux::dump::{DumpSocket, Protocol};
use lasthop_linux::slirp::{PROGRAM as SLIRP, SlirpError};
use lasthop_linux::{OsError, lateness, trial};
use lasthop_units::Duration;
use std::path::{Path, PathBuf};

/// Number of measured wake-ups, and the time between them.
const WAKEUPS: usize = 200;
const PERIOD: Duration = Duration::from_millis(1);
/// Relevant capabilities, by number (linux/capability.h).
const CAPABILITIES: [(u32, &str); 5] = [
    (12, "CAP_NET_ADMIN"),
    (13, "CAP_NET_RAW"),
    (16, "CAP_SYS_MODULE"),
    (21, "CAP_SYS_ADMIN"),
    (23, "CAP_SYS_NICE"),
];
/// Programs that lasthop calls or names in a remedy.
const PROGRAMS: [&str; 6] = [SLIRP, "pasta", "iw", "tc", "ip", "modprobe"];
/// Relevant modules, and the options of the kernel's configuration that build them.
const MODULES: [(&str, &str); 9] = [
    ("tun", "CONFIG_TUN"),
    ("veth", "CONFIG_VETH"),
    ("af_packet", "CONFIG_PACKET"),
    ("mac80211", "CONFIG_MAC80211"),
    ("mac80211_hwsim", "CONFIG_MAC80211_HWSIM"),
    ("tcp_bbr", "CONFIG_TCP_CONG_BBR"),
    ("sch_fq", "CONFIG_NET_SCH_FQ"),
    ("sch_fq_codel", "CONFIG_NET_SCH_FQ_CODEL"),
    ("sch_cake", "CONFIG_NET_SCH_CAKE"),
];
/// Folders of system programs that are missing from some users' PATH.
const SYSTEM_FOLDERS: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/local/sbin"];

/// Reads and tries everything. Trials run in child processes; only the priority of the calling
/// thread is changed, and restored.
pub fn gather() -> Facts {
    let mut files = Files::below("/");
    let machine = machine(&mut files);
    let user = user(&mut files);
    let modules = modules(&mut files, &machine.kernel);
    // Without modules at all a trial loads none.
    let is_loaded_never = !files.exists("/proc/modules");
    let has = |name: &str| {
        is_loaded_never
            || modules.iter().any(|module| module.name == name && module.state.is_in_kernel())
    };
    let tun = tun(&files, has("tun"));
    let packet_socket = if has("af_packet") {
        attempt(trial::packet())
    } else {
        skipped("to open one has the kernel load the module af_packet")
    };
    let (namespaces, way_out) = namespaces(&files, &tun, has("veth") && has("af_packet"));
    let scheduling = scheduling(&mut files);
    let timer = timer(&mut files);
    let programs = PROGRAMS.iter().map(|name| program(name)).collect();
    let tcp = tcp(&mut files);
    let interfaces = interfaces(&mut files);
    Facts {
        machine,
        user,
        namespaces,
        tun,
        packet_socket,
        way_out,
        scheduling,
        timer,
        programs,
        tcp,
        modules,
        interfaces,
        unread: files.into_unread(),
    }
}

fn machine(files: &mut Files) -> Machine {
    let load = files.read("/proc/loadavg");
    let container = [
        ("/.dockerenv", "docker"),
        ("/run/.containerenv", "podman"),
        ("/proc/sys/fs/binfmt_misc/WSLInterop", "wsl"),
    ];
    const FREQUENCY: &str = "/sys/devices/system/cpu/cpu0/cpufreq";
    Machine {
        kernel: files.read("/proc/sys/kernel/osrelease").unwrap_or_default(),
        architecture: std::env::consts::ARCH.into(),
        distribution: files.read("/etc/os-release").and_then(|text| text::pretty_name(&text)),
        container: container
            .into_iter()
            .find(|(file, _)| files.exists(file))
            .map(|(_, name)| name.into()),
        virtual_machine: files.read("/proc/cpuinfo").is_some_and(|t| text::has_hypervisor(&t)),
        processors: std::thread::available_parallelism()
            .map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX)),
        load_1min: load.and_then(|text| text.split(' ').next()?.parse().ok()),
        governor: files.read_if_there(&format!("{FREQUENCY}/scaling_governor")),
        frequency_driver: files.read_if_there(&format!("{FREQUENCY}/scaling_driver")),
    }
}

fn user(files: &mut Files) -> User {
    let status =
        files.read("/proc/self/status").map(|text| text::status(&text)).unwrap_or_default();
    let held = CAPABILITIES.iter().filter(|(bit, _)| status.capabilities >> bit & 1 == 1);
    User {
        uid: status.uid,
        capabilities: held.map(|(_, name)| (*name).into()).collect(),
        seccomp_filter: status.seccomp_filter,
        no_new_privileges: status.no_new_privileges,
        in_first_user_namespace: files
            .read("/proc/self/uid_map")
            .is_some_and(|map| text::is_first_user_namespace(&map)),
    }
}

/// Finds the state of each module: in the kernel, by its visible effects (`/proc/modules` and
/// others) and by the kernel's configuration; on the disk, by the lists of the kernel's modules, if
/// present.
fn modules(files: &mut Files, kernel: &str) -> Vec<Module> {
    let loaded = files.read_if_there("/proc/modules").unwrap_or_default();
    let misc = files.read("/proc/misc").unwrap_or_default();
    let available = files.read("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let available = available.unwrap_or_default();
    let folders = ["/lib/modules", "/usr/lib/modules"].map(|lib| format!("{lib}/{kernel}"));
    let list = |name: &str| {
        folders.iter().find_map(|folder| files.read_if_there(&format!("{folder}/{name}")))
    };
    let (built_in, loadable) = (list("modules.builtin"), list("modules.dep"));
    let configuration = files
        .read_gzip("/proc/config.gz")
        .or_else(|| files.read_if_there(&format!("/boot/config-{kernel}")));
    let works = |name: &str| match name {
        "tun" => text::has_misc_device(&misc, "tun"),
        "af_packet" => files.exists("/proc/self/net/packet"),
        "tcp_bbr" => available.split(' ').any(|one| one == "bbr"),
        _ => files.exists(&format!("/sys/module/{name}")),
    };
    let state = |(name, option): (&str, &str)| {
        let configured = configuration.as_ref().map(|text| text::option(text, option));
        if text::has_module(&loaded, name) {
            return ModuleState::Loaded;
        }
        let is_listed = built_in.as_ref().is_some_and(|list| text::lists_module(list, name));
        if is_listed || configured == Some('y') || works(name) {
            return ModuleState::BuiltIn;
        }
        let is_loadable = loadable.as_ref().map(|list| text::lists_module(list, name));
        match (is_loadable, configured) {
            (Some(true), _) => ModuleState::Loadable,
            (Some(false), _) | (None, Some('n')) => ModuleState::Absent,
            (None, _) => ModuleState::Unknown,
        }
    };
    let module = |(name, option): &(&str, &str)| Module {
        name: (*name).into(),
        state: state((name, option)),
    };
    MODULES.iter().map(module).collect()
}

fn tun(files: &Files, driver: bool) -> Tun {
    let exists = files.exists("/dev/net/tun");
    let permission = match (exists, driver) {
        (true, true) => attempt(trial::tun()),
        (true, false) => skipped("to open /dev/net/tun has the kernel load the module tun"),
        (false, _) => skipped("there is no /dev/net/tun"),
    };
    Tun { exists, driver, permission }
}

/// Tries an emulation's namespaces with the device that it would choose, and a connection to the
/// network.
fn namespaces(files: &Files, tun: &Tun, has_veth: bool) -> (Namespaces, Attempt) {
    let is_tun_tried = tun.exists && tun.driver;
    let opens = matches!(&tun.permission, Attempt::Works)
        || matches!(&tun.permission, Attempt::Refused { call, .. } if call.contains("TUNSETIFF"));
    let choice = match (is_tun_tried && opens, has_veth) {
        (true, _) => Some((DeviceChoice::Tap, EmulationDevice::Tap)),
        (false, true) if !tun.exists || is_tun_tried => {
            Some((DeviceChoice::Veth, EmulationDevice::Veth))
        }
        _ => None,
    };
    let emulation = match choice {
        Some((device, _)) => attempt(trial::emulation(device)),
        None => skipped("its devices would have the kernel load a module, tun or veth"),
    };
    // slirp4netns makes a TAP device of its own.
    let way_out = match (choice, program(SLIRP).path) {
        _ if !emulation.works() => skipped("an emulation does not work"),
        (_, None) => {
            Attempt::Refused { call: SLIRP.into(), errno: 0, reason: "is not installed".into() }
        }
        (Some((device @ DeviceChoice::Tap, _)), Some(_)) => match trial::way_out(device) {
            Ok(()) => Attempt::Works,
            Err(SlirpError::Os(error)) => attempt(Err(error)),
            Err(SlirpError::Missing) => Attempt::Refused {
                call: SLIRP.into(),
                errno: 0,
                reason: "is not on the PATH".into(),
            },
            Err(SlirpError::Failed(reason)) => {
                Attempt::Refused { call: SLIRP.into(), errno: 0, reason }
            }
        },
        _ => skipped("it takes /dev/net/tun"),
    };
    let number = |name: &str| files.read_if_there(&format!("/proc/sys/{name}"))?.parse().ok();
    let namespaces = Namespaces {
        emulation,
        device: choice.map(|(_, device)| device),
        unshare_filtered: trial::unshare_nothing().is_err(),
        user_max: number("user/max_user_namespaces"),
        net_max: number("user/max_net_namespaces"),
        unprivileged_clone: number("kernel/unprivileged_userns_clone"),
        apparmor_restricts: number("kernel/apparmor_restrict_unprivileged_userns"),
        user_namespaces_built: files.exists("/proc/self/ns/user"),
    };
    (namespaces, way_out)
}

fn scheduling(files: &mut Files) -> Scheduling {
    let limits = files.read("/proc/self/limits").unwrap_or_default();
    let number = |name: &str| -> Option<f64> {
        files.read_if_there(&format!("/proc/sys/kernel/{name}"))?.parse().ok()
    };
    let (runtime, period) = (number("sched_rt_runtime_us"), number("sched_rt_period_us"));
    Scheduling {
        best: class(trial::scheduling()),
        realtime_priority_max: text::limit(&limits, "Max realtime priority"),
        // -1 is no bound.
        realtime_share: runtime
            .zip(period)
            .filter(|(r, p)| *r >= 0.0 && *p > 0.0)
            .map(|(r, p)| r / p),
    }
}

fn timer(files: &mut Files) -> Timer {
    const CLOCK: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let measured = match lateness::measure(WAKEUPS, PERIOD) {
        Ok(measured) => measured,
        Err(error) => {
            files.add_unread("how late timers are", &error.to_string());
            lateness::Lateness { scheduling: LiveScheduling::Ordinary, late_ns: Vec::new() }
        }
    };
    let microseconds = |share: f64| measured.quantile(share) as f64 / 1e3;
    Timer {
        wakeups: measured.late_ns.len() as u32,
        late_p50_us: microseconds(0.5),
        late_p99_us: microseconds(0.99),
        late_max_us: microseconds(1.0),
        scheduling: class(measured.scheduling),
        resolution_ns: lateness::resolution_ns().ok(),
        slack_ns: files.read_if_there("/proc/self/timerslack_ns").and_then(|t| t.parse().ok()),
        clock_source: files.read_if_there(CLOCK),
    }
}

fn class(scheduling: LiveScheduling) -> Class {
    match scheduling {
        LiveScheduling::Realtime => Class::Realtime,
        LiveScheduling::Nice => Class::Nice,
        LiveScheduling::Ordinary => Class::Ordinary,
    }
}

fn tcp(files: &mut Files) -> Tcp {
    const IPV4: &str = "/proc/sys/net/ipv4";
    let available = files.read(&format!("{IPV4}/tcp_available_congestion_control"));
    Tcp {
        congestion_control: files.read(&format!("{IPV4}/tcp_congestion_control")),
        available: available
            .map(|text| text.split_whitespace().map(str::to_owned).collect())
            .unwrap_or_default(),
        // The file exists in the first network namespace only.
        default_qdisc: files.read_if_there("/proc/sys/net/core/default_qdisc"),
    }
}

fn program(name: &str) -> Program {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(SYSTEM_FOLDERS.map(PathBuf::from));
    let mut found = folders.map(|folder| folder.join(name)).filter(|file| is_program(file));
    Program { name: name.into(), path: found.next().map(|file| file.display().to_string()) }
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// Returns the interfaces of hardware and of radios, by index, each with its queueing disciplines.
fn interfaces(files: &mut Files) -> Vec<Interface> {
    let radios = wifi::Radios::read(files);
    let mut interfaces = Vec::new();
    for name in files.list("/sys/class/net") {
        let at = |file: &str| format!("/sys/class/net/{name}/{file}");
        let index = files.read_if_there(&at("ifindex")).and_then(|text| text.parse().ok());
        let Some(index) = index else { continue };
        let wifi = radios.interface(index);
        if wifi.is_none() && !files.exists(&at("device")) {
            continue;
        }
        interfaces.push(Interface {
            index,
            driver: files.link_name(&at("device/driver")),
            module: files.link_name(&at("device/driver/module")),
            state: files.read_if_there(&at("operstate")),
            mtu_bytes: files.read_if_there(&at("mtu")).and_then(|text| text.parse().ok()),
            queue_frames: files.read_if_there(&at("tx_queue_len")).and_then(|t| t.parse().ok()),
            name,
            wifi,
            ..Interface::default()
        });
    }
    // Another network namespace than that of /sys has interfaces of its own.
    for (index, name, wifi) in radios.interfaces() {
        if !interfaces.iter().any(|interface| interface.index == index) {
            let (name, wifi) = (name.into(), Some(wifi.clone()));
            interfaces.push(Interface { name, index, wifi, ..Interface::default() });
        }
    }
    interfaces.sort_by_key(|interface| interface.index);
    match DumpSocket::open(Protocol::Route) {
        Ok(mut socket) => match socket.ask(qdisc::ask()) {
            Ok(answers) => {
                for (index, found) in answers.iter().filter_map(|answer| qdisc::qdisc(answer)) {
                    let of = interfaces.iter_mut().find(|interface| interface.index == index);
                    if let Some(interface) = of {
                        interface.qdiscs.push(found);
                    }
                }
            }
            Err(errno) => files.add_unread("queueing disciplines", errno.desc()),
        },
        Err(error) => files.add_unread("queueing disciplines", &error.to_string()),
    }
    for interface in &mut interfaces {
        interface.qdiscs.sort_by_key(|qdisc| !qdisc.root);
        if let Some(wifi) = &mut interface.wifi {
            if let Some(module) = &interface.module {
                wifi.sleep_settings = wifi::sleep_parameters(files, module);
            }
            let name = interface.name.clone();
            wifi::read_debugfs(files, &name, wifi, &mut interface.unread);
        }
    }
    interfaces
}

fn attempt(result: Result<(), OsError>) -> Attempt {
    match result {
        Ok(()) => Attempt::Works,
        Err(error) => {
            Attempt::Refused { reason: error.reason().into(), call: error.call, errno: error.errno }
        }
    }
}

fn skipped(reason: &str) -> Attempt {
    Attempt::Skipped { reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_can_be_looked_at() {
        let facts = gather();
        assert!(!facts.machine.kernel.is_empty() && facts.machine.processors > 0);
        assert_eq!(facts.timer.wakeups as usize, WAKEUPS);
        assert!(facts.timer.late_p50_us <= facts.timer.late_p99_us);
        assert!(facts.tcp.available.iter().any(|one| one == "reno"), "{:?}", facts.tcp);
        assert!(facts.unread.iter().all(|unread| !unread.why.is_empty()), "{:?}", facts.unread);
    }

    #[test]
    fn what_is_tried_agrees_with_the_capabilities() {
        let facts = gather();
        if facts.packet_socket.works() {
            assert!(facts.user.can("CAP_NET_RAW"), "{:?}", facts.user);
        }
        if facts.tun.permission.works() {
            assert!(facts.user.can("CAP_NET_ADMIN"), "{:?}", facts.user);
        }
    }
}
