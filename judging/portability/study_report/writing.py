"""Writing a report: a zip with one folder, the same study giving the same bytes."""

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from django.contrib.staticfiles import finders
from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.utils import translation

from judging.analysis.audits.explanations import decided_by
from judging.analysis.audits.matrices import Audit, EvaluatorAudit
from judging.analysis.audits.population import Shown, items_in_cells
from judging.analysis.causes.tags import with_tags
from judging.models import Cause, Repair, Study, StudyItem
from judging.portability.study_report.pages import (
    FOLDER,
    INDEX,
    Choices,
    People,
    overview,
    pages_of,
    picture,
    run_page,
    run_page_of,
)
from runs.storage.blobs import MissingBlobError, read_blob
from webagent.trajectory.formats.native.writer import Sink, ZipSink

STYLES = ("css/tokens.css", "css/base.css", "css/audit.css", "css/study_report.css")
"""The site's own, so that a report looks like the pages it is of."""
ITEMS_AT_ONCE = 100
CELLS = (Shown.FN, Shown.FP, Shown.TP, Shown.TN, Shown.NONE)
"""The errors come first."""

OnRun: TypeAlias = Callable[[], None]


def write_report(
    file: BinaryIO,
    study: Study,
    choices: Choices,
    *,
    labelled: QuerySet[StudyItem] | None = None,
    on_run: OnRun | None = None,
) -> int:
    """Write the report to a seekable file; how many runs it has.

    Pages are made one after another, so memory does not grow with their number.

    Args:
        labelled: items whose labels may be told; all where None.
        on_run: called after each run.
    """
    with zipfile.ZipFile(file, "w") as archive, translation.override(choices.language):
        report = _Report(ZipSink(archive), study, choices, labelled)
        report.write_styles()
        report.write_overview()
        return report.write_runs(on_run)


class _Report:
    def __init__(
        self, sink: Sink, study: Study, choices: Choices, labelled: QuerySet[StudyItem] | None
    ) -> None:
        self._sink = sink
        self._study = study
        self._choices = choices
        self._people = People(study, named=choices.names)
        self._labelled = labelled
        self._pictures: set[str] = set()

    def write_styles(self) -> None:
        for name in STYLES:
            path = finders.find(name)
            if not isinstance(path, str):
                raise FileNotFoundError(name)
            content = Path(path).read_bytes()
            self._add(f"style/{Path(name).name}", content)

    def write_overview(self) -> None:
        """The first page, and one for each evaluator with its runs by cell."""
        audit = Audit(self._study)
        shown = overview(audit, self._people)
        shown["items"] = _listed(self._study)
        self._page(INDEX, "index", shown, root="")
        pages = pages_of(audit)
        for each in audit.speaking:
            context = _evaluator(self._study, each)
            self._page(pages[each.evaluator.pk], "evaluator", context, root="../")

    def write_runs(self, on_run: OnRun | None) -> int:
        items = (
            StudyItem.objects.filter(study=self._study)
            .select_related("study", "run__task__task_set", "run__agent", "run__experiment")
            .select_related("verdict__decided_by")
            .defer("run__record", "run__evidence", "run__task__record")
            .order_by("position")
        )
        open_labels = None
        if self._labelled is not None:
            open_labels = set(self._labelled.values_list("pk", flat=True))
        numbers = list(items.values_list("position", flat=True))
        before_each, after_each = [None, *numbers][:-1], [*numbers, None][1:]
        ordered = items.iterator(ITEMS_AT_ONCE)
        for item, before, after in zip(ordered, before_each, after_each, strict=True):
            context = run_page_of(
                item,
                choices=self._choices,
                people=self._people,
                tells_labels=open_labels is None or item.pk in open_labels,
            )
            context["before"] = run_page(before) if before else ""
            context["after"] = run_page(after) if after else ""
            for step in context["steps"]:
                if step["thumbnail"]:
                    self._write_picture(step["thumbnail"].pk)
            self._page(run_page(item.position), "run", context, root="../")
            if on_run:
                on_run()
        return len(numbers)

    def _write_picture(self, sha256: str) -> None:
        if sha256 in self._pictures:
            return
        self._pictures.add(sha256)
        try:
            content = read_blob(sha256)
        except MissingBlobError:
            return  # the page has its alternative text
        self._add(picture(sha256), content)

    def _page(self, name: str, template: str, context: dict[str, Any], *, root: str) -> None:
        shown = {"root": root, "study": self._study, **context}
        text = render_to_string(f"judging/report/{template}.html", shown)
        self._add(name, text.encode())

    def _add(self, name: str, content: bytes) -> None:
        self._sink.add(f"{FOLDER}/{name}", content, len(content))


def _listed(study: Study) -> Iterator[StudyItem]:
    items = study.items.select_related("run__task", "verdict").order_by("position")
    items = items.defer("run__record", "run__evidence", "run__task__record")
    for item in items.iterator(ITEMS_AT_ONCE):
        item.page = run_page(item.position)  # type: ignore[attr-defined]
        yield item


def _evaluator(study: Study, each: EvaluatorAudit) -> dict[str, Any]:
    rows: dict[str, list[dict[str, Any]]] = {cell.value: [] for cell in CELLS}
    for item in with_tags(items_in_cells(study, each.evaluator, CELLS), each.evaluator):
        causes = ", ".join(str(Cause(cause).label) for cause in item.tag_causes or [])
        rows[item.cell].append(
            {
                "item": item,
                "page": f"../{run_page(item.position)}",
                "decided_by": decided_by(item.said_details),
                "reason": item.said_reason or "",
                "causes": causes,
                "repair": Repair(item.tag_repair).label if item.tag_repair else "",
                "note": item.tag_note or "",
            }
        )
    return {"each": each, "cells": list(rows.items())}
