"""What if an evaluator were switched otherwise: recomputed, compared, kept."""

from collections.abc import Mapping
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from judging.analysis.audits.what_if import recomputing as whatif
from judging.analysis.audits.what_if.recomputing import Change, Compared, compare, levers
from judging.analysis.audits.what_if.settings import Setting, read_setting, setting_of, switched
from judging.analysis.audits.what_if.views import switchable
from judging.evaluating.evaluating import evaluate_study, version_of
from judging.evaluators.matchers import TaskVersion
from judging.evaluators.matching.repaired.rules import ALL_RULES, Rule
from judging.evaluators.registry import REGISTRY, Unasked, evaluator_named, evaluator_of
from judging.models import Evaluation, EvaluationBatch, EvaluatorVersion, StudyMember, Unblinding
from judging.statistics.confusion import Cell, ConfusionMatrix
from runs.models import Task, TaskSet, User
from runs.models.parsing import QueryError
from tests.judging.analysis import audited
from tests.runs.factories import client_of

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql_only("slow, and alike on both")]

HTMX = {"HX-Request": "true"}

# reference answer, the agent's answer, what people say
RUNS = [
    ("15213", "15213", "success"),
    ("15213", "The zip code is 15213.", "success"),
    ("Café Noir", "Cafe Noir", "success"),
    ("Sprite", "Nike", "failure"),
    ("15213", "It might be 15213.", "failure"),
]


def spec(reference: str) -> dict[str, Any]:
    return {"eval_types": ["string_match"], "reference_answers": {"exact_match": reference}}


def make_world(runs: list[tuple[str, str, str]] = RUNS) -> audited.Audited:
    world = audited.study("What if")
    for number, (reference, answer, verdict) in enumerate(runs):
        task = audited.task(f"answer {number}", spec=spec(reference))
        world.add(verdict, of=audited.run(task, final_answer=answer))
    return world


def evaluated(world: audited.Audited, name: str) -> EvaluatorVersion:
    return evaluate_study(world.study, evaluator_named(name))


@pytest.fixture
def world() -> audited.Audited:
    return make_world()


def changes(compared: Compared) -> dict[Change, list[int]]:
    return {kind: [flip.number for flip in flips] for kind, flips in compared.flips.items()}


