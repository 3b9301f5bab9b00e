/* SPDX-License-Identifier: GPL-2.0-only */
/* The place where frames are seen: in front of ieee80211_rx_napi(). */
#ifndef LASTHOP_RETRYOUT_HOOK_H
#define LASTHOP_RETRYOUT_HOOK_H

struct ieee80211_hw;
struct ieee80211_sta;
struct napi_struct;
struct sk_buff;

/* What stands in front of ieee80211_rx_napi(), with the same arguments. */
void ro_hook_deliver(struct ieee80211_hw *hw, struct ieee80211_sta *sta,
		     struct sk_buff *skb, struct napi_struct *napi);

/* Begins to see frames; an error has a line in the log. */
int ro_hook_start(void);

/* Ends it; afterwards no CPU is in here any more. */
void ro_hook_stop(void);

#endif
