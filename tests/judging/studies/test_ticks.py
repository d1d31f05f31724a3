"""Ticking milestones while labelling: asked for, kept, changed, blind, and drawn."""

from typing import Any

import pytest

from judging.models import Assignment, Dispute, Label, LabelRevision, MilestoneTick, Study
from judging.studies.labels.forms import LabelForm
from judging.studies.labels.services import undo_label
from judging.studies.labels.ticks import Tick, field_name, read_ticks, ticked_finding, written_tick
from runs.catalogue.milestones.services import set_milestones
from runs.models import Milestone, Run, User
from tests.judging.factories import annotators_of, make_label, make_study, next_assignment
from tests.runs.factories import client_of, make_run, make_task, make_user
from webagent.milestones.findings import Definition

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    task = make_task()
    milestones = [Definition(name="zq-cart", weight=3), Definition(name="zq-paid", weight=1)]
    set_milestones(task=task, milestones=milestones)
    return make_study(runs=[make_run(task=task, steps=5, pictures=False)], asks_milestones=True)


def milestones_of(study: Study) -> list[Milestone]:
    return list(study.items.get().run.task.milestones.in_force())


def assigned(study: Study, user: User) -> Assignment:
    assignment = next_assignment(study=study, user=user)
    assert assignment is not None
    return assignment


def posted(study: Study, user: User, **fields: Any) -> dict[str, Any]:
    """The form as a browser sends it; `cart`, `paid_step` and the like stand for the milestones."""
    data: dict[str, Any] = {
        "assignment": assigned(study, user).pk,
        "key": "k",
        "success": "failure",
    }
    names = {one.name.removeprefix("zq-"): one.pk for one in milestones_of(study)}
    for name, value in fields.items():
        word, _, part = name.partition("_")
        data[field_name(names[word], part) if word in names else name] = value
    return data


def send(study: Study, user: User, **fields: Any) -> Any:
    data = posted(study, user, **fields)
    return client_of(user).post(f"/studies/{study.pk}/annotate/", data)


def test_ticks_are_stored_with_the_label(study: Study):
    user, _ = annotators_of(study)
    response = send(study, user, cart="yes", cart_step=1, cart_lost_step=3, paid="no")
    assert response.status_code == 302
    assert list(
        MilestoneTick.objects.values_list("milestone__name", "achieved", "step", "lost_step")
    ) == [("zq-cart", True, 1, 3), ("zq-paid", False, None, None)]


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"cart": "yes", "cart_step": 1}, {"paid"}),
        ({"cart": "yes", "paid": "no"}, {"cart_step"}),
        ({"cart": "yes", "cart_step": 9, "paid": "no"}, {"cart_step"}),
        ({"cart": "yes", "cart_step": 2, "cart_lost_step": 2, "paid": "no"}, {"cart_lost_step"}),
        ({"cart": "perhaps", "paid": "no"}, {"cart"}),
        ({"cart": "yes", "cart_step": "x", "paid": "no"}, {"cart_step"}),
    ],
)
@pytest.mark.slow
def test_errors_stand_at_their_milestone(study: Study, fields: dict[str, Any], wrong: set[str]):
    user, _ = annotators_of(study)
    response = send(study, user, **fields)
    assert response.status_code == 422
    names = {one.name.removeprefix("zq-"): one.pk for one in milestones_of(study)}
    expected = {field_name(names[w], p) for w, _, p in (one.partition("_") for one in wrong)}
    assert set(response.context["form"].errors) == expected
    assert not Label.objects.exists()


@pytest.mark.parametrize("success", ["unsure", "not_executable"])
def test_who_cannot_say_may_leave_them_open(study: Study, success: str):
    user, _ = annotators_of(study)
    send(study, user, success=success, rationale="the page never came", cart="no")
    assert MilestoneTick.objects.get().milestone.name == "zq-cart"


def test_a_study_that_does_not_ask_shows_no_milestone(study: Study):
    Study.objects.update(asks_milestones=False)
    user, _ = annotators_of(study)
    page = client_of(user).get(f"/studies/{study.pk}/annotate/").content.decode()
    assert "zq-cart" not in page
    send(study, user, cart="yes", cart_step=1, paid="no")
    assert Label.objects.exists()
    assert not MilestoneTick.objects.exists()


def test_annotators_are_asked_by_name_and_never_see_how_it_is_checked(study: Study):
    Milestone.objects.update(
        rule={"reached_when": {"kind": "text", "text": "zq-secret"}, "lost_when": None}
    )
    user, _ = annotators_of(study)
    page = client_of(user).get(f"/studies/{study.pk}/annotate/").content.decode()
    assert "zq-cart" in page
    assert "zq-secret" not in page


def test_what_is_ticked_is_kept_as_it_is_written(study: Study):
    user, _ = annotators_of(study)
    client = client_of(user)
    draft = posted(study, user, cart="yes", cart_step="2")
    client.post(f"/studies/{study.pk}/annotate/draft/", draft)
    form = client.get(f"/studies/{study.pk}/annotate/").context["form"]
    cart, paid = form.tick_rows()
    assert (cart.answer.value(), cart.step.value(), paid.answer.value()) == ("yes", "2", None)


