// SPDX-License-Identifier: GPL-2.0-only
#include "cli/output/pattern_output.h"

#include "base/units.h"
#include "cli/output/output.h"

void pattern_json_put(struct json_object *object, const struct pattern *pattern)
{
	char text[PATTERN_TEXT_MAX], network[PREFIX_TEXT_MAX];

	pattern_print(text, pattern, false);
	json_put_text(object, "pattern", text);
	pattern_print(text, pattern, true);
	json_put_text(object, "match", text);
	if (!pattern->network)
		return;
	pattern_network_print(network, sizeof(network), pattern->network);
	json_put_text(object, "from", network);
}
