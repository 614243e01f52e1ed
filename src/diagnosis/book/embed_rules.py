#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the rule files, the words that their patterns need and the tables
beside them into one C++ source: embed_rules.py OUT IN...
"""
import pathlib
import sys
from collections.abc import Iterator

import pattern_words

PATTERN_KEYS = {'match', 'maybe', 'proven', 'death', 'script', 'setup',
                'ignore', 'cut', 'progress', 'success', 'well', 'fact',
                'guess', 'shape', 'calm'}


def values(text: str) -> Iterator[tuple[int, str, str]]:
    """(line, key, value), as rule_parser.cc reads them."""
    line, key, value = 0, '', ''
    for number, raw in enumerate([*text.split('\n'), ''], 1):
        if raw.startswith('#'):
            continue
        if raw.startswith('  ') and raw.strip():
            value += ' ' + raw.strip()
            continue
        if key:
            yield line, key, value
        line, key, value = number, '', ''
        if raw.strip() and not raw.startswith('['):
            key, _, value = (part.strip() for part in raw.partition(':'))


def words_of(path: pathlib.Path) -> str:
    """A line a pattern: file:line, then its sets of words. RE2 is given bytes,
    so they are read as bytes here."""
    rows = []
    for line, key, value in values(path.read_text(encoding='latin-1')):
        sets = pattern_words.needed(value) if key in PATTERN_KEYS else []
        if sets:
            rows.append('\x1e'.join([f'{path.name}:{line}',
                                     *('\x1f'.join(one) for one in sets)]))
    return ''.join(row + '\n' for row in rows)


def raw(text: str, path: object) -> str:
    if ')RULES"' in text:
        sys.exit(f'{path}: may not hold the end mark of a raw string')
    return f'R"RULES({text})RULES"'


def main() -> None:
    out, *inputs = map(pathlib.Path, sys.argv[1:])
    lines = ['// Written by embed_rules.py; do not edit.',
             '#include "diagnosis/book/builtin_rules.h"',
             '// Both compilers take longer texts than they have to.',
             '#pragma GCC diagnostic ignored "-Woverlength-strings"',
             'namespace muster {',
             'std::vector<BuiltinRules> builtin_rules() {',
             '  return {']
    tables = {}
    for path in inputs:
        text = raw(path.read_text(encoding='utf-8'), path)
        if path.suffix == '.rules':
            words = raw(words_of(path), path).encode('latin-1')
            lines.append(f'    {{"{path.name}", {text},')
            lines.append(words)
            lines.append('    },')
        else:
            tables[path.name] = text
    lines += ['  };', '}',
              'std::string_view builtin_foreign_words() {',
              f'  return {tables["foreign.tsv"]};',
              '}',
              'std::string_view builtin_xids() {',
              f'  return {tables["xids.tsv"]};',
              '}', '}  // namespace muster', '']
    out.write_bytes(b'\n'.join(
        line if isinstance(line, bytes) else line.encode() for line in lines))


main()
