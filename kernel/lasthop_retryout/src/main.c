// SPDX-License-Identifier: GPL-2.0-only
/*
 * lasthop_retryout: pseudo retry-out for access points (M. Nomoto et al., "A
 * Solution for Bufferbloat Problem in Upload TCP Communication over IEEE
 * 802.11n WLAN Only by Modifying Access Point"), without a change to the
 * kernel tree. This file: load and unload.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include "agreement.h"
#include "debugfs.h"
#include "hook.h"
#include "params.h"
#include "share.h"
#include "station.h"
#ifdef LASTHOP_RETRYOUT_DEBUG
#include "../selftest/selftest.h"
#endif

static int __init retryout_init(void)
{
	struct dentry *folder __maybe_unused;
	bool learns;
	int err;

#ifdef LASTHOP_RETRYOUT_DEBUG
	err = ro_selftest();
	if (err)
		return err;
#endif
	err = ro_agreement_start();
	if (err)
		return err;
	err = ro_hook_start();
	if (err)
		goto no_hook;
	learns = !ro_share_start();
	folder = ro_debugfs_start(learns);
#ifdef LASTHOP_RETRYOUT_DEBUG
	ro_fuzz_start(folder);
	ro_inject_start(folder);
#endif
	return 0;

no_hook:
	ro_agreement_stop();
	ro_station_clear();
	return err;
}

static void __exit retryout_exit(void)
{
	ro_debugfs_stop();
	ro_share_stop();
	ro_hook_stop();
	ro_agreement_stop();
	ro_station_clear();
}

module_init(retryout_init);
module_exit(retryout_exit);

MODULE_DESCRIPTION("Pseudo retry-out: against long queues in uploads over slow Wi-Fi");
MODULE_AUTHOR("The lasthop authors");
MODULE_LICENSE("GPL");
