//! The walk of `tests/vm/guest/roam.sh` in virtual time, and its roams, measured from the frames on the
//! air as `tests/vm/host/roam.py` does. Instants of frames are the beginnings of their PPDUs, where
//! the captures of hwsim have those of their submission: intervals compare, since both wait alike for
//! the medium.

use super::{Roam, WalkModel};
use lasthop_hosts::sink::{Frames, Sink};
use lasthop_scenario::Scenario;
use lasthop_units::{Instant, Seed};
use lasthop_wifi::StationId;
use lasthop_wifi::event::{Event, Frame, FrameKind, Ppdu};
use lasthop_wifi::mac::roam::frame::{AuthenticationAlgorithm, RoamFrame};
use lasthop_wifi::station::Address;
use std::fmt::Write as _;

/// SNR in dB near an access point and far from it, with a step of 1 dB each second.
const NEAR_DB: i32 = 40;
const FAR_DB: i32 = 14;
/// Seconds before the first walk, and of rest at the end of each.
const FIRST_S: f64 = 20.0;
const REST_S: f64 = 14.0;
/// Seconds by which a walk is longer than that, so that beacons come at other instants of each.
const SHIFT_S: f64 = 0.137;
/// Noise of 20 MHz in whole dBm.
const NOISE_DBM: i32 = -94;
/// Time from one ping to the next, in seconds.
const PING_S: f64 = 0.02;
/// Difference of two phases of pings, in seconds, up to which they are the same; and runs to get there.
const IN_PHASE_S: f64 = 0.000_5;
const REPETITIONS_MAX: u32 = 8;
/// The frames of a roam come within these seconds of its reassociation.
const NEAR_S: f64 = 3.0;
/// Longest time between two frames of a scan, in seconds.
const SCAN_GAP_S: f64 = 1.0;

const SPAN_S: f64 = (NEAR_DB - FAR_DB) as f64;
const PERIOD_S: f64 = SPAN_S + REST_S + SHIFT_S;

/// The walks of a case.
#[derive(Clone, Debug)]
pub struct Walked {
    /// The roams, in their order.
    pub roams: Vec<Roam>,
}

/// Makes the walks of `linux`, with pings at the instants after each join at which Linux had them.
/// Roams follow beacons: a walk begins 392 beacon intervals after the last one, which are 2007 ping
/// intervals and 0.8 ms, so that all walks of a run have nearly one phase, a matter of chance.
pub fn walk(model: &WalkModel, linux: &[Roam]) -> Walked {
    let walks = linux.iter().map(|roam| roam.walk).max().unwrap_or_default();
    let mut roams = Vec::new();
    if model.forgets {
        for number in 0..walks {
            let first = FIRST_S + f64::from(number) * SHIFT_S;
            let theirs: Vec<_> = linux.iter().filter(|roam| roam.walk == number + 1).collect();
            for (roam, _) in
                in_phase(&[theirs.first().copied()], |phases| run(model, first, number, phases))
            {
                roams.push(Roam { walk: number + 1, ..roam });
            }
        }
    } else {
        let theirs = |walk| linux.iter().find(|roam| roam.walk == walk);
        let theirs: Vec<_> = (1..=walks).map(theirs).collect();
        let made = in_phase(&theirs, |phases| run(model, FIRST_S, 0, phases));
        roams.extend(made.into_iter().map(|(roam, _)| roam));
    }
    Walked { roams }
}

/// Repeats a run of as many walks as Linux' roams until pings have their phases. Each repetition moves
/// the pings, which may move the join by some milliseconds.
fn in_phase(linux: &[Option<&Roam>], run: impl Fn(&[f64]) -> Vec<(Roam, f64)>) -> Vec<(Roam, f64)> {
    let mut phases = vec![0.0; linux.len()];
    let mut made = run(&phases);
    for _ in 0..REPETITIONS_MAX {
        let mut is_in_phase = true;
        for (index, theirs) in linux.iter().enumerate() {
            let ours = made.iter().find(|(roam, _)| roam.walk as usize == index + 1);
            let Some((theirs, (_, joined))) = theirs.zip(ours) else { continue };
            let wanted = (joined + 1e-3 * theirs.first_data_ms) % PING_S;
            let apart = (wanted - phases[index]).abs();
            if apart.min(PING_S - apart) > IN_PHASE_S {
                (phases[index], is_in_phase) = (wanted, false);
            }
        }
        if is_in_phase {
            break;
        }
        made = run(&phases);
    }
    made
}

