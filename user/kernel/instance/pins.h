/* SPDX-License-Identifier: GPL-2.0-only */
/* The pin directories of instances: paths, locks, opening and removing pins. */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "kernel/instance/instance_maps.h"
#include "rlctl_abi.h"

#define PINS_FOLDER      "rlctl"     /* in the bpffs */
#define TRIAL_FOLDER     "trial"     /* in the pin directory, while a trial runs */
#define COMPANION_FOLDER "companion" /* with the link of the program at egress (companion.h) */

/* <bpffs>/rlctl/<netns inode>, after checking or mounting the bpffs. Reports. */
int pins_root(const char *bpffs, bool make, char out[INSTANCE_PATH_MAX]);
int pins_path(const char *root, const char *device, enum rl_hook hook, char out[INSTANCE_PATH_MAX]);

/* Remedy to append to an error message about a path; "" if there is none. */
const char *pins_error_hint(int error);

/* The directory of all pins belongs to another user, or others may write to it. */
#define PINS_FOREIGN EKEYREJECTED

/* 0, or -PINS_FOREIGN: it is such a directory. */
int folder_owner_check(int folder);
/* Whether that of a bpffs is one. */
bool pins_are_foreign(const char *bpffs);

/* Descriptor of the directory: O_PATH for names in it, O_RDONLY for readdir() or flock(). No
 * symbolic link below the bpffs is followed: -ELOOP. */
int pins_folder_open(const char *path, int flags);
/* The second, for readdir(). */
int pins_dir_open(const char *path, DIR **out);

/* The pinned object; read-only unless `write`. */
int pin_open(int folder, const char *name, bool write);
int pin_open_at(const char *path, const char *name, bool write);
/* By this name in the directory; those of whom its group may read: group_pin(). */
int pin_make(const char *path, const char *name, int fd);
void pin_remove(const char *path, const char *name);

/* Locks are those of directories that others may search but not read: whoever may open a directory
 * for reading can lock it.
 *
 * pins_lock() creates the directory if `create`, and waits for its lock. Returns the descriptor;
 * -ETIMEDOUT after lock_wait()'s report; -ENOENT without a report if it does not exist. Until
 * pins_unlock() messages are held. */
int pins_lock(const char *path, bool create);
int pins_lock_within(const char *path, bool create, unsigned int wait_ms);
/* The lock of all instances on the bpffs of this path, for what they share. */
int pins_lock_all(const char *path, unsigned int wait_ms);
void pins_unlock(int lock); /* nothing if it is negative */

/* The id of the policy map, which identifies an instance of any version. -ENOENT without a report
 * if it does not exist. */
int pins_policy_id(const char *path, uint32_t *out);

/* Does the path still name the open directory? */
bool folder_is(int fd, const char *path);

/* Unlinks the pins but keeps the directory; missing pins are no error. Silent. */
int pins_clear(const char *path);

/* Removes the locked directory, and the namespace's directory if it is empty. Silent. */
int folders_remove(const char *path);

/* pins_clear and folders_remove. Silent. */
int pins_remove(const char *path);

/* Splits "<device>-<hook>". */
bool pins_name_split(const char *name, char device[IF_NAMESIZE], enum rl_hook *hook);

/* The next instance in a directory of a network namespace, `root`; false after the last. */
struct pinned {
	char device[IF_NAMESIZE];
	enum rl_hook hook;
	char path[INSTANCE_PATH_MAX];
};
bool pins_next(DIR *dir, const char *root, struct pinned *out);
/* The directory of the next network namespace, of those in `all`; false after the last. */
bool pins_netns_next(DIR *dir, const char *all, char out[INSTANCE_PATH_MAX + 32]);
/* The directory that is so many levels above the path: BPFFS/rlctl/NETNS/DEVICE-HOOK. */
#define PINS_LEVELS 3
void pins_parent(const char *path, int levels, char out[INSTANCE_PATH_MAX]);

/* Removes the directory of that name among the pins, of a trial or a companion. Silent. */
int folder_clear(const char *path, const char *name);
