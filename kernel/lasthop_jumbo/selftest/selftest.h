/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The decision held against a table; run at load in debug builds, and by `make check`. */
#ifndef LASTHOP_JUMBO_SELFTEST_H
#define LASTHOP_JUMBO_SELFTEST_H

#if defined(LASTHOP_SELFTEST) || !defined(__KERNEL__)
/* 0, or -EINVAL after a line for every row that failed. */
int jumbo_selftest(void);
#else
static inline int jumbo_selftest(void)
{
	return 0;
}
#endif

#endif
