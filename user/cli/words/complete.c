// SPDX-License-Identifier: GPL-2.0-only
/* The candidates that `rlctl complete` offers: those for arguments that are no words of the
 * language, and the names that some matches have. */
#include <dirent.h>
#include <pwd.h>

#include "cli/attach/named_policy.h"
#include "cli/sets/set_open.h"
#include "cli/words/complete.h"
#include "kernel/attach/hook_names.h"
#include "kernel/instance/selection.h"
#include "policy/names.h"

/* A word once, while there is room to remember it. A device may have any name, and shells print
 * candidates to the terminal unescaped. */
void offer(struct completion *c, const char *text, const char *meaning)
{
	size_t left = sizeof(c->offered) - c->offered_len;
	char line[WORD_MAX];
	const char *end = text;
	int len = snprintf(line, sizeof(line), "\n%s\n", text);

	while (*end > ' ' && *end <= '~')
		end++;
	if (*end || strncmp(text, c->word, strlen(c->word)) || len >= (int)sizeof(line) ||
	    strstr(c->offered, line) || (size_t)len > left)
		return;
	memcpy(c->offered + c->offered_len - 1, line, len + 1);
	c->offered_len += len - 1;
	printf("%.*s%s%s%s\n", c->before_len, c->before, text, meaning ? "\t" : "",
	       meaning ? meaning : "");
}

void offer_with_sample(struct completion *c, const char *word, const char *sample)
{
	char *const words[] = {(char *)word, (char *)sample};
	char *longer = words_join(c->line, words, sample ? 2 : 1);
	struct policy_error err = {0};
	struct rule rule;
	bool found;

	if (!statement_parse(longer, &c->ctx, &rule, &found, &err) || err.column > strlen(longer))
		offer(c, word, NULL);
	free(longer);
}

void offer_if_parsed(struct completion *c, const char *word)
{
	offer_with_sample(c, word, NULL);
}

/* ---- arguments that are no words of the language */

void offer_files(struct completion *c)
{
	(void)c;
	puts("<files>");
}

void offer_policies(struct completion *c)
{
	struct policy_names names;

	policy_names_read(&names);
	for (size_t i = 0; i < names.count; i++)
		offer(c, names.list[i].name, names.list[i].title);
	policy_names_clear(&names);
	if (!c->command.verb || c->command.verb->run != cmd_policies)
		offer_files(c);
}

void offer_namespaces(struct completion *c)
{
	DIR *dir = opendir("/run/netns");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			offer(c, entry->d_name, NULL);
	if (dir)
		closedir(dir);
}

void offer_users(struct completion *c)
{
	const struct passwd *user;

	setpwent();
	while ((user = getpwent()))
		offer(c, user->pw_name, NULL);
	endpwent();
}

static int offer_instance(struct instance *instance, void *arg)
{
	struct completion *c = arg;

	offer(c, instance->device, hook_name(instance->info.hook));
	c->instances++;
	return 0;
}

void offer_devices(struct completion *c)
{
	const struct verb *verb = c->command.verb;
	struct target any = {.bpffs = c->command.target.bpffs, .hook = -1};
	size_t before = c->offered_len;
	struct if_nameindex *devices;

	if (!verb || verb->run != cmd_attach)
		instance_for_each(&any, offer_instance, c);
	if (verb && verb->many && c->instances > 1)
		offer(c, SELECTION_ALL, "every device with an instance");
	if (c->offered_len > before)
		return;
	devices = if_nameindex();
	for (struct if_nameindex *device = devices; device && device->if_name; device++)
		offer(c, device->if_name, NULL);
	if (devices)
		if_freenameindex(devices);
}

static void offer_plain(void *arg, const char *word)
{
	offer(arg, word, NULL);
}

void offer_sets(struct completion *c)
{
	set_names_offer(&c->command.target, offer_plain, c);
}

/* ---- the names that arguments of matches may have */

static void offer_flags(struct completion *c)
{
	char name[WORD_MAX];
	int kept = (int)strlen(c->word);

	while (kept && !strchr(",/", c->word[kept - 1]))
		kept--;
	for (unsigned int bit = 0; bit < 8; bit++) {
		snprintf(name, sizeof(name), "%.*s%s", kept, c->word, tcp_flag_name(bit));
		offer_if_parsed(c, name);
	}
	if (!kept)
		offer_if_parsed(c, "none");
}

static void offer_dscps(struct completion *c)
{
	for (unsigned int dscp = 0; dscp < 64; dscp++)
		if (dscp_name(dscp))
			offer_if_parsed(c, dscp_name(dscp));
}

/* For ICMP and ICMPv6. */
static void offer_icmp_types(struct completion *c)
{
	for (unsigned int i = 0; i <= 2 * UINT8_MAX + 1; i++)
		if (icmp_type_name(i / 2, i % 2))
			offer_if_parsed(c, icmp_type_name(i / 2, i % 2));
}

static const struct row {
	const char *match, *sample;
	void (*offer)(struct completion *c); /* NULL: it has no names */
} rows[] = {
	{"flags", "syn", offer_flags},
	{"dscp", "ef", offer_dscps},
	{"icmp-type", "8", offer_icmp_types},
	{"sport", "1", NULL},
	{"dport", "1", NULL},
	{"payload", "0 00", NULL},
};

static const struct row *row_find(const char *match)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].match, match))
			return &rows[i];
	return NULL;
}

bool match_names(struct completion *c, const char *match)
{
	const struct row *row = row_find(match);

	if (!row || !row->offer)
		return false;
	row->offer(c);
	return true;
}

const char *match_sample(const char *match)
{
	const struct row *row = row_find(match);

	return row ? row->sample : NULL;
}
