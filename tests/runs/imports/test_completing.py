"""A run that came in part and then as a whole is one run, under the address it had."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runs.imports.storing import ImportedRun, import_runs
from runs.models import Run, User
from tests.judging.factories import make_study
from tests.runs.factories import make_user
from webagent.trajectory.reading import open_runs

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("store")]
DATA = Path(__file__).parent.parent.parent / "data"
AGENTLAB = "agentlab/scripted/2026-11-21_03-48-11_ScriptedAgent-login_on_miniwob.login-user_5"


def imported(folder: Path, user: User | None = None) -> Run:
    with open_runs(folder) as source:
        found = list(import_runs(source, user=user))
    (run_id,) = (item.run_id for item in found if isinstance(item, ImportedRun))
    return Run.objects.get(pk=run_id)


def n_gaps(run: Run) -> int:
    return sum(gap.get("count") or 1 for gap in run.record["gaps"])


def without(*patterns: str) -> Callable[[Path], None]:
    def take_away(folder: Path) -> None:
        for pattern in patterns:
            (found := list(folder.rglob(pattern))).sort()
            assert found
            for path in found:
                path.unlink()

    return take_away


PARTS = {
    "no pictures": ("browser_use/find_price", without("*.png")),
    "no last step": (AGENTLAB, without("step_3.pkl.gz", "screenshot_step_3.png")),
    "no step in between": (AGENTLAB, without("step_1.pkl.gz")),
    "no end": (AGENTLAB, without("summary_info.json", "step_2.pkl.gz", "step_3.pkl.gz")),
}


@pytest.fixture(params=PARTS)
def part_and_whole(request: Any, tmp_path: Path) -> tuple[Path, Path]:
    name, take_away = PARTS[request.param]
    places = tmp_path / "part" / "given", tmp_path / "whole" / "given"
    for place in places:
        shutil.copytree(DATA / name, place)
    take_away(places[0])
    return places


@pytest.mark.slow
def test_the_whole_takes_the_place_of_the_part(part_and_whole: tuple[Path, Path]) -> None:
    part, whole = map(imported, part_and_whole)
    assert part.pk == whole.pk
    assert Run.objects.count() == 1
    assert n_gaps(whole) < n_gaps(part) or part.outcome == "incomplete" != whole.outcome
    assert whole.steps.count() == whole.n_steps >= part.n_steps
    assert imported(part_and_whole[1]).pk == whole.pk


@pytest.mark.slow
def test_a_part_that_others_sent_stays(part_and_whole: tuple[Path, Path]) -> None:
    part, whole = part_and_whole
    of_others = imported(part, make_user())
    own = imported(whole, make_user())
    assert of_others.pk != own.pk
    assert Run.objects.count() == 2


@pytest.mark.slow
def test_a_part_that_is_judged_stays(part_and_whole: tuple[Path, Path]) -> None:
    part = imported(part_and_whole[0])
    make_study(runs=[part])
    assert imported(part_and_whole[1]).pk != part.pk
    assert Run.objects.filter(pk=part.pk).exists()
