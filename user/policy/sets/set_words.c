// SPDX-License-Identifier: GPL-2.0-only
/* A statement `set`: text to model. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "policy/parser.h"
#include "policy/policy.h"
#include "policy/sets/set.h"

#define NOT_GIVEN 255 /* a length: the default is that of the source, which may follow */

struct option {
	const char *word;
	int (*parse)(struct parser *p, struct policy_set *set);
};

int parse_set_name(struct parser *p, char out[RL_SET_NAME_MAX + 1])
{
	return parse_name(p, p->word + (p->word[0] == '@'), "a set", "badguys", out);
}

/* A path ends at a blank, or at the second of two quotation marks. */
static int parse_path(struct parser *p, struct policy_set *set)
{
	bool quoted = p->span.len && *p->span.at == '"';
	const char *begin = p->span.at + quoted, *end = p->span.at + p->span.len;

	if (quoted) {
		end = memchr(begin, '"', p->end - begin);
		if (!end)
			return refuse(p, p->span, "has no second quotation mark: write \"PATH\"");
		p->span.len = end + 1 - p->span.at;
	}
	if (begin + plain_length(begin, end) < end || memchr(begin, '"', end - begin))
		return refuse(p, p->span,
			      "has a quotation mark, or bytes that are not plain UTF-8: rename the "
			      "file, or link to it");
	if (begin == end || *begin != '/')
		return expected(p, "the path of a file from / on, for example "
				   "/etc/rlctl/badguys.txt");
	if (end - begin > RL_SET_PATH_MAX)
		return refuse(p, p->span, "is longer than %d bytes: move the file, or link to it",
			      RL_SET_PATH_MAX);
	memcpy(set->path, begin, end - begin);
	word_next(p);
	return 0;
}

static int parse_source(struct parser *p, struct policy_set *set, enum rl_set_source source)
{
	if (set->source != RL_SET_DYNAMIC)
		return refuse(p, p->before, "is a second source: a set has one file or database");
	set->source = source;
	return parse_path(p, set);
}

static int option_file(struct parser *p, struct policy_set *set)
{
	return parse_source(p, set, RL_SET_FILE);
}

static int picks_check(struct parser *p, bool country)
{
	for (const char *item = p->word, *end; *item; item = *end ? end + 1 : end) {
		size_t len = strcspn(item, ",");
		bool valid = country ? len == 2 : len >= 1 && len <= 10;

		end = item + len;
		for (size_t i = 0; i < len; i++) /* DE or 64496 */
			valid = valid && (country ? isupper((unsigned char)item[i])
						  : isdigit((unsigned char)item[i]));
		if (!valid || (!country && strtoull(item, NULL, 10) > UINT32_MAX) ||
		    !strcmp(end, ","))
			return refuse(p, p->span,
				      country ? "is not a list of countries: write codes such as "
						"DE or DE,FR"
					      : "is not a list of AS numbers: write numbers such "
						"as 64496 or 64496,64511");
	}
	return 0;
}

static int option_mmdb(struct parser *p, struct policy_set *set)
{
	bool country;

	if (parse_source(p, set, RL_SET_MMDB))
		return -EINVAL;
	country = word_is(p, "country");
	if (!country && !word_is(p, "asn"))
		return expected(p, "a country or an AS: write country DE, or asn 64496");
	word_next(p);
	if (!p->span.len)
		return expected(p, country ? "a country: write for example DE"
					   : "an AS number: write for example 64496");
	if (picks_check(p, country))
		return -EINVAL;
	if (!p->word[0] || snprintf(set->pick, sizeof(set->pick), "%s %s",
				    country ? "country" : "asn", p->word) >= (int)sizeof(set->pick))
		return refuse(p, p->span, "is too long: a set has room for %d bytes of them",
			      RL_SET_PICK_MAX - 8);
	word_next(p);
	return 0;
}

static int option_every(struct parser *p, struct policy_set *set)
{
	__u64 every;

	if (parse_duration(p, &every))
		return -EINVAL;
	if (every < NS_PER_SECOND)
		return refuse(p, p->before,
			      "is too short: a file is looked at once a second at most");
	set->every_ns = every;
	return 0;
}

