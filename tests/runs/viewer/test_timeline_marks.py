"""How recovery reads on a timeline: every way in which it can go, and what a blind viewer gets."""

from typing import Any

import pytest

from runs.models import Event, Run, User
from runs.viewer.timeline.timeline import timeline_context
from tests.judging.factories import make_study
from tests.runs.factories import make_run, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what pages show")]

LOOP = {"kind": "loop", "first_step": 1, "last_step": 3}
BACK: dict[str, Any] = {
    "kind": "rollback",
    "first_step": 4,
    "last_step": 4,
    "detail": {
        "trigger": "false_completion",
        "to_step": 1,
        "replayed": 1,
        "abandoned": {"steps": 3, "cost": "0.1234"},
    },
}
SWITCH = {
    "kind": "model_switch",
    "first_step": 5,
    "last_step": 6,
    "detail": {"from_model": "secret-a", "to_model": "secret-b", "to_agent": "generic"},
}
STEPS: list[dict[str, Any]] = [
    {},
    *[{"state": "superseded"}] * 3,
    {"state": "replayed", "branch": 1, "record": {"replays": 0}},
    *[{"branch": 1}] * 3,
]


def timeline(run: Run, user: User) -> dict[str, Any]:
    found: dict[str, Any] = timeline_context(run, user)["timeline"]
    return found


def labels(run: Run, user: User) -> list[str]:
    return [mark["label"] for mark in timeline(run, user)["data"]["events"]]


def ended(user: User, reason: str, events: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    fields = {"outcome": "failure", **fields}
    run = make_run(steps=2, pictures=False, end_reason=reason, events=events, **fields)
    final: dict[str, Any] = timeline(run, user)["data"]["final"]
    return final


def anomaly(**detail: Any) -> dict[str, Any]:
    return {**LOOP, "first_step": 0, "last_step": 1, "detail": detail}


def test_a_recovery_reads_from_beginning_to_end(engineer):
    run = make_run(steps=STEPS, events=[LOOP, BACK, SWITCH], pictures=False)
    shown = timeline(run, engineer)
    assert [mark["label"] for mark in shown["data"]["events"]] == [
        "abandoned: steps 1–3",
        "loop, steps 1–3",
        "back to the start, 1 step replayed, continues before step 1 ($0.1234 wasted)",
        "secret-b took over, steps 5–6",
        "secret-a continues",
    ]
    assert shown["data"]["events"][2]["to"] == 1
    assert [(turn.label, turn.step) for turn in shown["course"]] == [
        ("stuck at 3", 3),
        ("back to step 1", 1),
        ("secret-b took over", 5),
        ("recovered", 7),
    ]
    assert shown["n_given_up"] == 3


@pytest.mark.parametrize("cost", ["0", "a lot", "NaN", {"a": 1}, "1e99"])
def test_a_cost_that_is_nothing_or_no_amount_is_not_told(engineer, cost):
    back = {**BACK, "detail": {**BACK["detail"], "abandoned": {"cost": cost}}}
    run = make_run(steps=STEPS, events=[LOOP, back, SWITCH], pictures=False)
    assert labels(run, engineer)[2] == "back to the start, 1 step replayed, continues before step 1"


def test_a_blind_viewer_learns_no_name_no_cost_no_verdict_and_no_end(engineer):
    spent = {**LOOP, "first_step": 5, "last_step": 6, "detail": {"answer": "spent"}}
    diverged = {"kind": "replay_diverged", "first_step": 7, "last_step": 7}
    given_up = {"kind": "false_completion", "first_step": 5, "last_step": 6}
    run = make_run(
        steps=STEPS, events=[LOOP, BACK, SWITCH, spent, diverged, given_up], pictures=False
    )
    make_study(runs=[run], annotators=[engineer, make_user("annotator")])
    shown = timeline(run, engineer)
    words = str(shown["data"]) + str(shown["course"])
    for secret in ("secret", "0.1234", "recovered", "no recovery", "false_completion", "diverged'"):
        assert secret not in words
    assert "other model took over, steps 5–6" in labels(run, engineer)
    assert "the first model continues" in labels(run, engineer)
    assert shown["data"]["final"]["words"] == "ended"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("recovered", "loop, steps 0–1"),
        ("run_ended", "loop, steps 0–1"),
        ("spent", "loop, steps 0–1, and no recovery is left"),
        ("refused", "loop, steps 0–1, and going back is refused"),
        ("stopped", "loop, steps 0–1, and the policy ends the run here"),
    ],
)
def test_an_anomaly_says_what_followed(engineer, answer, words):
    run = make_run(steps=2, pictures=False, events=[anomaly(answer=answer)])
    assert labels(run, engineer) == [words]


