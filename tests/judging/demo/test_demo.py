"""The demo shows what it is there to show: real errors, repaired, with their causes."""

import re
from collections import Counter

import pytest
from django.test import Client
from django.urls import reverse

from judging.analysis.audits.matrices import Audit
from judging.analysis.audits.verdict_sources import stubs_of
from judging.analysis.audits.what_if.recomputing import Change, compare
from judging.analysis.audits.what_if.settings import read_setting
from judging.analysis.causes.tags import Counted, causes_of
from judging.analysis.experiments.population import choices_among, default_source, scope_for
from judging.analysis.hint_effects.reading import HintEffects
from judging.demo import ASKING, hinted, read_plan, recovery
from judging.demo.recovery import CAREFUL, FORGETFUL
from judging.demo.services import load_demo
from judging.demo.stub_judge import MODEL, OWN_WORDS
from judging.evaluating.evaluating import evaluate_runs, version_of
from judging.evaluators.registry import evaluator_choices, predefined_evaluators, usable_entry
from judging.models import Cause, CauseTag, Evaluation, EvaluatorVersion, Repair, Study
from judging.statistics.figures import Interval
from runs.catalogue.language_models import ModelUnavailableError
from runs.knowledge.hints.of_runs import advised_agent, choice_for, hint_record
from runs.launching.experiments.hint_plans import Condition
from runs.models import (
    Event,
    Experiment,
    Hint,
    KnowledgeSet,
    LearningJob,
    RetryPolicy,
    Run,
    Task,
    TaskRevision,
    User,
)
from runs.storage.blobs import read_blob
from tests.runs.operations.integrity import everything_holds
from tests.webagent.pages import observation
from webagent.environment.larkfield import HOSTS
from webagent.knowledge.entries import Level, Relatedness
from webagent.llm.registry import is_stub

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests the demo"), pytest.mark.slow]

CAUSES_LEFT = Counted(0, 1)
"""One error is left untagged for whoever tries it."""
Cells = tuple[int, int, int, int, int]
"""TP, FN, TN, FP, no verdict."""


@pytest.fixture(scope="module")
def demo(kept_rows: None) -> Study:
    """Loaded once for all tests here, which only look at it."""
    return load_demo()


@pytest.fixture
def study(demo: Study, db: None) -> Study:
    return demo


def hint_effects() -> HintEffects:
    """The experiment of hints, as the engineer sees it by default."""
    experiment = Experiment.objects.get(name=hinted.NAME)
    scope = scope_for(User.objects.get(username="engineer"), experiment)
    return HintEffects(scope, default_source(choices_among(scope.visible)))


def counted_by_hand(study: Study) -> dict[str, Cells]:
    """The cells of every evaluator, run by run: no query of the audit's own has a part in it.

    What only says how a run failed judges nothing, and stands in no matrix.
    """
    cells: dict[str, Counter[str]] = {}
    runs = {item.run_id: item.verdict for item in study.items.filter(verdict__isnull=False)}
    judging = Evaluation.objects.exclude(evaluator__kind=EvaluatorVersion.Kind.MODES)
    for said in judging.filter(run__in=runs, is_current=True):
        succeeded = runs[said.run_id].verdict == "success"
        cell = {
            ("passed", True): "tp",
            ("failed", True): "fn",
            ("failed", False): "tn",
            ("passed", False): "fp",
        }.get((said.verdict, succeeded), "none")
        cells.setdefault(said.evaluator.name, Counter())[cell] += 1
    return {
        name: (found["tp"], found["fn"], found["tn"], found["fp"], found["none"])
        for name, found in cells.items()
    }


def test_everything_holds_that_always_holds(study: Study) -> None:
    everything_holds()


def test_every_matrix_is_what_a_count_run_by_run_gives(study: Study) -> None:
    shown = {
        each.evaluator.name: (
            each.matrix.tp,
            each.matrix.fn,
            each.matrix.tn,
            each.matrix.fp,
            each.matrix.no_verdict,
        )
        for each in Audit(study).evaluators
    }
    assert shown == counted_by_hand(study)
    assert shown == {
        "webarena-strict": (25, 23, 31, 6, 4),
        "webarena-repaired": (40, 8, 33, 4, 4),
        "before": (27, 23, 33, 6, 0),
        "after": (50, 0, 37, 2, 0),
        "two-stage-judge": (27, 8, 19, 2, 33),
        "imported-reward": (0, 0, 0, 0, 89),
        "milestones-mechanical": (22, 0, 19, 1, 47),
    }


