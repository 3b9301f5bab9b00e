//! Facts about a monitor interface that the daemon reports, with or without the feature `monitor`.

/// Reason why a monitor interface delivers no datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deaf {
    /// The interface is down.
    Down,
    /// For some seconds only encrypted data frames were heard, this many, and no datagram of the
    /// link.
    Protected(u64),
}

/// Counts of captured frames. Frames of other kinds or protocols are in none of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MonitorCounts {
    /// Datagrams of the link that were taken.
    pub datagrams: u64,
    /// Frames with such datagrams that were left out as retransmissions.
    pub retries: u64,
    /// Frames whose FCS is wrong, by radiotap's flag or by the FCS itself.
    pub bad_fcs: u64,
    /// Encrypted data frames, of which FCS and addresses are not looked at.
    pub protected: u64,
    /// Fragments of data frames that are not encrypted.
    pub fragments: u64,
    /// Frames whose radiotap or MAC header, A-MSDU or datagram cannot be read.
    pub malformed: u64,
}
