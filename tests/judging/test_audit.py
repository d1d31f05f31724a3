"""The audit of a study against counts made by hand, and who may read it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from judging.audits.agreement import agreement_of
from judging.audits.cells import Shown, items_in_cells, neighbours, read_cells
from judging.audits.matrices import NOT_EVALUATED, audit_of
from judging.audits.measures import BY_KEY, measure
from judging.audits.population import Group, items_in, population_of
from judging.models import ReferenceVerdict, StudyMember
from judging.statistics.confusion import ConfusionMatrix
from judging.statistics.figures import Interval, Reason, Undefined
from runs.models import Run
from tests.judging import audited

pytestmark = pytest.mark.django_db


@pytest.fixture
def paper() -> audited.Audited:
    """The source paper's study before the repair: 23 TP, 16 FN, 36 TN, no FP."""
    world = audited.study("Paper")
    audited.judged(world, audited.evaluator(), ["tp"] * 23 + ["fn"] * 16 + ["tn"] * 36)
    return world


@pytest.fixture
def mixed() -> audited.Audited:
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


def open_page(client: Client, name: str, *args: Any, **headers: str) -> Any:
    return client.get(reverse(f"judging:{name}", args=args), headers=headers)


def logged_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


class TestCounts:
    def test_the_source_papers_matrix(self, paper: audited.Audited) -> None:
        [found] = audit_of(paper.study).evaluators
        assert found.matrix == ConfusionMatrix(tp=23, fn=16, tn=36, fp=0)
        fn_share = measure(found, BY_KEY["fn_share"])
        assert fn_share.value == pytest.approx(16 / 75)
        assert isinstance(fn_share.interval, Interval)
        assert (fn_share.interval.low, fn_share.interval.high) == pytest.approx(
            (0.136, 0.319), abs=5e-4
        )

    def test_fifth_cell_and_its_reasons(self, mixed: audited.Audited) -> None:
        first, second = audit_of(mixed.study).evaluators
        assert first.matrix == ConfusionMatrix(
            tp=4, fn=3, tn=2, fp=1, no_verdict_on_success=3, no_verdict_on_failure=2
        )
        assert first.reasons == [("needs a judge", 3), (NOT_EVALUATED, 2)]
        assert second.matrix == ConfusionMatrix(
            tp=0, fn=2, tn=0, fp=0, no_verdict_on_success=8, no_verdict_on_failure=5
        )
        assert second.matrix.runs == first.matrix.runs == 15

    def test_population_tells_who_is_left_out(self, mixed: audited.Audited) -> None:
        population = population_of(mixed.study)
        assert population.groups == {
            Group.COUNTED: 15,
            Group.NOT_EXECUTABLE: 1,
            Group.INFEASIBLE: 1,
            Group.UNSETTLED: 1,
        }
        assert (population.references.successes, population.references.failures) == (10, 5)
        for group, n in population.groups.items():
            assert items_in(mixed.study, group).count() == n

    def test_every_count_is_the_number_of_runs_behind_it(self, mixed: audited.Audited) -> None:
        for found in audit_of(mixed.study).evaluators:
            matrix = found.matrix
            expected = [matrix.tp, matrix.fn, matrix.tn, matrix.fp, matrix.no_verdict]
            listed = [
                items_in_cells(mixed.study, found.evaluator, [cell]).count() for cell in Shown
            ]
            assert listed == expected
            assert items_in_cells(mixed.study, found.evaluator, list(Shown)).count() == matrix.runs

    def test_earlier_evaluations_do_not_count(self) -> None:
        world = audited.study()
        judge = audited.evaluator()
        item = world.add("success")
        audited.evaluation(item.run, judge, "failed", is_current=False)
        audited.evaluation(item.run, judge, "passed")
        [found] = audit_of(world.study).evaluators
        assert found.matrix == ConfusionMatrix(tp=1, fn=0, tn=0, fp=0)

    def test_another_studys_verdict_on_the_same_run_does_not_leak_in(self) -> None:
        ours, theirs = audited.study("ours"), audited.study("theirs")
        run = audited.run()
        theirs.add("failure", of=run)
        ours.add("success", of=run)
        audited.evaluation(run, audited.evaluator(), "passed")
        assert audit_of(ours.study).evaluators[0].matrix.tp == 1
        assert audit_of(theirs.study).evaluators[0].matrix.fp == 1

    def test_figures_that_do_not_exist_say_why(self) -> None:
        world = audited.study()
        audited.judged(world, audited.evaluator(), ["tn", "tn"])
        [found] = audit_of(world.study).evaluators
        reasons = {
            key: value.reason
            for key in BY_KEY
            if isinstance(value := measure(found, BY_KEY[key]).value, Undefined)
        }
        assert reasons == {
            "precision": Reason.NOTHING_PASSED,
            "recall": Reason.NO_SUCCESSES,
            "fnr": Reason.NO_SUCCESSES,
            "f1": Reason.NO_POSITIVES,
            "kappa": Reason.ONE_CLASS,
        }

    def test_shared_tasks_give_an_interval_by_task(self) -> None:
        world = audited.study()
        judge = audited.evaluator()
        for number in range(12):
            run = audited.run(audited.task(f"shared {number // 4}"))
            world.add("success", of=run)
            audited.evaluation(run, judge, "passed" if number < 4 else "failed")
        audit = audit_of(world.study)
        assert audit.population.shares_tasks
        recall = measure(audit.evaluators[0], BY_KEY["recall"])
        assert isinstance(recall.interval, Interval)
        assert isinstance(recall.by_task, Interval)
        # Runs of one task are all alike here, so there are 3 observations, not 12.
        by_task = recall.by_task.high - recall.by_task.low
        assert by_task > 1.5 * (recall.interval.high - recall.interval.low)


