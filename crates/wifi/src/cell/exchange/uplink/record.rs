//! Events of uplink exchanges: Trigger frames, trigger-based PPDUs, Multi-STA Block Acks.

use super::super::content::Exchange;
use super::super::multi_user::NEXT_TO_IT;
use super::{Answer, Answered, Asked, Solicitation, Uplink, queue_size_code};
use crate::air::Flight;
use crate::cell::edcaf::category_of;
use crate::cell::record::{Recorder, control_frame};
use crate::event::{Frame, FrameKind, Psdu, QueueSize, StationAcknowledged, TriggeredUser};
use crate::mac::block_ack::Bitmap;
use crate::mac::sizes;
use crate::station::{Address, StationId};
use lasthop_units::SeqNo12;

impl Recorder<'_> {
    /// Whether `sender` reports its backlog in its QoS Data frames to `peer`.
    pub(in crate::cell) fn reports_queue(&self, sender: StationId, peer: Address) -> bool {
        let Address::Station(receiver) = peer else { return false };
        let ofdma = self.stations[receiver.index()].config.ofdma;
        let capabilities = &self.stations[sender.index()].config.capabilities;
        capabilities.is_he_or_later() && ofdma.is_some_and(|ofdma| ofdma.uplink.is_some())
    }

    /// Records a Trigger frame; `is_heard` is whether all stations that it asks decoded it.
    pub(super) fn record_solicitation(
        &mut self,
        flight: &Flight,
        sender: StationId,
        is_heard: bool,
    ) {
        let exchange = self.stations[sender.index()].exchange.as_ref();
        let Some(uplink) = exchange.and_then(Exchange::uplink) else { return };
        let Uplink { duration: response, guard_interval, .. } = *uplink;
        let width = uplink.rate.width();
        let kind = match uplink.phase {
            Solicitation::Reports => {
                FrameKind::BufferStatusReportPoll { response, guard_interval, width }
            }
            Solicitation::Data => {
                let access_category = category_of(uplink.outline.edcaf);
                FrameKind::BasicTrigger { access_category, response, guard_interval, width }
            }
        };
        let triggered = uplink.users.iter().map(|asked| TriggeredUser {
            aid: self.stations[asked.station.index()].aid,
            ru: asked.user.ru,
            mcs: asked.user.mcs,
            streams: asked.user.streams,
            dcm: asked.user.dcm,
            is_eht: uplink.rate.is_eht(),
            start: SeqNo12::default(),
        });
        let triggered = triggered.collect();
        let frame = Frame { triggered, ..control_frame(flight, kind, is_heard) };
        let is_disturbed = |asked: &Asked| self.air.is_disturbed(flight, asked.station);
        let collided = uplink.users.iter().any(is_disturbed);
        self.record_to_all(flight, collided, frame);
    }

    /// Records a Multi-STA Block Ack; `is_heard` is whether all stations that wait for it decoded
    /// it.
    pub(super) fn record_multi_station_block_ack(
        &mut self,
        flight: &Flight,
        users: &[Asked],
        is_heard: bool,
    ) {
        let sender = flight.transmitter;
        let edcaf = self.stations[sender.index()].exchange.as_ref().map_or(0, Exchange::edcaf);
        let tid = category_of(edcaf).tid();
        let records = users.iter().filter_map(|asked| {
            let record = asked.record?;
            let aid = self.stations[asked.station.index()].aid;
            let (start, bitmap, bits) = (record.start, record.bitmap, asked.bits);
            Some(StationAcknowledged { aid, tid, start, bitmap, bits })
        });
        let acknowledged = records.collect();
        let kind = FrameKind::MultiStationBlockAck;
        let frame = Frame { acknowledged, ..control_frame(flight, kind, is_heard) };
        let collided = users.iter().any(|asked| self.air.is_disturbed(flight, asked.station));
        self.record_to_all(flight, collided, frame);
    }

    fn record_to_all(&mut self, flight: &Flight, collided: bool, frame: Frame) {
        let psdu = Psdu {
            receiver: Address::Group,
            rate: flight.rate,
            ru: None,
            bytes: flight.psdu_bytes,
            aggregated: false,
            frames: alloc::vec![frame],
            signal: NEXT_TO_IT,
            collided,
        };
        self.record_psdus(flight, alloc::vec![psdu]);
    }

    /// Records a trigger-based PPDU; bit n of `decoded` is MPDU n.
    pub(super) fn record_answer(&mut self, own: &Flight, answer: &Answer, decoded: &Bitmap) {
        let &Answer { edcaf, collided, .. } = answer;
        let peer = answer.peer();
        let frames = match answer.content {
            Answered::Data { mpdus } => {
                self.stations[own.transmitter.index()].buffered = answer.buffered[edcaf];
                let more_data = self.more_data(own, edcaf, mpdus);
                self.data_frames(own, edcaf, mpdus, decoded, more_data)
            }
            Answered::BlockAckRequest { start } => {
                let tid = category_of(edcaf).tid();
                let kind = FrameKind::BlockAckRequest { tid, start };
                let frame = control_frame(own, kind, decoded.contains(0));
                let bytes = sizes::BLOCK_ACK_REQUEST as u16;
                alloc::vec![Frame { bytes, sequence: start, ..frame }]
            }
            Answered::BufferReport => {
                let exchange = self.stations[answer.to.index()].exchange.as_ref();
                let uplink = exchange.and_then(Exchange::uplink);
                let phase = uplink.map_or(Solicitation::Data, |uplink| uplink.phase);
                let null = |bit: usize| {
                    let category = if phase == Solicitation::Reports { bit } else { edcaf };
                    let tid = category_of(category).tid();
                    let code = queue_size_code(answer.buffered[category]);
                    let kind = FrameKind::QosNull {
                        power_management: self.stations[own.transmitter.index()].is_in_power_save(),
                        access_category: category_of(category),
                    };
                    Frame {
                        bytes: sizes::QOS_NULL as u16,
                        queue_size: Some(QueueSize { tid, code }),
                        ..control_frame(own, kind, decoded.contains(bit))
                    }
                };
                (0..Answer::nulls(phase) as usize).map(null).collect()
            }
        };
        let signal = self.air.mean_power(own, answer.to);
        let psdu = Psdu {
            receiver: peer,
            rate: own.rate,
            ru: Some(answer.ru),
            bytes: own.psdu_bytes,
            aggregated: true,
            frames,
            signal: signal.unwrap_or(NEXT_TO_IT),
            collided,
        };
        self.record_psdus(own, alloc::vec![psdu]);
    }
}
