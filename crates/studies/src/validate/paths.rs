//! Paths beyond the laboratory: how FRANC performs on them in virtual time, sending as
//! its daemon does. A [`PathCase`] is a path with other traffic, and has a scenario file
//! for each [`PathRun`]. [`grid`] makes the cases, [`outcome`] runs and judges them,
//! [`real`] runs some in real time. A [`Line`] is one bottleneck wire, equal in both
//! directions, between hosts with wires of 1 Gb/s; a [`Room`] is a Wi-Fi cell, with the
//! tunnel between a station and a host behind the access point. Leaves out paths whose
//! bandwidth-delay product exceeds the TCP window of Linux' defaults, and ends that are
//! the bottleneck.

pub mod grid;
pub mod outcome;
pub mod real;

use lasthop_units::{Bitrate, Duration};
use outcome::PathOutcome;
use std::fmt::Write as _;

/// Time between two pings.
const PING_INTERVAL: Duration = Duration::from_millis(100);
/// Time between two pings on fast paths, which are measured for a shorter time.
const FAST_PING_INTERVAL: Duration = Duration::from_millis(25);
/// The rate from which on a path is fast.
const FAST: Bitrate = Bitrate::from_mbps(30);
/// Pings stop this time, and four round trips, before the end of a run, so that every
/// answer can arrive.
const PATIENCE: Duration = Duration::from_secs(2);
/// Queueing delay at which the pacing of the tunnel aims: the daemon's default.
const QUEUE_TARGET: &str = "5ms";
/// Time from the end of the warm-up to the change of a rate.
const CHANGE_AFTER: Duration = Duration::from_secs(4);
/// Rate of UDP in proportion to the rate of the bottleneck.
const ASKED: f64 = 1.1;
/// Time between the starts of two TCP flows beside the tunnel.
const STAGGER: Duration = Duration::from_millis(300);

/// Losses on a wire, in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathLosses {
    /// No packets are lost.
    None,
    /// Independent losses with this probability in percent.
    Alone(u32),
    /// Losses in bursts (Gilbert's model).
    Bursts {
        /// Mean loss in percent.
        percent: u32,
        /// Mean length of a burst in packets.
        packets: u32,
    },
}

/// Variation of the delay of a wire, with normal distribution, in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jitter {
    /// Standard deviation of the delay.
    pub sd: Duration,
    /// Whether packets may overtake each other.
    pub reorders: bool,
}

/// A path with one bottleneck wire, which is equal in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Bit rate of Ethernet frames.
    pub rate: Bitrate,
    /// Round-trip time of the empty path.
    pub round_trip: Duration,
    /// Limit of the drop-tail queue in packets.
    pub queue_packets: u32,
    /// Losses after the queue.
    pub losses: PathLosses,
    /// Variation of the delay; `None` for a constant one.
    pub jitter: Option<Jitter>,
    /// The rate from [`PathCase::change_at`] on; `None` if it does not change.
    pub changes_to: Option<Bitrate>,
}

/// Traffic of the other stations in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// The other stations send nothing.
    Idle,
    /// UDP to the access point, in total two fifths of the PHY rate.
    Busy,
    /// Saturated UDP to the access point.
    SaturatedUp,
    /// Saturated UDP to and from the access point.
    SaturatedBoth,
}

/// A path through a Wi-Fi cell (802.11n, 20 MHz, one stream).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// MCS of all stations, 0 to 7.
    pub mcs: u8,
    /// Whether A-MPDUs are used.
    pub ampdu: bool,
    /// Number of attempts to transmit a frame.
    pub attempts: u8,
    /// Share in percent of the frames lost between the tunnel's end and the access
    /// point.
    pub loss_percent: u32,
    /// Number of stations besides the tunnel's end.
    pub stations: u16,
    /// Traffic of these stations.
    pub others: Others,
    /// Limit in packets of each node's drop-tail queue; `None` for FQ-CoDel, the
    /// default of Linux.
    pub queue_packets: Option<u32>,
    /// Whether data go to the station; otherwise they come from it.
    pub is_down: bool,
}

