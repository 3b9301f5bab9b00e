// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits of mac80211 drivers for MPDUs, in bytes with the FCS, from the drivers' sources in
 * Linux 6.1 and 6.12. Only mac80211_hwsim was tested. The table omits drivers whose firmware
 * sets an undocumented limit.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "drivers.h"
#include "limits.h"

static const struct jumbo_driver unknown = {
	.name = "", .mpdu_bytes_max = JUMBO_DRIVER_UNKNOWN,
	.why = "what its hardware moves is not known",
};

static const struct jumbo_driver drivers[] = {
	{ "mac80211_hwsim", JUMBO_DRIVER_ANY, "it copies frames of any length" },
	/* Two receive buffers of IEEE80211_MAX_MPDU_LEN / 2; sends up to AR_FrameLen, 4095. */
	{ "ath9k", 3852, "it joins two receive buffers, 3852 bytes together" },
	/* AGGREGATION_SIZE, also in MAX_LEN_CFG. */
	{ "rt2800pci", 3840, "its receive buffers have 3840 bytes" },
	{ "rt2800usb", 3840, "its receive buffers have 3840 bytes" },
	{ "rt2800_wmac", 3840, "its receive buffers have 3840 bytes" },
	/* MWL8K_RX_MAXSZ. */
	{ "mwl8k", 3800, "its receive buffers have 3800 bytes" },
	/* The driver counts rs_more as an error: rxerr_jumbo. */
	{ "ath5k", JUMBO_DRIVER_REFUSES, "it drops what is longer than one receive buffer" },
	/* DMA0_RX_*_BUFSIZE. */
	{ "b43", JUMBO_DRIVER_REFUSES, "its receive buffers have 2352 bytes" },
	{ "b43legacy", JUMBO_DRIVER_REFUSES, "its receive buffers have 2404 bytes" },
	/* DATA_FRAME_SIZE. */
	{ "rt2400pci", JUMBO_DRIVER_REFUSES, "its buffers have 2432 bytes" },
	{ "rt2500pci", JUMBO_DRIVER_REFUSES, "its buffers have 2432 bytes" },
	{ "rt2500usb", JUMBO_DRIVER_REFUSES, "its buffers have 2432 bytes" },
	{ "rt61pci", JUMBO_DRIVER_REFUSES, "its buffers have 2432 bytes" },
	{ "rt73usb", JUMBO_DRIVER_REFUSES, "its buffers have 2432 bytes" },
	/* priv->rx_mtu. */
	{ "p54pci", JUMBO_DRIVER_REFUSES, "its receive buffers have 2352 bytes" },
	{ "p54usb", JUMBO_DRIVER_REFUSES, "its receive buffers have 2352 bytes" },
	/* rtl8xxxu_submit_rx_urb() without aggregated transfers. */
	{ "rtl8xxxu", JUMBO_DRIVER_REFUSES, "its receive buffers have 2352 bytes" },
	/* iwl_mvm_tx_skb_non_sta() warns. */
	{ "iwlwifi", JUMBO_DRIVER_REFUSES, "it warns of data longer than 2304 bytes" },
};

const struct jumbo_driver *jumbo_driver_find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(drivers); i++)
		if (!strcmp(drivers[i].name, name))
			return &drivers[i];
	return &unknown;
}
