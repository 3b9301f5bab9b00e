/* SPDX-License-Identifier: GPL-2.0-only */
/* Interfaces whose limit was raised, or refused with a reason; and its restoration. */
#ifndef LASTHOP_JUMBO_IFACE_H
#define LASTHOP_JUMBO_IFACE_H

#include <linux/netdevice.h>

/* Limits from the parameters. */
struct jumbo_wish {
	u32 mtu;
	bool force;
	bool guarding;		/* the guard runs */
	bool named;		/* the allow-list names the PHY */
};

/* Numbers of raised and refused interfaces. */
struct jumbo_count {
	unsigned int raised;
	unsigned int refused;
};

/*
 * All of these are called under RTNL. jumbo_iface_add() decides about an interface and
 * raises its limit; one that is known already, because it moved between namespaces,
 * stays as it is. jumbo_iface_forget() is for one that goes away. jumbo_iface_restore_all()
 * gives every interface its limit back, lowers MTUs that exceed it, and forgets them.
 */
void jumbo_iface_add(struct net_device *dev, struct ieee80211_hw *hw,
		     const struct jumbo_wish *wish);
void jumbo_iface_forget(struct net_device *dev);
void jumbo_iface_restore_all(void);
struct jumbo_count jumbo_iface_count(void);

#endif
