/* SPDX-License-Identifier: GPL-2.0-only */
/* Pins: folders, locks, pinned maps. */
#ifndef RLCTL_PINS_H
#define RLCTL_PINS_H

#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "instance_maps.h"
#include "rlctl_abi.h"

#define TRIAL_FOLDER "trial" /* among the pins, while a trial runs */

/* <bpffs>/rlctl/<netns inode>, of a bpffs that is ensured. Pins of a device that was renamed follow
 * it. Reports. */
int pins_root(const char *bpffs, bool make, char out[INSTANCE_PATH_MAX]);
int pins_path(const char *root, const char *device, enum rl_hook hook, char out[INSTANCE_PATH_MAX]);

/* What to do about that error with a path; empty where nothing is known. */
const char *pins_remedy(int error);

#define PINS_FOREIGN                                                                \
	EKEYREJECTED /* the folder of all pins is not root's, nor this user's alone \
		      */

/* The folder's descriptor. Here and below nothing is reached by way of a symbolic link: -ELOOP. */
int pins_folder_open(const char *path);
/* The same, to list it. */
int pins_dir_open(const char *path, DIR **out);

/* The map, or what else is pinned there; read-only but for `write`. */
int pin_open(int folder, const char *name, bool write);
int pin_open_at(const char *path, const char *name, bool write);

/* Makes the folder if `create`, and locks it; returns its descriptor. -ENOENT without report when
 * there is none. Two writers wait for one another. */
int pins_lock(const char *path, bool create);

/* Opens every map below path, read-only but for `write`. -ENOENT without report when one is
 * missing.
 */
int pins_open(const char *path, bool write, struct instance_maps *out);

/* The id of the policy's map, by which an instance of any version is known. -ENOENT without report
 * when it is not there. */
int pins_policy_id(const char *path, uint32_t *out);
void maps_close(struct instance_maps *maps);

/* Unlinks the pins and leaves the folder; what is not there is no error. Silent. */
int pins_clear(const char *path);

/* Removes the folder, which is locked, and the namespace's if they are empty. Silent. */
int folders_leave(const char *path);

/* Unlinks the pins and the folder, and the namespace's folder if it is empty then. Silent. */
int pins_remove(const char *path);

/* Takes "<device>-<hook>" apart. */
bool pins_name_split(const char *name, char device[IF_NAMESIZE], enum rl_hook *hook);

/* Removes what a trial keeps among the pins. Silent. */
void trial_clear(const char *path);

#endif
