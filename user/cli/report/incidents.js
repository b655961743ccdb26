// SPDX-License-Identifier: GPL-2.0-only
// Draws the page of attacks from the document in it, that of `report -j`.

// The others are abbreviations, in capitals: TTL.
const FIELDS = {port: 'Destination port', sport: 'Source port', length: 'Length in bytes', flags: 'TCP flags'};

// The time that the report covers, and its day, if it is of a single one.
let covered;

const timeOf = (text) => Date.parse(text) * MS;
const endOf = (of) => of.end ? timeOf(of.end) : covered.to;
const dayOf = (text) => clock(timeOf(text), DAY);
// With the date, unless it is that day's.
const moment = (text, day) => (dayOf(text) === day ? '' : dayOf(text) + ' ') + clock(timeOf(text), SECOND);
const period = (of, day = covered.day) => moment(of.begin, day) + (of.end ? ` to\u00a0${moment(of.end, dayOf(of.begin))}` : ', no end on record');
const place = (of) => `${of.device} ${of.hook}`;
const lasted = (of) => wait(Math.max(Math.ceil(of.seconds), 1) * SECOND);
const totalOf = (of) => of.dropped.packets;

// "12.4 million"
function about(n) {
	if (n < 1e6)
		return digits(n);
	return n < 1e9 ? `${digits(tenth(n / 1e6))} million` : `${digits(tenth(n / 1e9))} billion`;
}

// "1.2 Gbit/s" of bytes a second
function bits(n) {
	const units = ['', 'k', 'M', 'G', 'T'];
	let unit = 0, scaled = n * 8;

	for (; scaled >= 1000 && unit < 4; unit++)
		scaled /= 1000;
	return `${unit && scaled < 100 ? tenth(scaled).toFixed(1) : Math.floor(scaled)}\u00a0${units[unit]}bit/s`;
}

const estimate = (n) => cell('n', '≈ ', number(n));
const amountCell = (of) => cell('n', number(of.packets), small(bytes(of.bytes)));
const peakCell = (of) => cell('n', rate(of.packets, SECOND), small(bits(of.bytes)));
const amount = (of) => strong(totalOf(of) ? `${about(totalOf(of))} packet${totalOf(of) === 1 ? '' : 's'}` : 'no packets');
const upTo = (of) => of.peak.packets > 0 && ` at up to ${about(of.peak.packets)}/s`;
const ruleName = (of, most = Infinity) => of.rule ? code(short(of.rule, most)) : ['reason ', code(of.reason)];

// ---- all attacks

function lead({incidents, smaller}) {
	const count = incidents.length + smaller.incidents, worst = incidents.reduce((a, b) => a && totalOf(a) >= totalOf(b) ? a : b, null);

	if (!worst)
		return make('p', {class: 'lead calm'}, 'No attack is on record.');
	return make('p', {class: 'lead'}, strong(plural(count, 'attack')), count > 1 ? '; the worst' : ', which', ' dropped ', amount(worst), upTo(worst),
		` on ${worst.device}, ${worst.end ? 'from' : 'since'} ${period(worst)}.`);
}

const overview = ({incidents, smaller}) => [incidents.length > 1 && section('All attacks',
	table('all', 'The oldest first; the bars show when, within the time of this report.', [['n', '▼ Dropped'], ['n', 'Peak'], ['', 'When']], incidents.map((of, i) =>
		make('tbody', {class: 'rule'}, row(make('th', {colspan: 3, scope: 'rowgroup'}, make('a', {href: `#attack-${i + 1}`}, `${i + 1}: ${place(of)}`), small(` ${lasted(of)}`))),
			row(amountCell(of.dropped), peakCell(of.peak), cell('over', spanDraw(covered, timeOf(of.begin), endOf(of), period(of)))))))),
smaller.incidents > 0 && soft(`${plural(smaller.incidents, 'smaller attack')} with ${plural(smaller.packets, 'dropped packet')} in all are left out.`)];

// ---- one attack

