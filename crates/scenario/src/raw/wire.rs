//! `[[wire]]`: a cable, its rate, delay, jitter, losses and queue, in each direction. Rates are those
//! of Ethernet frames, delays those of one way. Which keys are of which kind of jitter or loss is
//! decided in `assemble::topology`.

use super::RawQueue;
use crate::scalar::{OrOff, choices};
use crate::table::tables;
use lasthop_units::{Bitrate, Duration, Probability};

/// How the delay of a wire varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JitterKind {
    Uniform,
    Normal,
}

/// How a wire loses packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LossKind {
    Random,
    GilbertElliott,
}

choices! {
    JitterKind { "uniform" => Self::Uniform, "normal" => Self::Normal }
    LossKind { "random" => Self::Random, "gilbert-elliott" => Self::GilbertElliott }
}

tables! {
    /// A cable between two nodes.
    RawWire {
        /// Its ends.
        required between: [String; 2];
        /// Both directions.
        flatten both: RawWireDirection;
        /// From the first end to the second, where it differs.
        option_table up: RawWireDirection = "as above; so are the keys that it leaves out";
        /// From the second end to the first, where it differs.
        option_table down: RawWireDirection = "as above; so are the keys that it leaves out";
    }

    /// One direction of a cable.
    RawWireDirection {
        /// Bit rate of the Ethernet frames; "off" never limits.
        /// Gigabit Ethernet is what an access point usually has.
        value rate: OrOff<Bitrate> = "1Gb/s";
        /// How the rate changes during the run, one change after the other; by default never.
        list rate_changes: RawRateChange;
        /// The changes of the rate come again after this time, and again, also when an
        /// emulation lasts longer than the duration.
        option rate_repeat: Duration = "never: they come once";
        /// Propagation delay, one way. Zero is a cable in the house; a server
        /// on the Internet is 5 to 50 ms away.
        value delay: Duration = "0s";
        /// How the delay varies from packet to packet, by default not at all: a
        /// path that nobody else loads. A time alone is the most that it varies.
        table jitter: RawJitter;
        /// Jitter may reorder packets; otherwise each waits for those before it.
        value reorder: bool = false;
        /// How packets are lost, by default never: a wire in good order. A
        /// probability alone is that of each packet.
        table loss: RawLoss;
        /// The queue before the transmitter.
        table queue: RawQueue;
        /// The queue is that of the near end's own network interface, as of a server at a slow
        /// Ethernet, so that small_queues of TCP count its packets. By default the wire is a
        /// line, such as that of a modem: the interface before it never limits.
        value interface: bool = false;
    }

    /// A change of a wire's rate. What is being transmitted goes on at the new rate.
    RawRateChange {
        /// From when on.
        required from: Duration;
        /// The new rate.
        required rate: Bitrate;
    }

    /// How the delay of a wire varies. In all it is never below zero.
    RawJitter = most {
        /// Evenly within bounds, or normally distributed around the delay.
        value kind: JitterKind = "uniform";
        /// Uniform: at most so much more or less.
        option most: Duration = "\"0s\"";
        /// Normal: standard deviation.
        option sd: Duration = "none; a normal jitter needs it";
    }

    /// How a wire loses packets, whatever its load.
    RawLoss = probability {
        /// Each packet alike, or in bursts: a hidden state, good or bad, that
        /// may change before each packet (Gilbert and Elliott).
        value kind: LossKind = "random";
        /// Random: probability that a packet is lost.
        option probability: Probability = "0";
        /// Gilbert-Elliott: probability of going from good to bad.
        option good_to_bad: Probability = "none; bursts need it";
        /// Gilbert-Elliott: probability of going from bad to good; a bad spell
        /// lasts one over this many packets in the mean.
        option bad_to_good: Probability = "none; bursts need it";
        /// Gilbert-Elliott: loss in the good state.
        option loss_good: Probability = "0, as in Gilbert's model";
        /// Gilbert-Elliott: loss in the bad state.
        option loss_bad: Probability = "1: everything is lost";
    }
}
