//! Sources of packets: a file, the standard input, an interface. Packets are read one after the
//! other until the source or its reader ends.

use crate::failure::Failure;
use lasthop_capture::analysis::{Analysis, Malformed};
use lasthop_capture::file::{self, Packet};
use lasthop_capture::link::LinkType;
use lasthop_linux::capture::{PacketCapture, hardware};
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::time::Duration;

/// A source of packets with its name.
#[derive(Debug)]
pub struct Source {
    name: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    File(File),
    /// Standard input: a pipe or a file.
    Input {
        is_pipe: bool,
    },
    Interface {
        capture: Box<PacketCapture>,
        link: LinkType,
        note: Option<String>,
    },
}

/// Receiver of a source's packets.
pub trait Sink {
    /// Handles the next packet.
    fn handle_packet(&mut self, packet: &Packet<'_>);

    /// Handles an error after which the source cannot be read further.
    fn handle_error(&mut self, error: Malformed);

    /// Handles the number of packets that the source has dropped before they could be read.
    fn handle_dropped(&mut self, packets: u64);

    /// Whether the receiver has enough packets.
    fn is_over(&mut self) -> bool;
}

/// Longest wait on an interface before a check of [`is_over`](Sink::is_over).
const WAIT: Duration = Duration::from_millis(100);
/// Number of packets after which a source checks [`is_over`](Sink::is_over).
const PACKETS: u64 = 4_096;

impl Source {
    /// Opens a file, `-`, or an interface; one of the two must be given.
    pub fn open(file: Option<&Path>, interface: Option<&str>) -> Result<Self, Failure> {
        if let Some(interface) = interface {
            return Self::interface(interface);
        }
        let path = file.unwrap_or(Path::new("-"));
        let name = path.display().to_string();
        let kind = match path.to_str() {
            Some("-") => Kind::Input { is_pipe: is_pipe() },
            _ => {
                let opened = open(path);
                Kind::File(opened.map_err(|why| match why.kind() {
                    io::ErrorKind::IsADirectory => Failure::Message(format!("{name} is a folder")),
                    _ => Failure::message(format!("{name}: {why}")),
                })?)
            }
        };
        Ok(Self { name, kind })
    }

    fn interface(name: &str) -> Result<Self, Failure> {
        let capture = PacketCapture::open(name)
            .map_err(|why| Failure::message(format!("cannot capture from {name:?}: {why}")))?;
        let link = match capture.hardware() {
            hardware::RADIOTAP => LinkType::Radiotap,
            hardware::IEEE80211 => LinkType::Ieee80211,
            hardware::ETHERNET | hardware::LOOPBACK => LinkType::Ethernet,
            hardware::RAW_IP | hardware::NONE => LinkType::Ip,
            other => {
                return Err(Failure::message(format!(
                    "cannot capture from {name:?}: its packets have headers of hardware type \
                     {other} (ARPHRD); what can be read: 802.11 with radiotap (803), 802.11 (801), \
                     Ethernet (1), loopback (772), IP (519, 65534). tcpdump may know it: \
                     tcpdump -i {name} -U -w - | lasthop capture -"
                )));
            }
        };
        let note = (!matches!(link, LinkType::Radiotap | LinkType::Ieee80211)).then(|| {
            let mut note = format!(
                "not a monitor interface: its packets are {link}, without frames on the air"
            );
            // A link to the physical device, which only wireless interfaces have.
            if fs::exists(format!("/sys/class/net/{name}/phy80211")).unwrap_or_default() {
                note.push_str(&format!(
                    "; iw dev {name} interface add mon0 type monitor && ip link set mon0 up"
                ));
            }
            note
        });
        let kind = Kind::Interface { capture: Box::new(capture), link, note };
        Ok(Self { name: name.to_owned(), kind })
    }

