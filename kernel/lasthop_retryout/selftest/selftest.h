/* SPDX-License-Identifier: GPL-2.0-only */
/* What debug builds do at load, and in debugfs. */
#ifndef LASTHOP_RETRYOUT_SELFTEST_H
#define LASTHOP_RETRYOUT_SELFTEST_H

struct dentry;

/* 0 if all cases hold; else an error, and a line in the log. */
int ro_selftest(void);

/*
 * Makes the file fuzz: writing a number N (or "N SEED") runs N random frames
 * of synthetic stations through the hook; reading it says what came of it; "bench N"
 * measures good frames.
 */
void ro_fuzz_start(struct dentry *folder);

/* Makes the file inject; see inject.c. */
void ro_inject_start(struct dentry *folder);

#endif
