//! CPU cost of tunnels: one TCP flow as fast as possible through each tunnel, between
//! two network namespaces joined by a veth pair, without losses. iperf3 runs for 10 s
//! after 2 s of warm-up. The sender's tunnel has core 0 to itself, everything else
//! shares core 1. Results are stored in `data/tunnels.csv`. CPU time is what proc(5)
//! accounts to the processes of a tunnel, user and system, in ticks of 10 ms; this
//! includes the kernel's work for them, such as the transfer over the veth pair. A
//! tunnel in the kernel has no process, so the CPU time of the whole host is measured
//! too. Leaves out several flows, more cores and losses.

use crate::validate::data::{self, Record};
use crate::validate::kept::Kept;
use std::fs;
use std::io;
use std::path::Path;

/// The columns of `data/tunnels.csv`.
const KEPT: Kept = Kept {
    file: "tunnels.csv",
    header: "tunnel,goodput_mbps,sender_user_ns,sender_system_ns,receiver_user_ns,\
             receiver_system_ns,host_ns,lasthop,kernel",
};
/// Length of the measured part in seconds.
const SECONDS: u32 = 10;

/// The tunnel that carries the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tunnel {
    /// The veth pair without a tunnel.
    Plain,
    /// `lasthop franc run` with UDP datagrams.
    Udp,
    /// `lasthop franc run` with Ethernet frames.
    Ethernet,
    /// WireGuard in the kernel.
    WireGuard,
    /// WireGuard in user space (wireguard-go).
    WireGuardGo,
    /// kcptun with encryption, without compression, and without parity as there are no
    /// losses.
    Kcptun,
}

impl Tunnel {
    /// All tunnels, in the order of the file.
    pub const ALL: [Self; 6] =
        [Self::Plain, Self::Udp, Self::Ethernet, Self::WireGuard, Self::WireGuardGo, Self::Kcptun];

