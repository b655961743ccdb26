// SPDX-License-Identifier: GPL-2.0-only
/* rlctl top: the busiest sources, live; --once and -j print one snapshot. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "choose.h"
#include "clock.h"
#include "cmd.h"
#include "hook_names.h"
#include "instance.h"
#include "message.h"
#include "open.h"
#include "output.h"
#include "policy.h"
#include "selection.h"
#include "privilege.h"
#include "stats_output.h"
#include "talkers.h"
#include "top.h"
#include "units.h"
#include "watch.h"

#define RATE_USUAL  2000u
#define SECONDS_MAX 86400u
#define WAIT_MS     200
#define ROWS_READ   1000 /* rows of a snapshot whose state is read */

/* ---- one snapshot */

static int samples_collect(struct top *top, uint32_t seconds)
{
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + seconds * NS_PER_SECOND;
	struct pollfd fd = {.fd = watch_fd(top->watch), .events = POLLIN};
	int ret = 0;

	while (!ret && clock_ns(CLOCK_MONOTONIC) < end_ns) {
		if (poll(&fd, 1, WAIT_MS) < 0 && errno != EINTR)
			return -errno;
		ret = top_drain(top);
	}
	if (!ret)
		ret = top_finish(top);
	return ret ? ret : top_turn(top, ROWS_READ);
}

/* Several devices have a heading each, from targets_read(). */
static void print_text(const struct command *command, const struct top *top)
{
	struct table table = {.columns = TOP_COLUMN_COUNT};
	char text[TOP_TEXT_MAX], *device = text_shown(top->instance->device);

	if (command->target.many)
		printf("%s %s\n", device, hook_name(top->instance->info.hook));
	free(device);
	top_totals(top, text, sizeof(text));
	puts(text);
	top_sampled(top, text, sizeof(text));
	puts(text);
	for (int v = 0; v < TALKER_VERDICTS; v++)
		if (top_rare_text(top, v, text, sizeof(text)))
			puts(text);
	putchar('\n');
	for (int c = 0; c < TOP_COLUMN_COUNT; c++) {
		table.right |= (uint32_t)top_columns[c].right << c;
		table_cell(&table, top_columns[c].name);
	}
	for (size_t i = 0; i < top->count; i++)
		for (int c = 0; c < TOP_COLUMN_COUNT; c++) {
			top_cell(top, &top->rows[i], c, text);
			table_cell(&table, text);
		}
	table_print(&table);
}

static struct json_object *json_rate(const struct top_rate *rate)
{
	struct json_object *object = json_object_new_object();

	json_put(object, "packets_per_second", json_object_new_uint64(rate->packets));
	json_put(object, "bits_per_second", json_object_new_uint64(rate->bits));
	return object;
}

static struct json_object *json_estimate(const struct top_rate *rate, const struct top_rate *error)
{
	struct json_object *object = json_rate(rate);

	json_put(object, "packets_per_second_error", json_object_new_uint64(error->packets));
	json_put(object, "bits_per_second_error", json_object_new_uint64(error->bits));
	return object;
}

static struct json_object *json_rare(const struct top_rare *rare)
{
	struct json_object *object = json_rate(&rare->rate);

	json_put(object, "sources", json_object_new_uint64(rare->sources.about));
	json_put(object, "sources_least", json_object_new_uint64(rare->sources.least));
	json_put(object, "sources_most", json_object_new_uint64(rare->sources.most));
	json_put(object, "seen_once", json_object_new_boolean(rare->sources.once));
	return object;
}

/* The keys of `source show`; missing values have no key. */
static struct json_object *json_row(const struct top *top, const struct top_row *row)
{
	struct json_object *object = json_object_new_object();
	const struct source_entry *state = &row->state;
	char text[TOP_TEXT_MAX];

	top_cell(top, row, 0, text);
	json_put(object, "source", json_object_new_string(text));
	json_put(object, "dropped",
		 json_estimate(&row->rate[TALKER_DROPPED], &row->error[TALKER_DROPPED]));
	json_put(object, "passed",
		 json_estimate(&row->rate[TALKER_PASSED], &row->error[TALKER_PASSED]));
	if (row->dport.known) {
		json_put(object, "dport", json_object_new_int(row->dport.number));
		json_put(object, "dport_percent", json_object_new_int((int)row->dport.share));
	}
	if (row->rule) {
		rule_format(text, row->rule, &top->book.ctx);
		json_put(object, "rule", json_object_new_string(text));
	}
	if (state->has_state) {
		json_put(object, "remaining", json_object_new_uint64(state->allowance.remaining));
		json_put(object, "unit",
			 json_object_new_string(state->rule->limit.unit == RL_PACKETS ? "packets"
										      : "bytes"));
		json_put(object, "wait_ns", json_object_new_uint64(state->allowance.wait_ns));
	}
	if (state->ban_ns)
		json_put(object, "ban_ns", json_object_new_uint64(state->ban_ns));
	return object;
}

