"""The tables of runs of an audit: those of a cell, and all verdicts beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import django_tables2 as tables
from django.db.models import F, QuerySet
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django_tables2.data import TableQuerysetData

from judging.analysis.audits.explanations import decided_by, expected_by
from judging.analysis.audits.query import SelectedItem, Selection
from judging.analysis.audits.verdict_sources import VerdictSource, VerdictSources
from judging.analysis.audits.verdicts import NOTHING, RunVerdicts, Said, verdicts_on
from judging.analysis.causes.tags import TaggedItem
from judging.analysis.reports.showing import figure_words
from judging.models import Cause, EvaluatorVersion, Repair
from runs.interface.lists import row_address
from runs.interface.paging import TablePaginator
from runs.interface.requests import AppRequest
from runs.interface.sentences import worded
from runs.interface.words import cell, stub_mark, verdict
from runs.models.runs.queries import run_title
from runs.models.steps import last_screenshot
from runs.viewer.timeline.timeline import NO_BLOB

ANY = str(UUID(int=0))
"""Placeholder for a run's key in the template of row addresses."""
READ = (
    *("pk", "study_id", "run_id", "position", "cell", "last_picture", "is_stub", "title"),
    *("run__final_answer", "run__task__external_id"),
    *("said_verdict", "said_reason", "said_details", "tag_causes", "tag_repair"),
)
"""What rows of a cell show, and what notes who saw them."""
_LINK = '<a class="row-link" href="{}">{}</a>{}'
_PICTURE = '<img class="row-picture" src="{}" alt="" loading="lazy">'
PER_PAGE = 100
READ_AT_ONCE = 300
"""Characters of an answer that stand in a row; the rest opens there."""


def rows_shown(request: AppRequest, table: tables.Table) -> list[Any]:
    """What stands in the rows of the page that the address asks for."""
    paginate = {"per_page": PER_PAGE, "paginator_class": TablePaginator}
    tables.RequestConfig(request, paginate=paginate).configure(table)
    return [row.record for row in table.paginated_rows]


def column(
    name: Any, td: str, th: str = "", *, is_labelled: bool = False, **options: Any
) -> tables.Column:
    """A column by the classes of its cells and its head; labelled cells name it on narrow pages."""
    attrs = {"td": {"class": td} | ({"data-label": name} if is_labelled else {})}
    return tables.Column(
        verbose_name=name, attrs=attrs | ({"th": {"class": th}} if th else {}), **options
    )


# The library has no types; a class of it is Any.
class CellTable(tables.Table):  # type: ignore[misc]  # the library has no types
    """One run a row, in the study's order unless sorted otherwise."""

    is_partial = True

    chosen = column(_("Select"), "fit choose", accessor="pk", orderable=False)
    position = column("#", "num fit desk", "num fit")
    picture = column(
        _("last screenshot"), "fit desk", "unseen", accessor="last_picture", orderable=False
    )
    goal = column(_("goal"), "wide first whole", accessor="title", empty_values=())
    task = tables.Column(verbose_name=_("task"), accessor="run__task__external_id")
    cell = column(_("cell"), "fit", "fit")
    expected = column(
        _("expected"), "answer whole", is_labelled=True, accessor="said_details", orderable=False
    )
    answer = column(
        _("given"), "answer whole", is_labelled=True, accessor="run__final_answer", empty_values=()
    )
    decided = column(
        _("decided by"),
        "decided whole",
        is_labelled=True,
        accessor="said_details",
        orderable=False,
        empty_values=(),
    )
    causes = column(_("causes"), "causes-told whole", accessor="tag_repair", empty_values=())

    class Meta:
        attrs = {"class": "table list"}
        row_attrs = {"data-run": lambda record: str(record.run_id)}
        order_by = ("position",)

    def __init__(self, items: QuerySet[TaggedItem], *, walk: dict[str, str], chooses: bool) -> None:
        cells = walk["cell"].split("-")
        left_out = [] if "fn" in cells or "fp" in cells else ["causes", "chosen"]
        self.can_choose = chooses and not left_out
        if len(cells) == 1:
            left_out.append("cell")
        picture = last_screenshot("run", is_small=True)
        rows = items.annotate(
            last_picture=picture, is_stub=F("run__is_stub"), title=run_title("run__")
        )
        super().__init__(
            rows.values_list(*READ, named=True),
            exclude=left_out if chooses else [*left_out, "chosen"],
        )
        self._walk = urlencode(walk)

    def render_goal(self, record: Any) -> SafeString:
        address = f"{row_address('runs:run_detail', record.run_id)}?{self._walk}"
        return format_html(_LINK, address, record.title, stub_mark(record))

    def render_picture(self, record: Any, value: str) -> SafeString:
        address = self._any_picture.replace(ANY, str(record.run_id)).replace(NO_BLOB, value)
        return format_html(_PICTURE, address)

    @cached_property
    def _any_picture(self) -> str:
        return reverse("runs:run_blob", args=[ANY, NO_BLOB])

    def render_cell(self, value: str) -> SafeString:
        return cell(value)

    def render_decided(self, record: Any) -> str:
        if record.said_verdict is None:
            return gettext("not evaluated yet")
        return worded(record.said_reason or "") or decided_by(record.said_details) or "—"

    def render_chosen(self, record: Any) -> SafeString | str:
        if record.cell not in ("fn", "fp"):
            return ""
        return format_html(
            '<input type="checkbox" name="item" value="{}" form="cause-form" aria-label="{}">',
            record.pk,
            gettext("Select %(name)s") % {"name": record.position},
        )

    def render_causes(self, record: Any) -> str:
        if record.cell not in ("fn", "fp"):
            return ""
        if not record.tag_repair:
            return "—"
        causes = ", ".join(str(Cause(cause).label) for cause in record.tag_causes or [])
        return f"{causes} → {Repair(record.tag_repair).label}"

    def render_expected(self, value: object) -> SafeString | str:
        return _whole(expected_by(value)) or "—"

    def render_answer(self, value: str | None) -> SafeString | str:
        return _whole(value or "") or gettext("(no answer)")


