/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The longest packets of an 802.11 interface: pure arithmetic and one decision,
 * compiled into the module and into a program that tests it. Lengths are bytes;
 * a packet is the unit of the MTU, an MPDU the unit on the air, FCS included
 * (IEEE 802.11-2020, 9.2 to 9.7). Independent of the kernel.
 */
#ifndef LASTHOP_JUMBO_LIMITS_H
#define LASTHOP_JUMBO_LIMITS_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
typedef unsigned int u32;
#endif

/* Longest MSDU of its own, and mac80211's limit (table 9-25). */
#define JUMBO_MSDU_BYTES_MAX 2304u
/* Range of the parameter mtu: above stock, up to the longest A-MSDU (table 9-25). */
#define JUMBO_MTU_MIN (JUMBO_MSDU_BYTES_MAX + 1)
#define JUMBO_MTU_MAX 7935u
/* Longest MPDU in an A-MPDU of HT stations: the delimiter's 12 bits (9.7.1). */
#define JUMBO_HT_AMPDU_MPDU_BYTES_MAX 4095u
/* Longest MPDUs that a VHT station may announce (9.4.2.157.2). */
#define JUMBO_VHT_MPDU_BYTES_3895 3895u
#define JUMBO_VHT_MPDU_BYTES_7991 7991u
#define JUMBO_VHT_MPDU_BYTES_11454 11454u

/* Header and longest trailer of CCMP-256 and GCMP-256 (12.5.3, 12.5.5). */
#define JUMBO_SECURITY_BYTES (8u + 16u)
#define JUMBO_FCS_BYTES 4u
/*
 * Most bytes of an MPDU beside its packet: QoS Data header 26, fourth address 6,
 * mesh control 18, security 24, LLC and SNAP 8, FCS 4. HT Control is not sent by Linux.
 */
#define JUMBO_MPDU_OVERHEAD_BYTES (26u + 6u + 18u + JUMBO_SECURITY_BYTES + 8u + JUMBO_FCS_BYTES)
/* Longest packet whose MPDU fits into an A-MPDU of HT stations, whatever its header. */
#define JUMBO_AMPDU_PACKET_BYTES_MAX (JUMBO_HT_AMPDU_MPDU_BYTES_MAX - JUMBO_MPDU_OVERHEAD_BYTES)

/* Longest MPDU of a driver, where it is not a number. */
#define JUMBO_DRIVER_UNKNOWN 0u
#define JUMBO_DRIVER_REFUSES 1u
#define JUMBO_DRIVER_ANY 0xffffffffu

/* Facts about a PHY for the decision. */
struct jumbo_phy {
	bool ht;			/* HT in some band: longer units than MSDUs exist */
	bool aggregates;		/* it sends A-MPDUs */
	bool guarded;			/* long MPDUs are kept out of its A-MPDUs */
	bool named;			/* the allow-list names it */
	bool own_limit;			/* its driver set a limit other than mac80211's */
	u32 driver_mpdu_bytes_max;	/* or JUMBO_DRIVER_* */
};

enum jumbo_reason {
	JUMBO_RAISED,			/* to the parameter */
	JUMBO_RAISED_TO_DRIVER,		/* to what the driver moves */
	JUMBO_RAISED_TO_AMPDU,		/* to what fits into its A-MPDUs */
	JUMBO_ENOUGH,			/* the limit is no lower already */
	JUMBO_NOT_HT,
	JUMBO_REFUSED,			/* the driver is known not to take longer packets */
	JUMBO_OWN_LIMIT,
	JUMBO_UNKNOWN,			/* driver of unknown limits, PHY not named */
	JUMBO_REASONS
};

struct jumbo_decision {
	u32 limit_bytes;		/* largest MTU; that from before if nothing changes */
	enum jumbo_reason reason;
};

/*
 * The largest MTU for an interface of phy whose largest is limit_bytes, where mtu is
 * wanted. force overrides the limit of the driver, known or not, never the standard.
 */
struct jumbo_decision jumbo_decide(u32 mtu, bool force, u32 limit_bytes,
				   const struct jumbo_phy *phy);

/* Whether the reason is one of those that raise. */
static inline bool jumbo_raises(enum jumbo_reason reason)
{
	return reason <= JUMBO_RAISED_TO_AMPDU;
}

/* Whether packets of up to mtu make MPDUs that are too long for A-MPDUs of HT stations. */
static inline bool jumbo_exceeds_ampdu(u32 mtu)
{
	return mtu > JUMBO_AMPDU_PACKET_BYTES_MAX;
}

/*
 * Whether an MPDU of mpdu_bytes (FCS and security included) stays out of A-MPDUs to a
 * peer: vht_bytes_max is what a VHT peer announces, 0 if it is none.
 */
static inline bool jumbo_goes_alone(u32 mpdu_bytes, u32 vht_bytes_max)
{
	return mpdu_bytes > (vht_bytes_max ? vht_bytes_max : JUMBO_HT_AMPDU_MPDU_BYTES_MAX);
}

#endif
