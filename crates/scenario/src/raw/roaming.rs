//! `roaming` of a node: a station that moves from one access point of its network to another. The
//! sets of a network have the same `network` in `[[cell]]`.

use super::ScanKind;
use lasthop_config::choices;
use lasthop_config::scalar::{OrOff, Whole};
use lasthop_config::tables;
use lasthop_units::{Dbm, Duration};
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

tables! {
    /// Roaming of a station among the access points of its network ([[cell]] network). The rules are
    /// those of wpa_supplicant 2.10 with bgscan = "simple" over mac80211 of Linux 6.1, the intervals
    /// NetworkManager's for a network with several access points.
    RawRoaming {
        /// Authentication of the network: none, a pre-shared key (WPA2), SAE (WPA3), or one of both
        /// with 802.11r's fast transitions. Keys take no time apart from sae_delay.
        value security: SecurityKind = "wpa2";
        /// Fast transitions begin at the old access point, by its wires (802.11r over the DS), which
        /// take no time.
        value over_ds: bool = false;
        /// Level of its access point's beacons, averaged, below which scans are frequent.
        value threshold: Dbm = "-65dBm";
        /// Time between scans below the threshold; "off" scans only without an access point.
        value short_interval: OrOff<Duration> = "30s";
        /// Time between scans above it.
        value long_interval: Duration = "300s";
        /// Channels of a scan: those of the network first, and others on which nobody is. Europe has
        /// 32 at 2.4 and 5 GHz.
        value channels: Whole<1, 1000> = 26;
        /// Listening for beacons, or sending Probe Requests too.
        value scan: ScanKind = "active";
        /// Active scans: channels, the last ones, on which the station only listens (radar).
        value passive_channels: Whole<0, 1000> = 0;
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
    }
}
