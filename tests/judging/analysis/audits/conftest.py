"""Studies whose figures are known."""

import pytest

from judging.models import EvaluatorVersion
from tests.judging.analysis import audited


@pytest.fixture
def paper(db: None) -> audited.Audited:
    """The source paper's study before the repair: 23 TP, 16 FN, 36 TN, no FP."""
    world = audited.study("Paper")
    audited.judged(world, audited.evaluator(), ["tp"] * 23 + ["fn"] * 16 + ["tn"] * 36)
    return world


@pytest.fixture
def mixed(db: None) -> audited.Audited:
    """Every cell with another number, two evaluators, and runs that do not count."""
    world = audited.study("Mixed")
    cells = ["tp"] * 4 + ["fn"] * 3 + ["tn"] * 2 + ["fp"] + ["?s"] * 2 + ["?f", "-s", "-f"]
    audited.judged(world, audited.evaluator("first"), cells)
    for item in world.items[:2]:
        audited.evaluation(item.run, audited.evaluator("second"), "failed")
    world.add("not_executable")
    world.add("success", of=audited.run(audited.task("odd", infeasible_reason="no such product")))
    world.add(None)
    return world


SAID = {"p": "passed", "f": "failed"}
KINDS = ("string_match", "url_match")


def stages(first: str, second: str = "") -> dict[str, object]:
    """Details of a two-stage judge; the second stage is asked only where the first fails."""
    asked = [{"name": "equivalence", "verdict": SAID[first]}]
    if second:
        asked.append({"name": "inclusion", "verdict": SAID[second]})
    return {"stages": asked}


@pytest.fixture
def world(db: None) -> audited.Audited:
    """Six runs: reference, two labels, strict, and a judge of two stages.

    0  success  ss  strict failed   judge passed by stage 1
    1  success  sf  strict failed   judge passed by stage 2
    2  success  ss  strict passed   judge passed by stage 1
    3  failure  ff  strict failed   judge passed by stage 2
    4  failure  ff  strict failed   judge failed by both
    5  failure  fu  strict no verdict, judge not evaluated
    """
    world = audited.study("All verdicts")
    a, b = audited.person("ann"), audited.person("bob")
    strict = audited.evaluator("strict")
    judge = audited.evaluator("judge", kind=EvaluatorVersion.Kind.JUDGE)
    rows: list[tuple[str, str, str, str, dict[str, object]]] = [
        ("success", "ss", "f", "p", stages("p")),
        ("success", "sf", "f", "p", stages("f", "p")),
        ("success", "ss", "p", "p", stages("p")),
        ("failure", "ff", "f", "p", stages("f", "p")),
        ("failure", "ff", "f", "f", stages("f", "f")),
        ("failure", "fu", "", "", {}),
    ]
    names = {"s": "success", "f": "failure", "u": "unsure"}
    for number, (reference, labels, by_strict, by_judge, details) in enumerate(rows):
        task = audited.task(
            f"t{number}",
            site="shop" if number < 4 else "map",
            template=str(number % 2),
            evaluation_kind=KINDS[number % 2],
        )
        given = [(a, names[labels[0]]), (b, names[labels[1]])]
        item = world.add(reference, given, of=audited.run(task))
        if by_strict:
            audited.evaluation(item.run, strict, SAID[by_strict])
        else:
            audited.evaluation(item.run, strict, "error", reason="needs a judge")
        if by_judge:
            audited.evaluation(item.run, judge, SAID[by_judge], details=details)
    return world
