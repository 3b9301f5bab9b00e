//! The events of the loop, for the daemon and for those that it lets register their own.

/// Events that wake the loop, beside time and signals.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// Packets of the TUN device.
    Tun,
    /// Datagrams of the link.
    Link,
    /// Frames of the monitor interface.
    Monitor,
    /// Space in the link, while it is full.
    Writable,
    /// A question at the control socket.
    Control,
    /// A connection to the port for metrics.
    Metrics,
    /// A guest of that port, by position.
    Guest(usize),
}
