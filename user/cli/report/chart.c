// SPDX-License-Identifier: GPL-2.0-only
/* Drawings over time. Coordinates are in tenths of a unit, so that no number needs a locale. */
#include "cli/report/chart.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/report/html.h"

#define PLOT_HEIGHT  250u
#define PLOT_TOP     8u
#define AXIS_HEIGHT  24u
#define LANE_HEIGHT  34u
#define LANE_BAR     12u
#define SPARK_WIDTH  240u
#define SPARK_HEIGHT 36u
#define TENTHS       10u

/* Where things are, in units of the drawing. */
struct plot {
	FILE *out;
	const struct chart *chart;
	unsigned int width;
	bool narrow;
	uint64_t from_ns, to_ns;
	uint64_t top_up, top_down; /* packets of a bin at the ends of the scale */
	unsigned int line_y;       /* of no packets */
};

/* 12.3 */
static void put_tenths(FILE *out, uint64_t tenths)
{
	fprintf(out, "%" PRIu64, tenths / TENTHS);
	if (tenths % TENTHS)
		fprintf(out, ".%" PRIu64, tenths % TENTHS);
}

static uint64_t scaled(uint64_t part, uint64_t all, uint64_t length)
{
	return all ? (uint64_t)((unsigned __int128)part * length / all) : 0;
}

void chart_patterns(FILE *out)
{
	fputs("<svg class=\"defs\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>\n"
	      "<pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
	      "patternTransform=\"rotate(45)\"><rect class=\"ground\" width=\"6\" height=\"6\"/>"
	      "<rect class=\"stroke\" width=\"3\" height=\"6\"/></pattern>\n"
	      "<pattern id=\"cross\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
	      "<rect class=\"ground\" width=\"6\" height=\"6\"/>"
	      "<path class=\"lines\" d=\"M0 0L6 6M6 0L0 6\"/></pattern>\n"
	      "<pattern id=\"dots\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\">"
	      "<rect class=\"ground\" width=\"5\" height=\"5\"/>"
	      "<circle class=\"stroke\" cx=\"2\" cy=\"2\" r=\"1.4\"/></pattern>\n"
	      "</defs></svg>\n",
	      out);
}

/* ---- the steps of a series */

struct steps {
	const struct timeline *timeline;
	const struct series *series;
	uint64_t top;           /* packets at the end of the scale */
	uint64_t width, height; /* tenths */
	uint64_t line_y;        /* tenths */
	bool down;
};

/* A bar that is not empty is seen: at least one unit. */
static uint64_t step_y(const struct steps *steps, size_t bin)
{
	uint64_t packets = steps->series->at[bin].packets;
	uint64_t height = scaled(packets, steps->top, steps->height);

	if (packets && height < TENTHS)
		height = TENTHS;
	return steps->down ? steps->line_y + height : steps->line_y - height;
}

static void put_command(FILE *out, char command, uint64_t tenths)
{
	fputc(command, out);
	put_tenths(out, tenths);
}

static void steps_path(FILE *out, const struct steps *steps)
{
	size_t count = steps->timeline->count;
	uint64_t y = steps->line_y;

	fputs("d=\"M0 ", out);
	put_tenths(out, y);
	for (size_t i = 0; i < count; i++) {
		if (step_y(steps, i) != y) {
			y = step_y(steps, i);
			put_command(out, 'H', i * steps->width / count);
			put_command(out, 'V', y);
		}
	}
	put_command(out, 'H', steps->width);
	put_command(out, 'V', steps->line_y);
	fputs("Z\"", out);
}

/* ---- scales */

/* 1, 2 or 5 times a power of ten, of which no more than `parts` are in `top`. */
static uint64_t round_step(uint64_t top, unsigned int parts)
{
	static const unsigned int factors[] = {1, 2, 5};

	for (uint64_t power = 1; power < UINT64_MAX / 100; power *= 10)
		for (int i = 0; i < 3; i++)
			if (top / (power * factors[i]) <= parts)
				return power * factors[i];
	return UINT64_MAX / parts;
}

