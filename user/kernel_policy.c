// SPDX-License-Identifier: GPL-2.0-only
/* Policies in and out of an instance's maps. The next policy is built where no packet looks, then
 * one slot is changed: a process that dies anywhere leaves the old policy in force or the new one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kernel_internal.h"
#include "output.h"
#include "progress.h"

#define BATCH        4096u
#define READ_RETRIES 100

void instance_compile_context(const struct instance *instance, const struct policy_context *text,
			      struct compile_context *out)
{
	*out = (struct compile_context){
		.rules_max = instance->info.rules,
		.prefixes_max = instance->info.prefixes,
		.slots_max = 2 * instance->info.prefixes,
		.tick_ns = instance->info.tick_ns,
		.cpus = instance->info.cpus,
		.share = instance->info.table == RL_TABLE_CPU,
		.hot = instance->info.table == RL_TABLE_HOT,
		.hook = instance->info.hook,
		.log_max = instance->info.log_depth,
		.now_ns = instance->clock_injected ? instance->now_ns : clock_ns(CLOCK_MONOTONIC),
		.text = text,
	};
}

/* ---- reading */

static int header_read(const struct instance *instance, struct rl_policy_header *out)
{
	int fd = inner_open(instance, instance->fd.policy, 0);
	uint32_t zero = 0;
	int ret;

	if (fd < 0)
		return fd;
	ret = bpf_map_lookup_elem(fd, &zero, out) ? -errno : 0;
	close(fd);
	return ret;
}

uint64_t instance_generation(const struct instance *instance)
{
	struct rl_policy_header header;

	return header_read(instance, &header) ? 0 : header.generation;
}

static int rules_read(const struct instance *instance, struct compiled *out)
{
	uint32_t base = out->header.half * instance->info.rules;

	out->rules = calloc(out->header.rules + 1, sizeof(*out->rules));
	if (!out->rules)
		return -ENOMEM;
	for (uint32_t i = 0; i < out->header.rules; i++) {
		uint32_t index = base + i;

		if (bpf_map_lookup_elem(instance->fd.rules, &index, &out->rules[i]))
			return -errno;
	}
	return 0;
}

/* Batches of an LPM trie end with -ENOENT, as every map's do. */
static int prefixes_read(const struct instance *instance, struct compiled *out)
{
	int fd = inner_open(instance, instance->fd.tries, out->header.half);
	struct rl_prefix_key key, *last = NULL;
	uint32_t found = 0;
	int ret = fd < 0 ? fd : 0, next = 0;

	out->prefixes = calloc(out->header.prefixes + 1, sizeof(*out->prefixes));
	if (!out->prefixes)
		ret = -ENOMEM;
	while (!ret && !(next = bpf_map_get_next_key(fd, last, &key))) {
		if (found == out->header.prefixes) {
			ret = -EBADMSG;
			break;
		}
		out->prefixes[found].key = key;
		if (bpf_map_lookup_elem(fd, &key, &out->prefixes[found].value))
			ret = -errno;
		last = &out->prefixes[found++].key;
	}
	if (fd >= 0)
		close(fd);
	if (ret || next != -ENOENT)
		return ret ? ret : next;
	return found != out->header.prefixes ? -EBADMSG : 0;
}

/* Another process may swap while this one reads: what was read then is of two policies, and is read
 * anew. The generation tells. */
static int compiled_read(const struct instance *instance, struct compiled *out)
{
	for (int i = 0; i < READ_RETRIES; i++) {
		struct rl_policy_header after;
		int ret = header_read(instance, &out->header);

		if (ret)
			return ret;
		ret = rules_read(instance, out);
		if (!ret && out->header.prefixes)
			ret = prefixes_read(instance, out);
		if (!header_read(instance, &after) && after.generation == out->header.generation)
			return ret;
		compiled_clear(out);
	}
	return -EAGAIN;
}

static void report_unread(const struct instance *instance, int error)
{
	const char *why = strerror(-error);

	if (error == -ESTALE)
		why = "it was detached meanwhile";
	else if (error == -EPERM)
		why = "a pin of it was removed: `rlctl detach`, then attach again";
	fail("%s: reading the policy in force failed: %s", instance->device, why);
}