    /// The name in `tunnels.csv` and of the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Udp => "udp",
            Self::Ethernet => "ethernet",
            Self::WireGuard => "wireguard",
            Self::WireGuardGo => "wireguard-go",
            Self::Kcptun => "kcptun",
        }
    }

    /// Whether it is lasthop's daemon.
    pub const fn is_ours(self) -> bool {
        matches!(self, Self::Udp | Self::Ethernet)
    }

    /// The programs that it requires, each with the way to install it.
    pub const fn programs(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Plain | Self::Udp | Self::Ethernet => &[],
            Self::WireGuard => &[("wg", "Debian: apt-get install wireguard-tools")],
            Self::WireGuardGo => &[
                ("wg", "Debian: apt-get install wireguard-tools"),
                ("wireguard-go", "go install golang.zx2c4.com/wireguard@latest makes `wireguard`"),
            ],
            Self::Kcptun => &[("kcptun-client", "Debian: apt-get install kcptun")],
        }
    }

    /// The shell commands that set up the tunnel between the nodes `a` and `b`. The
    /// function `tunnel NODE CORE PROGRAM..` starts one of its processes.
    fn setup(self, lasthop: &Path) -> String {
        let lasthop = lasthop.display();
        let ours = |what: [&str; 2]| {
            let [one, other] = what;
            format!(
                "'{lasthop}' franc key --out key\n\
                 tunnel a 0 '{lasthop}' franc run --id 1 --peer 2 {one} --address 10.9.0.1/24 --key-file key --socket a.sock\n\
                 tunnel b 1 '{lasthop}' franc run --id 2 --peer 1 {other} --address 10.9.0.2/24 --key-file key --socket b.sock\n"
            )
        };
        let wireguard = |begin: &str| {
            format!(
                "{begin}\nfor n in a b; do wg genkey > $n.key; wg pubkey < $n.key > $n.pub; done\n\
                 peer() {{ in_node $1 wg set wg$1 private-key $1.key listen-port 5555 peer $(cat $2.pub) \
                 endpoint 10.8.0.$4:5555 allowed-ips 10.9.0.0/24 &&\n\
                 in_node $1 ip addr add 10.9.0.$3/24 dev wg$1 && in_node $1 ip link set wg$1 mtu 1420 up; }}\n\
                 peer a b 1 2 && peer b a 2 1 || exit 77\n"
            )
        };
        match self {
            Self::Plain => String::new(),
            Self::Udp => ours(["--neighbours 2=10.8.0.2", "--neighbours 1=10.8.0.1"]),
            Self::Ethernet => ours(["--transport ethernet --interface eth0"; 2]),
            Self::WireGuard => wireguard(
                "for n in a b; do in_node $n ip link add wg$n type wireguard || exit 77; done",
            ),
            Self::WireGuardGo => {
                wireguard("tunnel a 0 wireguard-go -f wga\ntunnel b 1 wireguard-go -f wgb\nsleep 1")
            }
            Self::Kcptun => {
                let same =
                    "-nocomp -mode fast3 -sndwnd 4096 -rcvwnd 4096 -ds 0 -ps 0 -crypt aes-128-gcm";
                format!(
                    "tunnel b 1 kcptun-server -t 127.0.0.1:5201 -l :29900 {same}\n\
                     tunnel a 0 kcptun-client -r 10.8.0.2:29900 -l 127.0.0.1:5201 {same}\n"
                )
            }
        }
    }

    /// The address at which iperf3 reaches the other end.
    const fn target(self) -> &'static str {
        match self {
            Self::Plain => "10.8.0.2",
            Self::Kcptun => "127.0.0.1",
            _ => "10.9.0.2",
        }
    }

    /// The script for `sh`, which runs in separate network and mount namespaces and a
    /// separate directory. The exit status is 77 if a required program is not available.
    pub fn script(self, lasthop: &Path) -> String {
        let (target, setup) = (self.target(), self.setup(lasthop));
        format!(
            r#"set -u
in_node() {{ node=$1; shift; nsenter --net=/run/netns/$node "$@"; }}
tunnel() {{
    node=$1; core=$2; shift 2
    nsenter --net=/run/netns/$node taskset -c $core "$@" > $node.log 2>&1 &
    echo $! > $node.pid
}}
set_up() {{
    mount -t tmpfs none /run && mkdir /run/netns && ip netns add a && ip netns add b &&
    ip link add eth0 netns a type veth peer name eth0 netns b || return
    for place in a:1 b:2; do
        node=${{place%:*}}
        in_node $node ip link set lo up && in_node $node ip link set eth0 up &&
        in_node $node ip addr add 10.8.0.${{place#*:}}/24 dev eth0 || return
    done
}}
set_up || exit 77
{setup}in_node b taskset -c 1 iperf3 -s > server.log 2>&1 &
sleep 2
ticks() {{
    for n in a b; do
        [ -e $n.pid ] && cut -d ' ' -f 14,15 /proc/$(cat $n.pid)/stat || echo 0 0
    done
    awk '/^cpu / {{ print $2 + $3 + $4 + $7 + $8, 0 }}' /proc/stat
}}
load() {{ in_node a taskset -c 1 iperf3 -c {target} -t $1 -J > iperf.json; }}
load 2 && ticks > before.txt && load {SECONDS} && ticks > after.txt
"#
        )
    }

    /// Reads the results that the script wrote to `directory`.
    ///
    /// # Errors
    /// If a result is missing.
    pub fn outcome(self, directory: &Path) -> Result<TunnelOutcome, String> {
        let read = |name: &str| {
            let path = directory.join(name);
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let report: serde_json::Value =
            serde_json::from_str(&read("iperf.json")?).map_err(|why| format!("iperf3: {why}"))?;
        let number = |name: &str| {
            let value = report.pointer("/end/sum_received").and_then(|sum| sum.get(name));
            value.and_then(serde_json::Value::as_f64).ok_or("iperf3 gave no result")
        };
        let bytes = number("bytes")?;
        let ticks = |text: &str| -> Vec<f64> {
            text.split_whitespace().filter_map(|number| number.parse().ok()).collect()
        };
        let (before, after) = (ticks(&read("before.txt")?), ticks(&read("after.txt")?));
        // A tick is 10 ms (proc(5)).
        let ns: Vec<f64> = after
            .iter()
            .zip(&before)
            .map(|(after, before)| (after - before) * 1e7 / bytes)
            .collect();
        match ns[..] {
            [sender_user, sender_system, receiver_user, receiver_system, host, _] => {
                Ok(TunnelOutcome {
                    goodput_mbps: number("bits_per_second")? / 1e6,
                    sender_ns: [sender_user, sender_system],
                    receiver_ns: [receiver_user, receiver_system],
                    host_ns: host,
                })
            }
            _ => Err("a process was gone".into()),
        }
    }
}

/// The results of a tunnel. CPU times are in nanoseconds per byte that iperf3's
/// receiver got.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TunnelOutcome {
    /// Goodput at iperf3's receiver, in Mb/s.
    pub goodput_mbps: f64,
    /// CPU time of the sender's tunnel, user and system; 0 for a tunnel without
    /// process.
    pub sender_ns: [f64; 2],
    /// CPU time of the receiver's tunnel, user and system.
    pub receiver_ns: [f64; 2],
    /// CPU time of the whole machine.
    pub host_ns: f64,
}

impl TunnelOutcome {
    fn line(&self, tunnel: Tunnel) -> String {
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        format!(
            "{},{:.1},{:.3},{:.3},{:.3},{:.3},{:.3},{},{}",
            tunnel.name(),
            self.goodput_mbps,
            self.sender_ns[0],
            self.sender_ns[1],
            self.receiver_ns[0],
            self.receiver_ns[1],
            self.host_ns,
            env!("CARGO_PKG_VERSION"),
            kernel.trim().replace(',', " "),
        )
    }

    fn of_record(record: &Record) -> Self {
        Self {
            goodput_mbps: record.number("goodput_mbps"),
            sender_ns: [record.number("sender_user_ns"), record.number("sender_system_ns")],
            receiver_ns: [record.number("receiver_user_ns"), record.number("receiver_system_ns")],
            host_ns: record.number("host_ns"),
        }
    }
}

/// The content of `data/tunnels.csv`: name, result and line of each tunnel.
#[derive(Clone, Debug, Default)]
pub struct TunnelStore(Vec<(String, TunnelOutcome, String)>);

impl TunnelStore {
    /// Reads the file; no results if it does not exist.
    ///
    /// # Panics
    /// If the file has lines of a wrong format.
    pub fn read() -> Self {
        let Some(text) = KEPT.text() else { return Self::default() };
        let records = data::records(text);
        let outcome =
            |record: &Record| (record.text("tunnel").to_owned(), TunnelOutcome::of_record(record));
        let rows = records.iter().map(outcome).zip(text.lines().skip(1));
        Self(rows.map(|((name, outcome), line)| (name, outcome, line.to_owned())).collect())
    }

    /// The result of a tunnel; `None` if it was not measured.
    pub fn outcome(&self, tunnel: Tunnel) -> Option<TunnelOutcome> {
        self.0.iter().find(|(name, ..)| name == tunnel.name()).map(|&(_, outcome, _)| outcome)
    }

    /// Stores a result, which replaces an earlier one.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn put(&mut self, tunnel: Tunnel, outcome: &TunnelOutcome) -> io::Result<()> {
        self.0.retain(|(name, ..)| name != tunnel.name());
        self.0.push((tunnel.name().to_owned(), *outcome, outcome.line(tunnel)));
        let line = |tunnel: Tunnel| self.0.iter().find(|(name, ..)| name == tunnel.name());
        KEPT.replace(Tunnel::ALL.into_iter().filter_map(line).map(|(_, _, line)| line.clone()))
    }
}
