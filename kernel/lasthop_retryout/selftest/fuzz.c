// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sends random frames through ro_receive(), as a driver would. Agreements of
 * three synthetic stations begin, change and end. Frames are good, failed,
 * cut, encrypted or noise, with any rate and flag. Nothing reaches mac80211.
 * The test checks the sums of the counters; other faults show in the kernel's
 * log. "bench N" delivers N good frames in order.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "../src/receive.h"
#include "selftest.h"

#define STATIONS 3
#define BYTES 160

static struct ieee80211_hw fuzz_hw = { .max_rx_aggregation_subframes = 64 };
/* Station of frames from unknown senders; no frame has its address. */
static struct ieee80211_sta fuzz_sta = { .addr = { 1 } };
static const u8 fuzz_receiver[ETH_ALEN] = { 0x02, 0xff, 0, 0, 0, 1 };
static const u8 fuzz_address[STATIONS][ETH_ALEN] = {
	{ 0x02, 0xff, 0, 0, 1, 1 },
	{ 0x02, 0xff, 0, 0, 1, 2 },
	{ 0x02, 0xff, 0, 0, 1, 3 },
};

static DEFINE_MUTEX(fuzz_lock);
static struct rnd_state fuzz_random;
static u16 fuzz_next[STATIONS];
static char fuzz_report[200] = "nothing ran\n";

static u32 below(u32 limit)
{
	return prandom_u32_state(&fuzz_random) % limit;
}

static void fill(u8 *bytes, size_t length)
{
	prandom_bytes_state(&fuzz_random, bytes, length);
}

static void write_data(u8 *bytes, int n)
{
	static const u8 msdu[] = { 0xaa, 0xaa, 0x03, 0, 0, 0, 0x08, 0, 0x45,
				   0, 0, 40, 0, 0, 0x40, 0, 64, 6 };
	u16 sequence = fuzz_next[n] - 4 + below(12);

	if (!below(50))
		sequence = below(4096);
	if (!below(3))
		fuzz_next[n] = (fuzz_next[n] + below(6)) & 4095;
	bytes[0] = 0x88;
	bytes[1] = below(8) ? 0x01 : below(256);
	ether_addr_copy(bytes + 4, fuzz_receiver);
	ether_addr_copy(bytes + 10, fuzz_address[n]);
	bytes[22] = sequence << 4;
	bytes[23] = sequence >> 4;
	bytes[24] = below(16) ? below(2) : below(256);
	bytes[25] = 0;
	if (below(4))
		memcpy(bytes + 26, msdu, sizeof(msdu));
}

static void write_bar(u8 *bytes, int n)
{
	u16 start = below(4) ? fuzz_next[n] : below(4096);

	bytes[0] = 0x84;
	bytes[1] = 0;
	ether_addr_copy(bytes + 4, fuzz_receiver);
	ether_addr_copy(bytes + 10, fuzz_address[n]);
	bytes[16] = 0x04;
	bytes[17] = below(3) << 4;
	bytes[18] = start << 4;
	bytes[19] = start >> 4;
}

static void write_status(struct ieee80211_rx_status *status)
{
	memset(status, 0, sizeof(*status));
	status->encoding = RX_ENC_HT;
	status->rate_idx = below(8);
	status->bw = RATE_INFO_BW_20;
	if (below(2))
		status->flag |= RX_FLAG_FAILED_FCS_CRC;
	if (!below(16))
		fill((u8 *)status, sizeof(*status));
	if (!below(8))
		status->flag |= RX_FLAG_DECRYPTED;
}

static bool one_frame(struct sk_buff *skb)
{
	struct ro_move move;
	int n = below(STATIONS);
	u8 *bytes = skb->data;

	fill(bytes, BYTES);
	if (below(10) < 7)
		write_data(bytes, n);
	else if (below(3))
		write_bar(bytes, n);
	if (!below(20))
		bytes[below(40)] ^= 1 << below(8);
	skb->len = below(8) ? BYTES : below(BYTES + 1);
	skb_set_tail_pointer(skb, skb->len);
	write_status(IEEE80211_SKB_RXCB(skb));
	ro_receive(&fuzz_hw, &fuzz_sta, skb, &move);
	return !move.due;
}

static bool adds_up(struct ro_station *station)
{
	bool holds = true;
	int tid;

	spin_lock_bh(&station->lock);
	for (tid = 0; tid < RO_TIDS; tid++) {
		const struct ro_counters *count = &station->count[tid];
		const struct ro_agreement *agreement = station->agreement[tid];

		if (count->marked + count->implausible > count->failed ||
		    count->ignored > count->good ||
		    count->wrong > count->ignored ||
		    count->unread > count->failed)
			holds = false;
		/* Held and skipped numbers are ahead of the head, never the head. */
		if (agreement && (agreement->reorder.held |
				  agreement->reorder.skipped) >>
					 (agreement->reorder.head % 64) & 1)
			holds = false;
	}
	spin_unlock_bh(&station->lock);
	return holds;
}

