"""The worked examples that come with the screenshot-only agent: complete, in shape, and true."""

from collections.abc import Iterator

import pytest
from browsergym.core.action.base import execute_python_code
from playwright.sync_api import BrowserContext, Page

from tests.benchmarks.screen_rules import SETTLE_MS, one_browser
from tests.webagent.agents.generic.made import Scripted, entry
from tests.webagent.agents.screen.made import LOGIN, looked, said, settings, showing
from tests.windowless import windowless
from webagent.agents.screen.agent import ScreenAgent
from webagent.agents.screen.reply import (
    Pointer,
    WorkedExample,
    browser_action,
    example_files,
    load_examples,
    task_of,
)
from webagent.agents.settings import VisionSettings
from webagent.environment.browsergym_session import action_set
from webagent.environment.miniwob import BASE_URL, entrypoint
from webagent.environment.miniwob_suite import GROUPS

WIDTH, HEIGHT = 498, 321
"""Of a screenshot of MiniWoB++, in pixels."""
FIRST_FREE_SEED = 1000

SEEDED = [each for each in load_examples("miniwob-2").examples if each.seed is not None]


def test_files_that_were_used_are_never_changed():
    """If this fails: copy the file to the next number, or give the next number this one as base."""
    shipped = {
        "miniwob-1": "7ff52f8c89f7952f84d371386f81145ff97d7bb9ae863160a2cd0454ead4404e",
        "miniwob-2": "2e1bc1a3eb09ade164aac19ec4c2a52c1adf174db515218c7484f78974d263eb",
    }
    assert {name: load_examples(name).sha256 for name in example_files()} == shipped


def test_every_task_of_the_suite_has_an_example():
    shown = {each.task for each in load_examples("miniwob-2").examples}
    assert set(GROUPS["all"]) <= shown
    assert len(GROUPS["all"]) == 74
    assert load_examples("miniwob-2").examples[:28] == load_examples("miniwob-1").examples


@pytest.mark.parametrize("example", SEEDED, ids=lambda each: each.task)
def test_examples_have_the_shape_of_what_agents_see_and_say(example):
    assert example.seed > FIRST_FREE_SEED, "no suite asks for it"
    for turn in example.turns:
        assert all((turn.thought, turn.plan, turn.self_critique, turn.commands))
        assert "{" not in turn.said
        for command in turn.commands:
            if isinstance(command, Pointer):
                assert 0 <= command.x < WIDTH
                assert 0 <= command.y < HEIGHT
        for line in turn.screen.strip().splitlines():
            assert line.endswith("]") or line == "(nothing)"


@pytest.mark.slow
def test_the_longest_example_fits_the_usual_budget():
    worked = load_examples("miniwob-2").examples
    for example in worked:
        model = Scripted(said())
        url = f"{BASE_URL}{example.task}.html"
        acting = ScreenAgent(settings(examples="miniwob-2"), model, entry(), showing(LOGIN))
        acting.act(looked(url=url))
        assert example.goal in model.asked[0].system, example.task


def test_the_seed_is_told_to_no_model_and_is_no_part_of_the_hash():
    example = SEEDED[0]
    without = example.model_copy(update={"seed": None})
    assert load_examples([example]).sha256 == load_examples([without]).sha256
    model = Scripted(said())
    ScreenAgent(settings(examples=[example]), model, entry(), showing(LOGIN)).act(
        looked(url=f"{BASE_URL}{example.task}.html")
    )
    assert example.goal in model.asked[0].system
    assert str(example.seed) not in model.asked[0].system


@pytest.fixture(scope="module")
def context() -> Iterator[BrowserContext]:
    with windowless(), one_browser() as browser:
        yield browser


def rewarded(page: Page, example: WorkedExample) -> bool:
    """Whether the task is over after all commands, and the page itself gives a reward above 0."""
    task = entrypoint(f"miniwob.{example.task}")(seed=example.seed, base_url=BASE_URL)
    goal, _info = task.setup(page)
    assert goal == example.goal
    assert task_of(page.url) == example.task
    _wait_for_still_page(page)
    actions = action_set()
    for turn in example.turns:
        for call in browser_action(turn.commands, VisionSettings().scroll_pixels).split("\n"):
            execute_python_code(actions.to_python_code(call), page, None, None)
        if not page.evaluate("() => WOB_DONE_GLOBAL"):
            _wait_for_still_page(page)
    return bool(page.evaluate("() => WOB_DONE_GLOBAL && WOB_RAW_REWARD_GLOBAL > 0"))


def _wait_for_still_page(page: Page) -> None:
    """Menus and sections open in motion; an agent looks and thinks much longer than that."""
    seen = [b""]
    while len(seen) < 30 and (len(seen) < 3 or len(set(seen[-2:])) > 1):
        page.wait_for_timeout(SETTLE_MS)
        seen.append(page.screenshot())


@pytest.mark.browser
@pytest.mark.slow
def test_the_commands_of_every_example_are_rewarded(context):
    """One page for all, one after the other; nothing but the commands that models are shown."""
    page = context.new_page()
    page.set_default_timeout(10_000)
    assert len(SEEDED) == 47
    assert [each.task for each in SEEDED if not rewarded(page, each)] == []


@pytest.mark.browser
def test_other_commands_are_not_rewarded(context):
    shape = next(each for each in SEEDED if each.task == "click-shape")
    page = context.new_page()
    assert rewarded(page, shape)
    (turn,) = shape.turns
    elsewhere = turn.model_copy(update={"commands": [Pointer(name="click", x=108, y=153)]})
    assert not rewarded(page, shape.model_copy(update={"turns": (elsewhere,)}))
