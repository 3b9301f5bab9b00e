/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Decides the longest packets of an 802.11 interface, by arithmetic without the kernel. The
 * module and its test program compile the same files. Lengths are in bytes. The MTU limits
 * packets; an MPDU is the unit on the air, with the FCS (IEEE 802.11-2020, 9.2 to 9.7).
 */
#ifndef LASTHOP_JUMBO_LIMITS_H
#define LASTHOP_JUMBO_LIMITS_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
typedef unsigned int u32;
#endif

/* Longest MSDU outside an A-MSDU (table 9-25), also the limit of mac80211. */
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
 * Largest overhead of an MPDU: QoS Data header 26, fourth address 6, mesh control 18,
 * security 24, LLC and SNAP 8, FCS 4. Linux does not send HT Control.
 */
#define JUMBO_MPDU_OVERHEAD_BYTES (26u + 6u + 18u + JUMBO_SECURITY_BYTES + 8u + JUMBO_FCS_BYTES)
/* Longest packet whose MPDU fits into an A-MPDU of HT stations, whatever its header. */
#define JUMBO_AMPDU_PACKET_BYTES_MAX (JUMBO_HT_AMPDU_MPDU_BYTES_MAX - JUMBO_MPDU_OVERHEAD_BYTES)

/* Special values for the longest MPDU of a driver. */
#define JUMBO_DRIVER_UNKNOWN 0u
#define JUMBO_DRIVER_REFUSES 1u
#define JUMBO_DRIVER_ANY 0xffffffffu

/* Facts about a PHY for the decision. */
struct jumbo_phy {
	bool ht;			/* HT in some band, so A-MSDUs exist */
	bool aggregates;		/* sends A-MPDUs */
	bool guarded;			/* the guard keeps long MPDUs out of A-MPDUs */
	bool named;			/* is in the allow-list */
	bool own_limit;			/* has a limit of the driver, other than mac80211's */
	u32 driver_mpdu_bytes_max;	/* in bytes, or JUMBO_DRIVER_* */
};

enum jumbo_reason {
	JUMBO_RAISED,			/* raised to the parameter */
	JUMBO_RAISED_TO_DRIVER,		/* raised to the driver's limit */
	JUMBO_RAISED_TO_AMPDU,		/* raised to the longest packet in its A-MPDUs */
	JUMBO_ENOUGH,			/* the limit is already as high */
	JUMBO_NOT_HT,
	JUMBO_REFUSED,			/* the driver refuses longer packets */
	JUMBO_OWN_LIMIT,
	JUMBO_UNKNOWN,			/* driver of unknown limit, PHY not in the list */
	JUMBO_REASONS
};

struct jumbo_decision {
	u32 limit_bytes;		/* largest MTU; the old one without a change */
	enum jumbo_reason reason;
};

/*
 * Returns the largest MTU for an interface of phy with the present limit limit_bytes and the
 * wanted value mtu. force overrides known and unknown limits of the driver, not the standard.
 */
struct jumbo_decision jumbo_decide(u32 mtu, bool force, u32 limit_bytes,
				   const struct jumbo_phy *phy);

/* Returns whether the reason stands for a raised limit. */
static inline bool jumbo_raises(enum jumbo_reason reason)
{
	return reason <= JUMBO_RAISED_TO_AMPDU;
}

/* Returns whether MPDUs with packets of mtu bytes may be too long for A-MPDUs of HT stations. */
static inline bool jumbo_exceeds_ampdu(u32 mtu)
{
	return mtu > JUMBO_AMPDU_PACKET_BYTES_MAX;
}

/*
 * Returns whether an MPDU of mpdu_bytes (with FCS and security) must stay out of A-MPDUs to a
 * peer. vht_bytes_max is the announced limit of a VHT peer, 0 for other peers.
 */
static inline bool jumbo_goes_alone(u32 mpdu_bytes, u32 vht_bytes_max)
{
	return mpdu_bytes > (vht_bytes_max ? vht_bytes_max : JUMBO_HT_AMPDU_MPDU_BYTES_MAX);
}

#endif
