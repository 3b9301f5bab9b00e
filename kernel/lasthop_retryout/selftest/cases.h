/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Cases that need no kernel: run at load in debug builds, and as a program. */
#ifndef LASTHOP_RETRYOUT_CASES_H
#define LASTHOP_RETRYOUT_CASES_H

/* NULL if all hold, else what does not. */
const char *ro_cases_run(void);

#endif
