//! Links that a device may use (IEEE 802.11be-2024, 35.3.7), and those that it chooses of them.
//!
//! A mapping and a link that is switched off hold for both directions; the choice is the sender's.

use super::config::{DeviceConfig, LinkChoice, LinkSet};
use super::edcaf::EDCAFS;
use crate::station::StationId;
use alloc::vec::Vec;
use lasthop_units::{Bitrate, Duration, Instant};

/// Time between two choices by load, and age of a delay at which its link is tried again: the usual
/// beacon interval, in which access points announce their load (9.4.2.27).
const INTERVAL: Duration = Duration::from_micros(102_400);
/// Weight of a new delay in the mean is one in 2^n, as in TCP's round-trip time (RFC 6298, 2.3).
const SMOOTHING: u32 = 3;

/// The links of one device.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LinkUse {
    mapping: [LinkSet; EDCAFS],
    pub off: LinkSet,
    choice: LinkChoice,
    /// Next choice.
    next: Instant,
    /// Time that others were on the air until the last choice, by link, as their counts have it.
    busy: Vec<Duration>,
    /// Time since the last choice before the counts were set to zero.
    cleared: Vec<Duration>,
    since: Instant,
    peers: Vec<Choice>,
}

/// The choice for one peer.
#[derive(Clone, Debug, PartialEq)]
struct Choice {
    peer: StationId,
    links: LinkSet,
    delays: Vec<Delay>,
}

/// Time that a link needs from contention to the acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
struct Delay {
    /// `None` before the first acknowledgement.
    mean: Option<Duration>,
    /// End of the last exchange; none yet at 0.
    tried: Instant,
    /// Time that exchanges without an answer took since the last acknowledgement.
    failed: Duration,
}

impl LinkUse {
    pub fn new(config: &DeviceConfig) -> Self {
        Self {
            mapping: config.mapping,
            off: config.off,
            choice: config.choice,
            next: Instant::ZERO,
            busy: alloc::vec![Duration::ZERO; config.links.len()],
            cleared: alloc::vec![Duration::ZERO; config.links.len()],
            since: Instant::ZERO,
            peers: Vec::new(),
        }
    }

    /// Links for the data of an access category, whether or not they are switched off.
    pub fn mapping(&self, edcaf: usize) -> LinkSet {
        self.mapping[edcaf]
    }

    /// Links for the data of an access category.
    pub fn mapped(&self, edcaf: usize) -> LinkSet {
        self.mapping[edcaf].without(self.off)
    }

    /// Of these links those that the sender takes for data to `peer`.
    pub fn chosen(&self, peer: StationId, allowed: LinkSet) -> LinkSet {
        let choice = self.peers.iter().find(|choice| choice.peer == peer);
        let chosen = choice.map_or(allowed, |choice| choice.links.both(allowed));
        if chosen.is_empty() { allowed } else { chosen }
    }

    /// Whether the sender has to choose at `now`.
    pub fn is_due(&self, now: Instant) -> bool {
        self.choice != LinkChoice::First && now >= self.next
    }

    /// Chooses links for these peers, each with the rates of its links (`None` for links that it
    /// lacks or may not use); `busy` is the time that others have been on the air, by link.
    pub fn choose(
        &mut self,
        now: Instant,
        busy: Vec<Duration>,
        peers: impl Iterator<Item = (StationId, Vec<Option<Bitrate>>)>,
    ) {
        let over = now - self.since;
        let share = |link: usize| {
            let busy = self.cleared[link] + busy[link].saturating_sub(self.busy[link]);
            1.0 - (busy.as_nanos() as f64 / over.as_nanos().max(1) as f64).min(1.0)
        };
        for (peer, rates) in peers {
            let place = self.peers.iter().position(|choice| choice.peer == peer);
            let place = place.unwrap_or_else(|| {
                let delays = alloc::vec![Delay::default(); rates.len()];
                self.peers.push(Choice { peer, links: LinkSet::ALL, delays });
                self.peers.len() - 1
            });
            let choice = &mut self.peers[place];
            choice.links = match self.choice {
                LinkChoice::First => LinkSet::ALL,
                LinkChoice::Load => {
                    let free =
                        |link: usize| rates[link].map(|rate| rate.as_bps() as f64 * share(link));
                    best(rates.len(), |one, best| free(one) > free(best))
                }
                LinkChoice::Delay => choice.by_delay(now, &rates),
            };
        }
        self.busy = busy;
        self.cleared.fill(Duration::ZERO);
        self.since = now;
        self.next = now + INTERVAL;
    }

    /// Keeps what others were on the air since the last choice, before the counts of it, `busy`, are
    /// set to zero.
    pub fn keep(&mut self, busy: &[Duration]) {
        for (link, busy) in busy.iter().enumerate() {
            self.cleared[link] += busy.saturating_sub(self.busy[link]);
            self.busy[link] = Duration::ZERO;
        }
    }

    /// Records that an exchange with `peer` on a link, for which it contended since `since`, ended
    /// at `now`.
    pub fn exchanged(
        &mut self,
        now: Instant,
        peer: StationId,
        link: usize,
        since: Instant,
        success: bool,
    ) {
        if self.choice != LinkChoice::Delay {
            return;
        }
        let Some(choice) = self.peers.iter_mut().find(|choice| choice.peer == peer) else { return };
        choice.delays[link].add(now, now - since, success);
        // A link that was tried is judged at once.
        self.next = self.next.min(now);
    }
}

impl Choice {
    /// The link with the shortest delay, and those whose delay is not known or too old.
    fn by_delay(&self, now: Instant, rates: &[Option<Bitrate>]) -> LinkSet {
        let known = |link: usize| rates[link].and(self.delays[link].known());
        let is_less = |one: usize, best: usize| match (known(one), known(best)) {
            (Some(one), Some(best)) => one < best,
            (one, best) => one.is_some() && best.is_none(),
        };
        let is_old = |delay: &Delay| delay.tried == Instant::ZERO || delay.tried + INTERVAL <= now;
        let old = (0..rates.len()).filter(|link| is_old(&self.delays[*link]));
        best(rates.len(), is_less).with(LinkSet::from_numbers(old))
    }
}

impl Delay {
    /// The mean, or the time since which the link fails if that is longer; `None` before the first
    /// acknowledgement.
    fn known(&self) -> Option<Duration> {
        self.mean.map(|mean| mean.max(self.failed))
    }

    fn add(&mut self, now: Instant, took: Duration, success: bool) {
        self.tried = now;
        self.failed += took;
        if !success {
            return;
        }
        let took = core::mem::replace(&mut self.failed, Duration::ZERO);
        let part = |of: Duration| Duration::from_nanos(of.as_nanos() >> SMOOTHING);
        self.mean = Some(self.mean.map_or(took, |mean| mean - part(mean) + part(took)));
    }
}

/// The first link that is better than all before it.
fn best(links: usize, is_better: impl Fn(usize, usize) -> bool) -> LinkSet {
    let best = (1..links).fold(0, |best, link| if is_better(link, best) { link } else { best });
    LinkSet::from_numbers([best])
}
