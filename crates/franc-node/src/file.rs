//! `franc.toml`: configuration of one node of a coded link. Every key is declared only here, with
//! its documentation and default, for the file, the flags of `lasthop franc run` and the JSON
//! Schema.
//!
//! The file describes one node, without a scenario around it. Lengths are bytes. Left out: the
//! contents of the key file, and names of hosts, which the program looks up.
//!
//! Long because every key is declared here, with its documentation, default and checks.

use crate::coding::{CodingMode, RawCoding, SymbolBytes};
use lasthop_config::edit::{Step, argument, insert, with_origin};
use lasthop_config::error::{ConfigError, Place, Problems};
use lasthop_config::file::{self, Accepts, FileError, TEXT_BYTES_MAX};
use lasthop_config::quantity::parse_probability;
use lasthop_config::reference::{self, TableReference};
use lasthop_config::scalar::{At, Scalar, Whole};
use lasthop_config::table::{self, Keys as TableKeys, Table, read};
use lasthop_config::tree::{Node as Tree, Origin, Value, value};
use lasthop_config::{choices, tables};
use lasthop_franc::config::{Config, Keys, Losses, Mode, SyntheticLoss};
use lasthop_franc::{NodeId, Role};
use lasthop_units::{Duration, MacAddr, Probability};
use schemars::{Schema, SchemaGenerator, json_schema};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

/// A helper's share of the work is tuned for two.
const HELPERS_MAX: usize = 2;
/// Default of the delay in the queues of the path that a pace allows.
const QUEUE_TARGET: Duration = Duration::from_millis(5);

tables! {
    /// Configuration of a node of a coded link, for `lasthop franc run`.
    RawFranc {
        /// Name of an end's tunnel interface, and of the control socket of any node.
        value name: Interface = "franc0";
        /// Role of the node: an end, a helper beside a hop, a recoder or a forwarder.
        value role: RoleName = "end";
        /// Number of the node on the link; different at every node.
        required id: Number;
        /// Ends: number of the other end.
        option peer: Number = "none; an end requires it";
        /// Ends: the next recoder on the way to the other end.
        option via: Number = "the peer";
        /// Helpers, recoders, forwarders: the nodes on both sides.
        option between: [Number; 2] = "none; every node but an end requires it";
        /// Ends and helpers: the helpers beside the hop, which share the work; a helper lists
        /// itself too.
        option helpers: Vec<Number> = "none at an end, itself at a helper";
        /// File with the key that all nodes share; `lasthop franc key` makes it. In a file its path
        /// is relative to the file's folder.
        option key_file: FilePlace = "none; the node requires one or `insecure`";
        /// Run without a key: anyone can read, send and disturb.
        value insecure: bool = false;
        /// Addresses of an end's tunnel interface, each with its prefix length.
        option address: Vec<Cidr> = "none";
        /// Transport of the datagrams.
        value transport: TransportName = "udp";
        /// UDP: address and port for incoming datagrams.
        option listen: Socket = "port 4797 of all addresses: of IPv6 if the first neighbour's is one, else of IPv4";
        /// Ethernet: name of the interface.
        option interface: Interface = "none; ethernet requires it";
        /// Helpers over Ethernet, on Wi-Fi: monitor interface for overhearing. Frames are sent
        /// through `interface`, which must be on the same channel.
        option monitor: Interface = "none: `interface` in promiscuous mode, which Wi-Fi interfaces lack";
        /// Addresses of neighbours, as ID=HOST:PORT or ID=MAC. A missing neighbour has to send
        /// first (udp), or is reached by broadcast until it is heard (ethernet). UDP: the other end
        /// listed twice has two links, each through a network interface if it is given, as in
        /// 2=HOST%wwan0.
        option neighbours: Vec<Neighbour> = "none";
        /// UDP, ends: number of links to the other end, the same at both ends.
        option links: Whole<1, 2> = "the number of times that `neighbours` lists the other end, at least 1";
        /// UDP: neighbours that get a copy of every datagram. Helpers must be listed, since UDP
        /// cannot be overheard.
        option copies_to: Vec<Number> = "none";
        /// Longest packet of the path (udp: with its IP header).
        option mtu: Whole<128, 65535> = "that of the interface towards the neighbours; 1500 if unknown";
        /// Coding of the link.
        flatten coding: RawCoding;
        /// Former name of the delay that a pace may cause.
        moved queue_target: () = "this is the value of `pace` now: a delay, or \"off\"";
        /// Error probability from source to helper. Give all three or none.
        option e1: Probability = "estimated";
        /// Error probability from helper to destination.
        option e2: Probability = "estimated";
        /// Error probability from source to destination.
        option e3: Probability = "estimated";
        /// Blocks after which the ends derive the next key.
        value rekey_blocks: Whole<16, 4294967295> = 16384;
        /// Datagrams lost by injection, as ID=P of those that a neighbour sends.
        option synthetic_loss: Vec<Lossy> = "none";
        /// Path of the control socket.
        option socket: FilePlace = "franc-NAME.sock in $RUNTIME_DIRECTORY, $XDG_RUNTIME_DIR/lasthop or /run/lasthop";
        /// Address for Prometheus, as ADDR:PORT.
        option metrics: Socket = "none";
    }
}

/// Role of a node, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoleName {
    End,
    Helper,
    Recoder,
    Forwarder,
}

/// Transport of datagrams, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransportName {
    Udp,
    Ethernet,
}

