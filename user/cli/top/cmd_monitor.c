// SPDX-License-Identifier: GPL-2.0-only
/* rlctl monitor: samples of dropped packets, as lines or as a capture, and alarms that change. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/captured.h"
#include "base/clock.h"
#include "base/message.h"
#include "base/privilege.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/cmd.h"
#include "cli/output/output.h"
#include "cli/output/sample_output.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/open.h"
#include "kernel/watch/watch.h"
#include "policy/names.h"
#include "policy/policy.h"
#include "watch/events/alarms.h"
#include "watch/capture/capture.h"
#include "watch/traffic/rule_book.h"

#define RATE_USUAL  100u
#define SECONDS_MAX 86400u
#define WAIT_MS     100 /* samples come when their slot is over */
#define ALARMS_NS   (100 * NS_PER_MS)

struct monitor {
	struct instance instance;
	struct rule_book book;
	struct watch_options options;
	struct watch *watch;
	struct alarm_changes alarms;
	uint64_t alarms_ns;            /* when they are looked at next */
	struct capture_writer *writer; /* NULL: lines */
	uint64_t shown, count;         /* count: stop after this many */
	uint64_t begun_ns, end_ns;
};

/* ---- which packets */

/* The reasons given, or all that drop, or all with --passed. */
static int reasons_parse(const struct command *command, uint32_t *out)
{
#define REASON_WORD(name, text, passes) " " text
	static const char names[] = RL_REASONS(REASON_WORD);
#undef REASON_WORD
	const char *word = command->arguments[OPTION_REASON];
	bool passed = option_given(command, OPTION_PASSED);

	*out = 0;
	for (int i = 0; !word && i < RL_REASON_COUNT; i++)
		if (passed || !reason_rows[i].passes)
			*out |= 1u << i;
	while (word) {
		size_t len = strcspn(word, ",");
		int reason = RL_REASON_COUNT - 1;

		while (reason >= 0 && (strlen(reason_rows[reason].text) != len ||
				       memcmp(reason_rows[reason].text, word, len) != 0))
			reason--;
		if (reason < 0)
			return wrong("invalid --reason '%.*s': use one or more of these, separated "
				     "by commas:%s",
				     (int)len, word, names);
		*out |= 1u << reason;
		word = word[len] ? word + len + 1 : NULL;
	}
	return 0;
}

/* ---- packets */

static int on_sample(void *arg, const struct sampled *sampled)
{
	const struct rl_sample *sample = &sampled->packet;
	struct monitor *m = arg;
	uint64_t time_ns = watch_realtime(m->watch, sample->time_ns);

	if (m->writer)
		capture_put(m->writer, &(struct captured){.time_ns = time_ns,
							  .data = sample->frame,
							  .size = sample->kept,
							  .bytes = sample->bytes});
	else
		sample_print(sampled, time_ns, &m->book);
	return ++m->shown == m->count;
}

/* ---- alarms */

/* Beside a capture, as a message. */
static void on_alarm(const struct alarm_now *alarm, void *arg)
{
	uint64_t time_ns = alarm->since_ns ? alarm->since_ns : clock_ns(CLOCK_MONOTONIC);
	struct monitor *m = arg;
	char rate[ALARM_LINE_MAX];

	if (!m->writer) {
		alarm_change_print(alarm, watch_realtime(m->watch, time_ns), &m->book);
		return;
	}
	alarm_rate_print(rate, sizeof(rate), alarm);
	note("%s: alarm %s is %s, %s", m->instance.device, alarm->name, alarm->on ? "on" : "off",
	     rate);
}

static int alarms_look(struct monitor *m)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	struct alarms_now alarms;
	int ret;

	if (now_ns < m->alarms_ns)
		return 0;
	m->alarms_ns = now_ns + ALARMS_NS;
	ret = alarms_read_if_known(&m->instance, &alarms);
	if (ret > 0)
		alarm_changes_tell(&m->alarms, &alarms, on_alarm, m);
	return ret < 0 ? ret : 0;
}

static int written(const struct monitor *m, int ret)
{
	if (m->writer ? capture_flush(m->writer) : output_flush())
		return -EIO;
	return ret;
}

/* Waits for samples. True on a signal, or if the reader of standard output has closed it. */
static bool wait_ends(const struct monitor *m, int signals)
{
	struct pollfd fds[] = {
		{.fd = signals, .events = POLLIN},
		{.fd = STDOUT_FILENO},
		{.fd = watch_fd(m->watch), .events = POLLIN},
	};
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t left_ms = now_ns < m->end_ns ? (m->end_ns - now_ns) / NS_PER_MS + 1 : 0;

	if (poll(fds, 3, left_ms < WAIT_MS ? (int)left_ms : WAIT_MS) < 0 && errno != EINTR)
		return true;
	return fds[0].revents || fds[1].revents & (POLLERR | POLLNVAL);
}

