"""The runs behind a number of an experiment, as an address names them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet
from django.http import QueryDict
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.experiments.figures import names_in
from judging.analysis.experiments.groups import GROUPINGS, tasks_in
from judging.analysis.experiments.population import COUNTED, WORDS, RunResult, Scope
from judging.analysis.experiments.recovery import with_detections
from judging.analysis.experiments.sources import Source
from judging.analysis.failure_modes.told import WHOSE, Word, read_word, showing
from judging.analysis.failure_modes.words import word_in_words
from judging.analysis.progress.selection import (
    check_range,
    progress_words,
    runs_of_progress,
    with_milestones,
)
from runs.models import Experiment, Run, TaskSet
from runs.models.parsing import QueryError

AND_MORE = "+"
BETWEEN = "-"
NAMES: Mapping[str, Promise] = {
    "agent": gettext_lazy("configuration"),
    "control": gettext_lazy("control"),
    "standing": gettext_lazy("stands as"),
    "site": gettext_lazy("site"),
    "template": gettext_lazy("template"),
    "level": gettext_lazy("level"),
    "kind": gettext_lazy("kind of evaluation"),
    "task": gettext_lazy("task"),
    "steps": gettext_lazy("steps"),
    "detections": gettext_lazy("anomalies noticed"),
    "recovered": gettext_lazy("recovery"),
    "end": gettext_lazy("end reason"),
    "errors": gettext_lazy("errors of"),
    "mode": gettext_lazy("failure mode"),
    "by": gettext_lazy("by whose word"),
    "task_set": gettext_lazy("task set"),
    "milestones": gettext_lazy("milestones of the task"),
    "progress": gettext_lazy("progress"),
}
"""What runs can be chosen by. The empty text is a value of its own: tasks that name no site."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Some runs of an experiment under one source."""

    source: Source
    chosen: Mapping[str, str]

    @property
    def query(self) -> str:
        return urlencode({"verdict": self.source.key, **self.chosen})

    @property
    def tells_judgements(self) -> bool:
        """Whether to see what is chosen is to see what evaluators or people say of a run."""
        return "progress" in self.chosen or self.tells_failures

    @property
    def tells_failures(self) -> bool:
        """Whether the list is one of failures, in which it is told how they failed."""
        return "mode" in self.chosen or self.chosen.get("standing") == RunResult.FAILURE

    def chips(self, scope: Scope) -> list[tuple[str, str, str]]:
        """What is chosen: name, value in words, and the query without it."""
        return [
            (str(NAMES[key]), self._words(key, scope), self._without(key)) for key in self.chosen
        ]

    def runs(self, scope: Scope) -> QuerySet[Any]:
        """The runs, with `standing`, `detections` and `recoveries`; hidden ones never."""
        runs = with_detections(scope.standing(self.source))
        wanted = _standings(self.chosen.get("standing", ""))
        runs = runs.filter(standing__in=wanted)
        for key, value in self.chosen.items():
            if key in GROUPINGS:
                runs = runs.filter(tasks_in(key, value))
            elif key == "mode":
                runs = showing(runs, value, Word(self.chosen.get("by", Word.KNOWN)))
            elif key == "milestones":
                runs = with_milestones(runs, value)
            elif key == "errors":
                runs = runs.exclude(~Q(error_origin=value), standing=RunResult.ERROR)
            elif key == "progress":
                runs = runs.filter(pk__among=runs_of_progress(scope, self.source, value))
            elif key not in ("standing", "by"):
                runs = runs.filter(**_condition(key, value))
        return runs

    def _words(self, key: str, scope: Scope) -> str:
        value = self.chosen[key]
        if key == "standing":
            return ", ".join(str(WORDS[each]) for each in _standings(value))
        if key == "agent":
            return names_in(scope).get(int(value), value)
        if key == "mode":
            return word_in_words(value)
        if key == "by":
            return str(WHOSE[Word(value)])
        if key == "task_set":
            return str(TaskSet.objects.filter(pk=value).first() or value)
        if key == "progress":
            return progress_words(value)
        if key == "end":
            return str(Run.EndReason(value).label)
        if key == "errors":
            return str(Run.ErrorOrigin(value).label)
        if key == "recovered":
            return _("yes") if value == "yes" else _("none")
        return value or "—"

    def _without(self, key: str) -> str:
        left = {name: value for name, value in self.chosen.items() if name != key}
        return Selection(self.source, left).query


def read_selection(query: QueryDict, source: Source) -> Selection:
    """The selection of an address.

    Raises:
        QueryError: a value is none that runs could have.
    """
    chosen = {name: query.get(name, "") for name in NAMES if name in query}
    for key, value in chosen.items():
        try:
            _check(key, value)
        except ValueError as error:
            raise QueryError(key) from error
    return Selection(source, chosen)


def runs_url(experiment: Experiment, source: Source, **chosen: object) -> str:
    """Where the runs behind a number are listed."""
    selection = Selection(source, {key: str(value) for key, value in chosen.items()})
    return f"{reverse('judging:experiment_runs', args=[experiment.pk])}?{selection.query}"


def joined(standings: tuple[RunResult, ...]) -> str:
    """Several standings as one value of an address."""
    return BETWEEN.join(standings)


def _check(key: str, value: str) -> None:
    if "\0" in value:
        raise ValueError("no text that is stored holds NUL")
    if key == "standing":
        _standings(value)
    elif key == "mode":
        read_word(value)
    elif key == "by":
        Word(value)
    elif key == "milestones":
        check_range(value)
    elif key == "progress":
        progress_words(value)
    elif key == "end":
        Run.EndReason(value)
    elif key == "errors":
        Run.ErrorOrigin(value)
    elif key not in GROUPINGS:
        _condition(key, value)


def _standings(value: str) -> list[RunResult]:
    found = [RunResult(word) for word in value.split(BETWEEN)] if value else list(COUNTED)
    if RunResult.HIDDEN in found:
        raise ValueError("what is hidden is not listed")
    return found


def _condition(key: str, value: str) -> dict[str, object]:
    if key == "agent":
        return {"agent": _number(value)}
    if key == "control":
        return {"agent__name": value}
    if key == "task":
        return {"task__external_id": value}
    if key == "end":
        return {"end_reason": value}
    if key == "recovered":
        return {"recoveries__gt": 0} if value == "yes" else {"recoveries": 0}
    if key == "detections" and value.endswith(AND_MORE):
        return {"detections__gte": _number(value.removesuffix(AND_MORE))}
    if key == "task_set":
        return {"task__task_set": _number(value)}
    if key == "steps" and value.endswith(AND_MORE):
        return {"n_steps__gte": _number(value.removesuffix(AND_MORE))}
    if key == "steps" and BETWEEN in value:
        first, last = value.split(BETWEEN, 1)
        return {"n_steps__range": (_number(first), _number(last))}
    return {{"detections": "detections", "steps": "n_steps"}[key]: _number(value)}


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise ValueError(f"{text} is no number")
    return int(text)
