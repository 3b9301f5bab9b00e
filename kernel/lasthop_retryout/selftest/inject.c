// SPDX-License-Identifier: GPL-2.0-only
/*
 * Delivers MPDUs to the real mac80211, one after the other, as a driver would.
 * Each line "SEQUENCE good" or "SEQUENCE bad" in the file inject is one MPDU
 * with a TCP segment (10.0.0.2 to 10.0.0.1, port 5000 plus the number modulo
 * 1000), at MCS 0 in 20 MHz. The sender is a station of this host's access
 * point with an agreement for TID 0. Reading the file returns one line for each
 * MPDU of the last write:
 *
 *	SEQUENCE KIND DELIVERED MARKED IGNORED
 *
 * with the packets that the interface delivered, and the module's counters,
 * since the MPDU.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/ip.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/tcp.h>
#include "../src/hook.h"
#include "../src/station.h"
#include "selftest.h"

struct target {
	struct ieee80211_hw *hw;
	u8 station[ETH_ALEN];
	u8 receiver[ETH_ALEN];
	struct net_device *dev;
	u64 marked;
	u64 ignored;
};

static DEFINE_MUTEX(inject_lock);
static char inject_report[2000];

static void pick_device(void *data, u8 *mac, struct ieee80211_vif *vif)
{
	struct target *target = data;

	if (vif->type == NL80211_IFTYPE_AP &&
	    ether_addr_equal(vif->addr, target->receiver))
		target->dev = ieee80211_vif_to_wdev(vif)->netdev;
}

/* Under rcu_read_lock: finds a station of an access point of this host. */
static void pick(struct ro_station *station, void *data)
{
	struct target *target = data;
	struct target found = { .hw = (struct ieee80211_hw *)station->hw };

	if (station->synthetic || !station->agreement[0] || !station->hw)
		return;
	ether_addr_copy(found.station, station->addr);
	ether_addr_copy(found.receiver, station->receiver);
	ieee80211_iterate_active_interfaces_atomic(found.hw, IEEE80211_IFACE_ITER_NORMAL,
						   pick_device, &found);
	found.marked = station->count[0].marked;
	found.ignored = station->count[0].ignored;
	if (found.dev)
		*target = found;
}

static u64 delivered(const struct target *target)
{
	struct rtnl_link_stats64 stats = {};

	dev_get_stats(target->dev, &stats);
	return stats.rx_packets;
}

static struct sk_buff *make_mpdu(const struct target *target, u16 sequence,
				 bool good)
{
	static const u8 snap[] = { 0xaa, 0xaa, 0x03, 0, 0, 0, 0x08, 0 };
	struct sk_buff *skb = alloc_skb(256, GFP_KERNEL);
	struct ieee80211_rx_status *status;
	struct ieee80211_qos_hdr *header;
	struct tcphdr *tcp;
	struct iphdr *ip;

	if (!skb)
		return NULL;
	skb_reserve(skb, 64 + 2);
	header = skb_put_zero(skb, sizeof(*header));
	header->frame_control = cpu_to_le16(IEEE80211_FTYPE_DATA |
					    IEEE80211_STYPE_QOS_DATA |
					    IEEE80211_FCTL_TODS);
	ether_addr_copy(header->addr1, target->receiver);
	ether_addr_copy(header->addr2, target->station);
	ether_addr_copy(header->addr3, target->receiver);
	header->seq_ctrl = cpu_to_le16(sequence << 4);
	skb_put_data(skb, snap, sizeof(snap));
	ip = skb_put_zero(skb, sizeof(*ip));
	ip->version = 4;
	ip->ihl = 5;
	ip->tot_len = htons(sizeof(*ip) + sizeof(*tcp));
	ip->ttl = 64;
	ip->protocol = IPPROTO_TCP;
	ip->saddr = htonl(0x0a000002);
	ip->daddr = htonl(0x0a000001);
	ip_send_check(ip);
	tcp = skb_put_zero(skb, sizeof(*tcp));
	tcp->source = htons(4000);
	tcp->dest = htons(5000 + sequence % 1000);
	tcp->doff = 5;
	tcp->rst = 1;
	tcp->check = tcp_v4_check(sizeof(*tcp), ip->saddr, ip->daddr,
				  csum_partial(tcp, sizeof(*tcp), 0));
	status = IEEE80211_SKB_RXCB(skb);
	memset(status, 0, sizeof(*status));
	status->freq = target->hw->conf.chandef.chan->center_freq;
	status->band = target->hw->conf.chandef.chan->band;
	status->encoding = RX_ENC_HT;
	status->bw = RATE_INFO_BW_20;
	status->signal = -50;
	if (!good)
		status->flag |= RX_FLAG_FAILED_FCS_CRC;
	return skb;
}

static int inject_one(const struct target *begin, unsigned int sequence,
		      const char *kind)
{
	struct sk_buff *skb;

	if (sequence > 4095 || (strcmp(kind, "good") && strcmp(kind, "bad")))
		return -EINVAL;
	skb = make_mpdu(begin, sequence, !strcmp(kind, "good"));
	if (!skb)
		return -ENOMEM;
	local_bh_disable();
	ro_hook_deliver(begin->hw, NULL, skb, NULL);
	local_bh_enable();
	return 0;
}

static int inject_all(char *text)
{
	struct target begin = {}, is;
	unsigned int sequence;
	int length = 0, err = 0;
	char *line, kind[8];
	u64 first;

	rcu_read_lock();
	ro_station_each(pick, &begin);
	rcu_read_unlock();
	if (!begin.dev || !begin.hw->conf.chandef.chan)
		return -ENOENT;
	first = delivered(&begin);
	while (!err && (line = strsep(&text, "\n")) != NULL) {
		if (!*line)
			continue;
		if (sscanf(line, "%u %7s", &sequence, kind) != 2)
			return -EINVAL;
		err = inject_one(&begin, sequence, kind);
		rcu_read_lock();
		ro_station_each(pick, &is);
		rcu_read_unlock();
		length += scnprintf(inject_report + length, sizeof(inject_report) - length,
				    "%u %s %llu %llu %llu\n", sequence, kind,
				    delivered(&begin) - first, is.marked - begin.marked,
				    is.ignored - begin.ignored);
	}
	return err;
}

static ssize_t inject_write(struct file *file, const char __user *user,
			    size_t length, loff_t *offset)
{
	char *text;
	int err;

	if (length > PAGE_SIZE)
		return -EINVAL;
	text = memdup_user_nul(user, length);
	if (IS_ERR(text))
		return PTR_ERR(text);
	mutex_lock(&inject_lock);
	inject_report[0] = '\0';
	err = inject_all(text);
	mutex_unlock(&inject_lock);
	kfree(text);
	return err ? err : length;
}

static ssize_t inject_read(struct file *file, char __user *user, size_t length,
			   loff_t *offset)
{
	return simple_read_from_buffer(user, length, offset, inject_report,
				       strlen(inject_report));
}

static const struct file_operations inject_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = inject_read,
	.write = inject_write,
};

void ro_inject_start(struct dentry *folder)
{
	debugfs_create_file("inject", 0600, folder, NULL, &inject_fops);
}
