// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Figure 4 of the paper, reception by reception: the decision, the head of the
 * reorder buffer, and the new start of mac80211's window. Then the edges of
 * Table I. All expected values are those of the paper.
 */
#include "../src/core.h"
#include "../src/frame.h"
#include "../src/reorder.h"
#include "cases.h"

struct reception {
	u16 sequence;
	bool good;
	enum ro_decision decision;
	u8 retransmissions;
	/* Afterwards: the head, and the new start for mac80211; 0: no move. */
	u16 head;
	u16 owed;
};

static const struct reception figure_4[] = {
	/* A-MPDU (1) */
	{ 1, true, RO_DELIVER, 0, 2, 0 },
	{ 2, false, RO_COUNT_ONLY, 0, 2, 0 },
	{ 3, true, RO_BUFFER, 0, 2, 0 },
	{ 4, false, RO_COUNT_ONLY, 0, 2, 0 },
	{ 5, true, RO_BUFFER, 0, 2, 0 },
	/* (2) */
	{ 6, false, RO_COUNT_ONLY, 0, 2, 0 },
	{ 7, true, RO_BUFFER, 0, 2, 0 },
	{ 8, true, RO_BUFFER, 0, 2, 0 },
	/* (3) */
	{ 2, false, RO_COUNT_ONLY, 1, 2, 0 },
	{ 4, false, RO_COUNT_ONLY, 1, 2, 0 },
	{ 9, false, RO_COUNT_ONLY, 0, 2, 0 },
	{ 10, false, RO_COUNT_ONLY, 0, 2, 0 },
	/* (4): 2 and 3 are delivered, 4 is marked, so 5 is delivered */
	{ 2, true, RO_DELIVER, 0, 4, 0 },
	{ 4, false, RO_LOST, 2, 6, 5 },
	{ 9, true, RO_BUFFER, 0, 6, 0 },
	{ 10, false, RO_COUNT_ONLY, 1, 6, 0 },
	/* (5): 6 to 9 */
	{ 6, true, RO_DELIVER, 0, 10, 0 },
	/* (6) */
	{ 4, false, RO_COUNT_ONLY, 3, 10, 0 },
	{ 10, true, RO_DELIVER, 0, 11, 0 },
	/* (7) */
	{ 4, true, RO_IGNORE, 0, 11, 0 },
};

static const char *run_figure_4(void)
{
	static struct ro_core core;
	struct ro_reorder reorder;
	size_t i;

	ro_core_init(&core, &ro_table_paper, 1, 64);
	ro_reorder_init(&reorder, 1, 64);
	for (i = 0; i < ARRAY_SIZE(figure_4); i++) {
		const struct reception *r = &figure_4[i];
		struct ro_verdict verdict = { RO_OLD, 0 };
		u16 owed;

		if (r->good) {
			verdict.decision = ro_core_received(&core, r->sequence,
							    reorder.head, 6500);
			if (verdict.decision != RO_IGNORE)
				ro_reorder_receive(&reorder, r->sequence, 0);
		} else {
			verdict = ro_core_errored(&core, r->sequence,
						  reorder.head, 6500, true);
			if (verdict.decision == RO_LOST)
				ro_reorder_skip(&reorder, r->sequence);
		}
		if (verdict.decision != r->decision ||
		    verdict.retransmissions != r->retransmissions)
			return "Figure 4: another decision than the paper's";
		if (!ro_reorder_owed(&reorder, &owed))
			owed = 0;
		if (reorder.head != r->head)
			return "Figure 4: other MPDUs are delivered than in the paper";
		if (owed != r->owed)
			return "Figure 4: mac80211 is moved to another number";
	}
	return NULL;
}

static const char *run_table_1(void)
{
	static const struct {
		u32 kbps;
		/* Receptions until the MPDU is marked; 0: never. */
		int receptions;
	} edges[] = {
		{ 6500, 3 },  { 24999, 3 }, { 25000, 6 },  { 49999, 6 },
		{ 50000, 9 }, { 99999, 9 }, { 100000, 0 }, { 600000, 0 },
	};
	static struct ro_core core;
	size_t i;
	int n;

	for (i = 0; i < ARRAY_SIZE(edges); i++) {
		ro_core_init(&core, &ro_table_paper, 4095, 64);
		for (n = 1; n <= 20; n++)
			if (ro_core_errored(&core, 4095, 4095, edges[i].kbps,
					    true)
				    .decision == RO_LOST)
				break;
		if (n > 20)
			n = 0;
		if (n != edges[i].receptions)
			return "Table I: another retry-out index than the paper's";
	}
	return NULL;
}

/* Reads frames of every length, so that a sanitizer checks each access. */
static const char *run_lengths(void)
{
	u8 bytes[RO_FRAME_BYTES];
	struct ro_frame frame;
	size_t length, i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = 0xaa;
	bytes[0] = 0x88;
	bytes[1] = 0x01;
	bytes[4] = 0x02;
	bytes[22] = 0x50;
	bytes[24] = 0;
	for (length = 0; length <= sizeof(bytes); length++) {
		/* At the end of the array, so that a byte beyond the frame is outside. */
		memmove(bytes + sizeof(bytes) - length, bytes, length);
		frame = ro_frame_read(bytes + sizeof(bytes) - length, length,
				      length, RO_BODY_AS_SAID);
		if (frame.kind != RO_FRAME_OTHER && length < 26)
			return "frames: a cut one was read";
		memmove(bytes, bytes + sizeof(bytes) - length, length);
	}
	return NULL;
}

const char *ro_cases_run(void)
{
	const char *wrong = run_figure_4();

	if (!wrong)
		wrong = run_table_1();
	if (!wrong)
		wrong = run_lengths();
	return wrong;
}