static void print_json(const struct command *command, const struct top *top)
{
	struct json_object *document = json_instance(top->instance);
	struct json_object *sources = json_object_new_array();
	struct json_object *unlisted = json_object_new_object();

	for (size_t i = 0; i < top->count; i++)
		json_append(sources, json_row(top, &top->rows[i]));
	for (int v = 0; v < TALKER_VERDICTS; v++)
		if (top->rare[v].rare.sources)
			json_put(unlisted, v == TALKER_DROPPED ? "dropped" : "passed",
				 json_rare(&top->rare[v]));
	json_put(document, "dropped", json_rate(&top->rate[TALKER_DROPPED]));
	json_put(document, "passed", json_rate(&top->rate[TALKER_PASSED]));
	json_put(document, "window_ns", json_object_new_uint64(top->window_ns));
	json_put(document, "lost", json_object_new_uint64(top->figures.lost));
	json_put(document, "sources", sources);
	json_put(document, "unlisted", unlisted);
	document_print(command, document);
}

static int top_once(const struct command *command, struct top *top, uint32_t seconds)
{
	int ret = samples_collect(top, seconds);

	if (ret)
		return ret;
	if (output_json)
		print_json(command, top);
	else
		print_text(command, top);
	return 0;
}

/* ---- */

static int filter_option(const struct command *command, struct top *top)
{
	const char *word = command->arguments[OPTION_PREFIX];

	if (!word)
		return 0;
	if (prefix_parse(word, top->filter, &top->filter_len, NULL))
		return wrong("invalid --prefix '%s': use an IPv4 or IPv6 address, with /LEN for a "
			     "prefix "
			     "whose host bits are zero",
			     word);
	top->has_filter = true;
	return 0;
}

/* Common to all instances. */
struct run {
	const struct top *options;
	uint32_t rate, seconds;
	bool once, next, has_next;
	bool last; /* no other instance is opened: capabilities can go */
};

static int run_opened(const struct command *command, struct run *run, struct instance *instance)
{
	struct top top;
	int ret = top_open(instance, run->rate, &top);

	if (!ret && run->once && run->last && privileges_drop()) {
		top_close(&top);
		ret = -1;
	}
	if (ret)
		return ret;
	top.bpffs = command->target.bpffs;
	top.has_next = run->has_next;
	top.has_filter = run->options->has_filter;
	top.filter_len = run->options->filter_len;
	memcpy(top.filter, run->options->filter, sizeof(top.filter));
	ret = run->once ? top_once(command, &top, run->seconds) : top_show(&top, &run->next);
	top_close(&top);
	return ret;
}

static int run_one(const struct command *command, void *arg)
{
	struct instance instance;
	int ret = instance_open_shared(&command->target, &instance);

	if (ret)
		return ret;
	ret = run_opened(command, arg, &instance);
	instance_close(&instance);
	return ret;
}

/* One instance after the other, in a circle. One that is gone meanwhile ends it. */
static int run_live(const struct command *command, struct run *run)
{
	struct command one = *command;
	struct places places = {0};
	size_t i = 0;
	int ret;

	if (!one.target.device)
		one.target.device = SELECTION_ALL;
	ret = places_choose(&one.target, &places);
	one.target.many = false;
	run->has_next = places.count > 1;
	do {
		if (!ret && places.count) {
			one.target.device = places.items[i].device;
			one.target.hook = places.items[i].hook;
		}
		run->next = false;
		if (!ret)
			ret = run_one(&one, run);
		i = places.count ? (i + 1) % places.count : 0;
	} while (!ret && run->next);
	places_clear(&places);
	return ret;
}

int cmd_top(const struct command *command)
{
	struct top options = {0};
	struct run run = {.options = &options,
			  .once = output_json || option_given(command, OPTION_ONCE)};
	int ret = option_number(command, OPTION_RATE, WATCH_RATE_MAX, RATE_USUAL, &run.rate);

	if (!ret)
		ret = option_number(command, OPTION_SECONDS, SECONDS_MAX, 1, &run.seconds);
	if (!ret)
		ret = filter_option(command, &options);
	if (!ret && !run.once && option_given(command, OPTION_SECONDS))
		ret = wrong("top: --seconds applies only to --once and --json: add one of them");
	if (!ret && !run.once && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
		ret = fail("top: not a terminal: use --once for one snapshot, or -j for JSON");
	if (ret)
		return ret;
	run.last = !command->target.device || !selection_is_many(command->target.device);
	return run.once ? targets_read(command, run_one, &run) : run_live(command, &run);
}
