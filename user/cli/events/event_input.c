// SPDX-License-Identifier: GPL-2.0-only
#include "cli/events/event_input.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/events/event_program.h"
#include "cli/output/output.h"

#define VALUE_MAX    1024 /* of a variable of the environment */
#define VARIABLE_OWN "EVENT_"

const char *event_member(json_object *event, const char *name)
{
	json_object *value;

	if (!json_object_object_get_ex(event, name, &value))
		return "";
	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

uint64_t event_time_of(json_object *event, const char *name)
{
	uint64_t ns;

	return time_parse(event_member(event, name), &ns) ? 0 : ns;
}

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
	out = end = calloc(VARIABLES + own + 1, sizeof(*out));
	if (!out)
		out_of_memory();
	*end++ = variable("PATH", EVENT_PATH);
	*end++ = variable("LANG", "C.UTF-8");
	*end++ = variable("HOME", user->home);
	*end++ = variable("USER", user->name);
	*end++ = variable("LOGNAME", user->name);
	*end++ = variable("RLCTL_EVENT", event_member(event, "event"));
	*end++ = variable("RLCTL_DEVICE", event_member(event, "device"));
	*end++ = variable("RLCTL_TEXT", event_member(event, "text"));
	for (char **at = environ; at && *at; at++)
		if (!strncmp(*at, VARIABLE_OWN, strlen(VARIABLE_OWN)) && !(*end++ = strdup(*at)))
			out_of_memory();
	return out;
}

void event_environment_free(char **environment)
{
	for (char **at = environment; *at; at++)
		free(*at);
	free(environment);
}

static int written(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t n = write(fd, text, size);

		if (n < 0)
			return -errno;
		text += n;
		size -= (size_t)n;
	}
	return 0;
}

int event_input(const char *json)
{
	int fd = memfd_create("event", MFD_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = written(fd, json, strlen(json));
	if (!ret)
		ret = written(fd, "\n", 1);
	if (!ret && !lseek(fd, 0, SEEK_SET))
		return fd;
	close(fd);
	return ret ? ret : -errno;
}
