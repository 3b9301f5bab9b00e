// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The decisions of core.h, without division and floating point. The longest
 * loop runs once over the remembered numbers (at most 1024, 64 in the module).
 */
#include "core.h"

const struct ro_table ro_table_paper = {
	.steps = {
		{ 25000, 2 },
		{ 50000, 5 },
		{ 100000, 8 },
		{ 0, 0 },
	},
	.weight_256 = 64,
};

static u16 slot_of(const struct ro_core *core, u16 sequence)
{
	return sequence & (core->slots - 1);
}

static bool contains(const u64 *bits, u16 slot)
{
	return bits[slot / 64] >> (slot % 64) & 1;
}

static void insert(u64 *bits, u16 slot)
{
	bits[slot / 64] |= (u64)1 << (slot % 64);
}

static void forget(struct ro_core *core, u16 sequence)
{
	u16 slot = slot_of(core, sequence);
	u64 others = ~((u64)1 << (slot % 64));

	core->received[slot / 64] &= others;
	core->lost[slot / 64] &= others;
	core->errors[slot] = 0;
}

/* Remembers @sequence. Returns false if it is older than all remembered. */
static bool remember(struct ro_core *core, u16 sequence)
{
	u16 ahead, back;

	if (!ro_seq_before(core->newest, sequence))
		return ro_seq_distance(core->newest, sequence) < core->slots;
	/* Numbers a whole window back are settled: the sender has moved on. */
	ahead = ro_seq_distance(sequence, core->newest);
	if (ahead > core->slots)
		ahead = core->slots;
	for (back = 0; back < ahead; back++)
		forget(core, ro_seq(sequence - back));
	core->newest = sequence;
	return true;
}

static void update_rate(struct ro_core *core, u32 kbps)
{
	u32 weight = core->table.weight_256;
	u32 smaller;

	if (core->kbps_256 == 0) {
		core->kbps_256 = kbps * 256;
		return;
	}
	smaller = (u64)core->kbps_256 * weight >> 8;
	core->kbps_256 = core->kbps_256 - smaller + kbps * weight;
}

/* Looks up the smoothed rate in the table; false above the last step. */
static bool retry_out_index(const struct ro_core *core, u8 *index)
{
	int i;

	for (i = 0; i < RO_STEPS_MAX; i++) {
		if (core->kbps_256 < core->table.steps[i].below_kbps * 256) {
			*index = core->table.steps[i].retransmissions;
			return true;
		}
	}
	return false;
}

void ro_core_init(struct ro_core *core, const struct ro_table *table, u16 start,
		  u16 window)
{
	memset(core, 0, sizeof(*core));
	core->table = *table;
	if (window <= 64)
		core->slots = 64;
	else if (window <= 256)
		core->slots = 256;
	else if (window <= 512)
		core->slots = 512;
	else
		core->slots = 1024;
	core->newest = ro_seq(start - 1);
}

enum ro_decision ro_core_received(struct ro_core *core, u16 sequence, u16 head,
				  u32 kbps)
{
	u16 slot;

	update_rate(core, kbps);
	if (!remember(core, sequence))
		return RO_OLD;
	slot = slot_of(core, sequence);
	if (contains(core->lost, slot))
		return RO_IGNORE;
	insert(core->received, slot);
	if (sequence == head)
		return RO_DELIVER;
	if (ro_seq_before(head, sequence))
		return RO_BUFFER;
	return RO_OLD;
}

struct ro_verdict ro_core_errored(struct ro_core *core, u16 sequence, u16 head,
				  u32 kbps, bool carries_tcp)
{
	struct ro_verdict verdict = { RO_COUNT_ONLY, 0 };
	bool awaited, settled;
	u16 slot;
	u8 index;

	update_rate(core, kbps);
	if (!remember(core, sequence))
		return verdict;
	slot = slot_of(core, sequence);
	verdict.retransmissions = core->errors[slot];
	if (core->errors[slot] < 255)
		core->errors[slot]++;
	awaited = ro_seq_distance(sequence, head) < core->slots;
	settled = contains(core->received, slot) || contains(core->lost, slot);
	if (carries_tcp && awaited && !settled && retry_out_index(core, &index) &&
	    verdict.retransmissions >= index) {
		insert(core->lost, slot);
		verdict.decision = RO_LOST;
	}
	return verdict;
}

void ro_core_request(struct ro_core *core, u16 start)
{
	u16 back, sequence;

	if (ro_seq_before(core->newest, start))
		remember(core, ro_seq(start - 1));
	for (back = 0; back < core->slots; back++) {
		sequence = ro_seq(core->newest - back);
		if (ro_seq_before(sequence, start))
			forget(core, sequence);
	}
}

bool ro_core_is_lost(const struct ro_core *core, u16 sequence)
{
	return ro_seq_distance(core->newest, sequence) < core->slots &&
	       contains(core->lost, slot_of(core, sequence));
}

u32 ro_core_kbps(const struct ro_core *core)
{
	return core->kbps_256 / 256;
}

bool ro_table_is_valid(const struct ro_table *table)
{
	u32 last = 0;
	int i;

	if (table->weight_256 < 1 || table->weight_256 > 256)
		return false;
	for (i = 0; i < RO_STEPS_MAX; i++) {
		u32 below = table->steps[i].below_kbps;

		if (below == 0)
			break;
		if (below <= last || below > RO_KBPS_MAX)
			return false;
		last = below;
	}
	for (; i < RO_STEPS_MAX; i++)
		if (table->steps[i].below_kbps)
			return false;
	return true;
}
