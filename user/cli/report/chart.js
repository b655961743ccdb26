// SPDX-License-Identifier: GPL-2.0-only
// Drawings over time, as SVG. Their colours are those of page.css; every colour comes with a pattern, a place or a word that says the
// same. A chart is {up, down, title, description, mark, alarms}: two series with their names and classes, one upwards from the line, one
// downwards, a time to mark and alarms to show below. The `layers` of a series are parts that lie on each other, the lowest first.

const PLOT_HEIGHT = 250, PLOT_TOP = 8, AXIS_HEIGHT = 24, LANE_HEIGHT = 34, LANE_BAR = 12, SPARK_WIDTH = 240, SPARK_HEIGHT = 36, LETTER_WIDTH = 7.5;

const patterns = () => draw('svg', {class: 'defs', width: 0, height: 0, 'aria-hidden': true}, draw('defs', {},
	[['hatch', 6, draw('rect', {class: 'stroke', width: 3, height: 6})],
		['cross', 6, draw('path', {class: 'lines', d: 'M0 0L6 6M6 0L0 6'})],
		['dots', 5, draw('circle', {class: 'stroke', cx: 2, cy: 2, r: 1.4})],
		['bars', 5, draw('rect', {class: 'pass', width: 5, height: 2})],
		['specks', 6, draw('circle', {class: 'pass', cx: 2, cy: 2, r: 1.3})]].map(([id, side, shape]) =>
		draw('pattern', {id, width: side, height: side, patternUnits: 'userSpaceOnUse', ...(id === 'hatch' && {patternTransform: 'rotate(45)'})},
			draw('rect', {class: 'ground', width: side, height: side}), shape))));

// A bar that is not empty is seen: at least one unit.
function steps(series, top, width, height, line, down) {
	let path = `M0 ${tenth(line)}`, before = line;

	series.forEach((n, i) => {
		const length = n ? Math.max(n * height / top, 1) : 0, y = tenth(down ? line + length : line - length);

		if (y !== before)
			path += `H${tenth(i * width / bins.count)}V${y}`;
		before = y;
	});
	return path + `H${width}V${tenth(line)}Z`;
}

// The layer that lies on all others is drawn first, from the line, and the others before it.
function layersDraw({series, kind, layers = [{series, kind}]}, path) {
	const sums = layers.reduce((below, of) => [...below, of.series.map((n, i) => n + (below.length ? below[below.length - 1][i] : 0))], []);

	return layers.map((of, i) => draw('path', {class: of.kind, d: path(sums[i])})).reverse();
}

// 1, 2 or 5 times a power of ten, of which no more than `parts` are in `top`.
function roundStep(top, parts) {
	for (let power = 1; ; power *= 10)
		for (const factor of [1, 2, 5])
			if (top < (parts + 1) * power * factor)
				return power * factor;
}

function timeStep(span, parts) {
	const factors = [[MS, [1, 2, 5, 10, 20, 50, 100, 200, 500]], [SECOND, [1, 2, 5, 10, 15, 30]], [MINUTE, [1, 2, 5, 10, 15, 30]],
		[HOUR, [1, 2, 3, 6, 12]], [DAY, [1, 2, 7, 14, 28, 91, 365, 3650]]];

	return factors.flatMap(([unit, list]) => list.map((n) => n * unit)).find((step) => span < (parts + 1) * step) || Math.floor(span / parts) + 1;
}

function xOf(plot, time) {
	const {from, to} = plot;

	return tenth((Math.min(Math.max(time, from), to) - from) / (to - from) * plot.width);
}

// Words beside x, on the side where there is more room, and never beyond the edge.
function label(plot, x, y, text) {
	const left = x > plot.width / 2, wide = text.length * LETTER_WIDTH;

	return draw('text', {class: 'name', x: left ? Math.max(x - 5, wide) : Math.min(x + 5, plot.width - wide), y, ...(left && {'text-anchor': 'end'})}, text);
}

// Steps are of packets in a bin; what is printed are packets a second.
function scale(plot, down) {
	const top = down ? plot.topDown : plot.topUp, step = roundStep(Math.max(plot.topUp, plot.topDown), 3);
	const height = down ? PLOT_TOP + PLOT_HEIGHT - plot.line : plot.line - PLOT_TOP, lines = [];

	for (let n = step; n <= top; n += step) {
		const y = Math.floor(plot.line + (down ? 1 : -1) * n * height / top);

		lines.push(draw('path', {class: 'grid', d: `M0 ${y}H${plot.width}`}),
			draw('text', {class: 'scale', x: 4, y: down ? y - 4 : y + 13}, rate(n, bins.width_us)));
	}
	return lines;
}

function axis(plot, bottom) {
	const {from, to} = plot, step = timeStep(to - from, plot.narrow ? 3 : 7), margin = plot.narrow ? 20 : 30, lines = [];

	for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
		const x = xOf(plot, time);

		lines.push(draw('path', {class: 'grid', d: `M${x} ${PLOT_TOP}V${bottom + 4}`}));
		if (x >= margin && x + margin <= plot.width)
			lines.push(draw('text', {class: 'scale', 'text-anchor': 'middle', x, y: bottom + 17}, clock(time, step)));
	}
	return lines;
}

// "dropped, at most 1,234/s" beside the peak.
function peakLabel(plot, down) {
	const {series, name} = down ? plot.down : plot.up, at = peak(series);

	return label(plot, xOf(plot, begin(at)), down ? PLOT_TOP + PLOT_HEIGHT - 6 : PLOT_TOP + 12,
		`${down ? '▼' : '▲'} ${name}, at most ${rate(series[at], bins.width_us)}`);
}

