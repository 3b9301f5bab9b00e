//! The document of `lasthop doctor --json`: facts, the state of each verb, and findings. Names
//! carry units; a key that does not apply or could not be read is absent, never null, and unread
//! facts are listed with the reason. The doc comments are the descriptions in the JSON Schema.

use serde::{Deserialize, Serialize};

/// Abilities of a machine, with the reasons for those that it lacks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DoctorDocument {
    /// Version of the lasthop that checked the machine.
    pub version: String,
    /// Facts read and tried.
    #[serde(flatten)]
    pub facts: Facts,
    /// State of each verb of lasthop on this machine.
    pub verbs: Vec<VerbState>,
    /// Findings, problems first.
    pub findings: Vec<Finding>,
}

/// Facts read and tried, without conclusions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Facts {
    /// Facts about the machine.
    pub machine: Machine,
    /// User and privileges of this process.
    pub user: User,
    /// Namespaces of the kernel.
    pub namespaces: Namespaces,
    /// TUN and TAP devices.
    pub tun: Tun,
    /// Opening a packet socket, which requires CAP_NET_RAW.
    pub packet_socket: Attempt,
    /// Connecting an emulation to the network with slirp4netns.
    pub way_out: Attempt,
    /// Scheduling of threads.
    pub scheduling: Scheduling,
    /// Measured accuracy of timers.
    pub timer: Timer,
    /// Programs that lasthop calls or names in a remedy.
    pub programs: Vec<Program>,
    /// TCP settings of this kernel.
    pub tcp: Tcp,
    /// Relevant modules of the kernel.
    pub modules: Vec<Module>,
    /// Network interfaces of hardware, and radios of the kernel's simulation, in the network
    /// namespace of the command.
    pub interfaces: Vec<Interface>,
    /// Facts about the machine that could not be read.
    pub unread: Vec<Unread>,
}

/// Result of a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Attempt {
    /// The trial worked.
    Works,
    /// The kernel or a program refused the trial.
    Refused {
        /// System call or program that refused.
        call: String,
        /// Number of the kernel's error; 0 if a program failed.
        errno: i32,
        /// Meaning of the error, or the program's message.
        reason: String,
    },
    /// There was no trial.
    #[default]
    NotTried,
    /// The trial was skipped because it would change the machine, or requires something else first.
    Skipped {
        /// Reason for skipping it.
        reason: String,
    },
}

impl Attempt {
    /// Whether the trial worked.
    pub fn works(&self) -> bool {
        *self == Self::Works
    }

    /// Returns the number of the kernel's error, if it refused.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Refused { errno, .. } => Some(*errno),
            _ => None,
        }
    }

    /// Returns the refusal with its reason, or the reason for no trial; empty if it worked.
    pub fn text(&self) -> String {
        match self {
            Self::Works => String::new(),
            Self::Refused { call, reason, .. } => format!("{call}: {reason}"),
            Self::NotTried => "not tried".into(),
            Self::Skipped { reason } => format!("not tried: {reason}"),
        }
    }
}

/// A fact that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unread {
    /// File, or request to the kernel.
    pub what: String,
    /// Reason of the failure.
    pub why: String,
}

/// Facts about the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machine {
    /// Release of the kernel, such as 6.12.48+deb13-amd64.
    pub kernel: String,
    /// Instruction set for which lasthop was built.
    pub architecture: String,
    /// Name of the distribution (os-release).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub distribution: Option<String>,
    /// Container around this process, if its runtime left a marker file: docker, podman, wsl.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub container: Option<String>,
    /// Whether the CPU reports a hypervisor below the kernel.
    pub virtual_machine: bool,
    /// Number of processors available to this process.
    pub processors: u32,
    /// Mean number of runnable threads over the last minute.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub load_1min: Option<f64>,
    /// Frequency governor of the first processor.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub governor: Option<String>,
    /// Driver of the first processor's frequency.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub frequency_driver: Option<String>,
}

/// User and privileges of this process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct User {
    /// Effective user ID.
    pub uid: u32,
    /// Effective capabilities among CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN, CAP_SYS_MODULE and
    /// CAP_SYS_NICE.
    pub capabilities: Vec<String>,
    /// Whether this process has a filter of system calls (seccomp).
    pub seccomp_filter: bool,
    /// Whether programs can gain no privileges (`no_new_privs`), for instance by sudo.
    pub no_new_privileges: bool,
    /// Whether this process is in the machine's first user namespace, where capabilities apply to
    /// the whole machine.
    pub in_first_user_namespace: bool,
}

impl User {
    /// Whether the process has a capability.
    pub fn can(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|one| one == capability)
    }
}

