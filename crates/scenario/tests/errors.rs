//! Messages about wrong scenarios, word for word.

use lasthop_scenario::{parse, parse_bytes};
use std::fmt::Write;

/// A cell, a server, and a flow; each case adds a mistake.
const GOOD: &str = r#"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "laptop"
role = "station"
[[node]]
name = "server"
role = "host"
[[wire]]
between = ["server", "ap"]
[[flow]]
name = "up"
from = "laptop"
to = "server"
kind = "tcp"
"#;

/// `--set` arguments that are wrong for [`GOOD`].
const SETS: &[&str] = &[
    // No such place.
    "channel.widht=40MHz",
    "chanel.width=40MHz",
    "node.laptp.tx_power=10dBm",
    "node.7.tx_power=10dBm",
    "node.laptop.queue.pakets=200",
    "node..queue=5",
    "duration",
    "duration.x=1",
    "name.x=1",
    // Values.
    "duration=10",
    "duration=10sec",
    "duration=-1s",
    "duration=99999h",
    "duration=1e30s",
    "wire.server-ap.rate=1e3Mb/s",
    "channel.width=80MHz",
    "channel.width=320MHz",
    "channel.width=40",
    "channel.width=20",
    "channel.band=2.4",
    "channel.standard=802.11bn",
    "series_interval=1ns",
    "flow.up.rate=10Mbps",
    "channel.standard=802.11",
    "channel.noise_figure=7dBm",
    "channel.noise_figure=-7dB",
    "channel.beacon_interval=never",
    "channel.path_loss.exponent=three",
    "channel.path_loss.shadowing=-1dB",
    "node.laptop.tx_power=100mW",
    "node.laptop.position=[\"1m\"]",
    "node.laptop.position=[1, 2]",
    "node.laptop.retry_limit=0",
    "node.laptop.count=0",
    "node.laptop.address=2a",
    "node.laptop.name=my laptop",
    "node.laptop.queue.packets=200kB",
    "node.laptop.queue.station_packets=64",
    "wire.server-ap.queue.station_packets=64",
    "node.laptop.queue=fq_codel",
    "node.laptop.block_ack.window=128",
    "node.laptop.block_ack.window=512",
    "node.laptop.aggregation.amsdu_bytes_max=8000",
    "node.laptop.streams=5",
    "node.laptop.streams=9",
    "node.laptop.aggregation.ampdu_bytes_max=65536",
    "wire.server-ap.loss=150%",
    "wire.server-ap.rate=3MB/s",
    "emulation.mtu=1500",
    "node.laptop.mtu=67",
    "node.server.buffer_bytes=500",
    "flow.up.kind=quic",
    "flow.up.apq=slow",
    "flow.up.apq.packet_bytes=[99]",
    "flow.up.apq.clock_drift=1001",
    "flow.up.start=2026-11-20",
    "franc=[{ name = \"f\", ends = [\"ap\"], mode = \"papr\", field = \"gf4\", helpers = [], relaying = \"guess\", loss = [{ loss = 2 }], outage = [{}] }]",
    "node=5",
    "franc.*.mode=plain",
    // Combinations.
    "warmup=10s",
    "duration=0s",
    "channel={ standard = \"802.11b\", width = \"40MHz\" }",
    "channel={ standard = \"802.11g\", guard_interval = \"400ns\" }",
    "channel={ standard = \"802.11a\", band = \"2.4GHz\" }",
    "channel={ standard = \"802.11ac\", band = \"2.4GHz\" }",
    "channel={ standard = \"802.11n\", band = \"6GHz\" }",
    "channel={ standard = \"802.11ax\", band = \"2.4GHz\", width = \"80MHz\" }",
    "channel={ standard = \"802.11ax\", guard_interval = \"400ns\" }",
    "channel={ standard = \"802.11ac\", guard_interval = \"3200ns\" }",
    "channel={ standard = \"802.11ax\", group_rate = \"7Mb/s\" }",
    "channel={ standard = \"802.11ax\", band = \"6GHz\", preamble = \"short\" }",
    "channel.preamble=short",
    "channel.basic_rates=[\"6Mb/s\", \"11Mb/s\"]",
    "channel.group_rate=65Mb/s",
    "channel.beacon_interval=0s",
    "channel.path_loss={ model = \"free-space\", exponent = 3 }",
    "channel.fading.doppler=5Hz",
    "channel.fading={ kind = \"rayleigh\", k = \"3dB\" }",
    "node.server.role=access-point",
    "node.server.role=relay",
    "node.server.name=ap",
    "node.server.tx_power=10dBm",
    "node.server*.tx_power=10dBm",
    "node.*.retry_limit=0",
    "flow.*.pattern=poisson",
    "link.snr=12dB",
    "link.ap-server.snr=12dB",
    "wire.ap->laptop.rate=1Mb/s",
    "node.ap.role=station",
    "node.laptop={ name = \"sta\", role = \"station\", count = 2, address = \"02:00:00:00:00:01\" }",
    "node.laptop.ring=3m",
    "node.laptop.address=03:00:00:00:00:01",
    "node.laptop.rate_control={ kind = \"fixed\" }",
    "node.laptop.rate_control={ kind = \"fixed\", mcs = 7, rate = \"6Mb/s\" }",
    "node.laptop.rate_control={ kind = \"fixed\", rate = \"65Mb/s\" }",
    "node.laptop.rate_control={ kind = \"fixed\", mcs = 16 }",
    "node.laptop.rate_control={ mcs = 3 }",
    "node.laptop.rate_control={ kind = \"fixed\", mcs = 3, streams = 1 }",
    "node.laptop.rate_control={ snr_error = \"2dB\" }",
    "node.laptop.standard=802.11ax",
    "node.laptop.standard=802.11b",
    "node.laptop.width=40MHz",
    "node.laptop={ name = \"laptop\", role = \"station\", standard = \"802.11a\", rate_control = { kind = \"fixed\", mcs = 3 } }",
    "node.laptop.dcm=true",
    "node.laptop.extended_range=true",
    "node.laptop.packet_padding=8us",
    "node.laptop.packet_padding=4us",
    "node.laptop.rate_control={ kind = \"fixed\", mcs = 0, dcm = true }",
    "node.laptop.rate_control={ extended_range = \"106-tones\" }",
    "node.laptop.ofdma={}",
    "node.ap.ofdma={}",
    "node.ap.ofdma.stations=1",
    "node.ap.ofdma.acknowledgement=trs",
    "node.ap.ofdma.uplink.buffer_reports=0s",
    "node.ap.ofdma.uplink.bsrp=true",
    "node.ap.ofdma.uplink.mu_edca.best_effort.aifsn=16",
    "node.laptop.mu_mimo={}",
    "node.ap.mu_mimo={}",
    "node.ap.mu_mimo.stations=9",
    "node.ap.mu_mimo.codebook=exact",
    "node.ap.mu_mimo.groups=2",
    "node.ap.mu_mimo.doppler=-1Hz",
    "node.laptop.rate_control={ kind = \"firmware\", snr_error = \"-2dB\" }",
    "node.laptop.rate_control={ kind = \"firmware\", update_interval = \"0s\" }",
    "node.laptop={ name = \"laptop\", role = \"station\", streams = 1, rate_control = { kind = \"fixed\", mcs = 8 } }",
    "node.laptop.queue={ kind = \"drop-tail\", packets = 5, bytes = \"64KiB\" }",
    "node.laptop.queue={ kind = \"drop-tail\", target = \"5ms\" }",
    "node.laptop.queue={ kind = \"codel\", flows = 5 }",
    "node.laptop.queue={ kind = \"drop-tail\", bytes = 100 }",
    "node.laptop.driver_queue={ packets = 5, airtime = \"8ms\" }",
    "node.laptop={ name = \"laptop\", role = \"station\", qos = false, aggregation = { ampdu_bytes_max = 8000 } }",
    "node.laptop={ name = \"laptop\", role = \"station\", qos = false, edca = { video = { aifsn = 1 } } }",
    "node.laptop.aggregation.ampdu_duration_max=6ms",
    "node.laptop.aggregation.mpdu_start_spacing=20us",
    "node.laptop={ name = \"laptop\", role = \"station\", aggregation = { ampdu_frames_max = 64 }, block_ack = { window = 32 } }",
    "node.laptop.low_rate_retry={ enabled = true, rates = [\"25Mb/s\"], limits = [7] }",
    "node.laptop.low_rate_retry={ rates = [\"50Mb/s\", \"25Mb/s\"], limits = [2, 5] }",
    "node.ap.pseudo_retry_out=2",
    "node.laptop.pseudo_retry_out=true",
    "node.ap.pseudo_retry_out={ enabled = true, indices = [2, 5] }",
    "node.ap.pseudo_retry_out={ enabled = true, rates = [\"0Mb/s\"], indices = [2] }",
    "node.ap.pseudo_retry_out.rates=[\"1Mb/s\", \"2Mb/s\", \"3Mb/s\", \"4Mb/s\", \"5Mb/s\"]",
    "node.ap.pseudo_retry_out.smoothing=0.001",
    "node.ap={ name = \"ap\", role = \"access-point\", qos = false, pseudo_retry_out = true }",
    "node.server.pseudo_retry_out=true",
    "node.laptop.edca.best_effort.cw_min=16",
    "node.laptop.edca.best_effort.cw_max=7",
    "node.laptop.mtu=8000",
    "node.laptop={ name = \"laptop\", role = \"station\", mtu = 4000, qos = false }",
    "node.laptop={ name = \"laptop\", role = \"station\", mtu = 4100, buffer_bytes = 4096 }",
    "node.laptop.buffer_bytes=1024",
    "node.laptop={ name = \"laptop\", role = \"station\", mtu = \"adaptive\", adaptive_mtu = { min = 7900 } }",
    "node.laptop.mtu=adapt",
    "node.server.mtu=adaptive",
    "node.laptop.adaptive_mtu={ max = 3000 }",
    "node.laptop={ name = \"laptop\", role = \"station\", mtu = \"adaptive\", adaptive_mtu = { min = 2000, max = 1000 } }",
    "node.laptop={ name = \"laptop\", role = \"station\", mtu = \"adaptive\", adaptive_mtu = { max = 8000 } }",
    "node.laptop={ name = \"laptop\", role = \"station\", mtu = \"adaptive\", aggregation = { amsdu_bytes_max = 3839 } }",
    "node.laptop={ name = \"laptop\", role = \"station\", mtu = \"adaptive\", adaptive_mtu = { max = 4000 }, buffer_bytes = 2048 }",
    "node.ap.scan={ null_attempts = 3 }",
    "node.ap.scan.own_channel=1",
    "node.server.scan={}",
    "node.laptop.scan={ period = \"5s\" }",
    "node.laptop.scan={ channels = 400 }",
    "node.laptop.scan.period=0s",
    "node.laptop.scan.away=0s",
    "node.laptop.scan.channels=0",
    "node.laptop.scan.passive_channels=15",
    "node.laptop.scan={ kind = \"active\", passive_channels = 27, passive_away = \"0s\" }",
    "node.laptop.scan.leftover=drop",
    "node.laptop.scan.null_attempts=0",
    "node.laptop.absence={}",
    "node.laptop.absence=90ms",
    "node.laptop.absence={ away = \"0s\" }",
    "node.laptop.absence={ away = \"90ms\", every = \"90ms\" }",
    "node.laptop.absence=[{ away = \"30ms\", every = \"50ms\" }, { away = \"30ms\", every = \"50ms\", channel = 0 }]",
    "node.laptop.absence=[{ away = \"30ms\", every = \"50ms\" }, { away = \"30ms\", every = \"50ms\" }]",
    "node.ap.absence={ away = \"90ms\", announced = true }",
    "node.server.absence={ away = \"90ms\" }",
    "node.laptop={ name = \"laptop\", role = \"station\", absence = { away = \"1s\" }, scan = {} }",
    "node.laptop={ name = \"laptop\", role = \"station\", absence = { away = \"1s\" }, power_save = {} }",
    "node.ap.power_save_buffer=0",
    "node.laptop.scan={ own_channel = 30 }",
    "node.ap.power_save={}",
    "node.laptop.power_save.idle=0s",
    "node.laptop={ name = \"laptop\", role = \"station\", power_save = {}, scan = {} }",
    "node.laptop.power_save={ kind = \"psm\" }",
    "node.laptop.power_save={ busy_frames = 10 }",
    "node.laptop.power_save={ kind = \"firmware\", idle = \"1s\" }",
    "node.laptop.power_save={ kind = \"firmware\", busy_interval = \"0s\" }",
    "node.laptop.power_save={ kind = \"u-apsd\", wake_jitter = \"1ms\" }",
    "node.laptop.power_save={ kind = \"u-apsd\", beacon_loss = 0.1 }",
    "profile=laptop",
    "node.laptop.profile=ath9k",
    "node.server.profile=iwlwifi",
    "flow.up.group=true",
    "flow.up={ name = \"up\", from = \"laptop\", to = \"ap\", kind = \"udp\", group = true, packet_bytes = 1600 }",
    "flow.up={ name = \"up\", from = \"laptop\", to = \"ap\", kind = \"udp\", group = true, endpoints = \"kernel\" }",
    "channel={ group_mcs = 1, group_rate = \"6Mb/s\" }",
    "channel.group_mcs=16",
    "channel={ standard = \"802.11ac\", group_mcs = 9 }",
    "channel={ standard = \"802.11a\", group_mcs = 0 }",
    "channel={ standard = \"802.11ac\", basic_rates = [\"7Mb/s\"] }",
    "node.laptop.power_save={ kind = \"twt\" }",
    "node.laptop.power_save={ kind = \"u-apsd\", idle = \"1s\" }",
    "node.laptop.power_save={ announced = false }",
    "node.laptop.power_save={ kind = \"u-apsd\", delivery_enabled = [\"voice\", \"call\"] }",
    "node.laptop.power_save={ kind = \"u-apsd\", delivery_enabled = [] }",
    "node.laptop.power_save={ kind = \"u-apsd\", service_period = 3 }",
    "node.laptop.power_save={ kind = \"u-apsd\", service_period = \"some\" }",
    "node.laptop.power_save={ kind = \"u-apsd\", trigger_interval = \"0s\" }",
    "node.laptop={ name = \"laptop\", role = \"station\", qos = false, power_save = { kind = \"u-apsd\" } }",
    "node.laptop={ name = \"laptop\", role = \"station\", power_save = { kind = \"u-apsd\" }, scan = {} }",
    "wire.server-ap.between=[\"server\", \"serve\"]",
    "wire.server-ap.between=[\"server\", \"server\"]",
    "wire.server-ap.rate=0Mb/s",
    "wire.server-ap.reorder=true",
    "wire.server-ap.queue.airtime_fairness=true",
    "wire=[{ between = [\"ap\", \"server\"] }, { between = [\"server\", \"laptop\"] }]",
    "wire=[]",
    "link=[{ between = [\"laptop\", \"ap\"] }]",
    "link=[{ between = [\"laptop\", \"ap\"], snr = \"10dB\", loss = 0.1 }]",
    "link=[{ from = \"laptop\", snr = \"10dB\" }]",
    "link=[{ between = [\"laptop\", \"ap\"], snr = \"20dB\", snr_changes = [{ from = \"2s\" }] }]",
    "link=[{ between = [\"laptop\", \"ap\"], snr = \"20dB\", snr_changes = [{ from = \"2s\", snr = 12 }] }]",
    "link=[{ between = [\"laptop\", \"ap\"], snr = \"20dB\", snr_changes = [{ from = \"3s\", snr = \"12dB\" }, { from = \"2s\", snr = \"20dB\" }] }]",
    "link=[{ between = [\"laptop\", \"ap\"], snr = \"20dB\", snr_changes = [{ from = \"0s\", snr = \"12dB\" }, { from = \"10s\", snr = \"20dB\" }] }]",
    "link=[{ between = [\"laptop\", \"ap\"], loss = 0.1, snr_changes = [{ from = \"2s\", snr = \"12dB\" }] }]",
    "link=[{ between = [\"laptop\", \"ap\"], snr_changes = [{ from = \"2s\", snr = \"12dB\" }] }]",
    "link=[{ between = [\"laptop\", \"laptop\"], snr = \"10dB\" }]",
    "link=[{ between = [\"laptop\", \"server\"], snr = \"10dB\" }]",
    "change=[{ at = \"2s\" }, { set = { duration = \"1s\" } }]",
    "change=[{ at = \"2s\", set = {} }, { at = \"2s\", set = 5 }]",
    "change=[{ at = \"0s\", set = { wire.server-ap.delay = \"5ms\" } }, { at = \"10s\", set = { wire.server-ap.delay = \"5ms\" } }]",
    "change=[{ at = \"2s\", set = { wire.server-app.delay = \"5ms\" } }]",
    "change=[{ at = \"2s\", set = { wire.server-ap.delay = \"5\", wire.server-ap.dely = \"5ms\" } }]",
    "change=[{ at = \"2s\", set = { wire.server-ap.rate = \"off\" } }]",
    "change=[{ at = \"2s\", set = { wire.server-ap.delay = \"5ms\", duration = \"1s\", node.laptop.queue.packets = 5 } }]",
    "change=[{ at = \"2s\", set = { node.laptop.scan = { period = \"5s\" } } }]",
    "change=[{ at = \"2s\", set = { node.laptop.absence = { away = \"1s\" } } }]",
    "node.laptop.waypoints=[{ at = \"0s\", position = [\"1m\", \"0m\"] }, { at = \"2s\" }]",
    "node.laptop.waypoints=[{ at = \"0s\", position = [\"1m\", \"0m\"] }]",
    "node.laptop.waypoints=[{ at = \"2s\", position = [\"1m\", \"0m\"] }, { at = \"1s\", position = [\"1m\", \"0m\"] }]",
    "node.laptop.path={ speed = \"5\", through = [] }",
    "node.laptop.path={ speed = \"0m/s\", through = [[\"9m\", \"0m\"]] }",
    "node.laptop.path={ speed = \"1mm/s\", through = [[\"9m\", \"0m\"]] }",
    "node.laptop.path={ speed = \"0.001m/s\", through = [[\"90km\", \"0m\"]] }",
    "node.laptop.path={ speed = \"1m/s\", through = [[\"5m\", \"0m\"]], repeat = true }",
    "node.laptop.trace={ file = \"none.csv\", node = -1 }",
    "node.server.path={ speed = \"1m/s\", through = [[\"9m\", \"0m\"]] }",
    "change=[{ at = \"2s\", set = { \"node.laptop.rate_control\" = { kind = \"fixed\" } } }]",
    "change=[{ at = \"2s\", set = { change.0.at = \"3s\" } }]",
    "flow.up.to=sever",
    "flow.up.to=laptop",
    "flow.up.start=10s",
    "flow.up.stop=0s",
    "flow.up.stop=11s",
    "run=[{ node = \"ap\", command = \"date\", start = \"10s\" }]",
    "run=[{ node = \"ap\", command = \" \" }]",
    "run=[{ node = \"ap\", command = \"date\", ready = \"http:80\" }]",
    "run=[{ node = \"ap\", command = \"date\", ready = \"tcp:0\" }]",
    "run=[{ node = \"ap\", command = \"date\", ready = \"file:\" }]",
    "run=[{ node = \"ap\", command = \"date\", ready = \"soon\" }]",
    "run=[{ node = \"ap\", command = \"date\", ready = 5 }]",
    "run=[{ node = \"ap\", command = \"date\", ready = \"30s\" }]",
    "run=[{ node = \"ap\", command = \"date\", ready_timeout = \"1s\" }]",
    "channel.error_model=per.csv",
    "channel.error_model=table",
    "channel.error_model={ table = \"/nowhere/per.csv\" }",
    "channel.error_model={ table = \"/dev/zero\" }",
    "channel.error_model={ kind = \"nist\", table = \"/nowhere/per.csv\" }",
    "channel.error_model=5",
    "channel.error_model.stream_power=half",
    "channel.encryption=wep",
    "node.laptop.edca.voice.txop_limit=1.5ms",
    "node.laptop.edca.voice.txop_limit=3s",
    "node_defaults.edca.video.txop_limit=1us",
    "wire.server-ap.loss.good_to_bad=0.1",
    "wire.server-ap.loss=gilbert-elliott",
    "wire.server-ap.loss=often",
    "wire.server-ap.loss={ kind = \"gilbert-elliott\", good_to_bad = 0.1, bad_to_good = 0 }",
    "wire.server-ap.loss={ kind = \"gilbert-elliott\", probability = 0.1, good_to_bad = 0.1, bad_to_good = 2 }",
    "wire.server-ap.rate_changes=[{ from = \"2s\" }]",
    "wire.server-ap.rate_changes=[{ from = \"2s\", rate = \"0b/s\" }, { from = \"2s\", rate = \"1Mb/s\" }]",
    "wire.server-ap.rate_changes=[{ from = \"0s\", rate = \"1Mb/s\" }, { from = \"10s\", rate = \"2Mb/s\" }]",
    "wire.server-ap={ between = [\"server\", \"ap\"], rate = \"off\", rate_changes = [{ from = \"2s\", rate = \"1Mb/s\" }] }",
    "wire.server-ap={ between = [\"server\", \"ap\"], rate_repeat = \"2s\", rate_changes = [{ from = \"2s\", rate = \"1Mb/s\" }] }",
    "wire.server-ap.rate_repeat=2s",
    "wire.server-ap.jitter=2",
    "wire.server-ap.jitter=normal",
    "wire.server-ap.jitter={ sd = \"2ms\" }",
    "wire.server-ap.jitter={ kind = \"normal\", most = \"2ms\" }",
    "wire.server-ap={ between = [\"server\", \"ap\"], jitter = \"2ms\", up = { jitter = { sd = \"1ms\" } } }",
    "flow.up={ name = \"up\", from = \"laptop\", to = \"ap\", kind = \"video\", trace = \"/nowhere/sizes.txt\", rate = \"3Mb/s\" }",
    "flow.up={ name = \"up\", from = \"laptop\", to = \"ap\", kind = \"udp\", trace = \"sizes.txt\" }",
    "flow.up={ name = \"up\", from = \"*\", to = \"*\", kind = \"ping\" }",
    "flow.up={ name = \"up\", from = \"laptop\", to = \"ap\", kind = \"udp\", congestion_control = \"bbr\" }",
    "flow.up={ name = \"up\", from = \"laptop\", to = \"ap\", kind = \"udp\", pattern = \"poisson\" }",
    "flow.up={ name = \"up\", from = \"laptop\", to = \"ap\", kind = \"video\", rate = \"saturated\" }",
    "flow.up={ name = \"up\", from = \"laptop\", to = \"ap\", kind = \"ping\", interval = \"0s\" }",
    "flow.up={ name = \"up\", from = \"laptop\", to = \"ap\", kind = \"ping\", apq = \"fast\" }",
    "flow.up={ name = \"up\", from = \"laptop\", to = \"ap\", kind = \"apq\", stop = \"5s\", rate = \"1Mb/s\" }",
    "flow.up={ name = \"up\", from = \"laptop\", to = \"ap\", kind = \"apq\", apq = { method = \"fast\", sessions = 3, dwell = \"1s\", step = 10, time_scale = 0.1, saturation_rate = 700, discipline = true } }",
    "flow.up={ name = \"up\", from = \"laptop\", to = \"ap\", kind = \"apq\", apq = { duration = \"1s\", precision = \"1%\", time_scale = 1.5, dwell = \"0s\" } }",
    "flow.up={ name = \"up\", from = \"laptop\", to = \"ap\", kind = \"apq\", apq = { saturation_rate = 700, rate_max = 500, step = 10 } }",
    "flow.up={ name = \"up\", from = \"laptop\", to = \"ap\", kind = \"apq\", apq = { packet_bytes = [750, 750] } }",
    "flow.up={ name = \"up\", from = \"laptop\", to = \"ap\", kind = \"apq\", apq = { packet_bytes = [750, 2000], method = \"fast\", duration = \"0s\", precision = 0 } }",
    "flow.up={ name = \"up\", from = \"laptop\", to = \"ap\", kind = \"ping\", packet_bytes = 70000 }",
    "flow.up.tcp={ receiver = \"macos-10.11\", ack_delay = \"1ms\", quick_acks = 2 }",
    "flow.up.tcp.receiver=macos",
    "flow.up={ name = \"up\", from = \"laptop\", to = \"ap\", kind = \"tcp\", congestion_control = \"bbr\", tcp = { recovery = \"linux-3.13\", hystart = \"off\", window_validation = \"rfc7661\", ssthresh_initial = 20 } }",
    "flow.up={ name = \"up\", from = \"laptop\", to = \"ap\", kind = \"tcp\", congestion_control = \"dctcp\", tcp = { recovery = \"linux-3.13\", hystart = \"off\" } }",
    "flow.up={ name = \"up\", from = \"laptop\", to = \"ap\", kind = \"tcp\", tcp = { accurate_ecn = true } }",
    "flow.up={ name = \"up\", from = \"laptop\", to = \"ap\", kind = \"tcp\", congestion_control = \"bbr3\", tcp = { recovery = \"linux-3.13\", hystart = \"off\", window_validation = \"rfc7661\", ssthresh_initial = 20 } }",
    "flow=[{ name = \"up\", from = \"laptop\", to = \"ap\", kind = \"tcp\" }, { name = \"up\", from = \"ap\", to = \"laptop\", kind = \"tcp\" }]",
    "run=[{ node = \"ap\", command = [] }]",
    "run=[{ node = \"ap\", command = [\"\"] }]",
    "run=[{ node = \"nobody\", command = \"date\" }]",
];

