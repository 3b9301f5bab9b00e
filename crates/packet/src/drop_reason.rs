//! Why packets are given up: the words that records of all kinds share.

/// Why a packet was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// No room in the queue.
    QueueFull,
    /// Dropped by active queue management (CoDel, FQ-CoDel).
    ActiveQueue,
    /// The retry limit was reached.
    RetryLimit,
    /// The MSDU lifetime was over.
    Lifetime,
    /// Lost on a wire.
    WireLoss,
    /// A group-addressed frame that the receiver could not decode.
    GroupLoss,
    /// Arrived behind the reorder window: the gap had been given up.
    Duplicate,
    /// A part of a packet whose receiver had no room or no patience for the rest.
    Reassembly,
    /// The station left its channel and gave up what was not sent yet.
    OffChannel,
    /// The access point holds no more packets for a station that cannot be reached.
    PowerSaveBuffer,
    /// Arrived after its receiver had given it up (pseudo retry-out).
    PseudoRetryOut,
    /// Dropped by a coded link that carried it, or lost there by injection.
    CodedLink,
}