class TestCells:
    def test_several_cells_by_one_address(self, mixed: audited.Audited) -> None:
        assert read_cells("tp-fp") == [Shown.TP, Shown.FP]
        for wrong in ("", "tp-", "tp-tp", "xx", "TP"):
            with pytest.raises(ValueError, match=r".*"):
                read_cells(wrong)

    def test_neighbours_walk_the_cell_from_end_to_end(self, mixed: audited.Audited) -> None:
        items = items_in_cells(mixed.study, audited.evaluator("first"), [Shown.FN])
        first, second, third = (item.run_id for item in items)
        here = neighbours(items, second)
        assert here is not None
        assert (here.number, here.total, here.previous, here.next) == (2, 3, first, third)
        start, end = neighbours(items, first), neighbours(items, third)
        assert start is not None
        assert end is not None
        assert (start.previous, end.next) == (None, None)
        assert neighbours(items, mixed.items[0].run_id) is None

    def test_list_links_to_the_run_with_its_way_through_the_cell(
        self, mixed: audited.Audited
    ) -> None:
        judge = audited.evaluator("first")
        client = logged_in(audited.auditor())
        page = open_page(client, "audit_cells", mixed.study.pk, judge.pk, "fn").content.decode()
        for item in items_in_cells(mixed.study, judge, [Shown.FN]):
            address = (
                f"/runs/{item.run_id}/?study={mixed.study.pk}&amp;audit={judge.pk}&amp;cell=fn"
            )
            assert address in page
        assert page.count("data-run=") == 3

    @pytest.mark.parametrize("cells", ["xx", "tp-tp", "tp--fn"])
    def test_unknown_cell_is_not_found(self, mixed: audited.Audited, cells: str) -> None:
        client = logged_in(audited.auditor())
        judge = audited.evaluator("first")
        assert open_page(client, "audit_cells", mixed.study.pk, judge.pk, cells).status_code == 404

    def test_htmx_gets_the_table_alone(self, mixed: audited.Audited) -> None:
        client = logged_in(audited.auditor())
        arguments = ("audit_cells", mixed.study.pk, audited.evaluator("first").pk, "tp")
        page = open_page(client, *arguments, **{"HX-Request": "true"})
        assert page.content.strip().startswith(b'<div id="cell-table"')

    def test_left_out_runs_are_listed_with_their_reason(self, mixed: audited.Audited) -> None:
        client = logged_in(audited.auditor())
        page = open_page(client, "audit_left_out", mixed.study.pk, "infeasible").content.decode()
        assert "no such product" in page
        assert page.count("data-run") == 1
        assert open_page(client, "audit_left_out", mixed.study.pk, "counted").status_code == 404