#[test]
fn set_arguments() {
    let mut messages = String::new();
    for &set in SETS {
        match parse("good.toml", GOOD, &[set.into()]) {
            Ok(_) => panic!("--set {set} is accepted"),
            Err(error) => writeln!(messages, "{error}").expect("a string takes all"),
        }
    }
    insta::assert_snapshot!(messages);
}

/// Whole files that are wrong.
const FILES: &[(&str, &str)] = &[
    ("an empty file", ""),
    ("no TOML", "name = \"x\"\n[channel\n"),
    ("the same key twice", "name = \"x\"\nname = \"y\"\n"),
    (
        "keys that have moved",
        r#"
[[node]]
name = "a"
role = "host"
[[node]]
name = "b"
role = "host"
[[wire]]
between = ["a", "b"]
[[franc]]
name = "older"
ends = ["a", "b"]
blocks = 4
backlog = { target = "5ms" }
"#,
    ),
    (
        "a ratio that changes in another order, and more than it may",
        r#"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "sta"
role = "station"
[[link]]
between = ["ap", "sta"]
snr = "25dB"
snr_changes = [
    { from = "3s", snr = "12dB" },
    { from = "2s", snr = "-5dB" },
]
"#,
    ),
    (
        "target wake times that no agreement has",
        r#"
[channel]
standard = "802.11ax"
beacon_interval = "off"
[[node]]
name = "ap"
role = "access-point"
qos = false
[[node]]
name = "often"
role = "station"
power_save = { kind = "twt", wake_interval = "5ms", wake_duration = "8.192ms", dtim = false }
[[node]]
name = "odd"
role = "station"
power_save = { kind = "twt", wake_interval = "10s", wake_duration = "1ms", retrieval = "wake" }
"#,
    ),
    (
        "several problems, in the order of the file",
        r#"
duraton = "10s"
[channel]
width = "40"
[[node]]
name = "ap"
role = "acces-point"
tx_power = "20dB"
[[flow]]
from = "ap"
"#,
    ),
    (
        "what 802.11ac has not",
        r#"
[channel]
standard = "802.11ac"
[node_defaults]
mtu = 9000
[node_defaults.aggregation]
ampdu_bytes_max = 2_000_000
amsdu_bytes_max = 11_424
[node_defaults.block_ack]
window = 128
[[node]]
name = "ap"
role = "access-point"
rate_control = { kind = "fixed", mcs = 9, streams = 2 }
[[node]]
name = "sta"
role = "station"
streams = 1
rate_control = { kind = "fixed", mcs = 10 }
"#,
    ),
    (
        "what 802.11ax has not",
        r#"
[channel]
standard = "802.11ax"
band = "2.4GHz"
width = "40MHz"
[node_defaults.aggregation]
ampdu_bytes_max = 1_000_000
[[node]]
name = "ap"
role = "access-point"
rate_control = "minstrel-ht"
[[node]]
name = "sta"
role = "station"
rate_control = { kind = "fixed", mcs = 12 }
"#,
    ),
    (
        "what ath9k's rate control has not",
        r#"
[channel]
standard = "802.11ac"
[[node]]
name = "ap"
role = "access-point"
rate_control = { kind = "ath9k", update_interval = "50ms" }
[[node]]
name = "sta"
role = "station"
"#,
    ),
    (
        "a rate control that is not there",
        "[[node]]\nname = \"ap\"\nrole = \"access-point\"\nrate_control = \"ath9\"\n",
    ),
    (
        "fixed rates towards single peers",
        r#"
[[node]]
name = "ap"
role = "access-point"
[[node.rate_control.peers]]
node = "nobody"
mcs = 0
[[node.rate_control.peers]]
node = "server"
mcs = 0
[[node.rate_control.peers]]
node = "ap"
mcs = 0
[[node.rate_control.peers]]
node = "sta1"
[[node.rate_control.peers]]
node = "sta1"
mcs = 0
rate = "6Mb/s"
[[node.rate_control.peers]]
node = "sta*"
mcs = 16
[[node]]
name = "sta"
role = "station"
count = 2
rate_control = { kind = "minstrel-ht", peers = [{ node = "sta2", mcs = 0 }] }
[[node]]
name = "server"
role = "host"
"#,
    ),
    ("single brackets", "[node]\nname = \"ap\"\nrole = \"access-point\"\n"),
    (
        "stations alone",
        "[[node]]\nname = \"a\"\nrole = \"station\"\n[[node]]\nname = \"b\"\nrole = \"station\"\n",
    ),
    ("a channel and no radio", "[channel]\n[[node]]\nname = \"a\"\nrole = \"host\"\n"),
    (
        "one default that is wrong for three nodes",
        r#"
[channel]
standard = "802.11a"
[node_defaults.rate_control]
kind = "fixed"
mcs = 7
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "sta"
role = "station"
count = 2
"#,
    ),
    (
        "what a direction takes from its wire",
        "[[node]]\nname = \"a\"\nrole = \"host\"\n[[node]]\nname = \"b\"\nrole = \"host\"\n\
         [[wire]]\nbetween = [\"a\", \"b\"]\nqueue = { bytes = 5 }\nup = { rate = \"1Mb/s\", jitter = \"2\" }\n",
    ),
    (
        "an MTU before 802.11n, from the defaults of nodes",
        "[channel]\nstandard = \"802.11g\"\n[node_defaults]\nmtu = 4000\n\
         [[node]]\nname = \"ap\"\nrole = \"access-point\"\n",
    ),
    (
        "packets that do not fit into the buffers of the other end",
        "[[node]]\nname = \"ap\"\nrole = \"access-point\"\nmtu = 7900\n\
         [[node]]\nname = \"sta\"\nrole = \"station\"\nbuffer_bytes = 4096\n\
         [[node]]\nname = \"h\"\nrole = \"host\"\nmtu = 9000\nbuffer_bytes = 7918\n\
         [[wire]]\nbetween = [\"ap\", \"h\"]\n",
    ),
    (
        "many nodes",
        "[[node]]\nname = \"sta\"\nrole = \"station\"\ncount = 1000\n[[node]]\nname = \"sta1\"\nrole = \"host\"\ncount = 1000\n",
    ),
    (
        "more stations than a cell takes",
        "[[node]]\nname = \"ap\"\nrole = \"access-point\"\n\
         [[node]]\nname = \"sta\"\nrole = \"station\"\ncount = 1000\n\
         [[node]]\nname = \"more\"\nrole = \"station\"\ncount = 24\n",
    ),
    (
        "a count's name that is taken",
        "[[node]]\nname = \"h\"\nrole = \"host\"\ncount = 2\n[[node]]\nname = \"h2\"\nrole = \"host\"\n",
    ),
    (
        "coded links",
        r#"
[channel]
independent = true
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "sta"
role = "station"
count = 6
[[node]]
name = "far"
role = "station"
scan = {}
[[node]]
name = "h"
role = "host"
count = 4
[[wire]]
between = ["h1", "ap"]
[[wire]]
between = ["h1", "h2"]
[[wire]]
between = ["h2", "h3"]
[[wire]]
between = ["h3", "h4"]
[[franc]]
name = "paper"
ends = ["ap", "sta1"]
helpers = ["sta2"]
mode = "paper"
blocks_max = 4
pace = "0s"
rate_max = "1Mb/s"
encoder_timeout = "0s"
loss = [{ between = ["ap", "sta1"], to = "sta2", loss = 0.1 }, { from = "ap", to = "sta3", loss = 0.1 }]
[[franc]]
name = "paper"
ends = ["sta1", "nowhere"]
[[franc]]
name = "plain"
ends = ["sta3", "sta4"]
helpers = ["h2"]
mode = "plain"
field = "gf2"
backlog_target = "0s"
outage = [{ node = "sta4", from = "20s" }, { node = "sta4", from = "2s", until = "1s" }, { node = "ap", from = "1s" }]
[[franc]]
name = "long"
ends = ["sta5", "sta6"]
symbol_bytes = 1490
helpers = ["far"]
overshoot = "5%"
[[franc]]
name = "taken"
ends = ["h1", "h3"]
relays = ["h2", "h1"]
[[franc]]
name = "wired"
ends = ["h3", "sta1"]
helpers = ["h4"]
relays = ["h2"]
[[flow]]
name = "full"
from = "sta3"
to = "sta4"
kind = "udp"
"#,
    ),
    (
        "two links",
        r#"
[[node]]
name = "a"
role = "host"
count = 9
[[wire]]
between = ["a1", "a2"]
[[wire]]
between = ["a2", "a3"]
[[wire]]
between = ["a4", "a5"]
[[franc]]
name = "relayed"
ends = ["a1", "a3"]
relays = ["a2"]
second = ["a4", "a5"]
[[franc]]
name = "paper"
ends = ["a6", "a7"]
second = ["a4", "a6"]
mode = "paper"
[[franc]]
name = "apart"
ends = ["a1", "a2"]
second = ["a8", "a9"]
[[franc]]
name = "twice"
ends = ["a4", "a5"]
second = ["a3", "a3"]
[[franc]]
name = "outages"
ends = ["a8", "a9"]
outage = [{ link = 2, from = "1s" }, { node = "a8", link = 1, from = "1s" }]
"#,
    ),
    (
        "outages of links",
        r#"
[[node]]
name = "a"
role = "host"
count = 4
[[wire]]
between = ["a1", "a2"]
[[wire]]
between = ["a3", "a4"]
[[franc]]
name = "unpaced"
ends = ["a1", "a2"]
second = ["a3", "a4"]
pace = "off"
[[franc]]
name = "one"
ends = ["a3", "a4"]
outage = [{ link = 2, from = "1s" }, { node = "a3", link = 1, from = "1s" }, { from = "2s" }]
"#,
    ),
];

