//! An experiment in one Wi-Fi cell, as ns-3's reference figures were measured, and the
//! results of a run. An access point, with stations 1 m around it or with equal SNR
//! between all pairs; a constant rate (or Minstrel-HT), best effort with AIFSN 3 and CW
//! 15 to 1023 (without HT: DCF), a drop-tail queue per station, saturated or
//! constant-rate UDP in one direction. Lengths are bytes of UDP payload; UDP and IP add
//! 28. A setting is written as a scenario file and run as by `lasthop simulate`.

use lasthop_hosts::sink::Sink;
use lasthop_packet::{NodeId, Packet};
use lasthop_scenario::Scenario;
use lasthop_units::{Bitrate, Db, Duration, Instant, Seed};
use lasthop_wifi::phy::{
    Band, ChannelWidth, ErrorModel, GuardInterval, HeGuardInterval, Preamble, Rate, Standard,
    Timing,
};
use std::fmt::Write as _;

/// Length in bytes of the IPv4 and UDP headers.
pub const UDP_IP_BYTES: u16 = 28;

/// Default number of attempts to transmit an MPDU.
pub const RETRY_LIMIT: u8 = 7;

/// The positions of the stations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// On a circle of 1 m around the access point, as in ns-3. A receiver close to one
    /// of two colliding senders may capture its frame.
    Circle,
    /// Every pair of stations has this SNR: no capture, as closed forms assume.
    Equal(Db),
}

/// The stations that send data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Every station to the access point.
    Uplink,
    /// The access point to every station.
    Downlink,
    /// Both directions at once.
    Both,
}

/// The parameters of one experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// PHY generation, such as 802.11n.
    pub standard: Standard,
    /// Frequency band of the cell.
    pub band: Band,
    /// PHY rate of data frames.
    pub rate: Rate,
    /// Whether Minstrel-HT chooses among all rates with the streams of `rate`, instead
    /// of `rate` itself.
    pub is_adaptive: bool,
    /// Number of stations besides the access point.
    pub stations: u16,
    /// The stations that send data.
    pub direction: Direction,
    /// The positions of the stations.
    pub place: Place,
    /// UDP payload of a packet in bytes.
    pub payload_bytes: u16,
    /// Longest A-MPDU in bytes; 0 for none.
    pub ampdu_bytes_max: u32,
    /// Longest A-MSDU in bytes; 0 for none.
    pub amsdu_bytes_max: u16,
    /// Block Ack window in MPDUs; `None` for the standard's.
    pub block_ack_window: Option<u16>,
    /// Limit of every sender's queue in packets, those in flight included.
    pub queue_packets: u32,
    /// Offered bit rate of UDP payload; `None` for saturated sources.
    pub offered: Option<Bitrate>,
    /// Maps SNR to the probability of loss.
    pub error_model: ErrorModel,
    /// Whether RTS/CTS precedes every data frame.
    pub rts: bool,
    /// Preamble of DSSS acknowledgements; `None` for that of the data.
    pub control_preamble: Option<Preamble>,
    /// Smallest and largest contention window in slots; `None` for those of the
    /// standard.
    pub contention_windows: Option<(u16, u16)>,
    /// Number of attempts to transmit an MPDU.
    pub retry_limit: u8,
    /// Whether the access point sends beacons, every 102.4 ms.
    pub beacons: bool,
    /// Largest number of stations in a PPDU of the access point, and how they acknowledge, as the
    /// scenario file has it; `None` for one at a time.
    pub ofdma: Option<(u8, &'static str)>,
    /// Uplink OFDMA, where there is OFDMA: the access point's key `uplink`, as the scenario file
    /// has it.
    pub uplink: Option<String>,
}

/// The results of a run, after the warm-up unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct SettingMeasured {
    /// UDP payload delivered, in Mb/s.
    pub goodput_mbps: f64,
    /// Of it, that of the stations.
    pub uplink_mbps: f64,
    /// Number of packets delivered.
    pub packets: u64,
    /// Mean time from creation at the source to delivery, in ms.
    pub delay_mean_ms: f64,
    /// Mean number of MPDUs per data PPDU, over the whole run.
    pub mpdus_per_ppdu: f64,
    /// Median number of MPDUs per data PPDU over the whole run, of the link with the
    /// greatest median.
    pub mpdus_per_ppdu_median: u32,
    /// Share of the MPDUs sent that were not acknowledged, 0 to 1, over the whole run.
    pub mpdu_error_rate: f64,
    /// Number of MPDUs given up, over the whole run.
    pub mpdus_lost: u64,
}

