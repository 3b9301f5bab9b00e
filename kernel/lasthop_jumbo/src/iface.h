/* SPDX-License-Identifier: GPL-2.0-only */
/* Raises the limits of interfaces, keeps the reasons for refusals, and restores the limits. */
#ifndef LASTHOP_JUMBO_IFACE_H
#define LASTHOP_JUMBO_IFACE_H

#include <linux/netdevice.h>

/* Values of the parameters for one interface. */
struct jumbo_wish {
	u32 mtu;
	bool force;
	bool guarding;		/* whether the guard runs */
	bool named;		/* whether the allow-list names the PHY */
};

/* Numbers of interfaces with a raised and with a refused limit. */
struct jumbo_count {
	unsigned int raised;
	unsigned int refused;
};

/*
 * All functions require RTNL. jumbo_iface_add() decides about an interface and raises its
 * limit; it leaves a known interface, which moved between namespaces, unchanged.
 * jumbo_iface_forget() removes an interface that is unregistered. jumbo_iface_restore_all()
 * restores the limit of every interface, lowers MTUs above it, and empties the list.
 */
void jumbo_iface_add(struct net_device *dev, struct ieee80211_hw *hw,
		     const struct jumbo_wish *wish);
void jumbo_iface_forget(struct net_device *dev);
void jumbo_iface_restore_all(void);
struct jumbo_count jumbo_iface_count(void);

#endif
