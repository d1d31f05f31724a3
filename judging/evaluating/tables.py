"""The table of batches of evaluations."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import django_tables2 as tables
from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.models import Evaluation, EvaluationBatch, EvaluatorVersion
from judging.studies.access import EVALUATE
from runs.interface.lists import row_address
from runs.interface.words import duration, moment, verdict
from runs.models import User
from runs.queue.jobs import WorkProgress, cost_in_words, progress_of

Verdict = Evaluation.Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRow:
    """One batch with what follows from its columns."""

    batch: EvaluationBatch
    progress: WorkProgress
    cost: str
    can_cancel: bool
    can_resume: bool

    @property
    def verdicts(self) -> SafeString | str:
        """Verdicts with their counts, those that there are."""
        counts = [(value, getattr(self.batch, f"n_{value}")) for value in Verdict.values]
        found = [(self._words(value), intcomma(count)) for value, count in counts if count]
        counted = '<span class="count-of">{} <span class="num">{}</span></span>'
        return format_html_join("\n", counted, found) or "—"

    def _words(self, value: str) -> SafeString:
        if value in (Verdict.PASSED, Verdict.FAILED):
            return verdict(value)
        if value == Verdict.ERROR:
            return format_html('<span class="verdict error">{}</span>', gettext("no verdict"))
        reviews = self.batch.evaluator.kind == EvaluatorVersion.Kind.MODES
        words = gettext("reviewed") if reviews else gettext("not applicable")
        return format_html('<span class="muted">{}</span>', words)


def batch_rows(batches: Iterable[EvaluationBatch], user: User) -> list[BatchRow]:
    """The rows, with what the person may do about each."""
    is_allowed, rows = user.has_perm(EVALUATE), []
    for batch in batches:
        progress = progress_of(batch)
        rows.append(
            BatchRow(
                batch=batch,
                progress=progress,
                cost=cost_in_words(batch) if batch.model else "",
                can_cancel=is_allowed and batch.is_active and batch.cancel_requested_at is None,
                can_resume=is_allowed and batch.can_resume and progress.n_left != 0,
            )
        )
    return rows


def _column(
    words: Any, accessor: str, classes: str = "nowrap", default: Any = "—"
) -> tables.Column:
    td = {"class": classes, "data-label": words}
    return tables.Column(verbose_name=words, accessor=accessor, attrs={"td": td}, default=default)


class BatchTable(tables.Table):  # type: ignore[misc]  # the library has no types
    """One `BatchRow` a row."""

    evaluator = _column(_("evaluator"), "batch__evaluator", "wide first")
    study = _column(_("Runs of"), "batch__study", default=_("a selection"))
    state = _column(capfirst(_("state")), "batch__state")
    done = _column(_("Done"), "batch__n_done", "nowrap num")
    verdicts = _column(_("Verdicts"), "verdicts")
    cost = _column(_("cost"), "cost")
    left = _column(_("Left"), "progress__left", "nowrap num desk")
    requested = _column(_("Requested"), "batch__created_at", "nowrap desk")

    class Meta:
        orderable = False
        attrs = {"class": "table list batches", "aria-label": _("Evaluation batches")}

    def render_evaluator(self, record: BatchRow) -> SafeString:
        batch = record.batch
        address = row_address("judging:batch_detail", batch.pk)
        link = format_html('<a class="row-link" href="{}">{}</a>', address, batch.evaluator.shown)
        model = '<br><span class="muted small mono">{}</span>'
        return link + format_html(model, batch.model) if batch.model else link

    def render_study(self, value: Any) -> str:
        return str(value.name)

    def render_state(self, record: BatchRow) -> SafeString:
        batch, stopping = record.batch, ""
        if batch.is_active and batch.cancel_requested_at:
            stopping = format_html(' <span class="muted small">{}</span>', gettext("stopping …"))
        state = '<span class="status {}">{}</span>{}'
        return format_html(state, record.progress.status, batch.get_state_display(), stopping)

    def render_done(self, value: int, record: BatchRow) -> str:
        total = record.batch.n_total
        if total is None:
            return str(intcomma(value))
        return gettext("%(n)s of %(total)s") % {"n": intcomma(value), "total": intcomma(total)}

    def render_left(self, value: float) -> str:
        return gettext("about %(time)s") % {"time": duration(value)}

    def render_requested(self, value: datetime, record: BatchRow) -> SafeString:
        by = record.batch.created_by
        person = format_html(' <span class="muted small">{}</span>', by) if by else ""
        return format_html("{}{}", moment(value), person)
