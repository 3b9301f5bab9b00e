//! Findings on a machine that is sound except for one fact: the finding, its numbers and remedy,
//! and that a value at a threshold gives none.

use super::*;
use crate::document::{
    AqlLimits, Attempt, Class, EmulationDevice, Interface, Module, ModuleState, Program, Qdisc,
    Rate, RateMode, SleepSetting, Station, StationAql, Wifi,
};

/// Returns a sound machine, without findings.
pub fn sound() -> Facts {
    let mut facts = Facts::default();
    facts.machine.processors = 4;
    facts.machine.load_1min = Some(0.5);
    facts.user.in_first_user_namespace = true;
    facts.user.capabilities = vec!["CAP_NET_ADMIN".into(), "CAP_NET_RAW".into()];
    facts.namespaces.emulation = Attempt::Works;
    facts.namespaces.device = Some(EmulationDevice::Tap);
    facts.namespaces.user_namespaces_built = true;
    facts.tun.exists = true;
    facts.tun.driver = true;
    facts.tun.permission = Attempt::Works;
    facts.packet_socket = Attempt::Works;
    facts.way_out = Attempt::Works;
    facts.scheduling.best = Class::Realtime;
    facts.timer.wakeups = 200;
    facts.timer.late_p99_us = 80.0;
    facts.timer.resolution_ns = Some(1);
    facts.timer.clock_source = Some("tsc".into());
    facts.tcp.available = vec!["reno".into(), "cubic".into(), "bbr".into()];
    let module = |name: &str| Module { name: name.into(), state: ModuleState::Loaded };
    facts.modules = vec![module("tun"), module("mac80211_hwsim"), module("tcp_bbr")];
    facts.interfaces = vec![station(), monitor()];
    facts
}

fn station() -> Interface {
    let access_point = Station {
        address: "02:00:00:00:00:00".into(),
        signal_mean_dbm: Some(-55),
        tx_rate: Some(ht(7, 65.0)),
        tx_packets: Some(10_000),
        tx_retries: Some(300),
        tx_failed: Some(2),
        beacon_losses: Some(0),
        beacon_interval_tu: Some(200),
        ..Station::default()
    };
    let wifi = Wifi {
        radio_name: "phy0".into(),
        kind: "station".into(),
        power_save: Some(false),
        radio_kinds: vec!["station".into(), "monitor".into()],
        txqs: true,
        aql: true,
        stations: vec![access_point],
        ..Wifi::default()
    };
    Interface {
        name: "wlan0".into(),
        driver: Some("ath10k_pci".into()),
        queue_frames: Some(1_000),
        qdiscs: vec![qdisc("noqueue", true)],
        wifi: Some(wifi),
        ..Interface::default()
    }
}

fn monitor() -> Interface {
    let wifi = Wifi { kind: "monitor".into(), ..Wifi::default() };
    Interface { name: "mon0".into(), wifi: Some(wifi), ..Interface::default() }
}

fn qdisc(kind: &str, root: bool) -> Qdisc {
    Qdisc { kind: kind.into(), root, ..Qdisc::default() }
}

fn ht(mcs: u8, mbps: f64) -> Rate {
    Rate { mbps, mode: RateMode::Ht, mcs: Some(mcs), ..Rate::default() }
}

fn refused(call: &str, errno: i32) -> Attempt {
    Attempt::Refused { call: call.into(), errno, reason: "refused".into() }
}

/// Returns the only finding on a machine that is sound except for a change.
fn only(change: impl FnOnce(&mut Facts)) -> Finding {
    let mut facts = sound();
    change(&mut facts);
    let found = findings(&facts);
    assert_eq!(found.len(), 1, "{found:#?}");
    found.into_iter().next().unwrap()
}

fn wifi(facts: &mut Facts) -> &mut Wifi {
    facts.interfaces[0].wifi.as_mut().unwrap()
}

fn peer(facts: &mut Facts) -> &mut Station {
    &mut wifi(facts).stations[0]
}

#[test]
fn nothing_is_found_on_a_sound_machine() {
    assert_eq!(findings(&sound()), []);
}

