//! Runs with a capture, and the true events in them.

use crate::monitor::Monitor;
use lasthop_capture::analysis::Analysis;
use lasthop_hosts::Sink;
use lasthop_packet::{DropReason, NodeId, Packet};
use lasthop_trace::{Files, NodeFrames, OutputDir, Recorder, RunDocument};
use lasthop_units::{Instant, MacAddr, Seed};
use lasthop_wifi::event::{Event, FrameKind, PowerState};
use lasthop_wifi::{Address, StationId};
use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A simulated run.
pub struct Scene {
    pub name: String,
    pub truth: Truth,
    /// The summary of the run.
    pub run: RunDocument,
    pub path: PathBuf,
}

/// True events of a run.
#[derive(Default)]
pub struct Truth {
    /// Data, by sender and receiver.
    pub links: BTreeMap<(MacAddr, MacAddr), LinkTruth>,
    /// From leaving the channel to coming back, in ns.
    pub absences: Vec<(u64, u64)>,
    /// Null frames, RTS, CTS, Acks and beacons.
    pub bare: Vec<BareTruth>,
    /// Packets, in the order in which they were sent.
    pub packets: Vec<PacketTruth>,
    /// Length of each MPDU in the order of the capture, FCS included.
    pub lengths: Vec<u32>,
    addresses: Vec<MacAddr>,
    by_tag: BTreeMap<(NodeId, u64), usize>,
}

/// True events of a packet, in ns.
#[derive(Clone, Debug)]
pub struct PacketTruth {
    pub source: NodeId,
    pub tag: u64,
    pub sent_ns: u64,
    /// Begin and end of each PPDU that carried it, and whether the receiver got it.
    pub ppdus: Vec<(u64, u64, bool)>,
    pub arrived_ns: Option<u64>,
    /// Whether it was given up.
    pub dropped: bool,
}

/// A frame without data: its sender, its start and end in ns, its kind, and the Retry bit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BareTruth {
    pub transmitter: MacAddr,
    pub from_ns: u64,
    pub to_ns: u64,
    pub kind: FrameKind,
    pub retry: bool,
}

#[derive(Default)]
pub struct LinkTruth {
    pub ppdus: u64,
    pub mpdus: u64,
    pub retries: u64,
    /// MPDUs of A-MPDUs, and their number.
    pub ampdus: (u64, u64),
}

impl Truth {
    fn address(&self, station: StationId) -> MacAddr {
        self.addresses[station.index()]
    }
}

impl Sink for Truth {
    fn wants_events(&self) -> bool {
        true
    }

    fn sent(&mut self, now: Instant, packet: &Packet) {
        self.by_tag.insert((packet.source, packet.tag), self.packets.len());
        self.packets.push(PacketTruth {
            source: packet.source,
            tag: packet.tag,
            sent_ns: now.as_nanos(),
            ppdus: Vec::new(),
            arrived_ns: None,
            dropped: false,
        });
    }

    fn dropped(&mut self, _: Instant, _: NodeId, packet: &Packet, _: DropReason) {
        if let Some(index) = self.by_tag.get(&(packet.source, packet.tag)) {
            self.packets[*index].dropped = true;
        }
    }

    fn arrived(&mut self, now: Instant, _: NodeId, packet: &Packet) {
        if let Some(index) = self.by_tag.get(&(packet.source, packet.tag)) {
            self.packets[*index].arrived_ns.get_or_insert(now.as_nanos());
        }
    }

