// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The mirror of reorder.h. Each call moves the head by at most the window, or
 * in one step if no MPDU waits.
 */
#include "reorder.h"

static u64 bit_of(u16 sequence)
{
	return (u64)1 << (sequence % RO_REORDER_MAX);
}

/* Moves the head by one number; false if the buffer waits for it. */
static bool release_next(struct ro_reorder *reorder)
{
	u64 bit = bit_of(reorder->head);

	if (reorder->skipped & bit) {
		reorder->skipped &= ~bit;
		reorder->owed_to = ro_seq(reorder->head + 1);
		reorder->owed = true;
		return true;
	}
	if (reorder->held & bit) {
		reorder->held &= ~bit;
		return true;
	}
	return false;
}

static void release_in_order(struct ro_reorder *reorder)
{
	while ((reorder->held || reorder->skipped) && release_next(reorder))
		reorder->head = ro_seq(reorder->head + 1);
}

static void advance_to(struct ro_reorder *reorder, u16 start)
{
	while (reorder->head != start) {
		if (!reorder->held && !reorder->skipped) {
			reorder->head = start;
			return;
		}
		release_next(reorder);
		reorder->head = ro_seq(reorder->head + 1);
	}
}

void ro_reorder_init(struct ro_reorder *reorder, u16 start, u16 size)
{
	memset(reorder, 0, sizeof(*reorder));
	reorder->head = ro_seq(start);
	if (size < 1)
		size = 1;
	reorder->size = size < RO_REORDER_MAX ? size : RO_REORDER_MAX;
}

void ro_reorder_receive(struct ro_reorder *reorder, u16 sequence, u32 now)
{
	u16 offset = ro_seq_distance(sequence, reorder->head);
	u64 bit = bit_of(sequence);

	if (offset == 0 && !reorder->held) {
		reorder->head = ro_seq(sequence + 1);
		release_in_order(reorder);
		return;
	}
	if (offset >= RO_SEQUENCES / 2)
		return;
	if (offset >= reorder->size)
		advance_to(reorder, ro_seq(sequence - (reorder->size - 1)));
	if ((reorder->held | reorder->skipped) & bit)
		return;
	reorder->held |= bit;
	reorder->since[sequence % RO_REORDER_MAX] = now;
	release_in_order(reorder);
}

void ro_reorder_skip(struct ro_reorder *reorder, u16 sequence)
{
	u64 bit = bit_of(sequence);

	if (ro_seq_distance(sequence, reorder->head) >= RO_REORDER_MAX ||
	    reorder->held & bit)
		return;
	reorder->skipped |= bit;
	release_in_order(reorder);
}

void ro_reorder_request(struct ro_reorder *reorder, u16 start)
{
	if (!ro_seq_before(reorder->head, start))
		return;
	advance_to(reorder, start);
	release_in_order(reorder);
}

void ro_reorder_timeout(struct ro_reorder *reorder, u32 now, u32 timeout)
{
	u16 ahead;

	for (ahead = 0; reorder->held && ahead < reorder->size; ahead++) {
		u16 sequence = ro_seq(reorder->head + ahead);

		if (!(reorder->held & bit_of(sequence)))
			continue;
		if (now - reorder->since[sequence % RO_REORDER_MAX] < timeout)
			return;
		advance_to(reorder, sequence);
		release_in_order(reorder);
		ahead = (u16)-1;
	}
}

bool ro_reorder_owed(struct ro_reorder *reorder, u16 *start)
{
	bool owed = reorder->owed;

	*start = reorder->owed_to;
	reorder->owed = false;
	return owed;
}
