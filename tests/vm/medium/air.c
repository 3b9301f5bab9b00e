// SPDX-License-Identifier: GPL-2.0-only
/*
 * A medium with airtime, losses and retries for mac80211_hwsim.
 *
 * Frames that mac80211 sends wait in the radio's queue of their access category.
 * On a channel one radio transmits at a time: it waits AIFS and a random backoff
 * (802.11-2020, 10.23.2), holds the air for its PPDU (HT mixed format with the
 * rate below; 17 and 19.3.2 for legacy rates), SIFS and the Ack or Block Ack.
 * Then each MPDU is received or lost. A lost one is delivered with its body
 * changed and RX_FLAG_FAILED_FCS_CRC to radios that ask for such frames
 * (FIF_FCSFAIL: a monitor interface with the flag fcsfail), and is sent again
 * with the Retry bit until its retry limit. MPDUs of a Block Ack agreement go out
 * as A-MPDUs within a window of 64 sequence numbers, so that a lost one arrives
 * after others of higher numbers; one that is given up is reported with
 * IEEE80211_TX_STAT_AMPDU_NO_BACK, on which mac80211 sends a BlockAckReq.
 *
 * Parameters (/sys/module/lasthop_medium/parameters, those with * also while it
 * is loaded), besides those of mac80211_hwsim:
 *
 *   rate     *  0, or an HT rate of one stream in kb/s (6500 .. 150000), for
 *               every unicast data frame; 0: that of rate control. Default 0.
 *   loss     *  MPDUs that are lost, per mille: one number, or one for each MCS
 *               from 0. Default 0.
 *   ack_loss *  received MPDUs whose acknowledgement is lost, per mille: sent
 *               again, the recipient sees a duplicate. Default 0.
 *   retries  *  transmissions after the first one, 0 .. 255. Default 7. With
 *               rate=0 the counts of rate control's series limit it as well.
 *   ampdu    *  MPDUs in an A-MPDU, 1 .. 64. Default 32. An MPDU of more than
 *               4 095 bytes is sent alone, as its delimiter has 12 bits of length.
 *   ppdu_us  *  longest A-MPDU, microseconds. Default 4000, as in Linux' drivers.
 *   queue    *  frames of an access category in the radio until mac80211 is
 *               stopped: the driver's queue. Default 64.
 *   orphan   *  frees frames from their socket in the queue, which TCP small
 *               queues then do not see (drivers that copy). Default 0.
 *   damaged  *  deliver lost MPDUs: 0 never, 1 to those who ask, 2 to all. Default 1.
 *   damage_header *  damaged MPDUs whose header is changed, too, per mille. Default 0.
 *   aql         mac80211 limits the airtime that waits in the radio (airtime queue
 *               limits, NL80211_EXT_FEATURE_AQL). Since Linux 6.2; ignored before.
 *               Default 0.
 *   seed        of the losses and backoffs, not 0. Default 1. With a clock that
 *               counts instructions a run repeats itself.
 *
 * Counters since it was loaded: /sys/kernel/debug/lasthop_medium.
 *
 * Left out: collisions; losses of beacons, multicast and management frames; the
 * beacons' airtime; losses by length; RTS; lower rates for retries; the preambles of
 * VHT and later. Access categories of one radio are served in strict priority. A
 * frame whose addressee is on another channel is tried as often as others, then
 * reported as filtered. mac80211_hwsim's user-space medium is ignored. A radio hears
 * the channel that it is tuned to only; stock hwsim hears the access point while
 * it scans other channels, too.
 */

#include <linux/debugfs.h>
#include <linux/version.h>

#define AIR_SIFS_NS	16000ULL
#define AIR_SLOT_NS	9000ULL
#define AIR_WINDOW	64
#define AIR_MPDU_MAX	4095
#define AIR_AMPDU_MAX	65535
/* Ack and Block Ack at 24 Mb/s: preamble and SIGNAL, then 2 and 3 symbols. */
#define AIR_ACK_NS	28000ULL
#define AIR_BLOCK_ACK_NS	32000ULL
#define AIR_FLUSH_MS	2000