impl Setting {
    /// One station and a saturated downlink at `rate` without aggregation; 5 GHz for HT and
    /// later and for OFDM, 2.4 GHz for the others; payloads of 1 472 bytes, a queue of 500
    /// packets.
    pub fn new(rate: Rate) -> Self {
        let (standard, band) = match rate {
            Rate::Dsss { .. } => (Standard::Dot11b, Band::Ghz2_4),
            Rate::ErpOfdm(_) => (Standard::Dot11g, Band::Ghz2_4),
            Rate::Ofdm(_) => (Standard::Dot11a, Band::Ghz5),
            Rate::Ht { .. } => (Standard::Dot11n, Band::Ghz5),
            Rate::Vht { .. } => (Standard::Dot11ac, Band::Ghz5),
            Rate::He { .. } | Rate::HeExtendedRange { .. } => (Standard::Dot11ax, Band::Ghz5),
            Rate::Eht { .. } => (Standard::Dot11be, Band::Ghz6),
        };
        Self {
            standard,
            band,
            rate,
            is_adaptive: false,
            stations: 1,
            direction: Direction::Downlink,
            place: Place::Circle,
            payload_bytes: 1472,
            ampdu_bytes_max: 0,
            amsdu_bytes_max: 0,
            block_ack_window: None,
            queue_packets: 500,
            offered: None,
            error_model: ErrorModel::nist(),
            rts: false,
            control_preamble: None,
            contention_windows: None,
            retry_limit: RETRY_LIMIT,
            beacons: true,
            ofdma: None,
            uplink: None,
        }
    }

    /// Slot, SIFS and contention windows of the cell.
    pub fn timing(&self) -> Timing {
        Timing::new(self.standard, self.band)
    }

    /// Whether the cell uses EDCA and Block Ack; otherwise DCF.
    pub fn is_edca(&self) -> bool {
        self.rate.may_aggregate()
    }

    /// The AIFSN in slots: 3 for best effort; 2 gives DIFS.
    pub fn aifsn(&self) -> u8 {
        if self.is_edca() { 3 } else { 2 }
    }

    /// The length of a packet at the network layer, in bytes.
    pub fn packet_bytes(&self) -> u16 {
        self.payload_bytes + UDP_IP_BYTES
    }

    /// Writes the scenario file, in the form in which a user would.
    pub fn toml(&self, warmup: Duration, duration: Duration) -> String {
        let on = |on: bool, value: &str| if on { value.to_owned() } else { "off".to_owned() };
        let timing = self.timing();
        let (cw_min, cw_max) = self.contention_windows.unwrap_or((timing.cw_min, timing.cw_max));
        let (mut width, mut guard_interval, mut preamble) = ("20MHz", "800ns", "long");
        let width_of = self.rate.width().to_string();
        let rate = match self.rate {
            Rate::Vht { mcs, guard_interval: gi, .. } => {
                width = &width_of;
                guard_interval = if gi == GuardInterval::Short { "400ns" } else { "800ns" };
                format!("mcs = {mcs}")
            }
            Rate::He { mcs, guard_interval: gi, .. }
            | Rate::Eht { mcs, guard_interval: gi, .. } => {
                width = &width_of;
                guard_interval = match gi {
                    HeGuardInterval::Ns1600Ltf2x => "1600ns",
                    HeGuardInterval::Ns3200Ltf4x => "3200ns",
                    _ => "800ns",
                };
                format!("mcs = {mcs}")
            }
            Rate::Ht { mcs, width: w, guard_interval: gi } => {
                width = if w == ChannelWidth::Mhz40 { "40MHz" } else { "20MHz" };
                guard_interval = if gi == GuardInterval::Short { "400ns" } else { "800ns" };
                format!("mcs = {mcs}")
            }
            Rate::Dsss { preamble: Preamble::Short, rate } => {
                preamble = "short";
                format!("rate = \"{}b/s\"", rate.bitrate().as_bps())
            }
            rate => format!("rate = \"{}b/s\"", rate.bitrate().as_bps()),
        };
        let rate_control = if self.is_adaptive {
            "kind = \"minstrel-ht\"".into()
        } else {
            format!("kind = \"fixed\", {rate}")
        };
        let control_preamble = match self.control_preamble {
            None => "",
            Some(Preamble::Long) => "control_preamble = \"long\"\n",
            Some(Preamble::Short) => "control_preamble = \"short\"\n",
        };
        let window = self.block_ack_window.map_or(String::new(), |w| format!(", window = {w}"));
        let (from, to) = match self.direction {
            Direction::Uplink | Direction::Both => ("sta*", "ap"),
            Direction::Downlink if self.stations > 1 => ("ap", "sta*"),
            Direction::Downlink => ("ap", "sta1"),
        };
        let offered = self.offered.map_or("saturated".into(), |offered| {
            // The scenario file has the rate at the network layer.
            let bits = offered.as_bps() * u64::from(self.packet_bytes());
            format!("{}b/s", bits / u64::from(self.payload_bytes))
        });
        let mut text = format!(
            r#"warmup = "{warmup}"
duration = "{end}"

[channel]
standard = "{standard}"
band = "{band}"
width = "{width}"
guard_interval = "{guard_interval}"
preamble = "{preamble}"
{control_preamble}beacon_interval = "{beacons}"
capture_margin = "5dB"

[node_defaults]
tx_power = "16.02dBm"
streams = {streams}
mtu = {mtu}
queue = {{ kind = "drop-tail", packets = {queue} }}
rate_control = {{ {rate_control} }}
rts_threshold = {rts}
retry_limit = {retry_limit}
aggregation = {{ ampdu_bytes_max = {ampdu}, amsdu_bytes_max = {amsdu} }}
block_ack = {{ request = "after-missing"{window} }}
edca = {{ best_effort = {{ cw_min = {cw_min}, cw_max = {cw_max} }} }}

[[node]]
name = "ap"
role = "access-point"
{ofdma}
[[node]]
name = "sta"
role = "station"
count = {stations}
position = ["0m", "0m"]
ring = "1m"

[[flow]]
name = "data"
from = "{from}"
to = "{to}"
kind = "udp"
rate = "{offered}"
packet_bytes = {bytes}
"#,
            end = warmup + duration,
            standard = self.standard,
            band = self.band,
            beacons = on(self.beacons, "102.4ms"),
            streams = self.rate.streams(),
            mtu = self.packet_bytes().max(1500),
            queue = self.queue_packets,
            rts = if self.rts { "0" } else { "\"off\"" },
            retry_limit = self.retry_limit,
            ofdma = self.ofdma.map_or(String::new(), |(stations, acknowledgement)| {
                let acknowledgement = format!("acknowledgement = \"{acknowledgement}\"");
                let uplink = self
                    .uplink
                    .as_ref()
                    .map_or(String::new(), |uplink| format!(", uplink = {uplink}"));
                format!("ofdma = {{ stations = {stations}, {acknowledgement}{uplink} }}\n")
            }),
            ampdu = self.ampdu_bytes_max,
            amsdu = self.amsdu_bytes_max,
            stations = self.stations,
            bytes = self.packet_bytes(),
        );
        if self.direction == Direction::Both {
            let bytes = self.packet_bytes();
            let _ = write!(
                text,
                "\n[[flow]]\nname = \"down\"\nfrom = \"ap\"\nto = \"sta*\"\nkind = \"udp\"\n\
                 rate = \"{offered}\"\npacket_bytes = {bytes}\n"
            );
        }
        if let Place::Equal(Db(snr)) = self.place {
            let others = (self.stations > 1).then_some("sta*");
            for end in std::iter::once("ap").chain(others) {
                let _ = write!(
                    text,
                    "\n[[link]]\nbetween = [\"sta*\", \"{end}\"]\nsnr = \"{snr}dB\"\n"
                );
            }
        }
        text
    }

