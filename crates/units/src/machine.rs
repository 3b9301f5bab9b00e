//! What every state machine of the workspace promises its driver.
//!
//! A machine owns no clock: `now` comes in with every call and never
//! decreases. The driver mutates once (`handle_*`), then drains the polls until
//! only a timeout is left. Machines add their own `handle_*` and `poll_*`; this
//! trait is the part that drivers and the contract test share.

use crate::Instant;
use core::fmt::Debug;

/// A pure state machine in time.
///
/// Contract, checked for every machine by one generic test:
/// - `handle_timeout(now)` before the polled instant changes nothing;
/// - after `handle_timeout(t)` with `t` the polled instant, the next polled
///   instant is later than `t` or `None` within finitely many calls;
/// - `poll_timeout` takes `&self`: asking twice gives the same answer.
pub trait Machine {
    /// Why the machine wants to be woken.
    type Reason: Copy + Debug + PartialEq;

    /// The next instant at which the machine must be woken, and why.
    fn poll_timeout(&self) -> Option<(Instant, Self::Reason)>;

    /// Does whatever is due at `now`; nothing if nothing is.
    fn handle_timeout(&mut self, now: Instant);
}
