// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of station.h: 256 buckets with RCU lists. One lock for writers.
 */
#include <linux/hashtable.h>
#include <linux/slab.h>
#include "params.h"
#include "station.h"

/* Idle time after which another station may replace an entry. */
#define IDLE_AFTER (60 * HZ)

static DEFINE_HASHTABLE(stations, 8);
static DEFINE_SPINLOCK(stations_lock);
static unsigned int stations_number;
static u64 stations_refused;

/* Most addresses differ in the last four bytes; the table bounds each list. */
static u32 key_of(const u8 *addr)
{
	return addr[2] | addr[3] << 8 | addr[4] << 16 | (u32)addr[5] << 24;
}

struct ro_station *ro_station_find(const struct ieee80211_hw *hw,
				   const u8 *addr, const u8 *receiver)
{
	struct ro_station *station;

	hash_for_each_possible_rcu(stations, station, node, key_of(addr))
		if (ether_addr_equal(station->addr, addr) &&
		    /* Pairs with ro_station_meet(): the receiver is set. */
		    smp_load_acquire(&station->hw) == hw &&
		    ether_addr_equal(station->receiver, receiver))
			return station;
	return NULL;
}

struct ro_station *ro_station_with_address(const u8 *addr)
{
	struct ro_station *station;

	hash_for_each_possible_rcu(stations, station, node, key_of(addr))
		if (ether_addr_equal(station->addr, addr))
			return station;
	return NULL;
}

struct ro_station *ro_station_lookup(const struct ieee80211_sta *sta,
				     const u8 *addr)
{
	struct ro_station *station;

	hash_for_each_possible_rcu(stations, station, node, key_of(addr))
		if (READ_ONCE(station->sta) == sta &&
		    ether_addr_equal(station->addr, addr))
			return station;
	return NULL;
}

/* Under stations_lock: returns whether a station has no agreement. */
static bool is_idle(struct ro_station *station)
{
	int tid;

	for (tid = 0; tid < RO_TIDS; tid++)
		if (READ_ONCE(station->agreement[tid]))
			return false;
	return !station->synthetic;
}

/*
 * Under stations_lock: updates @sta of a station that associated anew. Its
 * counters continue.
 */
static struct ro_station *take_over(const struct ieee80211_sta *sta,
				    const u8 *addr)
{
	struct ro_station *station;

	hash_for_each_possible(stations, station, node, key_of(addr)) {
		if (!ether_addr_equal(station->addr, addr) || !is_idle(station))
			continue;
		spin_lock(&station->lock);
		WRITE_ONCE(station->hw, NULL);
		WRITE_ONCE(station->sta, sta);
		station->last_kbps = 0;
		spin_unlock(&station->lock);
		return station;
	}
	return NULL;
}

static void free_station(struct rcu_head *rcu)
{
	struct ro_station *station = container_of(rcu, struct ro_station, rcu);
	int tid;

	for (tid = 0; tid < RO_TIDS; tid++)
		kfree(station->agreement[tid]);
	kfree(station);
}

/* Called under stations_lock. */
static void unlink_station(struct ro_station *station)
{
	hash_del_rcu(&station->node);
	stations_number--;
	call_rcu(&station->rcu, free_station);
}

/* Under stations_lock: replaces the station with the longest idle time. */
static bool make_place(void)
{
	struct ro_station *station, *oldest = NULL;
	int bucket;

	if (stations_number < ro_params.stations_max)
		return true;
	hash_for_each(stations, bucket, station, node)
		if (!station->synthetic &&
		    (!oldest || time_before(READ_ONCE(station->last_seen),
					    READ_ONCE(oldest->last_seen))))
			oldest = station;
	if (!oldest ||
	    time_before(jiffies, READ_ONCE(oldest->last_seen) + IDLE_AFTER)) {
		stations_refused++;
		return false;
	}
	unlink_station(oldest);
	return true;
}

struct ro_station *ro_station_of(const struct ieee80211_sta *sta,
				 const u8 *addr)
{
	struct ro_station *station, *made;

	station = ro_station_lookup(sta, addr);
	if (station)
		return station;
	made = kzalloc(sizeof(*made), GFP_ATOMIC);
	if (!made)
		return NULL;
	spin_lock_init(&made->lock);
	ether_addr_copy(made->addr, addr);
	made->sta = sta;
	made->last_seen = jiffies;

	spin_lock_bh(&stations_lock);
	station = ro_station_lookup(sta, addr);
	if (!station)
		station = take_over(sta, addr);
	if (!station && make_place()) {
		hash_add_rcu(stations, &made->node, key_of(addr));
		stations_number++;
		station = made;
		made = NULL;
	}
	spin_unlock_bh(&stations_lock);
	kfree(made);
	return station;
}

void ro_station_meet(struct ro_station *station, const struct ieee80211_hw *hw,
		     const u8 *receiver, bool unsupported)
{
	spin_lock_bh(&station->lock);
	ether_addr_copy(station->receiver, receiver);
	station->unsupported = unsupported;
	/* Pairs with ro_station_find(). */
	smp_store_release(&station->hw, hw);
	spin_unlock_bh(&station->lock);
}

int ro_station_begin(struct ro_station *station, u8 tid, u16 start, u16 size)
{
	struct ro_agreement *made = kzalloc(sizeof(*made), GFP_ATOMIC);
	struct ro_agreement *old;
	struct ro_table table;

	if (made) {
		ro_params_table(&table);
		ro_core_init(&made->core, &table, start, size);
		ro_reorder_init(&made->reorder, start, size);
		made->dry_run = READ_ONCE(ro_params.dry_run);
	}
	spin_lock_bh(&station->lock);
	old = station->agreement[tid];
	station->agreement[tid] = made;
	station->last_seen = jiffies;
	spin_unlock_bh(&station->lock);
	kfree(old);
	return made ? 0 : -ENOMEM;
}

void ro_station_end(struct ro_station *station, u8 tid)
{
	struct ro_agreement *old;

	spin_lock_bh(&station->lock);
	old = station->agreement[tid];
	station->agreement[tid] = NULL;
	spin_unlock_bh(&station->lock);
	kfree(old);
}

void ro_station_each(void (*visit)(struct ro_station *station, void *data),
		     void *data)
{
	struct ro_station *station;
	int bucket;

	hash_for_each_rcu(stations, bucket, station, node)
		visit(station, data);
}

unsigned int ro_station_number(void)
{
	return READ_ONCE(stations_number);
}

u64 ro_station_refused(void)
{
	return READ_ONCE(stations_refused);
}

void ro_station_remove(struct ro_station *station)
{
	spin_lock_bh(&stations_lock);
	unlink_station(station);
	spin_unlock_bh(&stations_lock);
}

void ro_station_clear(void)
{
	struct ro_station *station;
	struct hlist_node *next;
	int bucket;

	spin_lock_bh(&stations_lock);
	hash_for_each_safe(stations, bucket, next, station, node)
		unlink_station(station);
	spin_unlock_bh(&stations_lock);
	/* free_station() is in this module, so wait for pending calls. */
	rcu_barrier();
}
