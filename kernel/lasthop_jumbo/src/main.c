// SPDX-License-Identifier: GPL-2.0-only
/*
 * lasthop_jumbo: longer packets on mac80211 interfaces. While the module is loaded, the
 * largest MTU of present and later interfaces is `mtu` bytes instead of 2304, or the limit of
 * the standard and the driver. The MTU itself stays until the administrator sets it.
 * Parameters are fixed at load. Not supported: full-MAC drivers. mac80211 has no separate
 * limit for reception.
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

/* At most the number of bits of a long, see phys_seen. */
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

/* Under RTNL: one bit for each of phys, set if an interface of that PHY was found. */
static unsigned long phys_seen;
static bool guarding;
/* Under RTNL: set before the module unloads, so that no limit is raised any more. */
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

	/* Monitor interfaces have no limit (0). */
	if (!hw || !dev->max_mtu)
		return;
	wish.named = is_named(wiphy_name(hw->wiphy));
	if (phys_count && !wish.named)
		return;
	jumbo_iface_add(dev, hw, &wish);
}

/* At registration of a notifier the kernel also announces the present devices. */
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
		/* A device that moves between namespaces remains NETREG_REGISTERED. */
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

/* Restores all limits. The notifier is still registered, but raises no further limit. */
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
	/* Announces the end of every device to the notifier, which finds no entries. */
	unregister_netdevice_notifier(&notifier);
	jumbo_guard_stop();
}

module_init(jumbo_init);
module_exit(jumbo_exit);

MODULE_DESCRIPTION("Longer packets on mac80211 interfaces");
MODULE_AUTHOR("The lasthop contributors");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
