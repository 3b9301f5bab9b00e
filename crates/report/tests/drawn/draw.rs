//! Scenarios that are drawn: a home or an office of one to four stations and hosts behind
//! one or two wires, with traffic in both directions, and one cause of trouble or two, of any
//! strength. `truth.rs` decides which cause matters, by removing each. A draw depends on its number
//! only.

use std::fmt::Write;

/// A removable cause, by the word of the finding that it should make.
pub type Cause = &'static str;

/// The measure that decides on a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The 99th percentiles of pings, calls, films and requests.
    Delay,
    /// The goodput of bulk transfers.
    Goodput,
}

/// A scenario that was drawn.
#[derive(Clone, Debug)]
pub struct Draw {
    pub number: u64,
    pub measure: Measure,
    /// The causes in it; none if it is meant to be healthy.
    pub causes: Vec<Cause>,
    stations: Vec<Station>,
    access_point: String,
    queue: Option<Queue>,
    crowd: Option<Crowd>,
    wires: Wires,
    flows: Vec<Flow>,
    aggregation: Option<&'static str>,
    /// Packets that the driver of the access point holds; of `driver_queue`.
    driver: Option<u64>,
    coded: Option<Coded>,
    /// Whether all of it is 802.11ax, which target wake times require.
    is_ax: bool,
    duration_s: u64,
    warmup_s: u64,
}

#[derive(Clone, Debug)]
struct Station {
    name: &'static str,
    snr_db: u64,
    /// Signal-to-noise ratio without the cause `slow_station`, in dB.
    near_db: Option<u64>,
    queue: Option<Queue>,
    /// Packets that its driver holds; of `driver_queue`.
    driver: Option<u64>,
    /// A table of the node and the cause that it is.
    table: Option<(Cause, String)>,
    /// A key of its link, and of the node, that `retries` adds.
    lossy: Option<(String, String)>,
}

impl Station {
    /// A station without a cause.
    fn new(name: &'static str, snr_db: u64) -> Self {
        Self { name, snr_db, near_db: None, queue: None, driver: None, table: None, lossy: None }
    }
}

/// A first-in-first-out queue, which `own_queue` replaces by the default.
#[derive(Clone, Copy, Debug)]
struct Queue {
    packets: u64,
    is_cause: bool,
}

#[derive(Clone, Debug)]
struct Crowd {
    stations: u64,
    is_hidden: bool,
    rate: String,
    packets: u64,
}

#[derive(Clone, Debug)]
struct Wires {
    server: &'static str,
    /// Between the access point and the server, if there are two wires.
    middle: Option<&'static str>,
    delay_ms: u64,
    /// The delay without the cause `wire`, if it is long.
    usual_ms: Option<u64>,
    /// Rate in Mb/s and queue in packets of the slow wire; of `wire`.
    slow: Option<(u64, u64)>,
    /// Loss in tenths of a per cent; of `wire`.
    loss_tenths: Option<u64>,
    /// The only direction that is slow: `up` is from the server.
    slow_side: Option<&'static str>,
}

/// A coded link over the first wire from the server.
#[derive(Clone, Copy, Debug)]
struct Coded {
    rate_mbps: u64,
    loss_percent: u64,
    /// Packets that its ends hold without managing them; of `coded_link`.
    backlog_packets: Option<u64>,
}

#[derive(Clone, Debug)]
struct Flow {
    name: String,
    from: String,
    to: String,
    kind: &'static str,
    /// More keys, a line each.
    keys: String,
    /// Keys that are there with a cause, and others without it.
    cause: Option<(Cause, String, String)>,
}

/// A generator of numbers (SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `least` to `most`.
    fn within(&mut self, least: u64, most: u64) -> u64 {
        least + self.next() % (most - least + 1)
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.within(0, all.len() as u64 - 1) as usize]
    }

    fn in_ten(&mut self, times: u64) -> bool {
        self.within(1, 10) <= times
    }
}