static const char *run(u32 frames)
{
	const char *wrong = NULL;
	struct ro_station *station[STATIONS] = {};
	struct sk_buff *skb = alloc_skb(BYTES, GFP_KERNEL);
	u32 i;
	int n;

	if (!skb)
		return "no memory";
	skb_put(skb, BYTES);
	rcu_read_lock();
	for (n = 0; n < STATIONS; n++) {
		station[n] = ro_station_of((void *)fuzz_address[n],
					   fuzz_address[n]);
		if (!station[n]) {
			wrong = "no place for a station";
			break;
		}
		station[n]->synthetic = true;
		ro_station_meet(station[n], &fuzz_hw, fuzz_receiver, false);
	}
	rcu_read_unlock();
	for (i = 0; i < frames && !wrong; i++) {
		if (i % 1000 == 0) {
			n = below(STATIONS);
			if (below(8))
				ro_station_begin(station[n], below(3),
						 fuzz_next[n], 1 + below(64));
			else
				ro_station_end(station[n], below(3));
			cond_resched();
		}
		local_bh_disable();
		if (!one_frame(skb))
			wrong = "mac80211 would have been called";
		local_bh_enable();
		if (i % 997 == 0 && !adds_up(station[below(STATIONS)]))
			wrong = "counters do not add up";
	}
	for (n = 0; n < STATIONS; n++)
		if (station[n])
			ro_station_remove(station[n]);
	kfree_skb(skb);
	return wrong;
}

/* Good frames of one station in order, the common case. */
static const char *bench(u32 frames)
{
	struct sk_buff *skb = alloc_skb(BYTES, GFP_KERNEL);
	struct ieee80211_rx_status *status;
	struct ro_station *station;
	struct ro_move move;
	u32 i;

	if (!skb)
		return "no memory";
	skb_put(skb, BYTES);
	fill(skb->data, BYTES);
	write_data(skb->data, 0);
	skb->data[1] = 0x01;
	skb->data[24] = 0;
	status = IEEE80211_SKB_RXCB(skb);
	memset(status, 0, sizeof(*status));
	status->encoding = RX_ENC_HT;
	rcu_read_lock();
	station = ro_station_of((void *)fuzz_address[0], fuzz_address[0]);
	if (station) {
		station->synthetic = true;
		ro_station_meet(station, &fuzz_hw, fuzz_receiver, false);
	}
	rcu_read_unlock();
	if (!station)
		return "no place for a station";
	ro_station_begin(station, 0, 0, 64);
	local_bh_disable();
	for (i = 0; i < frames; i++) {
		skb->data[22] = i << 4;
		skb->data[23] = i >> 4;
		ro_receive(&fuzz_hw, NULL, skb, &move);
	}
	local_bh_enable();
	ro_station_remove(station);
	kfree_skb(skb);
	return NULL;
}

static ssize_t fuzz_write(struct file *file, const char __user *user,
			  size_t length, loff_t *offset)
{
	u32 frames, seed = 1;
	const char *wrong;
	char text[40];
	ktime_t begin;
	bool benches;

	if (length >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, user, length))
		return -EFAULT;
	text[length] = '\0';
	benches = sscanf(text, "bench %u", &frames) == 1;
	if (!benches && sscanf(text, "%u %u", &frames, &seed) < 1)
		return -EINVAL;
	mutex_lock(&fuzz_lock);
	prandom_seed_state(&fuzz_random, seed);
	begin = ktime_get();
	wrong = benches ? bench(frames) : run(frames);
	scnprintf(fuzz_report, sizeof(fuzz_report),
		  "%u frames, seed %u, %lld ns each: %s\n", frames, seed,
		  div_s64(ktime_to_ns(ktime_sub(ktime_get(), begin)),
			  max(frames, 1u)),
		  wrong ? wrong : "no complaint");
	mutex_unlock(&fuzz_lock);
	return wrong ? -EIO : length;
}

static ssize_t fuzz_read(struct file *file, char __user *user, size_t length,
			 loff_t *offset)
{
	return simple_read_from_buffer(user, length, offset, fuzz_report,
				       strlen(fuzz_report));
}

static const struct file_operations fuzz_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = fuzz_read,
	.write = fuzz_write,
};

void ro_fuzz_start(struct dentry *folder)
{
	debugfs_create_file("fuzz", 0600, folder, NULL, &fuzz_fops);
}
