/* SPDX-License-Identifier: GPL-2.0-only */
/* Keeps MPDUs that are too long for A-MPDUs out of them. */
#ifndef LASTHOP_JUMBO_GUARD_H
#define LASTHOP_JUMBO_GUARD_H

#include <linux/types.h>

/* Starts the guard; returns 0, or an error of the kernel if it cannot run here. */
int jumbo_guard_start(void);
/* Stops the guard, if it runs; afterwards no frame is read. */
void jumbo_guard_stop(void);
/* Whether the guard runs. */
bool jumbo_guard_runs(void);

#endif
