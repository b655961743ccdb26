// SPDX-License-Identifier: GPL-2.0-only
/* --try of apply and attach: policies or limiters on trial. Two processes supervise a trial: this
 * one, which has the terminal, and a watcher in its own session (try_watcher.c). The watcher undoes
 * the trial when its time is over, or when this process asks for that or ends, for example with its
 * terminal; this process does so itself if the watcher does not, so that they never do it at once.
 * Only if both are killed does it stay in force.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/privilege.h"
#include "base/signals.h"
#include "cli/policy/try.h"
#include "cli/sets/set_open.h"
#include "kernel/policy/policy_write.h"

#define TRY_MIN_NS     NS_PER_SECOND
#define TRY_MAX_NS     NS_PER_DAY
#define LOOK_MS        100  /* how often a `confirm` from elsewhere is looked for */
#define WATCHER_MS     8000 /* it takes to undo a trial at most, unless it is stopped */
#define WATCHER_ONE_MS 100  /* and so long for each device */
#define ATTACH_NS      (60 * NS_PER_SECOND) /* from a limiter to the next, before the time runs */
#define IN_TIME        "not confirmed in time"

static struct trials trials_init(uint64_t duration_ns)
{
	struct trials trials = TRIALS_NONE;

	trials.duration_ns = duration_ns;
	trials.terminal.fd = -1;
	signal(SIGTTOU, SIG_IGN); /* in the background the terminal is not used */
	trials.signals = signals_open();
	return trials;
}

/* Each instance on trial has descriptors, and those of a policy many. */
static void descriptors_allow(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

void trials_close(struct trials *trials)
{
	int fds[] = {trials->line, trials->gathers, trials->tells};

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (trials->watcher > 0)
		waitpid(trials->watcher, NULL, 0);
	for (size_t i = 0; i < trials->count; i++)
		trial_close(&trials->items[i]);
	free(trials->items);
	*trials = (struct trials)TRIALS_NONE;
}

static enum trial_state outcome(const struct trial *trial)
{
	return trial->gone ? TRIAL_GONE : trial_state_read(trial);
}

/* How many are in this state. */
static size_t trials_count(const struct trials *trials, enum trial_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < trials->count; i++)
		count += outcome(&trials->items[i]) == state;
	return count;
}

static void trials_end(struct trials *trials, bool keep)
{
	for (size_t i = 0; i < trials->count; i++)
		trial_end(&trials->items[i], keep);
}

/* ---- the user */

static void status_draw(struct trials *trials)
{
	char line[sizeof(trials->last)];
	uint64_t seconds = (trials_left_ns(trials) + NS_PER_SECOND - 1) / NS_PER_SECOND;

	snprintf(line, sizeof(line), "on trial: y or Enter keeps it, n undoes it; %ju s left ",
		 (uintmax_t)seconds);
	if (trials->terminal.fd < 0 || !strcmp(line, trials->last))
		return;
	status_show(line);
	memcpy(trials->last, line, sizeof(line));
}

/* Why the trial must end now, or NULL to go on; *keep if the user confirms. */
static const char *end_reason(struct trials *trials, bool *keep)
{
	struct pollfd fds[] = {{.fd = trials->signals, .events = POLLIN},
			       {.fd = trials->terminal.fd, .events = POLLIN}};
	char key;

	*keep = false;
	if (!trials_left_ns(trials))
		return IN_TIME;
	if (poll(fds, 2, trials_wait_ms(trials, LOOK_MS)) <= 0)
		return NULL;
	if (fds[0].revents)
		return "interrupted";
	if (read(trials->terminal.fd, &key, 1) != 1) /* the terminal is gone */
		return "refused";
	*keep = is_one_of(key, "yY\r\n");
	return *keep || is_one_of(key, "nNqQ") ? "refused" : NULL;
}

/* Leaves it to the watcher, whose end closes the line. */
static void undo(struct trials *trials)
{
	struct pollfd line = {.fd = trials->line, .events = POLLIN};

	shutdown(trials->line, SHUT_WR);
	poll(&line, 1, WATCHER_MS + (int)trials->count * WATCHER_ONE_MS);
	trials_end(trials, false);
}

