/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Share of TCP in the packets of a station, by packet size. The share predicts
 * the content of encrypted MPDUs with an error, which are not readable. Packets
 * are counted after decryption, at the entry of the network stack.
 */
#ifndef LASTHOP_RETRYOUT_SHARE_H
#define LASTHOP_RETRYOUT_SHARE_H

#include <linux/types.h>

#define RO_SIZES 4

/**
 * struct ro_share - share of TCP for one station and TID
 * @tcp: for each size class: smoothed share of TCP, in 65535ths
 * @seen: for each size class: number of packets, up to 255
 */
struct ro_share {
	u16 tcp[RO_SIZES];
	u8 seen[RO_SIZES];
};

/* Learns from a packet of @bytes (from its IP header on). */
void ro_share_learn(struct ro_share *share, unsigned int bytes, bool is_tcp);

/* Returns whether an MPDU with a packet of @bytes counts as TCP. */
bool ro_share_expects_tcp(const struct ro_share *share, unsigned int bytes,
			  unsigned int percent);

/* Start and stop learning. Without CONFIG_TRACEPOINTS: -ENOENT. */
int ro_share_start(void);
void ro_share_stop(void);

#endif
