"""Causes of errors: tagged, inherited, undone, summed."""

import pytest

from judging.analysis.audits.matrices import Audit
from judging.analysis.audits.population import Shown, items_in_cells
from judging.analysis.causes.tags import (
    CauseAudit,
    Counted,
    Tagging,
    causes_of,
    read_tag,
    tag_errors,
    tag_words,
    undo_tags,
    with_tags,
)
from judging.models import Cause, CauseTag, EvaluatorVersion, Repair
from judging.statistics.figures import Interval, Share
from runs.models import User
from tests.judging.analysis import audited

pytestmark = pytest.mark.django_db

FORMAT = Tagging(causes=frozenset({Cause.OUTPUT_FORMAT}), repair=Repair.TASK_DATA)
STRICT = Tagging(causes=frozenset({Cause.TOO_STRICT}), repair=Repair.EVALUATION_LOGIC)
NOBODY = Tagging(causes=frozenset({Cause.ENVIRONMENT}), repair=Repair.NEITHER, note="site was down")


@pytest.fixture
def user() -> User:
    return audited.person("tagger")


@pytest.fixture
def judge() -> EvaluatorVersion:
    return audited.evaluator("strict")


def world_of(judge: EvaluatorVersion, *cells: str) -> audited.Audited:
    world = audited.study("Causes")
    audited.judged(world, judge, cells)
    return world


def tag(world: audited.Audited, judge: EvaluatorVersion, user: User, places, tagging: Tagging):
    return tag_errors(
        user=user,
        study=world.study,
        evaluator=judge,
        item_ids=[world.items[place].pk for place in places],
        tagging=tagging,
    )


def found(world: audited.Audited, judge: EvaluatorVersion) -> CauseAudit:
    return next(each for each in causes_of(Audit(world.study)) if each.audit.evaluator == judge)


def places(world: audited.Audited, judge: EvaluatorVersion, address: str) -> list[int]:
    cells = items_in_cells(world.study, judge, [Shown.FN, Shown.FP])
    items = with_tags(cells, judge, read_tag(address))
    return [item.position - 1 for item in items]


class TestTheSourcePapersTable:
    """75 runs, 23/16/36/0; 15 of the 16 FNs repaired: 9 by task data, 6 by evaluation logic."""

    @pytest.fixture
    def paper(self, judge: EvaluatorVersion, user: User) -> audited.Audited:
        world = world_of(judge, *["tp"] * 23, *["fn"] * 16, *["tn"] * 36)
        wrong = Tagging(causes=frozenset({Cause.WRONG_REFERENCE}), repair=Repair.TASK_DATA)
        url = Tagging(causes=frozenset({Cause.URL_FORM}), repair=Repair.EVALUATION_LOGIC)
        for numbers, tagging in (
            (range(23, 29), FORMAT),
            (range(29, 32), wrong),
            (range(32, 35), url),
            (range(35, 38), STRICT),
            ([38], NOBODY),
        ):
            tag(world, judge, user, numbers, tagging)
        return world

    @pytest.mark.slow
    def test_fifteen_of_sixteen(self, paper: audited.Audited, judge: EvaluatorVersion) -> None:
        causes = found(paper, judge)
        assert causes.errors == Counted(16, 0)
        assert causes.repairable == Counted(15, 0)
        assert causes.by_repair == {
            Repair.TASK_DATA: Counted(9, 0),
            Repair.EVALUATION_LOGIC: Counted(6, 0),
            Repair.NEITHER: Counted(1, 0),
        }
        assert causes.by_cause == {
            Cause.OUTPUT_FORMAT: Counted(6, 0),
            Cause.WRONG_REFERENCE: Counted(3, 0),
            Cause.URL_FORM: Counted(3, 0),
            Cause.TOO_STRICT: Counted(3, 0),
            Cause.ENVIRONMENT: Counted(1, 0),
        }
        assert causes.untagged == Counted(0, 0)

    @pytest.mark.slow
    def test_success_rates(self, paper: audited.Audited, judge: EvaluatorVersion) -> None:
        rates = found(paper, judge).rates
        assert rates.now == Share(23, 75, rates.now.reason)
        assert (rates.task_data.count, rates.evaluation_logic.count) == (32, 29)
        assert (rates.fn_repaired.count, rates.reference.count) == (38, 39)
        assert rates.all_repaired.count == 38
        # Wilson's by hand, z = 1.96: 38/75 = .5067, 23/75 = .3067
        assert isinstance(rates.fn_repaired.interval, Interval)
        assert isinstance(rates.now.interval, Interval)
        assert (rates.fn_repaired.interval.low, rates.fn_repaired.interval.high) == pytest.approx(
            (0.3958, 0.6169), abs=5e-4
        )
        assert (rates.now.interval.low, rates.now.interval.high) == pytest.approx(
            (0.2136, 0.4183), abs=5e-4
        )


