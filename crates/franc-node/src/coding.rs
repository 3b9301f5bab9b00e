//! Coding of a link: the keys that `[[franc]]` of a scenario and `franc.toml` of a node share, with
//! one documentation and one default each.
//!
//! [`RawCoding`] is part of both tables; its values go into a node's [`Config`]. Nodes and the
//! transport of datagrams are keys of the two files. Lengths are bytes. Values of the paper's mode
//! are those of Hundeboll et al., section IV-A. Left out: losses, which a scenario gives by pairs
//! of nodes.

use crate::Word;
use lasthop_config::error::{Place, Problems};
use lasthop_config::scalar::{At, OrOff, Scalar, Whole, positive};
use lasthop_config::tree::Value;
use lasthop_config::{choices, tables};
use lasthop_franc::Config;
use lasthop_franc::backlog::BacklogConfig;
use lasthop_franc::config::{
    AckRules, Helping, Mode, PaceConfig, PaperRules, Reading, Small, Spending, WaitStart,
};
use lasthop_rlnc::Field;
use lasthop_units::{Bitrate, Bytes, Duration, Probability};
use schemars::{Schema, json_schema};

/// The paper's code (section IV-A).
const PAPER_BLOCK_SYMBOLS: u16 = 150;
const PAPER_SYMBOL_BYTES: u16 = 1_450;
const PAPER_OVERSHOOT: f64 = 0.05;
/// Blocks in flight in stream mode.
const STREAM_BLOCKS: u8 = 128;
/// Minimum size of a backlog, for a packet of any length.
const BACKLOG_BYTES_MIN: u32 = 65_536;

tables! {
    /// Coding of a link.
    RawCoding {
        /// "stream": several blocks in flight, plain symbols first, repair as loss and rank
        /// require. "paper": one block at a time, with budgets. "plain" (scenarios only), the
        /// comparison of the paper: each packet in a separate frame, lost as [[franc.loss]] says.
        value mode: CodingMode = "stream";
        /// Finite field of the code's coefficients.
        option field: Word<Field> = "\"gf2\" in the paper's mode; else \"gf256\"";
        /// Symbols of a block.
        option block_symbols: Whole<1, 1024> = "150 in the paper's mode; else 64";
        /// Bytes of a symbol; the longest packet has 21 less.
        option symbol_bytes: Whole<89, 65_535> = "the longest that fits into a datagram; at most 1450 in the paper's mode";
        /// Wait for an acknowledgement beyond a round trip; in the paper's mode the whole wait (20
        /// ms there).
        value encoder_timeout: Duration = "20ms";
        /// Short waiting packets share a symbol, or each has one alone.
        value small: Word<Small> = "share";
        /// Stream: most blocks in flight. A lossy path needs those of five round trips.
        option blocks_max: Whole<1, 255> = "128";
        /// Stream: longest wait in the queues of the path, from which the rate is found. "off" if
        /// the slowest part is the node's own interface, which reports when it accepts more.
        option pace: OrOff<Duration> = "\"5ms\" in franc.toml and with two links; else \"off\" in a scenario";
        /// Stream, with pace: highest sending rate.
        value rate_max: OrOff<Bitrate> = "off";
        /// Paper: redundancy in addition to that for the losses.
        option overshoot: Probability = "5%, as in the paper";
        /// Paper: whose rules the keys from `systematic` to `timeout_packets` follow by default. The
        /// text leaves some open and the authors' programs differ from it (their public repository
        /// hundeboll/netmix): "paper" is the text, "netmix-2014-01" the program of 16 January 2014
        /// (commit 902fc60), "netmix-2014-03" that of 20 March 2014 (94897df).
        option rules: Rules = "\"netmix-2014-03\"";
        /// Paper: send each symbol plain before combinations of all. The text does not say; both
        /// programs do, because the encoder of their library Kodo does by default, and only their
        /// helper turns it off.
        option systematic: bool = "true as in the programs; false if rules = \"paper\"";
        /// Paper: when an end acknowledges. "paper": whenever every received packet is decoded
        /// (section II.C). The authors' programs acknowledge complete blocks, and decoded packets
        /// only after redundant ones: "netmix-2014-01" from the third in a row on, "netmix-2014-03"
        /// at the first of every four.
        option acknowledgements: Word<AckRules> = "as `rules`";
        /// Paper: how an end reads waiting packets. "packet": what each grants at once is sent
        /// before the next is read (section II.D, and the loops of both programs, which read until
        /// the block is full, so in bursts as section V.C says). "burst": as many as fit into the
        /// block, so that combinations cover all of them.
        option reading: Word<Reading> = "\"packet\"";
        /// Paper: when an end sends what symbols grant. "paper": the credit of each symbol after it
        /// (section II.D), and the rest of PlayNCool's budget, in whole packets, when the block is
        /// full. "netmix-2014-01": the credit of each symbol after it, and no more.
        /// "netmix-2014-03": one packet after each symbol, and the rest of the credits when the
        /// block is full.
        option spending: Word<Spending> = "as `rules`";
        /// Paper: what a helper sends. "paper": a credit for each packet above the threshold, up to
        /// its budget (section II.D). "netmix", as both programs: at least one for each from the
        /// threshold on, none after more than the budget; the first packet of a block only
        /// announces it.
        option helping: Word<Helping> = "\"paper\" if rules = \"paper\"; else \"netmix\"";
        /// Paper: start of the wait for an acknowledgement. "paper": the last packet sent
        /// (section II.D). "netmix", as both programs: the last one sent or received.
        option waiting: Word<WaitStart> = "\"paper\" if rules = \"paper\"; else \"netmix\"";
        /// Paper: packets sent after a timeout. "credit": what a symbol grants (section II.D, and
        /// the program of January). The program of March sends 5.
        option timeout_packets: TimeoutPackets = "5 if rules = \"netmix-2014-03\"; else \"credit\"";
        /// Most packets that wait to be coded. A TCP flow in slow start sends twice the path's rate
        /// until CoDel's first drop reaches it; packets of 1 kB reach `backlog_bytes` first.
        value backlog_packets: Whole<1, 1_000_000> = 4096;
        /// Most bytes that wait to be coded, 64KiB to 4GiB.
        value backlog_bytes: Bytes = "4MiB";
        /// Accepted standing delay of waiting packets (RFC 8289), with a queue for each flow; at
        /// least one and a half times the link's latency, since losses delay answers. "off": one
        /// queue that drops arrivals when full.
        option backlog_target: OrOff<Duration> = "\"5ms\" in stream mode; else \"off\", as in the paper";
        /// Time in which a burst may drain (RFC 8289).
        value backlog_interval: Duration = "100ms";
        /// Mark ECN-capable packets (RFC 3168) instead of dropping them.
        value ecn: bool = true;
        /// Stream, with backlog_target: a TCP acknowledgement without data takes the place of the
        /// previous one of its flow that waits, if it has all of its information, as CAKE's
        /// `ack-filter`. The first and the last of those that wait stay.
        option ack_filter: bool = "true";
    }
}

