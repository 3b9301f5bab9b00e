/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much of what a station sent was TCP, by size of the packet: what is to
 * be expected inside of an encrypted MPDU with an error, which nobody can
 * read. Packets are seen where the stack takes them, decrypted.
 */
#ifndef LASTHOP_RETRYOUT_SHARE_H
#define LASTHOP_RETRYOUT_SHARE_H

#include <linux/types.h>

#define RO_SIZES 4

/**
 * struct ro_share - of one station and TID
 * @tcp: by size: smoothed share of TCP, in 65535ths
 * @seen: by size: packets, up to 255
 */
struct ro_share {
	u16 tcp[RO_SIZES];
	u8 seen[RO_SIZES];
};

/* A packet of @bytes (from its IP header on) was TCP, or was not. */
void ro_share_learn(struct ro_share *share, unsigned int bytes, bool is_tcp);

/* Whether an MPDU with a packet of @bytes is to be taken for TCP. */
bool ro_share_expects_tcp(const struct ro_share *share, unsigned int bytes,
			  unsigned int percent);

/* Begins and ends to listen. Without CONFIG_TRACEPOINTS: -ENOENT. */
int ro_share_start(void);
void ro_share_stop(void);

#endif
