//! Keys of 802.11ac and 802.11ax in company in which nothing could ever come of them: what a
//! person reads then, with the line; and the same keys in company in which something does, which
//! stays sound.

use lasthop_scenario::parse;

/// A cell of `standard` at 40 MHz with two stations: keys of the access point on line 5, of the
/// stations on line 9, more behind them from line 10 on.
fn text(standard: &str, access_point: &str, stations: &str, more: &str) -> String {
    format!(
        r#"channel = {{ standard = "{standard}", band = "5GHz", width = "40MHz" }}
[[node]]
name = "ap"
role = "access-point"
{access_point}
[[node]]
name = "sta"
role = "station"
count = 2{stations}
{more}
"#
    )
}

/// With which messages, each as `key (file:line)`, the text is refused.
fn refused(text: &str) -> Vec<String> {
    match parse("test.toml", text, &[]) {
        Ok(_) => Vec::new(),
        Err(why) => why.to_string().lines().map(str::to_owned).collect(),
    }
}

/// One message, at this line, of this key, with these words.
fn assert_refused(text: &str, line: usize, key: &str, words: &str) {
    let messages = refused(text);
    assert_eq!(messages.len(), 1, "{text}\n{messages:#?}");
    let message = &messages[0];
    assert!(message.contains(&format!("test.toml:{line}")), "{text}\n{message}");
    assert!(message.contains(&format!("{key}: ")) && message.contains(words), "{text}\n{message}");
}

fn assert_sound(text: &str) {
    assert_eq!(refused(text), [""; 0], "{text}");
}

const NO_AGGREGATES: &str = "aggregation = { ampdu_bytes_max = 0 }";

#[test]
fn several_at_once_without_aggregates() {
    for (keys, why) in [
        (NO_AGGREGATES, "A-MPDUs, and aggregation.ampdu_bytes_max is 0"),
        (
            "aggregation = { ampdu_frames_max = 1 }",
            "A-MPDUs, and aggregation.ampdu_frames_max is 1",
        ),
        ("block_ack = { window = 1 }", "A-MPDUs, and block_ack.window is 1"),
    ] {
        for (standard, table, key) in [
            ("802.11ax", "ofdma = {}", "node.ap.ofdma"),
            ("802.11ax", "mu_mimo = {}", "node.ap.mu_mimo"),
            ("802.11ac", "mu_mimo = {}", "node.ap.mu_mimo"),
        ] {
            let of_ap = |keys: &str| text(standard, &format!("{table}\n{keys}"), "", "");
            assert_refused(&of_ap(keys), 5, key, why);
            // Also as a default; and not as a matter of the stations alone.
            let defaults = format!("[node_defaults]\n{keys}");
            assert_refused(&text(standard, table, "", &defaults), 5, key, why);
            assert_sound(&text(standard, table, &format!("\n{keys}"), ""));
            assert_sound(&of_ap(""));
        }
    }
    // Short A-MPDUs are some.
    let short = "ofdma = {}\naggregation = { ampdu_bytes_max = 4000, ampdu_frames_max = 2 }";
    assert_sound(&text("802.11ax", short, "", ""));
}