choices! {
    RoleName {
        "end" => RoleName::End,
        "helper" => RoleName::Helper,
        "recoder" => RoleName::Recoder,
        "forwarder" => RoleName::Forwarder,
    }
    TransportName { "udp" => TransportName::Udp, "ethernet" => TransportName::Ethernet }
}

/// Number of a node.
type Number = Whole<0, 255>;

fn id(number: Number) -> NodeId {
    NodeId(number.get())
}

/// Implements scalars that are read from a text.
macro_rules! texts {
    ($($ty:ty, $allowed:literal, $example:literal, $parse:expr;)*) => {$(
        impl Scalar for $ty {
            type Value = Self;

            fn allowed() -> String {
                format!("{} like {:?}", $allowed, $example)
            }
            fn read(value: &Value) -> Result<Self, Option<String>> {
                let parse: fn(&str) -> Option<Self> = $parse;
                match value {
                    Value::String(text) => parse(text).ok_or(None),
                    _ => Err(None),
                }
            }
            fn schema() -> Schema {
                json_schema!({ "type": "string", "examples": [$example] })
            }
        }
    )*};
}

/// The name of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interface(String);
/// The path of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FilePlace(String);
/// An address and the length of its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cidr(IpAddr, u8);
/// An address and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Socket(SocketAddr);
/// A node and its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Neighbour(NodeId, String);
/// A node, and the loss probability of its datagrams.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lossy(NodeId, Probability);
texts! {
    Interface, "the name of an interface, up to 15 letters, digits, \"-\", \"_\" or \".\",", "franc0", |text| {
        Self::from_name(text)
    };
    FilePlace, "the path of a file", "link.key", |text| {
        (!text.is_empty() && !text.contains('\0')).then(|| Self(text.into()))
    };
    Socket, "an address and a port", "192.0.2.1:4797", |text| text.parse().ok().map(Self);
    Neighbour, "a node's number and where it is", "2=192.0.2.2:4797", |text| {
        let (number, place) = text.split_once('=')?;
        let place = place.trim();
        (!place.is_empty()).then_some(Self(NodeId(number.trim().parse().ok()?), place.into()))
    };
    Lossy, "a node's number and a probability", "2=20%", |text| {
        let (number, loss) = text.split_once('=')?;
        let loss = parse_probability(loss.trim()).ok()?;
        Some(Self(NodeId(number.trim().parse().ok()?), loss))
    };
}

impl Interface {
    fn from_name(text: &str) -> Option<Self> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let is_name = (1..=15).contains(&text.len()) && text.chars().all(plain);
        (is_name && !text.starts_with('.')).then(|| Self(text.into()))
    }
}

/// Splits the text HOST%INTERFACE at the sign. In a bare IPv6 address the part after the sign is its zone (RFC 4007).
fn split_interface(text: &str) -> (&str, Option<&str>) {
    let is_bare_v6 = !text.starts_with('[') && text.matches(':').count() > 1;
    match text.rsplit_once('%') {
        Some((host, interface)) if !is_bare_v6 && !interface.contains(']') => {
            (host, Some(interface))
        }
        _ => (text, None),
    }
}

impl Scalar for Cidr {
    type Value = Self;

    fn allowed() -> String {
        format!("an address and the length of its prefix like {:?}", Self::EXAMPLE)
    }
    fn read(value: &Value) -> Result<Self, Option<String>> {
        let Value::String(text) = value else { return Err(None) };
        if let Some(why) = lacks_prefix(text) {
            return Err(Some(why));
        }
        let (ip, prefix) = text.split_once('/').ok_or(None)?;
        let ip: IpAddr = ip.parse().map_err(|_| None)?;
        let longest = if ip.is_ipv4() { 32 } else { 128 };
        match prefix.parse() {
            Ok(prefix) if prefix <= longest => Ok(Self(ip, prefix)),
            _ => Err(Some(format!("the prefix of {ip} has a length from 0 to {longest}"))),
        }
    }
    fn schema() -> Schema {
        json_schema!({ "type": "string", "examples": [Self::EXAMPLE] })
    }
}

impl Cidr {
    const EXAMPLE: &str = "10.9.0.1/24";
}

/// Returns the message about an address without its prefix length.
fn lacks_prefix(text: &str) -> Option<String> {
    let ip: IpAddr = text.parse().ok()?;
    let usual = if ip.is_ipv4() { 24 } else { 64 };
    Some(format!("{ip} lacks its prefix length, such as /{usual}"))
}

/// A node as configured by the file and the flags.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Name of the interface and of the control socket.
    pub name: String,
    /// Path of the key; `None`: insecure.
    pub key_file: Option<PathBuf>,
    /// Addresses of the tunnel interface.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Transport to the neighbours.
    pub transport: Transport,
    /// Neighbours that get copies.
    pub copies_to: Vec<NodeId>,
    /// Longest packet of the path, if configured.
    pub mtu: Option<u32>,
    /// Path of the control socket, if not the usual one.
    pub socket: Option<PathBuf>,
    /// Address for Prometheus, if any.
    pub metrics: Option<SocketAddr>,
    symbol_bytes: SymbolBytes,
    config: Config,
}

