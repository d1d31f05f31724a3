"""What the figures of an experiment are asked under: who may know, and whose verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from django.utils.translation import gettext as _

from judging.analysis.experiments.figures import ExperimentFigures, figures_of
from judging.analysis.experiments.pairs import By
from judging.analysis.experiments.population import Scope
from judging.analysis.experiments.sources import Source


@dataclass(frozen=True)
class ReportQuery:
    """An experiment as somebody may know it, under one source."""

    scope: Scope
    source: Source
    selector: Source | None = None
    by: By | None = None

    @cached_property
    def figures(self) -> ExperimentFigures:
        """Counted once, however many tables are made of it."""
        return figures_of(self.scope, self.source)

    @property
    def note(self) -> str:
        """Whose verdicts these are, and of how many runs."""
        return _(
            "Verdicts: %(source)s. %(rule)s %(decided)s of %(counted)s runs that count have one."
        ) % {
            "source": self.source.name,
            "rule": self.source.rule,
            "decided": self.figures.decided,
            "counted": self.figures.counted,
        }

    def title(self, about: str) -> str:
        return f"{self.scope.experiment.name}: {about}"