/// Mode of coding, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodingMode {
    /// Several blocks in flight.
    Stream,
    /// One block at a time, as in the paper.
    Paper,
    /// No code.
    Plain,
}

/// Rules of the paper's mode, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// The text of the paper.
    Paper,
    /// The authors' program of January 2014.
    January,
    /// The authors' program of March 2014.
    March,
}

impl Rules {
    fn values(self) -> PaperRules {
        match self {
            Self::Paper => PaperRules::TEXT,
            Self::January => PaperRules::JANUARY,
            Self::March => PaperRules::MARCH,
        }
    }
}

/// Packets sent after a timeout; `None`: a credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeoutPackets(pub Option<u8>);

impl Scalar for TimeoutPackets {
    type Value = Self;

    fn allowed() -> String {
        format!("{} or \"credit\"", Whole::<1, 255>::allowed())
    }
    fn read(value: &Value) -> Result<Self, Option<String>> {
        match value {
            Value::String(text) if text == "credit" => Ok(Self(None)),
            _ => Whole::<1, 255>::read(value).map(|packets| Self(Some(packets.get()))),
        }
    }
    fn schema() -> Schema {
        json_schema!({ "anyOf": [{ "const": "credit" }, Whole::<1, 255>::schema()] })
    }
}

choices! {
    CodingMode {
        "stream" => CodingMode::Stream,
        "paper" => CodingMode::Paper,
        "plain" => CodingMode::Plain,
    }
    Word<Field> as Field { "gf2" => Field::Gf2, "gf16" => Field::Gf16, "gf256" => Field::Gf256 }
    Word<Small> as Small { "share" => Small::Share, "alone" => Small::Alone }
    Word<AckRules> as AckRules {
        "paper" => AckRules::Text,
        "netmix-2014-01" => AckRules::January,
        "netmix-2014-03" => AckRules::March,
    }
    Rules {
        "paper" => Rules::Paper,
        "netmix-2014-01" => Rules::January,
        "netmix-2014-03" => Rules::March,
    }
    Word<Spending> as Spending {
        "paper" => Spending::Text,
        "netmix-2014-01" => Spending::January,
        "netmix-2014-03" => Spending::March,
    }
    Word<Helping> as Helping { "paper" => Helping::Text, "netmix" => Helping::Program }
    Word<WaitStart> as WaitStart { "paper" => WaitStart::Text, "netmix" => WaitStart::Program }
    Word<Reading> as Reading { "packet" => Reading::Packet, "burst" => Reading::Burst }
}

