// SPDX-License-Identifier: GPL-2.0-only
/* Every production of the language with its defaults, in its canonical spelling; and that printed
 * text parses to the same rule, for these and for many random rules.
 */
#include <locale.h>
#include <string.h>

#include "policy_helpers.h"
#include "turns.h"

static const struct print_row {
	const char *name, *line, *printed;
	const struct policy_context *ctx;
} prints[] = {
	/* prefixes and actions */
	{"any allow", "rule any allow", "rule any allow"},
	{"any deny", "  rule\tany  deny  # why", "rule any deny"},
	{"comment close to a word", "rule any deny#why", "rule any deny"},
	{"LF", "rule any deny\n", "rule any deny"},
	{"CRLF", "rule any deny\r\n", "rule any deny"},
	{"IPv4", "rule 203.0.113.7 deny", "rule 203.0.113.7 deny"},
	{"IPv4 in full", "rule 203.0.113.7/32 deny", "rule 203.0.113.7 deny"},
	{"IPv4 net", "rule 203.0.113.0/24 deny", "rule 203.0.113.0/24 deny"},
	{"all IPv4", "rule 0.0.0.0/0 deny", "rule 0.0.0.0/0 deny"},
	{"IPv6", "rule 2001:DB8::1 deny", "rule 2001:db8::1 deny"},
	{"IPv6 net", "rule 2001:db8::/32 deny", "rule 2001:db8::/32 deny"},
	{"all IPv6", "rule ::/0 deny", "rule ::/0 deny"},
	{"IPv6 around the mapped range", "rule ::/80 deny", "rule ::/80 deny"},
	{"device allow with a match", "rule device tcp allow", "rule device tcp allow"},
	{"device deny with a match", "rule device fragment deny", "rule device fragment deny"},
	{"for", "rule any deny for 1h", "rule any deny for 1h"},
	{"for in two words", "rule any deny for 10 minutes", "rule any deny for 10m"},
	{"for below a second", "rule any deny for 1ms", "rule any deny for 1s"},
	{"for rounds up", "rule any deny for 1500ms", "rule any deny for 2s"},
	{"for, longest", "rule any deny for 4611686018427387904ns",
	 "rule any deny for 4611686018s"},
	/* matches */
	{"tcp", "rule any tcp deny", "rule any tcp deny"},
	{"udp", "rule any udp deny", "rule any udp deny"},
	{"icmp", "rule any icmp deny", "rule any icmp deny"},
	{"icmp6", "rule any icmp6 deny", "rule any icmp6 deny"},
	{"sctp", "rule any sctp deny", "rule any sctp deny"},
	{"gre", "rule any gre deny", "rule any gre deny"},
	{"esp", "rule any esp deny", "rule any esp deny"},
	{"proto with a name", "rule any proto 6 deny", "rule any tcp deny"},
	{"proto before a name", "rule any proto udp deny", "rule any udp deny"},
	{"ports of a name behind proto", "rule any sport 5 proto sctp deny",
	 "rule any sctp sport 5 deny"},
	{"proto 0", "rule any proto 0 deny", "rule any proto 0 deny"},
	{"proto 255", "rule any proto 255 deny", "rule any proto 255 deny"},
	{"sport", "rule any sport 53 deny", "rule any sport 53 deny"},
	{"service", "rule any tcp dport http deny", "rule any tcp dport 80 deny"},
	{"service before its protocol", "rule any sport http-alt dport ntp udp deny",
	 "rule any udp sport 8080 dport 123 deny"},
	{"service of a protocol by number", "rule any proto 132 dport m3ua deny",
	 "rule any sctp dport 2905 deny"},
	{"service of any protocol", "rule any dport domain deny", "rule any dport 53 deny"},
	{"service and syn", "rule any syn dport torn deny", "rule any tcp dport 601 syn deny"},
	{"service of the other protocol", "rule any dport torn udp deny",
	 "rule any udp dport 514 deny"},
	{"a week", "rule any deny for 1 week", "rule any deny for 7d"},
	{"a rate by weeks", "rule any limit 70k/2 weeks", "rule any limit 70000/14d burst 5"},
	{"sport range", "rule any sport 0-65535 deny", "rule any sport 0-65535 deny"},
	{"dport range of one", "rule any dport 80-80 deny", "rule any dport 80 deny"},
	{"ports of proto 132", "rule any proto 132 dport 5 deny", "rule any sctp dport 5 deny"},
	{"src", "rule any src 10.0.0.0/8 deny", "rule any src 10.0.0.0/8 deny"},
	{"dst", "rule 10.0.0.1 dst 192.0.2.1 deny", "rule 10.0.0.1 dst 192.0.2.1 deny"},
	{"src inside the prefix", "rule 10.0.0.0/8 src 10.1.0.0/16 deny",
	 "rule 10.0.0.0/8 src 10.1.0.0/16 deny"},
	{"src around the prefix", "rule 10.1.0.0/16 src 10.0.0.0/8 deny",
	 "rule 10.1.0.0/16 src 10.0.0.0/8 deny"},
	{"src beside a destination prefix", "rule 10.0.0.0/8 src 192.0.2.1 deny",
	 "rule 10.0.0.0/8 src 192.0.2.1 deny", &on_egress},
	{"src of all IPv6", "rule any src ::/0 deny", "rule any src ::/0 deny"},
	{"src inside all IPv6", "rule ::/0 src 2001:db8::1 deny", "rule ::/0 src 2001:db8::1 deny"},
	{"dst around an IPv6 prefix", "rule 2001:db8::/32 dst ::/0 deny",
	 "rule 2001:db8::/32 dst ::/0 deny", &on_egress},
	{"icmp6 on all IPv6", "rule ::/0 icmp6 deny", "rule ::/0 icmp6 deny"},
	{"icmp6 on IPv6", "rule 2001:db8::/32 icmp6 deny", "rule 2001:db8::/32 icmp6 deny"},
	{"icmp on IPv4", "rule 10.0.0.0/8 icmp deny", "rule 10.0.0.0/8 icmp deny"},
	{"all matches, any order",
	 "rule any new-source fragment syn dst 10.0.0.2 src 10.0.0.1 dport 80 sport 1-2 tcp deny",
	 "rule any tcp sport 1-2 dport 80 src 10.0.0.1 dst 10.0.0.2 syn fragment new-source deny"},
	{"list of ports", "rule any tcp dport 443,80,6000-6063 deny",
	 "rule any tcp dport 80,443,6000-6063 deny"},
	{"list of ports that touch", "rule any tcp dport 3,1,2,5-9,8-10 deny",
	 "rule any tcp dport 1-3,5-10 deny"},
	{"list that is one range", "rule any udp sport 2,1 deny", "rule any udp sport 1-2 deny"},
	{"list of services", "rule any tcp dport http,domain,8080 deny",
	 "rule any tcp dport 53,80,8080 deny"},
	{"sixteen ports", "rule any udp dport 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 deny",
	 "rule any udp dport 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 deny"},
	{"the last ports", "rule any udp dport 65535,0,65534 deny",
	 "rule any udp dport 0,65534-65535 deny"},
	{"two lists", "rule any udp sport 3,1 dport 9,7 deny",
	 "rule any udp sport 1,3 dport 7,9 deny"},
	{"flags", "rule any flags psh,urg,fin deny", "rule any tcp flags fin,psh,urg deny"},
	{"no flags", "rule any tcp flags none deny", "rule any tcp flags none deny"},
	{"flags of all", "rule any tcp flags syn/cwr,ece,urg,ack,psh,rst,syn,fin deny",
	 "rule any tcp flags syn deny"},
	{"flags with a mask", "rule any tcp flags none/rst deny",
	 "rule any tcp flags none/rst deny"},
	{"flags that are syn", "rule any flags syn/ack,syn deny", "rule any tcp syn deny"},
	{"flags that are not syn", "rule any not flags syn/syn,ack deny",
	 "rule any tcp not syn deny"},
	{"syn and flags", "rule any syn not flags none/ece,cwr deny",
	 "rule any tcp syn not flags none/ece,cwr deny"},
	{"length", "rule any length 100-0200 deny", "rule any length 100-200 deny"},
	{"one length", "rule any length 64-64 deny", "rule any length 64 deny"},
	{"ttl", "rule any ttl 255 deny", "rule any ttl 255 deny"},
	{"vlan", "rule any vlan 100-199 limit 9/s per vlan",
	 "rule any vlan 100-199 limit 9/second burst 5 per vlan"},
	{"vlan of no tag", "rule any not vlan 0-0 limit 9/s per vlan+source/24",
	 "rule any not vlan 0 limit 9/second burst 5 per source/24,64+vlan"},
	{"dscp by name", "rule any dscp ef deny", "rule any dscp ef deny"},
	{"dscp by number", "rule any dscp 46 deny", "rule any dscp ef deny"},
	{"dscp without a name", "rule any dscp 1 deny", "rule any dscp 1 deny"},
	{"dscp of zero bytes", "rule any dscp cs0 deny", "rule any dscp cs0 deny"},
	{"icmp-type before its protocol", "rule any icmp-type 8 icmp deny",
	 "rule any icmp icmp-type echo-request deny"},
	{"icmp-type of icmp6", "rule any icmp6 icmp-type echo-request deny",
	 "rule any icmp6 icmp-type echo-request deny"},
	{"icmp-type zero", "rule any icmp icmp-type 0 code 0 deny",
	 "rule any icmp icmp-type echo-reply code 0 deny"},
	{"icmp-type without a name", "rule any icmp6 icmp-type 255 code 255 deny",
	 "rule any icmp6 icmp-type 255 code 255 deny"},
	{"payload", "rule any udp payload 0 FFFFFFFF54 deny",
	 "rule any udp payload 0 ffffffff54 deny"},
	{"payload of zero bytes", "rule any udp payload 0 00/0f deny",
	 "rule any udp payload 0 00/0f deny"},
	{"payload with a mask of ones", "rule any udp payload 512 0a0b/ffff deny",
	 "rule any udp payload 512 0a0b deny"},
	{"filter", "rule any filter  \"udp[8:4] = 0\" deny # \"why\"",
	 "rule any filter \"udp[8:4] = 0\" deny"},
	{"filter with two blanks", "rule any filter \"udp  port 53\" deny",
	 "rule any filter \"udp  port 53\" deny"},
	{"not", "rule any not length 20 not udp not dport 1,9 deny",
	 "rule any not udp not dport 1,9 not length 20 deny"},
	{"not a payload", "rule any tcp not payload 4 ff not dscp 0 not ttl 3-9 deny",
	 "rule any tcp not ttl 3-9 not dscp cs0 not payload 4 ff deny"},
	{"not an address", "rule any not src 10.0.0.0/8 not dst 192.0.2.1 deny",
	 "rule any not src 10.0.0.0/8 not dst 192.0.2.1 deny"},
	{"not anything else", "rule any not new-source not fragment not filter \"udp\" deny",
	 "rule any not fragment not filter \"udp\" not new-source deny"},
	{"order of all",
	 "rule any established new-source filter \"tcp\" payload 0 00 fragment "
	 "dscp 1 ttl 1 length 100 flags ack dst 192.0.2.1 src 10.0.0.1 dport 1 sport 2 tcp deny",
	 "rule any tcp sport 2 dport 1 src 10.0.0.1 dst 192.0.2.1 flags ack length 100 ttl 1 "
	 "dscp 1 fragment payload 0 00 filter \"tcp\" new-source established deny"},
	{"established", "rule any established limit 9/s",
	 "rule any established limit 9/second burst 5"},
	{"not established", "rule any sport 53 not established udp deny",
	 "rule any udp sport 53 not established deny"},
	{"established behind all matches",
	 "rule any established new-source fragment dport 80 tcp deny",
	 "rule any tcp dport 80 fragment new-source established deny"},
	{"established of ICMP", "rule any icmp6 established allow",
	 "rule any icmp6 established allow"},
	{"a SYN is not established", "rule any not established syn deny",
	 "rule any tcp syn not established deny"},
	{"GRE is not established", "rule any not established gre deny",
	 "rule any gre not established deny"},
	{"SYN is TCP's", "rule any syn deny", "rule any tcp syn deny"},
	{"SYN beside ports", "rule any dport 22 syn allow", "rule any tcp dport 22 syn allow"},
	{"SYN of TCP, as it is printed", "rule any tcp syn deny", "rule any tcp syn deny"},
	/* token-bucket */
	{"default burst", "rule any limit 1000/second", "rule any limit 1000/second burst 100"},
	{"default burst, floor", "rule any limit 99/second", "rule any limit 99/second burst 9"},
	{"default burst, least", "rule any limit 9/second", "rule any limit 9/second burst 5"},
	{"default burst, bits", "rule any limit 10mbit", "rule any limit 10mbit burst 1mbit"},
	{"default burst, one MTU in bits", "rule any limit 1kbit",
	 "rule any limit 1kbit burst 60880bit"},
	{"default burst, one MTU in bytes", "rule any limit 1byte/s",
	 "rule any limit 1byte/second burst 7610byte"},
	{"default burst, jumbo", "rule any limit 1byte/s",
	 "rule any limit 1byte/second burst 45110byte", &on_jumbo},
	{"token-bucket by name", "rule any limit token-bucket 5/s burst 7",
	 "rule any limit 5/second burst 7"},
	{"as users of nft write it", "rule any limit 1024 kbytes/second burst 512 kbytes",
	 "rule any limit 1000kibyte/second burst 500kibyte"},
	{"nft packets", "rule any limit 10/second burst 5 packets per flow",
	 "rule any limit 10/second burst 5 per flow"},
	{"period in two words", "rule any limit 10/5 minutes", "rule any limit 10/5m burst 5"},
	{"three words", "rule any limit 471 packets/2 minutes burst 9",
	 "rule any limit 471/2m burst 9"},
	{"three words in bytes", "rule any limit 10 kbytes/2 minutes burst 64 kbytes per rule",
	 "rule any limit 10kbyte/2m burst 64kbyte per rule"},
	{"unit and period in one word", "rule any limit leaky-bucket 9 packets/10s queue 5 packets",
	 "rule any limit leaky-bucket 9/10s queue 5"},
	{"pps apart", "rule any limit 10 pps burst 5 per rule",
	 "rule any limit 10/second burst 5 per rule"},
	{"burst in bytes of a rate in bits", "rule any limit 10mbit burst 64kibyte",
	 "rule any limit 10mbit burst 64kibyte"},
	{"burst in bits of a rate in bytes", "rule any limit 1mbyte/s burst 80kbit",
	 "rule any limit 1mbyte/second burst 80kbit"},
	{"burst that just holds a packet", "rule any limit 1mbyte/s burst 1514byte",
	 "rule any limit 1mbyte/second burst 1514byte"},
	{"burst of one day", "rule any limit 1/s burst 86400",
	 "rule any limit 1/second burst 86400"},
	{"one packet a day", "rule any limit 1/day", "rule any limit 1/day burst 1"},
	{"fastest in packets", "rule any limit 100m/s burst 1",
	 "rule any limit 100000000/second burst 1"},
	{"fastest in bits", "rule any limit 400gbit burst 1mbit",
	 "rule any limit 400gbit burst 1mbit"},
	{"fastest in bytes", "rule any limit 50gbyte/s burst 1mbyte",
	 "rule any limit 50gbyte/second burst 1mbyte"},
	{"most packets", "rule any limit fixed-window 281474976710656/100d",
	 "rule any limit fixed-window 281474976710656/100d"},
	/* connections */
	{"connections", "rule any tcp dport 443 limit 50 connections per source/24",
	 "rule any tcp dport 443 limit 50 connections per source/24,64"},
	{"one connection", "rule device tcp limit 1 connections per rule over drop",
	 "rule device tcp limit 1 connection"},
	{"connections, all of it",
	 "rule 192.0.2.0/24 syn dport 80,443 src 192.0.2.9 limit 1000000 Connection over count per "
	 "dport+source for 1h",
	 "rule 192.0.2.0/24 tcp dport 80,443 src 192.0.2.9 syn limit 1000000 connections per "
	 "source+dport over count for 1h"},
	/* share, keep */
	{"share of a device", "rule device limit 1k/s share",
	 "rule device limit 1000/second burst 100 share"},
	{"share makes one bucket", "rule any limit 1k/s share per rule",
	 "rule any limit 1000/second burst 100 share"},
	{"share, default parts", "rule any limit 1k/s share 60/30/10 burst 50",
	 "rule any limit 1000/second burst 50 share"},
	{"share, one part of the default", "rule any limit 1k/s share 60/20/20 over drop",
	 "rule any limit 1000/second burst 100 share 60/20/20"},
	{"share, the largest part", "rule any limit 10mbit over count share 98/1/1",
	 "rule any limit 10mbit burst 1mbit share 98/1/1 over count"},
	{"share, the largest part of strangers", "rule any limit 1k/s share 1/1/98 for 1h",
	 "rule any limit 1000/second burst 100 share 1/1/98 for 1h"},
	{"share per source", "rule any limit 1k/s per source share",
	 "rule any limit 1000/second burst 100 share per source"},
	{"share per network", "rule device udp limit 1k/s share per source/24,56",
	 "rule device udp limit 1000/second burst 100 share per source/24,56"},
	{"share per dest", "rule any limit 1k/s share per dest over count",
	 "rule any limit 1000/second burst 100 share per dest over count"},
	{"share per dest by destination", "rule any limit 1k/s share per dest",
	 "rule any limit 1000/second burst 100 share per dest", &on_egress},
	{"keep", "rule device limit 1k/s keep 20 for established",
	 "rule device limit 1000/second burst 100 keep 20 for established"},
	{"keep makes one bucket", "rule any limit 1k/s keep 2 packets for known per rule",
	 "rule any limit 1000/second burst 100 keep 2 for known"},
	{"keep for a set", "rule any limit 1k/s keep 20 for @gold per rule",
	 "rule any limit 1000/second burst 100 keep 20 for @gold"},
	{"keep for a set, of another", "rule @bad limit 10mbit keep 10kbyte for @gold over count",
	 "rule @bad limit 10mbit burst 1mbit keep 80kbit for @gold over count"},
	{"keep, before the burst", "rule any limit 1k/s keep 99 for known burst 100",
	 "rule any limit 1000/second burst 100 keep 99 for known"},
	{"keep, and a life", "rule any limit 1k/s keep 20 for established for 1h",
	 "rule any limit 1000/second burst 100 keep 20 for established for 1h"},
	{"keep, after a life", "rule any limit 1k/s for 1h keep 20 for known over count",
	 "rule any limit 1000/second burst 100 keep 20 for known over count for 1h"},
	{"keep in bits", "rule any limit 10mbit keep 100 kbit for known",
	 "rule any limit 10mbit burst 1mbit keep 100kbit for known"},
	{"keep in bytes of a rate in bits", "rule any limit 10mbit keep 10kbyte for known",
	 "rule any limit 10mbit burst 1mbit keep 80kbit for known"},
	{"keep in bits of a rate in bytes", "rule any limit 1mbyte/s keep 80kbit for known",
	 "rule any limit 1mbyte/second burst 100kbyte keep 10kbyte for known"},
	{"keep in bytes, as the burst",
	 "rule any limit 10mbit burst 64kibyte keep 9kbyte for known",
	 "rule any limit 10mbit burst 64kibyte keep 9kbyte for known"},
	{"keep in bits, beside a burst in bytes",
	 "rule any limit 10mbit burst 64kibyte keep 9kbit for known",
	 "rule any limit 10mbit burst 64kibyte keep 1125byte for known"},
	{"keep of no whole bytes, beside a burst in bytes",
	 "rule any limit 10mbit burst 64kibyte keep 9001bit for known",
	 "rule any limit 10mbit burst 64kibyte keep 9001bit for known"},
	{"keep all but one packet", "rule any limit 1mbyte/s burst 3kbyte keep 1486byte for known",
	 "rule any limit 1mbyte/second burst 3kbyte keep 1486byte for known"},
	/* leaky-bucket */
	{"default queue", "rule any limit leaky-bucket 10/s",
	 "rule any limit leaky-bucket 10/second queue 1"},
	{"default queue in bytes", "rule any limit leaky-bucket 10mbyte/s",
	 "rule any limit leaky-bucket 10mbyte/second queue 1522byte"},
	{"queue as amount", "rule any limit leaky-bucket 10/s queue 20",
	 "rule any limit leaky-bucket 10/second queue 20"},
	{"queue as duration", "rule any limit leaky-bucket 10mbit queue 20ms",
	 "rule any limit leaky-bucket 10mbit queue 200kbit"},
	{"queue as duration, at least one packet", "rule any limit leaky-bucket 10/s queue 20 ms",
	 "rule any limit leaky-bucket 10/second queue 1"},
	{"queue as duration, not of whole packets", "rule any limit leaky-bucket 46/m queue 1634ms",
	 "rule any limit leaky-bucket 46/minute queue 1634ms"},
	{"queue as duration, not of whole bytes",
	 "rule any limit leaky-bucket 12345678byte/s queue 777 us",
	 "rule any limit leaky-bucket 12345678byte/second queue 777us"},
	{"queue as duration, just one packet", "rule any limit leaky-bucket 10/s queue 100 ms",
	 "rule any limit leaky-bucket 10/second queue 1"},
	{"queue in minutes", "rule any limit leaky-bucket 10/s queue 5 minutes",
	 "rule any limit leaky-bucket 10/second queue 3000"},
	/* windows, log, warm-up */
	{"fixed-window", "rule any limit fixed-window 100/10s",
	 "rule any limit fixed-window 100/10s"},
	{"fixed-window of one packet", "rule any limit fixed-window 1514byte/s",
	 "rule any limit fixed-window 1514byte/second"},
	{"sliding-window", "rule any limit sliding-window 100/min",
	 "rule any limit sliding-window 100/minute slots 10"},
	{"slots 2", "rule any limit sliding-window 100/min slots 2",
	 "rule any limit sliding-window 100/minute slots 2"},
	{"slots 16", "rule any limit sliding-window 1mbyte/min slots 16",
	 "rule any limit sliding-window 1mbyte/minute slots 16"},
	{"queue in bytes of a rate in bits", "rule any limit leaky-bucket 4mbit queue 256 kibytes",
	 "rule any limit leaky-bucket 4mbit queue 256kibyte"},
	{"bits that are no whole bytes", "rule any limit 1mbyte/s burst 80007bit",
	 "rule any limit 1mbyte/second burst 80kbit"},
	{"sliding-log", "rule any limit sliding-log 1024/s",
	 "rule any limit sliding-log 1024/second"},
	{"warm-up", "rule any limit warm-up 100/s ramp 30s",
	 "rule any limit warm-up 100/second ramp 30s cold 3"},
	{"warm-up with its default burst", "rule any limit warm-up 100/s burst 6 ramp 30s cold 5",
	 "rule any limit warm-up 100/second ramp 30s cold 5"},
	{"warm-up with a burst", "rule any limit warm-up 100/s burst 1k ramp 30s",
	 "rule any limit warm-up 100/second ramp 30s cold 3 burst 1000"},
	{"cold before ramp", "rule any limit warm-up 100/s cold 100 ramp 1 min",
	 "rule any limit warm-up 100/second ramp 1m cold 100"},
	/* keys */
	{"per source is the default", "rule any limit 10/s per source",
	 "rule any limit 10/second burst 5"},
	{"per source by destination", "rule any limit 10/s per source",
	 "rule any limit 10/second burst 5 per source", &on_egress},
	{"per dest", "rule any limit 10/s per dest", "rule any limit 10/second burst 5 per dest"},
	{"per dest by destination", "rule any limit 10/s per dest",
	 "rule any limit 10/second burst 5", &on_egress},
	{"default by destination", "rule any limit 10/s", "rule any limit 10/second burst 5",
	 &on_egress},
	{"per rule is the device's default", "rule device limit 10/s per rule",
	 "rule device limit 10/second burst 5", &on_egress},
	{"device per source", "rule device limit 10/s per source",
	 "rule device limit 10/second burst 5 per source"},
	{"per source/24", "rule any limit 10/s per source/24",
	 "rule any limit 10/second burst 5 per source/24,64"},
	{"per source/24,56", "rule any limit 10/s per source/24,56",
	 "rule any limit 10/second burst 5 per source/24,56"},
	{"per source/32,64", "rule any limit 10/s per source/32,64",
	 "rule any limit 10/second burst 5"},
	{"per dest/0,0", "rule any limit 10/s per dest/0,0",
	 "rule any limit 10/second burst 5 per dest/0,0"},
	{"per source+dport", "rule any limit 10/s per source+dport",
	 "rule any limit 10/second burst 5 per source+dport"},
	{"per source+dest", "rule any limit 10/s per source+dest",
	 "rule any limit 10/second burst 5 per source+dest"},
	{"per flow", "rule any limit 10/s per flow", "rule any limit 10/second burst 5 per flow"},
	{"per dest+dport", "rule any limit 10/s per dest+dport",
	 "rule any limit 10/second burst 5 per dest+dport"},
	{"per one port", "rule any limit 10/s per sport",
	 "rule any limit 10/second burst 5 per sport"},
	{"per protocol", "rule device limit 10/s per proto",
	 "rule device limit 10/second burst 5 per proto"},
	{"parts in another order", "rule any limit 10/s per proto+dport+sport+dest",
	 "rule any limit 10/second burst 5 per dest+sport+dport+proto"},
	{"source+dport in another order", "rule any limit 10/s per dport+source",
	 "rule any limit 10/second burst 5 per source+dport"},
	{"a network and a port", "rule any limit 10/s per source/24,56+dport",
	 "rule any limit 10/second burst 5 per source/24,56+dport"},
	{"usual lengths with a port", "rule any limit 10/s per dport+dest/32,64",
	 "rule any limit 10/second burst 5 per dest+dport"},
	{"usual lengths of both", "rule any limit 10/s per dest/32,128+source/32",
	 "rule any limit 10/second burst 5 per source+dest"},
	{"two networks", "rule any limit 10/s per source/24+dest/16,48",
	 "rule any limit 10/second burst 5 per source/24,128+dest/16,48"},
	{"one network of two", "rule any limit 10/s per dest/24+source",
	 "rule any limit 10/second burst 5 per source+dest/24,128"},
	{"both addresses and a port", "rule any limit 10/s per source+dest+dport",
	 "rule any limit 10/second burst 5 per source+dest+dport"},
	{"a flow by its parts", "rule any limit 10/s per proto+dport+sport+dest+source",
	 "rule any limit 10/second burst 5 per flow"},
	{"flows between networks", "rule any limit 10/s per source/24+dest/24+sport+dport+proto",
	 "rule any limit 10/second burst 5 per source/24,128+dest/24,128+sport+dport+proto"},
	{"the longest key", "rule any limit 10/s per source/30,127+dest/31,126+sport+dport+proto",
	 "rule any limit 10/second burst 5 per source/30,127+dest/31,126+sport+dport+proto"},
	/* overs, fleet, for */
	{"over drop", "rule any limit 10/s over drop", "rule any limit 10/second burst 5"},
	{"over drop unless established", "rule any limit 10/s over drop unless established",
	 "rule any limit 10/second burst 5 over drop unless established"},
	{"unless, among others",
	 "rule any udp limit 10/s over drop unless established per rule for 1h",
	 "rule any udp limit 10/second burst 5 per rule over drop unless established for 1h",
	 &on_egress},
	{"over challenge", "rule any tcp syn limit 10/s over challenge per dest",
	 "rule any tcp syn limit 10/second burst 5 per dest over challenge"},
	{"over challenge for a while", "rule any syn limit 10/s over challenge for 1s",
	 "rule any tcp syn limit 10/second burst 5 over challenge for 1s"},
	{"over challenge of all", "rule device limit 10/s over challenge",
	 "rule device limit 10/second burst 5 over challenge"},
	{"over truncate", "rule any udp dport domain limit 10/s over truncate",
	 "rule any udp dport 53 limit 10/second burst 5 over truncate"},
	{"over ban", "rule any limit 10/s over ban 10 minutes",
	 "rule any limit 10/second burst 5 over ban 10m"},
	{"over ban source", "rule any limit 10/s over ban 250ms source fleet",
	 "rule any limit 10/second burst 5 over ban 250ms source fleet"},
	{"over count", "rule any limit 10/s over count",
	 "rule any limit 10/second burst 5 over count"},
	{"over mark", "rule any limit 10/s over mark 4294967295",
	 "rule any limit 10/second burst 5 over mark 4294967295", &on_tc},
	{"over mark 0", "rule any limit 10/s over mark 0",
	 "rule any limit 10/second burst 5 over mark 0", &on_egress},
	{"all, any order", "rule any limit 10/s for 1d fleet over count per flow burst 3",
	 "rule any limit 10/second burst 3 per flow over count fleet for 1d"},
};