/// Each cause of refused namespaces is recognised by the facts, and has a separate remedy.
#[test]
fn why_namespaces_are_refused_is_told_apart() {
    type Change = fn(&mut Facts);
    let cases: [(i32, Change, &str, Option<&str>); 9] = [
        (
            1,
            |f| f.namespaces.unprivileged_clone = Some(0),
            "kernel.unprivileged_userns_clone is 0",
            Some("sudo sysctl kernel.unprivileged_userns_clone=1"),
        ),
        (
            13,
            |f| f.namespaces.apparmor_restricts = Some(1),
            "apparmor_restrict_unprivileged_userns is 1",
            Some("sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"),
        ),
        (
            1,
            |f| {
                f.namespaces.unshare_filtered = true;
                f.machine.container = Some("docker".into());
            },
            "seccomp",
            Some("docker run --security-opt seccomp=unconfined .."),
        ),
        (1, |f| f.namespaces.unshare_filtered = true, "seccomp", None),
        (
            28,
            |f| f.namespaces.user_max = Some(0),
            "user.max_user_namespaces is 0",
            Some("sudo sysctl user.max_user_namespaces=10000"),
        ),
        (
            28,
            |f| f.namespaces.net_max = Some(3),
            "user.max_net_namespaces is 3",
            Some("sudo sysctl user.max_user_namespaces=10000 user.max_net_namespaces=10000"),
        ),
        (22, |_| {}, "built without user namespaces", Some("sudo lasthop emulate upload")),
        // No known setting forbids it: the finding invents no cause.
        (1, |f| f.namespaces.unprivileged_clone = Some(1), "the cause is unknown", None),
        // The setting is not for who has the capability.
        (
            1,
            |f| {
                f.namespaces.unprivileged_clone = Some(0);
                f.user.capabilities.push("CAP_SYS_ADMIN".into());
            },
            "the cause is unknown",
            None,
        ),
    ];
    for (errno, change, what, remedy) in cases {
        let found = only(|facts| {
            facts.namespaces.emulation = refused("unshare(CLONE_NEWUSER)", errno);
            change(facts);
        });
        assert_eq!((found.key.as_str(), found.severity), ("namespaces", Severity::Problem));
        assert!(found.what.contains(what), "{}", found.what);
        assert!(found.what.contains("unshare(CLONE_NEWUSER): refused"), "{}", found.what);
        assert_eq!(found.remedy.as_deref(), remedy);
    }
}

#[test]
fn devices_and_capabilities() {
    let found = only(|f| f.tun.permission = refused("open(/dev/net/tun)", 13));
    assert_eq!(found.key, "tun-closed");
    assert_eq!(found.remedy.as_deref(), Some("sudo chmod 666 /dev/net/tun"));
    let found = only(|f| f.tun.permission = refused("ioctl(TUNSETIFF)", 1));
    assert_eq!(found.key, "no-net-admin");
    let found = only(|f| f.packet_socket = refused("socket(AF_PACKET, SOCK_RAW)", 1));
    assert_eq!(found.key, "no-net-raw");
    let found = only(|f| {
        f.tun.driver = false;
        f.modules[0].state = ModuleState::Loadable;
        f.tun.permission = Attempt::Skipped { reason: "x".into() };
    });
    assert_eq!(
        (found.key.as_str(), found.remedy.as_deref()),
        ("tun-not-loaded", Some("sudo modprobe tun"))
    );
    let found = only(|f| {
        f.tun.exists = false;
        f.tun.permission = Attempt::Skipped { reason: "x".into() };
        f.machine.container = Some("docker".into());
    });
    assert_eq!(
        (found.key.as_str(), found.remedy.as_deref()),
        ("no-tun", Some("docker run --device /dev/net/tun .."))
    );
}

#[test]
fn a_way_out_takes_a_program() {
    let missing = |distribution: &str| {
        only(|f| {
            f.way_out = refused("slirp4netns", 0);
            f.machine.distribution = Some(distribution.into());
            f.programs =
                vec![Program { name: "pasta".into(), path: Some("/usr/bin/pasta".into()) }];
        })
    };
    let found = missing("Debian GNU/Linux 13 (trixie)");
    assert_eq!(found.key, "no-slirp4netns");
    assert_eq!(found.remedy.as_deref(), Some("sudo apt-get install slirp4netns"));
    assert!(
        found.means.contains("pasta is installed, but lasthop does not use it"),
        "{}",
        found.means
    );
    assert_eq!(missing("Fedora Linux 43").remedy.as_deref(), Some("sudo dnf install slirp4netns"));
    let found = only(|f| {
        f.way_out = refused("write(/proc/sys/net/ipv4/ip_forward)", 30);
        f.programs =
            vec![Program { name: "slirp4netns".into(), path: Some("/usr/bin/slirp4netns".into()) }];
    });
    assert_eq!(found.key, "no-way-out");
    assert!(found.remedy.unwrap().contains("systempaths=unconfined"));
}

