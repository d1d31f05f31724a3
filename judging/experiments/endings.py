"""How runs ended, and which mechanical failure mode each failure is."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db.models import Case, CharField, Count, Exists, OuterRef, Q, QuerySet, Value, When
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.experiments.figures import ExperimentFigures, Figures
from judging.experiments.population import COUNTED, Scope, Standing
from judging.statistics.proportions import Share
from runs.models import Event, Run, Step

End = Run.EndReason


class Mode(StrEnum):
    """What a failure looks like from outside. The first that fits is given."""

    LOOP = "loop"
    FALSE_COMPLETION = "false_completion"
    INVALID_ACTION = "invalid_action"
    LIMIT = "limit"
    GAVE_UP = "gave_up"
    SAID_DONE = "said_done"
    OTHER = "other"


MODES: Mapping[Mode, Promise] = {
    Mode.LOOP: _("went in a loop"),
    Mode.FALSE_COMPLETION: _("declared completion again and again"),
    Mode.INVALID_ACTION: _("its last action failed"),
    Mode.LIMIT: _("ran into a limit"),
    Mode.GAVE_UP: _("gave up"),
    Mode.SAID_DONE: _("stopped, as if it were done"),
    Mode.OTHER: _("other"),
}


def _marked(kind: str) -> Q:
    return Q(has_anomaly=True) & Q(Exists(Event.objects.filter(run=OuterRef("pk"), kind=kind)))


_LAST_STEP_FAILED = Exists(
    Step.objects.filter(run=OuterRef("pk"), index=OuterRef("n_steps") - 1).exclude(error="")
)
_LIMITS = [End.MAX_STEPS, End.TIME_LIMIT, End.TOKEN_LIMIT, End.COST_LIMIT, End.MESSAGE_LIMIT]
_MODE = Case(
    When(_marked(Event.Kind.LOOP), then=Value(Mode.LOOP.value)),
    When(_marked(Event.Kind.FALSE_COMPLETION), then=Value(Mode.FALSE_COMPLETION.value)),
    When(_LAST_STEP_FAILED, then=Value(Mode.INVALID_ACTION.value)),
    When(end_reason__in=_LIMITS, then=Value(Mode.LIMIT.value)),
    When(end_reason=End.AGENT_GAVE_UP, then=Value(Mode.GAVE_UP.value)),
    When(end_reason__in=[End.TASK_ENDED, End.AGENT_STOPPED], then=Value(Mode.SAID_DONE.value)),
    default=Value(Mode.OTHER.value),
    output_field=CharField(),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endings:
    """One configuration: failures by mode, and counted runs by end reason and standing."""

    configuration: Figures
    modes: Mapping[Mode, int]
    reasons: Sequence[tuple[str, Counter[Standing]]]
    """By end reason, the most frequent first."""

    def share(self, mode: Mode) -> Share:
        """The failures of this mode among all failures."""
        return Share(self.modes.get(mode, 0), self.configuration.failures)


def with_mode(runs: QuerySet[Any]) -> QuerySet[Any]:
    """The runs with `mode`, a word of `Mode`; it says something of failures only."""
    told: QuerySet[Any] = runs.annotate(mode=_MODE)
    return told


def endings_of(figures: ExperimentFigures, scope: Scope) -> list[Endings]:
    """All configurations, in two queries."""
    standing = scope.standing(figures.source)
    failures = with_mode(standing.filter(standing=Standing.FAILURE))
    modes: defaultdict[int, Counter[Mode]] = defaultdict(Counter)
    for agent, mode, n in failures.values_list("agent", "mode").annotate(n=Count("*")):
        modes[agent][Mode(mode)] += n
    counted = standing.filter(standing__in=COUNTED).values_list("agent", "end_reason", "standing")
    reasons: defaultdict[int, defaultdict[str, Counter[Standing]]] = defaultdict(
        lambda: defaultdict(Counter)
    )
    for agent, reason, word, n in counted.annotate(n=Count("*")):
        reasons[agent][reason][Standing(word)] += n
    return [
        Endings(
            configuration=each,
            modes=modes[each.agent.pk],
            reasons=sorted(
                reasons[each.agent.pk].items(), key=lambda found: (-found[1].total(), found[0])
            ),
        )
        for each in figures.configurations
    ]
