// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The reader of frame.h. A comparison with the number of present bytes
 * precedes every access. The code has no loop.
 */
#include "frame.h"

/* Frame Control, a little-endian number (9.2.4.1). */
#define FC_TYPE 0x000c
#define FC_TYPE_CONTROL 0x0004
#define FC_TYPE_DATA 0x0008
#define FC_SUBTYPE 0x00f0
#define FC_SUBTYPE_BAR 0x0080
#define FC_QOS 0x0080
#define FC_NO_DATA 0x0040
#define FC_VERSION 0x0003
#define FC_TO_FROM_DS 0x0300
#define FC_MORE_FRAGMENTS 0x0400
#define FC_PROTECTED 0x4000
#define FC_HTC 0x8000

/* QoS Control (9.2.4.5). */
#define QOS_TID 0x000f
#define QOS_ACK_POLICY 0x0060
#define QOS_NO_ACK 0x0020
#define QOS_AMSDU 0x0080

/* BAR Control (9.3.1.7): compressed, for one TID. */
#define BAR_TYPE 0x001e
#define BAR_COMPRESSED 0x0004
#define BAR_LENGTH 20

#define CIPHER_HEADER 8
#define AMSDU_HEADER 14
#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd
#define ETHERTYPE_VLAN 0x8100
#define PROTOCOL_TCP 6

static u16 little(const u8 *bytes)
{
	return bytes[0] | bytes[1] << 8;
}

static u16 big(const u8 *bytes)
{
	return bytes[0] << 8 | bytes[1];
}

/* First six bytes of LLC and SNAP (RFC 1042). memcmp() would be a loop. */
static bool is_snap(const u8 *msdu)
{
	return big(msdu) == 0xaaaa && big(msdu + 2) == 0x0300 &&
	       big(msdu + 4) == 0;
}

/* Returns the content of an MSDU that begins with LLC and SNAP headers. */
static enum ro_content content_of(const u8 *msdu, size_t there)
{
	u16 ethertype;

	if (there < 8)
		return RO_CONTENT_UNKNOWN;
	if (!is_snap(msdu))
		return RO_CONTENT_OTHER;
	ethertype = big(msdu + 6);
	msdu += 8;
	there -= 8;
	if (ethertype == ETHERTYPE_VLAN) {
		if (there < 4)
			return RO_CONTENT_UNKNOWN;
		ethertype = big(msdu + 2);
		msdu += 4;
		there -= 4;
	}
	if (ethertype == ETHERTYPE_IPV4) {
		if (there < 10)
			return RO_CONTENT_UNKNOWN;
		return msdu[0] >> 4 == 4 && msdu[9] == PROTOCOL_TCP ?
			       RO_CONTENT_TCP :
			       RO_CONTENT_OTHER;
	}
	if (ethertype == ETHERTYPE_IPV6) {
		if (there < 7)
			return RO_CONTENT_UNKNOWN;
		return msdu[0] >> 4 == 6 && msdu[6] == PROTOCOL_TCP ?
			       RO_CONTENT_TCP :
			       RO_CONTENT_OTHER;
	}
	return RO_CONTENT_OTHER;
}

static void read_bar(struct ro_frame *frame, const u8 *bytes, size_t there)
{
	u16 control;

	if (there < BAR_LENGTH)
		return;
	control = little(bytes + 16);
	if ((control & BAR_TYPE) != BAR_COMPRESSED || control >> 12 > 7)
		return;
	frame->kind = RO_FRAME_BAR;
	frame->tid = control >> 12;
	frame->sequence = little(bytes + 18) >> 4;
}

static void read_data(struct ro_frame *frame, const u8 *bytes, size_t there,
		      size_t length, u16 fc, enum ro_cipher cipher)
{
	size_t header = 26;
	u16 sequence, qos;

	if (!(fc & FC_QOS) || fc & (FC_NO_DATA | FC_MORE_FRAGMENTS))
		return;
	if ((fc & FC_TO_FROM_DS) == FC_TO_FROM_DS)
		header += 6;
	if (there < header)
		return;
	sequence = little(bytes + 22);
	qos = little(bytes + header - 2);
	if (fc & FC_HTC)
		header += 4;
	if (sequence & 0xf || (qos & QOS_TID) > 7 || bytes[4] & 1 ||
	    (qos & QOS_ACK_POLICY) == QOS_NO_ACK || there < header)
		return;
	frame->kind = RO_FRAME_DATA;
	frame->tid = qos & QOS_TID;
	frame->sequence = sequence >> 4;
	frame->body = length - header;
	if (fc & FC_PROTECTED && cipher == RO_BODY_AS_SAID) {
		frame->encrypted = true;
		return;
	}
	if (fc & FC_PROTECTED && cipher == RO_BODY_DECRYPTED)
		header += CIPHER_HEADER;
	if (qos & QOS_AMSDU)
		header += AMSDU_HEADER;
	if (there > header)
		frame->content = content_of(bytes + header, there - header);
}

struct ro_frame ro_frame_read(const u8 *bytes, size_t there, size_t length,
			      enum ro_cipher cipher)
{
	struct ro_frame frame = { .kind = RO_FRAME_OTHER };
	u16 fc;

	if (there > length)
		there = length;
	/* Frame Control, Duration and two addresses. */
	if (there < 16)
		return frame;
	fc = little(bytes);
	if (fc & FC_VERSION)
		return frame;
	memcpy(frame.receiver, bytes + 4, 6);
	memcpy(frame.transmitter, bytes + 10, 6);
	if ((fc & FC_TYPE) == FC_TYPE_DATA)
		read_data(&frame, bytes, there, length, fc, cipher);
	else if ((fc & (FC_TYPE | FC_SUBTYPE)) ==
		 (FC_TYPE_CONTROL | FC_SUBTYPE_BAR))
		read_bar(&frame, bytes, there);
	return frame;
}
