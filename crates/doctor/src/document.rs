//! The document of `lasthop doctor --json`: facts, what follows of them for each verb, and
//! findings. Names carry units; a key that does not apply or could not be read is absent, never
//! null, and what could not be read is listed with the reason. The doc comments are the
//! descriptions in the JSON Schema.

use serde::{Deserialize, Serialize};

/// What a machine can do, and why not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DoctorDocument {
    /// Version of lasthop that looked.
    pub version: String,
    /// What was read and tried.
    #[serde(flatten)]
    pub facts: Facts,
    /// What of lasthop works here.
    pub verbs: Vec<VerbState>,
    /// What is wrong or worth knowing, problems first.
    pub findings: Vec<Finding>,
}

/// What was read and tried. Nothing here is a conclusion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Facts {
    /// The machine.
    pub machine: Machine,
    /// Who asked.
    pub user: User,
    /// Namespaces.
    pub namespaces: Namespaces,
    /// TUN and TAP devices.
    pub tun: Tun,
    /// A packet socket, which takes CAP_NET_RAW.
    pub packet_socket: Attempt,
    /// A way out of an emulation by slirp4netns.
    pub way_out: Attempt,
    /// Scheduling of threads.
    pub scheduling: Scheduling,
    /// Timers, as they were measured.
    pub timer: Timer,
    /// Programs that lasthop calls or names in a remedy.
    pub programs: Vec<Program>,
    /// TCP of this kernel.
    pub tcp: Tcp,
    /// Modules of the kernel that matter here.
    pub modules: Vec<Module>,
    /// Network interfaces of hardware, and radios of the kernel's simulation, in the network
    /// namespace of the command.
    pub interfaces: Vec<Interface>,
    /// What could not be read of the machine.
    pub unread: Vec<Unread>,
}

/// Something that was tried.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Attempt {
    /// It works.
    Works,
    /// The kernel or a program refused it.
    Refused {
        /// The system call, or the program.
        call: String,
        /// Number of the kernel's error; 0 if a program failed.
        errno: i32,
        /// What the error means, or what the program said.
        reason: String,
    },
    /// It was not tried.
    #[default]
    NotTried,
    /// It was not tried, because to try it changes the machine, or needs something else first.
    Skipped {
        /// Why.
        reason: String,
    },
}

impl Attempt {
    /// Whether it works.
    pub fn works(&self) -> bool {
        *self == Self::Works
    }

    /// The number of the kernel's error, if it refused.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Refused { errno, .. } => Some(*errno),
            _ => None,
        }
    }

    /// What was refused and why, or why it was not tried; empty if it works.
    pub fn text(&self) -> String {
        match self {
            Self::Works => String::new(),
            Self::Refused { call, reason, .. } => format!("{call}: {reason}"),
            Self::NotTried => "not tried".into(),
            Self::Skipped { reason } => format!("not tried: {reason}"),
        }
    }
}

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unread {
    /// What: a file, or a question to the kernel.
    pub what: String,
    /// Why.
    pub why: String,
}

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machine {
    /// Release of the kernel, such as 6.12.48+deb13-amd64.
    pub kernel: String,
    /// Instruction set, as lasthop was built for it.
    pub architecture: String,
    /// Name of the distribution (os-release).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub distribution: Option<String>,
    /// What this runs in, if a file that its maker leaves there says so: docker, podman, wsl.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub container: Option<String>,
    /// Whether the CPU says that a hypervisor is below the kernel.
    pub virtual_machine: bool,
    /// Processors that this process may use.
    pub processors: u32,
    /// Threads that wanted to run, mean of the last minute.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub load_1min: Option<f64>,
    /// Frequency governor of the first processor.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub governor: Option<String>,
    /// Driver of the first processor's frequency.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub frequency_driver: Option<String>,
}

