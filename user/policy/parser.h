/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside of the policy parser, for user/policy_*.c only: the cursor over the words of a statement,
 * and what each file of the grammar offers the others. Every function that returns int returns 0,
 * or -EINVAL with p->err filled; what ends in _take moves the cursor on success and only then.
 */
#ifndef RLCTL_POLICY_PARSER_H
#define RLCTL_POLICY_PARSER_H

#include "policy.h"

#define ARRAY_SIZE(a)     (sizeof(a) / sizeof((a)[0]))

#define WORD_MAX          80 /* nothing in the language is longer */

#define MATCH_INDEX(flag) __builtin_ctz(flag)

/* The words that begin a match: X(flag, "word", what parses that which follows it or NULL). */
#define PARSER_MATCHES(X)                 \
	X(PROTO, "proto", match_protocol) \
	X(SPORT, "sport", match_sport)    \
	X(DPORT, "dport", match_dport)    \
	X(SRC, "src", match_src)          \
	X(DST, "dst", match_dst)          \
	X(SYN, "syn", NULL)               \
	X(FRAGMENT, "fragment", NULL)     \
	X(NEW_SOURCE, "new-source", NULL)
#define PARSER_MATCH_ENUM(name, ...) MATCH_##name,
enum match_name { PARSER_MATCHES(PARSER_MATCH_ENUM) MATCH_COUNT };

/* What may follow an action: X(NAME, "word", the only algorithm that it is for, what parses the
 * rest). */
#define PARSER_CLAUSES(X)                           \
	X(BURST, "burst", RL_TOKEN_BUCKET, burst)   \
	X(QUEUE, "queue", RL_LEAKY_BUCKET, queue)   \
	X(SLOTS, "slots", RL_SLIDING_WINDOW, slots) \
	X(RAMP, "ramp", RL_WARM_UP, ramp)           \
	X(COLD, "cold", RL_WARM_UP, cold)           \
	X(PER, "per", ANY_LIMIT, per)               \
	X(OVER, "over", ANY_LIMIT, over)            \
	X(FLEET, "fleet", ANY_LIMIT, fleet)         \
	X(FOR, "for", ANY_ACTION, for)
#define PARSER_CLAUSE_ENUM(name, ...) CLAUSE_##name,
enum clause_name { PARSER_CLAUSES(PARSER_CLAUSE_ENUM) CLAUSE_COUNT };

enum { ANY_LIMIT = RL_ALGORITHM_COUNT, ANY_ACTION };

/* A word as it stands in the line. Length 0: the end of the line. */
struct span {
	const char *at;
	size_t len;
};

/* The cursor, and what it has seen so far. */
struct parser {
	const char *line;
	const char *end; /* of the line or where its comment begins */
	const struct policy_context *ctx;
	struct policy_error *err;
	struct rule *rule;
	bool is_selector; /* names a rule that there may be: what is refused today among them */

	struct span span;        /* the word under the cursor */
	struct span before;      /* the one that was taken last */
	char word[WORD_MAX + 1]; /* its text; "" at the end, and when it is too long to be a word */

	struct span rate_at;
	struct span match_at[MATCH_COUNT];   /* by MATCH_INDEX */
	struct span clause_at[CLAUSE_COUNT]; /* length 0: not given */
};

/* ---- words.c: words, numbers and refusals ---- */

/* The cursor before the first word of a line. */
void words_open(struct parser *p, const char *line, const char *end);

void word_next(struct parser *p);
struct span span_after(const struct parser *p, struct span span);

bool word_is(const struct parser *p, const char *text);

/* Which of `words` is under the cursor, or -1. */
int word_find(const struct parser *p, const char *const *words, size_t count);

/* Refuses the word `at`: "WORD FORMAT…". */
int refuse(struct parser *p, struct span at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int refuse_twice(struct parser *p);

/* The word under the cursor is none of what may stand here, or there is none. */
int expected(struct parser *p, const char *what);

int parse_number(struct parser *p, uint64_t min, uint64_t max, uint64_t *out);

/* ---- quantity.c: amounts, durations and rates, in one word or two ---- */

#define RATE_EXAMPLES "1000/second, 10mbit or 64kibyte/second"

struct quantity {
	uint64_t n; /* amount, or nanoseconds */
	uint64_t period_ns;
	enum rl_unit unit;
	bool is_duration;
	struct span at;
};

int parse_rate(struct parser *p, struct quantity *out);
int parse_amount(struct parser *p, struct quantity *out);
int parse_amount_or_duration(struct parser *p, struct quantity *out);
int parse_duration(struct parser *p, __u64 *out_ns);

/* ---- match.c: prefixes and matches ---- */

int parse_prefix(struct parser *p);
int parse_matches(struct parser *p);

/* ---- limit.c: a limit */

int parse_limit(struct parser *p);

/* ---- size.c: what a bucket or a queue holds */

#define ETHERNET_BYTES      14 /* what every packet has before the MTU counts */
#define ETHERNET_VLAN_BYTES 22 /* and with two VLAN tags */

static inline bool counts_packets(const struct rl_limit *limit)
{
	return limit->unit == RL_PACKETS;
}

/* A packet of the MTU and a header of so many bytes, in the unit of the rate. */
uint64_t packet_size(const struct parser *p, unsigned int header_bytes);

/* Refuses the words `at`: "WHY SIZE". */
int refuse_size(struct parser *p, struct span at, const char *why, uint64_t size);

/* Is the size of the limit neither too small nor too large? */
int size_check(struct parser *p, struct span at);

/* The least size that is meant where nothing is said. */
uint64_t size_default(const struct parser *p);

/* `q` as size of the limit: in the unit of its rate, and neither too small nor too large. */
int size_set(struct parser *p, const struct quantity *q);

/* ---- ban.c ---- */

/* What a whole limit bans. */
int ban_check(struct parser *p);

/* ---- clause.c: what may follow an action or a rate ---- */

int parse_clauses(struct parser *p);

static inline bool clause_given(const struct parser *p, enum clause_name name)
{
	return p->clause_at[name].len > 0;
}

#endif
