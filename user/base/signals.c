// SPDX-License-Identifier: GPL-2.0-only
#include "base/signals.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/signalfd.h>

static const int ending[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP};

/* As SIGHUP is by nohup. The kernel does not discard a blocked signal, even if it is ignored. */
static bool is_ignored(int signal)
{
	struct sigaction action;

	return !sigaction(signal, NULL, &action) && action.sa_handler == SIG_IGN;
}

/* ignored: also those that the process ignores, but for SIGHUP. */
static sigset_t block(bool ignored)
{
	sigset_t signals;

	sigemptyset(&signals);
	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		if ((ignored && ending[i] != SIGHUP) || !is_ignored(ending[i]))
			sigaddset(&signals, ending[i]);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	return signals;
}

int signals_open(void)
{
	sigset_t signals = block(true); /* scripts start `rlctl monitor &` so */

	return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

void signals_hold(void)
{
	block(false);
}

bool signals_held(void)
{
	sigset_t pending;

	if (sigpending(&pending))
		return false;
	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		if (sigismember(&pending, ending[i]) == 1)
			return true;
	return false;
}
