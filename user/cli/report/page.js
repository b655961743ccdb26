// SPDX-License-Identifier: GPL-2.0-only
// Draws the page from the document in it: that of `simulate -j`, and what page_json.c adds as its member "report".

// ---- what is known of the run

let said, report, bins, facts;

const letters = ['A', 'B'];
// The part of their packets that known sources lost.
const lostOf = (known) => share(known.dropped, known.dropped + known.passed);
const begin = (bin) => bins.first_us + bin * bins.width_us;

// The rule that dropped most, unless a reason that no rule has dropped more.
function stopper() {
	const [first] = report.rules;
	let most = {name: () => code(first.rule), packets: first ? first.dropped.packets : 0};

	for (const of of facts.reasons)
		if (!of.passes && sum(of.packets) > 2 * most.packets)
			most = {name: () => ['the reason ', code(of.reason)], packets: sum(of.packets)};
	return most;
}

function overTime(passes, unit) {
	const series = Array(bins.count).fill(0);

	for (const of of facts.reasons.filter((reason) => reason.passes === passes))
		of[unit].forEach((n, i) => { series[i] += n; });
	return series;
}

function factsFind() {
	facts = {reasons: report.reasons.filter((of) => of.packets), known: report.sources.known[0]};
	Object.assign(facts, {
		passed: overTime(true, 'packets'), passedBytes: overTime(true, 'bytes'),
		dropped: overTime(false, 'packets'), droppedBytes: overTime(false, 'bytes'),
		step: bins.width_us < SECOND ? MS : SECOND,
	});
	facts.worst = peak(facts.dropped);
	facts.stopper = stopper();
}

// ---- the summary: when drops began, which rule stopped it, what was lost

function lead() {
	if (!report.began_us)
		return make('p', {class: 'lead calm'}, 'Nothing was dropped.');
	const into = report.began_us - report.first_us;
	return make('p', {class: 'lead'}, 'Drops began at ', strong(clock(report.began_us, facts.step)),
		into ? `, ${wait(into)} into the capture,` : ', with the capture,', ` and reached ${rate(facts.dropped[facts.worst], bins.width_us)}. `,
		facts.stopper.name(), ' dropped ', strong(share(facts.stopper.packets, sum(facts.dropped))), ' of what was dropped.',
		facts.known.count > 0 && [' Sources that were there before lost ', strong(lostOf(facts.known)), ' of their packets',
			said.against && [', and under ', make('bdi', {}, report.policies[1]), ' ', strong(lostOf(report.sources.known[1]))], '.']);
}

const lostCard = (id, title, known) => known.count ? card(title, id, number(known.dropped), ['packets, ', lostOf(known)],
	[number(known.losing), ' of ', number(known.count), report.sources.missed ? ' noted sources' : ' sources']) : card(title, id, '-', 'no source was');
const amountCard = (id, title, packets, size) => card(title, id, number(packets), ['packets, ', share(packets, report.packets)], bytes(size), '', id + '-bytes');

const cards = () => make('dl', {class: 'cards'},
	amountCard('passed', '▲ Passed', sum(facts.passed), sum(facts.passedBytes)),
	amountCard('dropped', '▼ Dropped', sum(facts.dropped), sum(facts.droppedBytes)),
	report.began_us && [
		card('Drops began', 'began', clock(report.began_us, facts.step), `worst at ${clock(begin(facts.worst), facts.step)}`,
			`${rate(facts.dropped[facts.worst], bins.width_us)} dropped`),
		lostCard('known-lost', 'Lost by sources that were there before', facts.known),
		make('div', {class: 'full'}, make('dt', {}, 'Dropped most'), make('dd', {id: 'stopper'}, facts.stopper.name()),
			make('dd', {}, number(facts.stopper.packets), ' packets'))]);

function summary() {
	const alarms = report.alarms[0].names.length ? report.alarms[0] : null;

	return make('section', {'aria-label': 'Summary'}, lead(), cards(), figure('traffic', {
		up: {series: facts.passed, name: 'passed', kind: 'pass'}, down: {series: facts.dropped, name: 'dropped', kind: 'drop'},
		title: 'Packets that passed and were dropped, over time',
		description: 'Passed packets a second grow upwards from the line, plain; dropped ones downwards, hatched. ' +
			'The same figures are in the table at the end of the page.',
		mark: report.began_us, alarms,
	}, 'Packets a second: passed above the line, dropped below it (hatched), on one scale.' +
		(alarms ? ' Bars below: when an alarm was on.' : '')));
}

