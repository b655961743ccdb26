// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases.h"

#include "base/message.h" /* before cmocka's macro fail() */
#include "event_shell.h"

static char folder[] = "/tmp/rlctl-runner-XXXXXX";
char said[SAID_MAX];

static void message_keep(enum message_kind kind, const char *text)
{
	size_t used = strlen(said);

	(void)kind;
	snprintf(said + used, sizeof(said) - used, "%s\n", text);
}

int shell_begin(void **state)
{
	static const struct message_sink sink = {.message = message_keep};

	(void)state;
	message_sink_set(&sink);
	return mkdtemp(folder) && !chmod(folder, 0777) && !chdir(folder) ? 0 : -1;
}

int shell_end(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command); /* NOLINT: a constant and what mkdtemp() made */
}

int shell_fresh(void **state)
{
	(void)state;
	said[0] = '\0';
	return system("rm -rf ./*"); /* NOLINT: in the test's own folder */
}

const char *content(const char *name)
{
	static char text[65536];
	int fd = open(name, O_RDONLY);
	ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[size < 0 ? 0 : size] = '\0';
	return text;
}

int lines(const char *name)
{
	int count = 0;

	for (const char *at = content(name); *at; at++)
		count += *at == '\n';
	return count;
}

bool appears(const char *name)
{
	for (int i = 0; i < PATIENCE_MS && access(name, F_OK); i++)
		poll(NULL, 0, 1);
	return !access(name, F_OK);
}

void file_put(const char *name, const char *text, mode_t mode)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

/* ---- runners of `sh -c SCRIPT` */

struct runner *shell(const char *script, struct runner_options options)
{
	char text[1024];
	char *arguments[] = {"-c", text, NULL};
	struct runner *runner = NULL;

	snprintf(text, sizeof(text), "cd %s; %s", folder, script);
	options.program = "sh";
	options.arguments = arguments;
	options.argument_count = 2;
	assert_int_equal(runner_open(&options, &runner), 0);
	return runner;
}

void number_give(struct runner *runner, int number, uint64_t now_ns)
{
	char json[64];

	snprintf(json, sizeof(json), "{\"event\":\"alarm-on\",\"count\":%d}", number);
	runner_give(runner, json, now_ns);
}

bool readable(struct runner *runner, int wait_ms)
{
	struct pollfd fd = {.fd = runner_fd(runner), .events = POLLIN};

	return poll(&fd, 1, wait_ms) == 1;
}

void settle(struct runner *runner, uint64_t now_ns)
{
	for (runner_poll(runner, now_ns); runner_wait_ms(runner, now_ns) >= 0;
	     runner_poll(runner, now_ns))
		assert_true(readable(runner, PATIENCE_MS));
}

const char *output_of(const char *script)
{
	struct runner *runner = shell(script, (struct runner_options){0});

	runner_give(runner, EVENT, START_NS);
	settle(runner, START_NS);
	runner_close(runner, 0);
	return content("out");
}