def test_a_change_keeps_what_was_ticked_before(study: Study):
    user, _ = annotators_of(study)
    cart, paid = milestones_of(study)
    item = study.items.get()
    first = (Tick(cart.pk, achieved=True, step=1), Tick(paid.pk, achieved=False))
    make_label(item, user, ticks=first)
    again = (Tick(cart.pk, achieved=False), Tick(paid.pk, achieved=True, step=4))
    label = make_label(item, user, ticks=again, version=0)
    assert [tick.achieved for tick in label.ticks.all()] == [False, True]
    content = LabelRevision.objects.get().content
    assert (content[field_name(cart.pk)], content[field_name(cart.pk, "step")]) == ("yes", 1)
    assert content[field_name(paid.pk)] == "no"
    shown = LabelForm(for_=Assignment.objects.get())
    assert [row.answer.value() for row in shown.tick_rows()] == ["no", "yes"]


def test_undoing_gives_the_ticks_back_to_the_form(study: Study):
    user, _ = annotators_of(study)
    cart, paid = milestones_of(study)
    ticks = (Tick(cart.pk, achieved=True, step=1), Tick(paid.pk, achieved=False))
    label = make_label(study.items.get(), user, ticks=ticks)
    assignment = undo_label(label=label, user=user)
    assert assignment.draft[field_name(cart.pk, "step")] == 1
    assert not MilestoneTick.objects.exists()


class TestSpellings:
    def test_a_file_gives_back_what_was_ticked(self):
        read = read_ticks(
            ["a", {"name": "b", "achieved": False, "step": 3}, {"name": "c", "step": 2}]
        )
        assert {name: (one.achieved, one.step) for name, one in read.items()} == {
            "a": (True, None),
            "b": (False, None),
            "c": (True, 2),
        }
        tick = MilestoneTick(milestone=Milestone(name="c"), achieved=True, step=2, lost_step=4)
        assert read_ticks([written_tick(tick)])["c"].lost_step == 4

    @pytest.mark.parametrize("said", [None, "a", [{"name": 3}], [{"name": "a", "step": -1}], [[]]])
    def test_what_is_no_list_of_ticks_says_nothing(self, said: object):
        assert read_ticks(said) == {}

    @pytest.mark.parametrize(
        ("tick", "spans"),
        [
            ({"achieved": False}, ()),
            ({"achieved": True, "step": 1}, ((1, None),)),
            ({"achieved": True, "step": 1, "lost_step": 3}, ((1, 3),)),
            ({"achieved": True}, ((4, None),)),
            ({"achieved": True, "step": 9}, ((4, None),)),
            ({"achieved": True, "step": 1, "lost_step": 9}, ((1, None),)),
        ],
    )
    def test_findings(self, tick: dict[str, Any], spans: object):
        finding = ticked_finding(MilestoneTick(milestone=Milestone(name="a"), **tick), 5)
        assert finding.spans == spans


class TestBesideTheRun:
    """The curves above the scrubber: to whom which are shown."""

    def ticked(self, study: Study, user: User, lost: int | None = None) -> Run:
        cart, paid = milestones_of(study)
        ticks = (
            Tick(cart.pk, achieved=True, step=1, lost_step=lost),
            Tick(paid.pk, achieved=True, step=2),
        )
        make_label(study.items.get(), user, "failure", ticks=ticks)
        return study.items.get().run

    def curves(self, user: User, run: Run) -> list[Any]:
        return list(client_of(user).get(f"/runs/{run.pk}/judgements/").context["curves"])

    @pytest.mark.slow
    def test_own_ticks_are_ones_own_to_see(self, study: Study):
        first, second = annotators_of(study)
        run = self.ticked(study, first, lost=4)
        (curve,) = self.curves(first, run)
        reached = curve.progress
        assert (reached.by_step, reached.maximum, reached.final) == ((0, 75, 100, 100, 25), 100, 25)
        assigned(study, second)
        assert self.curves(second, run) == []

    def test_of_others_once_it_is_settled(self, study: Study):
        first, second = annotators_of(study)
        self.ticked(study, first)
        run = self.ticked(study, second)
        assert [curve.label for curve in self.curves(make_user("engineer"), run)] == [
            f"Ticks by {first}",
            f"Ticks by {second}",
        ]

    def test_ticks_of_former_milestones_are_not_drawn(self, study: Study):
        first, _second = annotators_of(study)
        run = self.ticked(study, first)
        set_milestones(task=run.task, milestones=[Definition(name="other")])
        assert self.curves(first, run) == []

    @pytest.mark.slow
    def test_a_dispute_shows_both_sides_ticks(self, study: Study):
        first, second = annotators_of(study)
        self.ticked(study, first, lost=4)
        cart, _paid = milestones_of(study)
        ticks = (Tick(cart.pk, achieved=False),)
        make_label(study.items.get(), second, "success", ticks=ticks)
        answer = client_of(first).get(f"/disputes/{Dispute.objects.get().pk}/")
        page = " ".join(answer.content.decode().split())
        assert "✓ zq-cart" in page
        assert "lost at 4" in page
        assert "✕ zq-cart" in page
