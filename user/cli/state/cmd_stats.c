// SPDX-License-Identifier: GPL-2.0-only
/* rlctl stats: passed and dropped packets, once or repeatedly, or for Prometheus. */
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cmd.h"
#include "cli/output/stats_output.h"
#include "cli/state/stats_since.h"
#include "cli/terminal.h"
#include "cli/top/crowds.h"
#include "kernel/attach/hook_names.h"
#include "kernel/instance/selection.h"
#include "kernel/state/stats.h"
#include "watch/metrics/prometheus.h"

#define SECONDS_MAX 86400u

/* A reading of an instance, whose descriptors are closed. */
struct reading {
	struct instance instance;
	struct instance_stats stats;
	uint64_t at_ns;    /* CLOCK_MONOTONIC */
	uint64_t since_ns; /* with --since: how long ago the document was made */
};

struct readings {
	struct reading *items;
	size_t count;
};

static void readings_clear(struct readings *readings)
{
	for (size_t i = 0; i < readings->count; i++)
		instance_stats_clear(&readings->items[i].stats);
	free(readings->items);
	memset(readings, 0, sizeof(*readings));
}

static int visit(struct instance *instance, void *arg)
{
	struct readings *readings = arg;
	struct reading reading = {.instance = *instance, .at_ns = clock_ns(CLOCK_MONOTONIC)};
	int rc = instance_stats_read(instance, &reading.stats);

	if (rc)
		return rc;
	readings->items = xreallocarray(readings->items, readings->count + 1, sizeof(reading));
	readings->items[readings->count++] = reading;
	return 0;
}

/* The same instance in an earlier set; after detach and attach it is another instance. */
static const struct reading *reading_find(const struct readings *readings,
					  const struct reading *wanted)
{
	for (size_t i = 0; i < readings->count; i++) {
		const struct instance *instance = &readings->items[i].instance;

		if (same_instance(instance, &wanted->instance))
			return &readings->items[i];
	}
	return NULL;
}

/* How to print readings. */
struct style {
	enum stats_order order;
	bool watch;            /* with rates */
	struct crowds *crowds; /* on a terminal that is watched, else NULL */
	const struct since *since;
};

static void print_json(const struct readings *now, const struct style *style)
{
	struct json_object *array = json_object_new_array();
	struct json_object *object;
	char text[NUMBER_TEXT_MAX];

	for (size_t i = 0; i < now->count; i++) {
		const struct reading *reading = &now->items[i];

		object = json_stats(&reading->instance, &reading->stats);
		time_ns_print(text, reading->stats.read_ns);
		json_put_text(object, "time", text);
		if (style->since) {
			time_ns_print(text, reading->stats.read_ns - reading->since_ns);
			json_put_text(object, "from", text);
		}
		json_append(array, object);
	}
	json_print(array);
}

/* With --watch, also prints rates, zero for an instance without an earlier reading; with --since,
 * the reading holds what was counted since. */
static void print_text(const struct readings *now, const struct readings *before,
		       const struct style *style)
{
	static const struct instance_stats nothing;
	char text[NUMBER_TEXT_MAX];

	for (size_t i = 0; i < now->count; i++) {
		const struct reading *reading = &now->items[i];
		const struct reading *found = reading_find(before, reading);
		const struct reading *earlier = found ? found : reading;
		const struct instance_stats *then = style->since   ? &nothing
						    : style->watch ? &earlier->stats
								   : NULL;

		if (i)
			putchar('\n');
		if (reading->since_ns) {
			wait_print(text, reading->since_ns);
			printf("in the last %s:\n", text);
		}
		stats_head_print(&reading->instance, &reading->stats, then);
		if (style->crowds)
			crowds_print(style->crowds, &reading->instance);
		stats_print(&reading->instance, &reading->stats, then,
			    style->since ? reading->since_ns : reading->at_ns - earlier->at_ns);
	}
}

