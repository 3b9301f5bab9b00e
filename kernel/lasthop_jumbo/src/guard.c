// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeps too long MPDUs out of A-MPDUs (IEEE 802.11-2020, 9.7.1: 4 095 bytes between HT
 * stations, the announced limit of a VHT peer). mac80211 marks every frame of a TID with a
 * Block Ack agreement as IEEE80211_TX_CTL_AMPDU, whatever its length. A probe at the entry of
 * mac80211's rate control, the last step with the frame in one piece, clears the mark of long
 * frames. The hardware sends them as single MPDUs within the agreement.
 *
 * A long frame that is given up leaves a gap in the recipient's reorder buffer. The buffer
 * then holds later frames until its timer expires (100 ms in Linux) or the window has passed.
 * For frames of A-MPDUs, drivers report the loss with IEEE80211_TX_STAT_AMPDU_NO_BACK, and
 * mac80211 moves the recipient's window by a Block Ack Request (10.25.3). A second probe, at
 * the status report of a frame, sets that flag for long frames.
 *
 * Limits: HE peers without VHT (2.4 GHz) are treated as HT. The probes see neither frames of
 * PHYs whose firmware chooses rates, nor the status of frames with headers from the hardware.
 * Without an agreement, a lost long frame causes a needless request, which the recipient
 * ignores or answers with a DELBA.
 */
#include <linux/etherdevice.h>
#include <linux/ieee80211.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <net/mac80211.h>

#include "guard.h"
#include "limits.h"

#if defined(CONFIG_KPROBES) && defined(CONFIG_HAVE_FUNCTION_ARG_ACCESS_API)

static DEFINE_PER_CPU(unsigned long, alone);
static DEFINE_PER_CPU(unsigned long, requests);
static bool running;

static u32 vht_bytes_max(const struct ieee80211_sta *sta)
{
	const struct ieee80211_sta_vht_cap *vht = &sta->deflink.vht_cap;

	if (!vht->vht_supported)
		return 0;
	switch (vht->cap & IEEE80211_VHT_CAP_MAX_MPDU_MASK) {
	case IEEE80211_VHT_CAP_MAX_MPDU_LENGTH_11454:
		return JUMBO_VHT_MPDU_BYTES_11454;
	case IEEE80211_VHT_CAP_MAX_MPDU_LENGTH_7991:
		return JUMBO_VHT_MPDU_BYTES_7991;
	default:
		return JUMBO_VHT_MPDU_BYTES_3895;
	}
}

NOKPROBE_SYMBOL(vht_bytes_max);

/* Runs at the entry of rate_control_get_rate(sdata, sta, txrc). */
static int inspect(struct kprobe *probe, struct pt_regs *regs)
{
	const struct ieee80211_tx_rate_control *txrc =
		(const void *)regs_get_kernel_argument(regs, 2);
	struct ieee80211_tx_info *info = IEEE80211_SKB_CB(txrc->skb);
	const struct ieee80211_sta *sta;
	const u8 *peer, *self;
	u32 mpdu_bytes;

	if (likely(!(info->flags & IEEE80211_TX_CTL_AMPDU)))
		return 0;
	/* mac80211 or the hardware adds security later. */
	mpdu_bytes = txrc->skb->len + JUMBO_SECURITY_BYTES + JUMBO_FCS_BYTES;
	if (info->flags & IEEE80211_TX_CTL_HW_80211_ENCAP) {
		const struct ethhdr *eth = (const void *)txrc->skb->data;

		/* The hardware replaces the Ethernet header with 802.11 and LLC headers. */
		mpdu_bytes = txrc->skb->len - ETH_HLEN + JUMBO_MPDU_OVERHEAD_BYTES;
		peer = eth->h_dest;
		self = NULL;
	} else {
		const struct ieee80211_hdr *hdr = (const void *)txrc->skb->data;

		peer = hdr->addr1;
		self = hdr->addr2;
	}
	if (likely(!jumbo_goes_alone(mpdu_bytes, 0)))
		return 0;

	rcu_read_lock();
	sta = ieee80211_find_sta_by_ifaddr(txrc->hw, peer, self);
	if (!sta || jumbo_goes_alone(mpdu_bytes, vht_bytes_max(sta))) {
		info->flags &= ~IEEE80211_TX_CTL_AMPDU;
		/* Frames of an A-MPDU are never fragmented, so this one must not be either. */
		info->flags |= IEEE80211_TX_CTL_DONTFRAG;
		this_cpu_inc(alone);
	}
	rcu_read_unlock();
	return 0;
}

