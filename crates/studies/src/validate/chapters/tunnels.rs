//! Goodput of tunnels and the CPU time that they take per byte, in nanoseconds; see
//! [`crate::validate::tunnels`]. Only the goodput of the daemon over UDP has a target; the others
//! are listed.

use crate::Verdict;
use crate::table::{Row, Table};
use crate::validate::tunnels::{Tunnel, TunnelOutcome, TunnelStore};

/// Minimum goodput over UDP in Mb/s, with one core for the tunnel: most of 1 Gb/s.
const TARGET_MBPS: f64 = 800.0;

pub(super) fn table() -> Table {
    let store = TunnelStore::read();
    let row = |tunnel: Tunnel| {
        let is_target = tunnel == Tunnel::Udp;
        let (cells, verdict) = match store.outcome(tunnel) {
            Some(outcome) => {
                let is_right = outcome.goodput_mbps >= TARGET_MBPS;
                let verdict = if is_target { Verdict::pass_if(is_right) } else { Verdict::Listed };
                (cells(tunnel, &outcome), verdict)
            }
            None => (vec!["-".into(); 8], Verdict::Listed),
        };
        let name = tunnel.name().to_owned();
        let cells = [name].into_iter().chain(cells).collect();
        (cells, verdict)
    };
    let rows: Vec<Row> = Tunnel::ALL.into_iter().map(row).collect();
    Table {
        title: "FRANC, CPU per byte",
        text: "One TCP flow (iperf3, 10 s) between two network namespaces on one machine, without \
               losses, at full speed: `plain` over a veth pair, through `lasthop franc run` over \
               UDP and in Ethernet frames, through WireGuard in the kernel and as a program \
               (`wireguard-go`), and through kcptun (AES-128-GCM, no parity). The sender's tunnel \
               has its own core, all other processes share another. Nanoseconds of CPU for each \
               delivered byte, of the tunnel's processes at sender and receiver; `host` is the \
               whole machine, iperf3 and the kernel included. Target: 800 Mb/s through `udp`. `-`: \
               not measured, because this machine does not have it."
            .into(),
        columns: vec![
            "tunnel",
            "Mb/s",
            "sender, user",
            "system",
            "sum",
            "receiver, user",
            "system",
            "sum",
            "host",
        ],
        rows,
        notes: vec![
            "`cargo run --release -p lasthop-studies -- tunnels` measures the missing rows of \
             `crates/studies/data/tunnels.csv`. WireGuard encrypts, but neither codes nor \
             restores order; kcptun terminates TCP on both sides."
                .into(),
        ],
    }
}

fn cells(tunnel: Tunnel, outcome: &TunnelOutcome) -> Vec<String> {
    let has_process = !matches!(tunnel, Tunnel::Plain | Tunnel::WireGuard);
    let of = |[user, system]: [f64; 2]| {
        [user, system, user + system]
            .map(|ns| if has_process { format!("{ns:.2}") } else { "-".to_owned() })
    };
    let mut cells = vec![format!("{:.0}", outcome.goodput_mbps)];
    cells.extend(of(outcome.sender_ns));
    cells.extend(of(outcome.receiver_ns));
    cells.push(format!("{:.2}", outcome.host_ns));
    cells
}
