// SPDX-License-Identifier: GPL-2.0-only
/* The pages as files. */
#include "cli/report/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
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

/* Only strings of a JSON document contain a <, with which the end of the element would begin. */
static void document_put(FILE *out, const char *json)
{
	fputs("<script type=\"application/json\" id=\"data\">", out);
	while (*json) {
		size_t plain = strcspn(json, "<");

		fwrite(json, 1, plain, out);
		json += plain;
		if (*json) {
			fputs("\\u003c", out);
			json++;
		}
	}
	fputs("</script>\n</body>\n</html>\n", out);
}

int page_save(enum page_kind kind, struct json_object *document, const char *path)
{
	char *json = json_line(document), *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int rc;

	json_object_put(document);
	if (!out)
		out_of_memory();
	fputs(templates[kind], out);
	document_put(out, json);
	free(json);
	if (fclose(out))
		out_of_memory();
	rc = file_save(path, text, size, NULL, NULL, NULL);
	free(text);
	return rc;
}
