//! Judged by texts as Linux writes them, and by any other text.

use super::*;
use proptest::prelude::*;

#[test]
fn a_status_is_read() {
    // Of an ordinary user's process, Linux 6.1.
    let text = "Name:\tcat\nUid:\t1000\t1001\t1000\t1000\nCapEff:\t0000000000803000\nNoNewPrivs:\t1\nSeccomp:\t2\n";
    let expected = Status {
        uid: 1_001,
        capabilities: 1 << 12 | 1 << 13 | 1 << 23,
        seccomp_filter: true,
        no_new_privileges: true,
    };
    assert_eq!(status(text), expected);
    assert_eq!(status("Seccomp:\t0\n"), Status::default());
}

#[test]
fn a_limit_is_its_soft_one() {
    let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                Max realtime priority     20                   95                             \n\
                Max realtime timeout      unlimited            unlimited            us        \n";
    assert_eq!(limit(text, "Max realtime priority"), Some(20));
    assert_eq!(limit(text, "Max realtime timeout"), Some(u64::MAX));
    assert_eq!(limit(text, "Max nice priority"), None);
}

#[test]
fn only_the_first_user_namespace_has_all_ids() {
    assert!(is_first_user_namespace("         0          0 4294967295\n"));
    assert!(!is_first_user_namespace("         0       1000          1\n"));
    assert!(!is_first_user_namespace("0 0 4294967295\n4294967295 1 1\n"));
}

#[test]
fn modules_are_found_by_their_whole_names() {
    let modules = "tun 61440 2 - Live 0x0000000000000000\nmac80211_hwsim 98304 0 - Live 0x0\n";
    assert!(has_module(modules, "tun") && has_module(modules, "mac80211_hwsim"));
    assert!(!has_module(modules, "mac80211") && !has_module(modules, "un"));
    let builtin = "kernel/net/packet/af_packet.ko\nkernel/drivers/net/tun.ko\n";
    assert!(lists_module(builtin, "tun") && !lists_module(builtin, "packet"));
    let dependencies =
        "kernel/drivers/net/veth.ko.xz:\nkernel/net/sched/sch-fq.ko.zst: kernel/x.ko\n";
    assert!(lists_module(dependencies, "veth") && lists_module(dependencies, "sch_fq"));
    assert!(!lists_module(dependencies, "x"), "what another one needs is not the line's");
}

#[test]
fn options_of_the_kernel_are_whole_names() {
    let text =
        "CONFIG_TUN=y\nCONFIG_VETH=m\n# CONFIG_NET_SCH_FQ is not set\nCONFIG_NET_SCH_FQ_CODEL=y\n";
    assert_eq!(
        ["CONFIG_TUN", "CONFIG_VETH", "CONFIG_NET_SCH_FQ"].map(|name| option(text, name)),
        ['y', 'm', 'n']
    );
}

