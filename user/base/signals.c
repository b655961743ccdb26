// SPDX-License-Identifier: GPL-2.0-only
#include "signals.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/signalfd.h>

/* By nohup. The kernel does not discard a blocked signal, even if it is ignored. */
static bool hangup_is_ignored(void)
{
	struct sigaction action;

	return !sigaction(SIGHUP, NULL, &action) && action.sa_handler == SIG_IGN;
}

int signals_open(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT); /* even if it is ignored: scripts start `rlctl monitor &` so */
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGQUIT);
	if (!hangup_is_ignored())
		sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}
