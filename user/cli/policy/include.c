// SPDX-License-Identifier: GPL-2.0-only
/* include FILE|DIR: the text of a policy and of all files that it includes becomes one text, and
 * pieces say which of its lines are whose. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_link.h"
#include "cli/cmd.h"

#define DEPTH_MAX 8
#define FILES_MAX 1000
#define BYTES_MAX (1u << 30) /* of all included files */
#define SUFFIX    ".policy"

/* A file that is being read, and the one that includes it. */
struct reading {
	const char *name, *folder; /* folder: "" or with a slash at its end */
	const struct reading *outer;
	unsigned int depth;
	struct stat stat;
};

struct expansion {
	struct policy_file *file;
	FILE *out;
	uint32_t line; /* of the text, that comes next */
	unsigned int files;
	uint64_t bytes; /* of these files */
	bool full;      /* no more of them */
};

/* An include statement in its line. */
struct include {
	const struct reading *in;
	char path[PATH_MAX]; /* from the current folder */
	struct policy_error err;
};

/* ---- errors and pieces */

__attribute__((format(printf, 2, 3))) static int refuse(struct include *include, const char *format,
							...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(include->err.text, sizeof(include->err.text), format, args);
	va_end(args);
	return -1;
}

static void piece_begin(struct expansion *e, const char *name, uint32_t line)
{
	struct policy_source *source = &e->file->source;
	struct policy_piece *more = xreallocarray(source->pieces, source->count + 1, sizeof(*more));

	source->pieces = more;
	more[source->count++] = (struct policy_piece){e->line, line, name};
}

static void folder_of(const char *path, char out[PATH_MAX])
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	snprintf(out, PATH_MAX, "%.*s", slash ? (int)(slash + 1 - path) : 0, path ? path : "");
}

/* ---- files */

/* The descriptor, or -1 with the error. */
static int include_open(struct include *include, struct stat *out)
{
	const char *path = include->path;
	const struct stat *by = &include->in->stat;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return refuse(include, "%s: %s", path, strerror(errno));
	if (fstat(fd, out))
		refuse(include, "%s: %s", path, strerror(errno));
	else if (link_is_foreign(path, out))
		refuse(include, "%s: symbolic link of another user: name the file itself", path);
	else if (S_ISREG(by->st_mode) && by->st_uid && by->st_uid != geteuid() &&
		 by->st_uid != out->st_uid && !(out->st_mode & S_IROTH))
		/* An error shows the line that it is in, so another user's policy includes only
		 * what its owner may read. */
		refuse(include,
		       "%s: the owner of the policy that includes it (uid %u) may not read it: name "
		       "another file, or take over the policy with `chown`",
		       path, (unsigned int)by->st_uid);
	else if (!S_ISREG(out->st_mode) && !S_ISDIR(out->st_mode))
		refuse(include, "%s: neither a file nor a directory", path);
	else
		return fd;
	close(fd);
	return -1;
}

/* One error of the sums is enough: `full` leaves out the includes that follow. */
static int file_check(struct expansion *e, struct include *include, const struct stat *stat)
{
	const struct reading *at = include->in;

	do {
		if (at->stat.st_dev == stat->st_dev && at->stat.st_ino == stat->st_ino)
			return refuse(include, "%s: includes itself: remove one of the includes",
				      include->path);
		at = at->outer;
	} while (at);
	if (include->in->depth == DEPTH_MAX)
		return refuse(include,
			      "%s: more than %d files include one another: include it "
			      "from an outer one",
			      include->path, DEPTH_MAX);
	e->full = e->files >= FILES_MAX || e->bytes + stat->st_size > BYTES_MAX;
	if (e->files >= FILES_MAX)
		return refuse(include, "%s: more than %d files are included: put them together",
			      include->path, FILES_MAX);
	if (e->full)
		return refuse(include, "%s: the included files have more than %u MiB: not policies",
			      include->path, BYTES_MAX >> 20);
	return 0;
}

static int lines_add(struct expansion *e, const struct reading *in, const char *text, size_t size);

/* 0, or -1 with the error. */
static int file_add(struct expansion *e, struct include *include, int fd, const struct stat *stat)
{
	struct reading in = {.outer = include->in, .depth = include->in->depth + 1, .stat = *stat};
	struct policy_file file = {0}, *all = e->file;
	char folder[PATH_MAX];
	const char *error;
	int rc = file_check(e, include, stat);

	if (rc)
		return rc;
	if (stat->st_mode & S_IWOTH)
		note("%s: every user may write to this policy: `chmod o-w %s`", include->path,
		     include->path);
	/* Names live as long as the file. */
	all->names = xreallocarray(all->names, all->name_count + 1, sizeof(*all->names));
	in.name = all->names[all->name_count++] = xstrdup(include->path);
	e->files++;
	error = policy_descriptor_load(fd, in.name, &file);
	if (error)
		return refuse(include, "%s: %s", include->path, error);
	e->bytes += file.size;
	folder_of(in.name, folder);
	in.folder = folder;
	piece_begin(e, in.name, 1);
	rc = lines_add(e, &in, file.text, file.size);
	policy_file_clear(&file);
	return rc;
}

