"""The filters of the runs table. The address is their whole state."""

from collections.abc import Iterable, Mapping
from functools import partial, reduce
from itertools import chain
from operator import or_
from typing import Any

import django_filters
from django.db import connection
from django.db.models import BooleanField, Exists, Func, OuterRef, QuerySet, Subquery, Value
from django.http import QueryDict
from django.utils import formats, timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from runs.interface.filters import (
    AddressFilter,
    AfterFilter,
    Choices,
    NumbersFilter,
    SearchFilter,
    WordsFilter,
    distinct_values,
)
from runs.models import AgentConfiguration, Event, Experiment, Run, RunStatus, Task, TaskSet
from runs.models.extension import extension
from runs.models.runs.queries import RunQuerySet, shown_status_is
from runs.models.visibility import Visibility
from webagent.trajectory.values import iso_moment

MAX_OPTIONS = 300
ANOMALIES = (Event.Kind.LOOP, Event.Kind.FALSE_COMPLETION)
NO_ANOMALY = "none"
HERE, MISSING = "here", "missing"
"""Whether a run's trajectory is here; a stub's is missing."""
SHOWN_NAMES = {
    "site": "task__site",
    "experiment": "experiment__name",
    "agent": "agent__name",
    "model": "agent__model",
}
"""Filters by what a run's row is called, with where it stands."""
ACTORS: dict[str, Any] = {"experiment": Experiment, "agent": AgentConfiguration}
LOOKED_AT, COMMON = 100, 5
"""So many runs tell whether a kind of anomaly is common: at least one in five has it."""


class NamesFilter(WordsFilter):
    """Runs whose agent may be known, and that have one of the names."""

    def filter(self, qs: QuerySet[Any], value: list[str]) -> QuerySet[Any]:
        if not value:
            return qs
        known = qs.filter(is_anonymous=False)
        if not self.parent.visibility.visible:
            return super().filter(known, value)
        # Of somebody who sees only part each run is asked, and a key in the run's row is asked
        # before what else the run needs; a name in another table would be asked after it.
        actor, _, name = self.field_name.partition("__")
        named = ACTORS[actor].objects.order_by().filter(**{f"{name}__in": value})
        return known.filter(**{f"{actor}__in": named.values("pk")})


class OutcomeFilter(WordsFilter):
    """Runs on which the person is not blind, with one of the outcomes."""

    def filter(self, qs: QuerySet[Any], value: list[str]) -> QuerySet[Any]:
        if not value:
            return qs
        known, chosen = qs.filter(is_blind=False), self.parent.form.cleaned_data
        if connection.vendor == "sqlite" and (chosen.get("site") or chosen.get("task")):
            # Few runs are of a site or task. Without statistics, SQLite would rather read all of
            # an outcome; a sign before a column keeps it from its indexes.
            known = known.alias(read_outcome=Func("outcome", template="+%(expressions)s"))
            found: QuerySet[Any] = known.filter(read_outcome__in=value)
            return found
        return super().filter(known, value)


class StatusFilter(WordsFilter):
    """Runs whose status is one of these as it is shown."""

    def filter(self, qs: QuerySet[Any], value: list[str]) -> QuerySet[Any]:
        if value and self.parent.visibility.blind is None:  # SQLite reads it in the list's order
            return qs.filter(status__in=value)
        return qs.filter(reduce(or_, map(shown_status_is, value))) if value else qs


