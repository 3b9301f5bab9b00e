/* SPDX-License-Identifier: GPL-2.0-only */
/* Which interfaces are mac80211's, and what their PHY can do. */
#ifndef LASTHOP_JUMBO_PHY_H
#define LASTHOP_JUMBO_PHY_H

#include <net/mac80211.h>

#include "limits.h"

/* The PHY of an interface of mac80211, NULL for every other device. */
struct ieee80211_hw *jumbo_phy_of(const struct net_device *dev);

/* The name of the driver of a PHY, "" if it has none. */
const char *jumbo_phy_driver(struct ieee80211_hw *hw);

/*
 * What the decision needs: named and guarding say whether the allow-list names the PHY
 * and whether the guard runs.
 */
struct jumbo_phy jumbo_phy_facts(struct ieee80211_hw *hw, bool named, bool guarding);

#endif
