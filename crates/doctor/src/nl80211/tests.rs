//! Parsers tested with recordings (`tests/data`, made with `examples/record.rs`) of a station of
//! mac80211_hwsim in the virtual machines of `tests/vm`, and with the output of `iw` at that
//! moment.

use super::*;
use proptest::prelude::*;

const LINUX_6_1: &str = include_str!("../../tests/data/station-6.1");
const LINUX_6_12: &str = include_str!("../../tests/data/station-6.12");

/// Returns the recorded messages of a kind.
fn recorded(text: &str, kind: &str) -> Vec<Vec<u8>> {
    let lines = text.lines().filter_map(|line| line.strip_prefix(kind)?.strip_prefix(' '));
    let byte = |digits: &[u8]| u8::from_str_radix(str::from_utf8(digits).unwrap(), 16).unwrap();
    lines.map(|digits| digits.as_bytes().chunks(2).map(byte).collect()).collect()
}

fn radios_of(text: &str) -> Vec<Radio> {
    let messages = recorded(text, "radio");
    radios(messages.iter().map(Vec::as_slice))
}

#[test]
fn the_family_is_found() {
    for text in [LINUX_6_1, LINUX_6_12] {
        let messages = recorded(text, "family");
        let names: Vec<_> = messages.iter().filter_map(|message| family(message)).collect();
        assert_eq!(names.len(), messages.len());
        let found = names.iter().find(|(name, _)| name == FAMILY).unwrap();
        // Numbers of families that are not built in begin behind GENL_ID_CTRL.
        assert!(found.1 > CONTROLLER, "{names:?}");
    }
}

#[test]
fn a_radio_is_joined_of_many_messages() {
    for (text, txqs) in [(LINUX_6_1, false), (LINUX_6_12, true)] {
        assert!(recorded(text, "radio").len() > 20);
        let radios = radios_of(text);
        assert_eq!(radios.len(), 1, "{radios:?}");
        let radio = &radios[0];
        assert_eq!((radio.index, radio.name.as_str()), (1, "phy1"));
        for kind in ["station", "ap", "monitor", "mesh-point"] {
            assert!(radio.kinds.iter().any(|one| one == kind), "{radio:?}");
        }
        // Output of `iw phy`: [ TXQS ] since drivers of 6.2 and later all have them.
        assert_eq!((radio.txqs, radio.aql), (txqs, false), "{radio:?}");
        assert_eq!(radio.txq_limit_packets, txqs.then_some(8_192));
        assert_eq!(radio.queue, txqs.then(TxqStats::default));
    }
}

#[test]
fn an_interface_is_what_iw_printed() {
    for text in [LINUX_6_1, LINUX_6_12] {
        let messages = recorded(text, "interface");
        let found: Vec<_> = messages.iter().filter_map(|message| interface(message)).collect();
        assert_eq!(found.len(), 1);
        let station = &found[0];
        assert_eq!((station.name.as_str(), station.kind.as_str()), ("wlan1", "station"));
        assert_eq!((station.frequency_mhz, station.width_mhz), (Some(5_180), Some(40)));
        assert_eq!(station.radio, 1);
        assert!(station.power_dbm.is_some_and(|dbm| dbm > 0.0), "{station:?}");
    }
}

#[test]
fn a_station_is_what_iw_printed() {
    for text in [LINUX_6_1, LINUX_6_12] {
        let messages = recorded(text, "station");
        let found: Vec<_> = messages.iter().filter_map(|message| station(message)).collect();
        assert_eq!(found.len(), 1);
        let access_point = &found[0];
        assert_eq!(access_point.address, "02:00:00:00:00:00");
        assert_eq!(access_point.signal_dbm, Some(-27));
        assert_eq!(
            (access_point.beacon_interval_tu, access_point.dtim_beacons),
            (Some(100), Some(2))
        );
        assert_eq!((access_point.tx_failed, access_point.beacon_losses), (Some(0), Some(0)));
        // Two seconds of iperf3.
        assert!(access_point.tx_packets > Some(1_000) && access_point.tx_bytes > Some(1_000_000));
        let rate = access_point.tx_rate.as_ref().unwrap();
        assert_eq!(rate.mode, RateMode::Ht);
        assert!(rate.mbps > 0.0 && rate.mcs.is_some_and(|mcs| mcs < 16), "{rate:?}");
        // mac80211's queues have sent all of them but frames of management.
        let sent = access_point.queue.as_ref().map(|queue| queue.sent_packets);
        assert_eq!(sent.is_some(), radios_of(text)[0].txqs);
        if let (Some(sent), Some(packets)) = (sent, access_point.tx_packets) {
            assert!(sent <= packets.into() && sent > u64::from(packets) * 9 / 10, "{sent}");
        }
    }
}

