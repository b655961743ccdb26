// SPDX-License-Identifier: GPL-2.0-only
/* Ports: a number, a range, or the name of a service, which becomes its number. */
#include <ctype.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <string.h>

#include "names.h"
#include "parser.h"
#include "policy.h"
#include "services.h"
#include "units.h"

static const uint8_t with_ports[] = {IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP};

/* A name under all protocols with ports. */
struct service {
	const char *protocol[2]; /* the first two with different ports; NULL: none */
	uint16_t port[2];
};

static struct service service_find(const char *name)
{
	struct service found = {0};
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(with_ports) && count < 2; i++) {
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

/* A name, to be looked up when all matches of the rule are known: its port depends on the protocol.
 */
static int parse_service(struct parser *p, struct span *out)
{
	if (!service_protocol(p->word))
		return expected(p, "a port, a range of ports or a service: write for example 53, "
				   "6000-6063, or a name of /etc/services");
	*out = p->span;
	word_next(p);
	return 0;
}

/* PORTS = N | N-N | NAME */
int parse_ports(struct parser *p, struct ports *ports, struct span *service)
{
	size_t digits = strspn(p->word, "0123456789");
	bool dash = digits && p->word[digits] == '-';
	uint64_t from, to;
	int rc, to_rc;

	if (strchr(p->word, ','))
		return refuse(p, p->span,
			      "is a list, and a rule takes one port or one range: write a rule for "
			      "each port, or a range such as 6000-6063");
	if (dash)
		p->word[digits] = '\0';
	rc = number_parse(p->word, 0, UINT16_MAX, &from);
	to = from;
	if (dash && rc != WORD_FORM) {
		to_rc = number_parse(p->word + digits + 1, 0, UINT16_MAX, &to);
		rc = to_rc == WORD_FORM || !rc ? to_rc : rc;
	}
	if (rc == WORD_RANGE)
		return refuse(p, p->span, "is out of range: write ports from 0 to 65535");
	if (rc)
		return parse_service(p, service);
	if (from > to)
		return refuse(p, p->span, "is a descending range: write %" PRIu64 "-%" PRIu64, to,
			      from);
	*ports->first = from;
	*ports->last = to;
	word_next(p);
	return 0;
}

static int service_refuse(struct parser *p, struct span at, const struct service *found,
			  const char *protocol)
{
	if (protocol)
		return refuse(p, at, "is a service of %s, not of %s: write %s, or the number %u",
			      found->protocol[0], protocol, found->protocol[0], found->port[0]);
	return refuse(p, at, "is port %u of %s and port %u of %s: add one of these protocols",
		      found->port[0], found->protocol[0], found->port[1], found->protocol[1]);
}

int service_resolve(struct parser *p, struct span at, struct ports *ports)
{
	const struct protocol *stated = NULL;
	char name[WORD_MAX + 1] = "";
	struct service found;
	uint16_t port;

	if (!at.len)
		return 0;
	memcpy(name, at.at, at.len);
	if (p->rule->match.flags & RL_MATCH_PROTO)
		stated = protocol_by_number(p->rule->match.proto);
	found = service_find(name);
	port = found.port[0];
	if (stated ? service_port(name, stated->name, &port) != 0 : found.protocol[1] != NULL)
		return service_refuse(p, at, &found, stated ? stated->name : NULL);
	*ports->first = *ports->last = port;
	return 0;
}
