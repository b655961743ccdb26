// SPDX-License-Identifier: GPL-2.0-only
/* Dispatch. Exit status: 0 done, 1 failed, 2 usage error. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/privilege.h"
#include "cli/cmd.h"
#include "cli/events/journal.h"
#include "kernel/device/netns.h"
#include "kernel/failures.h"

/* Drops every capability that the verb's row does not list; CAP_SYS_ADMIN only after entering the
 * namespace. */
static int privileges_settle(const struct command *command)
{
	const char *netns = command->arguments[OPTION_NETNS];
	const struct verb *verb = command->verb;
	uint32_t needs = verb->needs_none & options_given(command) ? 0 : verb->needs;
	uint32_t enter = netns ? PRIVILEGE_BIT(SYS_ADMIN) : 0;
	int rc = privileges_keep(verb->name, needs | enter, verb->uses, verb->aside);

	if (rc || !netns)
		return rc;
	rc = netns_enter(netns);
	return rc ? rc : privileges_keep(verb->name, needs, verb->uses, verb->aside);
}

static int dispatch(struct command *command)
{
	int rc;

	if (option_given(command, OPTION_VERSION)) {
		puts("rlctl " RLCTL_VERSION);
		return 0;
	}
	if (option_given(command, OPTION_HELP))
		return help_print(command->words, command->word_count);
	if (!command->word_count) {
		usage_print(stderr);
		return EXIT_USAGE;
	}
	log_setup();
	setenv("LIBXDP_BPFFS", command->target.bpffs, 1);
	journal_begin();
	rc = command_resolve(command);
	if (!rc)
		rc = privileges_settle(command);
	return rc ? rc : command->verb->run(command);
}

int main(int argc, char **argv)
{
	struct command command;
	int rc;

	/* If a standard stream is closed, the next file opened would take its number and be written
	 * to. */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd)
			_exit(EXIT_FAILURE);
	output_begin();
	verbs = all_verbs;
	signal(SIGPIPE, SIG_IGN); /* write() reports EPIPE instead: what was begun is ended */
	rc = command_parse(argc, argv, &command);
	if (!rc)
		rc = dispatch(&command);
	message_flush();
	if (!rc && output_flush())
		rc = -1;
	if (output_unread) { /* ends as other tools do */
		signal(SIGPIPE, SIG_DFL);
		raise(SIGPIPE);
	}
	return rc < 0 ? EXIT_FAILURE : rc;
}