/// Namespaces of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Namespaces {
    /// Making an emulation's namespaces: a user namespace unless root needs none, namespaces of
    /// processes, mounts and network, and a node's device.
    pub emulation: Attempt,
    /// Device of the trial.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub device: Option<EmulationDevice>,
    /// Whether unshare(2) without flags is refused, which only a filter of system calls does.
    pub unshare_filtered: bool,
    /// Value of `user.max_user_namespaces`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub user_max: Option<u64>,
    /// Value of `user.max_net_namespaces`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub net_max: Option<u64>,
    /// Value of `kernel.unprivileged_userns_clone`, which Debian's kernels have.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unprivileged_clone: Option<u64>,
    /// Value of `kernel.apparmor_restrict_unprivileged_userns`, which Ubuntu's kernels have.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub apparmor_restricts: Option<u64>,
    /// Whether the kernel was built with user namespaces.
    pub user_namespaces_built: bool,
}

/// Devices of an emulated node.
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
    /// Whether /dev/net/tun exists.
    pub exists: bool,
    /// Whether the kernel has the driver now: as a loaded module or built in.
    pub driver: bool,
    /// Making a TUN device in this process's network namespace.
    pub permission: Attempt,
}

/// Scheduling of threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scheduling {
    /// Best class available to this process.
    pub best: Class,
    /// Highest real-time priority without CAP_SYS_NICE (RLIMIT_RTPRIO).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub realtime_priority_max: Option<u64>,
    /// Microseconds of each second in which real-time threads may run (`kernel.sched_rt_runtime_us`
    /// of `kernel.sched_rt_period_us`); absent without a limit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub realtime_share: Option<f64>,
}

/// Scheduling classes of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Ahead of every ordinary thread (SCHED_FIFO).
    Realtime,
    /// An ordinary thread with the highest weight (nice -20).
    Nice,
    /// An ordinary thread.
    #[default]
    Ordinary,
}

/// Measured accuracy of timers, by threads that sleep until an instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timer {
    /// Number of measured wake-ups, 1 ms apart or more; 0 without a timer.
    pub wakeups: u32,
    /// Median lateness of the wake-ups, in microseconds.
    pub late_p50_us: f64,
    /// 99th percentile of the lateness, in microseconds.
    pub late_p99_us: f64,
    /// Greatest lateness, in microseconds.
    pub late_max_us: f64,
    /// Scheduling of the thread during the measurement.
    pub scheduling: Class,
    /// Resolution of timers in nanoseconds: 1 with high-resolution timers, else a jiffy.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub resolution_ns: Option<u64>,
    /// Largest delay that the kernel adds to the sleep of an ordinary thread, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub slack_ns: Option<u64>,
    /// Clock source of the kernel.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock_source: Option<String>,
}

/// A program that lasthop uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Program {
    /// Name of the program.
    pub name: String,
    /// Path of the program, if found on the PATH or in a folder of system programs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<String>,
}

/// TCP settings of this kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tcp {
    /// Default congestion control of connections.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub congestion_control: Option<String>,
    /// Loaded congestion controls.
    pub available: Vec<String>,
    /// Default queueing discipline of interfaces (`net.core.default_qdisc`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub default_qdisc: Option<String>,
}

/// A module of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Module {
    /// Name of the module.
    pub name: String,
    /// State of the module.
    pub state: ModuleState,
}

/// States of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ModuleState {
    /// Loaded as a module.
    Loaded,
    /// Built into the kernel.
    BuiltIn,
    /// On the disk, for modprobe(8) to load.
    Loadable,
    /// Absent from the list of this kernel's modules.
    Absent,
    /// Apparently not in the kernel; its list of modules is missing here.
    Unknown,
}

impl ModuleState {
    /// Whether the kernel has the module now.
    pub fn is_in_kernel(self) -> bool {
        matches!(self, Self::Loaded | Self::BuiltIn)
    }
}

/// A network interface of the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interface {
    /// Name of the interface.
    pub name: String,
    /// Index of the interface.
    pub index: u32,
    /// Driver of the interface's device, if it has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub driver: Option<String>,
    /// Module of that driver.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub module: Option<String>,
    /// State of the interface (`operstate`): up, down, dormant, unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub state: Option<String>,
    /// MTU of the interface, in bytes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mtu_bytes: Option<u32>,
    /// Frames in a queueing discipline that has no limit (`tx_queue_len`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue_frames: Option<u32>,
    /// Queueing disciplines of the interface, the root first.
    pub qdiscs: Vec<Qdisc>,
    /// Facts about it as a Wi-Fi interface.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wifi: Option<Wifi>,
    /// Facts about the interface that could not be read.
    pub unread: Vec<Unread>,
}