/// Transport of datagrams between neighbours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Datagrams over UDP.
    Udp {
        /// Address and port for incoming datagrams.
        listen: Option<SocketAddr>,
        /// Neighbours, and the links to them.
        neighbours: Vec<UdpNeighbour>,
    },
    /// Datagrams as Ethernet frames.
    Ethernet {
        /// Name of the interface.
        interface: String,
        /// Monitor interface through which a helper overhears.
        monitor: Option<String>,
        /// Neighbours and their addresses.
        neighbours: Vec<(NodeId, MacAddr)>,
    },
}

/// A neighbour over UDP, or one of the links to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UdpNeighbour {
    /// Number of the neighbour.
    pub id: NodeId,
    /// The link to it, from 0 on.
    pub link: u8,
    /// Host of the neighbour, with or without a port.
    pub host: String,
    /// The network interface through which the link goes; all links have one, or none.
    pub interface: Option<String>,
}

impl Link {
    /// Returns the role of the node.
    pub fn role(&self) -> &Role {
        &self.config.role
    }

    /// Returns the node's configuration with these keys, on a path for datagrams of up to
    /// `datagram_bytes_max`. The configuration may be unsound.
    pub fn config(&self, keys: Keys, datagram_bytes_max: u16) -> Config {
        let mut config = Config { keys, datagram_bytes_max, ..self.config.clone() };
        config.symbol_bytes = self.symbol_bytes.within(config.symbol_bytes_max());
        config
    }
}

/// A key of the file, which is also a flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Name in the file; the flag has dashes instead of underscores.
    pub name: &'static str,
    /// Meaning of the key, and its default.
    pub docs: String,
    /// Whether the key takes several values.
    pub is_list: bool,
    /// Whether the key is true or false.
    pub is_switch: bool,
}

impl Key {
    /// Returns the flag, with its dashes.
    pub fn flag(&self) -> String {
        format!("--{}", self.name.replace('_', "-"))
    }
}

/// Returns all keys in their order.
pub fn keys() -> Vec<Key> {
    let mut keys = TableKeys::default();
    RawFranc::describe(&mut SchemaGenerator::default(), &mut keys);
    let key = |key: table::Key| {
        let kind = key.schema.get("type").and_then(|kind| kind.as_str().map(str::to_owned));
        let default = key.default.map_or(String::new(), |default| {
            // A word alone is shown as it is written on the command line.
            let word = default.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            let word = word.filter(|word| !word.contains('"'));
            format!(" [default: {}]", word.unwrap_or(&default))
        });
        Key {
            name: key.name,
            docs: format!("{}{default}", key.docs.trim_end_matches('.')),
            is_list: kind.as_deref() == Some("array"),
            is_switch: kind.as_deref() == Some("boolean"),
        }
    };
    keys.0.into_iter().map(key).collect()
}

/// Reads the file at `path`, if there is one. `flags` (keys and values, as written) replace its
/// values.
///
/// # Errors
/// All problems of the file and the flags.
pub fn load(path: Option<&Path>, flags: &[(Key, Vec<String>)]) -> Result<Link, ConfigError> {
    let Some(path) = path else { return parse_flags(flags) };
    let file = path.display().to_string();
    let failed = |why: FileError| ConfigError::unreadable(&file, why.to_string());
    let bytes = file::read(path, Accepts::FilesAndPipes, TEXT_BYTES_MAX as u64).map_err(failed)?;
    let text = file::text(&bytes).map_err(failed)?;
    let mut link = parse(&file, text, flags)?;
    // A key beside the file is found from everywhere; one that a flag names is where it says.
    let is_flag = flags.iter().any(|(key, _)| key.name == "key_file");
    if let (Some(key), Some(folder), false) = (&mut link.key_file, path.parent(), is_flag) {
        *key = folder.join(&*key);
    }
    Ok(link)
}

/// Reads flags without a file: messages name flags.
fn parse_flags(flags: &[(Key, Vec<String>)]) -> Result<Link, ConfigError> {
    let mut problems = Problems::default();
    let link = parse_into("", flags, &mut problems);
    for key in keys() {
        problems.reword(&format!("the key \"{}\" is missing", key.name), &missing(&key));
        problems.reword(&format!("`{}`", key.name), &format!("`{}`", key.flag()));
    }
    finish("lasthop franc run", "", flags, problems, link)
}

/// Returns the message about a missing flag.
fn missing(key: &Key) -> String {
    let meaning = key.docs.split([';', '.']).next().unwrap_or(&key.docs);
    format!("{} is missing ({})", key.flag(), meaning.to_lowercase())
}

/// Reads the configuration from text; `file` is its name in messages.
///
/// # Errors
/// The same errors as [`load`].
pub fn parse(file: &str, text: &str, flags: &[(Key, Vec<String>)]) -> Result<Link, ConfigError> {
    let mut problems = Problems::default();
    let link = parse_into(text, flags, &mut problems);
    finish(file, text, flags, problems, link)
}

/// Returns the link, or the error with all problems.
fn finish(
    file: &str,
    text: &str,
    flags: &[(Key, Vec<String>)],
    mut problems: Problems,
    link: Option<Link>,
) -> Result<Link, ConfigError> {
    // A flag with one value is no array to who writes it.
    for (from, to) in [
        ("expected an array of at least one, each ", "expected "),
        ("got an array (with ", "got "),
        (" in it: ", " ("),
        (" in it)", ""),
    ] {
        problems.reword_sets(from, to);
    }
    let shown: Vec<String> =
        flags.iter().map(|(key, values)| format!("{} {}", key.flag(), values.join(","))).collect();
    match (problems.into_error(file, text, &shown), link) {
        (Some(error), _) => Err(error),
        (None, Some(link)) => Ok(link),
        (None, None) => unreachable!("without a link there is a problem"),
    }
}