#[test]
fn power_save_is_a_state() {
    for text in [LINUX_6_1, LINUX_6_12] {
        let messages = recorded(text, "power-save");
        // The recording is made after `iw dev wlan1 set power_save on`.
        assert_eq!(messages.iter().map(|m| power_save(m)).collect::<Vec<_>>(), [Some(true)]);
    }
    assert_eq!(power_save(&[0; 4]), None);
}

/// Makes a rate as the kernel does (`nl80211_put_sta_rate`).
fn rate_of(build: impl FnOnce(&mut Message)) -> Option<Rate> {
    let mut message = Message::new(0, 0);
    build(&mut message);
    rate(&message.finish(0)[lasthop_linux::message::HEADER..])
}

#[test]
fn rates_of_every_generation_are_read() {
    let summary = |rate: Option<Rate>| {
        rate.map(|r| (r.mbps, r.mode, r.mcs, r.streams, r.width_mhz.unwrap(), r.guard_us))
    };
    let legacy = rate_of(|m| m.bytes(rate::BITRATE, &540u16.to_ne_bytes()));
    assert_eq!(summary(legacy), Some((54.0, RateMode::Legacy, None, None, 20, None)));
    let ht = rate_of(|m| {
        m.u32(rate::BITRATE32, 3_000);
        m.bytes(rate::MCS, &[15]);
        m.bytes(rate::WIDTH_40, &[]);
        m.bytes(rate::SHORT_GI, &[]);
    });
    assert_eq!(summary(ht), Some((300.0, RateMode::Ht, Some(15), Some(2), 40, Some(0.4))));
    let vht = rate_of(|m| {
        m.u32(rate::BITRATE32, 7_800);
        m.bytes(rate::VHT_MCS, &[9]);
        m.bytes(rate::VHT_NSS, &[2]);
        m.bytes(rate::WIDTH_80, &[]);
    });
    assert_eq!(summary(vht), Some((780.0, RateMode::Vht, Some(9), Some(2), 80, Some(0.8))));
    let he = rate_of(|m| {
        m.u32(rate::BITRATE32, 24_019);
        m.bytes(rate::HE_MCS, &[11]);
        m.bytes(rate::HE_NSS, &[2]);
        m.bytes(rate::HE_GI, &[0]);
        m.bytes(rate::WIDTH_160, &[]);
    });
    assert_eq!(summary(he), Some((2_401.9, RateMode::He, Some(11), Some(2), 160, Some(0.8))));
    let eht = rate_of(|m| {
        m.u32(rate::BITRATE32, 57_647);
        m.bytes(rate::EHT_MCS, &[13]);
        m.bytes(rate::EHT_NSS, &[2]);
        m.bytes(rate::EHT_GI, &[1]);
        m.bytes(rate::WIDTH_320, &[]);
    });
    assert_eq!(summary(eht), Some((5_764.7, RateMode::Eht, Some(13), Some(2), 320, Some(1.6))));
    assert_eq!(rate_of(|m| m.bytes(rate::MCS, &[1])), None, "without a bit rate");
}

#[test]
fn a_name_of_any_bytes_is_text() {
    assert_eq!(ssid_text("café".as_bytes()), "café");
    assert_eq!(ssid_text(b"a\x00\x1b[1m\xff\\"), "a\\x00\\x1b[1m\\xff\\x5c");
}

#[test]
fn questions_load_no_module_and_need_no_name() {
    // A question by name would have the kernel look for the family's module.
    let bytes = ask_families().finish(1);
    assert_eq!(bytes.len(), lasthop_linux::message::HEADER + GENERIC_HEADER);
}

/// A truncated message gives fewer values, and the remaining ones are unchanged.
#[test]
fn what_is_cut_is_absent() {
    let whole = recorded(LINUX_6_1, "station").remove(0);
    let all = station(&whole).unwrap();
    for end in 0..whole.len() {
        if let Some(part) = station(&whole[..end]) {
            assert_eq!(part.address, all.address);
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = (family(&bytes), interface(&bytes), station(&bytes), power_save(&bytes));
        let found = radios([&bytes[..], &bytes[bytes.len() / 2..]]);
        prop_assert!(found.len() <= 2);
    }

    /// A changed byte changes the result, or makes values absent, and never causes another failure.
    #[test]
    fn a_changed_byte_is_read_or_refused(at in 0usize..4096, to: u8) {
        for kind in ["radio", "interface", "station", "power-save", "family"] {
            for mut message in recorded(LINUX_6_12, kind).into_iter().take(30) {
                let length = message.len();
                message[at % length] = to;
                let _ = (family(&message), interface(&message), station(&message));
                let _ = (power_save(&message), radios([message.as_slice()]));
            }
        }
    }
}
