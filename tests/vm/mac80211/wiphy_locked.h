/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What mac80211's debugfs needs of cfg80211 since 6.7 and Debian's has not
 * (CFG80211_DEBUGFS): reads and writes under the wiphy's lock. Unlike
 * net/wireless/debugfs.c they cannot be cancelled: a check must not read such
 * a file while the device goes.
 */
#ifndef LASTHOP_WIPHY_LOCKED_H
#define LASTHOP_WIPHY_LOCKED_H

#include <linux/fs.h>
#include <linux/uaccess.h>
#include <net/cfg80211.h>

static inline ssize_t
wiphy_locked_debugfs_read(struct wiphy *wiphy, struct file *file,
			  char *buf, size_t bufsize,
			  char __user *userbuf, size_t count, loff_t *ppos,
			  ssize_t (*handler)(struct wiphy *wiphy, struct file *file,
					     char *buf, size_t bufsize, void *data),
			  void *data)
{
	ssize_t length;

	wiphy_lock(wiphy);
	length = handler(wiphy, file, buf, bufsize, data);
	wiphy_unlock(wiphy);
	return length < 0 ? length : simple_read_from_buffer(userbuf, count, ppos, buf, length);
}

static inline ssize_t
wiphy_locked_debugfs_write(struct wiphy *wiphy, struct file *file,
			   char *buf, size_t bufsize,
			   const char __user *userbuf, size_t count,
			   ssize_t (*handler)(struct wiphy *wiphy, struct file *file,
					      char *buf, size_t count, void *data),
			   void *data)
{
	ssize_t ret;

	if (count >= bufsize)
		return -EINVAL;
	if (copy_from_user(buf, userbuf, count))
		return -EFAULT;
	buf[count] = 0;
	wiphy_lock(wiphy);
	ret = handler(wiphy, file, buf, count, data);
	wiphy_unlock(wiphy);
	return ret;
}

#endif
