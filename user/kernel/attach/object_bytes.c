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

/* Into memory of that size, to be freed; NULL with errno. Fails too where the checksum of the
 * trailer is another. */
static void *unpack(const struct packed *packed, size_t size)
{
	z_stream stream = {.next_in = (unsigned char *)packed->bytes,
			   .avail_in = packed->size,
			   .avail_out = size};
	void *out = stream.next_out = malloc(size);
	int ret = out ? inflateInit2(&stream, GZIP_WINDOW) : Z_MEM_ERROR;

	errno = ret == Z_OK ? ENOEXEC : ENOMEM;
	if (ret == Z_OK) {
		ret = inflate(&stream, Z_FINISH);
		inflateEnd(&stream);
	}
	if (ret == Z_STREAM_END && !stream.avail_out)
		return out;
	free(out);
	return NULL;
}

/* This process, and those that it forks, keep what was unpacked, for an attach opens its object
 * twice. */
void *object_unpack(enum object_kind kind, size_t *size)
{
	static void *unpacked[OBJECT_COUNT];
	const struct packed *packed = &objects[kind];
	uint32_t size_le; /* the trailer ends with it: RFC 1952 */
	void *out;

	memcpy(&size_le, packed->bytes + packed->size - sizeof(size_le), sizeof(size_le));
	*size = le32toh(size_le);
	if (!unpacked[kind])
		unpacked[kind] = unpack(packed, *size);
	out = unpacked[kind] ? malloc(*size) : NULL;
	return out ? memcpy(out, unpacked[kind], *size) : NULL;
}
