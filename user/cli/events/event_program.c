// SPDX-License-Identifier: GPL-2.0-only
#include "cli/events/event_program.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/message.h"
#include "base/privilege.h"
#include "cli/events/event_json.h"
#include "cli/output/output.h"

#define GROUPS_MAX 256

/* ---- the user */

static void user_set(struct event_user *out, const char *name, const char *home, uid_t uid,
		     gid_t gid)
{
	*out = (struct event_user){
		.name = xstrdup(name), .home = xstrdup(home), .uid = uid, .gid = gid};
}

static int groups_get(const struct passwd *passwd, struct event_user *out)
{
	int count = GROUPS_MAX;

	out->groups = xcalloc(GROUPS_MAX, sizeof(*out->groups));
	if (getgrouplist(passwd->pw_name, passwd->pw_gid, out->groups, &count) < 0)
		return fail("--user %s: in more than %d groups: choose another user",
			    passwd->pw_name, GROUPS_MAX);
	out->group_count = count;
	return 0;
}

static int user_named(const char *word, struct event_user *out)
{
	char name[LOGIN_NAME_MAX];
	const char *colon = strchr(word, ':');
	const struct passwd *passwd;
	const struct group *group;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, ":"), word);
	passwd = getpwnam(name);
	if (!passwd)
		return fail("--user %s: unknown user '%s': `getent passwd` lists them", word, name);
	user_set(out, passwd->pw_name, passwd->pw_dir, passwd->pw_uid, passwd->pw_gid);
	if (!colon)
		return groups_get(passwd, out);
	group = getgrnam(colon + 1);
	if (!group)
		return fail("--user %s: unknown group '%s': `getent group` lists them", word,
			    colon + 1);
	out->gid = group->gr_gid;
	return 0;
}

static int user_find(const char *word, struct event_user *out)
{
	const struct passwd *own;

	if (!word && geteuid()) { /* perhaps without an entry in /etc/passwd */
		own = getpwuid(geteuid());
		user_set(out, own ? own->pw_name : "", own ? own->pw_dir : "/", geteuid(),
			 getegid());
		return 0;
	}
	if (user_named(word ? word : EVENT_USER, out))
		return -1;
	out->changes = !geteuid() || out->uid != geteuid() || out->gid != getegid();
	if (!out->changes || !geteuid())
		return 0;
	return fail("--user %s: only root can run programs as another user: run it as root (sudo)",
		    word);
}

/* Becomes the user for good, without capabilities and without a way to regain any. 0 or -errno.
 * Silent. All three ids, so that none is left to go back to; libcap's empty sets clear those that
 * may be inherited as well, and with them the ambient ones. */
static int event_user_become(const struct event_user *user)
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
	struct stat file;
	int ret = stat(program->argv[0], &file) ? -errno : 0;

	if (!ret && !S_ISREG(file.st_mode))
		ret = S_ISDIR(file.st_mode) ? -EISDIR : -EACCES;
	else if (!ret || ret == -EACCES) /* the user may reach it all the same */
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

int event_program_find(const char *program, char *const *arguments, int count, const char *user,
		       struct event_program *out)
{
	char *path = path_find(program);
	int ret;

	*out = (struct event_program){.given = program};
	if (!path)
		return -1;
	out->argv = xcalloc((size_t)count + 2, sizeof(*out->argv));
	out->argv[0] = path;
	for (int i = 0; i < count; i++)
		out->argv[i + 1] = xstrdup(arguments[i]);
	ret = user_find(user, &out->user);
	ret = ret ?: program_check(out);
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

/* ---- what it gets */

#define VALUE_MAX    1024 /* of a variable of the environment */
#define VARIABLE_OWN "EVENT_"

/* NAME=VALUE, of at most VALUE_MAX bytes, in one line. */
static char *variable(const char *name, const char *value)
{
	char *text;

	if (asprintf(&text, "%s=%.*s", name, VALUE_MAX, value) < 0)
		out_of_memory();
	for (char *at = text; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = ' ';
	return text;
}

#define VARIABLES 8
char **event_environment(const struct event_user *user, json_object *event)
{
	char **out, **end;
	int own = 0;

	for (char **at = environ; at && *at; at++)
		own += !strncmp(*at, VARIABLE_OWN, strlen(VARIABLE_OWN));
	out = end = xcalloc(VARIABLES + own + 1, sizeof(*out));
	*end++ = variable("PATH", EVENT_PATH);
	*end++ = variable("LANG", "C.UTF-8");
	*end++ = variable("HOME", user->home);
	*end++ = variable("USER", user->name);
	*end++ = variable("LOGNAME", user->name);
	*end++ = variable("RLCTL_EVENT", event_member(event, "event"));
	*end++ = variable("RLCTL_DEVICE", event_member(event, "device"));
	*end++ = variable("RLCTL_TEXT", event_member(event, "text"));
	for (char **at = environ; at && *at; at++)
		if (!strncmp(*at, VARIABLE_OWN, strlen(VARIABLE_OWN)))
			*end++ = xstrdup(*at);
	return out;
}

void event_environment_free(char **environment)
{
	for (char **at = environment; *at; at++)
		free(*at);
	free(environment);
}

int event_input(const char *json)
{
	int fd = memfd_create("event", MFD_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	if (dprintf(fd, "%s\n", json) > 0 && !lseek(fd, 0, SEEK_SET))
		return fd;
	ret = -errno;
	close(fd);
	return ret;
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