    /// The scenario of that file.
    ///
    /// # Panics
    /// If the text is not a valid scenario.
    pub fn scenario(&self, warmup: Duration, duration: Duration) -> Scenario {
        let text = self.toml(warmup, duration);
        let mut scenario = lasthop_scenario::parse("setting.toml", &text, &[])
            .unwrap_or_else(|error| panic!("settings make sound scenarios: {error:?}\n{text}"));
        // A scenario file can select the closed forms only.
        if let Some(cell) = &mut scenario.network.cell {
            cell.error_model = self.error_model.clone();
        }
        scenario
    }

    /// Runs the scenario for `warmup`, then measures for `duration`.
    ///
    /// # Panics
    /// If the setting does not make a valid scenario.
    pub fn run(&self, seed: Seed, warmup: Duration, duration: Duration) -> SettingMeasured {
        let scenario = self.scenario(warmup, duration);
        let from = Instant::ZERO + warmup;
        let mut tally = SettingTally { from, delivered: 0, up: 0, delay_sum: 0 };
        let stats = lasthop_sim::simulate(&scenario, seed, &mut tally, &mut lasthop_sim::go_on);
        let stats = stats.expect("UDP over one cell can be simulated");
        let mbps = |packets: u64| {
            packets as f64 * f64::from(self.payload_bytes) * 8.0 / duration.as_secs_f64() / 1e6
        };
        let mut measured = SettingMeasured {
            goodput_mbps: mbps(tally.delivered),
            uplink_mbps: mbps(tally.up),
            packets: tally.delivered,
            delay_mean_ms: tally.delay_sum as f64 / 1e6 / tally.delivered.max(1) as f64,
            ..SettingMeasured::default()
        };
        let (mut ppdus, mut mpdus, mut failed) = (0, 0, 0);
        for (_, _, link) in &stats.links {
            ppdus += link.ppdus;
            mpdus += link.mpdus;
            failed += link.mpdus_failed;
            measured.mpdus_lost += link.mpdus_lost;
            let median = link.mpdus_per_ppdu.quantile(0.5).unwrap_or(0);
            measured.mpdus_per_ppdu_median = measured.mpdus_per_ppdu_median.max(median);
        }
        measured.mpdus_per_ppdu = mpdus as f64 / (ppdus as f64).max(1.0);
        measured.mpdu_error_rate = failed as f64 / (mpdus as f64).max(1.0);
        measured
    }
}

/// Counts packets that arrive after the warm-up, and sums their delays in nanoseconds.
struct SettingTally {
    from: Instant,
    delivered: u64,
    /// At the access point, the first node.
    up: u64,
    delay_sum: u64,
}

impl Sink for SettingTally {
    fn arrived(&mut self, now: Instant, node: NodeId, packet: &Packet) {
        if now >= self.from {
            self.delivered += 1;
            self.up += u64::from(node.index() == 0);
            self.delay_sum += (now - packet.created).as_nanos();
        }
    }
}