class TestMatchers:
    def test_unchanged_switches_change_nothing(self, world: audited.Audited) -> None:
        for name in ("webarena-strict", "webarena-repaired"):
            setting = setting_of(evaluated(world, name))
            compared = compare(world.study, setting)
            assert compared.flips == {}
            assert compared.now == compared.then
            assert (compared.computed, compared.total) == (5, 5)

    def test_rules_switched_on_repair_the_strict_matcher(self, world: audited.Audited) -> None:
        strict = evaluated(world, "webarena-strict")
        compared = compare(world.study, read_setting(strict, {"off": "hedging"}))
        assert compared.now == ConfusionMatrix(tp=1, fn=2, tn=2, fp=0)
        assert compared.then == ConfusionMatrix(tp=3, fn=0, tn=1, fp=1)
        assert changes(compared) == {Change.FIXED_FN: [2, 3], Change.NEW_FP: [5]}
        flip = compared.flips[Change.FIXED_FN][0]
        assert (flip.decided_now, flip.decided_then) == ("exact_match", "sentence")
        (_, now), (_, then), (_, reference) = compared.rates
        assert [now.count, then.count, reference.count] == [1, 4, 3]

    def test_all_rules_off_is_the_strict_matcher(self, world: audited.Audited) -> None:
        repaired = evaluated(world, "webarena-repaired")
        compared = compare(world.study, read_setting(repaired, {"off": ".".join(ALL_RULES)}))
        assert changes(compared) == {Change.LOST_TP: [2, 3]}
        strict = evaluated(world, "webarena-strict")
        assert compare(world.study, setting_of(strict)).then == compared.then

    def test_what_is_shown_is_what_the_saved_version_finds(self, world: audited.Audited) -> None:
        repaired = evaluated(world, "webarena-repaired")
        setting = read_setting(repaired, {"off": "hedging.diacritics"})
        compared = compare(world.study, setting)
        saved = evaluate_study(world.study, setting.evaluator())
        assert compare(world.study, setting_of(saved)).now == compared.then
        assert saved.name == repaired.name
        assert saved.config_hash != repaired.config_hash
        assert evaluator_of(saved) == setting.evaluator()

    def test_runs_without_an_evaluation_gain_a_verdict(self, world: audited.Audited) -> None:
        repaired = evaluated(world, "webarena-repaired")
        Evaluation.objects.filter(run=world.items[0].run).delete()
        assert changes(compare(world.study, setting_of(repaired))) == {Change.GAINED: [1]}

    def test_rates_are_over_the_runs_that_the_reference_beside_them_is_of(
        self, world: audited.Audited
    ) -> None:
        repaired = evaluated(world, "webarena-repaired")
        Evaluation.objects.filter(run=world.items[0].run).delete()
        rates = [share for _name, share in compare(world.study, setting_of(repaired)).rates]
        assert [(each.count, each.total) for each in rates] == [(2, 4), (2, 4), (3, 5), (3, 5)]

    def test_infeasible_and_unsettled_runs_are_left_out(self, world: audited.Audited) -> None:
        repaired = evaluated(world, "webarena-repaired")
        world.add(None)
        Task.objects.filter(pk=world.items[0].run.task_id).update(infeasible_reason="gone")
        assert compare(world.study, setting_of(repaired)).total == 4

    def test_nothing_is_stored(self, world: audited.Audited) -> None:
        repaired = evaluated(world, "webarena-repaired")
        before = (Evaluation.objects.count(), EvaluatorVersion.objects.count())
        compare(world.study, read_setting(repaired, {"off": "sentence"}))
        levers(world.study, setting_of(repaired))
        assert (Evaluation.objects.count(), EvaluatorVersion.objects.count()) == before

    def test_limits_are_told(self, world: audited.Audited, monkeypatch: pytest.MonkeyPatch) -> None:
        repaired = evaluated(world, "webarena-repaired")
        monkeypatch.setattr(whatif, "MOST_RUNS", 2)
        compared = compare(world.study, setting_of(repaired))
        assert (compared.computed, compared.total, compared.is_partial) == (2, 5, True)

    def test_queries_do_not_grow_with_the_runs(self) -> None:
        counted = []
        for runs in (RUNS, RUNS * 4):
            world = make_world([])
            world.study.name = f"of {len(runs)}"
            repaired = version_of(evaluator_named("webarena-repaired"))
            for number, (reference, answer, verdict) in enumerate(runs):
                task = audited.task(f"{len(runs)} {number}", spec=spec(reference))
                world.add(verdict, of=audited.run(task, final_answer=answer))
            with CaptureQueriesContext(connection) as queries:
                setting = Setting(
                    version=repaired, rules=frozenset({Rule.SENTENCE}), tasks=TaskVersion.PATCHED
                )
                compare(world.study, setting)
            counted.append(len(queries))
            world.study.delete()
        assert counted[0] == counted[1]


class TestTasks:
    @pytest.fixture
    def patched(self, world: audited.Audited) -> TaskSet:
        first = world.items[0].run.task.task_set
        return TaskSet.objects.create(name=first.name, version="patched", parent=first)

    def patch(self, world: audited.Audited, into: TaskSet, place: int, **fields: Any) -> None:
        task = world.items[place].run.task
        Task.objects.create(
            **{
                "task_set": into,
                "external_id": task.external_id,
                "spec": task.spec,
                "original": task,
                **fields,
            }
        )

    def test_patched_task_data(self, world: audited.Audited, patched: TaskSet) -> None:
        strict = evaluated(world, "webarena-strict")
        self.patch(world, patched, 1, spec=spec("The zip code is 15213."))
        self.patch(world, patched, 3, infeasible_reason="no such brand")
        setting = read_setting(strict, {"tasks": "patched"})
        compared = compare(world.study, setting)
        assert changes(compared) == {Change.FIXED_FN: [2]}
        assert compared.total == 4, "whose task is infeasible now leaves the figures"
        infeasible = setting.evaluator().evaluate(world.items[3].run)
        assert (infeasible.verdict, infeasible.reason) == (
            "not_applicable",
            "the task is infeasible",
        )
        saved = evaluate_study(world.study, setting.evaluator())
        assert saved.config["tasks"] == "patched"
        assert setting_of(saved).tasks is TaskVersion.PATCHED
        assert compare(world.study, setting_of(saved)).now == compared.then
        assert compare(world.study, setting_of(saved)).flips == {}


def stage(name: str, verdict: str) -> dict[str, Any]:
    return {"name": name, "verdict": verdict}


def judge_version(name: str, **config: Any) -> EvaluatorVersion:
    made = REGISTRY[name].make(language_model=Unasked(), model="stub", **config)
    return version_of(made)


