//! One of the links of an end to its neighbour: the state of its path, the search for its MTU, the
//! longest datagrams received on it, and its pulses; and the choice among several links. Lengths are
//! in bytes. Leaves out the content of datagrams, which is the session's.

use crate::config::PaceConfig;
use crate::keys::PulseSeal;
use crate::path_mtu::{Longest, PathAnswers, PathMtu};
use crate::path_state::{Cargo, PathState};
use crate::stats::LinkStats;
use lasthop_units::{Duration, Instant};

/// Interval of pulses while a session is young, so that both ends learn soon that both have it, and
/// later.
pub(super) const PULSE_INTERVAL: [Duration; 2] =
    [Duration::from_millis(100), Duration::from_millis(250)];
/// An acknowledgement goes on a link on which something arrived within this time, and on which
/// something arrived at the other end within the other time, two pulses: the others may be dead.
const ANSWERED_LATELY: Duration = Duration::from_millis(600);
const HEARD_LATELY: Duration = Duration::from_millis(100);
/// Assumed round-trip time before the first measurement, to compare links.
const ROUND_TRIP_FIRST: Duration = Duration::from_millis(100);
/// A datagram waits at most this long for a link on which it arrives sooner.
const SOONER_MAX: Duration = Duration::from_millis(5);

/// Probability of a silence by chance, below which a dead link is reported: some 3.5e5 pulses a day
/// then cause less than one report.
const SILENT_BY_CHANCE: f64 = 1e-6;

/// Probes are sent at once if answers are not expected later than this.
const PROBED_AT_ONCE: Duration = Duration::from_millis(500);

/// A link to the neighbour.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Link {
    pub path: PathState,
    /// The search for the path's MTU, if no node is between the ends and the mode
    /// is a stream.
    pub path_mtu: Option<PathMtu>,
    /// The longest datagrams received from the other end.
    pub longest: Longest,
    /// The seals of the pulses of both ends on this link.
    pub ours: PulseSeal,
    pub theirs: PulseSeal,
    /// Whether it is one of several and seems dead: only pulses try it.
    pub is_dead: bool,
}

/// The parameters of a link.
#[derive(Clone, Debug)]
pub(super) struct LinkConfig {
    pub pace: Option<PaceConfig>,
    pub encoder_timeout: Duration,
    /// The longest datagram, if the path's MTU is searched for.
    pub datagram_bytes_max: Option<u16>,
}

impl Link {
    pub fn new(config: &LinkConfig, ours: PulseSeal, theirs: PulseSeal, now: Instant) -> Self {
        Self {
            path: PathState::new(config.pace, config.encoder_timeout, now),
            path_mtu: config.datagram_bytes_max.map(|max| PathMtu::new(max, now)),
            longest: Longest::new(now),
            ours,
            theirs,
            is_dead: false,
        }
    }

    /// The conditions under which the other end answers a probe.
    pub fn answers(&self) -> PathAnswers {
        let gets_through =
            (1.0 - self.path.loss.probability()) * (1.0 - self.path.loss_in().unwrap_or(0.0));
        PathAnswers { loss: 1.0 - gets_through, round_trip: self.path.lateness() }
    }

    /// Returns the time at which a probe is due. If the other end took long to answer, no probe is
    /// sent before the time of answers is known: airtime is scarce then, and probes are long.
    pub fn probe_at(&self) -> Option<Instant> {
        if self.path.round_trip().is_none() && self.path.lateness() > PROBED_AT_ONCE {
            return None;
        }
        self.path_mtu.as_ref().filter(|_| !self.is_dead)?.poll_timeout()
    }

    /// Length of the longest datagram that the path is known to carry, if it is searched for.
    pub fn limit(&self) -> Option<u16> {
        self.path_mtu.as_ref().map(PathMtu::limit)
    }

    /// The values of the link.
    pub fn stats(&self, now: Instant, number: u8) -> LinkStats {
        LinkStats {
            link: number,
            datagram_bytes_sent: self.path.bytes_sent(),
            is_alive: !self.is_dead,
            heard: u64::from(self.path.heard_count()),
            loss_in: self.path.loss_in(),
            loss_out: self.path.loss.known(),
            round_trip: self.path.round_trip(),
            pace_bps: self.path.pace_bps(now),
        }
    }

    /// Whether datagrams on it arrived lately.
    pub fn is_answered(&self, now: Instant) -> bool {
        self.path.is_answered_lately(now, ANSWERED_LATELY)
    }