/* *header is all zero, and the policy empty, where none was written yet. */
static int policy_read(const struct instance *instance, const struct compile_context *ctx,
		       struct rl_policy_header *header, struct policy *out)
{
	struct compiled compiled = {0};
	int ret = compiled_read(instance, &compiled);

	*header = compiled.header;
	if (ret == -ENOENT && !compiled.header.generation)
		ret = 0;
	else if (!ret)
		ret = policy_decompile(&compiled, ctx, out);
	compiled_clear(&compiled);
	if (ret)
		report_unread(instance, ret);
	return ret;
}

int instance_policy_read(const struct instance *instance, struct policy *out)
{
	struct rl_policy_header header;
	struct policy_context text;
	struct compile_context ctx;

	instance_context(instance, &text);
	instance_compile_context(instance, &text, &ctx);
	return policy_read(instance, &ctx, &header, out);
}

/* ---- writing */

/* `count` elements from arrays of keys and values, in batches. */
static int map_fill(int fd, const void *keys, size_t key_size, const void *values,
		    size_t value_size, uint32_t count)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts);

	for (uint32_t done = 0; done < count;) {
		uint32_t n = count - done < BATCH ? count - done : BATCH;

		if (bpf_map_update_batch(fd, (const char *)keys + done * key_size,
					 (const char *)values + done * value_size, &n, &opts))
			return -errno;
		done += n;
	}
	return 0;
}

static int rules_write(const struct instance *instance, const struct compiled *compiled)
{
	uint32_t base = compiled->header.half * instance->info.rules;
	uint32_t *keys = calloc(compiled->header.rules + 1, sizeof(*keys));
	int ret = -ENOMEM;

	if (keys) {
		for (uint32_t i = 0; i < compiled->header.rules; i++)
			keys[i] = base + i;
		ret = map_fill(instance->fd.rules, keys, sizeof(*keys), compiled->rules,
			       sizeof(*compiled->rules), compiled->header.rules);
	}
	free(keys);
	return ret;
}

static int trie_fill(int fd, const struct compiled *compiled)
{
	uint32_t count = compiled->header.prefixes;
	struct rl_prefix_key *keys = calloc(count, sizeof(*keys));
	struct rl_prefix_value *values = calloc(count, sizeof(*values));
	int ret = keys && values ? 0 : -ENOMEM;
	struct progress progress;

	for (uint32_t i = 0; !ret && i < count; i++) {
		keys[i] = compiled->prefixes[i].key;
		values[i] = compiled->prefixes[i].value;
	}
	progress_begin(&progress);
	for (uint32_t done = 0; !ret && done < count; done += BATCH) {
		ret = map_fill(fd, keys + done, sizeof(*keys), values + done, sizeof(*values),
			       count - done < BATCH ? count - done : BATCH);
		if (progress_due(&progress))
			progress_draw(done, "prefixes", (uint64_t)done * 1000 / count);
	}
	progress_end();
	free(keys);
	free(values);
	return ret;
}

static int trie_write(const struct instance *instance, const struct compiled *compiled)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	uint32_t half = compiled->header.half;
	int fd, ret;

	if (!compiled->header.prefixes)
		return 0;
	fd = bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, "rlctl_trie", sizeof(struct rl_prefix_key),
			    sizeof(struct rl_prefix_value), compiled->header.prefixes, &opts);
	if (fd < 0)
		return -errno;
	ret = trie_fill(fd, compiled);
	if (!ret)
		ret = inner_put(instance, instance->fd.tries, half, fd);
	close(fd);
	return ret;
}

/* New slots start from zero, whoever had them before. */
static int slots_reset(const struct instance *instance, const struct compiled *compiled)
{
	size_t counters = sizeof(struct rl_rule_counters) * libbpf_num_possible_cpus();
	size_t state = 64; /* shared_state of bpf/maps.h */
	void *zeros = calloc(BATCH, counters > state ? counters : state);
	int ret = zeros ? 0 : -ENOMEM;

	for (size_t done = 0; !ret && done < compiled->fresh_count; done += BATCH) {
		const uint32_t *slots = compiled->fresh + done;
		size_t left = compiled->fresh_count - done;
		uint32_t count = left < BATCH ? left : BATCH;

		ret = map_fill(instance->fd.rule_counters, slots, sizeof(*slots), zeros, counters,
			       count);
		if (!ret)
			ret = map_fill(instance->fd.shared, slots, sizeof(*slots), zeros, state,
				       count);
	}
	free(zeros);
	return ret;
}

