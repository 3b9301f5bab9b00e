/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A table of expected decisions. Debug builds check it at load, and `make check` as a program. */
#ifndef LASTHOP_JUMBO_SELFTEST_H
#define LASTHOP_JUMBO_SELFTEST_H

#if defined(LASTHOP_SELFTEST) || !defined(__KERNEL__)
/* Returns 0, or prints a line for each failed row and returns -EINVAL. */
int jumbo_selftest(void);
#else
static inline int jumbo_selftest(void)
{
	return 0;
}
#endif

#endif
