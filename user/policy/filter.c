// SPDX-License-Identifier: GPL-2.0-only
/* Compiles a filter by libpcap, as tcpdump does for a capture of raw IP packets (DLT_RAW). libpcap
 * would ask the network what a host's name means: such names are found here before. Those of ports
 * and protocols it takes from the machine's lists, as the policy language does. */

#include "policy/filter.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pcap/dlt.h>

#include "base/lazy_pcap.h"

#define SNAPLEN   262144 /* as tcpdump's; packets are shorter */
#define NAME_MAX_ 256

/* The words of pcap-filter(7), those that only other links have included: libpcap says what is
 * wrong with these. Apart by blanks. */
static const char keywords[] =
	" dst src link ether ppp slip fddi tr wlan arp rarp ip sctp tcp udp icmp igmp igrp pim vrrp "
	"carp radio ip6 icmp6 ah esp atalk aarp decnet lat sca moprc mopdl iso esis es-is isis is-is "
	"l1 l2 iih lsp snp csnp psnp clnp stp ipx netbeui host net mask port portrange proto "
	"protochain gateway type subtype direction dir address1 addr1 address2 addr2 address3 addr3 "
	"address4 addr4 ra ta less greater byte broadcast multicast and or not len length inbound "
	"outbound ifindex vlan mpls pppoed pppoes geneve vxlan lane llc metac bcc oam oamf4 oamf4ec "
	"oamf4sc sc ilmic vpi vci connectmsg metaconnect on ifname rset ruleset rnr rulenum srnr "
	"subrulenum reason action fisu lssu lsu msu hfisu hlssu hmsu sio opc dpc sls hsio hopc hdpc "
	"hsls icmptype icmpcode icmp-echoreply icmp-unreach icmp-sourcequench icmp-redirect "
	"icmp-echo icmp-routeradvert icmp-routersolicit icmp-timxceed icmp-paramprob icmp-tstamp "
	"icmp-tstampreply icmp-ireq icmp-ireqreply icmp-maskreq icmp-maskreply icmp6type icmp6code "
	"icmp6-destinationunreach icmp6-packettoobig icmp6-timeexceeded icmp6-parameterproblem "
	"icmp6-echo icmp6-echoreply icmp6-multicastlistenerquery icmp6-multicastlistenerreportv1 "
	"icmp6-multicastlistenerdone icmp6-routersolicit icmp6-routeradvert icmp6-neighborsolicit "
	"icmp6-neighboradvert icmp6-redirect icmp6-routerrenum icmp6-nodeinformationquery "
	"icmp6-nodeinformationresponse icmp6-ineighbordiscoverysolicit "
	"icmp6-ineighbordiscoveryadvert icmp6-multicastlistenerreportv2 "
	"icmp6-homeagentdiscoveryrequest icmp6-homeagentdiscoveryreply icmp6-mobileprefixsolicit "
	"icmp6-mobileprefixadvert icmp6-certpathsolicit icmp6-certpathadvert "
	"icmp6-multicastrouteradvert icmp6-multicastroutersolicit icmp6-multicastrouterterm "
	"tcpflags tcp-fin tcp-syn tcp-rst tcp-push tcp-ack tcp-urg tcp-ece tcp-cwr ";

/* ---- names */

static bool is_in(const char *list, const char *word)
{
	char wanted[NAME_MAX_ + 2];

	snprintf(wanted, sizeof(wanted), " %s ", word);
	return strstr(list, wanted);
}

static bool is_plain(const char *word)
{
	size_t letter = 0;

	while (word[letter] && !isalpha((unsigned char)word[letter]))
		letter++;
	if (!word[letter] || is_in(keywords, word))
		return true;
	/* A hexadecimal number. */
	return word[0] == '0' && tolower((unsigned char)word[1]) == 'x' && word[2] &&
	       !word[2 + strspn(word + 2, "0123456789abcdefABCDEF")];
}

/* An address of IPv6 or of a link, or parts that stand as in ip[0:2]. */
static bool is_with_colons(char *word)
{
	struct in6_addr addr;
	char *part, *rest = word;

	if (!strchr(word, ':'))
		return false;
	if (inet_pton(AF_INET6, word, &addr) == 1 || !word[strspn(word, "0123456789abcdefABCDEF:")])
		return true;
	while ((part = strsep(&rest, ":")))
		if (!is_plain(part))
			return false;
	return true;
}

/* The next word at *at, which moves past it; false: there is none. */
static bool word_take(const char **at, char out[NAME_MAX_])
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789_.:-";
	size_t len;

	while (**at && (!strchr(letters, **at) || **at == '-'))
		++*at;
	len = strspn(*at, letters);
	if (len >= NAME_MAX_)
		len = NAME_MAX_ - 1;
	memcpy(out, *at, len);
	out[len] = '\0';
	*at += len;
	return len;
}

