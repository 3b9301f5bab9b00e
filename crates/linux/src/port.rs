//! Frames in and out of the nodes' interfaces, TAP devices or veth pairs.
//!
//! A read returns one frame and never blocks. A write takes a batch: the packets of
//! one A-MPDU are delivered together, and a packet socket sends them by one system
//! call.

use super::OsError;
use super::ring::PacketRing;
use nix::errno::Errno;
use nix::unistd::{read, write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The devices that the supervisor made.
#[derive(Debug)]
pub enum Devices {
    /// A TAP device for each node.
    Tap(Vec<OwnedFd>),
    /// A packet socket that receives nothing yet, and the index of each node's veth end.
    Veth {
        /// The packet socket of the port.
        socket: OwnedFd,
        /// The interface index of each node.
        interfaces: Vec<u32>,
    },
}

/// All nodes' interfaces.
#[derive(Debug)]
pub enum Ports {
    /// The TAP device of each node.
    Tap(Vec<OwnedFd>),
    /// One ring for all veth ends.
    Veth {
        /// The ring of packets that the kernel fills.
        ring: PacketRing,
        /// The interface index of each node.
        interfaces: Vec<u32>,
        /// The node of each interface index.
        nodes: Vec<Option<u16>>,
    },
}

impl Ports {
    /// Starts to receive frames of up to `frame_bytes_max` bytes.
    pub fn new(devices: Devices, frame_bytes_max: usize) -> Result<Self, OsError> {
        match devices {
            Devices::Tap(taps) => Ok(Self::Tap(taps)),
            Devices::Veth { socket, interfaces } => {
                let mut nodes = Vec::new();
                for (node, &interface) in interfaces.iter().enumerate() {
                    let index = interface as usize;
                    nodes.resize(nodes.len().max(index + 1), None);
                    nodes[index] = Some(node as u16);
                }
                let ring = PacketRing::new(socket, frame_bytes_max)?;
                Ok(Self::Veth { ring, interfaces, nodes })
            }
        }
    }

    /// The descriptors to be waited for; the position is the `door` of [`Ports::read`].
    pub fn doors(&self) -> Vec<BorrowedFd<'_>> {
        match self {
            Self::Tap(taps) => taps.iter().map(AsFd::as_fd).collect(),
            Self::Veth { ring, .. } => vec![ring.as_fd()],
        }
    }

    /// Reads a frame from `door` into `buffer`. Returns the node that sent it and its length
    /// in bytes; `None` if none waits.
    pub fn read(&mut self, door: usize, buffer: &mut [u8]) -> Option<(u16, usize)> {
        match self {
            Self::Tap(taps) => {
                let length = read(&taps[door], buffer).ok()?;
                Some((door as u16, length))
            }
            Self::Veth { ring, nodes, .. } => loop {
                let (interface, length) = ring.next(buffer)?;
                // Anything else (the namespace's loopback) is not a node's.
                if let Some(node) = nodes.get(interface as usize).copied().flatten() {
                    return Some((node, length));
                }
            },
        }
    }

    /// Delivers each of `frames` to its node. Returns the number of frames refused, such as
    /// by an interface that a program has set down.
    pub fn write(&mut self, frames: &[(u16, &[u8])]) -> usize {
        match self {
            Self::Tap(taps) => {
                let refused = |(node, frame): &&(u16, &[u8])| loop {
                    match write(&taps[usize::from(*node)], frame) {
                        Err(Errno::EINTR) => {}
                        result => return result.is_err(),
                    }
                };
                frames.iter().filter(refused).count()
            }
            Self::Veth { ring, interfaces, .. } => {
                let out: Vec<(u32, &[u8])> =
                    frames.iter().map(|&(node, f)| (interfaces[usize::from(node)], f)).collect();
                ring.send(&out)
            }
        }
    }

    /// Returns how many frames to write at once: as many as one system call takes, but so few
    /// that the first is not delayed much by the last.
    pub fn batch(&self) -> usize {
        match self {
            Self::Tap(_) => 1,
            Self::Veth { .. } => 16,
        }
    }

    /// Returns the number of frames that were dropped since the last call because they were
    /// not read in time.
    pub fn drops(&self) -> u64 {
        match self {
            // A TAP device counts them itself: `device::transmit_drops`.
            Self::Tap(_) => 0,
            Self::Veth { ring, .. } => ring.drops(),
        }
    }
}