#[test]
fn several_at_once_at_other_rates() {
    for (rate, is_usual) in [
        (r#"rate = "24Mb/s""#, false),
        (r#"mcs = 0, streams = 1, extended_range = "242-tones""#, false),
        ("mcs = 0, streams = 1, dcm = true", true),
        ("mcs = 7", true),
    ] {
        let defaults = "[node_defaults]\ndcm = true\nextended_range = true";
        let fixed = format!("rate_control = {{ kind = \"fixed\", {rate} }}");
        for table in ["ofdma", "mu_mimo"] {
            let text = text("802.11ax", &format!("{table} = {{}}\n{fixed}"), "", defaults);
            if is_usual {
                assert_sound(&text)
            } else {
                let words = "rates that have an MCS and fill the channel, and rate_control is \
                                 fixed at";
                assert_refused(&text, 5, &format!("node.ap.{table}"), words);
            }
        }
    }
}

/// Uplink OFDMA does not need the access point's requirements for the downlink.
#[test]
fn uplink_ofdma_is_of_stations() {
    let uplink = "ofdma = { uplink = {} }";
    assert_sound(&text("802.11ax", &format!("{uplink}\n{NO_AGGREGATES}"), "", ""));
    let key = "node.ap.ofdma.uplink";
    let of_stations = format!("\n{NO_AGGREGATES}");
    let words = r#"A-MPDUs, and aggregation.ampdu_bytes_max is 0 ("sta1", and likewise all"#;
    assert_refused(&text("802.11ax", uplink, &of_stations, ""), 5, key, words);
    let legacy = "\nrate_control = { kind = \"fixed\", rate = \"6Mb/s\" }";
    let words = "and rate_control is fixed at 6Mb/s (\"sta1\"";
    assert_refused(&text("802.11ax", uplink, legacy, ""), 5, key, words);
    // One that can is enough, in the same set.
    let other = |bss: &str| {
        format!(
            "[[node]]\nname = \"other\"\nrole = \"station\"\n{bss}\n[[node]]\nname = \"ap2\"\nrole = \"access-point\"\nbss = \"b\""
        )
    };
    assert_sound(&text("802.11ax", uplink, &of_stations, &other("")));
    let elsewhere = text("802.11ax", uplink, &of_stations, &other("bss = \"b\""));
    assert_refused(&elsewhere, 5, key, "A-MPDUs");
    // Whom no Trigger frame asks, as real access points have them: too old, without QoS, none.
    assert_sound(&text("802.11ax", uplink, "\nstandard = \"802.11n\"", ""));
    assert_sound(&text("802.11ax", uplink, "\nqos = false", ""));
    let alone = "channel = { standard = \"802.11ax\" }\n[[node]]\nname = \"ap\"\nrole = \"access-point\"\nofdma = { uplink = {} }\n";
    assert_sound(alone);
    // Neither direction.
    let defaults = format!("[node_defaults]\n{NO_AGGREGATES}");
    let messages = refused(&text("802.11ax", uplink, "", &defaults));
    assert_eq!(messages.len(), 2, "{messages:?}");
}

#[test]
fn an_independent_cell_has_no_access_point() {
    for (standard, table, key) in [
        ("802.11ax", "ofdma = {}", "ofdma"),
        ("802.11ax", "ofdma = { uplink = {} }", "ofdma"),
        ("802.11ac", "mu_mimo = {}", "mu_mimo"),
    ] {
        let text = text(standard, table, "", "").replace("width", "independent = true, width");
        let words = "only an access point sends to several stations at once, and an independent \
                     cell has none";
        assert_refused(&text, 5, &format!("node.ap.{key}"), words);
    }
}

/// A sweep of widths passes through 20 MHz, where there is no secondary channel to wait for.
#[test]
fn static_bandwidth_is_for_all_widths() {
    let text = text("802.11ac", "", "", "[[cell]]\nbandwidth = \"static\"");
    for width in ["20MHz", "40MHz", "80MHz"] {
        assert_sound(&text.replace("40MHz", width));
    }
}

#[test]
fn colours_of_older_sets() {
    let older = "standard = \"802.11ac\"";
    for (key, path, words) in [
        (
            "colour = 7",
            "cell.0.colour",
            "a BSS colour needs 802.11ax or 802.11be, and no node of this set",
        ),
        (
            "spatial_reuse = \"-70dBm\"",
            "cell.0.spatial_reuse",
            "spatial reuse needs 802.11ax or 802.11be, and no node of this set has it",
        ),
    ] {
        let cell = format!("[[cell]]\n{key}");
        let all = text("802.11ax", older, &format!("\n{older}"), &cell);
        assert_refused(&all, 12, path, words);
        // A station of 802.11ax under an older access point reads colours.
        assert_sound(&text("802.11ax", older, "", &cell));
        assert_sound(&text("802.11ax", "", &format!("\n{older}"), &cell));
    }
    let none = text("802.11ax", older, &format!("\n{older}"), "[[cell]]\ncolour = 0");
    assert_sound(&none);
}

#[test]
fn a_rate_without_an_mcs() {
    for key in ["streams = 2", "dcm = true", "extended_range = \"106-tones\""] {
        let modes = "dcm = true\nextended_range = true\n";
        let fixed = format!("rate_control = {{ kind = \"fixed\", rate = \"24Mb/s\", {key} }}");
        let name = key.split(' ').next().expect("a name");
        let text = text("802.11ax", &format!("{fixed}\n{modes}"), "", "");
        let words = "this key is for rates given by mcs, not by rate";
        assert_refused(&text, 5, &format!("node.ap.rate_control.{name}"), words);
    }
    let fixed = "rate_control = { kind = \"fixed\", rate = \"24Mb/s\", dcm = false }";
    assert_sound(&text("802.11ax", fixed, "", ""));
    let neighbour =
        "[[neighbour]]\nname = \"flat\"\nlevel = \"-70dBm\"\nbusy = 0.1\nrate = \"24Mb/s\"";
    assert_sound(&text("802.11ac", "", "", neighbour));
    let with_streams = text("802.11ac", "", "", &format!("{neighbour}\nstreams = 1"));
    let messages = refused(&with_streams);
    assert!(messages.iter().any(|it| it.contains("given by mcs, not by rate")), "{messages:?}");
    assert!(messages.iter().all(|it| it.contains("test.toml:15")), "{messages:?}");
}

/// The default of `aifsn` is 0, with which no window is ever used.
#[test]
fn windows_of_who_does_not_contend() {
    let table = |keys: &str| {
        let of_ap = format!("ofdma = {{ uplink = {{ mu_edca = {{ video = {{ {keys} }} }} }} }}");
        text("802.11ax", &of_ap, "", "")
    };
    for key in ["cw_min", "cw_max"] {
        let path = format!("node.ap.ofdma.uplink.mu_edca.video.{key}");
        let words = "a station does not contend and has no window";
        assert_refused(&table(&format!("{key} = 63")), 5, &path, words);
        // As hostapd has it, whose elements hold all of them.
        assert_sound(&table(&format!("aifsn = 0, {key} = 63")));
        assert_sound(&table(&format!("aifsn = 8, {key} = 63")));
    }
    assert_sound(&table("timer = \"16.384ms\""));
}

/// Mechanisms that an access point cannot have with its stations.
#[test]
fn agreements_with_access_points_that_have_none() {
    let twt = "\npower_save = \"twt\"";
    let older = "standard = \"802.11ac\"";
    let words = "target wake times need 802.11ax, and its access point \"ap\" has 802.11ac";
    assert_refused(&text("802.11ax", older, twt, ""), 10, "node.sta.power_save", words);
    assert_sound(&text("802.11ax", "", twt, ""));
    assert_sound(&text("802.11ax", older, "\npower_save = \"u-apsd\"", ""));
    let mode = "\noperating_mode = { streams = 1 }";
    let words = "operating modes need QoS frames, and qos of the access point is false";
    let without = text("802.11ac", "qos = false", mode, "");
    assert_refused(&without, 10, "node.sta.operating_mode", words);
    assert_sound(&text("802.11ac", "qos = true", mode, ""));
}

/// Keys of another kind of flow, or of node.
#[test]
fn of_another_kind() {
    for (kind, is_sound) in [
        ("tcp", true),
        ("web", true),
        ("stream", true),
        ("udp", false),
        ("ping", false),
        ("video", false),
    ] {
        let flow = format!(
            "[[flow]]\nname = \"down\"\nfrom = \"ap\"\nto = \"sta1\"\nkind = \"{kind}\"\n\
             tcp = {{ sack = false }}"
        );
        let text = text("802.11ax", "", "", &flow);
        if is_sound {
            assert_sound(&text)
        } else {
            assert_refused(&text, 15, "flow.down.tcp", "for tcp, web and stream flows only")
        }
    }
    let buffer = "power_save_buffer = 10";
    assert_sound(&text("802.11n", buffer, "", ""));
    assert_sound(&text("802.11n", "", "", &format!("[node_defaults]\n{buffer}")));
    let of_stations = text("802.11n", "", &format!("\n{buffer}"), "");
    assert_refused(&of_stations, 10, "node.sta.power_save_buffer", "only an access point holds");
}