/// `snr_changes` of a link that is at `from` at first, a dB each second.
fn changes(from: i32, to: i32, first: f64, walks: u32) -> String {
    let mut out = String::new();
    for walk in 0..walks {
        let (start, end) = if walk % 2 == 0 { (from, to) } else { (to, from) };
        for step in 1..=(end - start).abs() {
            let at = first + f64::from(walk) * PERIOD_S + f64::from(step - 1);
            let snr = start + step * (end - start).signum();
            let _ = write!(out, "{{ from = \"{at:.3}s\", snr = \"{snr}dB\" }}, ");
        }
    }
    out
}

/// The flows of pings: each walk has its own, whose pings are at this phase in s.
fn pings(first: f64, phases: &[f64]) -> String {
    let mut out = String::new();
    for (index, phase) in phases.iter().enumerate() {
        // They change over while the station rests.
        let begin = |index: usize| match index {
            0 => 0.0,
            _ => ((first - 0.5 * REST_S + PERIOD_S * index as f64) / PING_S).floor() * PING_S,
        };
        let (start, stop) = (begin(index) + phase, begin(index + 1));
        let _ = write!(
            out,
            "[[flow]]\nname = \"ping{index}\"\nfrom = \"sta\"\nto = \"server\"\nkind = \"ping\"\n\
             interval = \"{PING_S}s\"\nstart = \"{start:.6}s\"\nstop = \"{stop:.6}s\"\n",
        );
    }
    out
}

fn scenario(model: &WalkModel, first: f64, phases: &[f64]) -> Scenario {
    let walks = phases.len() as u32;
    let pings = pings(first, phases);
    let seconds = first + f64::from(walks) * PERIOD_S;
    let (leaves, comes) =
        (changes(NEAR_DB, FAR_DB, first, walks), changes(FAR_DB, NEAR_DB, first, walks));
    let WalkModel { security, over_ds, threshold_dbm, .. } = model;
    let text = format!(
        r#"
name = "walk"
duration = "{seconds:.3}s"
warmup = "0s"
[channel]
width = "20MHz"
[[cell]]
name = "one"
network = "walk"
channel = 36
[[cell]]
name = "two"
network = "walk"
channel = 40
[[node]]
name = "ap1"
role = "access-point"
bss = "one"
[[node]]
name = "ap2"
role = "access-point"
bss = "two"
[[node]]
name = "sta"
role = "station"
bss = "one"
[node.roaming]
security = "{security}"
over_ds = {over_ds}
threshold = "{threshold_dbm}dBm"
short_interval = "5s"
long_interval = "60s"
channels = 8
[[node]]
name = "bridge"
role = "relay"
[[node]]
name = "server"
role = "host"
[[wire]]
between = ["ap1", "bridge"]
[[wire]]
between = ["ap2", "bridge"]
[[wire]]
between = ["bridge", "server"]
[[link]]
between = ["ap1", "ap2"]
snr = "30dB"
[[link]]
between = ["ap1", "sta"]
snr = "{NEAR_DB}dB"
snr_changes = [{leaves}]
[[link]]
between = ["ap2", "sta"]
snr = "{FAR_DB}dB"
snr_changes = [{comes}]
{pings}"#
    );
    lasthop_scenario::parse("walk.toml", &text, &[]).unwrap_or_else(|why| panic!("{why}"))
}

/// The roams of a run, and the instant of the last frame of each join in seconds.
fn run(model: &WalkModel, first: f64, number: u32, phases: &[f64]) -> Vec<(Roam, f64)> {
    let scenario = scenario(model, first, phases);
    let mut air = WalkAir { station: StationId(2), frames: Vec::new() };
    let seed = Seed::new(scenario.seed, number.into());
    lasthop_sim::simulate(&scenario, seed, &mut air, &mut lasthop_sim::go_on)
        .unwrap_or_else(|why| panic!("{why}"));
    // The step to 1 dB below the threshold, of the level behind.
    let steps = NEAR_DB + NOISE_DBM - (model.threshold_dbm - 1);
    air.roams(first, f64::from(steps - 1))
}

