//! Two links between two daemons, each through an interface, one of which is shut down and comes
//! back. No packet of the tunnel is lost.

use crate::stage::{Stage, TRANSFER, daemon, served, stats};
use serde_json::Value;

#[test]
fn a_link_through_an_interface_that_goes_down_is_missed_by_nobody() {
    let stage = Stage::new("links");
    stage.key("key");
    let a = "--id 1 --peer 2 --neighbours 2=10.8.0.2%eth0,2=10.8.1.2%eth1 --address 10.9.0.1/24";
    let b = "--id 2 --peer 1 --links 2 --address 10.9.0.2/24";
    let [a, b] = [("a", a), ("b", b)]
        .map(|(name, flags)| daemon(name, &format!("{flags} --key-file key --rate-max 20Mb/s")));
    let addresses = |host: u8| {
        format!(
            "ip link set eth1 up; ip addr add 10.8.0.{host}/24 dev eth0; \
             ip addr add 10.8.1.{host}/24 dev eth1"
        )
    };
    let programs = [
        ("a", format!("ip link add eth1 type veth peer name eth1 netns b; {}; {a}", addresses(1))),
        (
            "b",
            format!(
                "until ip link show eth1 >/dev/null 2>&1; do sleep 0.05; done; {}; {b}",
                addresses(2)
            ),
        ),
        served(),
    ];
    let stats = |name: &str| format!("{}cp a.json {name}.json\n", stats("a"));
    let script = format!(
        "until_passes 10.9.0.2\n{TRANSFER}{}\
         ping -c 150 -i 0.02 -W 2 10.9.0.2 > ping.txt &\n\
         sleep 1; ip link set eth1 down; wait $!\n{TRANSFER}{}\
         ip link set eth1 up; sleep 3\n{TRANSFER}{}",
        stats("before"),
        stats("down"),
        stats("after")
    );
    let Some(()) = stage.bridge(false, &programs, &script) else { return };
    let pings = stage.text("ping.txt");
    assert!(pings.contains("150 received"), "{pings}{}", stage.logs());
    let links = |name: &str| {
        let document = stage.stats(&format!("{name}.json"));
        let links = document["links"].as_array().expect("a list").clone();
        assert_eq!(document["counters"]["sessions"], 1, "{document:#}");
        let addresses = ["10.8.0.2:4797", "10.8.1.2:4797"];
        assert!(links.iter().zip(addresses).all(|(link, at)| link["address"] == at), "{links:#?}");
        links
    };
    let heard = |link: &Value| link["heard"].as_u64().expect("a number");
    let [before, down, after] = ["before", "down", "after"].map(links);
    let alive = |links: &[Value]| [0, 1].map(|link| links[link]["alive"].as_bool());
    assert_eq!(alive(&before), [Some(true); 2], "{before:#?}");
    assert_eq!(alive(&down), [Some(true), Some(false)], "{down:#?}");
    assert_eq!(alive(&after), [Some(true); 2], "{after:#?}");
    assert!(heard(&after[1]) > heard(&down[1]) + 100, "{down:#?}{after:#?}");
    // Both ends say so once.
    for (name, place) in
        [("a", "node 2 (10.8.1.2:4797 through eth1)"), ("b", "node 1 (10.8.1.1:4797)")]
    {
        let log = stage.text(&format!("{name}.log"));
        let lines: Vec<&str> = log.lines().filter(|line| line.contains("link 2 to")).collect();
        let [died, back] = lines[..] else { panic!("{log}") };
        assert!(
            died.contains(&format!("link 2 to {place} died: no datagram has arrived")),
            "{log}"
        );
        assert!(back.contains(&format!("link 2 to {place} is back after ")), "{log}");
    }
}
