#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""messages.py FILE…: the messages in C sources, as FILE:LINE: TEXT. Those that break a rule of style are
printed with the rule, and the exit status is 1; otherwise the number of messages is printed.

A message is every run of adjacent string literals in a call of CALLS; a macro between two literals
(PRIu64) stands for one word."""
import re
import sys

CALLS = r"\b(?:fail|note|wrong|refuse|expected|doctor_finds|warn)\s*\("
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|\w+|\s+|.', re.S)

# Phrases that a message may not contain, and their replacements.
PHRASES = [
    (r"(?:^|: )(?:of|what|who|whoever|whose)\b", "begin with the subject"),
    (r"[^.]\.$", "no full stop at the end"),
    (r"\bhas not\b", "lacks, does not have"),
    (r"\b(?:is|are) no(?:ne)?\b(?! longer)", "is not, or 'invalid X'"),
    (r"\bfor want of\b", "for lack of, because"),
    (r"\bwhat about\b", "missing X"),
    (r"\bbehind it\b", "after it"),
    (r"\bmatters? not\b", "does not matter"),
    (r"\bmakes? no sense\b", "unsupported, cannot be combined with"),
    (r"\btoo many: `", "unexpected argument"),
    (r"\b(?:somebody|everybody|whoever|nobody)\b", "name the user, the process or the program"),
    (r"\bwhich there are\b", "lists the Xs"),
    (r"\bsays? which\b", "choose one with"),
    (r"\bis meant\b", "to select one"),
    (r"\bapart by\b", "separated by"),
    (r"\banew\b", "again"),
    (r"\bagain, please\b", "try again"),
    (r"\btime stamp\b", "timestamp"),
    (r"\b(?:which|who) is it\b", "missing X"),
]


def without_comments(source):
    """The same lines, with nothing in place of comments."""
    def kept(match):
        text = match.group()
        return "\n" * text.count("\n") if text.startswith(("//", "/*")) else text
    return TOKEN.sub(kept, source)


def tokens(source):
    """(text, line) of each token but blanks."""
    line = 1
    for match in TOKEN.finditer(source):
        text = match.group()
        if not text.isspace():
            yield text, line
        line += text.count("\n")


def literals(call):
    """The texts in the tokens of one call, with the line where each begins."""
    text, at = None, 0
    for token, line in call:
        if token.startswith('"'):
            if text is None:
                text, at = "", line
            text += token[1:-1]
        elif text is not None and re.fullmatch("[A-Z][A-Za-z0-9_]+", token):
            text += "N"
        elif text is not None:
            yield text, at
            text = None
    if text is not None:
        yield text, at


def calls(source):
    """The tokens between the parentheses of each call."""
    names = re.compile(CALLS)
    for match in names.finditer(source):
        start_line = source.count("\n", 0, match.start()) + 1
        depth, found = 1, []
        for token, line in tokens(source[match.end():]):
            depth += (token == "(") - (token == ")")
            if not depth:
                break
            found.append((token, line + start_line - 1))
        yield found


def messages(path):
    with open(path, encoding="utf-8") as file:
        source = without_comments(file.read())
    for call in calls(source):
        yield from literals(call)


def main():
    count = bad = 0
    for path in sys.argv[1:]:
        for text, line in messages(path):
            if not re.search(r"[a-z]{2}", re.sub(r"%[-.*0-9]*l*z?[a-z]", "", text)):
                continue  # only conversions
            count += 1
            for phrase, remedy in PHRASES:
                if re.search(phrase, text, re.I):
                    print(f"{path}:{line}: {text!r}: {remedy}")
                    bad = 1
    if not bad:
        print(count)
    return bad


sys.exit(main())