struct air_frame {
	struct list_head list;
	struct sk_buff *skb;
	struct ieee80211_channel *chan;
	struct ieee80211_tx_rate rates[IEEE80211_TX_MAX_RATES];
	unsigned int attempts;
	u16 sequence;
	u8 tid;
	s8 txpower_dbm;
	bool unicast;
	bool data;
	bool block_ack_request;
	bool aggregate;
	bool in_flight;
	/* At its last attempt its addressee was on another channel. */
	bool unreachable;
};

/* A channel. */
struct air {
	struct list_head list;
	u32 freq;
	u16 freq_offset;
	struct hrtimer timer;
	struct air_radio *radio;
	struct ieee80211_tx_rate rate;
	unsigned int ac;
	unsigned int n;
	struct air_frame *frames[AIR_WINDOW];
};

static DEFINE_SPINLOCK(air_lock);
static LIST_HEAD(air_radios);
static LIST_HEAD(airs);
static u32 air_random_state;
static u32 air_reference;
static struct dentry *air_debugfs;

static struct {
	u64 ppdus, attempts, lost, unreachable, acks_lost, damaged_delivered;
	u64 acknowledged, given_up, busy_ns, aggregates, retried, refused;
} air_count;

/* kb/s of MCS 0 to 7, one stream: [40 MHz][short guard interval][MCS]. */
static const unsigned int air_rates[2][2][8] = {
	{ { 6500, 13000, 19500, 26000, 39000, 52000, 58500, 65000 },
	  { 7200, 14400, 21700, 28900, 43300, 57800, 65000, 72200 } },
	{ { 13500, 27000, 40500, 54000, 81000, 108000, 121500, 135000 },
	  { 15000, 30000, 45000, 60000, 90000, 120000, 135000, 150000 } },
};

static unsigned int air_rate;
static struct ieee80211_tx_rate air_fixed = { .idx = -1 };

static int air_set_rate(const char *value, const struct kernel_param *kp)
{
	unsigned int rate, wide, guard, mcs;
	int err = kstrtouint(value, 0, &rate);

	if (err)
		return err;
	if (!rate) {
		air_rate = 0;
		return 0;
	}
	for (wide = 0; wide < 2; wide++)
		for (guard = 0; guard < 2; guard++)
			for (mcs = 0; mcs < 8; mcs++) {
				struct ieee80211_tx_rate fixed = {
					.idx = mcs,
					.count = 1,
					.flags = IEEE80211_TX_RC_MCS,
				};

				if (air_rates[wide][guard][mcs] != rate)
					continue;
				if (wide)
					fixed.flags |= IEEE80211_TX_RC_40_MHZ_WIDTH;
				if (guard)
					fixed.flags |= IEEE80211_TX_RC_SHORT_GI;
				air_fixed = fixed;
				air_rate = rate;
				return 0;
			}
	pr_err("lasthop_medium: rate %u is no HT rate of one stream in kb/s, such as 6500, 13000, 65000, 150000\n",
	       rate);
	return -EINVAL;
}

static const struct kernel_param_ops air_rate_ops = {
	.set = air_set_rate,
	.get = param_get_uint,
};

/* A parameter and its range, which follows it in memory. */
struct air_limited {
	unsigned int value, min, max;
};

static int air_set_limited(const char *value, const struct kernel_param *kp)
{
	struct air_limited *limited = kp->arg;

	return param_set_uint_minmax(value, kp, limited->min, limited->max);
}

static const struct kernel_param_ops air_limited_ops = {
	.set = air_set_limited,
	.get = param_get_uint,
};

