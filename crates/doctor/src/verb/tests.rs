//! States of the verbs on machines that are sound except for some facts, and on this one.

use super::*;
use crate::document::{DoctorDocument, ModuleState};
use crate::finding::{self, tests::sound};

fn judged(change: impl FnOnce(&mut Facts)) -> impl Fn(Verb) -> (State, Vec<String>) {
    let mut facts = sound();
    change(&mut facts);
    let all = verbs(&facts, &finding::findings(&facts));
    move |verb| {
        let found = all.iter().find(|one| one.verb == verb).unwrap();
        (found.state, found.because.clone())
    }
}

fn refused(call: &str, errno: i32) -> Attempt {
    Attempt::Refused { call: call.into(), errno, reason: "refused".into() }
}

#[test]
fn everything_works_on_a_sound_machine() {
    let of = judged(|_| {});
    for verb in Verb::ALL {
        assert_eq!(of(verb), (State::Works, Vec::new()), "{verb:?}");
    }
}

#[test]
fn what_fails_names_a_finding() {
    let broken = |facts: &mut Facts| {
        facts.namespaces.emulation = refused("unshare(CLONE_NEWUSER)", 1);
        facts.way_out = Attempt::Skipped { reason: "an emulation does not work".into() };
        facts.tun.permission = refused("ioctl(TUNSETIFF)", 1);
        facts.packet_socket = refused("socket(AF_PACKET, SOCK_RAW)", 1);
        facts.modules[1].state = ModuleState::Absent;
        facts.interfaces.clear();
    };
    let of = judged(broken);
    for verb in Verb::ALL {
        let (state, because) = of(verb);
        match verb {
            Verb::Simulate | Verb::Apq => assert_eq!(state, State::Works),
            _ => assert!(state == State::Fails && !because.is_empty(), "{verb:?}: {because:?}"),
        }
    }
}

#[test]
fn an_emulation_without_a_way_out() {
    let of = judged(|facts| facts.way_out = refused("slirp4netns", 0));
    assert_eq!(of(Verb::Emulate).0, State::Works);
    assert_eq!(of(Verb::EmulateOutside), (State::Fails, vec!["no-slirp4netns".to_owned()]));
}

#[test]
fn a_device_that_does_not_open_leaves_emulations_that_need_none() {
    let of = judged(|facts| {
        facts.tun.permission = refused("open(/dev/net/tun)", 13);
        facts.way_out = Attempt::Skipped { reason: "it takes /dev/net/tun".into() };
    });
    assert_eq!(of(Verb::Emulate).0, State::Works);
    for verb in [Verb::EmulateOutside, Verb::FrancUdp, Verb::FrancEthernet] {
        assert_eq!(of(verb), (State::Fails, vec!["tun-closed".to_owned()]), "{verb:?}");
    }
}

/// A verb without a trial is neither working nor failing.
#[test]
fn a_driver_that_is_not_loaded_leaves_it_open() {
    let of = judged(|facts| {
        facts.tun.driver = false;
        facts.tun.permission = Attempt::Skipped { reason: "x".into() };
        facts.namespaces.emulation = Attempt::Skipped { reason: "x".into() };
        facts.way_out = Attempt::Skipped { reason: "x".into() };
        facts.modules[0].state = ModuleState::Loadable;
    });
    for verb in [Verb::Emulate, Verb::EmulateOutside, Verb::FrancUdp] {
        assert_eq!(of(verb), (State::Unknown, vec!["tun-not-loaded".to_owned()]), "{verb:?}");
    }
}

#[test]
fn real_time_is_limited_where_it_is_not_kept() {
    let of = judged(|facts| {
        facts.scheduling.best = crate::document::Class::Ordinary;
        facts.timer.late_p99_us = 5_000.0;
    });
    for verb in [Verb::Emulate, Verb::Medium, Verb::FrancUdp] {
        let (state, because) = of(verb);
        assert_eq!(
            (state, because),
            (State::Limited, vec!["late-timers".into(), "no-realtime".into()])
        );
    }
    assert_eq!(of(Verb::Apq), (State::Limited, vec!["late-timers".to_owned()]));
    assert_eq!(of(Verb::Simulate).0, State::Works);
}

#[test]
fn radios_without_a_capability_work_in_a_namespace() {
    let without = |namespaces: bool| {
        judged(move |facts| {
            facts.tun.permission = refused("ioctl(TUNSETIFF)", 1);
            if !namespaces {
                facts.namespaces.emulation = refused("unshare(CLONE_NEWUSER)", 1);
            }
        })
    };
    assert_eq!(without(true)(Verb::Medium), (State::Limited, vec!["no-net-admin".to_owned()]));
    assert_eq!(without(false)(Verb::Medium).0, State::Fails);
}

/// A reason is a key of a finding in the same document.
#[test]
fn reasons_are_findings() {
    let document = DoctorDocument::new(crate::gather());
    for verb in &document.verbs {
        for key in &verb.because {
            assert!(document.findings.iter().any(|one| one.key == *key), "{verb:?}");
        }
        assert_eq!(verb.because.is_empty(), verb.state == State::Works, "{verb:?}");
    }
}