static uint64_t time_step(uint64_t span_ns, unsigned int parts)
{
	static const uint64_t steps[] = {
		NS_PER_MS,          2 * NS_PER_MS,      5 * NS_PER_MS,      10 * NS_PER_MS,
		20 * NS_PER_MS,     50 * NS_PER_MS,     100 * NS_PER_MS,    200 * NS_PER_MS,
		500 * NS_PER_MS,    NS_PER_SECOND,      2 * NS_PER_SECOND,  5 * NS_PER_SECOND,
		10 * NS_PER_SECOND, 15 * NS_PER_SECOND, 30 * NS_PER_SECOND, NS_PER_MINUTE,
		2 * NS_PER_MINUTE,  5 * NS_PER_MINUTE,  10 * NS_PER_MINUTE, 15 * NS_PER_MINUTE,
		30 * NS_PER_MINUTE, NS_PER_HOUR,        2 * NS_PER_HOUR,    3 * NS_PER_HOUR,
		6 * NS_PER_HOUR,    12 * NS_PER_HOUR,   NS_PER_DAY,         2 * NS_PER_DAY,
		7 * NS_PER_DAY,     14 * NS_PER_DAY,    28 * NS_PER_DAY,    91 * NS_PER_DAY,
		365 * NS_PER_DAY,   3650 * NS_PER_DAY,
	};
	size_t count = sizeof(steps) / sizeof(steps[0]);

	for (size_t i = 0; i < count; i++)
		if (span_ns / steps[i] <= parts)
			return steps[i];
	return span_ns / parts + 1;
}

static uint64_t x_of(const struct plot *plot, uint64_t time_ns)
{
	uint64_t at = time_ns < plot->from_ns ? plot->from_ns : time_ns;

	at = at > plot->to_ns ? plot->to_ns : at;
	return scaled(at - plot->from_ns, plot->to_ns - plot->from_ns,
		      (uint64_t)plot->width * TENTHS);
}

/* A word beside x, on the side where there is more room. */
static void put_label(const struct plot *plot, uint64_t x, unsigned int y, const char *class_name,
		      const char *text)
{
	bool left = x > (uint64_t)plot->width * TENTHS / 2;

	fprintf(plot->out, "<text class=\"%s\" x=\"", class_name);
	put_tenths(plot->out, left && x > 50 ? x - 50 : x + 50);
	fprintf(plot->out, "\" y=\"%u\"%s>", y, left ? " text-anchor=\"end\"" : "");
	html_text(plot->out, text);
	fputs("</text>\n", plot->out);
}

static void scale_put(const struct plot *plot, bool down)
{
	uint64_t width_ns = timeline_width_ns(plot->chart->timeline);
	uint64_t top = down ? plot->top_down : plot->top_up;
	uint64_t height = down ? PLOT_TOP + PLOT_HEIGHT - plot->line_y : plot->line_y - PLOT_TOP;
	uint64_t step =
		round_step((plot->top_up > plot->top_down ? plot->top_up : plot->top_down), 3);

	/* Steps are of packets in a bin; what is printed are packets a second. */
	for (uint64_t n = step; top && n <= top; n += step) {
		uint64_t at = scaled(n, top, height);
		unsigned int y = (unsigned int)(down ? plot->line_y + at : plot->line_y - at);
		char text[HTML_RATE_MAX];

		rate_text(text, n, width_ns);
		fprintf(plot->out,
			"<path class=\"grid\" d=\"M0 %uH%u\"/>"
			"<text class=\"scale\" x=\"4\" y=\"%u\">%s</text>\n",
			y, plot->width, down ? y - 4 : y + 13, text);
	}
}

