"""Kept runs, tells nothing of runs to which the viewer is blinded."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from django.utils import timezone

from judging.models import Assignment, FailureCauseTag, FailureReview, Study
from judging.studies.services import close_study
from runs.models import Experiment, Hint, KnowledgeSet, LearningJob, Run, User
from runs.operations.space.retention import apply_retention, kept_by
from tests.judging.factories import annotators_of, make_label, make_study
from tests.judging.studies.crawling import respond, whole_answer
from tests.judging.studies.statements import undone
from tests.judging.studies.url_cases import Visit
from tests.runs.factories import client_of, make_experiment, make_run, make_user

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("tests what pages show"),
    pytest.mark.slow,
]


def _review(run: Run) -> None:
    FailureReview.objects.create(run=run, decision="own", by=make_user())


def _cause(run: Run) -> None:
    FailureCauseTag.objects.create(run=run, cause="vision", by=make_user())


def _hint(run: Run) -> None:
    job = LearningJob.objects.create(kind="hints", state="finished", params={})
    Hint.objects.create(
        job=job,
        source=run,
        level="concrete",
        text="Press it",
        model="m",
        prompt_version="1",
        prompt_hash="0" * 64,
        asks=1,
        input_tokens=1,
        output_tokens=1,
        seconds=0.1,
    )


def _knowledge(run: Run) -> None:
    of = KnowledgeSet.objects.create(name=f"Garden {run.pk}", site="shopping")
    of.entries.create(position=0, intent="Buy it").sources.create(run=run)


HIDDEN: dict[str, Callable[[Run], None]] = {
    "a review of its failure": _review,
    "a cause of its failure": _cause,
    "a hint from it": _hint,
    "web knowledge from it": _knowledge,
}


@pytest.fixture
def experiment() -> Experiment:
    return make_experiment("Another")


def blinded_world(experiment: Experiment) -> tuple[User, Study, list[Run]]:
    """An engineer who annotates; runs of the experiment that repeat the one to label.

    The study shows who acted: otherwise the experiment had no page.
    """
    viewer = make_user("engineer")
    study = make_study(runs=1, annotators=[viewer, make_user()], hides_identity=False)
    run = study.items.get().run
    rerun = make_run(pictures=False, experiment=experiment, rerun_of=run)
    long_ago = timezone.now() - timedelta(days=99)
    ways: list[dict[str, Any]] = [
        {"retry_of": run},
        {"rerun_of": make_run(pictures=False, rerun_of=rerun)},
        {"rerun_of": run, "archived_at": long_ago},
    ]
    make_run(pictures=False, experiment=experiment)
    kin = [make_run(pictures=False, experiment=experiment, **way) for way in ways]
    return viewer, study, [rerun, *kin]


def answers(viewer: User, experiment: Experiment) -> Iterator[bytes]:
    """The pages of retention, what pressing each of their buttons says, and the lists after it."""
    page = f"/storage/experiments/{experiment.pk}/"
    pages = [Visit(page), Visit("/runs/"), Visit("/runs/?archived=true"), Visit("/storage/")]
    client = client_of(viewer)
    for action in ("", "archive/", "restore/", "delete/", "rule"):
        with undone():
            if action == "rule":
                Experiment.objects.filter(pk=experiment.pk).update(keep_days=0)
                apply_retention()
            elif action:
                sent = {"reason": "a test", "name": experiment.name}
                yield whole_answer(respond(client, Visit(page + action, data=sent), {}))
            for visit in pages:
                yield whole_answer(respond(client, visit, {}))


def test_what_is_kept_tells_nothing_of_a_blinded_run(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer, _, runs = blinded_world(experiment)
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)
    before = list(answers(viewer, experiment))
    for tell, run in product(HIDDEN.values(), runs):
        tell(run)
    assert list(answers(viewer, experiment)) == before


def test_each_is_told_once_nobody_is_blinded(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without this, a page that never told a reason would pass."""
    viewer, study, runs = blinded_world(experiment)
    close_study(study=study)
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)
    before = list(answers(viewer, experiment))
    for hidden, tell in HIDDEN.items():
        with undone():
            tell(runs[1])
            told = zip(answers(viewer, experiment), before, strict=True)
            assert any(after != answer for after, answer in told), hidden


def test_a_run_is_kept_while_somebody_judges_one_of_its_family() -> None:
    study = make_study(runs=1)
    item = study.items.get()
    rerun = Run.objects.filter(pk=make_run(pictures=False, rerun_of=item.run).pk)
    [(words, n)] = kept_by(rerun)
    assert (str(words), n) == ("people still judge a run that it repeats or that repeats it", 1)
    for user in annotators_of(study):
        make_label(item, user)
    assert kept_by(rerun) == []
    now = timezone.now()
    Assignment.objects.create(
        item=item, user=annotators_of(study)[0], is_repeat=True, leased_until=now, opened_at=now
    )
    assert [str(words) for words, _ in kept_by(rerun)] == [str(words)]