#[test]
fn time() {
    let found = only(|f| f.timer.late_p99_us = 1_500.0);
    assert_eq!(found.key, "late-timers");
    assert!(found.what.contains("1.50 ms") && found.what.contains("200 timers"), "{}", found.what);
    let found = only(|f| f.timer.resolution_ns = Some(4_000_000));
    assert_eq!((found.key.as_str(), found.severity), ("coarse-timers", Severity::Problem));
    assert!(found.what.contains("4.00 ms"), "{}", found.what);
    let found = only(|f| f.timer.clock_source = Some("hpet".into()));
    assert_eq!(found.key, "slow-clock");
    let found = only(|f| f.machine.load_1min = Some(7.3));
    assert!(found.key == "busy" && found.what.contains("7.3 threads"), "{}", found.what);
    let found = only(|f| f.scheduling.best = Class::Ordinary);
    assert_eq!(found.remedy.as_deref(), Some("sudo prlimit --pid $$ --rtprio=20"));
    // The limit allows it: the cause is another one, and no remedy is made up.
    let found = only(|f| {
        f.scheduling.best = Class::Nice;
        f.scheduling.realtime_priority_max = Some(95);
    });
    assert!(
        found.what.contains("a control group without real time") && found.remedy.is_none(),
        "{}",
        found.what
    );
    let slow = |driver: &str| {
        let mut facts = sound();
        facts.machine.governor = Some("powersave".into());
        facts.machine.frequency_driver = Some(driver.into());
        findings(&facts).len()
    };
    assert_eq!(["acpi-cpufreq", "intel_pstate", "amd-pstate-epp"].map(slow), [1, 0, 0]);
}

#[test]
fn modules_that_are_missing() {
    let hwsim = |state| only(|f| f.modules[1].state = state);
    assert_eq!(
        hwsim(ModuleState::Loadable).remedy.as_deref(),
        Some("sudo modprobe mac80211_hwsim radios=0")
    );
    assert_eq!(hwsim(ModuleState::Absent).remedy, None);
    let bbr = |state| {
        only(|f| {
            f.tcp.available.pop();
            f.modules[2].state = state;
        })
    };
    assert_eq!(bbr(ModuleState::Loadable).remedy.as_deref(), Some("sudo modprobe tcp_bbr"));
    let found = bbr(ModuleState::Absent);
    assert!(found.remedy.is_none() && found.what.contains("reno, cubic"), "{}", found.what);
}

#[test]
fn power_save_tells_the_beacon_interval() {
    let found = only(|f| wifi(f).power_save = Some(true));
    assert_eq!((found.key.as_str(), found.interface.as_deref()), ("power-save", Some("wlan0")));
    // A wait has no bound of one interval: beacons are missed (IEEE 802.11-2020, 11.2.3.1).
    let bound = "(listen interval + beacons missed) beacon intervals of 205 ms (200 time units)";
    assert!(found.means.contains(bound), "{}", found.means);
    assert!(!found.means.contains("up to 205"), "{}", found.means);
    assert_eq!(found.remedy.as_deref(), Some("sudo iw dev wlan0 set power_save off"));
    let found = only(|f| {
        wifi(f).power_save = Some(true);
        peer(f).beacon_interval_tu = None;
    });
    assert!(found.means.contains("usually"), "{}", found.means);
}

/// nl80211 reports its setting; drivers with another setting may sleep nevertheless.
#[test]
fn power_save_that_is_off_may_be_on() {
    let with = |path: &str, value: &str| {
        let mut facts = sound();
        let setting = SleepSetting { path: path.into(), value: value.into() };
        wifi(&mut facts).sleep_settings = vec![setting];
        findings(&facts)
    };
    let parameter = "/sys/module/rtl8723be/parameters/fwlps";
    assert_eq!(with(parameter, "N"), []);
    let found = with(parameter, "Y");
    assert_eq!((found.len(), found[0].key.as_str()), (1, "sleeps-anyway"));
    assert!(found[0].remedy.as_ref().unwrap().contains("options rtl8723be fwlps=0"), "{found:?}");
    let file = "/sys/kernel/debug/ieee80211/phy0/mt76/runtime-pm";
    assert_eq!(with(file, "0"), []);
    assert_eq!(with(file, "1")[0].remedy, Some(format!("echo 0 | sudo tee {file}")));
}

