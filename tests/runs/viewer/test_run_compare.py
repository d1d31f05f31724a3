"""Two runs side by side: pairs of steps, facts, choices, and what is hidden from whom."""

from typing import Any
from unittest import mock
from uuid import UUID

import pytest
from django.urls import reverse
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from judging.extension import RerunFacts
from runs.models import Run, User
from runs.viewer import comparison
from runs.viewer.comparison import align, first_difference, what_was_done
from tests.judging.analysis import audited
from tests.judging.factories import make_study
from tests.runs.factories import client_of, make_agent, make_run, make_task, make_user
from tests.runs.viewer.test_run_page import SECRETS, data_of, telling_run
from webagent import measures
from webagent.measures import MOST_PAIRS

pytestmark = [pytest.mark.slow, pytest.mark.sqlite_only("tests what pages show")]

ADDRESS = reverse("runs:run_compare")


def compare(user: User, a: Run, b: Run, more: str = "") -> Any:
    return client_of(user).get(f"{ADDRESS}?a={a.pk}&b={b.pk}{more}")


def numbered(actions: str) -> list[tuple[int, tuple[str, str]]]:
    return [(number, (action, "")) for number, action in enumerate(actions)]


def drawn(a: str, b: str) -> list[str]:
    """Pairs as "0=0", "1≠1", "2-" and "-3"."""
    return [
        f"{pair['a'] if pair['a'] is not None else ''}"
        f"{'=' if pair['same'] else '≠' if None not in (pair['a'], pair['b']) else '-'}"
        f"{pair['b'] if pair['b'] is not None else ''}"
        for pair in align(numbered(a), numbered(b))
    ]


class TestAlignment:
    @pytest.mark.parametrize(
        ("a", "b", "pairs"),
        [
            ("", "", []),
            ("abc", "abc", ["0=0", "1=1", "2=2"]),
            ("abc", "axc", ["0=0", "1≠1", "2=2"]),
            ("abc", "ac", ["0=0", "1-", "2=1"]),
            ("ac", "abbc", ["0=0", "-1", "-2", "1=3"]),
            ("ab", "axyz", ["0=0", "1≠1", "-2", "-3"]),
            ("", "ab", ["-0", "-1"]),
        ],
    )
    def test_same_steps_stand_together_and_the_others_by_position(self, a, b, pairs):
        assert drawn(a, b) == pairs

    @given(st.text("abc", max_size=25), st.text("abc", max_size=25))
    def test_every_step_stands_in_one_pair_in_order(self, a, b):
        pairs = align(numbered(a), numbered(b))
        for side, steps in (("a", a), ("b", b)):
            found = [pair[side] for pair in pairs if pair[side] is not None]  # type: ignore[literal-required]  # the names of both sides
            assert found == list(range(len(steps)))
        for pair in pairs:
            both = pair["a"] is not None and pair["b"] is not None
            assert pair["same"] == (both and a[pair["a"] or 0] == b[pair["b"] or 0])

    def test_very_long_runs_stand_by_position(self):
        n = int(MOST_PAIRS**0.5) + 1
        pairs = align(numbered("ab" * n), numbered("b" * n))
        assert len(pairs) == 2 * n
        assert first_difference(pairs) == 0

    @pytest.mark.parametrize(
        ("one", "other", "is_same"),
        [
            (("click('1')", "http://x/a?sid=1"), ("click('1') ", "http://x/a?sid=2"), True),
            (("click('1')", "http://x/a"), ("click('2')", "http://x/a"), False),
            (("click('1')", "http://x/a"), ("click('1')", "http://x/b"), False),
            (("", "http://[broken"), ("", "http://[broken"), True),
        ],
    )
    def test_what_counts_as_the_same(self, one, other, is_same):
        assert (what_was_done(*one) == what_was_done(*other)) is is_same


