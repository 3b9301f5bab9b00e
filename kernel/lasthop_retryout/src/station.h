/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of stations with Block Ack agreements, at most stations_max with
 * eight TIDs each. In a full table, a new station replaces an idle one.
 *
 * Lookup uses the addresses of a frame. The pointers @sta and @hw into mac80211
 * are only compared, never dereferenced.
 */
#ifndef LASTHOP_RETRYOUT_STATION_H
#define LASTHOP_RETRYOUT_STATION_H

#include <linux/etherdevice.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <net/mac80211.h>
#include "core.h"
#include "reorder.h"
#include "share.h"

#define RO_TIDS 8

/**
 * struct ro_counters - counters of a station and TID since the first agreement
 * @good: MPDUs without error
 * @failed: reports of MPDUs with an error
 * @implausible: failed MPDUs outside the window, which are ignored
 * @unread: failed MPDUs with unknown content
 * @marked: MPDUs marked as lost
 * @ignored: MPDUs received without error after the mark
 * @wrong: ignored MPDUs without a TCP segment
 * @released: number of moves of mac80211's window
 */
struct ro_counters {
	u64 good;
	u64 failed;
	u64 implausible;
	u64 unread;
	u64 marked;
	u64 ignored;
	u64 wrong;
	u64 released;
};

/**
 * struct ro_agreement - a Block Ack agreement with this host as recipient
 * @core: state of the decisions
 * @reorder: mirror of mac80211's reorder buffer
 * @dry_run: whether the module only counts
 */
struct ro_agreement {
	struct ro_core core;
	struct ro_reorder reorder;
	bool dry_run;
};

/* Fields of a reception status that determine the rate, and the rate. */
struct ro_rate_cache {
	u64 key;
	u32 kbps;
};

/**
 * struct ro_station - a transmitter with agreements
 * @node: entry in the table
 * @rcu: head for the delayed free
 * @lock: protects all fields below; taken in softirq, with bottom halves off
 * @agreement: agreement of each TID, or NULL
 * @count: counters of each TID
 * @share: share of TCP in delivered packets of each TID
 * @rate: last rate
 * @last_seen: jiffies of the last frame or agreement
 * @last_kbps: rate of the last frame with a known one, 0 before
 * @addr: address of the station
 * @receiver: address of the interface of the first frame
 * @sta: mac80211's station, only compared
 * @hw: mac80211's hardware, only compared; NULL before the first frame
 * @restarted: bit for each TID: an earlier agreement was ended once
 * @encrypts: whether an encrypted frame came
 * @unsupported: whether the driver reorders frames
 * @synthetic: whether a selftest owns the station; mac80211 is not called
 */
struct ro_station {
	struct hlist_node node;
	struct rcu_head rcu;
	spinlock_t lock; /* protects all fields below */
	struct ro_agreement *agreement[RO_TIDS];
	struct ro_counters count[RO_TIDS];
	struct ro_share share[RO_TIDS];
	struct ro_rate_cache rate;
	unsigned long last_seen;
	u32 last_kbps;
	u8 addr[ETH_ALEN];
	u8 receiver[ETH_ALEN];
	const struct ieee80211_sta *sta;
	const struct ieee80211_hw *hw;
	u8 restarted;
	bool encrypts;
	bool unsupported;
	bool synthetic;
};

/* Under rcu_read_lock: finds a station known at this interface, or NULL. */
struct ro_station *ro_station_find(const struct ieee80211_hw *hw,
				   const u8 *addr, const u8 *receiver);

/* Under rcu_read_lock: finds any station with this address, or NULL. */
struct ro_station *ro_station_with_address(const u8 *addr);

/*
 * Under rcu_read_lock: finds or creates the entry of mac80211's @sta. Returns
 * NULL if the table is full and no station is idle.
 */
struct ro_station *ro_station_of(const struct ieee80211_sta *sta,
				 const u8 *addr);

/* Under rcu_read_lock: finds the entry of @sta, or NULL. */
struct ro_station *ro_station_lookup(const struct ieee80211_sta *sta,
				     const u8 *addr);

/* Records a frame of the station to @receiver, an interface of @hw. */
void ro_station_meet(struct ro_station *station, const struct ieee80211_hw *hw,
		     const u8 *receiver, bool unsupported);

/* Begins or replaces an agreement. With -ENOMEM the TID has none. */
int ro_station_begin(struct ro_station *station, u8 tid, u16 start, u16 size);

/* Ends the agreement of a TID. */
void ro_station_end(struct ro_station *station, u8 tid);

/* Calls @visit for each station, under rcu_read_lock. */
void ro_station_each(void (*visit)(struct ro_station *station, void *data),
		     void *data);

/* Number of stations, and number of stations without a place. */
unsigned int ro_station_number(void);
u64 ro_station_refused(void);

/* Removes a station of a selftest. */
void ro_station_remove(struct ro_station *station);

/* Frees the table at unload, after all other users have stopped. */
void ro_station_clear(void);

#endif