fn parse_into(text: &str, flags: &[(Key, Vec<String>)], problems: &mut Problems) -> Option<Link> {
    let mut tree = match Tree::parse(text) {
        Ok(tree) => tree,
        Err(why) => {
            let origin = why.span().map_or(Origin::Absent, Origin::File);
            problems.push(&Place::new("", origin), format!("this is not TOML: {}", why.message()));
            return None;
        }
    };
    for (index, (key, values)) in flags.iter().enumerate() {
        put(&mut tree, index, &as_set(key, values), problems);
    }
    let raw = read::<RawFranc>(&tree, Place::new("", Origin::Absent), problems);
    if !problems.is_empty() {
        return None;
    }
    let link = Build { raw: &raw?, problems }.link();
    link.filter(|_| problems.is_empty())
}

/// Puts the flag with this `index`, in the form of `--set`, in place of the file's value.
fn put(tree: &mut Tree, index: usize, set: &str, problems: &mut Problems) {
    let (name, toml) = argument(set).expect("it was put together with a sign of equality");
    let origin = Origin::Set(index);
    let node = with_origin(value(&toml, &origin), &origin);
    if let Err(message) = insert(tree, &[Step::Key(name.into())], node, &origin) {
        problems.push(&Place::new(name, origin), message);
    }
}

/// Returns a flag in the form of `--set`.
fn as_set(key: &Key, values: &[String]) -> String {
    if !key.is_list {
        return format!("{}={}", key.name, values.join(","));
    }
    let element = |value: &String| {
        let is_plain = value.parse::<i64>().is_ok();
        if is_plain { value.clone() } else { toml_edit::Value::from(value.as_str()).to_string() }
    };
    let elements: Vec<String> = values.iter().map(element).collect();
    format!("{}=[{}]", key.name, elements.join(", "))
}

/// Checks which keys may stand together.
struct Build<'a> {
    raw: &'a RawFranc,
    problems: &'a mut Problems,
}

