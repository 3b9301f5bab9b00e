/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits of mac80211 drivers for MPDUs longer than those of stock mac80211. */
#ifndef LASTHOP_JUMBO_DRIVERS_H
#define LASTHOP_JUMBO_DRIVERS_H

#include <linux/types.h>

struct jumbo_driver {
	const char *name;	/* name in struct device_driver */
	u32 mpdu_bytes_max;	/* with the FCS, or JUMBO_DRIVER_* */
	const char *why;	/* cause of the limit, for the log */
};

/* Returns the entry of a driver, or one with JUMBO_DRIVER_UNKNOWN; never NULL. */
const struct jumbo_driver *jumbo_driver_find(const char *name);

#endif
