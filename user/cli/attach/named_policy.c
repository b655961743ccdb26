// SPDX-License-Identifier: GPL-2.0-only
/* Policies by name: those that come with rlctl, as files NAME.policy of one folder. */
#include "cli/attach/named_policy.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/message.h"
#include "cli/output/output.h"

#define SUFFIX     ".policy"
#define TITLE_MAX  128
#define LINES_MAX  8 /* of a file in which its title is looked for */
#define NAME_CHARS "abcdefghijklmnopqrstuvwxyz0123456789-"

/* From the folder of the program: of the tree that it was built in, and of its installation; then
 * where packages install it. */
static const char *const folders[] = {"../policies", "../share/rlctl/policies",
				      "/usr/share/rlctl/policies",
				      "/usr/local/share/rlctl/policies"};

static bool folder_find(char out[PATH_MAX])
{
	char program[PATH_MAX], path[2 * PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	struct stat file;
	char *slash;
	bool build;

	/* The folder of this program, with a slash at its end; "" if it cannot be known. */
	program[len < 0 ? 0 : len] = '\0';
	slash = strrchr(program, '/');
	if (slash)
		slash[1] = '\0';
	/* Only the folder that is called build has the tree's beside it: /usr/policies is none of
	 * ours. */
	len = (ssize_t)(strlen(program) - strlen("/build/"));
	build = len >= 0 && !strcmp(program + len, "/build/");
	for (size_t i = build ? 0 : 1; i < sizeof(folders) / sizeof(folders[0]); i++) {
		if (folders[i][0] != '/' && !program[0])
			continue;
		snprintf(path, sizeof(path), "%s%s", folders[i][0] == '/' ? "" : program,
			 folders[i]);
		if (!stat(path, &file) && S_ISDIR(file.st_mode) && realpath(path, out))
			return true;
	}
	return false;
}

/* The text of the first comment but that of the license. */
static char *title_read(const char *path)
{
	char line[TITLE_MAX] = "", *title = NULL;
	FILE *file = fopen(path, "re");

	for (int i = 0; file && !title && i < LINES_MAX && fgets(line, sizeof(line), file); i++) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "# ", 2) && !strstr(line, "SPDX-"))
			title = strdup(line + 2);
	}
	if (file)
		fclose(file);
	if (!title)
		title = xstrdup("");
	return title;
}

static int is_policy(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name), suffix = strlen(SUFFIX);

	return len > suffix && !strcmp(entry->d_name + len - suffix, SUFFIX) &&
	       strspn(entry->d_name, NAME_CHARS) == len - suffix;
}

void policy_names_read(struct policy_names *out)
{
	struct dirent **entries = NULL;
	char folder[PATH_MAX];
	int count = folder_find(folder) ? scandir(folder, &entries, is_policy, alphasort) : 0;

	*out = (struct policy_names){0};
	out->list = xcalloc(count > 0 ? count : 1, sizeof(*out->list));
	for (int i = 0; i < count; i++) {
		struct policy_name *name = &out->list[out->count++];
		const char *file = entries[i]->d_name;

		name->name = strndup(file, strlen(file) - strlen(SUFFIX));
		if (!name->name || asprintf(&name->path, "%s/%s", folder, file) < 0)
			out_of_memory();
		name->title = title_read(name->path);
		free(entries[i]);
	}
	free(entries);
}

void policy_names_clear(struct policy_names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		free(names->list[i].name);
		free(names->list[i].title);
		free(names->list[i].path);
	}
	free(names->list);
	*names = (struct policy_names){0};
}

const struct policy_name *policy_names_find(const struct policy_names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (!strcmp(names->list[i].name, name))
			return &names->list[i];
	return NULL;
}

bool policy_name_possible(const char *word)
{
	return word[0] && !word[strspn(word, NAME_CHARS)] && strcmp(word, "-") != 0;
}

int policy_unknown(const char *word, const char *what, const struct policy_names *names)
{
	char *text = NULL;
	size_t size;
	FILE *out = memory_open(&text, &size);

	for (size_t i = 0; i < names->count; i++)
		fprintf(out, "%s%s", i ? ", " : "", names->list[i].name);
	memory_close(out);
	fail("%s: %s%s%s%s", word, what, names->count ? " (" : "", text, names->count ? ")" : "");
	free(text);
	return -1;
}

char *policy_name_path(const char *name)
{
	const struct policy_name *found;
	struct policy_names names;
	char *path = NULL;

	policy_names_read(&names);
	found = policy_names_find(&names, name);
	if (!found)
		policy_unknown(name,
			       names.count ? "No such file or directory, and no policy of that name"
					   : "No such file or directory",
			       &names);
	else
		path = xstrdup(found->path);
	policy_names_clear(&names);
	return path;
}
