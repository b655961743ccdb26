// SPDX-License-Identifier: GPL-2.0-only
/* Keys are parts joined by `+`, or a name. Those of an older kind (RL_KEYS) are always of that
 * kind, however they are written: their states and their cost do not depend on the spelling. */

#include "policy/key.h"

#include <stdio.h>
#include <string.h>

#include "algorithm/key_parts.h"
#include "base/units.h"
#include "policy/names.h"
#include "policy/parser.h"

#define SET_WORD     "set"
#define MEMBER_WORD  "member"
#define ACCOUNT_WORD "account"

/* How many bits of an address count. */
struct lengths {
	uint8_t len4, len6;
};

/* A key as it is written. */
#define NOT_GIVEN 255
struct written {
	uint8_t parts;
	struct lengths source, dest;
};

static struct lengths lengths_default(uint8_t parts)
{
	return (struct lengths){32, parts_have_both(parts) ? 128 : 64};
}

static bool same_lengths(struct lengths a, struct lengths b)
{
	return a.len4 == b.len4 && a.len6 == b.len6;
}

static struct lengths lengths_first(const struct rl_limit *limit)
{
	return (struct lengths){limit->key_len4, limit->key_len6};
}

static struct lengths lengths_dest(const struct rl_limit *limit)
{
	return (struct lengths){key_dest_len4(limit), key_dest_len6(limit)};
}

void key_set(struct rl_limit *limit, enum rl_key_kind key)
{
	struct lengths usual = {0};

	limit->key = key;
	if (key != RL_KEY_RULE)
		usual = lengths_default(key_parts(limit));
	limit->key_len4 = usual.len4;
	limit->key_len6 = usual.len6;
}

/* The kind of the parts, where both addresses have the same lengths. */
static enum rl_key_kind kind_of(uint8_t parts)
{
	for (int kind = 0; kind < RL_KEY_PARTS; kind++)
		if (key_parts(&(struct rl_limit){.key = kind}) == parts)
			return kind;
	return RL_KEY_PARTS;
}

static void key_put(struct rl_limit *limit, const struct written *key)
{
	bool both = parts_have_both(key->parts);
	struct lengths first = {0};

	if (key->parts & KEY_ADDRESSES)
		first = key->parts & RL_PART_SOURCE ? key->source : key->dest;
	limit->key =
		both && !same_lengths(key->source, key->dest) ? RL_KEY_PARTS : kind_of(key->parts);
	limit->key_len4 = first.len4;
	limit->key_len6 = first.len6;
	if (limit->key != RL_KEY_PARTS)
		return;
	limit->key_parts = key->parts;
	limit->dest_len4 = both ? key->dest.len4 : 0;
	limit->dest_len6 = both ? key->dest.len6 : 0;
}

/* ---- reading */

/* LEN4[,LEN6] of an address; modifies `text`. */
static int lengths_parse(struct parser *p, char *text, uint8_t part, struct written *key)
{
	struct lengths *lengths = part == RL_PART_SOURCE ? &key->source : &key->dest;
	char *comma = strchr(text, ',');
	uint64_t len4, len6 = NOT_GIVEN;
	int rc;

	if (comma)
		*comma++ = '\0';
	rc = number_parse(text, 0, 32, &len4);
	if (!rc && comma)
		rc = number_parse(comma, 0, 128, &len6);
	if (rc)
		return refuse(p, p->span,
			      "has invalid prefix lengths: write for example source/24 or "
			      "source/24,56 (0 to 32 for IPv4, 0 to 128 for IPv6)");
	*lengths = (struct lengths){len4, len6};
	return 0;
}

/* One part; modifies `text`. */
static int part_parse(struct parser *p, char *text, struct written *key)
{
	char *slash = strchr(text, '/');
	uint8_t part = 0;

	if (slash)
		*slash++ = '\0';
	for (int i = 0; i < RL_PART_COUNT; i++)
		if (!strcmp(text, key_part_words[i]))
			part = 1 << i;
	if (!part &&
	    (!strcmp(text, key_words[RL_KEY_FLOW]) || !strcmp(text, key_words[RL_KEY_RULE])))
		return refuse(p, p->span, "joins %s to other parts: write %s alone", text, text);
	if (!part)
		return expected(p,
				"a key: write source, dest, sport, dport, proto or vlan, several "
				"joined as in dest+dport, or flow or rule");
	if (key->parts & part)
		return refuse(p, p->span, "names %s twice: write each part once", text);
	if (slash && !(part & KEY_ADDRESSES))
		return refuse(p, p->span,
			      "takes no length after %s: write %s; source and dest may have one",
			      text, text);
	key->parts |= part;
	return slash ? lengths_parse(p, slash, part, key) : 0;
}

static void lengths_fill(struct lengths *lengths, uint8_t parts)
{
	struct lengths usual = lengths_default(parts);

	if (lengths->len4 == NOT_GIVEN)
		lengths->len4 = usual.len4;
	if (lengths->len6 == NOT_GIVEN)
		lengths->len6 = usual.len6;
}

static int parts_parse(struct parser *p)
{
	char *rest = p->word, *part;
	struct written key = {.source = {NOT_GIVEN, NOT_GIVEN}, .dest = {NOT_GIVEN, NOT_GIVEN}};
	int rc = 0;

	while (!rc && (part = strsep(&rest, "+")))
		rc = part_parse(p, part, &key);
	if (rc)
		return rc;
	lengths_fill(&key.source, key.parts);
	lengths_fill(&key.dest, key.parts);
	key_put(&p->rule->limit, &key);
	return 0;
}

