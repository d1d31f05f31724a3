"""Agents that get stuck and what becomes of them: from the form to the drawn timeline.

Two models are played over the protocols of both providers; browser, pages, queue and run page are
real. What a viewer is told is read from the page.
"""

import json
import re
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from playwright.sync_api import Page, expect

from runs.launching.policies.services import save_policy
from runs.launching.running import execute_next_run
from runs.models import Event, Run
from runs.queue.leases import LeaseRenewer
from tests.browser.conftest import OpenPage
from tests.runs.factories import make_user
from tests.webagent import changing_suite
from tests.webagent.agents.generic.made import act
from tests.webagent.llm.protocols import Asked
from tests.webagent.llm.stub import LLMStub
from webagent.agents import registry as generic_models
from webagent.environment.browser import OWNER_VARIABLE
from webagent.recovery.retry_policy import AgentChoice, PolicyBody, RecoveryPolicy

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MODELS = """
[models.model-a]
provider = "openai"
api = "chat"
model = "model-a"
base_url = "{openai}"
prices = {{input = 1.0, output = 2.0}}
[models.model-b]
provider = "anthropic"
model = "model-b"
base_url = "{anthropic}"
api_key_env = "STORY_KEY"
prices = {{input = 3.0, output = 9.0}}
"""
LOGIN = "miniwob.login-user"
SEED = 3  # of the log-in page: the name is kenda, the password Ttlh
SETTING_OUT = tuple(f"fill('16', '{'q' * n}')" for n in range(1, 7))
LOOP = ("click('14')", "click('17')", "click('15')")
BY_THE_OTHER = (
    *(f"fill('16', '{'kenda'[:n]}')" for n in range(1, 6)),
    *(f"fill('19', '{'Ttlh'[:n]}')" for n in range(1, 5)),
    "scroll(0, 100)",
)

Says = Callable[[Asked], str]


@pytest.fixture
def two_models(
    tmp_path: Path, llm_stub: LLMStub, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Says, Says], None]]:
    """Says what model A answers (over OpenAI's protocol) and what B does (over Anthropic's)."""
    file = tmp_path / "models.toml"
    file.write_text(MODELS.format(openai=llm_stub.openai_url, anthropic=llm_stub.anthropic_url))
    monkeypatch.setenv("STORY_KEY", "sk-story")
    monkeypatch.setenv(OWNER_VARIABLE, "")
    monkeypatch.setattr(settings.ENV, "MODELS_FILE", file)
    monkeypatch.setattr(LeaseRenewer, "_beat", lambda self: None)

    def say(a: Says, b: Says) -> None:
        llm_stub.reply = lambda asked: {"model-a": a, "model-b": b}[asked.model](asked)

    yield say
    generic_models._shared.client().close()


def past_actions(asked: Asked) -> list[str]:
    """What the model is told that was done so far."""
    return re.findall(r"^Step \d+, action: (.*)$", asked.messages[0][1], re.MULTILINE)


def policy(**numbers: object) -> str:
    """A policy under which model B takes over; its name."""
    other = AgentChoice(name="generic", config={"model": "model-b", "benchmark": "miniwob"})
    recovery = RecoveryPolicy.model_validate(numbers)
    body = PolicyBody(recovery=recovery, other_agent=other)
    return save_policy(name="Get out", body=body, is_new=True).name


def run_agent(task: str = LOGIN, **options: object) -> Run:
    """The run of model A that the command made; A may also send messages."""
    config = json.dumps({"model": "model-a", "actions": ["bid", "nav", "chat"]})
    words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    words += [f"--task={task}", "--agent=generic", f"--agent-config={config}", f"--seed={SEED}"]
    call_command("run_agent", *words, stdout=StringIO(), stderr=StringIO())
    return Run.objects.latest("created_at")


def shown(open_page: OpenPage, run: Run) -> Page:
    page = open_page(f"/runs/{run.pk}/", make_user("engineer"))
    expect(page.locator("[data-shot]")).to_be_visible()
    return page


def notes(page: Page) -> list[str]:
    """The lines between the steps, in order, each with its sign."""
    return [re.sub(r"\s+", " ", note.inner_text()) for note in page.locator(".step-note").all()]


