"""What the demo's runs teach, and an experiment of what that changes.

A stand-in for a language model writes hints and web knowledge: fixed rules read the logs as a model
would be shown them, without knowing how a run ended, and say of everything that no model wrote it.
In the experiment an agent believes what it is told, with hints and without. It reads its tips by
rule, so a hint that fits shows it the way, and one that does not leads it astray.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

from django.db import transaction
from django.utils import timezone

import runs.knowledge.web.jobs  # noqa: F401 (declares what extraction and summaries are)
from judging.analysis.experiments.population import Source
from judging.demo import DemoError, Entry
from judging.demo.stub_judge import OWN_WORDS
from judging.evaluating.evaluating import evaluate_runs, version_of
from judging.evaluators.registry import predefined_evaluators
from runs.knowledge.hints.writing import HintParams
from runs.knowledge.learning import carry_out
from runs.launching.experiments.hint_plans import HintPlan, HintPool, plan_hints, store_hint_set
from runs.launching.experiments.plans import Plan, read_seeds
from runs.models import Hint, LearningJob, Run, User
from runs.models.experiments import HINTS_KEY
from webagent.agents.errands.people import Visitor
from webagent.knowledge.entries import Level, Relatedness
from webagent.llm.interface import FailureKind, ModelFailure, Reply, Request, TextPart

HINTS_FILE = Path(__file__).parent / "hints.zip"

NAME = "Demo: what hints change"
DESCRIPTION = (
    "Demo data. A scripted visitor of shop, forum and map goes by the words of the goal, or by the"
    " hint that it is given, line by line: one from the same task, from a task of the same site, or"
    " from another site. No language model takes part; the figures say nothing of any."
)
TEACHING = "hints"
"""What the plan says of runs that hints are written from; their tasks are the experiment's."""
RELATEDNESSES = (
    Relatedness.SAME_TASK,
    Relatedness.SAME_SITE_HIGHEST,
    Relatedness.OTHER_SITE_LOWEST,
)
ARMS = 1 + len(Level) * len(RELATEDNESSES)
EVALUATOR = "webarena-strict"
"""Whose word is taken: on these tasks it is right, and needs no judge."""

MODEL = "stub-writer-1"
KNOWLEDGE = "Demo"
"""Name of the sets."""

_OWN = OWN_WORDS.replace(":", ".")
_GOAL = re.compile(r"^<<< task .*?^<<< end of task ", re.MULTILINE | re.DOTALL)
_STEP = re.compile(r"^Step (\d+), on .*\n((?:  .*\n?)+)", re.MULTILINE)
_ACTION = re.compile(r"  action: (\w+)\((.*)\) \(on “(.+)”\)")
_NOTE = re.compile(r"^Note (\d+)\nintent: (.*)$", re.MULTILINE)
_VERBS = {"click": "Click", "fill": "Type into", "select_option": "Select in"}
_LOOK, _SEND = "See what is further down", "Enter something in a form"
_LESSONS = {
    _LOOK: ("Use the links at the top.", "Scrolling where nothing is hidden changes nothing."),
    _SEND: ("Press the button under the form.", "What is typed and not sent is not kept."),
}
_INSIGHTS = (
    f"{OWN_WORDS} these are the same for every run.",
    "Look at the whole page before pressing anything.",
    "A control without effect is the wrong one; leave it alone.",
    "Read every notice that appears after an action.",
    "Beware of entries whose names resemble one another.",
    "Compare what was asked for with what the page says at the end.",
    "Waiting rarely helps where nothing loads.",
    "A form counts only once its button was pressed.",
)


class StubWriter:
    """Replies by rule to requests for hints and knowledge; it costs nothing."""

    def complete(self, request: Request) -> Reply:
        """The reply of the rule for this question.

        Raises:
            ModelFailure: there is no rule for it.
        """
        text = "".join(p.text for p in request.messages[0].parts if isinstance(p, TextPart))
        rule = _RULES.get(request.schema_name)
        if rule is None:
            raise ModelFailure(FailureKind.REJECTED, f"{MODEL} has no rule for this")
        return Reply(text=json.dumps(rule(text)), model=MODEL, cost=Decimal(0))


def write_lessons(runs: Sequence[tuple[Entry, Run]], user: User | None) -> None:
    """Hints of every level from runs that succeeded; knowledge and its summary from the others.

    Raises:
        DemoError: a run gave nothing.
    """
    source = Source(is_reference=True)
    hints = HintParams(
        runs=[run.pk for entry, run in runs if entry.teaches == TEACHING],
        levels=list(Level),
        verdict=source.key,
        verdict_name=source.name,
        verdict_rule=source.rule,
    )
    _learn(LearningJob.Kind.HINTS, hints.model_dump(mode="json", exclude_defaults=True), user)
    learnt_from = [str(run.pk) for entry, run in runs if entry.teaches == "knowledge"]
    extracted = {"name": KNOWLEDGE, "runs": learnt_from, "then_summarise": True}
    _learn(LearningJob.Kind.EXTRACT, extracted, user)
    for summary in LearningJob.objects.active().filter(model=MODEL):
        _carry_out(summary)


