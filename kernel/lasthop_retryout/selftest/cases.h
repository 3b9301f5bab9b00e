/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Cases without a kernel. Debug builds run them at load; also a program. */
#ifndef LASTHOP_RETRYOUT_CASES_H
#define LASTHOP_RETRYOUT_CASES_H

/* Returns NULL if all cases pass, else the failed one. */
const char *ro_cases_run(void);

#endif
