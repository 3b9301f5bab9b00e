/* SPDX-License-Identifier: GPL-2.0-only */
/* The data rate of a reception, in kb/s. */
#ifndef LASTHOP_RETRYOUT_RATE_H
#define LASTHOP_RETRYOUT_RATE_H

#include "station.h"

/*
 * Under the station's lock: the rate of @status; the station's last known one
 * if it has none that is known (EHT, or a value that no PHY has); 0 before.
 */
u32 ro_rate_kbps(struct ro_station *station, const struct ieee80211_hw *hw,
		 const struct ieee80211_rx_status *status);

#endif
