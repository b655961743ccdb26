// SPDX-License-Identifier: GPL-2.0-only
/* One function for each kind of step of scenario.h. */
#include "scenario.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define STEP_MAX 1024

static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (*text == ' ')
		text++;
	while (end > text && end[-1] == ' ')
		*--end = '\0';
	return text;
}

/* Cuts the step at the last of these characters; returns the part behind it. */
static char *split(char *step, char at)
{
	char *mark = strrchr(step, at);

	if (!mark) {
		fail_msg("\"%s\": no %c", step, at);
		return step;
	}
	*mark = '\0';
	return trim(mark + 1);
}

static uint64_t duration_of(const char *word)
{
	uint64_t ns = 0;

	if (strcmp(word, "0") != 0 && duration_parse(word, &ns))
		fail_msg("\"%s\" is no duration", word);
	return ns;
}

static void step_expiry(struct harness *h, char *step)
{
	char *offset = strrchr(step, ' ');
	uint64_t ns, expires_ns;

	if (!offset) {
		fail_msg("\"%s\": no offset", step);
		return;
	}
	*offset++ = '\0';
	expires_ns = harness_rule(h, trim(step)).expires_ns;
	assert_true(expires_ns != 0);
	ns = duration_of(offset + 1);
	harness_clock(h, *offset == '-' ? expires_ns - ns : expires_ns + ns);
}

static void step_counters(struct harness *h, char *step)
{
	char *numbers = split(step, ':');
	struct rule_counters counters = harness_counters(h, trim(step));
	char found[80];

	snprintf(found, sizeof(found), "%llu %llu %llu", counters.passed.packets,
		 counters.dropped.packets, counters.shadow.packets);
	if (strcmp(found, numbers) != 0)
		fail_msg("\"%s\" has counted %s, not %s", trim(step), found, numbers);
}

static void step_frames(struct harness *h, char *step)
{
	char *reason = split(step, ':'), *words = step, *star = strchr(step, '*');
	unsigned long count = 1;
	static struct frame frame;

	if (star) {
		count = strtoul(step, NULL, 10);
		words = star + 1;
	}
	frame_build(&frame, words);
	for (unsigned long i = 0; i < count; i++) {
		enum rl_reason found = harness_count(h, &frame);

		if (strcmp(reason_name(found), reason) != 0)
			fail_msg("\"%s\", number %lu: %s, not %s", trim(words), i + 1,
				 reason_name(found), reason);
	}
}

static void step_sent(struct harness *h, char *words)
{
	static struct frame frame;

	bool forwarded = *words == '>';

	frame_build(&frame, trim(words + forwarded));
	harness_send(h, &frame, forwarded);
}

static void step_sockets(struct harness *h, const char *words)
{
	static const char *const names[] = {
		[RL_SIMULATED_NONE] = "not established",
		[RL_SIMULATED_ESTABLISHED] = "established",
		[RL_SIMULATED_BOUND] = "bound",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(words, names[i])) {
			harness_sockets(h, i);
			return;
		}
	fail_msg("! %s: not known", words);
}

/* NAME in step[], and what is behind it. */
static const char *set_name(char *step)
{
	char *colon = strchr(step, ':');

	if (!colon) {
		fail_msg("\"%s\": no :", step);
		return "";
	}
	*colon = '\0';
	return colon + 1;
}

static void step_matched(struct harness *h, char *set)
{
	unsigned long expected = strtoul(set_name(set), NULL, 10);
	uint64_t found = harness_set_matched(h, set);

	if (found != expected)
		fail_msg("%s has matched %llu packets, not %lu", set, (unsigned long long)found,
			 expected);
}

/* Is it a step of sets? */
static bool step_of_set(struct harness *h, char *step)
{
	static const struct {
		const char *word;
		void (*run)(struct harness *h, const char *set, const char *members);
	} words[] = {
		{"add ", harness_set_add},
		{"del ", harness_set_delete},
		{"swap ", harness_set_swap},
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t size = strlen(words[i].word);
		const char *members;

		if (strncmp(step, words[i].word, size) != 0)
			continue;
		members = set_name(step + size);
		words[i].run(h, step + size, members);
		return true;
	}
	if (strncmp(step, "matched ", 8) != 0)
		return false;
	step_matched(h, step + 8);
	return true;
}

static void step_run(struct harness *h, char *step)
{
	if (step_of_set(h, step))
		return;
	switch (*step) {
	case '=':
		harness_policy(h, step + 1);
		return;
	case '+':
		harness_clock(h, h->now_ns + duration_of(trim(step + 1)));
		return;
	case '@':
		step_expiry(h, step + 1);
		return;
	case '!':
		step_sockets(h, trim(step + 1));
		return;
	case '>':
		step_sent(h, trim(step + 1));
		return;
	case '#':
		step_counters(h, step + 1);
		return;
	}
	step_frames(h, step);
}

void scenario_run(struct harness *h, const char *scenario)
{
	char text[4 * STEP_MAX], *rest = NULL;

	assert_true((size_t)snprintf(text, sizeof(text), "%s", scenario) < sizeof(text));
	for (char *step = strtok_r(text, "|", &rest); step; step = strtok_r(NULL, "|", &rest))
		step_run(h, trim(step));
}

void scenario_reset(struct harness *h)
{
	harness_policy(h, "");
	harness_sockets(h, RL_SIMULATED_NONE);
	harness_clock(h, h->now_ns + NS_PER_DAY);
}

/* ---- tests */

struct scenario_test {
	const struct scenario *row;
	const struct harness_options *options;
};

static const struct harness_options *used_options;
static struct harness *used;

static int used_close(void **state)
{
	(void)state;
	harness_close(used);
	return 0;
}

/* One harness at a time is loaded, for the scenarios that follow each other with its options. */
static void scenario_test(void **state)
{
	const struct scenario_test *test = *state;

	if (used_options != test->options) {
		harness_close(used);
		used = harness_open(test->options);
		used_options = test->options;
	}
	assert_non_null(used);
	scenario_reset(used);
	scenario_run(used, test->row->steps);
}

void scenarios_add(const struct scenario *rows, size_t count, const struct harness_options *options)
{
	static bool added;
	struct scenario_test *tests = calloc(count, sizeof(*tests));

	if (!added)
		fixture_add(NULL, used_close);
	added = true;
	if (!tests)
		abort();
	for (size_t i = 0; i < count; i++) {
		tests[i] = (struct scenario_test){&rows[i], options};
		test_add_named(scenario_test, &tests[i], "%s", rows[i].name);
	}
}
