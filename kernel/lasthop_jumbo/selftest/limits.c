// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Compares the decision with a table of expected limits. The figures are derived by hand from
 * the standard (IEEE 802.11-2020, table 9-25, 9.7.1) and from the drivers' sources, not from
 * the code under test. Debug builds of the module and a program include this file.
 */
#ifdef __KERNEL__
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#else
#include <errno.h>
#include <stdio.h>
#define pr_info(...) printf(__VA_ARGS__)
#define pr_err(...) printf(__VA_ARGS__)
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#endif

#include "../src/limits.h"
#include "selftest.h"

struct row {
	const char *what;
	u32 mtu;
	bool force;
	u32 before;
	struct jumbo_phy phy;
	u32 limit;
	enum jumbo_reason reason;
};

#define HT .ht = true, .aggregates = true
#define ANY .driver_mpdu_bytes_max = JUMBO_DRIVER_ANY

static const struct row rows[] = {
	{ "the paper's", 4000, false, 2304, { HT, ANY }, 4000, JUMBO_RAISED },
	{ "longest with a guard", 7935, false, 2304, { HT, ANY, .guarded = true },
	  7935, JUMBO_RAISED },
	/* 4095 less 86. */
	{ "longest without a guard", 7935, false, 2304, { HT, ANY }, 4009,
	  JUMBO_RAISED_TO_AMPDU },
	{ "the longest in an A-MPDU", 4009, false, 2304, { HT, ANY }, 4009, JUMBO_RAISED },
	{ "one byte more", 4010, false, 2304, { HT, ANY }, 4009, JUMBO_RAISED_TO_AMPDU },
	{ "never aggregates", 7935, false, 2304, { .ht = true, ANY }, 7935, JUMBO_RAISED },
	{ "not HT", 4000, false, 2304, { ANY }, 2304, JUMBO_NOT_HT },
	{ "not HT, forced", 4000, true, 2304, { ANY }, 2304, JUMBO_NOT_HT },
	{ "a monitor", 4000, false, 0, { HT, ANY }, 0, JUMBO_ENOUGH },
	{ "has more", 4000, false, 9000, { HT, ANY }, 9000, JUMBO_ENOUGH },
	{ "has as much", 4000, false, 4000, { HT, ANY }, 4000, JUMBO_ENOUGH },
	{ "one byte", 2305, false, 2304, { HT, ANY }, 2305, JUMBO_RAISED },
	/* ath9k: 3852 less 86. */
	{ "two buffers", 4000, false, 2304, { HT, .driver_mpdu_bytes_max = 3852 }, 3766,
	  JUMBO_RAISED_TO_DRIVER },
	{ "two buffers, forced", 4000, true, 2304, { HT, .driver_mpdu_bytes_max = 3852 }, 4000,
	  JUMBO_RAISED },
	{ "forced beyond A-MPDUs", 7935, true, 2304, { HT, .driver_mpdu_bytes_max = 3852 }, 4009,
	  JUMBO_RAISED_TO_AMPDU },
	{ "refuses", 4000, false, 2304, { HT, .driver_mpdu_bytes_max = 1 }, 2304, JUMBO_REFUSED },
	{ "refuses, forced", 4000, true, 2304, { HT, .driver_mpdu_bytes_max = 1 }, 4000,
	  JUMBO_RAISED },
	{ "refuses, named", 4000, false, 2304,
	  { HT, .driver_mpdu_bytes_max = 1, .named = true }, 2304, JUMBO_REFUSED },
	{ "moves no more than stock", 4000, false, 2304, { HT, .driver_mpdu_bytes_max = 2352 },
	  2304, JUMBO_REFUSED },
	{ "moves less than headers", 4000, false, 2304, { HT, .driver_mpdu_bytes_max = 80 }, 2304,
	  JUMBO_REFUSED },
	{ "unknown", 4000, false, 2304, { HT }, 2304, JUMBO_UNKNOWN },
	{ "unknown, named", 4000, false, 2304, { HT, .named = true }, 4000, JUMBO_RAISED },
	{ "unknown, forced", 4000, true, 2304, { HT }, 4000, JUMBO_RAISED },
	{ "own limit", 4000, false, 1500, { HT, ANY, .own_limit = true }, 1500, JUMBO_OWN_LIMIT },
	{ "own limit, forced", 4000, true, 1500, { HT, ANY, .own_limit = true }, 4000,
	  JUMBO_RAISED },
};

int jumbo_selftest(void)
{
	unsigned int failed = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		struct jumbo_decision got = jumbo_decide(row->mtu, row->force, row->before,
							 &row->phy);

		if (got.limit_bytes == row->limit && got.reason == row->reason)
			continue;
		failed++;
		pr_err("selftest: %s: limit %u for reason %d, expected %u for %d\n", row->what,
		       got.limit_bytes, (int)got.reason, row->limit, (int)row->reason);
	}
	/* An HT peer: 12 bits. A VHT peer: its announced limit. */
	if (jumbo_goes_alone(4095, 0) || !jumbo_goes_alone(4096, 0) ||
	    jumbo_goes_alone(7991, 11454) || !jumbo_goes_alone(7992, 7991) ||
	    !jumbo_goes_alone(3896, 3895)) {
		failed++;
		pr_err("selftest: MPDUs of the wrong length go alone\n");
	}
	if (failed)
		return -EINVAL;
	pr_info("selftest: %u rows hold\n", (unsigned int)ARRAY_SIZE(rows) + 1);
	return 0;
}
