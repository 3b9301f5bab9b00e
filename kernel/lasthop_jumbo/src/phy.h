/* SPDX-License-Identifier: GPL-2.0-only */
/* The interfaces of mac80211, and the abilities of their PHYs. */
#ifndef LASTHOP_JUMBO_PHY_H
#define LASTHOP_JUMBO_PHY_H

#include <net/mac80211.h>

#include "limits.h"

/* The PHY of an interface of mac80211, NULL for every other device. */
struct ieee80211_hw *jumbo_phy_of(const struct net_device *dev);

/* The name of the driver of a PHY, "" if it has none. */
const char *jumbo_phy_driver(struct ieee80211_hw *hw);

/*
 * The facts for the decision: named says whether the allow-list names the PHY, guarding
 * whether the guard runs.
 */
struct jumbo_phy jumbo_phy_facts(struct ieee80211_hw *hw, bool named, bool guarding);

#endif
