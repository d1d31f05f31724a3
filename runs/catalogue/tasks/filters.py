"""The filters of the tasks table. The address is their whole state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import django_filters
from django.db.models import Max, Q, QuerySet
from django.http import QueryDict
from django.utils.functional import cached_property
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _

from runs.interface.distinct_values import distinct_values
from runs.interface.filter_controls import AddressFilter, NumbersFilter, WordsFilter
from runs.models import Task, TaskRevision, TaskSet
from runs.models.task_queries import TaskQuerySet

MAX_OPTIONS = 300
LOOKED_AT = 10_000
"""Tasks, the newest, among which sites are looked for that tasks go to only later on."""
TEMPLATE_CHARS = 70
YES, NO = "yes", "no"


class TaskFilter(AddressFilter):
    """Filters over tasks that went through `visible_to(user)`; reads only what is shown."""

    q = django_filters.CharFilter(method="filter_text", label=_("text"))
    task_set = NumbersFilter(field_name="task_set", label=_("task set"))
    site = WordsFilter(method="filter_site", label=_("site"))
    kind = WordsFilter(field_name="shown_kind", label=_("evaluation"))
    template = WordsFilter(field_name="template", label=_("template"))
    patched = WordsFilter(method="filter_patched", label=_("patched"))
    infeasible = WordsFilter(method="filter_infeasible", label=_("infeasible"))

    class Meta:
        model = Task
        fields: tuple[str, ...] = ()

    def __init__(
        self, data: QueryDict | Mapping[str, Any] | None, *, queryset: TaskQuerySet[Task]
    ) -> None:
        self.shown: Any = queryset
        super().__init__(data or QueryDict(), queryset)

    def filter_text(self, queryset: QuerySet[Task], name: str, value: str) -> QuerySet[Task]:
        """A number is a whole id; part of another one says nothing."""
        its_id = Q(external_id=value) if value.isdigit() else Q(external_id__icontains=value)
        return queryset.filter(Q(goal__icontains=value) | its_id)

    def filter_site(self, queryset: QuerySet[Task], name: str, value: list[str]) -> QuerySet[Task]:
        """Tasks that go to any of the sites, first or later on."""
        if not value:
            return queryset
        wanted = Q(site__in=value)
        for sites in self._sites_together:
            if not {*sites}.isdisjoint(value):
                wanted |= Q(sites=sites)
        return queryset.filter(wanted)

    def filter_patched(
        self, queryset: QuerySet[Task], name: str, value: list[str]
    ) -> QuerySet[Task]:
        if not value:
            return queryset
        wanted = Q(shown_category__in=value)
        if YES in value:
            wanted |= Q(shown_category__isnull=False)
        if NO in value:
            wanted |= Q(shown_category__isnull=True, is_sealed=False)
        return queryset.filter(wanted)

    def filter_infeasible(self, queryset: Any, name: str, value: list[str]) -> QuerySet[Task]:
        truths = [truth for word, truth in ((YES, True), (NO, False)) if word in value]
        found: QuerySet[Task] = queryset.filter(shown_infeasible__in=truths) if value else queryset
        return found

    @cached_property
    def choice_lists(self) -> dict[str, list[tuple[str, Any]]]:
        bare = self.shown.order_by()
        sites = {*distinct_values(Task, "site", MAX_OPTIONS)}.union(*self._sites_together_lately())
        unsealed = bare.filter(is_sealed=False)
        kinds = [
            kind
            for kind in distinct_values(Task, "evaluation_kind", MAX_OPTIONS)
            if unsealed.filter(evaluation_kind=kind).exists()
        ]
        return {
            "task_set": [
                (str(row.pk), str(row)) for row in TaskSet.objects.order_by("name", "version")
            ],
            "site": [(site, site) for site in sorted(sites)],
            "kind": [(kind, kind) for kind in kinds],
            "template": self._templates(),
            "patched": [
                (YES, _("in any way")),
                *TaskRevision.Category.choices,
                (NO, _("not patched")),
            ],
            "infeasible": [(YES, _("yes")), (NO, _("no"))],
        }

    @cached_property
    def _sites_together(self) -> list[list[str]]:
        """The sites of tasks that go to several."""
        return _several(self.shown)

    def _sites_together_lately(self) -> list[list[str]]:
        """The same of the newest tasks, for the menu: no index tells such tasks from others."""
        newest = Task.objects.aggregate(last=Max("pk"))["last"] or 0
        return _several(self.shown.filter(pk__gt=newest - LOOKED_AT))

    def _templates(self) -> list[tuple[str, str]]:
        """Templates by number, with the beginning of their words."""
        rows = (
            self.shown.order_by()
            .filter(template__gt="")
            .values_list("template", "intent_template")
            .distinct()
        )
        words: dict[str, str] = {}
        for template, text in rows[: 4 * MAX_OPTIONS]:
            words.setdefault(template, Truncator(text).chars(TEMPLATE_CHARS))
        ordered = sorted(words, key=lambda name: (len(name), name))
        return [(name, f"{name}  {words[name]}".strip()) for name in ordered[:MAX_OPTIONS]]


def _several(tasks: QuerySet[Task]) -> list[list[str]]:
    lists = tasks.order_by().values_list("sites", flat=True).distinct()
    return [sites for sites in lists[:MAX_OPTIONS] if len(sites) > 1]