#[test]
fn small_files_are_read() {
    assert!(
        has_misc_device("200 tun\n 60 rfkill\n", "tun") && !has_misc_device("200 tun\n", "fuse")
    );
    let release = "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
    assert_eq!(pretty_name(release).as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
    assert_eq!(pretty_name("NAME=x\n"), None);
    assert!(has_hypervisor("processor: 0\nflags\t\t: fpu hypervisor lahf_lm\n"));
    assert!(!has_hypervisor("flags\t\t: fpu\n"));
    assert_eq!(["1\n", "0", "2", ""].map(switch), [Some(true), Some(false), None, None]);
}

/// As mac80211 of Linux 6.12 writes it.
#[test]
fn limits_of_airtime_are_read() {
    let text = "AC\tAQL limit low\tAQL limit high\nVO\t5000\t\t12000\nVI\t5000\t\t12000\n\
                BE\t5000\t\t12000\nBK\t5000\t\t12000\n";
    let limits = aql_limits(text);
    assert_eq!(limits.len(), 4);
    assert_eq!(
        (limits[2].category.as_str(), limits[2].low_us, limits[2].high_us),
        ("BE", 5_000, 12_000)
    );
    assert_eq!(aql_limits("VO 1\nVO x y\n"), []);
}

/// As mac80211 of Linux 6.1 writes it (`sta_agg_status_do_read`).
#[test]
fn sessions_are_read() {
    let text = "next dialog_token: 0x2\nTID\t\tRX\tDTKN\tSSN\t\tTX\tDTKN\tpending\n\
                00\t\t1\t0x01\t0x0fe\t\t1\t0x01\t003\n06\t\t1\t0x02\t0x000\t\t0\t00\t000\n\
                08\t\t0\t00\t000\t\t0\t00\t000\n";
    let expected = Aggregation { tx_tids: vec![0], rx_tids: vec![0, 6], pending_packets: 3 };
    assert_eq!(aggregation(text), Some(expected));
    assert_eq!(aggregation("next dialog_token: 0x2\n"), None);
}

/// As mac80211 writes it (`sta_aql_read`), and as Linux 5.5 had it in `airtime`.
#[test]
fn airtime_of_a_station() {
    let airtime = "RX: 6583578 us\nTX: 32719 us\nWeight: 256\n\
                   Deficit: VO: -1128 us VI: 11 us BE: -5098636 us BK: 256 us\n";
    let aql = "Q depth: VO: 3868 us VI: 3636 us BE: 12284 us BK: 0 us\n\
               Q limit[low/high]: VO: 5000/12000 VI: 5000/12000 BE: 5000/12000 BK: 5000/12000\n";
    for text in [aql.to_owned(), format!("{airtime}{aql}")] {
        let found = station_aql(&text);
        let depths: Vec<u32> = found.iter().map(|one| one.pending_us).collect();
        assert_eq!(depths, [3_868, 3_636, 12_284, 0]);
        assert!(found.iter().all(|one| (one.low_us, one.high_us) == (5_000, 12_000)));
        assert_eq!(found[2].category, "BE");
    }
    assert_eq!(station_aql(airtime), []);
    assert_eq!(station_aql("Q depth: VO: x us\nQ limit[low/high]: VO: 1\n"), []);
    let pending = "AC     AQL pending\nVO     0 us\nBE     9 us\ntotal  9 us\n";
    assert_eq!((aql_pending(pending), aql_pending("VO 1 us")), (Some(9), None));
}

/// As mac80211 of Linux 6.12 writes it (`sta_aqm_read`), and as older ones, with CoDel's parameters.
#[test]
fn a_stations_queues_are_summed() {
    let columns = "tid ac backlog-bytes backlog-packets new-flows drops marks overlimit collisions \
                   tx-bytes tx-packets flags\n\
                   0 2 3000 2 468 5 1 0 0 39224 471 0x6(RUN AMPDU NO-AMSDU)\n\
                   7 0 0 0 2 0 0 0 0 322 2 0x0(RUN)\n";
    let sums = StationQueue {
        backlog_packets: 2,
        drops: 5,
        marks: 1,
        sent_packets: 473,
        ..StationQueue::default()
    };
    assert_eq!(station_queue(columns), Some(sums.clone()));
    let older = format!("target 50000us interval 300000us ecn no\n{columns}");
    let expected = StationQueue { target_us: Some(50_000), interval_us: Some(300_000), ..sums };
    assert_eq!(station_queue(&older), Some(expected));
    assert_eq!(station_queue(""), None);
    assert_eq!(station_queue("target 1us interval 1us ecn no\n"), None);
    assert_eq!(station_queue("tid ac drops marks tx-packets\n0 2 0 0 0\n"), None);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[\\PC\\n\\t]{0,200}") {
        let _ = (status(&text), aggregation(&text), station_queue(&text), aql_limits(&text));
        let _ = (station_aql(&text), aql_pending(&text));
        let _ = (limit(&text, "Max"), pretty_name(&text), switch(&text), lists_module(&text, "x"));
    }

    /// Numbers of any length.
    #[test]
    fn large_numbers_do_not_overflow(numbers in proptest::collection::vec(any::<u64>(), 22)) {
        let line = |from: &[u64]| from.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        let text = format!(
            "tid ac backlog-bytes backlog-packets new-flows drops marks overlimit collisions tx-bytes \
             tx-packets\n{}\n{}\n",
            line(&numbers[..11]),
            line(&numbers[11..])
        );
        let sum = numbers[3].saturating_add(numbers[14]);
        prop_assert_eq!(station_queue(&text).map(|queue| queue.backlog_packets), Some(sum));
    }
}