/* Waits for the end of the trial. Why it has ended, if it was undone. */
static const char *supervise(struct trials *trials)
{
	while (trials_count(trials, TRIAL_RUNS)) {
		char name[IF_NAMESIZE];
		const char *reason;
		bool keep;

		/* Those of devices that vanished end. */
		for (size_t i = 0; i < trials->count; i++) {
			struct trial *trial = &trials->items[i];

			if (outcome(trial) != TRIAL_RUNS || if_indextoname(trial->ifindex, name))
				continue;
			trial_end(trial, false);
			trial->gone = true;
		}
		status_draw(trials);
		reason = end_reason(trials, &keep);
		if (!reason)
			continue;
		if (keep)
			trials_end(trials, true);
		else
			undo(trials);
		return reason;
	}
	return IN_TIME; /* if the watcher has ended it */
}

/* ---- the outcome: of one device, or of many */

/* "the limiter", "the policies of 3 devices", "the policy of 1 device" */
static const char *subject(char out[64], enum trial_kind kind, size_t count, bool many)
{
	if (many && count > 1)
		snprintf(out, 64, "the %s of %zu devices",
			 kind == TRIAL_LIMITER ? "limiters" : "policies", count);
	else
		snprintf(out, 64, "the %s%s", trial_kind_name(kind), many ? " of 1 device" : "");
	return out;
}

static int outcome_report(const struct trials *trials, const char *words, const char *why)
{
	size_t kept = trials_count(trials, TRIAL_KEPT), undone = trials_count(trials, TRIAL_UNDONE),
	       gone = trials_count(trials, TRIAL_GONE);
	enum trial_kind kind = trials->items[0].kind;
	bool many = trials->count > 1;
	char text[64];

	status_clear();
	if (kept)
		note("%s: %s %s confirmed", words, subject(text, kind, kept, many),
		     kept > 1 ? "are" : "is");
	if (gone == trials->count)
		fail("%s: %s detached, which ended the trial", words,
		     many ? "the limiters were" : "the limiter was");
	else if (gone)
		note("%s: %zu of the devices vanished or had the limiter detached during the trial",
		     words, gone);
	if (undone && kind == TRIAL_LIMITER)
		fail("%s: %s: %s %s detached", words, why, subject(text, kind, undone, many),
		     undone > 1 ? "were" : "was");
	else if (undone)
		fail("%s: %s: the previous %s in force again", words, why,
		     undone > 1 ? "policies are" : "policy is");
	return kept && kept + gone == trials->count ? 0 : -1; /* other errors are reported */
}

/* `words` select the devices. */
static int trials_run(struct trials *trials, const char *words)
{
	bool limiter = trials->items[0].kind == TRIAL_LIMITER, many = trials->count > 1;
	const char *name = many ? words : trials->items[0].device, *why;
	const char *quote = many ? "'" : "";
	char time[NUMBER_TEXT_MAX], text[64];

	duration_print(time, sizeof(time), trials->duration_ns);
	note("%s: %s %s on trial for %s: `rlctl confirm -i %s%s%s` keeps %s, otherwise %s", name,
	     subject(text, trials->items[0].kind, trials->count, many), many ? "are" : "is", time,
	     quote, name, quote, many ? "them" : "it",
	     limiter && many ? "they are detached"
	     : limiter       ? "it is detached"
	     : many          ? "the previous ones are restored"
			     : "the previous one is restored");
	if (terminal_open(&trials->terminal))
		terminal_keys(&trials->terminal);
	why = supervise(trials);
	terminal_close(&trials->terminal);
	return outcome_report(trials, name, why);
}

/* ---- policies */

int try_get(const struct command *command, uint64_t *out_ns)
{
	const char *word = command->arguments[OPTION_TRY];

	*out_ns = 0;
	if (!word)
		return 0;
	if (duration_parse(word, out_ns) || *out_ns < TRY_MIN_NS || *out_ns > TRY_MAX_NS)
		return wrong("invalid --try '%s': use a time from 1s to 1d, such as 30s or 5m",
			     word);
	return 0;
}