def test_both_timelines_and_the_first_difference_are_there(engineer):
    task = make_task()
    a = make_run(task=task, steps=3)
    b = make_run(task=task, steps=[{}, {"action": "scroll(0, 5)"}], outcome="failure")
    page = compare(engineer, a, b).content.decode()
    data = data_of(page)
    assert [step["i"] for step in data["a"]["steps"]] == [0, 1, 2]
    assert data["b"]["steps"][1]["action"] == "scroll(0, 5)"
    assert data["parts_at"] == 1
    assert "The first step is the same; then they differ." in page
    assert page.count('class="differs"') == 3  # outcome, number of steps, time


def test_what_was_too_long_to_compare_is_said(engineer, monkeypatch):
    a, b = make_run(steps=3), make_run(steps=3)
    assert "Too long to compare" not in compare(engineer, a, b).content.decode()
    monkeypatch.setattr(measures, "MOST_PAIRS", 1)
    assert "Too long to compare in full" in compare(engineer, a, b).content.decode()


def test_steps_that_do_not_count_are_left_out_unless_wanted(engineer):
    steps: list[dict[str, Any]] = [
        {},
        {"state": "superseded"},
        {"state": "replayed", "branch": 1},
        {"branch": 1},
    ]
    run = make_run(steps=steps)
    pairs = data_of(compare(engineer, run, run).content.decode())["pairs"]
    assert [pair["a"] for pair in pairs] == [0, 3]
    page = compare(engineer, run, run, "&steps=all").content.decode()
    assert [pair["a"] for pair in data_of(page)["pairs"]] == [0, 1, 2, 3]
    assert "These are the same run." in page


def test_a_run_of_which_no_step_counts_is_shown_whole(engineer):
    run = make_run(steps=[{"state": "superseded"}] * 2)
    pairs = data_of(compare(engineer, run, make_run(steps=2)).content.decode())["pairs"]
    assert [pair["a"] for pair in pairs] == [0, 1]


@pytest.mark.parametrize("steps", [(0, 0), (0, 2)])
def test_runs_without_steps_have_a_page(engineer, steps):
    a, b = (make_run(steps=n) for n in steps)
    assert len(data_of(compare(engineer, a, b).content.decode())["pairs"]) == max(steps)


def test_what_speaks_against_a_comparison_is_said(engineer):
    task = make_task()
    run = make_run(task=task, seed=1)
    assert "seeds differ" in compare(engineer, run, make_run(task=task, seed=2)).content.decode()
    assert "different tasks" in compare(engineer, run, make_run()).content.decode()


@pytest.mark.parametrize(
    "query", ["", "?a=x&b=y", f"?a={UUID(int=1)}&b={UUID(int=2)}", "?a=\x00&b=\x00", "?a=1"]
)
def test_what_names_no_two_runs_is_not_found(engineer, query):
    assert client_of(engineer).get(f"{ADDRESS}{query}").status_code == 404


def test_hostile_texts_are_data_and_nothing_else(engineer):
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    run = make_run(
        steps=[{"action": evil, "thought": evil}], task=make_task(goal=evil), final_answer=evil
    )
    page = compare(engineer, run, run).content.decode()
    assert "<script>alert" not in page
    assert "<img src=x" not in page


def test_queries_do_not_grow_with_steps(engineer, django_assert_max_num_queries):
    def count(steps: int) -> int:
        a, b = make_run(steps=steps), make_run(steps=steps)
        client = client_of(engineer)
        with django_assert_max_num_queries(40) as counted:
            client.get(f"{ADDRESS}?a={a.pk}&b={b.pk}")
        return len(counted)

    assert count(1) == count(30)


def test_what_evaluators_said_and_what_came_of_a_rerun(engineer):
    a = make_run(outcome="unknown", pictures=False)
    b = make_run(
        task=a.task, rerun_of=a, ended_at=timezone.now(), outcome="unknown", pictures=False
    )
    strict = audited.evaluator("webarena-strict")
    audited.evaluation(a, strict, "failed")
    audited.evaluation(b, strict, "passed")
    for page in (compare(engineer, a, b), compare(engineer, b, a)):
        shown = page.content.decode()
        assert "webarena-strict" in shown
        assert shown.count('class="result better"') == 1
    for user in (audited.person("reader", "runs.view_run"), blinded_to(b)):
        shown = compare(user, a, b).content.decode()
        assert 'class="result' not in shown
        assert "verdict passed" not in shown


