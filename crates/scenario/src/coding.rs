//! How a coded link codes: the keys that `[[franc]]` of a scenario and `franc.toml` of a node
//! have in common, with one documentation and one default each.
//!
//! [`RawCoding`] is part of both tables. What it takes from a file goes into a node's
//! [`Config`]; who the nodes are, and what carries their datagrams, is for the two files to
//! say. Lengths are bytes. Values of the paper's mode are those of Hundeboll et al., section
//! IV-A. Left out: losses, which a scenario gives by pairs of nodes.

use crate::error::{Place, Problems};
use crate::scalar::{At, OrOff, Whole, choices, positive};
use crate::table::tables;
use lasthop_franc::Config;
use lasthop_franc::backlog::BacklogConfig;
use lasthop_franc::config::{AckRules, Mode, PaceConfig, PaperRules, Reading, Small};
use lasthop_rlnc::Field;
use lasthop_units::{Bitrate, Bytes, Duration, Probability};

/// The paper's code (section IV-A).
const PAPER_BLOCK_SYMBOLS: u16 = 150;
const PAPER_SYMBOL_BYTES: u16 = 1_450;
const PAPER_OVERSHOOT: f64 = 0.05;
/// Blocks in flight of the other mode.
const STREAM_BLOCKS: u8 = 128;
/// A backlog holds a packet of any length.
const BACKLOG_BYTES_MIN: u32 = 65_536;

tables! {
    /// How a coded link codes.
    RawCoding {
        /// "stream" is lasthop's way: several blocks in flight, symbols first as they
        /// are, repair as loss and rank ask for. "paper" is the paper's: one block at
        /// a time, budgets. "plain", in scenarios only, is what the paper compares with: every
        /// packet is passed on in a frame of its own, and lost where [[franc.loss]] says so.
        value mode: CodingMode = "stream";
        /// The field of the code's coefficients.
        option field: Field = "\"gf2\" in the paper's mode, as there; else \"gf256\"";
        /// Symbols of a block.
        option block_symbols: Whole<1, 1024> = "150 in the paper's mode, as there; else 64";
        /// Bytes of a symbol; a packet may be 21 shorter.
        option symbol_bytes: Whole<89, 65_535> = "the longest that fits into a datagram; at most 1450 in the paper's mode, as there";
        /// How long an end waits for an acknowledgement: beyond a round trip, and
        /// altogether in the paper's mode. 20 ms is the paper's.
        value encoder_timeout: Duration = "20ms";
        /// Short packets that wait together share a symbol, or each has one alone.
        value small: Small = "share";
        /// Stream: blocks in flight at most. A lossy path needs those of five round trips.
        option blocks_max: Whole<1, 255> = "128";
        /// Stream: find the rate by delay, so that datagrams wait no longer than this in the
        /// queues of the path; "off" where the slowest part of the path is the node's own
        /// interface, which says when it takes more.
        option pace: OrOff<Duration> = "\"5ms\" at a node of its own; \"off\" in a scenario";
        /// Stream, with pace: never send faster than this.
        value rate_max: OrOff<Bitrate> = "off";
        /// Paper: redundancy beyond what the losses ask for.
        option overshoot: Probability = "5%, as in the paper";
        /// Paper: send each symbol as it is before combinations of all.
        option systematic: bool = "false, as in the paper";
        /// Paper: when an end acknowledges. "paper": whenever all that it received is decoded.
        /// The authors' programs acknowledge a block when it is complete, and what is
        /// decoded of it only after redundant packets: that of January 2014 (netmix 902fc60)
        /// from the third in a row on, that of March (94897df) at the first of every four.
        option acknowledgements: AckRules = "\"paper\"";
        /// Paper: how an end reads packets that wait. "packet": what each adds to the budget is
        /// sent before the next is read, as section II.D has it and the authors' programs do.
        /// "burst": as many as the block has room for at once, so that combinations are of all
        /// of them.
        option reading: Reading = "\"packet\"";
        /// Paper: packets that a timeout asks for. The authors' program of March 2014 sends 5.
        option timeout_packets: Whole<1, 255> = "what a symbol adds to the budget, as in the paper";
        /// Packets that wait at an end to be coded, at most. 1000 is Linux' txqueuelen.
        value backlog_packets: Whole<1, 1_000_000> = 1000;
        /// Bytes that wait at an end to be coded, at most.
        value backlog_bytes: Bytes = "4MiB";
        /// Standing delay that is accepted while packets wait (RFC 8289), with a queue for each
        /// flow; one and a half times the link's latency if that is more, for losses make
        /// answers late. "off" is one queue that drops what arrives when it is full.
        option backlog_target: OrOff<Duration> = "\"5ms\" in stream mode; \"off\" in the others, as in the paper";
        /// Time in which a burst may drain (RFC 8289).
        value backlog_interval: Duration = "100ms";
        /// Mark packets that can be marked (RFC 3168) rather than drop them while they wait.
        value ecn: bool = true;
    }
}

/// How packets are coded, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodingMode {
    Stream,
    Paper,
    Plain,
}

choices! {
    CodingMode {
        "stream" => CodingMode::Stream,
        "paper" => CodingMode::Paper,
        "plain" => CodingMode::Plain,
    }
    Field { "gf2" => Field::Gf2, "gf16" => Field::Gf16, "gf256" => Field::Gf256 }
    Small { "share" => Small::Share, "alone" => Small::Alone }
    AckRules {
        "paper" => AckRules::Text,
        "netmix-2014-01" => AckRules::January,
        "netmix-2014-03" => AckRules::March,
    }
    Reading { "packet" => Reading::Packet, "burst" => Reading::Burst }
}

