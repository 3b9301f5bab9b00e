//! Results for protected frames, with credentials.

use crate::analysis::Analysis;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Results for protected frames. Each frame is in one number: `opened`, `opened_cut`, or one under
/// `closed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DecryptionSummary {
    /// Handshakes that led to a key, including rekeying.
    pub handshakes: u64,
    /// Frames that were opened and authenticated by their MIC.
    pub opened: u64,
    /// Frames that were opened, and whose MIC a snap length has cut off.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub opened_cut: u64,
    /// Frames that were not opened.
    pub closed: ClosedSummary,
    /// Access points with stations whose handshakes no passphrase fits, and the number of these
    /// stations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub wrong_passphrase: BTreeMap<String, u64>,
    /// Handshake messages that were not followed, because the limit on stations was reached.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub messages_left_out: u64,
    /// Requests for a key of a network name beyond the limit on computed keys, each as often as a
    /// handshake made it.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub names_left_out: u64,
}

/// Frames that were not opened, by reason. A reason without frames is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClosedSummary {
    /// Frames between stations of which no complete handshake was captured before.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub no_handshake: u64,
    /// Frames whose handshake no passphrase fits.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub wrong_passphrase: u64,
    /// Frames of a network whose name was not captured, where the passphrase is for all networks.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub ssid_unknown: u64,
    /// Frames by the AKM or cipher that lasthop does not open: `SAE`, `IEEE 802.1X`, `OWE`, `fast
    /// transitions`, `another AKM`, `WPA`, `TKIP`, `WEP`, `GCMP`, `CCMP-256`, `another cipher`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub unsupported: BTreeMap<String, u64>,
    /// Frames for which a key is known but does not fit: a later handshake was missed, or the frame
    /// is damaged.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub mic_wrong: u64,
    /// Frames that a snap length has cut too short to check a key.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub cut: u64,
    /// Management frames, and data frames without a body.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub not_data: u64,
    /// Frames with a wrong check sequence.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub bad_fcs: u64,
}

impl DecryptionSummary {
    pub(super) fn new(analysis: &Analysis) -> Option<Self> {
        let decryption = analysis.decryption()?;
        let counts = decryption.counts();
        let named = |(name, frames): (&&str, &u64)| ((*name).to_owned(), *frames);
        Some(Self {
            handshakes: counts.handshakes,
            opened: counts.opened,
            opened_cut: counts.opened_cut,
            closed: ClosedSummary {
                no_handshake: counts.no_handshake,
                wrong_passphrase: counts.wrong_passphrase,
                ssid_unknown: counts.ssid_unknown,
                unsupported: counts.unsupported.iter().map(named).collect(),
                mic_wrong: counts.mic_wrong,
                cut: counts.cut,
                not_data: counts.not_data,
                bad_fcs: counts.bad_fcs,
            },
            wrong_passphrase: decryption
                .refused()
                .into_iter()
                .map(|(access_point, stations)| (access_point.to_string(), stations))
                .collect(),
            messages_left_out: counts.left_out,
            names_left_out: decryption.pmks_left_out(),
        })
    }

    /// Sums the frames that were opened.
    pub const fn opened(&self) -> u64 {
        self.opened + self.opened_cut
    }
}