impl Build<'_> {
    fn link(&mut self) -> Option<Link> {
        let raw = self.raw;
        let role = self.role()?;
        self.keys();
        let links = self.links(&role);
        let transport = self.transport()?;
        let losses = self.losses();
        let mut config = Config {
            losses,
            links,
            rekey_blocks: raw.rekey_blocks.value.get(),
            synthetic: list(&raw.synthetic_loss)
                .iter()
                .map(|&Lossy(from, loss)| SyntheticLoss { from, loss })
                .collect(),
            ..Config::new(id(raw.id.value), role, Keys::Insecure, u16::MAX)
        };
        if raw.coding.mode.value == CodingMode::Plain {
            let message = "this mode is for scenarios only";
            self.problems.push(&raw.coding.mode.place, message);
        }
        raw.coding.check(true, self.problems);
        raw.coding.configure(&mut config, Some(QUEUE_TARGET), self.problems);
        if links > 1 && !matches!(config.mode, Mode::Stream { pace: Some(_), .. }) {
            let message = "two links need mode = \"stream\" and a pace";
            self.problems.push(place_of_links(raw), message);
        }
        Some(Link {
            name: raw.name.value.0.clone(),
            key_file: raw.key_file.as_ref().map(|file| PathBuf::from(&file.value.0)),
            addresses: list(&raw.address).iter().map(|&Cidr(ip, prefix)| (ip, prefix)).collect(),
            transport,
            copies_to: list(&raw.copies_to).iter().map(|&number| id(number)).collect(),
            mtu: raw.mtu.as_ref().map(|mtu| mtu.value.get()),
            socket: raw.socket.as_ref().map(|path| PathBuf::from(&path.value.0)),
            metrics: raw.metrics.as_ref().map(|at| at.value.0),
            symbol_bytes: raw.coding.symbol_bytes(),
            config,
        })
    }

    fn role(&mut self) -> Option<Role> {
        let raw = self.raw;
        let is_end = raw.role.value == RoleName::End;
        let is_helper = raw.role.value == RoleName::Helper;
        let places = [
            (!is_end, raw.peer.as_ref().map(|at| &at.place), "only an end has a peer"),
            (!is_end, raw.via.as_ref().map(|at| &at.place), "only an end goes via a recoder"),
            (
                is_end,
                raw.between.as_ref().map(|at| &at.place),
                "only helpers, recoders and forwarders have `between`",
            ),
            (
                !is_end && !is_helper,
                raw.helpers.as_ref().map(|at| &at.place),
                "only ends and helpers list helpers",
            ),
        ];
        for (is_wrong, place, message) in places {
            if let (true, Some(place)) = (is_wrong, place) {
                self.problems.push(place, message);
            }
        }
        let own = id(raw.id.value);
        let helpers = self.helpers(own, is_helper);
        if is_end {
            let Some(peer) = &raw.peer else {
                self.problems.push(&raw.role.place, "an end needs `peer`: the other end's number");
                return None;
            };
            let peer = id(peer.value);
            let via = raw.via.as_ref().map_or(peer, |via| id(via.value));
            return Some(Role::End { peer, via, helpers });
        }
        let Some(between) = &raw.between else {
            let message = "needs `between`: the numbers of the nodes on both sides, like [1, 2]";
            self.problems.push(&raw.role.place, message);
            return None;
        };
        let between = between.value.map(id);
        Some(match raw.role.value {
            RoleName::Helper => Role::Helper { between, helpers },
            RoleName::Recoder => Role::Recoder { between },
            RoleName::Forwarder | RoleName::End => Role::Forwarder { between },
        })
    }

    /// Number of helpers that share the work.
    fn helpers(&mut self, own: NodeId, is_helper: bool) -> u8 {
        let Some(at) = &self.raw.helpers else { return u8::from(is_helper) };
        let all: Vec<NodeId> = at.value.iter().map(|&number| id(number)).collect();
        let is_twice = |(index, one): (usize, &NodeId)| all[..index].contains(one);
        if all.len() > HELPERS_MAX {
            self.problems.push(&at.place, format!("expected at most {HELPERS_MAX} helpers"));
        } else if all.iter().enumerate().any(is_twice) {
            self.problems.push(&at.place, "a helper is named twice");
        } else if all.contains(&own) != is_helper {
            let message = if is_helper {
                "a helper is one of the helpers"
            } else {
                "an end cannot be its own helper"
            };
            self.problems.push(&at.place, message);
        }
        all.len().min(HELPERS_MAX) as u8
    }

    fn keys(&mut self) {
        let raw = self.raw;
        match (&raw.key_file, raw.insecure.value) {
            (Some(_), true) => {
                let message = "`insecure` needs no key; leave one of the two out";
                self.problems.push(&raw.insecure.place, message);
            }
            (None, false) => {
                let message = "expected `key_file`, made by `lasthop franc key`, or `insecure`";
                self.problems.push(&raw.here, message);
            }
            _ => {}
        }
    }

    /// Returns the number of links to the other end.
    fn links(&mut self, role: &Role) -> u8 {
        let raw = self.raw;
        let Role::End { peer, via, helpers } = *role else {
            if let Some(at) = &raw.links {
                self.problems.push(&at.place, "only an end has several links");
            }
            return 1;
        };
        let listed = list(&raw.neighbours).iter().filter(|Neighbour(id, _)| *id == via).count();
        let links = raw.links.as_ref().map_or(listed.clamp(1, 2), |at| at.value.get());
        let place = place_of_links(raw);
        if listed > links.max(1) {
            let allowed = if raw.links.is_some() { links } else { 2 };
            let message =
                format!("neighbour {via} is named {listed} times, with at most {allowed} links");
            self.problems.push(place, message);
        } else if links > 1 && (peer != via || helpers > 0) {
            self.problems
                .push(place, "two links go to the other end, without recoders and helpers");
        } else if links > 1 && raw.transport.value != TransportName::Udp {
            let message = "over ethernet there is one link, through `interface`: two links need \
                           transport = \"udp\"";
            self.problems.push(place, message);
        } else if links > 1 && raw.copies_to.is_some() {
            self.problems.push(place, "with two links there are no copies");
        }
        links as u8
    }

    /// Returns the neighbours over UDP, with the links to them.
    fn udp_neighbours(&mut self, place: &Place) -> Vec<UdpNeighbour> {
        let mut found: Vec<UdpNeighbour> = Vec::new();
        for Neighbour(id, text) in list(&self.raw.neighbours) {
            let link = found.iter().filter(|other| other.id == *id).count() as u8;
            let (host, interface) = split_interface(text);
            if interface.is_some_and(|name| Interface::from_name(name).is_none()) {
                let message = format!("expected the name of an interface after \"%\" in {text:?}");
                self.problems.push(place, message);
            }
            let (host, interface) = (host.to_owned(), interface.map(str::to_owned));
            let is_same = |it: &UdpNeighbour| {
                it.id == *id && (&it.host, &it.interface) == (&host, &interface)
            };
            if found.iter().any(is_same) {
                let message = format!(
                    "both links to neighbour {id} go to {text}: give two addresses, or two \
                     interfaces as in {id}={host}%wwan0"
                );
                self.problems.push(place, message);
            }
            found.push(UdpNeighbour { id: *id, link, host, interface });
        }
        let with = found.iter().filter(|it| it.interface.is_some()).count();
        let is_one = found.iter().all(|it| it.id == found[0].id);
        if with > 0 && (with < found.len() || !is_one) {
            let message = "either all neighbours have an interface, and are links to one, or none";
            self.problems.push(place, message);
        }
        found
    }

    fn transport(&mut self) -> Option<Transport> {
        let raw = self.raw;
        let neighbours = list(&raw.neighbours);
        let place = raw.neighbours.as_ref().map(|at| &at.place).unwrap_or(&raw.here);
        let is_end = raw.role.value == RoleName::End;
        let via = raw.via.as_ref().or(raw.peer.as_ref()).filter(|_| is_end).map(|at| id(at.value));
        for (index, Neighbour(number, _)) in neighbours.iter().enumerate() {
            let is_link = Some(*number) == via;
            if !is_link && neighbours[..index].iter().any(|Neighbour(other, _)| other == number) {
                self.problems.push(place, format!("neighbour {number} is named twice"));
            }
        }
        self.check_neighbours();
        if raw.transport.value == TransportName::Udp {
            if let Some(interface) = &raw.interface {
                self.problems.push(&interface.place, "only ethernet has an interface");
            }
            if let Some(monitor) = &raw.monitor {
                self.problems.push(&monitor.place, "only ethernet has a monitor interface");
            }
            let neighbours = self.udp_neighbours(place);
            let listen = raw.listen.as_ref().map(|at| at.value.0);
            return Some(Transport::Udp { listen, neighbours });
        }
        let copies = raw.copies_to.as_ref().map(|at| &at.place);
        for at in raw.listen.as_ref().map(|at| &at.place).into_iter().chain(copies) {
            self.problems.push(at, "only udp has this");
        }
        let mut known = Vec::new();
        for Neighbour(id, text) in neighbours {
            match text.parse::<MacAddr>() {
                Ok(mac) => known.push((*id, mac)),
                Err(_) if is_mac_with_interface(text) => {
                    let message = format!(
                        "over ethernet all neighbours are reached through `interface`, so \
                         {text:?} has none: leave it out from \"%\" on"
                    );
                    self.problems.push(place, message);
                }
                Err(_) => {
                    let message =
                        format!("expected a MAC address like \"02:1a:00:00:00:01\", got {text:?}");
                    self.problems.push(place, message);
                }
            }
        }
        let Some(interface) = &raw.interface else {
            self.problems.push(&raw.transport.place, "ethernet needs `interface`");
            return None;
        };
        if let Some(monitor) = &raw.monitor {
            if raw.role.value != RoleName::Helper {
                self.problems.push(&monitor.place, "only a helper overhears");
            } else if monitor.value == interface.value {
                let message =
                    "a monitor interface sends nothing: `interface` is the managed one beside it";
                self.problems.push(&monitor.place, message);
            }
        }
        Some(Transport::Ethernet {
            interface: interface.value.0.clone(),
            monitor: raw.monitor.as_ref().map(|monitor| monitor.value.0.clone()),
            neighbours: known,
        })
    }

    /// Checks that each neighbour has a part in the link: nothing is ever sent to another one.
    fn check_neighbours(&mut self) {
        let raw = self.raw;
        let Some(named) = &raw.neighbours else { return };
        let one = |number: &Option<At<Number>>| number.as_ref().map(|at| id(at.value));
        let between = raw.between.as_ref().map_or(Vec::new(), |at| at.value.map(id).to_vec());
        let several = list(&raw.helpers).iter().chain(list(&raw.copies_to)).map(|&n| id(n));
        let own = id(raw.id.value);
        let next = one(&raw.via).or(one(&raw.peer));
        let known: Vec<NodeId> =
            one(&raw.peer).into_iter().chain(next).chain(between).chain(several).collect();
        for Neighbour(number, at) in &named.value {
            let message = if *number == own {
                format!(
                    "{number} is this node itself (`id`): a neighbour's number is of the other node"
                )
            } else if known.contains(number) {
                continue;
            } else {
                let named = next.map_or(String::new(), |next| format!(", such as {next}={at}"));
                format!(
                    "{number} is none of the nodes in `peer`, `via`, `between`, `helpers` and \
                     `copies_to`: expected their numbers{named}"
                )
            };
            self.problems.push(&named.place, message);
        }
    }

    fn losses(&mut self) -> Option<Losses> {
        let raw = self.raw;
        match [&raw.e1, &raw.e2, &raw.e3] {
            [Some(e1), Some(e2), Some(e3)] => {
                Some(Losses { e1: e1.value, e2: e2.value, e3: e3.value })
            }
            some => {
                if let Some(one) = some.into_iter().flatten().next() {
                    self.problems.push(&one.place, "expected all of e1, e2 and e3, or none");
                }
                None
            }
        }
    }
}

