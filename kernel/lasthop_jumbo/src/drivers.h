/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits of mac80211 drivers for MPDUs longer than mac80211 makes them. */
#ifndef LASTHOP_JUMBO_DRIVERS_H
#define LASTHOP_JUMBO_DRIVERS_H

#include <linux/types.h>

struct jumbo_driver {
	const char *name;	/* of struct device_driver */
	u32 mpdu_bytes_max;	/* FCS included, or JUMBO_DRIVER_* */
	const char *why;	/* for the log: what bounds it */
};

/* The entry of a driver; never NULL, JUMBO_DRIVER_UNKNOWN without an entry. */
const struct jumbo_driver *jumbo_driver_find(const char *name);

#endif
