/* SPDX-License-Identifier: GPL-2.0-only */
/* Keeps too long MPDUs out of A-MPDUs. */
#ifndef LASTHOP_JUMBO_GUARD_H
#define LASTHOP_JUMBO_GUARD_H

#include <linux/types.h>

/* Starts the guard. Returns 0, or the kernel's error if the guard cannot run here. */
int jumbo_guard_start(void);
/* Stops the guard if it runs. No probe reads a frame after the return. */
void jumbo_guard_stop(void);
/* Returns whether the guard runs. */
bool jumbo_guard_runs(void);

#endif
