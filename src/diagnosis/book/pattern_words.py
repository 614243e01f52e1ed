# SPDX-License-Identifier: Apache-2.0
"""The words that a pattern needs, for embed_rules.py: a line that has none of
the words of one of these sets cannot match. The program looks for all words in
one pass, and compiles a pattern at the first line that has its words.

Words are in small letters, as the search takes either case.
"""
import re
from typing import Any

try:
    from re import _constants as kind  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
except ImportError:  # Python before 3.11
    import sre_constants as kind  # type: ignore[no-redef]
    import sre_parse as parser  # type: ignore[no-redef]

SHORTEST = 3  # shorter words are in too many lines to tell patterns apart
LONGEST = 8   # more letters tell little more
MOST = 64     # words of one set
SETS = 2      # of one pattern

Words = frozenset[str]


class Need:
    """What every match of an expression holds: `exact`, one of these texts
    and no more, or None; `sets`, a word of each."""

    def __init__(self, exact: Words | None, sets: list[Words]) -> None:
        self.exact = exact
        self.sets = sets


ANYTHING = Need(None, [])


def useful(words: Words) -> bool:
    return bool(words) and all(len(word) >= SHORTEST and word.isprintable()
                               for word in words)


def times(left: Words, right: Words) -> Words | None:
    if len(left) * len(right) > MOST:
        return None
    return frozenset(a + b for a in left for b in right)


def of_members(members: Any) -> Need:
    """[abc]: one of few letters."""
    letters: set[str] = set()
    for what, value in members:
        if what is kind.LITERAL:
            letters.add(small(value))
        elif what is kind.RANGE and value[1] - value[0] < 8:
            letters |= {small(at) for at in range(value[0], value[1] + 1)}
        else:
            return ANYTHING
    return Need(frozenset(letters), []) if len(letters) <= 4 else ANYTHING


def small(code: int) -> str:
    return chr(code).lower() if code < 128 else chr(code)


def of_branches(branches: Any) -> Need:
    needs = [of_sequence(branch) for branch in branches]
    if all(need.exact is not None for need in needs):
        exact = frozenset().union(*(need.exact for need in needs))
        if len(exact) <= MOST:
            return Need(exact, [])
    best = [best_sets(need)[:1] for need in needs]
    if not all(best):
        return ANYTHING
    union = frozenset().union(*(sets[0] for sets in best))
    return Need(None, [union] if len(union) <= MOST else [])


def of_repeat(least: int, most: Any, repeated: Any) -> Need:
    need = of_sequence(repeated)
    if need.exact is not None and most == 1:  # x?
        exact = need.exact | {''} if least == 0 else need.exact
        return Need(exact, [])
    if least == 0:
        return ANYTHING
    if need.exact is not None and least == most and least <= 4:
        exact = frozenset({''})
        for _ in range(least):
            longer = times(exact, need.exact)
            if longer is None:
                return Need(None, best_sets(need))
            exact = longer
        return Need(exact, [])
    return Need(None, best_sets(need))


def of_item(what: Any, value: Any) -> Need:
    if what is kind.LITERAL:
        return Need(frozenset({small(value)}), [])
    if what is kind.AT:
        return Need(frozenset({''}), [])
    if what is kind.IN:
        return of_members(value)
    if what is kind.BRANCH:
        return of_branches(value[1])
    if what is kind.SUBPATTERN:
        return of_sequence(value[3])
    if what in (kind.MAX_REPEAT, kind.MIN_REPEAT):
        return of_repeat(*value)
    return ANYTHING


def of_sequence(items: Any) -> Need:
    run: Words = frozenset({''})
    sets: list[Words] = []
    exact = True
    for what, value in items:
        need = of_item(what, value)
        longer = None if need.exact is None else times(run, need.exact)
        if longer is not None:
            run = longer
            continue
        exact = False
        sets += [run, *need.sets]
        run = need.exact if need.exact is not None else frozenset({''})
    if exact:
        return Need(run, [])
    return Need(None, [*filter(useful, [*sets, run])])


def best_sets(need: Need) -> list[Words]:
    """The sets that few lines pass, first of all."""
    sets = need.sets if need.exact is None else [need.exact]
    return sorted(filter(useful, sets),
                  key=lambda words: (-min(map(len, words)), len(words),
                                     sorted(words)))


def shortened(words: Words) -> list[str]:
    """Without words that hold another: the shorter one finds both."""
    words = frozenset(word[:LONGEST] for word in words)
    return sorted(word for word in words
                  if not any(other in word for other in words - {word}))


def needed(expression: str) -> list[list[str]]:
    """Its sets of words; none where any line may match, or where only RE2
    reads the expression."""
    try:
        need = of_sequence(parser.parse(expression))
    except (re.error, OverflowError):
        return []
    return [shortened(words) for words in best_sets(need)[:SETS]]