/// The path of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// Wires, one of which is the bottleneck.
    Line(Line),
    /// A Wi-Fi cell, which is the bottleneck.
    Room(Room),
}

/// Other traffic of hosts that share the bottleneck with the tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathBeside {
    /// The tunnel has the path to itself.
    Alone,
    /// This number of TCP flows.
    Tcp(u32),
    /// Another tunnel that carries a TCP flow.
    Tunnel,
}

/// The groups of cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathFamily {
    /// The rows of the reports with which the work started. All of them were known
    /// while constants were chosen.
    Reported,
    /// Wires of all rates, round trips and queues, without losses.
    Clean,
    /// Wires with independent losses.
    Lossy,
    /// Wires with losses in bursts.
    Bursts,
    /// Wires with varying delay or reordering.
    Varying,
    /// Paths through Wi-Fi cells.
    Cells,
    /// TCP flows in the queue of the tunnel.
    Beside,
    /// Two tunnels in one queue.
    Tunnels,
    /// Wires whose rate halves or doubles.
    Changes,
}

impl PathFamily {
    /// All families, in the order of tables.
    pub const ALL: [Self; 9] = [
        Self::Reported,
        Self::Clean,
        Self::Lossy,
        Self::Bursts,
        Self::Varying,
        Self::Cells,
        Self::Beside,
        Self::Tunnels,
        Self::Changes,
    ];

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reported => "reported",
            Self::Clean => "no losses",
            Self::Lossy => "losses",
            Self::Bursts => "bursts of losses",
            Self::Varying => "jitter, reordering",
            Self::Cells => "Wi-Fi cells",
            Self::Beside => "beside TCP",
            Self::Tunnels => "two tunnels",
            Self::Changes => "a rate that changes",
        }
    }
}

/// A path with its traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathCase {
    /// The name, which is unique and lists all parameters, except in
    /// [`PathFamily::Reported`].
    pub name: String,
    /// The path of the packets.
    pub medium: Medium,
    /// Traffic beside the tunnel.
    pub beside: PathBeside,
    /// The group of the case.
    pub family: PathFamily,
    /// The half of the grid that it belongs to.
    pub half: Half,
}

/// The halves of the grid, drawn with different seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Half {
    /// Constants may be chosen with it.
    Tuned,
    /// The half that decides no constant: drawn later.
    Judged,
}

/// One run of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum PathRun {
    /// Pings on the path without a tunnel; nothing else of ours.
    Empty,
    /// UDP that asks for more than there is, without the tunnel, alone.
    Udp,
    /// One TCP flow without the tunnel, alone.
    Plain,
    /// One TCP flow and pings in the tunnel, beside the other flows.
    Tunnel,
    /// UDP that asks for more than there is in the tunnel, while the rate changes.
    Change,
}

/// The purpose of a flow in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The flow that is measured.
    Load,
    /// Pings through the tunnel, or on the empty path.
    Ping,
    /// A TCP flow that shares the bottleneck.
    Other,
}

/// The scenario file of a run, with its flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The text of the file.
    pub toml: String,
    /// The purpose of its flows, in their order. Flows of other stations come later in
    /// the file and are not included.
    pub flows: Vec<Role>,
    /// The nodes between which the measured flow and the pings are sent.
    pub ends: [&'static str; 2],
}

/// The times of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Length of the start, which is not measured.
    pub warmup: Duration,
    /// Length of the measured part.
    pub measured: Duration,
}

impl Line {
    /// The times of runs on this wire. Fast paths need a shorter time for as many
    /// packets.
    fn times(&self, beside: PathBeside) -> Times {
        let round_trips = |count: u64| self.round_trip * count;
        if beside != PathBeside::Alone {
            return Times {
                warmup: Duration::from_secs(8) + round_trips(20),
                measured: Duration::from_secs(20),
            };
        }
        let seconds = if self.rate < FAST || self.changes_to.is_some() { 12 } else { 6 };
        Times {
            warmup: Duration::from_secs(2) + round_trips(20),
            measured: Duration::from_secs(seconds) + round_trips(10),
        }
    }

