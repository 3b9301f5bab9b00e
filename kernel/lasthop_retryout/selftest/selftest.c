// SPDX-License-Identifier: GPL-2.0-only
/* Runs the cases at load. If one fails, the module does not load. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/errno.h>
#include <linux/printk.h>
#include "cases.h"
#include "selftest.h"

int ro_selftest(void)
{
	const char *wrong = ro_cases_run();

	if (wrong) {
		pr_err("selftest: %s\n", wrong);
		return -EINVAL;
	}
	pr_info("selftest: all cases hold\n");
	return 0;
}
