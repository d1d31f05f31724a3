"""The tasks of an experiment by site, template, level and kind of evaluation."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from django.db.models import Case, Q, TextField, Value, When
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast, Coalesce, Left, NullIf, Right
from django.db.models.lookups import Exact
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from judging.analysis.experiments.figures import ExperimentFigures, Trials
from judging.analysis.experiments.population import RunResult
from judging.statistics.figures import Share
from judging.statistics.success import clustered_rate
from runs.models import Task

GROUPINGS: Mapping[str, Promise] = {
    "site": capfirst(_("site")),
    "template": capfirst(_("template")),
    "level": capfirst(_("level")),
    "kind": capfirst(_("kind of evaluation")),
}
LEVEL_ENDINGS = {"-l2": "L2", "-l3": "L3"}
"""How WorkArena's tasks say their level; those of the first say nothing."""
WORKARENA = "workarena."


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