/// The causes that draws are made for, in turn; each may get another one beside it.
const TURNS: [&str; 13] = [
    "own_queue",
    "scan",
    "contention",
    "wire",
    "healthy",
    "slow_station",
    "sleep",
    "overload",
    "retries",
    "tcp_window",
    "own_queue",
    "aggregation",
    "healthy",
];
/// The first draw of those that have drivers' queues, every kind of power save, wires that are slow
/// in one direction, and coded links, too.
const LATER_FROM: u64 = 780;
/// The causes that these are made for, in turn.
const LATER_TURNS: [&str; 16] = [
    "own_queue",
    "driver_queue",
    "sleep",
    "wire",
    "coded_link",
    "healthy",
    "scan",
    "driver_queue",
    "contention",
    "wire",
    "coded_link",
    "slow_station",
    "overload",
    "retries",
    "tcp_window",
    "aggregation",
];
const NAMES: [&str; 10] =
    ["desk", "tablet", "kitchen", "tv", "console", "printer", "camera", "watch", "lab-3", "guest"];

impl Draw {
    pub fn new(number: u64) -> Self {
        let dice = &mut Dice(number.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ 0x1234);
        let turns: &[&str] = if number < LATER_FROM { &TURNS } else { &LATER_TURNS };
        let turn = turns[(number % turns.len() as u64) as usize];
        let mut names = NAMES.to_vec();
        let stations = (0..dice.within(1, 4)).map(|_| {
            let name = names.remove(dice.within(0, names.len() as u64 - 1) as usize);
            let snr_db = dice.within(22, 38);
            Station::new(name, snr_db)
        });
        let stations: Vec<Station> = stations.collect();
        let wires = Wires {
            server: dice.one_of(&["server", "cloud", "nas", "edge"]),
            middle: dice.in_ten(4).then_some("modem"),
            delay_ms: dice.within(2, 25),
            usual_ms: None,
            slow: None,
            loss_tenths: None,
            slow_side: None,
        };
        let is_goodput = match turn {
            "tcp_window" | "aggregation" => true,
            "slow_station" | "retries" => dice.in_ten(5),
            "wire" => dice.in_ten(3),
            _ => false,
        };
        let mut draw = Self {
            number,
            measure: if is_goodput { Measure::Goodput } else { Measure::Delay },
            causes: Vec::new(),
            stations,
            access_point: dice.one_of(&["ap", "router", "gateway", "mesh-0"]).to_owned(),
            queue: None,
            crowd: None,
            wires,
            flows: Vec::new(),
            aggregation: None,
            driver: None,
            coded: None,
            is_ax: false,
            duration_s: 10,
            warmup_s: 3,
        };
        if !is_goodput {
            draw.watch(dice);
        }
        if turn != "healthy" {
            draw.add(turn, dice);
        }
        let beside: &[&str] = match (turn, draw.measure) {
            ("healthy", _) => &[],
            (_, Measure::Delay) if number >= LATER_FROM => {
                &["own_queue", "scan", "wire", "retries", "driver_queue"]
            }
            (_, Measure::Delay) => &["own_queue", "scan", "wire", "retries"],
            (_, Measure::Goodput) => &["tcp_window", "wire", "aggregation"],
        };
        if !beside.is_empty() && dice.in_ten(5) {
            let other = dice.one_of(beside);
            if !draw.causes.contains(&other) {
                draw.add(other, dice);
            }
        }
        if is_goodput && !draw.flows.iter().any(|flow| flow.name.starts_with("bulk")) {
            let station = draw.any(dice);
            draw.bulk(station, dice);
        }
        if turn == "healthy" && dice.in_ten(6) {
            let station = draw.any(dice);
            draw.bulk(station, dice);
        }
        draw
    }

    /// Whether the cause `wire` is the propagation delay of a line.
    pub fn has_long_line(&self) -> bool {
        self.wires.usual_ms.is_some()
    }

    /// A station, by its index.
    fn any(&self, dice: &mut Dice) -> usize {
        dice.within(0, self.stations.len() as u64 - 1) as usize
    }