/// Who asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct User {
    /// Effective user ID.
    pub uid: u32,
    /// Effective capabilities that matter here, of CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN,
    /// CAP_SYS_MODULE and CAP_SYS_NICE.
    pub capabilities: Vec<String>,
    /// Whether a filter of system calls (seccomp) is set on this process.
    pub seccomp_filter: bool,
    /// Whether programs can gain no privilege (`no_new_privs`), by sudo for instance.
    pub no_new_privileges: bool,
    /// Whether this process is in the machine's first user namespace, where its capabilities
    /// count for the whole machine.
    pub in_first_user_namespace: bool,
}

impl User {
    /// Whether it has a capability.
    pub fn can(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|one| one == capability)
    }
}

/// Namespaces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Namespaces {
    /// What an emulation makes: a user namespace unless root needs none, namespaces of
    /// processes, mounts and network, and a node's device.
    pub emulation: Attempt,
    /// The device that was tried with it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub device: Option<EmulationDevice>,
    /// Whether unshare(2) without flags is refused, which only a filter of system calls does.
    pub unshare_filtered: bool,
    /// `user.max_user_namespaces`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub user_max: Option<u64>,
    /// `user.max_net_namespaces`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub net_max: Option<u64>,
    /// `kernel.unprivileged_userns_clone`, of Debian's kernels.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unprivileged_clone: Option<u64>,
    /// `kernel.apparmor_restrict_unprivileged_userns`, of Ubuntu's kernels.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub apparmor_restricts: Option<u64>,
    /// Whether the kernel has user namespaces at all.
    pub user_namespaces_built: bool,
}

/// The device of an emulated node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EmulationDevice {
    /// A TAP device.
    Tap,
    /// A pair of virtual Ethernet devices.
    Veth,
}

/// TUN and TAP devices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tun {
    /// Whether there is /dev/net/tun.
    pub exists: bool,
    /// Whether the kernel has the driver now: its module is loaded or built in.
    pub driver: bool,
    /// Whether this process may make a TUN device in its network namespace.
    pub permission: Attempt,
}

/// Scheduling of threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scheduling {
    /// The best that this process may have.
    pub best: Class,
    /// Highest real-time priority that it may have without CAP_SYS_NICE (RLIMIT_RTPRIO).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub realtime_priority_max: Option<u64>,
    /// Microseconds of each second that real-time threads may run
    /// (`kernel.sched_rt_runtime_us` of `kernel.sched_rt_period_us`), if that is bounded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub realtime_share: Option<f64>,
}

/// Scheduling of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Ahead of every ordinary thread (SCHED_FIFO).
    Realtime,
    /// As an ordinary thread of the highest weight (nice -20).
    Nice,
    /// As any other thread.
    #[default]
    Ordinary,
}

/// Timers, as they were measured: threads that sleep until an instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timer {
    /// Wake-ups that were measured, 1 ms apart or more; 0 if there was no timer.
    pub wakeups: u32,
    /// How much later than asked they were: the median in microseconds.
    pub late_p50_us: f64,
    /// The 99th percentile.
    pub late_p99_us: f64,
    /// The latest.
    pub late_max_us: f64,
    /// How the thread was scheduled meanwhile.
    pub scheduling: Class,
    /// Resolution of timers in nanoseconds: 1 with high-resolution timers, else a jiffy.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub resolution_ns: Option<u64>,
    /// What the kernel may add to the sleep of an ordinary thread, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub slack_ns: Option<u64>,
    /// The kernel's source of time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock_source: Option<String>,
}

/// A program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Where it is on the PATH or in a folder of system programs, if it is there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<String>,
}

/// TCP of this kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tcp {
    /// The congestion control of connections that choose none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub congestion_control: Option<String>,
    /// Congestion controls that are loaded.
    pub available: Vec<String>,
    /// The queueing discipline that interfaces get (`net.core.default_qdisc`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub default_qdisc: Option<String>,
}

/// A module of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Module {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub state: ModuleState,
}