static void axis_put(const struct plot *plot)
{
	uint64_t step_ns = time_step(plot->to_ns - plot->from_ns, plot->narrow ? 3 : 7);
	uint64_t time_ns = (plot->from_ns + step_ns - 1) / step_ns * step_ns;
	unsigned int bottom = PLOT_TOP + PLOT_HEIGHT;

	for (; time_ns <= plot->to_ns; time_ns += step_ns) {
		uint64_t x = x_of(plot, time_ns), margin = plot->narrow ? 200 : 300;
		char text[HTML_TIME_MAX];

		fputs("<path class=\"grid\" d=\"M", plot->out);
		put_tenths(plot->out, x);
		fprintf(plot->out, " %uV%u\"/>", PLOT_TOP, bottom + 4);
		if (x < margin || x + margin > (uint64_t)plot->width * TENTHS) {
			fputc('\n', plot->out);
			continue;
		}
		clock_text(text, time_ns, step_ns);
		fputs("<text class=\"scale\" text-anchor=\"middle\" x=\"", plot->out);
		put_tenths(plot->out, x);
		fprintf(plot->out, "\" y=\"%u\">%s</text>\n", bottom + 17, text);
	}
}

/* ---- parts of the large drawing */

static void area_put(const struct plot *plot, bool down)
{
	const struct chart *chart = plot->chart;
	const struct steps steps = {
		.timeline = chart->timeline,
		.series = down ? chart->down : chart->up,
		.top = down ? plot->top_down : plot->top_up,
		.width = (uint64_t)plot->width * TENTHS,
		.height = (uint64_t)TENTHS *
			  (down ? PLOT_TOP + PLOT_HEIGHT - plot->line_y : plot->line_y - PLOT_TOP),
		.line_y = (uint64_t)plot->line_y * TENTHS,
		.down = down,
	};

	fprintf(plot->out, "<path class=\"%s\" ", down ? chart->down_class : chart->up_class);
	steps_path(plot->out, &steps);
	fputs("/>\n", plot->out);
}

/* "dropped, at most 1,234/s" beside the peak. */
static void peak_put(const struct plot *plot, bool down)
{
	const struct timeline *timeline = plot->chart->timeline;
	const struct series *series = down ? plot->chart->down : plot->chart->up;
	const char *name = down ? plot->chart->down_name : plot->chart->up_name;
	size_t peak = series_peak(timeline, series);
	char rate[HTML_RATE_MAX], text[HTML_RATE_MAX + 64];

	rate_text(rate, series->at[peak].packets, timeline_width_ns(timeline));
	snprintf(text, sizeof(text), "%s %s, at most %s", down ? "▼" : "▲", name, rate);
	put_label(plot, x_of(plot, timeline_begin_ns(timeline, peak)),
		  down ? PLOT_TOP + PLOT_HEIGHT - 6 : PLOT_TOP + 12, "name", text);
}

static void mark_put(const struct plot *plot)
{
	uint64_t x = x_of(plot, plot->chart->mark_ns);

	if (!plot->chart->mark_ns)
		return;
	fputs("<path class=\"mark\" d=\"M", plot->out);
	put_tenths(plot->out, x);
	fprintf(plot->out, " %uV%u\"/>", PLOT_TOP, PLOT_TOP + PLOT_HEIGHT);
	put_label(plot, x,
		  plot->line_y > PLOT_TOP + PLOT_HEIGHT / 2 ? plot->line_y - 24 : plot->line_y + 30,
		  "name", plot->chart->mark_name);
}