    fn flow(&mut self, name: &str, ends: [&str; 2], kind: &'static str, keys: String) {
        let [from, to] = ends.map(str::to_owned);
        let name = format!("{name}-{}", self.flows.len());
        self.flows.push(Flow { name, from, to, kind, keys, cause: None });
    }

    /// Flows whose delay matters: one to three of any kind.
    fn watch(&mut self, dice: &mut Dice) {
        for index in 0..dice.within(1, 3) {
            let station = self.stations[self.any(dice)].name;
            let far =
                if dice.in_ten(7) { self.wires.server } else { &self.access_point }.to_owned();
            let far = far.as_str();
            let (up, down) = ([station, far], [far, station]);
            let ends = dice.one_of(&[up, down]);
            match if index == 0 { dice.within(0, 1) } else { dice.within(0, 4) } {
                0 => {
                    let ms = dice.within(20, 90);
                    self.flow("echo", ends, "ping", format!("interval = \"{ms}ms\"\n"));
                }
                1 => {
                    let kb = dice.within(100, 2_500);
                    let keys = format!("rate = \"{kb}kb/s\"\npacket_bytes = 400\n");
                    self.flow("call", ends, "udp", keys);
                }
                2 => {
                    let mb = dice.within(1, 6);
                    self.flow("film", down, "video", format!("rate = \"{mb}Mb/s\"\n"));
                }
                3 => {
                    let keys = "requests = { response = \"30kB\", think = \"150ms\" }\n";
                    self.flow("web", up, "tcp", keys.to_owned());
                }
                _ => {
                    let kb = dice.within(300, 900);
                    let keys =
                        format!("requests = {{ response = \"{kb}kB\", think = \"1500ms\" }}\n");
                    self.flow("dash", up, "tcp", keys);
                }
            }
        }
    }

    /// A bulk transfer of a station, up or down.
    fn bulk(&mut self, station: usize, dice: &mut Dice) -> bool {
        let (station, far) = (self.stations[station].name, self.wires.server);
        let is_up = dice.in_ten(5);
        let ends = if is_up { [station, far] } else { [far, station] };
        self.flow("bulk", ends, "tcp", String::new());
        is_up
    }

