# SPDX-License-Identifier: GPL-2.0-only
"""Rows of import_rows.py for XDP-Firewall: (name, policy, left, the contents of filters = ( … ), other settings)."""
from import_rows_common import V4

BAN = "per source/32,128 over ban 1s source"
SEEN4 = "{0} tcp deny;{0} udp deny;{0} icmp deny"
ALL_KINDS = "carried, but it counts every protocol"
ON = "enabled = true; action = 0;"
ALLOWED = "enabled = true; action = 1;"

XDPFW = [
    ("packets a second: the last one is dropped", f"any limit fixed-window 499/second {BAN}", ALL_KINDS, f"{{ {ON} ip_pps = 500; }}"),
    ("a ban, commas, and a range of ports",
     "any udp dport 27000-27015 deny", "block_time: a source that is dropped is not blocked",
     '{ enabled = true, action = 0, block_time = 60, udp_enabled = true, udp_dport = "27000-27015" }'),
    ("no ban", "any limit fixed-window 499/second per source/32,128", ALL_KINDS, f"{{ {ON} block_time = 0; ip_pps = 500L; }}"),
    ("bytes a second", f"any limit fixed-window 124999byte/second {BAN}", ALL_KINDS, f"{{ {ON} ip_bps = 125000; }}"),
    ("a rate of one protocol", None, "ip_pps counts all packets of a source", f"{{ {ON} icmp_enabled = true; ip_pps = 5; }}"),
    ("ICMP is that of IPv4", "0.0.0.0/0 icmp deny", None, f"{{ {ON} block_time = 0; icmp_enabled = true; }}"),
    ("one family has its usual key", "192.0.2.0/24 limit fixed-window 4/second over ban 1s source", ALL_KINDS,
     f'{{ {ON} src_ip = "192.0.2.0/24"; ip_pps = 5; }}'),
    ("one address needs no key", "192.0.2.4 limit fixed-window 4/second per rule over ban 1s source", ALL_KINDS,
     f'{{ {ON} src_ip = "192.0.2.4"; ip_pps = 5; }}'),
    ("flows to one port", None, "flow_pps counts all packets of a flow",
     f"{{ {ON} udp_enabled = true; udp_dport = 53; flow_pps = 5; }}"),
    ("flows to any port", "any udp limit fixed-window 4/second per source/32,128+sport over ban 1s source", None,
     f"{{ {ON} udp_enabled = true; flow_pps = 5; }}"),
    ("flows of every kind", "any tcp limit fixed-window 4/second per source/32,128+sport;any udp limit fixed-window 4/second per source/32,128+sport;"
     f"any icmp src {V4} limit fixed-window 4/second", None, f"{{ {ON} block_time = 0; flow_pps = 5; }}"),
    ("a port that is allowed", None, "counts what line 2 decides on, too",
     f"{{ {ALLOWED} tcp_enabled = true; tcp_dport = 22; }}, {{ {ON} ip_pps = 500; }}"),
    ("allowed by what a policy cannot", None, "counts what line 2 decides on, too",
     f"{{ {ALLOWED} tos = 8; }}, {{ {ON} ip_pps = 500; }}"),
    ("a source that is allowed", f"192.0.2.7 allow;any limit fixed-window 499/second {BAN}", ALL_KINDS,
     f'{{ {ALLOWED} src_ip = "192.0.2.7"; }}, {{ {ON} ip_pps = 500; }}'),
    ("a source that is allowed behind a block", None, "counts what line 2 decides on, too",
     f'{{ {ON} ip_pps = 500; }}, {{ {ALLOWED} src_ip = "192.0.2.7"; }}'),
    ("denied", f"{SEEN4.format('198.51.100.4')};2001:db8::4 tcp deny;2001:db8::4 udp deny", None,
     f'{{ {ON} src_ip = "198.51.100.4"; }}, {{ {ON} src_ip6 = "2001:db8::4"; }}'),
    ("denied with a ban", "any udp dport 19 deny", "block_time: a source that is dropped is not blocked",
     f"{{ {ON} block_time = 30; udp_enabled = true; udp_dport = 19; }}"),
    ("denied without a ban", "any udp dport 19 deny", None, f"{{ {ON} block_time = 0; udp_enabled = true; udp_dport = 19; }}"),
    ("SYN without ACK", "any tcp syn deny", None,
     f"{{ {ON} block_time = 0; tcp_enabled = true; tcp_syn = true; tcp_ack = false; }}"),
    ("other flags", "any tcp flags fin,urg/fin,psh,urg deny", None,
     f"{{ {ON} block_time = 0; tcp_enabled = true; tcp_urg = true; tcp_fin = true; tcp_psh = false }}"),
    ("SYN with or without ACK", "any tcp flags syn/syn deny", None, f"{{ {ON} block_time = 0; tcp_enabled = true; tcp_syn = true; }}"),
    ("lengths of frames", "any udp length 86-186 deny", None, f"{{ {ON} block_time = 0; udp_enabled = true; min_len = 100; max_len = 200; }}"),
    ("frames that are padded", None, "which are padded", f"{{ {ON} block_time = 0; udp_enabled = true; min_len = 43; }}"),
    ("TTLs, and -1 for none", "any udp ttl 0-9 deny", None, f"{{ {ON} block_time = 0; udp_enabled = true; min_ttl = -1; max_ttl = 9; }}"),
    ("an ICMP type and its code", f"{V4} icmp icmp-type 3 code 1 deny", None, f"{{ {ON} block_time = 0; icmp_enabled = true; icmp_type = 3; icmp_code = 1; }}"),
    ("the whole byte of TOS", None, "matches by tos", f"{{ {ON} block_time = 0; udp_enabled = true; tos = 184; }}"),
    ("addresses of both families", None, "never matches", f'{{ {ON} src_ip = "192.0.2.1"; src_ip6 = "2001:db8::"; }}'),
    ("allowed over a rate", None, "allows packets over a rate", f"{{ {ALLOWED} ip_pps = 5; }}"),
    ("two rates at once", None, "drops what is over both ip_pps and ip_bps", f"{{ {ON} ip_pps = 5; ip_bps = 5; }}"),
    ("a rate of nothing", None, "lets no packet pass", f"{{ {ON} ip_pps = 1; }}"),
    ("no action is 1", None, "allows packets over a rate", "{ enabled = true; ip_pps = 5; }"),
    ("an action that there is not", None, "has an unknown action", "{ enabled = true; action = 2; ip_pps = 5; }"),
    ("not enabled", None, None, "{ enabled = false; action = 0; max_len = 100; ip_pps = 5; }"),
    ("the old names", f"{SEEN4.format('198.51.100.4')};any limit fixed-window 499/second per source/32,128 over ban 9s source", ALL_KINDS,
     '{ enabled = true, action = 0, srcip = "198.51.100.4" }, { enabled = true, action = 0, pps = 500, blocktime = 9 }'),
    ("comments and colons", f"any limit fixed-window 499/second {BAN}", ALL_KINDS,
     "# one\n{ enabled: true /* two\n */; action: 0; ip_pps: 0x1f4; // three\n}"),
    ("the line is named", None, "line 4 matches by tos: a policy cannot", f"\n\n{{ {ON} tos = 8; ip_pps = 5; }}"),
    ("networks that are dropped", f"{SEEN4.format('10.0.0.0/8')};any limit fixed-window 4/second {BAN}", ALL_KINDS, f"{{ {ON} ip_pps = 5; }}",
     'ip_drop_ranges = [ "10.0.0.0/8" ];'),
    ("broken", None, "line 3: unexpected =", "{\n = }"),
    ("no setting of libconfig", None, "is not libconfig syntax", "{ enabled = true; $ }"),
    ("another file", None, "@include: includes are not read", "", '@include "more.conf"'),
]


def xdpfw_text(words):
    return "\n".join([f'filters = (  {words[0]} );', *words[1:], 'interface = "eth0";', ""]).replace("(  ", "(\n", 1)
