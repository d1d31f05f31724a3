"""Tagging causes on pages: who may, with and without htmx, one run and many."""

from typing import Any

import pytest
from django.urls import reverse

from judging.analysis.audits.facts import AuditFacts
from judging.analysis.audits.reports import AUDIT
from judging.analysis.causes.pages import cause_panels
from judging.models import CauseTag, Evaluation, StudyMember
from runs.models import User
from tests.judging.analysis import audited
from tests.runs.factories import client_of

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("tests what pages show"),
    pytest.mark.slow,
]

SAID = {"causes": ["output_format", "several_answers"], "repair": "task_data", "note": "No format"}
HTMX = {"HX-Request": "true"}


@pytest.fixture
def world() -> audited.Audited:
    made = audited.study("Causes")
    audited.judged(made, audited.evaluator("strict"), ["fn", "tp", "fn", "fp", "fn"])
    return made


@pytest.fixture
def tagger() -> User:
    return audited.person("tagger", "judging.view_audit", "judging.add_causetag", "runs.view_run")


def address(world: audited.Audited, name: str, *more: Any) -> str:
    judge = audited.evaluator("strict").pk
    return reverse(f"judging:{name}", args=[world.study.pk, judge, *more])


def form_of(world: audited.Audited, place: int) -> str:
    return address(world, "cause_tag", world.items[place].run_id)


def current() -> list[tuple[int, list[str], str]]:
    """Places in the world's list, causes and repairs of the errors that are tagged."""
    tags = CauseTag.objects.filter(is_current=True).order_by("item__position")
    rows = tags.values_list("item__position", "causes", "repair")
    return [(number - 1, causes, repair) for number, causes, repair in rows]


class TestOneRun:
    def test_saving_with_htmx_brings_the_form_back(
        self, world: audited.Audited, tagger: User
    ) -> None:
        client = client_of(tagger)
        answer = client.post(form_of(world, 0), {**SAID, "action": "save"}, headers=HTMX)
        page = answer.content.decode()
        assert not page.lstrip().startswith("<!doctype")
        assert "tagger, " in page
        assert 'value="output_format" id="id_causes_0" checked' in page
        assert current() == [(0, ["output_format", "several_answers"], "task_data")]

    def test_without_htmx_it_is_a_page(self, world: audited.Audited, tagger: User) -> None:
        client = client_of(tagger)
        Evaluation.objects.filter(run=world.items[0].run_id).update(
            details={"checks": [{"name": "exact", "verdict": "failed", "expected": "1 May"}]}
        )
        page = client.get(form_of(world, 0)).content
        assert b"<!doctype html>" in page
        assert b"1 May" in page
        assert b"<dd>exact</dd>" in page
        answer = client.post(form_of(world, 0), {**SAID, "action": "save"})
        assert b"<!doctype html>" in answer.content
        assert len(current()) == 1

    def test_next_leads_to_the_next_untagged_error_and_round(
        self, world: audited.Audited, tagger: User
    ) -> None:
        client = client_of(tagger)
        judge = audited.evaluator("strict").pk
        walk = f"?study={world.study.pk}&audit={judge}&cell=fn"
        wanted = []
        for place in (2, 4, 0):
            answer = client.post(form_of(world, place) + walk, {**SAID, "action": "next"})
            assert answer.status_code == 302
            wanted.append(answer["Location"].partition("?")[0])
        causes = reverse("judging:audit_causes", args=[world.study.pk])
        assert wanted == [form_of(world, 4), form_of(world, 0), causes]

    def test_next_with_htmx_leads_to_the_runs_page(
        self, world: audited.Audited, tagger: User
    ) -> None:
        answer = client_of(tagger).post(form_of(world, 0), {**SAID, "action": "next"}, headers=HTMX)
        assert answer.status_code == 204
        assert answer["HX-Redirect"].startswith(f"/runs/{world.items[2].run_id}/?study=")

    def test_undo_and_clear(self, world: audited.Audited, tagger: User) -> None:
        client = client_of(tagger)
        client.post(form_of(world, 0), {**SAID, "action": "save"})
        client.post(form_of(world, 0), {**SAID, "repair": "neither", "action": "save"})
        client.post(form_of(world, 0), {"action": "undo"})
        assert current()[0][2] == "task_data"
        page = client.post(form_of(world, 0), {"action": "clear"}, headers=HTMX).content.decode()
        assert current() == [(0, [], "")]
        assert "Untagged" in page
        assert "History (4)" in page

    def test_undo_of_one_run_leaves_the_others_of_its_batch(
        self, world: audited.Audited, tagger: User
    ) -> None:
        client = client_of(tagger)
        items = [world.items[place].pk for place in (0, 2)]
        client.post(address(world, "cause_tag_selected", "fn"), {**SAID, "item": items})
        client.post(form_of(world, 0), {"action": "undo"})
        assert current() == [(0, [], ""), (2, SAID["causes"], "task_data")]

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"causes": []}, "Choose at least one."),
            ({"repair": ""}, "Choose where the repair belongs"),
            ({"causes": ["typo"]}, "typo is not one of the available choices"),
            ({"note": "x" * 5001}, "at most 5000 characters"),
        ],
    )
    def test_what_is_missing_is_told(
        self, world: audited.Audited, tagger: User, change: dict[str, Any], words: str
    ) -> None:
        answer = client_of(tagger).post(form_of(world, 0), {**SAID, **change}, headers=HTMX)
        assert answer.status_code == 422
        assert words in answer.content.decode()
        assert not CauseTag.objects.exists()

    def test_runs_that_are_no_errors_have_no_form(
        self, world: audited.Audited, tagger: User
    ) -> None:
        assert client_of(tagger).get(form_of(world, 1)).status_code == 404
        assert client_of(tagger).post(form_of(world, 1), SAID).status_code == 404

    def test_the_note_is_text(self, world: audited.Audited, tagger: User) -> None:
        client = client_of(tagger)
        said = {**SAID, "note": "<script>alert(1)</script>", "action": "save"}
        assert "<script>alert" not in client.post(form_of(world, 0), said).content.decode()