def test_what_after_repairs_of_before_has_a_cause(study: Study) -> None:
    counted = study.items.filter(verdict__isnull=False)
    succeeded = set(counted.filter(verdict__verdict="success").values_list("run", flat=True))

    def runs_said(name: str, verdict: str) -> set[object]:
        said = Evaluation.objects.filter(evaluator__name=name, verdict=verdict, is_current=True)
        return set(said.values_list("run", flat=True))

    repaired = succeeded & runs_said("before", "failed") & runs_said("after", "passed")
    tagged = CauseTag.objects.filter(
        item__study=study, evaluator_name="before", error=CauseTag.Error.FN, is_current=True
    ).exclude(repair="")
    assert len(repaired) == 23
    assert repaired == set(tagged.values_list("item__run", flat=True))


@pytest.mark.parametrize("name", ["webarena-strict", "before"])
def test_real_errors_are_repaired_and_their_causes_tagged(study: Study, name: str) -> None:
    causes = {each.audit.evaluator.name: each for each in causes_of(Audit(study))}
    before = causes[name]
    assert before.errors == Counted(23, 6)
    assert before.repairable.fn == before.errors.fn
    assert before.by_repair[Repair.TASK_DATA] == Counted(12, 3)
    assert before.by_repair[Repair.EVALUATION_LOGIC] == Counted(11, 2)
    assert before.untagged == CAUSES_LEFT
    rules_alone = causes["webarena-repaired"]
    assert rules_alone.by_repair[Repair.TASK_DATA] == Counted(7, 3)
    assert causes["after"].errors == Counted(0, 2)


def test_every_kind_of_cause_stands_beside_a_false_negative(study: Study) -> None:
    tags = CauseTag.objects.filter(item__study=study, error=CauseTag.Error.FN, is_current=True)
    told = {cause for causes in tags.values_list("causes", flat=True) for cause in causes}
    assert told == {
        Cause.OUTPUT_FORMAT,
        Cause.WRONG_REFERENCE,
        Cause.SEVERAL_ANSWERS,
        Cause.URL_FORM,
        Cause.TOO_STRICT,
        Cause.AMBIGUOUS_TASK,
    }


def test_switching_the_rules_on_repairs_the_strict_matcher(study: Study) -> None:
    strict = EvaluatorVersion.objects.get(name="webarena-strict")
    compared = compare(study, read_setting(strict, {"off": "none"}))
    assert len(compared.flips[Change.FIXED_FN]) == 15
    assert set(compared.flips) == {Change.FIXED_FN, Change.FIXED_FP}


def test_the_tasks_are_patched_each_with_its_reason_and_after_judges_by_them(study: Study) -> None:
    revisions = TaskRevision.objects.filter(task__task_set__name="larkfield")
    assert Counter(revisions.values_list("category", flat=True)) == {
        "output_format": 9,
        "reference": 8,
    }
    assert all(len(revision.why) > 40 for revision in revisions)
    for name, version in (("before", "1"), ("after", "repaired-1")):
        said = Evaluation.objects.filter(evaluator__name=name, run__study_items__study=study)
        assert set(said.values_list("task__task_set__version", flat=True)) == {version}
    assert not Task.objects.filter(Task.objects.is_infeasible("pk")).exists()


def test_the_stub_owns_up_wherever_it_answered(study: Study) -> None:
    assert {each.name for each in stubs_of(study)} == set(ASKING)
    stages = [
        stage
        for said in Evaluation.objects.filter(evaluator__config__model=MODEL)
        for stage in said.details.get("stages", [])
    ]
    assert {stage["name"] for stage in stages} == {"single", "equivalence", "inclusion"}
    assert all(stage["model"] == MODEL and stage["cost"] == "0" for stage in stages)
    assert all(stage["rationale"].startswith(OWN_WORDS) for stage in stages)
    assert all(stage["prompt_hash"] and "error" not in stage for stage in stages)