function attackLead(of) {
	const [rule] = of.rules.slice().sort((a, b) => totalOf(b) - totalOf(a)), port = (of.common.port || [])[0], [source] = of.sources;

	return make('p', {class: 'lead'}, totalOf(of) ? amount(of) : strong('No packets'), totalOf(of) === 1 ? ' was' : ' were', ' dropped within ', strong(lasted(of)), upTo(of),
		rule && totalOf(of) > 0 && ['; ', strong(share(totalOf(rule), totalOf(of))), ' of them by ', ruleName(rule, 60)], '. ',
		port && ['About ', strong(share(port.share, 1)), ' went to ', code(port.value), '. '],
		source && [code(source.address), ' sent about ', strong(share(source.share, 1)), '. '],
		of.known.length > 0 && [strong(plural(of.known.length, 'known client')), ' lost packets. '],
		!of.end && 'No end is on record: the attack may go on.');
}

// As wide as a card at most.
const big = (n) => make('data', {value: n}, n < 1e8 ? digits(n) : about(n));

const cards = (of, i) => make('dl', {class: 'cards'},
	card('Begin', `begin-${i}`, clock(timeOf(of.begin), SECOND), dayOf(of.begin)),
	card('End', `end-${i}`, of.end ? clock(timeOf(of.end), SECOND) : '-', of.end ? dayOf(of.end) : 'no end on record'),
	card('Lasted', `lasted-${i}`, lasted(of), !of.end && 'until this report'),
	card('▼ Dropped', `dropped-${i}`, big(totalOf(of)), 'packets', bytes(of.dropped.bytes)),
	card('Peak', `peak-${i}`, big(of.peak.packets), 'packets/s of one rule', bits(of.peak.bytes)),
	card('Bans', `bans-${i}`, number(of.bans), 'began'));

// A lane for each alarm and rule, alarms before the rules that they may have turned on.
function lanesOf(of) {
	const named = (kind, list, name) => list.map((one, index) => ({kind, name: name(one), spans: of.spans.filter((span) => span.of === kind && span.index === index)
		.map((span) => ({from_us: timeOf(span.begin), to_us: endOf(span), open: !span.end}))}));

	return [...named('alarm', of.alarms, (one) => `alarm ${one.alarm}`), ...named('rule', of.rules, (one) => one.rule || `reason ${one.reason}`)]
		.filter((one) => one.spans.length);
}

function lanesDraw({lanes, from, to, title}, narrow) {
	const plot = {narrow, from, to, width: narrow ? 340 : 960}, bottom = PLOT_TOP + lanes.length * LANE_HEIGHT;

	return draw('svg', {class: `lanes ${narrow ? 'narrow' : 'wide'}`, viewBox: `0 0 ${plot.width} ${bottom + AXIS_HEIGHT}`, role: 'img', 'aria-label': title},
		draw('title', {}, title), axis(plot, bottom), lanes.map(({kind, name, spans}, i) => {
			const y = PLOT_TOP + i * LANE_HEIGHT;

			return [lane(plot, y, kind === 'alarm' ? 'alarm' : 'drop', name, spans, ', no end on record'),
				spans.some((span) => span.open) && draw('text', {class: 'name', 'text-anchor': 'end', x: plot.width - 2, y: y + LANE_HEIGHT - 6}, '▶')];
		}));
}

function timeline(of, i) {
	const lanes = lanesOf(of), from = timeOf(of.begin), to = Math.max(endOf(of), from + SECOND);

	return lanes.length > 0 && figure(`timeline-${i}`, {lanes, from, to, title: `When alarms were on and rules dropped packets, ${period(of)}`},
		'When each alarm was on (crosses), and when each rule dropped packets (hatched).' +
		(of.spans.every((span) => span.end) ? '' : ' ▶ is where no end is on record.') + (of.spans.length < 500 ? '' : ' 500 bars are drawn, which may not be all.'), lanesDraw);
}

const turns = (of, day) => [period(of, day), of.times > 1 && small(`${digits(of.times)} times`)];

const rules = (of, i) => of.rules.length > 0 && [make('h3', {}, 'Rules'),
	table(`rules-${i}`, 'The rules that dropped packets.', [['n', '▼ Dropped'], ['n', 'of all'], ['n', 'Peak'], ['', 'When']], of.rules.map((one) =>
		make('tbody', {class: 'rule'}, row(make('th', {colspan: 4, scope: 'rowgroup'}, ruleName(one))),
			row(amountCell(one.dropped), shareCell(totalOf(one), totalOf(of)), peakCell(one.peak), cell('over', turns(one, dayOf(of.begin)))))))];

