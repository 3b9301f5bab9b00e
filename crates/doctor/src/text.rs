//! Parsers of the kernel's text files: procfs (proc(5)), sysfs, and mac80211's debugfs
//! (net/mac80211/debugfs.c, debugfs_sta.c of Linux 6.1 and 6.12). Pure functions only. Unexpected
//! content counts as absent.

use crate::document::{Aggregation, AqlLimit, StationAql, StationQueue};

/// Relevant values of `/proc/self/status`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Effective user ID.
    pub uid: u32,
    /// Effective capabilities, one bit each.
    pub capabilities: u64,
    /// Whether a filter of system calls is set.
    pub seccomp_filter: bool,
    /// Value of `no_new_privs`.
    pub no_new_privileges: bool,
}

/// Parses the file `/proc/self/status`.
pub fn status(text: &str) -> Status {
    let word = |key: &str, index: usize| {
        text.lines().find_map(|line| line.strip_prefix(key)?.split_whitespace().nth(index))
    };
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
    Status {
        uid: word("Uid:", 1).and_then(|uid| uid.parse().ok()).unwrap_or(0),
        capabilities: word("CapEff:", 0).and_then(hexadecimal).unwrap_or(0),
        // 1 is strict mode, in which nothing of this would run.
        seccomp_filter: word("Seccomp:", 0) == Some("2"),
        no_new_privileges: word("NoNewPrivs:", 0) == Some("1"),
    }
}

/// Returns the soft limit of a line of `/proc/self/limits`; the largest number if there is none.
pub fn limit(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    match rest.split_whitespace().next()? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

/// Whether a map of user IDs (`/proc/self/uid_map`) is that of the first user namespace, which maps
/// all IDs to themselves.
pub fn is_first_user_namespace(uid_map: &str) -> bool {
    uid_map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// Whether a line of `/proc/modules` names this module.
pub fn has_module(proc_modules: &str, name: &str) -> bool {
    proc_modules.lines().any(|line| line.split(' ').next() == Some(name))
}

/// Whether a list of module files (`modules.builtin`, `modules.dep`) has this one. File names may
/// have `-` for `_`.
pub fn lists_module(list: &str, name: &str) -> bool {
    list.lines().any(|line| {
        let path = line.split(':').next().unwrap_or(line);
        let file = path.rsplit('/').next().unwrap_or(path);
        file.split_once(".ko").is_some_and(|(stem, _)| stem.replace('-', "_") == name)
    })
}

/// Returns the value of an option of the kernel's configuration: y, m, or n; n if it is missing.
pub fn option(configuration: &str, name: &str) -> char {
    let value = configuration.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    match value {
        Some("y") => 'y',
        Some("m") => 'm',
        _ => 'n',
    }
}

/// Whether a driver of this name is in `/proc/misc`.
pub fn has_misc_device(proc_misc: &str, name: &str) -> bool {
    proc_misc.lines().any(|line| line.split_whitespace().nth(1) == Some(name))
}

/// Returns the name of the distribution (os-release(5)).
pub fn pretty_name(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    let value = value.trim().trim_matches(['"', '\'']);
    (!value.is_empty()).then(|| value.to_owned())
}

/// Whether the first processor of `/proc/cpuinfo` reports a hypervisor.
pub fn has_hypervisor(cpuinfo: &str) -> bool {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|line| line.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// Parses the limits of the access categories in `aql_txq_limit`: a header, then a line for each
/// with its name and two numbers of microseconds.
pub fn aql_limits(text: &str) -> Vec<AqlLimit> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let category = words.next()?.to_owned();
            let (low, high) = (words.next()?, words.next()?);
            let (low_us, high_us) = (low.parse().ok()?, high.parse().ok()?);
            words.next().is_none().then_some(AqlLimit { category, low_us, high_us })
        })
        .collect()
}

