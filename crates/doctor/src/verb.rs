//! The states of the verbs on this machine: a pure function of the facts. A verb that fails or is
//! limited names the findings that explain it.

use crate::document::{Attempt, Facts, Finding, State, Verb, VerbState};

/// Returns the state of every verb, in the order of [`Verb::ALL`]. Reasons are keys of `findings`.
pub fn verbs(facts: &Facts, findings: &[Finding]) -> Vec<VerbState> {
    let has = |key: &str| findings.iter().any(|finding| finding.key == key);
    let of = |verb: Verb| {
        let (state, reasons) = judge(facts, verb, &has);
        let because = reasons.iter().filter(|key| has(key)).map(|key| (*key).to_owned());
        VerbState { verb, state, because: because.collect() }
    };
    Verb::ALL.into_iter().map(of).collect()
}

/// Findings that degrade verbs in real time.
const IN_TIME: [&str; 4] = ["coarse-timers", "late-timers", "no-realtime", "slow-clock"];

fn judge<'a>(facts: &Facts, verb: Verb, has: &dyn Fn(&str) -> bool) -> (State, Vec<&'a str>) {
    let in_time = |also: &[&'a str]| -> (State, Vec<&'a str>) {
        let mut reasons: Vec<&'a str> = also.to_vec();
        reasons.extend(IN_TIME);
        if reasons.iter().any(|key| has(key)) {
            (State::Limited, reasons)
        } else {
            (State::Works, reasons)
        }
    };
    let tried = |attempt: &Attempt| match attempt {
        Attempt::Works => State::Works,
        Attempt::Refused { .. } => State::Fails,
        Attempt::NotTried | Attempt::Skipped { .. } => State::Unknown,
    };
    let emulation = tried(&facts.namespaces.emulation);
    let tun = ["no-tun", "tun-closed", "tun-not-loaded"];
    match verb {
        Verb::Simulate => (State::Works, Vec::new()),
        Verb::Emulate if emulation == State::Works => in_time(&[]),
        Verb::Emulate if emulation == State::Fails => (emulation, vec!["namespaces"]),
        Verb::Emulate => (emulation, tun.to_vec()),
        Verb::EmulateOutside => match (emulation, &facts.way_out) {
            (State::Works, Attempt::Works) => in_time(&[]),
            (State::Fails, _) => (State::Fails, vec!["namespaces"]),
            (_, Attempt::Refused { .. }) => (State::Fails, vec!["no-slirp4netns", "no-way-out"]),
            // Without a device it fails; with one whose driver is not loaded nobody knows.
            _ if facts.tun.exists && !facts.tun.driver => (State::Unknown, tun.to_vec()),
            _ => (State::Fails, tun.to_vec()),
        },
        Verb::FrancUdp | Verb::FrancEthernet => {
            let packets = match verb {
                Verb::FrancUdp => State::Works,
                _ => tried(&facts.packet_socket),
            };
            let device = match tried(&facts.tun.permission) {
                State::Unknown if !facts.user.can("CAP_NET_ADMIN") || !facts.tun.exists => {
                    State::Fails
                }
                state => state,
            };
            let mut reasons = tun.to_vec();
            reasons.extend(["no-net-admin", "no-net-raw"]);
            if verb == Verb::FrancUdp {
                reasons.pop();
            }
            match (device, packets) {
                (State::Works, State::Works) => in_time(&[]),
                (State::Fails, _) | (_, State::Fails) => (State::Fails, reasons),
                _ => (State::Unknown, reasons),
            }
        }
        // UDP sockets of ordinary users.
        Verb::Apq => {
            if has("coarse-timers") || has("late-timers") {
                (State::Limited, vec!["coarse-timers", "late-timers"])
            } else {
                (State::Works, Vec::new())
            }
        }
        Verb::Medium => {
            let has_radios = facts
                .modules
                .iter()
                .any(|module| module.name == "mac80211_hwsim" && module.state.is_in_kernel());
            match (has_radios, has("no-net-admin"), emulation) {
                (false, ..) => (State::Fails, vec!["no-hwsim", "no-net-admin"]),
                (true, false, _) => in_time(&[]),
                // In a network namespace of its own: `unshare --map-root-user --net`.
                (true, true, State::Works) => (State::Limited, vec!["no-net-admin"]),
                (true, true, state) => (state, vec!["no-net-admin", "namespaces"]),
            }
        }
        Verb::CaptureLive => match tried(&facts.packet_socket) {
            State::Works if has("no-wifi") || has("no-monitor") => {
                (State::Limited, vec!["no-wifi", "no-monitor"])
            }
            State::Works => (State::Works, Vec::new()),
            state => (state, vec!["no-net-raw", "no-wifi", "no-monitor"]),
        },
    }
}

#[cfg(test)]
mod tests;
