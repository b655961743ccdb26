// SPDX-License-Identifier: GPL-2.0-only
/* Reads and changes the rules of one prefix in place, at a cost that does not depend on the size of
 * the policy.
 *
 * New rules are written after those in force, where packets do not read. Then the trie's element is
 * replaced, which is atomic, and the generation is increased, which voids what packets have cached.
 * Between these two steps a packet sees the old or the new rules, depending on whether its address
 * is cached, but never a mixture. If the process is killed there, cached addresses keep the old
 * rules until the next change. The other fields of the header are written first, so that they
 * always cover what the trie holds.
 *
 * `any` and `device` are part of the header, which is replaced as a whole for them.
 */

#include "prefix_write.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "comments.h"
#include "compile.h"
#include "instance.h"
#include "lru.h"
#include "map_in_map.h"
#include "policy.h"
#include "policy_write.h"
#include "program_fit.h"
#include "qdisc.h"
#include "trial_record.h"
#include "units.h"

#define READ_RETRIES 100

/* ---- reading */

struct reader {
	const struct instance *instance;
	struct compiled compiled; /* of it the header and the extras */
	int trie;                 /* -1: none */
	int index;                /* negative: none, or why it could not be opened */
	uint64_t now_ns;
	struct policy *out;
};

static int reader_open(const struct instance *instance, struct policy *out, struct reader *reader)
{
	struct compile_context ctx;
	int ret;

	instance_compile_context(instance, NULL, &ctx);
	*reader = (struct reader){.instance = instance,
				  .trie = -1,
				  .index = -EBADMSG,
				  .now_ns = ctx.now_ns,
				  .out = out};
	ret = policy_header_read(instance, &reader->compiled.header);
	if (!ret)
		ret = extras_read(instance, &reader->compiled);
	if (!ret && reader->compiled.header.uses & RL_USE_INDEX)
		reader->index =
			inner_open(instance, instance->fd.rule_index, reader->compiled.header.half);
	if (ret || !reader->compiled.header.prefixes)
		return ret;
	reader->trie = inner_open(instance, instance->fd.tries, reader->compiled.header.half);
	return reader->trie < 0 ? reader->trie : 0;
}

static void reader_close(struct reader *reader)
{
	if (reader->trie >= 0)
		close(reader->trie);
	free(reader->compiled.extras);
	reader->compiled.extras = NULL;
	if (reader->index >= 0)
		close(reader->index);
}

static int range_find(const struct reader *reader, const struct rl_range *range, uint32_t *first,
		      uint32_t *count)
{
	struct rl_index_entry root;

	if (range->match_mode == RL_MATCH_MODE_INDEXED && reader->index < 0)
		return reader->index;
	if (range->match_mode == RL_MATCH_MODE_INDEXED &&
	    bpf_map_lookup_elem(reader->index, &range->first, &root))
		return -errno;
	return range_extent(range, &root, first, count) ? 0 : -EBADMSG;
}

/* *out is to be freed. */
static int entries_read(const struct reader *reader, const struct rl_range *range,
			struct rl_rule **out, uint32_t *count)
{
	uint32_t first = 0;
	int ret = 0;

	*out = NULL;
	*count = 0;
	if (range->count)
		ret = range_find(reader, range, &first, count);
	if (!ret)
		*out = calloc(*count + 1, sizeof(**out));
	if (!ret && !*out)
		ret = -ENOMEM;
	for (uint32_t i = 0; !ret && i < *count; i++) {
		uint32_t index = first + i;

		if (bpf_map_lookup_elem(reader->instance->fd.rules, &index, &(*out)[i]))
			ret = -errno;
	}
	return ret;
}

static int word_read(const struct reader *reader, enum prefix_kind kind)
{
	const struct rl_range *range =
		kind == PREFIX_ANY ? &reader->compiled.header.any : &reader->compiled.header.device;
	const struct rule prefix = {.kind = kind};
	struct rl_rule *entries;
	uint32_t count;
	int ret = entries_read(reader, range, &entries, &count);

	if (!ret)
		ret = range_decompile(&reader->compiled, &prefix, entries, count, reader->now_ns,
				      reader->out);
	free(entries);
	return ret;
}

/* The longest prefix that holds the key and is not longer than it; -ENOENT if there is none. */
static int trie_lookup(const struct reader *reader, const struct rl_prefix_key *key,
		       struct rl_prefix_value *out)
{
	if (reader->trie < 0)
		return -ENOENT;
	return bpf_map_lookup_elem(reader->trie, key, out) ? -errno : 0;
}

static int value_read(const struct reader *reader, const struct rl_prefix_key *key,
		      const struct rl_prefix_value *value)
{
	struct compiled_prefix prefix = {.key = *key, .value = *value};
	struct rl_rule *entries;
	uint32_t count;
	int ret = entries_read(reader, &value->range, &entries, &count);

	if (!ret)
		ret = prefix_decompile(&reader->compiled, &prefix, entries, count, reader->now_ns,
				       reader->out);
	free(entries);
	return ret;
}

