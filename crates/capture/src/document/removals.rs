//! Deauthentications and disassociations of a network.

use crate::air::joining::{Removals, words};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Deauthentications and disassociations of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RemovalsSummary {
    /// Number of captured Deauthentication frames.
    pub deauthentications: u64,
    /// Number of captured Disassociation frames.
    pub disassociations: u64,
    /// Those from the access point's address to one station.
    pub by_access_point: u64,
    /// Those from the access point's address to all.
    pub to_all: u64,
    /// Those from the addresses of stations.
    pub by_stations: u64,
    /// Largest number in one second, without MAC retransmissions.
    pub most_a_second: u64,
    /// Numbers by reason, without MAC retransmissions.
    pub reasons: BTreeMap<String, u64>,
}

impl RemovalsSummary {
    pub(super) fn new(removals: &Removals) -> Self {
        let (by_access_point, to_all) = removals.by_access_point;
        let name = |code: &Option<u16>| code.map_or_else(|| "encrypted".to_owned(), words::reason);
        Self {
            deauthentications: removals.all - removals.disassociations,
            disassociations: removals.disassociations,
            by_access_point,
            to_all,
            by_stations: removals.all - by_access_point - to_all,
            most_a_second: removals.rate.most_a_second,
            reasons: removals.reasons.iter().map(|(code, n)| (name(code), *n)).collect(),
        }
    }
}
