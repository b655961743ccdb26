// SPDX-License-Identifier: GPL-2.0-only
#include "cli/events/event_program.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/message.h"
#include "base/privilege.h"
#include "cli/output/output.h"

#define GROUPS_MAX 256

/* ---- the user */

static int groups_get(const struct passwd *passwd, struct event_user *out)
{
	int count = GROUPS_MAX;

	out->groups = calloc(GROUPS_MAX, sizeof(*out->groups));
	if (!out->groups)
		out_of_memory();
	if (getgrouplist(passwd->pw_name, passwd->pw_gid, out->groups, &count) < 0)
		return fail("--user %s: in more than %d groups: choose another user",
			    passwd->pw_name, GROUPS_MAX);
	out->group_count = count;
	return 0;
}

static int group_named(const char *user, const char *name, struct event_user *out)
{
	const struct group *group = getgrnam(name);

	if (!group)
		return fail("--user %s: unknown group '%s': `getent group` lists them", user, name);
	out->gid = group->gr_gid;
	return 0;
}

static int user_named(const char *word, struct event_user *out)
{
	char name[LOGIN_NAME_MAX];
	const char *colon = strchr(word, ':');
	const struct passwd *passwd;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, ":"), word);
	passwd = getpwnam(name);
	if (!passwd)
		return fail("--user %s: unknown user '%s': `getent passwd` lists them", word, name);
	out->name = strdup(passwd->pw_name);
	out->home = strdup(passwd->pw_dir);
	if (!out->name || !out->home)
		out_of_memory();
	out->uid = passwd->pw_uid;
	out->gid = passwd->pw_gid;
	return colon ? group_named(word, colon + 1, out) : groups_get(passwd, out);
}

/* Without an entry in /etc/passwd too. */
static int user_own(struct event_user *out)
{
	const struct passwd *passwd = getpwuid(geteuid());

	out->name = strdup(passwd ? passwd->pw_name : "");
	out->home = strdup(passwd ? passwd->pw_dir : "/");
	out->uid = geteuid();
	out->gid = getegid();
	if (!out->name || !out->home)
		out_of_memory();
	return 0;
}

static int user_find(const char *word, struct event_user *out)
{
	if (!word && geteuid())
		return user_own(out);
	if (user_named(word ? word : EVENT_USER, out))
		return -1;
	out->changes = !geteuid() || out->uid != geteuid() || out->gid != getegid();
	if (!out->changes || !geteuid())
		return 0;
	return fail("--user %s: only root can run programs as another user: run it as root (sudo)",
		    word);
}

/* All three ids, so that none is left to go back to; libcap's empty sets clear those that
 * may be inherited as well, and with them the ambient ones. */
int event_user_become(const struct event_user *user)
{
	if (user->changes && (setgroups(user->group_count, user->groups) ||
			      setresgid(user->gid, user->gid, user->gid) ||
			      setresuid(user->uid, user->uid, user->uid)))
		return -errno;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
		return -errno;
	return privileges_drop() ? -EPERM : 0;
}

/* ---- the program */

static char *path_join(const char *folder, int len, const char *name)
{
	char *path;

	if (asprintf(&path, "%.*s/%s", len, folder, name) < 0)
		out_of_memory();
	return path;
}

static char *path_search(const char *name)
{
	for (const char *at = EVENT_PATH; *at;) {
		int len = (int)strcspn(at, ":");
		char *path = path_join(at, len, name);

		if (!access(path, F_OK))
			return path;
		free(path);
		at += len + (at[len] == ':');
	}
	fail("--exec %s: not found in " EVENT_PATH ": give its path, such as ./%s", name, name);
	return NULL;
}

/* Absolute, since the program begins in /. */
static char *path_find(const char *given)
{
	char folder[PATH_MAX];

	if (!*given) {
		fail("--exec '': give the path of a program");
		return NULL;
	}
	if (!strchr(given, '/'))
		return path_search(given);
	if (*given == '/')
		return path_join("", 0, given + 1);
	if (getcwd(folder, sizeof(folder)))
		return path_join(folder, (int)strlen(folder), given);
	fail("--exec %s: the working directory is unknown: %s: give an absolute path", given,
	     strerror(errno));
	return NULL;
}

static int kind_check(const struct event_program *program)
{
	struct stat file;

	if (stat(program->argv[0], &file))
		return errno == EACCES ? 0 : -errno; /* the user may reach it all the same */
	if (S_ISDIR(file.st_mode))
		return -EISDIR;
	return S_ISREG(file.st_mode) ? 0 : -EACCES;
}

/* In a child process, as that user. 0 or -errno. */
static int user_check(const struct event_program *program)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid) {
		int ret = event_user_become(&program->user);

		_exit(ret ? -ret : eaccess(program->argv[0], X_OK) ? errno : 0);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECANCELED;
}

static int program_check(const struct event_program *program)
{
	int ret = kind_check(program);

	if (!ret)
		ret = user_check(program);
	if (ret == -EACCES)
		return fail(
			"--exec %s: user %s may not execute it: `chmod a+rx` it and the folders above it, or "
			"choose another --user",
			program->given, program->user.name);
	if (ret == -EPERM)
		return fail(
			"--exec %s: cannot become user %s: missing capabilities: CAP_SETUID, CAP_SETGID",
			program->given, program->user.name);
	if (ret)
		return fail("--exec %s: %s: give the path of a program", program->given,
			    strerror(-ret));
	return 0;
}

static void argv_set(struct event_program *program, char *path, char *const *arguments, int count)
{
	program->argv = calloc((size_t)count + 2, sizeof(*program->argv));
	if (!program->argv)
		out_of_memory();
	program->argv[0] = path;
	for (int i = 0; i < count; i++) {
		program->argv[i + 1] = strdup(arguments[i]);
		if (!program->argv[i + 1])
			out_of_memory();
	}
}

int event_program_find(const char *program, char *const *arguments, int count, const char *user,
		       struct event_program *out)
{
	char *path = path_find(program);
	int ret;

	*out = (struct event_program){.given = program};
	if (!path)
		return -1;
	argv_set(out, path, arguments, count);
	ret = user_find(user, &out->user);
	if (!ret)
		ret = program_check(out);
	if (ret)
		event_program_clear(out);
	return ret;
}

void event_program_clear(struct event_program *program)
{
	for (char **at = program->argv; at && *at; at++)
		free(*at);
	free(program->argv);
	free(program->user.name);
	free(program->user.home);
	free(program->user.groups);
	*program = (struct event_program){0};
}

/* ---- in the child process */

int event_program_execute(const struct event_program *program, int input, char *const *environment)
{
	sigset_t none;
	int ret;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL); /* fails for those that cannot be changed */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	umask(022);
	if (setsid() < 0 || chdir("/"))
		return -errno;
	if (dup2(input, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ||
	    close_range(STDERR_FILENO + 1, ~0U, 0))
		return -errno;
	ret = event_user_become(&program->user);
	if (ret)
		return ret;
	execve(program->argv[0], program->argv, environment);
	return -errno;
}
