"""The runs behind a number of an experiment, as an address names them, and its tasks in groups.

Progress is named by source and finding: `evaluator-12:told`, `ticks:40-60`, `evaluator-12:stale`,
or `evaluator-12:stopped-7-2` for the runs of task 7 that reached its first two milestones and
never the third.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Case, Q, QuerySet, TextField, Value, When
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast, Coalesce, Left, NullIf, Right
from django.db.models.lookups import Exact
from django.http import QueryDict
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.experiments.course import with_detections
from judging.analysis.experiments.figures import ExperimentFigures, Trials, names_in
from judging.analysis.experiments.population import COUNTED, RunResult, Scope, Source
from judging.analysis.failure_modes.sources import ModeSource, mode_words, showing
from judging.analysis.progress.rows import (
    number_in,
    progress_words,
    read_range,
    runs_of_progress,
    with_milestones,
)
from judging.statistics.figures import Share
from judging.statistics.success import clustered_rate
from runs.models import Experiment, Run, Task, TaskSet
from runs.models.parsing import reading
from webagent.recovery.retry_policy import Comparison

BETWEEN = "-"


class Filter(NamedTuple):
    """What runs can be chosen by: its name, the condition on runs, and its value in words.

    A condition raises ValueError for a value that no run could have; it is None where it takes more
    than the value, whose words raise it then.
    """

    name: Promise
    condition: Callable[[str], Q] | None = None
    words: Callable[[str], object] = lambda value: value or "—"


def _within(field: str) -> Callable[[str], Q]:
    """A condition on a number: `3`, `3-5` or `3+`."""

    def condition(value: str) -> Q:
        low, high = read_range(value)
        found = Q(**{f"{field}__gte": low})
        return found if high is None else found & Q(**{f"{field}__lte": high})

    return condition


def _errors_of(origin: str) -> Q:
    return ~(~Q(error_origin=Run.ErrorOrigin(origin)) & Q(standing=RunResult.ERROR))


def _loop(value: str) -> Run.Loop:
    return Run.Loop[Comparison(value).name]


FILTERS: Mapping[str, Filter] = {
    "agent": Filter(_("configuration"), lambda value: Q(agent=number_in(value))),
    "control": Filter(_("control"), lambda value: Q(agent__name=value)),
    "standing": Filter(
        _("stands as"),
        lambda value: Q(standing__in=_standings(value)),
        lambda value: ", ".join(str(each.label) for each in _standings(value)),
    ),
    "site": Filter(_("site"), lambda value: Q(task__site=value)),
    "template": Filter(
        _("template"),
        lambda value: Q(task__template=value) | Q(task__template="", task__intent_template=value),
    ),
    "level": Filter(_("level"), lambda value: Q(Exact(level_of("task__"), value))),
    "kind": Filter(_("kind of evaluation"), lambda value: Q(task__evaluation_kind=value)),
    "task": Filter(_("task"), lambda value: Q(task__external_id=value)),
    "steps": Filter(_("steps"), _within("n_steps")),
    "detections": Filter(_("anomalies noticed"), _within("detections")),
    "loop": Filter(
        _("loop"), lambda value: Q(loop__gte=_loop(value)), lambda value: _loop(value).label
    ),
    "recovered": Filter(
        _("recovery"),
        lambda value: Q(recoveries__gt=0) if value == "yes" else Q(recoveries=0),
        lambda value: gettext("yes") if value == "yes" else gettext("none"),
    ),
    "end": Filter(
        _("end reason"),
        lambda value: Q(end_reason=Run.EndReason(value)),
        lambda value: Run.EndReason(value).label,
    ),
    "errors": Filter(_("errors of"), _errors_of, lambda value: Run.ErrorOrigin(value).label),
    "mode": Filter(_("failure modes"), None, mode_words),
    "by": Filter(_("source"), None, lambda value: ModeSource(value).label),
    "task_set": Filter(
        _("task set"),
        lambda value: Q(task__task_set=number_in(value)),
        lambda value: TaskSet.objects.filter(pk=value).first() or value,
    ),
    "milestones": Filter(_("milestones of the task"), with_milestones),
    "progress": Filter(_("progress"), None, progress_words),
}
"""By name in the address. An empty value is one of its own: tasks that name no site."""


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
        """Whether to see these runs is to see what evaluators or people say of them."""
        told = "progress" in self.chosen or self.tells_failures
        return self.source.tells_judgements or told

    @property
    def tells_failures(self) -> bool:
        """Whether the list is one of failures, which says how they failed."""
        return "mode" in self.chosen or self.chosen.get("standing") == RunResult.FAILURE

    def chips(self, scope: Scope) -> list[tuple[str, str, str]]:
        """What is chosen: name, value in words, and the query without it."""
        found = []
        for key, value in self.chosen.items():
            rest = {name: value for name, value in self.chosen.items() if name != key}
            known = FILTERS[key]
            words = names_in(scope).get(int(value), value) if key == "agent" else known.words(value)
            found.append((str(known.name), str(words), Selection(self.source, rest).query))
        return found

    def runs(self, scope: Scope) -> QuerySet[Any]:
        """The runs, with `standing`, `detections` and `recoveries`; hidden ones never."""
        runs = with_detections(scope.standing(self.source))
        for key, value in {"standing": "", **self.chosen}.items():
            condition = FILTERS[key].condition
            if condition is not None:
                runs = runs.filter(condition(value))
            elif key == "mode":
                by = ModeSource(self.chosen.get("by", ModeSource.KNOWN))
                runs = showing(runs, value, by)
            elif key == "progress":
                runs = runs.filter(pk__among=runs_of_progress(scope, self.source, value))
        return runs


def read_chosen(query: QueryDict, names: Iterable[str] = FILTERS) -> dict[str, str]:
    """What an address chooses runs by, of these filters.

    Raises QueryError where a value is none that runs could have.
    """
    chosen = {name: query.get(name, "") for name in names if name in query}
    for key, value in chosen.items():
        with reading(key):
            if "\0" in value:
                raise ValueError("no text that is stored holds NUL")
            known = FILTERS[key]
            (known.condition or known.words)(value)
    return chosen


def runs_url(experiment: Experiment, source: Source, **chosen: object) -> str:
    """Where the runs behind a number are listed."""
    selection = Selection(source, {key: str(value) for key, value in chosen.items()})
    return f"{reverse('judging:experiment_runs', args=[experiment.pk])}?{selection.query}"


def joined(standings: tuple[RunResult, ...]) -> str:
    """Several standings as one value of an address."""
    return BETWEEN.join(standings)


def _standings(value: str) -> list[RunResult]:
    found = [RunResult(word) for word in value.split(BETWEEN)] if value else list(COUNTED)
    if RunResult.HIDDEN in found:
        raise ValueError("what is hidden is not listed")
    return found


GROUPINGS = ("site", "template", "level", "kind")
"""The filters by which reports put tasks into groups."""
Placed = Mapping[str, str]
"""Where a task belongs, by grouping; empty where it says nothing."""


class Group:
    """One site, template, level or kind: what each configuration achieves there, in their order."""

    def __init__(self, name: str, trials: Sequence[Sequence[Trials]], tasks: int) -> None:
        self.name, self.tasks = name, tasks
        self.shares = [Share(sum(c for _, c in each), sum(n for n, _ in each)) for each in trials]
        self.rates = [clustered_rate(each) for each in trials]
        """The same with standard errors clustered by task."""

    @property
    def runs(self) -> int:
        return sum(share.total for share in self.shares)


def placed_tasks(figures: ExperimentFigures) -> dict[int, Placed]:
    """The tasks that some figure speaks of, in one query."""
    wanted = {each.task for each in figures.sums if each.standing is not RunResult.HIDDEN}
    rows = Task.objects.filter(pk__in=wanted).values_list(
        "pk", "site", "template", "intent_template", "evaluation_kind", level_of("")
    )
    return {
        pk: {"site": site, "template": template or text, "level": level, "kind": kind}
        for pk, site, template, text, kind, level in rows
    }


def groups_of(figures: ExperimentFigures, by: str, tasks: Mapping[int, Placed]) -> list[Group]:
    """The groups of one grouping, most runs first."""
    trials: defaultdict[str, list[list[Trials]]] = defaultdict(
        lambda: [[] for _ in figures.configurations]
    )
    members: defaultdict[str, set[int]] = defaultdict(set)
    for number, configuration in enumerate(figures.configurations):
        for task, counts in configuration.trials.items():
            name = tasks[task][by]
            trials[name][number].append(counts)
            members[name].add(task)
    groups = [Group(name, found, len(members[name])) for name, found in trials.items()]
    return sorted(groups, key=lambda group: (-group.runs, group.name))


LEVEL_ENDINGS = {"-l2": "L2", "-l3": "L3"}
"""How WorkArena's tasks say their level; those of the first say nothing."""
WORKARENA = "workarena."


def level_of(task: str) -> Coalesce:
    """What the task's source says of its level or difficulty; for WorkArena what its name says.

    Args:
        task: what leads from the rows to their tasks: empty, or `task__`.
    """
    name = f"{task}external_id"
    by_name = Case(
        When(~Q(Exact(Left(name, len(WORKARENA)), WORKARENA)), then=Value("")),
        *(
            When(Exact(Right(name, len(ending)), ending), then=Value(level))
            for ending, level in LEVEL_ENDINGS.items()
        ),
        default=Value("L1"),
    )
    extra = KeyTransform("extra", f"{task}record")
    told = (Cast(KeyTextTransform(key, extra), TextField()) for key in ("level", "difficulty"))
    # SQLite has the word for what is null in JSON.
    said = (NullIf(NullIf(each, Value("")), Value("null")) for each in told)
    return Coalesce(*said, by_name, output_field=TextField())