/* The first name of a host or network; false: there is none. */
static bool host_find(const char *expression, char out[NAME_MAX_])
{
	char word[NAME_MAX_], copy[NAME_MAX_], before[NAME_MAX_] = "";

	for (const char *at = expression; word_take(&at, word);) {
		snprintf(copy, sizeof(copy), "%s", word);
		if (!is_plain(word) && !is_in(" port portrange proto protochain ", before) &&
		    !is_with_colons(copy)) {
			snprintf(out, NAME_MAX_, "%s", word);
			return true;
		}
		snprintf(before, sizeof(before), "%s", word);
	}
	return false;
}

/* ---- what libpcap makes of it */

static int program_check(const struct filter_program *program, char error[FILTER_ERROR_MAX])
{
	for (uint32_t i = 0; i < program->count; i++) {
		const struct sock_filter *step = &program->steps[i];
		const char *why = NULL;

		if (BPF_CLASS(step->code) == BPF_JMP && BPF_OP(step->code) == BPF_JA &&
		    step->k >= program->count - i - 1) /* it jumps back */
			why = "has a loop, which no packet may run (protochain): write the "
			      "protocol that the headers before it name";
		/* An address beyond any packet is for what Linux says beside it. */
		else if (BPF_CLASS(step->code) == BPF_LD && BPF_MODE(step->code) == BPF_ABS &&
			 step->k > INT32_MAX)
			why = "asks for what is not in a packet (inbound, outbound, ifindex): "
			      "leave that out";
		if (!why)
			continue;
		snprintf(error, FILTER_ERROR_MAX, "%s", why);
		return -EINVAL;
	}
	return 0;
}

static int steps_take(const struct bpf_program *from, struct filter_program *out)
{
	out->steps = calloc(from->bf_len, sizeof(*out->steps));
	if (!out->steps)
		return -ENOMEM;
	out->count = from->bf_len;
	for (uint32_t i = 0; i < from->bf_len; i++) {
		const struct pcap_insn *step = &from->bf_insns[i];

		out->steps[i] = (struct sock_filter){step->code, step->jt, step->jf, step->k};
	}
	return 0;
}

static int compile_by(pcap_t *pcap, const char *expression, struct filter_program *out,
		      char error[FILTER_ERROR_MAX])
{
	struct bpf_program compiled = {0};
	const char *text;
	int ret;

	if (pcap_compile(pcap, &compiled, expression, 1, PCAP_NETMASK_UNKNOWN)) {
		text = pcap_geterr(pcap);
		snprintf(
			error, FILTER_ERROR_MAX, "is refused by libpcap: %s%s", text,
			strstr(text, "for Raw IP") || strstr(text, "only on") ||
					strstr(text, "rejects all")
				? ": a filter sees IP packets alone, without Ethernet and VLAN tags"
				: "");
		return -EINVAL;
	}
	ret = steps_take(&compiled, out);
	pcap_freecode(&compiled);
	if (!ret)
		ret = program_check(out, error);
	if (ret)
		filter_program_clear(out);
	return ret;
}

int filter_compile(const char *expression, struct filter_program *out, char error[FILTER_ERROR_MAX])
{
	char name[NAME_MAX_];
	pcap_t *pcap;
	int ret;

	*out = (struct filter_program){0};
	if (!expression[strspn(expression, " \t")]) {
		snprintf(error, FILTER_ERROR_MAX, "is empty: write what it is to match");
		return -EINVAL;
	}
	if (host_find(expression, name)) {
		snprintf(error, FILTER_ERROR_MAX,
			 "has the name '%.80s': write addresses and numbers; only ports and "
			 "protocols have names, right after port, portrange and proto",
			 name);
		return -EINVAL;
	}
	if (pcap_load()) {
		snprintf(error, FILTER_ERROR_MAX, "cannot be compiled: libpcap is missing");
		return -EINVAL;
	}
	pcap = pcap_open_dead(DLT_RAW, SNAPLEN);
	if (!pcap)
		return -ENOMEM;
	ret = compile_by(pcap, expression, out, error);
	pcap_close(pcap);
	return ret;
}

int filter_check(const char *expression, char error[FILTER_ERROR_MAX])
{
	struct filter_program program;
	int ret = filter_compile(expression, &program, error);

	if (ret == -ENOMEM)
		snprintf(error, FILTER_ERROR_MAX, "cannot be compiled: out of memory");
	filter_program_clear(&program);
	return ret;
}

void filter_program_clear(struct filter_program *program)
{
	free(program->steps);
	*program = (struct filter_program){0};
}
