#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the rule files and the tables beside them into one C++ source:
embed_rules.py OUT IN...
"""
import pathlib
import sys


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
        text = path.read_text(encoding='utf-8')
        if ')RULES"' in text:
            sys.exit(f'{path}: may not hold the end mark of a raw string')
        if path.suffix == '.rules':
            lines.append(f'    {{"{path.name}", R"RULES({text})RULES"}},')
        else:
            tables[path.name] = f'R"RULES({text})RULES"'
    lines += ['  };', '}',
              'std::string_view builtin_foreign_words() {',
              f'  return {tables["foreign.tsv"]};',
              '}',
              'std::string_view builtin_xids() {',
              f'  return {tables["xids.tsv"]};',
              '}', '}  // namespace muster', '']
    out.write_text('\n'.join(lines), encoding='utf-8')


main()
