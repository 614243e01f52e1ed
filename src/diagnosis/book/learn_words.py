#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Learns which words of an error line speak for which class of failure.

  learn_words.py MUSTER TESTS RULES

reads the messages and logs of TESTS (tests/diagnosis) with their answers, and
the patterns of RULES, and writes RULES/words.rules. Of a log only the line
counts that MUSTER names as the cause, and only where its answer is right; of a
pattern some sentences that fit it (pattern_texts.py). How a word gets its
weight: word_model.py; what RULES/guesses.rules make of the message is one word
more, "~class". Each line of a job that ended well is a text of "no_failure",
and what nobody can tell the reason from one of "unknown": what such lines say
speaks for no other class. Run by hand: the result is data that a person can
read, and it changes no more often than the logs do.
"""
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

import pattern_texts
import word_model
from word_model import Text

WROTE = re.compile(r'^rank \d+ wrote: ')  # in evidence, before a line
HARMLESS = 'harmless'  # in messages/: no failure
NAMES_CLASS = ('match', 'maybe', 'proven', 'death', 'script')  # in rules


def read_guesses(path: pathlib.Path) -> list[tuple[str, re.Pattern[str]]]:
    guesses, code = [], ''
    for line in path.read_text(encoding='utf-8').splitlines():
        if line.startswith('['):
            code = line.strip('[]')
        elif line.startswith('guess: '):
            guesses.append((code, re.compile(line[len('guess: '):])))
    return guesses


def from_messages(folder: pathlib.Path) -> list[Text]:
    texts = []
    for table in sorted(folder.glob('*.tsv')):
        for row in table.read_text(encoding='utf-8').splitlines():
            if row.startswith('#') or '\t' not in row:
                continue
            answer, message = row.split('\t', 1)
            codes = [code.split(':')[0].replace(HARMLESS, 'no_failure')
                     for code in answer.split()[0].split('|')]
            texts.append(Text(codes, message.replace('\\n', '\n')))
    return texts


def from_healthy(folder: pathlib.Path) -> list[Text]:
    return [Text(['no_failure'], line) for log in sorted(folder.glob('*.txt'))
            for line in log.read_text(encoding='utf-8').splitlines()
            if line.strip() and not line.startswith('=== ')]


def cause_of(muster: str, log: pathlib.Path, codes: list[str]) -> Text | None:
    out = subprocess.run([muster, 'explain-log', str(log), '-o', 'json'],
                         stdout=subprocess.PIPE, check=False).stdout
    verdict = json.loads(out)['verdict']
    if verdict['code'] not in codes:
        return None
    said = [verdict['cause']] if verdict['cause'] else verdict['evidence'][:1]
    return Text(codes, WROTE.sub('', said[0])) if said else None


def from_logs(muster: str, folder: pathlib.Path) -> list[Text]:
    rows = []
    for row in (folder / 'expected.tsv').read_text(
            encoding='utf-8').splitlines():
        fields = row.split('\t')
        if not row.startswith('#') and fields[0].endswith('.log'):
            rows.append((folder / fields[0], fields[1].split('|')))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        causes = pool.map(lambda row: cause_of(muster, *row), rows)
        return [cause for cause in causes if cause is not None]


def from_rules(folder: pathlib.Path) -> list[Text]:
    texts = []
    for path in sorted(folder.glob('*.rules')):
        if path.name in ('guesses.rules', 'words.rules'):
            continue
        code = ''
        for line in path.read_text(encoding='utf-8').splitlines():
            key, _, value = line.partition(': ')
            if line.startswith('['):
                code = line.strip('[]')
            elif key in NAMES_CLASS and code != '*':
                said = pattern_texts.sentences(value)
                texts += [Text([code], one, 1 / len(said)) for one in said]
    return texts


def as_rules(weights: dict[str, dict[str, int]]) -> str:
    lines = []
    for code, tenths in weights.items():
        lines += ['', f'[{code}]', f'words: * {tenths["*"]}']
        line = ' '
        for word in sorted(tenths, key=lambda word: (-tenths[word], word)):
            pair = f' {word} {tenths[word]}'
            if word == '*':
                continue
            if len(line) + len(pair) > 80:
                lines.append(line)
                line = ' '
            line += pair
        lines.append(line)
    return '\n'.join(lines) + '\n'


HEAD = '''# SPDX-License-Identifier: Apache-2.0
# Written by learn_words.py from the messages and logs of tests/diagnosis; do
# not edit. A word, and how much it speaks for the class; "*": how often the
# class is met; "#9": a number; "^begin": of longer words; "~x": what
# guesses.rules take the line for. See word_weights.h.
'''


def main() -> None:
    muster, tests, rules = sys.argv[1:]
    folder = pathlib.Path(tests)
    texts = from_messages(folder / 'messages') + from_healthy(
        folder / 'healthy')
    for name in ('heldout', 'public', 'ranks', 'real', 'written'):
        texts += from_logs(muster, folder / name)
    texts += from_rules(pathlib.Path(rules))
    guesses = read_guesses(pathlib.Path(rules) / 'guesses.rules')
    out = pathlib.Path(rules) / 'words.rules'
    weights = word_model.learn(word_model.samples_of(texts, guesses))
    out.write_text(HEAD + as_rules(weights), encoding='utf-8')


if __name__ == '__main__':
    main()
