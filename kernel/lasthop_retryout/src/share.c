// SPDX-License-Identifier: GPL-2.0-only
/*
 * The shares of share.h, learned at the tracepoint netif_receive_skb, only from
 * packets of 802.11 interfaces. A packet merged by GRO counts once for each
 * segment.
 */
#include <linux/if_arp.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/tracepoint.h>
#include "share.h"
#include "station.h"

/* Packets before a share is used. */
#define SEEN_ENOUGH 16

/* Inverse weight of a packet: a share of 4/5 seldom appears as 9/10. */
#define WEIGHT 64

static unsigned int size_class(unsigned int bytes)
{
	if (bytes <= 128)
		return 0;
	if (bytes <= 512)
		return 1;
	if (bytes <= 1024)
		return 2;
	return 3;
}

void ro_share_learn(struct ro_share *share, unsigned int bytes, bool is_tcp)
{
	unsigned int class = size_class(bytes);
	u16 *tcp = &share->tcp[class];

	if (share->seen[class] == 0)
		*tcp = is_tcp ? 65535 : 0;
	else if (is_tcp)
		*tcp += (65535 - *tcp + WEIGHT - 1) / WEIGHT;
	else
		*tcp -= (*tcp + WEIGHT - 1) / WEIGHT;
	if (share->seen[class] < 255)
		share->seen[class]++;
}

bool ro_share_expects_tcp(const struct ro_share *share, unsigned int bytes,
			  unsigned int percent)
{
	unsigned int class = size_class(bytes);

	return share->seen[class] >= SEEN_ENOUGH &&
	       share->tcp[class] * 100 >= percent * 65535;
}

static bool is_tcp(const struct sk_buff *skb)
{
	if (skb->protocol == htons(ETH_P_IP)) {
		struct iphdr buffer;
		const struct iphdr *ip =
			skb_header_pointer(skb, 0, sizeof(buffer), &buffer);

		return ip && ip->protocol == IPPROTO_TCP;
	}
	if (skb->protocol == htons(ETH_P_IPV6)) {
		struct ipv6hdr buffer;
		const struct ipv6hdr *ip =
			skb_header_pointer(skb, 0, sizeof(buffer), &buffer);

		return ip && ip->nexthdr == IPPROTO_TCP;
	}
	return false;
}

static void learn(void *ignore, struct sk_buff *skb)
{
	struct ro_station *station;
	unsigned int segments = 1, bytes = skb->len;
	bool tcp;
	u8 tid = skb->priority;

	if (!skb->dev || !skb->dev->ieee80211_ptr || tid >= RO_TIDS ||
	    skb->dev->type != ARPHRD_ETHER || !skb_mac_header_was_set(skb))
		return;
	rcu_read_lock();
	station = ro_station_with_address(eth_hdr(skb)->h_source);
	if (!station || !READ_ONCE(station->encrypts))
		goto out;
	tcp = is_tcp(skb);
	if (skb_is_gso(skb)) {
		segments = min_t(unsigned int, skb_shinfo(skb)->gso_segs, 64);
		bytes = skb_shinfo(skb)->gso_size + 40;
	}
	spin_lock_bh(&station->lock);
	while (segments--)
		ro_share_learn(&station->share[tid], bytes, tcp);
	spin_unlock_bh(&station->lock);
out:
	rcu_read_unlock();
}

static struct tracepoint *netif_receive;

static void pick(struct tracepoint *tracepoint, void *ignore)
{
	if (!strcmp(tracepoint->name, "netif_receive_skb"))
		netif_receive = tracepoint;
}

int ro_share_start(void)
{
	int err;

	for_each_kernel_tracepoint(pick, NULL);
	if (!netif_receive)
		return -ENOENT;
	err = tracepoint_probe_register(netif_receive, learn, NULL);
	if (err)
		netif_receive = NULL;
	return err;
}

void ro_share_stop(void)
{
	if (!netif_receive)
		return;
	tracepoint_probe_unregister(netif_receive, learn, NULL);
	tracepoint_synchronize_unregister();
	netif_receive = NULL;
}
