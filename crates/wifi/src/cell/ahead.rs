//! A-MPDUs of a station that are built before it has won the channel (`built_ahead`). A driver
//! builds when packets come and when a transmission is complete, until the hardware queue of the
//! EDCAF is full ([`Hardware`](super::hardware::Hardware)).
//!
//! The driver serves the stations in turn, or in the order of a queue that shares airtime, which
//! replaced the turns in Linux 4.11. A turn is lost whenever a packet comes and the hardware queue
//! is full. MPDUs to repeat are built like new ones. An A-MPDU without any
//! response stays first in its queue, because the hardware repeats it.

use super::edcaf::Gate;
use super::exchange::single::Sent;
use super::frames::{AmpduLimits, Context};
use super::hardware::{Turn, mpdus_on_air};
use super::station::Station;
use crate::mac::rate::RateControl;
use crate::phy::Rate;
use crate::station::Address;
use lasthop_units::Instant;

impl Station {
    /// Builds A-MPDUs until the hardware queue is full; packets or MPDUs for `peer` are new.
    #[inline]
    pub fn build_ahead(&mut self, cx: &mut Context<'_>, edcaf: usize, peer: Address) {
        if self.config.aggregation.built_ahead {
            self.fill_hardware(cx, edcaf, peer);
        }
    }

    /// Leaves a transmission without a response first in the hardware queue, with the `mpdus` that
    /// were not given up.
    pub fn repeat_in_hardware(&mut self, sent: &Sent, mpdus: usize) {
        let peer = sent.peer;
        if mpdus == 0 || peer == Address::Group || !self.config.aggregation.built_ahead {
            return;
        }
        let access = self.edcaf(sent.edcaf);
        if access.absent.is_dozing(peer) {
            return;
        }
        let originator = access.originator(peer).map(|index| &access.originators[index]);
        let is_agreed = originator.is_some_and(|one| one.agreement.window().is_some());
        access.hardware.push_first(Turn { peer, mpdus: if is_agreed { mpdus } else { 0 } });
    }

    #[inline(never)]
    fn fill_hardware(&mut self, cx: &mut Context<'_>, edcaf: usize, peer: Address) {
        self.originator(cx.settings, edcaf, peer);
        let on_air = self.exchange.as_ref().and_then(|exchange| exchange.data_of(edcaf));
        let access = self.edcaf(edcaf);
        if access.gate != Gate::Open {
            return;
        }
        access.shorten_built(on_air);
        access.await_turn(peer, on_air);
        while self.edcaf(edcaf).has_hardware_space(on_air)
            && let Some(peer) = self.edcaf(edcaf).next_to_build(on_air)
        {
            self.build_turn(cx, edcaf, peer, on_air);
            self.edcaf(edcaf).await_turn(peer, on_air);
        }
        let access = self.edcaf(edcaf);
        let is_full = !access.has_hardware_space(on_air);
        access.hardware.end_calls(is_full);
    }

    /// Builds an A-MPDU for `peer`; without an agreement, `peer` has a turn for a frame.
    ///
    /// An MPDU that was taken and does not fit begins the next A-MPDU, as in `ath_tx_form_aggr`,
    /// which returns it to the front of the station's queue (`retry_q`).
    fn build_turn(
        &mut self,
        cx: &mut Context<'_>,
        edcaf: usize,
        peer: Address,
        on_air: Option<Turn>,
    ) {
        let index = self.originator(cx.settings, edcaf, peer);
        let access = self.edcaf(edcaf);
        let place = access.hardware.mpdus_for(peer) + mpdus_on_air(on_air, peer);
        let originator = &access.originators[index];
        let is_agreed = originator.agreement.window().is_some();
        let (is_asking, has_window) = (originator.block_ack_request_due, originator.has_window());
        let rate = originator.rate_control.as_ref().map(RateControl::main_rate);
        let rate = rate.unwrap_or(cx.settings.group_rate);
        let has_more = is_agreed
            && (originator.pending.len() > place
                || has_window && self.pull(cx, edcaf, index, u32::MAX).is_some());
        let mpdus = if has_more {
            let opportunity_end = cx.now + self.config.access[edcaf].txop_limit;
            let limits = self.limits_of_chain(cx, edcaf, index, rate, opportunity_end);
            self.aggregate(cx, edcaf, index, place, limits, rate.always_aggregates()).0
        } else {
            0
        };
        let access = self.edcaf(edcaf);
        if has_more || !is_agreed || is_asking && !access.hardware.has(peer) {
            access.hardware.push(Turn { peer, mpdus });
        }
    }

    /// The limits of an A-MPDU that hardware may repeat at every rate of the chain: those of the
    /// slowest (`ath_lookup_rate`).
    fn limits_of_chain(
        &self,
        cx: &mut Context<'_>,
        edcaf: usize,
        index: usize,
        rate: Rate,
        opportunity_end: Instant,
    ) -> AmpduLimits {
        let mut limits = self.ampdu_limits(cx, edcaf, index, rate, opportunity_end);
        let access = self.edcafs[edcaf].as_ref().expect("it builds");
        let control = access.originators[index].rate_control.as_ref();
        for later in control.into_iter().flat_map(RateControl::later_rates) {
            if later != rate {
                let slower = self.ampdu_limits(cx, edcaf, index, later, opportunity_end);
                limits.bytes_max = limits.bytes_max.min(slower.bytes_max);
                limits.frames_max = limits.frames_max.min(slower.frames_max);
            }
        }
        limits
    }
}
