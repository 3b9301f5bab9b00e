//! Events of HE MU PPDUs, and of MU-BAR Trigger frames.

use super::exchange::Heard;
use super::{Triggered, User};
use crate::air::Flight;
use crate::cell::edcaf::category_of;
use crate::cell::record::{Recorder, microseconds};
use crate::event::{Event, Frame, FrameKind, FramePackets, Ppdu, Psdu, TriggeredUser};
use crate::mac::sizes;
use crate::phy::Ru;
use crate::station::Address;
use alloc::vec::Vec;
use lasthop_units::{Dbm, SeqNo12};

impl Recorder<'_> {
    /// Returns the PSDU of one station, with the Trigger frame at its end if there is one.
    pub(super) fn user_psdu(
        &self,
        own: &Flight,
        edcaf: usize,
        user: &User,
        triggered: Option<Triggered>,
        heard: &Heard,
    ) -> Psdu {
        let more_data = self.more_data(own, edcaf, user.mpdus);
        let Heard { is_asked, decoded, .. } = heard;
        let mut frames = self.data_frames(own, edcaf, user.mpdus, decoded, more_data);
        if let Some(triggered) = triggered {
            let pending = self.stations[own.transmitter.index()].pending(edcaf, own.receiver);
            let start = pending.expect("it sent some")[0].sequence;
            let asked = alloc::vec![self.triggered_user(user, start)];
            frames.push(trigger_frame(own, edcaf, triggered, asked, *is_asked));
        }
        let signal = self.air.mean_power(own, user.station);
        Psdu {
            receiver: own.receiver,
            rate: own.rate,
            ru: user.ru,
            bytes: own.psdu_bytes,
            aggregated: true,
            frames,
            signal: signal.unwrap_or(NEXT_TO_IT),
            collided: user.collided,
        }
    }

    /// Records a PPDU with these PSDUs.
    pub(in crate::cell) fn record_psdus(&mut self, flight: &Flight, psdus: Vec<Psdu>) {
        let &Flight { start, end, transmitter, .. } = flight;
        self.outbox.events.push_back(Event::Ppdu(Ppdu { start, end, transmitter, psdus }));
    }

    /// Records a separate Trigger frame to all users; `is_heard` is whether each of them decoded
    /// it.
    pub(super) fn record_trigger(
        &mut self,
        flight: &Flight,
        edcaf: usize,
        users: &[User],
        triggered: Triggered,
        is_heard: bool,
    ) {
        let mut asked = Vec::with_capacity(users.len());
        for user in users {
            let access = self.stations[flight.transmitter.index()].edcafs[edcaf].as_ref();
            let access = access.expect("it sends");
            let originator = access.originator(user.peer()).expect("it has pending MPDUs");
            let start = access.originators[originator].window_start();
            asked.push(self.triggered_user(user, start));
        }
        let collided = users.iter().any(|user| self.air.is_disturbed(flight, user.station));
        let psdu = Psdu {
            receiver: Address::Group,
            rate: flight.rate,
            ru: None,
            bytes: flight.psdu_bytes,
            aggregated: false,
            frames: alloc::vec![trigger_frame(flight, edcaf, triggered, asked, is_heard)],
            signal: NEXT_TO_IT,
            collided,
        };
        self.record_psdus(flight, alloc::vec![psdu]);
    }

    /// Records a trigger-based PPDU on `ru` with a Block Ack.
    pub(super) fn record_triggered(&mut self, own: &Flight, ru: Ru, received: bool) {
        self.record_control(own, received);
        if let Some(Event::Ppdu(ppdu)) = self.outbox.events.back_mut() {
            ppdu.psdus[0].ru = Some(ru);
        }
    }

    fn triggered_user(&self, user: &User, start: SeqNo12) -> TriggeredUser {
        let mcs = user.response.rate.mcs().expect("an HE rate");
        let aid = self.stations[user.station.index()].aid;
        let is_eht = user.response.rate.is_eht();
        TriggeredUser { aid, ru: user.answer_ru, mcs, streams: 1, dcm: false, is_eht, start }
    }
}

/// Received power of a capture device next to the transmitter.
pub(in crate::cell) const NEXT_TO_IT: Dbm = Dbm(-30.0);

fn trigger_frame(
    flight: &Flight,
    edcaf: usize,
    triggered: Triggered,
    triggered_users: Vec<TriggeredUser>,
    received: bool,
) -> Frame {
    let fields = triggered_users.len() as u32 + u32::from(triggered.rate.is_eht());
    let bytes = sizes::mu_block_ack_request(fields);
    Frame {
        kind: FrameKind::MuBlockAckRequest {
            tid: category_of(edcaf).tid(),
            response: triggered.duration,
            guard_interval: triggered.guard_interval,
            width: triggered.rate.width(),
        },
        bytes: bytes as u16,
        sequence: SeqNo12::default(),
        retry: false,
        duration_us: microseconds(flight.end, flight.reserves_until),
        received,
        more_data: false,
        power_management: false,
        end_of_service_period: false,
        packets: FramePackets::None,
        announced: Vec::new(),
        triggered: triggered_users,
        queue_size: None,
        acknowledged: Vec::new(),
    }
}
