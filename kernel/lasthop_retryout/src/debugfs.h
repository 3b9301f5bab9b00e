/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of the module in debugfs, in the folder lasthop_retryout. */
#ifndef LASTHOP_RETRYOUT_DEBUGFS_H
#define LASTHOP_RETRYOUT_DEBUGFS_H

struct dentry;

/* Creates the folder and its files, as far as possible. */
struct dentry *ro_debugfs_start(bool learns);

void ro_debugfs_stop(void);

#endif
