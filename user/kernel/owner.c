// SPDX-License-Identifier: GPL-2.0-only
/* What attach notes of its program: a small map of its own among the pins. The kernel names
 * programs by numbers, and only CAP_SYS_ADMIN may look behind them; with the note, whoever may read
 * the pins can tell whether the program that a device names is ours.
 */

#include "owner.h"

#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "instance.h"
#include "message.h"
#include "pins.h"

#define NOTE_PIN "program"

static int note_put(int fd, const struct program_note *note)
{
	uint32_t zero = 0;

	return bpf_map_update_elem(fd, &zero, note, BPF_ANY) ? -errno : 0;
}

int program_note_make(const char *path, const struct rl_instance *info)
{
	struct program_note note = {.mode = info->mode};
	char pin[INSTANCE_PATH_MAX + 32];
	int ret, fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rlctl_program", sizeof(uint32_t),
				     sizeof(struct program_note), 1, NULL);

	if (fd < 0)
		return -errno;
	snprintf(pin, sizeof(pin), "%s/" NOTE_PIN, path);
	ret = note_put(fd, &note);
	if (!ret && bpf_obj_pin(fd, pin))
		ret = -errno;
	close(fd);
	return ret;
}

int program_note_write(const char *path, const struct rl_instance *info, uint32_t program)
{
	struct program_note note = {.program = program, .on_device = program, .mode = info->mode};
	int fd = pin_open_at(path, NOTE_PIN, true), ret;

	if (fd < 0)
		return fd;
	if (info->mode != RL_MODE_TC && bpf_xdp_query_id(info->ifindex, 0, &note.on_device))
		note.on_device = 0;
	ret = note_put(fd, &note);
	close(fd);
	return ret;
}

static int note_read(const char *path, struct program_note *out)
{
	uint32_t zero = 0;
	int fd = pin_open_at(path, NOTE_PIN, false), ret;

	if (fd < 0)
		return fd;
	*out = (struct program_note){0}; /* other versions noted less */
	ret = bpf_map_lookup_elem(fd, &zero, out) ? -errno : 0;
	close(fd);
	return ret;
}

/* The note is the last pin that goes: where the others are still there, none was made. */
int program_note_read(const char *path, struct program_note *out)
{
	int ret = note_read(path, out);
	uint32_t policy;

	if (ret != -ENOENT)
		return ret;
	ret = pins_policy_id(path, &policy);
	return ret ? ret : -EPROTO;
}

int program_note_check(const char *path)
{
	struct program_note note;

	return program_note_read(path, &note);
}