/* `flow` or `rule`: true if the word is it. */
static bool is_name(const struct parser *p, enum rl_key_kind key)
{
	size_t len = strlen(key_words[key]);

	return !strncmp(p->word, key_words[key], len) && (!p->word[len] || p->word[len] == '/');
}

/* `set`, which is the rule of a set, or `set member`. */
static int set_parse(struct parser *p)
{
	struct rl_limit *limit = &p->rule->limit;

	if (p->rule->kind != PREFIX_SET)
		return refuse(p, p->span,
			      "is for rules of a set: write rule @NAME limit ... per set, or per "
			      "rule for one bucket of all");
	word_next(p);
	if (!word_is(p, MEMBER_WORD)) {
		key_set(limit, RL_KEY_RULE);
		return 0;
	}
	key_set(limit, RL_KEY_PARTS);
	limit->key_parts = RL_PART_MEMBER;
	word_next(p);
	return 0;
}

static int account_parse(struct parser *p)
{
	struct rl_limit *limit = &p->rule->limit;
	uint64_t number;

	if (clause_given(p, CLAUSE_SHARE) || clause_given(p, CLAUSE_KEEP))
		return refuse(p, p->span, "cannot be combined with share or keep: leave that out");
	word_next(p);
	if (!p->word[0] || number_parse(p->word, 1, RL_ACCOUNT_MAX, &number))
		return expected(p, "the number of an account: write for example per account 17 (1 "
				   "to 268435455)");
	key_set(limit, RL_KEY_PARTS);
	limit->key_parts = RL_PART_ACCOUNT;
	limit->account = number;
	word_next(p);
	return 0;
}

int key_check(struct parser *p)
{
	const struct rl_limit *limit = &p->rule->limit;
	struct span at;

	if (!parts_are_account(limit))
		return 0;
	at = span_after(p, p->clause_at[CLAUSE_PER]);
	if (limit->algorithm != RL_TOKEN_BUCKET && limit->algorithm != RL_LEAKY_BUCKET)
		return refuse(p, at, "takes a token-bucket or a leaky-bucket: write one of these");
	if (limit->fleet || limit->over == RL_OVER_MARK)
		return refuse(p, at, "cannot be combined with %s: leave that out",
			      limit->fleet ? "fleet" : "over mark");
	return 0;
}

int parse_key(struct parser *p)
{
	enum rl_key_kind name = is_name(p, RL_KEY_FLOW) ? RL_KEY_FLOW : RL_KEY_RULE;
	int rc;

	if (word_is(p, SET_WORD))
		return set_parse(p);
	if (word_is(p, ACCOUNT_WORD))
		return account_parse(p);
	if (!is_name(p, name)) {
		rc = parts_parse(p);
		if (rc)
			return rc;
	} else if (strchr(p->word, '/')) {
		return refuse(p, p->span, "takes no length: write %s", key_words[name]);
	} else {
		key_set(&p->rule->limit, name);
	}
	word_next(p);
	return 0;
}

/* ---- printing */

bool key_has_usual_lengths(const struct rl_limit *limit)
{
	uint8_t parts = key_parts(limit);
	struct lengths usual = lengths_default(parts);

	if (!(parts & KEY_ADDRESSES))
		return true;
	return same_lengths(lengths_first(limit), usual) &&
	       (!parts_have_both(parts) || same_lengths(lengths_dest(limit), usual));
}

static size_t part_put(char *buf, size_t used, const struct rl_limit *limit, int index)
{
	uint8_t parts = key_parts(limit), part = 1 << index;
	struct lengths usual = lengths_default(parts), own = usual;

	if (part & KEY_ADDRESSES)
		own = part == RL_PART_DEST && parts_have_both(parts) ? lengths_dest(limit)
								     : lengths_first(limit);
	used += snprintf(buf + used, KEY_WORD_MAX - used, "%s%s", used ? "+" : "",
			 key_part_words[index]);
	if (!same_lengths(own, usual))
		used += snprintf(buf + used, KEY_WORD_MAX - used, "/%u,%u", own.len4, own.len6);
	return used;
}

void key_word(char buf[KEY_WORD_MAX], const struct rl_limit *limit)
{
	uint8_t parts = key_parts(limit);
	size_t used = 0;

	if (limit->key == RL_KEY_RULE ||
	    (limit->key == RL_KEY_FLOW && key_has_usual_lengths(limit))) {
		snprintf(buf, KEY_WORD_MAX, "%s", key_words[limit->key]);
		return;
	}
	if (parts_are_member(limit))
		snprintf(buf, KEY_WORD_MAX, SET_WORD " " MEMBER_WORD);
	if (parts_are_account(limit))
		snprintf(buf, KEY_WORD_MAX, ACCOUNT_WORD " %u", limit->account);
	for (int i = 0; i < RL_PART_COUNT; i++)
		if (parts & 1 << i)
			used = part_put(buf, used, limit, i);
}

bool key_word_next(char buf[KEY_WORD_MAX], const char *written, int index)
{
	const char *plus = strrchr(written, '+');

	if (!plus || index == RL_PART_COUNT)
		return false;
	snprintf(buf, KEY_WORD_MAX, "%.*s%s", (int)(plus + 1 - written), written,
		 key_part_words[index]);
	return true;
}
