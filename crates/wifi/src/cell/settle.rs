//! Outcome of the MPDUs of an exchange: acknowledged, to be retransmitted, or given up (IEEE
//! 802.11-2020, 10.3.4.4 and 10.25.6.7). The module also counts the packets that the station
//! releases.

use super::Output;
use super::config::BlockAckRequestPolicy;
use super::content::{Content, Exchange};
use super::frames::Context;
use super::station::Station;
use crate::mac::block_ack::Bitmap;
use crate::mac::originator::AttemptsMax;
use crate::station::Address;
use alloc::vec::Vec;
use lasthop_packet::DropReason;

/// Settled MPDUs of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Settled {
    /// Number of MPDUs that were acknowledged or given up.
    pub mpdus: u32,
    /// Whether an MPDU, or a Block Ack Request, was given up.
    pub is_given_up: bool,
}

impl Station {
    /// Settles a successful exchange; bit n of `acked` is MPDU n.
    pub fn answered(
        &mut self,
        cx: &mut Context<'_>,
        exchange: &Exchange,
        acked: &Bitmap,
    ) -> Settled {
        let settled = self.settle_answered(cx, exchange, acked);
        self.edcaf(exchange.edcaf).backoff.reset();
        settled
    }

    /// Does what [`Self::answered`] does, but leaves the contention window as it is.
    pub fn settle_answered(
        &mut self,
        cx: &mut Context<'_>,
        exchange: &Exchange,
        acked: &Bitmap,
    ) -> Settled {
        match exchange.content {
            Content::Data { mpdus, .. } => self.settle(cx, exchange, mpdus, acked, true),
            Content::BlockAckRequest { .. } => self.settle_request(cx, exchange, acked),
            // The request waits for its answer, the answer was taken in already.
            Content::Management(_)
            | Content::Beacon
            | Content::Uplink
            | Content::Sounding
            | Content::BufferReport => Settled::default(),
        }
    }

    /// Settles an exchange without a response: for data, and for Block Ack Requests.
    pub fn unanswered(&mut self, cx: &mut Context<'_>, exchange: &Exchange) -> Settled {
        match exchange.content {
            Content::Data { mpdus, aggregated } => {
                let index = self.originator(cx.settings, exchange.edcaf, exchange.peer);
                if exchange.requesting {
                    self.edcaf(exchange.edcaf).originators[index].request_failed(mpdus);
                }
                let settled = self.settle(cx, exchange, mpdus, &Bitmap::EMPTY, false);
                if aggregated
                    && !exchange.requesting
                    && self.config.block_ack.request == BlockAckRequestPolicy::AfterMissing
                {
                    let originator = &mut self.edcaf(exchange.edcaf).originators[index];
                    originator.block_ack_request_due = true;
                }
                settled
            }
            Content::BlockAckRequest { .. } => {
                let retry_limit = self.config.retry_limit;
                let index = self.originator(cx.settings, exchange.edcaf, exchange.peer);
                let originator = &mut self.edcaf(exchange.edcaf).originators[index];
                originator.block_ack_request_attempts += 1;
                let given_up = originator.block_ack_request_attempts >= retry_limit;
                originator.failed(given_up);
                if given_up {
                    originator.block_ack_request_due = false;
                    originator.block_ack_request_attempts = 0;
                }
                Settled { mpdus: 0, is_given_up: given_up }
            }
            Content::Management(_)
            | Content::Beacon
            | Content::Uplink
            | Content::Sounding
            | Content::BufferReport => Settled::default(),
        }
    }

    /// Settles an exchange that ended before this station, one of several, was asked for its Block
    /// Ack: a Block Ack Request precedes the next data to it.
    pub fn not_asked(&mut self, cx: &mut Context<'_>, exchange: &Exchange, mpdus: usize) {
        let index = self.originator(cx.settings, exchange.edcaf, exchange.peer);
        let originator = &mut self.edcaf(exchange.edcaf).originators[index];
        originator.block_ack_request_due = true;
        if !exchange.in_space {
            originator.failed(false);
        }
        self.link_stats(exchange.peer).mpdus_failed += mpdus as u64;
    }