NOKPROBE_SYMBOL(inspect);

/* Runs at the entry of ieee80211_tx_status_ext(hw, status), which gets every status. */
static int inspect_status(struct kprobe *probe, struct pt_regs *regs)
{
	const struct ieee80211_tx_status *status =
		(const void *)regs_get_kernel_argument(regs, 1);
	struct ieee80211_tx_info *info = status->info;
	const struct sk_buff *skb = status->skb;
	const struct ieee80211_hdr *hdr;

	/* The length may already include security, so a frame near the limit may count as long. */
	if (likely(!skb || !jumbo_goes_alone(skb->len + JUMBO_SECURITY_BYTES + JUMBO_FCS_BYTES, 0)))
		return 0;
	/* Acknowledged, without acknowledgement, or handled by mac80211 in another way. */
	if (info->flags & (IEEE80211_TX_STAT_ACK | IEEE80211_TX_CTL_NO_ACK | IEEE80211_TX_CTL_AMPDU |
			   IEEE80211_TX_STAT_TX_FILTERED | IEEE80211_TX_STAT_NOACK_TRANSMITTED |
			   IEEE80211_TX_CTL_HW_80211_ENCAP | IEEE80211_TX_STAT_AMPDU_NO_BACK))
		return 0;
	hdr = (const void *)skb->data;
	if (!status->sta || !ieee80211_is_data_qos(hdr->frame_control) ||
	    is_multicast_ether_addr(hdr->addr1))
		return 0;
	info->flags |= IEEE80211_TX_STAT_AMPDU_NO_BACK;
	this_cpu_inc(requests);
	return 0;
}

NOKPROBE_SYMBOL(inspect_status);

static struct kprobe probe, status_probe;

static unsigned long sum_of(const unsigned long __percpu *counts)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += *per_cpu_ptr(counts, cpu);
	return sum;
}

/* Frames kept out of A-MPDUs, and frames that the probe missed. */
static ssize_t unaggregated_show(struct module_attribute *attr, struct module_kobject *mod,
				 char *buf)
{
	return sysfs_emit(buf, "%lu\n", sum_of(&alone));
}

/* Lost frames among them, each with a Block Ack Request. */
static ssize_t unaggregated_lost_show(struct module_attribute *attr, struct module_kobject *mod,
				      char *buf)
{
	return sysfs_emit(buf, "%lu\n", sum_of(&requests));
}

static ssize_t unaggregated_missed_show(struct module_attribute *attr, struct module_kobject *mod,
					char *buf)
{
	return sysfs_emit(buf, "%lu\n", probe.nmissed + status_probe.nmissed);
}

static struct module_attribute unaggregated = __ATTR_RO(unaggregated);
static struct module_attribute unaggregated_lost = __ATTR_RO(unaggregated_lost);
static struct module_attribute unaggregated_missed = __ATTR_RO(unaggregated_missed);

static const struct attribute *const attributes[] = {
	&unaggregated.attr,
	&unaggregated_lost.attr,
	&unaggregated_missed.attr,
	NULL,
};

int jumbo_guard_start(void)
{
	int error;

	memset(&probe, 0, sizeof(probe));
	probe.symbol_name = "rate_control_get_rate";
	probe.pre_handler = inspect;
	error = register_kprobe(&probe);
	if (error)
		return error;
	memset(&status_probe, 0, sizeof(status_probe));
	status_probe.symbol_name = "ieee80211_tx_status_ext";
	status_probe.pre_handler = inspect_status;
	error = register_kprobe(&status_probe);
	if (error) {
		unregister_kprobe(&probe);
		return error;
	}
	error = sysfs_create_files(&THIS_MODULE->mkobj.kobj, attributes);
	if (error) {
		unregister_kprobe(&status_probe);
		unregister_kprobe(&probe);
		return error;
	}
	running = true;
	return 0;
}

void jumbo_guard_stop(void)
{
	if (!running)
		return;
	running = false;
	sysfs_remove_files(&THIS_MODULE->mkobj.kobj, attributes);
	/* Waits until running handlers return. */
	unregister_kprobe(&status_probe);
	unregister_kprobe(&probe);
}

bool jumbo_guard_runs(void)
{
	return running;
}

#else

int jumbo_guard_start(void)
{
	return -EOPNOTSUPP;
}

void jumbo_guard_stop(void)
{
}

bool jumbo_guard_runs(void)
{
	return false;
}

#endif
