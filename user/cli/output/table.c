// SPDX-License-Identifier: GPL-2.0-only
/* Tables and JSON documents on stdout, and records, which print as either. */
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/output/line.h"
#include "cli/output/output.h"
#include "cli/terminal.h"

/* ---- tables ---- */

static void table_add(struct table *table, char *cell)
{
	size_t capacity = table->capacity ? table->capacity * 2 : 64;

	if (!cell)
		out_of_memory();
	if (table->count == table->capacity) {
		table->cells = xreallocarray(table->cells, capacity, sizeof(*table->cells));
		table->capacity = capacity;
	}
	table->cells[table->count++] = cell;
}

void table_cell(struct table *table, const char *text)
{
	table_add(table, text_shown(text));
}

void table_row(struct table *table, ...)
{
	const char *text;
	va_list args;

	va_start(args, table);
	while ((text = va_arg(args, const char *)))
		table_cell(table, text);
	va_end(args);
}

void table_number(struct table *table, uint64_t n)
{
	char text[NUMBER_TEXT_MAX];

	number_print(text, n);
	table_add(table, strdup(text));
}

/* The columns that have a value other than nothing below their heading. */
static uint32_t columns_filled(const struct table *table)
{
	uint32_t filled = 0;

	for (size_t i = table->columns; i < table->count; i++) {
		const char *cell = table->cells[i];

		if (*cell && strcmp(cell, "0") != 0 && strcmp(cell, "-") != 0)
			filled |= 1u << i % table->columns;
	}
	return filled;
}

static int width_needed(const int *widths, size_t count, uint32_t shown, int rest)
{
	int sum = 0;

	for (size_t i = 0; i < count; i++) {
		bool cut = i + 1 == count && rest < widths[i];

		sum += shown & 1u << i ? (cut ? rest : widths[i]) + COLUMN_GAP : 0;
	}
	return sum - COLUMN_GAP;
}

uint32_t columns_fit(const int *widths, size_t count, uint32_t shown, uint32_t filled,
		     const struct column_drop *drops, int width)
{
	for (int round = 0; round < 2; round++)
		for (const struct column_drop *drop = drops; drop->columns || drop->rest; drop++) {
			if (round && !drop->rest)
				continue;
			if (width_needed(widths, count, shown, round ? drop->rest : REST_USUAL) <=
			    width)
				return shown;
			if (round || !(filled & drop->columns))
				shown &= ~drop->columns;
		}
	return shown;
}

static void row_print(const struct table *table, size_t first, const int *widths, uint32_t shown,
		      int width)
{
	int used = 0;

	for (size_t i = 0; i < table->columns; i++) {
		bool last = !(shown >> i >> 1);
		int pad = table->right & 1u << i ? widths[i] : last ? 0 : -widths[i];

		if (!(shown & 1u << i))
			continue;
		if (last)
			text_shorten(table->cells[first + i], used < width ? width - used : 0,
				     "..");
		used += printf("%*s%*s", pad, table->cells[first + i], last ? 0 : COLUMN_GAP, "");
	}
	putchar('\n');
}

void table_print(struct table *table)
{
	uint32_t shown = (uint32_t)((1ull << table->columns) - 1);
	unsigned int rows, columns = INT_MAX;
	int widths[TABLE_COLUMNS_MAX] = {0};

	for (size_t i = 0; table->columns && i < table->count; i++) {
		int width = (int)strlen(table->cells[i]), *most = &widths[i % table->columns];

		*most = width > *most ? width : *most;
	}
	if (table->drops && terminal_size(&rows, &columns))
		shown = columns_fit(widths, table->columns, shown, columns_filled(table),
				    table->drops, (int)columns);
	for (size_t i = 0; table->columns && i + table->columns <= table->count;
	     i += table->columns)
		row_print(table, i, widths, shown, (int)columns);
	table_clear(table);
}

void table_clear(struct table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->cells[i]);
	free(table->cells);
	table->cells = NULL;
	table->count = table->capacity = 0;
}

/* ---- JSON ---- */

void json_put(struct json_object *object, const char *key, struct json_object *value)
{
	if (!object || !value || json_object_object_add(object, key, value))
		out_of_memory();
}

void json_put_text(struct json_object *object, const char *key, const char *text)
{
	json_put(object, key, json_object_new_string(text));
}

void json_put_number(struct json_object *object, const char *key, uint64_t n)
{
	json_put(object, key, json_object_new_uint64(n));
}

void json_put_bool(struct json_object *object, const char *key, bool is)
{
	json_put(object, key, json_object_new_boolean(is));
}

void json_put_time(struct json_object *object, const char *key, uint64_t realtime_ns)
{
	char text[NUMBER_TEXT_MAX];

	time_print(text, realtime_ns, false);
	json_put_text(object, key, text);
}

void json_append(struct json_object *array, struct json_object *value)
{
	if (!array || !value || json_object_array_add(array, value))
		out_of_memory();
}

struct json_object *json_amount(const struct rl_amount *amount)
{
	struct json_object *object = json_object_new_object();

	json_put_number(object, "packets", amount->packets);
	json_put_number(object, "bytes", amount->bytes);
	return object;
}

