//! `[[wire]]`: a cable, its rate, delay, jitter, losses and queue, in each direction. Rates are
//! those of Ethernet frames, delays one way. `assemble::topology` decides which keys belong to a
//! kind of jitter or loss.

use super::RawQueue;
use lasthop_config::choices;
use lasthop_config::scalar::OrOff;
use lasthop_config::tables;
use lasthop_units::{Bitrate, Duration, Probability};

/// Distribution of the jitter of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JitterKind {
    Uniform,
    Normal,
}

/// Model of the losses of a wire.
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
        /// Names of the two ends.
        required between: [String; 2];
        /// Keys of both directions.
        flatten both: RawWireDirection;
        /// Direction from the first end to the second, where it differs.
        option_table up: RawWireDirection = "the keys of the wire";
        /// Direction from the second end to the first, where it differs.
        option_table down: RawWireDirection = "the keys of the wire";
    }

    /// One direction of a cable.
    RawWireDirection {
        /// Bit rate of Ethernet frames; "off" never limits. Access points usually have Gigabit
        /// Ethernet.
        value rate: OrOff<Bitrate> = "1Gb/s";
        /// Changes of the rate during the run, in order.
        list rate_changes: RawRateChange;
        /// Period after which the rate changes repeat, also when an emulation outlasts the
        /// duration.
        option rate_repeat: Duration = "never";
        /// Propagation delay, one way. Servers on the Internet are 5 to 50 ms away.
        value delay: Duration = "0s";
        /// Variation of the delay; a plain time is its maximum.
        table jitter: RawJitter;
        /// Jitter may reorder packets; otherwise each waits for those before it.
        value reorder: bool = false;
        /// Packet loss; a plain probability is that of each packet.
        table loss: RawLoss;
        /// Queue before the transmitter.
        table queue: RawQueue;
        /// The queue is the near end's own network interface, as of a server with slow Ethernet,
        /// and TCP small queues count its packets. Otherwise the wire is a line, such as a modem's,
        /// behind an interface that never limits.
        value interface: bool = false;
    }

    /// A change of a wire's rate. A transmission in progress continues at the new rate.
    RawRateChange {
        /// Instant of the change.
        required from: Duration;
        /// New bit rate.
        required rate: Bitrate;
    }

    /// Variation of the delay of a wire. The delay never falls below zero.
    RawJitter = most {
        /// Uniform within bounds, or normally distributed around the delay.
        value kind: JitterKind = "uniform";
        /// Uniform: largest deviation in either direction.
        option most: Duration = "\"0s\"";
        /// Normal: standard deviation of the delay.
        option sd: Duration = "none; normal requires it";
    }

    /// Packet loss of a wire, at any load.
    RawLoss = probability {
        /// Independent losses, or bursts: a hidden good or bad state that may change before each
        /// packet (Gilbert and Elliott).
        value kind: LossKind = "random";
        /// Random: probability that a packet is lost.
        option probability: Probability = "0";
        /// Gilbert-Elliott: probability of going from good to bad.
        option good_to_bad: Probability = "none; bursts require it";
        /// Gilbert-Elliott: probability of going from bad to good. A bad spell lasts one over this
        /// many packets in the mean.
        option bad_to_good: Probability = "none; bursts require it";
        /// Gilbert-Elliott: loss in the good state.
        option loss_good: Probability = "0, as in Gilbert's model";
        /// Gilbert-Elliott: loss in the bad state.
        option loss_bad: Probability = "1: everything is lost";
    }
}
