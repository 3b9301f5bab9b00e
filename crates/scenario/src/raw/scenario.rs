//! The top level of a scenario file, and the tables that are of no node: programs, changes while it
//! runs, emulation, sweeps. The other tables are in the files beside this one. What a change may
//! set is decided in `crate::change`.

use super::{
    Positive, RawCell, RawChannel, RawFlow, RawFranc, RawLink, RawNeighbour, RawNode,
    RawNodeSettings, RawWire,
};
use crate::Ready;
use crate::change::Settings;
use crate::profile::Profile;
use crate::scalar::{Command, Name, Whole};
use crate::table::tables;
use lasthop_units::Duration;

tables! {
    /// A lasthop scenario: a Wi-Fi cell, the hosts and wires around it, and
    /// the traffic that crosses it.
    RawScenario {
        /// Name of the scenario, in results and file names.
        option name: Name = "the file's name without its extension";
        /// The product class of its radios and hosts: "ath9k-2013" (access points and laptops of
        /// 802.11n under Linux, before queues were short), "laptop-ac", "phone-ax",
        /// "small-computer" (2.4 GHz, one stream, saves power), or "bare", the defaults. It sets keys
        /// that the file does not, and the results' scenario.toml has them: of the channel the
        /// standard, band, width and fading; of nodes their streams, A-MSDUs, queues, the latency
        /// of hosts, and how stations save power. The defaults alone are of no product: a driver
        /// without A-MSDUs, hosts that take no time, a channel that does not fade.
        option profile: Profile = "\"bare\"";
        /// How long the run lasts. Ten seconds show a steady state of a cell
        /// with few stations.
        value duration: Duration = "10s";
        /// Left out of the results at the beginning of the run. Zero keeps the
        /// transient; a second removes slow start and Minstrel's first
        /// probing.
        value warmup: Duration = "0s";
        /// Seed of every random stream; the run number is mixed into it.
        value seed: Whole<0, { i64::MAX }> = 1;
        /// Time between two samples of queues, windows and throughput.
        value series_interval: Duration = "100ms";
        /// The radio channel and the cell on it. Only scenarios with Wi-Fi nodes have one.
        table channel: RawChannel;
        /// What every node is unless it says otherwise.
        checked node_defaults: RawNodeSettings = "none";
        /// The nodes: one access point and its stations, and hosts behind wires.
        list node: RawNode;
        /// What nodes that name the same bss have in common.
        list cell: RawCell;
        /// Exceptions from the channel for single pairs of Wi-Fi nodes.
        list link: RawLink;
        /// Other people's cells on the channel, given by what is heard of them.
        list neighbour: RawNeighbour;
        /// Cables between two nodes.
        list wire: RawWire;
        /// Links that are coded over the network, and reliable (FRANC).
        list franc: RawFranc;
        /// Traffic that lasthop makes.
        list flow: RawFlow;
        /// Programs to start in the nodes (emulation only).
        list run: RawRun;
        /// What becomes different while it runs.
        list change: RawChange;
        /// How the scenario is emulated.
        table emulation: RawEmulation;
        /// What `lasthop sweep` varies. Other commands run the scenario as it stands.
        checked sweep: RawSweep = "none";
    }

    /// A program to run in a node. Virtual time has no programs: `simulate`
    /// checks these and runs the flows alone.
    RawRun {
        /// The node.
        required node: String;
        /// The program and its arguments; a text is a line for the shell (sh -c).
        required command: Command;
        /// When it is started: not before this, and not before each program above it is
        /// ready that has `ready`.
        value start: Duration = "0s";
        /// When it is ready: once a TCP socket of its node listens at a port, or a UDP socket
        /// has the port ("tcp:8000", "udp:5000"), once a file is there that was not when it
        /// was started, or is changed ("file:PATH"), or so long after its start ("1s"). The
        /// programs below it and COMMAND are started then. If it ends before, the emulation
        /// fails.
        option ready: Ready = "nothing waits for it";
        /// The emulation fails if it is not ready so long after its start.
        option ready_timeout: Duration = "\"30s\"";
    }

    /// What becomes different while it runs: keys as `--set` has them, with their new values.
    /// What is not set stays, also from one change to the next. A signal-to-noise ratio, and the
    /// rate, delay and losses of a wire, hold for what begins to be sent from then on; the loss
    /// of a link for what ends from then on; a queue that is replaced keeps its packets, in the
    /// order in which they came. It may be snr and loss of a `[[link]]`, position and tx_power
    /// of a node (who senses whom stays); rate, delay, jitter, loss and queue of a `[[wire]]`;
    /// queue, scan, operating_mode, a fixed rate, and cw_min and cw_max of a node. The scan
    /// `"off"` ends scans after the absence that has begun; a first scan whose start is over
    /// begins at once, and one that is changed keeps its rhythm. The operating_mode `"off"` is
    /// all that the node can. Flows have start and stop of their own.
    RawChange {
        /// When, after the beginning and before the end.
        required at: Duration;
        /// The keys, such as { "wire.server-ap.delay" = "200ms" }. A key in quotes is a path as
        /// `--set` has it, its value is taken whole; a table without quotes stands for what is
        /// in it.
        required set: Settings;
    }

    /// Emulation.
    RawEmulation {
        /// A run is marked late if a delivery in a thousand is later than this.
        /// A millisecond is well below what a program sees of a Wi-Fi hop. On a busy
        /// hop deliveries wait for each other for up to a fifth of it, 200 us at most.
        value lateness_max: Duration = "1ms";
        /// The MTU of nodes that have none of their own.
        moved mtu: () = "this is `mtu` of [node_defaults] now: it is for `simulate`, too";
    }

    /// A sweep: runs of many combinations of values.
    RawSweep {
        /// The keys and their values, as in the command's `--vary`, which takes their place
        /// if it is given: `"node.sta.count=1,2,5"`, `"wire.cable.delay=1ms..50ms:8"`.
        option vary: Vec<String> = "none: --vary says what";
        /// Take the first values of all keys together, then the second ones, and so on,
        /// instead of every combination.
        value zip: bool = false;
        /// Runs of each combination, with independent random numbers.
        value runs: Positive = 1;
    }
}
