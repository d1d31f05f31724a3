"""Studies whose figures are known."""

from __future__ import annotations

import pytest

from tests.judging import audited


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
