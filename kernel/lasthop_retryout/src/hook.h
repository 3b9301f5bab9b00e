/* SPDX-License-Identifier: GPL-2.0-only */
/* The hook in front of ieee80211_rx_napi(). */
#ifndef LASTHOP_RETRYOUT_HOOK_H
#define LASTHOP_RETRYOUT_HOOK_H

struct ieee80211_hw;
struct ieee80211_sta;
struct napi_struct;
struct sk_buff;

/* Runs in front of ieee80211_rx_napi(), with the same arguments. */
void ro_hook_deliver(struct ieee80211_hw *hw, struct ieee80211_sta *sta,
		     struct sk_buff *skb, struct napi_struct *napi);

/* Starts. Logs an error and returns it. */
int ro_hook_start(void);

/* Stops. After the return no CPU runs this code. */
void ro_hook_stop(void);

#endif
