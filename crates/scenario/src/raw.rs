//! Every key of a scenario file: documentation, type, default.
//!
//! Each key is declared only here (see [`crate::table`]), in a file for each topic. A default in a
//! `value` line applies exactly as written; [`crate::assemble`] decides defaults that depend on
//! other keys. The type of a key limits single values, `assemble` limits combinations.

mod absence;
mod apq;
mod cell;
mod channel;
mod flent;
mod flow;
mod franc;
mod mac;
mod multi_user;
mod node;
mod queue;
mod roaming;
mod scenario;
mod switching;
mod tcp;
mod wire;

pub(crate) use absence::{
    LeftoverKind, PowerSaveKind, RawAbsence, RawOperatingMode, RawPowerSave, RawScan,
    RetrievalKind, ScanKind, TwtUplinkKind,
};
pub(crate) use apq::{ApqMethod, FlowEnd, RawApq};
pub(crate) use cell::{BandwidthKind, RawCell, RawLink, RawNeighbour};
pub(crate) use channel::{
    ErrorModelKind, FadingKind, PathLossKind, RawChannel, RawChannelLink, RawErrorModel, RawFading,
    ShortestGuardInterval, StreamPowerKind,
};
pub(crate) use flent::{DscpMapping, FlentTest, RawFlent};
pub(crate) use flow::{FlowKindName, Offered, Pattern, RawFlow, RawStream, RawWeb};
pub(crate) use franc::{FrancLosses, RawFranc, RawFrancOutage, Relaying};
pub(crate) use mac::{
    ExtendedRangeTones, RateControlKind, RawAggregation, RawBlockAck, RawEdca, RawEdcaParameters,
    RawFixedRate, RawLowRateRetry, RawPseudoRetryOut, RawRateControl, RequestKind,
};
pub(crate) use multi_user::{
    CodebookKind, OfdmaAcknowledgementKind, RawMuEdca, RawMuEdcaParameters, RawMuMimo, RawOfdma,
    RawUplink,
};
pub(crate) use node::{
    Mtu, MultiLinkKind, RawEmlsr, RawLinkUse, RawNode, RawNodeSettings, RawPath, RawTrace,
    RxInterruptKind,
};
pub(crate) use queue::{
    IsolationKind, QueueKind, RawDriverQueue, RawQueue, SelectorKind, TinsKind,
};
pub(crate) use roaming::{PolicyKind, RawRoaming, RawSteering};
pub(crate) use scenario::{RawChange, RawRun, RawScenario, RawSweep};
pub(crate) use switching::RawChannelSwitch;
pub(crate) use tcp::{LocalDrop, PacingKind, RawTcp, ReceiverKind, SmallQueuesKind};
pub(crate) use wire::{JitterKind, LossKind, RawJitter, RawLoss, RawWire, RawWireDirection};

use lasthop_config::scalar::Whole;
use lasthop_config::table::Keys;

/// A whole number from 1 on that fits 32 bits.
pub(crate) type Positive = Whole<1, 0xffff_ffff>;

/// Returns every table: its name in the schema, its documentation and its keys.
pub(crate) fn all() -> Vec<(String, String, Keys)> {
    let of_files = [
        absence::all,
        apq::all,
        cell::all,
        channel::all,
        flent::all,
        flow::all,
        franc::all,
        mac::all,
        multi_user::all,
        node::all,
        queue::all,
        roaming::all,
        scenario::all,
        switching::all,
        tcp::all,
        wire::all,
    ];
    of_files.into_iter().flat_map(|all| all()).collect()
}
