// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The selftest as a program. Exits with 1 if a row fails. Not part of the module. */
#include "../src/limits.h"
#include "selftest.h"

int main(void)
{
	return jumbo_selftest() ? 1 : 0;
}
