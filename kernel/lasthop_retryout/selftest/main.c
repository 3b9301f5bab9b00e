// SPDX-License-Identifier: GPL-2.0-only
/* The cases as a program. Prints a failed case and exits with 1. */
#include <stdio.h>
#include "cases.h"

int main(void)
{
	const char *wrong = ro_cases_run();

	printf("lasthop_retryout: %s\n", wrong ? wrong : "all cases hold");
	return !!wrong;
}