const alarms = (of, i) => of.alarms.length > 0 && [make('h3', {}, 'Alarms'),
	table(`alarms-${i}`, 'When an alarm was on.', [['', 'Alarm'], ['', 'When']],
		make('tbody', {}, of.alarms.map((one) => row(head(one.alarm), cell('', turns(one, dayOf(of.begin)))))))];

const patternsOf = (of, i) => of.patterns.length > 0 && [make('h3', {}, 'Patterns of the dropped packets'),
	table(`patterns-${i}`, 'Each is of a tenth of them or more; estimated.', [['', 'Share'], ['n', 'of known sources'], ['', 'From']], of.patterns.map((one) =>
		make('tbody', {class: 'rule'}, row(make('th', {colspan: 3, scope: 'rowgroup'}, code(one.pattern))),
			row(shareCell(one.share, 1, 'over'), cell('n', share(one.known || 0, 1)), cell('', one.from ? code(one.from) : '-')),
			one.rule && row(make('td', {class: 'words', colspan: 3}, 'To limit it: ', code(one.rule))))))];

const common = (of, i) => Object.values(of.common).some((list) => list.length) && [make('h3', {}, 'Common to the dropped packets'),
	table(`common-${i}`, 'Shares of the dropped packets; estimated.', [['', 'Field'], ['', 'Value'], ['n', 'Share']],
		make('tbody', {}, Object.entries(of.common).map(([field, list]) => list.map(({value, share: part}, n) =>
			row(n === 0 && make('th', {scope: 'rowgroup', rowspan: list.length}, FIELDS[field] || field.toUpperCase()), cell('', code(String(value))), shareCell(part, 1, 'n over'))))))];

const sources = (of, i) => [make('h3', {}, 'Sources'), of.sources.length
	? table(`sources-${i}`, 'Those that sent at least a hundredth of the dropped packets; estimated. An attacker can forge addresses.',
		[['', 'Source'], ['n', '▼ Dropped'], ['n', 'Share']],
		make('tbody', {}, of.sources.map((one) => row(head(code(one.address)), estimate(one.packets), shareCell(one.share, 1)))))
	: paragraph('No single source is on record with a hundredth of the dropped packets.')];

const known = (of, i) => [make('h3', {}, 'Clients that were hit'), of.known.length
	? table(`known-${i}`, 'Known sources that lost packets; estimated.', [['', 'Client'], ['n', '▼ Lost packets']],
		make('tbody', {}, of.known.map((one) => row(head(code(one.address)), estimate(one.packets)))))
	: paragraph('No known source is on record to have lost packets.')];

const changes = (of, i) => of.changes.length > 0 && [make('h3', {}, 'Changes by operators'),
	table(`changes-${i}`, 'Made during the attack.', [['', 'Time'], ['', 'User'], ['', 'Change']], make('tbody', {}, of.changes.map((one) =>
		row(head(moment(one.time, dayOf(of.begin))), cell('', make('bdi', {}, one.user || '-')), cell('words', make('bdi', {}, one.text))))))];

const attack = (of, n) => fill(section(`${n}: ${place(of)}, ${period(of)}`, [attackLead, cards, timeline, rules, alarms, patternsOf, common, sources, known, changes]
	.map((part) => part(of, n))), {id: `attack-${n}`}, []);

// ---- the page

const method = () => details('How to read this page',
	paragraph('The figures are those of the journal of events. A peak is the highest rate of a single rule that is on record: all rules together ' +
		'may have dropped more. Figures with ≈ are estimated from a sample of the packets. Times are UTC.'),
	paragraph('An attack without an end on record may go on, or the journal ends before it does.'),
	paragraph('Made by ', code('rlctl report'), '. This page needs no other file and no network.'));

addEventListener('DOMContentLoaded', () => {
	const report = JSON.parse(document.getElementById('data').textContent), {since, until, incidents} = report;
	const [first, last] = [since, until].map(dayOf), oneDay = first === last;

	covered = {from: timeOf(since), to: timeOf(until), day: oneDay && first};
	document.title = oneDay ? `Attacks on ${first}` : `Attacks from ${first} to ${last}`;
	document.body.append(patterns(), make('header', {}, make('h1', {}, document.title), soft(`${moment(since, covered.day)} to ${moment(until, covered.day)} (UTC)`)),
		make('main', {}, lead(report), overview(report), incidents.map((of, i) => attack(of, i + 1))), method());
});
