/* SPDX-License-Identifier: GPL-2.0-only */
/* Interfaces of mac80211, and the abilities of their PHYs. */
#ifndef LASTHOP_JUMBO_PHY_H
#define LASTHOP_JUMBO_PHY_H

#include <net/mac80211.h>

#include "limits.h"

/* Returns the PHY of an interface of mac80211, NULL for other devices. */
struct ieee80211_hw *jumbo_phy_of(const struct net_device *dev);

/* Returns the name of a PHY's driver, "" without a driver. */
const char *jumbo_phy_driver(struct ieee80211_hw *hw);

/*
 * Returns the facts for the decision. named: the allow-list contains the PHY; guarding: the
 * guard runs.
 */
struct jumbo_phy jumbo_phy_facts(struct ieee80211_hw *hw, bool named, bool guarding);

#endif
