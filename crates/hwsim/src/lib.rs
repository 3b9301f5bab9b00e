//! Radios of the kernel's `mac80211_hwsim` on the modelled air, for `lasthop medium`.
//!
//! | module | contents |
//! |---|---|
//! | `joined` | radios, channels and frames in flight, as the loop's driver |
//! | [`frame`] | the facts that the model needs of an 802.11 frame |
//! | [`reorder`] | frames in order, where radios aggregate |
//! | [`rates`] | rates as Linux names them |
//! | [`wire`] | messages of hwsim |
//! | `socket` | the netlink socket to hwsim |
//!
//! The kernel's mac80211 does the software part of a MAC: queues, rate control, agreements, power
//! save, scans, encryption. hwsim passes each frame of a radio to this crate with the rates to try.
//! [`lasthop_wifi::medium`] contends, transmits, loses and retries the frame in real time, and
//! reports the outcome to the kernel.
//!
//! Left out, because hwsim's interface has no place for it: frames with a bad FCS, frames above
//! [`wire::FRAME_BYTES_MAX`] bytes, the rate of 802.11n at the receiver, how long an A-MPDU was
//! for the sender's rate control, a queue that stops: hwsim drops the oldest half of the 200
//! frames that a radio holds.
//!
//! A message of hwsim is in `wire`; its effect on the air is in [`lasthop_wifi::medium`].
//!
//! Unstable: the API follows the command `lasthop` and may change in any version.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

pub mod frame;
mod joined;
pub mod rates;
pub mod reorder;
mod socket;
pub mod wire;

use crate::socket::HwsimSocket;
use joined::{Joined, Radio, Source};
use lasthop_linux::OsError;
use lasthop_linux::clock::{Clock, Priority, Scheduling};
use lasthop_linux::event_loop::EventLoop;
use lasthop_linux::signal::Signals;
use lasthop_scenario::Scenario;
use lasthop_units::{Duration, Instant, MacAddr, Seed};
use lasthop_wifi::StationId;
use lasthop_wifi::cell::CellError;
use lasthop_wifi::medium::RadioStats;
use lasthop_wifi::stats::Levels;
use std::os::fd::AsFd;
use std::{fs, io};

/// Folder in which the kernel lists its radios.
const RADIOS: &str = "/sys/class/ieee80211";
/// Folder in which the kernel lists interfaces.
const INTERFACES: &str = "/sys/class/net";

/// The layer that makes A-MPDUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Aggregation {
    /// The radios, as in firmware: every two have Block Ack agreements that are hidden from their
    /// kernels, and pass on received frames in order. Rate control gets the outcome of each MPDU.
    #[default]
    Radio,
    /// The kernels, by their agreements. mac80211's aggregation and reordering take part, but its
    /// rate control ignores frames under an agreement, because hwsim does not report them as such
    /// (`IEEE80211_TX_STAT_AMPDU`): the rate stays at its first value.
    Kernel,
    /// None: each MPDU has a PPDU.
    None,
}

/// Options of a medium.
#[derive(Clone, Debug, Default)]
pub struct MediumOptions {
    /// Existing radios by node: the name of each, such as `phy0`. Each other node gets a new radio
    /// with the node's name, which ends with the medium.
    pub existing: Vec<(String, String)>,
    /// The layer that makes A-MPDUs.
    pub aggregation: Aggregation,
    /// Duration of the medium; a signal ends it in any case.
    pub duration: Option<Duration>,
    /// Number of the run under the scenario's seed.
    pub run: u64,
}

/// A radio that has joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedRadio {
    /// Node in the scenario.
    pub node: String,
    /// Name in the kernel, such as `phy0`.
    pub name: String,
    /// Interface, if the radio has one in this network namespace.
    pub interface: Option<String>,
    /// MAC address of the radio.
    pub address: MacAddr,
}

