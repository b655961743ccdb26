// SPDX-License-Identifier: GPL-2.0-only
/* A child runs the verb, since that prints and may end the process. */

#include "cli/top/top.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cmd.h"
#include "kernel/attach/hook_names.h"

/* `--` is in front: the words are no options. */
static void child_run(const struct top *top, const char *prefix, const char *time, int output)
{
	const char *hook = hook_name(top->instance->info.hook);
	const char *words[] = {"rlctl",    "-i",   top->instance->device,
			       "--hook",   hook,   "--bpffs",
			       top->bpffs, "--",   "rule",
			       "add",      prefix, "deny",
			       "for",      time,   NULL};
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	bool ok = nothing >= 0 && setsid() >= 0 && dup2(nothing, STDIN_FILENO) >= 0 &&
		  dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0;
	struct command command;
	int rc = -1;

	if (ok)
		rc = command_parse(sizeof(words) / sizeof(words[0]) - 1, (char **)words, &command);
	rc = rc ?: command_resolve(&command);
	command.target.many = false;
	rc = rc ?: command.verb->run(&command);
	fflush(stdout);
	_exit(rc ? 1 : 0);
}

/* The output of the child, up to its end. */
static void output_read(int from, char *out, size_t size)
{
	size_t used = 0;
	char rest[256] = "";
	ssize_t n;

	while ((n = read(from, used + 1 < size ? out + used : rest,
			 used + 1 < size ? size - used - 1 : sizeof(rest)))) {
		if (n < 0 && errno != EINTR)
			break;
		if (n > 0 && used + 1 < size)
			used += (size_t)n;
	}
	out[used] = '\0';
	for (char *at = out; *at; at++)
		if (*at != '\n' && !is_printable(*at))
			*at = '?';
}

int deny_run(const struct top *top, const char *prefix, const char *time, char *out, size_t size)
{
	enum rl_hook hook = top->instance->info.hook;
	int ends[2], used, status = -1;
	pid_t pid;

	used = snprintf(out, size, "rlctl rule add -i %s%s%s %s deny for %s\n",
			top->instance->device, hook == RL_HOOK_XDP ? "" : " --hook ",
			hook == RL_HOOK_XDP ? "" : hook_name(hook), prefix, time);
	if (used < 0 || (size_t)used >= size || pipe2(ends, O_CLOEXEC))
		return -1;
	fflush(stdout);
	pid = fork();
	if (!pid)
		child_run(top, prefix, time, ends[1]);
	close(ends[1]);
	if (pid > 0)
		output_read(ends[0], out + used, size - (size_t)used);
	close(ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status)
		return -1;
	if (!out[used])
		snprintf(out + used, size - (size_t)used, "done: `rlctl rule del` takes it back");
	return 0;
}