static int path_add(struct expansion *e, struct include *include, bool may_be_folder);

static int is_policy(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name), suffix = strlen(SUFFIX);

	return entry->d_name[0] != '.' && len > suffix &&
	       !strcmp(entry->d_name + len - suffix, SUFFIX);
}

/* In the C locale's order, whatever the user's is. */
static int name_compare(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int folder_add(struct expansion *e, struct include *include, int fd)
{
	size_t len = strlen(include->path);
	bool slash = len && include->path[len - 1] == '/';
	struct dirent **entries;
	int count = scandirat(fd, ".", &entries, is_policy, name_compare), rc = 0;

	if (count < 0)
		return refuse(include, "%s: %s", include->path, strerror(errno));
	for (int i = 0; i < count; i++) {
		struct include one = *include;

		if (!rc && snprintf(one.path, sizeof(one.path), "%s%s%s", include->path,
				    slash ? "" : "/", entries[i]->d_name) >= PATH_MAX)
			rc = refuse(include, "%s", strerror(ENAMETOOLONG));
		else if (!rc && path_add(e, &one, false))
			rc = refuse(include, "%s", one.err.text);
		free(entries[i]);
	}
	free(entries);
	return rc;
}

static int path_add(struct expansion *e, struct include *include, bool may_be_folder)
{
	struct stat stat;
	int rc, fd = include_open(include, &stat);

	if (fd < 0)
		return -1;
	if (S_ISREG(stat.st_mode))
		rc = file_add(e, include, fd, &stat);
	else if (may_be_folder)
		rc = folder_add(e, include, fd);
	else
		rc = refuse(include, "%s: a directory in a directory: include it by itself",
			    include->path);
	close(fd);
	return rc;
}

/* ---- lines */

#define BLANKS " \t\r" /* a line has no other */

/* Is the line an include statement? Then *path is its argument. 1, 0, or -1 with the error. */
static int include_parse(struct include *include, const char *line, const char *end,
			 const char **path, size_t *len)
{
	const char *at = line + strspn(line, BLANKS), *rest;

	if (strcspn(at, BLANKS "\n#") != strlen("include") ||
	    strncmp(at, "include", strlen("include")))
		return 0;
	include->err.column = at - line + 1;
	at += strlen("include");
	*path = at + strspn(at, BLANKS);
	*len = strcspn(*path, BLANKS "\n#");
	if (!*len)
		return refuse(include, "\"include\" must be followed by a file or a directory");
	rest = *path + *len;
	rest += strspn(rest, BLANKS);
	if (rest < end && *rest != '#') {
		include->err.column = rest - line + 1;
		return refuse(include, "include takes one file or directory, without blanks in its "
				       "name: write one include per line");
	}
	include->err.column = *path - line + 1;
	return 1;
}

/* 1 if the files that it includes took the place of the line. */
static int include_line(struct expansion *e, const struct reading *in, const char *line,
			const char *end)
{
	struct include include = {.in = in};
	struct policy_file *file = e->file;
	const char *path;
	size_t len;
	int rc = include_parse(&include, line, end, &path, &len);

	if (!rc)
		return 0;
	if (e->full)
		return 1;
	if (rc > 0 && snprintf(include.path, PATH_MAX, "%s%.*s", *path == '/' ? "" : in->folder,
			       (int)len, path) >= PATH_MAX)
		rc = refuse(&include, "%s", strerror(ENAMETOOLONG));
	if (rc > 0)
		rc = path_add(e, &include, true);
	if (!rc)
		return 1;
	file->errors = xreallocarray(file->errors, file->error_count + 1, sizeof(*file->errors));
	include.err.line = e->line;
	file->errors[file->error_count++] = include.err;
	return -1;
}

static int lines_add(struct expansion *e, const struct reading *in, const char *text, size_t size)
{
	const char *end = text + size;
	uint32_t number = 0;

	for (const char *line = text, *next; line < end; line = next) {
		const char *newline = memchr(line, '\n', end - line);
		int included;

		next = newline ? newline + 1 : end;
		number++;
		included = include_line(e, in, line, newline ? newline : end);
		if (included > 0) {
			piece_begin(e, in->name, number + 1);
			continue;
		}
		if (included < 0)
			piece_begin(e, in->name, number);
		fwrite(line, 1, next - line, e->out);
		if (!newline)
			putc('\n', e->out);
		e->line++;
	}
	return 0;
}

int includes_expand(struct policy_file *file, int fd, const char *path)
{
	struct expansion e = {.file = file, .line = 1};
	char folder[PATH_MAX], *text = NULL;
	struct reading in = {.name = file->name, .folder = folder};
	size_t size = 0;

	if (!memmem(file->text, file->size, "include", strlen("include")))
		return 0;
	if (fstat(fd, &in.stat))
		return fail("%s: %s", file->name, strerror(errno));
	folder_of(path, folder);
	e.out = memory_open(&text, &size);
	lines_add(&e, &in, file->text, file->size);
	memory_close(e.out);
	free(file->text);
	file->text = text;
	file->size = size;
	return 0;
}
