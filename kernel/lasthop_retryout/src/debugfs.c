// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file summary has lines NAME VALUE, and lines that begin with "warning:".
 * The file stations is a table with a line for each station and TID that had an
 * agreement. Counters include all agreements since the station's first one.
 */
#include <linux/debugfs.h>
#include <linux/jiffies.h>
#include <linux/seq_file.h>
#include "agreement.h"
#include "debugfs.h"
#include "params.h"
#include "receive.h"

static struct dentry *folder;
static unsigned long since;
static bool learns_shares;

static void add_up(struct ro_totals *sum)
{
	int cpu;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu) {
		const struct ro_totals *totals = per_cpu_ptr(&ro_totals, cpu);

		sum->frames += READ_ONCE(totals->frames);
		sum->failed += READ_ONCE(totals->failed);
		sum->foreign += READ_ONCE(totals->foreign);
		sum->other_format += READ_ONCE(totals->other_format);
	}
}

struct station_sum {
	struct ro_counters count;
	unsigned int agreements;
	unsigned int unsupported;
	unsigned int encrypt;
};

static void add_station(struct ro_station *station, void *data)
{
	struct station_sum *sum = data;
	int tid;

	spin_lock_bh(&station->lock);
	sum->unsupported += station->unsupported;
	sum->encrypt += station->encrypts;
	for (tid = 0; tid < RO_TIDS; tid++) {
		sum->agreements += !!station->agreement[tid];
		sum->count.good += station->count[tid].good;
		sum->count.marked += station->count[tid].marked;
		sum->count.ignored += station->count[tid].ignored;
		sum->count.wrong += station->count[tid].wrong;
	}
	spin_unlock_bh(&station->lock);
}

static int summary_show(struct seq_file *file, void *ignore)
{
	struct station_sum sum = {};
	struct ro_totals totals;
	char table[80];

	rcu_read_lock();
	ro_station_each(add_station, &sum);
	rcu_read_unlock();
	add_up(&totals);
	ro_params_print_table(table, sizeof(table));
	seq_printf(file, "seconds %lu\n", (jiffies - since) / HZ);
	seq_printf(file, "mode %s\n", ro_params.dry_run ? "dry_run" : "mark");
	seq_printf(file, "table %s\n", table);
	seq_printf(file, "frames %llu\n", totals.frames);
	seq_printf(file, "failed %llu\n", totals.failed);
	seq_printf(file, "foreign %llu\n", totals.foreign);
	seq_printf(file, "other_format %llu\n", totals.other_format);
	seq_printf(file, "stations %u\n", ro_station_number());
	seq_printf(file, "stations_refused %llu\n", ro_station_refused());
	seq_printf(file, "agreements %u\n", sum.agreements);
	seq_printf(file, "agreements_too_wide %lu\n", ro_agreement_too_wide());
	seq_printf(file, "marked %llu\n", sum.count.marked);
	seq_printf(file, "ignored %llu\n", sum.count.ignored);
	seq_printf(file, "wrong %llu\n", sum.count.wrong);
	if (!totals.failed && totals.frames)
		seq_puts(file, "warning: no frame with a failed FCS has come; bring up a monitor interface with the flag fcsfail, if the driver knows it\n");
	if (sum.unsupported)
		seq_printf(file, "warning: %u stations are not followed: their driver puts frames in order by itself, or they have several links\n",
			   sum.unsupported);
	if (sum.encrypt && !learns_shares)
		seq_puts(file, "warning: encrypted frames with errors are never marked: the tracepoint netif_receive_skb is missing\n");
	if (totals.other_format)
		seq_puts(file, "warning: a driver delivers Ethernet frames, of which nothing is known here\n");
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(summary);

static void show_station(struct ro_station *station, void *data)
{
	struct seq_file *file = data;
	int tid;

	spin_lock_bh(&station->lock);
	for (tid = 0; tid < RO_TIDS; tid++) {
		const struct ro_agreement *agreement = station->agreement[tid];
		const struct ro_counters *count = &station->count[tid];

		if (!agreement && !count->good && !count->failed)
			continue;
		seq_printf(file, "%pM %pM %d ", station->addr,
			   station->receiver, tid);
		if (agreement)
			seq_printf(file, "%u %u %u ", agreement->reorder.size,
				   agreement->reorder.head,
				   ro_core_kbps(&agreement->core));
		else
			seq_puts(file, "- - - ");
		seq_printf(file, "%llu %llu %llu %llu %llu %llu %llu %llu\n",
			   count->good, count->failed, count->implausible,
			   count->unread, count->marked, count->ignored,
			   count->wrong, count->released);
	}
	spin_unlock_bh(&station->lock);
}

static int stations_show(struct seq_file *file, void *ignore)
{
	seq_puts(file, "station interface tid window head kbps good failed implausible unread marked ignored wrong released\n");
	rcu_read_lock();
	ro_station_each(show_station, file);
	rcu_read_unlock();
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stations);

struct dentry *ro_debugfs_start(bool learns)
{
	since = jiffies;
	learns_shares = learns;
	folder = debugfs_create_dir(RO_NAME, NULL);
	debugfs_create_file("summary", 0444, folder, NULL, &summary_fops);
	debugfs_create_file("stations", 0444, folder, NULL, &stations_fops);
	return folder;
}

void ro_debugfs_stop(void)
{
	debugfs_remove(folder);
}
