"""Hints and web knowledge of the demo, written from its runs by a stand-in for a language model.

Fixed rules read the logs as a model would be shown them, without knowing how a run ended, and
say of everything that no model wrote it.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal

from django.utils import timezone

import runs.knowledge.web.jobs  # noqa: F401 (declares what extraction and summaries are)
from judging.analysis.experiments.sources import Source
from judging.demo import DemoError, Entry
from judging.demo.stub_judge import OWN_WORDS
from runs.knowledge.hints.writing import HintParams
from runs.knowledge.learning import carry_out
from runs.models import LearningJob, Run, User
from webagent.knowledge.entries import Level
from webagent.llm.interface import FailureKind, ModelFailure, Reply, Request, TextPart

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
        runs=[run.pk for entry, run in runs if entry.teaches == "hints"],
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