class TestStages:
    """Verdicts of the two stages, stored; what they say when fewer of them count."""

    STORED: Mapping[int, list[dict[str, Any]]] = {
        0: [stage("equivalence", "passed")],
        1: [stage("equivalence", "failed"), stage("inclusion", "passed")],
        2: [stage("equivalence", "failed"), stage("inclusion", "failed")],
        3: [stage("equivalence", "failed"), stage("inclusion", "passed")],
        4: [stage("equivalence", "failed"), stage("inclusion", "error")],
    }

    @pytest.fixture
    def judge(self, world: audited.Audited) -> EvaluatorVersion:
        version = judge_version("two-stage-judge")
        for place, stages in self.STORED.items():
            run = world.items[place].run
            audited.evaluation(
                run, version, stages[-1]["verdict"], details={"stages": stages}, task=run.task
            )
        return version

    def test_as_stored(self, world: audited.Audited, judge: EvaluatorVersion) -> None:
        assert compare(world.study, setting_of(judge)).flips == {}

    def test_the_first_stage_alone(self, world: audited.Audited, judge: EvaluatorVersion) -> None:
        compared = compare(world.study, read_setting(judge, {"stages": "equivalence"}))
        assert changes(compared) == {Change.LOST_TP: [2], Change.FIXED_FP: [4], Change.GAINED: [5]}

    def test_a_stage_that_was_not_asked_leaves_no_verdict(
        self, world: audited.Audited, judge: EvaluatorVersion
    ) -> None:
        compared = compare(world.study, read_setting(judge, {"stages": "inclusion"}))
        assert changes(compared) == {Change.LOST: [1]}
        assert compared.reasons["this stage of the judge was not asked about this run"] == 1

    def test_replies_to_another_version_of_the_task_do_not_count(
        self, world: audited.Audited, judge: EvaluatorVersion
    ) -> None:
        other = audited.task("another")
        Evaluation.objects.filter(run=world.items[0].run).update(task=other)
        assert changes(compare(world.study, setting_of(judge))) == {Change.LOST: [1]}

    def test_the_saved_judge_asks_those_stages(self, judge: EvaluatorVersion) -> None:
        setting = read_setting(judge, {"stages": "inclusion"})
        assert setting.evaluator().identity.config["stages"] == ["inclusion"]


class TestPipelines:
    @pytest.fixture
    def after(self, world: audited.Audited) -> EvaluatorVersion:
        """The repaired matcher, then two stages; the judge was asked where the matcher said no."""
        version = judge_version("after")
        stages = [stage("equivalence", "failed"), stage("inclusion", "passed")]
        said = {0: None, 1: None, 2: None, 3: stages, 4: stages}
        for place, asked in said.items():
            run = world.items[place].run
            parts: list[dict[str, Any]] = [{"verdict": "failed" if asked else "passed"}]
            if asked:
                parts.append({"verdict": "passed", "details": {"stages": asked}})
            details = {"parts": parts, "stages": asked or []}
            audited.evaluation(run, version, "passed", details=details, task=run.task)
        return version

    def test_as_stored(self, world: audited.Audited, after: EvaluatorVersion) -> None:
        compared = compare(world.study, setting_of(after))
        assert compared.flips == {}
        assert compared.now == ConfusionMatrix(tp=3, fn=0, tn=0, fp=2)

    def test_without_the_second_stage(
        self, world: audited.Audited, after: EvaluatorVersion
    ) -> None:
        compared = compare(world.study, read_setting(after, {"stages": "equivalence"}))
        assert changes(compared) == {Change.FIXED_FP: [4, 5]}

    def test_without_the_judge_it_is_its_matcher(
        self, world: audited.Audited, after: EvaluatorVersion
    ) -> None:
        setting = read_setting(after, {"stages": "none"})
        assert changes(compare(world.study, setting)) == {Change.FIXED_FP: [4, 5]}
        assert setting.evaluator().identity.name == "webarena-repaired"

    def test_where_the_matcher_turns_down_more_the_judge_was_never_asked(
        self, world: audited.Audited, after: EvaluatorVersion
    ) -> None:
        setting = read_setting(after, {"off": "sentence"})
        compared = compare(world.study, setting)
        assert changes(compared) == {Change.LOST: [2]}
        assert compared.reasons == {"the judge was not asked about this run": 1}
        config = setting.evaluator().identity.config
        matcher = config["matcher"]
        assert isinstance(matcher, dict)
        assert matcher["config"]["off"] == ["sentence"]

    def test_levers_of_a_pipeline(self, world: audited.Audited, after: EvaluatorVersion) -> None:
        found = {
            lever.rule: dict(lever.changes)
            for lever in levers(world.study, setting_of(after)).levers
        }
        assert found[Rule.SENTENCE] == {Change.LOST: 1}
        assert found[Rule.DIACRITICS] == {Change.LOST: 1}

    def test_strict_pipelines_have_rules_too(self, world: audited.Audited) -> None:
        before = judge_version("before")
        setting = setting_of(before)
        assert (setting.rules, setting.stages) == (frozenset(), None)
        switched_on = read_setting(before, {"off": "hedging"})
        config = switched_on.evaluator().identity.config
        assert isinstance(config["matcher"], dict)
        assert config["matcher"]["name"] == "webarena-repaired"