    fn add(&mut self, cause: Cause, dice: &mut Dice) {
        let station = self.any(dice);
        if self.stations[station].table.is_some() {
            return;
        }
        self.causes.push(cause);
        match cause {
            "own_queue" => self.deep_queue(station, dice),
            "driver_queue" => self.deep_driver(station, dice),
            "coded_link" => self.coded_link(station, dice),
            "sleep" if self.number >= LATER_FROM => self.doze(station, dice),
            "scan" => {
                let (channels, away) = (dice.within(3, 26), dice.within(50, 130));
                let period = channels * (away + 250) / 1_000 + dice.within(1, 8);
                self.stations[station].table = Some((
                    cause,
                    format!(
                        "[node.scan]\nstart = \"1500ms\"\nperiod = \"{period}s\"\n\
                         channels = {channels}\naway = \"{away}ms\"\n"
                    ),
                ));
                self.watch_one(station, dice);
            }
            "sleep" => {
                let listen = dice.within(1, 3);
                self.stations[station].table = Some((
                    cause,
                    format!("[node.power_save]\nidle = \"60ms\"\nlisten_interval = {listen}\n"),
                ));
                let name = self.stations[station].name;
                let ms = dice.within(310, 900);
                let far = self.wires.server;
                let keys = format!("interval = \"{ms}ms\"\n");
                self.flows.retain(|flow| flow.from != name && flow.to != name);
                self.flow("push", [far, name], "ping", keys);
                self.duration_s = 25;
            }
            "contention" => {
                let is_hidden = dice.in_ten(4);
                self.crowd = Some(Crowd {
                    stations: if is_hidden { 2 } else { dice.within(6, 24) },
                    is_hidden,
                    rate: match dice.within(0, 2) {
                        0 if is_hidden => format!("{}Mb/s", dice.within(8, 16)),
                        _ => "saturated".to_owned(),
                    },
                    packets: dice.within(20, 120),
                });
            }
            "retries" => {
                let (loss, mcs) = (dice.within(30, 65), dice.within(1, 5));
                self.stations[station].lossy = Some((
                    format!("loss = \"{loss}%\"\n"),
                    format!("rate_control = {{ kind = \"fixed\", mcs = {mcs} }}\n"),
                ));
                match self.measure {
                    Measure::Delay => self.watch_one(station, dice),
                    Measure::Goodput => {
                        self.bulk(station, dice);
                    }
                }
            }
            "slow_station" => self.slow_station(dice),
            "wire" => self.slow_wire(station, dice),
            "overload" => {
                let name = self.stations[station].name;
                self.stations[station].snr_db = dice.within(5, 12);
                let far = self.wires.server;
                let ends = dice.one_of(&[[name, far], [far, name]]);
                let rate = dice.within(45, 90);
                let keys = |rate: u64| format!("rate = \"{rate}Mb/s\"\n");
                self.flow("feed", ends, "udp", String::new());
                if let Some(flow) = self.flows.last_mut() {
                    flow.cause = Some((cause, keys(rate), keys(2)));
                }
                if dice.in_ten(5) {
                    let queue = Queue { packets: dice.within(100, 800), is_cause: true };
                    self.stations[station].queue = Some(queue);
                    self.queue = Some(queue);
                    self.causes.push("own_queue");
                }
            }
            "tcp_window" => {
                self.bulk(station, dice);
                let side = dice.one_of(&["receive_window", "send_window"]);
                let kib = dice.within(12, 96);
                self.wires.delay_ms = dice.within(8, 50);
                if let Some(flow) = self.flows.last_mut() {
                    flow.cause = Some((
                        cause,
                        format!("tcp = {{ {side} = \"{kib}KiB\" }}\n"),
                        String::new(),
                    ));
                }
            }
            "aggregation" => {
                self.aggregation = Some(dice.one_of(&[
                    "aggregation = { ampdu_frames_max = 1 }\n",
                    "aggregation = { ampdu_frames_max = 3 }\n",
                    "aggregation = { ampdu_bytes_max = 0 }\n",
                    "aggregation = { ampdu_duration_max = \"600us\" }\n",
                    "block_ack = { window = 3 }\n",
                    "block_ack = { window = 6 }\n",
                    "driver_queue = { packets = 1 }\n",
                    "driver_queue = { packets = 3 }\n",
                    "edca = { best_effort = { txop_limit = \"608us\" } }\n",
                ]));
                self.bulk(station, dice);
            }
            other => panic!("{other} cannot be added"),
        }
    }

    /// A flow whose delay matters, of this station.
    fn watch_one(&mut self, station: usize, dice: &mut Dice) {
        let name = self.stations[station].name;
        let far = self.wires.server;
        let ends = dice.one_of(&[[name, far], [far, name]]);
        let ms = dice.within(15, 45);
        self.flow("beat", ends, "ping", format!("interval = \"{ms}ms\"\n"));
    }

    fn deep_queue(&mut self, station: usize, dice: &mut Dice) {
        let queue = Queue { packets: dice.within(60, 1_000), is_cause: true };
        self.duration_s = 16;
        self.warmup_s = 6;
        self.stations[station].snr_db = dice.within(5, 24);
        let is_up = self.bulk(station, dice);
        if let Some(flow) = self.flows.last_mut() {
            flow.keys.push_str("tcp = { small_queues = \"off\" }\n");
        }
        if is_up {
            self.stations[station].queue = Some(queue);
        } else {
            self.queue = Some(queue);
        }
        self.watch_one(station, dice);
    }