def test_pages_mark_the_stub_and_nobody_can_ask_it(study: Study, client: Client) -> None:
    client.force_login(User.objects.get(username="engineer"))
    judged = Run.objects.filter(
        study_items__study=study,
        evaluations__evaluator__name="two-stage-judge",
        task__site="larkfield",
    ).order_by("pk")
    run = judged.filter(final_answer="Fiction").first()
    assert run is not None
    pages = [
        reverse(f"judging:{name}", args=[study.pk])
        for name in ("audit", "audit_triangle", "audit_compare", "audit_causes", "what_if")
    ]
    for address in pages:
        shown = client.get(address, follow=True).content.decode()
        assert re.search(r"[Aa] stub\s+of fixed rules answered", shown), address
    pane = client.get(reverse("judging:run_judgements", args=[run.pk])).content.decode()
    assert "answered by a stub" in pane
    offered = client.get(reverse("judging:audit_evaluate", args=[study.pk])).content.decode()
    assert MODEL not in offered
    assert MODEL not in {choice.model for choice in evaluator_choices()}
    with pytest.raises(ModelUnavailableError, match="is a stub and cannot be asked again"):
        usable_entry(MODEL)


def test_the_experiment_shows_rescue_and_what_each_stub_alone_can_do(study: Study) -> None:
    runs = Run.objects.filter(experiment__name=recovery.NAME).select_related("agent", "policy")
    outcomes = Counter((run.agent.model, run.outcome) for run in runs)
    assert outcomes == {
        (CAREFUL, "success"): 8,
        (CAREFUL, "failure"): 4,
        (FORGETFUL, "success"): 10,
        (FORGETFUL, "failure"): 2,
    }
    told = [(run.outcome, run.record["extra"]["recovery"]["recoveries"]) for run in runs]
    assert Counter(outcome for outcome, n in told if n) == {"success": 5, "failure": 4}
    assert {run.agent.model for run in runs if run.has_anomaly} == {CAREFUL, FORGETFUL}
    assert {run.policy for run in runs} == {RetryPolicy.objects.get(name=recovery.POLICY)}


def test_a_rescued_run_tells_who_took_over_and_what_was_asked(study: Study) -> None:
    run = Run.objects.filter(
        experiment__name=recovery.NAME, task__external_id="miniwob.login-user", n_steps=10
    )[0]
    states = [step.state for step in run.steps.order_by("index")]
    assert states == ["superseded"] * 7 + ["live"] * 3
    (takeover,) = run.events.filter(kind=Event.Kind.MODEL_SWITCH)
    assert (takeover.first_step, takeover.last_step) == (7, 9)
    thoughts = [step.record["thought"] for step in run.steps.all()]
    assert all(thought.startswith(OWN_WORDS) for thought in thoughts)
    asked = run.attachments.filter(role="request").count()
    assert asked == run.n_steps


def test_runs_that_fail_still_came_some_way(study: Study) -> None:
    """By the milestones of the library's tasks: a book that is claimed to be reserved, say."""
    runs = Run.objects.filter(task__external_id="larkfield.reserve-clockmaker")
    said = Evaluation.objects.filter(
        run__in=runs, evaluator__name="milestones-mechanical", is_current=True
    )
    rates = sorted((one.verdict, one.details["progress"]["final"]) for one in said)
    assert rates == [("failed", 50.0), ("passed", 100.0)]


def test_all_forty_tasks_are_run_and_a_few_runs_are_left_to_label(study: Study) -> None:
    runs = Run.objects.filter(study_items__study=study)
    assert runs.values("task__goal").distinct().count() == 40
    assert {site for sites in runs.values_list("task__sites", flat=True) for site in sites} == set(
        HOSTS
    )
    assert study.items.count() == 101
    assert study.items.filter(verdict__isnull=True).count() == 12


def test_how_long_the_rest_takes_is_known(client: Client, study: Study) -> None:
    client.force_login(User.objects.get(username="annotator1"))
    page = client.get(reverse("judging:annotate", args=[study.pk])).content.decode()
    assert re.search(r"about \d+ min left", page)