class TestAgreement:
    def test_two_annotators_by_hand(self) -> None:
        """Of 10 pairs 8 agree: 6 success, 2 failure; kappa (.8 - .58) / (1 - .58)."""
        world = audited.study()
        a, b = audited.person("a"), audited.person("b")
        pairs = [("success", "success")] * 6 + [("failure", "failure")] * 2
        pairs += [("success", "failure"), ("failure", "success")]
        for first, second in pairs:
            world.add("success" if first == second else None, [(a, first), (b, second)])
        found = agreement_of(world.study)
        figures = {each.key: each for each in found.figures}
        assert figures["raw"].value == pytest.approx(0.8)
        assert figures["kappa"].value == pytest.approx((0.8 - 0.58) / (1 - 0.58))
        assert isinstance(figures["kappa"].interval, Interval)
        # alpha: Do = 4/20, De = 2·14·6/(20·19); AC1 over the four labels that could be given
        assert figures["alpha"].value == pytest.approx(1 - (4 / 20) / (2 * 14 * 6 / (20 * 19)))
        assert figures["ac1"].value == pytest.approx((0.8 - 0.14) / (1 - 0.14))
        assert (found.runs, found.labels, found.disputed, found.waiting) == (10, 20, 2, 2)
        [pair] = found.pairs
        assert pair.labels == ["success", "failure"]
        assert pair.rows == [("success", [6, 1]), ("failure", [1, 2])]

    def test_one_label_throughout_is_said_in_words(self) -> None:
        world = audited.study()
        a, b = audited.person("a"), audited.person("b")
        for _ in range(3):
            world.add("success", [(a, "success"), (b, "success")])
        found = agreement_of(world.study)
        values = {each.key: each.value for each in found.figures}
        assert values["raw"] == 1.0
        assert values["kappa"] == values["alpha"] == Undefined(Reason.ONE_CLASS)
        client = logged_in(audited.auditor())
        page = open_page(client, "audit_agreement", world.study.pk).content.decode()
        assert "only one label occurs" in page
        assert "nan" not in page.lower()

    def test_labels_of_open_runs_wait_for_the_second(self) -> None:
        world = audited.study()
        world.add(None, [(audited.person("a"), "success")])
        assert agreement_of(world.study).labels == 0

    def test_three_annotators_have_kappa_by_pair_only(self) -> None:
        world = audited.study()
        a, b, c = (audited.person(name) for name in "abc")
        for first, second in ((a, b), (b, c), (a, c), (a, b)):
            world.add("success", [(first, "success"), (second, "success")])
        found = agreement_of(world.study)
        kappa = next(each for each in found.figures if each.key == "kappa")
        assert kappa.value is None
        assert kappa.why
        assert [(pair.first, pair.second, pair.runs) for pair in found.pairs] == [
            ("a", "b", 2),
            ("a", "c", 1),
            ("b", "c", 1),
        ]

    def test_hidden_repeats_hold_annotators_against_themselves(self) -> None:
        world = audited.study()
        a, b = audited.person("a"), audited.person("b")
        for again in ("success", "failure"):
            item = world.add("success", [(a, "success"), (b, "success")])
            audited.label(item, a, again, is_repeat=True)
        found = agreement_of(world.study)
        assert found.labels == 4
        [repeat] = found.repeats
        assert (repeat.first, repeat.runs) == ("a", 2)
        assert repeat.figures[0].value == pytest.approx(0.5)

    def test_origins_of_settlements_are_counted(self) -> None:
        world = audited.study()
        a, b = audited.person("a"), audited.person("b")
        differ = [(a, "success"), (b, "failure")]
        world.add("success", differ, origin=ReferenceVerdict.Origin.ADJUDICATED)
        world.add("failure", differ, origin=ReferenceVerdict.Origin.CONSENSUS)
        world.add(None, differ)
        found = agreement_of(world.study)
        assert (found.disputed, found.adjudicated, found.consensus, found.waiting) == (3, 1, 1, 1)