class TestLevers:
    def test_each_is_what_switching_it_alone_gives(self, world: audited.Audited) -> None:
        repaired = evaluated(world, "webarena-repaired")
        found = levers(world.study, setting_of(repaired))
        assert (found.computed, found.total) == (5, 5)
        changed = {lever.rule: dict(lever.changes) for lever in found.levers}
        here = compare(world.study, setting_of(repaired)).then
        for rule in ALL_RULES:
            there = compare(world.study, setting_of(repaired).toggled(rule))
            expected = {kind: len(flips) for kind, flips in there.flips.items()}
            assert changed.get(rule, {}) == expected, rule
            assert (there.then == here) == (rule not in changed)
        assert changed == {
            Rule.SENTENCE: {Change.LOST_TP: 1},
            Rule.DIACRITICS: {Change.LOST_TP: 1},
            Rule.HEDGING: {Change.NEW_FP: 1},
        }

    def test_the_most_comes_first(self, world: audited.Audited) -> None:
        strict = evaluated(world, "webarena-strict")
        found = levers(world.study, setting_of(strict))
        totals = [lever.changes.total() for lever in found.levers]
        assert totals == sorted(totals, reverse=True)
        assert all(not lever.is_on for lever in found.levers)


class TestAddresses:
    @pytest.mark.parametrize("off", ["hedging", "none", "", "hedging.url_hosts"])
    def test_a_setting_survives_its_address(self, world: audited.Audited, off: str) -> None:
        repaired = evaluated(world, "webarena-repaired")
        setting = read_setting(repaired, {"off": off, "tasks": "patched"})
        query = dict(part.split("=") for part in setting.address.split("&"))
        assert read_setting(repaired, query) == setting

    @pytest.mark.parametrize("name", ["off", "stages", "tasks"])
    def test_what_there_is_not_is_refused_by_name(self, world: audited.Audited, name: str) -> None:
        repaired = evaluated(world, "webarena-repaired")
        with pytest.raises(QueryError) as refused:
            read_setting(repaired, {"off": "hedging", "tasks": "patched", name: "typo"})
        assert refused.value.name == name

    def test_a_form_sent_is_a_setting(self, world: audited.Audited) -> None:
        repaired = evaluated(world, "webarena-repaired")
        setting = switched(repaired, on=["hedging", "typo"], stages=["x"], tasks="?")
        assert setting.rules == frozenset({Rule.HEDGING})
        assert (setting.stages, setting.tasks) == (None, TaskVersion.RECORDED)

    def test_only_evaluators_with_switches_are_offered(self, world: audited.Audited) -> None:
        repaired, strict = (
            evaluated(world, name) for name in ("webarena-repaired", "webarena-strict")
        )
        evaluated(world, "imported-reward")
        for odd in (
            audited.evaluator("webarena-repaired"),  # another program's, by its hash
            audited.evaluator("two-stage-judge", config={"stages": "x", "model": 3}),
        ):
            audited.evaluation(world.items[0].run, odd, "passed")
        assert switchable(world.study) == [repaired, strict]