// ---- against another policy

// A number stands for as many sources with one packet each.
function sourceHead({source, missed}, each = 'with one packet each') {
	return head(typeof source === 'number' ? `${plural(source, missed ? 'noted source' : 'source')} ${each}` : code(source), missed > 0 && small(` up to ${missed} more`));
}

function difference(of, series) {
	const letter = of.dropped_by === 'policy' ? 'A' : 'B';

	return make('tbody', {class: 'rule'},
		row(make('th', {colspan: 4, scope: 'rowgroup'}, `Only ${letter} drops, ${of.reason}`, of.rule && [': ', code(of.rule)])),
		row(cell('n', number(of.packets)), cell('n', bytes(of.bytes)),
			make('td', {class: 'over', colspan: 2}, spark(series, letter === 'A' ? 'drop' : 'shadow', 'difference'))));
}

function differences(against) {
	const shownOnes = against.differences.slice(0, report.differences.length), hidden = against.differences.length - shownOnes.length;

	return [figure('difference', {
		up: {series: report.only_policy, name: 'only A drops', kind: 'drop'}, down: {series: report.only_against, name: 'only B drops', kind: 'shadow'},
		title: 'Packets that only one of the two policies drops, over time',
		description: 'Upwards, hatched: what only policy A drops; downwards, dotted: what only policy B drops.',
	}, 'Packets a second: above the line what only A drops (hatched), below it what only B drops (dotted).'),
	table('differences', 'The rules that make the difference, most packets first.', [['n', 'Packets'], ['n', 'Bytes'], ['', 'Over time', 2]],
		shownOnes.map((of, i) => difference(of, report.differences[i].packets))),
	hidden > 0 && soft(`${digits(hidden)} more have fewer packets.`),
	make('h3', {}, 'Sources'),
	table('differing', 'The sources with which they deal differently.', [['', 'Source'], ['n', 'only A drops'], ['n', 'only B drops']],
		make('tbody', {}, report.differing.map((source) =>
			row(sourceHead(source), cell('n', number(source.policy.packets)), cell('n', number(source.against.packets))))))];
}

function reasonAgainst({reason: name, passes}, a, b) {
	return (a || b) && row(head(`${passes ? '▲' : '▼'} ${name}`), cell('n', number(a)), cell('n', number(b)),
		cell('n', a === b ? '' : b > a ? '+' : '−', number(Math.abs(b - a))));
}

function againstSection(against) {
	const only = letters.map((letter, i) => {
		const amount = [against.dropped_only_by.policy, against.dropped_only_by.against][i];

		return card(`Only ${letter} drops`, 'only-' + letter, number(amount.packets), ['packets, ', bytes(amount.bytes)],
			[`${letter} is `, make('bdi', {}, report.policies[i])]);
	});
	const lost = letters.map((letter, i) => lostCard('lost-' + letter, `${letter}: lost by sources that were there before`, report.sources.known[i]));

	return fill(section(['Against ', report.policies[1]], make('dl', {class: 'cards'}, only, lost),
		against.differences.length ? differences(against) : paragraph('Both policies pass and drop the same packets.'),
		make('h3', {}, 'Reasons'),
		table('reasons-against', 'Packets by reason, ▲ passed and ▼ dropped.', [['', 'Reason'], ['n', 'A'], ['n', 'B'], ['n', 'B to A']],
			make('tbody', {}, report.reasons.map((of) =>
				reasonAgainst(of, said.reasons[of.reason].packets, against.reasons[of.reason].packets))))), {id: 'against'}, []);
}

// ---- counts

const verdictCells = (of, series, kind, title) => [cell(`n ${kind}-sum`, number(of.packets), small(bytes(of.bytes))), cell('over', spark(series, kind, title))];

function rule(of) {
	const time = of.over_time;

	return make('tbody', {class: 'rule'},
		row(make('th', {colspan: 4, scope: 'rowgroup'}, code(of.rule), of.comment && small(' # ', make('bdi', {}, of.comment)))),
		row(verdictCells(of.dropped, time.dropped, 'drop', 'dropped'), verdictCells(of.passed, time.passed, 'pass', 'passed')),
		of.shadow.packets > 0 && row(verdictCells(of.shadow, time.shadow, 'shadow', 'over the limit, and passed'),
			make('td', {colspan: 2}, 'over the limit, and passed')));
}

