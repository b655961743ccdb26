// SPDX-License-Identifier: GPL-2.0-only
/* Ranges of numbers, and lists of ports, in which names of services become numbers. */
#include <ctype.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/services.h"
#include "base/units.h"
#include "policy/names.h"
#include "policy/parser.h"
#include "policy/policy.h"

/* A name under all protocols with ports. */
struct service {
	const char *protocol[2]; /* the first two with different ports; NULL: none */
	uint16_t port[2];
};

static struct service service_find(const char *name)
{
	struct service found = {0};
	const uint8_t *with_ports;
	size_t count = 0, protocols = header_protocols(RL_HAS_PORTS, &with_ports);

	for (size_t i = 0; i < protocols && count < 2; i++) {
		found.protocol[count] = protocol_by_number(with_ports[i])->name;
		if (service_port(name, found.protocol[count], &found.port[count]))
			continue;
		count += !count || found.port[0] != found.port[1];
	}
	for (; count < 2; count++)
		found.protocol[count] = NULL;
	return found;
}

const char *service_protocol(const char *name)
{
	return isalpha((unsigned char)name[0]) ? service_find(name).protocol[0] : NULL;
}

/* ---- ranges */

#define RANGE_TEXT_MAX 24

enum range_fault { RANGE_OK, RANGE_FORM, RANGE_OUT, RANGE_DESCENDS };

/* N or N-N, `len` bytes. */
static enum range_fault range_parse(const char *text, size_t len, uint32_t max, uint32_t *first,
				    uint32_t *last)
{
	char word[RANGE_TEXT_MAX];
	uint64_t from, to;
	char *dash;
	enum word_error rc, to_rc;

	if (!len || len >= sizeof(word))
		return RANGE_FORM;
	memcpy(word, text, len);
	word[len] = '\0';
	dash = strchr(word, '-');
	if (dash)
		*dash = '\0';
	rc = number_parse(word, 0, max, &from);
	to_rc = dash ? number_parse(dash + 1, 0, max, &to) : rc;
	if (!dash)
		to = from;
	if (rc == WORD_FORM || to_rc == WORD_FORM)
		return RANGE_FORM;
	if (rc || to_rc)
		return RANGE_OUT;
	*first = from;
	*last = to;
	return from > to ? RANGE_DESCENDS : RANGE_OK;
}

static int descending_refuse(struct parser *p, struct span at, uint32_t first, uint32_t last)
{
	return refuse(p, at, "is a descending range: write %" PRIu32 "-%" PRIu32, last, first);
}

int parse_range(struct parser *p, uint32_t max, const char *what, uint32_t *first, uint32_t *last)
{
	*first = *last = 0;
	switch (range_parse(p->word, strlen(p->word), max, first, last)) {
	case RANGE_OUT:
		return refuse(p, p->span, "is out of range: write 0 to %" PRIu32, max);
	case RANGE_DESCENDS:
		return descending_refuse(p, p->span, *first, *last);
	case RANGE_FORM:
		return expected(p, what);
	case RANGE_OK:
		word_next(p);
	}
	return 0;
}

/* ---- lists of ports */

/* A name is looked up when all matches of the rule are known: its port depends on the protocol. */
static int item_parse(struct parser *p, struct span at, struct port_list *out)
{
	struct rl_port_range *range = &out->range[out->count];
	char name[WORD_MAX + 1];
	uint32_t first, last;

	if (out->count == RL_PORT_RANGES_MAX)
		return refuse(p, p->span, "has more than %d ports and ranges: write several rules",
			      RL_PORT_RANGES_MAX);
	switch (range_parse(at.at, at.len, UINT16_MAX, &first, &last)) {
	case RANGE_OUT:
		return refuse(p, at, "is out of range: write ports from 0 to 65535");
	case RANGE_DESCENDS:
		return descending_refuse(p, at, first, last);
	case RANGE_OK:
		*range = (struct rl_port_range){first, last};
		out->count++;
		return 0;
	case RANGE_FORM:
		break;
	}
	memcpy(name, at.at, at.len);
	name[at.len] = '\0';
	if (!at.len || !service_protocol(name))
		return expected(p,
				"a port, a range of ports, a service, or a list of them: write for "
				"example 53, 6000-6063, 80,443, or a name of /etc/services");
	out->service[out->count++] = at;
	return 0;
}

/* PORTS = RANGE { "," RANGE }, RANGE = N | N-N | NAME */
int parse_ports(struct parser *p, enum rl_field field)
{
	struct port_list *out = field == RL_FIELD_SPORT ? &p->sports : &p->dports;
	size_t len = strlen(p->word), begin = 0;
	int rc = 0;

	while (!rc && begin <= len) {
		struct span at = {.at = p->span.at + begin, .len = strcspn(p->word + begin, ",")};

		rc = item_parse(p, at, out);
		begin += at.len + 1;
	}
	if (!rc)
		word_next(p);
	return rc;
}

static int service_resolve(struct parser *p, struct span at, struct rl_port_range *out)
{
	const struct protocol *stated = NULL;
	char name[WORD_MAX + 1] = "";
	struct service found;
	uint16_t port;

	if (!at.len)
		return 0;
	memcpy(name, at.at, at.len);
	if (match_wants(&p->rule->match, RL_MATCH_PROTO))
		stated = protocol_by_number(p->rule->match.proto);
	found = service_find(name);
	port = found.port[0];
	if (stated && service_port(name, stated->name, &port))
		return refuse(p, at, "is a service of %s, not of %s: write %s, or the number %u",
			      found.protocol[0], stated->name, found.protocol[0], found.port[0]);
	if (!stated && found.protocol[1])
		return refuse(p, at,
			      "is port %u of %s and port %u of %s: add one of these protocols",
			      found.port[0], found.protocol[0], found.port[1], found.protocol[1]);
	out->first = out->last = port;
	return 0;
}

static int port_compare(const void *a, const void *b)
{
	const struct rl_port_range *left = a, *right = b;

	return (int)left->first - (int)right->first;
}

int ports_resolve(struct parser *p, struct port_list *ports)
{
	struct rl_port_range *range = ports->range;
	uint32_t kept = 0;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < ports->count; i++)
		rc = service_resolve(p, ports->service[i], &range[i]);
	if (rc || !ports->count)
		return rc;
	qsort(range, ports->count, sizeof(*range), port_compare);
	for (uint32_t i = 1; i < ports->count; i++) {
		if (range[i].first > range[kept].last + 1)
			range[++kept] = range[i];
		else if (range[i].last > range[kept].last)
			range[kept].last = range[i].last;
	}
	ports->count = kept + 1;
	return 0;
}
