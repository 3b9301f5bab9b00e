/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Pseudo retry-out: the receiver gives up erroneous MPDUs (M. Nomoto et
 * al., "A Solution for Bufferbloat Problem in Upload TCP Communication over
 * IEEE 802.11n WLAN Only by Modifying Access Point", section III).
 *
 * The decisions equal those of wifi::mac::retry_out in Rust, line by line;
 * crates/kernel-core compares both. Rates are in kb/s, up to 16 000 000. The
 * code allocates no memory, takes no lock and reads no clock. The caller owns
 * the reorder buffer and passes its head.
 */
#ifndef LASTHOP_RETRYOUT_CORE_H
#define LASTHOP_RETRYOUT_CORE_H

#include "shim.h"

#define RO_STEPS_MAX 4
#define RO_WINDOW_MAX 1024
#define RO_KBPS_MAX 16000000

/**
 * struct ro_step - one step of a table
 * @below_kbps: upper limit of the smoothed data rate, exclusive; zero
 *	disables the step
 * @retransmissions: retransmissions before an MPDU is given up
 */
struct ro_step {
	u32 below_kbps;
	u8 retransmissions;
};

/**
 * struct ro_table - numbers of retransmissions by rate
 * @steps: in ascending order; above the last step no MPDU is given up
 * @weight_256: weight of a new MPDU's data rate in the smoothed one, in
 *	256ths, 1 to 256
 */
struct ro_table {
	struct ro_step steps[RO_STEPS_MAX];
	u16 weight_256;
};

/* Table I of the paper, with its smoothing coefficient of 0.25. */
extern const struct ro_table ro_table_paper;

/**
 * enum ro_decision - handling of an MPDU, or of the report of an erroneous one
 * @RO_DELIVER: in sequence: delivered, with MPDUs that wait for it
 * @RO_BUFFER: waits in the reorder buffer for earlier MPDUs
 * @RO_OLD: older than the head of the reorder buffer
 * @RO_IGNORE: marked as lost before: not delivered, although acknowledged
 * @RO_COUNT_ONLY: erroneous, and counted
 * @RO_LOST: erroneous, and marked as lost with this reception
 */
enum ro_decision {
	RO_DELIVER,
	RO_BUFFER,
	RO_OLD,
	RO_IGNORE,
	RO_COUNT_ONLY,
	RO_LOST,
};

/**
 * struct ro_verdict - a decision about an erroneous MPDU
 * @decision: RO_COUNT_ONLY or RO_LOST
 * @retransmissions: number from the count of errors, 0 to 255
 */
struct ro_verdict {
	enum ro_decision decision;
	u8 retransmissions;
};

/**
 * struct ro_core - state of the decisions for one Block Ack agreement
 * @table: Table I
 * @kbps_256: smoothed data rate in kb/s times 256; zero before the first MPDU
 * @slots: number of remembered sequence numbers; divides 4096
 * @newest: the greatest sequence number so far
 * @received: for each slot: received without error
 * @lost: for each slot: marked as lost
 * @errors: for each slot: number of erroneous receptions
 */
struct ro_core {
	struct ro_table table;
	u32 kbps_256;
	u16 slots;
	u16 newest;
	u64 received[RO_WINDOW_MAX / 64];
	u64 lost[RO_WINDOW_MAX / 64];
	u8 errors[RO_WINDOW_MAX];
};

/* Begins an agreement with a window of 1 to 1024 MPDUs, at @start. */
void ro_core_init(struct ro_core *core, const struct ro_table *table, u16 start,
		  u16 window);

/* Decides about an MPDU without error at @kbps; the buffer waits for @head. */
enum ro_decision ro_core_received(struct ro_core *core, u16 sequence, u16 head,
				  u32 kbps);

/* Decides about an MPDU with an error at @kbps; the buffer waits for @head. */
struct ro_verdict ro_core_errored(struct ro_core *core, u16 sequence, u16 head,
				  u32 kbps, bool carries_tcp);

/* Applies a Block Ack Request: the sender has settled all before @start. */
void ro_core_request(struct ro_core *core, u16 start);

/* Returns whether @sequence is marked as lost, without a change. */
bool ro_core_is_lost(const struct ro_core *core, u16 sequence);

/* Returns the smoothed data rate in kb/s, zero before the first MPDU. */
u32 ro_core_kbps(const struct ro_core *core);

/* Returns whether @table is valid: in range and in ascending order. */
bool ro_table_is_valid(const struct ro_table *table);

#endif
