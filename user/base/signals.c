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

int signals_open(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	/* Even if they are ignored, but for SIGHUP: scripts start `rlctl monitor &` so. */
	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		if (ending[i] != SIGHUP || !is_ignored(SIGHUP))
			sigaddset(&signals, ending[i]);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

void signals_hold(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		if (!is_ignored(ending[i]))
			sigaddset(&signals, ending[i]);
	sigprocmask(SIG_BLOCK, &signals, NULL);
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