def test_hints_and_knowledge_say_that_no_model_wrote_them(study: Study) -> None:
    hints = Hint.objects.all()
    assert Counter(hint.level for hint in hints) == {level.value: 8 for level in Level}
    own = OWN_WORDS.rstrip(":")
    assert all(own in hint.text and is_stub(hint.model) for hint in hints)
    sets = KnowledgeSet.objects.all()
    assert Counter((one.site, one.kind) for one in sets) == {
        (site, kind): 1
        for site in ("larkfield-forum", "larkfield-shop")
        for kind in ("raw", "summarised")
    }
    entries = [entry for one in sets for entry in one.entries.all()]
    assert len(entries) == 8
    assert all(own in entry.ng and not entry.problem for entry in entries)


def test_hints_help_where_they_fit_and_mislead_where_they_do_not(study: Study) -> None:
    effects = hint_effects()
    assert effects.planned == 1
    baseline = [side.successes for side in effects.without]
    assert (sum(baseline), len(baseline)) == (2, 8)
    assert {
        (condition.level.value, condition.relatedness.value): (
            cell.n,
            cell.improvements,
            cell.deteriorations,
        )
        for condition, cell in effects.cells.items()
    } == {
        ("concrete", "same_task"): (8, 6, 0),
        ("concrete", "same_site_highest"): (8, 0, 2),
        ("concrete", "other_site_lowest"): (8, 0, 0),
        ("abstract", "same_task"): (8, 4, 0),
        ("abstract", "same_site_highest"): (8, 0, 2),
        ("abstract", "other_site_lowest"): (8, 0, 0),
        ("insights", "same_task"): (8, 1, 0),
        ("insights", "same_site_highest"): (8, 1, 0),
        ("insights", "other_site_lowest"): (8, 1, 0),
    }
    interval = effects.cells[Condition(Level.CONCRETE, Relatedness.SAME_TASK)].difference.interval
    assert isinstance(interval, Interval)
    assert 0 < interval.low < 0.75 < interval.high <= 1


def test_who_judges_the_hinted_runs_is_right_about_these_tasks(study: Study) -> None:
    """The repaired matcher, on patched tasks, says the same of each."""
    runs = Run.objects.filter(experiment__name=hinted.NAME).select_related("task")
    repaired = next(
        each for each in predefined_evaluators() if each.identity.name == "webarena-repaired"
    )
    evaluate_runs(runs, repaired, version_of(repaired))
    said = Evaluation.objects.filter(run__in=runs, is_current=True)
    by_name = {
        name: set(said.filter(evaluator__name=name).values_list("run", "verdict"))
        for name in (hinted.EVALUATOR, "webarena-repaired")
    }
    assert len(by_name[hinted.EVALUATOR]) == 80
    assert by_name[hinted.EVALUATOR] == by_name["webarena-repaired"]


def test_every_hinted_run_was_told_what_its_set_says(study: Study) -> None:
    runs = Run.objects.filter(experiment__name=hinted.NAME).select_related("agent", "task")
    assert len(runs) == hinted.n_runs(read_plan()) == 80
    for run in runs:
        choice = choice_for(run)
        said = run.record.get("extra", {}).get("hint")
        assert (said is None) == (choice is None)
        if choice is not None:
            assert said == hint_record(choice)
            assert choice.hint.source.study_items.filter(study=study).exists()


def test_the_visitor_decides_alike_with_the_same_hint_in_front_of_the_same_pages(
    study: Study,
) -> None:
    """What was recorded follows from the hint: nothing of it was written by hand."""
    runs = Run.objects.filter(experiment__name=hinted.NAME).select_related("agent", "task")
    for run in runs:
        agent = advised_agent(run, choice_for(run))
        for step in run.steps.order_by("index"):
            tree = read_blob(str(step.tree_id)).decode()
            seen = observation(tree, goal=run.task.goal)
            assert agent.act(seen).action == step.to_record().actions[0].raw


def test_of_two_loads_at_once_the_second_makes_nothing_more(study: Study) -> None:
    """As one that looked before the first had made the study."""
    counted = (Study, Run, Evaluation, LearningJob)
    before = [model.objects.count() for model in counted]
    assert load_demo() == study
    assert [model.objects.count() for model in counted] == before
