//! Reasons for dropped packets, which all records use: of a queue, of the MAC (IEEE 802.11-2020,
//! clause 10), of a wire or of a coded link. Left out: the place of the drop, and losses on the air
//! that a retransmission repairs.

/// Reason for dropping a packet.
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
    /// The packet was lost on a wire.
    WireLoss,
    /// A receiver could not decode a group-addressed frame.
    GroupLoss,
    /// The packet arrived before the start of the recipient's reorder window, which had advanced.
    Duplicate,
    /// A fragment whose packet was not completed: the receiver's buffer was full or
    /// its timer expired.
    Reassembly,
    /// The station left its channel and discarded its unsent packets.
    OffChannel,
    /// The station left or lost its access point, and has not joined another one.
    NotAssociated,
    /// The access point that held the packet, or to which the packet came, has failed, or listens
    /// for radar before it sends.
    Failed,
    /// The access point's buffer for a station that cannot be reached was full.
    PowerSaveBuffer,
    /// The packet arrived after its recipient had given it up (pseudo retry-out).
    PseudoRetryOut,
    /// A coded link that carried the packet dropped it, or injected its loss.
    CodedLink,
    /// A coded link sent a later TCP acknowledgement of its flow in its place, which says as much.
    AckReplaced,
    /// No path leads to its destination.
    Unreachable,
}
