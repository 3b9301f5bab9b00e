/* SPDX-License-Identifier: GPL-2.0-only */
/* Data rate of a reception, in kb/s. */
#ifndef LASTHOP_RETRYOUT_RATE_H
#define LASTHOP_RETRYOUT_RATE_H

#include "station.h"

/*
 * Under the station's lock: returns the rate of @status. For an unknown rate
 * (EHT, or an invalid value) returns the station's last known one, else 0.
 */
u32 ro_rate_kbps(struct ro_station *station, const struct ieee80211_hw *hw,
		 const struct ieee80211_rx_status *status);

#endif
