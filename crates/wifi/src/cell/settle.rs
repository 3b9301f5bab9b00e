//! Outcome of the MPDUs of an exchange: acknowledged, to be retransmitted, or given up (IEEE
//! 802.11-2020, 10.3.4.4 and 10.25.6.7). The module also counts the packets that the station
//! releases.

use super::Output;
use super::config::BlockAckRequestPolicy;
use super::exchange::single::{Sent, Settled, Single};
use super::frames::Context;
use super::station::Station;
use crate::air::Content;
use crate::mac::block_ack::Bitmap;
use crate::mac::originator::AttemptsMax;
use crate::station::Address;
use alloc::vec::Vec;
use lasthop_packet::DropReason;

impl Station {
    /// Settles a successful exchange; bit n of `acked` is MPDU n.
    pub fn answered(&mut self, cx: &mut Context<'_>, single: &Single, acked: &Bitmap) -> Settled {
        let settled = match single.content {
            Content::Data { mpdus, aggregated } => {
                self.settle(cx, &single.sent(mpdus, aggregated), acked, true)
            }
            Content::BlockAckRequest { .. } => {
                self.settle_request(cx, single.edcaf, single.peer, acked)
            }
            // The request waits for its answer, the answer was taken in already.
            Content::Management(_) | Content::Beacon => Settled::default(),
        };
        self.edcaf(single.edcaf).backoff.reset();
        settled
    }

    /// Settles an exchange without a response: for data, and for Block Ack Requests.
    pub fn unanswered(&mut self, cx: &mut Context<'_>, single: &Single) -> Settled {
        match single.content {
            Content::Data { mpdus, aggregated } => {
                self.data_unanswered(cx, &single.sent(mpdus, aggregated))
            }
            Content::BlockAckRequest { .. } => {
                self.request_unanswered(cx, single.edcaf, single.peer)
            }
            Content::Management(_) | Content::Beacon => Settled::default(),
        }
    }

    /// Settles data that a Block Ack answered; bit n of `acked` is MPDU n.
    pub fn data_answered(&mut self, cx: &mut Context<'_>, sent: &Sent, acked: &Bitmap) -> Settled {
        self.settle(cx, sent, acked, true)
    }

    /// Settles data without a response.
    pub fn data_unanswered(&mut self, cx: &mut Context<'_>, sent: &Sent) -> Settled {
        let index = self.originator(cx.settings, sent.edcaf, sent.peer);
        if sent.requesting {
            self.edcaf(sent.edcaf).originators[index].request_failed(sent.mpdus);
        }
        let settled = self.settle(cx, sent, &Bitmap::EMPTY, false);
        if sent.aggregated
            && !sent.requesting
            && self.config.block_ack.request == BlockAckRequestPolicy::AfterMissing
        {
            self.edcaf(sent.edcaf).originators[index].missed_block_ack();
        }
        settled
    }

    /// Settles a Block Ack Request without a response.
    pub fn request_unanswered(&mut self, cx: &Context<'_>, edcaf: usize, peer: Address) -> Settled {
        let retry_limit = self.config.retry_limit;
        let index = self.originator(cx.settings, edcaf, peer);
        let originator = &mut self.edcaf(edcaf).originators[index];
        originator.block_ack_request_attempts += 1;
        let given_up = originator.block_ack_request_attempts >= retry_limit;
        originator.failed(given_up);
        if given_up {
            originator.give_request_up();
        }
        Settled { mpdus: 0, is_given_up: given_up }
    }

    /// Settles data to a station, one of several, whose exchange ended before it was asked for its
    /// Block Ack: a Block Ack Request precedes the next data to it.
    pub fn not_asked(&mut self, cx: &mut Context<'_>, sent: &Sent) {
        let index = self.originator(cx.settings, sent.edcaf, sent.peer);
        let originator = &mut self.edcaf(sent.edcaf).originators[index];
        originator.block_ack_request_due = true;
        if !sent.in_space {
            originator.failed(false);
        }
        self.link_stats(sent.peer).mpdus_failed += sent.mpdus as u64;
    }