static int option_max(struct parser *p, struct policy_set *set)
{
	uint64_t max;
	int rc = parse_number(p, 1, RL_SET_MEMBERS_MAX, &max);

	if (!rc)
		set->max = max;
	return rc;
}

static int option_timeout(struct parser *p, struct policy_set *set)
{
	__u64 timeout;

	if (parse_duration(p, &timeout))
		return -EINVAL;
	if (timeout > RL_MEMBER_LIFE_MAX)
		return refuse(p, p->before,
			      "is too long: write up to 2920d, or leave timeout out, so that "
			      "members stay for ever");
	set->timeout_ns = timeout;
	return 0;
}

/* "/16,32", as in a key; "/16" is of IPv4 alone. */
static int option_shortest(struct parser *p, struct policy_set *set)
{
	size_t len = strcspn(p->word, ",");
	char first[8] = "";
	uint64_t len4, len6 = set->shortest[1];

	if (len < sizeof(first))
		memcpy(first, p->word, len);
	if (first[0] != '/' || number_parse(first + 1, 0, 32, &len4) ||
	    (p->word[len] && number_parse(p->word + len + 1, 0, 128, &len6)))
		return expected(p, "the shortest prefix of members: write for example shortest "
				   "/16 or shortest /16,32 (0 to 32 for IPv4, 0 to 128 for IPv6)");
	set->shortest[0] = len4;
	set->shortest[1] = len6;
	word_next(p);
	return 0;
}

static const struct option options[] = {
	{"file", option_file}, {"mmdb", option_mmdb},       {"every", option_every},
	{"max", option_max},   {"timeout", option_timeout}, {"shortest", option_shortest},
};

static int parse_options(struct parser *p, struct policy_set *set)
{
	struct span every = {0};
	uint32_t given = 0;

	while (p->span.len) {
		size_t i = 0;
		int rc;

		while (i < ARRAY_SIZE(options) && !word_is(p, options[i].word))
			i++;
		if (i == ARRAY_SIZE(options))
			return expected(p, "an option of a set: write file PATH, mmdb PATH, every "
					   "DURATION, max N, shortest /LEN4,LEN6 or timeout "
					   "DURATION");
		if (given >> i & 1)
			return refuse_twice(p);
		given |= 1u << i;
		if (options[i].parse == option_every)
			every = p->span;
		word_next(p);
		rc = options[i].parse(p, set);
		if (rc)
			return rc;
	}
	if (every.len && set->source == RL_SET_DYNAMIC)
		return refuse(p, every, "needs a file that is looked at: add file PATH");
	return 0;
}

static const struct policy_set unread = {.max = RL_SET_MAX_DEFAULT,
					 .shortest = {NOT_GIVEN, NOT_GIVEN}};

static void shortest_settle(struct policy_set *set)
{
	uint8_t usual[2];

	set_shortest_default(set->source, usual);
	for (int i = 0; i < 2; i++)
		if (set->shortest[i] == NOT_GIVEN)
			set->shortest[i] = usual[i];
}

int parse_set(struct parser *p, struct policy_set *out)
{
	struct policy_set set = unread;
	int rc;

	if (p->word[0] == '@' && name_is_valid(p->word + 1))
		return refuse(p, p->span, "has an @, which rules have in front of a name: write %s",
			      p->word + 1);
	rc = parse_set_name(p, set.name) ?: parse_options(p, &set);
	if (rc)
		return rc;
	shortest_settle(&set);
	*out = set;
	return 0;
}

int parse_set_rest(struct parser *p, struct policy_set *out)
{
	*out = unread;
	if (parse_set_name(p, out->name))
		return -EINVAL;
	while (parse_options(p, out) && p->span.len)
		word_next(p);
	/* Where the file is not known, or what of it, there is nothing to read. */
	if (!out->path[0] || (out->source == RL_SET_MMDB && !out->pick[0]))
		out->source = RL_SET_DYNAMIC;
	shortest_settle(out);
	return 0;
}
