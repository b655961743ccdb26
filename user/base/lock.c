// SPDX-License-Identifier: GPL-2.0-only
/* The lock is asked for again and again, as a call of flock() that waits has no bound.
 */
#include "base/lock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/units.h"

#define PAUSE_US   5000
#define HOLDER_MAX 128

/* The process that took the lock, proc_locks(5); 0 if it is not seen from here. */
static int holder_find(int fd)
{
	unsigned int major, minor;
	struct stat file;
	char line[256];
	int pid, found = 0;
	uint64_t inode;
	FILE *locks;

	if (fstat(fd, &file))
		return 0;
	locks = fopen("/proc/locks", "re");
	while (locks && !found && fgets(line, sizeof(line), locks))
		if (sscanf(line, "%*d: FLOCK %*s %*s %d %x:%x:%" SCNu64, &pid, &major, &minor,
			   &inode) == 4 &&
		    inode == file.st_ino && makedev(major, minor) == file.st_dev && pid > 0)
			found = pid;
	if (locks)
		fclose(locks);
	return found;
}

/* "process 123 (rlctl set restore -)" */
static void holder_print(int fd, char out[HOLDER_MAX])
{
	char path[32], words[HOLDER_MAX - 32] = "";
	int pid = holder_find(fd);
	size_t size = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	file = pid ? fopen(path, "re") : NULL;
	if (file) {
		size = fread(words, 1, sizeof(words) - 1, file);
		fclose(file);
	}
	for (size_t i = 0; i + 1 < size; i++)
		words[i] = words[i] ? words[i] : ' ';
	if (!pid)
		snprintf(out, HOLDER_MAX, "a process that is not seen from here");
	else
		snprintf(out, HOLDER_MAX, "process %d (%s)", pid,
			 size ? words : "ended, but a child of it holds the lock");
}

int lock_wait(int fd, const char *path, unsigned int wait_ms)
{
	uint64_t began = clock_ns(CLOCK_MONOTONIC), waited_ms;
	bool silent = wait_ms <= LOCK_WORD_MS, said = silent;
	char holder[HOLDER_MAX];
	int ret;

	while ((ret = flock(fd, LOCK_EX | LOCK_NB) ? -errno : 0) == -EWOULDBLOCK) {
		waited_ms = (clock_ns(CLOCK_MONOTONIC) - began) / NS_PER_MS;
		if (waited_ms >= wait_ms)
			break;
		if (!said && waited_ms >= LOCK_WORD_MS) {
			holder_print(fd, holder);
			note("%s: locked by %s: waiting up to %u s", path, holder, wait_ms / 1000);
			said = true;
		}
		usleep(PAUSE_US);
	}
	if (ret != -EWOULDBLOCK)
		return ret;
	if (silent)
		return -ETIMEDOUT;
	holder_print(fd, holder);
	fail("%s: still locked after %u s by %s: end that process or wait for it, then try again",
	     path, wait_ms / 1000, holder);
	return -ETIMEDOUT;
}
