//! Spatial reuse of 802.11ax (OBSS-PD) against ns-3's, in the geometry of its example: two access
//! points `d3` metres apart, a station `d1` metres beside each, which sends saturated to it. Friis'
//! path loss at 5 180 MHz, HE MCS at 20 MHz, level -72 dBm. Goodputs are of both sets together, in
//! Mb/s of packets of 1 500 bytes. Targets: goodput without and with OBSS-PD, and so the gain,
//! within 5 %.

use super::{DURATION, SEED};
use crate::Verdict;
use crate::table::{Row, Table, is_within, ratio};
use crate::validate::data::{self, AX_SPATIAL_REUSE, AX_SPATIAL_REUSE_ENERGY, Record};
use lasthop_hosts::sink::Sink;
use lasthop_packet::{NodeId, Packet};
use lasthop_units::{Duration, Instant, Seed};

const TARGET: f64 = 0.05;
const LEVEL_DBM: f64 = -72.0;
/// The queues are full by then.
const WARMUP: Duration = Duration::from_secs(1);
/// Friis' loss at 1 m at 5 180 MHz, in dB: 20 log10(4 pi f / c).
const LOSS_AT_ONE_METRE_DB: f64 = 46.735;

/// Two sets that hear each other, and ns-3's goodputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReusePair {
    /// HE MCS of the data.
    pub mcs: u32,
    /// Longest A-MPDU in bytes; 0 for none.
    pub ampdu_bytes_max: u32,
    /// Of every node, in dBm.
    pub tx_power_dbm: f64,
    /// From a station to its access point, in metres.
    pub d1_m: f64,
    /// From one access point to the other, in metres.
    pub d3_m: f64,
    /// ns-3's goodput without OBSS-PD, and with it.
    pub theirs_mbps: [f64; 2],
    /// Goodput of ns-3 with OBSS-PD and a `CcaSensitivity` of -62 dBm, in Mb/s.
    pub theirs_from_62_mbps: f64,
}

/// All that ns-3 measured: each without OBSS-PD and with it.
pub fn pairs() -> Vec<ReusePair> {
    let records = data::records(AX_SPATIAL_REUSE);
    let others = data::records(AX_SPATIAL_REUSE_ENERGY);
    let goodput = |record: &Record| record.number("goodput_mbps");
    let same = ["mode", "max_ampdu", "tx_power_dbm", "d1_m", "d3_m"];
    let from_62 = |on: &Record| {
        let is_it = |other: &&Record| same.iter().all(|it| other.text(it) == on.text(it));
        goodput(others.iter().find(is_it).expect("all were measured both ways"))
    };
    let pair = |two: &[Record]| {
        let [off, on] = two else { unreachable!("they come in pairs") };
        assert!(!off.flag("obss_pd") && on.flag("obss_pd"), "{off:?}");
        let mcs = off.text("mode").strip_prefix("HeMcs").and_then(|mcs| mcs.parse().ok());
        ReusePair {
            mcs: mcs.expect("an HE MCS"),
            ampdu_bytes_max: off.whole("max_ampdu"),
            tx_power_dbm: off.number("tx_power_dbm"),
            d1_m: off.number("d1_m"),
            d3_m: off.number("d3_m"),
            theirs_mbps: [goodput(off), goodput(on)],
            theirs_from_62_mbps: from_62(on),
        }
    };
    records.chunks(2).map(pair).collect()
}

impl ReusePair {
    /// Whether data get across while both sets send, or they never do. Otherwise the
    /// goodput depends on the step of windows and backoffs of two senders that lose nearly
    /// all.
    pub fn is_sound(&self) -> bool {
        let free_space = |metres: f64| LOSS_AT_ONE_METRE_DB + 20.0 * metres.log10();
        let across = self.tx_power_dbm - free_space(self.d3_m);
        let allowed = self.tx_power_dbm.min(21.0 - (LEVEL_DBM + 82.0));
        let wanted = allowed - free_space(self.d1_m);
        let disturbing = self.tx_power_dbm - free_space(self.d3_m.hypot(self.d1_m));
        // At which one MPDU of 1 538 bytes in a hundred is lost.
        let needed_db = match self.mcs {
            0 => 4.0,
            4 => 13.7,
            _ => 24.8,
        };
        across >= LEVEL_DBM || wanted - disturbing >= needed_db
    }

    /// The scenario file.
    fn toml(&self, is_reused: bool, end: Duration) -> String {
        let Self { mcs, ampdu_bytes_max, tx_power_dbm, d1_m, d3_m, .. } = self;
        let mut text = format!(
            r#"duration = "{end}"
[channel]
standard = "802.11ax"
guard_interval = "3200ns"
carrier_sense = "-82dBm"
capture_margin = "off"
path_loss = {{ model = "log-distance", exponent = 2, reference = "{LOSS_AT_ONE_METRE_DB}dB" }}
[node_defaults]
tx_power = "{tx_power_dbm}dBm"
streams = 1
queue = {{ kind = "drop-tail", packets = 500 }}
rate_control = {{ kind = "fixed", mcs = {mcs} }}
retry_limit = 255
aggregation = {{ ampdu_bytes_max = {ampdu_bytes_max}, amsdu_bytes_max = 0 }}
block_ack = {{ request = "after-missing", window = 64 }}
"#
        );
        for (number, x) in [(1, 0.0), (2, *d3_m)] {
            let level = if is_reused { "-72dBm" } else { "off" };
            text.push_str(&format!(
                r#"[[cell]]
name = "set{number}"
spatial_reuse = "{level}"
[[node]]
name = "ap{number}"
role = "access-point"
bss = "set{number}"
position = ["{x}m", "0m"]
[[node]]
name = "sta{number}"
role = "station"
bss = "set{number}"
position = ["{x}m", "{d1_m}m"]
[[flow]]
name = "up{number}"
from = "sta{number}"
to = "ap{number}"
kind = "udp"
rate = "saturated"
packet_bytes = 1500
"#
            ));
        }
        text
    }