    /// A driver's queue that is deep, below FQ-CoDel or a queue that is no cause.
    fn deep_driver(&mut self, station: usize, dice: &mut Dice) {
        let packets = dice.within(150, 1_500);
        self.duration_s = 16;
        self.warmup_s = 6;
        self.stations[station].snr_db = dice.within(5, 18);
        let is_up = self.bulk(station, dice);
        if dice.in_ten(5)
            && let Some(flow) = self.flows.last_mut()
        {
            flow.keys.push_str("tcp = { small_queues = \"off\" }\n");
        }
        let above = dice.in_ten(3).then_some(Queue { packets: 100, is_cause: false });
        if is_up {
            self.stations[station].driver = Some(packets);
            self.stations[station].queue = self.stations[station].queue.or(above);
        } else {
            self.driver = Some(packets);
            self.queue = self.queue.or(above);
        }
        self.watch_one(station, dice);
    }

    /// Power save of each kind, and pings that it delays.
    fn doze(&mut self, station: usize, dice: &mut Dice) {
        let listen = dice.within(1, 4);
        let table = match dice.within(0, 4) {
            0 => format!("kind = \"legacy\"\nlisten_interval = {listen}\n"),
            1 => {
                format!("kind = \"legacy\"\nlisten_interval = {listen}\nwake_jitter = \"2460us\"\n")
            }
            2 => format!("kind = \"firmware\"\nlisten_interval = {listen}\n"),
            3 => format!("kind = \"u-apsd\"\nlisten_interval = {listen}\n"),
            _ => {
                self.is_ax = true;
                format!("kind = \"twt\"\nwake_interval = \"{}ms\"\n", dice.within(80, 600))
            }
        };
        self.stations[station].table = Some(("sleep", format!("[node.power_save]\n{table}")));
        let name = self.stations[station].name;
        let far = self.wires.server;
        let ms = dice.within(310, 900);
        let ends = dice.one_of(&[[far, name], [name, far]]);
        self.flows.retain(|flow| flow.from != name && flow.to != name);
        self.flow("push", ends, "ping", format!("interval = \"{ms}ms\"\n"));
        self.duration_s = 25;
    }

    /// A coded link that repairs what its wire loses: with too little queue management, with too much
    /// UDP, or with nothing wrong.
    fn coded_link(&mut self, station: usize, dice: &mut Dice) {
        let rate_mbps = dice.within(4, 20);
        let mut coded =
            Coded { rate_mbps, loss_percent: dice.within(1, 15), backlog_packets: None };
        match dice.within(0, 2) {
            0 => {
                coded.backlog_packets = Some(dice.within(200, 1_000));
                self.duration_s = 16;
                self.warmup_s = 6;
                self.bulk(station, dice);
                self.watch_one(station, dice);
            }
            1 => {
                self.causes.pop();
                self.causes.push("overload");
                let (name, far) = (self.stations[station].name, self.wires.server);
                let ends = dice.one_of(&[[name, far], [far, name]]);
                let keys = |rate: u64| format!("rate = \"{rate}Mb/s\"\n");
                let rate = rate_mbps * dice.within(12, 30) / 10;
                self.flow("feed", ends, "udp", String::new());
                if let Some(flow) = self.flows.last_mut() {
                    flow.cause = Some(("overload", keys(rate), keys(1)));
                }
            }
            _ => {
                self.causes.pop();
            }
        }
        self.coded = Some(coded);
    }

    fn slow_station(&mut self, dice: &mut Dice) {
        while self.stations.len() < 3 {
            let used: Vec<&str> = self.stations.iter().map(|it| it.name).collect();
            let name = NAMES.into_iter().find(|name| !used.contains(name)).expect("there are ten");
            let snr_db = dice.within(28, 38);
            self.stations.push(Station::new(name, snr_db));
        }
        let slow = self.any(dice);
        self.stations[slow].near_db = Some(32);
        self.stations[slow].snr_db = dice.within(3, 9);
        let is_deep = dice.in_ten(5);
        let queue = Queue { packets: dice.within(60, 300), is_cause: is_deep };
        self.queue = Some(queue);
        if is_deep {
            self.causes.push("own_queue");
        }
        let far = self.wires.server;
        for index in 0..self.stations.len() {
            let name = self.stations[index].name;
            let prefix = if index == slow { "drain" } else { "bulk" };
            if dice.in_ten(5) {
                self.flow(prefix, [far, name], "tcp", String::new())
            } else {
                let rate = dice.within(8, 25);
                self.flow(prefix, [far, name], "udp", format!("rate = \"{rate}Mb/s\"\n"));
            }
        }
    }