function rules() {
	const drawn = report.rules.filter((of) => of.over_time), hidden = report.rules.length - drawn.length;
	const without = said.rules.length - report.rules.length;

	return section('By rule',
		table('rules', 'Those that dropped most come first.', [['n', '▼ Dropped'], ['', 'over time'], ['n', '▲ Passed'], ['', 'over time']], drawn.map(rule)),
		hidden > 0 && soft(`${digits(hidden)} more rules had fewer packets.`), without > 0 && soft(`${plural(without, 'rule')} had no packet.`));
}

const reason = (of) => make('tr', {id: 'reason-' + of.reason}, head(of.reason, make('small', {class: 'verdict'}, of.passes ? '▲ pass' : '▼ drop')),
	cell('n', number(sum(of.packets)), small(share(sum(of.packets), report.packets))), cell('n bytes', bytes(sum(of.bytes))),
	cell('over', spark(of.packets, of.passes ? 'pass' : 'drop', of.reason)));

const reasons = () => section('By reason', table('reasons', 'Each packet has one reason.',
	[['', 'Reason'], ['n', 'Packets'], ['n bytes', 'Bytes'], ['', 'Over time']],
	make('tbody', {}, [false, true].map((passes) => facts.reasons.filter((of) => of.passes === passes).map(reason)))));

const overTimeTable = () => details('The figures over time',
	table('bins', `Packets and bytes in each ${duration(bins.width_us)}; empty ones are left out.`,
		[['', 'From'], ['n', 'Passed'], ['n', 'bytes'], ['n', 'Dropped'], ['n', 'bytes']],
		make('tbody', {}, facts.passed.map((n, i) => (n || facts.dropped[i]) && row(head(clock(begin(i), facts.step)), cell('n', number(n)),
			cell('n', bytes(facts.passedBytes[i])), cell('n', number(facts.dropped[i])), cell('n', bytes(facts.droppedBytes[i])))))));

// ---- shares

const CLASSES = [['established', 'pass', 'established'], ['known', 'known', 'known sources'], ['strangers', 'strangers', 'strangers'],
	['unasked', 'unasked', 'all, while not short']];

function shareOf({rule: words, share: of}, i) {
	const classes = CLASSES.filter(([name]) => of[name]).map(([name, kind, title]) =>
		({kind, title, arrived: of[name].arrived, series: of[name].passed || Array(bins.count).fill(0)}));
	const total = (list) => Array(bins.count).fill(0).map((zero, bin) => sum(list.map((series) => series[bin])));
	const passed = total(classes.map(({series}) => series)), dropped = total(classes.map(({arrived}) => arrived)).map((n, bin) => n - passed[bin]);

	return [paragraph(code(words)), figure(`share-${i}`, {
		up: {series: passed, name: 'within', layers: classes}, down: {series: dropped, name: 'over', kind: 'drop'},
		title: `Shares of ${words}, over time`,
		description: 'What was within the limit grows upwards from the line, by class of its senders, each with the pattern that it has in the table; ' +
			'what was over it downwards, hatched.',
	}, `${of.unit === 'bytes' ? 'Bytes' : 'Packets'} a second: within the limit above the line, by class of the senders; over it below the line (hatched).`),
	table(`classes-${i}`, `In ${of.unit}. The limit is short from when more comes than it gives until a second after; only then are packets asked for their class.`,
		[['', 'Senders'], ['n bytes', 'Arrived'], ['n', 'Within'], ['n', 'over'], ['', 'Within, over time']],
		make('tbody', {}, classes.map(({kind, title, arrived, series}) => row(head(title), cell('n bytes', number(sum(arrived))), cell('n', number(sum(series))),
			shareCell(sum(arrived) - sum(series), sum(arrived)), cell('over', spark(series, kind, title))))))];
}

function shares() {
	const shared = report.rules.filter((of) => of.share);

	return shared.length > 0 && section('By class of senders', shared.map(shareOf));
}

// ---- sources

function source(of, each) {
	const plot = {from: begin(0), to: begin(bins.count)};

	return row(sourceHead(of, each), cell('n', number(of.dropped)), shareCell(of.dropped, of.passed + of.dropped),
		cell('n', number(of.passed)), cell('n bytes', bytes(of.size)), cell('over seen',
			spanDraw(plot, of.first_us, of.last_us, `${clock(of.first_us, facts.step)} to ${clock(of.last_us, facts.step)}`)));
}

const sourcesTable = (id, caption, list, each) => table(id, caption,
	[['', 'Source'], ['n', 'Dropped'], ['n', 'lost'], ['n', 'Passed'], ['n bytes', 'Bytes'], ['', 'Seen']],
	make('tbody', {}, list.map(([name, dropped, passed, size, missed, first_us, last_us]) =>
		source({source: name, dropped, passed, size, missed, first_us, last_us}, each))));

