//! Reason codes and status codes in words (IEEE 802.11-2020, tables 9-49 and 9-50).

/// Returns a reason code in words, or only its number if it has no name here.
pub fn reason(code: u16) -> String {
    let words = match code {
        1 => "unspecified",
        2 => "previous authentication no longer valid",
        3 => "sender is leaving the network",
        4 => "inactivity",
        5 => "too many stations at the access point",
        6 => "class 2 frame from a station that is not authenticated",
        7 => "class 3 frame from a station that is not associated",
        8 => "sender is leaving the network, disassociated",
        9 => "not authenticated",
        10 => "power capability not acceptable",
        11 => "channels not acceptable",
        12 => "BSS transition",
        13 => "invalid element",
        14 => "MIC failure",
        15 => "4-way handshake timeout",
        16 => "group key handshake timeout",
        17 => "element of the 4-way handshake differs from that of the association",
        18 => "invalid group cipher",
        19 => "invalid pairwise cipher",
        20 => "invalid AKM",
        21 => "version of the RSN element not supported",
        22 => "invalid RSN capabilities",
        23 => "IEEE 802.1X authentication failed",
        24 => "cipher rejected by policy",
        32 => "unspecified, QoS",
        33 => "too little bandwidth for QoS",
        34 => "poor channel: too many frames not acknowledged",
        35 => "transmission outside of its TXOP",
        36 => "station is leaving or resetting",
        37 => "mechanism no longer used",
        38 => "mechanism not set up",
        39 => "timeout of the peer",
        45 => "peer does not support the cipher",
        _ => return format!("reason {code}"),
    };
    format!("reason {code}, {words}")
}

/// Returns a status code in words, or only its number if it has no name here.
pub fn status(code: u16) -> String {
    let words = match code {
        1 => "unspecified failure",
        10 => "capabilities not supported",
        11 => "reassociation denied: no earlier association",
        12 => "denied for another reason",
        13 => "authentication algorithm not supported",
        14 => "authentication frame out of order",
        15 => "challenge failure: another key or password",
        16 => "timeout of the next frame",
        17 => "too many stations at the access point",
        18 => "station lacks basic rates",
        19 => "station lacks short preambles",
        22 => "spectrum management required",
        23 => "power capability not acceptable",
        24 => "channels not acceptable",
        25 => "station lacks short slots",
        27 => "station lacks 802.11n",
        30 => "refused for a while, try again later",
        31 => "management frame protection required",
        32 => "unspecified, QoS",
        33 => "too little bandwidth for another QoS station",
        34 => "poor channel",
        35 => "station lacks QoS",
        37 => "declined",
        38 => "invalid parameters",
        40 => "invalid element",
        41 => "invalid group cipher",
        42 => "invalid pairwise cipher",
        43 => "invalid AKM",
        44 => "version of the RSN element not supported",
        45 => "invalid RSN capabilities",
        46 => "cipher rejected by policy",
        53 => "invalid PMKID",
        77 => "group of SAE not supported",
        82 => "rejected, with another access point suggested",
        104 => "station lacks 802.11ac",
        _ => return format!("status {code}"),
    };
    format!("status {code}, {words}")
}

/// Largest status code that is not reserved. Frames with larger ones are damaged.
const STATUS_MAX: u16 = 199;

/// Whether a status code ends the attempt. Codes 76 and 77 ask an SAE station for another first
/// message; 126 and 127 say how its password element is derived.
pub(super) const fn is_refusal(code: u16) -> bool {
    matches!(code, 1..=STATUS_MAX) && !matches!(code, 76 | 77 | 126 | 127)
}
