// SPDX-License-Identifier: GPL-2.0-only
/* Walks the search tree of a database with libmaxminddb. The library maps a file, and a file that
 * shrinks would end this process: it gets a copy in memory that cannot. The tree is not trusted:
 * each of its nodes is visited once, except where the tree refers to its IPv4 part again.
 *
 * The country of a network is where it is (`country`), or else where it is registered
 * (`registered_country`).
 */
#include "kernel/sets/set_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <maxminddb.h>

#include "kernel/scope.h"
#include "policy/sets/member_line.h"

#define ANSWERS 4096 /* records whose answer is remembered: many networks share one */

struct mmdb_lookup {
	uint32_t offset; /* of the record, and 1 */
	bool fits;
};

struct walk {
	MMDB_s *mmdb;
	bool country;
	const char *items; /* after "country " or "asn " */
	struct member_list *list;
	struct mmdb_lookup answers[ANSWERS];
	uint64_t visits;
	bool ipv6;        /* the tree is of IPv6 */
	const char *why;  /* of the end of the walk */
	uint8_t addr[16]; /* the path to the node at hand */
};

/* ---- records */

static bool is_item(const char *items, const char *text, size_t size)
{
	for (const char *item = items; *item; item += strspn(item, ",")) {
		size_t len = strcspn(item, ",");

		if (len == size && !memcmp(item, text, len))
			return true;
		item += len;
	}
	return false;
}

static bool value_is(MMDB_entry_data_s *data, int status, uint32_t type)
{
	return status == MMDB_SUCCESS && data->has_data && data->type == type;
}

static bool country_fits(const struct walk *walk, MMDB_entry_s *entry)
{
	MMDB_entry_data_s data;
	int status = MMDB_get_value(entry, &data, "country", "iso_code", NULL);

	if (!value_is(&data, status, MMDB_DATA_TYPE_UTF8_STRING))
		status = MMDB_get_value(entry, &data, "registered_country", "iso_code", NULL);
	return value_is(&data, status, MMDB_DATA_TYPE_UTF8_STRING) &&
	       is_item(walk->items, data.utf8_string, data.data_size);
}

static bool asn_fits(const struct walk *walk, MMDB_entry_s *entry)
{
	MMDB_entry_data_s data;
	int status = MMDB_get_value(entry, &data, "autonomous_system_number", NULL);
	char text[16];
	int len;

	if (!value_is(&data, status, MMDB_DATA_TYPE_UINT32))
		return false;
	len = snprintf(text, sizeof(text), "%u", data.uint32);
	return is_item(walk->items, text, len);
}

static bool record_fits(struct walk *walk, MMDB_entry_s *entry)
{
	struct mmdb_lookup *answer = &walk->answers[entry->offset * 2654435761u >> 20];

	if (answer->offset != entry->offset + 1) {
		answer->offset = entry->offset + 1;
		answer->fits = walk->country ? country_fits(walk, entry) : asn_fits(walk, entry);
	}
	return answer->fits;
}

/* ---- the tree */

static bool is_zero(const struct walk *walk)
{
	static const uint8_t zero[16];

	return !memcmp(walk->addr, zero, 12);
}

static void take(struct walk *walk, const struct member *member)
{
	if (member_is_wide(walk->list->shortest, member))
		walk->list->wide_count++;
	else if (member_list_add(walk->list, member, 0))
		walk->why = MEMBER_NO_MEMORY;
}

static void emit(struct walk *walk, uint8_t len)
{
	struct member member = {.len = len};

	memcpy(member.addr, walk->addr, sizeof(member.addr));
	/* IPv4 addresses are found below ::/96, or in a network around it. */
	if (!walk->ipv6 || (is_zero(walk) && len >= 96)) {
		memset(&member.addr[10], 0xff, 2);
		member.len = walk->ipv6 ? len : len + 96;
	} else if (is_zero(walk)) {
		take(walk, &(struct member){.addr = {[10] = 0xff, [11] = 0xff}, .len = 96});
	} else if (member_is_ipv4(&member)) {
		return; /* IPv4 addresses a second time */
	}
	take(walk, &member);
}