#define AIR_PARAMETER(name, from, to, initial)					\
	static struct air_limited param_##name = { initial, from, to };	\
	module_param_cb(name, &air_limited_ops, &param_##name, 0644)

module_param_cb(rate, &air_rate_ops, &air_rate, 0644);
AIR_PARAMETER(ack_loss, 0, 1000, 0);
AIR_PARAMETER(retries, 0, 255, 7);
AIR_PARAMETER(ampdu, 1, AIR_WINDOW, 32);
AIR_PARAMETER(ppdu_us, 1, 100000, 4000);
AIR_PARAMETER(queue, 1, 100000, 64);
AIR_PARAMETER(orphan, 0, 1, 0);
AIR_PARAMETER(damaged, 0, 2, 1);
AIR_PARAMETER(damage_header, 0, 1000, 0);

static unsigned int param_seed = 1;
module_param_named(seed, param_seed, uint, 0444);

static bool param_aql;
module_param_named(aql, param_aql, bool, 0444);

static unsigned int air_loss[16];
static int air_losses = 1;
module_param_array_named(loss, air_loss, uint, &air_losses, 0644);

/* Uniform below n. xorshift32: under the lock, the same for the same seed. */
static u32 air_below(u32 n)
{
	u32 x = air_random_state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	air_random_state = x;
	return (u64)x * n >> 32;
}

static bool air_chance(unsigned int per_mille)
{
	return per_mille && air_below(1000) < per_mille;
}

static unsigned int air_loss_of(const struct ieee80211_tx_rate *rate)
{
	int i = rate->flags & IEEE80211_TX_RC_MCS ? rate->idx : 0;

	return air_loss[clamp(i, 0, max(air_losses, 1) - 1)];
}

/* The rate of a frame's next attempt: rate control gives a series with counts. */
static const struct ieee80211_tx_rate *air_rate_of(const struct air_frame *frame)
{
	unsigned int left = frame->attempts, i;

	if (air_rate && frame->data)
		return &air_fixed;
	for (i = 0; i < IEEE80211_TX_MAX_RATES && frame->rates[i].idx >= 0; i++) {
		if (left < frame->rates[i].count)
			return &frame->rates[i];
		left -= frame->rates[i].count;
	}
	return &frame->rates[0];
}

/* Transmissions that a frame gets at most. */
static unsigned int air_attempts_max(const struct air_frame *frame)
{
	unsigned int attempts = 0, i;

	if (!frame->unicast)
		return 1;
	for (i = 0; i < IEEE80211_TX_MAX_RATES && frame->rates[i].idx >= 0; i++)
		attempts += frame->rates[i].count;
	if ((air_rate && frame->data) || !attempts)
		return param_retries.value + 1;
	return min(attempts, param_retries.value + 1);
}

/* Air that a PPDU holds, without what follows it. */
static u64 air_ppdu_ns(struct ieee80211_hw *hw, const struct air_frame *frame,
		       const struct ieee80211_tx_rate *rate, unsigned int bytes)
{
	u64 bits = 16 + 6 + 8ULL * bytes, symbols;

	if (rate->flags & (IEEE80211_TX_RC_MCS | IEEE80211_TX_RC_VHT_MCS)) {
		bool guard = rate->flags & IEEE80211_TX_RC_SHORT_GI;
		/* With the long guard interval 100 kb/s times 4 us is whole. */
		struct rate_info info = { .bw = RATE_INFO_BW_20 };
		unsigned int streams;

		if (rate->flags & IEEE80211_TX_RC_MCS) {
			info.flags = RATE_INFO_FLAGS_MCS;
			info.mcs = rate->idx;
			streams = rate->idx / 8 + 1;
		} else {
			info.flags = RATE_INFO_FLAGS_VHT_MCS;
			info.mcs = ieee80211_rate_get_vht_mcs(rate);
			info.nss = ieee80211_rate_get_vht_nss(rate);
			streams = info.nss;
		}
		if (rate->flags & IEEE80211_TX_RC_40_MHZ_WIDTH)
			info.bw = RATE_INFO_BW_40;
		else if (rate->flags & IEEE80211_TX_RC_80_MHZ_WIDTH)
			info.bw = RATE_INFO_BW_80;
		symbols = DIV_ROUND_UP_ULL(bits * 10, max(1U, cfg80211_calculate_bitrate(&info) * 4));
		return (32 + 4 * (streams == 3 ? 4 : streams)) * 1000ULL + symbols * (guard ? 3600 : 4000);
	} else {
		const struct ieee80211_supported_band *band = hw->wiphy->bands[frame->chan->band];
		unsigned int bitrate = 60;

		if (band && rate->idx >= 0 && rate->idx < band->n_bitrates)
			bitrate = band->bitrates[rate->idx].bitrate;
		/* DSSS and CCK have a long preamble and no tail. */
		if (bitrate <= 20 || bitrate == 55 || bitrate == 110)
			return 192000 + div_u64(8ULL * bytes * 10000, bitrate);
		symbols = DIV_ROUND_UP_ULL(bits * 10, bitrate * 4);
		return 20000 + symbols * 4000;
	}
}

/* AIFS and backoff before an attempt; the window doubles with each one. */
static u64 air_access_ns(unsigned int ac, unsigned int attempts)
{
	static const u8 aifsn[AIR_ACS] = { 2, 2, 3, 7 };
	static const u16 least[AIR_ACS] = { 3, 7, 15, 15 };
	static const u16 most[AIR_ACS] = { 7, 15, 1023, 1023 };
	u32 window = min_t(u32, ((least[ac] + 1) << min(attempts, 10U)) - 1, most[ac]);

	return AIR_SIFS_NS + (aifsn[ac] + air_below(window + 1)) * AIR_SLOT_NS;
}

static bool air_same_agreement(const struct air_frame *a, const struct air_frame *b)
{
	return a->data && b->data && a->tid == b->tid && a->chan == b->chan &&
	       ether_addr_equal(((struct ieee80211_hdr *)a->skb->data)->addr1,
				((struct ieee80211_hdr *)b->skb->data)->addr1);
}

/* Bytes of an MPDU in an A-MPDU: FCS, delimiter, padding. */
static unsigned int air_subframe(const struct air_frame *frame)
{
	return ALIGN(frame->skb->len + FCS_LEN + 4, 4);
}

/* Gathers the PPDU that begins with the oldest frame; returns how long it holds the air. */
static u64 air_gather(struct air *air, struct air_radio *radio, struct air_frame *head)
{
	struct ieee80211_hw *hw = radio->data->hw;
	struct air_frame *frame = head;
	unsigned int bytes;
	u64 ns;

	air->rate = *air_rate_of(head);
	air->frames[0] = head;
	air->n = 1;
	if (!head->aggregate || head->skb->len + FCS_LEN > AIR_MPDU_MAX) {
		ns = air_ppdu_ns(hw, head, &air->rate, head->skb->len + FCS_LEN);
		return ns + (head->unicast ? AIR_SIFS_NS + AIR_ACK_NS : 0);
	}
	bytes = air_subframe(head);
	ns = air_ppdu_ns(hw, head, &air->rate, bytes);
	list_for_each_entry_continue(frame, &radio->frames[air->ac], list) {
		u64 longer;

		if (!air_same_agreement(head, frame))
			continue;
		if (!frame->aggregate || air->n >= param_ampdu.value ||
		    frame->skb->len + FCS_LEN > AIR_MPDU_MAX ||
		    bytes + air_subframe(frame) > AIR_AMPDU_MAX ||
		    ((frame->sequence - head->sequence) & 0xfff) >= AIR_WINDOW)
			break;
		longer = air_ppdu_ns(hw, head, &air->rate, bytes + air_subframe(frame));
		if (longer > param_ppdu_us.value * 1000ULL)
			break;
		bytes += air_subframe(frame);
		ns = longer;
		air->frames[air->n++] = frame;
	}
	if (air->n > 1)
		air_count.aggregates++;
	return ns + AIR_SIFS_NS + AIR_BLOCK_ACK_NS;
}

/* The frame a radio would send on a channel: the oldest of its highest category. */
static struct air_frame *air_next(const struct air *air, const struct air_radio *radio,
				  unsigned int *ac)
{
	unsigned int i;

	if (radio->sending || radio->stopped)
		return NULL;
	for (i = 0; i < AIR_ACS; i++) {
		struct air_frame *frame;

		if (list_empty(&radio->frames[i]))
			continue;
		frame = list_first_entry(&radio->frames[i], struct air_frame, list);
		*ac = i;
		return frame->chan->center_freq == air->freq &&
		       frame->chan->freq_offset == air->freq_offset ? frame : NULL;
	}
	return NULL;
}

/*
 * If nobody transmits, one of the radios that have a frame does, each as likely.
 * The air is free since `since`: what a PPDU's end costs the CPU does not hold it.
 */
static void air_start(struct air *air, ktime_t since)
{
	struct air_radio *radio, *chosen = NULL;
	struct air_frame *head = NULL;
	unsigned int contenders = 0, i;
	u64 access, ns;

	if (air->radio)
		return;
	list_for_each_entry(radio, &air_radios, list) {
		unsigned int ac;
		struct air_frame *frame = air_next(air, radio, &ac);

		if (!frame || air_below(++contenders))
			continue;
		chosen = radio;
		head = frame;
		air->ac = ac;
	}
	if (!chosen)
		return;
	chosen->sending = true;
	air->radio = chosen;
	access = air_access_ns(air->ac, head->attempts);
	ns = air_gather(air, chosen, head);
	for (i = 0; i < air->n; i++)
		air->frames[i]->in_flight = true;
	air_count.ppdus++;
	air_count.busy_ns += ns;
	hrtimer_start(&air->timer, ktime_add_ns(since, access + ns), HRTIMER_MODE_ABS_SOFT);
}

static bool air_deliver(struct ieee80211_hw *hw, struct sk_buff *skb,
			struct ieee80211_channel *chan,
			const struct air_attempt *attempt);

/* What is sent around the medium: beacons. */
static bool mac80211_hwsim_tx_frame_no_nl(struct ieee80211_hw *hw,
					  struct sk_buff *skb,
					  struct ieee80211_channel *chan)
{
	return air_deliver(hw, skb, chan, NULL);
}

static bool air_wants_damaged(const struct mac80211_hwsim_data *data)
{
	return param_damaged.value == 2 ||
	       (param_damaged.value == 1 && data->rx_filter & FIF_FCSFAIL);
}

static void air_status(const struct air_attempt *attempt, struct ieee80211_rx_status *status)
{
	status->signal += attempt->txpower_dbm;
	if (attempt->damaged) {
		status->flag |= RX_FLAG_FAILED_FCS_CRC;
		air_count.damaged_delivered++;
	}
	if (!attempt->aggregate)
		return;
	status->flag |= RX_FLAG_AMPDU_DETAILS | RX_FLAG_AMPDU_LAST_KNOWN;
	if (attempt->last)
		status->flag |= RX_FLAG_AMPDU_IS_LAST;
	status->ampdu_reference = attempt->reference;
}

/* Changes a byte of the body, and sometimes one of the addresses or numbers. */
static void air_damage(struct sk_buff *skb)
{
	unsigned int header = min(ieee80211_hdrlen(((struct ieee80211_hdr *)skb->data)->frame_control),
				  skb->len);

	if (skb->len > header)
		skb->data[header + air_below(skb->len - header)] ^= 1 + air_below(255);
	/* Not frame control: what length the header has stays true. */
	if (header > 4 && air_chance(param_damage_header.value))
		skb->data[4 + air_below(header - 4)] ^= 1 + air_below(255);
}

/* Delivers one attempt to all radios; whether the addressee received it. */
static bool air_send(struct air *air, struct ieee80211_hw *hw, struct air_frame *frame,
		     struct air_attempt *attempt)
{
	struct sk_buff *copy = skb_copy(frame->skb, GFP_ATOMIC);
	struct ieee80211_tx_info *info;
	bool received;

	if (!copy)
		return false;
	info = IEEE80211_SKB_CB(copy);
	/* The interface may be gone since. */
	info->control.vif = NULL;
	info->control.rates[0] = air->rate;
	if (attempt->damaged)
		air_damage(copy);
	copy->mark = attempt->damaged ? AIR_DAMAGED : 0;
	mac80211_hwsim_monitor_rx(hw, copy, frame->chan);
	received = air_deliver(hw, copy, frame->chan, attempt);
	dev_kfree_skb(copy);
	return received && !attempt->damaged;
}

/* Reports to mac80211 what became of a frame, with its attempts. */
static void air_report(struct ieee80211_hw *hw, struct air_frame *frame, bool acknowledged,
		       unsigned int in_ppdu, unsigned int acknowledged_in_ppdu)
{
	struct ieee80211_tx_info *info = IEEE80211_SKB_CB(frame->skb);
	unsigned int left = frame->attempts, i;

	ieee80211_tx_info_clear_status(info);
	for (i = 0; i < IEEE80211_TX_MAX_RATES; i++)
		info->status.rates[i] = frame->rates[i];
	if (air_rate && frame->data) {
		info->status.rates[0] = air_fixed;
		info->status.rates[0].count = left;
		info->status.rates[1].idx = -1;
	} else {
		for (i = 0; i < IEEE80211_TX_MAX_RATES && info->status.rates[i].idx >= 0; i++) {
			if (!left) {
				info->status.rates[i].idx = -1;
				break;
			}
			info->status.rates[i].count = min_t(unsigned int, left,
							    info->status.rates[i].count);
			left -= info->status.rates[i].count;
		}
	}
	if (frame->unicast && acknowledged)
		info->flags |= IEEE80211_TX_STAT_ACK;
	/* As hardware does that knows who sleeps: mac80211 keeps the frame for a station that does. */
	if (frame->unreachable && frame->data && !acknowledged)
		info->flags |= IEEE80211_TX_STAT_TX_FILTERED;
	if (frame->aggregate) {
		if (!acknowledged)
			info->flags |= IEEE80211_TX_STAT_AMPDU_NO_BACK;
		/* Rate control counts an A-MPDU once. */
		if (in_ppdu) {
			info->flags |= IEEE80211_TX_STAT_AMPDU;
			info->status.ampdu_len = in_ppdu;
			info->status.ampdu_ack_len = acknowledged_in_ppdu;
		}
	}
	ieee80211_tx_status_irqsafe(hw, frame->skb);
}

static void air_remove(struct air_radio *radio, unsigned int ac, struct air_frame *frame)
{
	list_del(&frame->list);
	radio->count[ac]--;
}

/* Lets mac80211 send again once a quarter of the queue is free. */
static void air_wake(struct air_radio *radio, unsigned int ac)
{
	if (!radio->full[ac] || radio->count[ac] > param_queue.value - param_queue.value / 4 - 1)
		return;
	radio->full[ac] = false;
	ieee80211_wake_queue(radio->data->hw, ac);
}

/*
 * With airtime queue limits frames wait in mac80211 although the radio's queue has room.
 * A driver asks for them when it has reported others, which mac80211's own
 * wake_tx_queue leaves to it.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
static void air_pull_for(void *data, u8 *mac, struct ieee80211_vif *vif)
{
	/* Of the queue that is passed its interface and access category are used only. */
	struct ieee80211_txq any = { .vif = vif };

	for (any.ac = 0; any.ac < AIR_ACS; any.ac++)
		ieee80211_handle_wake_tx_queue(data, &any);
}

