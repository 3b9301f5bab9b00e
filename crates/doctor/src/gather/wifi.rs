//! Facts about Wi-Fi interfaces: from nl80211, which is open to any user, and from mac80211's
//! debugfs, which only root may read and many kernels lack.

use super::files::Files;
use crate::document::{AqlLimits, SleepSetting, Unread, Wifi};
use crate::nl80211::{self, FAMILY, Radio, RadioInterface};
use crate::text;
use lasthop_linux::dump::{DumpSocket, Protocol};
use lasthop_linux::message::Message;

/// Largest number of stations listed for an interface.
const STATIONS_MAX: usize = 64;
/// Module parameters with which a driver or its firmware sleeps: of rtlwifi's drivers, which hide
/// it from mac80211, and of Realtek's vendor drivers.
const SLEEP_PARAMETERS: [&str; 2] = ["fwlps", "rtw_power_mgnt"];
/// Files in a radio's debugfs with which its chip sleeps between frames (mt76).
const SLEEP_FILES: [&str; 2] = ["mt76/runtime-pm", "mt76/deep-sleep"];
/// Folder of mac80211's debugfs.
const DEBUGFS: &str = "/sys/kernel/debug/ieee80211";

/// Facts from nl80211, by interface.
#[derive(Debug, Default)]
pub struct Radios {
    interfaces: Vec<(RadioInterface, Wifi)>,
}

impl Radios {
    /// Requests the facts from the kernel; empty without Wi-Fi.
    pub fn read(files: &mut Files) -> Self {
        match Self::ask() {
            Ok(radios) => radios,
            Err((what, why)) => {
                files.add_unread(&format!("{FAMILY}: {what}"), &why);
                Self::default()
            }
        }
    }

    fn ask() -> Result<Self, (&'static str, String)> {
        let opened = DumpSocket::open(Protocol::Generic);
        let mut socket = opened.map_err(|error| ("generic netlink", error.to_string()))?;
        let mut ask = |what, message: Message| {
            socket.ask(message).map_err(|errno| (what, errno.desc().to_owned()))
        };
        let families = ask("families", nl80211::ask_families())?;
        let mut families = families.iter().filter_map(|answer| nl80211::family(answer));
        // A kernel without Wi-Fi has no such family.
        let Some((_, family)) = families.find(|(name, _)| name == FAMILY) else {
            return Ok(Self::default());
        };
        let radios = ask("radios", nl80211::ask_radios(family))?;
        let radios = nl80211::radios(radios.iter().map(Vec::as_slice));
        let answers = ask("interfaces", nl80211::ask_interfaces(family))?;
        let mut interfaces = Vec::new();
        for about in answers.iter().filter_map(|answer| nl80211::interface(answer)) {
            let radio = radios.iter().find(|radio| radio.index == about.radio);
            let mut wifi = joined(&about, radio.cloned().unwrap_or_default());
            if matches!(about.kind.as_str(), "station" | "p2p-client") {
                // Drivers without it say EOPNOTSUPP.
                let answers = ask("power save", nl80211::ask_power_save(family, about.index));
                let answers = answers.unwrap_or_default();
                wifi.power_save = answers.iter().find_map(|answer| nl80211::power_save(answer));
            }
            // An interface that is down has none, some drivers say ENODEV or EOPNOTSUPP.
            let answers = ask("stations", nl80211::ask_stations(family, about.index));
            let answers = answers.unwrap_or_default();
            wifi.stations = answers.iter().filter_map(|one| nl80211::station(one)).collect();
            let beyond = wifi.stations.len().saturating_sub(STATIONS_MAX);
            wifi.stations_left_out = u32::try_from(beyond).unwrap_or(u32::MAX);
            wifi.stations.truncate(STATIONS_MAX);
            interfaces.push((about, wifi));
        }
        Ok(Self { interfaces })
    }

    /// Returns the facts about the interface with this index.
    pub fn interface(&self, index: u32) -> Option<Wifi> {
        let found = self.interfaces.iter().find(|(about, _)| about.index == index);
        found.map(|(_, wifi)| wifi.clone())
    }

