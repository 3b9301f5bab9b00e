/* SPDX-License-Identifier: GPL-2.0-only */
/* What mac80211 drivers are known to do with MPDUs longer than mac80211 makes them. */
#ifndef LASTHOP_JUMBO_DRIVERS_H
#define LASTHOP_JUMBO_DRIVERS_H

#include <linux/types.h>

struct jumbo_driver {
	const char *name;	/* of struct device_driver */
	u32 mpdu_bytes_max;	/* FCS included, or JUMBO_DRIVER_* */
	const char *why;	/* for the log: what bounds it */
};

/* What is known of a driver; never NULL, JUMBO_DRIVER_UNKNOWN if it is nothing. */
const struct jumbo_driver *jumbo_driver_find(const char *name);

#endif