    /// Settles the MPDUs that were sent: acknowledged, pending again, or given up.
    fn settle(
        &mut self,
        cx: &mut Context<'_>,
        sent: &Sent,
        acked: &Bitmap,
        answered: bool,
    ) -> Settled {
        let (now, mpdus) = (cx.now, sent.mpdus);
        let index = self.originator(cx.settings, sent.edcaf, sent.peer);
        let retry_limit = self.config.retry_limit;
        if self.config.adaptive_mtu.is_some() && !sent.requesting {
            let (band, slot) = (cx.settings.band, cx.settings.timing.slot);
            self.report_lengths(now, band, slot, sent, index, acked);
        }
        let access = self.edcafs[sent.edcaf].as_mut().expect("it sent");
        let originator = &mut access.originators[index];
        let attempts_max = match sent.peer {
            // Group frames are sent once.
            Address::Group => AttemptsMax::all(1),
            Address::Station(_) => {
                let on_air = if sent.requesting { 0 } else { mpdus };
                originator.attempts_max(retry_limit, on_air, sent.rate)
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
        if answered && (number_acked > 0 || sent.in_space) {
            let is_most_lost = !sent.in_space && number_acked as usize * 2 < mpdus;
            originator.succeeded(is_most_lost);
        } else {
            originator.failed(lost_mpdus > 0);
        }
        if let Some(control) = &mut originator.rate_control
            && !sent.requesting
            && !sent.in_space
        {
            control.report(now, sent.rate, mpdus as u16, number_acked as u16);
        }
        let after = originator.held();
        let packets = access.let_go(before, after);
        if access.absent.may_hold() {
            access.absent.exchanged(sent.peer, answered || packets > 0);
        }
        self.hold(now, 0, packets);
        self.last_data = now;
        if let Some(away) = self.away.as_deref_mut() {
            away.count(number_acked, 0);
        }
        let station = self.id;
        let link = self.link_stats(sent.peer);
        link.mpdus_acked += u64::from(number_acked);
        if !sent.requesting {
            link.mpdus_failed += mpdus as u64 - u64::from(number_acked);
        }
        if sent.collided {
            link.collisions += 1;
        }
        if sent.peer == Address::Group {
            for packet in lost {
                cx.outbox.put_out(Output::GroupSent { at: now, station, packet });
            }
        } else {
            link.mpdus_lost += lost_mpdus;
            for packet in lost {
                cx.outbox.drop_packet(now, station, packet, DropReason::RetryLimit);
            }
        }
        if !answered {
            self.repeat_in_hardware(sent, mpdus - lost_mpdus as usize);
        }
        if answered || lost_mpdus > 0 {
            cx.outbox.interrupt(now, self.id);
        }
        self.go_on(cx, sent.edcaf, sent.peer, packets);
        Settled { mpdus: number_acked + lost_mpdus as u32, is_given_up: lost_mpdus > 0 }
    }

    /// Settles all pending MPDUs by the Block Ack that answers a request.
    pub fn settle_request(
        &mut self,
        cx: &mut Context<'_>,
        edcaf: usize,
        peer: Address,
        acked: &Bitmap,
    ) -> Settled {
        let now = cx.now;
        let index = self.originator(cx.settings, edcaf, peer);
        let access = self.edcaf(edcaf);
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
        self.link_stats(peer).mpdus_acked += u64::from(number_acked);
        self.go_on(cx, edcaf, peer, packets);
        Settled { mpdus: number_acked, is_given_up: false }
    }

    /// Completes the settlement of `packets` released packets: others take their place.
    fn go_on(&mut self, cx: &mut Context<'_>, edcaf: usize, peer: Address, packets: u32) {
        if packets > 0 {
            self.announce_space(cx.outbox);
        }
        self.fill_driver(cx, edcaf);
        self.edcaf(edcaf).hardware.call();
        self.build_ahead(cx, edcaf, peer);
    }
}