static void print(const struct readings *now, const struct readings *before,
		  const struct style *style)
{
	bool sorts = style->order != ORDER_RULE;
	struct readings sorted = *now;

	if (sorts)
		sorted.items = xcalloc(now->count + 1, sizeof(*sorted.items));
	for (size_t i = 0; sorts && i < now->count; i++) {
		const struct reading *earlier = reading_find(before, &now->items[i]);

		sorted.items[i] = now->items[i];
		stats_sort(&now->items[i].stats, earlier ? &earlier->stats : NULL, style->order,
			   &sorted.items[i].stats);
	}
	if (output_json)
		print_json(&sorted, style);
	else
		print_text(&sorted, before, style);
	for (size_t i = 0; sorts && i < sorted.count; i++)
		stats_sorted_clear(&sorted.items[i].stats);
	if (sorts)
		free(sorted.items);
}

/* Names what the document has and the target selects, but is no longer attached. */
static void gone_note(const struct since *since, const struct target *target,
		      const struct readings *now)
{
	const char *device, *hook;

	for (size_t i = 0; since_instance(since, i, &device, &hook); i++) {
		bool there = !*device ||
			     (target->device && !selection_matches(target->device, device)) ||
			     (target->hook >= 0 && strcmp(hook_name(target->hook), hook) != 0);

		for (size_t k = 0; k < now->count; k++) {
			const struct instance *instance = &now->items[k].instance;

			there |= !strcmp(instance->device, device) &&
				 !strcmp(hook_name(instance->info.hook), hook);
		}
		if (!there)
			note("%s: %s at %s is no longer attached: its counters are left out",
			     since->name, device, hook);
	}
}

static int stats_once(const struct target *target, const struct style *style)
{
	const struct readings none = {0};
	struct readings now = {0};
	int rc = instance_for_each(target, visit, &now);

	if (!rc && !now.count)
		rc = nothing_attached(target);
	for (size_t i = 0; !rc && style->since && i < now.count; i++)
		rc = since_subtract(style->since, &now.items[i].instance, &now.items[i].stats,
				    &now.items[i].since_ns);
	if (!rc && style->since)
		gone_note(style->since, target, &now);
	if (!rc)
		print(&now, &none, style);
	readings_clear(&now);
	return rc;
}

/* ---- --watch ---- */

static void frame_print(const struct readings *now, const struct readings *before,
			const struct style *style)
{
	FILE *terminal = stdout, *memory;
	unsigned int rows, columns, lines = 0;
	char *text = NULL, *end;
	size_t size;

	if (output_json || !isatty(STDOUT_FILENO)) {
		print(now, before, style);
		fputs(output_json ? "" : "\n", stdout);
		return;
	}
	if (!terminal_size(&rows, &columns))
		rows = UINT_MAX;
	memory = memory_open(&text, &size);
	stdout = memory; /* a variable in glibc */
	print(now, before, style);
	stdout = terminal;
	memory_close(memory);
	/* Clears the terminal and prints what it has room for: the first line stays in sight. */
	end = text;
	for (char *at = text; (at = strchr(at, '\n')); at++)
		if (++lines + 2 == rows)
			end = at + 1;
	fputs("\033[H\033[J", stdout);
	fwrite(text, 1, lines < rows ? strlen(text) : (size_t)(end - text), stdout);
	if (lines >= rows)
		printf("%u more lines: make the terminal higher, or add --sort dropped\n",
		       lines + 2 - rows);
	free(text);
}

/* Prints all instances once. 0 to continue. */
static int frame(const struct target *target, const struct style *style, struct readings *before)
{
	struct readings now = {0};
	int rc = instance_for_each(target, visit, &now);

	for (size_t i = 0; style->crowds && i < now.count; i++)
		crowds_add(style->crowds, &now.items[i].instance);
	if (!rc && now.count) {
		frame_print(&now, before, style);
		rc = output_flush();
	}
	readings_clear(before);
	*before = now;
	return rc;
}