/// How long a link's symbols are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SymbolBytes {
    /// As a file says, whether they fit or not.
    Exactly(u16),
    /// The longest that fit, up to this.
    AtMost(u16),
}

impl SymbolBytes {
    /// The length where the longest that fits is `longest`.
    pub fn within(self, longest: u16) -> u16 {
        match self {
            Self::Exactly(bytes) => bytes,
            Self::AtMost(most) => longest.min(most),
        }
    }
}

impl RawCoding {
    /// The keys in a node's configuration, but for the length of symbols
    /// ([`RawCoding::symbol_bytes`]). `pace` is that of a file that says nothing.
    pub fn configure(&self, config: &mut Config, pace: Option<Duration>, problems: &mut Problems) {
        let is_paper = self.mode.value == CodingMode::Paper;
        let usual = match is_paper {
            true => (Field::Gf2, PAPER_BLOCK_SYMBOLS),
            false => (Field::Gf256, config.block_symbols),
        };
        config.field = value(&self.field).unwrap_or(usual.0);
        config.block_symbols = value(&self.block_symbols).map_or(usual.1, Whole::get);
        config.mode = match is_paper {
            true => self.paper(),
            false => Mode::Stream {
                blocks_max: value(&self.blocks_max).map_or(STREAM_BLOCKS, Whole::get),
                pace: value(&self.pace).map_or(pace, |pace| pace.0).map(|queue_target| {
                    PaceConfig { queue_target, rate_max: self.rate_max.value.0 }
                }),
            },
        };
        config.encoder_timeout = self.encoder_timeout.value;
        config.small = self.small.value;
        let usual = BacklogConfig::default().target.filter(|_| !is_paper);
        config.backlog = BacklogConfig {
            packets_max: self.backlog_packets.value.get(),
            bytes_max: self.backlog_bytes(problems),
            target: value(&self.backlog_target).map_or(usual, |target| target.0),
            interval: self.backlog_interval.value,
            ecn: self.ecn.value,
        };
    }

    /// How long symbols are.
    pub fn symbol_bytes(&self) -> SymbolBytes {
        match (value(&self.symbol_bytes), self.mode.value) {
            (Some(bytes), _) => SymbolBytes::Exactly(bytes.get()),
            (None, CodingMode::Paper) => SymbolBytes::AtMost(PAPER_SYMBOL_BYTES),
            (None, CodingMode::Stream | CodingMode::Plain) => SymbolBytes::AtMost(u16::MAX),
        }
    }

    fn paper(&self) -> Mode {
        let overshoot = value(&self.overshoot).map_or(PAPER_OVERSHOOT, Probability::as_f64);
        let rules = PaperRules {
            acknowledge: value(&self.acknowledgements).unwrap_or_default(),
            read: value(&self.reading).unwrap_or_default(),
            timeout_packets: value(&self.timeout_packets).map(Whole::get),
        };
        let systematic = value(&self.systematic).unwrap_or_default();
        Mode::Paper { overshoot: 1.0 + overshoot, systematic, rules }
    }

    fn backlog_bytes(&self, problems: &mut Problems) -> u32 {
        let At { value, place } = &self.backlog_bytes;
        match u32::try_from(value.as_u64()) {
            Ok(bytes) if bytes >= BACKLOG_BYTES_MIN => bytes,
            _ => {
                problems.push(place, "expected 64KiB to 4GiB");
                BACKLOG_BYTES_MIN
            }
        }
    }

    /// Notes keys that belong to another mode, times that are zero, and a bound of the rate
    /// without a pace; `is_paced` if there is one when the file says nothing.
    pub fn check(&self, is_paced: bool, problems: &mut Problems) {
        use CodingMode::{Paper, Stream};
        let only: [(Option<&Place>, &[CodingMode]); 11] = [
            (place(&self.field), &[Stream, Paper]),
            (place(&self.block_symbols), &[Stream, Paper]),
            (place(&self.symbol_bytes), &[Stream, Paper]),
            (place(&self.backlog_target), &[Stream, Paper]),
            (place(&self.blocks_max), &[Stream]),
            (place(&self.pace), &[Stream]),
            (place(&self.overshoot), &[Paper]),
            (place(&self.systematic), &[Paper]),
            (place(&self.acknowledgements), &[Paper]),
            (place(&self.reading), &[Paper]),
            (place(&self.timeout_packets), &[Paper]),
        ];
        for (place, modes) in only {
            let Some(place) = place else { continue };
            let text = match modes {
                [Stream] => "\"stream\"",
                [Paper] => "\"paper\"",
                _ => "\"stream\" and \"paper\"",
            };
            if !modes.contains(&self.mode.value) {
                problems.push(place, format!("this key is for mode = {text} only"));
            }
        }
        for time in [&self.pace, &self.backlog_target].into_iter().flatten() {
            if time.value.0.is_some_and(|target| target.is_zero()) {
                problems.push(&time.place, "expected more than zero, or \"off\"");
            }
        }
        positive(&self.encoder_timeout, problems);
        let is_paced = value(&self.pace).map_or(is_paced, |pace| pace.0.is_some());
        if self.rate_max.value.0.is_some() && !is_paced {
            let message = "this bounds the rate of a pace; give pace a delay";
            problems.push(&self.rate_max.place, message);
        }
    }
}

fn value<T: Copy>(key: &Option<At<T>>) -> Option<T> {
    key.as_ref().map(|at| at.value)
}

fn place<T>(key: &Option<At<T>>) -> Option<&Place> {
    key.as_ref().map(|at| &at.place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_read() {
        assert_eq!(all().len(), 1);
    }
}
