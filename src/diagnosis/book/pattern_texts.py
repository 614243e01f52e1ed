# SPDX-License-Identifier: Apache-2.0
"""Sentences that a regular expression matches, for learn_words.py: the words
of a rule speak for its class also where the rule does not fit."""
import random
import re
from re import _constants as kind  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

SENTENCES = 6  # tried for each expression


def chosen(members: Any, draw: random.Random) -> str:
    """Of a class of characters: one, if it lists few."""
    letters = [value for what, value in members if what is kind.LITERAL]
    few = len(letters) == len(members) and len(letters) < 4
    return chr(draw.choice(letters)) if few else ' '


def sentence(parts: Any, draw: random.Random) -> str:
    text = []
    for what, value in parts:
        if what is kind.LITERAL:
            text.append(chr(value))
        elif what is kind.IN:
            text.append(chosen(value, draw))
        elif what is kind.BRANCH:
            text.append(sentence(draw.choice(value[1]), draw))
        elif what is kind.SUBPATTERN:
            text.append(sentence(value[3], draw))
        elif what in (kind.MAX_REPEAT, kind.MIN_REPEAT):
            least, _, repeated = value
            if least or draw.random() < 0.5:
                text.append(sentence(repeated, draw))
        elif what in (kind.ANY, kind.NOT_LITERAL):
            text.append(' ')
    return ''.join(text)


def sentences(expression: str) -> list[str]:
    """None of what only RE2 reads."""
    try:
        parts = parser.parse(expression)
    except re.error:
        return []
    draw = random.Random(1)
    return sorted({sentence(parts, draw) for _ in range(SENTENCES)})
