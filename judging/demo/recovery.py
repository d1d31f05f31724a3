"""The demo's experiment: two stand-ins for models on six tasks, under a policy that recovers.

For recording alone, they answer the generic agent's prompts by fixed rules on goal, page and
history in them. One of them is careful and cannot reckon; the other one reckons and forgets what
it was about. Both say in every reply that no model wrote it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from judging.demo.stub_judge import OWN_WORDS
from runs.launching.experiments.plans import Plan, read_seeds
from runs.launching.experiments.selection import Selection, tasks_of
from runs.launching.policies.services import save_policy
from runs.models import RetryPolicy
from webagent.agents.generic.agent import NAME as GENERIC
from webagent.agents.generic.agent import GenericAgent
from webagent.agents.registry import AgentKind
from webagent.agents.settings import AgentSettings
from webagent.llm.interface import FailureKind, ModelFailure, Reply, Request, TextPart
from webagent.llm.registry import ModelEntry
from webagent.recovery.retry_policy import AgentChoice, Comparison, PolicyBody, RecoveryPolicy

CAREFUL = "stub-careful-1"
FORGETFUL = "stub-forgetful-1"
REMEMBERED = 2
"""So many characters of a password, or boxes to tick, the forgetful one keeps in mind."""

_GOAL = re.compile(r"# Goal\n(.*?)\n\n# ", re.DOTALL)
_PAGE = re.compile(r"^<<< page (\w+)\n(.*?)\n<<< end of page \1$", re.MULTILINE | re.DOTALL)
_ELEMENT = re.compile(r"^\t*\[(\w+)\] (\w+) '(.*?)'(.*)$", re.MULTILINE)
_ACTION = re.compile(r"^Step \d+, action(?: \(failed\))?: (.*)$", re.MULTILINE)
_SUM = re.compile(r"'(-?\d+) ([-+x]) (-?\d+) ='")


@dataclass(frozen=True, slots=True)
class _Element:
    bid: str
    role: str
    name: str
    state: str


@dataclass(frozen=True, slots=True)
class _Observation:
    """What a prompt shows: the goal, the page, and what was done so far."""

    goal: str
    page: str
    done: tuple[str, ...]

    def all(self, *roles: str) -> list[_Element]:
        found = (_Element(*match.groups()) for match in _ELEMENT.finditer(self.page))
        return [element for element in found if element.role in roles]

    def button(self, name: str) -> _Element:
        return next(each for each in self.all("button") if each.name.lower() == name.lower())


_Step = tuple[str, str]
"""A thought and an action."""
_Rule = Callable[[_Observation], _Step | None]


class StubActor:
    """Replies by rule to the generic agent. It costs nothing and has no tokens to count."""

    def complete(self, request: Request) -> Reply:
        """The reply of the model's rules for this page.

        Raises:
            ModelFailure: it has no rules of that name, or the prompt is none of the agent's.
        """
        rules = _RULES.get(request.model)
        text = "".join(
            part.text for part in request.messages[0].parts if isinstance(part, TextPart)
        )
        goal, page = _GOAL.search(text), _PAGE.search(text)
        if rules is None or goal is None or page is None:
            raise ModelFailure(FailureKind.REJECTED, f"{request.model} has no rule for this")
        seen = _Observation(goal[1], page[2], tuple(_ACTION.findall(text)))
        thought, action = next(filter(None, (rule(seen) for rule in rules)))
        reply = f"<thought>{OWN_WORDS} {thought}</thought>\n<action>{action}</action>"
        return Reply(text=reply, model=request.model, cost=Decimal(0))


def _click(element: _Element, why: str) -> _Step:
    return why, f"click({element.bid!r})"


def _fill(element: _Element, text: str, why: str) -> _Step:
    return why, f"fill({element.bid!r}, {text!r})"


def _press_what_is_named(seen: _Observation) -> _Step | None:
    if named := re.search(r'Click on the "(.+)" button', seen.goal):
        return _click(seen.button(named[1]), f"the goal names the button {named[1]}.")
    return None


def _log_in(seen: _Observation) -> _Step | None:
    if not (asked := _credentials(seen)):
        return None
    boxes = seen.all("textbox")
    for box, text, label in zip(boxes, asked, ("user name", "password"), strict=True):
        if not _was_filled(seen, box):
            return _fill(box, text, f"the {label} is not typed in yet.")
    return _click(seen.button("Login"), "both fields are filled in.")


def _lose_the_password(seen: _Observation) -> _Step | None:
    """A long password is forgotten on the way to its field: back to the first one, and again."""
    asked = _credentials(seen)
    if not asked or len(asked[1]) <= REMEMBERED:
        return None
    name, password = seen.all("textbox")
    if not _was_filled(seen, name):
        return _fill(name, asked[0], "the user name goes first.")
    if seen.done[-1].startswith(f"click({password.bid!r}"):
        return _click(name, "what was the password? It may be where the name is.")
    return _click(password, "next comes the password.")


def _tick(seen: _Observation) -> _Step | None:
    for box in _to_tick(seen):
        if "checked='false'" in box.state or "checked=" not in box.state:
            return _click(box, f"{box.name} is to be selected.")
    return _click(seen.button("Submit"), "all is selected.") if _to_tick(seen) else None


def _tick_and_untick(seen: _Observation) -> _Step | None:
    """More boxes than it keeps in mind: it takes the first one back whenever it looks again."""
    boxes = _to_tick(seen)
    if len(boxes) <= REMEMBERED:
        return None
    was = "ticked" if "checked='true'" in boxes[0].state else "not ticked"
    return _click(boxes[0], f"{boxes[0].name} is {was}; that cannot be right.")


def _say_that_it_is_done(seen: _Observation) -> _Step | None:
    """With one option to choose, it takes choosing for all that was asked."""
    options = [each for each in _to_tick(seen) if each.role == "radio"]
    if options and "checked='true'" in options[0].state:
        return "the option is chosen, so all is done.", "send_msg_to_user('It is done.')"
    return None


def _reckon(seen: _Observation) -> _Step | None:
    if not (sum_ := _SUM.search(seen.page)):
        return None
    left, right = int(sum_[1]), int(sum_[3])
    result = {"+": left + right, "-": left - right, "x": left * right}[sum_[2]]
    return _answer(seen, str(result), f"{sum_[0]} {result}.")


def _copy_the_sum(seen: _Observation) -> _Step | None:
    """It cannot reckon, and takes the first number for the answer."""
    sum_ = _SUM.search(seen.page)
    return _answer(seen, sum_[1], f"the page says {sum_[1]}.") if sum_ else None


def _answer(seen: _Observation, text: str, why: str) -> _Step:
    box = seen.all("textbox")[0]
    if not _was_filled(seen, box):
        return _fill(box, text, why)
    return _click(seen.button("Submit"), "the answer stands there.")


def _look_further_down(seen: _Observation) -> _Step:
    return "no rule fits this page; what is missing may be further down.", "scroll(0, 200)"


def _credentials(seen: _Observation) -> tuple[str, str] | None:
    found = re.search(r'username "(.+?)" and the password "(.+?)"', seen.goal)
    return (found[1], found[2]) if found else None


def _to_tick(seen: _Observation) -> list[_Element]:
    """The boxes and options that the goal lists."""
    listed = re.search(r"^Select (.+) and click Submit", seen.goal)
    names = listed[1].split(", ") if listed else []
    return [each for each in seen.all("checkbox", "radio") if each.name in names]


def _was_filled(seen: _Observation, box: _Element) -> bool:
    return any(action.startswith(f"fill({box.bid!r}") for action in seen.done)


_KNOWN: tuple[_Rule, ...] = (_press_what_is_named, _log_in, _tick)
_SLIPS: tuple[_Rule, ...] = (_lose_the_password, _tick_and_untick, _say_that_it_is_done)
_RULES: Mapping[str, tuple[_Rule, ...]] = {
    CAREFUL: (*_KNOWN, _copy_the_sum, _look_further_down),
    FORGETFUL: (*_SLIPS, *_KNOWN, _reckon, _look_further_down),
}


RECOVERY_FILE = Path(__file__).parent / "recovery.zip"

NAME = "Demo: stuck agents and a way out"
DESCRIPTION = (
    "Demo data. Two stubs of fixed rules stand in for language models, each behind the generic"
    " agent, in a real browser. The forgetful one gets stuck on some tasks; the policy then goes"
    " back and lets the careful one take over. Their figures say nothing of any model."
)
TASKS = (
    "miniwob.click-button",
    "miniwob.click-checkboxes",
    "miniwob.click-option",
    "miniwob.login-user",
    "miniwob.search-engine",
    "miniwob.simple-arithmetic",
)
SEEDS = "3-4"
TRIALS = 2
MAX_STEPS = 40
N_RUNS = 2 * len(TASKS) * TRIALS

POLICY = "Demo: leave loops early"
POLICY_DESCRIPTION = (
    "Demo data. Smaller numbers than the study's, so that a loop is short to read. The agent that"
    " takes over is a stub, which answers nobody but the recording of the demo."
)


def settings_of(model: str) -> dict[str, object]:
    """How both are set up, but for the model that answers."""
    return {"model": model, "benchmark": "miniwob", "actions": ["bid", "chat"], "examples": 0}


def policy_body() -> PolicyBody:
    """Loops of 6 to 10 steps, or 4 times "done": back by two steps, and 6 for the careful one."""
    other = AgentChoice.model_validate({"name": GENERIC, "config": settings_of(CAREFUL)})
    recovery = RecoveryPolicy(
        loop_shortest=6,
        loop_longest=10,
        false_completions=4,
        steps_before=2,
        other_steps=6,
        compare=Comparison.ACTIONS_AND_PAGE,
    )
    return PolicyBody(recovery=recovery, other_agent=other)


def demo_policy() -> RetryPolicy:
    """The policy's row; made if it is not here yet."""
    return save_policy(
        name=POLICY, body=policy_body(), description=POLICY_DESCRIPTION, is_new=False
    )


def plan_of(policy: RetryPolicy) -> Plan:
    """What is launched to record the runs."""
    make = stubbed_generic().make
    return Plan(
        name=NAME,
        tasks=tasks_of(Selection(task_set="miniwob", picked=TASKS), None),
        agents=tuple(make(**settings_of(model)).describe() for model in (FORGETFUL, CAREFUL)),
        trials=TRIALS,
        seeds=read_seeds(SEEDS, TRIALS),
        max_steps=MAX_STEPS,
        policy=policy,
    )


def stubbed_generic() -> AgentKind:
    """The generic agent, with the stubs for models."""
    return AgentKind(GENERIC, "Asks a stub of fixed rules for each action.", _stubbed, True)


def _stubbed(**config: object) -> GenericAgent:
    settings = AgentSettings.model_validate(config)
    entry = ModelEntry.model_validate(
        {"name": settings.model, "provider": "openai", "model": settings.model}
    )
    return GenericAgent(settings, StubActor(), entry)
