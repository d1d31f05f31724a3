"""The tables of an audit that can be taken away, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from judging.analysis.audits.agreement_tables import agreement_table
from judging.analysis.audits.causes_tables import causes_table, success_rates_table, tags_table
from judging.analysis.audits.comparison_tables import pairs_table, people_table, steps_table
from judging.analysis.audits.detectors import detectors_table
from judging.analysis.audits.failure_modes import failure_modes_table
from judging.analysis.audits.figures_tables import corrected_table, figures_table, matrices_table
from judging.analysis.audits.triangle_tables import triangle_table
from judging.analysis.reports import Table
from judging.models import Study

TABLES: Mapping[str, Callable[[Study], Table]] = {
    "matrices": matrices_table,
    "figures": figures_table,
    "corrected": corrected_table,
    "agreement": agreement_table,
    "pairs": pairs_table,
    "steps": steps_table,
    "people": people_table,
    "triangle": triangle_table,
    "causes": causes_table,
    "success_rates": success_rates_table,
    "tagged_errors": tags_table,
    "detectors": detectors_table,
    "failure_modes": failure_modes_table,
}
"""By the name in their address. A new table is an entry here: pages, downloads and the report
then have it."""
PER_RUN = frozenset({"triangle", "tagged_errors"})
"""Tables with a row a run, too long for a document."""
TABLE_NAMES: Mapping[str, Promise] = {
    "matrices": gettext_lazy("Matrices"),
    "figures": gettext_lazy("Figures"),
    "corrected": gettext_lazy("Runs without a reference verdict"),
    "agreement": gettext_lazy("Agreement"),
    "pairs": gettext_lazy("Evaluators compared"),
    "steps": gettext_lazy("What steps add"),
    "people": gettext_lazy("Against annotators"),
    "triangle": gettext_lazy("Triangle"),
    "causes": gettext_lazy("Causes of errors"),
    "success_rates": gettext_lazy("Success rates if repaired"),
    "tagged_errors": gettext_lazy("Tagged errors"),
    "detectors": gettext_lazy("Detectors of anomalies"),
    "failure_modes": gettext_lazy("Failure modes"),
}
"""The same for people."""
