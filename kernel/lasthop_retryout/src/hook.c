// SPDX-License-Identifier: GPL-2.0-only
/*
 * Puts a function in front of ieee80211_rx_napi() with ftrace, like livepatch.
 * Every driver that leaves the reordering to mac80211 delivers frames there.
 * The function runs as if the driver had called it, not inside a handler, so it
 * may call mac80211.
 *
 * Requires x86 or another architecture with an ftrace that can change the
 * instruction pointer. Not for PREEMPT_RT, where softirqs may sleep.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ftrace.h>
#include <linux/module.h>
#include <linux/version.h>
#include <net/mac80211.h>
#include "hook.h"
#include "receive.h"

#ifdef CONFIG_PREEMPT_RT
#error "lasthop_retryout is not for PREEMPT_RT"
#endif

#if !defined(CONFIG_DYNAMIC_FTRACE_WITH_REGS) && \
	!defined(CONFIG_DYNAMIC_FTRACE_WITH_ARGS)
#error "lasthop_retryout needs CONFIG_DYNAMIC_FTRACE_WITH_REGS or _WITH_ARGS"
#endif

void ro_hook_deliver(struct ieee80211_hw *hw, struct ieee80211_sta *sta,
		     struct sk_buff *skb, struct napi_struct *napi)
{
	struct ro_move move;

	if (ro_receive(hw, sta, skb, &move))
		ieee80211_rx_napi(hw, sta, skb, napi);
	else
		dev_kfree_skb(skb);
	if (move.due)
		ro_carry_out(hw, &move, napi);
}

/* within_module() searches seven regions since 6.4; calls are in one. */
static __always_inline bool is_own_text(unsigned long ip)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	return within_module_mem_type(ip, THIS_MODULE, MOD_TEXT);
#else
	return within_module_core(ip, THIS_MODULE);
#endif
}

static void notrace redirect(unsigned long ip, unsigned long parent_ip,
			     struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	/* A call from ro_hook_deliver() must reach mac80211. */
	if (is_own_text(parent_ip))
		return;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	ftrace_regs_set_instruction_pointer(fregs, (unsigned long)ro_hook_deliver);
#else
	ftrace_instruction_pointer_set(fregs, (unsigned long)ro_hook_deliver);
#endif
}

static struct ftrace_ops hook = {
	.func = redirect,
	.flags = FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_PERMANENT
#ifndef CONFIG_HAVE_DYNAMIC_FTRACE_WITH_ARGS
		 | FTRACE_OPS_FL_SAVE_REGS
#endif
	,
};

int ro_hook_start(void)
{
	int err = ftrace_set_filter_ip(&hook, (unsigned long)ieee80211_rx_napi,
				       0, 0);

	if (err) {
		pr_err("ieee80211_rx_napi cannot be traced in this kernel (%d)\n",
		       err);
		return err;
	}
	err = register_ftrace_function(&hook);
	if (err == -EBUSY)
		pr_err("ieee80211_rx_napi is taken by a live patch, or kernel.ftrace_enabled is 0\n");
	else if (err)
		pr_err("ieee80211_rx_napi cannot be hooked (%d)\n", err);
	if (err)
		ftrace_free_filter(&hook);
	return err;
}

void ro_hook_stop(void)
{
	unregister_ftrace_function(&hook);
	ftrace_free_filter(&hook);
	/*
	 * Drivers deliver with bottom halves off, which is a read-side critical
	 * section: after this, all redirected calls have returned.
	 */
	synchronize_rcu();
}
