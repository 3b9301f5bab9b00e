//! Access points that ask stations to move, and list their neighbours. The judges are the order of
//! frames of hostapd and wpa_supplicant 2.10 (`wnm_ap.c`, `wnm_sta.c`), and usteer's times.

use super::roam::{FIRST, ROAMER, SECOND, Walk, at, ms, office};
use super::*;
use crate::event::RoamStep;
use crate::mac::roam::frame::{RoamFrame, Security};
use crate::mac::roam::steering::SteeringConfig;
use crate::mac::scan::ScanKind;

/// The office with a station that has no reason to move, and a first access point that wants it to.
fn pushing(insists: bool, follows: bool, levels: [f64; 2]) -> CellConfig {
    let mut config = office([36, 44], levels, Security::Psk, ScanKind::Active);
    config.stations[FIRST.index()].steering = Some(SteeringConfig {
        signal: Some(Dbm(-20.0)),
        stations: None,
        interval: Duration::from_secs(60),
        insists,
    });
    let roaming = config.stations[ROAMER.index()].roaming.as_mut().expect("it roams");
    (roaming.is_steered, roaming.follows_requests) = (true, follows);
    config
}

/// Six looks, a request, a scan of the candidate's channel, the answer, and only then the join.
#[test]
fn a_station_answers_before_it_goes() {
    let walk = Walk::new(&pushing(false, true, [-55.0, -55.0]), ms(9_000));
    let frames = walk.joins();
    let first: Vec<_> = frames.iter().take(2).copied().collect();
    let request = RoamFrame::TransitionRequest { removal: 0 };
    let answer = RoamFrame::TransitionResponse { status: 0 };
    assert_eq!(first, [(FIRST, request), (ROAMER, answer)]);
    assert_eq!(frames.len(), 2 + 8, "{frames:?}");
    let (requested, target) = walk.step(RoamStep::Requested).expect("it is asked");
    assert_eq!(target, SECOND);
    assert!(requested >= at(6_000) && requested < at(7_000), "{requested}");
    let (accepted, target) = walk.step(RoamStep::Accepted).expect("it agrees");
    assert_eq!(target, SECOND);
    let (left, _) = walk.step(RoamStep::Left).expect("it goes");
    // One stay of 60 ms, the answer 1 ms later, and what the frames need.
    assert!(accepted - requested > ms(61) && accepted - requested < ms(75));
    assert!(left >= accepted && left - accepted < ms(1));
    assert!(walk.step(RoamStep::Joined).is_some());
}

/// A candidate that is too weak is refused with status 7, and the station stays; with a removal
/// announced it is disassociated 100 beacon intervals after the request.
#[test]
fn a_station_that_refuses_is_removed_if_the_network_insists() {
    for insists in [false, true] {
        let walk = Walk::new(&pushing(insists, true, [-55.0, -81.0]), ms(20_000));
        let frames = walk.joins();
        assert!(frames.contains(&(ROAMER, RoamFrame::TransitionResponse { status: 7 })));
        let (requested, _) = walk.step(RoamStep::Requested).expect("it is asked");
        assert!(walk.step(RoamStep::Refused).is_some());
        let removed = walk.step(RoamStep::Removed);
        assert_eq!(removed.is_some(), insists);
        let Some((removed, by)) = removed else { continue };
        assert_eq!(by, FIRST);
        assert!(frames.contains(&(FIRST, RoamFrame::Disassociation { reason: 2 })));
        let after = removed - requested;
        let expected = Duration::from_micros(102_400) * 100;
        assert!(after >= expected && after < expected + ms(5), "{after}");
        let (joined, there) = walk.step(RoamStep::Joined).expect("it goes on");
        assert!(there == SECOND && joined > removed + ms(100 + 3 * 60));
    }
}

/// A station without 802.11v is asked, and neither answers nor goes.
#[test]
fn a_station_that_does_not_understand_stays() {
    let walk = Walk::new(&pushing(false, false, [-55.0, -55.0]), ms(9_000));
    assert_eq!(walk.joins(), [(FIRST, RoamFrame::TransitionRequest { removal: 0 })]);
    assert_eq!(walk.steps.len(), 1);
}

/// A station asks 1 ms after each join, the first one included, and the access point answers 1 ms later.
/// Its scan has the two channels of the network.
#[test]
fn neighbours_are_asked_for_after_each_join() {
    let mut config = office([36, 44], [-75.0, -50.0], Security::Psk, ScanKind::Active);
    let roaming = config.stations[ROAMER.index()].roaming.as_mut().expect("it roams");
    roaming.neighbor_report = true;
    let walk = Walk::new(&config, ms(4_000));
    let frames = walk.joins();
    let asks = |access_point| {
        [
            (ROAMER, RoamFrame::NeighborReportRequest),
            (access_point, RoamFrame::NeighborReportResponse),
        ]
    };
    assert_eq!(frames[..2], asks(FIRST));
    assert_eq!(frames[frames.len() - 2..], asks(SECOND));
    assert_eq!(frames.len(), 2 + 8 + 2);
    let reported = walk.steps.iter().filter(|(_, _, step)| *step == RoamStep::Reported);
    let reported: Vec<_> = reported.map(|(at, of, _)| (*at, *of)).collect();
    let (joined, _) = walk.step(RoamStep::Joined).expect("it moves");
    for ((reported, of), (from, expected)) in
        reported.into_iter().zip([(Instant::ZERO, FIRST), (joined, SECOND)])
    {
        assert_eq!(of, expected);
        let took = reported - from;
        assert!(took > ms(2) && took < ms(16), "{took}");
    }
}

/// The access point hears no request: the station waits a second, asks again before its scan, and
/// then scans all channels.
#[test]
fn without_a_report_all_channels_are_scanned() {
    let mut config = office([36, 44], [-75.0, -50.0], Security::Psk, ScanKind::Passive);
    let roaming = config.stations[ROAMER.index()].roaming.as_mut().expect("it roams");
    roaming.neighbor_report = true;
    config.carrier_sense = Dbm(-120.0);
    config.change_links(|pair| {
        if [pair.from, pair.to] == [ROAMER, FIRST] {
            pair.link.snr = Db(-10.0);
        }
    });
    let walk = Walk::new(&config, ms(6_000));
    let unreported =
        walk.steps.iter().filter(|(_, of, step)| *step == RoamStep::Unreported && *of == FIRST);
    assert_eq!(unreported.count(), 2);
    let (left, _) = walk.step(RoamStep::Left).expect("it moves");
    // Two waits of a second, and three channels.
    assert!(left > at(2_000 + 3 * 111 + 2 * 200), "{left}");
    assert!(walk.joins().contains(&(SECOND, RoamFrame::NeighborReportResponse)));
}
