// SPDX-License-Identifier: GPL-2.0-only
/* rlctl policies: lists the policies that come with rlctl, or prints one of them. */

#include "cli/attach/named_policy.h"
#include "cli/cmd.h"

static int print(const struct policy_name *name)
{
	struct json_object *document;
	CLEARED_FILE struct policy_file file = {0};
	int rc = policy_file_read(name->path, &file);

	if (rc)
		return rc;
	if (output_json) {
		document = json_object_new_object();
		json_put_text(document, "name", name->name);
		json_put_text(document, "title", name->title);
		json_put_text(document, "path", name->path);
		json_put(document, "text", json_object_new_string_len(file.text, (int)file.size));
		json_print(document);
	} else {
		fwrite(file.text, 1, file.size, stdout);
	}
	return 0;
}

int cmd_policies(const struct command *command)
{
	const struct policy_name *name = NULL;
	struct report report = {0};
	struct json_object *array;
	struct policy_names names;
	bool lists;
	int rc = 0;

	policy_names_read(&names);
	lists = names.count && !command->word_count;
	if (command->word_count)
		name = policy_names_find(&names, command->words[0]);
	if (name)
		rc = print(name);
	else if (!names.count)
		rc = fail("no policies are installed: `make install` puts them into "
			  "share/rlctl/policies");
	else if (command->word_count)
		rc = policy_unknown(command->words[0], "is not the name of a policy", &names);
	for (size_t i = 0; lists && i < names.count; i++) {
		report_begin(&report, NULL);
		report_text(&report, "name", "name", names.list[i].name);
		report_text(&report, "title", "for", names.list[i].title);
		report_text(&report, "path", NULL, names.list[i].path);
	}
	array = lists ? report_end(&report) : NULL;
	if (array)
		json_print(array);
	policy_names_clear(&names);
	return rc;
}
