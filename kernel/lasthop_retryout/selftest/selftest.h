/* SPDX-License-Identifier: GPL-2.0-only */
/* Tests of debug builds, at load and in debugfs. */
#ifndef LASTHOP_RETRYOUT_SELFTEST_H
#define LASTHOP_RETRYOUT_SELFTEST_H

struct dentry;

/* Returns 0 if all cases pass, else logs the case and returns an error. */
int ro_selftest(void);

/*
 * Creates the file fuzz. Writing N (or "N SEED") sends N random frames of
 * synthetic stations through the hook; "bench N" measures N good frames.
 * Reading the file returns the result.
 */
void ro_fuzz_start(struct dentry *folder);

/* Creates the file inject; see inject.c. */
void ro_inject_start(struct dentry *folder);

#endif
