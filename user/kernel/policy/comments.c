// SPDX-License-Identifier: GPL-2.0-only
/* The comments of the policy in force. They are written before the rules that name them and removed
 * after these; ids are never used twice, so a reader finds the right comment or none. */

#include "kernel/policy/comments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kernel/instance/group.h"
#include "kernel/instance/pins.h"

#define PIN          "comments"
#define COMMENTS_MAX (1u << 24) /* takes no memory; more than any policy has rules */
#define ID_BITS      32

static bool has_comments(const struct policy *policy)
{
	policy_for_each (policy, rule)
		if (rule->comment_id)
			return true;
	return false;
}

/* Instances without pins, as of simulations, have no comments. */
static int map_open(const struct instance *instance, bool write)
{
	return has_pins(instance) ? pin_open_at(instance->path, PIN, write) : -ENOENT;
}

static struct rl_comment_key key_of(uint32_t id)
{
	return (struct rl_comment_key){.len = ID_BITS, .id = id};
}

/* ---- reading */

static int comment_read(int fd, struct rule *rule)
{
	struct rl_comment_key key = key_of(rule->comment_id);
	struct rl_comment comment;

	if (bpf_map_lookup_elem(fd, &key, &comment))
		return errno == ENOENT ? 1 : -errno;
	comment_set(rule, comment.text, comment.text + strnlen(comment.text, sizeof(comment.text)));
	return 0;
}

int comments_read(const struct instance *instance, struct policy *policy)
{
	int fd, ret = 0;

	if (!has_comments(policy))
		return 0;
	fd = map_open(instance, !instance->read_only);
	if (fd < 0)
		return fd == -ENOENT ? 1 : fd;
	policy_for_each (policy, rule) {
		int one = rule->comment_id ? comment_read(fd, rule) : 0;

		if (one && ret >= 0)
			ret = one;
	}
	close(fd);
	return ret;
}

/* The map's own figure is that of a full one before Linux 6.4. */
int comments_memory_add(const struct instance *instance, uint64_t *sum)
{
	struct rl_comment_key key, *last = NULL;
	int fd = map_open(instance, false);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	for (; !bpf_map_get_next_key(fd, last, &key); last = &key)
		*sum += sizeof(struct rl_comment_key) + sizeof(struct rl_comment);
	close(fd);
	return 0;
}

/* ---- writing */

static void pin_path(const struct instance *instance, char out[INSTANCE_PATH_MAX + 16])
{
	snprintf(out, INSTANCE_PATH_MAX + 16, "%s/" PIN, instance->path);
}

static void map_remove(const struct instance *instance)
{
	char path[INSTANCE_PATH_MAX + 16];

	pin_path(instance, path);
	if (has_pins(instance))
		unlink(path);
}

static int map_make(const struct instance *instance)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	char path[INSTANCE_PATH_MAX + 16];
	int ret, fd = map_open(instance, true);

	if (fd != -ENOENT)
		return fd;
	fd = bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, "rlctl_comments", sizeof(struct rl_comment_key),
			    sizeof(struct rl_comment), COMMENTS_MAX, &opts);
	if (fd < 0)
		return -errno;
	pin_path(instance, path);
	ret = bpf_obj_pin(fd, path) ? -errno : group_inherit(instance->path, PIN);
	if (!ret)
		return fd;
	unlink(path);
	close(fd);
	return ret;
}

int comments_write(const struct instance *instance, const struct policy *next)
{
	int fd, ret = 0;

	if (!has_pins(instance) || !has_comments(next))
		return 0;
	fd = map_make(instance);
	if (fd < 0)
		return fd;
	policy_for_each (next, rule) {
		struct rl_comment_key key = key_of(rule->comment_id);
		struct rl_comment comment = {0};

		if (ret || !rule->comment_id)
			continue;
		memcpy(comment.text, rule->comment, sizeof(rule->comment));
		ret = bpf_map_update_elem(fd, &key, &comment, BPF_ANY) ? -errno : 0;
	}
	close(fd);
	return ret;
}

/* ---- removing; a comment that cannot be removed is not in force, so that is no error */

static int id_compare(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

struct ids {
	uint32_t *list; /* sorted; to be freed */
	size_t count;
};

static int ids_read(const struct policy *policy, struct ids *out)
{
	*out = (struct ids){.list = calloc(policy->count + 1, sizeof(*out->list))};
	if (!out->list)
		return -ENOMEM;
	policy_for_each (policy, rule)
		if (rule->comment_id)
			out->list[out->count++] = rule->comment_id;
	qsort(out->list, out->count, sizeof(*out->list), id_compare);
	return 0;
}

/* Deletes every element but those of `kept`. */
static void others_delete(int fd, const struct ids *kept)
{
	struct rl_comment_key key, next;
	int end = bpf_map_get_next_key(fd, NULL, &key);

	for (; !end; key = next) {
		end = bpf_map_get_next_key(fd, &key, &next);
		if (!bsearch(&key.id, kept->list, kept->count, sizeof(*kept->list), id_compare))
			bpf_map_delete_elem(fd, &key);
	}
}

void comments_trim(const struct instance *instance, const struct policy *in_force)
{
	struct ids kept;
	int fd;

	if (!has_comments(in_force)) {
		map_remove(instance);
		return;
	}
	fd = map_open(instance, true);
	if (fd < 0 || ids_read(in_force, &kept))
		goto out;
	others_delete(fd, &kept);
	free(kept.list);
out:
	if (fd >= 0)
		close(fd);
}

void comments_remove(const struct instance *instance, const struct policy *replaced,
		     const struct policy *next)
{
	struct rl_comment_key key;
	struct ids kept;
	int fd;

	if (!has_comments(replaced) || ids_read(next, &kept))
		return;
	fd = map_open(instance, true);
	policy_for_each (replaced, rule) {
		key = key_of(rule->comment_id);
		if (fd >= 0 && key.id &&
		    !bsearch(&key.id, kept.list, kept.count, sizeof(*kept.list), id_compare))
			bpf_map_delete_elem(fd, &key);
	}
	free(kept.list);
	if (fd < 0)
		return;
	if (bpf_map_get_next_key(fd, NULL, &key) && errno == ENOENT)
		map_remove(instance);
	close(fd);
}