#[test]
fn where_packets_wait() {
    let found = only(|f| f.interfaces[0].qdiscs = vec![qdisc("fq_codel", true)]);
    assert_eq!((found.key.as_str(), found.severity), ("queue-above-mac80211", Severity::Note));
    let without = |root: &str, below: Option<&str>| {
        only(|f| {
            wifi(f).txqs = false;
            wifi(f).aql = false;
            f.interfaces[0].qdiscs = vec![qdisc(root, true)];
            f.interfaces[0].qdiscs.extend(below.map(|kind| qdisc(kind, false)));
        })
    };
    let found = without("mq", Some("fq_codel"));
    assert_eq!(found.key, "no-mac80211-queues");
    assert!(found.what.contains("below fq_codel"), "{}", found.what);
    let found = without("mq", Some("pfifo_fast"));
    assert_eq!((found.key.as_str(), found.severity), ("bufferbloat", Severity::Problem));
    assert!(found.what.contains("of an access category"), "{}", found.what);
    // A thousand packets of 1 500 bytes at 65 Mb/s: 12 Mbit, 185 ms.
    assert!(
        found.means.contains("at 65 Mb/s") && found.means.contains("185 ms"),
        "{}",
        found.means
    );
    assert_eq!(found.remedy.as_deref(), Some("sudo tc qdisc replace dev wlan0 root fq_codel"));
    assert!(!without("pfifo_fast", None).what.contains("access category"));
}

#[test]
fn airtime_queue_limits() {
    assert_eq!(only(|f| wifi(f).aql = false).key, "no-aql");
    let switched = |enabled| {
        let mut facts = sound();
        wifi(&mut facts).aql_limits = Some(AqlLimits { enabled, ..AqlLimits::default() });
        findings(&facts).into_iter().map(|one| (one.key, one.remedy)).collect::<Vec<_>>()
    };
    let remedy = "echo 1 | sudo tee /sys/kernel/debug/ieee80211/phy0/aql_enable";
    assert_eq!(switched(Some(false)), [("aql-off".to_owned(), Some(remedy.to_owned()))]);
    assert_eq!(switched(Some(true)), []);
    assert_eq!(switched(None), []);
}

/// As `ieee80211_txq_airtime_check` has it: the higher limit holds while the radio's total is below
/// its threshold, the lower one above.
#[test]
fn airtime_above_its_limit_is_told() {
    let with = |pending_us, total, enabled| {
        let mut facts = sound();
        let one = |category: &str, pending_us| StationAql {
            category: category.into(),
            pending_us,
            low_us: 5_000,
            high_us: 12_000,
        };
        peer(&mut facts).aql = vec![one("VO", 0), one("BE", pending_us)];
        let limits = AqlLimits { pending_us: total, enabled, ..AqlLimits::default() };
        wifi(&mut facts).aql_limits = Some(limits);
        findings(&facts)
    };
    assert_eq!(with(12_000, None, Some(true)), []);
    let found = with(12_284, None, Some(true));
    assert_eq!((found.len(), found[0].key.as_str()), (1, "aql-exceeded"));
    assert!(found[0].what.contains("12284 us in BE (limit 12000 us)"), "{}", found[0].what);
    assert!(!found[0].what.contains("VO"), "{}", found[0].what);
    // Other stations have most of the radio's airtime.
    let found = with(6_000, Some(24_001), Some(true));
    assert!(found[0].what.contains("(limit 5000 us)"), "{}", found[0].what);
    assert_eq!(with(6_000, Some(24_000), Some(true)), []);
    // Below zero it is not known.
    assert_eq!(with(4_294_967_000, None, Some(true)), []);
    let found = with(30_000, None, Some(false));
    let keys: Vec<&str> = found.iter().map(|one| one.key.as_str()).collect();
    assert_eq!(keys, ["aql-off", "aql-exceeded"]);
    assert!(found[1].means.contains("has no bound"), "{}", found[1].means);
}

/// Implausible counters are reported as unknown, and no share is made of them.
#[test]
fn impossible_counters_are_no_findings_of_the_air() {
    for (retries, failed, what) in [
        (4_294_954_617, 2, "is -12679 as a signed number"),
        (812, 812, "retries and of packets given up"),
        (10_001, 2, "is more than the 10000 packets"),
        (300, u32::MAX, "is -1 as a signed number"),
    ] {
        let found = only(|f| {
            peer(f).tx_retries = Some(retries);
            peer(f).tx_failed = Some(failed);
        });
        assert_eq!((found.key.as_str(), found.severity), ("counters", Severity::Note));
        assert!(found.what.contains(what), "{}", found.what);
    }
    // A driver that knows no signal reports 0 or -128.
    for signal in [0, -128] {
        let mut facts = sound();
        peer(&mut facts).signal_mean_dbm = Some(signal);
        assert_eq!(findings(&facts), []);
    }
}

