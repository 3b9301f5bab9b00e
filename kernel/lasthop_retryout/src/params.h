/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parameters of the module. An agreement copies table, weight and dry_run when
 * it begins, so changes apply to later agreements.
 */
#ifndef LASTHOP_RETRYOUT_PARAMS_H
#define LASTHOP_RETRYOUT_PARAMS_H

#include <linux/types.h>
#include "core.h"

#define RO_NAME "lasthop_retryout"

/**
 * struct ro_params - see the descriptions in params.c
 */
struct ro_params {
	bool dry_run;
	bool restart;
	unsigned int stations_max;
	unsigned int tcp_share;
};

extern struct ro_params ro_params;

/* Copies the present table to @table. */
void ro_params_table(struct ro_table *table);

/* Prints the table in the syntax of the parameter; returns the length. */
int ro_params_print_table(char *buffer, size_t size);

#endif
