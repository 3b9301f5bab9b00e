/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stations whose Block Ack agreements are followed, and what is kept of
 * each: bounded by stations_max, eight TIDs each, forgotten when idle and the
 * place is wanted.
 *
 * A station is found by the addresses of a frame. No pointer into mac80211 is
 * followed: @sta and @hw are compared only.
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
 * struct ro_counters - of one station and TID, from its first agreement on
 * @good: MPDUs without error
 * @failed: reports of MPDUs with an error
 * @implausible: of these: outside of the window, not taken into account
 * @unread: of these: not known whether TCP is inside
 * @marked: MPDUs marked as lost
 * @ignored: MPDUs that came without error after they were marked
 * @wrong: of these: without a TCP segment inside
 * @released: times that mac80211's window was moved
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
 * @core: decides
 * @reorder: mirror of mac80211's reorder buffer
 * @dry_run: only counts
 */
struct ro_agreement {
	struct ro_core core;
	struct ro_reorder reorder;
	bool dry_run;
};

/* What of a reception status makes its rate, and the rate in kb/s. */
struct ro_rate_cache {
	u64 key;
	u32 kbps;
};

/**
 * struct ro_station - a transmitter with agreements
 * @node: in the table
 * @rcu: frees it
 * @lock: of all below; taken in softirq, so with bottom halves off
 * @agreement: by TID; NULL without
 * @count: by TID
 * @share: by TID: how much of what was delivered is TCP
 * @rate: the last rate
 * @last_seen: jiffies of its last frame or agreement
 * @last_kbps: of its last frame with a known rate; 0 before
 * @addr: its address
 * @receiver: the address at which it was met
 * @sta: compared only
 * @hw: compared only; NULL until a frame comes
 * @restarted: by TID: its agreement from before was ended once
 * @encrypts: frames came that cannot be read
 * @unsupported: its driver reorders by itself
 * @synthetic: of a selftest: nothing is asked of mac80211
 */
struct ro_station {
	struct hlist_node node;
	struct rcu_head rcu;
	spinlock_t lock; /* of all below */
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

/* Under rcu_read_lock: a station that was met at this interface, or NULL. */
struct ro_station *ro_station_find(const struct ieee80211_hw *hw,
				   const u8 *addr, const u8 *receiver);

/* Under rcu_read_lock: any station with this address, or NULL. */
struct ro_station *ro_station_with_address(const u8 *addr);

/*
 * Under rcu_read_lock: the station of mac80211's @sta, made if it is not
 * there; NULL if the table is full of stations that are not idle.
 */
struct ro_station *ro_station_of(const struct ieee80211_sta *sta,
				 const u8 *addr);

/* Under rcu_read_lock: the station of @sta if it is there. */
struct ro_station *ro_station_lookup(const struct ieee80211_sta *sta,
				     const u8 *addr);

/* A frame came from the station to @receiver, an interface of @hw. */
void ro_station_meet(struct ro_station *station, const struct ieee80211_hw *hw,
		     const u8 *receiver, bool unsupported);

/* Begins or replaces an agreement; -ENOMEM leaves the TID without. */
int ro_station_begin(struct ro_station *station, u8 tid, u16 start, u16 size);

/* Ends an agreement. */
void ro_station_end(struct ro_station *station, u8 tid);

/* Calls @visit for each station, under rcu_read_lock. */
void ro_station_each(void (*visit)(struct ro_station *station, void *data),
		     void *data);

/* How many there are, and how many had no place. */
unsigned int ro_station_number(void);
u64 ro_station_refused(void);

/* Removes a station of a selftest. */
void ro_station_remove(struct ro_station *station);

/* At unload, when nobody else is here any more. */
void ro_station_clear(void);

#endif