/* Begins all trials, then writes all policies, while each instance is locked. *written: how many
 * were. */
static int policies_put(struct trials *trials, struct policy_try *items, size_t count,
			const struct policy_source *file, size_t *written)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < count; i++) {
		struct trial trial;

		rc = policy_trial_begin(items[i].instance, trials->duration_ns, &trial);
		if (!rc)
			trials_add(trials, &trial);
	}
	rc = rc ?: watcher_start(trials);
	for (size_t i = 0; !rc && i < count; i++, *written += !rc)
		rc = instance_policy_write(items[i].instance, items[i].next, true, file,
					   items[i].former);
	for (size_t i = 0; i < trials->count; i++)
		trial_unlock(&trials->items[i]);
	return rc;
}

int policies_try(struct policy_try *items, size_t count, const struct policy_source *file,
		 uint64_t duration_ns, const char *words)
{
	struct trials trials = trials_init(duration_ns);
	size_t written = 0;
	int rc;

	descriptors_allow();
	rc = policies_put(&trials, items, count, file, &written);
	for (size_t i = 0; !rc && i < count; i++)
		if (items[i].next->set_count)
			sets_load_new(items[i].target);
	if (!rc)
		rc = trials_run(&trials, words);
	else
		for (size_t i = 0; i < trials.count; i++)
			trial_end(&trials.items[i], i >= written); /* where nothing was changed */
	for (size_t i = 0; i < trials.count; i++) {
		items[i].kept = i < written && trial_state_read(&trials.items[i]) == TRIAL_KEPT;
		if (items[i].kept)
			policy_trial_settle(&trials.items[i]);
	}
	trials_close(&trials);
	return rc;
}

/* ---- limiters */

int limiters_try_begin(struct trials *trials, uint64_t duration_ns)
{
	int box[2];

	*trials = trials_init(duration_ns);
	if (!privilege_held(PRIVILEGE_SYS_ADMIN))
		return fail("attach --try: missing capability CAP_SYS_ADMIN, to detach the limiter "
			    "again: run it as root (sudo)");
	descriptors_allow();
	if (watcher_start(trials))
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, box))
		return fail("starting the trial failed: %s", strerror(errno));
	trials->gathers = box[0];
	trials->tells = box[1];
	return 0;
}

/* Before the program is attached. The descriptors keep the trial's lock on their way. */
int limiter_try(const struct attach_point *point, void *arg)
{
	struct trials *trials = arg;
	struct trial trial;
	int rc = limiter_trial_begin(point, trials->duration_ns + ATTACH_NS, &trial);

	if (rc)
		return rc;
	rc = trial_send(trials->line, &trial);
	rc = rc ?: trial_send(trials->tells, &trial);
	if (rc)
		fail("%s: starting the trial failed: %s", point->device, strerror(-rc));
	trial_close(&trial);
	return rc;
}

void limiters_gather(struct trials *trials)
{
	while (trials_receive(trials, trials->gathers, MSG_DONTWAIT))
		;
}

int limiters_try(struct trials *trials, const char *words)
{
	size_t kept = 0;

	limiters_gather(trials);
	/* An attach that fell back to another mode has begun a trial for each. */
	for (size_t i = 0; i < trials->count; i++) {
		struct trial trial = trials->items[i];

		if (trial_state_read(&trial) == TRIAL_GONE)
			trial_close(&trial);
		else
			trials->items[kept++] = trial;
	}
	trials->count = kept;
	if (!trials->count)
		return fail("%s: the limiter was detached, which ended the trial", words);
	trials->deadline_ns = clock_ns(CLOCK_BOOTTIME) + trials->duration_ns;
	send(trials->line, &trials->deadline_ns, sizeof(trials->deadline_ns), MSG_NOSIGNAL);
	for (size_t i = 0; i < trials->count; i++)
		trial_deadline_set(&trials->items[i], trials->deadline_ns);
	return trials_run(trials, words);
}
