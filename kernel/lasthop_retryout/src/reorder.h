/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A mirror of mac80211's reorder buffer (IEEE 802.11-2020, 10.25.6.6), which
 * modules cannot read: only numbers, for an agreement over 1 to 64 MPDUs. The
 * mirror's head is that of mac80211, or behind it for the moment in which a
 * timeout has passed there and not yet here. A request to mac80211 therefore
 * never skips an MPDU for which mac80211 still waits.
 *
 * The clock counts the caller's ticks (jiffies) and may wrap.
 */
#ifndef LASTHOP_RETRYOUT_REORDER_H
#define LASTHOP_RETRYOUT_REORDER_H

#include "shim.h"

#define RO_REORDER_MAX 64

/**
 * struct ro_reorder - numbers that wait behind a gap
 * @held: by number modulo 64: received, waits
 * @skipped: by number modulo 64: given up
 * @since: by number modulo 64: when it was received
 * @head: WinStartB, the number that is delivered next
 * @size: the window
 * @owed_to: the start to which mac80211's window has to move
 * @owed: whether it has to move
 */
struct ro_reorder {
	u64 held;
	u64 skipped;
	u32 since[RO_REORDER_MAX];
	u16 head;
	u16 size;
	u16 owed_to;
	bool owed;
};

/* An agreement over @size MPDUs (1 to 64) that begins at @start. */
void ro_reorder_init(struct ro_reorder *reorder, u16 start, u16 size);

/* @sequence was received without error at @now. */
void ro_reorder_receive(struct ro_reorder *reorder, u16 sequence, u32 now);

/* Gives up @sequence. */
void ro_reorder_skip(struct ro_reorder *reorder, u16 sequence);

/* A Block Ack Request moves the window to @start. */
void ro_reorder_request(struct ro_reorder *reorder, u16 start);

/* Gives up the gaps behind which an MPDU has waited for @timeout at @now. */
void ro_reorder_timeout(struct ro_reorder *reorder, u32 now, u32 timeout);

/*
 * Whether the window passed a skipped number since the last call; @start is then
 * the start to which a buffer without skips has to move.
 */
bool ro_reorder_owed(struct ro_reorder *reorder, u16 *start);

#endif