    fn slow_wire(&mut self, station: usize, dice: &mut Dice) {
        if self.measure == Measure::Goodput {
            self.wires.loss_tenths = Some(dice.within(4, 35));
            self.bulk(station, dice);
        } else if dice.in_ten(6) {
            self.wires.slow = Some((dice.within(3, 18), dice.within(80, 1_000)));
            let is_up = self.bulk(station, dice);
            if self.number >= LATER_FROM && dice.in_ten(6) {
                self.wires.slow_side = Some(if is_up { "down" } else { "up" });
            }
            self.duration_s = 16;
            self.warmup_s = 6;
        } else {
            self.wires.usual_ms = Some(self.wires.delay_ms);
            self.wires.delay_ms = dice.within(60, 280);
        }
        if self.measure == Measure::Delay {
            self.watch_one(station, dice);
        }
    }

    /// The scenario file, without a cause if one is to be left out.
    pub fn text(&self, without: Option<Cause>) -> String {
        let has = |cause: Cause| without != Some(cause);
        let mut out = format!(
            "duration = \"{}s\"\nwarmup = \"{}s\"\nseed = {}\n",
            self.duration_s,
            self.warmup_s,
            self.number + 1
        );
        if self.is_ax {
            out.push_str("\n[channel]\nstandard = \"802.11ax\"\n");
        }
        if let Some(keys) = self.aggregation.filter(|_| has("aggregation")) {
            let _ = write!(out, "\n[node_defaults]\n{keys}");
        }
        let queue = |queue: Option<Queue>| match queue {
            Some(queue) if has("own_queue") || !queue.is_cause => {
                format!("queue = {{ kind = \"drop-tail\", packets = {} }}\n", queue.packets)
            }
            _ => String::new(),
        };
        let ap = &self.access_point;
        let _ = write!(
            out,
            "\n[[node]]\nname = \"{ap}\"\nrole = \"access-point\"\n{}",
            queue(self.queue)
        );
        let driver = |packets: Option<u64>| match packets.filter(|_| has("driver_queue")) {
            Some(packets) => format!("driver_queue = {{ packets = {packets} }}\n"),
            None => String::new(),
        };
        out.push_str(&driver(self.driver));
        if let Some((_, node)) =
            self.stations.iter().find_map(|it| it.lossy.as_ref()).filter(|_| has("retries"))
        {
            out.push_str(node);
        }
        for (index, station) in self.stations.iter().enumerate() {
            let queues = queue(station.queue) + &driver(station.driver);
            self.station(&mut out, station, index, &queues, &has);
        }
        if let Some(crowd) = &self.crowd {
            crowd.write(&mut out, ap, &has);
        }
        self.wires.write(&mut out, ap, self.coded, &has);
        for flow in &self.flows {
            let Flow { name, from, to, kind, keys, cause } = flow;
            let _ = write!(
                out,
                "\n[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nkind = \"{kind}\"\n{keys}"
            );
            if let Some((cause, with, other)) = cause {
                out.push_str(if has(cause) { with } else { other });
            }
        }
        out
    }

    fn station(
        &self,
        out: &mut String,
        station: &Station,
        index: usize,
        queue: &str,
        has: &dyn Fn(Cause) -> bool,
    ) {
        let Station { name, snr_db, near_db, table, lossy, .. } = station;
        let lossy = lossy.as_ref().filter(|_| has("retries"));
        let _ = write!(
            out,
            "\n[[node]]\nname = \"{name}\"\nrole = \"station\"\nposition = [\"{}m\", \"{}m\"]\n{queue}{}",
            3 + 2 * index,
            index,
            lossy.map_or("", |(_, node)| node)
        );
        if let Some((_, table)) = table.as_ref().filter(|(cause, _)| has(cause)) {
            out.push_str(table);
        }
        let snr_db = near_db.filter(|_| !has("slow_station")).unwrap_or(*snr_db);
        let link = match lossy {
            Some((link, _)) => link.clone(),
            None => format!("snr = \"{snr_db}dB\"\n"),
        };
        let ap = &self.access_point;
        let _ = write!(out, "\n[[link]]\nbetween = [\"{name}\", \"{ap}\"]\n{link}");
    }
}

