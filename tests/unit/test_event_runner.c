// SPDX-License-Identifier: GPL-2.0-only
/* Programs that are run for events: what they get, how many at once, how long, as whom. The
 * programs are real, the time is the test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "event_program.h"
#include "event_runner.h"
#include "message.h" /* before cmocka's macro fail() */
#include "rows.h"
#include "units.h"

#include <cmocka.h>

#define START_NS    (1000 * NS_PER_SECOND)
#define EVENT       "{\"event\":\"alarm-on\",\"device\":\"eth0\",\"text\":\"one\\nline\"}"
#define NONE        "0000000000000000"
#define PATIENCE_MS 20000

static char folder[] = "/tmp/rlctl-runner-XXXXXX";
static char said[8192];

/* ---- the test's own place, and what is reported */

static void listen(enum message_kind kind, const char *text)
{
	size_t used = strlen(said);

	(void)kind;
	snprintf(said + used, sizeof(said) - used, "%s\n", text);
}

static int begin(void **state)
{
	static const struct message_sink sink = {.message = listen};

	(void)state;
	message_sink_set(&sink);
	return mkdtemp(folder) && !chmod(folder, 0777) && !chdir(folder) ? 0 : -1;
}

static int end(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command); /* NOLINT: a constant and what mkdtemp() made */
}

static int fresh(void **state)
{
	(void)state;
	said[0] = '\0';
	return system("rm -rf ./*"); /* NOLINT: in the test's own folder */
}

/* The file's content, valid until the next call. */
static const char *content(const char *name)
{
	static char text[65536];
	int fd = open(name, O_RDONLY);
	ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[size < 0 ? 0 : size] = '\0';
	return text;
}

static int lines(const char *name)
{
	int count = 0;

	for (const char *at = content(name); *at; at++)
		count += *at == '\n';
	return count;
}

static bool appears(const char *name)
{
	for (int i = 0; i < PATIENCE_MS && access(name, F_OK); i++)
		poll(NULL, 0, 1);
	return !access(name, F_OK);
}

static void file_put(const char *name, const char *text, mode_t mode)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

/* ---- runners of `sh -c SCRIPT` */

/* It begins in the test's folder. */
static struct runner *shell(const char *script, struct runner_options options)
{
	char text[1024];
	char *arguments[] = {"-c", text, NULL};
	struct runner *runner = NULL;

	snprintf(text, sizeof(text), "cd %s; %s", folder, script);
	options.program = "sh";
	options.arguments = arguments;
	options.argument_count = 2;
	assert_int_equal(runner_open(&options, &runner), 0);
	return runner;
}

static void number_give(struct runner *runner, int number, uint64_t now_ns)
{
	char json[64];

	snprintf(json, sizeof(json), "{\"event\":\"alarm-on\",\"count\":%d}", number);
	runner_give(runner, json, now_ns);
}

static bool readable(struct runner *runner, int wait_ms)
{
	struct pollfd fd = {.fd = runner_fd(runner), .events = POLLIN};

	return poll(&fd, 1, wait_ms) == 1;
}

/* Until nothing runs or waits, in a time that stands still. */
static void settle(struct runner *runner, uint64_t now_ns)
{
	for (runner_poll(runner, now_ns); runner_wait_ms(runner, now_ns) >= 0;
	     runner_poll(runner, now_ns))
		assert_true(readable(runner, PATIENCE_MS));
}

/* One event, and what the script wrote to the file `out`. */
static const char *output_of(const char *script)
{
	struct runner *runner = shell(script, (struct runner_options){0});

	runner_give(runner, EVENT, START_NS);
	settle(runner, START_NS);
	runner_close(runner, 0);
	return content("out");
}

/* ---- what a program gets */

static void gets_event(void **state)
{
	(void)state;
	assert_string_equal(output_of("cat >out"), EVENT "\n");
	assert_string_equal(said, "");
}

static void gets_environment(void **state)
{
	const struct passwd *user = getpwuid(geteuid());
	char wanted[2048];

	(void)state;
	if (!geteuid())
		user = getpwnam(EVENT_USER);
	snprintf(wanted, sizeof(wanted),
		 "EVENT_URL=http://x\nHOME=%s\nLANG=C.UTF-8\nLOGNAME=%s\nPATH=" EVENT_PATH "\n"
		 "RLCTL_DEVICE=eth0\nRLCTL_EVENT=alarm-on\nRLCTL_TEXT=one line\nUSER=%s\n",
		 user->pw_dir, user->pw_name, user->pw_name);
	setenv("EVENT_URL", "http://x", 1);
	setenv("SECRET", "x", 1);
	assert_string_equal(output_of("env | grep -Ev '^(_|PWD|OLDPWD)=' | sort >out"), wanted);
	unsetenv("EVENT_URL");
}

