// SPDX-License-Identifier: GPL-2.0-only
/* The comments of the policy in force. They are written before the rules that name them and removed
 * after these; ids are never used twice, so a reader finds the right comment or none. */

#include "kernel/policy/comments.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "kernel/instance/group.h"
#include "kernel/instance/pins.h"
#include "kernel/scope.h"

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

int comments_read(const struct instance *instance, struct policy *policy)
{
	int ret = 0;

	if (!has_comments(policy))
		return 0;
	CLOSED int fd = map_open(instance, !instance->read_only);
	if (fd < 0)
		return fd == -ENOENT ? 1 : fd;
	policy_for_each (policy, rule) {
		struct rl_comment_key key = key_of(rule->comment_id);
		struct rl_comment comment;
		int one = key.id ? bpf_map_lookup_elem(fd, &key, &comment) : -ENOENT;

		if (!one)
			comment_set(rule, comment.text,
				    comment.text + strnlen(comment.text, sizeof(comment.text)));
		else if (key.id && ret >= 0)
			ret = one == -ENOENT ? 1 : one;
	}
	return ret;
}

/* The map's own figure is that of a full one before Linux 6.4. */
int comments_memory_add(const struct instance *instance, uint64_t *sum)
{
	struct rl_comment_key key, *last = NULL;
	CLOSED int fd = map_open(instance, false);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	for (; !bpf_map_get_next_key(fd, last, &key); last = &key)
		*sum += sizeof(struct rl_comment_key) + sizeof(struct rl_comment);
	return 0;
}

/* ---- writing */

static int map_make(const struct instance *instance)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	int ret, fd = map_open(instance, true);

	if (fd != -ENOENT)
		return fd;
	fd = bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, "rlctl_comments", sizeof(struct rl_comment_key),
			    sizeof(struct rl_comment), COMMENTS_MAX, &opts);
	ret = fd < 0 ? fd : group_pin(instance->path, PIN, fd);
	if (ret)
		scope_fd(&fd);
	return ret ? ret : fd;
}

int comments_write(const struct instance *instance, const struct policy *next)
{
	int ret = 0;

	if (!has_pins(instance) || !has_comments(next))
		return 0;
	CLOSED int fd = map_make(instance);
	if (fd < 0)
		return fd;
	policy_for_each (next, rule) {
		struct rl_comment_key key = key_of(rule->comment_id);
		struct rl_comment comment = {0};

		if (ret || !rule->comment_id)
			continue;
		memcpy(comment.text, rule->comment, sizeof(rule->comment));
		ret = bpf_map_update_elem(fd, &key, &comment, BPF_ANY);
	}
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

static bool is_kept(const struct ids *kept, uint32_t id)
{
	return bsearch(&id, kept->list, kept->count, sizeof(*kept->list), id_compare);
}

/* Deletes every element but those of `kept`. */
static void others_delete(int fd, const struct ids *kept)
{
	struct rl_comment_key key, next;
	int end = bpf_map_get_next_key(fd, NULL, &key);

	for (; !end; key = next) {
		end = bpf_map_get_next_key(fd, &key, &next);
		if (!is_kept(kept, key.id))
			bpf_map_delete_elem(fd, &key);
	}
}

void comments_trim(const struct instance *instance, const struct policy *in_force)
{
	struct ids kept;

	if (!has_pins(instance))
		return;
	if (!has_comments(in_force))
		return pin_remove(instance->path, PIN);
	CLOSED int fd = map_open(instance, true);
	if (fd < 0 || ids_read(in_force, &kept))
		return;
	others_delete(fd, &kept);
	free(kept.list);
}

void comments_remove(const struct instance *instance, const struct policy *replaced,
		     const struct policy *next)
{
	struct rl_comment_key key;
	struct ids kept;

	if (!has_comments(replaced) || ids_read(next, &kept))
		return;
	CLOSED int fd = map_open(instance, true);
	policy_for_each (replaced, rule) {
		key = key_of(rule->comment_id);
		if (fd >= 0 && key.id && !is_kept(&kept, key.id))
			bpf_map_delete_elem(fd, &key);
	}
	free(kept.list);
	if (fd >= 0 && bpf_map_get_next_key(fd, NULL, &key) == -ENOENT)
		pin_remove(instance->path, PIN);
}