    /// Returns index, name and facts of each interface.
    pub fn interfaces(&self) -> impl Iterator<Item = (u32, &str, &Wifi)> {
        self.interfaces.iter().map(|(about, wifi)| (about.index, about.name.as_str(), wifi))
    }
}

/// Joins an interface with the abilities of its radio.
fn joined(about: &RadioInterface, radio: Radio) -> Wifi {
    Wifi {
        radio: about.radio,
        radio_name: radio.name,
        kind: about.kind.clone(),
        ssid: about.ssid.clone(),
        frequency_mhz: about.frequency_mhz,
        width_mhz: about.width_mhz,
        power_dbm: about.power_dbm,
        radio_kinds: radio.kinds,
        txqs: radio.txqs,
        aql: radio.aql,
        airtime_fairness: radio.airtime_fairness,
        queue: radio.queue,
        txq_limit_packets: radio.txq_limit_packets,
        txq_memory_bytes: radio.txq_memory_bytes,
        ..Wifi::default()
    }
}

/// Returns the settings of a driver's module with which it sleeps regardless of nl80211's setting.
pub fn sleep_parameters(files: &Files, module: &str) -> Vec<SleepSetting> {
    let setting = |name: &&str| {
        let path = format!("/sys/module/{module}/parameters/{name}");
        files.read_if_there(&path).map(|value| SleepSetting { path, value })
    };
    SLEEP_PARAMETERS.iter().filter_map(setting).collect()
}

