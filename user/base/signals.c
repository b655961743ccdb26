// SPDX-License-Identifier: GPL-2.0-only
#include "signals.h"

#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>

/* The kernel does not discard a blocked signal, even if it is ignored. */
static int is_ignored(int number)
{
	struct sigaction action;

	return !sigaction(number, NULL, &action) && action.sa_handler == SIG_IGN;
}

int signals_open(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t signals;

	sigemptyset(&signals);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!is_ignored(numbers[i]))
			sigaddset(&signals, numbers[i]);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}