static void begins_clean(void **state)
{
	int leak = open("/dev/null", O_RDONLY);
	sigset_t blocked;

	(void)state;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	signal(SIGPIPE, SIG_IGN);
	assert_string_equal(
		output_of("exec >out; echo $OLDPWD; set -- $(cat /proc/$$/stat);"
			  " [ $5 = $$ ] && [ $6 = $$ ] && echo leads;"
			  " grep -E '^Sig(Blk|Ign)' /proc/self/status; umask; ls /proc/$$/fd"),
		"/\nleads\nSigBlk:\t" NONE "\nSigIgn:\t" NONE "\n"
		"0022\n0\n1\n2\n");
	sigprocmask(SIG_UNBLOCK, &blocked, NULL);
	close(leak);
}

static void has_no_privileges(void **state)
{
	char wanted[512];
	uid_t uid = geteuid() ? geteuid() : getpwnam(EVENT_USER)->pw_uid;
	gid_t gid = geteuid() ? getegid() : getpwnam(EVENT_USER)->pw_gid;

	(void)state;
	snprintf(wanted, sizeof(wanted),
		 "Uid:\t%u\t%u\t%u\t%u\nGid:\t%u\t%u\t%u\t%u\nCapInh:\t" NONE "\nCapPrm:\t" NONE
		 "\nCapEff:\t" NONE "\nCapAmb:\t" NONE "\nNoNewPrivs:\t1\n",
		 uid, uid, uid, uid, gid, gid, gid, gid);
	assert_string_equal(output_of("grep -E '^(Uid|Gid|Cap(Inh|Prm|Eff|Amb)|NoNewPrivs)' "
				      "/proc/self/status >out"),
			    wanted);
}

/* Its standard output is not that of rlctl. */
static void prints_to_stderr(void **state)
{
	int kept = dup(STDERR_FILENO), file = open("out", O_RDWR | O_CREAT, 0600);

	(void)state;
	dup2(file, STDERR_FILENO);
	output_of("head -c 3000000 /dev/zero; echo end >&2");
	dup2(kept, STDERR_FILENO);
	close(kept);
	assert_int_equal(lseek(file, 0, SEEK_END), 3000004);
	close(file);
}

static void reads_nothing(void **state)
{
	size_t size = 4 << 20;
	char *json = malloc(size);
	struct runner *runner = shell("exit 0", (struct runner_options){0});

	(void)state;
	assert_non_null(json);
	memset(json, ' ', size - 1);
	memcpy(json, "{}", 2);
	json[size - 1] = '\0';
	runner_give(runner, json, START_NS);
	free(json);
	settle(runner, START_NS);
	runner_close(runner, 0);
	assert_string_equal(said, "");
}

/* ---- how many, and how long */

static void order_is_kept(void **state)
{
	struct runner *runner = shell("cat >>out", (struct runner_options){.at_once = 1});

	(void)state;
	for (int i = 0; i < 5; i++)
		number_give(runner, i, START_NS);
	settle(runner, START_NS);
	runner_close(runner, 0);
	assert_string_equal(content("out"), "{\"event\":\"alarm-on\",\"count\":0}\n"
					    "{\"event\":\"alarm-on\",\"count\":1}\n"
					    "{\"event\":\"alarm-on\",\"count\":2}\n"
					    "{\"event\":\"alarm-on\",\"count\":3}\n"
					    "{\"event\":\"alarm-on\",\"count\":4}\n");
}

/* Three run, one waits for each of the other places, and the rest is lost, which the program is
 * told. */
static void number_is_bounded(void **state)
{
	const struct runner_options options = {.at_once = 3, .queue = 2};
	struct runner *runner = shell("cat >in.$$; echo >>begun; exec sleep 600", options);

	(void)state;
	for (int i = 0; i < 9; i++)
		number_give(runner, i, START_NS);
	for (int i = 0; i < PATIENCE_MS && lines("begun") < 3; i++)
		poll(NULL, 0, 1);
	runner_poll(runner, START_NS);
	assert_int_equal(lines("begun"), 3);
	assert_non_null(strstr(
		said, "warning: --exec sh: an event is lost: 3 programs run and 2 events wait"));
	assert_null(strstr(strstr(said, "lost") + 4, "lost"));
	runner_poll(runner, START_NS + RUNNER_TIMEOUT_NS);
	for (int i = 0; i < PATIENCE_MS && lines("begun") < 6; i++) {
		poll(NULL, 0, 1);
		runner_poll(runner, START_NS + RUNNER_TIMEOUT_NS);
	}
	runner_close(runner, 0);
	assert_int_equal(system("grep -q '\"event\":\"lost\",\"count\":4,' in.*"), 0);
}

