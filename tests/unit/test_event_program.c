// SPDX-License-Identifier: GPL-2.0-only
/* Programs that are run for events: what they get and have, as whom they run, and which are
 * refused. */
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "cli/events/event_program.h"
#include "cli/events/event_runner.h"
#include "event_shell.h"

#define NONE "0000000000000000"

/* ---- what a program gets */

TEST(gets_event, shell_fresh)
{
	assert_string_equal(output_of("cat >out"), EVENT "\n");
	assert_string_equal(said, "");
}

TEST(gets_environment, shell_fresh)
{
	const struct passwd *user = getpwuid(geteuid());
	char wanted[2048];

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

TEST(begins_clean, shell_fresh)
{
	int leak = open("/dev/null", O_RDONLY);
	sigset_t blocked;

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

TEST(has_no_privileges, shell_fresh)
{
	char wanted[512];
	uid_t uid = geteuid() ? geteuid() : getpwnam(EVENT_USER)->pw_uid;
	gid_t gid = geteuid() ? getegid() : getpwnam(EVENT_USER)->pw_gid;

	snprintf(wanted, sizeof(wanted),
		 "Uid:\t%u\t%u\t%u\t%u\nGid:\t%u\t%u\t%u\t%u\nCapInh:\t" NONE "\nCapPrm:\t" NONE
		 "\nCapEff:\t" NONE "\nCapAmb:\t" NONE "\nNoNewPrivs:\t1\n",
		 uid, uid, uid, uid, gid, gid, gid, gid);
	assert_string_equal(output_of("grep -E '^(Uid|Gid|Cap(Inh|Prm|Eff|Amb)|NoNewPrivs)' "
				      "/proc/self/status >out"),
			    wanted);
}

/* Its standard output is not that of rlctl. */
TEST(prints_to_stderr, shell_fresh)
{
	int kept = dup(STDERR_FILENO), file = open("out", O_RDWR | O_CREAT, 0600);

	dup2(file, STDERR_FILENO);
	output_of("head -c 3000000 /dev/zero; echo end >&2");
	dup2(kept, STDERR_FILENO);
	close(kept);
	assert_int_equal(lseek(file, 0, SEEK_END), 3000004);
	close(file);
}

TEST(reads_nothing, shell_fresh)
{
	size_t size = 4 << 20;
	char *json = malloc(size);
	struct runner *runner = shell("exit 0", (struct runner_options){0});

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

/* Faults that only execve() notices. */
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

ROWS(unfit_is_told, unfit, row)
{
	struct runner *runner;

	shell_fresh(NULL);
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

ROWS(is_refused, refused, row)
{
	const struct runner_options options = {.program = row->program, .user = row->user};
	struct runner *runner = NULL;

	shell_fresh(NULL);
	file_put("plain", "#!/bin/sh\n", 0644);
	assert_int_equal(runner_open(&options, &runner), -1);
	assert_null(runner);
	assert_non_null(strstr(said, row->said));
}

/* Root's own program is none of nobody's, and a group can be given to a user that is not in it;
 * others than root can run programs as themselves only. */
TEST(user_is_chosen, shell_fresh)
{
	struct runner_options options = {.program = "./own", .user = "root"};
	struct runner *runner = NULL;
	char wanted[64];

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

FIXTURE(shell_begin, shell_end)
