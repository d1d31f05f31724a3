"""The task most like each of 200 others among 10,000, against counting shared words."""

import random

from tests.benchmarks.clock import seconds, tell
from webagent.knowledge.relevance import Relevance, words_of

TASKS = 10_000
QUERIES = 200


def run() -> None:
    draw = random.Random(7)
    words = [f"word{number}" for number in range(3000)]
    texts = [" ".join(draw.choices(words, k=12)) for _ in range(TASKS)]
    queries = texts[:QUERIES]
    relevance = Relevance(texts)
    sets = [set(words_of(text)) for text in texts]

    def ask() -> list[list[tuple[int, float]]]:
        return [relevance.best(query, 2) for query in queries]

    def count() -> list[int]:
        return [max(len(sets[place] & each) for each in sets) for place in range(QUERIES)]

    index = seconds(lambda: Relevance(texts), times=3)
    tell(f"index of {TASKS} tasks", index, seconds(lambda: list(map(words_of, texts)), times=3))
    ours = seconds(ask, times=3)
    rate = QUERIES / ours
    tell(f"{QUERIES} tasks among {TASKS} ({rate:.0f} a second)", ours, seconds(count, times=3))
