// SPDX-License-Identifier: GPL-2.0-only
/*
 * lasthop_jumbo: longer packets on mac80211 interfaces. While it is loaded the largest
 * MTU of these interfaces, present and later ones, is `mtu` bytes or what the standard
 * and the driver allow, instead of 2304. Nobody's MTU changes until somebody sets it.
 * Parameters are fixed at load. Left out: full-MAC drivers, and the receive side, which
 * has no limit of its own in mac80211.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/string.h>
#include <linux/version.h>
#include <net/mac80211.h>

#include "guard.h"
#include "iface.h"
#include "limits.h"
#include "phy.h"
#include "../selftest/selftest.h"

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "lasthop_jumbo needs Linux 6.1 or later"
#endif

/* No more than a long has bits, see phys_seen. */
#define PHYS_MAX 32

static unsigned int mtu = 4000;
module_param(mtu, uint, 0444);
MODULE_PARM_DESC(mtu, "largest MTU in bytes, 2305 to 7935 (default 4000)");

static char *phys[PHYS_MAX];
static unsigned int phys_count;
module_param_array(phys, charp, &phys_count, 0444);
MODULE_PARM_DESC(phys, "only the interfaces of these PHYs: phy0,phy1,.. (default: all)");

static bool force;
module_param(force, bool, 0444);
MODULE_PARM_DESC(force, "exceed the known limit of the driver");

/* Under RTNL: a bit for each of phys, whether an interface of it was there. */
static unsigned long phys_seen;
static bool guarding;
/* Under RTNL: the module is about to leave, no interface is raised any more. */
static bool leaving;

static bool is_named(const char *phy)
{
	bool named = false;
	unsigned int i;

	for (i = 0; i < phys_count; i++) {
		if (!strcmp(phys[i], phy)) {
			__set_bit(i, &phys_seen);
			named = true;
		}
	}
	return named;
}

static void take(struct net_device *dev)
{
	struct ieee80211_hw *hw = jumbo_phy_of(dev);
	struct jumbo_wish wish = { .mtu = mtu, .force = force, .guarding = guarding };

	/* Monitor interfaces have no limit: 0. */
	if (!hw || !dev->max_mtu)
		return;
	wish.named = is_named(wiphy_name(hw->wiphy));
	if (phys_count && !wish.named)
		return;
	jumbo_iface_add(dev, hw, &wish);
}

/* The kernel announces the present devices, too, when a notifier is registered. */
static int notice(struct notifier_block *block, unsigned long event, void *data)
{
	struct net_device *dev = netdev_notifier_info_to_dev(data);

	if (leaving)
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_REGISTER:
		take(dev);
		break;
	case NETDEV_UNREGISTER:
		/* One that moves between namespaces is unregistered in the old one only. */
		if (dev->reg_state != NETREG_REGISTERED)
			jumbo_iface_forget(dev);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block notifier = {
	.notifier_call = notice,
};

static int check_parameters(void)
{
	unsigned int i;

	if (mtu < JUMBO_MTU_MIN || mtu > JUMBO_MTU_MAX) {
		pr_err("mtu=%u: %u to %u bytes are allowed; nothing was changed\n", mtu,
		       JUMBO_MTU_MIN, JUMBO_MTU_MAX);
		return -ERANGE;
	}
	for (i = 0; i < phys_count; i++) {
		if (!*phys[i]) {
			pr_err("phys: name %u is empty; names such as phy0,phy1 are allowed; nothing was changed\n",
			       i + 1);
			return -EINVAL;
		}
	}
	return 0;
}

/* Gives everything back; the notifier is still registered and raises nothing more. */
static void leave(void)
{
	rtnl_lock();
	leaving = true;
	jumbo_iface_restore_all();
	rtnl_unlock();
}

static int __init jumbo_init(void)
{
	struct jumbo_count count;
	unsigned int i;
	int error;

	error = jumbo_selftest();
	if (error)
		return error;
	error = check_parameters();
	if (error)
		return error;
	if (jumbo_exceeds_ampdu(mtu)) {
		error = jumbo_guard_start();
		if (error)
			pr_warn("A-MPDUs cannot be guarded (error %d): interfaces that aggregate stay at %u\n",
				error, JUMBO_AMPDU_PACKET_BYTES_MAX);
	}
	guarding = jumbo_guard_runs();
	error = register_netdevice_notifier(&notifier);
	if (error) {
		pr_err("interfaces cannot be watched (error %d); nothing was changed\n", error);
		leave();
		jumbo_guard_stop();
		return error;
	}
	rtnl_lock();
	count = jumbo_iface_count();
	for (i = 0; i < phys_count; i++)
		if (!test_bit(i, &phys_seen))
			pr_notice("no interface of a PHY called %s yet\n", phys[i]);
	rtnl_unlock();
	pr_info("MTU up to %u: %u interfaces raised, %u refused; later ones follow\n", mtu,
		count.raised, count.refused);
	return 0;
}

static void __exit jumbo_exit(void)
{
	leave();
	/* Announces every device's end to the notifier, which is deaf by now. */
	unregister_netdevice_notifier(&notifier);
	jumbo_guard_stop();
}

module_init(jumbo_init);
module_exit(jumbo_exit);

MODULE_DESCRIPTION("Longer packets on mac80211 interfaces");
MODULE_AUTHOR("The lasthop contributors");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
