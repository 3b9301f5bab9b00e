//! Plausibility of a driver's counters of a station. mac80211 passes on the drivers' reports: some
//! count down, some report one counter under two names, some count in other units than packets.
//! Pure functions only. An implausible number counts as unknown, and no share is made of it.

use crate::document::Station;

/// Value from which a 32-bit counter is a negative number: more was subtracted than added.
const NEGATIVE_MIN: u32 = 1 << 31;
/// Share of packets from which equal numbers of retries and of packets given up are one counter:
/// with up to seven retries for each packet given up, the two differ.
const EQUAL_SHARE: f64 = 0.01;
/// Signals in dBm that a radio can receive. The noise of 20 MHz alone has -101 dBm, and drivers
/// report 0 and -128 for unknown ones.
const SIGNAL_DBM: std::ops::Range<i32> = -110..0;

/// A share of the packets to a station.
#[derive(Clone, Debug, PartialEq)]
pub enum Share {
    /// The driver does not report the share, or no packet was sent.
    Absent,
    /// The share, from plausible counters.
    Known(f64),
    /// The driver reports implausible counters, for this reason.
    Unknown(String),
}

/// Returns the number of retries for each packet to a station.
pub fn retries(station: &Station) -> Share {
    share(station, station.tx_retries)
}

/// Returns the share of packets to a station that were given up.
pub fn failures(station: &Station) -> Share {
    share(station, station.tx_failed)
}

/// Returns the number of times that several beacons in sequence were missed.
pub fn beacon_losses(station: &Station) -> Option<u32> {
    station.beacon_losses.filter(|losses| *losses < NEGATIVE_MIN)
}

/// Returns a number of microseconds, unless it is negative.
pub fn microseconds(counter: u32) -> Option<u32> {
    Some(counter).filter(|us| *us < NEGATIVE_MIN)
}

/// Returns the signal of a station: its mean if plausible, else that of the last frame.
pub fn signal_dbm(station: &Station) -> Option<i32> {
    let plausible = |dbm: &i32| SIGNAL_DBM.contains(dbm);
    station.signal_mean_dbm.filter(plausible).or(station.signal_dbm.filter(plausible))
}

fn share(station: &Station, counter: Option<u32>) -> Share {
    let (Some(counter), Some(packets)) = (counter, station.tx_packets) else {
        return Share::Absent;
    };
    if counter >= NEGATIVE_MIN {
        let signed = counter.cast_signed();
        return Share::Unknown(format!("{counter} is {signed} as a signed number"));
    }
    // A number of packets may be that high, after weeks.
    if counter > packets {
        return Share::Unknown(format!("{counter} is more than the {packets} packets"));
    }
    // A few of each may be equal by chance.
    let is_much = f64::from(counter) > EQUAL_SHARE * f64::from(packets);
    if is_much && station.tx_retries == station.tx_failed {
        return Share::Unknown(format!("retries and packets given up are both {counter}"));
    }
    match packets {
        0 => Share::Absent,
        packets => Share::Known(f64::from(counter) / f64::from(packets)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn station(packets: u32, retries: u32, failed: u32) -> Station {
        Station {
            tx_packets: Some(packets),
            tx_retries: Some(retries),
            tx_failed: Some(failed),
            ..Station::default()
        }
    }

    #[test]
    fn a_number_that_cannot_be_is_not_known() {
        let unknown = |share: Share| matches!(share, Share::Unknown(_));
        // As drivers have reported them: -12 679 retries; the same number twice; more
        // retries than packets.
        assert!(unknown(retries(&station(1_000_000, 4_294_954_617, 3))));
        assert_eq!(failures(&station(1_000_000, 4_294_954_617, 3)), Share::Known(3e-6));
        let twice = station(10_000, 812, 812);
        assert!(unknown(retries(&twice)) && unknown(failures(&twice)));
        assert!(unknown(retries(&station(1_000, 1_001, 0))));
        assert_eq!(retries(&station(1_000, 1_000, 0)), Share::Known(1.0));
        assert_eq!(retries(&station(10_000, 2, 2)), Share::Known(2e-4));
        // No retries and no packets given up.
        assert_eq!(retries(&station(1_000, 0, 0)), Share::Known(0.0));
        assert_eq!(retries(&station(0, 0, 0)), Share::Absent);
        assert_eq!(retries(&Station::default()), Share::Absent);
    }

    #[test]
    fn a_signal_that_cannot_be_is_none() {
        let with = |mean, last| {
            signal_dbm(&Station { signal_mean_dbm: mean, signal_dbm: last, ..Station::default() })
        };
        assert_eq!(with(Some(-60), Some(-62)), Some(-60));
        assert_eq!(with(Some(0), Some(-62)), Some(-62));
        assert_eq!(with(Some(-128), None), None);
        assert_eq!(microseconds(4_294_967_000), None);
        assert_eq!(microseconds(24_284), Some(24_284));
    }
}