class RunFilter(AddressFilter):
    """Filters over runs as somebody may see them; reads only what is shown."""

    q = SearchFilter(method=lambda runs, _name, words: runs.with_words(words))
    task_set = NumbersFilter(field_name="task__task_set", label=_("task set"))
    site = WordsFilter(field_name="task__site", label=_("site"))
    task = WordsFilter(field_name="task__external_id", label=_("task"))
    experiment = NamesFilter(field_name="experiment__name", label=_("experiment"))
    agent = NamesFilter(field_name="agent__name", label=_("agent"))
    model = NamesFilter(field_name="agent__model", label=_("model"))
    outcome = OutcomeFilter(field_name="outcome", label=_("outcome"))
    anomaly = WordsFilter(method="filter_anomaly", label=_("anomalies"))
    status = StatusFilter(label=_("state"))
    trajectory = WordsFilter(method="filter_trajectory", label=_("trajectory"))
    added_after = AfterFilter(field_name="created_at", label=_("added after"))
    superseded = django_filters.BooleanFilter(
        method=lambda runs, _name, _value: runs,  # without the switch they are left out before
        label=_("superseded attempts"),
    )
    archived = django_filters.BooleanFilter(method="filter_archived", label=_("archived"))

    own_words = frozenset(SHOWN_NAMES)

    class Meta:
        model = Run
        fields: tuple[str, ...] = ()

    def __init__(
        self,
        data: QueryDict | Mapping[str, Any] | None,
        *,
        visibility: Visibility,
        runs: RunQuerySet[Run] | None = None,
    ) -> None:
        """
        Args:
            runs: the runs that are asked about, whether the person may see them or not.
        """
        self.visibility = visibility
        self.extension = extension().run_list
        asked: RunQuerySet[Run] = Run.objects.all() if runs is None else runs
        # Bound even without a query, so that superseded attempts are left out by default.
        super().__init__(data or QueryDict(), self.extension.annotate(asked.blanked(visibility)))
        self.is_bound = True
        for name, extra in self.extension.filters().items():
            extra.parent, extra.model = self, Run
            self.filters[name] = extra

    def filter_queryset(self, queryset: RunQuerySet[Run]) -> RunQuerySet[Run]:
        if not self.form.cleaned_data.get("superseded"):
            queryset = queryset.latest_attempts()
        if not self.form.cleaned_data.get("archived"):
            queryset = queryset.not_archived()
        filtered: RunQuerySet[Run] = super().filter_queryset(queryset)
        return filtered

    @property
    def every(self) -> RunQuerySet[Run]:
        """The runs that the person may see, whether they match or not."""
        every: RunQuerySet[Run] = self.queryset.filter(self.visibility.visible)
        return every

    @property
    def qs(self) -> RunQuerySet[Run]:
        """The runs that match and that the person may see."""
        return self.matching.filter(self.visibility.visible)

    @cached_property
    def matching(self) -> RunQuerySet[Run]:
        """The runs that match, whether the person may see them or not: that is to be asked yet."""
        found: RunQuerySet[Run] = super().qs
        if connection.vendor != "sqlite" or not self.visibility.visible:
            return found
        # Of somebody who sees only part, each run is asked: without statistics, SQLite would
        # rather follow the index of a filter through everybody's.
        matches: RunQuerySet[Run] = self.queryset.filter(Exists(found.filter(pk=OuterRef("pk"))))
        return matches

    def count_superseded(self) -> int:
        """Attempts that these filters would show, but for a later one that took their place."""
        if self.form.cleaned_data.get("superseded"):
            return 0
        n: int = super().filter_queryset(self.every.filter(superseded=True)).count()
        return n

    def filter_archived(
        self, queryset: RunQuerySet[Run], name: str, value: bool | None
    ) -> RunQuerySet[Run]:
        """With the switch, what was archived alone; without it, it is left out before."""
        return queryset.filter(archived_at__isnull=False) if value else queryset

    def filter_trajectory(
        self, queryset: RunQuerySet[Run], name: str, value: list[str]
    ) -> RunQuerySet[Run]:
        """Runs with their trajectory, or stubs; both chosen are all runs."""
        if set(value) == {MISSING}:
            return queryset.filter(is_stub=True)
        return queryset.whole() if set(value) == {HERE} else queryset

    def filter_anomaly(
        self, queryset: RunQuerySet[Run], name: str, value: list[str]
    ) -> RunQuerySet[Run]:
        if not value:
            return queryset
        known = queryset.not_blind()
        # The flag follows from the marks. SQLite finds "in" by its index, and not the bare column.
        if set(value) == {NO_ANOMALY}:
            return known.filter(has_anomaly__in=[False])
        marks = Event.objects.filter(run=OuterRef("pk"), kind__in=value)
        if NO_ANOMALY in value:
            return known.exclude(~Exists(marks), has_anomaly=True)
        if set(value) <= set(ANOMALIES):
            known = known.filter(has_anomaly__in=[True])
            # Only which way is quicker: the runs that are found are the same.
            is_alone = not any(v for k, v in self.form.cleaned_data.items() if k != name)
            joins = connection.vendor == "postgresql"  # SQLite asks of each run apart as it is
            if joins and is_alone and self.visibility.is_whole and _are_common(marks):
                return known.filter(_one_by_one(marks))
        return known.filter(Exists(marks))

    @property
    def superseded_query(self) -> str:
        """The address that switches superseded attempts on or off."""
        return self.toggled("superseded", "true")

    @property
    def archived_query(self) -> str:
        """The address that shows what was archived instead of the rest, or the rest again."""
        return self.toggled("archived", "true")

    def chip_words(self, name: str, words: str) -> str:
        if name == "added_after" and (at := iso_moment(words)):
            return formats.date_format(timezone.localtime(at), "SHORT_DATETIME_FORMAT")
        return str(_("shown")) if name in ("superseded", "archived") else words

    @cached_property
    def choice_lists(self) -> dict[str, Choices]:
        anomalies = [*((kind, kind.label) for kind in ANOMALIES), (NO_ANOMALY, _("none"))]
        return {
            "task_set": self._task_sets,
            **{name: partial(self._names, name) for name in SHOWN_NAMES},
            "outcome": lambda: Run.Outcome.choices,
            "anomaly": lambda: anomalies,
            "status": lambda: RunStatus.choices,
            "trajectory": lambda: [(HERE, _("here")), (MISSING, _("missing"))],
            **self.extension.choices(),
        }

    def _task_sets(self) -> list[tuple[str, str]]:
        sets = TaskSet.objects.order_by("name", "version").values_list("pk", "name", "version")
        if self.visibility.visible:
            sets = sets.filter(pk__in={row.task__task_set for row in self._newest})
        return [(str(key), f"{name} {version}") for key, name, version in sets]

    def _names(self, name: str) -> list[tuple[str, str]]:
        """Sites, agents and so on; offered is only what runs show that the person may see.

        To somebody who sees only part: what the newest of their runs show.
        """
        field = SHOWN_NAMES[name]
        if self.visibility.visible:
            shown = [row for row in self._newest if name == "site" or not row.is_anonymous]
            return _pairs({getattr(row, field) for row in shown})
        if name == "site":
            return _pairs(distinct_values(Task, "site", MAX_OPTIONS))
        if name == "experiment":
            experiments = self._of_known(Experiment.objects.all(), "experiment")
            newest = experiments.order_by("-created_at", "-pk").values_list("name", flat=True)
            return _pairs(dict.fromkeys(newest[:MAX_OPTIONS]), is_sorted=True)
        agents = self._of_known(AgentConfiguration.objects.order_by(), "agent")
        return _pairs(agents.values_list(field.removeprefix("agent__"), flat=True).distinct())

    def _of_known(self, actors: QuerySet[Any], field: str) -> QuerySet[Any]:
        """Those with a run whose agent the person may know.

        Asked one by one: for most the first run that is found will do.
        """
        if self.visibility.anonymous is None:
            return actors
        known = Run.objects.visible_with(self.visibility).not_anonymous().order_by()
        return actors.filter(Exists(known.filter(**{field: OuterRef("pk")})))

    @cached_property
    def _newest(self) -> list[Any]:
        """What the newest runs show to somebody who sees only part."""
        newest: Any = Run.objects.visible_with(self.visibility.of_newest()).order_by()
        read = ("is_anonymous", "task__task_set", *SHOWN_NAMES.values())
        return list(newest.values_list(*read, named=True))


def _one_by_one(marks: QuerySet[Any]) -> Subquery:
    """Whether there is such a mark, as a question that PostgreSQL asks of each run apart.

    Of `Exists` it makes a join, and expects that few runs with an anomaly are in it, not knowing
    that those are the ones with marks: it reads all marks of a kind to count a thousand runs.
    Beside other conditions, which may leave few runs, a join is better.
    """
    return Subquery(marks.order_by().values(is_there=Value(True))[:1], output_field=BooleanField())


def _are_common(marks: QuerySet[Any]) -> bool:
    """Whether a fair part of the newest runs with an anomaly have such a mark."""
    newest = Run.objects.filter(has_anomaly__in=[True]).order_by("-created_at", "-pk")
    found = newest.values_list(_one_by_one(marks))[:LOOKED_AT]
    return sum(map(bool, chain.from_iterable(found))) * COMMON >= LOOKED_AT


def _pairs(names: Iterable[str | None], *, is_sorted: bool = False) -> list[tuple[str, str]]:
    words = [name for name in names if name]
    return [(name, name) for name in (words if is_sorted else sorted(words)[:MAX_OPTIONS])]
