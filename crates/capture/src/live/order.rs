//! Order of stations in a list.

use super::{Row, Traffic};

/// Quantity by which stations are ordered. The greatest comes first; of addresses, the smallest.
/// Stations without the quantity come last, and addresses decide between equal ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Share of the time on the air in the last interval.
    #[default]
    Airtime,
    /// Share of the time on the air since the start.
    AirtimeMean,
    /// Throughput in the last interval.
    Throughput,
    /// Share of retries in the last interval.
    Retries,
    /// Level at the monitor.
    Signal,
    /// Name of the network, with the access point first.
    Network,
    /// Address of the station.
    Address,
}

impl Order {
    /// All orders, as a key cycles through them.
    pub const ALL: [Self; 7] = [
        Self::Airtime,
        Self::AirtimeMean,
        Self::Throughput,
        Self::Retries,
        Self::Signal,
        Self::Network,
        Self::Address,
    ];

    /// Returns the next order; after the last one, the first.
    #[must_use]
    pub fn next(self) -> Self {
        let index = Self::ALL.iter().position(|order| *order == self).unwrap_or_default();
        Self::ALL[(index + 1) % Self::ALL.len()]
    }

    /// Returns the common name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Airtime => "airtime of the last second",
            Self::AirtimeMean => "airtime since the start",
            Self::Throughput => "throughput",
            Self::Retries => "retries",
            Self::Signal => "signal",
            Self::Network => "network",
            Self::Address => "address",
        }
    }

    /// Sorts stations by the traffic that `direction` selects.
    pub fn sort(self, stations: &mut [Row], direction: fn(&Row) -> &Traffic) {
        let key = |row: &Row| match self {
            Self::Airtime => direction(row).airtime,
            Self::AirtimeMean => direction(row).airtime_mean,
            Self::Throughput => direction(row).throughput_mbps,
            Self::Retries => direction(row).retries.unwrap_or(-1.0),
            Self::Signal => row.signal_dbm.unwrap_or(f64::NEG_INFINITY),
            Self::Network | Self::Address => 0.0,
        };
        let group = |row: &Row| match self {
            Self::Network => (row.network.clone(), !row.access_point),
            _ => (String::new(), false),
        };
        stations.sort_by(|a, b| {
            let keys = key(b).total_cmp(&key(a));
            keys.then_with(|| group(a).cmp(&group(b))).then(a.address.cmp(&b.address))
        });
    }
}