def _whole(text: str) -> SafeString | str:
    """The text; of a long one the beginning, which opens the rest."""
    if len(text) <= READ_AT_ONCE:
        return text
    return format_html(
        '<details><summary>{}<span class="more">…</span></summary>{}</details>',
        text[:READ_AT_ONCE],
        text[READ_AT_ONCE:],
    )


SHORT_ANSWER = 44
_JUDGE = EvaluatorVersion.Kind.JUDGE


class _VerdictColumn(tables.Column):  # type: ignore[misc]  # the library has no types
    """What one source said; `head` are attributes of the heading."""

    keeps_case = True

    def __init__(self, name: str, label: str, style: str = "voice", **head: str) -> None:
        td, th = {"class": style, "data-label": label}, {"class": style, **head}
        super().__init__(
            verbose_name=name, accessor="pk", orderable=False, attrs={"td": td, "th": th}
        )


class _LabelColumn(_VerdictColumn):
    """The label of one person, or the nth label of a run where many people share a study."""

    def __init__(self, name: str, source: VerdictSource | None, number: int) -> None:
        super().__init__(name, name)
        self.source, self.number = source, number

    def render(self, record: SelectedItem, table: TriangleTable) -> SafeString | str:
        labels = table.said(record).labels
        name = self.source.name if self.source else next(islice(labels, self.number, None), None)
        if name not in labels:
            return format_html('<span class="muted">{}</span>', gettext("no label"))
        given = verdict(labels[name])
        if self.source is not None:
            return given
        return format_html('{} <span class="small muted">{}</span>', given, name)


class _SourceColumn(_VerdictColumn):
    def __init__(self, source: VerdictSource) -> None:
        name = source.step_name or source.shown
        style = "voice step" if source.step else "voice"
        super().__init__(name, source.shown, style, title=source.whole)
        self.source = source

    def render(self, record: SelectedItem, table: TriangleTable) -> SafeString | str:
        said = table.said(record).by(self.source)
        words = _verdict(said, is_step=bool(self.source.step))
        if not said.is_wrong or self.source.evaluator is None:
            return format_html('<span class="agrees">{}</span>', words)
        address = table.run_url(record, audit=str(self.source.evaluator.pk), cell=said.cell)
        badge = cell(said.cell)  # which says what it said: a success failed, a failure passed
        return format_html('<a href="{}" title="{}">{}</a>', address, said.decided, badge)


def _verdict(said: Said, *, is_step: bool) -> SafeString:
    if said.verdict in ("passed", "failed"):
        return format_html('<span title="{}">{}</span>', said.decided, verdict(said.verdict))
    if is_step and not said.verdict:
        return format_html('<span class="muted">{}</span>', gettext("not asked"))
    why, none = worded(said.reason), gettext("no verdict")
    return format_html('<span class="verdict error" title="{}">{}</span>', why, none)


class SelectedData(TableQuerysetData):  # type: ignore[misc]  # the library has no types
    """Items of a selection, in its order."""

    def order_by(self, aliases: Any) -> None:
        """Nothing: the selection has the order of the address already."""