class TestPages:
    @pytest.fixture
    def repaired(self, world: audited.Audited) -> EvaluatorVersion:
        return evaluated(world, "webarena-repaired")

    def open(self, user: User, world: audited.Audited, name: str = "what_if", **query: Any) -> Any:
        client = client_of(user)
        return client.get(reverse(f"judging:{name}", args=[world.study.pk]), query, headers=HTMX)

    def test_runs_without_a_verdict_then_are_told_with_their_reasons(
        self, world: audited.Audited, repaired: EvaluatorVersion
    ) -> None:
        unspecified = audited.run(audited.task("free", spec=None), final_answer="42")
        world.add("success", of=unspecified)
        page = self.open(audited.auditor(), world)
        assert page.status_code == 200
        assert "the task has no evaluation specification" in page.content.decode()

    def test_every_rule_has_its_switch(
        self, world: audited.Audited, repaired: EvaluatorVersion
    ) -> None:
        page = self.open(audited.auditor(), world, stored="1").content.decode()
        for rule in Rule:
            assert f'name="on" value="{rule}" checked' in page
        assert "No run would change its verdict." in page
        assert "Save as new version" not in page

    def test_flips_open_their_runs(
        self, world: audited.Audited, repaired: EvaluatorVersion
    ) -> None:
        page = self.open(audited.auditor(), world, off="sentence").content.decode()
        assert "1 run would move" in page
        run = world.items[1].run_id
        query = f"study={world.study.pk}&amp;audit={repaired.pk}&amp;cell=tp"
        assert f'href="/runs/{run}/?{query}"' in page
        assert 'name="on" value="sentence" >' in page
        assert [*Unblinding.objects.values_list("item__run_id", flat=True)] == [run]
        assert "Save as new version" in page

    def test_a_sent_form_is_led_to_its_address(
        self, world: audited.Audited, repaired: EvaluatorVersion
    ) -> None:
        auditor = audited.auditor()
        on = sorted(ALL_RULES - {Rule.SENTENCE})
        sent: dict[str, Any] = {
            "sent": "1",
            "evaluator": repaired.pk,
            "on": on,
            "tasks": "recorded",
        }
        client = client_of(auditor)
        path = reverse("judging:what_if", args=[world.study.pk])
        answer = client.get(path, sent)
        assert answer.status_code == 302
        assert answer["Location"].endswith(f"?evaluator={repaired.pk}&off=sentence#what-if")
        assert "/audit/compare/?" in answer["Location"]
        part = client.get(path, sent, headers=HTMX)
        assert part["HX-Push-Url"] == answer["Location"]
        assert b"<!doctype" not in part.content
        assert b"1 run would move" in part.content

    def test_it_is_a_part_of_the_page_that_compares(
        self, world: audited.Audited, repaired: EvaluatorVersion
    ) -> None:
        client = client_of(audited.auditor())
        query = f"evaluator={repaired.pk}&off=sentence"
        old = client.get(reverse("judging:what_if", args=[world.study.pk]) + f"?{query}")
        page = client.get(old["Location"]).content.decode()
        assert "1 run would move" in page
        plain = client.get(reverse("judging:audit_compare", args=[world.study.pk]))
        assert "/audit/what-if/" in plain.content.decode(), "which is fetched after the page"
        assert "would move" not in plain.content.decode()

    def test_it_opens_on_the_first_that_is_compared(self, world: audited.Audited) -> None:
        strict, repaired = (evaluated(world, f"webarena-{name}") for name in ("strict", "repaired"))
        client = client_of(audited.auditor())
        pair = f"first={repaired.pk}&second={strict.pk}"
        address = reverse("judging:audit_compare", args=[world.study.pk])
        page = client.get(f"{address}?{pair}").content.decode()
        assert f"/audit/what-if/?{pair.replace('&', '&amp;')}" in page
        for first in (strict, repaired):
            part = self.open(audited.auditor(first.name), world, first=first.pk).content.decode()
            assert f'name="evaluator" value="{first.pk}"' in part

    @pytest.mark.parametrize("query", ["a=999", "off=nosuch", "stages=x", "evaluator=0"])
    def test_what_the_page_does_not_know_is_named(
        self, world: audited.Audited, repaired: EvaluatorVersion, query: str
    ) -> None:
        address = reverse("judging:audit_compare", args=[world.study.pk])
        answer = client_of(audited.auditor()).get(f"{address}?{query}")
        assert answer.status_code == 404
        assert f"<p>{query}: " in answer.content.decode()

    def test_it_opens_on_the_switch_that_corrects_most(self, world: audited.Audited) -> None:
        strict = evaluated(world, "webarena-strict")
        page = self.open(audited.auditor(), world).content.decode()
        assert "The switch that corrects most errors, less those it makes" in page
        most_moving, best = whatif.levers(world.study, setting_of(strict)).levers
        assert most_moving.changes == {Change.FIXED_FN: 1, Change.NEW_FP: 1}
        assert best.changes == {Change.FIXED_FN: 1}
        assert f'name="on" value="{best.rule}" checked' in page
        stored = self.open(audited.auditor("b"), world, stored="1").content.decode()
        assert "0 runs would move" in stored

    def test_it_opens_as_stored_where_no_switch_corrects_more_than_it_breaks(
        self, world: audited.Audited, repaired: EvaluatorVersion
    ) -> None:
        [first, *_] = whatif.levers(world.study, setting_of(repaired)).levers
        assert first.changes == {Change.LOST_TP: 1}
        none, stored = "No single switch corrects more errors", "0 runs would move"
        page = self.open(audited.auditor(), world).content.decode()
        assert none in page
        assert stored in page
        assert none not in self.open(audited.auditor("b"), world, off="none").content.decode()

    def test_rules_page(self, world: audited.Audited, repaired: EvaluatorVersion) -> None:
        page = self.open(audited.auditor(), world, "what_if_rules").content.decode()
        assert ">View</a>" in page
        assert "?evaluator=" in page

    def test_saving_keeps_the_version_and_starts_the_evaluation(
        self, world: audited.Audited, repaired: EvaluatorVersion
    ) -> None:
        client = client_of(audited.auditor())
        path = reverse("judging:what_if_save", args=[world.study.pk])
        answer = client.post(f"{path}?evaluator={repaired.pk}&off=hedging")
        batch = EvaluationBatch.objects.get()
        assert answer["Location"] == reverse("judging:batch_detail", args=[batch.pk])
        assert batch.study == world.study
        assert batch.evaluator.name == "webarena-repaired"
        assert batch.evaluator.config["off"] == ["hedging"]
        assert batch.evaluator != repaired

    @pytest.mark.parametrize("cost", ["5 dollars", "-1", "NaN", "1e99"])
    def test_a_limit_that_is_none_keeps_nothing(
        self, world: audited.Audited, repaired: EvaluatorVersion, cost: str
    ) -> None:
        client = client_of(audited.auditor())
        path = reverse("judging:what_if_save", args=[world.study.pk])
        answer = client.post(
            f"{path}?evaluator={repaired.pk}&off=hedging", {"max_cost": cost}, follow=True
        )
        assert "Not saved" in answer.content.decode()
        assert list(EvaluatorVersion.objects.all()) == [repaired]
        assert not EvaluationBatch.objects.exists()

    def test_a_model_that_cannot_be_asked_keeps_nothing(self, world: audited.Audited) -> None:
        judge = version_of(evaluator_named("two-stage-judge", model="stub-1"))
        audited.evaluation(world.items[0].run, judge, "passed", details={"stages": []})
        client = client_of(audited.auditor())
        path = reverse("judging:what_if_save", args=[world.study.pk])
        answer = client.post(f"{path}?evaluator={judge.pk}&stages=inclusion", follow=True)
        assert "Not saved: stub-1 is a stub" in answer.content.decode()
        assert list(EvaluatorVersion.objects.all()) == [judge]

    def test_switches_that_make_no_evaluator_are_told(self, world: audited.Audited) -> None:
        judge = judge_version("two-stage-judge")
        audited.evaluation(world.items[0].run, judge, "passed", details={"stages": []})
        page = self.open(audited.auditor(), world, evaluator=judge.pk, stages="none")
        assert "Invalid combination" in page.content.decode()

    def test_nothing_to_switch(self, world: audited.Audited) -> None:
        page = self.open(audited.auditor(), world).content.decode()
        assert "a two-stage judge or a pipeline first." in page
        assert self.open(audited.auditor("b"), world, "what_if_rules").status_code == 404

    def test_who_may(self, world: audited.Audited, repaired: EvaluatorVersion) -> None:
        reader = audited.person("reader", "judging.view_audit", "runs.view_run")
        save = reverse("judging:what_if_save", args=[world.study.pk])
        assert client_of(reader).post(save).status_code == 403
        world.add(None)
        audited.member(world.study, reader, StudyMember.Part.ANNOTATOR)
        assert self.open(reader, world).status_code == 403


def test_every_move_has_a_name() -> None:
    assert whatif.change(Cell.TP, Cell.TP) is None
    assert whatif.change(Cell.FN, Cell.NO_VERDICT_ON_SUCCESS) is Change.LOST
    assert whatif.change(Cell.NO_VERDICT_ON_FAILURE, Cell.FP) is Change.GAINED
    assert whatif.change(Cell.FP, Cell.TN) is Change.FIXED_FP