    /// Returns the source's name: the path, `-`, or the interface.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns a remark on the source for its user.
    pub fn note(&self) -> Option<&str> {
        match &self.kind {
            Kind::Interface { note, .. } => note.as_deref(),
            Kind::File(_) | Kind::Input { .. } => None,
        }
    }

    /// Whether packets arrive as they are captured, possibly for a long time.
    pub const fn goes_on(&self) -> bool {
        matches!(self.kind, Kind::Interface { .. } | Kind::Input { is_pipe: true })
    }

    /// Whether the source is an interface, which ends by an interrupt.
    pub const fn is_interface(&self) -> bool {
        matches!(self.kind, Kind::Interface { .. })
    }

    /// Reads the source to its end, or until `sink` has enough.
    ///
    /// # Errors
    /// An error if it is no capture.
    pub fn read(self, sink: &mut dyn Sink) -> Result<(), file::ReadError> {
        match self.kind {
            Kind::File(file) => read(file, sink),
            Kind::Input { .. } => read(io::stdin(), sink),
            Kind::Interface { capture, link, .. } => {
                receive(*capture, link, sink);
                Ok(())
            }
        }
    }
}

/// Opens a file. Rejects folders, which would open but cannot be read.
///
/// # Errors
/// An error if it cannot be opened, or is a folder.
pub fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
    }
    Ok(file)
}

fn read(source: impl Read + 'static, sink: &mut dyn Sink) -> Result<(), file::ReadError> {
    let mut capture = file::Capture::open(source)?;
    loop {
        match capture.next_packet() {
            Ok(Some(packet)) => {
                sink.handle_packet(&packet);
                if packet.number % PACKETS == 0 && sink.is_over() {
                    return Ok(());
                }
            }
            Ok(None) => return Ok(()),
            Err(error) => {
                let offset = error.offset();
                let message = error.to_string();
                sink.handle_error(Malformed { frame: None, offset, message });
                return Ok(());
            }
        }
    }
}

fn receive(mut capture: PacketCapture, link: LinkType, sink: &mut dyn Sink) {
    let mut number = 0;
    loop {
        // The last round is for what had come, and is not out of the kernel yet.
        let is_over = sink.is_over();
        let waited = capture.wait(WAIT);
        if waited.is_err() {
            // Packets from before the interface went down are still read.
            let _ = capture.wait(WAIT);
        }
        let end = number + PACKETS;
        while number < end
            && let Some(packet) = capture.next_packet()
        {
            number += 1;
            sink.handle_packet(&Packet {
                number,
                offset: 0,
                interface: 0,
                link,
                at_ns: Some(packet.at_ns),
                bytes: packet.bytes,
                length: packet.length,
                fcs_bytes: None,
            });
        }
        sink.handle_dropped(capture.dropped());
        if let Err(error) = waited {
            let message = format!("ended after {number} packets: {error}");
            sink.handle_error(Malformed { frame: None, offset: None, message });
            return;
        }
        if is_over {
            return;
        }
    }
}

/// Whether standard input is neither a file nor a terminal, and so may continue.
fn is_pipe() -> bool {
    let is_file = fs::metadata("/dev/stdin").is_ok_and(|metadata| metadata.is_file());
    !is_file && !io::stdin().is_terminal()
}

/// Receiver for a whole source at once, without a live view.
#[derive(Debug)]
pub struct Whole<'a> {
    /// Analysis of the packets read.
    pub analysis: Analysis,
    /// Signal that ends the reading.
    pub interrupt: &'a crate::interrupt::Interrupt,
}

impl Sink for Whole<'_> {
    fn handle_packet(&mut self, packet: &Packet<'_>) {
        self.analysis.handle_packet(packet);
    }

    fn handle_error(&mut self, error: Malformed) {
        self.analysis.file.errors.push(error);
    }

    fn handle_dropped(&mut self, packets: u64) {
        self.analysis.dropped = packets;
    }

    fn is_over(&mut self) -> bool {
        self.interrupt.came()
    }
}
