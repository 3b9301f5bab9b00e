// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Decides the largest MTU of an interface: the least of the parameter, the limits of the
 * standard inside and outside A-MPDUs, and the limit of the driver.
 */
#include "limits.h"

static struct jumbo_decision stay(u32 limit_bytes, enum jumbo_reason reason)
{
	return (struct jumbo_decision){ .limit_bytes = limit_bytes, .reason = reason };
}

struct jumbo_decision jumbo_decide(u32 mtu, bool force, u32 limit_bytes,
				   const struct jumbo_phy *phy)
{
	struct jumbo_decision decision = { .limit_bytes = mtu, .reason = JUMBO_RAISED };
	u32 driver = phy->driver_mpdu_bytes_max;

	/* Monitor interfaces have the value 0: no limit. */
	if (!limit_bytes || limit_bytes >= mtu)
		return stay(limit_bytes, JUMBO_ENOUGH);
	if (!phy->ht)
		return stay(limit_bytes, JUMBO_NOT_HT);
	if (!force) {
		if (driver == JUMBO_DRIVER_REFUSES)
			return stay(limit_bytes, JUMBO_REFUSED);
		if (phy->own_limit)
			return stay(limit_bytes, JUMBO_OWN_LIMIT);
		if (driver == JUMBO_DRIVER_UNKNOWN && !phy->named)
			return stay(limit_bytes, JUMBO_UNKNOWN);
		if (driver != JUMBO_DRIVER_UNKNOWN && driver != JUMBO_DRIVER_ANY) {
			/* Every driver in the table exceeds it; avoid an underflow. */
			u32 most = driver > JUMBO_MPDU_OVERHEAD_BYTES ?
				   driver - JUMBO_MPDU_OVERHEAD_BYTES : 0;

			if (most < decision.limit_bytes)
				decision = stay(most, JUMBO_RAISED_TO_DRIVER);
		}
	}
	if (phy->aggregates && !phy->guarded && jumbo_exceeds_ampdu(decision.limit_bytes))
		decision = stay(JUMBO_AMPDU_PACKET_BYTES_MAX, JUMBO_RAISED_TO_AMPDU);
	if (decision.limit_bytes <= limit_bytes)
		return stay(limit_bytes, JUMBO_REFUSED);
	return decision;
}