    fn name(&self) -> String {
        let mut name = format!(
            "{} {} q{}",
            self.rate.to_string().replace("b/s", ""),
            self.round_trip,
            self.queue_packets
        );
        let _ = match self.losses {
            PathLosses::None => Ok(()),
            PathLosses::Alone(percent) => write!(name, " {percent}%"),
            PathLosses::Bursts { percent, packets } => write!(name, " {percent}%x{packets}"),
        };
        if let Some(jitter) = self.jitter {
            let how = if jitter.reorders { "reordered" } else { "jitter" };
            let _ = write!(name, " {how} {}", jitter.sd);
        }
        if let Some(rate) = self.changes_to {
            let _ = write!(name, " to {}", rate.to_string().replace("b/s", ""));
        }
        name
    }

    fn toml(&self, change_at: Duration) -> String {
        let mut text = String::new();
        for (name, role) in [
            ("a", "host"),
            ("b", "host"),
            ("c", "host"),
            ("d", "host"),
            ("l", "relay"),
            ("r", "relay"),
        ] {
            let _ = write!(text, "[[node]]\nname = \"{name}\"\nrole = \"{role}\"\n");
        }
        for ends in [["a", "l"], ["c", "l"], ["r", "b"], ["r", "d"]] {
            let _ = write!(text, "[[wire]]\nbetween = {ends:?}\nrate = \"1Gb/s\"\n");
        }
        let _ = write!(
            text,
            "[[wire]]\nbetween = [\"l\", \"r\"]\nrate = \"{}b/s\"\ndelay = \"{}\"\n\
             queue = {{ kind = \"drop-tail\", packets = {} }}\n",
            self.rate.as_bps(),
            self.round_trip / 2,
            self.queue_packets
        );
        let _ = match self.losses {
            PathLosses::None => Ok(()),
            PathLosses::Alone(percent) => writeln!(text, "loss = \"{percent}%\""),
            PathLosses::Bursts { percent, packets } => {
                let (share, packets) = (f64::from(percent) / 100.0, f64::from(packets));
                let good_to_bad = share / (1.0 - share) / packets;
                writeln!(
                    text,
                    "loss = {{ kind = \"gilbert-elliott\", good_to_bad = {good_to_bad:.6}, \
                     bad_to_good = {:.6} }}",
                    1.0 / packets
                )
            }
        };
        if let Some(rate) = self.changes_to {
            let bps = rate.as_bps();
            let _ = writeln!(
                text,
                "rate_changes = [{{ from = \"{change_at}\", rate = \"{bps}b/s\" }}]"
            );
        }
        if let Some(jitter) = self.jitter {
            let _ = write!(
                text,
                "jitter = {{ kind = \"normal\", sd = \"{}\" }}\nreorder = {}\n",
                jitter.sd, jitter.reorders
            );
        }
        text
    }
}

impl Room {
    /// The PHY rate: 20 MHz, one stream, 800 ns (IEEE 802.11-2020, table 19-27).
    fn phy_rate(&self) -> Bitrate {
        const MBPS_TENTHS: [u64; 8] = [65, 130, 195, 260, 390, 520, 585, 650];
        Bitrate::from_bps(MBPS_TENTHS[usize::from(self.mcs)] * 100_000)
    }

    const fn times() -> Times {
        Times { warmup: Duration::from_secs(3), measured: Duration::from_secs(12) }
    }

    fn name(&self) -> String {
        let mut name = format!("wifi mcs{}", self.mcs);
        if self.ampdu {
            name.push_str(" ampdu");
        }
        let _ = write!(name, " {}x", self.attempts);
        if self.loss_percent > 0 {
            let _ = write!(name, " {}%", self.loss_percent);
        }
        if self.stations > 0 {
            let what = match self.others {
                Others::Idle => "idle",
                Others::Busy => "busy",
                Others::SaturatedUp => "up",
                Others::SaturatedBoth => "both",
            };
            let _ = write!(name, " +{} {what}", self.stations);
        }
        match self.queue_packets {
            None => name.push_str(" fq"),
            Some(packets) => {
                let _ = write!(name, " q{packets}");
            }
        }
        name.push_str(if self.is_down { " down" } else { " up" });
        name
    }