    /// Goodput of both sets, without OBSS-PD or with it.
    ///
    /// # Panics
    /// If the scenario is not sound, which is a bug.
    pub fn goodput_mbps(&self, is_reused: bool, run: u64, duration: Duration) -> f64 {
        let text = self.toml(is_reused, WARMUP + duration);
        let scenario = lasthop_scenario::parse("reuse.toml", &text, &[])
            .unwrap_or_else(|error| panic!("a sound scenario: {error}\n{text}"));
        let mut tally = ReuseTally { from: Instant::ZERO + WARMUP, bytes: 0 };
        let stats = lasthop_sim::simulate(
            &scenario,
            Seed::new(SEED, run),
            &mut tally,
            &mut lasthop_sim::go_on,
        );
        stats.expect("UDP can be simulated");
        tally.bytes as f64 * 8.0 / duration.as_secs_f64() / 1e6
    }
}

/// Bytes that arrive after an instant.
struct ReuseTally {
    from: Instant,
    bytes: u64,
}

impl Sink for ReuseTally {
    fn arrived(&mut self, now: Instant, _: NodeId, packet: &Packet) {
        if now >= self.from {
            self.bytes += u64::from(packet.bytes);
        }
    }
}

pub(super) fn table() -> Table {
    Table {
        title: "802.11ax, spatial reuse",
        text: "Two access points *d3* metres apart at 5 180 MHz, each with a saturated sending \
               station *d1* metres beside it: packets of 1 500 bytes at an HE MCS, 20 MHz, one \
               stream, a guard interval of 3.2 us; free space, equal transmit power. Goodput of \
               both sets, without OBSS-PD and with a level of -72 dBm, which allows 11 dBm at \
               most. At 10 dBm and 100 m, and at 16 dBm and 150 m, stations receive each other \
               below the level; with 16 dBm they send with 5 dB less. ns-3's figures are means of \
               three runs of 4 s. No parameter was chosen by them. *From -62*: see below. Target: \
               goodput without and with OBSS-PD within 5 % of unmodified ns-3."
            .into(),
        columns: vec![
            "MCS", "A-MPDU", "dBm", "d1", "d3", "off", "ns-3", "ratio", "OBSS-PD", "ns-3", "ratio",
            "from -62", "ratio", "gain", "ns-3's",
        ],
        rows: pairs().iter().map(row).collect(),
        notes: vec![
            "In the rows outside, the SINR while both send is below the MCS's requirement: MCS 8 \
             requires 25 dB and has 12.6 and 14.2 at d1 = 20 m; MCS 4 requires 14 and has 12.6 at \
             16 dBm with 5 dB less. There OBSS-PD costs goodput in ns-3, too, or nearly does. With \
             A-MPDUs at MCS 8 the loss is much larger here: both senders continue, and each \
             destroys nearly all frames of the other. In ns-3 they take turns. At the end of a \
             reception, such as that of its Block Ack, a station of ns-3 finds the medium busy \
             from -82 dBm of power (`CcaSensitivity`), even by a PPDU of the other set with a \
             missed preamble. It waits for the end of that PPDU, and OBSS-PD, which requires \
             HE-SIG-A, does not help. By the standard (IEEE 802.11-2020, 17.3.10.6), and here, a \
             station that missed a preamble senses a busy medium from -62 dBm."
                .into(),
            "*From -62*: ns-3 with OBSS-PD and a `CcaSensitivity` of -62 dBm; it detects preambles \
             from -82 dBm as before. That change alone gives long A-MPDUs at MCS 8 over 20 m 3.9 \
             and 4.5 Mb/s instead of 46.4 and 56.6, those at MCS 4 81.7 instead of 73.4, and so \
             explains these rows. The remaining difference at MCS 8, with and without A-MPDUs, \
             depends on how windows and backoffs of two losing senders synchronise. In ns-3 that \
             level decides more: other rows move by up to 7 %, even without signals below the \
             level of OBSS-PD. Our goodput of single MPDUs, 1 to 4 % from unmodified ns-3, is up \
             to 8 % below the modified one. The cause is unknown."
                .into(),
            "ns-3's power restriction ends with the first PPDU after the reset of CCA, even an \
             Ack; here, as in 26.10.2.4, with the transmission opportunity. Neither has frame \
             capture in these runs."
                .into(),
        ],
    }
}

fn row(pair: &ReusePair) -> Row {
    let ours = [false, true].map(|is_reused| pair.goodput_mbps(is_reused, 0, DURATION));
    let theirs = pair.theirs_mbps;
    let is_close = (0..2).all(|which| is_within(ours[which], theirs[which], TARGET));
    let mut cells = vec![
        pair.mcs.to_string(),
        pair.ampdu_bytes_max.to_string(),
        pair.tx_power_dbm.to_string(),
        pair.d1_m.to_string(),
        pair.d3_m.to_string(),
    ];
    for which in 0..2 {
        cells.push(format!("{:.2}", ours[which]));
        cells.push(format!("{:.2}", theirs[which]));
        cells.push(ratio(ours[which], theirs[which]));
    }
    cells.push(format!("{:.2}", pair.theirs_from_62_mbps));
    cells.push(ratio(ours[1], pair.theirs_from_62_mbps));
    cells.push(format!("{:.2}", ours[1] / ours[0]));
    cells.push(format!("{:.2}", theirs[1] / theirs[0]));
    (cells, Verdict::pass_if(is_close))
}