class TestPane:
    def pane(self, world: audited.Audited, user: User, place: int, cell: str = "fn") -> str:
        path = reverse("judging:run_judgements", args=[world.items[place].run_id])
        judge = audited.evaluator("strict").pk
        query: dict[str, str | int] = {"study": world.study.pk, "audit": judge, "cell": cell}
        return client_of(user).get(path, query, headers=HTMX).content.decode()

    def test_the_form_is_there_when_opened_from_a_cell(
        self, world: audited.Audited, tagger: User
    ) -> None:
        page = self.pane(world, tagger, 0)
        assert "data-causes" in page
        assert f'action="{form_of(world, 0)}?study={world.study.pk}&amp;audit=' in page

    def test_only_for_errors_and_only_for_those_who_may(
        self, world: audited.Audited, tagger: User
    ) -> None:
        assert "data-causes" not in self.pane(world, tagger, 1, "tp")
        assert "data-causes" not in self.pane(world, audited.auditor(), 0)

    def test_opened_from_the_triangle_there_is_a_pane_and_no_form(
        self, world: audited.Audited, tagger: User
    ) -> None:
        path = reverse("judging:run_judgements", args=[world.items[0].run_id])
        answer = client_of(tagger).get(path, {"study": str(world.study.pk), "triangle": ""})
        assert answer.status_code == 200
        assert "data-causes" not in answer.content.decode()


class TestManyRuns:
    def test_chosen_rows_are_tagged_together_and_undone_together(
        self, world: audited.Audited, tagger: User
    ) -> None:
        client = client_of(tagger)
        items = [item.pk for item in world.items]
        answer = client.post(
            address(world, "cause_tag_selected", "fn"), {**SAID, "item": items}, follow=True
        )
        page = answer.content.decode()
        assert "4 errors tagged." in page
        assert "1 selected run is no longer an error." in page
        assert "output format not stated, several correct answers → task data" in page
        batch = CauseTag.objects.values_list("batch", flat=True).distinct().get()
        assert f'name="batch" value="{batch}"' in page
        answer = client.post(address(world, "cause_undo", "fn"), {"batch": str(batch)}, follow=True)
        assert "4 tags undone." in answer.content.decode()
        assert all(repair == "" for _, _, repair in current())
        again = client.post(address(world, "cause_undo", "fn"), {"batch": str(batch)}, follow=True)
        assert "Nothing to restore." in again.content.decode()

    @pytest.mark.parametrize("item", [[], ["x"], ["9" * 30], ["-1"]])
    def test_nothing_chosen_is_told(
        self, world: audited.Audited, tagger: User, item: list[str]
    ) -> None:
        answer = client_of(tagger).post(
            address(world, "cause_tag_selected", "fn"), {**SAID, "item": item}, follow=True
        )
        assert "Select at least one run" in answer.content.decode()

    def test_rows_of_errors_alone_can_be_chosen(self, world: audited.Audited, tagger: User) -> None:
        client = client_of(tagger)
        mixed = client.get(address(world, "audit_cells", "tp-fn")).content.decode()
        assert mixed.count('name="item"') == 3
        assert 'name="item"' not in client.get(address(world, "audit_cells", "tp")).content.decode()
        reader = client_of(audited.auditor())
        assert 'name="item"' not in reader.get(address(world, "audit_cells", "fn")).content.decode()

    def test_the_cell_can_be_narrowed_by_tags(self, world: audited.Audited, tagger: User) -> None:
        client = client_of(tagger)
        client.post(form_of(world, 2), {**SAID, "action": "save"})
        for tag, runs in (("cause.output_format", 1), ("none", 2), ("repair.neither", 0), ("?", 3)):
            page = client.get(address(world, "audit_cells", "fn"), {"tag": tag}).content.decode()
            assert page.count('class="row-link"') == runs, tag