/// A queueing discipline of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Qdisc {
    /// Kind of the discipline, such as fq_codel.
    pub kind: String,
    /// Whether it is the interface's root; otherwise it is below another one.
    pub root: bool,
    /// Packets waiting in it.
    pub backlog_packets: u32,
    /// Bytes waiting in it.
    pub backlog_bytes: u32,
    /// Packets dropped by it.
    pub drops: u32,
    /// Packets sent through it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sent_packets: Option<u64>,
}

/// Facts about a Wi-Fi interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Wifi {
    /// Index of the radio.
    pub radio: u32,
    /// Name of the radio, such as phy0.
    pub radio_name: String,
    /// Kind of the interface: station, ap, monitor, mesh-point and others of nl80211.
    pub kind: String,
    /// Name of the network.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ssid: Option<String>,
    /// Frequency of the channel, in MHz.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub frequency_mhz: Option<u32>,
    /// Width of the channel, in MHz.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub width_mhz: Option<u32>,
    /// Transmit power in dBm.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub power_dbm: Option<f64>,
    /// Whether power save is on by nl80211's setting; the radio may differ.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub power_save: Option<bool>,
    /// Settings of the driver with which it or its firmware sleeps regardless of nl80211's setting.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub sleep_settings: Vec<SleepSetting>,
    /// Kinds of interfaces that the radio supports.
    pub radio_kinds: Vec<String>,
    /// Whether packets wait in mac80211's queues for each station and TID (TXQ), with FQ-CoDel, as
    /// nl80211 reports of the radio.
    pub txqs: bool,
    /// Whether the radio's driver requests airtime queue limits (AQL).
    pub aql: bool,
    /// Whether the radio's driver reports airtime, which gives stations equal shares.
    pub airtime_fairness: bool,
    /// Contents of mac80211's queues of the radio.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue: Option<TxqStats>,
    /// Packet limit of mac80211's queues of the radio.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub txq_limit_packets: Option<u32>,
    /// Byte limit of mac80211's queues of the radio.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub txq_memory_bytes: Option<u32>,
    /// Airtime queue limits, from debugfs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub aql_limits: Option<AqlLimits>,
    /// Peers of the interface: its access point, or the stations of this access point.
    pub stations: Vec<Station>,
    /// Number of stations beyond those listed.
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
    /// File of the setting.
    pub path: String,
    /// Value of the setting, as in the file.
    pub value: String,
}

/// Contents of mac80211's queues of a radio.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TxqStats {
    /// Packets waiting in the queues.
    pub backlog_packets: u32,
    /// Bytes waiting in the queues.
    pub backlog_bytes: u32,
    /// Packets dropped because the queues were full.
    pub overlimit: u32,
}

/// Airtime queue limits of a radio.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AqlLimits {
    /// Whether the limits are enabled (`aql_enable`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub enabled: Option<bool>,
    /// Limits of each access category, from `aql_txq_limit`.
    pub limits: Vec<AqlLimit>,
    /// Airtime of the whole radio below mac80211's queues, in microseconds, from `aql_pending`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pending_us: Option<u32>,
    /// Airtime of the whole radio from which the lower limits apply, in microseconds
    /// (`aql_threshold`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub threshold_us: Option<u32>,
}

/// Airtime queue limits of an access category.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AqlLimit {
    /// Access category: VO, VI, BE, BK.
    pub category: String,
    /// Limit for each station below mac80211's queues while many are active, in microseconds of
    /// airtime.
    pub low_us: u32,
    /// Limit for each station while the radio's total is below its threshold, in microseconds of
    /// airtime.
    pub high_us: u32,
}

/// A peer of an interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Station {
    /// MAC address of the station.
    pub address: String,
    /// Seconds since association.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connected_s: Option<u32>,
    /// Milliseconds since its last frame.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub inactive_ms: Option<u32>,
    /// Signal of its last frame, in dBm.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub signal_dbm: Option<i32>,
    /// Mean signal of its frames, in dBm.
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
    /// Retransmissions to it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tx_retries: Option<u32>,
    /// Packets to it that were given up.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tx_failed: Option<u32>,
    /// Number of times that several beacons in sequence were missed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub beacon_losses: Option<u32>,
    /// Beacon interval in time units of 1024 microseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub beacon_interval_tu: Option<u32>,
    /// Beacons from one DTIM to the next.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dtim_beacons: Option<u32>,
    /// Airtime of transmissions to it, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tx_airtime_us: Option<u64>,
    /// Airtime of receptions from it, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rx_airtime_us: Option<u64>,
    /// Block Ack sessions, from debugfs (`agg_status`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub aggregation: Option<Aggregation>,
    /// Airtime below mac80211's queues for the station, by access category, from debugfs (`aql`;
    /// `airtime` in Linux 5.5).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub aql: Vec<StationAql>,
    /// Queues of the station in mac80211; CoDel's parameters are from debugfs (`aqm`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue: Option<StationQueue>,
}

