"""Where AgentLab's folders mislead: what they say late, by halves, twice or not at all."""

import gzip
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.webagent.trajectory.agentlab_folders import notes, repickle
from tests.webagent.trajectory.formats import blind_text, only, stored_text
from webagent.trajectory.axtree import flatten_axtree
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.formats.agentlab.steps import _role_and_name
from webagent.trajectory.intake import Bounds
from webagent.trajectory.reading import open_runs
from webagent.trajectory.records import Box, TextPart

pytestmark = pytest.mark.slow

Copy = Callable[..., Path]


def summary(folder: Path, **changes: Any) -> None:
    """Write the summary again with other values."""
    path = folder / "summary_info.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def settings(folder: Path, **changes: Any) -> None:
    """Other settings, as plain values."""
    fields = {"agent_args": {"agent_name": "a"}, "env_args": {"task_name": "t.1"}} | changes
    (folder / "exp_args.pkl").write_bytes(pickle.dumps(fields))


def observed(folder: Path, number: int, **changes: Any) -> None:
    """Another observation in a step file."""
    path = folder / f"step_{number}.pkl.gz"
    repickle(path, lambda step: step | {"obs": step["obs"] | changes})


class TestNames:
    def test_the_task_is_named_by_the_settings_not_by_the_folder(self, copy: Copy) -> None:
        folder = copy()
        viewport = {"width": 1280, "height": 720}
        settings(folder, env_args={"task_name": "webarena.a/b:c*d?", "viewport": viewport})
        bundle = only(folder)
        assert bundle.task.external_id == "webarena.a/b:c*d?"
        environment = bundle.run.environment
        assert environment is not None
        assert (environment.viewport_width, environment.viewport_height) == (1280, 720)

    def test_an_agent_without_a_name_has_the_run_s(self, copy: Copy) -> None:
        folder = copy()
        settings(folder, agent_args={"temperature": 0}, exp_name="Mine_on_webarena.3_7")
        (folder / "package_versions.txt").write_text("browsergym-t==1.2\nagentlab==0.4.2\n")
        bundle = only(folder)
        assert bundle.run.agent.name == "Mine"
        assert (bundle.task.task_set.name, bundle.task.task_set.version) == ("t", "1.2")

    def test_the_same_seed_twice_is_two_trials(self, copy: Copy) -> None:
        for number, name in enumerate(("2026-01-01_x_on_t.1_3", "2026-01-01_x_on_t.1_3_1")):
            env = {"task_name": "t.1", "task_seed": 3}
            dated = f"2026-01-0{number + 1}T00:00:00"
            settings(copy(name=name), env_args=env, exp_id=str(number), exp_date=dated)
        with open_runs(copy(name="other").parent) as source:
            runs = [b.run for b in source if isinstance(b, RunBundle) and b.run.seed == 3]
        assert [(run.trial, run.attempt) for run in runs] == [(1, 1), (2, 1)]
        assert len({run.id for run in runs}) == 2

    def test_tables_of_a_study_are_no_runs(self, copy: Copy) -> None:
        study = copy().parent
        for number in (1, 2):
            table = study / f"result_df_trial_{number}_of_2.csv"
            table.write_text("env.task_name,cum_reward\nminiwob.login-user,1.0\n")
        (study / "study.pkl.gz").write_bytes(gzip.compress(pickle.dumps({"exp_args_list": []})))
        with open_runs(study) as source:
            assert (source.total, len(source.unread)) == (1, 3)
            assert len(list(source)) == 1