    /// Whether losses alone do not explain the silence, counted in pulses. Only pulses are sure to
    /// be sent: an end that only acknowledges sends little else.
    pub fn is_silent_for_sure(&self, now: Instant) -> bool {
        let loss = self.path.loss.probability().max(f64::MIN_POSITIVE);
        let pulses = libm::log(SILENT_BY_CHANCE) / libm::log(loss);
        let silent = Duration::from_secs_f64(PULSE_INTERVAL[1].as_secs_f64() * pulses);
        !self.path.is_answered_lately(now, silent)
    }

    fn round_trip(&self) -> Duration {
        self.path.round_trip().unwrap_or(ROUND_TRIP_FIRST)
    }

    /// Whether it may carry symbols in datagrams of up to `longest` bytes.
    fn is_usable(&self, longest: u16) -> bool {
        !self.is_dead && self.limit().is_none_or(|limit| limit >= longest)
    }
}

/// Returns the links that may carry symbols in datagrams of up to `longest` bytes; all, if none
/// seems to.
pub(super) fn usable(links: &[Link], longest: u16) -> impl Iterator<Item = usize> + Clone {
    let is_any = links.iter().any(|link| link.is_usable(longest));
    (0..links.len()).filter(move |&at| !is_any || links[at].is_usable(longest))
}

/// Returns the link that sends the next symbol now, if one may: the one on which it arrives first.
/// `waiting` bytes wait: if they soon fit on a faster link, they wait for it.
pub(super) fn choose(links: &[Link], longest: u16, now: Instant, waiting: u64) -> Option<usize> {
    if let [link] = links {
        return link.path.may_send(now).is_ok().then_some(0);
    }
    let may_send = |&at: &usize| links[at].path.may_send(now).is_ok();
    let usable = usable(links, longest);
    let best = usable.clone().filter(may_send).min_by_key(|&at| links[at].round_trip())?;
    let is_sooner_on = |at: usize| {
        let Err(Some(next_at)) = links[at].path.may_send(now) else { return false };
        let earlier = links[best].round_trip().saturating_sub(links[at].round_trip());
        let rate = links[at].path.pace_bps(now).max(1) as f64 / 8.0;
        let gone_at = next_at + Duration::from_secs_f64(waiting as f64 / rate);
        gone_at <= now + earlier.min(SOONER_MAX)
    };
    let mut usable = usable;
    (!usable.any(is_sooner_on)).then_some(best)
}

/// Returns the link on which an acknowledgement goes: the shortest of those on which datagrams
/// arrived lately, in both directions.
pub(super) fn for_ack(links: &[Link], now: Instant) -> usize {
    let is_answered = |at: &usize| links[*at].is_answered(now);
    let is_any = (0..links.len()).any(|at| is_answered(&at));
    let answered = (0..links.len()).filter(|at| !is_any || is_answered(at));
    let heard_at = |at: &usize| links[*at].path.heard_at();
    let newest = answered.clone().max_by_key(heard_at).unwrap_or_default();
    let is_heard = |at: &usize| *at == newest || now < heard_at(at) + HEARD_LATELY;
    answered.filter(is_heard).min_by_key(|&at| links[at].round_trip()).unwrap_or_default()
}

/// Marks the dead links of several. A link that dies gives up its cargo in flight. If all links seem
/// dead, none counts as dead.
pub(super) fn look(links: &mut [Link], now: Instant, landed: &mut dyn FnMut(Cargo)) {
    if links.len() < 2 {
        return;
    }
    let is_any_alive = links.iter().any(|link| !link.path.is_dead(now));
    for link in links {
        let is_dead = is_any_alive && link.path.is_dead(now);
        if is_dead && !link.is_dead {
            link.path.give_up(landed);
        }
        link.is_dead = is_dead;
    }
}

/// The mean of a value of links, weighted with their rates.
pub(super) fn mean(links: &[Link], now: Instant, value: impl Fn(&Link) -> f64) -> f64 {
    if let [link] = links {
        return value(link);
    }
    let weight = |link: &&Link| if link.is_dead { 0.0 } else { link.path.pace_bps(now) as f64 };
    let total: f64 = links.iter().map(|link| weight(&link)).sum();
    let sum: f64 = links.iter().map(|link| weight(&link) * value(link)).sum();
    if total > 0.0 { sum / total } else { value(&links[0]) }
}

/// The same of a value that is known of some links only; `None` if of none.
pub(super) fn mean_known(
    links: &[Link],
    now: Instant,
    value: impl Fn(&Link) -> Option<f64>,
) -> Option<f64> {
    let known = links.iter().find_map(&value)?;
    Some(mean(links, now, |link| value(link).unwrap_or(known)))
}