/// Where a module is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ModuleState {
    /// In the kernel, as a module.
    Loaded,
    /// In the kernel itself.
    BuiltIn,
    /// On the disk; modprobe(8) loads it.
    Loadable,
    /// Nowhere: this kernel's modules are known, and it is not among them.
    Absent,
    /// Not in the kernel as far as it tells, and there is no list of its modules here.
    Unknown,
}

impl ModuleState {
    /// Whether the kernel has it now.
    pub fn is_in_kernel(self) -> bool {
        matches!(self, Self::Loaded | Self::BuiltIn)
    }
}

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its number.
    pub index: u32,
    /// Its driver, if its device has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub driver: Option<String>,
    /// The module of that driver.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub module: Option<String>,
    /// Its state (`operstate`): up, down, dormant, unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub state: Option<String>,
    /// Its MTU in bytes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mtu_bytes: Option<u32>,
    /// Frames that a queueing discipline without a limit of its own holds (`tx_queue_len`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue_frames: Option<u32>,
    /// Its queueing disciplines, the root first.
    pub qdiscs: Vec<Qdisc>,
    /// What is known of it as a Wi-Fi interface.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wifi: Option<Wifi>,
    /// What could not be read of it.
    pub unread: Vec<Unread>,
}

/// A queueing discipline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Qdisc {
    /// Its kind, such as fq_codel.
    pub kind: String,
    /// Whether it is the interface's root; else it is below another one.
    pub root: bool,
    /// Packets that wait in it.
    pub backlog_packets: u32,
    /// Bytes that wait in it.
    pub backlog_bytes: u32,
    /// Packets that it has dropped.
    pub drops: u32,
    /// Packets that passed it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sent_packets: Option<u64>,
}

/// A Wi-Fi interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Wifi {
    /// Number of its radio.
    pub radio: u32,
    /// Name of its radio, such as phy0.
    pub radio_name: String,
    /// Its kind: station, ap, monitor, mesh-point and others of nl80211.
    pub kind: String,
    /// Name of the network.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ssid: Option<String>,
    /// Frequency of its channel in MHz.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub frequency_mhz: Option<u32>,
    /// Width of its channel in MHz.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub width_mhz: Option<u32>,
    /// Transmit power in dBm.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub power_dbm: Option<f64>,
    /// Whether power save is on, as nl80211 reports it: the setting, not the radio.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub power_save: Option<bool>,
    /// Settings of the driver with which it or its firmware sleeps whatever nl80211 reports.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub sleep_settings: Vec<SleepSetting>,
    /// Kinds of interfaces that the radio can be.
    pub radio_kinds: Vec<String>,
    /// Whether packets wait in mac80211's queues for each station and TID (TXQ), with
    /// FQ-CoDel, as nl80211 says of the radio.
    pub txqs: bool,
    /// Whether the radio's driver asks for airtime queue limits (AQL).
    pub aql: bool,
    /// Whether the radio's driver reports airtime, so that stations get equal shares.
    pub airtime_fairness: bool,
    /// What waits in mac80211's queues of the radio.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue: Option<TxqStats>,
    /// Most packets in mac80211's queues of the radio.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub txq_limit_packets: Option<u32>,
    /// Most bytes in mac80211's queues of the radio.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub txq_memory_bytes: Option<u32>,
    /// Airtime queue limits, from debugfs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub aql_limits: Option<AqlLimits>,
    /// The stations that it talks to: the access point, or those of this access point.
    pub stations: Vec<Station>,
    /// Stations that are not listed, because there are many.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub stations_left_out: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// A setting of a driver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SleepSetting {
    /// Its file.
    pub path: String,
    /// Its value, as the file has it.
    pub value: String,
}

/// What waits in mac80211's queues of a radio.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TxqStats {
    /// Packets that wait.
    pub backlog_packets: u32,
    /// Bytes that wait.
    pub backlog_bytes: u32,
    /// Packets that were dropped because the queues were full.
    pub overlimit: u32,
}

