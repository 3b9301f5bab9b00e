/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A mirror of mac80211's reorder buffer (IEEE 802.11-2020, 10.25.6.6), which
 * modules cannot read. It contains only numbers, for agreements over 1 to 64
 * MPDUs. The mirror's head equals that of mac80211, or is behind it briefly
 * when a timeout has passed only there. So a request to mac80211 never skips an
 * MPDU for which mac80211 still waits.
 *
 * The clock counts the caller's ticks (jiffies) and may wrap.
 */
#ifndef LASTHOP_RETRYOUT_REORDER_H
#define LASTHOP_RETRYOUT_REORDER_H

#include "shim.h"

#define RO_REORDER_MAX 64

/**
 * struct ro_reorder - numbers that wait behind a gap
 * @held: bit for each number modulo 64: received, and waiting
 * @skipped: bit for each number modulo 64: given up
 * @since: time of reception for each number modulo 64
 * @head: WinStartB, the next number to deliver
 * @size: size of the window
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

/* Begins an agreement over @size MPDUs (1 to 64) at @start. */
void ro_reorder_init(struct ro_reorder *reorder, u16 start, u16 size);

/* Adds @sequence, received without error at @now. */
void ro_reorder_receive(struct ro_reorder *reorder, u16 sequence, u32 now);

/* Gives up @sequence. */
void ro_reorder_skip(struct ro_reorder *reorder, u16 sequence);

/* Moves the window to @start, as a Block Ack Request does. */
void ro_reorder_request(struct ro_reorder *reorder, u16 start);

/* Gives up gaps before MPDUs that have waited for @timeout at @now. */
void ro_reorder_timeout(struct ro_reorder *reorder, u32 now, u32 timeout);

/*
 * Returns whether the window passed a skipped number since the last call.
 * @start is then the new start for a buffer without skips.
 */
bool ro_reorder_owed(struct ro_reorder *reorder, u16 *start);

#endif
