// SPDX-License-Identifier: GPL-2.0-only
#include "base/file_link.h"

#include <unistd.h>

bool link_is_foreign(const char *path, const struct stat *file)
{
	struct stat link;

	return !lstat(path, &link) && S_ISLNK(link.st_mode) && link.st_uid &&
	       link.st_uid != geteuid() && link.st_uid != file->st_uid;
}