class TestTheEnd:
    def test_no_recovery_helped(self, engineer):
        events = [{**BACK, "first_step": 0, "last_step": 0}, anomaly(answer="spent")]
        final = ended(engineer, "recovery_exhausted", events)
        assert final["words"] == (
            "ended: stuck again after the last recovery · 1 recovery did not help"
        )
        assert final["sign"] == "✕"

    def test_none_was_allowed(self, engineer):
        final = ended(engineer, "recovery_exhausted", [anomaly(answer="spent")])
        assert "the policy allows no recovery" in final["words"]

    def test_it_was_refused(self, engineer):
        events = [anomaly(answer="refused", writes=[0, 1])]
        final = ended(engineer, "recovery_refused", events)
        assert "these steps look like writes: 0, 1" in final["words"]

    def test_it_was_stopped_early(self, engineer):
        events = [anomaly(answer="stopped", steps_saved_at_most=40)]
        assert "at most 40 steps saved" in ended(engineer, "harness_loop_stop", events)["words"]

    @pytest.mark.parametrize(
        ("why", "words"),
        [
            ("goal", "the replay was given another task"),
            ("page", "the replay found another page than step 0 had seen"),
            ("target", "the replay found another element where step 0 had acted"),
            ("ended", "the task ended while step 0 was replayed"),
            ("?", "replay came to another page"),
        ],
    )
    def test_the_replay_went_astray(self, engineer, why, words):
        event = {"kind": Event.Kind.REPLAY_DIVERGED, "first_step": 1, "last_step": 1}
        events = [{**event, "detail": {"why": why, "repeats": 0}}]
        assert words in ended(engineer, "replay_diverged", events)["words"]

    def test_a_run_that_never_got_stuck_says_no_more_than_its_end(self, engineer):
        final = ended(engineer, "max_steps", [])
        assert (final["words"], final["sign"]) == ("ended: step limit", "")

    def test_an_error_on_the_way_back_says_nothing_of_the_recovery(self, engineer):
        """The site was gone when the run was to begin anew: no step followed."""
        back = {**BACK, "first_step": 3, "last_step": 3, "detail": {"to_step": 1, "replayed": 0}}
        steps: list[dict[str, Any]] = [{}, *[{"state": "superseded"}] * 3]
        run = make_run(
            steps=steps,
            events=[LOOP, back],
            pictures=False,
            outcome="error",
            end_reason="exception",
            error_message="no answer",
            fault="navigation_timeout",
        )
        shown = timeline(run, engineer)
        assert (shown["data"]["events"][2]["label"], shown["data"]["events"][2]["at_end"]) == (
            "back to the start",
            True,
        )
        final = shown["data"]["final"]
        assert (final["words"], final["sign"]) == (
            "ended: exception · page did not load in time, which does not count against the agent"
            " · no answer",
            "",
        )


def test_a_plain_run_has_no_course(engineer):
    assert timeline(make_run(steps=2, pictures=False), engineer)["course"] == []


def test_a_long_error_ends_with_an_ellipsis(engineer):
    for message, end in ((250 * "x" + " Install it.", "Install it."), (500 * "x", "x…")):
        run = make_run(pictures=False, outcome="error", error_message=message)
        assert timeline(run, engineer)["data"]["final"]["words"].endswith(end)