/* The bit of the path at this depth; a tree of IPv4 begins at the last four bytes. */
static void bit_set(struct walk *walk, uint8_t depth, bool one)
{
	uint8_t at = walk->ipv6 ? depth : depth + 96, mask = 0x80 >> at % 8;

	if (one)
		walk->addr[at / 8] |= mask;
	else
		walk->addr[at / 8] &= ~mask;
}

/* Is this the IPv4 part, elsewhere than at its own place? */
static bool is_alias(const struct walk *walk, uint64_t node, uint8_t depth)
{
	return walk->ipv6 && node == walk->mmdb->ipv4_start_node.node_value &&
	       !(depth == walk->mmdb->ipv4_start_node.netmask && is_zero(walk));
}

static bool node_walk(struct walk *walk, uint64_t node, uint8_t depth);

/* Do all networks below fit? Then nothing of them is emitted yet. */
static bool record_walk(struct walk *walk, uint64_t record, uint8_t type, MMDB_entry_s *entry,
			uint8_t depth)
{
	if (type == MMDB_RECORD_TYPE_INVALID)
		walk->why = "its tree is broken";
	if (type == MMDB_RECORD_TYPE_DATA)
		return record_fits(walk, entry);
	if (type != MMDB_RECORD_TYPE_SEARCH_NODE || is_alias(walk, record, depth))
		return false;
	return node_walk(walk, record, depth);
}

static bool node_walk(struct walk *walk, uint64_t node, uint8_t depth)
{
	MMDB_search_node_s record;
	bool left, right;

	if (!walk->why &&
	    (walk->visits++ > walk->mmdb->metadata.node_count || depth >= (walk->ipv6 ? 128 : 32)))
		walk->why = "its tree is broken";
	if (!walk->why && MMDB_read_node(walk->mmdb, (uint32_t)node, &record) != MMDB_SUCCESS)
		walk->why = "its tree is broken";
	if (walk->why)
		return false;
	bit_set(walk, depth, false);
	left = record_walk(walk, record.left_record, record.left_record_type,
			   &record.left_record_entry, depth + 1);
	bit_set(walk, depth, true);
	right = record_walk(walk, record.right_record, record.right_record_type,
			    &record.right_record_entry, depth + 1);
	if (right && !left)
		emit(walk, depth + 1);
	bit_set(walk, depth, false);
	if (left && !right)
		emit(walk, depth + 1);
	return left && right;
}

static const char *tree_walk(MMDB_s *mmdb, const char *pick, struct member_list *list)
{
	FREED struct walk *walk = calloc(1, sizeof(*walk));

	if (!walk)
		return MEMBER_NO_MEMORY;
	walk->mmdb = mmdb;
	walk->country = !strncmp(pick, "country ", 8);
	walk->items = strchr(pick, ' ') + 1;
	walk->list = list;
	walk->ipv6 = mmdb->metadata.ip_version == 6;
	if (node_walk(walk, 0, 0))
		emit(walk, 0);
	list->lines = list->count;
	if (!walk->why && !list->count && list->wide_count)
		return "all its networks are wider than the shortest prefix of the set";
	return walk->why || list->count ? walk->why : "none of its networks is what is asked for";
}

/* ---- the database */

const char *mmdb_read(const char *text, size_t size, const char *pick, struct member_list *list)
{
	CLOSED int fd = size ? memfd_create("rlctl-mmdb", MFD_CLOEXEC) : -1;
	const char *why;
	char path[32];
	MMDB_s mmdb;

	/* Short where there is no memory. */
	if (fd < 0 || write(fd, text, size) != (ssize_t)size)
		return size ? MEMBER_NO_MEMORY : "it is empty";
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (MMDB_open(path, MMDB_MODE_MMAP, &mmdb) != MMDB_SUCCESS)
		return "it is not a database in MaxMind's format (mmdb)";
	why = tree_walk(&mmdb, pick, list);
	MMDB_close(&mmdb);
	return why;
}