def states(run: Run) -> str:
    ordered = run.steps.order_by("index").values_list("state", flat=True)
    return "".join(state[0].upper() for state in ordered)


def test_a_loop_is_left_by_going_back_and_letting_the_other_model_act(open_page, two_models):
    """With the numbers of the source, and as a person starts it: by a rerun under a policy."""

    def stuck(asked: Asked) -> str:
        done = past_actions(asked)
        if done[-1:] == [BY_THE_OTHER[-1]]:
            return act("click('20')", "All is filled in.")
        if len(done) == 2 and len(asked.messages) == 1:
            return "I had better click somewhere."
        if len(done) < len(SETTING_OUT):
            return act(SETTING_OUT[len(done)], "So far all goes well.")
        return act(LOOP[(len(done) - len(SETTING_OUT)) % 3], "This should bring me further.")

    def helps(asked: Asked) -> str:
        return act(BY_THE_OTHER[len(past_actions(asked)) - 1], "Letter by letter.")

    two_models(stuck, helps)
    first = run_agent(max_steps=1)
    page = open_page(f"/runs/{first.pk}/", make_user("engineer"))
    rerun_with(page, policy(), max_steps=60)
    execute_next_run()
    run = Run.objects.get(rerun_of=first)
    assert (run.outcome, run.end_reason, run.reward) == ("success", "task_ended", 1.0)
    # Six steps out and fifteen of the loop, one repeated, ten by B, and A presses the button.
    assert states(run) == "L" + "S" * 20 + "R" + "L" * 10 + "L"
    a, b = "model-a-as-served", "model-b-as-served"
    by = [step.record["llm_calls"][-1]["model"] for step in run.steps.filter(state="live")]
    assert by == [a] + [b] * 10 + [a]
    page = shown(open_page, run)
    assert notes(page)[0] == "⊘ abandoned: steps 1–20"
    assert notes(page)[1] == "⟲ loop of 3 steps repeated, steps 6–20"
    assert notes(page)[2].startswith(
        "↩ back to the start, 1 step replayed, continues before step 1 ($0.0"
    )
    assert notes(page)[3:] == [
        "↪ branch 1",
        "⇄ model-b took over, steps 22–31",
        "⇄ model-a continues",
        "✓ ended: task ended · recovered: success after 1 recovery",
    ]
    rows = page.locator(".step")
    expect(rows.nth(1).locator(".action")).to_have_css("text-decoration-line", "line-through")
    expect(rows.nth(1)).to_contain_text("abandoned")
    expect(rows.nth(21)).to_contain_text("repeats step 0")
    expect(rows.nth(22)).to_contain_text("other model")
    expect(rows.nth(6)).to_have_accessible_description(re.compile("loop of 3 steps repeated"))
    prompts_are_there(page)
    given_up_steps_can_be_hidden(page)


def rerun_with(page: Page, policy_name: str, max_steps: int) -> None:
    page.locator("#run-actions > summary").click()
    page.get_by_role("button", name="Rerun", exact=True).click()
    form = page.locator("#rerun-form")
    form.get_by_label("Retry policy").select_option(label=f"{policy_name} @1")
    form.get_by_label("Step limit").fill(str(max_steps))
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        form.get_by_role("button", name="Rerun").click()


def prompts_are_there(page: Page) -> None:
    """Of the step whose first reply had no action: both attempts, and why the first was no use."""
    row = page.locator(".step").nth(2)
    expect(row).to_contain_text("reply unusable")
    row.click()
    expect(page.locator('[data-text="problem"]')).to_contain_text("1 unusable reply")
    page.keyboard.press("p")
    prompts = page.locator("[data-prompts]")
    expect(prompts).to_contain_text("1 of 2 · model-a-as-served")
    expect(prompts).to_contain_text("I had better click somewhere.")
    expect(prompts).to_contain_text("Reply unusable:")
    assert prompts.locator(".reply").count() == 2
    page.locator("#prompts-search").fill("You operate a web browser")
    expect(prompts.locator("[data-search-hits]")).to_have_text("1 of 1")
    expect(prompts.locator("details.said").first).to_have_attribute("open", "")