    fn event(&mut self, event: &Event, _: &dyn Fn(u64) -> Option<Vec<u8>>) {
        match event {
            Event::Ppdu(ppdu) => {
                self.lengths.extend(ppdu.frames().map(|frame| u32::from(frame.bytes)));
                let bare = ppdu.frames().filter(|frame| {
                    use FrameKind::{Ack, Beacon, Cts, Null, QosNull, Rts};
                    matches!(
                        frame.kind,
                        Ack | Beacon { .. } | Cts | Null { .. } | QosNull { .. } | Rts
                    )
                });
                self.bare.extend(bare.map(|frame| BareTruth {
                    transmitter: self.addresses[ppdu.transmitter.index()],
                    from_ns: ppdu.start.as_nanos(),
                    to_ns: ppdu.end.as_nanos(),
                    kind: frame.kind,
                    retry: frame.retry,
                }));
                for psdu in &ppdu.psdus {
                    // From the last MPDU to the first: each ends before those behind it. A
                    // subframe has a delimiter of 4 bytes and is padded to a multiple of 4.
                    let mut behind_bits = 0;
                    for frame in psdu.frames.iter().rev() {
                        let behind_ns = behind_bits * 1_000_000 / u64::from(psdu.rate.kbps());
                        behind_bits += 8 * u64::from((4 + frame.bytes).next_multiple_of(4));
                        let end = ppdu.end.as_nanos() - behind_ns;
                        let seen = (ppdu.start.as_nanos(), end, frame.received);
                        for packet in &frame.packets {
                            if let Some(index) = self.by_tag.get(&(packet.source, packet.tag)) {
                                self.packets[*index].ppdus.push(seen);
                            }
                        }
                    }
                }
                for psdu in &ppdu.psdus {
                    let Address::Station(to) = psdu.receiver else { continue };
                    let data = psdu.frames.iter().filter(|frame| {
                        matches!(frame.kind, FrameKind::Data | FrameKind::QosData { .. })
                    });
                    let data: Vec<_> = data.collect();
                    if data.is_empty() {
                        continue;
                    }
                    let key = (self.address(ppdu.transmitter), self.address(to));
                    let link = self.links.entry(key).or_default();
                    link.ppdus += 1;
                    link.mpdus += data.len() as u64;
                    link.retries += data.iter().filter(|frame| frame.retry).count() as u64;
                    if psdu.aggregated {
                        link.ampdus.0 += data.len() as u64;
                        link.ampdus.1 += 1;
                    }
                }
            }
            Event::Power { at, state: PowerState::OffChannel, .. } => {
                self.absences.push((at.as_nanos(), at.as_nanos()));
            }
            Event::Power { at, state: PowerState::Awake, .. } => {
                if let Some(absence) = self.absences.last_mut() {
                    absence.1 = at.as_nanos();
                }
            }
            _ => {}
        }
    }
}

impl Scene {
    /// With a capture of the air.
    pub fn new(name: &str, file: &str, sets: &[&str]) -> Self {
        Self::recorded(name, file, sets, false, true)
    }

    /// With captures of the air and of all nodes.
    pub fn with_nodes(name: &str, file: &str, sets: &[&str]) -> Self {
        Self::recorded(name, file, sets, true, true)
    }

    /// The same, with the payload of made-up frames.
    pub fn with_payload(name: &str, file: &str, sets: &[&str]) -> Self {
        Self::recorded(name, file, sets, true, false)
    }

    /// One of the captures, as it was written.
    pub fn file(&self, name: &str) -> Vec<u8> {
        fs::read(self.path.join(name)).expect("it was written")
    }

    fn recorded(name: &str, file: &str, sets: &[&str], with_nodes: bool, cut: bool) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let file = folder.join(file);
        let sets: Vec<_> = sets.iter().map(|set| (*set).to_owned()).collect();
        let scenario = lasthop_scenario::load(&file, &sets).expect("it is one");
        let names = lasthop_sim::names(&scenario);
        let cell = scenario.network.cell.as_ref();
        let stations = cell.map_or(&[][..], |cell| &cell.stations);
        let addresses = stations.iter().map(|station| station.address).collect();
        let mut truth = Truth { addresses, ..Truth::default() };
        let on = &mut |_| ControlFlow::Continue(());
        lasthop_sim::simulate(&scenario, Seed::new(scenario.seed, 0), &mut truth, on)
            .expect("it runs");
        static SCENES: AtomicUsize = AtomicUsize::new(0);
        let number = SCENES.fetch_add(1, Ordering::Relaxed);
        let path = format!("lasthop-truth-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(path);
        let mut directory = OutputDir::create(&path).expect("it can be made");
        let files = lasthop_sim::files(&scenario, false, Some(NodeFrames::MadeUp));
        let nodes = files.nodes.filter(|_| with_nodes);
        let files = Files { nodes, cut, ..files };
        let recording = lasthop_sim::recording(&scenario);
        let recorder = Recorder::with_files(names, recording, &files, &mut directory)
            .expect("files can be made");
        let run = lasthop_sim::record(&scenario, 0, recorder, on).expect("it runs");
        directory.commit().expect("files get names");
        Self { name: name.to_owned(), truth, run, path }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// The analysis of what a monitor hears that misses a share of the frames.
pub fn heard(scene: &Scene, missing: f64) -> Analysis {
    watched(scene, missing, &mut |_| ())
}

/// The same, of which something is seen after each packet.
pub fn watched(scene: &Scene, missing: f64, seen: &mut dyn FnMut(&Analysis)) -> Analysis {
    Monitor { missing, ..Monitor::WHOLE }.watch(scene, &mut |analysis, _| seen(analysis))
}

/// The analysis of a capture that ends with a packet.
pub fn heard_until(scene: &Scene, number: u64) -> Analysis {
    Monitor { until: number, ..Monitor::WHOLE }.hear(scene)
}
