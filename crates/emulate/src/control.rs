//! Changes of a running emulation from outside: keys of its scenario, as a `[[change]]` would set
//! them. A separate thread does the work: it reads the scenario anew, compares it with the present
//! one, and tries it. The emulation's loop receives instants and changes. Changes therefore happen,
//! and are recorded, at their planned instants.

use lasthop_linux::OsError;
use lasthop_linux::clock::Clock;
use lasthop_linux::wake::Wake;
use lasthop_net::network::{Change, Network, NetworkError};
use lasthop_scenario::{Evolving, Knob, KnobKind, Recorded, Scenario, ScenarioError};
use lasthop_units::{Duration, Instant, Seed};
use lasthop_wifi::cell::AdjustError;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Time from the question to the instant of the change: for the computation and the message to the
/// loop.
const LEAD: Duration = Duration::from_millis(20);
/// Minimum part of that time which must remain when the loop gets the message; otherwise a longer
/// lead is tried.
const LEAD_LEFT: Duration = Duration::from_millis(2);
/// The longest lead; a scenario that takes longer is changed late.
const LEAD_MAX: Duration = Duration::from_secs(5);
/// Instants are recorded in these units.
const RESOLUTION: Duration = Duration::from_millis(1);

/// Reason why no change was made.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The emulation has not begun yet.
    #[error("the emulation has not begun yet")]
    NotBegun,
    /// The emulation is over.
    #[error("the emulation is over")]
    Over,
    /// A setting is wrong, or cannot change while the emulation runs.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The network does not allow the change.
    #[error(transparent)]
    Refused(#[from] AdjustError),
    /// The scenario has no network that can run.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The system has no descriptors left.
    #[error(transparent)]
    Os(#[from] OsError),
}

impl ControlError {
    /// Returns the answer for the client: the keys and their errors, a line each.
    pub fn to_text(&self) -> String {
        let Self::Scenario(error) = self else { return self.to_string() };
        let told = error.problems().iter().map(|problem| match &problem.key[..] {
            "" => problem.message.clone(),
            key => format!("{key}: {}", problem.message),
        });
        told.collect::<Vec<_>>().join("\n")
    }
}

/// A handle that changes an emulation from outside. Clones change the same emulation.
#[derive(Clone, Debug)]
pub struct Control {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Held during the computation of a change, so that changes come one after the other.
    state: Mutex<State>,
    phase: Mutex<Phase>,
    orders: Mutex<Vec<Order>>,
    wake: Wake,
}

#[derive(Debug)]
struct State {
    evolving: Evolving,
    /// A network without packets, to try changes on.
    tried: Network,
    /// Planned changes after the last one, in ascending order.
    planned: Vec<(Instant, Change)>,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Before,
    Running(Clock),
    After,
}

/// Planned changes from an instant on.
type Order = (Instant, Vec<(Instant, Change)>);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Control {
    /// Returns the handle of the emulation of `scenario`, which is its run `run`; messages call the
    /// scenario `file`.
    ///
    /// # Errors
    /// If the scenario does not keep the text that it was read from or has no network that can be
    /// run, or if the system has no descriptors left.
    pub fn new(file: &str, scenario: &Scenario, run: u64) -> Result<Self, ControlError> {
        let seed = Seed::new(scenario.seed, run);
        let mut config = scenario.network_for(seed);
        let wires = config.wires.iter_mut().flat_map(|wire| &mut wire.directions);
        wires.for_each(|direction| direction.adjustable = true);
        let tried = Network::new(&config, seed)?;
        let evolving = Evolving::new(file, scenario, seed)?;
        let shared = Shared {
            state: Mutex::new(State { evolving, tried, planned: scenario.changes_in(seed) }),
            phase: Mutex::new(Phase::Before),
            orders: Mutex::new(Vec::new()),
            wake: Wake::new()?,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Sets keys (`path=value`), some milliseconds from now; returns the instant and the settings.
    ///
    /// # Errors
    /// See [`ControlError`]; nothing is changed then.
    pub fn set(&self, sets: &[String]) -> Result<Recorded, ControlError> {
        let mut state = lock(&self.shared.state);
        let mut lead = LEAD;
        loop {
            let Phase::Running(clock) = *lock(&self.shared.phase) else { return Err(self.not()) };
            let at = rounded(clock.now() + lead);
            let mut evolving = state.evolving.clone();
            let changes = evolving.set(at - Instant::ZERO, sets)?;
            let mut tried = state.tried.clone();
            let own = state.planned.iter().take_while(|(instant, _)| *instant <= at);
            let now = changes.iter().take_while(|(instant, _)| *instant <= at);
            for (_, change) in own.chain(now) {
                tried.change(Instant::ZERO, change)?;
            }
            let later = changes.iter().filter(|(instant, _)| *instant > at);
            let planned: Vec<_> = later.cloned().collect();
            let mut then = tried.clone();
            for (_, change) in &planned {
                then.change(Instant::ZERO, change)?;
            }
            if at < clock.now() + LEAD_LEFT && lead < LEAD_MAX {
                lead = lead + lead;
                continue;
            }
            let recorded = evolving.recorded().last().expect("it was set").clone();
            *state = State { evolving, tried, planned };
            lock(&self.shared.orders).push((at, changes));
            self.shared.wake.ring();
            return Ok(recorded);
        }
    }

    fn not(&self) -> ControlError {
        match *lock(&self.shared.phase) {
            Phase::Before => ControlError::NotBegun,
            _ => ControlError::Over,
        }
    }

    /// Returns the settings that can be changed, with their present values.
    pub fn knobs(&self) -> Vec<Knob> {
        let now = match *lock(&self.shared.phase) {
            Phase::Running(clock) => clock.now() - Instant::ZERO,
            _ => Duration::ZERO,
        };
        lock(&self.shared.state).evolving.knobs(now)
    }

    /// Returns the settings made so far.
    pub fn recorded(&self) -> Vec<Recorded> {
        lock(&self.shared.state).evolving.recorded().to_vec()
    }

    /// Returns the scenario as a file with the settings made, and with the emulation's duration.
    pub fn source_text(&self, duration: Duration) -> String {
        let whole = rounded(Instant::ZERO + duration) - Instant::ZERO;
        lock(&self.shared.state).evolving.source_text(whole)
    }

    /// Returns the answer to a question at a [door](lasthop_linux::door): sets keys, or lists the
    /// possible ones.
    pub(crate) fn answer(&self, sets: &[String]) -> Result<String, String> {
        if sets.is_empty() || sets == [ALL] {
            return Ok(listed(&self.knobs(), !sets.is_empty()));
        }
        let recorded = self.set(sets).map_err(|why| why.to_text())?;
        let lines = recorded.texts().map(|(path, value)| format!("{path} = {value}\n"));
        Ok(format!("at {} s\n{}", recorded.at.as_secs_f64(), lines.collect::<String>()))
    }

    /// Notes the beginning of the emulation.
    pub(crate) fn begin(&self, clock: Clock) {
        *lock(&self.shared.phase) = Phase::Running(clock);
    }

    /// Notes the end of the emulation.
    pub(crate) fn end(&self) {
        *lock(&self.shared.phase) = Phase::After;
    }

    /// The descriptor that is readable while changes wait for the loop.
    pub(crate) fn wake(&self) -> BorrowedFd<'_> {
        self.shared.wake.as_fd()
    }

    /// Takes the changes that the loop has to plan.
    pub(crate) fn take(&self) -> Vec<Order> {
        self.shared.wake.clear();
        std::mem::take(&mut *lock(&self.shared.orders))
    }
}

/// Question for the knobs of all nodes, instead of keys and values.
pub const ALL: &str = "*";

/// Largest number of groups whose names are listed if their knobs are not.
const NAMES_MAX: usize = 3;

/// The knobs, a line each; without `all` those of nodes that come later are only counted.
fn listed(knobs: &[Knob], all: bool) -> String {
    let (shown, others): (Vec<&Knob>, Vec<&Knob>) =
        knobs.iter().partition(|knob| all || knob.is_first);
    let mut text: String = shown.into_iter().map(line).collect();
    let mut groups: Vec<&str> = others.iter().map(|knob| &*knob.group).collect();
    groups.dedup();
    if let Some(last) = groups.last() {
        let number = others.len();
        let names = match groups.len() {
            ..=NAMES_MAX => groups.join(", "),
            several => format!("{}, .. {last}, {several} in all", groups[..2].join(", ")),
        };
        text.push_str(&format!("{number} keys of {names}: lasthop set --all lists them\n"));
    }
    text
}

/// One line about a setting: its key, its present value and the allowed ones.
fn line(knob: &Knob) -> String {
    let Knob { path, label, kind, .. } = knob;
    match kind {
        KnobKind::Number { value, unit, min, max, .. } => {
            format!("{path}={value}{unit}  {label}, {min} to {max}{unit}\n")
        }
        KnobKind::Choice { value, choices } => {
            format!("{path}={value}  {label}: {}\n", choices.join(", "))
        }
    }
}

/// The next instant that can be recorded.
fn rounded(at: Instant) -> Instant {
    let unit = RESOLUTION.as_nanos();
    Instant::from_nanos(at.as_nanos().next_multiple_of(unit))
}
