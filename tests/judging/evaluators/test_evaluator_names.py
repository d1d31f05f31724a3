"""Versions of one evaluator can be told apart by their names."""

import pytest

from judging.models import EvaluatorVersion


@pytest.mark.parametrize(
    ("kind", "config", "said"),
    [
        ("matcher", {"off": []}, "it 1"),
        ("matcher", {"off": ["rounding", "units"]}, "it 1 (−rounding, −units)"),
        ("matcher", {"off": [], "tasks": "patched"}, "it 1 (tasks: patched)"),
        ("matcher", {"off": list("abcdef")}, "it 1 (−a, −b, −c, −d…)"),
        ("judge", {"model": "big", "stages": ["equivalence"]}, "it 1 (big, equivalence alone)"),
        ("judge", {"model": "big", "stages": ["equivalence", "inclusion"]}, "it 1 (big)"),
        (
            "pipeline",
            {"model": "big", "tasks": "patched", "matcher": {"config": {"off": ["dates"]}}},
            "it 1 (big, −dates)",
        ),
        ("reward", {"success_above": 0.5}, "it 1"),
        ("network", {"model": 3, "matcher": [], "off": "all", "stages": {}}, "it 1"),
        ("network", [], "it 1"),
    ],
)
def test_what_is_switched_otherwise_stands_behind_the_name(
    kind: str, config: object, said: str
) -> None:
    assert str(EvaluatorVersion(name="it", version="1", kind=kind, config=config)) == said
