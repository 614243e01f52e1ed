#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Learns which words of an error line speak for which class of failure.

  learn_words.py MUSTER TESTS RULES

reads the messages and logs of TESTS (tests/diagnosis) with their answers, and
writes RULES/words.rules. Of a log only the line counts that MUSTER names as
the cause, and only where its answer is right. A word's weight says how much
more often it stands in messages of the class than in others, in tenths of a
natural logarithm; what RULES/guesses.rules make of the message is one word
more, "~class". Each line of a job that ended well is a text of "no_failure",
and what nobody can tell the reason from one of "unknown": what such lines say
speaks for no other class. Run by hand: the result is data that a person can
read, and it changes no more often than the logs do.
"""
import collections
import concurrent.futures
import json
import math
import pathlib
import re
import subprocess
import sys

KEPT = 120         # words of a class
MIN_TEXTS = 2      # that hold the word
MIN_WEIGHT = 4     # tenths
WROTE = re.compile(r'^rank \d+ wrote: ')  # in evidence, before a line
HARMLESS = 'harmless'  # in messages/: no failure

Text = tuple[list[str], str]  # the codes that are right, the message


def words_of(text: str) -> set[str]:
    """As Words in word_weights.cc takes a line apart."""
    text = re.sub(r'0x[0-9a-fA-F]+', ' ', text[:4096])
    text = re.sub(r'([a-z])([A-Z])', r'\1 \2', text).lower()
    found = re.findall(r'[a-z]+|[0-9]+', text)
    return ({word for word in found if word.isalpha() and len(word) > 1} |
            {'#' + word for word in found if word.isdigit() and len(word) < 4})


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
            texts.append((codes, message.replace('\\n', '\n')))
    return texts


def from_healthy(folder: pathlib.Path) -> list[Text]:
    return [(['no_failure'], line) for log in sorted(folder.glob('*.txt'))
            for line in log.read_text(encoding='utf-8').splitlines()
            if line.strip() and not line.startswith('=== ')]


def cause_of(muster: str, log: pathlib.Path, codes: list[str]) -> Text | None:
    out = subprocess.run([muster, 'explain-log', str(log), '-o', 'json'],
                         stdout=subprocess.PIPE, check=False).stdout
    verdict = json.loads(out)['verdict']
    if verdict['code'] not in codes:
        return None
    said = [verdict['cause']] if verdict['cause'] else verdict['evidence'][:1]
    return (codes, WROTE.sub('', said[0])) if said else None


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


def weights(texts: list[Text],
            guesses: list[tuple[str, re.Pattern[str]]]) -> str:
    everywhere: collections.Counter[str] = collections.Counter()
    within: dict[str, collections.Counter[str]] = {}
    total: collections.Counter[str] = collections.Counter()
    for codes, message in texts:
        words = words_of(message)
        hit = next((code for code, rule in guesses if rule.search(message)), '')
        words |= {'~' + hit} if hit else set()
        everywhere.update(words)
        within.setdefault(codes[0], collections.Counter()).update(words)
        total[codes[0]] += 1
    lines = []
    for code in sorted(total):
        scores = {}
        for word, count in within[code].items():
            if everywhere[word] < MIN_TEXTS:
                continue
            here = ((count + 1.5 * everywhere[word] / len(texts)) /
                    (total[code] + 1.5))
            there = ((everywhere[word] - count + 0.3) /
                     (len(texts) - total[code] + 1))
            tenths = round(10 * math.log(here / there))
            if tenths >= MIN_WEIGHT:
                scores[word] = tenths
        kept = sorted(scores, key=lambda word: (
            -scores[word] * within[code][word], word))[:KEPT]
        if not kept:
            continue
        often = round(5 * math.log(total[code] / len(texts)))
        lines += ['', f'[{code}]', f'words: * {often}']
        line = ' '
        for word in sorted(kept, key=lambda word: (-scores[word], word)):
            pair = f' {word} {scores[word]}'
            if len(line) + len(pair) > 80:
                lines.append(line)
                line = ' '
            line += pair
        lines.append(line)
    return '\n'.join(lines) + '\n'


HEAD = '''# SPDX-License-Identifier: Apache-2.0
# Written by learn_words.py from the messages and logs of tests/diagnosis; do
# not edit. A word, and how much it speaks for the class; "*": how often the
# class is met; "#9": a number; "~x": what guesses.rules take the line for.
# See word_weights.h.
'''


def main() -> None:
    muster, tests, rules = sys.argv[1:]
    folder = pathlib.Path(tests)
    texts = from_messages(folder / 'messages') + from_healthy(
        folder / 'healthy')
    for name in ('heldout', 'public', 'ranks', 'real', 'written'):
        texts += from_logs(muster, folder / name)
    guesses = read_guesses(pathlib.Path(rules) / 'guesses.rules')
    out = pathlib.Path(rules) / 'words.rules'
    out.write_text(HEAD + weights(texts, guesses), encoding='utf-8')


if __name__ == '__main__':
    main()