/// Adds the facts of mac80211's debugfs about the interface `name`, or the reason why there are
/// none.
pub fn read_debugfs(files: &Files, name: &str, wifi: &mut Wifi, unread: &mut Vec<Unread>) {
    let radio = format!("{DEBUGFS}/{}", wifi.radio_name);
    if let Err(why) = files.can_list(&radio) {
        let mounted = files.read_if_there("/proc/self/mounts").unwrap_or_default();
        let why = if mounted.split_whitespace().any(|word| word == "debugfs") {
            why
        } else {
            "debugfs is not mounted: `sudo mount -t debugfs none /sys/kernel/debug`".into()
        };
        unread.push(Unread { what: radio, why });
        return;
    }
    for name in SLEEP_FILES {
        let path = format!("{radio}/{name}");
        let value = files.read_if_there(&path);
        wifi.sleep_settings.extend(value.map(|value| SleepSetting { path, value }));
    }
    let mut read = |path: String| match files.try_read(&path) {
        Ok(text) => Some(text),
        Err(why) => {
            unread.push(Unread { what: path, why });
            None
        }
    };
    if let Some(limits) = read(format!("{radio}/aql_txq_limit")) {
        let enabled = read(format!("{radio}/aql_enable"));
        wifi.aql_limits = Some(AqlLimits {
            enabled: enabled.and_then(|text| text::switch(&text)),
            limits: text::aql_limits(&limits),
            // Not in every kernel.
            pending_us: files
                .read_if_there(&format!("{radio}/aql_pending"))
                .and_then(|text| text::aql_pending(&text)),
            threshold_us: files
                .read_if_there(&format!("{radio}/aql_threshold"))
                .and_then(|text| text.parse().ok()),
        });
    }
    for station in &mut wifi.stations {
        let folder = format!("{radio}/netdev:{name}/stations/{}", station.address);
        let aql = ["aql", "airtime"]
            .iter()
            .filter_map(|file| files.read_if_there(&format!("{folder}/{file}")))
            .map(|text| text::station_aql(&text))
            .find(|aql| !aql.is_empty());
        station.aql = aql.unwrap_or_default();
        // One file that is missing stands for all: the kernel has none of them then.
        let Some(status) = read(format!("{folder}/agg_status")) else { break };
        station.aggregation = text::aggregation(&status);
        let parameters = read(format!("{folder}/aqm")).and_then(|text| text::station_queue(&text));
        if let Some(parameters) = parameters {
            // nl80211's counts are from an earlier moment.
            station.queue = Some(parameters);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{AqlLimit, Station};
    use std::fs;
    use std::path::PathBuf;

    /// Makes a folder of this test with a debugfs of one radio.
    fn root(name: &str) -> PathBuf {
        let root =
            std::env::temp_dir().join(format!("lasthop-doctor-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("proc/self")).unwrap();
        fs::write(root.join("proc/self/mounts"), "debug /sys/kernel/debug debugfs rw 0 0\n")
            .unwrap();
        root
    }

    fn associated() -> Wifi {
        let station = Station { address: "02:00:00:00:00:00".into(), ..Station::default() };
        Wifi { radio_name: "phy1".into(), stations: vec![station], ..Wifi::default() }
    }

    #[test]
    fn debugfs_is_read_where_it_is() {
        let root = root("debugfs");
        let radio = root.join("sys/kernel/debug/ieee80211/phy1");
        let station = radio.join("netdev:wlan1/stations/02:00:00:00:00:00");
        fs::create_dir_all(&station).unwrap();
        let limits = "AC\tAQL limit low\tAQL limit high\nVO\t5000\t\t12000\n";
        fs::write(radio.join("aql_txq_limit"), limits).unwrap();
        fs::write(radio.join("aql_enable"), "1\n").unwrap();
        fs::write(
            radio.join("aql_pending"),
            "AC     AQL pending\nVO     0 us\nVI     0 us\nBE     24284 us\nBK     0 us\ntotal  24284 us\n",
        )
        .unwrap();
        fs::write(radio.join("aql_threshold"), "24000\n").unwrap();
        fs::create_dir(radio.join("mt76")).unwrap();
        fs::write(radio.join("mt76/runtime-pm"), "1\n").unwrap();
        let aql = "Q depth: VO: 0 us VI: 0 us BE: 24284 us BK: 0 us\n\
                   Q limit[low/high]: VO: 5000/12000 VI: 5000/12000 BE: 5000/12000 BK: 5000/12000\n";
        fs::write(station.join("aql"), aql).unwrap();
        fs::write(station.join("agg_status"), "00\t\t0\t0\t0\t\t1\t0x01\t002\n").unwrap();
        let (mut wifi, mut unread) = (associated(), Vec::new());
        read_debugfs(&Files::below(&root), "wlan1", &mut wifi, &mut unread);
        let limits = wifi.aql_limits.unwrap();
        let of_voice = AqlLimit { category: "VO".into(), low_us: 5_000, high_us: 12_000 };
        assert_eq!((limits.enabled, limits.limits), (Some(true), vec![of_voice]));
        assert_eq!((limits.pending_us, limits.threshold_us), (Some(24_284), Some(24_000)));
        let best_effort = &wifi.stations[0].aql[2];
        assert_eq!(best_effort.category, "BE");
        assert_eq!((best_effort.pending_us, best_effort.high_us), (24_284, 12_000));
        assert!(wifi.sleep_settings[0].path.ends_with("phy1/mt76/runtime-pm"));
        assert_eq!(wifi.sleep_settings[0].value, "1");
        let aggregation = wifi.stations[0].aggregation.clone().unwrap();
        assert_eq!((aggregation.tx_tids, aggregation.pending_packets), (vec![0], 2));
        // The one file that is missing is named.
        assert_eq!(unread.len(), 1);
        assert!(unread[0].what.ends_with("/aqm") && unread[0].why == "there is none", "{unread:?}");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn why_there_is_no_debugfs_is_said() {
        let root = root("without");
        let (mut wifi, mut unread) = (associated(), Vec::new());
        read_debugfs(&Files::below(&root), "wlan1", &mut wifi, &mut unread);
        assert_eq!(unread[0].why, "there is none");
        fs::write(root.join("proc/self/mounts"), "sysfs /sys sysfs rw 0 0\n").unwrap();
        read_debugfs(&Files::below(&root), "wlan1", &mut wifi, &mut unread);
        assert!(unread[1].why.contains("not mounted"), "{unread:?}");
        assert_eq!(wifi, associated());
        fs::remove_dir_all(root).unwrap();
    }
}
