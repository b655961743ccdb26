// SPDX-License-Identifier: GPL-2.0-only
/* The text of a policy: of an open file, or as it is printed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"

#define FILE_MAX_BYTES (1ull << 30)

/* NULL or the error. One byte of the buffer stays free for the NUL. */
static const char *descriptor_read(int fd, struct policy_file *file)
{
	size_t capacity = 0;
	char *text;
	ssize_t n;

	do {
		if (file->size + 1 >= capacity) {
			capacity = capacity ? capacity * 2 : 1 << 16;
			if (capacity > 2 * FILE_MAX_BYTES)
				return "larger than 1 GiB: not a policy";
			text = realloc(file->text, capacity);
			if (!text)
				return "out of memory";
			file->text = text;
		}
		n = read(fd, file->text + file->size, capacity - file->size - 1);
		file->size += n > 0 ? (size_t)n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0)
		return errno == EISDIR ? "Is a directory: name a file" : strerror(errno);
	file->text[file->size] = '\0';
	return NULL;
}

const char *policy_descriptor_load(int fd, const char *name, struct policy_file *out)
{
	struct policy_file file = {.name = name, .source.name = name};
	const char *error = descriptor_read(fd, &file);

	if (error)
		policy_file_clear(&file);
	else
		*out = file;
	return error;
}

int policy_descriptor_read(int fd, const char *name, struct policy_file *out)
{
	const char *error = policy_descriptor_load(fd, name, out);

	return error ? fail("%s: %s", name, error) : 0;
}

void policy_file_clear(struct policy_file *file)
{
	for (size_t i = 0; i < file->name_count; i++)
		free(file->names[i]);
	free(file->names);
	free(file->errors);
	free(file->source.pieces);
	free(file->text);
	free(file->found);
	memset(file, 0, sizeof(*file));
}

static void line_write(const char *line, void *file)
{
	fprintf(file, "%s\n", line);
}

char *policy_text(const struct policy *policy, const struct policy_context *ctx, size_t *size)
{
	char *text = NULL;
	FILE *file = memory_open(&text, size);

	policy_lines(policy, ctx, line_write, file);
	memory_close(file);
	return text;
}