/* Each bin under the pointer says its figures. */
static void bins_put(const struct plot *plot)
{
	const struct chart *chart = plot->chart;
	const struct timeline *timeline = chart->timeline;
	uint64_t width_ns = timeline_width_ns(timeline);
	uint64_t width = (uint64_t)plot->width * TENTHS;

	for (size_t i = 0; i < timeline->count; i++) {
		char up[HTML_RATE_MAX], down[HTML_RATE_MAX], at[HTML_TIME_MAX];
		uint64_t x = i * width / timeline->count, end = (i + 1) * width / timeline->count;

		if (!chart->up->at[i].packets && !chart->down->at[i].packets)
			continue;
		rate_text(up, chart->up->at[i].packets, width_ns);
		rate_text(down, chart->down->at[i].packets, width_ns);
		clock_text(at, timeline_begin_ns(timeline, i),
			   width_ns < NS_PER_SECOND ? width_ns : NS_PER_SECOND);
		fputs("<rect class=\"bin\" x=\"", plot->out);
		put_tenths(plot->out, x);
		fprintf(plot->out, "\" y=\"%u\" height=\"%u\" width=\"", PLOT_TOP, PLOT_HEIGHT);
		put_tenths(plot->out, end - x);
		fprintf(plot->out, "\"><title>%s: %s %s, %s %s</title></rect>\n", at,
			chart->up_name, up, chart->down_name, down);
	}
}

static unsigned int lanes(const struct chart *chart)
{
	return chart->alarms ? chart->alarms->count : 0;
}

static void lane_put(const struct plot *plot, uint32_t alarm)
{
	const struct alarm_record *alarms = plot->chart->alarms;
	unsigned int y = PLOT_TOP + PLOT_HEIGHT + AXIS_HEIGHT + alarm * LANE_HEIGHT;
	size_t times = 0;

	for (size_t i = 0; i < alarms->span_count; i++)
		times += alarms->spans[i].alarm == alarm;
	fprintf(plot->out, "<text class=\"name\" x=\"4\" y=\"%u\">alarm ", y + 13);
	html_text(plot->out, alarms->seen[alarm].name);
	fputs(times ? "" : ": never on", plot->out);
	fprintf(plot->out, "</text><path class=\"lane\" d=\"M0 %uH%u\"/>\n", y + LANE_HEIGHT - 4,
		plot->width);
	for (size_t i = 0; i < alarms->span_count; i++) {
		const struct alarm_span *span = &alarms->spans[i];
		uint64_t from = x_of(plot, span->from_ns), to = x_of(plot, span->to_ns);
		char begin[HTML_TIME_MAX], end[HTML_TIME_MAX];

		if (span->alarm != alarm)
			continue;
		clock_text(begin, span->from_ns, NS_PER_MS);
		clock_text(end, span->to_ns, NS_PER_MS);
		fputs("<rect class=\"alarm\" x=\"", plot->out);
		put_tenths(plot->out, from);
		fprintf(plot->out, "\" y=\"%u\" height=\"%u\" width=\"",
			y + LANE_HEIGHT - 4 - LANE_BAR, LANE_BAR);
		put_tenths(plot->out, to > from + 2 * TENTHS ? to - from : 2 * TENTHS);
		fprintf(plot->out, "\"><title>on from %s to %s</title></rect>\n", begin,
			span->open ? "the end" : end);
	}
}

/* The ends of the scale, so that both directions have the same one. */
static void plot_scale(struct plot *plot)
{
	const struct chart *chart = plot->chart;
	uint64_t all;

	plot->top_up = chart->up->at[series_peak(chart->timeline, chart->up)].packets;
	plot->top_down = chart->down->at[series_peak(chart->timeline, chart->down)].packets;
	all = plot->top_up + plot->top_down;
	plot->line_y = PLOT_TOP + (unsigned int)scaled(plot->top_up, all ? all : 1, PLOT_HEIGHT);
}

