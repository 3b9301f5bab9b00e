//! Spatial reuse of 802.11ax against ns-3: its figures in short runs. Long ones are in
//! docs/validation.md, also where the SINR does not bear the MCS.

use lasthop_hosts::sink::Sink;
use lasthop_packet::{NodeId, Packet};
use lasthop_studies::validate::chapters::reuse::pairs;
use lasthop_units::{Duration, Instant, Seed};

#[test]
fn goodput_and_gain_are_those_of_ns3() {
    let pairs = pairs();
    assert!(pairs.len() > 40, "{} settings", pairs.len());
    let mut gains = 0;
    for pair in pairs.iter().filter(|pair| pair.is_sound()) {
        for (is_reused, theirs) in [false, true].into_iter().zip(pair.theirs_mbps) {
            let ours = pair.goodput_mbps(is_reused, 0, Duration::from_secs(2));
            let ratio = ours / theirs;
            // A run of 2 s varies by 1 %.
            assert!(
                (ratio - 1.0).abs() < 0.06,
                "{ratio:.3} of ns-3's, reuse {is_reused}: {pair:?}"
            );
        }
        gains += usize::from(pair.theirs_mbps[1] > 1.3 * pair.theirs_mbps[0]);
    }
    assert!(gains > 12, "{gains} settings in which it gains");
}

/// A neighbour with PPDUs of 2 ms takes a good quarter of the air of a link with PPDUs of 5 ms: as
/// many accesses are each one's. If the link's nodes ignore it, they have the goodput of a link
/// alone, less its frames without a colour and the preambles of its others; not if the neighbour
/// has their colour, or none, or is at the level.
#[test]
fn a_neighbour_below_the_level_takes_little() {
    let goodput = |neighbour: &str, cell: &str| {
        let text = format!(
            r#"duration = "4s"
[channel]
standard = "802.11ax"
[node_defaults]
rate_control = {{ kind = "fixed", mcs = 4 }}
streams = 1
tx_power = "11dBm"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "laptop"
role = "station"
position = ["2m", "0m"]
[[flow]]
name = "down"
from = "ap"
to = "laptop"
kind = "udp"
rate = "saturated"
{cell}
{neighbour}
"#
        );
        let mut delivered = Delivered(0);
        let scenario = lasthop_scenario::parse("n.toml", &text, &[]).expect("a sound scenario");
        let stats = lasthop_sim::simulate(
            &scenario,
            Seed::new(1, 0),
            &mut delivered,
            &mut lasthop_sim::go_on,
        );
        stats.expect("UDP can be simulated");
        delivered.0 as f64
    };
    let neighbour = |level: f64, colour: u8| {
        format!(
            "[[neighbour]]\nname = \"n\"\nlevel = \"{level}dBm\"\nbusy = 0.5\ncolour = {colour}\n"
        )
    };
    let reuse = "[[cell]]\ncolour = 7\nspatial_reuse = \"-72dBm\"\n";
    let alone = goodput("", "");
    assert_eq!(goodput("", reuse), alone);
    for (level, colour, cell, share) in [
        (-75.0, 8, "", 0.65..0.77),
        (-75.0, 7, reuse, 0.65..0.77),
        (-75.0, 0, reuse, 0.65..0.77),
        (-72.0, 8, reuse, 0.65..0.77),
        (-75.0, 8, reuse, 0.9..1.0),
    ] {
        let found = goodput(&neighbour(level, colour), cell) / alone;
        assert!(share.contains(&found), "{found:.3} at {level} dBm, colour {colour}, {cell:?}");
    }
}

/// Packets of the flow that arrived at the laptop.
struct Delivered(u64);

impl Sink for Delivered {
    fn arrived(&mut self, _: Instant, node: NodeId, _: &Packet) {
        self.0 += u64::from(node.index() == 1);
    }
}