/// Outcome of a medium.
#[derive(Clone, Debug, PartialEq)]
pub struct MediumOutcome {
    /// Duration of the run.
    pub duration: Duration,
    /// The radios, and the counters of each on every channel that it used, in MHz.
    pub radios: Vec<(JoinedRadio, Vec<(u32, RadioStats)>)>,
    /// Frames that the kernel gave up while they waited here.
    pub given_up: u64,
    /// Frames whose rate the model does not have.
    pub rates_replaced: u64,
    /// Frames that are too long for hwsim to take back.
    pub too_long: u64,
    /// Lateness of frames to radios, in nanoseconds; weights are frames.
    pub lateness_ns: Levels,
    /// Scheduling of the loop.
    pub scheduling: Scheduling,
}

/// Reason why a medium cannot run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MediumError {
    /// A system call was refused.
    #[error("{error}{}", hint(error))]
    Os {
        /// The failed system call.
        error: OsError,
    },
    /// The scenario has no Wi-Fi.
    #[error("the scenario has no access point, and so no air to join")]
    NoCell,
    /// No radio would send for the neighbours of the scenario.
    #[error(
        "the scenario has a [[neighbour]], which only `simulate` and `emulate` play; \
         leave it out, or set its busy to 0"
    )]
    Neighbours,
    /// The cell of the scenario cannot be built.
    #[error("cannot model this: {0}")]
    Cell(#[from] CellError),
    /// A node that does not exist, or is not on the air.
    #[error("there is no node {name:?} on the air; there are: {known}")]
    UnknownNode {
        /// Name of the radio, as the user gave it.
        name: String,
        /// The nodes on the air, separated by commas.
        known: String,
    },
    /// Two radios for a node, or two nodes for a radio.
    #[error("{0:?} is named twice")]
    Twice(String),
    /// There is no such radio.
    #[error(
        "there is no radio {name:?} in this network namespace: {reason}; `iw phy` shows those that there are"
    )]
    UnknownRadio {
        /// Name of the radio, as the user gave it.
        name: String,
        /// Reason that the system gives.
        reason: String,
    },
    /// A radio of another driver.
    #[error("radio {0:?} is none of mac80211_hwsim: it has no second address")]
    OtherDriver(String),
}

impl From<OsError> for MediumError {
    fn from(error: OsError) -> Self {
        Self::Os { error }
    }
}

/// Advice about the error.
fn hint(error: &OsError) -> &'static str {
    use nix::errno::Errno;
    let of_hwsim = error.call.starts_with("mac80211_hwsim");
    match Errno::from_raw(error.errno) {
        Errno::ENOENT if of_hwsim => {
            "; load the kernel's module with `modprobe mac80211_hwsim radios=0` as root"
        }
        Errno::EPERM if of_hwsim => {
            "; this takes the capability CAP_NET_ADMIN in this network namespace: run it as root, \
             or below `unshare --map-root-user --net`"
        }
        Errno::EBUSY if of_hwsim => "; another program is the medium, such as wmediumd: end it",
        Errno::EOPNOTSUPP if of_hwsim => {
            "; a radio uses several channels at a time: load the module with channels=1"
        }
        Errno::EEXIST if of_hwsim => {
            "; there is a radio of that name: join it with --radio, or remove it"
        }
        Errno::ENFILE if of_hwsim => "; there is a radio of that name, or the name cannot be one",
        _ => "",
    }
}