def test_what_decided_the_errors_leads_to_them(world: audited.Audited, tagger: User) -> None:
    details = {"checks": [{"name": "exact_match", "verdict": "failed"}]}
    Evaluation.objects.filter(verdict="failed").update(details=details)
    page = client_of(tagger).get(reverse("judging:audit_causes", args=[world.study.pk]))
    cells = address(world, "audit_cells", "fn")
    assert f'href="{cells}?rule=exact_match">3</a>' in page.content.decode()


def test_the_sums_link_to_their_runs(world: audited.Audited, tagger: User) -> None:
    client = client_of(tagger)
    client.post(form_of(world, 0), {**SAID, "action": "save"})
    page = client.get(reverse("judging:audit_causes", args=[world.study.pk])).content.decode()
    cells = address(world, "audit_cells", "fn")
    for tag, n in (("cause.output_format", 1), ("repair.task_data", 1), ("none", 2)):
        assert f'href="{cells}?tag={tag}">{n}</a>' in page
    assert "1 of 4 errors can be repaired: 1 by task data, 0 by evaluation logic" in page
    assert 'class="bar fn"' in page
    picture = client.get(address(world, "audit_causes_picture"))
    assert picture["Content-Type"] == "image/svg+xml"
    assert 'href="' + cells + "?tag=cause.output_format" in picture.content.decode()


def test_pictures_of_all_evaluators_share_one_scale(world: audited.Audited) -> None:
    few = audited.evaluator("few")
    audited.evaluation(world.items[0].run, few, "failed")
    longest = [max(bar.errors for bar in each.by_cause) for each in cause_panels(world.study)]
    assert len(set(longest)) > 1
    assert {each.most for each in cause_panels(world.study)} == {max(longest)}


def test_tables_to_take_away(world: audited.Audited, tagger: User) -> None:
    client_of(tagger).post(form_of(world, 0), {**SAID, "action": "save"})
    facts = AuditFacts(world.study)
    causes = [list(row[2:]) for row in AUDIT.make("causes", facts).values]
    assert ["cause", "several_answers", 1, 0] in causes
    assert ["repair", "task_data", 1, 0] in causes
    assert ["untagged", "", 2, 1] in causes
    rates = {row[2]: row[3:5] for row in AUDIT.make("success_rates", facts).values}
    assert rates["now"] == [2, 5]
    assert rates["fn_repaired"] == [3, 5]
    assert rates["reference"] == [4, 5]
    [tagged] = AUDIT.make("tagged_errors", facts).values
    assert list(tagged[5:]) == ["fn", "output_format, several_answers", "task_data", "No format"]


@pytest.mark.parametrize("name", ["cause_tag", "cause_tag_selected", "cause_undo"])
def test_who_may(world: audited.Audited, name: str) -> None:
    path = address(world, name, world.items[0].run_id if name == "cause_tag" else "fn")
    for person in (audited.person("stranger"), audited.auditor()):
        assert client_of(person).post(path).status_code == 403


def test_nobody_who_is_blind_on_a_run_of_the_study_may(
    world: audited.Audited, tagger: User
) -> None:
    world.add(None)
    audited.member(world.study, tagger, StudyMember.Part.ANNOTATOR)
    client = client_of(tagger)
    assert client.post(form_of(world, 0), SAID).status_code == 403
    assert client.get(reverse("judging:audit_causes", args=[world.study.pk])).status_code == 403
    assert not CauseTag.objects.exists()
