//! The TCP model against the kernel's TCP over a Wi-Fi hop; see [`crate::validate::kernel`].
//! Target: goodput within 5 % and delay within 15 % in 90 % of a control's cells. A single cell
//! outside its band is not a failure.

use crate::Verdict;
use crate::table::{Table, is_within};
use crate::validate::kernel::{KernelCell, KernelMeasured, KernelStore, RUNS};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

const GOODPUT_TARGET: f64 = 0.05;
const DELAY_TARGET: f64 = 0.15;
/// Minimum share of cells within their bands.
const SHARE_TARGET: f64 = 0.9;

pub(super) fn table() -> Table {
    let store = KernelStore::read();
    let cells: Vec<_> =
        KernelCell::all().into_iter().map(|cell| (cell, store.runs(&cell))).collect();
    let cells: Vec<_> = cells.into_iter().filter(|(_, runs)| !runs.is_empty()).collect();
    let ours = simulate_all(&cells);
    let judged: Vec<_> =
        cells.iter().zip(&ours).map(|((cell, theirs), ours)| judge(cell, theirs, ours)).collect();
    // Each control is judged as a whole; a cell outside its band is marked as such.
    let mut rows = Vec::new();
    for control in ["cubic", "reno", "bbr"] {
        let is_of = |cell: &&(Vec<String>, bool)| cell.0[0] == control;
        let all = judged.iter().filter(is_of).count();
        let inside = judged.iter().filter(is_of).filter(|cell| cell.1).count();
        let is_enough = inside as f64 >= SHARE_TARGET * all as f64;
        rows.extend(judged.iter().filter(is_of).map(|(cells, is_inside)| {
            let mut cells = cells.clone();
            cells.push(if *is_inside { "in" } else { "**out**" }.into());
            (cells, Verdict::Listed)
        }));
        let mut last = vec![String::new(); COLUMNS.len()];
        last[0] = format!("{control}, all");
        last[COLUMNS.len() - 1] = format!("{inside} of {all}");
        rows.push((last, Verdict::pass_if(is_enough)));
    }
    Table {
        title: "TCP, the kernel's",
        text: format!(
            "One bulk flow between a station 2 m from its access point and a server behind 1 Gb/s, \
             HT in 20 MHz, long guard interval; the same scenario file under `simulate` (mean of \
             {RUNS} runs) and under `emulate` with the kernel's TCP ({}; one run, or the mean of \
             four where the queue is shorter than the pipe). A run begins with the handshake and \
             lasts 40 s at MCS 0, otherwise 20 s; slow start is included. Target: goodput within 5 \
             %, mean queue of the sender's side of the hop and median smoothed round-trip time \
             within 15 %, in at least nine cells of ten of each congestion control.",
            store.kernels().join("; ")
        ),
        columns: COLUMNS.to_vec(),
        rows,
        notes: vec![
            format!(
                "A TAP device orphans packets: it reports them to the kernel's TCP as sent as soon \
                 as it has them. The kernel's small queues therefore have no effect in an \
                 emulation; ours are off in this table. In every run 99.9 % of the frames were \
                 delivered at most {:.1} ms late. The raw results of the emulation are in \
                 `crates/studies/data/kernel.csv`. `cargo run --release -p lasthop-studies -- kernel` \
                 makes them in real time; with `--guests`, in QEMU guests whose clocks count \
                 instructions, independent of the machine's load.",
                store.lateness_us() / 1e3
            ),
            format!(
                "An emulated packet costs processor time: {:.1} us of the emulating thread for a \
                 frame that enters or leaves, including the kernel's TCP and the model. A \
                 simulated packet costs none. Earlier versions of this table had 5 us at each \
                 node, found by trial, and 66 cells in their bands. That value compensated for two \
                 faults, now mended: a host's answers to a PPDU left in the first slot after its \
                 own Block Ack, sooner than those of any host, and all packets of an A-MPDU were \
                 delivered at its end. The cells at MCS 15 with 50 packets and 1 ms, which had \
                 required the value, agree to 3 %.",
                store.cpu_us()
            ),
            "A run of the kernel is one draw. In a grid made an hour earlier with the same \
             programs, three of the same cells were out, those of 50 packets and 20 ms. There slow \
             start ends in the round whose burst overflows the queue, and the window then grows by \
             one segment in each round trip for the rest of the 20 s, so the end of slow start \
             decides the goodput of the whole run. Runs on a busy machine, those that began late \
             or had no acknowledgement for 6 s, were repeated."
                .into(),
            "Senders have segmentation offload (`send_offload`), like the kernel's. Without it BBR's \
             window at MCS 0 is three packets shorter, because the least round-trip time is that of \
             one packet, not of a buffer of two; 31 of its cells are then in their bands."
                .into(),
            "*spread*: least and greatest queue of the simulated runs. A wide spread means much \
             chance; an emulated run is one draw from such a distribution."
                .into(),
        ],
    }
}