/// Airtime queue limits of a radio.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AqlLimits {
    /// Whether they are in force (`aql_enable`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub enabled: Option<bool>,
    /// Each access category's limits, from `aql_txq_limit`.
    pub limits: Vec<AqlLimit>,
    /// Airtime below mac80211's queues of the whole radio in microseconds, from `aql_pending`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pending_us: Option<u32>,
    /// Airtime of the whole radio in microseconds from which on the lower limits hold
    /// (`aql_threshold`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub threshold_us: Option<u32>,
}

/// Airtime queue limits of an access category.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AqlLimit {
    /// The access category: VO, VI, BE, BK.
    pub category: String,
    /// Airtime below mac80211's queues for each station while many are active, in microseconds.
    pub low_us: u32,
    /// The same while the radio's total is below its threshold, in microseconds.
    pub high_us: u32,
}

/// A station that an interface talks to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Station {
    /// Its MAC address.
    pub address: String,
    /// Seconds since it is associated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connected_s: Option<u32>,
    /// Milliseconds since it was heard.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub inactive_ms: Option<u32>,
    /// Signal of the last frame from it in dBm.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub signal_dbm: Option<i32>,
    /// Mean signal in dBm.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub signal_mean_dbm: Option<i32>,
    /// Rate of the last frame to it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tx_rate: Option<Rate>,
    /// Rate of the last frame from it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rx_rate: Option<Rate>,
    /// Packets sent to it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tx_packets: Option<u32>,
    /// Packets received from it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rx_packets: Option<u32>,
    /// Bytes sent to it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tx_bytes: Option<u64>,
    /// Bytes received from it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rx_bytes: Option<u64>,
    /// Transmissions that were sent again.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tx_retries: Option<u32>,
    /// Packets that were given up.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tx_failed: Option<u32>,
    /// How often beacons were missed in a row.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub beacon_losses: Option<u32>,
    /// Beacon interval in time units of 1024 microseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub beacon_interval_tu: Option<u32>,
    /// Beacons from one DTIM to the next.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dtim_beacons: Option<u32>,
    /// Airtime sent to it in microseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tx_airtime_us: Option<u64>,
    /// Airtime received from it in microseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rx_airtime_us: Option<u64>,
    /// Block Ack sessions, from debugfs (`agg_status`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub aggregation: Option<Aggregation>,
    /// Airtime below mac80211's queues for it, by access category, from debugfs (`aql`; `airtime`
    /// in Linux 5.5).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub aql: Vec<StationAql>,
    /// Its queues in mac80211; CoDel's parameters are from debugfs (`aqm`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue: Option<StationQueue>,
}

/// Airtime below mac80211's queues for a station and an access category.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StationAql {
    /// The access category: VO, VI, BE, BK.
    pub category: String,
    /// Airtime of frames that the driver has and that are not complete, in microseconds.
    pub pending_us: u32,
    /// Its limit while the radio's total is above its threshold, in microseconds.
    pub low_us: u32,
    /// Its limit otherwise, in microseconds.
    pub high_us: u32,
}

/// Block Ack sessions with a station.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Aggregation {
    /// TIDs in which this machine sends A-MPDUs.
    pub tx_tids: Vec<u8>,
    /// TIDs in which it receives them.
    pub rx_tids: Vec<u8>,
    /// Packets that wait for a session to begin.
    pub pending_packets: u32,
}

/// The queues of a station in mac80211.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StationQueue {
    /// CoDel's target in microseconds, of kernels that raise it for slow stations.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target_us: Option<u32>,
    /// CoDel's interval in microseconds, of these kernels.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interval_us: Option<u32>,
    /// Packets that wait.
    pub backlog_packets: u64,
    /// Packets that CoDel dropped.
    pub drops: u64,
    /// Packets that CoDel marked (ECN).
    pub marks: u64,
    /// Packets that passed.
    pub sent_packets: u64,
}

