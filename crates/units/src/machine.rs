//! The interface of every state machine of the workspace towards its driver.
//!
//! A machine owns no clock: `now` is an argument of every call and never decreases.
//! The driver calls one `handle_*`, then drains the polls until only a timeout is
//! left. Machines have their own `handle_*` and `poll_*` functions; this trait is
//! the part that drivers and the contract test share. Leaves out I/O and threads.

use crate::Instant;
use core::fmt::Debug;

/// A state machine that gets the time as an argument and does no I/O.
///
/// The contract, which one generic test checks for every machine:
/// - `handle_timeout(now)` before the polled instant changes nothing;
/// - after `handle_timeout(t)` at the polled instant `t`, the next polled instant
///   is later than `t`, or `None`, within finitely many calls;
/// - `poll_timeout` takes `&self`: a second call gives the same answer.
///
/// A machine that sends beacons, and a driver that jumps from one wake-up to the next:
///
/// ```
/// use lasthop_units::{Duration, Instant, Machine};
///
/// struct Beacons {
///     next: Instant,
///     sent: u32,
/// }
///
/// impl Machine for Beacons {
///     type Reason = &'static str;
///
///     fn poll_timeout(&self) -> Option<(Instant, Self::Reason)> {
///         Some((self.next, "beacon"))
///     }
///
///     fn handle_timeout(&mut self, now: Instant) {
///         if now >= self.next {
///             self.sent += 1;
///             self.next += Duration::from_micros(102_400);
///         }
///     }
/// }
///
/// let end = Instant::ZERO + Duration::from_secs(1);
/// let mut beacons = Beacons { next: Instant::ZERO, sent: 0 };
/// while let Some((now, _)) = beacons.poll_timeout().filter(|(at, _)| *at < end) {
///     beacons.handle_timeout(now);
/// }
/// assert_eq!(beacons.sent, 10);
/// ```
pub trait Machine {
    /// Reason for the next wake-up.
    type Reason: Copy + Debug + PartialEq;

    /// The next instant at which the driver must wake the machine, and the reason.
    fn poll_timeout(&self) -> Option<(Instant, Self::Reason)>;

    /// Performs the steps that are due at `now`, if there are any.
    fn handle_timeout(&mut self, now: Instant);
}