static void time_is_bounded(void **state)
{
	struct runner *runner = shell("trap '' TERM; >begun; while :; do sleep 600; done",
				      (struct runner_options){.timeout_ns = 2 * NS_PER_SECOND});
	uint64_t end_ns = START_NS + 2 * NS_PER_SECOND;

	(void)state;
	runner_give(runner, EVENT, START_NS);
	assert_true(appears("begun"));
	assert_int_equal(runner_wait_ms(runner, START_NS), 2000);
	runner_poll(runner, end_ns - 1);
	assert_false(readable(runner, 100));
	runner_poll(runner, end_ns);
	assert_int_equal(runner_wait_ms(runner, end_ns), 1000);
	assert_false(readable(runner, 100));
	runner_poll(runner, end_ns + RUNNER_GRACE_NS);
	settle(runner, end_ns + RUNNER_GRACE_NS);
	runner_close(runner, 0);
	assert_string_equal(
		said,
		"warning: --exec sh: alarm-on: ended after its time limit of 2s (--exec-timeout)\n");
}

/* As long as there is no descriptor for its input, the event waits. */
static void start_is_repeated(void **state)
{
	struct runner *runner = shell("cat >out", (struct runner_options){0});
	struct rlimit usual, none;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = usual.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	runner_give(runner, EVENT, START_NS);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
	assert_string_equal(
		said, "warning: --exec sh: cannot be run yet for alarm-on: Too many open files\n");
	settle(runner, START_NS);
	runner_close(runner, 0);
	assert_string_equal(content("out"), EVENT "\n");
}

/* Also those that have become nobody's children. */
static void grandchildren_end(void **state)
{
	struct runner *runner = shell("sleep 600 & echo $! >pid", (struct runner_options){0});
	pid_t pid;
	char stat[64];

	(void)state;
	runner_give(runner, EVENT, START_NS);
	settle(runner, START_NS);
	runner_close(runner, 0);
	pid = (pid_t)strtol(content("pid"), NULL, 10);
	assert_true(pid > 1);
	snprintf(stat, sizeof(stat), "/proc/%d/stat", pid);
	for (int i = 0; i < PATIENCE_MS && *content(stat) && !strstr(content(stat), ") Z "); i++)
		poll(NULL, 0, 1);
	assert_true(!*content(stat) || strstr(content(stat), ") Z "));
}

/* By the real time, since it waits. */
static void close_waits(void **state)
{
	struct runner *runner =
		shell("sleep 0.2; cat >>out", (struct runner_options){.at_once = 1});

	(void)state;
	number_give(runner, 1, clock_ns(CLOCK_MONOTONIC));
	number_give(runner, 2, clock_ns(CLOCK_MONOTONIC));
	runner_close(runner, 60 * NS_PER_SECOND);
	assert_string_equal(said, "");
	assert_int_equal(lines("out"), 2);
}

static void close_ends(void **state)
{
	struct runner *runner = shell("exec sleep 600", (struct runner_options){.at_once = 1});

	(void)state;
	number_give(runner, 1, clock_ns(CLOCK_MONOTONIC));
	number_give(runner, 2, clock_ns(CLOCK_MONOTONIC));
	runner_close(runner, 0);
	assert_string_equal(said,
			    "warning: --exec sh: 1 events were not given to it before the end\n"
			    "warning: --exec sh: alarm-on: ended early, since rlctl ends\n");
}

/* ---- warnings */

static void failures_are_told_once_a_minute(void **state)
{
	struct runner *runner = shell("exit 3", (struct runner_options){0});
	const char *first = "warning: --exec sh: alarm-on: exit status 3\n";

	(void)state;
	for (int i = 0; i < 3; i++) {
		runner_give(runner, EVENT, START_NS + i);
		settle(runner, START_NS + i);
		assert_string_equal(said, first);
	}
	said[0] = '\0';
	runner_give(runner, EVENT, START_NS + RUNNER_WARNING_EVERY_NS);
	settle(runner, START_NS + RUNNER_WARNING_EVERY_NS);
	assert_string_equal(said,
			    "warning: --exec sh: alarm-on: exit status 3 (and 2 like it before)\n");
	runner_close(runner, 0);
}

