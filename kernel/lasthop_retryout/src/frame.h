/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Reads the fields of a received frame for pseudo retry-out (IEEE 802.11-2020,
 * 9.2.4, 9.3.1.7, 9.3.2): addresses, TID, sequence number, and whether a TCP
 * segment is inside. Erroneous frames contain arbitrary bytes, so any input is
 * valid. Frames with mesh headers, fragments of MSDUs, and extension headers of
 * IPv6 do not count as TCP.
 */
#ifndef LASTHOP_RETRYOUT_FRAME_H
#define LASTHOP_RETRYOUT_FRAME_H

#include "shim.h"

/* Sufficient bytes of a frame: headers up to the protocol of IP. */
#define RO_FRAME_BYTES 96

/* Sufficient bytes without the content: the longest MAC header. */
#define RO_FRAME_HEADER 36

/**
 * enum ro_kind - kinds of frames
 * @RO_FRAME_OTHER: not subject to a Block Ack agreement
 * @RO_FRAME_DATA: a QoS data frame, possibly within an agreement
 * @RO_FRAME_BAR: a compressed Block Ack Request
 */
enum ro_kind {
	RO_FRAME_OTHER,
	RO_FRAME_DATA,
	RO_FRAME_BAR,
};

/**
 * enum ro_content - content of the frame
 * @RO_CONTENT_UNKNOWN: not readable: encrypted, or cut
 * @RO_CONTENT_TCP: a TCP segment
 * @RO_CONTENT_OTHER: other content
 */
enum ro_content {
	RO_CONTENT_UNKNOWN,
	RO_CONTENT_TCP,
	RO_CONTENT_OTHER,
};

/**
 * enum ro_cipher - encryption of the frame body
 * @RO_BODY_AS_SAID: encrypted if the Protected bit is set
 * @RO_BODY_DECRYPTED: decrypted, with the header of the cipher
 * @RO_BODY_STRIPPED: decrypted, without the header of the cipher
 */
enum ro_cipher {
	RO_BODY_AS_SAID,
	RO_BODY_DECRYPTED,
	RO_BODY_STRIPPED,
};

/**
 * struct ro_frame - fields of a frame for the decision
 * @kind: kind of the frame
 * @content: content of a data frame
 * @encrypted: whether the body of a data frame is encrypted
 * @tid: traffic identifier, 0 to 7
 * @sequence: sequence number, or the start of a Block Ack Request
 * @body: bytes of a data frame behind the MAC header
 * @receiver: address 1
 * @transmitter: address 2
 */
struct ro_frame {
	enum ro_kind kind;
	enum ro_content content;
	bool encrypted;
	u8 tid;
	u16 sequence;
	u32 body;
	u8 receiver[6];
	u8 transmitter[6];
};

/*
 * Reads a frame of @length bytes; the first @there of them are at @bytes.
 */
struct ro_frame ro_frame_read(const u8 *bytes, size_t there, size_t length,
			      enum ro_cipher cipher);

#endif