/// Joins radios to the air of `scenario` until a signal comes. `ready` is called once they have
/// joined, and before any frame is sent.
///
/// The scenario's cell is used as by [`lasthop_wifi::medium`]; nodes that are not on the air, wires
/// and flows have no part.
///
/// # Errors
/// If the medium cannot run. Radios that it made are removed.
pub fn medium(
    scenario: &Scenario,
    options: &MediumOptions,
    ready: &mut dyn FnMut(&[JoinedRadio]),
) -> Result<MediumOutcome, MediumError> {
    let seed = Seed::new(scenario.seed, options.run);
    let network = scenario.network_for(seed);
    let config = network.cell.ok_or(MediumError::NoCell)?;
    if !scenario.neighbours.is_empty() {
        return Err(MediumError::Neighbours);
    }
    let mut nodes = Vec::new();
    for (node, of_network) in scenario.nodes.iter().zip(&network.nodes) {
        if let Some(station) = of_network.station {
            nodes.push((station, node.name.clone()));
        }
    }
    nodes.sort_unstable_by_key(|(station, _)| *station);
    let names: Vec<_> = nodes.into_iter().map(|(_, name)| name).collect();
    check(&names, &options.existing)?;

    let signals = Signals::catch()?;
    let mut socket = HwsimSocket::open()?;
    let mut radios = Vec::new();
    for (index, node) in names.iter().enumerate() {
        let existing = options.existing.iter().find(|(name, _)| name == node);
        radios.push(match existing {
            Some((_, radio)) => find(node, radio)?,
            None => {
                let address = config.stations[index].address;
                socket.create(node, address)?;
                let name = node.clone();
                let joined = JoinedRadio { node: node.clone(), name, interface: None, address };
                // Both are the same of a radio whose address was given.
                Radio { joined, key: address }
            }
        });
    }
    for radio in &mut radios {
        radio.joined.interface = interface_of(&radio.joined.name);
    }
    let clock = Clock::start();
    // A model that cannot be is refused before anything is taken over.
    let mut joined = Joined::new(socket, clock, config, seed, radios, options.aggregation)?;
    joined.socket.register()?;
    let priority = Priority::raise();
    ready(&joined.radios.iter().map(|radio| radio.joined.clone()).collect::<Vec<_>>());
    joined.end = options.duration.map(|duration| clock.now() + duration);
    let mut events = EventLoop::new(clock)?;
    events.registry().add_readable(joined.socket.as_fd(), Source::Kernel)?;
    events.run(&mut joined, Some(&signals))?;
    let scheduling = priority.scheduling();
    Ok(joined.finish(clock.now() - Instant::ZERO, scheduling))
}

/// Checks that each requested radio belongs to an existing node, each once.
fn check(nodes: &[String], existing: &[(String, String)]) -> Result<(), MediumError> {
    for (n, (node, radio)) in existing.iter().enumerate() {
        if !nodes.contains(node) {
            let (name, known) = (node.clone(), nodes.join(", "));
            return Err(MediumError::UnknownNode { name, known });
        }
        for (other, other_radio) in &existing[..n] {
            if other == node {
                return Err(MediumError::Twice(node.clone()));
            }
            if other_radio == radio {
                return Err(MediumError::Twice(radio.clone()));
            }
        }
    }
    Ok(())
}

/// An existing radio, with the addresses that the kernel lists.
fn find(node: &str, name: &str) -> Result<Radio, MediumError> {
    let unknown =
        |why: io::Error| MediumError::UnknownRadio { name: name.into(), reason: why.to_string() };
    // Names of radios have no slash, and this one becomes part of a path.
    if name.is_empty() || name.contains('/') || name.starts_with('.') {
        return Err(unknown(io::Error::from(io::ErrorKind::InvalidInput)));
    }
    let text = fs::read_to_string(format!("{RADIOS}/{name}/addresses")).map_err(unknown)?;
    let mut addresses = text.lines().filter_map(|line| line.trim().parse::<MacAddr>().ok());
    let (address, key) = addresses
        .next()
        .zip(addresses.next())
        .ok_or_else(|| MediumError::OtherDriver(name.into()))?;
    let joined = JoinedRadio { node: node.into(), name: name.into(), interface: None, address };
    Ok(Radio { joined, key })
}

/// The first interface of a radio in this network namespace.
fn interface_of(radio: &str) -> Option<String> {
    let names = fs::read_dir(INTERFACES)
        .ok()?
        .filter_map(|entry| entry.ok().and_then(|entry| entry.file_name().into_string().ok()));
    let mut own: Vec<_> = names
        .filter(|interface| {
            let name = fs::read_to_string(format!("{INTERFACES}/{interface}/phy80211/name"));
            name.is_ok_and(|name| name.trim() == radio)
        })
        .collect();
    own.sort_unstable();
    own.into_iter().next()
}

/// The radio with that number.
fn station(index: usize) -> StationId {
    StationId(index as u16)
}
