"""What an address asks of an audit: how its figures count, which runs are meant, in which order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, cast
from urllib.parse import urlencode

from django.db import models
from django.db.models import Count, FloatField, IntegerField, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Coalesce, NullIf
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.population import (
    FAILED,
    GROUPINGS,
    PASSED,
    Shown,
    cell_by,
    counted_items,
    read_cells,
)
from judging.analysis.audits.verdict_sources import VerdictSource, VerdictSources, with_verdicts
from judging.models import Evaluation, Label, StudyItem
from judging.models.labels import Success
from runs.models.parsing import QueryError, read_choice, reading

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    class Spread(TypedDict):
        """What `selected_items` adds to an item."""

        disagreement: float

    SelectedItem = WithAnnotations[StudyItem, Spread]
else:
    SelectedItem = StudyItem


class Unsure(models.TextChoices):
    """Whether "unsure" is an answer like others when annotators are compared."""

    IN = "in", _("“unsure” is an answer like others")
    OUT = "out", _("without “unsure”")


class Pairing(models.TextChoices):
    """Between whom agreement is: people, or the first label of each run and the second.

    Raw agreement, alpha and AC1 do not depend on it; kappa does.
    """

    PEOPLE = "people", _("between people")
    ORDER = "order", _("first label against second")


class NoVerdict(models.TextChoices):
    """What a run is to the figures of an evaluator that has no verdict on it."""

    LEFT_OUT = "left-out", _("no verdict is left out")
    WRONG = "wrong", _("no verdict counts as wrong")


class Choice(NamedTuple):
    """One of several ways to count, and the query of the address that asks for it."""

    words: Promise | str
    query: str
    is_chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuery:
    """The ways to count that an address chose; the defaults have no place in it."""

    unsure: Unsure = Unsure.IN
    pairing: Pairing = Pairing.PEOPLE
    no_verdict: NoVerdict = NoVerdict.LEFT_OUT
    split: str = ""
    """The split of the tasks that matrices and figures are of; all of them if empty."""

    @property
    def counts_silence(self) -> bool:
        """Whether figures count a run without a verdict as judged wrongly, or leave it out."""
        return self.no_verdict is NoVerdict.WRONG

    @property
    def text(self) -> str:
        """The query of an address; empty for the defaults."""
        usual = AuditQuery()
        return urlencode(
            {key: value for key, value in asdict(self).items() if value != getattr(usual, key)}
        )

    def choices(self, name: str) -> list[Choice]:
        """The values of `unsure`, `pairing` or `no_verdict`."""
        return self._choices(name, type(getattr(self, name)).choices)

    def split_choices(self, splits: Sequence[str]) -> list[Choice]:
        """All tasks, or those of one split; nothing to choose where there are no splits."""
        offered = [("", _("all splits")), *((each, each) for each in splits)]
        return self._choices("split", offered) if splits else []

    def _choices(self, name: str, words: Iterable[tuple[Any, Any]]) -> list[Choice]:
        chosen = getattr(self, name)
        return [
            Choice(said, replace(self, **{name: each}).text, each == chosen) for each, said in words
        ]


def read_audit_query(query: Mapping[str, str]) -> AuditQuery:
    """What an address says. Raises QueryError where a value is none that there could be."""
    return AuditQuery(
        unsure=read_choice(query, "unsure", Unsure) or Unsure.IN,
        pairing=read_choice(query, "pairing", Pairing) or Pairing.PEOPLE,
        no_verdict=read_choice(query, "no_verdict", NoVerdict) or NoVerdict.LEFT_OUT,
        split=query.get("split", ""),
    )


ANY, ANNOTATORS = "any", "people"
SORTS: Mapping[str, str] = {
    "disagreement": "disagreement",
    "position": "position",
    "task": "run__task__external_id",
    "reference": "verdict__verdict",
}
DEFAULT_SORT = "-disagreement"
BETWEEN, AGAINST = "_", "~"
"""`12_fn`: runs that are FN of evaluator 12. `12~u5`: runs on which 12 and person 5 differ."""


@dataclass(frozen=True, slots=True)
class InCells:
    source: VerdictSource
    cells: Sequence[Shown]

    @property
    def address(self) -> str:
        return f"{self.source.key}{BETWEEN}{'-'.join(self.cells)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Runs of a study's audit, filtered and sorted, and the evaluators to show of each."""

    cells: Sequence[InCells] = ()
    differ: tuple[VerdictSource, VerdictSource] | None = None
    spread: str = ""
    """`any`: not all verdicts are the same. `people`: the annotators' are not."""
    groups: Mapping[str, str] = field(default_factory=dict)
    """Values by name of `GROUPINGS`."""
    evaluators: Sequence[VerdictSource] = ()
    """Those to show, which are also those that disagreement speaks of; all of them if empty."""
    sort: str = DEFAULT_SORT

    @property
    def query(self) -> str:
        pairs = [("cell", each.address) for each in self.cells]
        if self.differ:
            pairs.append(("differ", AGAINST.join(source.key for source in self.differ)))
        elif self.spread:
            pairs.append(("differ", self.spread))
        pairs += self.groups.items()
        pairs += [("show", source.key) for source in self.evaluators]
        if self.sort != DEFAULT_SORT:
            pairs.append(("sort", self.sort))
        return urlencode(pairs)

    @property
    def path(self) -> str:
        """What the order goes by, with `-` where it falls."""
        sign = "-" if self.sort.startswith("-") else ""
        return sign + SORTS[self.sort.removeprefix("-")]

    @property
    def is_filtered(self) -> bool:
        return bool(self.cells or self.differ or self.spread or self.groups)

    @property
    def looked_at(self) -> VerdictSource | None:
        """The evaluator whose cell this is, where the selection is of one."""
        return self.cells[0].source if self.cells else None

    def without(self, part: InCells | str) -> Selection:
        """The selection without one of its filters: a cell, `differ`, or the name of a group."""
        if isinstance(part, InCells):
            return replace(self, cells=[each for each in self.cells if each != part])
        if part == "differ":
            return replace(self, differ=None, spread="")
        return replace(self, groups={key: v for key, v in self.groups.items() if key != part})


