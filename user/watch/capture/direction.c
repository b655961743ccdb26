// SPDX-License-Identifier: GPL-2.0-only
/* Stations and pairs of addresses are counted in tables in which the first of a slot keeps it: what
 * finds its slot taken counts for neither direction.
 */
#include "watch/capture/capture.h"

#include <stdlib.h>
#include <string.h>

#include <linux/if_ether.h>

#define STATIONS       1024u
#define PAIRS          (1u << 14)

#define DEVICE_PERCENT 90 /* of the frames, as their sender or receiver */
#define SENT_PERCENT   1
#define PAIRS_PERCENT  20

/* Bytes of an IP packet: where its addresses begin, and the length of each. */
#define IPV4_AT     12
#define IPV6_AT     8
#define ADDRESS_MAX 16

/* Packets of a station, sent and received; of a pair, from the lower address and from the other. */
struct way {
	uint64_t key; /* 0: free */
	uint64_t packets[2];
};

struct directions {
	uint64_t sent;    /* by their link header */
	uint64_t frames;  /* between two stations */
	uint64_t packets; /* others, between two addresses */
	struct way stations[STATIONS], pairs[PAIRS];
};

struct directions *directions_new(void)
{
	return calloc(1, sizeof(struct directions));
}

void directions_free(struct directions *directions)
{
	free(directions);
}

/* FNV-1a. */
static uint64_t bytes_hash(uint64_t hash, const uint8_t *bytes, size_t count)
{
	while (count--)
		hash = (hash ^ *bytes++) * 0x100000001b3;
	return hash;
}

static void way_count(struct way *ways, uint32_t count, uint64_t key, bool second)
{
	struct way *way = &ways[(key ^ key >> 32) % count];

	if (!way->key)
		way->key = key;
	if (way->key == key)
		way->packets[second]++;
}

static void station_count(struct directions *directions, const uint8_t *address, bool received)
{
	way_count(directions->stations, STATIONS,
		  bytes_hash(0xcbf29ce484222325, address, ETH_ALEN) | 1, received);
}

static void pair_count(struct directions *directions, const uint8_t *source, const uint8_t *dest,
		       size_t bytes)
{
	int order = memcmp(source, dest, bytes);
	uint64_t key = bytes_hash(0xcbf29ce484222325, order < 0 ? source : dest, bytes);

	if (!order)
		return;
	directions->packets++;
	way_count(directions->pairs, PAIRS, bytes_hash(key, order < 0 ? dest : source, bytes) | 1,
		  order > 0);
}

void directions_count(struct directions *directions, const struct captured *packet)
{
	const uint8_t *dest = packet->data, *source = packet->data + ETH_ALEN;
	const uint8_t *ip = packet->data + ETH_HLEN;
	uint32_t size;

	directions->sent += packet->sent;
	if (packet->size < ETH_HLEN || dest[0] & 1) /* everybody's */
		return;
	size = packet->size - ETH_HLEN;
	if (memcmp(dest, source, ETH_ALEN) != 0) {
		directions->frames++;
		station_count(directions, source, false);
		station_count(directions, dest, true);
	} else if (size >= IPV4_AT + 2 * 4 && ip[0] >> 4 == 4) {
		pair_count(directions, ip + IPV4_AT, ip + IPV4_AT + 4, 4);
	} else if (size >= IPV6_AT + 2 * ADDRESS_MAX && ip[0] >> 4 == 6) {
		pair_count(directions, ip + IPV6_AT, ip + IPV6_AT + ADDRESS_MAX, ADDRESS_MAX);
	}
}

static bool is_part(uint64_t part, uint64_t of, unsigned int percent)
{
	return part && part * 100 >= of * percent;
}

bool directions_both(const struct directions *directions)
{
	uint64_t mutual = 0;

	if (directions->sent)
		return true;
	for (uint32_t i = 0; i < STATIONS; i++) { /* is one of them the device? */
		const uint64_t *packets = directions->stations[i].packets;

		if (is_part(packets[0] + packets[1], directions->frames, DEVICE_PERCENT) &&
		    is_part(packets[0], directions->frames, SENT_PERCENT) &&
		    is_part(packets[1], directions->frames, SENT_PERCENT))
			return true;
	}
	for (uint32_t i = 0; i < PAIRS; i++)
		if (directions->pairs[i].packets[0] && directions->pairs[i].packets[1])
			mutual += directions->pairs[i].packets[0] + directions->pairs[i].packets[1];
	return is_part(mutual, directions->packets, PAIRS_PERCENT);
}
