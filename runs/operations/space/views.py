"""How full the store is, for one person."""

from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from runs.interface.pictures import as_picture, drawing
from runs.interface.requests import AppRequest, needs
from runs.models import Experiment, Run, SpaceMeasurement, User
from runs.operations.space.measuring import MEASURE, measure_when_due
from runs.queue.workers import ask_for
from runs.storage.file_storage import blob_storage
from runs.storage.usage import KINDS

WORDS: dict[str, Promise] = {
    "screenshots": gettext_lazy("screenshots"),
    "thumbnails": gettext_lazy("thumbnails"),
    "trees": gettext_lazy("accessibility trees"),
    "sources": gettext_lazy("files that runs were imported from"),
    "evidence": gettext_lazy("logs, messages and evidence"),
}
SHOWN_EXPERIMENTS = 50
WIDTH, HEIGHT = 400, 160


class SpacePage:
    """The last measurement, in the words of the page."""

    kinds = tuple(WORDS.values())

    def __init__(self, measured: SpaceMeasurement, user: User) -> None:
        self.measured = measured
        self.user = user
        self.figures: dict[str, Any] = measured.figures
        self.of_runs: dict[str, int] = self.figures.get("by_kind", {})
        self.total = self.of_runs.get("total", 0)

    @property
    def by_kind(self) -> list[tuple[Promise, int, float]]:
        """What runs refer to, with its share of all; a file that several share counts for each."""
        sizes = {kind: self.of_runs.get(kind, 0) for kind in KINDS}
        return [(WORDS[kind], size, self._share(size)) for kind, size in sizes.items()]

    @property
    def saved(self) -> dict[str, float]:
        """What it would take more if no two runs shared a file, and its share of all."""
        size = max(0, self.total - self.measured.stored)
        return {"size": size, "share": self._share(size)}

    @property
    def free(self) -> int | None:
        """Room on the disk; None in a bucket."""
        return blob_storage().free_bytes()

    @property
    def place(self) -> str:
        """Where the files lie, as the administrator set it."""
        return settings.ENV.BLOB_STORAGE or str(getattr(blob_storage(), "location", ""))

    @property
    def experiments(self) -> list[dict[str, Any]]:
        """The largest first; those whose names are hidden from the person are one row."""
        rows = self.figures.get("by_experiment", ())
        shown = Experiment.objects.visible_to(self.user).in_bulk(
            [row["experiment"] for row in rows if row["experiment"]]
        )
        named = [row for row in rows if row["experiment"] in shown][:SHOWN_EXPERIMENTS]
        found = [
            _row(shown[row["experiment"]].name, shown[row["experiment"]], [row]) for row in named
        ]
        if rest := [row for row in rows if row not in named]:
            found.append(_row(_("other runs"), None, rest))
        return found

    @property
    def largest(self) -> list[tuple[Run, int]]:
        """The largest runs, with their bytes, of which the person may know the names."""
        rows = {row["run"]: row["total"] for row in self.figures.get("largest", ())}
        keys = [UUID(key) for key in rows]
        shown = Run.objects.visible_to(self.user, keys).not_anonymous()
        runs = shown.select_related("task__task_set").only("id", "n_steps", "task")
        found = [(run, rows[str(run.pk)]) for run in runs.order_by()]
        return sorted(found, key=lambda row: -row[1])

    @property
    def added(self) -> list[tuple[date, int]]:
        """Bytes that came on each of the last days and are still there, newest first."""
        rows = self.figures.get("added", ())
        return [(datetime.fromisoformat(row["day"]).date(), row["size"]) for row in rows][::-1]

    @property
    def a_day(self) -> int:
        """Bytes a day, over the days on which any came."""
        return sum(size for _day, size in self.added) // max(1, len(self.added))

    def growth(self) -> SafeString | None:
        """Bars: what came on each of the last days."""
        return _growth(self.added[::-1]) if self.added else None

    def _share(self, size: int) -> float:
        return size / self.total if self.total else 0


def _row(words: str, experiment: Experiment | None, rows: list[dict[str, int]]) -> dict[str, Any]:
    """What the runs of an experiment take; None stands for those of none, or of hidden ones."""
    return {
        "words": words,
        "experiment": experiment,
        "runs": sum(row["runs"] for row in rows),
        "total": sum(row["total"] for row in rows),
        "parts": [sum(row[kind] for row in rows) for kind in KINDS],
    }


def _growth(added: list[tuple[date, int]]) -> SafeString:
    with drawing(WIDTH, HEIGHT) as figure:
        axes = figure.add_axes((0.16, 0.2, 0.82, 0.7))
        axes.patch.set_visible(False)
        first = added[0][0]
        places = [(day - first).days for day, _size in added]
        bars = axes.bar(places, [size for _day, size in added], width=0.8)
        for bar in bars:
            bar.set_gid(".bar")
        axes.set_xlim(-0.7, max(places[-1], 6) + 0.7)
        ends = sorted({0, places[-1]})
        axes.set_xticks(ends, [added[0][0].isoformat(), added[-1][0].isoformat()][: len(ends)])
        top = max(size for _day, size in added)
        axes.set_yticks([0, top], ["0", filesizeformat(top)])
        axes.tick_params(length=0)
        for side in axes.spines.values():
            side.set_visible(False)
        axes.xaxis.set_gid(".axis")
        axes.yaxis.set_gid(".axis")
        return as_picture(figure, _("Growth"))


may_manage = needs("runs.manage_space")


@require_safe
@may_manage
def space(request: AppRequest) -> HttpResponse:
    """What was last measured: by kind, by experiment, by day, and the largest runs."""
    measured = SpaceMeasurement.objects.exclude(figures={}).first()
    if measured is None:
        measure_when_due()
    page = SpacePage(measured, request.user) if measured else None
    return render(request, "runs/operations/space.html", {"page": page})


@require_POST
@may_manage
def space_measure(request: AppRequest) -> HttpResponse:
    """Have it measured again, in the background."""
    ask_for(MEASURE)
    messages.info(
        request, _("Storage is being measured in the background. This page updates by itself.")
    )
    return redirect("runs:space")
