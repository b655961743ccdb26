// SPDX-License-Identifier: GPL-2.0-only
/* rlctl completion bash|zsh: prints the completion script of a shell. The script contains no words
 * but calls `rlctl complete`, so it is right for the version of rlctl that it finds.
 */
#include <string.h>

#include "cli/cmd.h"

/* COMP_WORDS are split at every :, = and @, unless COMP_WORDBREAKS was changed, so the script reads
 * the line; a reply replaces the part after the last of these. */
static const char bash[] =
	"# rlctl(8) completion for bash; `rlctl completion bash` printed it.\n"
	"_rlctl() {\n"
	"	local line=${COMP_LINE:0:COMP_POINT} word cut='' words=() breaks=${COMP_WORDBREAKS//[^:=@]}\n"
	"	read -ra words <<<\"$line\"\n"
	"	[[ $line != *[[:blank:]] ]] || words+=('')\n"
	"	[[ -n $line ]] || words=(\"${COMP_WORDS[@]:0:COMP_CWORD+1}\")\n"
	"	word=${words[${#words[@]}-1]}\n"
	"	[[ -z $breaks ]] || cut=${word%\"${word##*[$breaks]}\"}\n"
	"	COMPREPLY=()\n"
	"	while IFS=$'\\t' read -r word _; do\n"
	"		if [[ $word == '<files>' ]]; then\n"
	"			word=${words[${#words[@]}-1]}\n"
	"			mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "
	"\"${word#\"$cut\"}\")\n"
	"			compopt -o filenames 2>/dev/null\n"
	"			return 0\n"
	"		fi\n"
	"		COMPREPLY+=(\"${word#\"$cut\"}\")\n"
	"	done < <(\"${1:-rlctl}\" complete -- \"${words[@]:1}\" 2>/dev/null)\n"
	"}\n"
	"complete -F _rlctl rlctl\n";

static const char zsh[] =
	"#compdef rlctl\n"
	"# rlctl(8) completion for zsh; `rlctl completion zsh` printed it.\n"
	"_rlctl() {\n"
	"	local -a replies described\n"
	"	local reply word files\n"
	"	replies=(\"${(@f)$(\"${words[1]}\" complete -- "
	"\"${(@)words[2,CURRENT-1]}\" \"$PREFIX\" 2>/dev/null)}\")\n"
	"	[[ -n ${replies[1]} ]] || return 1\n"
	"	for reply in \"${(@)replies}\"; do\n"
	"		[[ $reply != '<files>' ]] || { files=1; continue; }\n"
	"		word=${reply%%$'\\t'*}\n"
	"		described+=(\"${word//:/\\\\:}${${reply:${#word}}/$'\\t'/:}\")\n"
	"	done\n"
	"	[[ ${#described} -eq 0 ]] || _describe rlctl described\n"
	"	if [[ -n $files ]]; then\n"
	"		[[ $PREFIX != --*=* ]] || compset -P '*='\n"
	"		_files\n"
	"	fi\n"
	"}\n"
	"if [[ ${funcstack[1]} == _rlctl ]]; then\n"
	"	_rlctl \"$@\"\n"
	"else\n"
	"	compdef _rlctl rlctl\n"
	"fi\n";

int cmd_completion(const struct command *command)
{
	const char *shell = command->words[0];

	if (!strcmp(shell, "bash"))
		fputs(bash, stdout);
	else if (!strcmp(shell, "zsh"))
		fputs(zsh, stdout);
	else
		return wrong("completion: unsupported shell '%s' (supported: bash, zsh)", shell);
	return 0;
}
