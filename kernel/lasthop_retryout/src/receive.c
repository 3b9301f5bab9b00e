// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads received frames, finds their agreement, and asks the core for a
 * decision. The window (64) bounds the time per frame; the only list is a
 * bucket of stations.
 *
 * mac80211 handles all passed frames. The module skips a marked MPDU in
 * mac80211's reorder buffer by moving the window over it, and only when the
 * window begins with that MPDU. Filter bits ahead of a gap would be simpler,
 * but mac80211 (6.1 to 6.12) treats such a bit as an MPDU that has waited since
 * the last use of the slot, and gives up the gap before it at once.
 */
#include <linux/jiffies.h>
#include <linux/netdevice.h>
#include <linux/version.h>
#include "frame.h"
#include "params.h"
#include "rate.h"
#include "receive.h"

/* mac80211's timer gives up a gap after HZ / 10; here it must be later. */
#define REORDER_TIMEOUT (HZ / 10 + HZ / 50 + 2)

/* Overhead behind the MAC header: header and MIC of CCMP, LLC and SNAP. */
#define ENCRYPTED_OVERHEAD (8 + 8 + 8)

DEFINE_PER_CPU(struct ro_totals, ro_totals);

/* Bytes before the frame (radiotap data of drivers); negative: unknown. */
static int front_bytes(const struct ieee80211_rx_status *status)
{
	int bytes = 0;

	if (status->flag & RX_FLAG_RADIOTAP_HE)
		bytes += sizeof(struct ieee80211_radiotap_he);
	if (status->flag & RX_FLAG_RADIOTAP_HE_MU)
		bytes += sizeof(struct ieee80211_radiotap_he_mu);
	if (status->flag & RX_FLAG_RADIOTAP_LSIG)
		bytes += sizeof(struct ieee80211_radiotap_lsig);
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
	if (status->flag & RX_FLAG_RADIOTAP_VENDOR_DATA)
		return -1;
#endif
	return bytes;
}

static enum ro_cipher cipher_of(const struct ieee80211_rx_status *status)
{
	if (!(status->flag & RX_FLAG_DECRYPTED))
		return RO_BODY_AS_SAID;
	return status->flag & RX_FLAG_IV_STRIPPED ? RO_BODY_STRIPPED :
						    RO_BODY_DECRYPTED;
}

/* Reads a frame with its first bytes in several pieces. */
static noinline struct ro_frame read_pieces(const struct sk_buff *skb,
					    int front, int there,
					    enum ro_cipher cipher)
{
	u8 buffer[RO_FRAME_BYTES];

	if (skb_copy_bits(skb, front, buffer, there))
		there = 0;
	return ro_frame_read(buffer, there, skb->len - front, cipher);
}

/* Reads the first @bytes_max of a frame: the header, or also the content. */
static bool read_frame(const struct sk_buff *skb,
		       const struct ieee80211_rx_status *status, int bytes_max,
		       struct ro_frame *frame)
{
	int front = front_bytes(status);
	int there;

	if (status->flag & (RX_FLAG_8023 | RX_FLAG_NO_PSDU) || front < 0)
		return false;
	there = min_t(int, skb->len - front, bytes_max);
	if (there <= 0)
		return false;
	if (likely(front + there <= (int)skb_headlen(skb)))
		*frame = ro_frame_read(skb->data + front, there,
				       skb->len - front, cipher_of(status));
	else
		*frame = read_pieces(skb, front, there, cipher_of(status));
	return frame->kind != RO_FRAME_OTHER;
}

/* Rate for the table; without a known one, too high for any mark. */
static u32 kbps_of(struct ro_station *station, struct ro_agreement *agreement,
		   const struct ieee80211_hw *hw,
		   const struct ieee80211_rx_status *status)
{
	u32 kbps = ro_rate_kbps(station, hw, status);

	if (!kbps)
		kbps = ro_core_kbps(&agreement->core);
	return kbps ? kbps : RO_KBPS_MAX;
}

