/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits that hold what sources were seen to send, and what they are based on. Pure.
 * docs/suggest.md has the method and its borders.
 *
 * A service is a port or protocol that was seen often enough. The rest of TCP, the rest of UDP,
 * fragments, and all packets together are held as services are. Each gets two limits: of a source,
 * and of all sources together. Rate: what the busiest sent within 10 s, times the headroom; burst:
 * how deep its packets filled a bucket that leaks at that rate, times the headroom.
 *
 * A flood does not count: bursts unlike the rest (robust.h) that came back fewer than
 * SUGGEST_EPISODES times, for less than half of the seconds with packets, are left out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "watch/seen.h"
#include "watch/suggest_judge.h"

#define SUGGEST_PORTS       16 /* of TCP, and of UDP, as many as a rule can name */
#define SUGGEST_PROTOCOLS   8  /* others */
#define SUGGEST_CLASSES_MAX (2 * SUGGEST_PORTS + SUGGEST_PROTOCOLS + 4)
#define SUGGEST_FEW_LISTED  8
#define SUGGEST_FEW_PACKETS 100 /* a service with fewer has no limit of its own */

struct suggest_few {
	enum suggest_kind kind;
	uint16_t number;
	uint64_t packets;
};

struct suggestion {
	struct suggest_class classes[SUGGEST_CLASSES_MAX]; /* by kind and number */
	size_t count;
	struct suggest_few few[SUGGEST_FEW_LISTED]; /* the largest of them */
	size_t few_count;                           /* all */
	unsigned int confidence; /* the lowest of the services, and of all together */
};

struct suggest_options {
	unsigned int headroom; /* per cent */
	uint32_t seconds;      /* that were watched, pauses between captures left out */
};

/* Settles `seen`, to which more may be added. confidence: that the next 10 s with packets stay
 * below headroom times the highest 10 s before them: each 10 s was held to those before it, and the
 * rule of succession (P.-S. Laplace, 1774) says what to expect of the next (such tests forward in
 * time: A. P. Dawid, "The Prequential Approach", 1984). 0 or -ENOMEM. */
int suggest_make(struct seen *seen, const struct suggest_options *options, struct suggestion *out);

/* The confidence at which enough was seen. */
#define SUGGEST_ENOUGH 950u

/* The limit of a source, or of all together (`sum`), as a line of a policy. Without `enforce` it
 * only counts. */
#define SUGGEST_RULE_MAX 512
void suggest_rule_print(char buf[SUGGEST_RULE_MAX], const struct suggestion *suggestion,
			const struct suggest_class *class, bool sum, bool enforce);
/* Does the class have this limit? Fragments have no limit of a source. */
bool suggest_has_rule(const struct suggest_class *class, bool sum);
/* The packets of a class in the words of a rule: "tcp dport 443", "icmp"; empty for all. */
void suggest_match_print(char buf[SUGGEST_RULE_MAX], const struct suggestion *suggestion,
			 enum suggest_kind kind, uint16_t number);
