// SPDX-License-Identifier: GPL-2.0-only
/* --try of apply and attach: a policy or a limiter on trial. Two processes supervise a trial: this
 * one, which has the terminal, and a watcher in its own session. The watcher undoes the trial when
 * its time is over, or when this process asks for that or ends, for example with its terminal; this
 * process does so itself if the watcher does not, so that they never do it at once. Only if both
 * are killed does it stay in force.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/message.h"
#include "base/privilege.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/cmd.h"
#include "cli/output/output.h"
#include "cli/sets/set_each.h"
#include "cli/terminal.h"
#include "kernel/attach/attach.h"
#include "kernel/attach/trial.h"
#include "kernel/attach/trial_record.h"
#include "kernel/instance/instance.h"
#include "kernel/policy/policy_write.h"
#include "policy/policy.h"

#define TRY_MIN_NS NS_PER_SECOND
#define TRY_MAX_NS NS_PER_DAY
#define LOOK_MS    100  /* how often a `confirm` from elsewhere is looked for */
#define WATCHER_MS 8000 /* it takes to undo a trial at most, unless it is stopped */
#define IN_TIME    "not confirmed in time"

/* A trial as this process supervises it. */
struct supervision {
	uint64_t duration_ns;
	bool begun; /* the trial has begun */
	struct trial trial;
	struct terminal terminal;
	int signals; /* signals_open() */
	pid_t watcher;
	int line; /* socket to the watcher, which sees it close when this process ends */
	char last[80];
};

static uint64_t left_ns(const struct trial *trial)
{
	struct timespec now;
	uint64_t now_ns;

	clock_gettime(CLOCK_BOOTTIME, &now);
	now_ns = (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
	return trial->deadline_ns > now_ns ? trial->deadline_ns - now_ns : 0;
}

/* Milliseconds left, at most `most`. */
static int wait_ms(const struct trial *trial, int most)
{
	uint64_t left_ms = left_ns(trial) / NS_PER_MS + 1;

	return left_ms < (uint64_t)most ? (int)left_ms : most;
}

/* A descriptor for the signals that end a trial, in both processes. */
static int trial_signals_open(void)
{
	signal(SIGTTOU, SIG_IGN); /* in the background the terminal is not used */
	return signals_open();
}

/* ---- the watcher */

__attribute__((noreturn)) static void watch(struct supervision *a, int line)
{
	struct pollfd fds[] = {{.fd = line, .events = POLLIN},
			       {.fd = a->signals, .events = POLLIN}};
	int null;

	setsid();
	if (chdir("/"))
		_exit(EXIT_FAILURE);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	trial_unlock(&a->trial);
	if (send(line, "", 1, MSG_NOSIGNAL) != 1)
		_exit(EXIT_FAILURE); /* the parent waits for this byte, holding the lock */
	while (left_ns(&a->trial) && poll(fds, 2, wait_ms(&a->trial, 1000)) <= 0)
		;
	trial_end(&a->trial, false);
	_exit(EXIT_SUCCESS);
}

/* Returns when the watcher is in its own session, unaffected by the end of this one. 0 or -1. */
static int watcher_start(struct supervision *a)
{
	int line[2];
	char ready;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line))
		return fail("starting the trial failed: %s", strerror(errno));
	a->watcher = fork();
	if (!a->watcher) {
		close(line[0]);
		watch(a, line[1]);
	}
	close(line[1]);
	a->line = line[0];
	if (a->watcher > 0 && recv(a->line, &ready, 1, 0) == 1)
		return 0;
	return fail("starting the trial failed: its watcher process did not start");
}

static void watcher_end(const struct supervision *a)
{
	if (a->line >= 0)
		close(a->line);
	if (a->watcher > 0)
		waitpid(a->watcher, NULL, 0);
}

/* ---- this process */

static void status_draw(struct supervision *a)
{
	char line[sizeof(a->last)];
	uint64_t seconds = (left_ns(&a->trial) + NS_PER_SECOND - 1) / NS_PER_SECOND;

	snprintf(line, sizeof(line), "on trial: y or Enter keeps it, n undoes it; %ju s left ",
		 (uintmax_t)seconds);
	if (a->terminal.fd < 0 || !strcmp(line, a->last))
		return;
	status_show(line);
	memcpy(a->last, line, sizeof(line));
}

/* The answer of a key: 'y', 'n', or 0 for another key; 'n' if the terminal is gone. */
static char key_read(int fd)
{
	char key;

	if (read(fd, &key, 1) != 1)
		return 'n';
	if (strchr("yY\r\n", key))
		return 'y';
	return strchr("nNqQ", key) ? 'n' : 0;
}

