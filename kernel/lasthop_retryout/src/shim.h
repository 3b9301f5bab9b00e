/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Types of the decision core, for the kernel and for user space.
 *
 * core.c, reorder.c and frame.c include nothing else, so that the same files
 * are compiled into the module and into the tests of crates/kernel-core.
 */
#ifndef LASTHOP_RETRYOUT_SHIM_H
#define LASTHOP_RETRYOUT_SHIM_H

#ifdef __KERNEL__
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
typedef __UINT8_TYPE__ u8;
typedef __UINT16_TYPE__ u16;
typedef __UINT32_TYPE__ u32;
typedef __UINT64_TYPE__ u64;
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#endif

/* Sequence numbers have 12 bits (IEEE 802.11-2020, 9.2.4.4.2). */
#define RO_SEQUENCES 4096

static inline u16 ro_seq(u32 number)
{
	return number & (RO_SEQUENCES - 1);
}

/* Returns the distance from @b forward to @a, modulo 4096. */
static inline u16 ro_seq_distance(u16 a, u16 b)
{
	return ro_seq(a - b);
}

/* Returns whether @a is before @b: less than half of the range behind it. */
static inline bool ro_seq_before(u16 a, u16 b)
{
	return ro_seq_distance(b, a) - 1u < RO_SEQUENCES / 2 - 1u;
}

#endif
