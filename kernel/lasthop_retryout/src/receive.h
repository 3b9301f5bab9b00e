/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What pseudo retry-out does with a received frame, before and after mac80211
 * sees it. Called in softirq, where a driver delivers, one frame at a time for
 * a station.
 */
#ifndef LASTHOP_RETRYOUT_RECEIVE_H
#define LASTHOP_RETRYOUT_RECEIVE_H

#include <linux/percpu.h>
#include "station.h"

/**
 * struct ro_totals - of all frames, by CPU
 * @frames: went through the hook
 * @failed: of these: delivered with a failed FCS
 * @foreign: of the failed ones: from no station with an agreement
 * @other_format: of the frames: not of IEEE 802.11, or not readable
 */
struct ro_totals {
	u64 frames;
	u64 failed;
	u64 foreign;
	u64 other_format;
};

DECLARE_PER_CPU(struct ro_totals, ro_totals);

/**
 * struct ro_move - a window of mac80211's that has to be moved
 * @due: it has to be
 * @tid: of the agreement
 * @start: to this number
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
 * Takes the frame into account. False: it was marked as lost and is not to be
 * delivered. @move is to be carried out once mac80211 has had the frame.
 */
bool ro_receive(struct ieee80211_hw *hw, struct ieee80211_sta *sta,
		struct sk_buff *skb, struct ro_move *move);

/* Moves mac80211's window: what waits behind marked MPDUs is delivered. */
void ro_carry_out(struct ieee80211_hw *hw, const struct ro_move *move,
		  struct napi_struct *napi);

#endif
