// SPDX-License-Identifier: GPL-2.0-only
/* Unpacks the BPF objects, which the Makefile compresses with gzip(1). They are five megabytes
 * else, of which a call needs one. */

#include "kernel/attach/object_bytes.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <endian.h>
#include <zlib.h>

#define GZIP_WINDOW (MAX_WBITS + 16) /* zlib.h: with a header and a trailer of gzip */

/* clang-format off */
static const unsigned char plain[] =
#include "rlctl.gz.h"
;
static const unsigned char extended[] =
#include "rlctl_extended.gz.h"
;
static const unsigned char answers[] =
#include "rlctl_answers.gz.h"
;
static const unsigned char conntrack[] =
#include "rlctl_conntrack.gz.h"
;
static const unsigned char conntrack_answers[] =
#include "rlctl_conntrack_answers.gz.h"
;
/* clang-format on */

struct packed {
	const unsigned char *bytes;
	size_t size;
};

#define PACKED(array)                      \
	{                                  \
		(array), sizeof(array) - 1 \
	}
static const struct packed objects[OBJECT_COUNT] = {
	[OBJECT_PLAIN] = PACKED(plain),
	[OBJECT_EXTENDED] = PACKED(extended),
	[OBJECT_ANSWERS] = PACKED(answers),
	[OBJECT_CONNTRACK] = PACKED(conntrack),
	[OBJECT_CONNTRACK_ANSWERS] = PACKED(conntrack_answers),
};

/* The trailer ends with it: RFC 1952. */
static size_t unpacked_size(const struct packed *packed)
{
	uint32_t size_le;

	memcpy(&size_le, packed->bytes + packed->size - sizeof(size_le), sizeof(size_le));
	return le32toh(size_le);
}

/* Into a buffer of that size. Fails too where the checksum of the trailer is another. */
static int unpack(const struct packed *packed, void *out, size_t size)
{
	z_stream stream = {.next_in = (unsigned char *)packed->bytes,
			   .avail_in = packed->size,
			   .next_out = out,
			   .avail_out = size};
	int ret = inflateInit2(&stream, GZIP_WINDOW);

	if (ret != Z_OK)
		return ENOMEM;
	ret = inflate(&stream, Z_FINISH);
	inflateEnd(&stream);
	return ret == Z_STREAM_END && !stream.avail_out ? 0 : ENOEXEC;
}

/* Unpacks it unless that was done. Kept by this process and those that it forks, for an attach
 * opens its object twice. NULL with errno. */
static void *unpacked[OBJECT_COUNT];

static const void *unpack_once(enum object_kind kind, size_t size)
{
	if (unpacked[kind])
		return unpacked[kind];
	unpacked[kind] = malloc(size);
	if (!unpacked[kind])
		return NULL;
	errno = unpack(&objects[kind], unpacked[kind], size);
	if (errno) {
		free(unpacked[kind]);
		unpacked[kind] = NULL;
	}
	return unpacked[kind];
}

void *object_unpack(enum object_kind kind, size_t *size)
{
	size_t bytes = unpacked_size(&objects[kind]);
	const void *from = unpack_once(kind, bytes);
	void *out = from ? malloc(bytes) : NULL;

	if (!out)
		return NULL;
	memcpy(out, from, bytes);
	*size = bytes;
	return out;
}