    fn toml(&self) -> String {
        let queue = match self.queue_packets {
            None => "kind = \"fq-codel\"".to_owned(),
            Some(packets) => format!("kind = \"drop-tail\", packets = {packets}"),
        };
        let mut text = format!(
            "[channel]\nstandard = \"802.11n\"\nband = \"5GHz\"\nwidth = \"20MHz\"\n\
             guard_interval = \"800ns\"\n\
             [node_defaults]\nstreams = 1\nretry_limit = {}\nqueue = {{ {queue} }}\n\
             rate_control = {{ kind = \"fixed\", mcs = {} }}\naggregation = {{ ampdu_bytes_max = {} }}\n",
            self.attempts,
            self.mcs,
            if self.ampdu { 65_535 } else { 0 },
        );
        for (name, role) in [("a", "station"), ("b", "host"), ("ap", "access-point")] {
            let _ = write!(text, "[[node]]\nname = \"{name}\"\nrole = \"{role}\"\n");
        }
        text.push_str("[[wire]]\nbetween = [\"ap\", \"b\"]\nrate = \"1Gb/s\"\n");
        if self.stations > 0 {
            let _ = write!(
                text,
                "[[node]]\nname = \"sta\"\nrole = \"station\"\ncount = {}\n",
                self.stations
            );
        }
        if self.loss_percent > 0 {
            let _ = write!(
                text,
                "[[link]]\nbetween = [\"a\", \"ap\"]\nloss = \"{}%\"\n",
                self.loss_percent
            );
        }
        text
    }

    /// The flows of the other stations, for the end of the scenario file.
    fn others_toml(&self) -> String {
        let mut text = String::new();
        let mut flow = |name: &str, from: &str, to: &str, rate: &str| {
            let _ = write!(
                text,
                "[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nkind = \"udp\"\n\
                 rate = \"{rate}\"\npacket_bytes = 1500\n"
            );
        };
        let busy = self.phy_rate().as_bps() * 2 / 5 / u64::from(self.stations.max(1));
        match self.others {
            _ if self.stations == 0 => {}
            Others::Idle => {}
            Others::Busy => flow("others", "sta*", "ap", &format!("{busy}b/s")),
            Others::SaturatedUp => flow("others", "sta*", "ap", "saturated"),
            Others::SaturatedBoth => {
                flow("others", "sta*", "ap", "saturated");
                flow("down", "ap", "sta*", "saturated");
            }
        }
        text
    }
}

impl PathCase {
    /// A case of the grid, with a name made from its parameters.
    pub fn new(half: Half, family: PathFamily, medium: Medium, beside: PathBeside) -> Self {
        let mut name = match &medium {
            Medium::Line(line) => line.name(),
            Medium::Room(room) => room.name(),
        };
        let _ = match beside {
            PathBeside::Alone => Ok(()),
            PathBeside::Tcp(flows) => write!(name, " beside {flows}"),
            PathBeside::Tunnel => write!(name, " two tunnels"),
        };
        Self { name, medium, beside, family, half }
    }

    /// The times of its runs.
    pub fn times(&self) -> Times {
        match self.medium {
            Medium::Line(line) => line.times(self.beside),
            Medium::Room(_) => Room::times(),
        }
    }

    /// Whether packets are lost in full queues only.
    pub fn is_lossless(&self) -> bool {
        match self.medium {
            Medium::Line(line) => line.losses == PathLosses::None,
            Medium::Room(room) => room.loss_percent == 0 && room.attempts > 1,
        }
    }

    /// The round-trip time of the wires of the empty path.
    pub fn round_trip(&self) -> Duration {
        match self.medium {
            Medium::Line(line) => line.round_trip,
            Medium::Room(_) => Duration::ZERO,
        }
    }

    /// The time at which its rate changes, if it does.
    pub fn change_at(&self) -> Duration {
        self.times().warmup + CHANGE_AFTER
    }

    /// The rate to which it changes; `None` if it does not.
    pub fn changes_to(&self) -> Option<Bitrate> {
        match self.medium {
            Medium::Line(line) => line.changes_to,
            Medium::Room(_) => None,
        }
    }