#[test]
fn files() {
    let mut messages = String::new();
    for (title, text) in FILES {
        match parse("bad.toml", text, &[]) {
            Ok(_) => panic!("{title} is accepted"),
            Err(error) => writeln!(messages, "# {title}\n{error}").expect("a string takes all"),
        }
    }
    let error = parse_bytes("bad.toml", b"name = 1\n# \xff\n", &[]).expect_err("no UTF-8");
    writeln!(messages, "# no UTF-8\n{error}").expect("a string takes all");
    let long = "#".repeat(lasthop_scenario::TEXT_BYTES_MAX + 1);
    let error = parse("bad.toml", &long, &[]).expect_err("too long");
    writeln!(messages, "# too long\n{error}").expect("a string takes all");
    let missing = std::path::Path::new("/nowhere/at-all.toml");
    let error = lasthop_scenario::load(missing, &[]).expect_err("no file");
    writeln!(messages, "# no file\n{error}").expect("a string takes all");
    insta::assert_snapshot!(messages);
}

/// Forty nodes with the same wrong key: the keys that they can have are listed once.
#[test]
fn a_list_of_keys_is_printed_once() {
    let node = |name: &str| format!("[[node]]\nname = \"{name}\"\nrole = \"host\"\nxyzzy = 1\n");
    let text = ["a", "b", "c"].map(node).concat();
    let error = parse("bad.toml", &text, &[]).expect_err("an unknown key");
    let said = error.to_string();
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("xyzzy")).collect();
    assert!(lines[0].starts_with("bad.toml:4: node.a.xyzzy: unknown key; known here: name, "));
    assert_eq!(lines[1], "bad.toml:8: node.b.xyzzy: unknown key; see line 4");
    assert_eq!(lines[2], "bad.toml:12: node.c.xyzzy: unknown key; see line 4");
}