/* 1 if the trie has the prefix. */
static int prefix_read(const struct reader *reader, const struct rule *prefix)
{
	struct rl_prefix_value value;
	struct rl_prefix_key key;
	int ret;

	if (prefix->kind != PREFIX_ADDR)
		return word_read(reader, prefix->kind);
	prefix_key_compile(prefix, &key);
	ret = trie_lookup(reader, &key, &value);
	if (ret == -ENOENT || (!ret && value.len != key.len))
		return 0;
	if (!ret)
		ret = value_read(reader, &key, &value);
	return ret ? ret : 1;
}

/* Reads every prefix that holds the address. */
static int around_read(const struct reader *reader, const uint8_t addr[16])
{
	struct rule prefix = {.kind = PREFIX_ADDR, .len = 128};
	struct rl_prefix_value value;
	struct rl_prefix_key key;
	int ret;

	memcpy(prefix.addr, addr, sizeof(prefix.addr));
	prefix_key_compile(&prefix, &key);
	while (!(ret = trie_lookup(reader, &key, &value))) {
		key.len = value.len;
		prefix_mask(key.addr, addr, key.len - RL_FAMILY_BITS);
		ret = value_read(reader, &key, &value);
		if (ret || key.len == RL_FAMILY_BITS)
			return ret;
		key.len--;
	}
	return ret == -ENOENT ? 0 : ret;
}

static int address_read(const struct reader *reader, const uint8_t addr[16])
{
	int ret = word_read(reader, PREFIX_DEVICE);

	if (!ret)
		ret = word_read(reader, PREFIX_ANY);
	return ret ? ret : around_read(reader, addr);
}

/* Retries if another process writes a whole policy meanwhile, as compiled_read does. */
int instance_address_read(const struct instance *instance, const uint8_t addr[16],
			  struct policy *out)
{
	int ret = -EAGAIN;

	for (int i = 0; ret == -EAGAIN && i < READ_RETRIES; i++) {
		struct rl_policy_header after;
		struct reader reader;

		ret = reader_open(instance, out, &reader);
		if (!ret)
			ret = address_read(&reader, addr);
		reader_close(&reader);
		if (!policy_header_read(instance, &after) &&
		    after.written != reader.compiled.header.written) {
			policy_clear(out);
			ret = -EAGAIN;
		}
	}
	if (ret == -ENOENT) /* no policy was written yet */
		ret = 0;
	if (!ret)
		ret = comments_read(instance, out);
	if (ret < 0) {
		policy_clear(out);
		report_read_error(instance, ret);
	}
	policy_sort(out, NULL);
	return ret < 0 ? ret : 0;
}

int instance_prefix_read(const struct instance *instance, const struct rule *prefix,
			 struct policy *out)
{
	struct reader reader;
	int ret = reader_open(instance, out, &reader);

	if (!ret)
		ret = prefix_read(&reader, prefix);
	reader_close(&reader);
	if (ret == -ENOENT)
		ret = 0;
	if (ret >= 0)
		ret = comments_read(instance, out);
	if (ret < 0) {
		policy_clear(out);
		report_read_error(instance, ret);
		return ret;
	}
	policy_sort(out, NULL);
	return 0;
}

/* ---- changing */

struct change {
	const struct instance *instance;
	const struct rule *prefix;
	struct policy *next;
	struct compiled compiled;
};

/* Maps the header in force, which packets read. */
static struct rl_policy_header *header_map(const struct instance *instance)
{
	int fd = inner_open(instance, instance->fd.policy, 0);
	void *header = MAP_FAILED;

	if (fd >= 0) {
		header = mmap(NULL, sizeof(struct rl_policy_header), PROT_READ | PROT_WRITE,
			      MAP_SHARED, fd, 0);
		close(fd);
	}
	return header == MAP_FAILED ? NULL : header;
}

/* Writes all fields that are also correct while the trie still has the old element. */
static void header_widen(struct rl_policy_header *live, const struct rl_policy_header *next)
{
	live->next_limit_id = next->next_limit_id;
	live->next_counter_id = next->next_counter_id;
	live->next_comment_id = next->next_comment_id;
	live->rules = next->rules;
	memcpy(live->lengths, next->lengths, sizeof(live->lengths));
	__atomic_store_n(&live->shortest4, next->shortest4, __ATOMIC_RELEASE);
	__atomic_store_n(&live->shortest6, next->shortest6, __ATOMIC_RELEASE);
	__atomic_store_n(&live->uses, next->uses, __ATOMIC_RELEASE);
	if (next->prefixes > live->prefixes)
		__atomic_store_n(&live->prefixes, next->prefixes, __ATOMIC_RELEASE);
}

/* Ensures that no packet caches the trie's old value under the new generation. Only x86 never
 * reorders loads. */
static int loads_order(void)
{
#ifdef __x86_64__
	return 0;
#else
	return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) ? -errno : 0;
