#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The page of attacks, as a browser shows it: the template with documents of `rlctl report -j`. The screenshots
# stay in build/artifacts. check: timeout 300
# shellcheck source=../lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
# shellcheck source=page.sh
. "$(dirname "${BASH_SOURCE[0]}")/page.sh"

# Five attacks, two of them left out: one with all that there is, one with 500 spans and hostile texts, one that is open.
attacks() {
	python3 - <<-'END'
		import json
		from datetime import datetime, timezone
		HOSTILE = '</script><img src=x onerror="alert(1)"> & \u202e\n'
		def at(second):
		    return second and datetime.fromtimestamp(1780000000 + second, timezone.utc).isoformat('T', 'milliseconds').replace('+00:00', 'Z')
		def amount(packets, size=500):
		    return {'packets': packets, 'bytes': packets * size}
		def on(begin, end, **more):
		    return {'begin': at(begin), 'end': at(end), **more}
		def rule(begin, end, packets, peak, times=1, **name):
		    return on(begin, end, **name, dropped=amount(packets), peak=amount(peak), times=times)
		def incident(begin, end, packets, peak, device='eth0', **more):
		    empty = {'rules': [], 'alarms': [], 'spans': [], 'bans': 0, 'patterns': [], 'common': {}, 'sources': [], 'known': [], 'changes': []}
		    return on(begin, end, device=device, hook='xdp', seconds=(end or 7200) - begin, dropped=amount(packets), peak=amount(peak), **{**empty, **more})
		LONG = ('any udp dport 53,123,161,389,1900,11211,27015-27030 length 400-1500 ttl 30-70 payload 0 ffffffff/ffffffff limit '
		        'token-bucket 20000/second burst 4000 per source/24,56 over ban 10m while flood')
		everything = incident(100, 912.4, 12406333, 150000,
		    rules=[rule(100, 912.4, 11537890, 150000, 3, rule=LONG), rule(150, 160, 333, 70, reason='malformed')],
		    alarms=[on(104, 900, alarm='flood', times=2)],
		    spans=[on(*times, of=of, index=index) for of, index, *times in (('rule', 0, 100, 300), ('rule', 0, 340, 500), ('rule', 0, 510, 912.4),
		        ('rule', 1, 150, 160), ('alarm', 0, 104, 480), ('alarm', 0, 505, 900))],
		    patterns=[{'pattern': 'udp/27015 length 32-63 ttl 48-63', 'share': .62, 'from': '198.51.0.0/16', 'known': .02,
		        'rule': 'rule device udp dport 27015 length 32-63 ttl 48-63 not established limit 100/second'}, {'pattern': 'icmp', 'share': .1}],
		    bans=1204, sources=[{'address': '198.51.100.7', 'packets': 1488000, 'share': .12}, {'address': '2001:db8:1234:5678::/64', 'packets': 248000, 'share': .02}],
		    common={'port': [{'value': 'udp/27015', 'share': .97}, {'value': 'tcp/443', 'share': .02}], 'length': [{'value': 53, 'share': 1}], 'ttl': [{'value': 57, 'share': .5}],
		        'flags': []},
		    known=[{'address': '203.0.113.9', 'packets': 1200}, {'address': '203.0.113.77', 'packets': 34}],
		    changes=[{'time': at(220.5), 'event': 'apply', 'user': 'alice', 'text': 'policy applied by alice'}])
		many = incident(2000, 5600, 500000, 9000, '<b>x</b>', rules=[rule(2000, 5600, 50000, 9000, 50, rule=f'{n} {HOSTILE}') for n in range(8)],
		    alarms=[on(2000, 5600, alarm=f'a{n}', times=50) for n in range(2)],
		    spans=[on(2000 + n * 7.1, 2003 + n * 7.1, of='rule' if n % 10 < 8 else 'alarm', index=n % 10 % 8) for n in range(500)],
		    changes=[{'time': at(2100), 'event': 'apply', 'user': HOSTILE, 'text': HOSTILE + 'x' * 200}])
		unended = incident(6000.25, None, 41, 5, rules=[rule(6000.25, None, 41, 5, rule='any icmp limit 10/second')],
		    spans=[on(6000.25, None, of='rule', index=0)], common={'port': [{'value': HOSTILE, 'share': .5}]}, known=[{'address': HOSTILE, 'packets': 1}])
		print(json.dumps({'since': at(1), 'until': at(7200), 'incidents': [everything, many, unended], 'smaller': {'incidents': 2, 'packets': 31}}))
	END
}

# page FILTER >PAGE: with what the filter makes of the document, put into the template as page_save() does.
page() {
	cat "$TOP/build/incidents.html" && printf '<script type="application/json" id="data">' && jq -c "$1" "$TMP/attacks" | sed 's/</\\u003c/g' &&
		printf '</script>\n</body>\n</html>\n'
}
look() { attacks >"$TMP/attacks" && page . >"$PAGE" && page_look attacks; }

# other FILTER SEEN WANTED: of the page of another document.
other() { page "$1" >"$TMP/other.html" && is "$(shows "$TMP/other.html" "$2")" "$3"; }

# attack NUMBER FILTER WANTED
attack() { seen ".page.attacks[$1] | $2" "$3"; }