class TestEndings:
    def test_giving_up_does_not_truncate_the_step_before(self, copy: Copy) -> None:
        bundle = only(copy("none_on"))
        assert bundle.run.end_reason == "agent_gave_up"
        assert [step.truncated for step in bundle.steps] == [False]
        assert only(copy("bad_bid")).steps[-1].truncated is True

    @pytest.mark.parametrize(
        ("word", "reason"), [("none_on", "agent_gave_up"), ("bad_bid", "max_steps")]
    )
    def test_without_a_summary_the_last_step_tells(
        self, copy: Copy, word: str, reason: str
    ) -> None:
        folder = copy(word)
        (folder / "summary_info.json").unlink()
        run = only(folder).run
        assert (run.outcome, run.end_reason) == ("incomplete", reason)

    def test_a_log_without_steps_is_a_run_that_was_killed(self, copy: Copy) -> None:
        folder = copy()
        for path in folder.iterdir():
            if path.name not in ("exp_args.pkl", "experiment.log"):
                path.unlink()
        (folder / "experiment.log").write_text("2026-11-21 03:48:11,000 - 7 - loop - INFO - Go\n")
        assert only(folder).run.end_reason == "killed"

    def test_of_several_exceptions_in_a_log_the_last_ended_the_run(self, copy: Copy) -> None:
        folder = copy()
        (folder / "summary_info.json").unlink()
        head = "2026-11-21 03:48:11,000 - 7 - agentlab.experiments.loop - WARNING - Exception"
        lines = [
            f"{head} uncaught by agent or environment in task t.1.\n{kind}:\nno {number}\n"
            f"Traceback (most recent call last):\n    action = step_info.from_action({kind})\n"
            for number, kind in enumerate(("KeyError", "TypeError"))
        ]
        (folder / "experiment.log").write_text("".join(lines))
        run = only(folder).run
        assert run.end_reason == "exception"
        assert run.error is not None
        assert run.error.message.endswith("TypeError:\nno 1")
        assert run.error.origin == "agent"

    @pytest.mark.parametrize(
        ("reward", "outcome"), [(0.5, "failure"), (0.51, "success"), (0.01, "failure")]
    )
    def test_more_than_half_of_the_reward_is_a_success(
        self, copy: Copy, reward: float, outcome: str
    ) -> None:
        folder = copy()
        summary(folder, cum_reward=reward, cum_raw_reward=0)
        bundle = only(folder)
        assert (bundle.run.outcome, bundle.run.reward) == (outcome, reward)

    def test_a_summary_that_tells_no_end_is_incomplete_whatever_the_reward(
        self, copy: Copy
    ) -> None:
        folder = copy()
        summary(folder, terminated=None, truncated=False, err_msg=None)
        bundle = only(folder)
        assert (bundle.run.outcome, bundle.run.end_reason) == ("incomplete", "unknown")
        assert [each.verdict for each in bundle.evaluations] == ["error"]

    def test_steps_that_the_summary_counts_and_nobody_has_are_told(self, copy: Copy) -> None:
        folder = copy()
        summary(folder, n_steps=9)
        told = "the summary counts 9, the last file is step 3"
        assert notes(only(folder)) == [("summary_info.json", told)]