static void note_move(struct ro_station *station,
		      struct ro_agreement *agreement,
		      const struct ro_frame *frame, struct ro_move *move)
{
	if (!ro_reorder_owed(&agreement->reorder, &move->start))
		return;
	station->count[frame->tid].released++;
	move->due = !station->synthetic;
	move->tid = frame->tid;
	ether_addr_copy(move->station, frame->transmitter);
	ether_addr_copy(move->receiver, frame->receiver);
}

static bool carries_tcp(struct ro_station *station,
			const struct ro_frame *frame)
{
	if (frame->content != RO_CONTENT_UNKNOWN)
		return frame->content == RO_CONTENT_TCP;
	station->count[frame->tid].unread++;
	if (!frame->encrypted || frame->body < ENCRYPTED_OVERHEAD)
		return false;
	station->encrypts = true;
	return ro_share_expects_tcp(&station->share[frame->tid],
				    frame->body - ENCRYPTED_OVERHEAD,
				    READ_ONCE(ro_params.tcp_share));
}

static void receive_failed(struct ro_station *station,
			   struct ro_agreement *agreement,
			   const struct ieee80211_hw *hw,
			   const struct ieee80211_rx_status *status,
			   const struct ro_frame *frame)
{
	struct ro_counters *count = &station->count[frame->tid];
	struct ro_reorder *reorder = &agreement->reorder;
	struct ro_verdict verdict;

	count->failed++;
	/* A number outside the sender's range is itself corrupted. */
	if (ro_seq_distance(frame->sequence, reorder->head) >= reorder->size &&
	    ro_seq_distance(reorder->head, frame->sequence) > RO_REORDER_MAX) {
		count->implausible++;
		return;
	}
	verdict = ro_core_errored(&agreement->core, frame->sequence,
				  reorder->head,
				  kbps_of(station, agreement, hw, status),
				  carries_tcp(station, frame));
	if (verdict.decision != RO_LOST)
		return;
	count->marked++;
	if (!agreement->dry_run)
		ro_reorder_skip(reorder, frame->sequence);
}

/* Returns false to drop the frame. Reads the content only if necessary. */
static bool receive_good(struct ro_station *station,
			 const struct sk_buff *skb,
			 struct ro_agreement *agreement,
			 const struct ieee80211_hw *hw,
			 const struct ieee80211_rx_status *status,
			 const struct ro_frame *frame)
{
	struct ro_counters *count = &station->count[frame->tid];
	enum ro_decision decision;

	if (frame->encrypted)
		station->encrypts = true;
	/* Of an A-MSDU that the driver split, only the last part counts. */
	if (status->flag & RX_FLAG_AMSDU_MORE)
		return agreement->dry_run ||
		       !ro_core_is_lost(&agreement->core, frame->sequence);
	count->good++;
	decision = ro_core_received(&agreement->core, frame->sequence,
				    agreement->reorder.head,
				    kbps_of(station, agreement, hw, status));
	if (decision == RO_IGNORE) {
		struct ro_frame whole;

		count->ignored++;
		if (read_frame(skb, status, RO_FRAME_BYTES, &whole) &&
		    whole.content == RO_CONTENT_OTHER)
			count->wrong++;
		if (!agreement->dry_run)
			return false;
	}
	ro_reorder_receive(&agreement->reorder, frame->sequence, jiffies);
	return true;
}

struct interface_search {
	const u8 *receiver;
	const u8 *station;
	u16 tids;
};

static void end_agreement(void *data, u8 *mac, struct ieee80211_vif *vif)
{
	struct interface_search *search = data;

	if (ether_addr_equal(vif->addr, search->receiver))
		ieee80211_stop_rx_ba_session(vif, search->tids,
					     search->station);
}

/*
 * Ends an agreement from before the load, whose window is unknown, once for
 * each station and TID. Without such an agreement the call has no effect.
 */
static void restart(struct ieee80211_hw *hw, struct ro_station *station,
		    const struct ro_frame *frame)
{
	struct interface_search search = {
		.receiver = frame->receiver,
		.station = frame->transmitter,
		.tids = BIT(frame->tid),
	};

	if (station->restarted & BIT(frame->tid) || station->synthetic)
		return;
	station->restarted |= BIT(frame->tid);
	if (ro_params.restart && !station->unsupported)
		ieee80211_iterate_active_interfaces_atomic(hw, IEEE80211_IFACE_ITER_NORMAL,
							   end_agreement, &search);
}