static void air_pull(struct tasklet_struct *tasklet)
{
	struct air_radio *radio = from_tasklet(radio, tasklet, pull);
	struct ieee80211_hw *hw = radio->data->hw;

	ieee80211_iterate_active_interfaces_atomic(hw, IEEE80211_IFACE_ITER_NORMAL,
						   air_pull_for, hw);
}

static void air_features(struct ieee80211_hw *hw)
{
	if (param_aql)
		wiphy_ext_feature_set(hw->wiphy, NL80211_EXT_FEATURE_AQL);
}
#else
static void air_pull(struct tasklet_struct *tasklet) { }

static void air_features(struct ieee80211_hw *hw) { }
#endif

/* The end of a PPDU and its acknowledgement. */
static enum hrtimer_restart air_end(struct hrtimer *timer)
{
	struct air *air = container_of(timer, struct air, timer);
	struct air_radio *radio;
	struct mac80211_hwsim_data *data;
	unsigned int i, acknowledged = 0, loss;
	bool received[AIR_WINDOW];

	spin_lock_bh(&air_lock);
	radio = air->radio;
	data = radio->data;
	loss = air_loss_of(&air->rate);
	air_reference++;
	for (i = 0; i < air->n; i++) {
		struct air_frame *frame = air->frames[i];
		struct ieee80211_hdr *hdr = (void *)frame->skb->data;
		struct air_attempt attempt = {
			.rate = &air->rate,
			.txpower_dbm = frame->txpower_dbm,
			.damaged = (frame->data || frame->block_ack_request) && air_chance(loss),
			.aggregate = frame->aggregate,
			.last = i + 1 == air->n,
			.reference = air_reference,
		};

		if (frame->attempts++)
			air_count.retried++;
		air_count.attempts++;
		data->tx_pkts++;
		data->tx_bytes += frame->skb->len;
		received[i] = air_send(air, data->hw, frame, &attempt);
		frame->unreachable = frame->unicast && !received[i] && !attempt.damaged;
		if (attempt.damaged)
			air_count.lost++;
		else if (frame->unreachable)
			air_count.unreachable++;
		if (received[i] && frame->data && air_chance(param_ack_loss.value)) {
			air_count.acks_lost++;
			received[i] = false;
		}
		acknowledged += received[i];
		/* A BlockAckReq has no sequence number: it is repeated as it is. */
		if (!frame->block_ack_request)
			hdr->frame_control |= cpu_to_le16(IEEE80211_FCTL_RETRY);
		if (received[i] && !frame->aggregate && frame->skb->len >= 16)
			mac80211_hwsim_monitor_ack(frame->chan, hdr->addr2);
	}
	for (i = 0; i < air->n; i++) {
		struct air_frame *frame = air->frames[i];

		frame->in_flight = false;
		if (!received[i] && frame->attempts < air_attempts_max(frame) && !radio->stopped)
			continue;
		if (received[i])
			air_count.acknowledged++;
		else if (frame->unicast)
			air_count.given_up++;
		air_remove(radio, air->ac, frame);
		air_report(data->hw, frame, received[i], i ? 0 : air->n, acknowledged);
		kfree(frame);
	}
	radio->sending = false;
	air->radio = NULL;
	air_wake(radio, air->ac);
	/* After the tasklet in which mac80211 takes the reports. */
	if (param_aql)
		tasklet_schedule(&radio->pull);
	wake_up(&radio->drained);
	/* Its radio may now send on other channels, too. */
	air_start(air, hrtimer_get_expires(timer));
	list_for_each_entry(air, &airs, list)
		air_start(air, ktime_get());
	spin_unlock_bh(&air_lock);
	return HRTIMER_NORESTART;
}