def test_false_positives_count_apart_and_lower_the_rate(
    judge: EvaluatorVersion, user: User
) -> None:
    world = world_of(judge, "tp", "fn", "fp", "fp", "tn", "?s")
    lenient = Tagging(
        causes=frozenset({Cause.TOO_LENIENT, Cause.LABEL_ERROR}), repair=Repair.EVALUATION_LOGIC
    )
    tag(world, judge, user, [1], FORMAT)
    tag(world, judge, user, [2], lenient)
    causes = found(world, judge)
    assert causes.by_cause[Cause.TOO_LENIENT] == causes.by_cause[Cause.LABEL_ERROR] == Counted(0, 1)
    assert causes.untagged == Counted(0, 1)
    assert [causes.rates.now.count, causes.rates.now.total] == [3, 5]
    assert causes.rates.fn_repaired.count == 4
    assert causes.rates.all_repaired.count == 3
    assert causes.rates.reference.count == 2


def test_a_new_version_inherits_the_tags_of_the_errors_it_still_makes(
    judge: EvaluatorVersion, user: User
) -> None:
    world = world_of(judge, "fn", "fn", "fn")
    tag(world, judge, user, [0, 1], FORMAT)
    again = EvaluatorVersion.objects.create(
        name="strict", version="2", kind="matcher", config_hash="two"
    )
    audited.evaluation(world.items[0].run, again, "failed")
    audited.evaluation(world.items[1].run, again, "passed")
    audited.evaluation(world.items[2].run, again, "failed")
    other = audited.evaluator("another")
    audited.evaluation(world.items[0].run, other, "failed")
    assert found(world, again).by_repair[Repair.TASK_DATA] == Counted(1, 0)
    assert found(world, again).untagged == Counted(1, 0)
    assert found(world, judge).by_repair[Repair.TASK_DATA] == Counted(2, 0)
    assert found(world, other).untagged == Counted(1, 0)


def test_evaluating_again_under_the_same_version_keeps_the_tag(
    judge: EvaluatorVersion, user: User
) -> None:
    world = world_of(judge, "fn")
    tag(world, judge, user, [0], FORMAT)
    run = world.items[0].run
    run.evaluations.update(is_current=False)
    audited.evaluation(run, judge, "failed")
    assert found(world, judge).by_repair[Repair.TASK_DATA] == Counted(1, 0)


def test_only_errors_are_tagged(judge: EvaluatorVersion, user: User) -> None:
    world = world_of(judge, "tp", "fn", "tn", "fp", "?s", "-f")
    elsewhere = audited.study("Elsewhere")
    stranger = elsewhere.add("success")
    audited.evaluation(stranger.run, judge, "failed")
    world.items.append(stranger)
    done = tag(world, judge, user, range(7), FORMAT)
    assert (done.changed, done.left_out) == (2, 5)
    assert set(CauseTag.objects.values_list("item__position", "error")) == {(2, "fn"), (4, "fp")}


