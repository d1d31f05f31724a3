"""The example of the tie rule in docs/hints.md is what the code does."""

import hashlib
import re
from pathlib import Path

from webagent.knowledge.entries import Relatedness
from webagent.knowledge.relevance import DescribedTask, Relevance, Sources, Ties, ties_among

DOCS = Path(__file__).parents[3] / "docs" / "hints.md"
ROW = re.compile(r"^\| `(\w+ \d)` \| (\w+) \| (.+) \| (\d\.\d\d) \| ([0-9a-f]{4}) \|$", re.M)
TARGET = DescribedTask("shop 5", frozenset(["shopping"]), "Show the reviews of the lamp")


def test_the_example_of_the_docs_comes_out() -> None:
    text = DOCS.read_text()
    rows = ROW.findall(text)
    assert len(rows) == 6
    assert f"“{TARGET.text}”" in text
    candidates = [DescribedTask(key, frozenset([site]), goal) for key, site, goal, *_ in rows]
    scores = Relevance([each.text for each in candidates]).scores(TARGET.text)
    assert [f"{score:.2f}" for score in scores] == [score for *_, score, _hash in rows]
    hashes = [
        hashlib.sha256(f"{TARGET.key}\0{each.key}".encode()).hexdigest()[:4] for each in candidates
    ]
    assert hashes == [row[-1] for row in rows]
    sources = Sources(candidates)
    chosen = {each: sources.choose(TARGET, each) for each in Relatedness}
    named = {
        each: (candidates[found.place].key, found.n_tied) for each, found in chosen.items() if found
    }
    assert named == {
        Relatedness.SAME_SITE_HIGHEST: ("shop 1", 1),
        Relatedness.SAME_SITE_LOWEST: ("shop 4", 2),
        Relatedness.OTHER_SITE_LOWEST: ("forum 1", 1),
    }


def test_ties_are_counted() -> None:
    assert ties_among([1, 3, 1, 9, 4]) == Ties(5, 3, 4)
    assert ties_among([1]) == Ties(1, 0, None)
    assert ties_among([]) == Ties(0, 0, None)