function mark(plot) {
	const x = xOf(plot, plot.mark), middle = PLOT_TOP + PLOT_HEIGHT / 2;

	return plot.mark && [draw('path', {class: 'mark', d: `M${x} ${PLOT_TOP}V${PLOT_TOP + PLOT_HEIGHT}`}),
		label(plot, x, plot.line > middle ? plot.line - 24 : plot.line + 30, 'drops begin')];
}

// Each bin under the pointer says its figures.
function pointed(plot) {
	const {up, down} = plot, step = Math.min(bins.width_us, SECOND);

	return up.series.map((n, i) => (n || down.series[i]) && draw('rect',
		{class: 'bin', x: tenth(i * plot.width / bins.count), y: PLOT_TOP, height: PLOT_HEIGHT, width: tenth(plot.width / bins.count)},
		draw('title', {}, `${clock(begin(i), step)}: ${up.name} ${rate(n, bins.width_us)}, ${down.name} ${rate(down.series[i], bins.width_us)}`)));
}

// When something was on, as bars below its name.
function lane(plot, y, kind, name, spans, noEnd = ' to the end') {
	const words = short(name, Math.floor(plot.width / (LETTER_WIDTH + 0.5))), bar = y + LANE_HEIGHT - 4 - LANE_BAR;

	return [draw('text', {class: 'name', x: 4, y: y + 13}, words.endsWith('…') && draw('title', {}, name), words),
		draw('path', {class: 'lane', d: `M0 ${y + LANE_HEIGHT - 4}H${plot.width}`}),
		spans.map((span) => draw('rect', {class: kind, x: xOf(plot, span.from_us), y: bar, height: LANE_BAR,
			width: Math.max(tenth(xOf(plot, span.to_us) - xOf(plot, span.from_us)), 2)},
			draw('title', {}, `on from ${clock(span.from_us, MS)}${span.open ? noEnd : ' to ' + clock(span.to_us, MS)}`)))];
}

const alarmLane = (plot, name, i) => {
	const spans = plot.alarms.spans.filter((span) => span.alarm === name);

	return lane(plot, PLOT_TOP + PLOT_HEIGHT + AXIS_HEIGHT + i * LANE_HEIGHT, 'alarm', `alarm ${name}${spans.length ? '' : ': never on'}`, spans);
};

// Both directions have one scale.
function plotDraw(chart, narrow) {
	const plot = {...chart, narrow, width: narrow ? 340 : 960, from: begin(0), to: begin(bins.count),
		topUp: Math.max(...chart.up.series), topDown: Math.max(...chart.down.series)};
	const names = plot.alarms ? plot.alarms.names : [], height = PLOT_TOP + PLOT_HEIGHT + AXIS_HEIGHT + names.length * LANE_HEIGHT;

	plot.line = PLOT_TOP + Math.floor(PLOT_HEIGHT * plot.topUp / (plot.topUp + plot.topDown || 1));
	return draw('svg', {class: narrow ? 'narrow' : 'wide', viewBox: `0 0 ${plot.width} ${height}`, role: 'img', 'aria-label': plot.title},
		draw('title', {}, plot.title), draw('desc', {}, plot.description), axis(plot, PLOT_TOP + PLOT_HEIGHT),
		layersDraw(plot.up, (series) => steps(series, plot.topUp, plot.width, plot.line - PLOT_TOP, plot.line)),
		draw('path', {class: plot.down.kind, d: steps(plot.down.series, plot.topDown, plot.width, PLOT_TOP + PLOT_HEIGHT - plot.line, plot.line, true)}),
		scale(plot, false), scale(plot, true), draw('path', {class: 'zero', d: `M0 ${plot.line}H${plot.width}`}),
		mark(plot), peakLabel(plot, false), peakLabel(plot, true), names.map((name, i) => alarmLane(plot, name, i)), !narrow && pointed(plot));
}

// For a wide screen and for a narrow one; the style sheet shows one of them.
const figure = (id, chart, caption, drawing = plotDraw) => make('figure', {id}, drawing(chart, false), drawing(chart, true), make('figcaption', {}, caption));

// A small drawing of its own scale.
function spark(series, kind, title) {
	if (!series || !sum(series))
		return make('span', {class: 'none'}, 'none');
	const most = rate(Math.max(...series), bins.width_us), line = SPARK_HEIGHT - 1;
	return [draw('svg', {class: 'spark', viewBox: `0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`, preserveAspectRatio: 'none', role: 'img',
		'aria-label': `${title} over time, at most ${most}`},
		draw('path', {class: kind, d: steps(series, Math.max(...series), SPARK_WIDTH, line - 1, line)}),
		draw('path', {class: 'zero', d: `M0 ${line}H${SPARK_WIDTH}`})), small(`at most ${most}`)];
}

// From when to when: a bar in the span of the plot, and the words that say so.
function spanDraw({from, to}, first_us, last_us, words) {
	const plot = {from, to, width: SPARK_WIDTH}, x = xOf(plot, first_us);

	return [draw('svg', {class: 'spark thin', viewBox: `0 0 ${SPARK_WIDTH} 10`, preserveAspectRatio: 'none', role: 'img',
		'aria-label': `seen from ${words}`}, draw('path', {class: 'zero', d: `M0 5H${SPARK_WIDTH}`}),
		draw('rect', {class: 'span', x, y: 1, width: Math.max(tenth(xOf(plot, last_us) - x), 2), height: 8})), small(words)];
}
