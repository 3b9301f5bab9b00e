//! Findings about storms of Probe Requests.

use super::joining::of_times;
use super::{Finding, Kind, percent};
use crate::air::probing::{Rush, WINDOW_NS};
use crate::analysis::InterfaceView;

/// Minimum number of one station's Probe Requests in ten seconds for a storm. A scan asks for at
/// most 16 names (wpa_supplicant's `WPAS_MAX_SCAN_SSIDS`), which a monitor at 2.4 GHz hears from
/// five overlapping channels; a station without a network scans every five seconds.
const OF_STATION_MIN: u32 = 200;
/// The same of all stations, where headers have no rates: at 1 Mb/s a request of 60 octets takes
/// 0.7 ms, so that they take 7 % of the time, without answers.
const OF_ALL_MIN: u32 = 1_000;
/// Minimum share of the time that requests and responses take for a storm, and minimum number of
/// requests.
const SHARE_MIN: f64 = 0.1;
const REQUESTS_MIN: u64 = 100;

pub(super) fn find(view: &InterfaceView<'_>, found: &mut Vec<Finding>) {
    let air = view.air;
    let (all, responses) = (&air.probing.all, air.probing.responses);
    let (asking, answering) = air.probing.airtime;
    let airtime = (asking + answering).as_nanos();
    let share = airtime as f64 / air.length_ns() as f64;
    let has_share = air.has_rates() && air.length_ns() >= WINDOW_NS;
    let takes = if has_share {
        format!("; requests and their {responses} answers take {} of the time", percent(share))
    } else {
        String::new()
    };
    let harm = if has_share { share.clamp(0.05, 1.0) } else { 0.1 };
    let of = |rush: &Rush, sentence: String, check: &str| Finding {
        sentence,
        harm,
        check: check.to_owned(),
        ..of_times(view, Kind::ProbeStorm, rush.frames.into(), rush.times.into())
    };
    if let Some((id, rush)) = air.most_probing()
        && rush.most >= OF_STATION_MIN
    {
        let station = air.stations.get(id).address.to_string();
        let sentence = format!(
            "{station} sends {} Probe Requests in ten seconds ({} in all), more than scans need{takes}",
            rush.most, rush.count
        );
        found.push(Finding {
            station: Some(station.clone()),
            ..of(
                &rush,
                sentence,
                &format!(
                    "Filter wlan.fc.type_subtype == 0x04 && wlan.sa == {station}: a device that looks \
                     for networks without end (its names are in the requests), or a tool that floods"
                ),
            )
        });
        return;
    }
    let is_storm = if has_share {
        share >= SHARE_MIN && all.count >= REQUESTS_MIN
    } else {
        all.most >= OF_ALL_MIN
    };
    if is_storm {
        let sentence = format!(
            "Probe Requests are a storm: {} in ten seconds, {} in all{takes}",
            all.most, all.count
        );
        found.push(of(
            all,
            sentence,
            "Fewer networks (SSIDs) at each access point mean fewer answers, and a higher basic rate \
             makes them shorter; some access points leave requests of far stations unanswered",
        ));
    }
}
