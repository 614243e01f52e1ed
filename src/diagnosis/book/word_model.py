# SPDX-License-Identifier: Apache-2.0
"""The weights of words, from texts whose classes are known (learn_words.py).

Two models are made and added, half each: a naive one, which counts how much
more often a word stands in texts of a class than in others, and a joint one
(logistic regression), which asks all words of a text at once. Each errs where
the other does not, and both are sums over words, so that the result is again
one number of each word and class. Standard library only; a minute.
"""
import collections
import dataclasses
import math
import random
import re

KEPT = 20000        # weights, of all classes: those that say the most
MIN_TEXTS = 2       # that hold the word
STEM = 5            # letters of a longer word that are one word more, "^stem"
PASSES = 15         # over all texts, of the joint model
STEP = 0.25         # of its first change
NAIVE_SCALE = 0.5   # words are no independent witnesses

Weights = dict[str, dict[str, float]]  # of a class, of a word


@dataclasses.dataclass
class Text:
    codes: list[str]  # that are right; the first is learnt
    message: str
    weight: float = 1.0


@dataclasses.dataclass
class Sample:
    code: str
    words: list[str]
    weight: float


def words_of(text: str) -> set[str]:
    """As WordWeights::words_of takes a line apart."""
    text = re.sub(r'0x[0-9a-fA-F]+', ' ', text[:4096])
    text = re.sub(r'([a-z])([A-Z])', r'\1 \2', text).lower()
    found = re.findall(r'[a-z]+|[0-9]+', text)
    words = {word for word in found if word.isalpha() and len(word) > 1}
    return (words | {'^' + word[:STEM] for word in words if len(word) > STEM} |
            {'#' + word for word in found if word.isdigit() and len(word) < 4})


def samples_of(texts: list[Text],
               guesses: list[tuple[str, re.Pattern[str]]]) -> list[Sample]:
    samples = []
    held: collections.Counter[str] = collections.Counter()
    for text in texts:
        words = words_of(text.message)
        hit = next(
            (code for code, rule in guesses if rule.search(text.message)), '')
        words |= {'~' + hit} if hit else set()
        held.update(words)
        samples.append(Sample(text.codes[0], sorted(words), text.weight))
    for sample in samples:
        sample.words = [
            word for word in sample.words if held[word] >= MIN_TEXTS
        ]
    return samples


def naive(samples: list[Sample]) -> Weights:
    """By class and word, in natural logarithms; "*": how often it is met."""
    everywhere: collections.Counter[str] = collections.Counter()
    within: dict[str, collections.Counter[str]] = collections.defaultdict(
        collections.Counter)
    total: collections.Counter[str] = collections.Counter()
    for sample in samples:
        total[sample.code] += sample.weight
        for word in sample.words:
            everywhere[word] += sample.weight
            within[sample.code][word] += sample.weight
    everything = sum(total.values())
    weights: Weights = {}
    for code, texts in total.items():
        weights[code] = {'*': math.log(texts / everything) / 2}
        for word, count in within[code].items():
            here = ((count + 1.5 * everywhere[word] / everything) /
                    (texts + 1.5))
            there = ((everywhere[word] - count + 0.3) /
                     (everything - texts + 1))
            if here > 1.4 * there:
                weights[code][word] = math.log(here / there)
    return weights


def likelihoods(scores: list[float]) -> list[float]:
    most = max(scores)
    raised = [math.exp(score - most) for score in scores]
    total = sum(raised)
    return [one / total for one in raised]


def joint(samples: list[Sample]) -> Weights:
    """As naive(), by steps that get shorter where many were made (AdaGrad).
    Texts of a class with many count less each."""
    small = 0.002  # what is not worth a step
    codes = sorted({sample.code for sample in samples})
    index = {code: i for i, code in enumerate(codes)}
    texts = collections.Counter(sample.code for sample in samples)
    usual = len(samples) / len(codes)
    words = {word for sample in samples for word in sample.words} | {'*'}
    table = {word: [0.0] * len(codes) for word in sorted(words)}
    made = {word: [1e-3] * len(codes) for word in sorted(words)}
    order = random.Random(1)
    for _ in range(PASSES):
        order.shuffle(samples)
        for sample in samples:
            rows = [table['*']] + [table[word] for word in sample.words]
            wrong = likelihoods([sum(column) for column in zip(*rows)])
            wrong[index[sample.code]] -= 1
            weight = sample.weight * math.sqrt(
                min(10, usual / texts[sample.code]))
            for i, error in enumerate(wrong):
                change = error * weight
                if abs(change) < small:
                    continue
                for word in ['*', *sample.words]:
                    done = made[word]
                    done[i] += change * change
                    table[word][i] -= STEP * change / math.sqrt(done[i])
    return {
        code: {word: row[i] for word, row in table.items()}
        for code, i in index.items()
    }


def learn(samples: list[Sample]) -> dict[str, dict[str, int]]:
    """In tenths of a natural logarithm, those that say the most."""
    held = collections.Counter(
        word for sample in samples for word in sample.words)
    first, second = naive(samples), joint(samples)
    tenths = {(code, word): round(5 * (NAIVE_SCALE * first[code].get(word, 0) +
                                       weight))
              for code, weights in second.items()
              for word, weight in weights.items()}
    said = [key for key, value in tenths.items() if value and key[1] != '*']
    said.sort(key=lambda key: (-abs(tenths[key]) * math.log(1 + held[key[1]]),
                               key))
    result = {code: {'*': tenths[code, '*']} for code in sorted(first)}
    for code, word in said[:KEPT]:
        result[code][word] = tenths[code, word]
    return result
