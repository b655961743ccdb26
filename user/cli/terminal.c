// SPDX-License-Identifier: GPL-2.0-only
/* The terminal: questions, keys and signals. */

#include "cli/terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/output/output.h"

bool colours_wanted(FILE *file)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (!isatty(fileno(file)) || (no_color && *no_color))
		return false;
	return term && *term && strcmp(term, "dumb") != 0;
}

bool terminal_size(unsigned int *rows, unsigned int *columns)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col)
		return false;
	*rows = size.ws_row;
	*columns = size.ws_col;
	return true;
}

bool terminal_open(struct terminal *out)
{
	struct terminal terminal = {.fd = -1};

	out->fd = -1;
	if (!isatty(STDERR_FILENO))
		return false;
	terminal.fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (terminal.fd < 0)
		return false;
	if (tcgetpgrp(terminal.fd) != getpgrp() || tcgetattr(terminal.fd, &terminal.before)) {
		close(terminal.fd);
		return false;
	}
	*out = terminal;
	return true;
}

void terminal_close(struct terminal *terminal)
{
	if (terminal->fd < 0)
		return;
	tcsetattr(terminal->fd, TCSANOW, &terminal->before);
	close(terminal->fd);
	terminal->fd = -1;
}

bool terminal_ask(struct terminal *terminal, const char *text)
{
	char answer[16] = "";
	ssize_t len;

	tcflush(terminal->fd, TCIFLUSH); /* discards what was typed before the question */
	status_clear();
	fprintf(stderr, "rlctl: %s [y/N] ", text);
	len = read(terminal->fd, answer, sizeof(answer) - 1);
	answer[len > 0 ? len : 0] = '\0';
	answer[strcspn(answer, "\n")] = '\0';
	return !strcasecmp(answer, "y") || !strcasecmp(answer, "yes");
}

void terminal_keys(struct terminal *terminal)
{
	struct termios keys = terminal->before;

	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	keys.c_cc[VMIN] = 1;
	keys.c_cc[VTIME] = 0;
	tcsetattr(terminal->fd, TCSAFLUSH, &keys);
}
