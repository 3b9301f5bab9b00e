/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the medium keeps for each radio of hwsim; see air.c.
 */
#ifndef LASTHOP_AIR_H
#define LASTHOP_AIR_H

/* Mark of copies that captures show with a bad FCS. */
#define AIR_DAMAGED	0x6c617374

#define AIR_ACS		4

struct mac80211_hwsim_data;

/* Frames of a radio that wait or are on the air, oldest first, by access category. */
struct air_radio {
	struct list_head list;
	struct mac80211_hwsim_data *data;
	struct list_head frames[AIR_ACS];
	unsigned int count[AIR_ACS];
	bool full[AIR_ACS];
	bool sending;
	bool stopped;
	wait_queue_head_t drained;
	/* Takes from mac80211's queues what airtime queue limits held back. */
	struct tasklet_struct pull;
};

/* One transmission of an MPDU, as its receivers see it. */
struct air_attempt {
	const struct ieee80211_tx_rate *rate;
	s8 txpower_dbm;
	bool damaged;
	bool aggregate;
	bool last;
	u32 reference;
};

#endif