ROWS(print_test, prints, row)
{
	char printed[RULE_TEXT_MAX];

	round_trip(row->line, row->ctx ? row->ctx : &on_xdp, printed);
	assert_string_equal(printed, row->printed);
}

#define BYTES_17  "seventeen letters"
#define BYTES_119 BYTES_17 BYTES_17 BYTES_17 BYTES_17 BYTES_17 BYTES_17 BYTES_17

static const struct comment_row {
	const char *name, *written, *comment;
	bool cut;
} comments[] = {
	{"none", "", "", false},
	{"empty", "#", "", false},
	{"only blanks", "# \t ", "", false},
	{"blanks around it", "#  \tbob,  ticket 12 \t\r\n", "bob,  ticket 12", false},
	{"close to a word", "#why", "why", false},
	{"a second sign", " # a # b", "a # b", false},
	{"a sign alone", " ##", "#", false},
	{"quotes", " # \"it's\"", "\"it's\"", false},
	{"a tab within", " # a\tb", "a b", false},
	{"control characters", " # \x01\x1b[0m\x7f", "??[0m?", false},
	{"UTF-8", " # \u00e9 \u20ac \U0001f600", "\u00e9 \u20ac \U0001f600", false},
	{"control characters of UTF-8", " # a\xc2\x80\xc2\x9f\u2028\u202e\u2066z", "a?????z",
	 false},
	{"marks of a direction", " # a\u061c\u200e\u200fz", "a???z", false},
	{"neighbours of marks", " # \u061b\u061d\u200d\u2010", "\u061b\u061d\u200d\u2010", false},
	{"their neighbours", " # \u00a0\u2027\u202f\u2065\u206a", "\u00a0\u2027\u202f\u2065\u206a",
	 false},
	{"no UTF-8", " # \x80 \xff \xc3 \xe2\x82 x", "? ? ? ?? x", false},
	{"too long in UTF-8", " # \xc0\x80 \xe0\x9f\xbf \xf0\x8f\xbf\xbf", "?? ??? ????", false},
	{"surrogates, and beyond the last", " # \xed\xa0\x80 \xf4\x90\x80\x80 \xf8\x80",
	 "??? ???? ??", false},
	{"the first and the last", " # \xc2\x80\u0800\U00010000\U0010ffff",
	 "?\u0800\U00010000\U0010ffff", false},
	{"120 bytes", " # " BYTES_119 "y", BYTES_119 "y", false},
	{"121 bytes", " # " BYTES_119 "yz", BYTES_119 "y", true},
	{"a character that does not fit", " # " BYTES_119 "\u00e9", BYTES_119, true},
	{"a blank before the end", " # " BYTES_119 " z", BYTES_119, true},
	{"blanks at the end", " # " BYTES_119 "y  ", BYTES_119 "y", false},
};