function knownOf(known, i) {
	const hidden = known.losing - sum(known.heaviest.map(([name]) => typeof name === 'number' ? name : 1));

	return [report.policies.length > 1 && make('h3', {}, `${letters[i]}: `, make('bdi', {}, report.policies[i])), known.losing ? [
		sourcesTable(['known', 'known-against'][i], 'They sent before drops began, and lost packets: perhaps honest traffic.', known.heaviest,
			'that lost one packet each'),
		hidden > 0 && soft(`${plural(hidden, 'more such source')} lost less.`)]
		: paragraph(known.count ? 'None of the sources that were seen before drops began lost a packet.'
			: 'No source was seen before drops began, so that none can be distinguished from the others.')];
}

const known = () => (sum(facts.dropped) || said.against) && section('Lost by sources that were there before', report.sources.known.map(knownOf));

const sources = () => section('Heaviest sources',
	sourcesTable('sources', 'IPv4 by address, IPv6 by /64; those of most packets first.', report.sources.heaviest),
	soft(report.sources.missed ? `There are more than ${digits(report.sources.max)} sources. The list has each one with more than ` +
		`${plural(report.sources.missed, 'packet')}; a figure may lack as many packets as stand beside the source.`
		: `There are ${plural(report.sources.count, 'source')} in all; the figures are exact.`));

// ---- alarms

function alarmsOf(side, i) {
	const ids = ['alarms', 'alarms-against'];

	return [report.alarms.length > 1 && make('h3', {}, report.policies[i]),
		side.spans.length ? table(ids[i], 'When an alarm was on.', [['', 'Alarm'], ['', 'On'], ['', 'Off'], ['n', 'For']],
			make('tbody', {}, side.spans.map((span) => row(head(span.alarm), cell('', clock(span.from_us, MS)),
				cell('', span.open ? 'still on at the end' : clock(span.to_us, MS)), cell('n', wait(Math.max(span.to_us - span.from_us, 1)))))))
			: paragraph('No alarm went on.'),
		side.lost > 0 && soft(`${digits(side.lost)} more changes followed too closely to be shown.`)];
}

const alarms = () => report.alarms.some((side) => side.names.length) && section('Alarms', report.alarms.map(alarmsOf));

// ---- the page

function header() {
	const second = (time) => new Date(Math.floor(time / MS)).toISOString().slice(0, 19) + 'Z';

	return make('header', {}, make('h1', {}, document.title), report.packets
		? soft(`${second(report.first_us)} to ${second(report.last_us)} (UTC), ${wait(report.last_us - report.first_us + 1)}: `,
			make('span', {id: 'packets'}, number(report.packets)), ' packets, ', bytes(report.bytes))
		: make('p', {class: 'lead calm'}, 'No packet was run.'));
}

// How the figures are meant.
const method = () => details('How to read this page',
	report.packets > 0 && paragraph(`Each step of a drawing is the mean of ${duration(bins.width_us)}; the first and the last one may lie in part ` +
		'outside of the capture, and show less than there was. Small drawings have a scale of their own. Times are UTC.'),
	paragraph(`Drops are said to begin with the first step that has ${report.began_percent} % of the drops of the worst one. Sources were there before ` +
		'that were seen in the first half of the time until then: a limit lets the first packets of a flood pass, too.' +
		(said.against ? ' They are the same for both policies: those before the drops of A or, if it dropped nothing, of B.' : '')),
	paragraph('A packet that passes counts for each limit that it was held to, so that the packets of all rules may be more than those of the capture.'),
	report.not_run > 0 && paragraph(`${report.not_run} packets were sent by a local address or passed between others, and were not run.`),
	report.jumps > 0 && paragraph(`Time jumps ${plural(report.jumps, 'time')} in this capture; there the policy starts over without any state.`),
	paragraph('Made by ', code('rlctl simulate --report'), '. This page needs no other file and no network.'));

addEventListener('DOMContentLoaded', () => {
	said = JSON.parse(document.getElementById('data').textContent);
	({report} = said);
	({bins} = report);
	document.title = shown(`Simulation of ${report.policies[0]} on ${report.capture}`);
	document.body.append(patterns(), header(), make('main', {}, report.packets > 0 && [factsFind(), summary(), said.against && againstSection(said.against),
		rules(), shares(), reasons(), known(), sources(), alarms(), overTimeTable()].filter(Boolean), method()));
});
