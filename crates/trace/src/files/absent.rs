//! The writers of a recorder in a build without files. The type has no values, so that passing data
//! to writers costs nothing.

use crate::error::OutputError;
use crate::names::Names;
use crate::snapshot::Snapshot;
use lasthop_hosts::{FrameDirection, TcpSample};
use lasthop_packet::{DropReason, FlowId, NodeId, Packet};
use lasthop_tcp::wire::Header;
use lasthop_units::{Duration, Instant};
use lasthop_wifi::event::Event;
use std::borrow::Cow;

/// Type of absent writers.
#[derive(Debug)]
pub(crate) enum Writers {}

impl Writers {
    pub(crate) fn want_events(&self) -> bool {
        match *self {}
    }

    pub(crate) fn want_parts(&self) -> bool {
        match *self {}
    }

    pub(crate) fn want_segments(&self) -> bool {
        match *self {}
    }

    pub(crate) fn failed(&self) -> bool {
        match *self {}
    }

    pub(crate) fn close(self, _end: Instant) -> Result<(), OutputError> {
        match self {}
    }

    pub(crate) fn segment(
        &mut self,
        _flow: FlowId,
        _tag: u64,
        _source: NodeId,
        _header: &Header<'_>,
        _names: &Names,
    ) {
        match *self {}
    }

    pub(crate) fn sent(&mut self, _now: Instant, _packet: &Packet) {
        match *self {}
    }

    pub(crate) fn arrived(&mut self, _now: Instant, _node: NodeId, _packet: &Packet) {
        match *self {}
    }

    pub(crate) fn lost(
        &mut self,
        _now: Instant,
        _node: NodeId,
        _packet: &Packet,
        _reason: DropReason,
    ) {
        match *self {}
    }

    pub(crate) fn event(
        &mut self,
        _event: Cow<'_, Event>,
        _frames: &dyn Fn(u64) -> Option<Vec<u8>>,
    ) {
        match *self {}
    }

    pub(crate) fn program_flow(&mut self, _name: &str, _source: NodeId) {
        match *self {}
    }

    pub(crate) fn round_trip(&mut self, _now: Instant, _flow: FlowId, _rtt: Duration) {
        match *self {}
    }

    pub(crate) fn tcp(&mut self, _now: Instant, _flow: FlowId, _sample: &TcpSample) {
        match *self {}
    }

    pub(crate) fn frame(
        &mut self,
        _now: Instant,
        _node: NodeId,
        _direction: FrameDirection,
        _bytes: &[u8],
    ) {
        match *self {}
    }

    pub(crate) fn interval(&mut self, _snapshot: &Snapshot, _names: &Names) {
        match *self {}
    }
}
