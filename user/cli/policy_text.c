// SPDX-License-Identifier: GPL-2.0-only
/* The text of a policy: reads the whole of an open file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "message.h"

#define FILE_MAX_BYTES (1ull << 30)

/* Doubles the buffer if it is full; one byte stays free for the NUL. 0 or -1. */
static int buffer_grow(struct policy_file *file, size_t *capacity)
{
	size_t wanted = *capacity ? *capacity * 2 : 1 << 16;
	char *text;

	if (file->size + 1 < *capacity)
		return 0;
	if (wanted > 2 * FILE_MAX_BYTES)
		return fail("%s: larger than 1 GiB: not a policy", file->name);
	text = realloc(file->text, wanted);
	if (!text)
		return fail("%s: out of memory", file->name);
	file->text = text;
	*capacity = wanted;
	return 0;
}

static int descriptor_read(int fd, struct policy_file *file)
{
	size_t capacity = 0;
	ssize_t n;

	do {
		if (buffer_grow(file, &capacity))
			return -1;
		n = read(fd, file->text + file->size, capacity - file->size - 1);
		file->size += n > 0 ? (size_t)n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0)
		return fail("%s: %s%s", file->name, strerror(errno),
			    errno == EISDIR ? ": name a file" : "");
	file->text[file->size] = '\0';
	return 0;
}

int policy_descriptor_read(int fd, const char *name, struct policy_file *out)
{
	struct policy_file file = {.name = name, .source.name = name};
	int rc = descriptor_read(fd, &file);

	if (rc)
		policy_file_clear(&file);
	else
		*out = file;
	return rc;
}

void policy_file_clear(struct policy_file *file)
{
	for (size_t i = 0; i < file->name_count; i++)
		free(file->names[i]);
	free(file->names);
	free(file->errors);
	free(file->source.pieces);
	free(file->text);
	memset(file, 0, sizeof(*file));
}