/// A frame to or from the station.
#[derive(Clone, Debug)]
struct WalkFrame {
    at: f64,
    name: &'static str,
    octets: u32,
    /// The access point at the other end.
    with: StationId,
    by_station: bool,
}

struct WalkAir {
    station: StationId,
    frames: Vec<WalkFrame>,
}

impl Sink for WalkAir {
    fn wants_events(&self) -> bool {
        true
    }

    fn event(&mut self, event: &Event, _frames: Frames<'_>) {
        let Event::Ppdu(Ppdu { start, transmitter, psdus, .. }) = event else { return };
        for psdu in psdus {
            let by_station = *transmitter == self.station;
            let with = match psdu.receiver {
                Address::Station(receiver) if by_station => receiver,
                Address::Station(receiver) if receiver == self.station => *transmitter,
                // A probe, whose access point does not matter.
                Address::Group if by_station => *transmitter,
                _ => continue,
            };
            for frame in &psdu.frames {
                if let Some(name) = name_of(frame).filter(|_| !frame.retry) {
                    let (at, octets) = (seconds(*start), frame.bytes.into());
                    self.frames.push(WalkFrame { at, name, octets, with, by_station });
                }
            }
        }
    }
}

fn seconds(at: Instant) -> f64 {
    (at - Instant::ZERO).as_secs_f64()
}

/// The name of a frame in `roam.csv`; `None` of control frames and others that do not matter.
fn name_of(frame: &Frame) -> Option<&'static str> {
    use AuthenticationAlgorithm::{Ft, Open, SaeCommit, SaeConfirm};
    Some(match frame.kind {
        FrameKind::Data | FrameKind::QosData { .. } => "data",
        FrameKind::Null { power_management } | FrameKind::QosNull { power_management, .. } => {
            if power_management {
                "null1"
            } else {
                "null0"
            }
        }
        FrameKind::ProbeRequest { .. } => "probe-request",
        FrameKind::Roam { frame, .. } => match frame {
            RoamFrame::Authentication { algorithm, sequence, .. } => match (algorithm, sequence) {
                (Open, 1) => "auth-open1",
                (Open, _) => "auth-open2",
                (Ft, 1) => "auth-ft1",
                (Ft, _) => "auth-ft2",
                (SaeCommit, _) => "auth-sae1",
                (SaeConfirm, _) => "auth-sae2",
            },
            RoamFrame::AssociationRequest { again: true } => "reassociation-request",
            RoamFrame::AssociationRequest { again: false } => "association-request",
            RoamFrame::AssociationResponse { again: true, .. } => "reassociation-response",
            RoamFrame::AssociationResponse { again: false, .. } => "association-response",
            RoamFrame::Handshake { message } => match message {
                1 => "eapol1",
                2 => "eapol2",
                3 => "eapol3",
                _ => "eapol4",
            },
            RoamFrame::FtRequest => "ft-request",
            RoamFrame::FtResponse { .. } => "ft-response",
            _ => "other",
        },
        _ => return None,
    })
}

impl WalkAir {
    /// The roams, in walks from `first` on whose level comes below the threshold `below` seconds after
    /// their begin.
    fn roams(&mut self, first: f64, below: f64) -> Vec<(Roam, f64)> {
        self.frames.sort_by(|a, b| a.at.total_cmp(&b.at));
        let responses = self.frames.iter().filter(|it| it.name.ends_with("association-response"));
        let mut here = StationId(0);
        let mut roams = Vec::new();
        for response in responses {
            let before = std::mem::replace(&mut here, response.with);
            roams.push(self.roam(response, before, first, below));
        }
        roams
    }

