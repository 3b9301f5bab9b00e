//! `channel_switch` of `[[cell]]`: an access point that moves to another channel during the run.

use lasthop_config::scalar::Whole;
use lasthop_config::tables;
use lasthop_units::Duration;

tables! {
    /// Moves of the access point to another channel, by a [[change]] of `channel` or `radar`, as
    /// hostapd over mac80211 makes them. Stations that hear an announcement follow; others lose their
    /// access point and search, even without `roaming`. Nodes of the set neither scan by themselves
    /// nor save power.
    RawChannelSwitch {
        /// Beacon times from the change to the move (hostapd's cs_count): with 5 four beacons announce
        /// 4 to 1. 0 and 1 move at once, without announcement.
        value count: Whole<0, 255> = 5;
        /// No data until the move (Channel Switch Mode 1), apart from frames in driver and hardware.
        /// Otherwise Linux' stations, which leave one beacon time early, miss frames.
        value quiet: bool = false;
        /// Whether there is a radar on `channel`, one of 52 to 144 at 5 GHz: the access point hears
        /// it, and moves to `radar_channel` with `quiet`. Once there is none it returns.
        value radar: bool = false;
        /// Channel to which the access point flees from radar.
        value radar_channel: Whole<1, 233> = 36;
        /// Time without any frame on a new channel of 52 to 144, in which the access point listens
        /// for radar.
        option check: Duration = "1min; 10min if the channel overlaps 5600 to 5650 MHz (120 to 128), as ETSI requires";
        /// Whether an access point that comes back after `failed` listens so, too.
        value check_after_failure: bool = false;
    }
}