def read_selection(query: QueryDict, sources: VerdictSources) -> Selection:
    """The selection of an address.

    Raises QueryError where it names somebody who says nothing here, or what is no cell.
    """
    differ, pair = query.get("differ", ""), None
    sort = query.get("sort", DEFAULT_SORT)
    shown = [source for source in sources.evaluators if source.key in query.getlist("show")]
    with reading("differ"):
        if differ.count(AGAINST) == 1:
            one, other = differ.split(AGAINST)
            pair = sources.named(one), sources.named(other)
        elif differ not in ("", ANY, ANNOTATORS):
            raise QueryError("differ")
    with reading("cell"):
        cells = [_in_cells(text, sources) for text in query.getlist("cell") if text]
    groups = {name: value for name in GROUPINGS if (value := query.get(name))}
    for name, value in groups.items():
        if "\0" in value:  # PostgreSQL refuses it in a question
            raise QueryError(name)
    return Selection(
        cells=cells,
        differ=pair,
        spread="" if pair else differ,
        groups=groups,
        evaluators=shown if len(shown) < len(sources.evaluators) else (),
        sort=sort if sort.removeprefix("-") in SORTS else DEFAULT_SORT,
    )


def _in_cells(text: str, sources: VerdictSources) -> InCells:
    key, _between, cells = text.partition(BETWEEN)
    return InCells(sources.named(key), read_cells(cells))


def selected_items(selection: Selection, sources: VerdictSources) -> QuerySet[SelectedItem]:
    """The counted items of the selection in its order, with their `disagreement`.

    Disagreement is the share of the pairs of verdicts on a run that differ, over its annotators
    and the evaluators shown, 2·p·f / ((p + f)(p + f − 1)) for p that say success and f that say
    failure. Whoever says neither takes no part; it is 0 where fewer than two do.
    """
    named = [each.source for each in selection.cells] + list(selection.differ or ())
    items = with_verdicts(counted_items(sources.study), named)
    for number, each in enumerate(selection.cells):
        items = items.annotate(**{f"cell_{number}": cell_by(f"said_{number}")}).filter(
            **{f"cell_{number}__in": [cell.value for cell in each.cells]}
        )
    if selection.differ:
        first, second = (f"said_{len(selection.cells) + number}" for number in (0, 1))
        items = items.filter(
            Q(**{first: PASSED, second: FAILED}) | Q(**{first: FAILED, second: PASSED})
        )
    if selection.groups:
        items = items.annotate(
            **{f"in_{name}": GROUPINGS[name] for name in selection.groups}
        ).filter(**{f"in_{name}": value for name, value in selection.groups.items()})
    items = _spread_filter(items, selection.spread)
    items = items.annotate(disagreement=_disagreement(selection.evaluators or sources.evaluators))
    if selection.spread == ANY:
        items = items.filter(disagreement__gt=0)
    shown = items.select_related("run__task", "verdict").defer(
        "run__record", "run__evidence", "run__task__record"
    )
    return cast("QuerySet[SelectedItem]", shown.order_by(selection.path, "position"))


def _spread_filter(items: QuerySet[StudyItem], spread: str) -> QuerySet[StudyItem]:
    if spread != ANNOTATORS:
        return items
    labels = Label.objects.filter(item=OuterRef("pk"), is_repeat=False).order_by().values("item")
    kinds = Subquery(labels.annotate(n=Count("success", distinct=True)).values("n"))
    return items.annotate(kinds_of_labels=kinds).filter(kinds_of_labels__gt=1)


def _disagreement(evaluators: Sequence[VerdictSource]) -> Coalesce:
    versions = [source.evaluator for source in evaluators]
    said = Evaluation.objects.filter(
        run=OuterRef("run"), is_current=True, evaluator__in=versions
    ).order_by()
    labels = Label.objects.filter(item=OuterRef("pk"), is_repeat=False).order_by()

    def count(verdict: str, label: str) -> Combinable:
        of_evaluators = said.filter(verdict=verdict).values("run").annotate(n=Count("*"))
        of_people = labels.filter(success=label).values("item").annotate(n=Count("*"))
        return Coalesce(
            Subquery(of_evaluators.values("n"), output_field=IntegerField()), 0
        ) + Coalesce(Subquery(of_people.values("n"), output_field=IntegerField()), 0)

    passed = count(PASSED, Success.SUCCESS)
    failed = count(FAILED, Success.FAILURE)
    together = passed + failed
    pairs = NullIf(together * (together - 1), Value(0))
    share = Cast(2 * passed * failed, FloatField()) / Cast(pairs, FloatField())
    return Coalesce(share, Value(0.0), output_field=FloatField())
