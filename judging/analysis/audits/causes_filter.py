"""Errors by what they are tagged with: the runs behind the numbers of the causes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from django.db.models import F, FilteredRelation, Q, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.models import Cause, EvaluatorVersion, Repair, StudyItem

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    from judging.analysis.audits.cells import Said

    class SaidAndTagged(Said):
        """What `with_tags` adds to an item of a cell."""

        tag_causes: list[str] | None
        tag_repair: str | None
        tag_note: str | None

    TaggedItem = WithAnnotations[StudyItem, SaidAndTagged]

UNTAGGED, TAGGED = "none", "any"


@dataclass(frozen=True, slots=True)
class TagFilter:
    """Which errors are meant; empty for all."""

    address: str = ""

    @property
    def name(self) -> str | Promise:
        """The same for people."""
        kind, _dot, value = self.address.partition(".")
        if kind == "cause":
            return Cause(value).label
        if kind == "repair":
            return Repair(value).label
        return {UNTAGGED: _("untagged"), TAGGED: _("tagged")}.get(self.address, "")


def read_tag_filter(text: str) -> TagFilter:
    """The filter of an address: `cause.url_form`, `repair.task_data`, `none`, `any` or empty.

    Raises:
        ValueError: it is none of these.
    """
    kind, _dot, value = text.partition(".")
    if kind == "cause":
        Cause(value)
    elif kind == "repair":
        Repair(value)
    elif text not in ("", UNTAGGED, TAGGED):
        raise ValueError(f"{text} is no filter of tags")
    return TagFilter(text)


def with_tags(
    items: QuerySet[StudyItem], evaluator: EvaluatorVersion, wanted: TagFilter | None = None
) -> QuerySet[TaggedItem]:
    """The items of a cell with what their errors are tagged with, as far as wanted.

    Adds `tag_causes`, `tag_repair` and `tag_note`, None where there is no tag.
    """
    current = Q(
        cause_tags__evaluator_name=evaluator.name,
        cause_tags__is_current=True,
        cause_tags__error=F("cell"),
    )
    tagged = items.annotate(tag=FilteredRelation("cause_tags", condition=current)).annotate(
        tag_causes=F("tag__causes"), tag_repair=F("tag__repair"), tag_note=F("tag__note")
    )
    return cast("QuerySet[TaggedItem]", tagged.filter(_condition(wanted or TagFilter())))


def _condition(wanted: TagFilter) -> Q:
    kind, _dot, value = wanted.address.partition(".")
    if kind == "cause":
        # Text, for SQLite cannot look into a list. No key is part of another one in quotes.
        return Q(tag__causes__icontains=f'"{value}"')
    if kind == "repair":
        return Q(tag__repair=value)
    if wanted.address == UNTAGGED:
        return Q(tag__isnull=True) | Q(tag__repair="")
    return Q(tag__repair__gt="") if wanted.address == TAGGED else Q()