def _learn(kind: LearningJob.Kind, params: Mapping[str, object], user: User | None) -> None:
    now = timezone.now()
    _carry_out(
        LearningJob.objects.create(
            kind=kind, model=MODEL, params=params, created_by=user, dispatched_at=now
        )
    )


def _carry_out(job: LearningJob) -> None:
    carry_out(job.pk, language_model=StubWriter())
    job.refresh_from_db()
    if job.state != LearningJob.State.FINISHED or job.n_problems:
        raise DemoError(f"{job.get_kind_display()}: {job.problem or job.n_problems}")


def _deeds(log: str) -> Iterable[tuple[str, str, str]]:
    """Verb, arguments and label of each action on an element."""
    return _ACTION.findall(log)


def _exactly(log: str) -> dict[str, object]:
    steps = [
        {"action": f'{_VERBS.get(verb, "Use")} "{label}".', "details": [_OWN]}
        for verb, _arguments, label in _deeds(log)
    ]
    return {"steps": steps}


def _in_general(log: str) -> dict[str, object]:
    """The menu by its name, unless the goal names it; what comes after it belongs to the task."""
    (_verb, _arguments, menu), *others = _deeds(log)
    is_told = menu.casefold() in "".join(_GOAL.findall(log)).casefold()
    first = "the control that fits" if is_told else f'"{menu}"'
    steps = [{"action": f"Click {first}.", "details": [_OWN]}]
    for verb, _arguments, _label in others:
        what = "field" if verb == "fill" else "list" if verb == "select_option" else "control"
        steps.append({"action": f"{_VERBS.get(verb, 'Use')} the {what} that fits.", "details": []})
    return {"steps": steps}


def _advice(log: str) -> dict[str, object]:
    return {"insights": list(_INSIGHTS)}


def _knowledge(log: str) -> dict[str, object]:
    """Steps that changed nothing, and forms that were filled just before the run ended."""
    steps = [(int(number), lines) for number, lines in _STEP.findall(log)]
    idle = [number for number, lines in steps if "the page looked the same afterwards" in lines]
    entries = []
    if idle:
        entries.append(_entry(_LOOK, "The page looked the same afterwards.", idle))
    for (number, lines), (_next, after) in zip(steps, steps[1:], strict=False):
        if "action: fill(" in lines and "action: send_msg_to_user(" in after:
            entries.append(_entry(_SEND, "Nothing was pressed after the last field.", [number]))
    return {"entries": entries}


def _entry(intent: str, ng: str, steps: list[int]) -> dict[str, object]:
    return {"intent": intent, "ok": "", "ng": f"{ng} {_OWN}", "steps": steps}


def _summary(notes: str) -> dict[str, object]:
    sources: dict[str, list[int]] = {}
    for number, intent in _NOTE.findall(notes):
        sources.setdefault(intent, []).append(int(number))
    entries = [
        {"intent": intent, "ok": ok, "ng": f"{ng} {_OWN}", "sources": numbers}
        for intent, numbers in sources.items()
        for ok, ng in [_LESSONS[intent]]
    ]
    return {"entries": entries}


_RULES: Mapping[str, Callable[[str], dict[str, object]]] = {
    "hint_concrete": _exactly,
    "hint_abstract": _in_general,
    "hint_insights": _advice,
    "web_knowledge": _knowledge,
    "web_knowledge_summary": _summary,
}


def n_runs(entries: Iterable[Entry]) -> int:
    """One for each task with every hint, and one without."""
    return ARMS * sum(entry.teaches == TEACHING for entry in entries)


def plan_of(runs: Sequence[tuple[Entry, Run]]) -> HintPlan:
    """What is launched to record the runs, once hints have been written."""
    written = Hint.objects.filter(job__model=MODEL)
    hints = list(written.select_related("job", "source__task__task_set"))
    plan = Plan(
        name=NAME,
        tasks=tuple(run.task for entry, run in runs if entry.teaches == TEACHING),
        agents=(Visitor().describe(),),
        seeds=read_seeds("1", 1),
    )
    return plan_hints(plan, HintPool(hints[0].job, hints, list(Level)), RELATEDNESSES)


def complete(runs: Sequence[tuple[Entry, Run]]) -> None:
    """Store the sets of hints that the shipped runs were told, and evaluate these runs.

    Raises:
        DemoError: they were told others than those that are planned here.
    """
    shipped = Run.objects.filter(experiment__name=NAME).select_related("task", "agent")
    plan = plan_of(runs)
    told = {run.agent.config.get(HINTS_KEY) for run in shipped} - {None}
    if told != {picked.key for picked in plan.conditions}:
        raise DemoError("the shipped runs were told other hints: record them anew")
    with transaction.atomic():
        for picked in plan.conditions:
            store_hint_set(picked, plan.plan.tasks, plan.job)
    evaluator = next(each for each in predefined_evaluators() if each.identity.name == EVALUATOR)
    evaluate_runs(shipped, evaluator, version_of(evaluator))