static void plot_draw(FILE *out, const struct chart *chart, bool narrow)
{
	struct plot plot = {
		.out = out,
		.chart = chart,
		.width = narrow ? CHART_NARROW : CHART_WIDE,
		.narrow = narrow,
		.from_ns = timeline_begin_ns(chart->timeline, 0),
		.to_ns = timeline_begin_ns(chart->timeline, chart->timeline->count),
	};

	plot_scale(&plot);
	fprintf(out,
		"<svg class=\"%s\" viewBox=\"0 0 %u %u\" role=\"img\" aria-label=\"%s\">"
		"<title>%s</title><desc>%s</desc>\n",
		narrow ? "narrow" : "wide", plot.width,
		PLOT_TOP + PLOT_HEIGHT + AXIS_HEIGHT + lanes(chart) * LANE_HEIGHT, chart->title,
		chart->title, chart->description);
	axis_put(&plot);
	area_put(&plot, false);
	area_put(&plot, true);
	scale_put(&plot, false);
	scale_put(&plot, true);
	fprintf(out, "<path class=\"zero\" d=\"M0 %uH%u\"/>\n", plot.line_y, plot.width);
	mark_put(&plot);
	peak_put(&plot, false);
	peak_put(&plot, true);
	for (uint32_t i = 0; i < lanes(chart); i++)
		lane_put(&plot, i);
	if (!narrow)
		bins_put(&plot);
	fputs("</svg>\n", out);
}

void chart_draw(FILE *out, const struct chart *chart)
{
	plot_draw(out, chart, false);
	plot_draw(out, chart, true);
}

/* ---- small drawings */

void spark_draw(FILE *out, const struct timeline *timeline, const struct series *series,
		const char *class_name, const char *title)
{
	struct steps steps = {
		.timeline = timeline,
		.series = series,
		.width = (uint64_t)SPARK_WIDTH * TENTHS,
		.height = (uint64_t)(SPARK_HEIGHT - 2) * TENTHS,
		.line_y = (uint64_t)(SPARK_HEIGHT - 1) * TENTHS,
	};
	char rate[HTML_RATE_MAX];
	size_t peak;

	if (!series) {
		fputs("<span class=\"none\">none</span>", out);
		return;
	}
	peak = series_peak(timeline, series);
	steps.top = series->at[peak].packets;
	rate_text(rate, steps.top, timeline_width_ns(timeline));
	fprintf(out,
		"<svg class=\"spark\" viewBox=\"0 0 %u %u\" preserveAspectRatio=\"none\" "
		"role=\"img\" aria-label=\"%s over time, at most %s\"><path class=\"%s\" ",
		SPARK_WIDTH, SPARK_HEIGHT, title, rate, class_name);
	steps_path(out, &steps);
	fprintf(out, "/><path class=\"zero\" d=\"M0 %uH%u\"/></svg><small>at most %s</small>",
		SPARK_HEIGHT - 1, SPARK_WIDTH, rate);
}

void span_draw(FILE *out, const struct timeline *timeline, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t begin_ns = timeline_begin_ns(timeline, 0);
	uint64_t span_ns = timeline_begin_ns(timeline, timeline->count) - begin_ns;
	uint64_t width = (uint64_t)SPARK_WIDTH * TENTHS;
	uint64_t from = scaled(from_ns - begin_ns, span_ns, width);
	uint64_t to = scaled(to_ns - begin_ns, span_ns, width);
	uint64_t step_ns = timeline_width_ns(timeline) < NS_PER_SECOND ? NS_PER_MS : NS_PER_SECOND;
	char begin[HTML_TIME_MAX], end[HTML_TIME_MAX];

	clock_text(begin, from_ns, step_ns);
	clock_text(end, to_ns, step_ns);
	fprintf(out,
		"<svg class=\"spark thin\" viewBox=\"0 0 %u 10\" preserveAspectRatio=\"none\" "
		"role=\"img\" aria-label=\"seen from %s to %s\"><path class=\"zero\" d=\"M0 5H%u\"/>"
		"<rect class=\"span\" y=\"1\" height=\"8\" x=\"",
		SPARK_WIDTH, begin, end, SPARK_WIDTH);
	put_tenths(out, from);
	fputs("\" width=\"", out);
	put_tenths(out, to > from + 2 * TENTHS ? to - from : 2 * TENTHS);
	fprintf(out, "\"/></svg><small>%s to %s</small>", begin, end);
}
