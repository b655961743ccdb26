// SPDX-License-Identifier: GPL-2.0-only
// Text, elements, numbers and times of the pages. Times are microseconds, since 1970 where they are no durations. Text gets into a page
// as text alone, never as HTML.
'use strict';

const MS = 1000, SECOND = 1000 * MS, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;

// ---- text and elements

// Control characters, and those that change the direction of writing, as the bytes that they are.
function shown(text) {
	return text.replace(/[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, (character) =>
		[...new TextEncoder().encode(character)].map((byte) => '\\x' + byte.toString(16).padStart(2, '0')).join(''));
}

function short(text, most) {
	const letters = [...shown(text)];

	return letters.length > most ? letters.slice(0, most - 1).join('') + '…' : text;
}

function fill(element, attributes, children) {
	Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
	element.append(...children.flat(Infinity).filter(Boolean).map((child) => child.nodeType ? child : shown(child)));
	return element;
}
const make = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
const draw = (name, attributes, ...children) => fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);

const paragraph = (...children) => make('p', {}, children);
const soft = (...children) => make('p', {class: 'soft'}, children);
const section = (heading, ...children) => make('section', {}, make('h2', {}, heading), children);
const code = (text) => make('code', {}, text);
const small = (...children) => make('small', {}, children);
const strong = (text) => make('strong', {}, text);
const row = (...cells) => make('tr', {}, cells);
const cell = (kind, ...children) => make('td', {class: kind}, children);
const head = (...children) => make('th', {scope: 'row'}, children);
// A table that scrolls in itself; the id is of the caption. Columns are [class, words, how many].
const table = (id, caption, columns, ...bodies) => make('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-labelledby': id},
	make('table', {}, make('caption', {id}, caption),
		make('thead', {}, row(columns.map(([kind, words, colspan = 1]) => make('th', {scope: 'col', class: kind, colspan}, words)))), bodies));
const card = (title, id, big, text, rest, kind = '', restId = '') => make('div', {class: kind}, make('dt', {}, title),
	make('dd', {class: 'big', id}, big), make('dd', {}, text), rest && make('dd', {class: 'soft', ...(restId && {id: restId})}, rest));
const details = (summary, ...children) => make('details', {}, make('summary', {}, summary), children);

// ---- numbers and times

const digits = (n) => n.toLocaleString('en-US');
const plural = (n, word) => `${digits(n)} ${word}${n === 1 ? '' : 's'}`;
// With the number itself for programs.
const number = (n) => make('data', {value: n}, digits(n));
const sum = (list) => list.reduce((a, b) => a + b, 0);
const peak = (series) => series.reduce((best, n, i) => n > series[best] ? i : best, 0);
const tenth = (n) => Math.floor(n * 10) / 10;

function bytes(n) {
	let unit = -1, scaled = n;

	while (scaled >= 1024 && unit < 3) {
		scaled /= 1024;
		unit++;
	}
	return make('data', {value: n}, unit < 0 ? `${n} B` : `${tenth(scaled).toFixed(1)} ${['KiB', 'MiB', 'GiB', 'TiB'][unit]}`);
}

function share(part, all) {
	const permille = Math.round(part * 1000 / all);

	if (!all)
		return '-';
	if (part && !permille)
		return '< 0.1 %';
	return part < all && permille === 1000 ? '> 99.9 %' : `${(permille / 10).toFixed(1)} %`;
}

// With a bar that is as long as the share.
function shareCell(part, all, kind = 'n') {
	const bar = make('span', {});

	bar.style.width = `${Math.floor(part * 100 / all)}%`;
	return cell(kind, share(part, all), make('span', {class: 'bar', 'aria-hidden': true}, bar));
}

// "1,234/s", with a decimal below 10.
function rate(packets, span) {
	const tenths = Math.round(packets * 10 * SECOND / span);

	return (tenths < 100 && tenths % 10 ? (tenths / 10).toFixed(1) : digits(Math.floor((tenths + 5) / 10))) + '/s';
}

// UTC. The step is what the times beside this one differ by.
function clock(time, step) {
	const text = new Date(Math.floor(time / MS)).toISOString();

	if (step >= DAY)
		return text.slice(0, 10);
	return text.slice(11, step < SECOND ? 23 : step < MINUTE ? 19 : 16);
}

const UNITS = [[DAY, 'd'], [HOUR, 'h'], [MINUTE, 'm'], [SECOND, 's'], [MS, 'ms'], [1, 'us']];
const duration = (span) => UNITS.filter(([unit]) => span % unit === 0).map(([unit, name]) => span / unit + name)[0];

// Two units at most, rounded up.
function wait(span) {
	const seconds = Math.ceil(span / SECOND) * SECOND, i = UNITS.findIndex(([unit]) => seconds >= unit);

	if (span < 10 * SECOND)
		return duration(Math.ceil(span / MS) * MS);
	const rest = i < 3 ? Math.floor(seconds % UNITS[i][0] / UNITS[i + 1][0]) : 0;
	return Math.floor(seconds / UNITS[i][0]) + UNITS[i][1] + (rest ? ` ${rest}${UNITS[i + 1][1]}` : '');
}