    /// Settles the MPDUs that were sent: acknowledged, pending again, or given up.
    fn settle(
        &mut self,
        cx: &mut Context<'_>,
        exchange: &Exchange,
        mpdus: usize,
        acked: &Bitmap,
        answered: bool,
    ) -> Settled {
        let now = cx.now;
        let index = self.originator(cx.settings, exchange.edcaf, exchange.peer);
        let retry_limit = self.config.retry_limit;
        if self.config.adaptive_mtu.is_some() && !exchange.requesting {
            let air = (cx.settings.band, cx.settings.timing.slot);
            self.report_lengths(now, air, exchange, index, (mpdus, acked));
        }
        let access = self.edcafs[exchange.edcaf].as_mut().expect("it sent");
        let originator = &mut access.originators[index];
        let attempts_max = match exchange.peer {
            // Group frames are sent once.
            Address::Group => AttemptsMax::all(1),
            Address::Station(_) => {
                let sent = if exchange.requesting { 0 } else { mpdus };
                originator.attempts_max(retry_limit, sent, exchange.rate)
            }
        };
        let before = originator.held();
        let mut lost = Vec::new();
        let mut lost_mpdus = 0;
        let number_acked =
            originator.settle(mpdus, acked, attempts_max, &mut cx.outbox.released, |mpdu| {
                lost_mpdus += 1;
                // What got across without its acknowledgement is not lost.
                if !mpdu.taken {
                    lost.extend_from_slice(mpdu.msdus.packets());
                }
            });
        // One of several stations answers for a PSDU of which it got nothing, too: the next one
        // has to be more robust. What is lost in space says nothing of the station alone.
        match answered && (number_acked > 0 || exchange.in_space) {
            true => {
                let is_most_lost = !exchange.in_space && number_acked as usize * 2 < mpdus;
                originator.succeeded(is_most_lost);
            }
            false => originator.failed(lost_mpdus > 0),
        }
        if let Some(control) = &mut originator.rate_control
            && !exchange.requesting
            && !exchange.in_space
        {
            control.report(now, exchange.rate, mpdus as u16, number_acked as u16);
        }
        let after = originator.held();
        let packets = access.let_go(before, after);
        if access.absent.may_hold() {
            access.absent.exchanged(exchange.peer, answered || packets > 0);
        }
        self.hold(now, 0, packets);
        self.last_data = now;
        if let Some(away) = self.away.as_deref_mut() {
            away.count(number_acked, 0);
        }
        let station = self.id;
        let link = self.link_stats(exchange.peer);
        link.mpdus_acked += u64::from(number_acked);
        if !exchange.requesting {
            link.mpdus_failed += mpdus as u64 - u64::from(number_acked);
        }
        if exchange.collided {
            link.collisions += 1;
        }
        if exchange.peer == Address::Group {
            for packet in lost {
                cx.outbox.put_out(Output::GroupSent { at: now, station, packet });
            }
        } else {
            link.mpdus_lost += lost_mpdus;
            for packet in lost {
                cx.outbox.drop_packet(now, station, packet, DropReason::RetryLimit);
            }
        }
        self.go_on(cx, exchange, packets);
        Settled { mpdus: number_acked + lost_mpdus as u32, is_given_up: lost_mpdus > 0 }
    }

    /// Settles all pending MPDUs by the Block Ack that answers a request.
    fn settle_request(
        &mut self,
        cx: &mut Context<'_>,
        exchange: &Exchange,
        acked: &Bitmap,
    ) -> Settled {
        let now = cx.now;
        let index = self.originator(cx.settings, exchange.edcaf, exchange.peer);
        let access = self.edcaf(exchange.edcaf);
        let originator = &mut access.originators[index];
        let before = originator.held();
        // What is still missing was counted as an attempt when it was sent.
        let all = originator.pending.len().min(Bitmap::BITS);
        let never = AttemptsMax::all(u8::MAX);
        let released = &mut cx.outbox.released;
        let number_acked = originator.settle(all, acked, never, released, |_| {});
        originator.request_answered(number_acked > 0);
        let after = originator.held();
        let packets = access.let_go(before, after);
        self.hold(now, 0, packets);
        self.link_stats(exchange.peer).mpdus_acked += u64::from(number_acked);
        self.go_on(cx, exchange, packets);
        Settled { mpdus: number_acked, is_given_up: false }
    }

    /// Completes the settlement of `packets` released packets: others take their place.
    fn go_on(&mut self, cx: &mut Context<'_>, exchange: &Exchange, packets: u32) {
        if packets > 0 {
            self.announce_room(cx.outbox);
        }
        self.fill_driver(cx, exchange.edcaf);
        self.build_ahead(cx, exchange.edcaf, exchange.peer);
    }
}
