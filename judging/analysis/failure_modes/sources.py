"""Failure modes by source: in words, and of runs in the database, for shares and lists."""

from collections.abc import Mapping
from typing import Any

from django.db import models
from django.db.models import (
    BooleanField,
    Case,
    CharField,
    Exists,
    JSONField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.fields.json import KeyTextTransform
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.evaluators.failure_detection import Rule
from judging.evaluators.failure_modes import (
    FOUND,
    SIDE,
    FailureJudgeEvaluator,
    MechanicalFailureModes,
)
from judging.models import Evaluation, FailureReview
from webagent.trajectory.verdict_records import Mode, Side


class ModeSource(models.TextChoices):
    """Whose word counts. Sources are kept apart but for `KNOWN`."""

    KNOWN = "known", _("people, else proposals")
    MECHANICAL = "mechanical", _("fixed rules")
    JUDGE = "judge", _("failure judge")
    PEOPLE = "people", _("people")


NONE, UNKNOWN = "none", "unknown"
"""Beside modes: nothing found by who looked, and not looked at."""
_SIDE = "side_"
_WORDS = {
    ModeSource.MECHANICAL: "rules_word",
    ModeSource.JUDGE: "judge_word",
    ModeSource.PEOPLE: "people_word",
}


def with_modes(runs: QuerySet[Any]) -> QuerySet[Any]:
    """The runs with `by_rules`, `by_judge` and `by_people`, objects whose keys are modes, or None.

    The sides are `judge_side` and `people_side`.
    """
    judged = _evaluated_by(FailureJudgeEvaluator.name)
    side = judged.annotate(side_told=KeyTextTransform(SIDE, "details")).values("side_told")
    annotated: QuerySet[Any] = runs.annotate(
        by_rules=_modes(_evaluated_by(MechanicalFailureModes.name).values(f"details__{FOUND}")),
        by_judge=_modes(judged.values(f"details__{FOUND}")),
        by_people=_modes(_said().values("modes")),
        judge_side=Subquery(side[:1], output_field=CharField()),
        people_side=Subquery(_said().values("side")[:1], output_field=CharField()),
    )
    return annotated


def showing(runs: QuerySet[Any], word: str, by: ModeSource) -> QuerySet[Any]:
    """Those of the runs that show a mode, or went wrong on a side; or NONE, or UNKNOWN.

    Blindness is the caller's. Raises ValueError where it is no such word.
    """
    # Ids of what is said; None where nobody of that kind has spoken. A judge's error is no word.
    shown: QuerySet[Any] = runs.annotate(
        rules_word=Subquery(_evaluated_by(MechanicalFailureModes.name).values("pk")[:1]),
        judge_word=Subquery(_evaluated_by(FailureJudgeEvaluator.name).values("pk")[:1]),
        people_word=Subquery(_said().values("pk")[:1]),
    )
    # A case, not a condition: else PostgreSQL may join all that evaluators ever said.
    shows = Case(When(_shows(word, by), then=True), default=False, output_field=BooleanField())
    shown = shown.annotate(shows_it=shows)
    return shown.filter(shows_it=True)


def side_key(side: Side) -> str:
    """The word by which the runs of a side are chosen."""
    return f"{_SIDE}{side.value}"


def side_named(word: str) -> Side | None:
    """The side that the word names; None where it names none.

    Raises ValueError where there is no such side.
    """
    return Side(word.removeprefix(_SIDE)) if word.startswith(_SIDE) else None


def unexamined(runs: QuerySet[Any]) -> QuerySet[Any]:
    """Those that the fixed rules have not been applied to."""
    found: QuerySet[Any] = runs.exclude(
        Exists(_evaluated_by(MechanicalFailureModes.name).filter(run=OuterRef("pk")))
    )
    return found


def _evaluated_by(name: str) -> QuerySet[Evaluation]:
    return (
        Evaluation.objects.filter(run=OuterRef("pk"), is_current=True, evaluator__name=name)
        .filter(**{"details__has_key": FOUND})
        .order_by("-created_at", "pk")
    )


def _said() -> QuerySet[FailureReview]:
    said = FailureReview.objects.filter(run=OuterRef("pk"), is_current=True)
    return said.exclude(decision=FailureReview.Decision.WITHDRAWN)


def _modes(rows: QuerySet[Any, Any]) -> Subquery:
    return Subquery(rows[:1], output_field=JSONField())


def _shows(word: str, by: ModeSource) -> Q:
    spoiled = _names(Mode.ENVIRONMENT, by)
    if word == UNKNOWN:
        return ~_spoken(by)
    if word == NONE:
        return _read(by) & ~Q(*(_names(mode, by) for mode in Mode), _connector=Q.OR)
    if (side := side_named(word)) is not None:
        return _says(side, by) & ~spoiled
    mode = Mode(word)
    return spoiled if mode is Mode.ENVIRONMENT else _names(mode, by) & ~spoiled


def _spoken(by: ModeSource) -> Q:
    counting = _WORDS if by is ModeSource.KNOWN else [by]
    return Q(*(Q(**{f"{_WORDS[each]}__isnull": False}) for each in counting), _connector=Q.OR)


def _read(by: ModeSource) -> Q:
    """The judge or a person has spoken: that fixed rules find nothing says little."""
    if by is ModeSource.KNOWN:
        return _spoken(ModeSource.JUDGE) | _spoken(ModeSource.PEOPLE)
    return Q(Value(False)) if by is ModeSource.MECHANICAL else _spoken(by)


def _names(mode: Mode, by: ModeSource) -> Q:
    if by is not ModeSource.KNOWN:
        return _named_in(mode, by)
    proposed = _named_in(mode, ModeSource.JUDGE) | _named_in(mode, ModeSource.MECHANICAL)
    return _named_in(mode, ModeSource.PEOPLE) | Q(people_word__isnull=True) & proposed


def _says(side: Side, by: ModeSource) -> Q:
    """Fixed rules never say a side."""
    of_side = {f"details__{SIDE}": side.value}
    judges = Q(Exists(Evaluation.objects.filter(pk=OuterRef("judge_word"), **of_side)))
    said = FailureReview.objects.filter(pk=OuterRef("people_word"), side=side.value)
    return {
        ModeSource.MECHANICAL: Q(Value(False)),
        ModeSource.JUDGE: judges,
        ModeSource.PEOPLE: Q(Exists(said)),
        ModeSource.KNOWN: Q(Exists(said)) | Q(people_word__isnull=True) & judges,
    }[by]


def _named_in(mode: Mode, by: ModeSource) -> Q:
    word = OuterRef(_WORDS[by])
    if by is ModeSource.PEOPLE:
        return Q(Exists(FailureReview.objects.filter(pk=word, modes__has_key=mode.value)))
    names_it = {f"details__{FOUND}__has_key": mode.value}
    return Q(Exists(Evaluation.objects.filter(pk=word, **names_it)))


NAMES: Mapping[Mode, Promise] = {
    Mode.REPETITIVE: _("repeated actions"),
    Mode.EARLY_STOP: _("early stop"),
    Mode.INVALID_ACTION: _("invalid action"),
    Mode.PLAN_ERROR: _("plan error"),
    Mode.MISREAD_OBSERVATION: _("misread observation"),
    Mode.MAX_STEPS: _("step limit"),
    Mode.ENVIRONMENT: _("environment"),
}
DEFINITIONS: Mapping[Mode, Promise] = {
    Mode.REPETITIVE: _("The same few actions on the same page again and again."),
    Mode.EARLY_STOP: _("The agent ended the run while part of the task was left to do."),
    Mode.INVALID_ACTION: _("Actions could not be carried out as they were written."),
    Mode.PLAN_ERROR: _("A way that cannot lead to the goal, or a part of the task forgotten."),
    Mode.MISREAD_OBSERVATION: _("What the agent thought or did contradicts what the page showed."),
    Mode.MAX_STEPS: _("The run used up its steps, or another limit."),
    Mode.ENVIRONMENT: _("Site, browser or harness failed. Never counted as the agent's."),
}
RULES: Mapping[Rule, Promise] = {
    Rule.NOT_THE_AGENTS_ERROR: _("it ended in an error that is not the agent's"),
    Rule.ANOMALY: _("a loop or repeated completion is marked"),
    Rule.STUCK_AT_THE_END: _("it was stopped for being stuck"),
    Rule.REPEATED_BLOCK: _("the same actions on the same page again and again"),
    Rule.GAVE_UP: _("the agent gave up"),
    Rule.DID_NOTHING: _("the agent ended it without having acted on a page"),
    Rule.SHORTER_THAN_POSSIBLE: _("the agent ended it in fewer actions than the task takes"),
    Rule.LAST_ACTION_FAILED: _("the last action could not be carried out"),
    Rule.MANY_ACTIONS_FAILED: _("a third of the actions or more could not be carried out"),
    Rule.STEP_LIMIT: _("it used up its steps"),
    Rule.OTHER_LIMIT: _("it used up its time, tokens, money or messages"),
}
SIDES: Mapping[Side, Promise] = {
    Side.OPERATION: _("operation error"),
    Side.REASONING: _("reasoning error"),
    Side.BOTH: _("both"),
}
SIDE_DEFINITIONS: Mapping[Side, Promise] = {
    Side.OPERATION: _("The agent meant the right thing and carried it out wrongly."),
    Side.REASONING: _("What the agent meant to do was wrong."),
    Side.BOTH: _("Each of them alone would have failed."),
}


def definitions() -> list[tuple[Promise, Promise]]:
    modes = [(NAMES[mode], DEFINITIONS[mode]) for mode in Mode]
    return modes + [(SIDES[side], SIDE_DEFINITIONS[side]) for side in Side]


def mode_words(word: str) -> str:
    """A mode or a side, or that there is none, or that nobody has looked.

    Raises ValueError where it is no such word.
    """
    if (side := side_named(word)) is not None:
        return str(SIDES[side])
    beside = {NONE: _("none found"), UNKNOWN: _("not looked at yet")}
    return str(beside.get(word) or NAMES[Mode(word)])
