/* SPDX-License-Identifier: GPL-2.0-only */
/* Incidents: times in which rules dropped or alarms were on, from the events of the journal. Pure.
 *
 * Begins and ends of one instance that are apart by less than INCIDENT_PAUSE_NS are one incident.
 * Sources, and the traits that packets had in common, come from samples: they are estimates. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <json-c/json.h>

#include "base/units.h"
#include "watch/events/event.h"

#define INCIDENT_PAUSE_NS   (60 * NS_PER_SECOND)
#define INCIDENT_OPEN_NS    NS_PER_DAY /* without an end, after its last event */
#define INCIDENTS_MAX       20         /* that are shown, of those with most packets */
#define INCIDENT_WORDS_MAX  64         /* rules, and alarms, of one */
#define INCIDENT_SPANS_MAX  500
#define INCIDENT_VALUES_MAX 64 /* sources, patterns, and values of a feature */

struct incident_span {
	uint32_t word;             /* of incident.words */
	uint64_t begin_ns, end_ns; /* CLOCK_REALTIME; end 0: not on record */
};

enum incident_word_kind { WORD_OF_RULE, WORD_OF_REASON, WORD_OF_ALARM };

/* A rule that dropped, a reason, or an alarm. */
struct incident_word {
	enum incident_word_kind kind;
	char *text;
	bool open;
	uint64_t begin_ns, end_ns;
	uint32_t times;
	struct rl_amount dropped, peak;
};

struct incident_value {
	char *text;
	double packets;
	/* of a pattern */
	double known;                /* of the packets, those of known sources */
	struct json_object *pattern; /* of the first event that has it */
	bool spread;                 /* another event has another network */
};

struct incident_values {
	struct incident_value *items;
	size_t count;
};

struct incident {
	char device[IF_NAMESIZE], hook[16];
	uint64_t begin_ns, end_ns; /* 0: not on record */
	uint64_t last_ns;          /* of its events */
	struct incident_word *words;
	size_t word_count, open_count;
	struct incident_span *spans;
	size_t span_count;
	struct rl_amount dropped, peak;
	uint64_t bans;
	struct incident_values sources, known, patterns, values[FEATURE_COUNT];
	struct json_object *changes; /* array */
};

struct incidents {
	struct incident *items;
	size_t count;
};

/* The next event, in the order of time. */
void incidents_add(struct incidents *incidents, struct json_object *event, uint64_t time_ns);
void incidents_clear(struct incidents *incidents);

/* Is something of it on that has no end yet? */
bool incident_goes_on(const struct incident *incident, uint64_t time_ns);

/* The document of `rlctl report -j`: of those that were not over at since_ns. */
struct json_object *incidents_json(struct incidents *incidents, uint64_t since_ns,
				   uint64_t until_ns);
