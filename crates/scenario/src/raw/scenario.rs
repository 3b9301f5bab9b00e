//! The top level of a scenario file, and tables without a node: programs, changes during the run,
//! emulation, sweeps. The other tables are in the files beside this one. `crate::change` decides
//! which keys a change may set.

use super::{
    Positive, RawCell, RawChannel, RawFlent, RawFlow, RawFranc, RawLink, RawNeighbour, RawNode,
    RawNodeSettings, RawWire,
};
use crate::Ready;
use crate::change::Settings;
use crate::profile::Profile;
use crate::scalar::Command;
use lasthop_config::scalar::{Name, Whole};
use lasthop_config::tables;
use lasthop_units::Duration;

tables! {
    /// A scenario: a Wi-Fi cell, the hosts and wires around it, and the traffic between them.
    RawScenario {
        /// Name of the scenario in results and file names.
        option name: Name = "the file's name without extension";
        /// Product class of radios and hosts. A profile sets the keys of channel, nodes and flows
        /// that the file leaves out ([values](model.md#defaults-and-products)); the results'
        /// scenario.toml contains them.
        option profile: Profile = "\"bare\"";
        /// Duration of the run. Ten seconds show the steady state of a cell with few stations.
        value duration: Duration = "10s";
        /// Time at the start that results leave out. One second removes slow start and the first
        /// probes of Minstrel.
        value warmup: Duration = "0s";
        /// Seed of every random stream, mixed with the number of the run.
        value seed: Whole<0, { i64::MAX }> = 1;
        /// Time between samples of queues, windows and throughput.
        value series_interval: Duration = "100ms";
        /// Radio channel; only for scenarios with Wi-Fi nodes.
        table channel: RawChannel;
        /// Settings of all nodes that do not set them.
        checked node_defaults: RawNodeSettings = "none";
        /// Nodes: access points, stations, hosts and relays.
        list node: RawNode;
        /// Settings of the nodes with the same `bss`.
        list cell: RawCell;
        /// Exceptions from the channel for pairs of Wi-Fi nodes.
        list link: RawLink;
        /// Other people's cells, given by level and load.
        list neighbour: RawNeighbour;
        /// Cables between two nodes.
        list wire: RawWire;
        /// Coded, reliable links (FRANC).
        list franc: RawFranc;
        /// Traffic that lasthop generates.
        list flow: RawFlow;
        /// Tests of flent, as flows.
        list flent: RawFlent;
        /// Programs to start in nodes (emulation only).
        list run: RawRun;
        /// Changes during the run.
        list change: RawChange;
        /// Limits of the emulation.
        table emulation: RawEmulation;
        /// Keys that `lasthop sweep` varies; other commands ignore them.
        checked sweep: RawSweep = "none";
    }

    /// A program to run in a node. `simulate` checks these tables and runs only the flows.
    RawRun {
        /// Node that runs the program.
        required node: String;
        /// Program and arguments; a text is a shell line (`sh -c`).
        required command: Command;
        /// Earliest start of the program. The program also waits for each program above it that has
        /// `ready`.
        value start: Duration = "0s";
        /// Condition for starting the programs below and COMMAND: a TCP socket of the node listens
        /// ("tcp:8000"), a UDP socket has the port ("udp:5000"), a file is created or changed
        /// ("file:PATH"), or time has passed since the start ("1s"). The emulation fails if the
        /// program ends first.
        option ready: Ready = "none";
        /// Time after the start by which the program must be ready; otherwise the emulation fails.
        option ready_timeout: Duration = "\"30s\"";
    }

    /// Changes during the run: keys as in `--set`, with values that stay until the next change. A
    /// new SNR, and the rate, delay and losses of a wire, apply to transmissions that begin
    /// afterwards; the loss of a link applies to those that end afterwards. A replaced queue keeps
    /// its packets in order. Keys: snr and loss of a `[[link]]`; tx_power of a node, and its position
    /// if no node moves; rate, delay, jitter, loss and queue of a `[[wire]]`; failed of an access point; channel and channel_switch of a `[[cell]]`; link_use.on, queue, scan, operating_mode, a fixed rate, cw_min and cw_max of a node. The scan
    /// `"off"` takes effect after the current absence; a changed scan keeps its rhythm, and a first
    /// scan whose start has passed begins at once. The operating_mode `"off"` removes all limits.
    /// Flows have their own start and stop.
    RawChange {
        /// Instant of the change, after the start and before the end.
        required at: Duration;
        /// Keys and values, such as { "wire.server-ap.delay" = "200ms" }. A quoted key is a path
        /// whose value is taken whole; a table without quotes contains further keys.
        required set: Settings;
    }

    /// Limits of an emulation.
    RawEmulation {
        /// Lateness that marks a run as late if one delivery in a thousand exceeds it. Programs do
        /// not notice one millisecond of a Wi-Fi hop. On a busy hop deliveries wait for each other
        /// for up to a fifth of this time, 200 us at most.
        value lateness_max: Duration = "1ms";
        /// Former place of the MTU of nodes without their own.
        moved mtu: () = "this is `mtu` of [node_defaults] now: it is for `simulate`, too";
    }

    /// A sweep: runs of many combinations of values.
    RawSweep {
        /// Keys and values as in `--vary`, which replaces them: `"node.sta.count=1,2,5"`,
        /// `"wire.cable.delay=1ms..50ms:8"`.
        option vary: Vec<String> = "none";
        /// Combine the first values of all keys, then the second ones, and so on, instead of all
        /// combinations.
        value zip: bool = false;
        /// Runs of each combination, with independent random numbers.
        value runs: Positive = 1;
    }
}
