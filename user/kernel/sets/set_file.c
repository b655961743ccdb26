// SPDX-License-Identifier: GPL-2.0-only
/* Files are read into memory at once: a mapping of one that shrinks would end this process. A file
 * that changes meanwhile is read again, and one that keeps changing is left alone.
 */
#include "kernel/sets/set_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file_link.h"
#include "base/text.h"
#include "base/units.h"
#include "kernel/scope.h"
#include "policy/sets/member_file.h"

#define TRIES         5
#define DATABASE_SIZE (1ull << 30)
#define SETTLE_NS \
	(50 * NS_PER_MS) /* a file that was written to so lately may be written to again */

static struct set_stamp stamp_of(const struct rl_set_words *words, const struct stat *file)
{
	uint64_t of = text_hash(
		words->pick, text_hash(words->path, words->shortest[0] | words->shortest[1] << 8));
	uint64_t taken = of ^ file->st_dev ^ words->timeout_ns;

	return (struct set_stamp){
		.time_ns = (uint64_t)file->st_mtim.tv_sec * NS_PER_SECOND +
			   (uint64_t)file->st_mtim.tv_nsec,
		.size = file->st_size,
		.inode = file->st_ino ^ taken << 20,
		.words = of ^ of >> 32,
	};
}

int set_stamp_get(const struct rl_set_words *words, struct set_stamp *out)
{
	struct stat file;

	if (stat(words->path, &file))
		return -errno;
	*out = stamp_of(words, &file);
	return 0;
}

/* All of it. -ESTALE: it has become shorter. */
static int text_read(int fd, char *text, size_t size)
{
	size_t at = 0;

	while (at < size) {
		ssize_t n = pread(fd, text + at, size - at, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ESTALE;
		at += n;
	}
	return 0;
}

/* Is it the same file, unchanged, and has been so for a moment? */
static bool is_settled(const struct rl_set_words *words, const struct set_stamp *before)
{
	uint64_t now = clock_ns(CLOCK_REALTIME);
	struct set_stamp after = {0};

	return !set_stamp_get(words, &after) && after.inode == before->inode &&
	       after.size == before->size && after.time_ns == before->time_ns &&
	       (now < before->time_ns || now - before->time_ns >= SETTLE_NS);
}

/* Once. -ESTALE: it was changed meanwhile. */
static int file_read(const struct rl_set_words *words, uint64_t size_max, char **text,
		     struct set_stamp *stamp)
{
	CLOSED int fd = open(words->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat file = {0};
	int ret = fd < 0 || fstat(fd, &file) ? -errno : 0;

	*text = NULL;
	if (!ret && !S_ISREG(file.st_mode))
		ret = -EINVAL;
	if (!ret && (uint64_t)file.st_size > size_max)
		ret = -EFBIG;
	if (!ret && link_is_foreign(words->path, &file))
		ret = -ELOOP;
	if (ret)
		return ret;
	*stamp = stamp_of(words, &file);
	*text = malloc(stamp->size + 1);
	ret = *text ? text_read(fd, *text, stamp->size) : -ENOMEM;
	if (!ret && !is_settled(words, stamp))
		ret = -ESTALE;
	if (ret) {
		free(*text);
		*text = NULL;
	}
	return ret;
}

static const char *why_not(int error, uint64_t size_max)
{
	static char text[160];

	switch (error) {
	case -ESTALE:
		return "it keeps changing: write a new file beside it, then rename that";
	case -EINVAL:
		return "it is not a file";
	case -ELOOP:
		return "symbolic link of another user to a file that is not theirs, or too many "
		       "links: name the file itself";
	case -EFBIG:
		snprintf(text, sizeof(text),
			 "it is larger than %llu MiB, so much can no set of this max hold",
			 (unsigned long long)size_max >> 20);
		return text;
	default:
		return strerror(-error);
	}
}

const char *set_file_read(const struct rl_set_words *words, char **text, struct set_stamp *stamp)
{
	const struct timespec pause = {.tv_nsec = SETTLE_NS};
	uint64_t size_max =
		words->source == RL_SET_MMDB ? DATABASE_SIZE : MEMBER_FILE_SIZE(words->max);
	int ret = -ESTALE;

	for (int i = 0; ret == -ESTALE && i < TRIES; i++) {
		if (i)
			nanosleep(&pause, NULL);
		ret = file_read(words, size_max, text, stamp);
	}
	return ret ? why_not(ret, size_max) : NULL;
}
