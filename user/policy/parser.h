/* SPDX-License-Identifier: GPL-2.0-only */
/* Internals of the policy parser, for user/policy/ only: the cursor over the words of a statement,
 * and the functions that its files share. Functions that return int return 0, or -EINVAL with
 * p->err filled; parse_*() moves the cursor past what it has read, on success only.
 */
#pragma once

#include "policy/field.h"
#include "policy/named.h"
#include "policy/policy.h"

#define ARRAY_SIZE(a)   (sizeof(a) / sizeof((a)[0]))

#define WORD_MAX        200 /* bytes; no word of the language is longer, but for quoted ones */
#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* U+FEFF */

/* Options of an action: X(NAME, "word", the only algorithm or action that takes it (a warm-up takes
 * burst as well), parser of its argument). */
#define PARSER_CLAUSES(X)                                  \
	X(BURST, "burst", RL_TOKEN_BUCKET, clause_size)    \
	X(QUEUE, "queue", RL_LEAKY_BUCKET, clause_size)    \
	X(SLOTS, "slots", RL_SLIDING_WINDOW, clause_slots) \
	X(RAMP, "ramp", RL_WARM_UP, clause_ramp)           \
	X(COLD, "cold", RL_WARM_UP, clause_cold)           \
	X(SHARE, "share", RL_TOKEN_BUCKET, parse_share)    \
	X(KEEP, "keep", RL_TOKEN_BUCKET, parse_keep)       \
	X(PER, "per", ANY_LIMIT, parse_key)                \
	X(OVER, "over", ANY_LIMIT, clause_over)            \
	X(FLEET, "fleet", ANY_LIMIT, clause_fleet)         \
	X(FOR, "for", ANY_ACTION, clause_for)              \
	X(WHILE, "while", ANY_ACTION, parse_while)
#define PARSER_CLAUSE_ENUM(name, ...) CLAUSE_##name,
enum clause_name { PARSER_CLAUSES(PARSER_CLAUSE_ENUM) CLAUSE_COUNT };

enum { ANY_LIMIT = RL_ALGORITHM_COUNT, ANY_ACTION };

/* A word in the line. Length 0: the end of the line. */
struct span {
	const char *at;
	size_t len;
};

/* Ports as written, of which names of services are still to be resolved. */
struct port_list {
	uint32_t count;
	struct rl_port_range range[RL_PORT_RANGES_MAX];
	struct span service[RL_PORT_RANGES_MAX]; /* length 0: a number */
};

/* The cursor, and the positions of what has been read. */
struct parser {
	const char *line;
	const char *end; /* end of the line, or beginning of its comment */
	const struct policy_context *ctx;
	struct policy_error *err;
	struct rule *rule;
	bool is_selector; /* the action may be missing; any ban is accepted */

	struct span span;        /* the word under the cursor */
	struct span before;      /* the word before it */
	char word[WORD_MAX + 1]; /* its text; "" at the end, or if it is longer than WORD_MAX */

	struct rl_extra extra; /* of the rule; interned once all matches are read */
	struct span icmp_at;   /* the type of ICMP, still to be resolved */
	struct span rate_at;
	struct span match_at[RL_FIELD_COUNT]; /* enum rl_field */
	struct span clause_at[CLAUSE_COUNT];  /* length 0: not given */
	struct port_list sports, dports;
	__u64 keep; /* its amount, in the unit of the rate */
	struct span keep_at;
};

/* ---- words.c: words, numbers and errors ---- */

static inline bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Puts the cursor on the first word of a line. */
void words_open(struct parser *p, const char *line, const char *end);

void word_next(struct parser *p);
struct span span_after(const struct parser *p, struct span span);

bool word_is(const struct parser *p, const char *text);

/* Index of the word under the cursor in `words`, or -1. */
int word_find(const struct parser *p, const char *const *words, size_t count);