static struct air *air_of(const struct ieee80211_channel *chan)
{
	struct air *air;

	list_for_each_entry(air, &airs, list)
		if (air->freq == chan->center_freq && air->freq_offset == chan->freq_offset)
			return air;
	air = kzalloc(sizeof(*air), GFP_ATOMIC);
	if (!air)
		return NULL;
	air->freq = chan->center_freq;
	air->freq_offset = chan->freq_offset;
	hrtimer_init(&air->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	air->timer.function = air_end;
	list_add_tail(&air->list, &airs);
	return air;
}

/* Takes a frame from mac80211. */
static void air_take(struct ieee80211_hw *hw, struct sk_buff *skb,
		     struct ieee80211_channel *chan)
{
	struct mac80211_hwsim_data *data = hw->priv;
	struct air_radio *radio = &data->air;
	struct ieee80211_tx_info *info = IEEE80211_SKB_CB(skb);
	struct ieee80211_hdr *hdr = (void *)skb->data;
	/* Queue 4 is that of frames off the channel. */
	unsigned int ac = info->hw_queue < AIR_ACS ? info->hw_queue : 0;
	struct air_frame *frame = kzalloc(sizeof(*frame), GFP_ATOMIC);
	struct list_head *before;
	struct air *air;

	if (!frame)
		goto refused;
	frame->skb = skb;
	frame->chan = chan;
	memcpy(frame->rates, info->control.rates, sizeof(frame->rates));
	if (info->control.vif)
		frame->txpower_dbm = clamp(info->control.vif->bss_conf.txpower, -128, 127);
	frame->unicast = !is_multicast_ether_addr(hdr->addr1) &&
			 !(info->flags & IEEE80211_TX_CTL_NO_ACK);
	frame->block_ack_request = ieee80211_is_back_req(hdr->frame_control);
	if (frame->unicast && ieee80211_is_data(hdr->frame_control) && skb->len >= 24) {
		frame->data = true;
		frame->sequence = IEEE80211_SEQ_TO_SN(le16_to_cpu(hdr->seq_ctrl));
		frame->tid = ieee80211_is_data_qos(hdr->frame_control) ? ieee80211_get_tid(hdr) : 0xff;
		frame->aggregate = info->flags & IEEE80211_TX_CTL_AMPDU;
	}
	if (param_orphan.value)
		skb_orphan(skb);

