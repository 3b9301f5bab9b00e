//! [`Hosts`]: flows of every kind and a coded link, over a cell and a cable that loses packets.

use crate::pause;
use lasthop_arch_tests::contract::Driver;
use lasthop_hosts::Hosts;
use lasthop_hosts::hosts::HostsReason;
use lasthop_hosts::sink::NoSink;
use lasthop_units::{Duration, Instant, Machine, Seed};
use proptest::prelude::*;

/// Hosts that report to nobody.
#[derive(Clone, Debug, PartialEq)]
struct Unwatched(Hosts);

impl Machine for Unwatched {
    type Reason = HostsReason;

    fn poll_timeout(&self) -> Option<(Instant, HostsReason)> {
        self.0.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.0.handle_timeout(now, &mut NoSink);
    }
}

const NODES: &str = r#"
duration = "2s"
warmup = "200ms"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "phone"
role = "station"
[[node]]
name = "laptop"
role = "station"
[[node]]
name = "server"
role = "host"
[[wire]]
between = ["ap", "server"]
rate = "30Mb/s"
delay = "3ms"
"#;

const KINDS: [&str; 7] = [
    "\"tcp\"",
    "\"tcp\"\nbytes = \"200kB\"",
    "\"udp\"\nrate = \"saturated\"",
    "\"udp\"\nrate = \"3Mb/s\"",
    "\"ping\"\ninterval = \"7ms\"",
    "\"video\"\nrate = \"2Mb/s\"",
    "\"apq\"",
];

/// Its index in [`KINDS`].
const SATURATED: usize = 2;

#[derive(Clone, Copy, Debug)]
struct Traffic {
    kind: usize,
    ends: usize,
    start_ms: u32,
}

fn scenario(flows: &[Traffic], loss: u8, has_link: bool) -> String {
    let mut text = format!("{NODES}loss = \"{loss}%\"\n");
    let ends = [["phone", "server"], ["server", "phone"], ["laptop", "server"], ["phone", "ap"]];
    for (index, flow) in flows.iter().enumerate() {
        let [from, to] = ends[flow.ends];
        text.push_str(&format!(
            "[[flow]]\nname = \"flow{index}\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
             start = \"{}ms\"\nkind = {}\n",
            flow.start_ms,
            // A coded link has no queue that a saturated flow could fill.
            KINDS[if has_link && flow.kind == SATURATED { 0 } else { flow.kind }]
        ));
    }
    if has_link {
        text.push_str("[[franc]]\nname = \"link\"\nends = [\"phone\", \"server\"]\n");
    }
    text
}

fn traffic() -> impl Strategy<Value = Traffic> {
    (0..KINDS.len(), 0..4_usize, 0..300_u32).prop_map(|(kind, ends, start_ms)| Traffic {
        kind,
        ends,
        start_ms,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn keeps_the_contract(
        flows in prop::collection::vec(traffic(), 1..5),
        loss in 0..20_u8,
        has_link: bool,
        pauses in prop::collection::vec(pause(Duration::from_millis(60)), 1..12),
    ) {
        let text = scenario(&flows, loss, has_link);
        let scenario = lasthop_scenario::parse("hosts.toml", &text, &[])
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        let seed = Seed::new(1, 0);
        let network = scenario.network_for(seed);
        let mut hosts = Hosts::new(&scenario.hosts(), &network, seed).expect("it is sound");
        hosts.start(Instant::ZERO, &mut NoSink);
        let mut driver = Driver::new(Unwatched(hosts.clone()));
        for pause in pauses {
            pause.pass(&mut driver, |_, _| {});
        }
        // However it was woken, it is where it would be otherwise.
        let now = driver.now();
        hosts.handle_timeout(now, &mut NoSink);
        prop_assert_eq!(hosts, driver.machine.0);
    }
}