ROWS(comment_test, comments, row)
{
	char line[512], printed[STATEMENT_TEXT_MAX], wanted[STATEMENT_TEXT_MAX];
	struct rule rule;

	snprintf(line, sizeof(line), "rule any deny%s", row->written);
	rule = must_parse(line, &on_xdp);
	assert_string_equal(rule.comment, row->comment);
	assert_int_equal(rule.comment_cut, row->cut);
	snprintf(wanted, sizeof(wanted), "rule any deny%s%s", *row->comment ? " # " : "",
		 row->comment);
	statement_print(printed, &rule, &on_xdp);
	assert_string_equal(printed, wanted);
	round_trip(line, &on_xdp, printed);
}

TEST(short_buffer_test)
{
	struct rule rule = must_parse("rule any limit 10/s per flow", &on_xdp);
	char text[8] = "xxxxxxx";

	assert_int_equal(rule_print(text, sizeof(text), &rule, &on_xdp), 41);
	assert_string_equal(text, "rule an");
	assert_int_equal(rule_print(NULL, 0, &rule, &on_xdp), 41);
}

/* The longest text of each match together: a buffer of RULE_TEXT_MAX holds it. */
TEST(longest_test)
{
	char line[4096], ports[256] = "", printed[RULE_TEXT_MAX];

	for (int i = 0; i < RL_PORT_RANGES_MAX; i++)
		sprintf(ports + strlen(ports), "%s%d-%d", i ? "," : "", 10000 + 10 * i,
			10001 + 10 * i);
	snprintf(
		line, sizeof(line),
		"rule 2001:db8:1111:2222:3333:4444:5555:6666/127 tcp not sport %s not dport %s "
		"not src 2001:db8:1111:2222:3333:4444:5555:aaaa/127 "
		"not dst 2001:db8:1111:2222:3333:4444:5555:7776/127 not syn "
		"not flags fin,syn,rst,psh,ack,urg,ece/fin,syn,rst,psh,ack,urg,ece "
		"not length 10000-20000 not ttl 100-200 not dscp af11 not fragment "
		"not payload 512 00112233445566778899aabbccddee00/fffffffffffffffffffffffffffffff0 "
		"not filter \"len = %0*d\" not new-source not established limit sliding-window "
		"1000000kibyte/10000ms slots 16 per source/24,56 over ban 86399s source "
		"for 86399s while not a23456789012345678901234567890x",
		ports, ports, RL_FILTER_MAX - 6, 0);
	round_trip(line, &on_xdp, printed);
	assert_in_range(strlen(printed), 1100, RULE_TEXT_MAX - 1);
}

TEST(random_test)
{
	static const struct policy_context *const contexts[] = {&on_xdp, &on_tc, &on_egress};
	char line[RULE_TEXT_MAX], printed[RULE_TEXT_MAX];

	random_start(20240607);
	for (unsigned int i = 0; i < TURNS(400000); i++) {
		const struct policy_context *ctx = contexts[i % ARRAY_SIZE(contexts)];

		if (i % 8)
			random_rule(line, ctx);
		else
			random_divided(line, ctx);
		round_trip(line, ctx, printed);
	}
}

AT_START(locale_set)
{
	setlocale(LC_CTYPE, "C.UTF-8"); /* for mbstowcs() */
}