impl Crowd {
    /// Without `contention` they are there and silent, or hear each other.
    fn write(&self, out: &mut String, ap: &str, has: &dyn Fn(Cause) -> bool) {
        let Self { stations, is_hidden, rate, packets } = self;
        let _ = write!(
            out,
            "\n[[node]]\nname = \"crowd\"\nrole = \"station\"\ncount = {stations}\nring = \"4m\"\n\
             queue = {{ kind = \"drop-tail\", packets = {packets} }}\n"
        );
        if *is_hidden && has("contention") {
            out.push_str("\n[[link]]\nbetween = [\"crowd1\", \"crowd2\"]\npath_loss = \"200dB\"\n");
        }
        if *is_hidden || has("contention") {
            let _ = write!(
                out,
                "\n[[flow]]\nname = \"noise\"\nfrom = \"crowd*\"\nto = \"{ap}\"\nkind = \"udp\"\n\
                 rate = \"{rate}\"\n"
            );
        }
    }
}

impl Wires {
    fn write(&self, out: &mut String, ap: &str, coded: Option<Coded>, has: &dyn Fn(Cause) -> bool) {
        let Self { server, middle, delay_ms, usual_ms, slow, loss_tenths, slow_side } = self;
        let delay_ms = usual_ms.filter(|_| !has("wire")).unwrap_or(*delay_ms);
        let mut keys = format!("delay = \"{delay_ms}ms\"\n");
        let slow = slow.filter(|_| has("wire")).map(|(rate, packets)| {
            format!(
                "rate = \"{rate}Mb/s\"\nqueue = {{ kind = \"drop-tail\", packets = {packets} }}\n"
            )
        });
        if slow_side.is_none() {
            keys.extend(slow.clone());
        }
        if let Some(loss) = loss_tenths.filter(|_| has("wire")) {
            let _ = writeln!(keys, "loss = \"{}.{}%\"", loss / 10, loss % 10);
        }
        if let Some(Coded { rate_mbps, loss_percent, .. }) = coded {
            if slow.is_none() || slow_side.is_some() {
                let _ = writeln!(keys, "rate = \"{rate_mbps}Mb/s\"");
            }
            if !keys.contains("loss") {
                let _ = writeln!(keys, "loss = \"{loss_percent}%\"");
            }
        }
        if let (Some(side), Some(slow)) = (slow_side, slow) {
            let _ = write!(keys, "[wire.{side}]\n{slow}");
        }
        let mut wire = |from: &str, to: &str, keys: &str| {
            let _ = write!(out, "\n[[wire]]\nbetween = [\"{from}\", \"{to}\"]\n{keys}");
        };
        match middle {
            Some(middle) => {
                wire(server, middle, &keys);
                wire(middle, ap, "");
                let _ = write!(out, "\n[[node]]\nname = \"{middle}\"\nrole = \"relay\"\n");
            }
            None => wire(server, ap, &keys),
        }
        let _ = write!(out, "\n[[node]]\nname = \"{server}\"\nrole = \"host\"\n");
        if let Some(Coded { backlog_packets, .. }) = coded {
            let near = middle.unwrap_or(ap);
            let _ = write!(
                out,
                "\n[[franc]]\nname = \"coded\"\nends = [\"{server}\", \"{near}\"]\npace = \"5ms\"\n"
            );
            if let Some(packets) = backlog_packets.filter(|_| has("coded_link")) {
                let _ = write!(out, "backlog_target = \"off\"\nbacklog_packets = {packets}\n");
            }
        }
    }
}