whole() {
	seen .page.title '"Attacks on 2026-05-28"' &&
		seen .page.lead '"5 attacks; the worst dropped 12.4 million packets at up to 150,000/s on eth0, from 20:28:20 to 20:41:52."' &&
		seen '.page.all | .[0], .[1], .[5]' '["1: eth0 xdp 13m 33s"]
["12,406,333 5.7 GiB","150,000/s 600 Mbit/s","20:28:20 to 20:41:52"]
["41 20.0 KiB","5/s 20.0 kbit/s","22:06:40, no end on record"]' &&
		seen '.page.soft[1]' '"2 smaller attacks with 31 dropped packets in all are left out."' && seen '.page.anchors == [.page.attacks[].heading]'
}
one_attack() {
	attack 0 .lead '"12.4 million packets were dropped within 13m 33s at up to 150,000/s; 93.0 % of them by any udp dport 53,123,161,389,1900,11211,27015-27030 length …. About 97.0 % went to udp/27015. 198.51.100.7 sent about 12.0 %. 2 known clients lost packets."' &&
		attack 0 .cards '{"Begin":"20:28:20","End":"20:41:52","Lasted":"13m 33s","▼ Dropped":"12,406,333","Peak":"150,000","Bans":"1,204"}'
}
tables() {
	attack 0 '.rules[1:], .alarms, .patterns, .common, .sources, .known, .changes' '[["11,537,890 5.3 GiB","93.0 %","150,000/s 600 Mbit/s","20:28:20 to 20:41:52 3 times"],["reason malformed"],["333 162.5 KiB","< 0.1 %","70/s 280 kbit/s","20:29:10 to 20:29:20"]]
[["flood","20:28:24 to 20:41:40 2 times"]]
[["udp/27015 length 32-63 ttl 48-63"],["62.0 %","2.0 %","198.51.0.0/16"],["To limit it: rule device udp dport 27015 length 32-63 ttl 48-63 not established limit 100/second"],["icmp"],["10.0 %","0.0 %","-"]]
[["Destination port","udp/27015","97.0 %"],["tcp/443","2.0 %"],["Length in bytes","53","100.0 %"],["TTL","57","50.0 %"]]
[["198.51.100.7","≈ 1,488,000","12.0 %"],["2001:db8:1234:5678::/64","≈ 248,000","2.0 %"]]
[["203.0.113.9","≈ 1,200"],["203.0.113.77","≈ 34"]]
[["20:30:20","alice","policy applied by alice"]]'
}
# Alarms first; a long rule is shortened, and whole in its title and in the table.
lanes() {
	attack 0 '.lanes | .[0], .[2]' $'"alarm flood"\n"reason malformed"' && attack 0 '.lanes[1] | endswith("…")' true &&
		seen '.page.attacks[0] | .lanes[1][:99] == .rules[0][0][:99]' &&
		attack 0 '.bars, .fills' $'{"alarm":2,"drop":4}\n["url(\\"#cross\\")","url(\\"#hatch\\")"]' &&
		# 200 of 812.4 seconds, of 960 units
		attack 0 '.places[2]' '[0,236.3]' && attack 1 '.bars, (.lanes | length)' $'{"alarm":100,"drop":400}\n10'
}
hostile() {
	seen '.page.attacks[1] | [.heading, .rules[0][0], .changes[0][2][:58]]' \
		'["2: <b>x</b> xdp, 21:00:00 to 22:00:00","0 </script><img src=x onerror=\"alert(1)\"> & \\xe2\\x80\\xae\\x0a","</script><img src=x onerror=\"alert(1)\"> & \\xe2\\x80\\xae\\x0a"]'
}
no_end() {
	attack 2 '.heading, .cards.End, .cards.Lasted' $'"3: eth0 xdp, 22:06:40, no end on record"\n"-"\n"20m"' &&
		attack 2 '.lead | endswith("1 known client lost packets. No end is on record: the attack may go on.")' true &&
		attack 2 .lanes '["any icmp limit 10/second","▶"]' && attack 2 '.places' '[[0,960]]'
}
empty_parts() { attack 1 '[.sources, .known, .patterns, .common, .alarms[0][0]]' '[null,null,null,null,"a0"]'; }

no_attack() { other '.incidents = [] | .smaller = {incidents: 0, packets: 0}' '.page | [.lead, (.attacks | length), .wrong]' '["No attack is on record.",0,[]]'; }
single() {
	other '.incidents |= .[2:] | .smaller.incidents = 0' '.page | [.lead, .all]' \
		'["1 attack, which dropped 41 packets at up to 5/s on eth0, since 22:06:40, no end on record.",[]]'
}
some_days() {
	other '.since = "2026-05-27T20:00:00.000Z"' '.page | [.title, .all[1][2], .attacks[0].alarms[0][1]]' \
		'["Attacks from 2026-05-27 to 2026-05-28","2026-05-28 20:28:20 to 20:41:52","20:28:24 to 20:41:40 2 times"]'
}
nothing_dropped() {
	other '.incidents |= [.[0] | .dropped.packets = 0 | .peak.packets = 0 | .rules = []] | .smaller.incidents = 0' '.page | [.lead, .attacks[0].lead[:34]]' \
		'["1 attack, which dropped no packets on eth0, from 20:28:20 to 20:41:52.","No packets were dropped within 13m"]'
}

t 'a page, seen in a browser' look || exit
page_rows 'rlctl report'
t 'all attacks' whole
t 'one attack' one_attack
t 'its tables' tables
t 'when alarms were on and rules dropped' lanes
t 'hostile texts' hostile
t 'an attack without an end' no_end
t 'an attack without sources' empty_parts
t 'no attack' no_attack
t 'a single attack' single
t 'times of some days' some_days
t 'an attack that dropped nothing' nothing_dropped