/// Airtime below mac80211's queues for a station and an access category.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StationAql {
    /// Access category: VO, VI, BE, BK.
    pub category: String,
    /// Airtime of unfinished frames in the driver, in microseconds.
    pub pending_us: u32,
    /// Limit while the radio's total is above its threshold, in microseconds.
    pub low_us: u32,
    /// Limit otherwise, in microseconds.
    pub high_us: u32,
}

/// Block Ack sessions with a station.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Aggregation {
    /// TIDs in which this machine sends A-MPDUs.
    pub tx_tids: Vec<u8>,
    /// TIDs in which this machine receives A-MPDUs.
    pub rx_tids: Vec<u8>,
    /// Packets waiting for a session to begin.
    pub pending_packets: u32,
}

/// Queues of a station in mac80211.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StationQueue {
    /// CoDel's target in microseconds, in kernels that raise it for slow stations.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target_us: Option<u32>,
    /// CoDel's interval in microseconds, in these kernels.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interval_us: Option<u32>,
    /// Packets waiting in the queues.
    pub backlog_packets: u64,
    /// Packets dropped by CoDel.
    pub drops: u64,
    /// Packets marked by CoDel (ECN).
    pub marks: u64,
    /// Packets sent through the queues.
    pub sent_packets: u64,
}

/// PHY rate of a frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rate {
    /// Bit rate in Mb/s.
    pub mbps: f64,
    /// Kind of the rate.
    pub mode: RateMode,
    /// Modulation and coding scheme; for 802.11n the index from 0 to 31, which includes the
    /// streams.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mcs: Option<u8>,
    /// Number of spatial streams.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub streams: Option<u8>,
    /// Channel width in MHz.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub width_mhz: Option<u32>,
    /// Guard interval in microseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub guard_us: Option<f64>,
}

/// Kinds of a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RateMode {
    /// A rate of 802.11a, b or g.
    #[default]
    Legacy,
    /// A rate of 802.11n.
    Ht,
    /// A rate of 802.11ac.
    Vht,
    /// A rate of 802.11ax.
    He,
    /// A rate of 802.11be.
    Eht,
}

/// State of a verb of lasthop on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerbState {
    /// Name of the verb.
    pub verb: Verb,
    /// Whether the verb works.
    pub state: State,
    /// Reasons for another state, as keys of findings.
    pub because: Vec<String>,
}

/// Verbs of lasthop, grouped by their requirements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    /// `simulate`, and all other verbs that run in virtual time or read files.
    Simulate,
    /// `emulate`, `demo` and `compare`.
    Emulate,
    /// `emulate --outside` for access to the network.
    EmulateOutside,
    /// `franc run` over UDP.
    FrancUdp,
    /// `franc run` over Ethernet.
    FrancEthernet,
    /// `apq serve` and `apq measure`.
    Apq,
    /// `medium`, the air of simulated radios.
    Medium,
    /// `capture --live` from an interface.
    CaptureLive,
}

impl Verb {
    /// All verbs in the order of the document.
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

    /// Returns the verb's name in the document.
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

    /// Returns the verb's name for readers.
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

/// States of a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The verb works.
    Works,
    /// The verb works with limitations.
    Limited,
    /// The verb does not work.
    Fails,
    /// The facts do not decide it.
    Unknown,
}

/// A problem, or a fact worth knowing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// Key of the finding, such as `power-save`.
    pub key: String,
    /// Severity of the finding.
    pub severity: Severity,
    /// Interface of the finding.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interface: Option<String>,
    /// The fact, with its numbers.
    pub what: String,
    /// Consequence of the fact.
    pub means: String,
    /// Command that changes it, which is not run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub remedy: Option<String>,
}

/// Severities of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// A function fails, or delay is high.
    Problem,
    /// A fact worth knowing.
    Note,
}

impl DoctorDocument {
    /// Returns the document as JSON.
    pub fn to_json(&self) -> String {
        let json = serde_json::to_string_pretty(self);
        json.expect("it has text keys and finite numbers only") + "\n"
    }
}

/// Returns the JSON Schema of a [`DoctorDocument`].
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