class TriangleTable(tables.Table):  # type: ignore[misc]  # the library has no types
    """Runs of a selection, with what everybody said of them."""

    is_partial = True

    position = column("#", "num fit desk")
    task = column(
        _("goal"), "wide first truncate", "wide", accessor="run__task__external_id", empty_values=()
    )
    disagreement = column(_("disagreement"), "num fit", "num fit", is_labelled=True)
    why = column(
        _("answer, and what decided"),
        "answer",
        accessor="run__final_answer",
        empty_values=(),
        orderable=False,
    )
    reference = column(
        _("reference"), "voice reference", "voice", is_labelled=True, accessor="verdict__verdict"
    )

    class Meta:
        attrs = {"class": "table list triangle"}
        row_attrs = {"data-run": lambda record: str(record.run_id)}

    def __init__(
        self, data: QuerySet[SelectedItem], *, sources: VerdictSources, selection: Selection
    ) -> None:
        self.sources, self.selection = sources, selection
        self.shown = shown_sources(sources, selection)
        labels = label_columns(sources)
        # In one evaluator's cell the reason matters more than place and amount.
        left_out = ["disagreement"] if selection.looked_at else ["why"]
        columns = [
            (f"source_{number}", _SourceColumn(source)) for number, source in enumerate(self.shown)
        ]
        super().__init__(
            SelectedData(data),
            exclude=left_out,
            extra_columns=[*labels, *columns],
            sequence=(
                "position",
                "task",
                "why",
                "disagreement",
                *(name for name, _column in labels),
                "reference",
                *(name for name, _column in columns),
            ),
            order_by=selection.sort,
        )
        self._said: Mapping[int, RunVerdicts] | None = None

    def said(self, record: SelectedItem) -> RunVerdicts:
        """The verdicts on a run of this page, read for all its runs at once."""
        if self._said is None:
            items = [row.record for row in self.paginated_rows]
            self._said = verdicts_on(items, self.sources, self.shown)
        return self._said[record.pk]

    def run_url(self, record: SelectedItem, **more: str) -> str:
        """The run, with the way through this selection."""
        walk = {"study": str(self.sources.study.pk), "triangle": self.selection.query, **more}
        looked_at = self.selection.looked_at
        if not more and looked_at is not None and looked_at.evaluator is not None:
            walk["audit"] = str(looked_at.evaluator.pk)
            walk["cell"] = "-".join(self.selection.cells[0].cells)
        return f"{row_address('runs:run_detail', record.run_id)}?{urlencode(walk)}"

    def render_task(self, record: SelectedItem) -> SafeString:
        task = record.run.task
        return format_html(
            '<a class="row-link" href="{}" title="{}">{}</a>',
            self.run_url(record),
            task.external_id,
            record.run.title,
        ) + stub_mark(record.run)

    def render_why(self, record: SelectedItem, value: str | None) -> SafeString:
        source = self.selection.looked_at
        said = self.said(record).by(source) if source else NOTHING
        decided = worded(said.reason) or said.decided
        answer = value or gettext("(no answer)")
        return format_html(
            '<span title="{}">{}</span> <span class="small muted">{}</span>',
            answer[:1000],
            answer if len(answer) <= SHORT_ANSWER else f"{answer[:SHORT_ANSWER]}…",
            decided,
        )

    def render_disagreement(self, value: float) -> str:
        return figure_words(value, is_share=True)

    def render_reference(self, value: str) -> SafeString:
        return verdict(value)


def shown_sources(sources: VerdictSources, selection: Selection) -> list[VerdictSource]:
    """The evaluators of a selection, stages before their judge.

    Pipelines are shown whole, since their stages are a judge's; so are the others when one
    evaluator is selected.
    """
    evaluators = selection.evaluators or sources.speaking
    looked_at = selection.looked_at
    found: list[VerdictSource] = []
    for source in evaluators:
        is_looked_at = looked_at is not None and looked_at.evaluator == source.evaluator
        is_judge = source.evaluator is not None and source.evaluator.kind == _JUDGE
        has_stages = is_looked_at or (looked_at is None and is_judge)
        found += sources.columns([source], stages_only=not is_looked_at) if has_stages else [source]
    return found


def label_columns(sources: VerdictSources) -> list[tuple[str, _LabelColumn]]:
    """A column a person where they are few; else one for each of a run's labels, A, B …"""
    people: Sequence[VerdictSource] = sources.annotators
    most = sources.study.labels_per_run
    letters = [(chr(ord("A") + number), None) for number in range(most)]
    named = [(source.name, source) for source in people]
    return [
        (f"label_{number}", _LabelColumn(name, source, number))
        for number, (name, source) in enumerate(named if len(people) <= most else letters)
    ]