/// Length of a link's symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolBytes {
    /// The length in the file, even if it does not fit.
    Exactly(u16),
    /// The longest that fits, up to this length.
    AtMost(u16),
}

impl SymbolBytes {
    /// Returns the length where `longest` fits.
    pub fn within(self, longest: u16) -> u16 {
        match self {
            Self::Exactly(bytes) => bytes,
            Self::AtMost(most) => longest.min(most),
        }
    }
}

impl RawCoding {
    /// Puts the keys into a node's configuration, except the length of symbols
    /// ([`RawCoding::symbol_bytes`]). `pace` is the default.
    pub fn configure(&self, config: &mut Config, pace: Option<Duration>, problems: &mut Problems) {
        let is_paper = self.mode.value == CodingMode::Paper;
        let usual = if is_paper {
            (Field::Gf2, PAPER_BLOCK_SYMBOLS)
        } else {
            (Field::Gf256, config.block_symbols)
        };
        config.field = value(&self.field).unwrap_or(usual.0);
        config.block_symbols = value(&self.block_symbols).map_or(usual.1, Whole::get);
        config.mode = if is_paper {
            self.paper()
        } else {
            Mode::Stream {
                blocks_max: value(&self.blocks_max).map_or(STREAM_BLOCKS, Whole::get),
                pace: value(&self.pace).map_or(pace, |pace| pace.0).map(|queue_target| {
                    PaceConfig { queue_target, rate_max: self.rate_max.value.0 }
                }),
            }
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
            ack_filter: !is_paper && value(&self.ack_filter).unwrap_or(true),
        };
    }

    /// Returns the length of symbols.
    pub fn symbol_bytes(&self) -> SymbolBytes {
        match (value(&self.symbol_bytes), self.mode.value) {
            (Some(bytes), _) => SymbolBytes::Exactly(bytes.get()),
            (None, CodingMode::Paper) => SymbolBytes::AtMost(PAPER_SYMBOL_BYTES),
            (None, CodingMode::Stream | CodingMode::Plain) => SymbolBytes::AtMost(u16::MAX),
        }
    }

    fn paper(&self) -> Mode {
        let overshoot = value(&self.overshoot).map_or(PAPER_OVERSHOOT, Probability::as_f64);
        let program = value(&self.rules).unwrap_or(Rules::March);
        let usual = program.values();
        let rules = PaperRules {
            acknowledge: value(&self.acknowledgements).unwrap_or(usual.acknowledge),
            read: value(&self.reading).unwrap_or(usual.read),
            spend: value(&self.spending).unwrap_or(usual.spend),
            help: value(&self.helping).unwrap_or(usual.help),
            wait: value(&self.waiting).unwrap_or(usual.wait),
            timeout_packets: value(&self.timeout_packets)
                .map_or(usual.timeout_packets, |packets| packets.0),
        };
        let systematic = value(&self.systematic).unwrap_or(program != Rules::Paper);
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

    /// Reports keys of another mode, times that are zero, and a limit of the rate without a pace;
    /// `is_paced` is the default.
    pub fn check(&self, is_paced: bool, problems: &mut Problems) {
        use CodingMode::{Paper, Stream};
        let only: [(Option<&Place>, &[CodingMode]); 16] = [
            (place(&self.field), &[Stream, Paper]),
            (place(&self.block_symbols), &[Stream, Paper]),
            (place(&self.symbol_bytes), &[Stream, Paper]),
            (place(&self.backlog_target), &[Stream, Paper]),
            (place(&self.blocks_max), &[Stream]),
            (place(&self.pace), &[Stream]),
            (place(&self.ack_filter), &[Stream]),
            (place(&self.overshoot), &[Paper]),
            (place(&self.systematic), &[Paper]),
            (place(&self.acknowledgements), &[Paper]),
            (place(&self.reading), &[Paper]),
            (place(&self.rules), &[Paper]),
            (place(&self.spending), &[Paper]),
            (place(&self.helping), &[Paper]),
            (place(&self.waiting), &[Paper]),
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
