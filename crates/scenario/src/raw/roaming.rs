//! `roaming` of a node: a station that moves from one access point of its network to another; and
//! `steering` of a cell, whose access point asks stations to move. The sets of a network have the
//! same `network` in `[[cell]]`.

use super::ScanKind;
use lasthop_config::choices;
use lasthop_config::scalar::{OrOff, Whole};
use lasthop_config::tables;
use lasthop_units::{Db, Dbm, Duration};
use lasthop_wifi::mac::roam::frame::Security;

/// Authentication and key management of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SecurityKind(pub Security);

choices! {
    SecurityKind {
        "open" => Self(Security::Open),
        "wpa2" => Self(Security::Psk),
        "wpa3" => Self(Security::Sae),
        "ft-wpa2" => Self(Security::FtPsk),
        "ft-wpa3" => Self(Security::FtSae),
    }
}

/// The product that decides when to scan and where to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PolicyKind {
    /// wpa_supplicant with bgscan "simple".
    Simple,
    /// The same with "learn".
    Learn,
    /// iwd.
    Iwd,
    /// A phone's firmware.
    Phone,
}

choices! {
    PolicyKind {
        "simple" => Self::Simple,
        "learn" => Self::Learn,
        "iwd" => Self::Iwd,
        "phone" => Self::Phone,
    }
}

tables! {
    /// Roaming of a station among the access points of its network ([[cell]] network). The rules are
    /// those of wpa_supplicant 2.10 over mac80211 of Linux 6.1, apart from policy.
    RawRoaming {
        /// Authentication of the network: none, a pre-shared key (WPA2), SAE (WPA3), or one of both
        /// with 802.11r's fast transitions. Keys take no time apart from sae_delay.
        value security: SecurityKind = "wpa2";
        /// Fast transitions begin at the old access point, by its wires (802.11r over the DS), which
        /// take no time.
        value over_ds: bool = false;
        /// When it scans and where it moves: "simple" and "learn" are bgscan of wpa_supplicant, the
        /// first of all channels (NetworkManager's choice), the second of the network's and one more.
        /// "iwd" is version 3 of iwd, "phone" the firmware of a Google Pixel as its driver sets it up;
        /// both scan the network's channels, and all of them now and then.
        value policy: PolicyKind = "simple";
        /// Level of its access point's beacons, averaged, below which it scans (often). An iPhone has
        /// -70dBm, a Mac -75dBm (Apple Platform Deployment).
        option threshold: Dbm = "-65dBm, -75dBm of a phone, with iwd -76dBm at 5 GHz and -70dBm at 2.4 GHz";
        /// Time between scans below the threshold; "off" scans only without an access point.
        option short_interval: OrOff<Duration> = "30s, 60s with iwd, 10s of a phone";
        /// Time between scans above it; of a phone: between scans of all channels.
        option long_interval: Duration = "300s, 120s of a phone";
        /// Of a phone: difference by which another access point must be stronger. An iPhone has 8dB, a
        /// Mac 12dB.
        option margin: Db = "10dB";
        /// Channels of a scan: those of the network first, and others on which nobody is. Europe has
        /// 32 at 2.4 and 5 GHz.
        value channels: Whole<1, 1000> = 26;
        /// Listening for beacons, or sending Probe Requests too.
        value scan: ScanKind = "active";
        /// Active scans: channels, the last ones, on which the station only listens (radar).
        value passive_channels: Whole<0, 1000> = 0;
        /// Asks the access point for the others of its network after each join (802.11k), and scans only
        /// their channels; all again if these have nothing better while the signal is below the
        /// threshold, as iwd does. wpa_supplicant asks on demand only.
        value neighbor_report: bool = false;
        /// Follows requests of access points to move (802.11v, [[cell]] steering). "false" is a station
        /// that does not understand them.
        value transition_requests: bool = true;
        /// Time without data from the begin of leaving an access point, 2 ms after a scan, to the
        /// first frame to the next one. The defaults of this and the following times are medians of
        /// Linux 6.1 with wpa_supplicant and hostapd 2.10 in a virtual machine of 1 000 MIPS.
        option leave_delay: Duration = "22ms open, 34ms with wpa2 and ft-wpa2, 27ms with over_ds, 58ms with wpa3, and with ft-wpa3, which was not measured";
        /// Time in which the station answers a frame of a join.
        value delay: Duration = "2ms";
        /// Time in which an access point does.
        value access_point_delay: Duration = "400us";
        /// Time to compute a commit message of SAE: the station's before it leaves, the access point's
        /// before it answers.
        value sae_delay: Duration = "17ms";
        /// Time for which a key of SAE is used again: the station then joins without SAE an access point
        /// where it was before (PMKSA caching). "off" does SAE each time.
        value key_lifetime: OrOff<Duration> = "43200s";
        /// Access points of the network share these keys (opportunistic key caching): SAE comes once.
        value shared_keys: bool = false;
    }

    /// Requests of the set's access point to stations with roaming to move to another set of the
    /// network (BSS transition management, 802.11v). Once a second it looks at them by the rules of
    /// OpenWrt's usteer, with its defaults; request, answer and removal are hostapd's and
    /// wpa_supplicant's. A station refuses if it hears no other access point loud enough.
    RawSteering {
        /// Level of a station at the access point below which, for more than five looks, it is asked
        /// to go (usteer: min_snr).
        value signal: OrOff<Dbm> = "off";
        /// Lead in stations over the set with the fewest from which the one with the lowest level is
        /// asked to go there (usteer: load_balancing_threshold).
        value stations: OrOff<Whole<1, 2007>> = 5;
        /// Time from one request to a station to the next (usteer: roam_trigger_interval).
        value interval: Duration = "60s";
        /// The request announces a removal, and a station that has not gone after 100 beacon intervals
        /// is disassociated (usteer: roam_kick_delay).
        value insist: bool = false;
    }
}