#endif
}

static int element_exchange(const struct change *change)
{
	const struct compiled *compiled = &change->compiled;
	const struct instance *instance = change->instance;
	int fd = inner_open(instance, instance->fd.tries, compiled->header.half);
	struct rl_prefix_key key;
	int ret;

	if (fd < 0)
		return fd;
	prefix_key_compile(change->prefix, &key);
	if (compiled->prefix_count)
		ret = bpf_map_update_elem(fd, &key, &compiled->prefixes[0].value, BPF_ANY);
	else
		ret = bpf_map_delete_elem(fd, &key);
	ret = ret ? -errno : 0;
	close(fd);
	if (ret == -ENOSPC) /* created before --prefixes was raised */
		ret = -EAGAIN;
	return ret == -ENOENT && !compiled->prefix_count ? 0 : ret;
}

static int change_in_place(const struct change *change)
{
	const struct rl_policy_header *next = &change->compiled.header;
	struct rl_policy_header *live = header_map(change->instance);
	int ret;

	if (!live)
		return -EAGAIN;
	header_widen(live, next);
	ret = element_exchange(change);
	if (!ret)
		ret = loads_order();
	if (!ret) {
		__atomic_store_n(&live->prefixes, next->prefixes, __ATOMIC_RELEASE);
		__atomic_store_n(&live->generation, next->generation, __ATOMIC_RELEASE);
	}
	munmap(live, sizeof(*live));
	return ret;
}

/* Compiles the new rules of the prefix and reads the current ones; -EAGAIN if the whole policy must
 * be rewritten. */
static int change_compile(struct change *change, struct policy *current)
{
	struct policy_context text;
	struct compile_context ctx;
	struct reader reader;
	bool trie_has;
	int ret = reader_open(change->instance, current, &reader);

	if (!ret)
		ret = prefix_read(&reader, change->prefix);
	reader_close(&reader);
	if (ret < 0)
		return ret == -ENOENT ? -EAGAIN : ret; /* no policy was written yet */
	policy_sort(current, NULL);
	trie_has = ret;
	ret = comments_read(change->instance, current);
	if (ret < 0)
		return ret;
	instance_context(change->instance, &text);
	instance_compile_context(change->instance, &text, &ctx);
	return prefix_compile(change->prefix, trie_has, change->next, current,
			      &reader.compiled.header, &ctx, &change->compiled);
}

static int change_put(struct change *change)
{
	const struct instance *instance = change->instance;
	int ret = program_widen(instance, &change->compiled);

	if (ret)
		return ret;
	ret = compiled_rules_write(instance, &change->compiled, change->next);
	if (!ret && change->prefix->kind == PREFIX_ADDR)
		ret = change_in_place(change);
	else if (!ret)
		ret = policy_header_swap(instance, &change->compiled.header);
	return ret && ret != -EAGAIN ? report_write_error(instance, ret) : ret;
}

static int change_write(struct change *change)
{
	int ret = change_put(change);

	if (ret && ret != -EAGAIN) /* then the whole policy is written */
		policy_write_undo(change->instance);
	return ret;
}

/* The whole policy after the change. */
static int whole_read(const struct instance *instance, const struct rule *prefix,
		      const struct policy *next, struct policy *out)
{
	int ret = instance_policy_read(instance, out);

	if (ret)
		return ret;
	ret = policy_prefix_replace(out, prefix, next);
	return ret ? report_write_error(instance, ret) : 0;
}

static int whole_write(const struct change *change)
{
	struct policy whole = {0};
	int ret = whole_read(change->instance, change->prefix, change->next, &whole);

	if (!ret)
		ret = instance_policy_write(change->instance, &whole, false, NULL);
	policy_clear(&whole);
	return ret;
}

int instance_prefix_check(const struct instance *instance, const struct rule *prefix,
			  struct policy *next)
{
	struct policy whole = {0};
	int ret = trial_refuse(instance);

	if (!ret)
		ret = whole_read(instance, prefix, next, &whole);
	if (!ret)
		ret = instance_policy_check(instance, &whole, NULL);
	policy_clear(&whole);
	return ret;
}

int instance_prefix_write(const struct instance *instance, const struct rule *prefix,
			  struct policy *next)
{
	struct change change = {.instance = instance, .prefix = prefix, .next = next};
	struct policy current = {0};
	int ret = trial_refuse(instance);

	if (ret)
		return ret;
	ret = change_compile(&change, &current);
	if (!ret)
		ret = change_write(&change);
	else if (ret != -EAGAIN && ret != -EINVAL)
		report_read_error(instance, ret);
	if (!ret) {
		comments_remove(instance, &current, next);
		lru_notes(instance, &current, next);
	}
	if (ret == -EAGAIN)
		ret = whole_write(&change);
	else if (!ret && instance->info.hook == RL_HOOK_EGRESS)
		fq_missing_note(instance, next);
	compiled_clear(&change.compiled);
	policy_clear(&current);
	return ret;
}
