// SPDX-License-Identifier: GPL-2.0-only
/* Keeps journals on a disk: what is in memory moves there. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "cli/events/journal.h"
#include "cli/events/journal_place.h"
#include "kernel/instance/pins.h"

/* 0 or -errno: then it stays. */
static int file_move(int from_folder, const char *from_name, int to_folder, const char *to_name)
{
	int from = openat(from_folder, from_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int to = from < 0 ? -1
			  : openat(to_folder, to_name,
				   O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int ret = to < 0 ? -errno : 0;
	char bytes[16384];
	ssize_t count;

	while (!ret && (count = read(from, bytes, sizeof(bytes))) > 0)
		ret = write(to, bytes, (size_t)count) == count ? 0 : -EIO;
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	return ret ? ret : unlinkat(from_folder, from_name, 0) ? -errno : 0;
}

/* Former files and the others go into one: their lines have times. */
static int files_move(DIR *run, int kept)
{
	struct journal_name name;
	struct dirent *entry;
	int ret = 0;

	while (!ret && (entry = readdir(run)))
		if (journal_name_split(entry->d_name, &name))
			ret = file_move(dirfd(run), entry->d_name, kept, name.current);
	return ret;
}

int journal_keep_in(const struct target *target, const char *folder)
{
	char root[INSTANCE_PATH_MAX], run[JOURNAL_PATH_MAX];
	int kept = -1, ret = pins_root(target->bpffs, false, root);
	DIR *dir = NULL;

	if (ret)
		return ret;
	ret = journal_keep(root, folder);
	if (!ret)
		ret = journal_folder(root, run);
	if (!ret)
		kept = open(folder, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (!ret)
		dir = opendir(run);
	if (!ret)
		ret = kept < 0 || !dir ? -errno : files_move(dir, kept);
	if (kept >= 0)
		close(kept);
	if (dir)
		closedir(dir);
	return ret ? fail("events: keeping events in %s failed: %s", folder, strerror(-ret)) : 0;
}