class TestPage:
    def test_shows_the_papers_figures(self, paper: audited.Audited) -> None:
        page = open_page(logged_in(audited.auditor()), "audit", paper.study.pk).content.decode()
        assert "75 runs with a reference verdict" in page
        assert "21.3 %" in page
        assert "13.6–31.9" in page
        judge = audited.evaluator()
        for cell in ("tp", "fn", "tn", "fp"):
            assert reverse("judging:audit_cells", args=[paper.study.pk, judge.pk, cell]) in page

    def test_nothing_inline_that_the_policy_refuses(self, paper: audited.Audited) -> None:
        client = logged_in(audited.auditor())
        for name in ("audit", "audit_pictures", "audit_agreement"):
            page = open_page(client, name, paper.study.pk).content.decode()
            assert ("<svg" in page) == (name == "audit_pictures")
            assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", page)

    def test_names_from_outside_are_escaped_in_page_and_pictures(self) -> None:
        world = audited.study("<b>bold</b>")
        hostile = '<script>alert("1")</script>'
        audited.judged(world, audited.evaluator(hostile), ["tp", "fn"])
        client = logged_in(audited.auditor())
        for name, *more in (["audit"], ["audit_pictures"], ["audit_picture", "fnr"]):
            text = open_page(client, name, world.study.pk, *more).content.decode()
            assert "<script>alert" not in text
            assert "&lt;script&gt;" in text
            assert "<b>bold" not in text

    def test_every_mark_of_a_picture_leads_to_its_runs(self, paper: audited.Audited) -> None:
        client = logged_in(audited.auditor())
        page = open_page(client, "audit_pictures", paper.study.pk).content.decode()
        judge = audited.evaluator().pk
        for cell in ("fn", "fp"):
            address = reverse("judging:audit_cells", args=[paper.study.pk, judge, cell])
            assert f'<a href="{address}">' in page

    def test_parts_come_alone_to_htmx_and_on_a_page_without(self, paper: audited.Audited) -> None:
        client = logged_in(audited.auditor())
        for name in ("audit_pictures", "audit_agreement"):
            part = open_page(client, name, paper.study.pk, **{"HX-Request": "true"}).content
            assert part.strip().startswith(b"<section")
            page = open_page(client, name, paper.study.pk).content
            assert page.strip().startswith(b"<!doctype html>")

    @pytest.mark.parametrize("name", ["audit", "audit_pictures", "audit_agreement"])
    def test_queries_do_not_grow_with_the_runs(self, name: str) -> None:
        client = logged_in(audited.auditor())
        counted = []
        for number in (1, 12):
            world = audited.study(f"of {number}")
            people = [audited.person(f"{letter}{number}") for letter in "ab"]
            for _ in range(number):
                audited.judged(world, audited.evaluator("x"), ["tp", "fn", "tn", "fp", "?s", "-f"])
                world.add("success", [(user, "success") for user in people])
            with CaptureQueriesContext(connection) as queries:
                assert open_page(client, name, world.study.pk).status_code == 200
            counted.append(len(queries))
        assert counted[0] == counted[1] < 16

    def test_cell_queries_do_not_grow_with_the_runs(self, paper: audited.Audited) -> None:
        client = logged_in(audited.auditor())
        judge = audited.evaluator()
        counted = []
        for cell in ("tp", "fn"):
            with CaptureQueriesContext(connection) as queries:
                open_page(client, "audit_cells", paper.study.pk, judge.pk, cell)
            counted.append(len(queries))
        assert counted[0] == counted[1] < 15

    def test_empty_study_says_why(self) -> None:
        world = audited.study()
        page = open_page(logged_in(audited.auditor()), "audit", world.study.pk).content.decode()
        assert "No run has a reference verdict yet" in page
        world.add("success")
        page = open_page(logged_in(audited.auditor("b")), "audit", world.study.pk).content.decode()
        assert "No evaluator has judged these runs yet" in page

    def test_evaluator_without_any_verdict_is_a_line_not_a_matrix_of_zeros(self) -> None:
        world = audited.study()
        audited.judged(world, audited.evaluator("speaks"), ["tp", "fn"])
        audited.evaluation(
            world.items[0].run, audited.evaluator("mute"), "not_applicable", reason="no reward"
        )
        page = open_page(logged_in(audited.auditor()), "audit", world.study.pk).content.decode()
        assert page.count('class="matrix-panel"') == 1
        assert "mute 1 has no verdict on any run" in page
        assert "1 no reward" in page

    def test_home_lists_studies(self, paper: audited.Audited) -> None:
        page = open_page(logged_in(audited.auditor()), "audit_home").content.decode()
        assert reverse("judging:audit", args=[paper.study.pk]) in page
        assert "75" in page

    def test_picture_stands_alone(self, paper: audited.Audited) -> None:
        client = logged_in(audited.auditor())
        answer = open_page(client, "audit_picture", paper.study.pk, "fn_share")
        assert answer["Content-Type"] == "image/svg+xml"
        assert b"style=" not in answer.content
        assert open_page(client, "audit_picture", paper.study.pk, "no-such").status_code == 404