/// Whether it is a MAC address with an interface, which only addresses of UDP have.
fn is_mac_with_interface(text: &str) -> bool {
    text.split_once('%').is_some_and(|(mac, _)| mac.parse::<MacAddr>().is_ok())
}

/// Place of the key that asks for two links.
fn place_of_links(raw: &RawFranc) -> &Place {
    let links = raw.links.as_ref().map(|at| &at.place);
    links.or(raw.neighbours.as_ref().map(|at| &at.place)).unwrap_or(&raw.here)
}

fn list<T>(values: &Option<At<Vec<T>>>) -> &[T] {
    values.as_ref().map_or(&[], |at| &at.value)
}

/// Returns the only table of `franc.toml`, for documentation.
pub fn reference() -> TableReference {
    reference::tables(all(), "Franc").remove(0)
}

/// Returns the JSON Schema of `franc.toml`.
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(RawFranc).to_value();
    schema["title"] = "lasthop franc.toml".into();
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_franc::config::{Mode, PaperRules};
    use std::fmt::Write;

    const MARKER: &str =
        "<!-- Below this line the page is made from crates/franc-node/src/file.rs. -->\n";

    fn all_keys() -> String {
        let table = reference();
        let mut page = format!(
            "\n## All keys\n\n{} Each key is also a flag: `block_symbols` is `--block-symbols`; \
             lists are separated by commas.\n\n| key | value | default | meaning |\n|---|---|---|---|\n",
            table.docs
        );
        for key in &table.keys {
            let default = key.default.as_deref().unwrap_or("**required**");
            let cells = [&format!("`{}`", key.name), &key.allowed, default, &key.docs];
            let cells = cells.map(|cell| cell.replace('|', "\\|"));
            let _ = writeln!(page, "| {} |", cells.join(" | "));
        }
        page
    }

    /// `UPDATE_DOCS=1` writes the page.
    #[test]
    fn the_reference_page_is_up_to_date() {
        let path = format!("{}/../../docs/franc.md", env!("CARGO_MANIFEST_DIR"));
        let old = std::fs::read_to_string(&path).expect("the page is there");
        let (by_hand, _) = old.split_once(MARKER).expect("it has the marker");
        let new = format!("{by_hand}{MARKER}{}", all_keys());
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, new).expect("the page can be written");
        } else {
            assert!(old == new, "docs/franc.md is out of date: run this test with UPDATE_DOCS=1");
        }
    }

    fn flag(name: &str, values: &[&str]) -> (Key, Vec<String>) {
        let key = keys().into_iter().find(|key| key.name == name).expect("there is that key");
        (key, values.iter().map(|&value| value.to_owned()).collect())
    }

    fn wrong(text: &str, flags: &[(Key, Vec<String>)]) -> String {
        parse("franc.toml", text, flags).expect_err(text).to_string()
    }

    #[test]
    fn every_default_is_read_and_is_that_of_the_machine() {
        assert_eq!(all().len(), 1);
        let link = parse("f", "id = 1\npeer = 2\ninsecure = true", &[]).unwrap();
        let role = Role::End { peer: NodeId(2), via: NodeId(2), helpers: 0 };
        let config = Config::new(NodeId(1), role, Keys::Insecure, 1_472);
        assert_eq!(link.config(Keys::Insecure, 1_472), config);
        assert_eq!(config.check(), Ok(()));
    }

    #[test]
    fn flags_say_what_the_file_says() {
        let file = "id = 3\nrole = \"helper\"\nbetween = [1, 2]\nkey_file = \"k\"\nfield = \"gf2\"\n\
                    neighbours = [\"1=10.0.0.1\", \"2=host:9\"]\nsynthetic_loss = [\"1=20%\"]\n\
                    encoder_timeout = \"30ms\"\nmode = \"paper\"\novershoot = \"50%\"";
        let flags = [
            flag("id", &["3"]),
            flag("role", &["helper"]),
            flag("between", &["1", "2"]),
            flag("key_file", &["k"]),
            flag("field", &["gf2"]),
            flag("neighbours", &["1=10.0.0.1", "2=host:9"]),
            flag("synthetic_loss", &["1=20%"]),
            flag("encoder_timeout", &["30ms"]),
            flag("mode", &["paper"]),
            flag("overshoot", &["50%"]),
        ];
        assert_eq!(parse("f", file, &[]).unwrap(), parse("f", "", &flags).unwrap());
        let link = parse("f", file, &[flag("overshoot", &["20%"])]).unwrap();
        let config = link.config(Keys::Insecure, 1_472);
        assert_eq!(
            config.mode,
            Mode::Paper { overshoot: 1.2, systematic: true, rules: PaperRules::MARCH }
        );
    }

    #[test]
    fn an_end_listed_twice_has_two_links() {
        let base = "id = 1\npeer = 2\ninsecure = true\n";
        let read = |more: &str| parse("f", &format!("{base}{more}"), &[]).unwrap();
        let links = |link: &Link| link.config(Keys::Insecure, 1_472).links;
        assert_eq!(["", "links = 2", "neighbours = [\"2=a\"]"].map(|t| links(&read(t))), [1, 2, 1]);
        let two = read("neighbours = [\"2=a:9%dsl0\", \"2=[fd00::1%eth0]:9%wwan0\"]");
        assert_eq!(links(&two), 2);
        let Transport::Udp { neighbours, .. } = two.transport else { panic!("it is udp") };
        let one = |link, host: &str, interface: &str| UdpNeighbour {
            id: NodeId(2),
            link,
            host: host.into(),
            interface: Some(interface.into()),
        };
        assert_eq!(neighbours, [one(0, "a:9", "dsl0"), one(1, "[fd00::1%eth0]:9", "wwan0")]);
        for (text, zone) in [("fe80::1%eth0", None), ("[fe80::1%eth0]", None)] {
            assert_eq!(split_interface(text), (text, zone));
        }
        let two = "neighbours = [\"2=a\", \"2=b\"]";
        let told = |more: &str| wrong(&format!("{base}{more}"), &[]);
        let ethernet = "transport = \"ethernet\"\ninterface = \"e\"";
        let macs = "[\"2=02:1a:00:00:00:02%a\", \"2=02:1a:00:00:01:02%b\"]";
        let over_two = format!("neighbours = {macs}\n{ethernet}");
        for (more, expected) in [
            ("neighbours = [\"2=a\", \"2=b\", \"2=c\"]", "named 3 times, with at most 2 links"),
            ("neighbours = [\"2=a\", \"2=a\"]", "neighbours: both links to neighbour 2 go to a"),
            ("neighbours = [\"2=a%x\", \"2=a%x\"]", "both links to neighbour 2 go to a%x"),
            ("neighbours = [\"2=a%x\", \"2=b\"]", "either all neighbours have an interface"),
            ("neighbours = [\"2=a%x y\", \"2=b%z\"]", "the name of an interface after"),
            ("neighbours = [\"3=a\", \"3=b\"]", "neighbour 3 is named twice"),
            ("links = 3", "franc.toml:4: links: expected a whole number from 1 to 2"),
            (&format!("{two}\nlinks = 1"), "links: neighbour 2 is named 2 times, with at most 1"),
            (
                &format!("{two}\nhelpers = [3]"),
                "franc.toml:4: neighbours: two links go to the other",
            ),
            ("links = 2\nvia = 3", "links: two links go to the other end, without recoders"),
            ("links = 2\ncopies_to = [3]", "links: with two links there are no copies"),
            ("links = 2\nmode = \"paper\"", "links: two links need mode = \"stream\" and a pace"),
            ("links = 2\npace = \"off\"", "links: two links need mode = \"stream\" and a pace"),
            (&format!("links = 2\n{ethernet}"), "links: over ethernet there is one link, through"),
            (
                &over_two,
                "neighbours: over ethernet there is one link, through `interface`: two links",
            ),
            (&over_two, "\"02:1a:00:00:00:02%a\" has none: leave it out from"),
        ] {
            assert!(told(more).contains(expected), "{more}: {}", told(more));
        }
        let relay = "id = 3\nrole = \"recoder\"\nbetween = [1, 2]\ninsecure = true\nlinks = 2";
        assert!(wrong(relay, &[]).contains("franc.toml:5: links: only an end has several links"));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let base = "id = 1\npeer = 2\ninsecure = true\n";
        let told = |more: &str| wrong(&format!("{base}{more}"), &[]);
        assert_eq!(told("pier = 2"), "franc.toml:4: pier: unknown key; did you mean \"peer\"?");
        assert!(told("field = \"gf8\"").starts_with("franc.toml:4: field: expected \"gf2\""));
        assert!(told("address = [\"10.0.0.1\"]").contains("10.9.0.1/24"));
        assert!(
            told("queue_target = \"8ms\"").contains("queue_target: this is the value of `pace`")
        );
        assert!(told("overshoot = \"5%\"").contains("mode = \"paper\" only"));
        assert!(told("mode = \"plain\"").contains("this mode is for scenarios only"));
        assert!(told("pace = \"off\"\nrate_max = \"1Mb/s\"").contains("give pace a delay"));
        assert!(told("helpers = [1]").contains("an end cannot be its own helper"));
        assert!(told("helpers = [3, 3]").contains("named twice"));
        assert!(told("e1 = 0.1").contains("all of e1, e2 and e3"));
        assert!(told("between = [1, 2]").contains("franc.toml:4: between"));
        assert!(told("transport = \"ethernet\"").contains("needs `interface`"));
        let ethernet = "transport = \"ethernet\"\ninterface = \"wlan0\"\n";
        assert!(told("monitor = \"mon0\"").contains("monitor: only ethernet has a monitor"));
        assert!(told(&format!("{ethernet}monitor = \"mon0\"")).contains("only a helper overhears"));
        let helper = |monitor: &str| {
            let helper = "id = 3\nrole = \"helper\"\nbetween = [1, 2]\ninsecure = true\n";
            format!("{helper}{ethernet}monitor = {monitor:?}")
        };
        let same = wrong(&helper("wlan0"), &[]);
        assert!(
            same.contains("franc.toml:7: monitor: a monitor interface sends nothing"),
            "{same}"
        );
        assert!(wrong(&helper("mon 0"), &[]).contains("the name of an interface"));
        let link = parse("franc.toml", &helper("mon0"), &[]).unwrap();
        let Transport::Ethernet { interface, monitor, .. } = link.transport else { panic!() };
        assert_eq!((&*interface, monitor.as_deref()), ("wlan0", Some("mon0")));
        let stranger = told("neighbours = [\"3=a\"]");
        assert!(stranger.contains("expected their numbers, such as 2=a"), "{stranger}");
        assert!(told("neighbours = [\"1=a\"]").contains("1 is this node itself"));
        let helped = format!("{base}helpers = [3]\nvia = 4\nneighbours = [\"3=a\", \"4=b\"]");
        assert!(parse("franc.toml", &helped, &[]).is_ok());
        assert!(wrong("id = 1\npeer = 2", &[]).contains("key_file"));
        assert!(wrong("id = 1\ninsecure = true", &[]).contains("needs `peer`"));
        assert!(wrong("", &[]).contains("\"id\" is missing"));
        let flags =
            |flags: &[(Key, Vec<String>)]| parse_flags(flags).expect_err("it is wrong").to_string();
        assert_eq!(
            flags(&[]),
            "lasthop franc run: --id is missing (number of the node on the link): a whole number from 0 to 255"
        );
        let id = flag("id", &["1"]);
        assert!(flags(core::slice::from_ref(&id)).contains("an end needs `--peer`"));
        let end = [id, flag("peer", &["2"])];
        assert!(flags(&end).contains("expected `--key-file`"), "{}", flags(&end));
        for (address, told) in [
            ("10.9.0.2", "10.9.0.2 lacks its prefix length, such as /24"),
            ("fd09::1", "fd09::1 lacks its prefix length, such as /64"),
            ("10.9.0.2/33", "the prefix of 10.9.0.2 has a length from 0 to 32"),
            ("10.9.0.300/24", "expected an address and the length of its prefix"),
        ] {
            let said = wrong(base, &[flag("address", &["10.9.0.1/24", address])]);
            assert!(said.contains(told) && !said.contains("an array of"), "{said}");
            let file = wrong(&format!("{base}address = [{address:?}]"), &[]);
            let is_general = told.starts_with("expected");
            assert!(is_general || file.contains(told), "{file}");
        }
        let flags = [flag("block_symbols", &["0"])];
        assert!(wrong(base, &flags).starts_with("--block-symbols 0: block_symbols: expected"));
    }
}
