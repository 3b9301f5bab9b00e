/* SPDX-License-Identifier: GPL-2.0-only */
/* Follows beginnings and ends of Block Ack agreements in mac80211. */
#ifndef LASTHOP_RETRYOUT_AGREEMENT_H
#define LASTHOP_RETRYOUT_AGREEMENT_H

/* Starts. Logs an error and returns it. */
int ro_agreement_start(void);

/* Stops. After the return no CPU runs this code. */
void ro_agreement_stop(void);

/* Number of agreements not followed, because their window is above 64. */
unsigned long ro_agreement_too_wide(void);

#endif
