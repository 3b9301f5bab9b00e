// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parameters of params.h. A value out of range is refused: the old value
 * stays, and the log states the range.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/moduleparam.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include "params.h"

struct ro_params ro_params = {
	.restart = true,
	.stations_max = 64,
	.tcp_share = 90,
};

static DEFINE_SPINLOCK(table_lock);
static struct ro_table table_in_force = {
	/* Table I of the paper, as ro_table_paper. */
	.steps = { { 25000, 2 }, { 50000, 5 }, { 100000, 8 }, { 0, 0 } },
	.weight_256 = 64,
};

void ro_params_table(struct ro_table *table)
{
	spin_lock_bh(&table_lock);
	*table = table_in_force;
	spin_unlock_bh(&table_lock);
}

static int put_table(const struct ro_table *table)
{
	if (!ro_table_is_valid(table))
		return -EINVAL;
	spin_lock_bh(&table_lock);
	table_in_force = *table;
	spin_unlock_bh(&table_lock);
	return 0;
}

/* "25000:2,50000:5,100000:8" */
static int set_table(const char *value, const struct kernel_param *kp)
{
	char text[80], *rest = text, *step;
	struct ro_table table;
	int n = 0;

	ro_params_table(&table);
	memset(table.steps, 0, sizeof(table.steps));
	if (strscpy(text, value, sizeof(text)) < 0)
		goto refused;
	strim(text);
	while ((step = strsep(&rest, ",")) != NULL) {
		char *colon = strchr(step, ':');

		if (n == RO_STEPS_MAX || !colon)
			goto refused;
		*colon = '\0';
		if (kstrtou32(step, 10, &table.steps[n].below_kbps) ||
		    kstrtou8(colon + 1, 10, &table.steps[n].retransmissions) ||
		    !table.steps[n].below_kbps)
			goto refused;
		n++;
	}
	if (!put_table(&table))
		return 0;
refused:
	pr_err("table: 1 to %d steps BELOW_KBPS:RETRANSMISSIONS are allowed, ascending, up to %d:255, such as 25000:2,50000:5,100000:8\n",
	       RO_STEPS_MAX, RO_KBPS_MAX);
	return -EINVAL;
}

int ro_params_print_table(char *buffer, size_t size)
{
	struct ro_table table;
	int i, length = 0;

	ro_params_table(&table);
	for (i = 0; i < RO_STEPS_MAX && table.steps[i].below_kbps; i++)
		length += scnprintf(buffer + length, size - length, "%s%u:%u",
				    i ? "," : "", table.steps[i].below_kbps,
				    table.steps[i].retransmissions);
	return length;
}

static int print_table(char *buffer, const struct kernel_param *kp)
{
	int length = ro_params_print_table(buffer, PAGE_SIZE - 1);

	return length + scnprintf(buffer + length, PAGE_SIZE - length, "\n");
}

static const struct kernel_param_ops table_ops = {
	.set = set_table,
	.get = print_table,
};
module_param_cb(table, &table_ops, NULL, 0644);
MODULE_PARM_DESC(table,
		 "Steps BELOW_KBPS:RETRANSMISSIONS: below this smoothed data rate in kb/s an MPDU is given up after this number of retransmissions (default: 25000:2,50000:5,100000:8, the paper's Table I)");

/* Reads a whole number between @min and @max, or logs the range. */
static int parse_range(const char *value, const struct kernel_param *kp,
		       unsigned int min, unsigned int max, unsigned int *number)
{
	if (!kstrtouint(value, 10, number) && *number >= min && *number <= max)
		return 0;
	pr_err("%s: %u to %u are allowed\n", kp->name, min, max);
	return -EINVAL;
}

static int set_weight(const char *value, const struct kernel_param *kp)
{
	struct ro_table table;
	unsigned int weight;
	int err = parse_range(value, kp, 1, 256, &weight);

	if (err)
		return err;
	ro_params_table(&table);
	table.weight_256 = weight;
	return put_table(&table);
}

static int print_weight(char *buffer, const struct kernel_param *kp)
{
	struct ro_table table;

	ro_params_table(&table);
	return scnprintf(buffer, PAGE_SIZE, "%u\n", table.weight_256);
}

static const struct kernel_param_ops weight_ops = {
	.set = set_weight,
	.get = print_weight,
};
module_param_cb(weight, &weight_ops, NULL, 0644);
MODULE_PARM_DESC(weight,
		 "Weight of a new MPDU's data rate in the smoothed one, in 256ths, 1 to 256 (default: 64)");

static int set_stations_max(const char *value, const struct kernel_param *kp)
{
	return parse_range(value, kp, 1, 1024, &ro_params.stations_max);
}

static const struct kernel_param_ops stations_max_ops = {
	.set = set_stations_max,
	.get = param_get_uint,
};
module_param_cb(stations_max, &stations_max_ops, &ro_params.stations_max, 0444);
MODULE_PARM_DESC(stations_max,
		 "Most stations that are followed at a time, 1 to 1024 (default: 64)");

static int set_tcp_share(const char *value, const struct kernel_param *kp)
{
	unsigned int share;
	int err = parse_range(value, kp, 50, 101, &share);

	if (!err)
		WRITE_ONCE(ro_params.tcp_share, share);
	return err;
}

static const struct kernel_param_ops tcp_share_ops = {
	.set = set_tcp_share,
	.get = param_get_uint,
};
module_param_cb(tcp_share, &tcp_share_ops, &ro_params.tcp_share, 0644);
MODULE_PARM_DESC(tcp_share,
		 "Least share of TCP, in percent, in the delivered packets of a station, TID and size for which an encrypted MPDU counts as TCP, 50 to 100; 101: never (default: 90)");

module_param_named(dry_run, ro_params.dry_run, bool, 0644);
MODULE_PARM_DESC(dry_run,
		 "Only count MPDUs that would be marked or ignored (default: N)");

module_param_named(restart, ro_params.restart, bool, 0444);
MODULE_PARM_DESC(restart,
		 "End the Block Ack agreements from before the module was loaded, so that stations begin new ones, which are followed (default: Y)");