/* The end of the device is a normal end. */
static int watch_packets(struct monitor *m)
{
	int signals = signals_open(), ret = 0;
	bool end = signals < 0;

	while (!ret && !end && m->shown != m->count) {
		end = wait_ends(m, signals) || clock_ns(CLOCK_MONOTONIC) >= m->end_ns;
		ret = rule_book_refresh(&m->book);
		ret = ret ?: watch_poll(m->watch, on_sample, m);
		ret = ret ?: alarms_look(m);
		ret = written(m, ret);
	}
	if (!ret && m->shown != m->count)
		ret = written(m, watch_finish(m->watch, m->end_ns, on_sample, m));
	if (signals >= 0)
		close(signals);
	return ret == -ENODEV ? 0 : ret;
}

#define SUMS_MAX (2 * NUMBER_TEXT_MAX + sizeof(" dropped and  passed"))

static void summary(const struct monitor *m)
{
	char sums[SUMS_MAX] = "";
	uint64_t tenths = (clock_ns(CLOCK_MONOTONIC) - m->begun_ns) / (NS_PER_SECOND / 10);
	bool asked[2] = {false, false}; /* dropped, passed */
	struct watch_figures figures;
	uint64_t all;
	int used = 0;

	if (watch_figures(m->watch, &figures))
		return;
	for (int i = 0; i < RL_REASON_COUNT; i++)
		if (m->options.reasons >> i & 1)
			asked[reason_rows[i].passes] = true;
	/* "N dropped", "N passed" or both: as it was asked for. */
	for (int passes = 0; passes < 2; passes++)
		if (asked[passes])
			used += snprintf(sums + used, SUMS_MAX - used, "%s%s %s",
					 used ? " and " : "", number_text(figures.packets[passes]),
					 passes ? "passed" : "dropped");
	all = figures.packets[0] + figures.packets[1];
	note("%s: %s packets shown in %" PRIu64 ".%" PRIu64 " s, of %s; "
	     "%s not sampled (--rate %" PRIu32 "), %s lost (ring full)",
	     m->instance.device, number_text(m->shown), tenths / 10, tenths % 10, sums,
	     number_text(all - m->shown - figures.lost), m->options.rate,
	     number_text(figures.lost));
}

static int monitor_run(const struct command *command, struct monitor *m)
{
	const char *path = command->arguments[OPTION_WRITE];
	const struct rule *found = NULL;
	int ret = rule_book_refresh(&m->book);

	ret = ret ?: selector_option(command, &m->instance, &m->book.policy, &found);
	m->options.counter_id = ret || !found ? RL_WATCH_ANY : found->counter_id;
	if (!ret && path)
		ret = capture_create(path, RL_FRAME_KEPT, !m->instance.info.raw_ip, &m->writer);
	m->begun_ns = clock_ns(CLOCK_MONOTONIC);
	m->end_ns = m->end_ns ? m->begun_ns + m->end_ns : UINT64_MAX;
	ret = ret ?: watch_open(&m->instance, &m->options, &m->watch);
	ret = ret ?: privileges_drop();
	ret = ret ?: alarms_look(m);
	if (!ret) {
		ret = watch_packets(m);
		summary(m);
	}
	watch_close(m->watch);
	capture_end(m->writer);
	return ret;
}

int cmd_monitor(const struct command *command)
{
	const char *prefix = command->arguments[OPTION_PREFIX];
	struct monitor m = {0};
	uint32_t count, seconds;
	int ret = option_number(command, OPTION_RATE, WATCH_RATE_MAX, RATE_USUAL, &m.options.rate);

	ret = ret ?: option_number(command, OPTION_PACKETS, UINT32_MAX, 1, &count);
	ret = ret ?: option_number(command, OPTION_SECONDS, SECONDS_MAX, 1, &seconds);
	ret = ret ?: reasons_parse(command, &m.options.reasons);
	if (!ret && prefix)
		ret = option_prefix_get("prefix", prefix, m.options.addr, &m.options.len);
	if (!ret && output_json && option_given(command, OPTION_WRITE))
		ret = wrong("monitor: --write and --json exclude each other: leave one out");
	if (ret)
		return ret;
	m.options.has_prefix = prefix;
	m.count = option_given(command, OPTION_PACKETS) ? count : UINT64_MAX;
	m.end_ns = option_given(command, OPTION_SECONDS) ? seconds * NS_PER_SECOND : 0;
	ret = instance_open_shared(&command->target, &m.instance);
	if (ret)
		return ret;
	rule_book_init(&m.book, &m.instance);
	ret = monitor_run(command, &m);
	rule_book_clear(&m.book);
	instance_close(&m.instance);
	return ret;
}