class TestObservations:
    def test_what_a_task_says_of_itself_stays_with_its_action_and_from_the_blind(
        self, copy: Copy
    ) -> None:
        folder = copy()
        answer = {"REWARD_GLOBAL": 0, "expected": "MEANT-ANSWER"}
        repickle(folder / "step_1.pkl.gz", lambda step: step | {"task_info": answer})
        bundle = only(folder)
        assert bundle.steps[0].extra is not None
        assert bundle.steps[0].extra["task_info"] == answer
        assert "MEANT-ANSWER" in stored_text(bundle)
        assert "MEANT-ANSWER" not in blind_text(bundle)

    def test_pictures_of_the_user_are_not_repeated_in_the_chat(self, copy: Copy) -> None:
        folder = copy()
        said = (
            {"role": "assistant", "timestamp": 1.0, "message": "Hi! I am your UI assistant"},
            {"role": "user_image", "timestamp": 2.0, "message": "data:image/png;base64,AAAA"},
            {"role": "infeasible", "timestamp": 3.0, "message": "There is none."},
        )
        observed(folder, 3, chat_messages=said)
        bundle = only(folder)
        after = bundle.steps[-1].after
        assert after is not None
        assert [message.text for message in after.chat][1] == "[picture]"
        assert (bundle.run.final_answer, bundle.run.infeasible_claim) == (None, "There is none.")

    def test_the_warning_after_a_goal_with_pictures_is_no_goal(self, copy: Copy) -> None:
        folder = copy()
        (folder / "goal_object.pkl.gz").unlink()
        warning = "\nWARNING: This goal cannot be converted to a text-only goal format. Use"
        observed(folder, 0, goal="Find this." + warning, goal_object=None)
        (part,) = only(folder).run.goal
        assert isinstance(part, TextPart)
        assert part.text == "Find this."

    def test_tabs_have_no_titles_in_older_files(self, copy: Copy) -> None:
        folder = copy()
        urls = ("http://a/", "http://b/")
        observed(folder, 0, open_pages_urls=urls, open_pages_titles=None, active_page_index=[1])
        observed(folder, 1, open_pages_urls=urls, open_pages_titles=("A",), active_page_index=[1])
        first, second, _ = only(folder).steps
        assert first.before is not None
        assert second.before is not None
        assert [(t.title, t.active) for t in first.before.tabs] == [(None, False), (None, True)]
        assert [tab.title for tab in second.before.tabs] == ["A", None]

    def test_lines_that_a_newer_browser_adds_to_trees_are_passed_over(self, copy: Copy) -> None:
        nodes = [
            {"nodeId": "1", "role": {"value": "StaticText"}, "name": {"value": "Hello"},
             "childIds": ["2"]},
            {"nodeId": "2", "role": {"value": "InlineTextBox"}, "name": {"value": "Hello"}},
        ]  # fmt: skip
        assert flatten_axtree({"nodes": nodes}) == "StaticText 'Hello'"
        # A text that the tool wrote is kept as it is, and an element keeps its name.
        folder = copy()
        tree = "[16] textbox 'User'\n\tStaticText 'User'\n\t\tInlineTextBox 'User'"
        observed(folder, 0, axtree_txt=tree)
        bundle = only(folder)
        before, (action,) = bundle.steps[0].before, bundle.steps[0].actions
        assert before is not None
        assert before.a11y_tree is not None
        assert bundle.read_blob(before.a11y_tree.sha256).decode() == tree
        assert action.target is not None
        assert (action.target.role, action.target.text) == ("textbox", "User")

    def test_an_element_without_a_box_has_no_point(self, copy: Copy) -> None:
        folder = copy()
        observed(folder, 0, extra_element_properties={"16": {"bbox": None, "clickable": True}})
        (action,) = only(folder).steps[0].actions
        assert action.target is not None
        assert (action.target.bid, action.target.box, action.point) == ("16", None, None)


class TestAgents:
    def test_pages_that_an_agent_wrote_stay_text_and_hidden_from_the_blind(
        self, copy: Copy
    ) -> None:
        folder = copy()
        info = {"think": "x", "html_page": "<script>alert(1)</script>", "markdown_page": "# M"}
        repickle(folder / "step_0.pkl.gz", lambda step: step | {"agent_info": info})
        bundle = only(folder)
        extra = bundle.steps[0].extra
        assert extra is not None
        assert extra["agent_info"] == {key: info[key] for key in ("markdown_page", "html_page")}
        assert "alert(1)" not in blind_text(bundle)

    @pytest.mark.parametrize("said", [None, [], ()])
    def test_an_agent_may_have_said_nothing_to_its_model(self, copy: Copy, said: Any) -> None:
        folder = copy()
        info = {"think": "x", "chat_messages": said}
        repickle(folder / "step_0.pkl.gz", lambda step: step | {"agent_info": info})
        bundle = only(folder)
        assert (bundle.steps[0].messages, bundle.steps[0].thought) == ((), "x")

    def test_messages_of_other_providers_are_kept_as_their_fields(self, copy: Copy) -> None:
        folder = copy()
        info = {
            "think": "x",
            "chat_messages": [{"role": "user"}, Turn(7)],
            # Stands in the run's configuration, once.
            "extra_info": {"chat_model_args": {"model_name": "m"}},
        }
        repickle(folder / "step_0.pkl.gz", lambda step: step | {"agent_info": info})
        bundle = only(folder)
        (messages,) = bundle.steps[0].messages
        first, second = json.loads(bundle.read_blob(messages.sha256))
        assert first == {"role": "user"}
        assert (second["$class"].endswith("Turn"), second["call_id"]) == (True, 7)
        assert "chat_model_args" not in str(bundle.steps[0].extra)

    def test_an_action_that_is_no_text_is_kept_as_text(self, copy: Copy) -> None:
        folder = copy()
        repickle(folder / "step_0.pkl.gz", lambda step: step | {"action": {"tool": "click"}})
        (action,) = only(folder).steps[0].actions
        assert (action.raw, action.name) == ("{'tool': 'click'}", None)


