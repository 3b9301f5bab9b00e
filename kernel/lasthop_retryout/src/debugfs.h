/* SPDX-License-Identifier: GPL-2.0-only */
/* What the module shows in debugfs, in the folder lasthop_retryout. */
#ifndef LASTHOP_RETRYOUT_DEBUGFS_H
#define LASTHOP_RETRYOUT_DEBUGFS_H

struct dentry;

/* The folder; files that could not be made are missing. */
struct dentry *ro_debugfs_start(bool learns);

void ro_debugfs_stop(void);

#endif