	spin_lock_bh(&air_lock);
	air = air_of(chan);
	if (!air || radio->stopped) {
		air_count.refused++;
		spin_unlock_bh(&air_lock);
		kfree(frame);
		goto refused;
	}
	/* What a BlockAckReq gives up must not hold back what waits: it goes before all but its like. */
	before = &radio->frames[ac];
	if (frame->block_ack_request) {
		struct air_frame *other;

		list_for_each_entry(other, &radio->frames[ac], list)
			if (!other->block_ack_request) {
				before = &other->list;
				break;
			}
	}
	list_add_tail(&frame->list, before);
	if (++radio->count[ac] >= param_queue.value && !radio->full[ac]) {
		radio->full[ac] = true;
		ieee80211_stop_queue(hw, ac);
	}
	air_start(air, ktime_get());
	spin_unlock_bh(&air_lock);
	return;

refused:
	ieee80211_free_txskb(hw, skb);
}

/* Drops what waits and is not on the air. */
static void air_purge(struct air_radio *radio)
{
	struct air_frame *frame, *next;
	LIST_HEAD(dropped);
	unsigned int ac;

	spin_lock_bh(&air_lock);
	for (ac = 0; ac < AIR_ACS; ac++) {
		list_for_each_entry_safe(frame, next, &radio->frames[ac], list) {
			if (frame->in_flight)
				continue;
			list_move_tail(&frame->list, &dropped);
			radio->count[ac]--;
			air_count.refused++;
		}
		air_wake(radio, ac);
	}
	spin_unlock_bh(&air_lock);
	list_for_each_entry_safe(frame, next, &dropped, list) {
		ieee80211_free_txskb(radio->data->hw, frame->skb);
		kfree(frame);
	}
}

static bool air_drained(struct air_radio *radio)
{
	bool drained;

	spin_lock_bh(&air_lock);
	drained = !radio->sending && !radio->count[0] && !radio->count[1] &&
		  !radio->count[2] && !radio->count[3];
	spin_unlock_bh(&air_lock);
	return drained;
}

/* Waits until a radio has sent everything, as mac80211 asks before it leaves the channel. */
static void air_flush(struct mac80211_hwsim_data *data, bool drop)
{
	if (drop)
		air_purge(&data->air);
	wait_event_timeout(data->air.drained, air_drained(&data->air),
			   msecs_to_jiffies(AIR_FLUSH_MS));
}

static void air_stop(struct mac80211_hwsim_data *data)
{
	spin_lock_bh(&air_lock);
	data->air.stopped = true;
	spin_unlock_bh(&air_lock);
	air_purge(&data->air);
	/* What is on the air ends within a PPDU, and nothing is sent again. */
	wait_event(data->air.drained, air_drained(&data->air));
}

static void air_restart(struct mac80211_hwsim_data *data)
{
	spin_lock_bh(&air_lock);
	data->air.stopped = false;
	spin_unlock_bh(&air_lock);
}

static void air_init_radio(struct mac80211_hwsim_data *data)
{
	unsigned int ac;

	data->air.data = data;
	data->air.stopped = true;
	init_waitqueue_head(&data->air.drained);
	tasklet_setup(&data->air.pull, air_pull);
	for (ac = 0; ac < AIR_ACS; ac++)
		INIT_LIST_HEAD(&data->air.frames[ac]);
}

static void air_add_radio(struct mac80211_hwsim_data *data)
{
	spin_lock_bh(&air_lock);
	list_add_tail(&data->air.list, &air_radios);
	spin_unlock_bh(&air_lock);
}

static void air_remove_radio(struct mac80211_hwsim_data *data)
{
	spin_lock_bh(&air_lock);
	list_del(&data->air.list);
	spin_unlock_bh(&air_lock);
	tasklet_kill(&data->air.pull);
}

static int air_init(void)
{
	if (!param_seed) {
		pr_err("lasthop_medium: seed must not be 0\n");
		return -EINVAL;
	}
	air_random_state = param_seed;
	return 0;
}

#define AIR_COUNTER(name) debugfs_create_u64(#name, 0444, air_debugfs, &air_count.name)

static void air_begin(void)
{
	air_debugfs = debugfs_create_dir("lasthop_medium", NULL);
	AIR_COUNTER(ppdus);
	AIR_COUNTER(aggregates);
	AIR_COUNTER(attempts);
	AIR_COUNTER(retried);
	AIR_COUNTER(lost);
	AIR_COUNTER(damaged_delivered);
	AIR_COUNTER(unreachable);
	AIR_COUNTER(acks_lost);
	AIR_COUNTER(acknowledged);
	AIR_COUNTER(given_up);
	AIR_COUNTER(refused);
	AIR_COUNTER(busy_ns);
}

/* When all radios are gone. */
static void air_finish(void)
{
	struct air *air, *next;

	list_for_each_entry_safe(air, next, &airs, list) {
		hrtimer_cancel(&air->timer);
		list_del(&air->list);
		kfree(air);
	}
	debugfs_remove_recursive(air_debugfs);
}
