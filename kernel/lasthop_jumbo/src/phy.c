// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recognises interfaces of mac80211, and reads the abilities of their PHYs. cfg80211 also has
 * interfaces of full-MAC drivers (brcmfmac, mwifiex). Their private data is not
 * struct ieee80211_hw, and is never read as such.
 */
#include <linux/ieee80211.h>
#include <linux/kallsyms.h>
#include <linux/netdevice.h>
#include <linux/string.h>
#include <net/cfg80211.h>
#include <net/mac80211.h>

#include "drivers.h"
#include "phy.h"

/*
 * mac80211 marks its wiphys with privid, the address of a variable that it does not export.
 * Other drivers have other marks or none. If the kernel resolves names of variables, the name
 * of the mark decides. Otherwise struct ieee80211_hw must refer back to its wiphy.
 */
static bool is_marked(const struct wiphy *wiphy)
{
#ifdef CONFIG_KALLSYMS_ALL
	static const char mark[] = "mac80211_wiphy_privid";
	char *name;
	bool same;

	name = kmalloc(KSYM_SYMBOL_LEN, GFP_KERNEL);
	if (!name)
		return false;
	sprint_symbol_no_offset(name, (unsigned long)wiphy->privid);
	same = !strncmp(name, mark, sizeof(mark) - 1) &&
	       (!name[sizeof(mark) - 1] || name[sizeof(mark) - 1] == ' ');
	kfree(name);
	return same;
#else
	return true;
#endif
}

struct ieee80211_hw *jumbo_phy_of(const struct net_device *dev)
{
	struct ieee80211_hw *hw;
	struct wiphy *wiphy;

	if (!dev->ieee80211_ptr)
		return NULL;
	wiphy = dev->ieee80211_ptr->wiphy;
	if (!wiphy || !wiphy->privid || !is_marked(wiphy))
		return NULL;
	hw = wiphy_to_ieee80211_hw(wiphy);
	return hw->wiphy == wiphy ? hw : NULL;
}

const char *jumbo_phy_driver(struct ieee80211_hw *hw)
{
	const struct device *dev = wiphy_dev(hw->wiphy);

	return dev && dev->driver ? dev->driver->name : "";
}

struct jumbo_phy jumbo_phy_facts(struct ieee80211_hw *hw, bool named, bool guarding)
{
	struct jumbo_phy phy = {
		.named = named,
		.own_limit = hw->max_mtu != JUMBO_MSDU_BYTES_MAX,
		.driver_mpdu_bytes_max = jumbo_driver_find(jumbo_phy_driver(hw))->mpdu_bytes_max,
	};
	int band;

	for (band = 0; band < NUM_NL80211_BANDS; band++) {
		const struct ieee80211_supported_band *sband = hw->wiphy->bands[band];

		if (sband && sband->ht_cap.ht_supported)
			phy.ht = true;
	}
	phy.aggregates = ieee80211_hw_check(hw, AMPDU_AGGREGATION);
	/* Firmware that chooses rates or sets up A-MPDUs bypasses the guard. */
	phy.guarded = guarding && !ieee80211_hw_check(hw, HAS_RATE_CONTROL) &&
		      !ieee80211_hw_check(hw, TX_AMPDU_SETUP_IN_HW);
	return phy;
}