#[test]
fn labels_mark_the_place() {
    use miette::Diagnostic;
    let text = "duration = \"10s\"\nwarmup = \"20\"\n";
    let error = parse("bad.toml", text, &[]).expect_err("no unit");
    let label = error.labels().expect("there is a source").next().expect("and a place in it");
    assert_eq!(&text[label.offset()..label.offset() + label.len()], "\"20\"");
    assert_eq!(label.label(), Some("warmup"));
    assert_eq!(error.problems()[0].line, Some(2));
}

/// A basic service set has one access point, and only nodes with a radio belong to one.
#[test]
fn sets_without_an_access_point() {
    for (set, expected) in [
        (
            "node.laptop.bss=next-door",
            "node.laptop.bss: a station needs an access point, and no node with bss = \
             \"next-door\" has role = \"access-point\"; the access points are in the one \
             without a name",
        ),
        (
            "node.ap.bss=next-door",
            "node.laptop.role: a station needs an access point, and no node without bss has \
             role = \"access-point\"; there are bss = \"next-door\"",
        ),
        ("node.server.bss=x", "node.server.bss: a host has no radio, and this key requires one"),
        (
            "neighbour=[{ name = \"flat\", level = \"-70dBm\", busy = 0.97 }]",
            "neighbour.flat.busy: expected at most 0.9",
        ),
        (
            "neighbour=[{ name = \"flat\", level = \"-70dBm\", busy = 0.001 }]",
            "neighbour.flat.busy: expected 0 or at least 0.0020, which its beacons take",
        ),
        (
            "neighbour=[{ name = \"flat\", level = \"30dBm\", busy = 0.1 }]",
            "neighbour.flat.level: expected at most 20dBm, with which it sends",
        ),
        (
            "neighbour=[{ name = \"laptop\", level = \"-70dBm\", busy = 0.1 }]",
            "neighbour.laptop.name: a node is called \"laptop\"; a neighbour needs another name",
        ),
        (
            "neighbour=[{ name = \"flat\", level = \"-70dBm\", busy = 0.1, \
             levels = [{ node = \"server\", level = \"-80dBm\" }] }]",
            "neighbour.flat.levels.server.node: \"server\" has no radio",
        ),
        (
            "neighbour=[{ name = \"flat\", level = \"-70dBm\", busy = 0.1, \
             levels = [{ node = \"flat\", level = \"-80dBm\" }] }]",
            "neighbour.flat.levels.flat.node: its own nodes hear it by a strong link",
        ),
        (
            "neighbour=[{ name = \"flat\", level = \"-70dBm\", busy = 0.1, rate = \"11Mb/s\" }]",
            "neighbour.flat.rate: 11Mb/s is no rate of 802.11n",
        ),
        (
            "wire=[]",
            "flow.up.to: \"laptop\" does not reach \"server\", but \"ap\"; \
             a [[wire]] would join them",
        ),
    ] {
        let error = parse("good.toml", GOOD, &[set.into()]).expect_err(set).to_string();
        assert!(error.contains(expected), "{set}: {error}");
    }
}
