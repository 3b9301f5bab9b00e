/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Handles a received frame before and after mac80211. Runs in the softirq in
 * which the driver delivers, one frame at a time for a station.
 */
#ifndef LASTHOP_RETRYOUT_RECEIVE_H
#define LASTHOP_RETRYOUT_RECEIVE_H

#include <linux/percpu.h>
#include "station.h"

/**
 * struct ro_totals - counters of all frames, for each CPU
 * @frames: frames through the hook
 * @failed: frames with a failed FCS
 * @foreign: failed frames from stations without an agreement
 * @other_format: frames in another format than IEEE 802.11, or not readable
 */
struct ro_totals {
	u64 frames;
	u64 failed;
	u64 foreign;
	u64 other_format;
};

DECLARE_PER_CPU(struct ro_totals, ro_totals);

/**
 * struct ro_move - a due move of mac80211's window
 * @due: whether a move is due
 * @tid: TID of the agreement
 * @start: new start of the window
 * @station: address of the originator
 * @receiver: address of the interface
 */
struct ro_move {
	bool due;
	u8 tid;
	u16 start;
	u8 station[ETH_ALEN];
	u8 receiver[ETH_ALEN];
};

/*
 * Handles a frame. Returns false if the frame was marked as lost and must be
 * dropped. The caller carries out @move after mac80211 got the frame.
 */
bool ro_receive(struct ieee80211_hw *hw, struct ieee80211_sta *sta,
		struct sk_buff *skb, struct ro_move *move);

/* Moves mac80211's window, which delivers MPDUs behind the marked ones. */
void ro_carry_out(struct ieee80211_hw *hw, const struct ro_move *move,
		  struct napi_struct *napi);

#endif
