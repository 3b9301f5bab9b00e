// SPDX-License-Identifier: GPL-2.0-only
/*
 * The list of known interfaces: the raised limit, or the reason for a refusal. RTNL protects
 * the list. A spinlock lets sysfs read it, because readers in sysfs must not wait for RTNL: the
 * removal of the files holds RTNL and waits for readers. The list holds no reference to a
 * device; the device's unregistration removes the entry. Limits are max_mtu of
 * struct net_device, in bytes.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/device.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/sysfs.h>
#include <net/mac80211.h>

#include "drivers.h"
#include "iface.h"
#include "limits.h"
#include "phy.h"

struct jumbo_iface {
	struct list_head list;
	struct net_device *dev;
	u32 limit_bytes;		/* limit after the decision */
	u32 limit_before_bytes;
	u32 mtu_before_bytes;
	enum jumbo_reason reason;
	const char *driver_why;
	bool shown;			/* has files in sysfs */
};

static LIST_HEAD(ifaces);
static DEFINE_SPINLOCK(ifaces_lock);

static const char *const reasons[JUMBO_REASONS] = {
	[JUMBO_RAISED] = "raised",
	[JUMBO_RAISED_TO_DRIVER] = "raised to what the driver moves",
	[JUMBO_RAISED_TO_AMPDU] = "raised to what fits into A-MPDUs, which are not guarded here",
	[JUMBO_ENOUGH] = "unchanged: the limit is no lower",
	[JUMBO_NOT_HT] = "refused: not HT, the standard has no longer frames",
	[JUMBO_REFUSED] = "refused: the driver cannot (force=1 overrides)",
	[JUMBO_OWN_LIMIT] = "refused: the driver has a limit of its own (force=1 overrides)",
	[JUMBO_UNKNOWN] = "refused: an unknown driver (phys= with this PHY, or force=1, overrides)",
};

static struct jumbo_iface *find(const struct net_device *dev)
{
	struct jumbo_iface *iface;

	list_for_each_entry(iface, &ifaces, list)
		if (iface->dev == dev)
			return iface;
	return NULL;
}

static ssize_t show_number(struct device *device, char *buf, size_t offset)
{
	ssize_t length = -ENODEV;
	struct jumbo_iface *iface;

	spin_lock(&ifaces_lock);
	iface = find(to_net_dev(device));
	if (iface)
		length = sysfs_emit(buf, "%u\n", *(const u32 *)((const char *)iface + offset));
	spin_unlock(&ifaces_lock);
	return length;
}

static ssize_t limit_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return show_number(device, buf, offsetof(struct jumbo_iface, limit_bytes));
}

static ssize_t limit_before_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return show_number(device, buf, offsetof(struct jumbo_iface, limit_before_bytes));
}

static ssize_t mtu_before_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return show_number(device, buf, offsetof(struct jumbo_iface, mtu_before_bytes));
}

static ssize_t verdict_show(struct device *device, struct device_attribute *attr, char *buf)
{
	ssize_t length = -ENODEV;
	struct jumbo_iface *iface;

	spin_lock(&ifaces_lock);
	iface = find(to_net_dev(device));
	if (iface)
		length = sysfs_emit(buf, "%s; %s\n", reasons[iface->reason], iface->driver_why);
	spin_unlock(&ifaces_lock);
	return length;
}

static DEVICE_ATTR_RO(limit);
static DEVICE_ATTR_RO(limit_before);
static DEVICE_ATTR_RO(mtu_before);
static DEVICE_ATTR_RO(verdict);

static struct attribute *attributes[] = {
	&dev_attr_limit.attr,
	&dev_attr_limit_before.attr,
	&dev_attr_mtu_before.attr,
	&dev_attr_verdict.attr,
	NULL,
};

/* /sys/class/net/<interface>/lasthop_jumbo */
static const struct attribute_group group = {
	.name = KBUILD_MODNAME,
	.attrs = attributes,
};

void jumbo_iface_add(struct net_device *dev, struct ieee80211_hw *hw,
		     const struct jumbo_wish *wish)
{
	const char *driver = jumbo_phy_driver(hw);
	struct jumbo_decision decision;
	struct jumbo_iface *iface;
	struct jumbo_phy phy;

	ASSERT_RTNL();
	if (find(dev))
		return;
	phy = jumbo_phy_facts(hw, wish->named, wish->guarding);
	decision = jumbo_decide(wish->mtu, wish->force, dev->max_mtu, &phy);

	iface = kzalloc(sizeof(*iface), GFP_KERNEL);
	if (!iface)
		return;
	iface->dev = dev;
	iface->limit_before_bytes = dev->max_mtu;
	iface->mtu_before_bytes = dev->mtu;
	iface->limit_bytes = decision.limit_bytes;
	iface->reason = decision.reason;
	iface->driver_why = jumbo_driver_find(driver)->why;
	spin_lock(&ifaces_lock);
	list_add_tail(&iface->list, &ifaces);
	spin_unlock(&ifaces_lock);

	if (jumbo_raises(decision.reason))
		WRITE_ONCE(dev->max_mtu, decision.limit_bytes);
	iface->shown = !sysfs_create_group(&dev->dev.kobj, &group);
	pr_info("%s (%s, %s): limit %u, was %u: %s; %s\n", dev->name, wiphy_name(hw->wiphy),
		driver, iface->limit_bytes, iface->limit_before_bytes, reasons[iface->reason],
		iface->driver_why);
}

static void forget(struct jumbo_iface *iface)
{
	/* Called without the lock: the removal waits for readers, which take the lock. */
	if (iface->shown)
		sysfs_remove_group(&iface->dev->dev.kobj, &group);
	spin_lock(&ifaces_lock);
	list_del(&iface->list);
	spin_unlock(&ifaces_lock);
	kfree(iface);
}

void jumbo_iface_forget(struct net_device *dev)
{
	struct jumbo_iface *iface;

	ASSERT_RTNL();
	iface = find(dev);
	if (iface)
		forget(iface);
}

static void restore(struct jumbo_iface *iface)
{
	struct net_device *dev = iface->dev;
	int error;

	if (!jumbo_raises(iface->reason))
		return;
	if (dev->max_mtu != iface->limit_bytes) {
		pr_warn("%s: its limit is %u, which something else has set: left as it is\n",
			dev->name, dev->max_mtu);
		return;
	}
	WRITE_ONCE(dev->max_mtu, iface->limit_before_bytes);
	if (dev->mtu <= iface->limit_before_bytes)
		return;
	error = dev_set_mtu(dev, iface->mtu_before_bytes);
	if (error)
		pr_err("%s: its MTU of %u exceeds its limit of %u and cannot be lowered (error %d)\n",
		       dev->name, dev->mtu, dev->max_mtu, error);
}

void jumbo_iface_restore_all(void)
{
	struct jumbo_iface *iface, *next;

	ASSERT_RTNL();
	list_for_each_entry_safe(iface, next, &ifaces, list) {
		restore(iface);
		forget(iface);
	}
}

struct jumbo_count jumbo_iface_count(void)
{
	struct jumbo_count count = { };
	struct jumbo_iface *iface;

	ASSERT_RTNL();
	list_for_each_entry(iface, &ifaces, list) {
		if (jumbo_raises(iface->reason))
			count.raised++;
		else if (iface->reason != JUMBO_ENOUGH)
			count.refused++;
	}
	return count;
}
