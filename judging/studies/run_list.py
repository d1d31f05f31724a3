"""What judging adds to the runs table: the reference verdict, where the viewer may see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import django_tables2
from django.db.models import (
    Case,
    CharField,
    F,
    FilteredRelation,
    OuterRef,
    Q,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Coalesce
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from judging.models import ReferenceVerdict
from runs.interface.filters import WordsFilter
from runs.templatetags.interface import verdict
from runs.viewer.run_list.orders import AGE_ELSEWHERE

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django_filters import Filter

    from runs.models import Run
    from runs.models.runs.queries import RunQuerySet

NO_VERDICT = ""


class ReferenceVerdictColumn:
    """Column and filter `reference`: NULL where the viewer is blind, "" where there is none."""

    def annotate(self, runs: RunQuerySet[Run]) -> RunQuerySet[Run]:
        settled = ReferenceVerdict.objects.filter(run=OuterRef("pk"), is_authoritative=True)
        known = Coalesce(Subquery(settled.values("verdict")[:1]), Value(NO_VERDICT))
        return runs.annotate(
            shown_reference=Case(
                When(is_blind=True, then=Value(None)), default=known, output_field=CharField()
            )
        )

    def columns(self) -> list[tuple[str, django_tables2.Column]]:
        return [("reference", _VerdictColumn())]

    def filters(self) -> dict[str, Filter]:
        return {"reference": _VerdictFilter(label=_("reference"))}

    def choices(self) -> dict[str, list[tuple[str, Any]]]:
        return {"reference": list(ReferenceVerdict.Verdict.choices)}


class _VerdictFilter(WordsFilter):
    """Runs whose shown reference verdict is one of the words, found from the verdicts.

    Those are few beside the runs, of each of which the annotation would have to be worked out.
    Joined and not looked for in a list of them: a run has one authoritative verdict at most, so
    that none comes twice, and the database stops as soon as it has found enough.
    """

    def filter(self, qs: QuerySet[Any], value: list[str]) -> QuerySet[Any]:
        if not value:
            return qs
        settled = FilteredRelation("verdicts", condition=Q(verdicts__is_authoritative=True))
        found: QuerySet[Any] = qs.annotate(settled=settled)
        found = found.filter(is_blind=False, settled__verdict__in=value)
        undated = ReferenceVerdict.objects.filter(is_authoritative=True, run_created_at=None)
        if not undated.exists():  # an older version, at work beside this one, stores none
            # In their order by an index of theirs; else thousands are read for the newest fifty.
            age, key = (F(f"settled__{name}") for name in ("run_created_at", "run_id"))
            found = found.annotate(**dict(zip(AGE_ELSEWHERE, (age, key), strict=True)))
        return found


class _VerdictColumn(django_tables2.Column):
    def __init__(self) -> None:
        super().__init__(
            verbose_name=_("reference"),
            accessor="shown_reference",
            empty_values=(),
            orderable=False,
            attrs={"td": {"data-label": _("reference")}},
        )

    def render(self, value: str | None) -> SafeString | str:
        return "" if value == NO_VERDICT else verdict(value)
