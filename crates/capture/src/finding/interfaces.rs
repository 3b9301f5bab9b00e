//! Findings about several radios in one file, and one radio on several channels.

use super::{Finding, Kind, percent, throughout};
use crate::analysis::{Analysis, InterfaceCounts, InterfaceView};
use std::fmt::Write;

/// Finds whether the file has several interfaces, and which hold the frames of several radios.
pub(super) fn several(analysis: &Analysis) -> Vec<Finding> {
    let Some(main) = analysis.interface() else { return Vec::new() };
    let view = analysis.view(&analysis.main);
    let mut found = Vec::new();
    if !analysis.others.is_empty() {
        let mut names = name(main, &analysis.main.counts);
        for (interface, other) in &analysis.others {
            let _ = write!(names, "; {}", name(*interface, &other.counts));
        }
        let others = analysis.packets - analysis.main.counts.packets;
        found.push(Finding {
            harm: others as f64 / analysis.packets as f64,
            ..throughout(
                &view,
                Kind::SeveralInterfaces,
                format!(
                    "The file holds {} interfaces: {names}. Each is analysed separately, but for data between multi-link devices; these results \
                     are about interface {main}, which does not include {} of the packets",
                    analysis.others.len() + 1,
                    percent(others as f64 / analysis.packets as f64)
                ),
                "Results of the others are under interfaces; editcap and tshark \
                 (frame.interface_id) split the file",
            )
        });
    }
    let mut all = vec![(main, &analysis.main.counts)];
    all.extend(analysis.others.iter().map(|(interface, other)| (*interface, &other.counts)));
    for (interface, counts) in all.into_iter().filter(|(_, counts)| counts.is_several_radios()) {
        let frequencies = counts.frequencies();
        let all: u64 = frequencies.values().sum();
        let most = frequencies.values().max().copied().unwrap_or_default();
        found.push(Finding {
            harm: (all - most) as f64 / all.max(1) as f64,
            ..throughout(
                &view,
                Kind::SeveralRadios,
                format!(
                    "Interface {interface} holds the frames of several radios: the channel \
                     changes {} times, more often than one radio can. Time on the air is the sum \
                     over channels ({}), and A-MPDUs may be split",
                    counts.channel_changes,
                    channels(counts)
                ),
                "Split the file by radiotap.channel.freq, or merge captures as pcapng, which \
                 keeps interfaces separate",
            )
        });
    }
    found
}

/// One receiver that changes its channel, as tools for finding networks do.
pub(super) fn hopping(view: &InterfaceView<'_>) -> Option<Finding> {
    let channels = &view.air.channels;
    if !channels.is_hopping() {
        return None;
    }
    let all: u64 = channels.iter().map(|(_, channel)| channel.time_ns).sum();
    let (mhz, most) = channels.iter().max_by_key(|(_, channel)| channel.time_ns)?;
    let share = most.time_ns as f64 / all.max(1) as f64;
    let changes = channels.changes();
    let times = if changes == 1 { "once".to_owned() } else { format!("{changes} times") };
    let mut finding = throughout(
        view,
        Kind::ChannelHopping,
        format!(
            "The receiver hops between {} channels: it changed {times}, and spent {share} of the time \
             at {mhz} MHz. Beacons and time on the air are shares of its time on each channel; \
             frames on the other channels were missed",
            channels.count(),
            share = percent(share)
        ),
        "Capture on the channel of the access point only (iw dev mon0 set channel N; airodump-ng -c \
         N), and stop programs that scan with this radio",
    );
    finding.harm = 1.0 - share;
    Some(finding)
}

fn name(interface: u32, counts: &InterfaceCounts) -> String {
    let kinds: Vec<_> = counts.links.keys().map(ToString::to_string).collect();
    let on = channels(counts);
    let on = if on.is_empty() { on } else { format!(" on {on}") };
    format!("{interface} ({} packets of {}{on})", counts.packets, kinds.join(", "))
}

fn channels(counts: &InterfaceCounts) -> String {
    const NAMED_MAX: usize = 4;
    let frequencies = counts.frequencies();
    let mut names: Vec<_> =
        frequencies.keys().take(NAMED_MAX).map(|mhz| format!("{mhz} MHz")).collect();
    if frequencies.len() > NAMED_MAX {
        names.push(format!("{} more", frequencies.len() - NAMED_MAX));
    }
    names.join(", ")
}
