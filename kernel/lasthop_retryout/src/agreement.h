/* SPDX-License-Identifier: GPL-2.0-only */
/* Beginnings and ends of Block Ack agreements, from mac80211. */
#ifndef LASTHOP_RETRYOUT_AGREEMENT_H
#define LASTHOP_RETRYOUT_AGREEMENT_H

/* Begins to listen; an error has a line in the log. */
int ro_agreement_start(void);

/* Ends it; afterwards no CPU is in here any more. */
void ro_agreement_stop(void);

/* Agreements that are not followed, since their window is above 64. */
unsigned long ro_agreement_too_wide(void);

#endif