/// Parses a station's `aql` (`sta_aql_read`), or the `airtime` of Linux 5.5, which has the same two
/// lines: `Q depth: VO: 0 us ..` and `Q limit[low/high]: VO: 5000/12000 ..`. Leaves out categories
/// without all three numbers.
pub fn station_aql(text: &str) -> Vec<StationAql> {
    let line = |name: &str| {
        let rest = text.lines().find_map(|line| line.trim().strip_prefix(name)).unwrap_or_default();
        rest.split_whitespace().filter(|word| *word != "us").collect::<Vec<_>>()
    };
    let (depths, limits) = (line("Q depth:"), line("Q limit[low/high]:"));
    let of = |words: &[&str], category: &str| {
        let place = words.iter().position(|word| word.strip_suffix(':') == Some(category))?;
        words.get(place + 1).map(|word| (*word).to_owned())
    };
    let category = |name: &&str| {
        let limits = of(&limits, name)?;
        let (low, high) = limits.split_once('/')?;
        Some(StationAql {
            category: (*name).to_owned(),
            pending_us: of(&depths, name)?.parse().ok()?,
            low_us: low.parse().ok()?,
            high_us: high.parse().ok()?,
        })
    };
    ["VO", "VI", "BE", "BK"].iter().filter_map(category).collect()
}

/// Returns the total of a radio's `aql_pending`, in microseconds: a line `total  N us`.
pub fn aql_pending(text: &str) -> Option<u32> {
    let total = text.lines().find_map(|line| line.trim().strip_prefix("total"))?;
    total.split_whitespace().next()?.parse().ok()
}

/// Parses a file with 1 or 0.
pub fn switch(text: &str) -> Option<bool> {
    match text.trim() {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// Parses a station's `agg_status`. For each TID it has the session for received frames, its
/// dialogue token and first number, the session for sent frames, its token, and the waiting
/// packets. `None` without any such line.
pub fn aggregation(text: &str) -> Option<Aggregation> {
    let mut found = None;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[tid, rx, _, _, tx, _, pending] = words.as_slice() else { continue };
        let Ok(tid) = tid.parse::<u8>() else { continue };
        let aggregation: &mut Aggregation = found.get_or_insert_default();
        if rx == "1" {
            aggregation.rx_tids.push(tid);
        }
        if tx == "1" {
            aggregation.tx_tids.push(tid);
        }
        let pending: u32 = pending.parse().unwrap_or(0);
        aggregation.pending_packets = aggregation.pending_packets.saturating_add(pending);
    }
    found
}

/// Parses a station's `aqm`: CoDel's parameters in kernels up to at least 6.1 (6.12 has none for a
/// station), then the names of columns, then a line for each TID. `None` without such columns.
pub fn station_queue(text: &str) -> Option<StationQueue> {
    const COLUMNS: [&str; 4] = ["backlog-packets", "drops", "marks", "tx-packets"];
    let mut lines = text.lines().peekable();
    let mut queue = StationQueue::default();
    let first: Vec<&str> = lines.peek()?.split_whitespace().collect();
    if let &["target", target, "interval", interval, "ecn", _] = first.as_slice() {
        let microseconds = |word: &str| word.strip_suffix("us")?.parse().ok();
        queue.target_us = microseconds(target);
        queue.interval_us = microseconds(interval);
        lines.next();
    }
    let names: Vec<&str> = lines.next()?.split_whitespace().collect();
    let place = |column: &str| names.iter().position(|name| *name == column);
    let [backlog, drops, marks, sent] = COLUMNS.map(place);
    let places = [backlog?, drops?, marks?, sent?];
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
        let [Some(backlog), Some(drops), Some(marks), Some(sent)] = places.map(number) else {
            continue;
        };
        let sums = [
            (&mut queue.backlog_packets, backlog),
            (&mut queue.drops, drops),
            (&mut queue.marks, marks),
            (&mut queue.sent_packets, sent),
        ];
        for (sum, one) in sums {
            *sum = sum.saturating_add(one);
        }
    }
    Some(queue)
}

#[cfg(test)]
mod tests;