/// Values at a threshold give no finding, values beyond it do, with the numbers read.
#[test]
fn stations_are_judged_by_their_counters() {
    type Change = fn(&mut Station, u32);
    let cases: [(&str, Change, u32, u32, &str); 4] = [
        ("weak-signal", |s, n| s.signal_mean_dbm = Some(-(n as i32)), 77, 78, "-78 dBm"),
        ("retries", |s, n| s.tx_retries = Some(n), 2_000, 2_001, "2001 retransmissions"),
        ("given-up", |s, n| s.tx_failed = Some(n), 100, 101, "101 of 10000 packets"),
        ("beacon-loss", |s, n| s.beacon_losses = Some(n), 0, 1, "1 times"),
    ];
    for (key, change, well, wrong, what) in cases {
        let mut facts = sound();
        change(peer(&mut facts), well);
        assert_eq!(findings(&facts), [], "{key}");
        let found = only(|f| change(peer(f), wrong));
        assert_eq!(found.key, key);
        assert!(found.what.contains(what), "{}", found.what);
    }
    // A share of a few packets says nothing.
    let mut facts = sound();
    *peer(&mut facts) = Station {
        tx_packets: Some(99),
        tx_retries: Some(99),
        tx_failed: Some(99),
        ..Station::default()
    };
    assert_eq!(findings(&facts), []);
}

#[test]
fn a_low_rate_is_a_share_of_its_mode() {
    let with = |rate: Rate| {
        let mut facts = sound();
        peer(&mut facts).tx_rate = Some(rate);
        findings(&facts).into_iter().next()
    };
    assert_eq!(with(ht(3, 26.0)), None);
    let found = with(ht(2, 19.5)).unwrap();
    assert_eq!(found.key, "low-rate");
    assert!(found.what.contains("30 %") && found.means.contains("0.62 ms"), "{found:?}");
    // The same scheme on the second stream.
    assert!(with(ht(10, 39.0)).is_some() && with(ht(11, 52.0)).is_none());
    let of =
        |mode, mcs| with(Rate { mbps: 100.0, mode, mcs: Some(mcs), ..Rate::default() }).is_some();
    assert_eq!([3, 4].map(|mcs| of(RateMode::Vht, mcs)), [true, false]);
    assert_eq!([3, 4].map(|mcs| of(RateMode::He, mcs)), [true, false]);
    assert_eq!([4, 5].map(|mcs| of(RateMode::Eht, mcs)), [true, false]);
    // Schemes that the tables do not have: MCS 32, and 15 of 802.11be.
    assert!(!of(RateMode::Ht, 32) && !of(RateMode::Eht, 15));
    assert!(with(Rate { mbps: 1.0, ..Rate::default() }).is_none());
}

#[test]
fn machines_without_wifi_are_told_why_that_is_well() {
    let found = only(|f| f.interfaces.clear());
    assert_eq!((found.key.as_str(), found.severity), ("no-wifi", Severity::Note));
    let found = only(|f| f.interfaces.truncate(1));
    assert_eq!(found.key, "no-monitor");
    assert!(found.remedy.unwrap().starts_with("sudo iw phy phy0 interface add mon0"));
    let found = only(|f| {
        f.interfaces.truncate(1);
        wifi(f).radio_kinds.pop();
    });
    assert!(found.remedy.is_none() && found.what.contains("no radio here"));
}

#[test]
fn a_wired_queue_is_named() {
    let wired = |kind: &str, state: &str| Interface {
        name: "eth0".into(),
        state: Some(state.into()),
        queue_frames: Some(1_000),
        qdiscs: vec![qdisc(kind, true)],
        ..Interface::default()
    };
    let found = only(|f| f.interfaces.push(wired("pfifo_fast", "up")));
    assert_eq!((found.key.as_str(), found.interface.as_deref()), ("fifo", Some("eth0")));
    for (kind, state) in [("fq_codel", "up"), ("pfifo_fast", "down")] {
        let mut facts = sound();
        facts.interfaces.push(wired(kind, state));
        assert_eq!(findings(&facts), []);
    }
}

#[test]
fn problems_come_first() {
    let mut facts = sound();
    facts.machine.load_1min = Some(9.0);
    wifi(&mut facts).power_save = Some(true);
    let found = findings(&facts);
    assert_eq!(
        found.iter().map(|one| one.key.as_str()).collect::<Vec<_>>(),
        ["power-save", "busy"]
    );
}
