//! Why packets are dropped: the reasons that all records use, each of a queue, of
//! the MAC (IEEE 802.11-2020, clause 10), of a wire or of a coded link. Leaves out
//! where the drop happened, and losses on the air that a retransmission repairs.

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// The queue was full.
    QueueFull,
    /// Active queue management dropped it (CoDel, FQ-CoDel).
    ActiveQueue,
    /// The retry limit of the MAC was reached.
    RetryLimit,
    /// The lifetime of the MSDU ended.
    Lifetime,
    /// It was lost on a wire.
    WireLoss,
    /// A receiver could not decode a group-addressed frame.
    GroupLoss,
    /// It arrived before the start of the recipient's reorder window, which had
    /// moved on.
    Duplicate,
    /// A fragment whose packet was not completed: the receiver's buffer was full or
    /// its timer expired.
    Reassembly,
    /// The station left its channel and discarded what was not sent yet.
    OffChannel,
    /// The access point's buffer for a station that cannot be reached was full.
    PowerSaveBuffer,
    /// It arrived after its recipient had given it up (pseudo retry-out).
    PseudoRetryOut,
    /// A coded link that carried it dropped it, or it was lost there by injection.
    CodedLink,
    /// No path leads to its destination.
    Unreachable,
}