/* An error about the word `at`: "WORD FORMAT…". Returns -EINVAL. */
int refuse(struct parser *p, struct span at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int refuse_twice(struct parser *p);

/* An error: the word under the cursor is not `what`, or is missing. Returns -EINVAL. */
int expected(struct parser *p, const char *what);

/* An error: 'unknown KIND "WORD": did you mean HINT?'. Returns -EINVAL. */
int refuse_unknown(struct parser *p, const char *kind, const char *hint);

/* `name` is the word, or its end; `of` names what it is of in errors: "a set". */
int parse_name(struct parser *p, const char *name, const char *of, const char *example,
	       char out[NAMED_MAX + 1]);

int parse_number(struct parser *p, uint64_t min, uint64_t max, uint64_t *out);

/* ---- quantity.c: amounts, durations and rates, of one word or several ---- */

#define RATE_EXAMPLES "1000/second, 10mbit or 64kibyte/second"

struct quantity {
	uint64_t n; /* amount, or nanoseconds */
	uint64_t period_ns;
	enum rl_unit unit;
	bool is_duration;
	struct span at;
};

enum quantity_kind {
	QUANTITY_RATE,
	QUANTITY_AMOUNT,
	QUANTITY_QUEUE, /* an amount or a duration */
	QUANTITY_LIFE,  /* of a rule */
	QUANTITY_DURATION
};

int parse_quantity(struct parser *p, enum quantity_kind kind, struct quantity *out);
/* Refuses a rate that no limit and no alarm may have. */
int rate_check(struct parser *p, const struct quantity *rate);
int parse_duration(struct parser *p, __u64 *out_ns);

/* ---- port.c ---- */

/* Reads ports, ranges and names of services, with commas between them. */
int parse_ports(struct parser *p, enum rl_field field);

/* The first protocol that has a service of that name; NULL: none. */
const char *service_protocol(const char *name);

/* Sets the ports of services under the protocol of the rule, and brings the list into ascending
 * order, with ranges that touch joined. */
int ports_resolve(struct parser *p, struct port_list *ports);

/* A word N or N-N within 0..max, which `what` names in errors: "a length in bytes". */
int parse_range(struct parser *p, uint32_t max, const char *what, uint32_t *first, uint32_t *last);

/* ---- lint/foreign.c ---- */

/* Where a word stands: WORD_MATCH is where a match or an action must be, WORD_OVER after over,
 * WORD_COUNTED where a match of an alarm may be. */
enum word_place { WORD_PREFIX, WORD_MATCH, WORD_OVER, WORD_COUNTED };

/* refuse_unknown() if the word under the cursor is a word of other tools or a service; else 0. */
int refuse_foreign(struct parser *p, enum word_place place);

/* ---- match.c: prefixes and matches ---- */

int parse_prefix(struct parser *p);
int parse_matches(struct parser *p);
int refuse_set(struct parser *p);

/* ---- extra_words.c: matches whose conditions are in rl_extra ---- */

/* Arguments of a field, by its kind. */
int parse_flags(struct parser *p, enum rl_field field);
int parse_numbers(struct parser *p, enum rl_field field);
int parse_dscp(struct parser *p, enum rl_field field);
int parse_icmp_type(struct parser *p, enum rl_field field);
int parse_payload(struct parser *p, enum rl_field field);
int parse_filter(struct parser *p, enum rl_field field);

/* When all matches are read: refuses those that the rule's protocol does not have, normalizes, and
 * sets the rule's ports and rl_extra. */
int extra_settle(struct parser *p);
/* Makes p->extra the rule's. */
int extra_keep(struct parser *p);

/* ---- comment.c ---- */

/* The first # outside of quotation marks, or the end. */
const char *comment_begin(const char *line, const char *end);

/* How many bytes of the text are UTF-8 without control characters, from its beginning on. */
size_t plain_length(const char *text, const char *end);

/* ---- set_words.c ---- */

/* The words after "set". */
int parse_set(struct parser *p, struct policy_set *out);
/* Words with an error: reads the rest of them. -EINVAL if that has no name. */
int parse_set_rest(struct parser *p, struct policy_set *out);
/* A name, with or without the @ in front of it. */
int parse_set_name(struct parser *p, char out[RL_SET_NAME_MAX + 1]);

/* ---- alarm_words.c ---- */

/* The words after "alarm"; what it counts is p->rule. */
int parse_alarm(struct parser *p, struct policy_alarm *out);
int parse_alarm_name(struct parser *p, char out[RL_ALARM_NAME_MAX + 1]);
/* The words after "while". */
int parse_while(struct parser *p);

/* ---- damaged.c ---- */

/* A text that is being read. */
struct reading {
	const struct policy_context *ctx;
	struct policy policy;
	struct policy damaged; /* has what lines with an error name */
	bool lacks;            /* an include that could not be followed, which may define names */
	struct policy_errors *errors;
};

/* Reads a line with an error, that of its first word which is wrong: adds what it would have
 * defined, and rules that name what it names, to reading->damaged, and errors of its filters. 0 or
 * -ENOMEM.
 */
int damaged_line_read(struct reading *reading, const char *text, size_t len,
		      const struct policy_error *known);

/* ---- limit.c ---- */

int parse_limit(struct parser *p);

/* ---- size.c: size of a bucket or queue ---- */

#define ETHERNET_BYTES      14 /* Ethernet header */
#define ETHERNET_VLAN_BYTES 22 /* Ethernet header with two VLAN tags */
#define BURST_PACKETS       5  /* that a default burst holds at least */

static inline bool counts_packets(const struct rl_limit *limit)
{
	return limit->unit == RL_PACKETS;
}

/* One packet of MTU + header_bytes, in the unit of the rate. */
uint64_t packet_size(const struct rl_limit *limit, const struct policy_context *ctx,
		     unsigned int header_bytes);

/* An error about the words `at`: "WORDS WHY SIZE". Returns -EINVAL. */
int refuse_size(struct parser *p, struct span at, const char *why, uint64_t size);

/* Checks that the limit's size is neither too small nor too large. */
int size_check(struct parser *p, struct span at);

/* One full packet; if packets come merged, one merged packet, which would otherwise never fit,
 * unless that exceeds a day of the rate. */
uint64_t size_default(const struct rl_limit *limit, const struct policy_context *ctx);

/* Burst of a token bucket or a warm-up for which none is written. */
uint64_t burst_default(const struct rl_limit *limit, const struct policy_context *ctx);

/* Converts an amount to the unit of the rate: bits to bytes, rounded down, and back, but not
 * packets. */
int size_convert(struct parser *p, const struct quantity *q, __u64 *out);

/* Sets the limit's size to `q`, converted to the unit of the rate, and checks it. */
int size_set(struct parser *p, const struct quantity *q);

/* ---- share.c ---- */

/* The words after "share" and "keep". */
int parse_share(struct parser *p);
int parse_keep(struct parser *p);

/* Refuses them beside options that a divided bucket does not have. */
int division_check(struct parser *p);

/* ---- connections.c ---- */

/* Do the words under the cursor begin a limit on connections? */
bool connections_follow(const struct parser *p);
/* algorithm: the one that was written, or -1. */
int parse_connections(struct parser *p, int algorithm);
/* Refuses what stands beside one and has no meaning there. */
int connections_check(struct parser *p);

/* ---- lint/warn.c ---- */

/* Refuses a ban that hits every address. */
int ban_check(struct parser *p);

/* ---- lint/proof.c ---- */

/* Refuses `established` on packets that never are. */
int established_check(struct parser *p);

/* Refuses limits of whose packets none can be spared or answered. */
int over_check(struct parser *p);

/* ---- clause.c: options of an action ---- */

int parse_clauses(struct parser *p);

static inline bool clause_given(const struct parser *p, enum clause_name name)
{
	return p->clause_at[name].len > 0;
}