/* Decodes the UTF-8 character at `text`. Returns its length, or 0 if it is invalid. */
static size_t utf8_read(const char *text, uint32_t *out)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char lead = text[0];
	size_t len = lead >= 0xf8 ? 0 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 0;
	uint32_t code = len ? lead & 0x7fu >> len : 0;

	for (size_t i = 1; i < len; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (!len || code < least[len] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	*out = code;
	return len;
}

static void json_character(FILE *file, uint32_t code)
{
	if (code > 0xffff) {
		fprintf(file, "\\u%04x", 0xd7c0 + (code >> 10));
		code = 0xdc00 + (code & 0x3ff);
	}
	fprintf(file, "\\u%04x", code);
}

/* json-c escapes control characters. Escapes other characters outside ASCII, which only strings
 * contain, as in JSON, and invalid UTF-8 as \xNN. */
static void json_write_text(FILE *file, const char *text)
{
	while (*text) {
		size_t plain = 0, len;
		uint32_t code = 0x7f;

		while (text[plain] > 0 && text[plain] < 0x7f)
			plain++;
		fwrite(text, 1, plain, file);
		text += plain;
		if (!*text)
			break;
		len = *text == 0x7f ? 1 : utf8_read(text, &code);
		if (len)
			json_character(file, code);
		else
			fprintf(file, "\\\\x%02x", (unsigned char)*text);
		text += len ? len : 1;
	}
}

static void json_write(FILE *file, struct json_object *document)
{
	const int flags = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE;
	const char *text = document ? json_object_to_json_string_ext(document, flags) : NULL;

	if (!text)
		out_of_memory();
	json_write_text(file, text);
}

void json_print(struct json_object *document)
{
	json_write(stdout, document);
	putchar('\n');
	json_object_put(document);
}

char *json_line(struct json_object *document)
{
	char *line = NULL;
	size_t size;
	FILE *file = memory_open(&line, &size);

	json_write(file, document);
	memory_close(file);
	return line;
}

/* ---- records ---- */

void report_begin(struct report *report, struct json_object *object)
{
	report->records++;
	report->document |= output_json;
	if (!report->document) {
		json_object_put(object);
		return;
	}
	if (!report->array)
		report->array = json_object_new_array();
	report->record = object ? object : json_object_new_object();
	json_append(report->array, report->record);
}

/* Adds a cell, and for the first record its heading. */
void report_cell(struct report *report, const char *heading, const char *text, bool right)
{
	size_t column;

	if (!heading || report->document)
		return;
	if (report->records == 1)
		table_cell(&report->headings, heading);
	column = report->cells.count - (report->records - 1) * report->headings.count;
	report->headings.right |= (uint32_t)right << column;
	table_cell(&report->cells, text);
}

void report_value(struct report *report, const char *key, struct json_object *value)
{
	if (key && report->document)
		json_put(report->record, key, value);
	else
		json_object_put(value);
}

void report_text(struct report *report, const char *key, const char *heading, const char *text)
{
	report_cell(report, heading, text, false);
	report_value(report, key, json_object_new_string(text));
}

/* An ID, printed without thousands separators. */
void report_id(struct report *report, const char *key, const char *heading, uint64_t id)
{
	char text[NUMBER_TEXT_MAX];

	snprintf(text, sizeof(text), "%" PRIu64, id);
	report_cell(report, heading, text, true);
	report_value(report, key, json_object_new_uint64(id));
}

void report_number(struct report *report, const char *key, const char *heading, uint64_t n)
{
	char text[NUMBER_TEXT_MAX];

	number_print(text, n);
	report_cell(report, heading, text, true);
	report_value(report, key, json_object_new_uint64(n));
}

void report_bytes(struct report *report, const char *key, const char *heading, uint64_t bytes)
{
	char text[NUMBER_TEXT_MAX];

	size_print(text, bytes);
	report_cell(report, heading, text, true);
	report_value(report, key, json_object_new_uint64(bytes));
}

void report_time(struct report *report, const char *key, const char *heading, uint64_t realtime_ns)
{
	char local[NUMBER_TEXT_MAX], utc[NUMBER_TEXT_MAX];

	time_print(local, realtime_ns, true);
	time_print(utc, realtime_ns, false);
	report_cell(report, heading, local, false);
	report_value(report, key, json_object_new_string(utc));
}

void report_none(struct report *report, const char *heading)
{
	report_cell(report, heading, "-", false);
}

struct json_object *report_end(struct report *report)
{
	struct column_drop drops[TABLE_COLUMNS_MAX + 1] = {0};
	struct table *all = &report->headings;

	if (output_json || report->document)
		return report->array ? report->array : json_object_new_array();
	all->columns = all->count;
	for (size_t i = 0; report->drops && report->drops[i] && i < TABLE_COLUMNS_MAX; i++) {
		drops[i].rest = REST_USUAL;
		for (size_t column = all->columns; column--;)
			if (!strcmp(all->cells[column], report->drops[i]))
				drops[i].columns = 1u << column;
	}
	all->drops = report->drops ? drops : report->columns;
	for (size_t i = 0; i < report->cells.count; i++) {
		table_add(all, report->cells.cells[i]);
		report->cells.cells[i] = NULL;
	}
	table_clear(&report->cells);
	table_print(all);
	return NULL;
}

void report_put(struct report *report, struct json_object *document, const char *key)
{
	struct json_object *array = report_end(report);

	if (array)
		json_put(document, key, array);
}
