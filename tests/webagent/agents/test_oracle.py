from dataclasses import replace

import pytest

from tests.webagent.pages import observation
from webagent.agents.plans import PLANS
from webagent.agents.scripted import Oracle
from webagent.environment.registry import task_names
from webagent.trajectory.live import Decision, Observation


def play(page: str, goal: str, *trees: str) -> list[str | None]:
    """The actions of an oracle that sees these trees one after the other."""
    oracle = Oracle()
    return [oracle.act(observation(tree, goal=goal, page=page)).action for tree in trees]


def test_a_plan_goes_from_step_to_step_and_ends():
    oracle = Oracle()
    decisions: list[Decision] = [oracle.act(observation()) for _ in range(4)]
    assert [decision.action for decision in decisions] == [
        "fill('16', 'ada')",
        "fill('19', 'x1')",
        "click('20')",
        None,
    ]
    assert all(decision.thought for decision in decisions)
    assert decisions[-1].finished


def test_an_action_that_failed_is_tried_again_but_not_for_ever():
    oracle, failed = Oracle(), replace(observation(), last_error="Timeout 500ms exceeded.")
    first = oracle.act(observation())
    assert [oracle.act(failed).action for _ in range(3)] == [
        first.action,
        first.action,
        "fill('19', 'x1')",
    ]
    oracle.resume_from([])
    assert oracle.act(failed).action == first.action  # another agent's failed


ALGEBRA = """\
RootWebArea 'x'
\tStaticText '{}'
\tStaticText 'x ='
\t[16] textbox ''
\t[17] button 'Submit'"""


@pytest.mark.parametrize(
    ("problem", "x"),
    [
        ("x + 3 = 10", "7"),
        ("x - 3 = 10", "13"),
        ("3 + x = 10", "7"),
        ("3 - x = 10", "-7"),
        ("x - -3 = 10", "7"),
    ],
)
def test_equations(problem, x):
    tree = ALGEBRA.format(problem)
    assert play("simple-algebra", "Solve for x.", tree) == [f"fill('16', '{x}')"]


@pytest.mark.parametrize(
    ("problem", "answer"), [("2 + -5 =", "-3"), ("2 - 5 =", "-3"), ("2 x 5 =", "10")]
)
def test_sums(problem, answer):
    tree = ALGEBRA.format(problem)
    assert play("simple-arithmetic", "Solve it.", tree) == [f"fill('16', '{answer}')"]


def test_a_link_is_found_behind_tabs():
    head = "RootWebArea 'x'\n\t[1] tab 'Tab #1'\n\t[2] tab 'Tab #2'"
    found = head + "\n\t[9] generic, clickable=True\n\t\tStaticText 'Proin.'"
    goal = 'Switch between the tabs to find and click on the link "Proin".'
    assert play("click-tab-2", goal, head, found, found) == ["click('1')", "click('9')", None]
    assert play("click-tab-2", goal, head, head, found) == [
        "click('1')",
        "click('2')",
        "click('9')",
    ]


def test_times_are_entered_in_24_hours():
    tree = "RootWebArea 'x'\n\t[14] InputTime ''\n\t[15] button 'Submit'"
    for said, typed in {"12:05 AM": "00:05", "12:05 PM": "12:05", "8:07 PM": "20:07"}.items():
        assert play("enter-time", f"Enter {said} as the time.", tree) == [f"fill('14', '{typed}')"]


@pytest.mark.parametrize(
    ("page", "goal", "tree"),
    [
        ("login-user", "Enter it.", "RootWebArea 'x'"),
        ("click-button", 'Click on the "no" button.', "RootWebArea 'x'\n\t[1] button 'yes'"),
        ("simple-algebra", "Solve it.", "RootWebArea 'x'"),
        ("read-table", "Enter the value of A into it.", "RootWebArea 'x'"),
        ("find-greatest", "Pick it.", "RootWebArea 'x'"),
        ("no-such-page", "Do it.", "RootWebArea 'x'"),
    ],
)
def test_where_the_page_is_not_as_expected_it_gives_up(page, goal, tree):
    seen: Observation = observation(tree, goal=goal, page=page)
    decision = Oracle().act(seen)
    assert decision.action is None
    assert decision.gave_up
    assert decision.thought


def test_every_plan_is_for_a_page_that_there_is():
    assert {f"miniwob.{page}" for page in PLANS} <= set(task_names("miniwob"))
