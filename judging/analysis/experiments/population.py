"""Which runs of an experiment count, and where each stands under a source of verdicts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.db import models
from django.db.models import (
    BooleanField,
    Case,
    CharField,
    Exists,
    OuterRef,
    Q,
    QuerySet,
    Value,
    When,
)
from django.utils.translation import gettext_lazy as _

from judging.analysis.counting import tally
from judging.analysis.experiments.sources import FAILURE, SUCCESS, Source, with_said
from judging.models import ReferenceVerdict
from runs.models import Experiment, Run, RunStatus, Task, User
from runs.models.runs.queries import RunQuerySet


class RunResult(models.TextChoices):
    """Where a run stands. The first three count; the others are left out, and shown so."""

    SUCCESS = SUCCESS, _("success")
    FAILURE = FAILURE, _("failure")
    NONE = "none", _("no verdict")
    ERROR = "error", _("ended in an error")
    INCOMPLETE = "incomplete", _("broken off")
    NOT_EXECUTABLE = "not_executable", _("not executable")
    INFEASIBLE = "infeasible", _("with an infeasible task")
    WAITING = "waiting", _("not ended yet")
    SUPERSEDED = "superseded", _("replaced by a later attempt")
    HIDDEN = "hidden", _("still judged by you")


DECIDED = (RunResult.SUCCESS, RunResult.FAILURE)
COUNTED = (*DECIDED, RunResult.NONE)
LEFT_OUT: Mapping[RunResult, Any] = {each: each.label for each in RunResult if each not in COUNTED}
"""The runs that no figure counts, by why."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The runs of an experiment that somebody may know of; `is_hidden` marks what they may not."""

    experiment: Experiment
    runs: QuerySet[Any]

    @property
    def visible(self) -> RunQuerySet[Run]:
        """The runs of which everything may be told, earlier attempts among them."""
        return cast("RunQuerySet[Run]", self.runs.filter(is_hidden=False))

    def standing(self, source: Source) -> QuerySet[Any]:
        """The runs with `standing`, a word of `RunResult`, under this source."""
        said = with_said(self.runs, source)
        standing: QuerySet[Any] = said.annotate(standing=_STANDING).order_by()
        return standing

    def counted(self, source: Source) -> QuerySet[Any]:
        """Those that figures speak of, with or without a verdict."""
        return self.standing(source).filter(standing__in=COUNTED)

    def counts(
        self, source: Source, *columns: str, among: Sequence[RunResult] = COUNTED
    ) -> Counter[Any]:
        """How many runs that stand so share the values of these columns; one query."""
        return tally(self.standing(source).filter(standing__in=among), *columns)


def scope_for(user: User, experiment: Experiment) -> Scope:
    """What the person may know: runs on whose task they are blind are marked as hidden.

    Runs whose agent is hidden from them are not even counted as such: that they belong to this
    experiment would tell who acted.
    """
    # None of a run that is hidden is told, and no other run of its task is either: the same
    # specification, mark as infeasible and kind of evaluation would be told with it.
    hidden = Q(is_blind=True) | Task.objects.is_sealed(user, "task")
    runs: Any = Run.objects.filter(experiment=experiment).visible_to(user).not_anonymous()
    mark = Case(When(hidden, then=True), default=False, output_field=BooleanField())
    return Scope(experiment, runs.annotate(is_hidden=mark))


def whole_scope(experiment: Experiment) -> Scope:
    """All runs, for commands."""
    runs: Any = Run.objects.filter(experiment=experiment)
    return Scope(experiment, runs.annotate(is_hidden=Value(False)))


_NOT_EXECUTABLE = Exists(
    ReferenceVerdict.objects.filter(
        run=OuterRef("pk"), is_authoritative=True, verdict=ReferenceVerdict.Verdict.NOT_EXECUTABLE
    )
)
# The order tells which reason is given to a run with several, and hides before it tells.
_STANDING = Case(
    When(is_hidden=True, then=Value(RunResult.HIDDEN.value)),
    When(superseded=True, then=Value(RunResult.SUPERSEDED.value)),
    When(Task.objects.is_infeasible("task"), then=Value(RunResult.INFEASIBLE.value)),
    When(status__in=RunStatus.active(), then=Value(RunResult.WAITING.value)),
    When(outcome=Run.Outcome.ERROR, then=Value(RunResult.ERROR.value)),
    When(outcome=Run.Outcome.INCOMPLETE, then=Value(RunResult.INCOMPLETE.value)),
    When(outcome=Run.Outcome.NOT_EXECUTABLE, then=Value(RunResult.NOT_EXECUTABLE.value)),
    When(_NOT_EXECUTABLE, then=Value(RunResult.NOT_EXECUTABLE.value)),
    When(said=SUCCESS, then=Value(RunResult.SUCCESS.value)),
    When(said=FAILURE, then=Value(RunResult.FAILURE.value)),
    default=Value(RunResult.NONE.value),
    output_field=CharField(),
)