class Turn:
    """As of a provider's own library."""

    def __init__(self, call_id: int) -> None:
        self.call_id = call_id


def test_times_are_told_by_the_loop_s_own_clock(copy: Copy) -> None:
    folder = copy()
    clock = {"agent_start": 100.0, "env_stop": 90.0, "get_observation_stop": 95.0}
    later = {"action_exec_start": 103.0, "action_exec_stop": 104.0, "env_stop": 110.0}
    repickle(folder / "step_0.pkl.gz", lambda step: step | {"profiling": clock})
    repickle(folder / "step_1.pkl.gz", lambda step: step | {"profiling": later})
    bundle = only(folder)
    step = bundle.steps[0]
    (action,) = step.actions
    assert step.before is not None
    moments = (step.before.at, step.started_at, action.started_at, action.ended_at, step.ended_at)
    assert [moment and moment.timestamp() for moment in moments] == [95, 100, 103, 104, 110]
    assert step.seconds == 10
    assert bundle.run.started_at == step.started_at
    assert bundle.run.ended_at == bundle.steps[-1].ended_at is not None
    after = bundle.steps[-1].after
    assert after is not None
    assert bundle.run.final_url == after.url is not None


def test_files_of_some_settings_only_are_kept(copy: Copy) -> None:
    folder = copy()
    beside = ("steps_info.json", "tape.json", "assistantbench-prediction.json")
    for name in beside:
        (folder / name).write_text("{}")
    (folder / "task_video").mkdir()
    (folder / "task_video" / "a.webm").write_bytes(b"\x1aE\xdf\xa3")
    (folder / "other.pkl").write_bytes(pickle.dumps([]))
    run = only(folder).run
    kept = {blob.name for blob in run.artefacts}
    assert kept >= set(beside)
    # Pickles stay in the upload; what is kept of a run can be read by anybody.
    assert "other.pkl" not in kept
    assert [(blob.name, blob.media_type) for blob in run.videos] == [
        ("task_video/a.webm", "video/webm")
    ]


def test_trees_of_whole_pages_are_written_out_in_parts_only(copy: Copy) -> None:
    folder = copy()
    element = {"bbox": [10.0, 20.0, 30.0, 40.0], "visibility": 1.0, "clickable": True}
    heavy = {
        "dom_object": {"strings": ["x"] * 5_000},
        "axtree_object": {"nodes": [{"nodeId": str(n)} for n in range(5_000)]},
        "extra_element_properties": {str(n): element for n in range(5_000)},
    }
    observed(folder, 0, **heavy)
    bundle = only(folder, Bounds(pickle_nodes=3_000))
    assert notes(bundle) == []
    (action,) = bundle.steps[0].actions
    assert action.target is not None
    assert action.target.box == Box(x=10, y=20, width=30, height=40)


TREE = """\
RootWebArea 'Orders'
\tStaticText 'Press [7] button "Cancel"'
\t[5] link 'as in [6] button or [7] link'
\t\t[7] button "Pay 'now'", clickable
  [a12] textbox ''
\t[8] generic"""


@pytest.mark.parametrize(
    ("bid", "found"),
    [
        ("7", ("button", "Pay 'now'")),
        ("5", ("link", "as in [6] button or [7] link")),
        ("6", (None, None)),
        ("a12", ("textbox", None)),
        ("8", ("generic", None)),
        ("1", (None, None)),
        (".", (None, None)),
    ],
)
def test_role_and_name(bid: str, found: tuple[str | None, str | None]) -> None:
    assert _role_and_name(TREE, bid) == found
