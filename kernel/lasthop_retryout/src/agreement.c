// SPDX-License-Identifier: GPL-2.0-only
/*
 * Follows the agreements that mac80211 announces to its driver, at the
 * tracepoint drv_ampdu_action. The argument ieee80211_ampdu_params is part of
 * the interface to drivers. The announcement precedes the use of an agreement,
 * and the removal of a station.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/tracepoint.h>
#include "agreement.h"
#include "station.h"

static struct tracepoint *ampdu_action;
static unsigned long too_wide;

static void begin(const struct ieee80211_ampdu_params *params)
{
	const struct ieee80211_sta *sta = params->sta;
	struct ro_station *station;

	if (params->buf_size > RO_REORDER_MAX) {
		too_wide++;
		station = ro_station_lookup(sta, sta->addr);
		if (station)
			ro_station_end(station, params->tid);
		return;
	}
	station = ro_station_of(sta, sta->addr);
	if (!station)
		return;
	/* The module knows this agreement from the beginning: no restart. */
	station->restarted |= BIT(params->tid);
	ro_station_begin(station, params->tid, params->ssn, params->buf_size);
}

static void listen(void *ignore, void *local, void *sdata,
		   struct ieee80211_ampdu_params *params)
{
	struct ro_station *station;

	if (!params->sta || params->tid >= RO_TIDS)
		return;
	rcu_read_lock();
	if (params->action == IEEE80211_AMPDU_RX_START) {
		begin(params);
	} else if (params->action == IEEE80211_AMPDU_RX_STOP) {
		station = ro_station_lookup(params->sta, params->sta->addr);
		if (station)
			ro_station_end(station, params->tid);
	}
	rcu_read_unlock();
}

static void pick(struct tracepoint *tracepoint, void *ignore)
{
	if (!strcmp(tracepoint->name, "drv_ampdu_action"))
		ampdu_action = tracepoint;
}

static int look_into(struct notifier_block *block, unsigned long action,
		     void *data)
{
	struct tp_module *tp = data;
	int i;

	if (action == MODULE_STATE_COMING && !strcmp(tp->mod->name, "mac80211"))
		for (i = 0; i < tp->mod->num_tracepoints; i++)
			pick(tracepoint_ptr_deref(&tp->mod->tracepoints_ptrs[i]),
			     NULL);
	return NOTIFY_DONE;
}

/* Called once for each module that is loaded at registration. */
static struct notifier_block modules = { .notifier_call = look_into };

int ro_agreement_start(void)
{
	int err;

	for_each_kernel_tracepoint(pick, NULL);
	if (!ampdu_action) {
		register_tracepoint_module_notifier(&modules);
		unregister_tracepoint_module_notifier(&modules);
	}
	if (!ampdu_action) {
		pr_err("mac80211 has no tracepoint drv_ampdu_action; a kernel with CONFIG_TRACEPOINTS is needed\n");
		return -ENOENT;
	}
	err = tracepoint_probe_register(ampdu_action, listen, NULL);
	if (err)
		pr_err("tracepoint drv_ampdu_action cannot be used (%d)\n",
		       err);
	return err;
}

void ro_agreement_stop(void)
{
	tracepoint_probe_unregister(ampdu_action, listen, NULL);
	tracepoint_synchronize_unregister();
}

unsigned long ro_agreement_too_wide(void)
{
	return READ_ONCE(too_wide);
}
