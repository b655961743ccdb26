// SPDX-License-Identifier: GPL-2.0-only
/* The pages as files. */
#include "cli/report/page.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/output/output.h"
#include "cli/policy/save_file.h"

/* clang-format off */
static const char simulation[] =
#include "page.html.h"
;
static const char incidents[] =
#include "incidents.html.h"
;
/* clang-format on */

static const char *const templates[] = {
	[PAGE_SIMULATION] = simulation,
	[PAGE_INCIDENTS] = incidents,
};

int page_save(enum page_kind kind, struct json_object *document, const char *path)
{
	char *json = json_line(document), *text = NULL;
	size_t size = 0;
	FILE *out = memory_open(&text, &size);
	int rc;

	json_object_put(document);
	fputs(templates[kind], out);
	fputs("<script type=\"application/json\" id=\"data\">", out);
	/* Only strings of a JSON document contain a <, with which the end of the element would
	 * begin. */
	for (const char *at = json; *at; at++)
		if (*at == '<')
			fputs("\\u003c", out);
		else
			putc(*at, out);
	fputs("</script>\n</body>\n</html>\n", out);
	free(json);
	memory_close(out);
	rc = file_save(path, text, size, NULL, NULL, NULL);
	free(text);
	return rc;
}