    fn roam(&self, response: &WalkFrame, old: StationId, first: f64, below: f64) -> (Roam, f64) {
        let (new, at) = (response.with, response.at);
        let is_new = |it: &&WalkFrame| {
            let is_of_ds = it.name.starts_with("ft-") && it.at < at;
            let is_other =
                matches!(it.name, "data" | "null0" | "null1" | "probe-request" | "other");
            (it.at - at).abs() < NEAR_S && (is_of_ds || it.with == new && !is_other)
        };
        let mine: Vec<_> = self.frames.iter().filter(is_new).collect();
        let is_auth = |it: &&WalkFrame| it.name.starts_with("auth") || it.name.starts_with("ft-");
        let auth: Vec<_> = mine.iter().copied().filter(|it| is_auth(it) && it.at <= at).collect();
        let last_key = mine.iter().rfind(|it| it.name.starts_with("eapol") && it.at > at);
        let is_request = |it: &&&WalkFrame| it.name.ends_with("association-request");
        let request = mine.iter().rfind(|it| is_request(it) && it.at <= at).expect("it asked").at;
        let begin = auth.first().map_or(request, |it| it.at);
        let authenticated = auth.last().map_or(request, |it| it.at);
        let end = last_key.map_or(at, |it| it.at);
        let data = || self.frames.iter().filter(|it| it.name == "data");
        let after = data().find(|it| it.with == new && it.at > end).map(|it| it.at);
        let last = data().rfind(|it| it.with == old && it.at < begin).map(|it| it.at);
        let scan = self.scan_before(begin);
        let walk = ((begin - first) / PERIOD_S).floor();
        let step = first + walk * PERIOD_S + below;
        let ms = |seconds: f64| 1e3 * seconds;
        let nan = f64::NAN;
        let roam = Roam {
            walk: walk as u32 + 1,
            scan_begin_ms: scan.map_or(nan, |[from, _]| ms(from - step)),
            begin_ms: ms(begin - step),
            scan_ms: scan.map_or(nan, |[from, to]| ms(to - from)),
            decision_ms: scan.map_or(nan, |[_, to]| ms(begin - to)),
            auth_ms: ms(authenticated - begin),
            wait_ms: ms(request - authenticated),
            assoc_ms: ms(at - request),
            handshake_ms: ms(end - at),
            first_data_ms: after.map_or(nan, |after| ms(after - end)),
            without_data_ms: after.zip(last).map_or(nan, |(after, last)| ms(after - last)),
            frames: mine
                .iter()
                .filter(|it| it.at >= begin && it.at <= end)
                .map(|it| (it.name.to_owned(), it.octets))
                .collect(),
        };
        (roam, end)
    }

    /// First and last frame of the last scan before this instant.
    fn scan_before(&self, begin: f64) -> Option<[f64; 2]> {
        let mut scan: Option<[f64; 2]> = None;
        let is_of_scan = |it: &&WalkFrame| {
            it.by_station
                && it.at < begin
                && (it.name.starts_with("null") || it.name == "probe-request")
        };
        for frame in self.frames.iter().rev().filter(is_of_scan) {
            match &mut scan {
                Some([from, _]) if *from - frame.at < SCAN_GAP_S => *from = frame.at,
                Some(_) => break,
                None => scan = Some([frame.at; 2]),
            }
        }
        scan
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joins that move along with the pings, by up to 1.5 ms: each walk gets its own phase all the same.
    #[test]
    fn pings_get_their_phases() {
        let of = |walk, first_data_ms| Roam { walk, first_data_ms, ..Roam::default() };
        let linux = [of(1, 18.5), of(2, 23.6)];
        let moved = |phase: f64| 0.15 * (phase - 0.5 * PING_S).abs();
        let join = |index: usize, phase: f64| 40.001 * (1.0 + index as f64) + moved(phase);
        let run = |phases: &[f64]| -> Vec<(Roam, f64)> {
            let roam = |(index, phase): (usize, &f64)| {
                let joined = join(index, *phase);
                let first_ms = 1e3 * (phase - joined).rem_euclid(PING_S);
                (of(index as u32 + 1, first_ms), joined)
            };
            phases.iter().enumerate().map(roam).collect()
        };
        let made = in_phase(&[Some(&linux[0]), Some(&linux[1])], run);
        for ((roam, _), expected) in made.iter().zip([18.5, 3.6]) {
            assert!((roam.first_data_ms - expected).abs() <= 1e3 * IN_PHASE_S, "{made:?}");
        }
    }
}
