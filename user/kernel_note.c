// SPDX-License-Identifier: GPL-2.0-only
/* What attach notes of its program: a small map of its own among the pins. The kernel names
 * programs by numbers, and only CAP_SYS_ADMIN may look behind them; with the note, whoever may read
 * the pins can tell whether the program that a device names is ours.
 */
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kernel_internal.h"

#define NOTE_PIN "program"

/* The numbers are zero while attach is under way, or where it was killed before it could write:
 * then what the device names is taken for the program. A number that could not be asked for is 0,
 * too. */
struct program_note {
	uint32_t program;
	uint32_t on_device; /* xdp: what the device names, the program or a dispatcher before it */
	uint32_t mode;      /* enum rl_mode */
};

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

uint32_t program_id(int fd)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &size) ? 0 : info.id;
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
static int noted(const char *path, struct program_note *out)
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

	return noted(path, &note);
}

/* Behind a dispatcher that others have exchanged since, or where nothing could be noted, any
 * program may be ours: what lives is not called gone. */
static bool may_be_ours(const struct program_note *note, uint32_t on_device)
{
	return on_device &&
	       (on_device == note->on_device || note->on_device != note->program || !note->program);
}

static int xdp_noted(const char *device, const struct program_note *note,
		     struct device_program *out)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);
	int ifindex = device_index(device);
	int ret = ifindex < 0 ? ifindex : bpf_xdp_query(ifindex, 0, &query);

	if (ret)
		return ret == -ENODEV ? -ENOENT : ret;
	if (!may_be_ours(note, query.prog_id))
		return -ENOENT;
	*out = (struct device_program){
		.id = note->program ?: query.prog_id,
		.mode = query.attach_mode == XDP_ATTACHED_DRV ? RL_MODE_NATIVE : RL_MODE_GENERIC};
	return 0;
}

int program_noted(const char *path, const char *device, enum rl_hook hook,
		  struct device_program *out)
{
	struct program_note note;
	int ret = noted(path, &note);

	if (ret)
		return ret;
	if (hook == RL_HOOK_XDP && note.mode != RL_MODE_TC)
		return xdp_noted(device, &note, out);
	ret = tc_program_noted(path, device, hook, note.program, out);
	out->mode = RL_MODE_TC;
	return ret;
}
