/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Reads the fields of a received frame for pseudo retry-out (IEEE 802.11-2020,
 * 9.2.4, 9.3.1.7, 9.3.2): addresses, TID, sequence number, and whether a TCP
 * segment is inside. Any bytes may come: an erroneous frame has arbitrary ones.
 * Not read: mesh headers, fragments of MSDUs, extension headers of IPv6; such
 * content does not count as TCP.
 */
#ifndef LASTHOP_RETRYOUT_FRAME_H
#define LASTHOP_RETRYOUT_FRAME_H

#include "shim.h"

/* Bytes of a frame that suffice: headers up to the protocol of IP. */
#define RO_FRAME_BYTES 96

/* Bytes that suffice without the content: the longest MAC header. */
#define RO_FRAME_HEADER 36

/**
 * enum ro_kind - kinds of frames
 * @RO_FRAME_OTHER: of no concern to a Block Ack agreement
 * @RO_FRAME_DATA: a QoS data frame that an agreement may cover
 * @RO_FRAME_BAR: a compressed Block Ack Request
 */
enum ro_kind {
	RO_FRAME_OTHER,
	RO_FRAME_DATA,
	RO_FRAME_BAR,
};

/**
 * enum ro_content - content of the frame
 * @RO_CONTENT_UNKNOWN: cannot be read: encrypted, or cut off before
 * @RO_CONTENT_TCP: a TCP segment
 * @RO_CONTENT_OTHER: something else
 */
enum ro_content {
	RO_CONTENT_UNKNOWN,
	RO_CONTENT_TCP,
	RO_CONTENT_OTHER,
};

/**
 * enum ro_cipher - encryption of the frame body
 * @RO_BODY_AS_SAID: by the frame's Protected bit
 * @RO_BODY_DECRYPTED: decrypted; the header of the cipher is still there
 * @RO_BODY_STRIPPED: decrypted; the header of the cipher is gone
 */
enum ro_cipher {
	RO_BODY_AS_SAID,
	RO_BODY_DECRYPTED,
	RO_BODY_STRIPPED,
};

/**
 * struct ro_frame - a frame as far as it matters
 * @kind: which kind
 * @content: of a data frame: what is inside
 * @encrypted: of a data frame: its body is encrypted
 * @tid: 0 to 7
 * @sequence: sequence number, or the start of a Block Ack Request
 * @body: of a data frame: bytes behind its MAC header
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
 * Reads a frame of @length bytes of which the first @there are at @bytes.
 */
struct ro_frame ro_frame_read(const u8 *bytes, size_t there, size_t length,
			      enum ro_cipher cipher);

#endif