const COLUMNS: [&str; 19] = [
    "cc",
    "dir",
    "MCS",
    "queue",
    "wire, ms",
    "Mb/s",
    "kernel",
    "ratio",
    "queue mean",
    "spread",
    "kernel",
    "ratio",
    "RTT, ms",
    "kernel",
    "ratio",
    "cwnd ratio",
    "lost",
    "kernel",
    "band",
];

fn judge(
    cell: &KernelCell,
    theirs: &[KernelMeasured],
    ours: &[KernelMeasured],
) -> (Vec<String>, bool) {
    let pair =
        |quantity: fn(&KernelMeasured) -> f64| (mean(ours, quantity), mean(theirs, quantity));
    let goodput = pair(|measured| measured.goodput_mbps);
    let queue = pair(|measured| measured.queue_mean_packets);
    let rtt = pair(|measured| measured.rtt_median_ms);
    let window = pair(|measured| measured.cwnd_mean_packets);
    let lost = pair(|measured| measured.retransmissions);
    let ratio = |(ours, theirs): (f64, f64)| format!("{:.3}", ours / theirs);
    let is_inside = is_within(goodput.0, goodput.1, GOODPUT_TARGET)
        && is_within(queue.0, queue.1, DELAY_TARGET)
        && is_within(rtt.0, rtt.1, DELAY_TARGET);
    let cells = vec![
        cell.congestion_control.to_owned(),
        cell.direction().to_owned(),
        cell.mcs.to_string(),
        cell.queue_packets.to_string(),
        cell.wire_ms.to_string(),
        format!("{:.2}", goodput.0),
        format!("{:.2}", goodput.1),
        ratio(goodput),
        format!("{:.1}", queue.0),
        format!("{:.0}..{:.0}", least(ours), greatest(ours)),
        format!("{:.1}", queue.1),
        ratio(queue),
        format!("{:.1}", rtt.0),
        format!("{:.1}", rtt.1),
        ratio(rtt),
        ratio(window),
        format!("{:.0}", lost.0),
        format!("{:.0}", lost.1),
    ];
    (cells, is_inside)
}

fn mean(runs: &[KernelMeasured], quantity: fn(&KernelMeasured) -> f64) -> f64 {
    runs.iter().map(quantity).sum::<f64>() / runs.len() as f64
}

fn least(runs: &[KernelMeasured]) -> f64 {
    runs.iter().map(|run| run.queue_mean_packets).fold(f64::INFINITY, f64::min)
}

fn greatest(runs: &[KernelMeasured]) -> f64 {
    runs.iter().map(|run| run.queue_mean_packets).fold(0.0, f64::max)
}

/// Simulates all runs of all cells, on all cores. Results are in the order of the
/// cells.
fn simulate_all(cells: &[(KernelCell, Vec<KernelMeasured>)]) -> Vec<Vec<KernelMeasured>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(vec![Vec::new(); cells.len()]);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((index, (cell, _))) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    cells.get(index).map(|cell| (index, cell))
                } {
                    let runs = (0..RUNS).map(|run| cell.simulate(run)).collect();
                    results.lock().unwrap_or_else(PoisonError::into_inner)[index] = runs;
                }
            });
        }
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
}
