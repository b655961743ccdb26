// SPDX-License-Identifier: GPL-2.0-only
// Asked of a page by browser.py.

// [red, green, blue, opacity] of a computed colour.
const colour = (text) => { const n = text.match(/[\d.]+/g).map(Number); return [n[0], n[1], n[2], n.length > 3 ? n[3] : 1]; };
const linear = (c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
const brightness = (c) => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
// From WCAG 2: 4.5 is readable for people who see less.
const contrast = (a, b) => { const [x, y] = [brightness(a), brightness(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };

const ground = (element) => {
	for (; element; element = element.parentElement) {
		const c = colour(getComputedStyle(element).backgroundColor);
		if (c[3] === 1)
			return c;
	}
	return [255, 255, 255, 1];
};

const shown = (element) => element.getClientRects().length && getComputedStyle(element).visibility === 'visible';

const words = () => [...document.querySelectorAll('body *')].filter((e) => shown(e) &&
	[...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) && !e.closest('title, desc, style, defs'));

const faint = (e) => {
	const style = getComputedStyle(e), ink = colour(e.closest('svg') ? style.fill : style.color);
	return contrast(ink, ground(e.parentElement.closest('svg') ? document.body : e)) < 4.5;
};

// For the words of a drawing, in which the size scales with it.
const size = (e) => {
	const svg = e.closest('svg');
	const scale = svg && svg.viewBox.baseVal ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
	return parseFloat(getComputedStyle(e).fontSize) * scale;
};

// Does this text, in place of its own, take one line of the element?
const oneLine = (e, text) => {
	const before = e.textContent, height = parseFloat(getComputedStyle(e).lineHeight);
	e.textContent = text;
	const one = e.clientHeight < 1.5 * height;
	e.textContent = before;
	return one;
};

const measure = () => ({
	window: innerWidth,
	width: Math.max(document.documentElement.scrollWidth, document.body.scrollWidth),
	outside: [...document.querySelectorAll('body *')].filter((e) => shown(e) && !e.closest('.scroll, defs') &&
		e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 80)),
	faint: words().filter(faint).map((e) => e.textContent.slice(0, 40)),
	small: words().filter((e) => size(e) < 10.5).map((e) => e.textContent.slice(0, 40)),
	words: words().length,
	time: [['#began', '20:20:22.200'], ['#dropped-1', '99,999,999']].some(([id, text]) => {
		const e = document.querySelector(id);
		return e && oneLine(e, text);
	}),
	dark: brightness(ground(document.body)) < 0.2,
});

// A square in what a path fills, on the page.
const inside = (path) => {
	const svg = path.ownerSVGElement, box = path.getBBox(), from = svg.createSVGPoint(), matrix = path.getScreenCTM(), side = 14;
	for (let y = box.y; y < box.y + box.height; y += 2)
		for (let x = box.x; x < box.x + box.width; x += 2) {
			const all = [[0, 0], [side, 0], [0, side], [side, side]].every(([dx, dy]) => {
				[from.x, from.y] = [x + dx, y + dy];
				return path.isPointInFill(from);
			});
			if (all) {
				[from.x, from.y] = [x + 1, y + 1];
				const at = from.matrixTransform(matrix);
				return {x: at.x + scrollX, y: at.y + scrollY, width: side - 2, height: side - 2};
			}
		}
	return null;
};

const places = () => Object.fromEntries(['pass', 'drop'].map((name) => {
	const path = document.querySelector('#traffic svg.wide path.' + name);
	return [name, path && inside(path)];
}));
// Words and lines that lie over them.
const veil = (seen) => document.querySelectorAll('#traffic text, #traffic .grid, #traffic .mark, #traffic .bin').forEach((e) => {
	e.style.visibility = seen; });

// Are 31 characters of a drawing 340 wide all in it, at 7.4 each?
const within = (text) => {
	const x = Number(text.getAttribute('x')), end = text.getAttribute('text-anchor') === 'end';
	return end ? x - 31 * 7.4 >= 0 : x + 31 * 7.4 <= 340;
};

// Those of the page of attacks.
const attackRows = () => [
	[about(0), '0'], [about(999999), '999,999'], [about(1e6), '1 million'], [about(12499999), '12.4 million'], [about(2e12), '2,000 billion'],
	[bits(0), '0\u00a0bit/s'], [bits(124), '992\u00a0bit/s'], [bits(125), '1.0\u00a0kbit/s'], [bits(156250000), '1.2\u00a0Gbit/s'],
	[bits(2 ** 50), '9007\u00a0Tbit/s'],
];

// Rows of text, numbers and times as the page's own functions write them, and as they should; those that differ.
const wrong = () => [
	[window.shown('plain'), 'plain'], [window.shown('Müller ▲ <b>&amp;'), 'Müller ▲ <b>&amp;'], [window.shown(''), ''],
	[window.shown('\u202e evil \u2066'), '\\xe2\\x80\\xae evil \\xe2\\x81\\xa6'], [window.shown('line\nbreak\x1b[31m\x7f'), 'line\\x0abreak\\x1b[31m\\x7f'],
	[short('four', 4), 'four'], [short('five…', 4), 'fiv…'], [short('\n12', 4), '\\x0…'],
	[share(0, 0), '-'], [share(0, 5), '0.0 %'], [share(1, 100000), '< 0.1 %'], [share(99999, 100000), '> 99.9 %'], [share(1, 3), '33.3 %'],
	[share(7, 7), '100.0 %'], [share(2 ** 63, 2 ** 64), '50.0 %'],
	[rate(0, 1e6), '0/s'], [rate(1, 1e7), '0.1/s'], [rate(15, 1e3), '15,000/s'], [rate(99, 1e7), '9.9/s'], [rate(1000, 3e6), '333/s'],
	[duration(2000), '2ms'], [duration(36e8), '1h'], [duration(1.5e6), '1500ms'], [wait(1), '1ms'], [wait(9.9995e6), '10s'], [wait(1.5e6), '1500ms'],
	[wait(61e6), '1m 1s'], [wait(120000001), '2m 1s'], [wait(86400e6 * 3), '3d'], [wait(5400e6), '1h 30m'],
	[clock(1780000000123456, 1e3), '20:26:40.123'], [clock(1780000000123456, 1e6), '20:26:40'], [clock(1780000000123456, 6e7), '20:26'],
	[clock(1780000000123456, 864e8), '2026-05-28'], [bytes(1023).textContent, '1023 B'], [bytes(1024).textContent, '1.0 KiB'],
	...[0, 10, 160, 180, 335].map((x) => [within(label({width: 340}, x, 0, '▼ only A drops, at most 1,020/s')), true]),
	[bytes(1048575).textContent, '1023.9 KiB'], [bytes(1048576).textContent, '1.0 MiB'], [bytes(2 ** 51).textContent, '2048.0 TiB'],
	...(window.about ? attackRows() : []),
].filter(([got, wanted]) => got !== wanted);

const number = (element) => { const data = element && element.querySelector('data'); return data ? Number(data.value) : null; };
const column = (table, index) => [...document.querySelectorAll(table + ' tbody tr')].map((row) => number(row.children[index]));

const said = (e) => e.innerText.replace(/\s+/g, ' ').trim();
const cells = (of) => [...of.querySelectorAll('tbody tr')].map((row) => [...row.cells].map(said));
const attack = (of) => ({
	heading: said(of.querySelector('h2')),
	lead: said(of.querySelector('.lead')),
	cards: Object.fromEntries([...of.querySelectorAll('.cards > div')].map((card) => [...card.children].slice(0, 2).map((e) => e.textContent))),
	lanes: [...of.querySelectorAll('svg.wide text.name')].map((e) => e.textContent),
	bars: Object.fromEntries(['alarm', 'drop'].map((kind) => [kind, of.querySelectorAll('svg.wide rect.' + kind).length])),
	fills: [...new Set([...of.querySelectorAll('svg.wide rect')].map((e) => getComputedStyle(e).fill))],
	places: [...of.querySelectorAll('svg.wide rect')].map((e) => ['x', 'width'].map((name) => Number(e.getAttribute(name)))),
	...Object.fromEntries([...of.querySelectorAll('table')].map((table) => [table.caption.id.split('-')[0], cells(table)])),
});

const facts = () => ({
	attacks: [...document.querySelectorAll('section[id^=attack]')].map(attack),
	all: [...document.querySelectorAll('table:has(#all)')].flatMap(cells),
	anchors: [...document.querySelectorAll('a')].map((e) => document.querySelector(e.getAttribute('href')).querySelector('h2')).map(said),
	soft: [...document.querySelectorAll('p.soft')].map((e) => e.textContent),
	title: document.title,
	wrong: wrong(),
	lang: document.documentElement.lang,
	// Its own two: the document and what draws it.
	scripts: document.querySelectorAll('script:not([src])').length,
	others: document.querySelectorAll('script[src], iframe, object, embed, link, img, base, form').length,
	handlers: [...document.querySelectorAll('*')].flatMap((e) => [...e.attributes]).filter((a) => /^on/i.test(a.name)).length,
	links: [...document.querySelectorAll('[href]:not([href^="#"]), [src]')].length,
	packets: number(document.querySelector('#packets')),
	passed: {packets: number(document.querySelector('#passed')), bytes: number(document.querySelector('#passed-bytes'))},
	dropped: {packets: number(document.querySelector('#dropped')), bytes: number(document.querySelector('#dropped-bytes'))},
	reasons: Object.fromEntries([...document.querySelectorAll('tr[id^=reason-]')].map((row) =>
		[row.id.slice(7), {packets: number(row.children[1]), bytes: number(row.children[2])}])),
	rules: [...document.querySelectorAll('table:has(#rules) tbody')].map((body) => ({
		rule: body.querySelector('code').textContent,
		comment: body.querySelector('bdi') ? body.querySelector('bdi').textContent : null,
		dropped: {packets: number(body.rows[1].cells[0]), bytes: number(body.rows[1].cells[0].querySelector('small'))},
		passed: {packets: number(body.rows[1].cells[2]), bytes: number(body.rows[1].cells[2].querySelector('small'))},
		shadow: body.rows[2] ? number(body.rows[2].cells[0]) : 0})),
	// By class of senders: what arrived, and what was within the limit.
	shares: [...document.querySelectorAll('table:has(caption[id^=classes-])')].map((table) =>
		Object.fromEntries([...table.querySelectorAll('tbody tr')].map((row) => [row.cells[0].textContent, [number(row.cells[1]), number(row.cells[2])]]))),
	layers: [...document.querySelectorAll('figure[id^=share-] svg.wide')].map((e) => ['pass', 'known', 'strangers', 'unasked', 'drop'].map((kind) =>
		e.querySelectorAll('path.' + kind).length)),
	bins: [1, 2, 3, 4].map((i) => column('table:has(#bins)', i).reduce((a, b) => a + b, 0)),
	sources: [...document.querySelectorAll('table:has(#sources) tbody tr')].map((row) =>
		({source: row.children[0].textContent, dropped: number(row.children[1]), passed: number(row.children[3])})),
	known: ['known', 'known-against'].map((id) => [...document.querySelectorAll(`table:has(#${id}) tbody tr`)].map((row) =>
		[row.children[0].textContent, number(row.children[1])])),
	lost: ['A', 'B'].map((side) => number(document.querySelector('#lost-' + side))),
	lead: said(document.querySelector('.lead')),
	began: document.querySelector('#began') ? document.querySelector('#began').textContent : null,
	stopper: document.querySelector('#stopper') ? document.querySelector('#stopper').textContent : null,
	only: ['A', 'B'].map((side) => number(document.querySelector('#only-' + side))),
	differences: [...document.querySelectorAll('table:has(#differences) tbody')].map((body) =>
		({what: body.rows[0].textContent, packets: number(body.rows[1].cells[0])})),
	differing: [...document.querySelectorAll('table:has(#differing) tbody tr')].map((row) =>
		({source: row.children[0].textContent, a: number(row.children[1]), b: number(row.children[2])})),
	spans: [...document.querySelectorAll('table:has(#alarms) tbody tr')].map((row) => [...row.children].slice(0, 3).map((e) => e.textContent)),
	alarms: document.querySelectorAll('#traffic svg.wide .alarm').length,
	alarmPlaces: [...document.querySelectorAll('#traffic svg.wide .alarm')].map((e) => e.x.baseVal.value / e.ownerSVGElement.viewBox.baseVal.width),
	figures: [...document.querySelectorAll('svg[role=img]')].filter((e) => !e.getAttribute('aria-label')).length,
	captions: [...document.querySelectorAll('table')].filter((t) => !t.caption || !t.caption.textContent).length,
	headings: document.querySelectorAll('h1').length,
	text: document.body.innerText,
});