/* Handles the first frame of a station. */
static struct ro_station *meet(struct ieee80211_hw *hw,
			       struct ieee80211_sta *sta,
			       const struct ro_frame *frame)
{
	struct ro_station *station;
	bool unsupported;

	if (!sta)
		sta = ieee80211_find_sta_by_ifaddr(hw, frame->transmitter,
						   frame->receiver);
	if (!sta || !ether_addr_equal(sta->addr, frame->transmitter))
		return NULL;
	station = ro_station_of(sta, sta->addr);
	if (!station)
		return NULL;
	unsupported = sta->mlo ||
		      hw->max_rx_aggregation_subframes > RO_REORDER_MAX ||
		      ieee80211_hw_check(hw, SUPPORTS_REORDERING_BUFFER);
	ro_station_meet(station, hw, frame->receiver, unsupported);
	return station;
}

bool ro_receive(struct ieee80211_hw *hw, struct ieee80211_sta *sta,
		struct sk_buff *skb, struct ro_move *move)
{
	const struct ieee80211_rx_status *status = IEEE80211_SKB_RXCB(skb);
	bool failed = status->flag & RX_FLAG_FAILED_FCS_CRC;
	struct ro_agreement *agreement;
	struct ro_station *station;
	struct ro_frame frame;
	bool passes = true;

	move->due = false;
	this_cpu_inc(ro_totals.frames);
	if (failed)
		this_cpu_inc(ro_totals.failed);
	if (status->flag & RX_FLAG_FAILED_PLCP_CRC)
		return true;
	if (!read_frame(skb, status,
			failed ? RO_FRAME_BYTES : RO_FRAME_HEADER, &frame)) {
		if (status->flag & RX_FLAG_8023)
			this_cpu_inc(ro_totals.other_format);
		return true;
	}

	rcu_read_lock();
	station = ro_station_find(hw, frame.transmitter, frame.receiver);
	if (!station && !failed && frame.kind == RO_FRAME_DATA)
		station = meet(hw, sta, &frame);
	if (!station) {
		if (failed)
			this_cpu_inc(ro_totals.foreign);
		goto out;
	}
	spin_lock(&station->lock);
	agreement = station->agreement[frame.tid];
	if (!agreement || station->unsupported) {
		spin_unlock(&station->lock);
		if (!failed && !agreement && frame.kind == RO_FRAME_DATA)
			restart(hw, station, &frame);
		goto out;
	}
	station->last_seen = jiffies;
	ro_reorder_timeout(&agreement->reorder, jiffies, REORDER_TIMEOUT);
	if (frame.kind == RO_FRAME_DATA && failed) {
		receive_failed(station, agreement, hw, status, &frame);
	} else if (frame.kind == RO_FRAME_DATA) {
		passes = receive_good(station, skb, agreement, hw, status,
				      &frame);
	} else if (!failed) {
		ro_core_request(&agreement->core, frame.sequence);
		ro_reorder_request(&agreement->reorder, frame.sequence);
	}
	note_move(station, agreement, &frame, move);
	spin_unlock(&station->lock);
out:
	rcu_read_unlock();
	return passes;
}

/* Delivers packets held by GRO, which precede those released now. */
static void deliver_held_back(struct napi_struct *napi)
{
	napi_gro_flush(napi, false);
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
	if (!napi->rx_count)
		return;
	netif_receive_skb_list(&napi->rx_list);
	INIT_LIST_HEAD(&napi->rx_list);
	napi->rx_count = 0;
#endif
}

void ro_carry_out(struct ieee80211_hw *hw, const struct ro_move *move,
		  struct napi_struct *napi)
{
	struct ieee80211_sta *sta;

	if (napi)
		deliver_held_back(napi);
	rcu_read_lock();
	sta = ieee80211_find_sta_by_ifaddr(hw, move->station, move->receiver);
	if (sta)
		ieee80211_mark_rx_ba_filtered_frames(sta, move->tid,
						     move->start, 0, 0);
	rcu_read_unlock();
}
