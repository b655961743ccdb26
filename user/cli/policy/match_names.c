// SPDX-License-Identifier: GPL-2.0-only
#include "cli/policy/match_names.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "policy/extra_names.h"

#define NAME_MAX_BYTES 256

typedef void (*name_fn)(void *arg, const char *name);

static void flags_offer(const char *typed, name_fn offer, void *arg)
{
	char name[NAME_MAX_BYTES];
	int kept = (int)strlen(typed);

	while (kept && !strchr(",/", typed[kept - 1]))
		kept--;
	for (unsigned int bit = 0; bit < 8; bit++) {
		snprintf(name, sizeof(name), "%.*s%s", kept, typed, tcp_flag_name(bit));
		offer(arg, name);
	}
	if (!kept)
		offer(arg, "none");
}

static void dscps_offer(const char *typed, name_fn offer, void *arg)
{
	(void)typed;
	for (unsigned int dscp = 0; dscp < 64; dscp++)
		if (dscp_name(dscp))
			offer(arg, dscp_name(dscp));
}

/* For ICMP and ICMPv6. */
static void icmp_types_offer(const char *typed, name_fn offer, void *arg)
{
	(void)typed;
	for (unsigned int i = 0; i <= 2 * UINT8_MAX + 1; i++)
		if (icmp_type_name(i / 2, i % 2))
			offer(arg, icmp_type_name(i / 2, i % 2));
}

static const struct row {
	const char *match, *sample;
	void (*offer)(const char *typed, name_fn offer, void *arg); /* NULL: it has no names */
} rows[] = {
	{"flags", "syn", flags_offer},
	{"dscp", "ef", dscps_offer},
	{"icmp-type", "8", icmp_types_offer},
	{"sport", "1", NULL},
	{"dport", "1", NULL},
	{"payload", "0 00", NULL},
};

static const struct row *row_find(const char *match)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].match, match))
			return &rows[i];
	return NULL;
}

bool match_names(const char *match, const char *typed, name_fn offer, void *arg)
{
	const struct row *row = row_find(match);

	if (!row || !row->offer)
		return false;
	row->offer(typed, offer, arg);
	return true;
}

const char *match_sample(const char *match)
{
	const struct row *row = row_find(match);

	return row ? row->sample : NULL;
}
