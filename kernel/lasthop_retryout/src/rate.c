// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rates of rate.h. cfg80211 computes them; the last one is stored, because
 * most frames of a station have the rate of the previous one. cfg80211 warns of
 * invalid values, so this file rejects them first. EHT is not supported.
 */
#include <net/cfg80211.h>
#include "rate.h"

static u32 legacy_kbps(const struct ieee80211_hw *hw,
		       const struct ieee80211_rx_status *status)
{
	const struct ieee80211_supported_band *band;

	if (!hw->wiphy || status->band >= NUM_NL80211_BANDS)
		return 0;
	band = hw->wiphy->bands[status->band];
	if (!band || status->rate_idx >= band->n_bitrates)
		return 0;
	return band->bitrates[status->rate_idx].bitrate * 100;
}

static u32 calculate_kbps(const struct ieee80211_hw *hw,
			  const struct ieee80211_rx_status *status)
{
	struct rate_info rate = {
		.mcs = status->rate_idx,
		.nss = status->nss,
		.bw = status->bw,
	};

	if (status->enc_flags & RX_ENC_FLAG_SHORT_GI)
		rate.flags |= RATE_INFO_FLAGS_SHORT_GI;
	switch (status->encoding) {
	case RX_ENC_LEGACY:
		return legacy_kbps(hw, status);
	case RX_ENC_HT:
		if (rate.mcs > 31 || (rate.bw != RATE_INFO_BW_20 &&
				      rate.bw != RATE_INFO_BW_40))
			return 0;
		rate.flags |= RATE_INFO_FLAGS_MCS;
		break;
	case RX_ENC_VHT:
		if (rate.mcs > 11 || rate.nss < 1 || rate.nss > 8 ||
		    (rate.bw != RATE_INFO_BW_20 && rate.bw != RATE_INFO_BW_40 &&
		     rate.bw != RATE_INFO_BW_80 && rate.bw != RATE_INFO_BW_160))
			return 0;
		rate.flags |= RATE_INFO_FLAGS_VHT_MCS;
		break;
	case RX_ENC_HE:
		rate.he_gi = status->he_gi;
		rate.he_dcm = status->he_dcm;
		rate.he_ru_alloc = status->he_ru;
		if (rate.mcs > 11 || rate.nss < 1 || rate.nss > 8 ||
		    rate.he_gi > NL80211_RATE_INFO_HE_GI_3_2 ||
		    rate.he_ru_alloc > NL80211_RATE_INFO_HE_RU_ALLOC_2x996 ||
		    (rate.bw != RATE_INFO_BW_20 && rate.bw != RATE_INFO_BW_40 &&
		     rate.bw != RATE_INFO_BW_80 &&
		     rate.bw != RATE_INFO_BW_160 &&
		     rate.bw != RATE_INFO_BW_HE_RU))
			return 0;
		rate.flags = RATE_INFO_FLAGS_HE_MCS;
		break;
	default:
		return 0;
	}
	return cfg80211_calculate_bitrate(&rate) * 100;
}

u32 ro_rate_kbps(struct ro_station *station, const struct ieee80211_hw *hw,
		 const struct ieee80211_rx_status *status)
{
	u64 key = 1ull << 63 | (u64)status->he_gi << 44 |
		  (u64)status->he_dcm << 43 | (u64)status->he_ru << 40 |
		  (u64)status->bw << 36 | (u64)status->band << 32 |
		  status->encoding << 24 | status->enc_flags << 16 |
		  status->rate_idx << 8 | status->nss;

	if (station->rate.key != key) {
		u32 kbps = calculate_kbps(hw, status);

		station->rate.key = key;
		station->rate.kbps = min_t(u32, kbps, RO_KBPS_MAX);
	}
	if (station->rate.kbps)
		station->last_kbps = station->rate.kbps;
	return station->last_kbps;
}