/* Waits until the next frame is due, and takes samples. True on a signal. */
static bool wait_until(const sigset_t *signals, uint64_t due_ns, struct crowds *crowds)
{
	for (;;) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);
		uint64_t left = due_ns > now ? due_ns - now : 0;
		uint64_t wait = crowds && left > CROWDS_DRAIN_NS ? CROWDS_DRAIN_NS : left;
		struct timespec rest = {
			.tv_sec = (time_t)(wait / NS_PER_SECOND),
			.tv_nsec = (long)(wait % NS_PER_SECOND),
		};

		if (sigtimedwait(signals, NULL, &rest) >= 0)
			return true;
		if (crowds)
			crowds_drain(crowds);
		if (!left)
			return false;
	}
}

/* Ends on a signal, and when no instance is left. */
static int stats_watch(const struct target *target, struct style *style, uint32_t seconds)
{
	struct crowds crowds = {0};
	struct readings last = {0};
	uint64_t due = clock_ns(CLOCK_MONOTONIC);
	bool seen = false;
	sigset_t signals;
	int rc;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	style->crowds = !output_json && isatty(STDOUT_FILENO) ? &crowds : NULL;
	do {
		rc = frame(target, style, &last);
		if (rc || !last.count)
			break;
		seen = true;
		due += seconds * NS_PER_SECOND;
	} while (!wait_until(&signals, due, style->crowds));
	crowds_clear(&crowds);
	style->crowds = NULL;
	if (!rc && !last.count && seen)
		note("no longer attached");
	else if (!rc && !seen)
		rc = stats_once(target, style);
	readings_clear(&last);
	return rc;
}

/* Prints the instances that could be read even if others could not; the document counts these. */
static int stats_prometheus(const struct target *target, enum scrape_rules rules)
{
	struct scrape scrape = {0};
	int rc = scrape_read(target, rules, &scrape);

	if (!rc && !scrape.count && !scrape.errors)
		rc = nothing_attached(target);
	if (!rc) {
		scrape_print(stdout, &scrape);
		rc = scrape.errors ? -1 : 0;
	}
	scrape_clear(&scrape);
	return rc;
}

/* Two of these options exclude each other. */
static int options_check(const struct command *command)
{
	bool prometheus = option_given(command, OPTION_PROMETHEUS);
	const char *other = output_json                           ? "--json"
			    : option_given(command, OPTION_WATCH) ? "--watch"
			    : option_given(command, OPTION_SINCE) ? "--since"
			    : option_given(command, OPTION_SORT)  ? "--sort"
								  : NULL;

	if (option_given(command, OPTION_RULES) && !prometheus)
		return wrong("stats: --rules applies only to --prometheus: add it");
	if (prometheus && other)
		return wrong("stats: --prometheus and %s exclude each other: leave one out", other);
	if (option_given(command, OPTION_WATCH) && option_given(command, OPTION_SINCE))
		return wrong("stats: --watch and --since exclude each other: leave one out");
	return 0;
}

int cmd_stats(const struct command *command)
{
	struct style style = {.order = option_given(command, OPTION_SORT)
					       ? command->choices[OPTION_SORT]
					       : ORDER_RULE,
			      .watch = option_given(command, OPTION_WATCH)};
	struct since since;
	uint32_t seconds;
	int rc = option_number(command, OPTION_WATCH, SECONDS_MAX, 1, &seconds);

	rc = rc ?: options_check(command);
	if (rc)
		return rc;
	if (option_given(command, OPTION_PROMETHEUS))
		return stats_prometheus(&command->target, command->choices[OPTION_RULES]);
	if (style.watch)
		return stats_watch(&command->target, &style, seconds);
	if (!option_given(command, OPTION_SINCE))
		return stats_once(&command->target, &style);
	rc = since_read(command->arguments[OPTION_SINCE], &since);
	if (rc)
		return rc;
	style.since = &since;
	rc = stats_once(&command->target, &style);
	since_clear(&since);
	return rc;
}