def test_evaluators_are_asked_once_for_a_rerun_and_its_original(engineer, monkeypatch):
    a = make_run(outcome="success", pictures=False)
    b = make_run(task=a.task, rerun_of=a, ended_at=timezone.now(), pictures=False)
    of = mock.Mock(side_effect=RerunFacts().of)
    monkeypatch.setattr(RerunFacts, "of", of)
    assert 'class="result' in compare(engineer, a, b).content.decode()
    of.assert_called_once()


def blinded_to(run: Run) -> User:
    user = make_user("engineer")
    make_study(runs=[run], annotators=[user, make_user("annotator")])
    return user


class TestChoices:
    def choices(self, user: User, run: Run) -> str:
        response = client_of(user).get(f"/runs/{run.pk}/compare/")
        assert response.status_code == 200
        return response.content.decode()

    def test_kin_come_first_then_others_of_the_task(self, engineer):
        run = make_run(steps=1)
        rerun = make_run(rerun_of=run, task=run.task, steps=1)
        same_task = make_run(task=run.task, steps=1)
        stranger = make_run(steps=1)
        page = self.choices(engineer, run)
        assert page.index(str(rerun.pk)) < page.index(str(same_task.pk))
        assert str(stranger.pk) not in page
        assert "rerun" in page
        assert "original" in self.choices(engineer, rerun)
        for both in (page, self.choices(engineer, rerun)):
            assert f"?a={run.pk}&amp;b={rerun.pk}" in both

    def test_many_newer_runs_hide_neither_the_original_nor_other_kin(self, engineer, monkeypatch):
        monkeypatch.setattr(comparison, "MAX_CHOICES", 3)
        run = make_run(steps=1)
        first, *_, last = [make_run(rerun_of=run, task=run.task, steps=1) for _ in range(4)]
        for _ in range(3):
            make_run(task=run.task, steps=1)
        seen = Run.objects.visible_to(engineer, [first.pk]).get()
        for choices in (comparison.choices_for, comparison.lineage_of):
            assert [each.run.pk for each in choices(seen, engineer)][:2] == [run.pk, last.pk]

    def test_attempts_are_told(self, engineer):
        run = make_run(outcome="error", superseded=True)
        make_run(retry_of=run, task=run.task, attempt=2)
        assert "another attempt" in self.choices(engineer, run)

    def test_none_is_said(self, engineer):
        assert "No other run" in self.choices(engineer, make_run(steps=1))


@pytest.mark.django_db
class TestWhoMayOpen:
    def test_stranger(self):
        run = make_run(steps=1)
        assert compare(make_user("annotator"), run, run).status_code == 404

    def test_one_of_the_two_is_not_enough(self):
        """An annotator may open the run that was handed out, and no other."""
        mine = make_run(steps=1)
        user = make_user("annotator")
        study = make_study(runs=[mine], annotators=[user, make_user("annotator")])
        client = client_of(user)
        client.get(f"/studies/{study.pk}/annotate/")
        assert client.get(f"/runs/{mine.pk}/").status_code == 200
        assert compare(user, mine, mine).status_code == 200
        assert compare(user, mine, make_run(steps=1)).status_code == 404


@pytest.mark.django_db
def test_who_judges_one_of_them_sees_none_of_its_secrets():
    run, judge = telling_run(), make_user("engineer")
    other = make_run(task=run.task, agent=make_agent("open-agent"), reward=0.875)
    make_study(runs=[run], annotators=[judge, make_user("annotator")])
    page = compare(judge, run, other).content.decode()
    for what, secret in SECRETS.items():
        assert secret not in page, what
    for word in ("step limit", "verdict failure", "max_steps"):
        assert word not in page
    assert "open-agent" in page
    assert "0.875" in page
    choices = client_of(judge).get(f"/runs/{other.pk}/compare/").content.decode()
    assert str(run.pk) in choices
    assert SECRETS["agent"] not in choices
    seen = compare(make_user("engineer"), run, other).content.decode()
    assert SECRETS["agent"] in seen
