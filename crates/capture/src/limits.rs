//! Times and intervals that several analyses have in common.

/// Time without frames after which a link or a flow is idle, in ns. It exceeds the time after which
/// any MAC, and nearly every TCP, retransmits. Idle links and flows use less memory.
pub(crate) const IDLE_NS: u64 = 60_000_000_000;
/// Number of refused links or flows after a search without idle ones, before the next search.
pub(crate) const LOOK_EVERY: u32 = 1_000;
/// Longest time over which the MAC retransmits an MPDU, in ns.
pub(crate) const REPEATS_NS: u64 = 4_000_000_000;