def addresses(world: audited.Audited) -> list[str]:
    judge = audited.evaluator("first").pk
    study = world.study.pk
    return [
        reverse("judging:audit", args=[study]),
        reverse("judging:audit_pictures", args=[study]),
        reverse("judging:audit_agreement", args=[study]),
        reverse("judging:audit_left_out", args=[study, "infeasible"]),
        reverse("judging:audit_table", args=[study, "figures", "csv"]),
        reverse("judging:audit_picture", args=[study, "fnr"]),
        reverse("judging:audit_cells", args=[study, judge, "fn"]),
        reverse("judging:audit_cells_file", args=[study, judge, "fn", "json"]),
    ]


class TestWhoMayRead:
    def test_anonymous_is_sent_to_log_in(self, mixed: audited.Audited) -> None:
        for address in [reverse("judging:audit_home"), *addresses(mixed)]:
            assert Client().get(address).status_code == 302

    def test_without_the_permission_it_is_forbidden(self, mixed: audited.Audited) -> None:
        client = logged_in(audited.person("stranger"))
        for address in [reverse("judging:audit_home"), *addresses(mixed)]:
            assert client.get(address).status_code == 403, address

    @pytest.mark.parametrize("part", StudyMember.Part.values)
    def test_whoever_is_blind_on_one_run_sees_no_figure(
        self, mixed: audited.Audited, part: str
    ) -> None:
        user = audited.auditor()
        audited.member(mixed.study, user, part)
        client = logged_in(user)
        for address in addresses(mixed):
            answer = client.get(address)
            assert answer.status_code == 403, address
            words = re.sub(r"<[^>]+>", " ", answer.content.decode())
            assert "closed to you for now" in words
            assert not re.search(r"\d|TP|FN", words.replace(mixed.study.name, ""))
        home = client.get(reverse("judging:audit_home")).content.decode()
        assert "15" not in re.sub(r"<[^>]+>", " ", home)

    def test_blind_through_another_study_counts_too(self, paper: audited.Audited) -> None:
        user = audited.auditor()
        other = audited.study("other")
        other.add(None, of=paper.items[0].run)
        audited.member(other.study, user)
        assert open_page(logged_in(user), "audit", paper.study.pk).status_code == 403

    def test_opens_once_everything_is_settled(self, paper: audited.Audited) -> None:
        user = audited.auditor()
        audited.member(paper.study, user)
        assert open_page(logged_in(user), "audit", paper.study.pk).status_code == 200

    def test_unknown_study_is_not_found(self) -> None:
        assert open_page(logged_in(audited.auditor()), "audit", 99).status_code == 404


def test_run_table_of_a_cell_sorts_by_what_is_shown(mixed: audited.Audited) -> None:
    client = logged_in(audited.auditor())
    judge = audited.evaluator("first")
    address = reverse("judging:audit_cells", args=[mixed.study.pk, judge.pk, "tp-fn"])
    page = client.get(f"{address}?sort=-position").content.decode()
    runs = re.findall(r'data-run="([^"]+)"', page)
    expected = items_in_cells(mixed.study, judge, [Shown.TP, Shown.FN]).reverse()
    assert runs == [str(item.run_id) for item in expected]
    assert Run.objects.filter(pk=runs[0]).exists()