/// The rate of a frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rate {
    /// In Mb/s.
    pub mbps: f64,
    /// Its kind.
    pub mode: RateMode,
    /// Modulation and coding scheme; of 802.11n the index from 0 to 31, which counts streams.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mcs: Option<u8>,
    /// Spatial streams.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub streams: Option<u8>,
    /// Width in MHz.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub width_mhz: Option<u32>,
    /// Guard interval in microseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub guard_us: Option<f64>,
}

/// The kind of a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RateMode {
    /// 802.11a, b or g.
    #[default]
    Legacy,
    /// 802.11n.
    Ht,
    /// 802.11ac.
    Vht,
    /// 802.11ax.
    He,
    /// 802.11be.
    Eht,
}

/// What of lasthop works here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerbState {
    /// The verb.
    pub verb: Verb,
    /// Whether it works.
    pub state: State,
    /// Why it does not, or does in part: keys of findings.
    pub because: Vec<String>,
}

/// Verbs of lasthop by what they need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    /// simulate, and all that runs in virtual time or reads files.
    Simulate,
    /// emulate, demo and compare.
    Emulate,
    /// emulate --outside.
    EmulateOutside,
    /// franc run over UDP.
    FrancUdp,
    /// franc run over Ethernet.
    FrancEthernet,
    /// apq serve and apq measure.
    Apq,
    /// medium.
    Medium,
    /// capture --live.
    CaptureLive,
}

impl Verb {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Simulate,
        Self::Emulate,
        Self::EmulateOutside,
        Self::FrancUdp,
        Self::FrancEthernet,
        Self::Apq,
        Self::Medium,
        Self::CaptureLive,
    ];

    /// Its name in the document.
    pub fn name(self) -> &'static str {
        match self {
            Self::Simulate => "simulate",
            Self::Emulate => "emulate",
            Self::EmulateOutside => "emulate-outside",
            Self::FrancUdp => "franc-udp",
            Self::FrancEthernet => "franc-ethernet",
            Self::Apq => "apq",
            Self::Medium => "medium",
            Self::CaptureLive => "capture-live",
        }
    }

    /// What it is called for readers.
    pub fn title(self) -> &'static str {
        match self {
            Self::Simulate => "simulate, and all in virtual time",
            Self::Emulate => "emulate, compare, demo",
            Self::EmulateOutside => "emulate --outside",
            Self::FrancUdp => "franc run, over UDP",
            Self::FrancEthernet => "franc run, over Ethernet",
            Self::Apq => "apq",
            Self::Medium => "medium",
            Self::CaptureLive => "capture --live",
        }
    }
}

/// Whether a verb works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It works.
    Works,
    /// It works, but less well than it could.
    Limited,
    /// It does not work.
    Fails,
    /// Nothing that was read or tried says whether it does.
    Unknown,
}

/// What is wrong or worth knowing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// Its key, such as `power-save`.
    pub key: String,
    /// How much it matters.
    pub severity: Severity,
    /// The interface that it is about.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interface: Option<String>,
    /// What is so, with the numbers that were read.
    pub what: String,
    /// What it means.
    pub means: String,
    /// A command that changes it; it is not run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub remedy: Option<String>,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Something does not work, or delay is high because of it.
    Problem,
    /// Worth knowing.
    Note,
}

impl DoctorDocument {
    /// What follows of the facts.
    pub fn new(facts: Facts) -> Self {
        let findings = crate::finding::findings(&facts);
        let verbs = crate::verb::verbs(&facts, &findings);
        Self { version: env!("CARGO_PKG_VERSION").into(), facts, verbs, findings }
    }

    /// The document as JSON.
    pub fn to_json(&self) -> String {
        let json = serde_json::to_string_pretty(self);
        json.expect("it has text keys and finite numbers only") + "\n"
    }
}

/// JSON Schema of [`DoctorDocument`].
pub fn schema() -> serde_json::Value {
    let text = include_str!("../schemas/doctor.json");
    serde_json::from_str(text).expect("a test compares it with what schemars makes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_the_document() {
        for verb in Verb::ALL {
            assert_eq!(serde_json::to_value(verb).unwrap(), verb.name());
        }
    }
}