/* The swap. Returns when no packet is left that saw the policy before (the kernel waits for that).
 */
static int header_write(const struct instance *instance, const struct rl_policy_header *header)
{
	uint32_t zero = 0;
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rlctl_policy", sizeof(zero), sizeof(*header),
				1, NULL);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (bpf_map_update_elem(fd, &zero, header, BPF_ANY))
		ret = -errno;
	else
		ret = inner_put(instance, instance->fd.policy, 0, fd);
	close(fd);
	return ret;
}

static int compiled_write(const struct instance *instance, const struct compiled *compiled)
{
	uint32_t old_half = !compiled->header.half;
	int ret;

	inner_tidy(instance);
	ret = policy_maps_make(instance, compiled->header.uses);
	if (!ret)
		ret = rules_write(instance, compiled);
	if (!ret)
		ret = trie_write(instance, compiled);
	if (!ret)
		ret = slots_reset(instance, compiled);
	if (!ret)
		ret = header_write(instance, &compiled->header);
	if (ret) {
		fail("%s: writing the policy failed: %s%s; the one before stays in force",
		     instance->device, strerror(-ret),
		     ret == -ENOMEM ? " (no memory for its prefixes)" : "");
		return ret;
	}
	inner_drop(instance, instance->fd.tries, old_half);
	return 0;
}

static void report_compile(const struct instance *instance, const char *file,
			   const struct policy_error *err)
{
	if (file && err->line)
		fail("%s:%u:%u: %s", file, err->line, err->column, err->text);
	else
		fail("%s: %s", instance->device, err->text);
}

static int policy_prepare(const struct instance *instance, struct policy *next, bool keep_expiry,
			  const char *file, struct compiled *out)
{
	struct rl_policy_header header = {0};
	struct policy current = {0};
	struct policy_context text;
	struct compile_context ctx;
	struct policy_error err;
	int ret;

	instance_context(instance, &text);
	instance_compile_context(instance, &text, &ctx);
	ret = policy_read(instance, &ctx, &header, &current);
	if (ret)
		return ret;
	ret = policy_compile(next, &current, &header, keep_expiry, &ctx, out, &err);
	if (ret)
		report_compile(instance, file, &err);
	policy_clear(&current);
	return ret;
}

int instance_policy_write(const struct instance *instance, struct policy *next, bool keep_expiry,
			  const char *file)
{
	struct compiled compiled = {0};
	int ret = trial_refuse(instance);

	if (!ret)
		ret = policy_prepare(instance, next, keep_expiry, file, &compiled);
	if (!ret)
		ret = compiled_write(instance, &compiled);
	if (!ret && instance->info.hook == RL_HOOK_EGRESS && !instance->clock_injected)
		fq_miss(instance, next);
	compiled_clear(&compiled);
	return ret;
}

static int policy_copy(const struct policy *from, struct policy *out)
{
	int ret = 0;

	policy_for_each (from, rule)
		ret = ret ? ret : policy_append(out, rule);
	return ret;
}

/* Its slots are still its own: those of the policy in force were not given to others when the next
 * one came, and limit ids are never used twice. */
int instance_policy_restore(const struct instance *instance, const struct policy *before)
{
	struct rl_policy_header header = {0};
	struct policy next = {0};
	struct compiled compiled = {0};
	struct policy_context text;
	struct compile_context ctx;
	struct policy_error err;
	int ret = policy_copy(before, &next);

	instance_context(instance, &text);
	instance_compile_context(instance, &text, &ctx);
	if (!ret)
		ret = header_read(instance, &header);
	if (!ret)
		ret = policy_compile(&next, before, &header, true, &ctx, &compiled, &err);
	if (ret)
		fail("%s: the policy before could not be restored: %s", instance->device,
		     strerror(-ret));
	else
		ret = compiled_write(instance, &compiled);
	compiled_clear(&compiled);
	policy_clear(&next);
	return ret;
}

int instance_policy_check(const struct instance *instance, struct policy *next, const char *file)
{
	struct compiled compiled = {0};
	int ret = policy_prepare(instance, next, true, file, &compiled);

	compiled_clear(&compiled);
	return ret;
}