    /// The time between two pings.
    pub fn ping_interval(&self) -> Duration {
        match self.medium {
            Medium::Line(line) if line.rate >= FAST => FAST_PING_INTERVAL,
            _ => PING_INTERVAL,
        }
    }

    /// The runs from which it is judged.
    pub fn runs(&self) -> &'static [PathRun] {
        match self.beside {
            PathBeside::Alone if self.changes_to().is_some() => {
                &[PathRun::Empty, PathRun::Udp, PathRun::Plain, PathRun::Tunnel, PathRun::Change]
            }
            PathBeside::Alone => &[PathRun::Empty, PathRun::Udp, PathRun::Plain, PathRun::Tunnel],
            _ => &[PathRun::Empty, PathRun::Udp, PathRun::Tunnel],
        }
    }

    /// Writes the scenario file of `run`.
    pub fn write(&self, run: PathRun) -> Written {
        let Times { warmup, measured } = self.times();
        let ping_stop = warmup + measured - PATIENCE - self.round_trip() * 4;
        let interval = self.ping_interval();
        let (from, to) = match self.medium {
            Medium::Room(Room { is_down: true, .. }) => ("b", "a"),
            _ => ("a", "b"),
        };
        let (body, after, asked) = match &self.medium {
            Medium::Line(line) => {
                let most = line.changes_to.map_or(line.rate, |rate| rate.max(line.rate));
                (line.toml(self.change_at()), String::new(), most)
            }
            Medium::Room(room) => (room.toml(), room.others_toml(), room.phy_rate()),
        };
        let mut toml =
            format!("duration = \"{}\"\nwarmup = \"{warmup}\"\n{body}", warmup + measured);
        let mut flows = Vec::new();
        let mut flow = |role: Role, text: String| {
            flows.push(role);
            let _ = write!(toml, "[[flow]]\nname = \"flow{}\"\n{text}", flows.len());
        };
        let tcp = |from: &str, to: &str, start: Duration| {
            format!("from = \"{from}\"\nto = \"{to}\"\nkind = \"tcp\"\nstart = \"{start}\"\n")
        };
        let ping = format!(
            "from = \"{from}\"\nto = \"{to}\"\nkind = \"ping\"\ninterval = \"{interval}\"\n\
             start = \"{warmup}\"\nstop = \"{ping_stop}\"\n"
        );
        match run {
            PathRun::Empty => flow(Role::Ping, ping),
            PathRun::Udp | PathRun::Change => {
                let rate = (asked.as_bps() as f64 * ASKED) as u64;
                flow(
                    Role::Load,
                    format!(
                        "from = \"{from}\"\nto = \"{to}\"\nkind = \"udp\"\nrate = \"{rate}b/s\"\n\
                         packet_bytes = 1500\n"
                    ),
                );
            }
            PathRun::Plain => flow(Role::Load, tcp(from, to, Duration::ZERO)),
            PathRun::Tunnel => {
                flow(Role::Load, tcp(from, to, Duration::ZERO));
                flow(Role::Ping, ping);
                let others = match self.beside {
                    PathBeside::Alone => 0,
                    PathBeside::Tcp(flows) => flows,
                    PathBeside::Tunnel => 1,
                };
                for index in 0..others {
                    flow(Role::Other, tcp("c", "d", STAGGER * u64::from(index)));
                }
            }
        }
        let tunnels: &[(&str, [&str; 2])] = match (run, self.beside) {
            (PathRun::Empty | PathRun::Udp | PathRun::Plain, _) => &[],
            (PathRun::Tunnel, PathBeside::Tunnel) => {
                &[("tunnel", ["a", "b"]), ("other", ["c", "d"])]
            }
            (PathRun::Tunnel | PathRun::Change, _) => &[("tunnel", ["a", "b"])],
        };
        for (name, ends) in tunnels {
            let _ = write!(
                toml,
                "[[franc]]\nname = \"{name}\"\nends = {ends:?}\npace = \"{QUEUE_TARGET}\"\n"
            );
        }
        toml.push_str(&after);
        Written { toml, flows, ends: [from, to] }
    }
}