def given_up_steps_can_be_hidden(page: Page) -> None:
    page.locator(".step").first.click()
    page.get_by_role("button", name="Hide 20 abandoned steps").click()
    expect(page.locator(".step").nth(1)).to_be_hidden()
    page.keyboard.press("j")
    expect(page.locator(".step[aria-selected=true] .n")).to_have_text("21")
    page.keyboard.press("k")
    expect(page.locator(".step[aria-selected=true] .n")).to_have_text("0")
    page.locator(".step-note.rollback").click()  # to a step that is hidden: they come back
    expect(page.locator(".step[aria-selected=true] .n")).to_have_text("1")
    expect(page.locator(".step").nth(1)).to_be_visible()


def test_one_who_says_it_is_done_too_early_is_helped(open_page, two_models):
    two_models(
        lambda asked: act("send_msg_to_user('It is done.')", "That was easy."),
        lambda asked: act(f"click('{re.findall(r'.([0-9]+). button', asked.text)[-1]}')"),
    )
    name = policy(false_completions=4)
    run = run_agent("miniwob.click-test", policy=name, max_steps=20)
    assert (run.outcome, states(run)) == ("success", "SSSS" + "L")
    page = shown(open_page, run)
    assert notes(page)[1] == "⚑ repeatedly declares completion or waits, steps 0–3"
    assert notes(page)[2].startswith("↩ back to the start, continues before step 0")
    assert notes(page)[3:] == [
        "↪ branch 1",
        "⇄ model-b took over, step 4",
        "✓ ended: task ended · recovered: success after 1 recovery",
    ]


def test_where_recovery_fails_twice_the_run_ends_with_its_reason(open_page, two_models):
    def scroll(asked: Asked) -> str:
        return act("scroll(0, 200)", "Further down.")

    two_models(scroll, scroll)
    name = policy(loop_shortest=4, loop_longest=6, steps_before=1, other_steps=2)
    run = run_agent("miniwob.click-test", policy=name, max_steps=40)
    assert (run.outcome, run.end_reason) == ("failure", "recovery_exhausted")
    assert run.events.filter(kind=Event.Kind.ROLLBACK).count() == 2
    page = shown(open_page, run)
    assert [note[0] for note in notes(page)].count("↩") == 2
    assert notes(page)[-1] == "✕ ended: stuck again after the last recovery · " + (
        "2 recoveries did not help"
    )
    assert any(note.endswith("and no recovery is left") for note in notes(page))
    turns = page.locator(".course li")
    assert [re.sub(r"[0-9]+|^\W+", "", turn.inner_text()).strip() for turn in turns.all()] == [
        "stuck at",
        "back to step",
        "model-b took over",
        "stuck at",
        "back to step",
        "model-b took over",
        "stuck at",
        "stuck again after the last recovery",
    ]
    turns.first.locator("a").click()
    expect(page.locator(".step[aria-selected=true] .n")).to_have_text(
        re.sub(r"\D", "", turns.first.inner_text())
    )


def test_a_replay_that_comes_to_another_page_is_reported(open_page, two_models, tmp_path):
    changing_suite.use(tmp_path)
    two_models(lambda asked: act("noop(1)"), lambda asked: act("noop(1)"))
    name = policy(loop_shortest=4, loop_longest=6, steps_before=1, settle_tries=1, settle_ms=50)
    run = run_agent(changing_suite.TASK, policy=name, max_steps=40)
    assert (run.outcome, run.end_reason) == ("failure", "replay_diverged")
    diverged = run.events.get(kind="replay_diverged").detail
    assert (diverged["why"], diverged["repeats"]) == ("page", 0)
    page = shown(open_page, run)
    assert re.fullmatch(r"↩ back to the start \(\$0\.\d+ wasted\)", notes(page)[2])
    assert "≠ the replay found another page than step 0 had seen, step 4" in notes(page)
    assert notes(page)[-1] == (
        "✕ ended: replay came to another page · the replay found another page than step 0 had seen"
    )
    page.keyboard.press("G")
    expect(page.locator('[data-text="end"]')).to_contain_text("another page than step 0")
    expect(page.locator('[data-text="course"]')).to_contain_text("repeats step 0")