/* What only execve() notices. */
static const struct {
	const char *name, *text, *said;
} unfit[] = {
	{"interpreter", "#!/no/such/sh\n",
	 "not run for alarm-on: it is missing, or the interpreter that its first line names"},
	{"no program", "echo\n",
	 "not run for alarm-on: it is no program: a script begins with #!/bin/sh or the like"},
	{"signal", "#!/bin/sh\nkill -SEGV $$\n",
	 "alarm-on: ended by signal 11 (Segmentation fault)"},
};

static void unfit_is_told(void **state)
{
	const typeof(*unfit) *row = *state;
	struct runner *runner;

	fresh(NULL);
	file_put("program", row->text, 0755);
	assert_int_equal(runner_open(&(struct runner_options){.program = "./program"}, &runner), 0);
	runner_give(runner, EVENT, START_NS);
	settle(runner, START_NS);
	runner_close(runner, 0);
	assert_non_null(strstr(said, row->said));
}

/* ---- refused at the start */

static const struct {
	const char *name, *program, *user, *said;
} refused[] = {
	{"missing", "/no/such", NULL, "--exec /no/such: No such file or directory: give the path"},
	{"not in the path", "no-such", NULL,
	 "--exec no-such: not found in " EVENT_PATH ": give its path, such as ./no-such"},
	{"empty", "", NULL, "--exec '': give the path of a program"},
	{"folder", "/tmp", NULL, "--exec /tmp: Is a directory: give the path of a program"},
	{"device", "/dev/null", NULL, "--exec /dev/null: user "},
	{"not executable", "./plain", NULL, " may not execute it: `chmod a+rx` it"},
	{"unknown user", "sh", "no-such",
	 "--user no-such: unknown user 'no-such': `getent passwd`"},
	{"unknown group", "sh", "root:no-such",
	 "--user root:no-such: unknown group 'no-such': `getent group` lists them"},
};

static void is_refused(void **state)
{
	const typeof(*refused) *row = *state;
	const struct runner_options options = {.program = row->program, .user = row->user};
	struct runner *runner = NULL;

	fresh(NULL);
	file_put("plain", "#!/bin/sh\n", 0644);
	assert_int_equal(runner_open(&options, &runner), -1);
	assert_null(runner);
	assert_non_null(strstr(said, row->said));
}

/* Root's own program is none of nobody's, and a group can be given to a user that is not in it;
 * others than root can run programs as themselves only. */
static void user_is_chosen(void **state)
{
	struct runner_options options = {.program = "./own", .user = "root"};
	struct runner *runner = NULL;
	char wanted[64];

	(void)state;
	file_put("own", "#!/bin/sh\n", 0700);
	if (geteuid()) {
		assert_int_equal(runner_open(&options, &runner), -1);
		assert_non_null(
			strstr(said, "--user root: only root can run programs as another user"));
		return;
	}
	assert_int_equal(runner_open(&options, &runner), 0);
	runner_close(runner, 0);
	options.user = EVENT_USER;
	assert_int_equal(runner_open(&options, &runner), -1);
	assert_non_null(strstr(said, "--exec ./own: user nobody may not execute it"));
	runner = shell("id -u >out; id -G >>out", (struct runner_options){.user = "daemon:mail"});
	runner_give(runner, EVENT, START_NS);
	settle(runner, START_NS);
	runner_close(runner, 0);
	snprintf(wanted, sizeof(wanted), "%u\n%u\n", getpwnam("daemon")->pw_uid,
		 getgrnam("mail")->gr_gid);
	assert_string_equal(content("out"), wanted);
}

int main(void)
{
	struct CMUnitTest tests[32] = {
		cmocka_unit_test_setup(gets_event, fresh),
		cmocka_unit_test_setup(gets_environment, fresh),
		cmocka_unit_test_setup(begins_clean, fresh),
		cmocka_unit_test_setup(has_no_privileges, fresh),
		cmocka_unit_test_setup(prints_to_stderr, fresh),
		cmocka_unit_test_setup(reads_nothing, fresh),
		cmocka_unit_test_setup(order_is_kept, fresh),
		cmocka_unit_test_setup(number_is_bounded, fresh),
		cmocka_unit_test_setup(time_is_bounded, fresh),
		cmocka_unit_test_setup(start_is_repeated, fresh),
		cmocka_unit_test_setup(grandchildren_end, fresh),
		cmocka_unit_test_setup(close_waits, fresh),
		cmocka_unit_test_setup(close_ends, fresh),
		cmocka_unit_test_setup(failures_are_told_once_a_minute, fresh),
		cmocka_unit_test_setup(user_is_chosen, fresh),
	};
	size_t n = 15;

	ROWS(unfit, unfit_is_told);
	ROWS(refused, is_refused);
	return _cmocka_run_group_tests("event runner", tests, n, begin, end);
}
