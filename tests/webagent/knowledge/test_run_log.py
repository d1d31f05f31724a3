"""The log of a run: what was done and what it led to, and nothing of how it was judged."""

from webagent.knowledge.entries import log_of
from webagent.trajectory.records import (
    ActionRecord,
    BlobRecord,
    Observation,
    StepRecord,
    StepState,
    Target,
)


def tree(name: str) -> BlobRecord:
    sha256 = (name * 64)[:64]
    return BlobRecord(sha256=sha256, media_type="text/plain", bytes=1, role="a11y_tree")


def acted(index: int, raw: str, name: str, *args: str, page: str = "a", **more: object):
    target = Target(bid=args[0], text="Search") if args else None
    action = ActionRecord(raw=raw, dialect="browsergym", name=name, args=args, target=target)
    return StepRecord(
        run_id="r",
        index=index,
        actions=(action,),
        before=Observation(url="http://s.test/", title="Shop", a11y_tree=tree(page)),
        **more,
    )


def test_a_log_says_what_each_action_led_to():
    log = log_of(
        "r",
        "t",
        "Find a kettle.",
        [
            acted(0, "fill('a1', 'kettle')", "fill", "a1", "kettle", thought="I search."),
            acted(1, "click('a2')", "click", "a2"),
            acted(2, "press('a1', 'Enter')", "press", "a1", "Enter", page="b"),
        ],
    )
    assert log.text.splitlines() == [
        "Task: Find a kettle.",
        "Step 0, on “Shop” http://s.test/",
        "  thought: I search.",
        "  action: fill('a1', 'kettle') (on “Search”)",
        "  the page looked the same afterwards",
        "Step 1, on “Shop” http://s.test/",
        "  action: click('a2') (on “Search”)",
        "  the page changed",
        "Step 2, on “Shop” http://s.test/",
        "  action: press('a1', 'Enter') (on “Search”)",
    ]
    assert [step.typed for step in log.steps] == [("kettle",), (), ()]
    assert [step.bids for step in log.steps] == [("a1",), ("a2",), ("a1",)]


def test_reward_and_end_are_no_part_of_it():
    plain = acted(0, "click('a1')", "click", "a1")
    judged = acted(
        0, "click('a1')", "click", "a1", reward=1.0, terminated=True, extra={"verdict": "passed"}
    )
    assert log_of("r", "t", "Go.", [plain]) == log_of("r", "t", "Go.", [judged])


def test_the_click_that_ended_the_run_is_never_said_to_have_changed_nothing():
    """MiniWoB++ freezes the page of a task that it rewards."""
    same, other = (
        Observation(url="http://s.test/", a11y_tree=tree(page), fingerprint=page * 32)
        for page in "ab"
    )
    frozen, moved = (
        log_of(
            "r",
            "t",
            "Go.",
            [
                acted(0, "click('a1')", "click", "a1"),
                acted(1, "click('a2')", "click", "a2").model_copy(
                    update={"before": same, "after": after, "reward": 1.0}
                ),
            ],
        )
        for after in (same, other)
    )
    assert frozen.steps[-1].changed is None
    assert frozen.text.count("the page looked the same afterwards") == 1  # of the first click
    assert moved.text.endswith("the page changed")


def test_steps_that_were_taken_back_are_left_out():
    gone = acted(0, "click('a1')", "click", "a1", state=StepState.SUPERSEDED)
    stays = acted(1, "click('a2')", "click", "a2")
    assert [step.index for step in log_of("r", "t", "Go.", [gone, stays]).steps] == [1]


def test_long_logs_lose_their_middle():
    steps = [acted(index, "click('a1')", "click", "a1", thought="x" * 400) for index in range(300)]
    text = log_of("r", "t", "Go.", steps).text
    assert len(text) < 61_000
    assert "characters left out" in text
    assert text.splitlines()[-1].startswith("  action")


def test_a_run_whose_steps_were_all_taken_back_has_a_log_without_steps():
    gone = acted(0, "click('a1')", "click", "a1", state=StepState.SUPERSEDED)
    assert log_of("r", "t", "Find a kettle.", [gone]).text == "Task: Find a kettle."
