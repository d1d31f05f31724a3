"""What the page of a file with labels shows."""

from __future__ import annotations

from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.models import LabelImport, Study
from judging.studies.access import AUDIT
from judging.studies.pages import MANAGE
from runs.models import User

_ALL, _LABEL, _VERDICT = _("all rows"), _("labels"), _("verdicts of evaluators")
COLUMNS = (
    (("run_id", "content_hash"), _ALL, _("the run; either will do")),
    (
        ("task", "task_set", "agent", "model", "seed", "trial"),
        _ALL,
        _("the run where neither is given: as many as single one out, the task always"),
    ),
    (("kind",), _ALL, _("label, verdict or adjudication; follows from the next two")),
    (("annotator",), _LABEL, _("name of whoever labelled; needed")),
    (("evaluator", "version"), _VERDICT, _("name of the evaluator, which is needed; its version")),
    (
        ("verdict",),
        _ALL,
        _(
            "needed. Labels: success, failure, unsure, not_executable; adjudications: the same"
            " but unsure; evaluators: passed, failed, error, not_applicable"
        ),
    ),
    (("confidence",), _LABEL, _("0 to 100")),
    (
        ("causes", "failure_step"),
        _LABEL,
        _("words between semicolons; a step of the run, counted from 0"),
    ),
    (("by",), _("adjudications"), _("name of whoever decided")),
    (("rationale", "at"), _ALL, _("text; the time as ISO 8601")),
)
"""Columns of the table that the form takes, in which rows they stand, and what they hold.

The usual ones; docs/judging.md has all.
"""


def label_import_row(sent: LabelImport) -> dict[str, Any]:
    """A file of labels in the table of all."""
    counts = sent.report.get("counts", {})
    cells: dict[str | Promise, object] = {
        _("Rows"): counts.get("rows"),
        _("New"): sent.n_new if counts and not counts["bad"] else None,
        _("Rejected"): counts.get("bad"),
    }
    return {"sent": sent, "state": _shown_state(sent), "cells": cells}


def _shown_state(sent: LabelImport) -> tuple[str, str | Promise]:
    if sent.awaits_confirmation:
        return "queued", _("awaits your decision")
    if sent.is_refused:
        return "failed", _("refused")
    if sent.state == sent.State.FINISHED and sent.only_looks:
        return "cancelled", _("nothing new")
    words = {sent.State.FINISHED: _("stored"), sent.State.CANCELLED: _("discarded")}
    return sent.state, words.get(sent.State(sent.state), sent.get_state_display())


def label_import_context(sent: LabelImport, user: User) -> dict[str, Any]:
    """The file with what was found in it, and where its rows went."""
    counts = sent.report.get("counts", {})
    study = Study.objects.filter(name=sent.study_name).first()
    is_here = study is not None and user.has_perm(MANAGE)
    return {
        "sent": sent,
        "report": sent.report,
        "counts": counts,
        "figures": _figures(counts) if counts and not counts["bad"] else (),
        "state": _shown_state(sent),
        "study": study if is_here else None,
        "sees_audit": user.has_perm(AUDIT),
    }


def _figures(counts: dict[str, int]) -> tuple[tuple[Promise, int], ...]:
    """Words and numbers of a report."""
    return (
        (_("labels of people"), counts["labels"]),
        (_("verdicts of evaluators"), counts["verdicts"]),
        (_("adjudications"), counts["adjudications"]),
        (_("already there"), counts["already_there"]),
        (_("runs named"), counts["runs"]),
        (_("rows"), counts["rows"]),
    )