def test_history_is_kept_and_saying_the_same_again_adds_nothing(
    judge: EvaluatorVersion, user: User
) -> None:
    world = world_of(judge, "fn")
    tag(world, judge, user, [0], FORMAT)
    assert tag(world, judge, user, [0], FORMAT).changed == 0
    other = audited.person("other")
    tag(world, judge, other, [0], NOBODY)
    rows = list(CauseTag.objects.order_by("id").values_list("by", "causes", "note", "is_current"))
    assert rows == [
        (user.pk, ["output_format"], "", False),
        (other.pk, ["environment"], "site was down", True),
    ]


def test_undo_restores_what_was_there_before_the_batch(judge: EvaluatorVersion, user: User) -> None:
    world = world_of(judge, "fn", "fn", "fn")
    tag(world, judge, user, [0], FORMAT)
    batch = tag(world, judge, user, [0, 1, 2], STRICT)
    tag(world, judge, audited.person("later"), [2], NOBODY)
    assert undo_tags(user=user, study=world.study, batch=batch.batch) == 2
    assert places(world, judge, "repair.task_data") == [0]
    assert places(world, judge, "none") == [1]
    assert places(world, judge, "repair.neither") == [2]
    assert CauseTag.objects.filter(is_undo=True).count() == 2
    assert undo_tags(user=user, study=world.study, batch=batch.batch) == 0


def test_undo_reaches_into_no_other_study(judge: EvaluatorVersion, user: User) -> None:
    world = world_of(judge, "fn")
    batch = tag(world, judge, user, [0], FORMAT).batch
    assert undo_tags(user=user, study=audited.study("other").study, batch=batch) == 0


def test_clearing_a_tag_makes_the_error_untagged(judge: EvaluatorVersion, user: User) -> None:
    world = world_of(judge, "fn")
    tag(world, judge, user, [0], FORMAT)
    tag(world, judge, user, [0], Tagging())
    assert found(world, judge).untagged == Counted(1, 0)
    assert places(world, judge, "none") == [0]
    assert places(world, judge, "any") == []


@pytest.mark.slow
def test_every_filter_gives_the_runs_behind_its_number(judge: EvaluatorVersion, user: User) -> None:
    world = world_of(judge, "fn", "fn", "fp", "tp", "fn")
    both = Tagging(
        causes=frozenset({Cause.OUTPUT_FORMAT, Cause.TOO_STRICT}), repair=Repair.TASK_DATA
    )
    tag(world, judge, user, [0, 2], FORMAT)
    tag(world, judge, user, [1], both)
    assert places(world, judge, "cause.output_format") == [0, 1, 2]
    assert places(world, judge, "cause.too_strict") == [1]
    assert places(world, judge, "cause.url_form") == []
    assert places(world, judge, "repair.task_data") == [0, 1, 2]
    assert places(world, judge, "none") == [4]
    assert places(world, judge, "any") == [0, 1, 2]
    assert places(world, judge, "") == [0, 1, 2, 4]


def test_infeasible_tasks_and_changed_references_leave_no_tag_behind(
    judge: EvaluatorVersion, user: User
) -> None:
    world = world_of(judge, "fn", "fn", "fn")
    tag(world, judge, user, [0, 1], FORMAT)
    task = world.items[0].run.task
    task.infeasible_reason = "no such product"
    task.save()
    verdict = world.items[1].verdict
    verdict.verdict = "failure"
    verdict.save()
    causes = found(world, judge)
    assert causes.by_repair[Repair.TASK_DATA] == Counted()
    assert causes.untagged == causes.errors == Counted(1, 0)


@pytest.mark.parametrize("text", ["cause.typo", "cause.", "repair.url_form", "x", "cause"])
def test_a_filter_that_is_none_is_of_all(text: str) -> None:
    assert read_tag(text) == ""


def test_filters_have_names() -> None:
    assert tag_words("cause.url_form") == "URL form"
    assert tag_words("repair.neither") == "neither"
    assert tag_words("none") == "untagged"