/* Why the trial must end now, or NULL to go on; *keep if the user confirms. */
static const char *end_reason(struct supervision *a, bool *keep)
{
	struct pollfd fds[] = {{.fd = a->signals, .events = POLLIN},
			       {.fd = a->terminal.fd, .events = POLLIN}};
	char key;

	*keep = false;
	if (!left_ns(&a->trial))
		return IN_TIME;
	if (poll(fds, 2, wait_ms(&a->trial, LOOK_MS)) <= 0)
		return NULL;
	if (fds[0].revents)
		return "interrupted";
	key = key_read(a->terminal.fd);
	*keep = key == 'y';
	return key ? "refused" : NULL;
}

/* Leaves it to the watcher, whose end closes the line. */
static int undo(struct supervision *a)
{
	struct pollfd line = {.fd = a->line, .events = POLLIN};

	shutdown(a->line, SHUT_WR);
	poll(&line, 1, WATCHER_MS);
	return trial_end(&a->trial, false);
}

/* Waits for the end of the trial. Its state, or a negative errno. */
static int supervise(struct supervision *a, const char **why)
{
	int state;

	*why = IN_TIME; /* if the watcher ends it */
	while ((state = trial_state_read(&a->trial)) == TRIAL_RUNS) {
		const char *reason;
		bool keep;

		status_draw(a);
		reason = end_reason(a, &keep);
		if (!reason)
			continue;
		*why = reason;
		return keep ? trial_end(&a->trial, true) : undo(a);
	}
	return state;
}

static int outcome_report(const struct trial *trial, int state, const char *why)
{
	const char *device = trial->device;

	status_clear();
	switch (state) {
	case TRIAL_KEPT:
		note("%s: the %s is confirmed", device, trial_kind_name(trial->kind));
		return 0;
	case TRIAL_UNDONE:
		return fail("%s: %s: the %s", device, why,
			    trial->kind == TRIAL_LIMITER ? "limiter was detached"
							 : "previous policy is in force again");
	case TRIAL_GONE:
		return fail("%s: the limiter was detached, which ended the trial", device);
	default:
		return -1; /* already reported */
	}
}

static int trial_run(struct supervision *a)
{
	bool limiter = a->trial.kind == TRIAL_LIMITER;
	const char *device = a->trial.device, *why;
	char text[NUMBER_TEXT_MAX];
	int state;

	duration_print(text, sizeof(text), a->duration_ns);
	note("%s: the %s is on trial for %s: `rlctl confirm -i %s` keeps it, otherwise %s", device,
	     trial_kind_name(a->trial.kind), text, device,
	     limiter ? "it is detached" : "the previous one is restored");
	if (terminal_open(&a->terminal))
		terminal_keys(&a->terminal);
	state = supervise(a, &why);
	terminal_close(&a->terminal);
	return outcome_report(&a->trial, state, why);
}

static struct supervision supervision_init(uint64_t duration_ns)
{
	return (struct supervision){.duration_ns = duration_ns,
				    .terminal.fd = -1,
				    .line = -1,
				    .signals = trial_signals_open()};
}

/* ---- public */

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

int policy_try(const struct target *target, struct instance *instance, struct policy *next,
	       const struct policy_source *file, uint64_t duration_ns, struct policy *former)
{
	struct supervision a = supervision_init(duration_ns);
	int rc = policy_trial_begin(instance, duration_ns, &a.trial);

	if (rc)
		return rc;
	rc = watcher_start(&a);
	if (!rc)
		rc = instance_policy_write(instance, next, true, file, former);
	trial_unlock(&a.trial);
	if (!rc && next->set_count)
		sets_load_new(target);
	if (rc)
		trial_end(&a.trial, true); /* nothing was changed */
	else
		rc = trial_run(&a);
	watcher_end(&a);
	if (!rc)
		policy_trial_settle(&a.trial);
	trial_close(&a.trial);
	return rc;
}

/* Starts the watcher before the program is attached. */
static int limiter_ready(const struct attach_point *point, void *arg)
{
	struct supervision *a = arg;
	int rc = limiter_trial_begin(point, a->duration_ns, &a->trial);

	if (rc)
		return rc;
	a->begun = true;
	return watcher_start(a);
}

int limiter_try(const struct target *target, const struct attach_options *options,
		struct policy *policy, const struct policy_context *text, uint64_t duration_ns)
{
	struct attach_options on_trial = *options;
	struct supervision a;
	int rc;

	if (!privilege_held(PRIVILEGE_SYS_ADMIN))
		return fail("attach --try: missing capability CAP_SYS_ADMIN, to detach the limiter "
			    "again: run it as root (sudo)");
	a = supervision_init(duration_ns);
	on_trial.ready = limiter_ready;
	on_trial.ready_arg = &a;
	rc = instance_attach(target, &on_trial, policy, text);
	a.trial.lock_fd = NULL; /* instance_attach owns it */
	if (!rc && policy->set_count)
		sets_load_new(target);
	if (!rc)
		rc = trial_run(&a);
	if (!a.begun)
		return rc;
	watcher_end(&a); /* a failed attach has undone everything */
	trial_close(&a.trial);
	return rc;
}
