//! What became of protected frames, with credentials.

use super::is_zero;
use crate::analysis::Analysis;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What became of protected frames. Each of them is in one of the numbers: `opened`, `opened_cut`
/// and those under `closed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DecryptionSummary {
    /// Handshakes that led to a key, rekeying included.
    pub handshakes: u64,
    /// Frames that were opened, authenticated by their MIC.
    pub opened: u64,
    /// Frames that were opened, of which a snap length has cut off the MIC.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub opened_cut: u64,
    /// Frames that were not opened.
    pub closed: ClosedSummary,
    /// Access points with stations whose handshakes no passphrase fits, and the number of these
    /// stations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub wrong_passphrase: BTreeMap<String, u64>,
    /// Handshake messages that were not followed, because too many stations were heard.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub messages_left_out: u64,
    /// Names of networks for which no key was computed, because there are too many, each as often
    /// as a handshake asked for it.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub names_left_out: u64,
}

/// Frames that were not opened, by the reason; 0 is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClosedSummary {
    /// No handshake between the two was heard before, or not enough of it.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub no_handshake: u64,
    /// No passphrase fits the handshake.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub wrong_passphrase: u64,
    /// The passphrase is for all networks, and the name of this one was not heard.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub ssid_unknown: u64,
    /// By an AKM or a cipher that is not read: `SAE`, `IEEE 802.1X`, `OWE`, `fast transitions`,
    /// `another AKM`, `WPA`, `TKIP`, `WEP`, `GCMP`, `CCMP-256`, `another cipher`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub unsupported: BTreeMap<String, u64>,
    /// A key is known, but does not fit: a later handshake was missed, or the frame is damaged.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub mic_wrong: u64,
    /// A snap length has left so little that it cannot be seen whether a key fits.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub cut: u64,
    /// Management frames, and data frames without a body.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub not_data: u64,
    /// The frame check sequence was wrong.
    #[serde(skip_serializing_if = "is_zero", default)]
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

    /// Frames that were opened.
    pub const fn opened(&self) -> u64 {
        self.opened + self.opened_cut
    }
}
